//! Adjustments: amounts that a charging network bills or credits for a session after the session's price was final, or for a reservation
//! that was not used after the reservation's fee was charged or invoiced.
//!
//! An additional amount is billed by the next invoice, as a line of its own. A credit is applied at once, without waiting for the next
//! invoice: it becomes a line of the draft that bills the credited object, or a credit note if that invoice is final. An amount that was
//! paid directly is refunded. An adjustment is on at most one invoice that is not void. A credit that is applied to a draft is an
//! adjustment of that draft, and of the next invoice if the draft is deleted.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::charging_session::ChargingSession;
use super::charging_session::network::Total;
use super::invoice::line_item::LineItem;
use super::invoice::totals::{TaxAmount, by_rate};
use super::network::ObjectId;
use super::reservation::Reservation;
use super::stored::{Object, Stored, is_default};
use kernel::fields::address::Country;
use kernel::{Currency, Id, Kind, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Adjustment {
    pub id: Id,
    pub object: Kind,
    /// The network's id of the CDR; empty for a session that is billed without one.
    pub cdr: String,
    pub created: Timestamp,
    /// Currency of the adjusted session.
    pub currency: Currency,
    /// Id of the fleet that is billed; null for a credit of an invoice of the whole account.
    pub fleet: Option<Id>,
    /// The line of the invoice that bills it; its amount is below zero for a credit.
    pub line: LineItem,
}

/// The internal state of an adjustment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjustmentInternal {
    /// When the credit is applied, or the next attempt to apply it is made. No invoice bills the adjustment before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply_at: Option<Timestamp>,
    /// The final invoice for which a credit note was created because of this adjustment. The adjustment is not a line of that invoice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credited_on: Option<Id>,
    /// The invoice that has claimed the adjustment.
    pub invoice: Option<Id>,
    /// Whether that invoice is paid. It can be neither deleted nor voided any more, so no other invoice bills the adjustment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub invoice_paid: bool,
    /// The amounts of the lines that a credit credits individually. They are not credited again on an invoice with both the credit and the
    /// line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lines: BTreeMap<Id, Vec<TaxAmount>>,
    /// The amount paid, in minor units. It is negative for a credit whose amount was returned, because of it or by an earlier refund.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paid: i64,
    /// The refunded part of `paid`, in minor units. It is negative for a credit whose amount a refund of the session or the reservation has
    /// returned, so that this refund does not count on an invoice that shows both.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refunded: i64,
}

impl Object for Adjustment {
    type Internal = AdjustmentInternal;

    const KIND: Kind = Kind::Adjustment;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.apply_at;
        at.map(|at| (at, Action::ApplyCredit))
    }
}

impl Stored<Adjustment> {
    /// Postpones a credit that cannot be applied yet.
    pub fn apply_later(&mut self, at: Timestamp) {
        self.internal.apply_at = Some(at);
    }

    /// Records that a credit was applied, and the invoice that was credited or has the credit as a line. Without an invoice, the next
    /// invoice of the credited object bills the credit.
    pub fn apply(&mut self, invoice: Option<&Id>) {
        self.internal.apply_at = None;
        self.internal.invoice = invoice.cloned();
    }

    /// Records that the invoice that has claimed the adjustment is paid.
    pub fn mark_invoice_paid(&mut self) {
        self.internal.invoice_paid = true;
    }

    /// Reduces the credit to `amount` and returns the rest as another credit, which is to be applied as well. Returns none if there is
    /// nothing to split.
    pub fn split(&mut self, amount: i64, now: Timestamp) -> Option<Self> {
        let line = &self.object.line;
        let rest = -line.amount - amount;
        if rest <= 0 || amount == 0 {
            return None;
        }
        let id = Id::new(Kind::Adjustment, now);
        let (own, others) = line.split(amount, &id);
        let rest = Adjustment {
            id,
            created: now,
            line: others,
            ..self.object.clone()
        };
        self.object.line = own;
        Some(Adjustment::of_network(rest))
    }

    /// Lets a refund of the session or the reservation return what the service has not returned because of this credit. Returns the part of
    /// `amount` that is used for it.
    pub fn cover(&mut self, amount: i64) -> i64 {
        let AdjustmentInternal { paid, refunded, .. } = &mut self.internal;
        let part = amount.min(*refunded - *paid).max(0);
        *refunded -= part;
        part
    }

    /// Divides a credit on a draft of the whole account among the fleets of the lines that it credits individually, which are given by the
    /// ids of the lines. The part of lines whose fleet is unknown has no fleet. Any other adjustment stays whole.
    pub fn by_fleet(self, fleets: &HashMap<Id, Id>) -> Vec<Self> {
        if self.object.fleet.is_some() || self.internal.lines.is_empty() {
            return vec![self];
        }
        let mut parts: BTreeMap<Option<&Id>, Vec<&TaxAmount>> = BTreeMap::new();
        for (line, taxes) in &self.internal.lines {
            parts.entry(fleets.get(line)).or_default().extend(taxes);
        }
        let part = |(fleet, taxes): (Option<&Id>, Vec<&TaxAmount>)| {
            let mut part = self.clone();
            let Adjustment { id, line, .. } = &self.object;
            part.object.line =
                LineItem::of_credit(id, line.description.clone(), &by_rate(taxes.into_iter()));
            part.object.fleet = fleet.cloned();
            part
        };
        parts.into_iter().map(part).collect()
    }

    /// Checks whether the adjustment represents a credit note of the invoice that has claimed it.
    pub fn is_credit_note(&self) -> bool {
        let AdjustmentInternal {
            credited_on,
            invoice,
            ..
        } = &self.internal;
        credited_on.is_some() && credited_on == invoice
    }
}

impl Adjustment {
    /// Returns the adjustment by which a CDR, or the absence of one, changes the price of a session that has ended; none if the session has
    /// not ended.
    pub fn of_session(
        session: &Stored<ChargingSession>,
        more: Total,
        cdr: Option<&ObjectId>,
        now: Timestamp,
    ) -> Option<Stored<Self>> {
        let id = Id::new(Kind::Adjustment, now);
        let cdr = cdr.map(|cdr| cdr.id().as_str());
        let line = LineItem::of_adjustment(&id, session, more, cdr)?;
        let session = &session.object;
        Some(Self::of_network(Self {
            id,
            object: Kind::Adjustment,
            cdr: cdr.unwrap_or_default().to_owned(),
            created: now,
            currency: session.currency,
            fleet: Some(session.fleet.clone()),
            line,
        }))
    }

    /// Stores the adjustment of a network. A job applies credits; additional amounts wait for the next invoice.
    fn of_network(adjustment: Self) -> Stored<Self> {
        let is_credit = adjustment.line.amount < 0;
        let internal = AdjustmentInternal {
            apply_at: is_credit.then_some(adjustment.created),
            ..AdjustmentInternal::default()
        };
        Stored::with_internal(adjustment, internal)
    }

    /// Returns a credit that is applied to a draft invoice of a fleet or of the whole account. `credited` has the amount for each tax rate,
    /// and `lines` those of the lines that are credited individually.
    pub fn on_draft(
        draft: &Id,
        fleet: Option<Id>,
        currency: Currency,
        description: String,
        credited: &[TaxAmount],
        lines: BTreeMap<Id, Vec<TaxAmount>>,
        now: Timestamp,
    ) -> Stored<Self> {
        let id = Id::new(Kind::Adjustment, now);
        let adjustment = Self {
            line: LineItem::of_credit(&id, description, credited),
            id,
            object: Kind::Adjustment,
            cdr: String::new(),
            created: now,
            currency,
            fleet,
        };
        let claimed = AdjustmentInternal {
            invoice: Some(draft.clone()),
            lines,
            ..AdjustmentInternal::default()
        };
        Stored::with_internal(adjustment, claimed)
    }

    /// Returns the adjustment by which a CDR changes the fee of a reservation that was not used; `more` is in minor units and is taxed in
    /// this country. None for a reservation without a fleet.
    pub fn of_reservation(
        reservation: &Stored<Reservation>,
        more: i64,
        country: Option<&Country>,
        cdr: &ObjectId,
        now: Timestamp,
    ) -> Option<Stored<Self>> {
        let id = Id::new(Kind::Adjustment, now);
        let cdr = cdr.id().to_string();
        Some(Self::of_network(Self {
            line: LineItem::of_fee_adjustment(&id, reservation, more, country, &cdr),
            id,
            object: Kind::Adjustment,
            cdr,
            created: now,
            currency: reservation.object.currency,
            fleet: Some(reservation.internal.fleet.clone()?),
        }))
    }
}

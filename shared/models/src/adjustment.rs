//! Adjustments: what a charging network bills, or credits, for a session after the session's price was final, or for a reservation that was
//! not used after the reservation's fee was charged or invoiced.
//!
//! What is billed in addition is on the next invoice as a line of its own. A credit never waits for an invoice that is large enough: it is
//! a line of the draft that bills what is credited, or a credit note if that invoice is final; what was paid directly is returned. An
//! adjustment is on at most one invoice that is not void. A credit that is given on a draft is an adjustment of that draft, and of the next
//! invoice if the draft is deleted.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::charging_session::ChargingSession;
use super::charging_session::network::Total;
use super::invoice::TaxAmount;
use super::invoice::line_item::LineItem;
use super::network::ObjectId;
use super::reservation::Reservation;
use super::stored::{Object, Stored, is_default};
use kernel::id::{Id, Kind};
use kernel::money::Currency;
use kernel::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Adjustment {
    pub id: Id,
    pub object: Kind,
    /// What the network calls the CDR; empty for a session that is billed without one.
    pub cdr: String,
    pub created: Timestamp,
    /// Currency of the adjusted session.
    pub currency: Currency,
    /// Id of the fleet that is billed; null for a credit of an invoice of the whole account.
    #[serde(default)]
    pub fleet: Option<Id>,
    /// The line of the invoice that bills it; its amount is below zero for a credit.
    pub line: LineItem,
}

/// The internal state of an adjustment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjustmentInternal {
    /// When a credit is given, or tried to be. No invoice bills it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply_at: Option<Timestamp>,
    /// The final invoice of which a credit note was made for it: it is no line of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credited_on: Option<Id>,
    /// The invoice that has claimed it.
    pub invoice: Option<Id>,
    /// What was paid, in minor units: below zero for a credit that was returned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paid: i64,
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
    /// Puts off a credit that cannot be given yet.
    pub fn apply_later(&mut self, at: Timestamp) {
        self.internal.apply_at = Some(at);
    }

    /// Records that a credit was given, with the invoice of which it is a line or which was credited; without one it is billed by the next
    /// invoice of what it credits.
    pub fn apply(&mut self, invoice: Option<&Id>) {
        self.internal.apply_at = None;
        self.internal.invoice = invoice.cloned();
    }

    /// Makes it a credit of so much, and returns the rest of it as another one, which the next invoice bills.
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
        Some(Self::new(rest))
    }

    /// Whether it stands for a credit note of the invoice that has claimed it.
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
    /// What a CDR, or that there is none, adds to the price of a session that has ended; none for one that has not.
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

    /// A credit is given by a job; what is billed in addition waits for the next invoice.
    fn of_network(adjustment: Self) -> Stored<Self> {
        let is_credit = adjustment.line.amount < 0;
        let internal = AdjustmentInternal {
            apply_at: is_credit.then_some(adjustment.created),
            ..AdjustmentInternal::default()
        };
        Stored::with_internal(adjustment, internal)
    }

    /// A credit that is given on a draft of a fleet, or of the whole account: so much at each rate.
    pub fn on_draft(
        draft: &Id,
        fleet: Option<Id>,
        currency: Currency,
        description: String,
        credited: &[TaxAmount],
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
            ..AdjustmentInternal::default()
        };
        Stored::with_internal(adjustment, claimed)
    }

    /// What a CDR adds to the fee of a reservation that was not used, in minor units; none for a reservation without a fleet.
    pub fn of_reservation(
        reservation: &Stored<Reservation>,
        more: i64,
        cdr: &ObjectId,
        now: Timestamp,
    ) -> Option<Stored<Self>> {
        let id = Id::new(Kind::Adjustment, now);
        let cdr = cdr.id().to_string();
        Some(Self::of_network(Self {
            line: LineItem::of_fee_adjustment(&id, reservation, more, &cdr),
            id,
            object: Kind::Adjustment,
            cdr,
            created: now,
            currency: reservation.object.currency,
            fleet: Some(reservation.internal.fleet.clone()?),
        }))
    }
}

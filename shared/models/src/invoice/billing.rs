//! The content of an invoice: the sessions, fees and adjustments of its window that no other invoice has claimed.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

use super::line_item::LineItem;
use super::totals::TaxAmount;
use crate::adjustment::Adjustment;
use crate::body::RequestBody;
use crate::charging_session::{ChargingSession, SessionStatus};
use crate::reservation::Reservation;
use crate::stored::Stored;
use kernel::fields::address::Country;
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::text::Description;
use kernel::time::days;
use kernel::{Code, Currency, Error, Id, Mode, Result, SignedDuration, Timestamp};

const LONGEST_PERIOD: SignedDuration = days(366);

/// The body of `POST /v1/invoices`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvoice {
    /// Start of the billed period, inclusive: sessions that ended at or after this moment.
    pub period_start: Timestamp,
    /// End of the billed period, exclusive, at most 366 days after `period_start`.
    pub period_end: Timestamp,
    /// Id of the fleet to which the invoice is limited.
    pub fleet: Option<Id>,
    /// Currency of the invoice. Default: the fleet's currency, else the account's. Sessions in other currencies are left for an invoice in
    /// those.
    pub currency: Option<Currency>,
    /// A memo shown on the invoice.
    pub description: Option<Description>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for NewInvoice {
    const INVALID: Option<Code> = Some(Code::InvoiceValidationError);
}

/// A session, a reservation fee or an adjustment that an invoice may bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billable {
    pub line: LineItem,
    /// The id of the session, the reservation or the adjustment.
    pub what: Id,
    /// Minor units that were paid already.
    pub paid: i64,
    /// The refunded part of `paid`, in minor units. It is negative for a credit that a refund has settled.
    pub refunded: i64,
    /// The version of the stored object.
    pub version: u64,
    /// The invoice that has claimed it.
    pub claimed_by: Option<Id>,
    /// For a credit: the amounts of the lines that it credits individually.
    pub credits: BTreeMap<Id, Vec<TaxAmount>>,
}

impl NewInvoice {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `invoice_validation_error` with the field at fault.
    pub fn check(&self) -> Result<()> {
        if self.period_end <= self.period_start {
            return Err(invalid("period_end", "must lie after period_start"));
        }
        if self.period_end.since(self.period_start) > LONGEST_PERIOD {
            return Err(invalid(
                "period_end",
                "must lie at most 366 days after period_start",
            ));
        }
        Metadata::new(self.metadata.clone())
            .map(drop)
            .map_err(|error| error.coded(Some(Code::InvoiceValidationError)))
    }

    /// Returns the line of a session if an invoice in this currency bills it: it is completed, ended within the window, and its own payment
    /// method is not about to be charged. A session at a network's station is billed in the window in which its price became final.
    /// Sessions at stations that nothing operates are not billed.
    pub fn bills(
        &self,
        mode: Mode,
        currency: Currency,
        stored: &Stored<ChargingSession>,
    ) -> Option<Billable> {
        let (session, internal) = (&stored.object, &stored.internal);
        let (ended, billed_at) = (session.state.ended()?, stored.billed_at()?);
        let bills = stored.operation(mode).is_operated()
            && session.status() == SessionStatus::Completed
            && !session.is_charging_payment()
            && session.currency == currency
            && (self.period_start..self.period_end).contains(&billed_at)
            && self.fleet.as_ref().is_none_or(|id| *id == session.fleet);
        bills.then(|| Billable {
            line: LineItem::of(session, internal, ended),
            what: session.id.clone(),
            paid: session.amount_paid(),
            refunded: session.amount_refunded(),
            version: stored.version,
            claimed_by: session.invoice.clone(),
            credits: BTreeMap::new(),
        })
    }

    /// Returns the line of an adjustment if an invoice in this currency bills it. An adjustment from an earlier window that no invoice has
    /// billed is on the next invoice; one from a later window is on the invoice that bills its session or reservation, if there is one.
    pub fn bills_adjustment(
        &self,
        currency: Currency,
        stored: &Stored<Adjustment>,
    ) -> Option<Billable> {
        let adjustment = &stored.object;
        let bills = stored.internal.apply_at.is_none()
            && adjustment.currency == currency
            && (self.fleet.is_none() || self.fleet == adjustment.fleet);
        bills.then(|| Billable {
            line: adjustment.line.clone(),
            what: adjustment.id.clone(),
            paid: stored.internal.paid,
            refunded: stored.internal.refunded,
            version: stored.version,
            claimed_by: stored.internal.invoice.clone(),
            credits: stored.internal.lines.clone(),
        })
    }

    /// Returns the line of a reservation's fee if an invoice in this currency bills it: the reservation ended within the window, and its
    /// own payment method is not about to be charged. A fee that was charged is on the invoice as paid. Fees are taxed in the country of
    /// the seller.
    pub fn bills_fee(
        &self,
        currency: Currency,
        stored: &Stored<Reservation>,
        country: Option<&Country>,
    ) -> Option<Billable> {
        let (reservation, internal) = (&stored.object, &stored.internal);
        let fee = stored.fee()?;
        let bills = stored.next_action().is_none()
            && reservation.currency == currency
            && (self.period_start..self.period_end).contains(&fee.since)
            && (self.fleet.is_none() || self.fleet == internal.fleet);
        bills.then(|| Billable {
            line: LineItem::of_fee(stored, &fee, country),
            what: reservation.id.clone(),
            paid: fee.paid,
            refunded: fee.refunded,
            version: stored.version,
            claimed_by: internal.invoice.clone(),
            credits: BTreeMap::new(),
        })
    }
}

fn invalid(param: &'static str, message: &'static str) -> Error {
    Error::invalid(param, message).coded(Some(Code::InvoiceValidationError))
}

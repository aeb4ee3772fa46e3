//! The amounts of a fleet that no invoice bills yet.

use std::collections::BTreeMap;

use kernel::time::millis;
use kernel::{Error, Id, Kind, Origin, Window};
use models::charging_session::SessionStatus;
use models::charging_session::network::CDR_PATIENCE;
use models::invoice::{Billable, InvoiceStatus};
use models::{ChargingSession, Condition, Fleet, Invoice, Stored};
use table::keys::Partition;

use super::recur;
use crate::Request;

/// Returns whether something of a fleet is not on a final invoice: a session, a reservation fee or an additional amount of a charging
/// network, or a session whose price is not final or which a network may still report. What was free of charge, and credits, do not count.
/// Earlier billing periods count as well, because an invoice of them may have been voided or deleted.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn is_any(request: &Request, fleet: &Stored<Fleet>) -> Result<bool, Error> {
    let (tenant, now) = (request.tenant(), request.now());
    let fleet_id = &fleet.object.id;
    let (created, billing) = (fleet.object.created, fleet.internal.billing);
    let period = Window {
        from: billing.map_or(created, |period| period.from.min(created)),
        until: now.plus(millis(1)),
    };
    let mut invoices = Invoices {
        request,
        known: BTreeMap::new(),
    };
    for reservation in request.store().fees_within(tenant, period, now).await? {
        let currency = reservation.object.currency;
        let new = recur::body(&fleet.object, period, currency);
        let billable = new.bills_fee(currency, &reservation, None);
        let ours = reservation.internal.fleet.as_ref() == Some(fleet_id);
        if ours && reservation.is_unsettled(period.until) || invoices.lack(billable).await? {
            return Ok(true);
        }
    }
    for adjustment in request.store().open_adjustments(tenant).await? {
        let currency = adjustment.object.currency;
        let new = recur::body(&fleet.object, period, currency);
        let billable = new.bills_adjustment(currency, &adjustment);
        if invoices.lack(billable).await? {
            return Ok(true);
        }
    }
    let mut pages = request
        .store()
        .sessions_around(tenant, Some(fleet_id), period);
    while let Some(page) = pages.next().await? {
        for session in page {
            let currency = session.object.currency;
            let new = recur::body(&fleet.object, period, currency);
            let billable = new.bills(tenant.mode, currency, &session);
            if is_open(&request.origin, &session, period) || invoices.lack(billable).await? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns whether a fleet has a draft, which would be finalized without the fleet as its buyer.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn has_draft(request: &Request, fleet: &Id) -> Result<bool, Error> {
    let (tenant, kind) = (request.tenant(), Kind::Invoice);
    let drafts = Partition::Status {
        tenant,
        kind,
        status: InvoiceStatus::Draft.as_str(),
    };
    let of_fleet = vec![Condition::equals("fleet", fleet)];
    let found = request.store().newest_id(drafts, kind, of_fleet).await?;
    Ok(found.is_some())
}

/// Whether the price of a session that will be billed is not final, or is being charged, or whether a network may still report a session
/// that was given up or cancelled.
fn is_open(origin: &Origin, session: &Stored<ChargingSession>, period: Window) -> bool {
    let is_operated = session.operation(origin.tenant.mode).is_operated();
    let is_completed = session.object.status() == SessionStatus::Completed;
    let awaits_price = is_operated && is_completed && session.billed_at().is_none();
    let may_begin = session.internal.network.is_some()
        && matches!(
            session.object.status(),
            SessionStatus::Cancelled | SessionStatus::Failed
        )
        && origin.now.since(session.object.created) < CDR_PATIENCE;
    awaits_price || may_begin || session.is_unsettled(period.until)
}

/// The invoices that have claimed something.
struct Invoices<'a> {
    request: &'a Request,
    /// Whether each of them is final and not void.
    known: BTreeMap<Id, bool>,
}

impl Invoices<'_> {
    /// Whether there is an amount to bill that no final invoice bills.
    async fn lack(&mut self, billable: Option<Billable>) -> Result<bool, Error> {
        let Some(billable) = billable.filter(|billable| billable.line.amount > 0) else {
            return Ok(false);
        };
        let Some(id) = billable.claimed_by else {
            return Ok(true);
        };
        if let Some(is_final) = self.known.get(&id) {
            return Ok(!is_final);
        }
        let invoice = self.request.find::<Invoice>(&id).await?;
        let is_final = invoice.is_some_and(|found| {
            !matches!(
                found.object.status,
                InvoiceStatus::Draft | InvoiceStatus::Void
            )
        });
        self.known.insert(id, is_final);
        Ok(!is_final)
    }
}

//! The payments of sessions and fees: those of a period, from which reports are made, and those of the lines of an invoice.

use std::collections::BTreeMap;

use jiff::ToSpan as _;
use jiff::civil::Date;

use crate::Store;
use crate::keys::Partition;
use crate::list::{Cursor, PageRequest};
use crate::stored_item;
use kernel::{Id, Kind, Result, Tenant, Timestamp, Window};
use models::invoice::{LineItem, LineType, SHOWN_LINES};
use models::transaction::TransactionStatus;
use models::{ChargingSession, CreditNote, Reservation, Stored, Transaction};

/// Nothing was paid before 2026, when the service began; in milliseconds since 1970.
const FIRST_PAYMENT: i64 = 1_767_225_600_000;

impl Store {
    /// Returns the reservations with a fee that is due, and those with a paid fee that became due in the months that a window touches.
    ///
    /// # Errors
    /// Fails if an item cannot be read; `Unavailable` if DynamoDB cannot be reached.
    pub async fn fees_within(
        &self,
        tenant: &Tenant,
        window: Window,
        now: Timestamp,
    ) -> Result<Vec<Stored<Reservation>>> {
        // A fee that is paid between the two reads is read twice; the second result is newer.
        let mut found: BTreeMap<Id, Stored<Reservation>> = BTreeMap::new();
        for reservation in self.fees(tenant).await? {
            found.insert(reservation.object.id.clone(), reservation);
        }
        for month in months(window, now) {
            for item in self.items_in(Partition::PaidFees { tenant, month }).await? {
                let reservation: Stored<Reservation> = stored_item::from_item(item)?;
                found.insert(reservation.object.id.clone(), reservation);
            }
        }
        Ok(found.into_values().collect())
    }

    /// Returns the refunds that were requested within a window.
    ///
    /// # Errors
    /// Fails if an item cannot be read; `Unavailable` if DynamoDB cannot be reached.
    pub async fn refunds_within(
        &self,
        tenant: &Tenant,
        window: Window,
        now: Timestamp,
    ) -> Result<Vec<Transaction>> {
        let mut found = Vec::new();
        for month in months(window, now) {
            for item in self.items_in(Partition::Refunds { tenant, month }).await? {
                let transaction: Stored<Transaction> = stored_item::from_item(item)?;
                found.push(transaction.object);
            }
        }
        found.retain(|transaction| (window.from..window.until).contains(&transaction.created));
        Ok(found)
    }

    /// Returns the credit notes that were made within a window.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn credit_notes_within(
        &self,
        tenant: &Tenant,
        window: Window,
    ) -> Result<Vec<CreditNote>> {
        let kind = Kind::CreditNote;
        let mut page_request = PageRequest {
            range: (
                Id::first_number(window.from),
                Id::first_number(window.until).saturating_sub(1),
            ),
            ..PageRequest::first(SHOWN_LINES)
        };
        let mut found: Vec<CreditNote> = Vec::new();
        loop {
            let list = Partition::Kind { tenant, kind };
            let page = self.list_objects(list, &page_request, Vec::new()).await?;
            let last = page.items.last().map(|note: &CreditNote| note.id.clone());
            let last = page.end.or(last);
            found.extend(page.items);
            match last {
                Some(last) if page.older => page_request.from = Cursor::After(last),
                _ => return Ok(found),
            }
        }
    }

    /// Returns the charges that have paid the sessions and fees of these lines directly, by the ids of the lines, strongly consistent.
    ///
    /// # Errors
    /// Fails if an item cannot be read; `Unavailable` if DynamoDB cannot be reached.
    pub async fn charges_of(
        &self,
        tenant: &Tenant,
        lines: &[LineItem],
    ) -> Result<BTreeMap<Id, Stored<Transaction>>> {
        let ids = lines.iter().filter_map(charged_object);
        let mut found = self.find_together(tenant, ids).await?;
        let mut charges = Vec::new();
        for line in lines {
            let charge = match charged_object(line) {
                Some((Kind::ChargingSession, id)) => {
                    let session = found.take::<ChargingSession>(id)?;
                    session.map(|session| session.object.charge_id())
                }
                Some((_, id)) => {
                    let reservation = found.take::<Reservation>(id)?;
                    reservation.and_then(|reservation| reservation.charge_id())
                }
                None => None,
            };
            charges.extend(charge.map(|charge| (&line.id, charge)));
        }
        let ids = charges.iter().map(|(_, id)| (Kind::Transaction, id));
        let mut found = self.find_together(tenant, ids).await?;
        let mut by_line = BTreeMap::new();
        for (line, id) in &charges {
            let charge = found.take::<Transaction>(id)?;
            let paid = charge.filter(|charge| charge.object.status == TransactionStatus::Succeeded);
            by_line.extend(paid.map(|charge| ((*line).clone(), charge)));
        }
        Ok(by_line)
    }

    /// Returns the ids that the transactions of a session may have: its charge, refunds and adjustments.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn transactions_of(
        &self,
        tenant: &Tenant,
        session: &ChargingSession,
    ) -> Result<Vec<Id>> {
        let what = &session.id;
        let mut ids = self.ids_in(Partition::PaymentsFor { tenant, what }).await?;
        ids.push(session.charge_id());
        Ok(ids)
    }
}

/// Returns the first days of the months that a window touches until now.
pub(crate) fn months(window: Window, now: Timestamp) -> impl Iterator<Item = Date> {
    let first = window.from.max(Timestamp::from_unix_millis(FIRST_PAYMENT));
    let months = first.utc_date().first_of_month().series(1.month());
    let last = window.until.min(now).utc_date();
    months.take_while(move |month| *month <= last)
}

/// Returns the session or the reservation of a line, which may have been charged directly. None for an adjustment.
fn charged_object(line: &LineItem) -> Option<(Kind, &Id)> {
    match line.kind {
        LineType::EnergySession => Some((Kind::ChargingSession, line.charging_session.as_ref()?)),
        LineType::ReservationFee => Some((Kind::Reservation, line.reservation.as_ref()?)),
        LineType::Adjustment => None,
    }
}

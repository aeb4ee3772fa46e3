//! Invoices: the sessions and fees that an invoice may bill, and the claims of invoices.
//!
//! A session is on at most one invoice that is not void: its item contains the id of the invoice, and every such claim is conditional on
//! the item as it was read. A claim by an invoice that is void or does not exist has no effect. The same holds for a reservation with its
//! fee, and for an adjustment.
//!
//! A few sessions are claimed in the transaction that writes the invoice. For more sessions, an item is written first that marks the
//! invoice as in progress: until that item is too old, claims by an invoice that does not exist yet are respected. The item is deleted in
//! the transaction that writes the invoice. So a request that claims sessions of an abandoned invoice deletes that item first: then the
//! abandoned invoice can never be created. A repeated request continues where the first was interrupted.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use aws_sdk_dynamodb::types::{AttributeValue, Delete, DeleteRequest, Update, WriteRequest};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use jiff::ToSpan as _;

use super::entries::key_of_entry;
use super::keys::{Key, Partition};
use super::list::{Cursor, Page, PageRequest, page_of_ids};
use super::stored_item::{self, Record};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, s, string};
use kernel::error::{Error, Result};
use kernel::fields::address::Country;
use kernel::id::{Id, Kind};
use kernel::money::Currency;
use kernel::origin::{Origin, Tenant};
use kernel::time::{SignedDuration, Timestamp, millis, seconds};
use kernel::window::Window;
use models::adjustment::Adjustment;
use models::charging_session::ChargingSession;
use models::charging_station::ChargingStation;
use models::credit_note::CreditNote;
use models::driver::Driver;
use models::invoice::{
    Billable, FeeNames, Invoice, InvoiceStatus, LineItem, LineType, NewInvoice, SHOWN_LINES,
};
use models::reservation::Reservation;
use models::stored::Stored;
use models::transaction::{Transaction, TransactionStatus};
use models::vehicle::Vehicle;

/// The number of sessions that are claimed in the transaction of the invoice: it has at most 100 writes, and the invoice and the
/// idempotency record are two.
const AT_ONCE: usize = 98;
/// The number of sessions that are claimed in a transaction of their own, each with its line.
const BATCH: usize = 50;
/// The number of such transactions that run concurrently.
const ABREAST: usize = 8;
/// The time for which an invoice may be in progress before it counts as abandoned: longer than any request lasts.
const MAKING: SignedDuration = seconds(40);
/// No fee was paid before 2026, when the service began; in milliseconds since 1970.
const FIRST_FEE: i64 = 1_767_225_600_000;

/// The sessions and fees that an invoice bills.
#[derive(Debug, Clone)]
pub struct Collected {
    /// The newest first.
    pub billed: Vec<Billable>,
    pub invoice: Id,
    /// The time at which the invoice was begun.
    pub begun: Timestamp,
    making: Option<Making>,
}

/// An invoice in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Making {
    invoice: Id,
    /// The idempotency key of the request that creates it, or else the id of the request.
    owner: String,
    request: String,
    begun: Timestamp,
    deadline: Timestamp,
}

/// The effect of a claim.
enum ClaimState {
    Valid,
    Void,
    /// The invoice that this request creates has the claim.
    Ours(Making),
}

impl Collected {
    /// Returns the same with that id for the invoice; an invoice in progress keeps its own id.
    #[must_use]
    pub fn under(mut self, id: Id) -> Self {
        if self.making.is_none() {
            self.invoice = id;
        }
        self
    }
}

impl Store {
    /// Collects the sessions and fees for a new invoice: those within its window that no other invoice has claimed. Fees are taxed in this
    /// country.
    ///
    /// # Errors
    /// `Contended` while another invoice of the same sessions is being created; 409 `idempotency_error` if it is created under the same
    /// key.
    pub async fn collect(
        &self,
        origin: &Origin,
        new: &NewInvoice,
        currency: Currency,
        country: Option<&Country>,
    ) -> Result<Collected> {
        let window = Window {
            from: new.period_start,
            until: new.period_end,
        };
        let mode = origin.tenant.mode;
        let fees = self.fees_within(&origin.tenant, window, origin.now).await?;
        let mut billed: Vec<Billable> = fees
            .iter()
            .filter_map(|fee| new.bills_fee(currency, fee, country))
            .collect();
        let mut pages = self.sessions_around(&origin.tenant, new.fleet.as_ref(), window);
        while let Some(page) = pages.next().await? {
            let billable = page
                .iter()
                .filter_map(|session| new.bills(mode, currency, session));
            billed.extend(billable);
        }
        for adjustment in self.adjustments(&origin.tenant).await? {
            billed.extend(new.bills_adjustment(currency, &adjustment));
        }
        leave_later(&mut billed, window.until);
        billed.sort_by(|a, b| b.line.id.cmp(&a.line.id));
        let making = self.leave_claimed(origin, &mut billed).await?;
        leave_later(&mut billed, window.until);
        leave_credits(&mut billed);
        self.name_fees(&origin.tenant, &fees, &mut billed).await?;
        let (invoice, begun) = match &making {
            Some(making) => (making.invoice.clone(), making.begun),
            None => (Id::new(Kind::Invoice, origin.now), origin.now),
        };
        Ok(Collected {
            billed,
            invoice,
            begun,
            making,
        })
    }

    /// Removes the lines that another invoice bills. Returns the invoice that this request has begun to create.
    async fn leave_claimed(
        &self,
        origin: &Origin,
        billed: &mut Vec<Billable>,
    ) -> Result<Option<Making>> {
        let claimants: BTreeSet<Id> = billed
            .iter()
            .filter_map(|line| line.claimed_by.clone())
            .collect();
        let mut valid = BTreeSet::new();
        let mut making = None;
        for claimant in claimants {
            match self.weigh(origin, &claimant).await? {
                ClaimState::Valid => drop(valid.insert(claimant)),
                ClaimState::Void => {}
                ClaimState::Ours(ours) if making.is_none() => making = Some(ours),
                ClaimState::Ours(another) => self.give_up(&origin.tenant, &another).await?,
            }
        }
        billed.retain(|line| {
            let claimed_by = line.claimed_by.as_ref();
            claimed_by.is_none_or(|claimant| !valid.contains(claimant))
        });
        let ours = making.as_ref().map(|making| &making.invoice);
        for line in billed.iter_mut() {
            // A claim by an invoice that is void or was deleted has no effect.
            if line.claimed_by.as_ref() != ours {
                line.claimed_by = None;
            }
        }
        Ok(making)
    }

    /// Adds the names of drivers, vehicles and stations to the lines of fees.
    async fn name_fees(
        &self,
        tenant: &Tenant,
        fees: &[Stored<Reservation>],
        billed: &mut [Billable],
    ) -> Result<()> {
        let fees: BTreeMap<&Id, &Stored<Reservation>> =
            fees.iter().map(|fee| (&fee.object.id, fee)).collect();
        let mut lines: Vec<(&Stored<Reservation>, &mut LineItem)> = billed
            .iter_mut()
            .filter_map(|billable| Some((*fees.get(&billable.what)?, &mut billable.line)))
            .collect();
        let ids = |of: fn(&LineItem) -> Option<&Id>| -> Vec<Id> {
            let ids = lines.iter().filter_map(|(_, line)| of(line).cloned());
            ids.collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (drivers, vehicles, stations) = (
            ids(|line| line.driver.as_ref()),
            ids(|line| line.vehicle.as_ref()),
            ids(|line| line.charging_station.as_ref()),
        );
        let (drivers, vehicles, stations) = futures::try_join!(
            self.get_all::<Driver>(tenant, &drivers),
            self.get_all::<Vehicle>(tenant, &vehicles),
            self.get_all::<ChargingStation>(tenant, &stations),
        )?;
        let drivers = by_id(drivers);
        let vehicles = by_id(vehicles);
        let stations = by_id(stations);
        for (reservation, line) in &mut lines {
            let driver = line.driver.as_ref().and_then(|id| drivers.get(id));
            let vehicle = line.vehicle.as_ref().and_then(|id| vehicles.get(id));
            let station = line.charging_station.as_ref();
            let station = station.and_then(|id| stations.get(id));
            let names = FeeNames {
                driver: driver.map(|driver| driver.name.clone().into()),
                registration_plate: vehicle
                    .map(|vehicle| vehicle.registration_plate.clone().into()),
                station: station.map(|station| station.name.clone()),
                zone: station.map(|station| station.timezone.clone()),
            };
            line.name_fee(reservation, names);
        }
        Ok(())
    }

    /// Returns the adjustments of a tenant, which are few, as they are now: they decide what is billed and returned.
    ///
    /// # Errors
    /// Fails if an item cannot be read; `Unavailable` if DynamoDB cannot be reached.
    pub async fn adjustments(&self, tenant: &Tenant) -> Result<Vec<Stored<Adjustment>>> {
        let entries = self.entries_in(Partition::Adjustments { tenant }).await?;
        let keys = entries.iter().map(key_of_entry).collect();
        let items = self.items(keys, None, true).await?;
        items.into_iter().map(stored_item::from_item).collect()
    }

    /// Returns the reservations that are over and whose fee is due.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn fees(&self, tenant: &Tenant) -> Result<Vec<Stored<Reservation>>> {
        let items = self.items_in(Partition::Fees { tenant }).await?;
        items.into_iter().map(stored_item::from_item).collect()
    }

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
        let months = window
            .from
            .max(Timestamp::from_unix_millis(FIRST_FEE))
            .utc_date()
            .first_of_month()
            .series(1.month());
        let last = window.until.min(now).utc_date();
        // A fee that is paid between the two reads is read twice; the second result is newer.
        let mut found: BTreeMap<Id, Stored<Reservation>> = BTreeMap::new();
        for reservation in self.fees(tenant).await? {
            found.insert(reservation.object.id.clone(), reservation);
        }
        for month in months.take_while(|month| *month <= last) {
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
        let first = Timestamp::from_unix_millis(FIRST_FEE).max(window.from);
        let months = first.utc_date().first_of_month().series(1.month());
        let last = window.until.min(now).utc_date();
        let mut found = Vec::new();
        for month in months.take_while(|month| *month <= last) {
            for item in self.items_in(Partition::Refunds { tenant, month }).await? {
                let transaction: Stored<Transaction> = stored_item::from_item(item)?;
                found.push(transaction.object);
            }
        }
        found.retain(|transaction| (window.from..window.until).contains(&transaction.created));
        Ok(found)
    }

    /// Returns one page of an invoice's lines, the newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn lines(
        &self,
        tenant: &Tenant,
        invoice: &Invoice,
        page_request: &PageRequest,
    ) -> Result<Page<LineItem>> {
        if !invoice.line_items_has_more {
            let mut lines: BTreeMap<&Id, &LineItem> = invoice
                .line_items
                .iter()
                .map(|line| (&line.id, line))
                .collect();
            let ids = lines.keys().map(|id| (*id).clone()).collect();
            let found = page_of_ids(ids, Kind::LineItem, page_request);
            let items = found
                .items
                .iter()
                .filter_map(|id| lines.remove(id).cloned());
            return Ok(Page {
                items: items.collect(),
                newer: found.newer,
                older: found.older,
                end: found.end,
            });
        }
        let Some((low, high)) = page_request.bounds(Kind::LineItem) else {
            return Ok(Page::from_items(Vec::new(), page_request));
        };
        let (pk, _) = Key::Object {
            tenant,
            id: &invoice.id,
        }
        .pair();
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":low", s(low.as_str()))
            .expression_attribute_values(":high", s(high.as_str()))
            .scan_index_forward(matches!(page_request.from, Cursor::Before(_)))
            .set_limit(i32::try_from(page_request.limit + 1).ok())
            .send()
            .await
            .map_err(client::failure)?;
        let lines = page.items.unwrap_or_default().into_iter().map(read_line);
        Ok(Page::from_items(
            lines.collect::<Result<_>>()?,
            page_request,
        ))
    }

    /// Returns those of these lines that the invoice has.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn lines_of(
        &self,
        tenant: &Tenant,
        invoice: &Invoice,
        ids: impl Iterator<Item = &Id>,
    ) -> Result<BTreeMap<Id, LineItem>> {
        let (mut found, mut others) = (BTreeMap::new(), BTreeSet::new());
        for id in ids.filter(|id| id.is(Kind::LineItem)) {
            match invoice.line_items.iter().find(|line| line.id == *id) {
                Some(line) => drop(found.insert(id.clone(), line.clone())),
                None => drop(others.insert(id)),
            }
        }
        if invoice.line_items_has_more && !others.is_empty() {
            let invoice = &invoice.id;
            let key = |line| {
                key_item(Key::Line {
                    tenant,
                    invoice,
                    line,
                })
            };
            let keys = others.into_iter().map(key).collect();
            for item in self.items(keys, None, true).await? {
                let line = read_line(item)?;
                found.insert(line.id.clone(), line);
            }
        }
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

    /// Removes the lines of an invoice that does not exist and is not in progress.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn drop_lines(&self, tenant: &Tenant, invoice: &Id) -> Result<()> {
        let exists = self.making(tenant, invoice).await?.is_some()
            || self.find::<Invoice>(tenant, invoice).await?.is_some();
        if exists {
            return Ok(());
        }
        let (pk, _) = Key::Object {
            tenant,
            id: invoice,
        }
        .pair();
        let prefix = Kind::LineItem.prefix();
        let pages = self.client.query().table_name(&self.table);
        let keys: Vec<Item> = pages
            .key_condition_expression("pk = :pk AND begins_with(sk, :line)")
            .projection_expression("pk, sk")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":line", s(prefix))
            .into_paginator()
            .items()
            .send()
            .try_collect()
            .await
            .map_err(client::failure)?;
        for batch in keys.chunks(25) {
            let mut deletions = batch.iter().map(removal).collect::<Result<Vec<_>>>()?;
            while !deletions.is_empty() {
                let call = self.client.batch_write_item();
                let answer = call.request_items(&self.table, deletions).send().await;
                let left = answer.map_err(client::failure)?.unprocessed_items;
                deletions = left
                    .and_then(|mut tables| tables.remove(&self.table))
                    .unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Determines the effect of a claim. A claim by an abandoned invoice is invalidated.
    async fn weigh(&self, origin: &Origin, invoice: &Id) -> Result<ClaimState> {
        // The order matters: the creation of the invoice deletes this record in the same transaction.
        if let Some(making) = self.making(&origin.tenant, invoice).await? {
            let over = making.deadline <= origin.now;
            return if making.owner == owner(origin) {
                if !over && making.request != request(origin) {
                    return Err(Error::idempotency_in_flight());
                }
                self.take_up(origin, making).await.map(ClaimState::Ours)
            } else if over {
                self.give_up(&origin.tenant, &making).await?;
                Ok(ClaimState::Void)
            } else {
                Err(Error::Contended)
            };
        }
        let found = self.find::<Invoice>(&origin.tenant, invoice).await?;
        let counts = |status| status != InvoiceStatus::Void;
        Ok(match found {
            Some(invoice) if counts(invoice.object.status) => ClaimState::Valid,
            _ => ClaimState::Void,
        })
    }

    /// Returns whether an invoice is in progress: it may bill sessions as they were a moment ago.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn is_in_the_making(&self, tenant: &Tenant, invoice: &Id) -> Result<bool> {
        Ok(self.making(tenant, invoice).await?.is_some())
    }

    async fn making(&self, tenant: &Tenant, invoice: &Id) -> Result<Option<Making>> {
        let item = self.item(Key::Making { tenant, invoice }, true).await?;
        let time =
            |item: &Item, name| Timestamp::parse(string(item, name)).map_err(Error::internal);
        item.map(|item| {
            Ok(Making {
                invoice: invoice.clone(),
                owner: string(&item, "owner").to_owned(),
                request: string(&item, "maker").to_owned(),
                begun: time(&item, "begun")?,
                deadline: time(&item, "deadline")?,
            })
        })
        .transpose()
    }

    async fn begin_invoice(&self, origin: &Origin, invoice: &Id) -> Result<Making> {
        let making = Making {
            invoice: invoice.clone(),
            owner: owner(origin),
            request: request(origin),
            begun: origin.now,
            deadline: origin.now.plus(MAKING),
        };
        self.write_making(&origin.tenant, &making, None).await?;
        Ok(making)
    }

    /// Continues an invoice that an earlier attempt of the same request began.
    async fn take_up(&self, origin: &Origin, before: Making) -> Result<Making> {
        let making = Making {
            request: request(origin),
            deadline: origin.now.plus(MAKING).max(before.deadline.plus(millis(1))),
            ..before.clone()
        };
        self.write_making(&origin.tenant, &making, Some(&before))
            .await?;
        Ok(making)
    }

    async fn write_making(
        &self,
        tenant: &Tenant,
        making: &Making,
        before: Option<&Making>,
    ) -> Result<()> {
        let mut item = new_item(Key::Making {
            tenant,
            invoice: &making.invoice,
        });
        item.insert("owner".into(), s(&making.owner));
        item.insert("maker".into(), s(&making.request));
        item.insert("begun".into(), s(making.begun.to_string()));
        item.insert("deadline".into(), s(making.deadline.to_string()));
        let put = self.client.put_item().table_name(&self.table);
        let put = match before {
            None => put,
            Some(before) => put
                .condition_expression("#deadline = :before OR #deadline = :deadline")
                .expression_attribute_names("#deadline", "deadline")
                .expression_attribute_values(":before", s(before.deadline.to_string()))
                .expression_attribute_values(":deadline", s(making.deadline.to_string())),
        };
        let put = put.set_item(Some(item)).send().await;
        put.map(drop).map_err(client::put_failure)
    }

    /// Ensures that an interrupted invoice is never created.
    async fn give_up(&self, tenant: &Tenant, making: &Making) -> Result<()> {
        let origin = Origin::background(tenant.clone(), making.deadline);
        let mut tx = self.begin(&origin);
        tx.push(
            Write::Delete(self.end_of(tenant, making)?),
            Error::Contended,
        );
        tx.commit_without_response().await
    }

    /// Returns the deletion of the record of an invoice in progress. It fails if another request has resumed the invoice.
    fn end_of(&self, tenant: &Tenant, making: &Making) -> Result<Delete> {
        Delete::builder()
            .table_name(&self.table)
            .set_key(Some(key_item(Key::Making {
                tenant,
                invoice: &making.invoice,
            })))
            .condition_expression("#deadline = :deadline AND maker = :maker")
            .expression_attribute_names("#deadline", "deadline")
            .expression_attribute_values(":deadline", s(making.deadline.to_string()))
            .expression_attribute_values(":maker", s(&making.request))
            .build()
            .map_err(Error::internal)
    }
}

impl UnitOfWork<'_> {
    /// Claims the sessions and fees of an invoice in the transaction that creates it. If there are too many for one transaction, they are
    /// claimed in earlier transactions.
    ///
    /// # Errors
    /// `Contended` if a session or a reservation has changed in the meantime; `Unavailable` if DynamoDB cannot be reached.
    pub async fn claim_billed(&mut self, collected: &Collected) -> Result<()> {
        let Collected {
            billed,
            invoice,
            making,
            ..
        } = collected;
        if billed.len() <= AT_ONCE && making.is_none() {
            for billable in billed {
                self.claim_one(invoice, billable)?;
            }
            return Ok(());
        }
        let making = match making {
            Some(making) => making.clone(),
            None => self.store.begin_invoice(self.origin, invoice).await?,
        };
        let alone = Origin {
            idempotency: None,
            ..self.origin.clone()
        };
        let unclaimed: Vec<&Billable> = billed
            .iter()
            .filter(|billable| billable.claimed_by.as_ref() != Some(invoice))
            .collect();
        let mut commits = Vec::new();
        for batch in unclaimed.chunks(BATCH) {
            let mut tx = self.store.begin(&alone);
            for billable in batch {
                tx.claim_one(invoice, billable)?;
                tx.add_line(invoice, &billable.line)?;
            }
            commits.push(tx.commit_without_response());
        }
        stream::iter(commits)
            .buffer_unordered(ABREAST)
            .try_collect::<()>()
            .await?;
        self.push(
            Write::Delete(self.store.end_of(&self.origin.tenant, &making)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Claims one session or reservation. If this invoice has claimed it already, it may be claimed again.
    fn claim_one(&mut self, invoice: &Id, billable: &Billable) -> Result<()> {
        let key = Key::Object {
            tenant: &self.origin.tenant,
            id: &billable.what,
        };
        // A session shows the invoice that bills it.
        let part = if billable.what.is(Kind::ChargingSession) {
            "object"
        } else {
            "internal"
        };
        let update = Update::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(key)))
            .update_expression(
                "SET #part.#invoice = :invoice, #version = #version + :one REMOVE events",
            )
            .condition_expression("#version = :read OR #part.#invoice = :invoice")
            .expression_attribute_names("#part", part)
            .expression_attribute_names("#invoice", "invoice")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":invoice", s(invoice.as_str()))
            .expression_attribute_values(":read", n(billable.version))
            .expression_attribute_values(":one", n(1));
        self.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Adds a line to a draft, and to its sums. If an invoice has too many lines to show, all of them are items of their own; the lines
    /// that it shows are written as items first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_draft_line(
        &mut self,
        invoice: &mut Stored<Invoice>,
        line: LineItem,
    ) -> Result<()> {
        let id = invoice.object.id.clone();
        let shown = &mut invoice.object.line_items;
        let has_more = &mut invoice.object.line_items_has_more;
        if !*has_more && shown.len() >= SHOWN_LINES {
            // These items are not read until the invoice states that it has more lines.
            let alone = Origin::background(self.origin.tenant.clone(), self.origin.now);
            for batch in shown.chunks(BATCH) {
                let mut tx = self.store.begin(&alone);
                batch.iter().try_for_each(|line| tx.add_line(&id, line))?;
                tx.commit_without_response().await?;
            }
            *has_more = true;
        }
        if *has_more {
            self.add_line(&id, &line)?;
        }
        shown.insert(0, line);
        shown.truncate(SHOWN_LINES);
        Ok(())
    }

    fn add_line(&mut self, invoice: &Id, line: &LineItem) -> Result<()> {
        let mut item = new_item(Key::Line {
            tenant: &self.origin.tenant,
            invoice,
            line: &line.id,
        });
        let line = serde_dynamo::to_attribute_value(line).map_err(Error::internal)?;
        item.insert("line".into(), line);
        let put = self.store.put(item).build().map_err(Error::internal)?;
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }
}

/// Returns the session or the reservation of a line, which may have been charged directly. None for an adjustment.
fn charged_object(line: &LineItem) -> Option<(Kind, &Id)> {
    match line.kind {
        LineType::EnergySession => Some((Kind::ChargingSession, line.charging_session.as_ref()?)),
        LineType::ReservationFee => Some((Kind::Reservation, line.reservation.as_ref()?)),
        LineType::Adjustment => None,
    }
}

fn by_id<T: Record>(stored: Vec<Stored<T>>) -> BTreeMap<Id, T> {
    let objects = stored.into_iter().map(|stored| stored.object);
    objects
        .map(|object| (object.id().clone(), object))
        .collect()
}

/// Leaves the adjustments from after a window whose session or reservation is not billed.
fn leave_later(billed: &mut Vec<Billable>, end: Timestamp) {
    let subjects: HashSet<Id> = billed.iter().map(|line| line.what.clone()).collect();
    billed.retain(|Billable { what, line, .. }| {
        let is_later = what.time(Kind::Adjustment).is_some_and(|at| at >= end);
        !is_later || line.subject().is_some_and(|id| subjects.contains(id))
    });
}

/// Leaves credits for a later invoice if they exceed the other lines of this one, or the amount due: neither is ever negative. The
/// adjustments of a session, or of a reservation, stay together, so that a corrected price is not billed before the wrong one is credited.
/// Adjustments that this invoice has claimed already stay on it.
fn leave_credits(billed: &mut Vec<Billable>) {
    let is_negative = |billed: &[Billable]| {
        let gross: i64 = billed.iter().map(|billable| billable.line.amount).sum();
        let paid: i64 = billed.iter().map(|billable| billable.paid).sum();
        gross < 0 || gross < paid
    };
    let is_open =
        |billable: &Billable| billable.what.is(Kind::Adjustment) && billable.claimed_by.is_none();
    let adjusted = |billable: &Billable| billable.line.subject().cloned();
    while is_negative(billed) {
        let mut sums: BTreeMap<_, i64> = BTreeMap::new();
        for billable in billed.iter().filter(|billable| is_open(billable)) {
            *sums.entry(adjusted(billable)).or_default() += billable.line.amount;
        }
        let credited = sums.into_iter().find(|(_, sum)| *sum < 0);
        let Some((credited, _)) = credited else {
            return;
        };
        billed.retain(|billable| !is_open(billable) || adjusted(billable) != credited);
    }
}

fn request(origin: &Origin) -> String {
    origin
        .request
        .as_ref()
        .map(Id::to_string)
        .unwrap_or_default()
}

fn owner(origin: &Origin) -> String {
    match &origin.idempotency {
        Some(idempotency) => format!("{} {}", idempotency.fingerprint, idempotency.key),
        None => request(origin),
    }
}

fn read_line(mut item: Item) -> Result<LineItem> {
    let line = item
        .remove("line")
        .ok_or_else(|| Error::internal("a line without content"))?;
    serde_dynamo::from_attribute_value::<AttributeValue, LineItem>(line).map_err(Error::internal)
}

fn removal(key: &Item) -> Result<WriteRequest> {
    let request = DeleteRequest::builder()
        .set_key(Some(key.clone()))
        .build()
        .map_err(Error::internal)?;
    Ok(WriteRequest::builder().delete_request(request).build())
}

// The lines that an invoice shows must fit into the transaction that claims its sessions, or be items of their own.
const _: () = assert!(AT_ONCE <= SHOWN_LINES);

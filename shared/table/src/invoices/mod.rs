//! Invoices: the sessions and fees that an invoice may bill, and the claims of invoices.
//!
//! A session is on at most one invoice that is not void: its item contains the id of the invoice, and every such claim is conditional on
//! the item as it was read. A claim by an invoice that is void or does not exist has no effect. The same holds for a reservation with its
//! fee, and for an adjustment.
//!
//! A few sessions are claimed in the transaction that writes the invoice. For more sessions, or lines that the invoice cannot show itself, an
//! item is written first that marks the invoice as in progress: until that item is too old, claims by an invoice that does not exist yet are
//! respected. The item is deleted in the transaction that writes the invoice. So a request that claims sessions of an abandoned invoice
//! deletes that item first: then the abandoned invoice can never be created. A repeated request continues where the first was interrupted.

mod adjustments;
mod lines;
mod making;
mod paid;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use self::making::{Making, owner, request};
pub(super) use self::paid::months;
use super::keys::{Key, Partition};
use super::stored_item::{self, Record};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n, s};
use kernel::fields::address::Country;
use kernel::{Currency, Error, Id, Kind, Origin, Result, Tenant, Timestamp, Window};
use models::invoice::{Billable, FeeNames, InvoiceStatus, LineItem, NewInvoice, shown_lines};
use models::{ChargingStation, Driver, Invoice, Reservation, Stored, Vehicle};

/// The number of sessions and fees that are claimed in the transaction of the invoice. DynamoDB accepts 4 MB of items, of which those that
/// are updated count as a whole: a reservation with a fee has up to 71 KB, and the invoice and the idempotency record need room as well.
const AT_ONCE: usize = 40;
/// The number of sessions and fees that are claimed in a transaction of their own, each with its line.
const BATCH: usize = 50;
/// The number of such transactions, or of reads of earlier invoices, that run concurrently.
const ABREAST: usize = 8;

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
        for adjustment in self.open_adjustments(&origin.tenant).await? {
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
        let weighed = stream::iter(claimants).map(async |claimant| {
            let state = self.weigh(origin, &claimant).await?;
            Ok::<_, Error>((claimant, state))
        });
        let weighed: Vec<_> = weighed.buffered(ABREAST).try_collect().await?;
        for (claimant, state) in weighed {
            match state {
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

    /// Returns the reservations that are over and whose fee is due.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn fees(&self, tenant: &Tenant) -> Result<Vec<Stored<Reservation>>> {
        let items = self.items_in(Partition::Fees { tenant }).await?;
        items.into_iter().map(stored_item::from_item).collect()
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
}

impl UnitOfWork<'_> {
    /// Claims the sessions and fees of an invoice in the transaction that creates it. If there are too many for one transaction, or for the
    /// invoice to show all of them, they are claimed in earlier transactions, which write each line as an item of its own.
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
        let fits = making.is_none() && billed.len() <= AT_ONCE;
        if fits && shown_lines(billed)? == billed.len() {
            for billable in billed {
                self.claim_one(invoice, billable);
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
                tx.claim_one(invoice, billable);
                tx.add_line(invoice, &billable.line)?;
            }
            commits.push(tx.commit_without_response());
        }
        stream::iter(commits)
            .buffer_unordered(ABREAST)
            .try_collect::<()>()
            .await?;
        let end = self.store.end_of(&self.origin.tenant, &making);
        self.push(end, Error::Contended);
        Ok(())
    }

    /// Claims one session or reservation. If this invoice has claimed it already, it may be claimed again.
    fn claim_one(&mut self, invoice: &Id, billable: &Billable) {
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
        let update = self
            .store
            .update(key)
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
        self.push(Write::Update(update), Error::Contended);
    }
}

fn by_id<T: Record>(stored: Vec<Stored<T>>) -> BTreeMap<Id, T> {
    let objects = stored.into_iter().map(|stored| stored.object);
    objects
        .map(|object| (object.id().clone(), object))
        .collect()
}

/// Leaves the adjustments from after a window whose session or reservation is not billed. A credit that was applied to a draft of the window,
/// which was deleted or voided, has neither, and stays.
fn leave_later(billed: &mut Vec<Billable>, end: Timestamp) {
    let subjects: HashSet<Id> = billed.iter().map(|line| line.what.clone()).collect();
    billed.retain(|Billable { what, line, .. }| {
        let is_later = what.time(Kind::Adjustment).is_some_and(|at| at >= end);
        !is_later || line.subject().is_none_or(|id| subjects.contains(id))
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

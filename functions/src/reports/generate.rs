//! `generate-report`: generates the file of a pending report. An attempt that fails, or ends without a result, is followed by another,
//! three in all. An attempt for which DynamoDB is too slow or unreachable does not count: the report waits, and is tried again for a day.

use std::collections::{BTreeSet, HashMap};

use crate::App;
use kernel::{Error, Id, Kind, Tenant, Timestamp};
use models::charging::summary::Summary;
use models::invoice::InvoiceStatus;
use models::ports::JobSubject;
use models::report::{Grouping, ReportFile, ReportTotals, ReportType};
use models::{
    Adjustment, ChargingSession, ChargingStation, CreditNote, Driver, Fleet, Invoice, Report,
    Reservation, Stored, Transaction, Vehicle,
};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::keys::Partition;
use table::list::{Cursor, PageRequest};
use web::deployment::{Deployment, Need};

use crate::function::Function;
use crate::job::{Job, write_progress};

/// Generates the file of a pending report.
#[derive(Debug, Serialize, Deserialize)]
pub struct GenerateReport {
    pub tenant: Tenant,
    pub report: Id,
}

impl Job for GenerateReport {
    const NAME: &'static str = "generate-report";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .memory(1024)
            .timeout(300)
            .writing(&[Items::Of(Kind::Report)])
            .needing(&[Need::WriteReports]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.report)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, report: id } = &self;
        let Some(mut report) = app.store.find::<Report>(tenant, id).await? else {
            return Ok(());
        };
        if report.is_lost(app.now()) {
            report.record_failed_attempt(app.now());
            return write_progress(app, tenant, &mut report).await.map(drop);
        }
        if !report.begin(app.now()) || !write_progress(app, tenant, &mut report).await? {
            return Ok(());
        }
        match make(app, tenant, &report).await {
            Ok(Some((file, totals))) => report.succeed(file, totals, app.now()),
            Ok(None) => report.fail(TOO_LONG),
            Err(error @ Error::Unavailable(_)) => {
                tracing::warn!(%error, report.id = %id, "the report is put off");
                report.put_off(app.now());
            }
            Err(error) => {
                tracing::warn!(%error, report.id = %id, "the report could not be generated");
                report.record_failed_attempt(app.now());
            }
        }
        write_progress(app, tenant, &mut report).await.map(drop)
    }
}

/// The number of fleets that are read at a time.
const FLEETS_AT_A_TIME: usize = 100;

/// The reason for which a report of too many sessions fails.
const TOO_LONG: &str = "the report would have more than 20,000 rows; please ask for a shorter period or another grouping";

/// Generates the file and stores it. None if the report would have too many rows.
async fn make(
    app: &App,
    tenant: &Tenant,
    stored: &Stored<Report>,
) -> Result<Option<(ReportFile, Vec<ReportTotals>)>, Error> {
    let report = &stored.object;
    let now = app.now();
    let mut summary = Summary::new(report.parameters.clone(), &report.time_zone, now);
    let window = report.parameters.window();
    if report.parameters.kind == ReportType::CostAnalysis {
        for reservation in app.store.fees_within(tenant, window, now).await? {
            if report.fleet.is_none() || report.fleet == reservation.internal.fleet {
                summary.add_fee(&reservation);
            }
        }
        for refund in refunds(app, tenant, report, now).await? {
            summary.add_refund(&refund);
        }
        let notes = app.store.credit_notes_within(tenant, window).await?;
        for (note, is_paid) in credit_notes(app, tenant, report, notes).await? {
            summary.add_credit_note(&note, is_paid);
        }
        for (adjustment, paid) in adjustments(app, tenant, report).await? {
            summary.add_adjustment(&adjustment, paid);
        }
    }
    let mut pages = app
        .store
        .sessions_of_period(tenant, report.fleet.as_ref(), window, now);
    while let Some(page) = pages.next().await? {
        let stations = summary.unknown_stations(&page);
        let found = app.store.get_all::<ChargingStation>(tenant, &stations);
        let found = found.await?.into_iter().map(|station| station.object);
        summary.set_mixes(stations, found.collect());
        for mut session in page {
            session.object = session.live(tenant.mode, now);
            summary.add(&session);
        }
        if summary.is_too_long() {
            return Ok(None);
        }
    }
    if report.parameters.kind == ReportType::FleetEfficiency {
        let vehicles = vehicles(app, tenant, report.fleet.as_ref()).await?;
        summary.set_vehicles(&vehicles);
    }
    let names = match report.parameters.group_by {
        Some(grouping) => names(app, tenant, grouping, &summary.groups()).await?,
        None => HashMap::new(),
    };
    let content = summary.file(&names)?;
    let file = ReportFile::of(stored.file_name(), &content);
    let content_type = report.format.content_type();
    let put = app.files.put(&file.key, content_type, content).await;
    put.map_err(|error| Error::internal(error.to_string()))?;
    Ok(Some((file, summary.totals())))
}

/// The number of vehicles of the fleet, or of each fleet of the account.
async fn vehicles(
    app: &App,
    tenant: &Tenant,
    fleet: Option<&Id>,
) -> Result<HashMap<Id, i64>, Error> {
    let count = |fleet: Fleet| {
        (
            fleet.id,
            i64::try_from(fleet.total_vehicles).unwrap_or(i64::MAX),
        )
    };
    if let Some(id) = fleet {
        let found = app.store.find::<Fleet>(tenant, id).await?;
        return Ok(found.map(|fleet| count(fleet.object)).into_iter().collect());
    }
    let kind = Kind::Fleet;
    let mut page_request = PageRequest::first(FLEETS_AT_A_TIME);
    let mut vehicles = HashMap::new();
    loop {
        let list = Partition::Kind { tenant, kind };
        let page = app.store.list_objects(list, &page_request, Vec::new());
        let page = page.await?;
        let last = page.items.last().map(|fleet: &Fleet| fleet.id.clone());
        let last = page.end.or(last);
        vehicles.extend(page.items.into_iter().map(count));
        match last {
            Some(last) if page.older => page_request.from = Cursor::After(last),
            _ => return Ok(vehicles),
        }
    }
}

/// The refunds that a report covers. One of a payment of an invoice of the whole account is divided among the fleets of the lines that its
/// credit note credits, without what the refunds of direct payments of these lines have returned.
async fn refunds(
    app: &App,
    tenant: &Tenant,
    report: &Report,
    now: Timestamp,
) -> Result<Vec<Transaction>, Error> {
    let window = report.parameters.window();
    let mut found = app.store.refunds_within(tenant, window, now).await?;
    if is_by_fleet(report) {
        let of_account = found.iter().filter(|refund| refund.fleet.is_none());
        let ids = of_account.filter_map(|refund| refund.credit_note.clone());
        let ids: Vec<Id> = ids.collect::<BTreeSet<Id>>().into_iter().collect();
        let notes = app.store.get_all::<CreditNote>(tenant, &ids).await?;
        let notes: HashMap<Id, CreditNote> = notes
            .into_iter()
            .map(|note| (note.object.id.clone(), note.object))
            .collect();
        let fleets = fleets_of_notes(app, tenant, notes.values()).await?;
        let direct = returned_directly(&found);
        let parts = found.into_iter().flat_map(|refund| {
            let note = refund.credit_note.as_ref().and_then(|id| notes.get(id));
            let Some(note) = note.filter(|_| refund.fleet.is_none()) else {
                return vec![refund];
            };
            let returned = |line: &Id| {
                let line = (note.id.clone(), line.clone());
                direct.get(&line).copied().unwrap_or_default()
            };
            let parts = note.divide(refund.amount, &fleets, returned).into_iter();
            let parts = parts.filter(|(_, amount)| *amount != 0);
            let part = |(fleet, amount)| Transaction {
                fleet,
                amount,
                ..refund.clone()
            };
            parts.map(part).collect()
        });
        found = parts.collect();
    }
    found.retain(|refund| report.fleet.is_none() || report.fleet == refund.fleet);
    Ok(found)
}

/// The amounts that refunds of direct payments have returned, by the credit notes and the lines of the paid sessions and reservations.
fn returned_directly(refunds: &[Transaction]) -> HashMap<(Id, Id), i64> {
    let mut direct: HashMap<(Id, Id), i64> = HashMap::new();
    for refund in refunds {
        let paid = refund.charging_session.as_ref();
        let paid = paid.or(refund.reservation.as_ref());
        if let (Some(note), Some(paid)) = (&refund.credit_note, paid) {
            let line = (note.clone(), paid.as_kind(Kind::LineItem));
            *direct.entry(line).or_default() += refund.amount;
        }
    }
    direct
}

/// The adjustments that a report covers, and the paid part of each, in minor units.
async fn adjustments(
    app: &App,
    tenant: &Tenant,
    report: &Report,
) -> Result<Vec<(Stored<Adjustment>, i64)>, Error> {
    let window = report.parameters.window();
    let found = app.store.adjustments_within(tenant, window, app.now());
    let mut found = found.await?;
    found.retain(|adjustment| report.parameters.covers_adjustment(&adjustment.object));
    if is_by_fleet(report) {
        let of_account = found
            .iter()
            .filter(|adjustment| adjustment.object.fleet.is_none());
        let lines = of_account.flat_map(|adjustment| adjustment.internal.lines.keys());
        let fleets = fleets_of(app, tenant, lines).await?;
        let parts = found
            .into_iter()
            .flat_map(|adjustment| adjustment.by_fleet(&fleets));
        found = parts.collect();
    }
    found.retain(|adjustment| report.fleet.is_none() || report.fleet == adjustment.object.fleet);
    let ids = found
        .iter()
        .filter_map(|adjustment| adjustment.internal.invoice.clone());
    let states = invoice_states(app, tenant, ids).await?;
    let with_state = found.into_iter().filter_map(|adjustment| {
        let billed_by = adjustment.internal.invoice.as_ref();
        let state = billed_by.and_then(|invoice| states.get(invoice));
        // The credit note of the adjustment counts in its place.
        let counts = !adjustment.is_credit_note() || state == Some(&InvoiceStatus::Void);
        let paid = match state {
            Some(InvoiceStatus::Paid) => adjustment.object.line.amount,
            _ => adjustment.internal.paid,
        };
        counts.then_some((adjustment, paid))
    });
    Ok(with_state.collect())
}

/// The credit notes of a report, and whether the invoice of each is paid. Those of void invoices do not count, like the invoices
/// themselves.
async fn credit_notes(
    app: &App,
    tenant: &Tenant,
    report: &Report,
    mut found: Vec<CreditNote>,
) -> Result<Vec<(CreditNote, bool)>, Error> {
    if is_by_fleet(report) {
        let of_account = found.iter().filter(|note| note.fleet.is_none());
        let fleets = fleets_of_notes(app, tenant, of_account).await?;
        let parts = found.into_iter().flat_map(|note| note.by_fleet(&fleets));
        found = parts.collect();
    }
    found.retain(|note| report.fleet.is_none() || report.fleet == note.fleet);
    let ids = found.iter().map(|note| note.invoice.clone());
    let states = invoice_states(app, tenant, ids).await?;
    let with_state = found.into_iter().filter_map(|note| {
        let state = states.get(&note.invoice)?;
        let is_paid = *state == InvoiceStatus::Paid;
        (*state != InvoiceStatus::Void).then_some((note, is_paid))
    });
    Ok(with_state.collect())
}

/// Returns whether credits of invoices of the whole account have to be divided among the fleets of the credited lines.
fn is_by_fleet(report: &Report) -> bool {
    report.fleet.is_some() || report.parameters.group_by == Some(Grouping::Fleet)
}

/// The fleets of the credited lines of credit notes, by the ids of the lines.
async fn fleets_of_notes(
    app: &App,
    tenant: &Tenant,
    notes: impl Iterator<Item = &CreditNote>,
) -> Result<HashMap<Id, Id>, Error> {
    let lines = notes.flat_map(|note| &note.lines);
    let lines = lines.filter_map(|line| line.line_item.as_ref());
    fleets_of(app, tenant, lines).await
}

/// The fleets of the sessions, reservations and adjustments that lines of invoices bill, by the ids of the lines.
async fn fleets_of(
    app: &App,
    tenant: &Tenant,
    lines: impl Iterator<Item = &Id>,
) -> Result<HashMap<Id, Id>, Error> {
    // The id of a line has the number of the object that it bills.
    let billed: Vec<(Kind, Id, &Id)> = lines
        .flat_map(|line| {
            [Kind::ChargingSession, Kind::Reservation, Kind::Adjustment]
                .map(|kind| (kind, line.as_kind(kind), line))
        })
        .collect();
    let ids = billed.iter().map(|(kind, id, _)| (*kind, id));
    let mut found = app.store.find_together(tenant, ids).await?;
    let mut fleets = HashMap::new();
    for (kind, id, line) in &billed {
        let fleet = match kind {
            Kind::ChargingSession => {
                let session = found.take::<ChargingSession>(id)?;
                session.map(|session| session.object.fleet)
            }
            Kind::Reservation => {
                let reservation = found.take::<Reservation>(id)?;
                reservation.and_then(|reservation| reservation.internal.fleet)
            }
            _ => {
                let adjustment = found.take::<Adjustment>(id)?;
                adjustment.and_then(|adjustment| adjustment.object.fleet)
            }
        };
        fleets.extend(fleet.map(|fleet| ((*line).clone(), fleet)));
    }
    Ok(fleets)
}

async fn invoice_states(
    app: &App,
    tenant: &Tenant,
    ids: impl Iterator<Item = Id>,
) -> Result<HashMap<Id, InvoiceStatus>, Error> {
    let ids: Vec<Id> = ids.collect::<BTreeSet<Id>>().into_iter().collect();
    let invoices = app.store.get_all::<Invoice>(tenant, &ids).await?;
    let states = invoices.into_iter();
    Ok(states
        .map(|invoice| (invoice.object.id, invoice.object.status))
        .collect())
}

/// The names of the groups; deleted objects have none.
async fn names(
    app: &App,
    tenant: &Tenant,
    grouping: Grouping,
    ids: &[Id],
) -> Result<HashMap<Id, String>, Error> {
    let store = &app.store;
    Ok(match grouping {
        Grouping::Vehicle => named(store.get_all::<Vehicle>(tenant, ids).await?, |vehicle| {
            (vehicle.id, vehicle.registration_plate.into())
        }),
        Grouping::Driver => named(store.get_all::<Driver>(tenant, ids).await?, |driver| {
            (driver.id, driver.name.into())
        }),
        Grouping::Fleet => named(store.get_all::<Fleet>(tenant, ids).await?, |fleet| {
            (fleet.id, fleet.name.into())
        }),
        Grouping::Station => {
            let stations = store.get_all::<ChargingStation>(tenant, ids).await?;
            named(stations, |station| (station.id, station.name))
        }
        // Sessions contain the names themselves, and months have none.
        Grouping::Month | Grouping::Session => HashMap::new(),
    })
}

fn named<T: table::stored_item::Record>(
    objects: Vec<Stored<T>>,
    name: impl Fn(T) -> (Id, String),
) -> HashMap<Id, String> {
    objects
        .into_iter()
        .map(|stored| name(stored.object))
        .collect()
}

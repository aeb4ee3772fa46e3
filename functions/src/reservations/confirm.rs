//! `confirm-reservation`: one attempt to confirm a pending reservation on the nearest suitable connector.

use std::collections::BTreeSet;

use shared::charging::calendar::Window;
use shared::charging::matching::{self, Assignment, Candidate, MatchSummary};
use shared::charging::policies::{Limits, Plan};
use shared::charging::search::Circle;
use shared::models::charging_station::Point;
use shared::models::driver::Driver;
use shared::models::event::{Event, EventType};
use shared::models::fleet::Fleet;
use shared::models::reservation::{FailedReason, Reservation, ReservationStatus};
use shared::models::vehicle::Vehicle;
use shared::origin::{Origin, Tenant};
use shared::store::Changes;
use shared::store::calendars::{Booked, Calendars};
use shared::store::keys::{connector_calendar, vehicle_calendar};
use shared::store::row::Row;
use shared::{App, Error, Id};

use crate::policies;

/// How often an attempt reads the calendars anew after somebody else took what it had chosen.
const ROUNDS: usize = 20;

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let now = app.now();
    let Some(row) = app.store.find::<Reservation>(tenant, id).await? else {
        return Ok(());
    };
    let due = row.private.due.is_some_and(|due| due <= now);
    if row.object.status != ReservationStatus::Pending || !due {
        return Ok(());
    }
    let origin = Origin::later(tenant.clone(), now);
    let (driver, vehicle) = tokio::try_join!(
        app.store.find::<Driver>(tenant, &row.object.driver),
        app.store.find::<Vehicle>(tenant, &row.object.vehicle),
    )?;
    let Some(driver) = driver.map(|row| row.object).filter(Driver::is_active) else {
        return miss(app, &origin, row, FailedReason::DriverUnavailable, None).await;
    };
    let Some(vehicle) = vehicle.map(|row| row.object).filter(Vehicle::is_active) else {
        return miss(app, &origin, row, FailedReason::VehicleUnavailable, None).await;
    };
    let fleet = app.store.find::<Fleet>(tenant, &vehicle.fleet).await?;
    let fleet = fleet.map(|row| row.object);
    let rules = policies::of(app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
    let area = row.object.location;
    let circle = Circle {
        center: Point {
            latitude: area.latitude,
            longitude: area.longitude,
        },
        meters: area.radius,
    };
    let preferred = &driver.preferences.preferred_charging_stations;
    let (stations, in_radius) = app.store.stations_near(tenant, circle, preferred).await?;
    let windows = matching::windows(&row.object, now);
    let plan = Plan {
        station: None,
        windows: &windows,
        currency: row.object.currency,
        zone: &Fleet::zone(fleet.as_ref()),
    };
    let standard = vehicle.charging_standard;
    let (candidates, mut summary) = matching::candidates(
        &stations,
        &row.object,
        standard,
        &driver.preferences,
        &windows,
        &Limits::new(&rules, &plan),
    );
    summary.stations_in_radius = in_radius as u32;
    book(app, &origin, row, &windows, &candidates, summary).await
}

/// Tries the candidates, nearest first, the preferred window before any other, until one of them can be had.
async fn book(
    app: &App,
    origin: &Origin,
    row: Row<Reservation>,
    windows: &[Window],
    candidates: &[Candidate],
    mut summary: MatchSummary,
) -> Result<(), Error> {
    let vehicle = vehicle_calendar(&row.object.vehicle);
    let connectors = candidates
        .iter()
        .map(|candidate| connector_calendar(&candidate.station, &candidate.connector));
    let whose: Vec<String> = connectors.chain([vehicle.clone()]).collect();
    let mut calendars = read(app, origin, &whose, windows).await?;
    for _ in 0..ROUNDS {
        let Some((window, candidate)) = choose(&row.object, windows, candidates, &calendars) else {
            let stations: BTreeSet<_> = candidates
                .iter()
                .map(|candidate| &candidate.station)
                .collect();
            summary.refused.booked = stations.len() as u32;
            let reason = match candidates {
                [] if summary.refused.policy > 0 => FailedReason::PolicyBlocked,
                _ => FailedReason::NoAvailableConnectors,
            };
            return miss(app, origin, row, reason, Some(summary)).await;
        };
        let booked = [
            connector_calendar(&candidate.station, &candidate.connector),
            vehicle.clone(),
        ];
        let assignment = Assignment {
            station: candidate.station.clone(),
            connector: candidate.connector.clone(),
            window: *window,
        };
        let (confirmed, event) = confirmed(origin, &row, &assignment, summary.clone())?;
        match app
            .store
            .book(origin, &confirmed, &event, *window, &calendars, &booked)
            .await?
        {
            Booked::Done | Booked::ReservationMoved => return Ok(()),
            Booked::CalendarMoved => calendars.update(read(app, origin, &booked, windows).await?),
        }
    }
    Err(Error::unavailable(
        "the calendars changed faster than they could be read",
    ))
}

/// The first window, and in it the nearest candidate, that nobody else has.
fn choose<'a>(
    reservation: &Reservation,
    windows: &'a [Window],
    candidates: &'a [Candidate],
    calendars: &Calendars,
) -> Option<(&'a Window, &'a Candidate)> {
    let free = |whose: &str, window: &Window| calendars.is_free(whose, window, &reservation.id);
    let vehicle = vehicle_calendar(&reservation.vehicle);
    windows
        .iter()
        .filter(|window| free(&vehicle, window))
        .find_map(|window| {
            let suits = |candidate: &&Candidate| {
                candidate.is_open(window)
                    && free(
                        &connector_calendar(&candidate.station, &candidate.connector),
                        window,
                    )
            };
            Some((window, candidates.iter().find(suits)?))
        })
}

async fn read(
    app: &App,
    origin: &Origin,
    whose: &[String],
    windows: &[Window],
) -> Result<Calendars, Error> {
    let days: BTreeSet<_> = windows.iter().flat_map(Window::utc_days).collect();
    let pages = whose
        .iter()
        .flat_map(|whose| days.iter().map(|day| (whose.clone(), *day)));
    app.store
        .calendars(origin.tenant.mode, pages.collect())
        .await
}

/// The reservation as confirmed, and the event that goes into the same transaction.
fn confirmed(
    origin: &Origin,
    row: &Row<Reservation>,
    assignment: &Assignment,
    summary: MatchSummary,
) -> Result<(Row<Reservation>, Row<Event>), Error> {
    let mut row = row.clone();
    row.object
        .confirm(assignment, summary, &mut row.private, origin.now);
    let event = row.event(EventType::ReservationConfirmed, origin)?;
    Ok((row, event))
}

/// Notes that the attempt found nothing.
async fn miss(
    app: &App,
    origin: &Origin,
    mut row: Row<Reservation>,
    reason: FailedReason,
    summary: Option<MatchSummary>,
) -> Result<(), Error> {
    row.object
        .miss(reason, summary, &mut row.private, origin.now);
    if row.object.status == ReservationStatus::Failed {
        row = row.announcing(EventType::ReservationFailed);
    }
    let mut changes = Changes::new();
    app.store.replace(&mut changes, origin, &row)?;
    match app.store.commit_later(origin, changes).await {
        // Somebody changed the reservation meanwhile; that change has its own attempt.
        Err(Error::Contended) => Ok(()),
        done => done,
    }
}

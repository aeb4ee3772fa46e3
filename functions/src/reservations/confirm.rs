//! `confirm-reservation`: one attempt to confirm a pending reservation on the best connector, or to move a confirmed one
//! whose connector is out of order.

use std::collections::BTreeSet;

use shared::charging::calendar::Window;
use shared::charging::matching::{self, Assignment, Candidate, MatchSummary};
use shared::charging::policies::{Limits, Plan};
use shared::charging::search::Circle;
use shared::models::charging_station::ChargingStation;
use shared::models::driver::Driver;
use shared::models::event::{Event, EventType};
use shared::models::fleet::Fleet;
use shared::models::reservation::{FailedReason, Reservation, ReservationStatus};
use shared::models::vehicle::Vehicle;
use shared::origin::{Origin, Tenant};
use shared::store::Changes;
use shared::store::calendars::{Booked, Calendars, Promise};
use shared::store::keys::{connector_calendar, vehicle_calendar};
use shared::store::row::Row;
use shared::{App, Error, Id};

use crate::policies;

/// How often an attempt reads the calendars anew after somebody else took what it had chosen.
const ROUNDS: usize = 20;

/// How often one piece of work moves a reservation whose connectors go out of order one after the other.
const MOVES: usize = 5;

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let origin = Origin::later(tenant.clone(), app.now());
    for _ in 0..MOVES {
        let Some(row) = app.store.find::<Reservation>(tenant, id).await? else {
            return Ok(());
        };
        let due = row.private.due.is_some_and(|due| due <= origin.now);
        let promised = row.object.promised(&row.private, origin.now);
        let settled = match (row.object.status, promised) {
            (ReservationStatus::Pending, _) if due => attempt(app, &origin, row, None).await?,
            (_, Some(window)) if !is_kept(app, tenant, &row).await? => {
                attempt(app, &origin, row, Some(window)).await?
            }
            _ => true,
        };
        // What has just been booked may have gone out of order meanwhile, before anybody could see that it was promised.
        if settled {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether the connector that a reservation was promised can still be had.
async fn is_kept(app: &App, tenant: &Tenant, row: &Row<Reservation>) -> Result<bool, Error> {
    let (Some(station), Some(connector)) = (&row.object.charging_station, &row.object.connector)
    else {
        return Ok(false);
    };
    let station = app.store.find::<ChargingStation>(tenant, station).await?;
    Ok(station.is_some_and(|row| row.object.can_promise(connector)))
}

/// Looks for a connector, in the window promised so far before any other. True when there is nothing left to look after.
async fn attempt(
    app: &App,
    origin: &Origin,
    row: Row<Reservation>,
    promised: Option<Window>,
) -> Result<bool, Error> {
    let tenant = &origin.tenant;
    let circle = Circle {
        center: row.object.location.center(),
        meters: row.object.location.radius,
    };
    let (driver, vehicle, spots) = tokio::try_join!(
        app.store.find::<Driver>(tenant, &row.object.driver),
        app.store.find::<Vehicle>(tenant, &row.object.vehicle),
        app.store.spots_in(tenant, circle),
    )?;
    // What is confirmed stays, whatever becomes of driver and vehicle.
    let stays = promised.is_some();
    let driver = driver.map(|row| row.object);
    let Some(driver) = driver.filter(|driver| stays || driver.is_active()) else {
        return miss(app, origin, row, FailedReason::DriverUnavailable, None).await;
    };
    let vehicle = vehicle.map(|row| row.object);
    let Some(vehicle) = vehicle.filter(|vehicle| stays || vehicle.is_active()) else {
        return miss(app, origin, row, FailedReason::VehicleUnavailable, None).await;
    };
    let rules = async {
        let fleet = app.store.find::<Fleet>(tenant, &vehicle.fleet).await?;
        let fleet = fleet.map(|row| row.object);
        let rules = policies::of(app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
        Ok::<_, Error>((fleet, rules))
    };
    let preferred = &driver.preferences.preferred_charging_stations;
    let (stations, (fleet, rules)) =
        tokio::try_join!(app.store.nearest(tenant, &spots, preferred), rules)?;
    let others = matching::windows(&row.object, origin.now);
    let others = others.into_iter().filter(|one| Some(*one) != promised);
    let windows: Vec<_> = promised.into_iter().chain(others).collect();
    let plan = Plan {
        station: None,
        windows: &windows,
        currency: row.object.currency,
        zone: &Fleet::zone(fleet.as_ref()),
    };
    let (candidates, summary) = matching::candidates(
        &stations,
        spots.len(),
        &row.object,
        vehicle.charging_standard,
        &driver.preferences,
        &windows,
        &Limits::new(&rules, &plan),
    );
    book(app, origin, row, &windows, &candidates, summary).await
}

/// Tries the candidates, the best first, the preferred window before any other, until one of them can be had.
async fn book(
    app: &App,
    origin: &Origin,
    row: Row<Reservation>,
    windows: &[Window],
    candidates: &[Candidate],
    mut summary: MatchSummary,
) -> Result<bool, Error> {
    let vehicle = vehicle_calendar(&row.object.vehicle);
    let before = Promise::of_reservation(&row.object);
    let left = before.iter().flat_map(|promise| promise.whose.clone());
    let connectors = candidates
        .iter()
        .map(|candidate| connector_calendar(&candidate.station, &candidate.connector));
    let whose: BTreeSet<String> = connectors.chain([vehicle.clone()]).chain(left).collect();
    let mut calendars = read(app, origin, &whose, windows).await?;
    for _ in 0..ROUNDS {
        summary.refused.booked = booked(&row.object, windows, candidates, &calendars);
        let Some((window, candidate)) = choose(&row.object, windows, candidates, &calendars) else {
            let reason = match candidates {
                [] if summary.refused.policy > 0 => FailedReason::PolicyBlocked,
                _ => FailedReason::NoAvailableConnectors,
            };
            return miss(app, origin, row, reason, Some(summary)).await;
        };
        let assignment = Assignment {
            station: candidate.station.clone(),
            connector: candidate.connector.clone(),
            window: *window,
        };
        let (confirmed, event) = confirmed(origin, &row, &assignment, summary.clone())?;
        let booked = app
            .store
            .book(origin, &confirmed, &event, &calendars, before.as_ref())
            .await?;
        match booked {
            // A reservation that moved was changed by somebody, or by this very attempt, whose acknowledgement was lost.
            Booked::Done | Booked::ReservationMoved => return Ok(false),
            Booked::CalendarMoved => {
                let connector = connector_calendar(&candidate.station, &candidate.connector);
                let left = before.iter().flat_map(|promise| promise.whose.clone());
                let whose = left.chain([connector, vehicle.clone()]).collect();
                calendars.update(read(app, origin, &whose, windows).await?);
            }
        }
    }
    Err(Error::unavailable(
        "the calendars changed faster than they could be read",
    ))
}

/// The first window, and in it the best candidate, that nobody else has.
fn choose<'a>(
    reservation: &Reservation,
    windows: &'a [Window],
    candidates: &'a [Candidate],
    calendars: &Calendars,
) -> Option<(&'a Window, &'a Candidate)> {
    let vehicle = vehicle_calendar(&reservation.vehicle);
    windows
        .iter()
        .filter(|window| calendars.is_free(&vehicle, window, &reservation.id))
        .find_map(|window| {
            let suits = |one: &&Candidate| is_free(reservation, window, one, calendars);
            Some((window, candidates.iter().find(suits)?))
        })
}

/// How many stations have no connector that could be had, in any window.
fn booked(
    reservation: &Reservation,
    windows: &[Window],
    candidates: &[Candidate],
    calendars: &Calendars,
) -> u32 {
    let vehicle = vehicle_calendar(&reservation.vehicle);
    let windows: Vec<_> = windows
        .iter()
        .filter(|window| calendars.is_free(&vehicle, window, &reservation.id))
        .collect();
    let had = |one: &&Candidate| {
        let mut windows = windows.iter();
        windows.any(|window| is_free(reservation, window, one, calendars))
    };
    let stations = |one: &'_ Candidate| one.station.clone();
    let all: BTreeSet<Id> = candidates.iter().map(stations).collect();
    let free: BTreeSet<Id> = candidates.iter().filter(had).map(stations).collect();
    (all.len() - free.len()) as u32
}

fn is_free(
    reservation: &Reservation,
    window: &Window,
    candidate: &Candidate,
    calendars: &Calendars,
) -> bool {
    let whose = connector_calendar(&candidate.station, &candidate.connector);
    candidate.is_open(window) && calendars.is_free(&whose, window, &reservation.id)
}

async fn read(
    app: &App,
    origin: &Origin,
    whose: &BTreeSet<String>,
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

/// The reservation as confirmed or moved, and the event that goes into the same transaction.
fn confirmed(
    origin: &Origin,
    row: &Row<Reservation>,
    assignment: &Assignment,
    summary: MatchSummary,
) -> Result<(Row<Reservation>, Row<Event>), Error> {
    let mut row = row.clone();
    let (reservation, private) = (&mut row.object, &mut row.private);
    let kind = if reservation.status == ReservationStatus::Confirmed {
        reservation.assign(assignment, summary, private, origin.now);
        EventType::ReservationReassigned
    } else {
        reservation.confirm(assignment, summary, private, origin.now);
        EventType::ReservationConfirmed
    };
    let event = row.event(kind, origin)?;
    Ok((row, event))
}

/// Notes that the attempt found nothing. A confirmed reservation has lost its connector for good, and gives its time back.
async fn miss(
    app: &App,
    origin: &Origin,
    mut row: Row<Reservation>,
    reason: FailedReason,
    summary: Option<MatchSummary>,
) -> Result<bool, Error> {
    let mut changes = Changes::new();
    let (reservation, private) = (&mut row.object, &mut row.private);
    let lost = reservation.status == ReservationStatus::Confirmed;
    if lost {
        reservation.lose_station(summary, private, origin.now);
    } else {
        reservation.miss(reason, summary, private, origin.now);
    }
    if row.object.status == ReservationStatus::Failed {
        row = row.announcing(EventType::ReservationFailed);
    }
    app.store.replace(&mut changes, origin, &row)?;
    if lost {
        app.store.release(&mut changes, origin, &row).await?;
    }
    match app.store.commit_later(origin, changes).await {
        // Somebody changed the reservation meanwhile, and that change has its own attempt; or only a calendar that has to
        // give time back, and then it is tried again.
        Err(Error::Contended) => Ok(!lost),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
    }
}

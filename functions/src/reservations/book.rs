//! Taking the best connector that nobody else has, for an attempt to confirm.

use std::collections::BTreeSet;

use shared::charging::calendar::Window;
use shared::charging::matching::{Assignment, Candidate, MatchSummary};
use shared::models::event::{Event, EventType};
use shared::models::reservation::{FailedReason, Reservation, ReservationStatus};
use shared::origin::Origin;
use shared::store::calendars::{Booked, Calendars, Promise};
use shared::store::keys::{connector_calendar, vehicle_calendar};
use shared::store::row::Row;
use shared::{App, Error, Id};

use super::confirm::miss;

/// How often an attempt reads the calendars anew after somebody else took what it had chosen.
const ROUNDS: usize = 20;

/// Tries the candidates, the best first, the preferred window before any other, until one of them can be had.
pub(super) async fn book(
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
    // What was promised before may lie on a day that no window touches any more.
    let promised = before.iter().map(|promise| promise.window);
    let touched: Vec<Window> = windows.iter().copied().chain(promised).collect();
    let mut calendars = read(app, origin, &whose, &touched).await?;
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
                calendars.update(read(app, origin, &whose, &touched).await?);
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

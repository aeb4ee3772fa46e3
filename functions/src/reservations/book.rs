//! Booking the best pair of a window and a connector, for an attempt to confirm. [`matching`] describes how it is chosen.

use std::collections::BTreeSet;

use shared::charging::calendar::{CalendarOwner, Window};
use shared::charging::matching::{self, Candidate, MatchSummary};
use shared::models::reservation::{FailedReason, Reservation};
use shared::models::stored::Stored;
use shared::origin::Origin;
use shared::store::calendars::{Booked, CalendarHold, Calendars};
use shared::{App, Error};

use super::confirm::record_failure;

/// How often an attempt reads the calendars anew after somebody else took what it had chosen.
const ROUNDS: usize = 20;

/// Books the pair with the lowest score. When its calendars have changed since they were read, it reads them again and
/// chooses again.
pub(super) async fn book(
    app: &App,
    origin: &Origin,
    row: Stored<Reservation>,
    windows: &[Window],
    candidates: &[Candidate],
    mut summary: MatchSummary,
) -> Result<bool, Error> {
    let before = CalendarHold::of_reservation(&row);
    let mut always = BTreeSet::from([CalendarOwner::Vehicle(row.object.vehicle.clone())]);
    always.extend(before.iter().flat_map(|promise| promise.owners.clone()));
    let mut owners = always.clone();
    owners.extend(candidates.iter().map(Candidate::evse));
    // The window reserved before may lie on a day that no other window touches any more.
    let reserved = before.iter().map(|promise| promise.window);
    let touched: Vec<Window> = windows.iter().copied().chain(reserved).collect();
    let mut calendars = read(app, origin, &owners, &touched).await?;
    for _ in 0..ROUNDS {
        let taken = |owner: &CalendarOwner| calendars.taken_by_others(owner, &row.object.id);
        let choice = matching::choose(&row.object, windows, candidates, taken);
        summary.refused.booked = choice.booked;
        let Some(assignment) = choice.best else {
            let reason = match candidates {
                [] if summary.refused.policy > 0 => FailedReason::PolicyBlocked,
                _ => FailedReason::NoAvailableConnectors,
            };
            return record_failure(app, origin, row, reason, Some(summary)).await;
        };
        let mut confirmed = row.clone();
        confirmed.confirm(&assignment, summary.clone(), origin.now);
        let booked = app
            .store
            .book(origin, &mut confirmed, &calendars, before.as_ref())
            .await?;
        match booked {
            // A reservation that moved was changed by somebody, or by this very attempt, whose acknowledgement was lost.
            Booked::Done | Booked::ReservationMoved => return Ok(false),
            Booked::CalendarMoved => {
                let mut owners = always.clone();
                owners.insert(CalendarOwner::Evse {
                    station: assignment.station,
                    evse: assignment.evse,
                });
                calendars.update(read(app, origin, &owners, &touched).await?);
            }
        }
    }
    Err(Error::unavailable(
        "the calendars changed faster than they could be read",
    ))
}

async fn read(
    app: &App,
    origin: &Origin,
    owners: &BTreeSet<CalendarOwner>,
    windows: &[Window],
) -> Result<Calendars, Error> {
    let days: BTreeSet<_> = windows.iter().flat_map(Window::utc_days).collect();
    let pages = owners
        .iter()
        .flat_map(|owner| days.iter().map(|day| (owner.clone(), *day)));
    app.store
        .calendars(origin.tenant.mode, pages.collect())
        .await
}

//! Books the best match in an attempt to confirm. [`models::charging::matching`] describes how it is chosen.

use crate::App;
use kernel::{Error, Origin, SignedDuration};
use models::charging::calendar::CalendarOwner;
use models::reservation::need::ChargingPlan;
use models::reservation::{FailedReason, MatchSummary};
use models::{Reservation, Stored};
use table::calendars::{Booked, CalendarHold};

use super::matcher::Matcher;

/// The maximum number of times that an attempt reads the calendars again after another one has booked its match.
const ROUNDS: usize = 20;

/// The result of booking.
pub(super) enum Booking {
    /// The match is booked: the reservation as it is in the table now.
    Done(Box<Stored<Reservation>>),
    /// The reservation was changed meanwhile, by another request or by this attempt itself, whose acknowledgement was lost.
    ReservationMoved,
    /// Nothing can be booked. A reservation by need has a plan without a block.
    NoMatch(FailedReason, MatchSummary, Option<Box<ChargingPlan>>),
}

/// Books the match with the lowest score. The reservation can be cancelled free of charge for as long as `late_free` from now on.
/// If the calendars have changed since they were read, they are read again, and the search continues.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached, or if the calendars change faster than they can be read.
pub(super) async fn book(
    app: &App,
    origin: &Origin,
    reservation: &Stored<Reservation>,
    late_free: SignedDuration,
    mut matcher: Matcher<'_>,
) -> Result<Booking, Error> {
    // The present assignment is released in the transaction that books another connector.
    let before = CalendarHold::of_reservation(reservation);
    let reserved = before.as_ref().map(|hold| hold.window);
    if let Some(hold) = &before {
        let owners = hold.owners.to_vec();
        matcher.read_calendars(owners, reserved.as_slice()).await?;
    }
    for _ in 0..ROUNDS {
        let best = matcher.matches().await?.into_iter().next();
        let summary = matcher.summary();
        let Some(assignment) = best.map(|best| best.assignment) else {
            let reason = if matcher.has_nothing_to_charge() {
                FailedReason::Other
            } else if matcher.has_candidates() || summary.refused.policy == 0 {
                FailedReason::NoAvailableConnectors
            } else {
                FailedReason::PolicyBlocked
            };
            let plan = matcher.plan(None).map(Box::new);
            return Ok(Booking::NoMatch(reason, summary, plan));
        };
        let mut confirmed = reservation.clone();
        confirmed.confirm(&assignment, summary, late_free, origin.now);
        confirmed.accept_price_at(matcher.level());
        if let Some(plan) = matcher.plan(Some(&assignment)) {
            confirmed.plan_attempt(plan);
        }
        let calendars = matcher.calendars();
        let booked = app
            .store
            .book(origin, &mut confirmed, calendars, before.as_ref())
            .await?;
        match booked {
            Booked::Done => return Ok(Booking::Done(Box::new(confirmed))),
            Booked::ReservationMoved => return Ok(Booking::ReservationMoved),
            Booked::CalendarMoved => {
                let mut owners = vec![
                    CalendarOwner::Vehicle(reservation.object.vehicle.clone()),
                    CalendarOwner::evse(&assignment.station, &assignment.evse),
                ];
                owners.extend(before.iter().flat_map(|hold| hold.owners.clone()));
                matcher.read_calendars(owners, &[]).await?;
            }
        }
    }
    Err(Error::unavailable(
        "the calendars changed faster than they could be read",
    ))
}

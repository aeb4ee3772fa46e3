//! `POST /v1/reservations/candidates`: shows what an attempt to confirm a reservation with these parameters would find now, without
//! creating one: the connectors that could be booked, the best first, and the refused stations. The body of `POST /v1/reservations` is
//! accepted; parameters that it refuses are refused with the same error, except a payment method. Where policies forbid every station, no
//! candidate is found, and the refused stations say so. Nothing is reserved, and other reservations may book a candidate before the
//! reservation is confirmed.

use kernel::{Code, Error, Reply};
use models::api_key::{Resource, Scope};
use models::charging::candidates::{
    CandidateSearch, ExpectedCharge, NAMED, RefusedStation, ReservationCandidate,
    ReservationCandidates,
};
use models::charging::matching::best_first::Match;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Limits, PolicyContext};
use models::reservation::MatchFilter;
use models::{Fleet, Reservation};
use web::{Body, Route};

use super::matcher::Matcher;
use super::plan::{self, PlanInputs};
use crate::{Request, policies, references};

pub const ROUTE: Route = Route::search(
    "find-reservation-candidates",
    "/v1/reservations/candidates",
    Resource::Reservations,
)
.requiring(&[Scope::Read(Resource::ChargingStations)])
.refusing(&[
    Code::DriverNotFound,
    Code::VehicleNotFound,
    Code::PolicyBlocked,
])
.memory(512)
.reading_side_by_side();

pub async fn handle(
    request: Request,
    Body(search): Body<CandidateSearch>,
) -> Result<Reply<ReservationCandidates>, Error> {
    let (tenant, now) = (request.tenant(), request.now());
    search.check(now)?;
    let (driver, vehicle) = (&search.driver, &search.vehicle);
    let area = Some(search.location.into());
    let named = plan::read_named(&request.app, tenant, driver, vehicle, area).await?;
    let fleet = named.fleet.as_ref();
    let terms = references::terms(&request, &named.driver, fleet).await?;
    let (driver, vehicle) = (&named.driver.object, &named.vehicle);
    let reservation = Reservation::new(search.reservation(), driver, vehicle, fleet, terms, now)?;
    let policies = named.policies(&request.app, tenant).await?;
    let windows = matching::windows(&reservation.object, now);
    let zone = Fleet::zone(fleet);
    let policy_context = PolicyContext {
        area,
        ..PolicyContext::at(&windows, terms.currency, &zone)
    };
    let policy_warnings = policies::check(&policies, &policy_context)?;
    let inputs = named.inputs(&policies);
    let limits = Limits::new(&policies, &policy_context);
    let match_request = inputs.match_request(&reservation, &windows, &limits, tenant.mode, now);
    let limit = search.limit() as usize;
    let mut matcher = Matcher::new(&request.app, tenant, &match_request, inputs.stations, limit)
        .keeping_stations();
    let matches = Box::pin(matcher.matches()).await?;
    let charge = ExpectedCharge {
        vehicle: match_request.vehicle,
        energy: search.energy.or(matcher.block_energy()),
    };
    let candidates = matches
        .iter()
        .filter_map(|best| candidate(best, &matcher, &match_request, charge, &inputs));
    request.respond(&ReservationCandidates {
        candidates: candidates.collect(),
        charging_plan: matcher.plan(matches.first().map(|best| &best.assignment)),
        match_summary: matcher.summary(),
        policy_warnings,
        refused_stations: refused_stations(&matcher, &match_request),
    })
}

/// A match with its prices, and the policies in suggestion mode that it violates. None if its station was not kept.
fn candidate(
    best: &Match,
    matcher: &Matcher<'_>,
    request: &MatchRequest<'_>,
    charge: ExpectedCharge,
    inputs: &PlanInputs<'_>,
) -> Option<ReservationCandidate> {
    let (station, connector, price) = matcher.place(&best.assignment)?;
    let warnings = matcher.warnings(inputs.policies, inputs.fleet, &best.assignment)?;
    let currency = request.reservation.currency;
    Some(ReservationCandidate::new(
        best, station, connector, charge, currency, price, warnings,
    ))
}

/// The nearest refused stations, with the policy that refused them.
fn refused_stations(matcher: &Matcher<'_>, request: &MatchRequest<'_>) -> Vec<RefusedStation> {
    let center = request.reservation.location.center();
    let refused = matcher.refused().into_iter().map(|refused| {
        let breach = match refused.filter {
            MatchFilter::Policy => matching::breach(refused.station, request),
            _ => None,
        };
        RefusedStation::new(refused.station, refused.filter, center, breach)
    });
    let mut stations: Vec<RefusedStation> = refused.collect();
    stations
        .sort_by_cached_key(|refused| (refused.distance_meters, refused.charging_station.clone()));
    stations.truncate(NAMED);
    stations
}

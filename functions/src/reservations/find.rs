//! `POST /v1/reservations/candidates`: shows what an attempt to confirm a reservation with these parameters would find now,
//! without making one: the connectors that could be booked, the best first, and the stations that are refused. What
//! `POST /v1/reservations` refuses is refused with the same error. Nothing is reserved, and other reservations may take a
//! candidate before the reservation is confirmed.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::{Resource, Scope};
use models::charging::candidates::{
    CandidateSearch, ExpectedCharge, NAMED, RefusedStation, ReservationCandidate,
    ReservationCandidates,
};
use models::charging::effective_price::EffectivePrice;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Limits, PolicyContext, PricedStation, judge};
use models::fleet::Fleet;
use models::reservation::{MatchFilter, Reservation, Terms};
use web::{Body, RequestContext, Route};

use super::matcher::Matcher;
use super::plan::{self, charging_vehicle};
use crate::{policies, references};

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
    context: RequestContext,
    State(app): State<App>,
    Body(search): Body<CandidateSearch>,
) -> Result<Reply<ReservationCandidates>, Error> {
    let (tenant, now) = (context.tenant(), context.now());
    search.check(now)?;
    let area = search.location.into();
    let named = plan::read_named(&app, tenant, &search.driver, &search.vehicle, area).await?;
    let plan::Named {
        driver,
        vehicle,
        fleet,
        telemetry,
        stations,
    } = named;
    let currency = references::currency(&app, tenant, &driver, fleet.as_ref()).await?;
    let terms = Terms {
        currency,
        fee: app.settings.reservation_fee,
        fee_tax_percent: references::fee_tax_percent(&app, tenant).await?,
    };
    let driver = driver.object;
    let reservation = Reservation::new(search.reservation(), &driver, &vehicle, terms, now)?.object;
    let charging = charging_vehicle(&reservation, &vehicle, telemetry.as_ref(), now);
    let rules = policies::of(&app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
    let windows = matching::windows(&reservation, now);
    let zone = Fleet::zone(fleet.as_ref());
    let policy_context = PolicyContext {
        station: None,
        area: Some(reservation.location.into()),
        windows: &windows,
        currency,
        zone: &zone,
    };
    let policy_warnings = policies::check(&rules, &policy_context)?;
    let request = MatchRequest {
        reservation: &reservation,
        standard: vehicle.charging_standard,
        vehicle: charging,
        preferences: &driver.preferences,
        windows: &windows,
        limits: &Limits::new(&rules, &policy_context),
        mode: tenant.mode,
        refused_evses: &[],
    };
    let limit = search.limit() as usize;
    let mut matcher = Matcher::new(&app, tenant, &request, &stations, limit).keeping_stations();
    let matches = Box::pin(matcher.matches()).await?;
    let charge = ExpectedCharge {
        vehicle: charging,
        energy: search.energy.or(matcher.block_energy()),
    };
    let candidates = matches.iter().filter_map(|best| {
        let station = matcher.station(&best.assignment.station)?;
        let mut connectors = station.connectors.iter();
        let connector = connectors.find(|one| one.id == best.assignment.connector)?;
        let window = best.assignment.window;
        let price = EffectivePrice::in_window(station, connector, charging, &window, currency);
        let verdict = judge(
            &rules,
            &PolicyContext {
                station: Some(PricedStation {
                    station,
                    price,
                    mode: tenant.mode,
                }),
                area: None,
                windows: &[window],
                ..policy_context
            },
        );
        let warnings = verdict.warnings;
        Some(ReservationCandidate::new(
            best, station, connector, charge, currency, price, warnings,
        ))
    });
    let candidates = candidates.collect();
    let center = reservation.location.center();
    let refused = matcher.refused().into_iter().map(|refused| {
        let breach = match refused.filter {
            MatchFilter::Policy => matching::breach(refused.station, &request),
            _ => None,
        };
        RefusedStation::new(refused.station, refused.filter, center, breach)
    });
    let mut refused_stations: Vec<RefusedStation> = refused.collect();
    refused_stations.sort_by_cached_key(|one| (one.distance_meters, one.charging_station.clone()));
    refused_stations.truncate(NAMED);
    let charging_plan = matcher.plan(matches.first().map(|best| &best.assignment));
    context.respond(&ReservationCandidates {
        candidates,
        charging_plan,
        match_summary: matcher.summary(),
        policy_warnings,
        refused_stations,
    })
}

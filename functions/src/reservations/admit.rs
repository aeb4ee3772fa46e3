//! Checks a new reservation, or an update of what a reservation searches for, against the policies of its driver, vehicle and fleet, and
//! plans a reservation by need.

use kernel::{Error, Window};
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Breach, Limits, PolicyContext};
use models::reservation::MatchFilter;
use models::reservation::need::ReplanReason;
use models::{Driver, Fleet, Policy, Reservation, Stored, Vehicle, VehicleTelemetry};

use super::matcher::{Matcher, RefusedStation};
use super::plan::{PlanInputs, plan};
use crate::{Request, policies};

/// Checks a pending reservation against the policies that apply to it, and plans it if it is one by need. Returns the policies in
/// suggestion mode that it violates.
///
/// # Errors
/// `policy_blocked` if a policy in enforcement forbids it; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn admit(
    request: &Request,
    reservation: &mut Stored<Reservation>,
    driver: &Stored<Driver>,
    vehicle: &Vehicle,
    fleet: Option<&Fleet>,
) -> Result<Vec<Breach>, Error> {
    let (app, tenant, now) = (&request.app, request.tenant(), request.now());
    let policies = policies::of(app, tenant, Some(&driver.object), fleet, vehicle).await?;
    let windows = matching::windows(&reservation.object, now);
    let zone = Fleet::zone(fleet);
    let area = reservation.object.location.into();
    let policy_context = PolicyContext {
        area: Some(area),
        ..PolicyContext::at(&windows, reservation.object.currency, &zone)
    };
    let mut policy_warnings = policies::check(&policies, &policy_context)?;
    let limits = Limits::new(&policies, &policy_context);
    let has_need = reservation.object.need.is_some();
    let depends = |policy: &Policy| policy.rules.depend_on_station();
    if has_need || policies.iter().any(depends) {
        let (telemetry, stations) = tokio::try_join!(
            request.find::<VehicleTelemetry>(&vehicle.telemetry),
            app.store.indexed_stations(tenant, area),
        )?;
        let inputs = PlanInputs {
            driver,
            vehicle,
            fleet,
            policies: &policies,
            telemetry: telemetry.as_ref().map(|telemetry| &telemetry.object),
            stations: &stations,
        };
        let found = if has_need {
            let because = ReplanReason::Update;
            Box::pin(plan(app, tenant, reservation, inputs, because, now)).await?
        } else {
            let checked = check_stations(request, inputs, reservation, &windows, &limits);
            Box::pin(checked).await?
        };
        // They include those for the area and for all possible windows.
        policy_warnings = found.unwrap_or(policy_warnings);
    }
    Ok(policy_warnings)
}

/// Refuses a reservation if policies forbid every station that fits it, whatever is booked or out of order now, both with the present
/// level of the battery and with the one that is assumed where it is unknown: it may change until the window begins. Returns the policies
/// in suggestion mode that the best match violates; none without a match.
///
/// # Errors
/// `policy_blocked` with the first of these policies.
async fn check_stations(
    request: &Request,
    inputs: PlanInputs<'_>,
    reservation: &Stored<Reservation>,
    windows: &[Window],
    limits: &Limits<'_>,
) -> Result<Option<Vec<Breach>>, Error> {
    let (mode, now) = (request.tenant().mode, request.now());
    let judged_with = async |inputs: PlanInputs<'_>| {
        let sought = inputs.match_request(reservation, windows, limits, mode, now);
        judged(request, &sought, &inputs).await
    };
    let breach = match judged_with(inputs).await? {
        Ok(warnings) => return Ok(warnings),
        Err(breach) => breach,
    };
    let later = PlanInputs {
        telemetry: None,
        ..inputs
    };
    match inputs.telemetry {
        Some(_) => judged_with(later).await?.map_err(|_| breach.refusal()),
        None => Err(breach.refusal()),
    }
}

/// Returns the first rule of a policy that forbids a station, if policies forbid every station that fits a reservation; otherwise the
/// policies in suggestion mode that the best match violates, if there is a match.
async fn judged(
    request: &Request,
    sought: &MatchRequest<'_>,
    inputs: &PlanInputs<'_>,
) -> Result<Result<Option<Vec<Breach>>, Breach>, Error> {
    use MatchFilter::{Booked, Closed, ConnectorType, NotReservable, Price};
    let matcher = Matcher::new(&request.app, request.tenant(), sought, inputs.stations, 1);
    let mut matcher = matcher.keeping_stations();
    if let Some(best) = matcher.matches().await?.first() {
        return Ok(Ok(matcher.warnings(
            inputs.policies,
            inputs.fleet,
            &best.assignment,
        )));
    }
    let mut refused = matcher.refused();
    refused.retain(|refused| {
        let filter = refused.filter;
        !matches!(filter, Closed | ConnectorType | NotReservable | Price)
    });
    let is_forbidden = |refused: &RefusedStation<'_>| {
        refused.filter != Booked && matching::is_forbidden(refused.station, sought)
    };
    if !refused.iter().all(is_forbidden) {
        return Ok(Ok(None));
    }
    let mut breaches = refused
        .iter()
        .filter_map(|refused| matching::breach(refused.station, sought));
    Ok(breaches.next().map_or(Ok(None), Err))
}

//! Checks a new reservation, or an update of what a reservation searches for, against the policies of its driver, vehicle and fleet, and
//! plans a reservation by need.

use kernel::{Error, Window};
use models::charging::matching::best_first::IndexedStation;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Breach, Limits, PolicyContext};
use models::reservation::MatchFilter;
use models::reservation::need::ReplanReason;
use models::{Driver, Fleet, Reservation, Stored, Vehicle, VehicleTelemetry};

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
    let policy_warnings = policies::check(&policies, &policy_context)?;
    let limits = Limits::new(&policies, &policy_context);
    let has_need = reservation.object.need.is_some();
    if has_need || limits.depend_on_stations() {
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
        if has_need {
            let because = ReplanReason::Update;
            Box::pin(plan(app, tenant, reservation, inputs, because, now)).await?;
        } else {
            Box::pin(check_stations(
                request,
                inputs,
                reservation,
                &windows,
                &limits,
            ))
            .await?;
        }
    }
    Ok(policy_warnings)
}

/// Refuses a reservation if policies forbid every station that fits it, whatever is booked or out of order now, both with the present
/// level of the battery and with the one that is assumed where it is unknown: it may change until the window begins.
///
/// # Errors
/// `policy_blocked` with the first of these policies.
async fn check_stations(
    request: &Request,
    inputs: PlanInputs<'_>,
    reservation: &Stored<Reservation>,
    windows: &[Window],
    limits: &Limits<'_>,
) -> Result<(), Error> {
    let (mode, now) = (request.tenant().mode, request.now());
    let breach_at = async |inputs: PlanInputs<'_>| {
        let sought = inputs.match_request(reservation, windows, limits, mode, now);
        breach_everywhere(request, &sought, inputs.stations).await
    };
    let Some(breach) = breach_at(inputs).await? else {
        return Ok(());
    };
    let later = PlanInputs {
        telemetry: None,
        ..inputs
    };
    if inputs.telemetry.is_some() && breach_at(later).await?.is_none() {
        return Ok(());
    }
    Err(breach.refusal())
}

/// Returns the first rule of a policy that forbids a station, if policies forbid every station that fits a reservation.
async fn breach_everywhere(
    request: &Request,
    sought: &MatchRequest<'_>,
    stations: &[IndexedStation],
) -> Result<Option<Breach>, Error> {
    use MatchFilter::{Booked, Closed, ConnectorType, NotReservable, Price};
    let matcher = Matcher::new(&request.app, request.tenant(), sought, stations, 1);
    let mut matcher = matcher.keeping_stations();
    if !matcher.matches().await?.is_empty() {
        return Ok(None);
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
        return Ok(None);
    }
    let mut breaches = refused
        .iter()
        .filter_map(|refused| matching::breach(refused.station, sought));
    Ok(breaches.next())
}

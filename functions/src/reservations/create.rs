//! `POST /v1/reservations`: creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. With `need` in place of a
//! window, the service chooses the cheapest block of time in which the vehicle's need can be charged; the confirmation chooses again.

use kernel::{Code, Error, Kind, Reply, Resource, Timestamp, Window};
use models::charging::matching::best_first::IndexedStation;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Allowed, Breach, Limits, PolicyContext};
use models::payment_method::Payer;
use models::reservation::need::ReplanReason;
use models::reservation::{MatchFilter, NewReservation};
use models::{Driver, Fleet, PaymentMethod, Reservation, Stored, Vehicle, VehicleTelemetry};
use web::route::CHARGES_IF_NAMED;
use web::{Body, Route};

use super::matcher::{Matcher, RefusedStation};
use super::plan::{PlanInputs, plan};
use crate::{Request, policies, references};

pub const ROUTE: Route = Route::post(
    "create-reservation",
    "/v1/reservations",
    Resource::Reservations,
)
.refusing(&[
    Code::DriverNotFound,
    Code::VehicleNotFound,
    Code::PaymentMethodNotFound,
    Code::PolicyBlocked,
    Code::PaymentMethodScopeInvalid,
])
.sometimes_requiring(&[CHARGES_IF_NAMED])
.memory(512)
.reading_side_by_side();

pub async fn handle(
    request: Request,
    Body(mut new): Body<NewReservation>,
) -> Result<Reply<Allowed<Reservation>>, Error> {
    let (app, tenant, now) = (&request.app, request.tenant(), request.now());
    request.check_charge(new.payment_method.as_ref())?;
    new.check(now)?;
    let (driver, vehicle, fleet) = read_named(&request, &new, now).await?;
    let fleet = fleet.as_ref();
    let terms = references::terms(&request, &driver, fleet).await?;
    // Nothing is charged for a reservation without a fee.
    if new.payment_method.is_none() && terms.fee > 0 {
        let method =
            references::default_method_of_drive(app, tenant, &driver.object, fleet).await?;
        new.payment_method = method;
    }
    let mut reservation = Reservation::new(new, &driver.object, &vehicle, fleet, terms, now)?;
    let policies = policies::of(app, tenant, Some(&driver.object), fleet, &vehicle).await?;
    let windows = matching::windows(&reservation.object, now);
    let zone = Fleet::zone(fleet);
    let area = reservation.object.location.into();
    let policy_context = PolicyContext {
        area: Some(area),
        ..PolicyContext::at(&windows, terms.currency, &zone)
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
            driver: &driver,
            vehicle: &vehicle,
            fleet,
            policies: &policies,
            telemetry: telemetry.as_ref().map(|telemetry| &telemetry.object),
            stations: &stations,
        };
        if has_need {
            let because = ReplanReason::Update;
            Box::pin(plan(app, tenant, &mut reservation, inputs, because, now)).await?;
        } else {
            Box::pin(check_stations(
                &request,
                inputs,
                &reservation,
                &windows,
                &limits,
            ))
            .await?;
        }
    }
    let response = request.respond(&Allowed {
        object: reservation.object.clone(),
        policy_warnings,
    })?;
    let mut tx = request.begin();
    tx.create(&mut reservation)?;
    tx.commit(response).await
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

/// Reads the driver and the vehicle of a request, and the vehicle's fleet, and checks the payment method.
///
/// # Errors
/// 404 for an object that does not exist, `payment_method_scope_invalid` if the payer may not use the payment method.
async fn read_named(
    request: &Request,
    new: &NewReservation,
    now: Timestamp,
) -> Result<(Stored<Driver>, Vehicle, Option<Fleet>), Error> {
    let (tenant, last_fleets) = (request.tenant(), &request.app.last_fleets);
    // The body names no fleet. It is likely the fleet of the tenant's latest reservation.
    let last_fleet = last_fleets.get(tenant, now);
    let named = [(Kind::Driver, &new.driver), (Kind::Vehicle, &new.vehicle)];
    let method = new.payment_method.as_ref();
    let method = method.map(|id| (Kind::PaymentMethod, id));
    let fleet = last_fleet.as_ref().map(|id| (Kind::Fleet, id));
    let ids = named.into_iter().chain(method).chain(fleet);
    let mut found = request.store().find_together(tenant, ids).await?;
    let driver = found.require::<Driver>(&new.driver)?;
    let vehicle = found.require::<Vehicle>(&new.vehicle)?.object;
    if let Some(id) = &new.payment_method {
        let method = found.require::<PaymentMethod>(id);
        let payer = Payer::of_drive(&driver.object, &vehicle.fleet);
        let checked = method.and_then(|method| method.object.check_payer(payer));
        checked.map_err(|error| error.at(Kind::PaymentMethod.name()))?;
    }
    let id = &vehicle.fleet;
    let fleet = if last_fleet.as_ref() == Some(id) {
        found.take::<Fleet>(id)?
    } else {
        last_fleets.insert(tenant.clone(), id.clone(), now);
        request.find::<Fleet>(id).await?
    };
    Ok((driver, vehicle, fleet.map(|fleet| fleet.object)))
}

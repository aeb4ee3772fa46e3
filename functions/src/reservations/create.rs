//! `POST /v1/reservations`: creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. With `need` in place of a
//! window, the service chooses the cheapest block of time in which the vehicle's need can be charged; the confirmation chooses again.

use kernel::{Code, Error, Kind, Reply, Resource, Timestamp};
use models::charging::policies::Allowed;
use models::payment_method::Payer;
use models::reservation::NewReservation;
use models::{Driver, Fleet, PaymentMethod, Reservation, Stored, Vehicle};
use web::route::CHARGES_IF_NAMED;
use web::{Body, Route};

use super::admit::admit;
use crate::{Request, references};

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
    let admitted = admit(&request, &mut reservation, &driver, &vehicle, fleet);
    let policy_warnings = Box::pin(admitted).await?;
    let response = request.respond(&Allowed {
        object: reservation.object.clone(),
        policy_warnings,
    })?;
    let mut tx = request.begin();
    tx.create(&mut reservation)?;
    tx.commit(response).await
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

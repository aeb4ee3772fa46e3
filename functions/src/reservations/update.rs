//! `POST /v1/reservations/{id}`: updates a pending reservation. An update of the window, the area, the plugs or the need is checked against
//! the policies as a new reservation is, and a reservation by need is planned again.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::reservation::ReservationChange;
use models::{Driver, Fleet, Reservation, Vehicle};
use web::{Body, PathId, Route};

use super::admit::admit;

pub const ROUTE: Route = Route::post(
    "update-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
)
.refusing(&[
    Code::ReservationUpdateInvalidState,
    Code::DriverNotFound,
    Code::VehicleNotFound,
    Code::PolicyBlocked,
])
.memory(512)
.reading_side_by_side();

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<ReservationChange>,
) -> Result<Reply<Reservation>, Error> {
    let now = request.now();
    change.check(now)?;
    let mut reservation = request.load::<Reservation>(&id).await?;
    let before = reservation.clone();
    if !change.is_searched_anew() {
        reservation.update(change, now)?;
        return request.save_update(&before, reservation).await;
    }
    let (driver, vehicle) = (
        reservation.object.driver.clone(),
        reservation.object.vehicle.clone(),
    );
    let ids = [(Kind::Driver, &driver), (Kind::Vehicle, &vehicle)];
    let mut found = request.store().find_together(request.tenant(), ids).await?;
    let stored = found.take::<Vehicle>(&vehicle)?;
    if let Some(vehicle) = &stored
        && change.connector_type.set().is_some()
    {
        reservation.match_plug(vehicle.object.charging_standard);
    }
    reservation.update(change, now)?;
    if reservation == before {
        return request.save_update(&before, reservation).await;
    }
    let driver = found.require::<Driver>(&driver)?;
    let vehicle = stored
        .ok_or_else(|| Error::not_found(Kind::Vehicle))?
        .object;
    let fleet = request.find::<Fleet>(&vehicle.fleet).await?;
    let fleet = fleet.map(|fleet| fleet.object);
    let admitted = admit(
        &request,
        &mut reservation,
        &driver,
        &vehicle,
        fleet.as_ref(),
    );
    Box::pin(admitted).await?;
    request.save_update(&before, reservation).await
}

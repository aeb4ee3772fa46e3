//! `POST /v1/reservations/{id}`: updates a pending reservation.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::reservation::{Reservation, ReservationChange};
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post(
    "update-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
)
.refusing(&[Code::ReservationUpdateInvalidState]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<ReservationChange>,
) -> Result<Answer, Error> {
    let row = app.store.load::<Reservation>(caller.tenant(), &id).await?;
    let mut row = row.announcing(EventType::ReservationUpdated);
    row.object.update(change, &mut row.private, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

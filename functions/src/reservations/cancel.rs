//! `POST /v1/reservations/{id}/cancel`: cancels a pending or confirmed reservation and gives its time back.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::reservation::Reservation;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post(
    "cancel-reservation",
    "/v1/reservations/{id}/cancel",
    Resource::Reservations,
)
.refusing(&[
    Code::ReservationCancelInvalidState,
    Code::ReservationInvalidState,
])
.writing(&[Rows::Calendars]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let row = app.store.load::<Reservation>(caller.tenant(), &id).await?;
    let mut row = row.announcing(EventType::ReservationCancelled);
    row.object.cancel(&mut row.private, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store
        .release(&mut changes, &caller.origin, &row)
        .await?;
    app.store.commit(&caller.origin, changes, answer).await
}

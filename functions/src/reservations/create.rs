//! `POST /v1/reservations`: takes a wish for a charging window; it is confirmed later.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::payment_method::Payer;
use shared::models::reservation::{NewReservation, Reservation, Terms};
use shared::models::vehicle::Vehicle;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::post(
    "create-reservation",
    "/v1/reservations",
    Resource::Reservations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewReservation>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    new.check(caller.now())?;
    let (driver, vehicle) = tokio::try_join!(
        app.store.load::<Driver>(tenant, &new.driver),
        app.store.load::<Vehicle>(tenant, &new.vehicle),
    )?;
    let payer = Payer::of_drive(&driver.object, &vehicle.object.fleet);
    let method = new.payment_method.as_ref();
    references::payment_method(&app, tenant, method, payer, Kind::PaymentMethod.name()).await?;
    let currency = references::currency(&app, tenant, &driver, &vehicle.object).await?;
    let terms = Terms {
        currency,
        fee: app.settings.reservation_fee,
    };
    let (reservation, private) =
        Reservation::new(new, &driver.object, &vehicle.object, terms, caller.now())?;
    let answer = caller.answer(&reservation)?;
    let row = Row::with_private(reservation, private).announcing(EventType::ReservationCreated);
    let mut changes = Changes::new();
    app.store.create(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

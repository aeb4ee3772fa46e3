//! `POST /v1/reservations`: takes a wish for a charging window; it is confirmed later.

use axum::extract::State;
use shared::charging::matching;
use shared::charging::policies::{Allowed, Plan};
use shared::http::route::CHARGES_IF_NAMED;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::fleet::Fleet;
use shared::models::payment_method::Payer;
use shared::models::reservation::{NewReservation, Reservation, Terms};
use shared::models::vehicle::Vehicle;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use crate::{policies, references};

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
.sometimes_requiring(&[CHARGES_IF_NAMED]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewReservation>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    caller.check_charge(new.payment_method.as_ref())?;
    new.check(caller.now())?;
    let (driver, vehicle) = tokio::try_join!(
        app.store.load::<Driver>(tenant, &new.driver),
        app.store.load::<Vehicle>(tenant, &new.vehicle),
    )?;
    let payer = Payer::of_drive(&driver.object, &vehicle.object.fleet);
    let (method, param) = (new.payment_method.as_ref(), Kind::PaymentMethod.name());
    let (fleet, _) = tokio::try_join!(
        app.store.find::<Fleet>(tenant, &vehicle.object.fleet),
        references::payment_method(&app, tenant, method, payer, param),
    )?;
    let fleet = fleet.map(|row| row.object);
    let currency = references::currency(&app, tenant, &driver, fleet.as_ref()).await?;
    let terms = Terms {
        currency,
        fee: app.settings.reservation_fee,
    };
    let (driver, vehicle) = (driver.object, vehicle.object);
    let (reservation, private) = Reservation::new(new, &driver, &vehicle, terms, caller.now())?;
    let rules = policies::of(&app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
    let plan = Plan {
        station: None,
        area: Some(reservation.location.circle()),
        windows: &matching::windows(&reservation, caller.now()),
        currency,
        zone: &Fleet::zone(fleet.as_ref()),
    };
    let made = Allowed {
        object: &reservation,
        policy_warnings: policies::check(&rules, &plan)?,
    };
    let answer = caller.answer(&made)?;
    let row = Row::with_private(reservation, private).announcing(EventType::ReservationCreated);
    let mut changes = Changes::new();
    app.store.create(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

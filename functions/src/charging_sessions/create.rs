//! `POST /v1/charging_sessions`: starts charging a vehicle on a connector.

use axum::extract::State;
use shared::charging::calendar::Window;
use shared::charging::network;
use shared::charging::policies::Plan;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::{
    ChargingSession, NewChargingSession, Parties, Promises, expected,
};
use shared::models::charging_station::{ChargingStation, ConnectorStatus};
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::fleet::Fleet;
use shared::models::payment_method::PaymentMethod;
use shared::models::reservation::Reservation;
use shared::models::vehicle::Vehicle;
use shared::models::vehicle_telemetry::VehicleTelemetry;
use shared::origin::Tenant;
use shared::store::calendars::{Calendars, Promise};
use shared::store::keys::{connector_calendar, vehicle_calendar};
use shared::store::row::{ById, Row};
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Id, Timestamp};

use crate::policies;

pub const ROUTE: Route = Route::post(
    "create-charging-session",
    "/v1/charging_sessions",
    Resource::ChargingSessions,
)
.refusing(&[
    Code::ChargingSessionConflict,
    Code::ChargingSessionDependencyNotFound,
    Code::OwnerScopeInvalid,
    Code::PaymentMethodScopeInvalid,
    Code::PolicyBlocked,
]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewChargingSession>,
) -> Result<Answer, Error> {
    let (tenant, origin, now) = (caller.tenant(), &caller.origin, caller.now());
    let (station, driver, vehicle, payment_method) = tokio::try_join!(
        dependency::<ChargingStation>(&app, tenant, &new.charging_station, "charging_station"),
        dependency::<Driver>(&app, tenant, &new.driver, "driver"),
        dependency::<Vehicle>(&app, tenant, &new.vehicle, "vehicle"),
        payment_method(&app, tenant, new.payment_method.as_ref()),
    )?;
    let (station, vehicle) = (station.object, vehicle.object);
    let connector = station
        .connectors
        .iter()
        .find(|one| one.id == new.connector);
    let connector = connector.ok_or_else(|| unknown("connector"))?;
    let connector_time = connector_calendar(&station.id, &connector.id);
    let vehicle_time = vehicle_calendar(&vehicle.id);
    let (fleet, telemetry, calendars) = tokio::try_join!(
        app.store.load::<Fleet>(tenant, &vehicle.fleet),
        app.store
            .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
        calendars(&app, tenant, [&connector_time, &vehicle_time], now),
    )?;
    let of_vehicle = calendars.entries(&vehicle_time);
    let arriving = arriving(&app, tenant, &station.id, expected(&of_vehicle, now)).await?;
    let currency = match driver.private.currency_chosen {
        true => driver.object.preferences.currency,
        false => fleet.object.preferences.default_currency,
    };
    let (driver, fleet) = (driver.object, fleet.object);
    let rules = policies::of(&app, tenant, Some(&driver), Some(&fleet), &vehicle).await?;
    let plan = Plan {
        station: Some(&station),
        windows: &[Window::moment(now)],
        currency,
        zone: &Fleet::zone(Some(&fleet)),
    };
    policies::check(&rules, &plan)?;
    let battery = telemetry.and_then(|row| row.object.battery);
    let parties = Parties {
        station: &station,
        connector,
        driver: &driver,
        vehicle: &vehicle,
        fleet: &fleet,
        payment_method: payment_method.as_ref().map(|row| &row.object),
        battery_level: battery.map(|battery| battery.level),
        currency,
    };
    let promises = Promises {
        connector: &calendars.entries(&connector_time),
        vehicle: &of_vehicle,
        arriving: arriving.as_ref().map(|row| &row.object),
    };
    let (session, private) = ChargingSession::start(new, &parties, &promises, now)?;
    let answer = caller.answer(&session)?;
    let promise = Promise::of_session(&session, &private);
    let row = Row::with_private(session, private).announcing(EventType::ChargingSessionStarted);
    let mut changes = Changes::new();
    app.store.create(&mut changes, origin, &row)?;
    app.store.keep(&mut changes, origin, &calendars, &promise)?;
    let occupied = ConnectorStatus::Occupied;
    app.store
        .set_connector(&mut changes, origin, &station, &connector.id, occupied)?;
    if let Some(mut reservation) = arriving {
        reservation.private.arrived();
        app.store.replace(&mut changes, origin, &reservation)?;
    }
    app.store.commit(origin, changes, answer).await
}

fn unknown(param: &str) -> Error {
    let message = format!("No such {}.", param.replace('_', " "));
    Code::ChargingSessionDependencyNotFound
        .because(message)
        .at(param)
}

async fn dependency<T: ById>(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    param: &str,
) -> Result<Row<T>, Error> {
    let found = app.store.find::<T>(tenant, id).await?;
    found.ok_or_else(|| unknown(param))
}

async fn payment_method(
    app: &App,
    tenant: &Tenant,
    id: Option<&Id>,
) -> Result<Option<Row<PaymentMethod>>, Error> {
    match id {
        Some(id) => dependency(app, tenant, id, "payment_method")
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// The calendars for as long as a session may last.
async fn calendars(
    app: &App,
    tenant: &Tenant,
    whose: [&String; 2],
    now: Timestamp,
) -> Result<Calendars, Error> {
    let window = Window {
        from: now,
        until: now.plus_millis(network::LONGEST),
    };
    let pages = whose
        .into_iter()
        .flat_map(|whose| window.utc_days().map(move |day| (whose.clone(), day)));
    app.store.calendars(tenant.mode, pages.collect()).await
}

/// The reservation by which the vehicle is expected at the station, if it is.
async fn arriving(
    app: &App,
    tenant: &Tenant,
    station: &Id,
    expected: Vec<Id>,
) -> Result<Option<Row<Reservation>>, Error> {
    for id in expected {
        let found = app.store.find::<Reservation>(tenant, &id).await?;
        if let Some(row) = found.filter(|row| row.object.is_for(station)) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

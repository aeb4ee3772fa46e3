//! `POST /v1/drivers/{id}/detach`: detaches a driver from a fleet. The driver is kept.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::{Driver, FleetOfDriver};
use shared::models::event::EventType;
use shared::models::fleet::Fleet;
use shared::store::access::Rows;
use shared::store::fleets::Counter;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::post(
    "detach-driver",
    "/v1/drivers/{id}/detach",
    Resource::Drivers,
)
.refusing(&[Code::FleetNotFound, Code::DriverFleetConflict])
.writing(&[Rows::Of(Kind::Fleet)]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<FleetOfDriver>,
) -> Result<Answer, Error> {
    let (driver, _) = tokio::try_join!(
        app.store.load::<Driver>(caller.tenant(), &id),
        app.store.load::<Fleet>(caller.tenant(), &body.fleet),
    )?;
    let (origin, fleet) = (&caller.origin, Some(&body.fleet));
    if let Some(session) = references::charging(&app, origin, Kind::Driver, &id, fleet).await? {
        let message = format!("The driver's session {session} in this fleet is under way.");
        return Err(Code::DriverFleetConflict.because(message).at("fleet"));
    }
    let mut driver = driver.announcing(EventType::DriverDetached);
    driver.object.detach(&body.fleet, caller.now())?;
    let answer = caller.answer(&driver.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &driver)?;
    app.store
        .leave(&mut changes, &caller.origin, &body.fleet, &id)?;
    app.store.count(
        &mut changes,
        &caller.origin,
        &body.fleet,
        Counter::Drivers,
        -1,
        Error::Contended,
    )?;
    app.store.commit(&caller.origin, changes, answer).await
}

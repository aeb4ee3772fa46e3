//! `POST /v1/drivers/{id}/attach`: attaches a driver to a fleet.

use axum::extract::State;
use shared::Reply;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::driver::{Driver, FleetOfDriver};
use shared::models::fleet::Fleet;
use shared::store::access::Rows;
use shared::store::fleets::Counter;
use shared::{App, Code, Error, Kind};

pub const ROUTE: Route = Route::post(
    "attach-driver",
    "/v1/drivers/{id}/attach",
    Resource::Drivers,
)
.refusing(&[Code::FleetNotFound, Code::DriverFleetConflict])
.writing(&[Rows::Of(Kind::Fleet)]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<FleetOfDriver>,
) -> Result<Reply<Driver>, Error> {
    let (mut driver, fleet) = tokio::try_join!(
        app.store.load::<Driver>(context.tenant(), &id),
        app.store.load::<Fleet>(context.tenant(), &body.fleet),
    )?;
    driver.attach_to(&fleet.object, context.now())?;
    let response = context.respond(&driver.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut driver)?;
    tx.join(&body.fleet, &id)?;
    tx.count(&body.fleet, Counter::Drivers, 1, Error::Contended)?;
    tx.commit(response).await
}

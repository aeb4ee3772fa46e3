//! `POST /v1/drivers/{id}`: updates a driver.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::driver::{Driver, DriverChange};
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("update-driver", "/v1/drivers/{id}", Resource::Drivers)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::ChargingStationNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<DriverChange>,
) -> Result<Reply<Driver>, Error> {
    let mut driver = app.store.load::<Driver>(context.tenant(), &id).await?;
    references::policies(
        &app,
        context.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    references::driver_preferences(
        &app,
        &context,
        Some(&driver.object),
        change.preferences.set(),
    )
    .await?;
    driver.update(change, context.now())?;
    let response = context.changed(&driver)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut driver)?;
    tx.commit(response).await
}

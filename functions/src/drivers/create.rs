//! `POST /v1/drivers`: creates a driver that is not attached to a fleet.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::account::Account;
use models::api_key::Resource;
use models::driver::{Driver, NewDriver};
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("create-driver", "/v1/drivers", Resource::Drivers)
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
    Body(new): Body<NewDriver>,
) -> Result<Reply<Driver>, Error> {
    references::policies(&app, context.tenant(), new.policy_ids.as_deref()).await?;
    references::driver_preferences(&app, &context, None, new.preferences.as_ref()).await?;
    let account = app
        .store
        .get::<Account>(context.tenant(), &context.tenant().account)
        .await?;
    let mut driver = Driver::new(new, &account.object, context.now())?;
    let response = context.respond(&driver.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create(&mut driver)?;
    tx.commit(response).await
}

//! `POST /v1/drivers`: makes a driver, attached to no fleet yet.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::account::Account;
use shared::models::api_key::Resource;
use shared::models::driver::{Driver, NewDriver};
use shared::models::event::EventType;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route =
    Route::post("create-driver", "/v1/drivers", Resource::Drivers).refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::ChargingStationNotFound,
        Code::PaymentMethodScopeInvalid,
    ]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewDriver>,
) -> Result<Answer, Error> {
    references::policies(&app, caller.tenant(), new.policy_ids.as_deref()).await?;
    references::driver_preferences(&app, caller.tenant(), None, new.preferences.as_ref()).await?;
    let account = app
        .store
        .get::<Account>(caller.tenant(), &caller.tenant().account)
        .await?;
    let (driver, private) = Driver::new(new, &account.object, caller.now())?;
    let answer = caller.answer(&driver)?;
    let row = Row::with_private(driver, private).announcing(EventType::DriverCreated);
    let mut changes = Changes::new();
    app.store.create(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

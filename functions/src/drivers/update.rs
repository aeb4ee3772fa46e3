//! `POST /v1/drivers/{id}`: updates a driver.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::{Driver, DriverChange};
use shared::models::event::EventType;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route = Route::post("update-driver", "/v1/drivers/{id}", Resource::Drivers)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::ChargingStationNotFound,
        Code::PaymentMethodScopeInvalid,
    ]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<DriverChange>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<Driver>(caller.tenant(), &id)
        .await?
        .announcing(EventType::DriverUpdated);
    references::policies(
        &app,
        caller.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    references::driver_preferences(&app, caller.tenant(), Some(&id), change.preferences.set())
        .await?;
    row.object.update(change, &mut row.private, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

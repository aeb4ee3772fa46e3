//! `POST /v1/policies`: makes a policy, for fleets, drivers and vehicles to name.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::policy::{NewPolicy, Policy};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post("create-policy", "/v1/policies", Resource::Policies);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewPolicy>,
) -> Result<Answer, Error> {
    let policy = Policy::new(new, caller.now())?;
    let answer = caller.answer(&policy)?;
    let row = Row::new(policy).announcing(EventType::PolicyCreated);
    let mut changes = Changes::new();
    app.store.create(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

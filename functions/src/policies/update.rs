//! `POST /v1/policies/{id}`: updates a policy.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::policy::{Policy, PolicyChange};
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post("update-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<PolicyChange>,
) -> Result<Answer, Error> {
    let row = app.store.load::<Policy>(caller.tenant(), &id).await?;
    let mut row = row.announcing(EventType::PolicyUpdated);
    row.object.update(change, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

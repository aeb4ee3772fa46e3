//! `DELETE /v1/policies/{id}`: removes a policy that no fleet, driver or vehicle names.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::policy::Policy;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-policy", "/v1/policies/{id}", Resource::Policies)
    .writing(&[Rows::Of(Kind::Event)]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.load::<Policy>(caller.tenant(), &id).await?;
    references::unnamed_policy(&app, caller.tenant(), &id).await?;
    let answer = caller.deleted(&id, Kind::Policy)?;
    let mut changes = Changes::new();
    app.store
        .remove_telling(&mut changes, &caller.origin, &row, EventType::PolicyDeleted)?;
    app.store.commit(&caller.origin, changes, answer).await
}

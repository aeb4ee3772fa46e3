//! `POST /v1/vehicles/{id}`: updates a vehicle.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::vehicle::{Vehicle, VehicleChange};
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::post("update-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .refusing(&[Code::PolicyNotFound])
    .writing(&[Rows::Of(Kind::Driver), Rows::Of(Kind::Fleet)]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<VehicleChange>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<Vehicle>(caller.tenant(), &id)
        .await?
        .announcing(EventType::VehicleUpdated);
    references::policies(
        &app,
        caller.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    row.object.update(change, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

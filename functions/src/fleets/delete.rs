//! `DELETE /v1/fleets/{id}`: removes a fleet that has neither vehicles nor drivers nor money any more.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::fleet::Fleet;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-fleet", "/v1/fleets/{id}", Resource::Fleets)
    .writing(&[Rows::Of(Kind::Event)]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.load::<Fleet>(caller.tenant(), &id).await?;
    if row.object.total_vehicles > 0 || row.object.total_drivers > 0 {
        return Err(Error::conflict(
            "The fleet still has vehicles or drivers.",
            Some("fleet"),
        ));
    }
    references::empty_wallet(Kind::Fleet, row.object.wallet_balance)?;
    let answer = caller.deleted(&id, Kind::Fleet)?;
    let mut changes = Changes::new();
    app.store
        .remove_telling(&mut changes, &caller.origin, &row, EventType::FleetDeleted)?;
    app.store.commit(&caller.origin, changes, answer).await
}

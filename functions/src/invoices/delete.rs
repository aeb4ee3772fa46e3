//! `DELETE /v1/invoices/{id}`: removes a draft; its sessions can be billed by another invoice.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::Invoice;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::delete("delete-invoice", "/v1/invoices/{id}", Resource::Invoices);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.load::<Invoice>(caller.tenant(), &id).await?;
    row.object.check_deletable()?;
    let answer = caller.deleted(&id, Kind::Invoice)?;
    let mut changes = Changes::new();
    app.store.remove(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

//! `GET /v1/transactions/{id}`: shows a transaction.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::transaction::Transaction;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-transaction",
    "/v1/transactions/{id}",
    Resource::Transactions,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Transaction>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}

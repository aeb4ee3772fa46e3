//! `GET /v1/transactions/{id}`: shows a transaction.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::transaction::Transaction;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-transaction",
    "/v1/transactions/{id}",
    Resource::Transactions,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Transaction>(context.tenant(), &id).await?;
    context.respond(&row.object)
}

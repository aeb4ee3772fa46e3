//! `POST /v1/transactions/{id}/refund`: refunds a whole charge, once. The refund is a transaction of its own, pending until the
//! money has moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for stays paid.

use axum::extract::State;
use shared::Reply;
use shared::http::body::Nothing;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::transaction::Transaction;
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "refund-transaction",
    "/v1/transactions/{id}/refund",
    Resource::Transactions,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Transaction>, Error> {
    let mut row = app.store.load::<Transaction>(context.tenant(), &id).await?;
    let mut refund = row.refund(context.now())?;
    let response = context.respond(&refund.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.create(&mut refund)?;
    tx.commit(response).await
}

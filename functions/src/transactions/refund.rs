//! `POST /v1/transactions/{id}/refund`: refunds a whole charge, once. The refund is a transaction of its own, pending until the
//! money has moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for stays paid.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::transaction::Transaction;
use web::body::Nothing;
use web::{Body, PathId, RequestContext, Route};

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

//! `POST /v1/transactions/{id}/refund`: refunds a whole charge, once. The refund is a transaction of its own, pending until the
//! money has moved. A refund that failed can be requested again. Top-ups are not refunded, and what was paid for stays paid.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::transaction::Transaction;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post(
    "refund-transaction",
    "/v1/transactions/{id}/refund",
    Resource::Transactions,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let mut row = app.store.load::<Transaction>(caller.tenant(), &id).await?;
    let (refund, private) = row.object.refund(&mut row.private, caller.now())?;
    let answer = caller.answer(&refund)?;
    let mut changes = Changes::new();
    let refund = Row::with_private(refund, private);
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.create(&mut changes, &caller.origin, &refund)?;
    app.store.commit(&caller.origin, changes, answer).await
}

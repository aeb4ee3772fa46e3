//! `POST /v1/invoices/{id}`: updates a draft or open invoice.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::{Invoice, InvoiceChange};
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post("update-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .refusing(&[Code::InvoiceUpdateInvalidState]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<InvoiceChange>,
) -> Result<Answer, Error> {
    let mut row = app.store.load::<Invoice>(caller.tenant(), &id).await?;
    row.object.update(change, &mut row.private)?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

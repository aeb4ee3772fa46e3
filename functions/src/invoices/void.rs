//! `POST /v1/invoices/{id}/void`: gives an open or uncollectible invoice up; its sessions can be billed by another.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::invoice::Invoice;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post("void-invoice", "/v1/invoices/{id}/void", Resource::Invoices)
    .refusing(&[Code::InvoiceVoidInvalidState]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let row = app.store.load::<Invoice>(caller.tenant(), &id).await?;
    let mut row = row.announcing(EventType::InvoiceVoided);
    row.object.void(&mut row.private)?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

//! `DELETE /v1/invoices/{id}`: deletes a draft. Its sessions can be billed by another invoice.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::invoice::Invoice;
use table::access::Items;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::delete("delete-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Invoice>>, Error> {
    let mut invoice = app.store.load::<Invoice>(context.tenant(), &id).await?;
    invoice.delete()?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    tx.delete(&invoice)?;
    tx.commit(response).await
}

//! `DELETE /v1/invoices/{id}`: deletes a draft. Its sessions can be billed by another invoice.

use crate::Request;
use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::Invoice;
use table::access::Items;
use web::{PathId, Route};

pub const ROUTE: Route = Route::delete("delete-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Invoice>>, Error> {
    let mut invoice = request.load::<Invoice>(&id).await?;
    invoice.delete()?;
    request.delete(&invoice).await
}

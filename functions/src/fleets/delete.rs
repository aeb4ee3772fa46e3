//! `DELETE /v1/fleets/{id}`: deletes a fleet that has no vehicles, no drivers and an empty wallet, and whose charges are all on a final
//! invoice.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::fleet::Fleet;
use table::access::Items;
use web::{PathId, RequestContext, Route};

use crate::invoices::unbilled;
use crate::references;

pub const ROUTE: Route = Route::delete("delete-fleet", "/v1/fleets/{id}", Resource::Fleets)
    .memory(512)
    .timeout(29)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Fleet>>, Error> {
    let mut fleet = app.store.load::<Fleet>(context.tenant(), &id).await?;
    if fleet.object.total_vehicles > 0 || fleet.object.total_drivers > 0 {
        return Err(Error::conflict(
            "The fleet still has vehicles or drivers.",
            Some("fleet"),
        ));
    }
    references::empty_wallet(Kind::Fleet, fleet.object.wallet_balance)?;
    if unbilled::is_any(&app, &context.origin, &fleet).await? {
        return Err(Error::conflict(
            "The fleet has charges that no invoice bills, or sessions that a charging network may still bill; please create an invoice of \
             the charges first.",
            Some("fleet"),
        ));
    }
    if unbilled::has_draft(&app, &context.origin, &id).await? {
        return Err(Error::conflict(
            "The fleet has a draft invoice; please finalize or delete it first.",
            Some("fleet"),
        ));
    }
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    fleet.delete();
    tx.delete(&fleet)?;
    tx.commit(response).await
}

//! `DELETE /v1/fleets/{id}`: deletes a fleet that has no vehicles, no drivers and an empty wallet, and whose charges are all on a final
//! invoice.

use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::Fleet;
use table::access::Items;
use web::{PathId, Route};

use crate::invoices::unbilled;
use crate::{Request, references};

pub const ROUTE: Route = Route::delete("delete-fleet", "/v1/fleets/{id}", Resource::Fleets)
    .memory(512)
    .timeout(29)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Deleted<Fleet>>, Error> {
    let mut fleet = request.load::<Fleet>(&id).await?;
    if fleet.object.total_vehicles > 0 || fleet.object.total_drivers > 0 {
        return Err(Error::conflict(
            "The fleet still has vehicles or drivers.",
            Some("fleet"),
        ));
    }
    references::empty_wallet(Kind::Fleet, fleet.object.wallet_balance)?;
    if unbilled::has_draft(&request, &id).await? {
        return Err(Error::conflict(
            "The fleet has a draft invoice; please finalize or delete it first.",
            Some("fleet"),
        ));
    }
    if unbilled::is_any(&request, &fleet).await? {
        return Err(Error::conflict(
            "The fleet has charges that no final invoice bills, or sessions that a charging network may still bill; please finalize an invoice of \
             the charges first.",
            Some("fleet"),
        ));
    }
    fleet.delete();
    request.delete(&fleet).await
}

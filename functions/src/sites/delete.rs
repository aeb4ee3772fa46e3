//! `DELETE /v1/sites/{id}`: deletes a site that no vehicle refers to.

use crate::Request;
use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::Site;
use table::access::Items;
use web::{PathId, Route};

pub const ROUTE: Route = Route::delete("delete-site", "/v1/sites/{id}", Resource::Sites)
    .writing(&[Items::Of(Kind::Event), Items::SitesOfStations]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Deleted<Site>>, Error> {
    let mut site = request.load::<Site>(&id).await?;
    site.delete()?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    for station in &site.object.stations {
        tx.forget_site_of_station(station);
    }
    tx.delete(&site)?;
    tx.commit(response).await
}

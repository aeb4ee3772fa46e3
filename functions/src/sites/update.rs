//! `POST /v1/sites/{id}`: updates a site. If its limits or stations change, it is planned again at once.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::Site;
use models::site::SiteUpdate;
use table::access::Items;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post("update-site", "/v1/sites/{id}", Resource::Sites)
    .refusing(&[Code::ChargingStationNotFound])
    .writing(&[Items::SitesOfStations]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(update): Body<SiteUpdate>,
) -> Result<Reply<Site>, Error> {
    let mut site = request.load::<Site>(&id).await?;
    let before = site.clone();
    site.update(update, request.now())?;
    if site.object.stations != before.object.stations {
        super::check_stations(&request, &site.object.stations).await?;
    }
    let response = request.updated(&before, &site)?;
    let mut tx = request.begin();
    super::note_stations(&mut tx, &before.object.stations, &site.object);
    tx.save_update(&before, &mut site)?;
    tx.commit(response).await
}

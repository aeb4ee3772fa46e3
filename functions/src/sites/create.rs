//! `POST /v1/sites`: creates a site. Vehicles refer to it in `site`.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::Site;
use models::site::NewSite;
use table::access::Items;
use web::{Body, Route};

pub const ROUTE: Route = Route::post("create-site", "/v1/sites", Resource::Sites)
    .refusing(&[Code::ChargingStationNotFound])
    .writing(&[Items::SitesOfStations]);

pub async fn handle(request: Request, Body(new): Body<NewSite>) -> Result<Reply<Site>, Error> {
    let account = request.account().await?;
    let mut site = Site::new(new, account.object.default_currency, request.now())?;
    super::check_stations(&request, &site.object.stations).await?;
    let response = request.respond(&site.object)?;
    let mut tx = request.begin();
    super::note_stations(&mut tx, &[], &site.object);
    tx.create(&mut site)?;
    tx.commit(response).await
}

//! `POST /v1/sites/{id}`: updates a site. If its limits or stations change, it is planned again at once.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Reply};
use models::api_key::Resource;
use models::site::{Site, SiteUpdate};
use table::access::Items;
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post("update-site", "/v1/sites/{id}", Resource::Sites)
    .refusing(&[Code::ChargingStationNotFound])
    .writing(&[Items::SitesOfStations]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(update): Body<SiteUpdate>,
) -> Result<Reply<Site>, Error> {
    let tenant = context.tenant();
    let mut site = app.store.load::<Site>(tenant, &id).await?;
    let before = site.object.stations.clone();
    site.update(update, context.now())?;
    if site.object.stations != before {
        super::check_stations(&app, tenant, &site.object.stations).await?;
    }
    let response = context.changed(&site)?;
    let mut tx = app.store.begin(&context.origin);
    super::note_stations(&mut tx, &before, &site.object);
    tx.save(&mut site)?;
    tx.commit(response).await
}

//! `DELETE /v1/sites/{id}`: deletes a site that no vehicle refers to.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::site::Site;
use table::access::Items;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::delete("delete-site", "/v1/sites/{id}", Resource::Sites)
    .writing(&[Items::Of(Kind::Event), Items::SitesOfStations]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Site>>, Error> {
    let tenant = context.tenant();
    let mut site = app.store.load::<Site>(tenant, &id).await?;
    site.delete()?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    for station in &site.object.stations {
        tx.forget_site_of_station(station);
    }
    tx.delete(&site)?;
    tx.commit(response).await
}

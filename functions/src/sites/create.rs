//! `POST /v1/sites`: creates a site. Vehicles refer to it in `site`.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Reply};
use models::account::Account;
use models::api_key::Resource;
use models::site::{NewSite, Site};
use table::access::Items;
use web::{Body, RequestContext, Route};

pub const ROUTE: Route = Route::post("create-site", "/v1/sites", Resource::Sites)
    .refusing(&[Code::ChargingStationNotFound])
    .writing(&[Items::SitesOfStations]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewSite>,
) -> Result<Reply<Site>, Error> {
    let tenant = context.tenant();
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    let mut site = Site::new(new, account.object.default_currency, context.now())?;
    super::check_stations(&app, tenant, &site.object.stations).await?;
    let response = context.respond(&site.object)?;
    let mut tx = app.store.begin(&context.origin);
    super::note_stations(&mut tx, &[], &site.object);
    tx.create(&mut site)?;
    tx.commit(response).await
}

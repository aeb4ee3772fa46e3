//! `GET /v1/sites/{id}/plan`: shows when each vehicle of a site charges until its next departure within 48 hours, according to the present
//! data: the power, limit and price of each slot, and for each vehicle its energy, its cost and the energy that will be missing.

use crate::App;
use axum::extract::State;
use kernel::{Error, Reply};
use models::api_key::{Resource, Scope};
use models::site::Site;
use models::site::view::SitePlan;
use web::{PathId, RequestContext, Route};

use super::read::{MEMORY, inputs, planned_site};

pub const ROUTE: Route = Route::get("retrieve-site-plan", "/v1/sites/{id}/plan", Resource::Sites)
    .requiring(&[Scope::Read(Resource::Vehicles)])
    .memory(MEMORY)
    .timeout(20)
    .reading_side_by_side();

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<SitePlan>, Error> {
    let (tenant, now) = (context.tenant(), context.now());
    let site = app.store.load::<Site>(tenant, &id).await?;
    let inputs = Box::pin(inputs(&app, tenant, &site, now)).await?;
    let (site, inputs, planned) = planned_site(site, inputs, now).await?;
    context.respond(&planned.view(&site.object, &inputs, now))
}

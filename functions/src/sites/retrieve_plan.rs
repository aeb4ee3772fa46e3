//! `GET /v1/sites/{id}/plan`: shows when each vehicle of a site charges until its next departure within 48 hours, according to the present
//! data: the power, limit and price of each slot, and for each vehicle its energy, its cost and the energy that will be missing.

use crate::Request;
use kernel::{Error, Reply};
use models::Site;
use models::api_key::{Resource, Scope};
use models::site::view::SitePlan;
use web::{PathId, Route};

use super::read::{MEMORY, inputs, planned_site};

pub const ROUTE: Route = Route::get("retrieve-site-plan", "/v1/sites/{id}/plan", Resource::Sites)
    .requiring(&[Scope::Read(Resource::Vehicles)])
    .memory(MEMORY)
    .timeout(20)
    .reading_side_by_side();

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<SitePlan>, Error> {
    let (tenant, now) = (request.tenant(), request.now());
    let site = request.load::<Site>(&id).await?;
    let inputs = Box::pin(inputs(&request.app, tenant, &site, now)).await?;
    let (site, inputs, planned) = planned_site(site, inputs, now).await?;
    request.respond(&planned.view(&site.object, &inputs, now))
}

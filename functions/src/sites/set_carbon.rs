//! `POST /v1/sites/{id}/carbon`: sets the carbon intensity of the electricity of a site, by hours or quarter-hours. The values replace
//! earlier values for the same times. The body is JSON or `text/csv` with the columns `from`, `g_per_kwh` and, where needed, `until`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Site;
use models::site::NewCarbon;
use table::access::Items;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post("set-site-carbon", "/v1/sites/{id}/carbon", Resource::Sites)
    .writing(&[Items::Of(Kind::SiteDay)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(new): Body<NewCarbon>,
) -> Result<Reply<Site>, Error> {
    super::set_series(&request, new.check(&id)?).await
}

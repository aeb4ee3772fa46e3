//! `POST /v1/sites/{id}/prices`: sets the prices of the electricity of a site, by hours or quarter-hours. They replace earlier prices for
//! the same times. The body is JSON or `text/csv` with the columns `from`, `price_per_kwh` and, where needed, `until`. After the last price
//! the plan uses the prices of the same hours of the day before, and shows this.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Site;
use models::site::NewPrices;
use table::access::Items;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post("set-site-prices", "/v1/sites/{id}/prices", Resource::Sites)
    .writing(&[Items::Of(Kind::SiteDay)]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(new): Body<NewPrices>,
) -> Result<Reply<Site>, Error> {
    super::set_series(&request, new.check(&id)?).await
}

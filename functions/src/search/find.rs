//! `GET /v1/search`: finds vehicles whose plate or VIN begins with a text, drivers and fleets by name or e-mail address, sites by name,
//! invoices and credit notes by number. A name is also found by the beginning of any of its first four words. Case, spaces and hyphens are
//! ignored. Shows at most 10 objects, and only those of kinds that the key may read.

use crate::Request;
use kernel::fields::text::Text;
use kernel::{Error, Kind, Reply, Resource};
use models::search::{Search, SearchResultType, compared};
use serde::Deserialize;
use utoipa::ToSchema;
use web::{Query, Route};

pub const ROUTE: Route = Route::get("find-objects", "/v1/search", Resource::Search);

#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// The text, with at least one letter or digit.
    query: Text<100>,
}

pub async fn handle(
    request: Request,
    Query(filters): Query<Filters>,
) -> Result<Reply<Search>, Error> {
    let text = compared(filters.query.as_str());
    if text.is_empty() {
        return Err(Error::invalid("query", "must have a letter or a digit"));
    }
    let kinds = SearchResultType::KINDS.into_iter();
    let kinds = kinds.filter(|kind| request.key.may_read(*kind));
    let data = request
        .store()
        .found_by(request.tenant(), &text, kinds)
        .await?;
    request.respond(&Search {
        object: Kind::Search,
        data,
        query: filters.query.as_str().to_owned(),
    })
}

//! `GET /v1/events`: lists the events of the last 30 days, newest first. Filters: `type`, `created[gt|gte|lt|lte]`. A restricted key is
//! shown only the events whose object it may read; a `type` whose object it may not read is refused with 403.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::{Condition, Event, EventType};
use serde::Deserialize;
use table::keys::Partition;
use table::list::{Among, Page};
use utoipa::ToSchema;
use web::{Conditional, Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-events", "/v1/events", Resource::Events)
.sometimes_requiring(&[Conditional {
    scope: "<resource>:read",
    when: "always, of the kind of object that an event shows; events without it are left out, and a type without it is refused \
           with 403",
}]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Only events of this type.
    #[serde(rename = "type")]
    kind: Option<EventType>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Event>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Event);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let page_request = page_request.since(Event::kept_since(request.now()));
    if let Some(kind) = filters.kind {
        request
            .key
            .require_read(kind.subject())
            .map_err(|error| error.at("type"))?;
    }
    let is_readable = |kind: &&EventType| request.key.may_read(kind.subject());
    let readable: Vec<&str> = EventType::ALL
        .iter()
        .filter(is_readable)
        .map(|kind| kind.as_str())
        .collect();
    let filter = Vec::from_iter(Condition::given("type", filters.kind));
    let partition = Partition::Kind { tenant, kind };
    let among = Among {
        member: "type",
        values: &readable,
    };
    let mut found = if readable.is_empty() {
        Page::empty()
    } else if readable.len() == EventType::ALL.len() || !filter.is_empty() {
        store
            .list::<Event>(partition, &page_request, filter)
            .await?
    } else {
        store
            .list_among(partition, &page_request, filter, among)
            .await?
    };
    store.count_pending(tenant, &mut found.items).await?;
    for event in &mut found.items {
        event.object = event.clone().shown(&request.app.settings.versions);
    }
    query.respond(&request, found.objects())
}

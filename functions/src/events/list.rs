//! `GET /v1/events`: the events of the last 30 days, newest first. Filters: `type`, `created[gt|gte|lt|lte]`.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::event::{Event, EventType};
use shared::store::Answer;
use shared::store::keys::Partition;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list("list-events", "/v1/events", Resource::Events).filtered(&[
    "created[gt]",
    "created[gte]",
    "created[lt]",
    "created[lte]",
    "limit",
    "page",
    "type",
]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let slice = query.created(query.slice(caller.tenant(), Kind::Event)?)?;
    let filter = query.word::<EventType>("type")?.map(|kind| ("type", kind));
    let partition = Partition::Kind {
        tenant: caller.tenant(),
        kind: Kind::Event,
    };
    let mut found = app
        .store
        .list::<Event>(partition, &slice, filter.into_iter().collect())
        .await?;
    for row in &mut found.rows {
        row.object = row.clone().shown(&app.settings.versions);
    }
    page::answer(&caller, &query, found)
}

//! The handler of routes that show an object as it is stored.

use axum::extract::State;
use shared::http::{PathId, RequestContext};
use shared::store::row::ById;
use shared::{App, Error, Reply};

pub async fn handle<T: ById>(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<T>, Error> {
    let stored = app.store.get::<T>(context.tenant(), &id).await?;
    context.respond(&stored.object)
}

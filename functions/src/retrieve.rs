//! The handler of routes that show an object as it is stored.

use crate::App;
use axum::extract::State;
use kernel::{Error, Reply};
use table::stored_item::ById;
use web::{PathId, RequestContext};

pub async fn handle<T: ById>(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<T>, Error> {
    let stored = app.store.get::<T>(context.tenant(), &id).await?;
    context.show(&stored)
}

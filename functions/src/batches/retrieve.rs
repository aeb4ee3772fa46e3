//! `GET /v1/batches/{id}`: shows a batch.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::batch::Batch;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get("retrieve-batch", "/v1/batches/{id}", Resource::Batches);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Batch>, Error> {
    let batch = app.store.get::<Batch>(context.tenant(), &id).await?.object;
    batch.check_kept(context.now())?;
    context.respond(&batch)
}

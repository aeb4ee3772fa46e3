//! `GET /v1/batches/{id}`: shows a batch.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Batch;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get("retrieve-batch", "/v1/batches/{id}", Resource::Batches);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Batch>, Error> {
    let batch = request.get::<Batch>(&id).await?.object;
    batch.check_kept(request.now())?;
    request.respond(&batch)
}

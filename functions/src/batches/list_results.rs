//! `GET /v1/batches/{id}/results`: lists the results of the bodies of a batch, in the order of the bodies.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Batch;
use models::batch::BatchResult;
use table::list::Page;
use web::{ListQuery, PathId, Route};

pub const ROUTE: Route = Route::get(
    "list-batch-results",
    "/v1/batches/{id}/results",
    Resource::Batches,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Reply<Page<BatchResult>>, Error> {
    let (tenant, kind) = (request.tenant(), Kind::BatchResult);
    let page_request = query.page_request(tenant, kind)?;
    let batch = request.get::<Batch>(&id).await?.object;
    batch.check_kept(request.now())?;
    let found = request.store().batch_results(tenant, &batch, &page_request);
    query.answer(&request, found.await?, |result| &result.id, kind)
}

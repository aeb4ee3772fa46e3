//! `GET /v1/batches/{id}/results`: lists the results of the bodies of a batch, in the order of the bodies.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::batch::{Batch, BatchResult};
use table::list::Page;
use web::{ListQuery, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "list-batch-results",
    "/v1/batches/{id}/results",
    Resource::Batches,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    query: ListQuery,
) -> Result<Reply<Page<BatchResult>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::BatchResult);
    let page_request = query.page_request(tenant, kind)?;
    let batch = app.store.get::<Batch>(tenant, &id).await?.object;
    batch.check_kept(context.now())?;
    let found = app.store.batch_results(tenant, &batch, &page_request);
    query.answer(&context, found.await?, |result| &result.id, kind)
}

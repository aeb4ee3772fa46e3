//! The handler of routes that redirect to a document of an object.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::response::{FileOf, Reply};
use web::{PathId, Query, RequestContext};

use crate::documents::{self, DocumentQuery, Documented};

pub async fn handle<T: Documented>(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Query(query): Query<DocumentQuery>,
) -> Result<Reply<FileOf<T>>, Error> {
    documents::redirect(&app, context.tenant(), &id, query.format).await
}

//! The handler of routes that redirect to a document of an object.

use crate::Request;
use kernel::response::FileOf;
use kernel::{Error, Reply};
use web::{PathId, Query};

use crate::documents::{self, DocumentQuery, Documented};

pub async fn handle<T: Documented>(
    request: Request,
    PathId(id): PathId,
    Query(query): Query<DocumentQuery>,
) -> Result<Reply<FileOf<T>>, Error> {
    documents::redirect(&request, &id, query.format).await
}

//! The response of a list: one page of objects.

use shared::Error;
use shared::Response;
use shared::http::{ListQuery, RequestContext};
use shared::models::stored::Stored;
use shared::store::list::Page;
use shared::store::row::Record;

/// The response that shows a page of objects.
///
/// # Errors
/// `Internal` if an object has no JSON representation.
pub fn respond<T: Record>(
    context: &RequestContext,
    query: &ListQuery,
    found: Page<Stored<T>>,
) -> Result<Response, Error> {
    let objects = found.rows.into_iter().map(|row| row.object).collect();
    let objects = Page {
        rows: objects,
        newer: found.newer,
        older: found.older,
    };
    query.answer(context, objects, T::id, T::KIND)
}

//! The response of a list: one page of objects.

use shared::Error;
use shared::Response;
use shared::http::{ListQuery, RequestContext};
use shared::store::list::Page;
use shared::store::row::Record;

/// The response that shows a page of objects.
///
/// # Errors
/// `Internal` if an object has no JSON representation.
pub fn respond<T: Record>(
    context: &RequestContext,
    query: &ListQuery,
    found: Page<T>,
) -> Result<Response, Error> {
    query.answer(context, found, T::id, T::KIND)
}

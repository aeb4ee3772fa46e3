//! The answer that shows a page of rows.

use shared::Error;
use shared::http::{Caller, ListQuery};
use shared::store::Answer;
use shared::store::list::Found;
use shared::store::row::{Record, Row};

pub fn answer<T: Record>(
    caller: &Caller,
    query: &ListQuery,
    found: Found<Row<T>>,
) -> Result<Answer, Error> {
    let objects = found.rows.into_iter().map(|row| row.object).collect();
    let objects = Found {
        rows: objects,
        newer: found.newer,
        older: found.older,
    };
    query.answer(caller, objects, T::id, T::KIND)
}

//! The numbers of documents: consecutive for each account, mode and year.
//!
//! The last number is in an item that all finalizations of the year share. It is increased in the transaction that writes the document, on
//! the condition that it has not changed since it was read: of several transactions that read the same number one is committed, and the
//! others are repeated. So a number is used if and only if its document is written.

use super::keys::Key;
use super::unit_of_work::{UnitOfWork, Write};
use super::{n, number};
use kernel::{Error, Kind, Result};

impl UnitOfWork<'_> {
    /// Returns the next number of documents of this kind in a year. The number is used when the changes are committed.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached. A commit fails with `Contended` if another document has used the number.
    pub async fn next_number(&mut self, kind: Kind, year: i16) -> Result<u64> {
        let key = Key::DocumentNumber {
            tenant: &self.origin.tenant,
            kind,
            year,
        };
        let found = self.store.item(key, true).await?;
        let last = found.map_or(0, |item| number(&item, "last").unsigned_abs());
        let update = self
            .store
            .update(key)
            .update_expression("SET #last = :next")
            .expression_attribute_names("#last", "last")
            .expression_attribute_values(":next", n(last + 1));
        let update = match last {
            0 => update.condition_expression("attribute_not_exists(#last)"),
            _ => update
                .condition_expression("#last = :last")
                .expression_attribute_values(":last", n(last)),
        };
        self.push(Write::Update(update), Error::Contended);
        Ok(last + 1)
    }
}

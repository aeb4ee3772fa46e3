//! Credits of final invoices. Each credit note is a document with its own number.

pub mod apply;
pub mod create;
pub mod issue;
pub mod list;
mod refund;
pub mod retrieve;
pub mod retrieve_document;

use kernel::error::Result;
use models::adjustment::Adjustment;
use models::credit_note::CreditNote;

use crate::App;
use crate::documents::make::MakeDocuments;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};

impl OnChange for Adjustment {}

impl OnChange for CreditNote {
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let note = &change.after.object;
        if change.before.is_some() || note.number.is_none() {
            return Ok(());
        }
        let job = MakeDocuments {
            tenant: change.tenant.clone(),
            object: note.id.clone(),
        };
        job.send(app).await
    }
}

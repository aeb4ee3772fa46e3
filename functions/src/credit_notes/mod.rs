//! Credits of final invoices. Each credit note is a document with its own number.

pub mod apply;
pub mod create;
pub mod issue;
pub mod list;
mod refund;
pub mod retrieve;
pub mod retrieve_document;

use kernel::{Kind, Origin, Result};
use models::{Adjustment, CreditNote};

use crate::App;
use crate::documents::make::MakeDocuments;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};

impl OnChange for Adjustment {
    /// Names in the credit note of a draft the invoice that bills the credit after the draft was deleted or voided.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let Change { tenant, after, .. } = change;
        let before = change.before.as_ref();
        let before = before.and_then(|before| before.internal.invoice.as_ref());
        if before.is_none() || before == after.internal.invoice.as_ref() {
            return Ok(());
        }
        let id = &after.object.id;
        let note = id.as_kind(Kind::CreditNote);
        let Some(mut note) = app.store.find::<CreditNote>(tenant, &note).await? else {
            return Ok(());
        };
        // An earlier change may be relayed again after a later one.
        let latest = app.store.find::<Self>(tenant, id).await?;
        let invoice = latest.and_then(|latest| latest.internal.invoice);
        let Some(invoice) = invoice.filter(|invoice| *invoice != note.object.invoice) else {
            return Ok(());
        };
        note.object.invoice = invoice;
        let origin = Origin::background(tenant.clone(), app.now());
        app.store.save(&origin, &mut note).await
    }
}

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

//! Bills for the charging sessions and reservation fees of a period.

pub mod check;
pub mod create;
pub mod delete;
pub mod finalize;
pub mod list;
pub mod list_line_items;
pub mod pay;
mod pay_off;
mod payment;
pub mod recur;
pub mod retrieve;
pub mod retrieve_document;
pub mod unbilled;
pub mod update;
pub mod void;

use crate::App;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};
use kernel::{Id, Result, Tenant};
use models::{Invoice, Stored};

use crate::documents::make::MakeDocuments;

impl OnChange for Invoice {
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        if !change.differs_in(|invoice| invoice.number.clone()) {
            return Ok(());
        }
        let job = MakeDocuments {
            tenant: change.tenant.clone(),
            object: change.after.object.id.clone(),
        };
        job.send(app).await
    }

    async fn on_deletion(
        app: &App,
        tenant: &Tenant,
        id: &Id,
        _: Option<&Stored<Self>>,
    ) -> Result<()> {
        app.store.drop_lines(tenant, id).await
    }
}

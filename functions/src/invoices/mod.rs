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
pub mod update;
pub mod void;

use crate::App;
use crate::stream::change::OnChange;
use kernel::Id;
use kernel::error::Result;
use kernel::origin::Tenant;
use models::invoice::Invoice;

impl OnChange for Invoice {
    async fn on_deletion(app: &App, tenant: &Tenant, id: &Id) -> Result<()> {
        app.store.drop_lines(tenant, id).await
    }
}

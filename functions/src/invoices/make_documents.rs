//! `make-documents`: makes the documents of an invoice that was finalized.

use kernel::origin::Tenant;
use kernel::{Error, Id};
use models::invoice::Invoice;
use models::ports::JobSubject;
use serde::{Deserialize, Serialize};
use web::deployment::{Deployment, Need};

use super::document;
use crate::App;
use crate::function::Function;
use crate::job::Job;

/// Makes the documents of a final invoice.
#[derive(Debug, Serialize, Deserialize)]
pub struct MakeDocuments {
    pub tenant: Tenant,
    pub invoice: Id,
}

impl Job for MakeDocuments {
    const NAME: &'static str = "make-documents";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .memory(1024)
            .timeout(300)
            .needing(&[Need::Documents]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.invoice)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, invoice } = &self;
        match app.store.find::<Invoice>(tenant, invoice).await? {
            Some(row) if row.object.number.is_some() => document::make_all(app, tenant, &row).await,
            _ => Ok(()),
        }
    }
}

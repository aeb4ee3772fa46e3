//! `make-documents`: creates the documents of a finalized invoice or a credit note.

use kernel::{Error, Id, Kind, Tenant};
use models::ports::JobSubject;
use models::{CreditNote, Invoice};
use serde::{Deserialize, Serialize};
use web::deployment::{Deployment, Need};

use super::{Documented, make_all};
use crate::App;
use crate::function::Function;
use crate::job::Job;

/// Creates the documents of a final invoice or a credit note.
#[derive(Debug, Serialize, Deserialize)]
pub struct MakeDocuments {
    pub tenant: Tenant,
    pub object: Id,
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
        JobSubject::of(&self.tenant, &self.object)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        if self.object.is(Kind::CreditNote) {
            make::<CreditNote>(app, &self).await
        } else {
            make::<Invoice>(app, &self).await
        }
    }
}

/// Creates the missing documents of an invoice or a credit note, before its item is deleted.
///
/// # Errors
/// `Unavailable` if DynamoDB or the bucket cannot be reached.
pub async fn keep(app: &App, tenant: &Tenant, object: &Id) -> Result<(), Error> {
    let prefix = format!("documents/{}/{}/{object}/", tenant.account, tenant.mode);
    if !app.files.list(&prefix).await?.is_empty() {
        return Ok(());
    }
    let job = MakeDocuments {
        tenant: tenant.clone(),
        object: object.clone(),
    };
    job.run(app).await
}

async fn make<T: Documented>(app: &App, job: &MakeDocuments) -> Result<(), Error> {
    let MakeDocuments { tenant, object } = job;
    match app.store.find::<T>(tenant, object).await? {
        Some(stored) if stored.object.number().is_some() => make_all(app, tenant, &stored).await,
        _ => Ok(()),
    }
}

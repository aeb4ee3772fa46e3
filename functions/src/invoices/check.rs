//! `check-invoice`: finalizes the draft of a billing cycle, reports that an open invoice is overdue, finishes an interrupted payment, and
//! marks the sessions of a paid invoice as paid. The same function applies credits of charging networks.

use kernel::{Error, Id, Origin, Tenant};
use models::Invoice;
use models::invoice::Concern;
use models::ports::JobSubject;
use serde::{Deserialize, Serialize};
use web::deployment::{Deployment, Need};

use crate::App;

use super::finalize::{self, BACKOFF, FINALIZE_ATTEMPTS};
use super::{pay_off, payment};
use crate::function::Function;
use crate::job::Job;
use crate::payments;

/// Processes an invoice that is overdue, or whose payment was interrupted.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckInvoice {
    pub tenant: Tenant,
    pub invoice: Id,
}

impl Job for CheckInvoice {
    const NAME: &'static str = "check-invoice";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(payments::SETTLED)
            .needing(&[Need::Payments]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.invoice)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            invoice: id,
        } = &self;
        let Some(mut invoice) = app.store.find::<Invoice>(tenant, id).await? else {
            return Ok(());
        };
        let origin = Origin::background(tenant.clone(), app.now());
        match invoice.concern(origin.now) {
            None => Ok(()),
            Some(Concern::UnpaidSessions) => pay_off::handle(app, &origin, invoice).await,
            Some(Concern::LostPayment) => {
                match payment::settle_alone(app, &origin, invoice.clone()).await {
                    Err(error @ Error::Unavailable(_)) => {
                        // A bank debit of some days raises no alarm.
                        if !invoice.wait_for_provider(origin.now) {
                            return Err(error);
                        }
                        tracing::warn!(%error, "an invoice is not paid yet; it is tried again in an hour");
                        app.store.save(&origin, &mut invoice).await
                    }
                    settled => settled.map(drop),
                }
            }
            Some(Concern::Final) => {
                let finalize = || finalize_due(app, &origin, id);
                BACKOFF.after_collisions(FINALIZE_ATTEMPTS, finalize).await
            }
            Some(Concern::Overdue) => {
                invoice.mark_overdue();
                app.store.save(&origin, &mut invoice).await
            }
        }
    }
}

/// Finalizes a draft whose time has come, in its present state.
async fn finalize_due(app: &App, origin: &Origin, id: &Id) -> Result<(), Error> {
    let found = app.store.find::<Invoice>(&origin.tenant, id).await?;
    match found {
        Some(mut invoice) if invoice.concern(origin.now) == Some(Concern::Final) => {
            let mut tx = app.store.begin(origin);
            finalize::issue(app, &mut tx, &mut invoice).await?;
            tx.save(&mut invoice)?;
            tx.commit_without_response().await
        }
        _ => Ok(()),
    }
}

//! `settle-transaction`: sends a pending refund, once. The same queue carries top-ups that their requests did not finish.

use kernel::origin::{Origin, Tenant};
use models::ports::JobSubject;
use models::transaction::PaymentOutcome;
use models::transaction::{Transaction, TransactionStatus, TransactionType};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use web::deployment::{Deployment, Need};

use crate::App;
use kernel::{Error, Id, Kind};
use models::stored::Stored;
use table::access::Rows;

use crate::function::Function;
use crate::job::Job;
use crate::payments::{self, top_up};

/// Sends a pending refund, or finishes a top-up.
#[derive(Debug, Serialize, Deserialize)]
pub struct SettleTransaction {
    pub tenant: Tenant,
    pub transaction: Id,
}

impl Job for SettleTransaction {
    const NAME: &'static str = "settle-transaction";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(&[
                Rows::Of(Kind::Transaction),
                Rows::Of(Kind::Account),
                Rows::Of(Kind::Driver),
                Rows::Of(Kind::Fleet),
            ])
            .needing(&[Need::Payments]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.transaction)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            transaction: id,
        } = &self;
        let Some(row) = app.store.find::<Transaction>(tenant, id).await? else {
            return Ok(());
        };
        let origin = Origin::background(tenant.clone(), app.now());
        match (row.object.status, row.object.kind) {
            (TransactionStatus::Pending, TransactionType::Refund) => {
                refund(app, &origin, row).await
            }
            (TransactionStatus::Pending, _) => top_up::finish(app, &origin, row).await,
            _ => Ok(()),
        }
    }
}

async fn refund(app: &App, origin: &Origin, mut row: Stored<Transaction>) -> Result<(), Error> {
    let mut tx = app.store.begin(origin);
    let outcome = payments::refund(app, &mut tx, &row).await?;
    let succeeded = outcome == PaymentOutcome::Succeeded;
    row.end_refund(succeeded);
    if !succeeded {
        allow_another(app, &mut tx, &row).await?;
    }
    tx.save(&mut row)?;
    tx.commit_without_response().await
}

/// A charge whose refund failed can be refunded again.
async fn allow_another(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &Stored<Transaction>,
) -> Result<(), Error> {
    let Some(id) = &refund.internal.charge else {
        return Ok(());
    };
    let charge = app
        .store
        .find::<Transaction>(&tx.origin().tenant, id)
        .await?;
    match charge {
        Some(mut charge) if charge.internal.refund.as_ref() == Some(&refund.object.id) => {
            charge.internal.refund = None;
            tx.save(&mut charge)
        }
        _ => Ok(()),
    }
}

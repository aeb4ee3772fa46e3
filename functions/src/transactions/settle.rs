//! `settle-transaction`: sends a pending refund, once. The same queue carries top-ups that their requests did not finish.

use kernel::origin::{Origin, Tenant};
use models::charging_session::ChargingSession;
use models::event::EventType;
use models::invoice::{Invoice, InvoiceStatus};
use models::ports::JobSubject;
use models::reservation::Reservation;
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
                Rows::Of(Kind::ChargingSession),
                Rows::Of(Kind::Invoice),
                Rows::Of(Kind::Reservation),
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
    row.end_refund(&outcome);
    let charge = match &row.object.charge {
        Some(id) => app.store.find::<Transaction>(&origin.tenant, id).await?,
        None => None,
    };
    if let Some(mut charge) = charge {
        charge.count_refund(&row.object);
        tx.save(&mut charge)?;
    }
    if outcome == PaymentOutcome::Succeeded {
        reach(app, &mut tx, &row.object).await?;
    }
    tx.save(&mut row)?;
    tx.commit_without_response().await
}

/// Counts a refund on what was paid with its charge: the session or the reservation, and the invoice that bills it.
async fn reach(app: &App, tx: &mut UnitOfWork<'_>, refund: &Transaction) -> Result<(), Error> {
    let (tenant, now) = (&tx.origin().tenant, tx.origin().now);
    let mut billed_by = refund.invoice.clone();
    if let Some(id) = &refund.charging_session
        && let Some(mut session) = app.store.find::<ChargingSession>(tenant, id).await?
    {
        session.object.count_refund(refund.amount, now);
        session.record(EventType::ChargingSessionUpdated);
        billed_by = session.object.invoice.clone();
        tx.save(&mut session)?;
    }
    if let Some(id) = &refund.reservation
        && let Some(mut reservation) = app.store.find::<Reservation>(tenant, id).await?
    {
        reservation.count_refund(refund.amount, now);
        billed_by = reservation.internal.invoice.clone();
        tx.save(&mut reservation)?;
    }
    let Some(id) = billed_by else {
        return Ok(());
    };
    // In this order: an invoice in the making is created in the transaction that ends that.
    if app.store.is_in_the_making(tenant, &id).await? {
        return Err(Error::Contended);
    }
    match app.store.find::<Invoice>(tenant, &id).await? {
        Some(mut invoice) if invoice.object.status != InvoiceStatus::Void => {
            invoice.count_refund(refund.amount);
            tx.save(&mut invoice)
        }
        _ => Ok(()),
    }
}

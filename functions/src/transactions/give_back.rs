//! `give-back`: sends a pending refund, once. Top-ups whose requests did not finish them come by the same queue.

use shared::deployment::{Deployment, Need};
use shared::models::event::EventType;
use shared::models::transaction::{Transaction, TransactionStatus, TransactionType};
use shared::origin::{Origin, Tenant};
use shared::ports::Work;
use shared::ports::payments::Outcome;
use shared::store::Changes;
use shared::store::access::Rows;
use shared::store::row::Row;
use shared::{App, Error, Id, Kind};

use crate::function::Function;
use crate::payments::{self, top_up};

pub const FUNCTION: Function = Function::worker(
    Work::RefundTransaction,
    Deployment::in_background()
        .writing(&[
            Rows::Of(Kind::Transaction),
            Rows::Of(Kind::Account),
            Rows::Of(Kind::Driver),
            Rows::Of(Kind::Fleet),
        ])
        .needing(&[Need::Payments]),
);

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let Some(row) = app.store.find::<Transaction>(tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::later(tenant.clone(), app.now());
    match (row.object.status, row.object.kind) {
        (TransactionStatus::Pending, TransactionType::Refund) => refund(app, &origin, row).await,
        (TransactionStatus::Pending, _) => top_up::finish(app, &origin, row).await,
        _ => Ok(()),
    }
}

async fn refund(app: &App, origin: &Origin, mut row: Row<Transaction>) -> Result<(), Error> {
    let mut changes = Changes::new();
    let outcome = payments::refund(app, origin, &mut changes, &row).await?;
    let succeeded = outcome == Outcome::Succeeded;
    row.object.end_refund(&mut row.private, succeeded);
    let event = match succeeded {
        true => EventType::ServiceRefunded,
        false => {
            allow_another(app, origin, &mut changes, &row).await?;
            EventType::ServiceFailed
        }
    };
    app.store
        .replace(&mut changes, origin, &row.announcing(event))?;
    app.store.commit_later(origin, changes).await
}

/// A charge whose refund failed can be refunded again.
async fn allow_another(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    refund: &Row<Transaction>,
) -> Result<(), Error> {
    let Some(id) = &refund.private.charge else {
        return Ok(());
    };
    let charge = app.store.find::<Transaction>(&origin.tenant, id).await?;
    match charge {
        Some(mut charge) if charge.private.refund.as_ref() == Some(&refund.object.id) => {
            charge.private.refund = None;
            app.store.replace(changes, origin, &charge)
        }
        _ => Ok(()),
    }
}

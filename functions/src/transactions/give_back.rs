//! `give-back`: gives back what a charge took, once. Top-ups that were cut short come by the same queue.

use shared::deployment::{Deployment, Need};
use shared::models::event::EventType;
use shared::models::transaction::{Transaction, TransactionStatus, TransactionType};
use shared::origin::{Origin, Tenant};
use shared::ports::Work;
use shared::ports::payments::Outcome;
use shared::store::Changes;
use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use super::finish_top_up;
use crate::function::Function;
use crate::payments;

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
    let Some(mut row) = app.store.find::<Transaction>(tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::later(tenant.clone(), app.now());
    match (row.object.status, row.object.kind) {
        (TransactionStatus::Pending, TransactionType::Refund) => {}
        (TransactionStatus::Pending, _) => return finish_top_up::handle(app, &origin, row).await,
        _ => return Ok(()),
    }
    let mut changes = Changes::new();
    let method = row.object.payment_method.as_ref();
    let outcome = match payments::find_method(app, &origin, method).await? {
        Some(method) => payments::give_back(app, &origin, &mut changes, &method, &row).await?,
        None => payments::gone(),
    };
    let succeeded = outcome == Outcome::Succeeded;
    row.object.end(&mut row.private, succeeded);
    let told = match succeeded {
        true => EventType::ServiceRefunded,
        false => EventType::ServiceFailed,
    };
    app.store
        .replace(&mut changes, &origin, &row.announcing(told))?;
    app.store.commit_later(&origin, changes).await
}

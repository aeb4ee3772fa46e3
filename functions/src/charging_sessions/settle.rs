//! `settle-session`: takes the charge for a session that has ended from its payment method, once. The fees of reservations
//! come by the same queue.

use kernel::money::Money;
use kernel::origin::Tenant;
use models::action::Action;
use models::charging_session::ChargingSession;
use models::ports::JobSubject;
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use web::deployment::{Deployment, Need};

use crate::App;
use kernel::{Error, Id, Kind};
use table::access::Rows;

use crate::function::Function;
use crate::job::{Job, find_due};
use crate::payments::{self, Bill, Payment};

/// Charges the payment method of a session that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct SettleSession {
    pub tenant: Tenant,
    pub session: Id,
}

impl Job for SettleSession {
    const NAME: &'static str = "settle-session";
    const FUNCTION: Function = Function::worker_abreast(
        Self::NAME,
        Deployment::in_background()
            .writing(&[
                Rows::Of(Kind::ChargingSession),
                Rows::Of(Kind::Reservation),
                Rows::Of(Kind::Transaction),
                Rows::Of(Kind::Account),
                Rows::Of(Kind::Driver),
                Rows::Of(Kind::Fleet),
            ])
            .needing(&[Need::Payments]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.session)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            session: id,
        } = &self;
        let due = find_due::<ChargingSession>(app, tenant, id, Action::SettleSession).await?;
        let Some((mut row, origin)) = due else {
            return Ok(());
        };
        let now = origin.now;
        if row.object.invoice.is_some() {
            // Its invoice is what it is paid by.
            row.leave_to_invoice();
            let mut tx = app.store.begin(&origin);
            tx.save(&mut row)?;
            return tx.commit_without_response().await;
        }
        if !row.operation(tenant.mode).is_operated() {
            row.waive(now);
            let mut tx = app.store.begin(&origin);
            tx.save(&mut row)?;
            return tx.commit_without_response().await;
        }
        let mut tx = app.store.begin(&origin);
        let payment = charge(app, &mut tx, &row.object).await?;
        let transaction = row.settle(&payment.outcome, now);
        let mut transaction = payments::record(transaction, &payment);
        tx.save(&mut row)?;
        tx.create(&mut transaction)?;
        tx.commit_without_response().await
    }
}

/// Charges the session's payment method. If the commit that follows is lost, the repetition charges under the same key and
/// gets the result of the first charge.
async fn charge(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    session: &ChargingSession,
) -> Result<Payment, Error> {
    let bill = Bill {
        key: session.id.to_string(),
        amount: Money::new(session.amount_due(), session.currency),
        description: session.description(),
        due_since: session.state.ended().unwrap_or(session.created),
    };
    let method = session.payment_method.as_ref();
    payments::take_from(app, tx, method, &bill).await
}

//! `settle-session`: charges the payment method of a session that has ended, once. The fees of reservations use the same queue.

use kernel::{Error, Id, Kind, Money, Origin, Tenant};
use models::ports::JobSubject;
use models::ports::payments::KEY_REMEMBERED;
use models::transaction::ChargeSource;
use models::{Action, ChargingSession, Stored, Transaction};
use serde::{Deserialize, Serialize};
use web::deployment::{Deployment, Need};

use crate::App;
use table::access::Items;

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
                Items::Of(Kind::ChargingSession),
                Items::Of(Kind::Reservation),
                Items::Of(Kind::Transaction),
                Items::Of(Kind::Account),
                Items::Of(Kind::Driver),
                Items::Of(Kind::Fleet),
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
        let Some((mut session, origin)) = due else {
            return Ok(());
        };
        let now = origin.now;
        if session.object.invoice.is_some() {
            // The session is paid by its invoice.
            session.leave_to_invoice();
            return app.store.save(&origin, &mut session).await;
        }
        if !session.operation(tenant.mode).is_operated() {
            session.waive(now);
            return app.store.save(&origin, &mut session).await;
        }
        let bill = Bill {
            key: session.object.id.to_string(),
            amount: Money::new(session.object.amount_due(), session.object.currency),
            description: session.object.description(),
            due_since: session.object.due_since(),
        };
        let mut tx = app.store.begin(&origin);
        let payment = match recorded(app, &origin, &session.object).await? {
            Some(payment) => payment,
            None => {
                let method = session.object.payment_method.as_ref();
                payments::take_from(app, &mut tx, method, &bill).await?
            }
        };
        let transaction = session.settle(&payment.outcome, now);
        let mut transaction = payments::record(transaction, &payment);
        match payment.source {
            // The provider has already been called, so the transaction need not be written together with the session: two separate writes
            // cost half as much as a DynamoDB transaction. If the second write is lost, the job is repeated, and finds the first.
            ChargeSource::Provider { .. } => record_once(app, &origin, &mut transaction).await?,
            ChargeSource::Wallet { .. } => tx.create(&mut transaction)?,
        }
        tx.save(&mut session)?;
        tx.commit_without_response().await
    }
}

/// The charge that an earlier run of the job has recorded, if that was so long ago that the provider may have forgotten it.
async fn recorded(
    app: &App,
    origin: &Origin,
    session: &ChargingSession,
) -> Result<Option<Payment>, Error> {
    if origin.now.since(session.due_since()) < KEY_REMEMBERED {
        return Ok(None);
    }
    let (tenant, id) = (&origin.tenant, session.charge_id());
    let charge = app.store.find::<Transaction>(tenant, &id).await?;
    Ok(charge.and_then(|charge| Payment::recorded(&charge)))
}

/// Writes the transaction of a charge, unless an earlier run of the job has written it.
async fn record_once(
    app: &App,
    origin: &Origin,
    transaction: &mut Stored<Transaction>,
) -> Result<(), Error> {
    match app.store.create(origin, transaction).await {
        Err(Error::Contended) => Ok(()),
        done => done,
    }
}

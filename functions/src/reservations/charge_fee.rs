//! `settle-session`, for a reservation that is over: charges its fee to its payment method, once.

use kernel::{Error, Id, Money, Origin, Tenant, Timestamp};
use models::ports::JobSubject;
use models::{Action, Reservation};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;

use crate::App;

use crate::charging_sessions::settle::SettleSession;
use crate::function::Function;
use crate::job::Job;
use crate::payments::{self, Bill, Payment};

/// Charges the fee of a reservation that is over.
#[derive(Debug, Serialize, Deserialize)]
pub struct ChargeReservationFee {
    pub tenant: Tenant,
    pub reservation: Id,
}

impl Job for ChargeReservationFee {
    const NAME: &'static str = "charge-reservation-fee";
    const FUNCTION: Function = SettleSession::FUNCTION;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            reservation: id,
        } = &self;
        let now = app.now();
        let Some(mut reservation) = app.store.find::<Reservation>(tenant, id).await? else {
            return Ok(());
        };
        let Some((since, Action::ChargeFee)) =
            reservation.next_action().filter(|(at, _)| *at <= now)
        else {
            return Ok(());
        };
        let origin = Origin::background(tenant.clone(), now);
        let mut tx = app.store.begin(&origin);
        let payment = charge(app, &mut tx, &reservation.object, since).await?;
        let transaction = reservation.settle_fee(&payment.outcome, now);
        let mut transaction = payments::record(transaction, &payment);
        tx.save(&mut reservation)?;
        tx.create(&mut transaction)?;
        tx.commit_without_response().await
    }
}

async fn charge(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    reservation: &Reservation,
    due_since: Timestamp,
) -> Result<Payment, Error> {
    let bill = Bill {
        key: reservation.id.to_string(),
        amount: Money::new(reservation.fee_due(), reservation.currency),
        description: reservation.fee_description(),
        due_since,
    };
    let method = reservation.payment_method.as_ref();
    payments::take_from(app, tx, method, &bill).await
}

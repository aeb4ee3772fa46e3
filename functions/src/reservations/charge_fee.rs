//! `settle-session`, of a reservation that is over: takes its fee from its payment method, once.

use shared::models::reservation::Reservation;
use shared::origin::{Origin, Tenant};
use shared::store::Changes;
use shared::{App, Error, Id, Timestamp};

use crate::payments::{self, Bill, Payment};

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let now = app.now();
    let Some(mut row) = app.store.find::<Reservation>(tenant, id).await? else {
        return Ok(());
    };
    if !row.object.owes_fee(&row.private, now) {
        return Ok(());
    }
    let origin = Origin::later(tenant.clone(), now);
    let mut changes = Changes::new();
    // Nobody tries before it is due.
    let since = row.private.due.unwrap_or(now);
    let payment = charge(app, &origin, &mut changes, &row.object, since).await?;
    let transaction = row
        .object
        .settle_fee(&mut row.private, &payment.outcome, now);
    let transaction = payments::record(transaction, &payment);
    app.store.replace(&mut changes, &origin, &row)?;
    app.store.create(&mut changes, &origin, &transaction)?;
    app.store.commit_later(&origin, changes).await
}

async fn charge(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    reservation: &Reservation,
    due_since: Timestamp,
) -> Result<Payment, Error> {
    let bill = Bill {
        key: reservation.id.to_string(),
        amount: reservation.fee_due,
        currency: reservation.currency,
        description: reservation.fee_description(),
        due_since,
    };
    let method = reservation.payment_method.as_ref();
    payments::take_from(app, origin, changes, method, &bill).await
}

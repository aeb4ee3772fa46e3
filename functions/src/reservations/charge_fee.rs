//! `settle-session`, of a reservation that is over: takes its fee from its payment method, once.

use shared::models::reservation::Reservation;
use shared::origin::{Origin, Tenant};
use shared::ports::payments::Outcome;
use shared::store::Changes;
use shared::{App, Error, Id};

use crate::payments::{self, Bill};

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
    let outcome = charge(app, &origin, &mut changes, &row.object).await?;
    let transaction = row.object.settle_fee(&mut row.private, &outcome, now);
    let transaction = payments::record(transaction, row.object.id.to_string());
    app.store.replace(&mut changes, &origin, &row)?;
    app.store.create(&mut changes, &origin, &transaction)?;
    app.store.commit_later(&origin, changes).await
}

async fn charge(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    reservation: &Reservation,
) -> Result<Outcome, Error> {
    let bill = Bill {
        key: reservation.id.to_string(),
        amount: reservation.fee_due,
        currency: reservation.currency,
        description: reservation.fee_description(),
    };
    let method = reservation.payment_method.as_ref();
    payments::take_from(app, origin, changes, method, &bill).await
}

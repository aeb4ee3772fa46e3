//! Paying an invoice, so that money moves once: the attempt is written down, then charged under a key that follows from
//! the invoice and the number of the attempt, then its outcome is written down with the transaction that tells of it.

use shared::http::Caller;
use shared::models::event::EventType;
use shared::models::invoice::{Attempt, Invoice};
use shared::models::payment_method::PaymentMethod;
use shared::models::transaction::Transaction;
use shared::origin::Origin;
use shared::ports::payments::Outcome;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

use crate::payments::{self, Bill};

/// The same origin, for a write that is not the request's last: that one takes the idempotency key.
fn on_the_way(origin: &Origin) -> Origin {
    Origin {
        idempotency: None,
        ..origin.clone()
    }
}

/// Writes down that an attempt begins.
pub async fn begin(
    app: &App,
    origin: &Origin,
    mut row: Row<Invoice>,
    method: Row<PaymentMethod>,
) -> Result<Row<Invoice>, Error> {
    let Row {
        object, private, ..
    } = method;
    row.object
        .begin_payment(&mut row.private, object, private, origin.now);
    let origin = on_the_way(origin);
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &origin, &row)?;
    app.store.commit_later(&origin, changes).await?;
    row.version += 1;
    Ok(row)
}

/// Brings the attempt that was begun to its end, and answers the request with it.
pub async fn settle(app: &App, caller: &Caller, row: Row<Invoice>) -> Result<Answer, Error> {
    let mut changes = Changes::new();
    let (row, outcome) = charge(app, &caller.origin, &mut changes, row).await?;
    let answer = match outcome {
        Outcome::Succeeded => caller.answer(&row.object)?,
        Outcome::Declined(code) => caller.refusal(&payments::declined(&code)),
    };
    app.store.commit(&caller.origin, changes, answer).await
}

/// Brings an attempt of somebody else to its end.
pub async fn settle_alone(
    app: &App,
    origin: &Origin,
    row: Row<Invoice>,
) -> Result<Row<Invoice>, Error> {
    let origin = on_the_way(origin);
    let mut changes = Changes::new();
    let (mut row, _) = charge(app, &origin, &mut changes, row).await?;
    app.store.commit_later(&origin, changes).await?;
    row.version += 1;
    Ok(row)
}

/// Charges the attempt, and adds what came of it to the changes.
async fn charge(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    mut row: Row<Invoice>,
) -> Result<(Row<Invoice>, Outcome), Error> {
    let attempt = row.private.attempt.clone();
    let attempt = attempt.ok_or_else(|| Error::internal("no attempt to pay was begun"))?;
    let method = Row::with_private(attempt.method.clone(), attempt.method_private.clone());
    let bill = bill(&row.object, &attempt);
    let outcome = payments::take(app, origin, changes, &method, &bill).await?;
    let succeeded = outcome == Outcome::Succeeded;
    let transaction: Transaction =
        row.object
            .end_payment(&mut row.private, &attempt, succeeded, origin.now);
    let transaction = payments::record(transaction, bill.key);
    let told = match succeeded {
        true => EventType::InvoicePaid,
        false => EventType::InvoicePaymentFailed,
    };
    app.store
        .replace(changes, origin, &row.clone().announcing(told))?;
    app.store.create(changes, origin, &transaction)?;
    Ok((row, outcome))
}

/// What is due, as the attempt asks for it.
fn bill(invoice: &Invoice, attempt: &Attempt) -> Bill {
    Bill {
        key: attempt.key(&invoice.id),
        amount: invoice.amount_due,
        currency: invoice.currency,
        description: invoice.bill(),
    }
}

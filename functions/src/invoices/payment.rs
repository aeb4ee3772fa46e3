//! Paying an invoice, so that money moves once: the attempt and its pending transaction are written, then charged under a key
//! that follows from the invoice and the number of the attempt, then the result is written to both.

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

use crate::payments::{self, Bill, Payment, Progress};

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
    progress: &Progress,
) -> Result<Row<Invoice>, Error> {
    let Row {
        object, private, ..
    } = method;
    let transaction = row
        .object
        .begin_payment(&mut row.private, object, private, origin.now);
    progress.note(&transaction.id);
    let origin = on_the_way(origin);
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &origin, &row)?;
    app.store
        .create(&mut changes, &origin, &Row::new(transaction))?;
    app.store.commit_later(&origin, changes).await?;
    row.version += 1;
    Ok(row)
}

/// Brings the attempt that was begun to its end, and answers the request with it.
pub async fn settle(app: &App, caller: &Caller, row: Row<Invoice>) -> Result<Answer, Error> {
    let mut changes = Changes::new();
    let transaction = row
        .private
        .attempt
        .as_ref()
        .map(|one| one.transaction.clone());
    let (row, payment) = charge(app, &caller.origin, &mut changes, row).await?;
    let answer = match payment.outcome {
        Outcome::Succeeded => caller.answer(&row.object)?,
        Outcome::Declined(code) => {
            let transaction = transaction.map(|id| id.to_string()).unwrap_or_default();
            caller.refusal(&payments::declined(&code).with("transaction", transaction))
        }
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
) -> Result<(Row<Invoice>, Payment), Error> {
    let attempt = row.private.attempt.clone();
    let attempt = attempt.ok_or_else(|| Error::internal("no attempt to pay was begun"))?;
    let method = Row::with_private(attempt.method.clone(), attempt.method_private.clone());
    let bill = bill(&row.object, &attempt);
    let payment = payments::take(app, origin, changes, &method, &bill).await?;
    let succeeded = payment.succeeded();
    let transaction: Transaction =
        row.object
            .end_payment(&mut row.private, &attempt, succeeded, origin.now);
    let mut transaction = payments::record(transaction, &payment);
    // It was written once, when the attempt began.
    transaction.version = 1;
    let told = match succeeded {
        true => EventType::InvoicePaid,
        false => EventType::InvoicePaymentFailed,
    };
    app.store
        .replace(changes, origin, &row.clone().announcing(told))?;
    app.store.replace(changes, origin, &transaction)?;
    Ok((row, payment))
}

/// What is due, as the attempt asks for it.
fn bill(invoice: &Invoice, attempt: &Attempt) -> Bill {
    Bill {
        key: attempt.key(&invoice.id),
        amount: invoice.amount_due,
        currency: invoice.currency,
        description: invoice.bill(),
        due_since: attempt.begun,
    }
}

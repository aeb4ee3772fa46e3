//! Paying an invoice, so that money moves once: the attempt is written down, then charged under a key that follows from
//! the invoice and the number of the attempt, then its outcome is written down with the transaction that tells of it.

use shared::http::Caller;
use shared::models::event::EventType;
use shared::models::invoice::{Attempt, Invoice};
use shared::models::payment_method::PaymentMethod;
use shared::models::transaction::Transaction;
use shared::origin::Origin;
use shared::ports::payments::{Charge, Outcome, Payments as _, Simulated};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

/// The answer to an earlier request with the same idempotency key. Other writes find out in their own transaction, but
/// here much happens before.
pub async fn answered(app: &App, origin: &Origin) -> Result<Option<Answer>, Error> {
    match &origin.idempotency {
        Some(idempotency) => app.store.recall(origin, idempotency).await,
        None => Ok(None),
    }
}

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
        Outcome::Declined(code) => caller.refusal(&declined(&code)),
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
    let outcome = take(&row.object, &attempt).await?;
    let succeeded = outcome == Outcome::Succeeded;
    let transaction: Transaction =
        row.object
            .end_payment(&mut row.private, &attempt, succeeded, origin.now);
    let told = if succeeded {
        EventType::InvoicePaid
    } else {
        EventType::InvoicePaymentFailed
    };
    app.store
        .replace(changes, origin, &row.clone().announcing(told))?;
    app.store.create(changes, origin, &Row::new(transaction))?;
    Ok((row, outcome))
}

/// Takes what is due from the attempt's payment method.
async fn take(invoice: &Invoice, attempt: &Attempt) -> Result<Outcome, Error> {
    let Some(token) = attempt.method_private.token.clone() else {
        return Ok(Outcome::Declined("wallet_closed".to_owned()));
    };
    let charge = Charge {
        key: attempt.key(&invoice.id),
        token,
        amount: invoice.amount_due,
        currency: invoice.currency,
        description: invoice.bill(),
    };
    Simulated.charge(&charge).await
}

fn declined(code: &str) -> Error {
    Code::PaymentAuthorizationFailed
        .because("The payment was declined.")
        .at(Kind::PaymentMethod.name())
        .with("decline_code", code)
}

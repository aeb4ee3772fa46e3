//! Paying an invoice so that money moves once: the attempt and its pending transaction are written first; then the charge is made under a
//! key that is derived from the invoice and the number of the attempt; then the result is written to both.

use crate::{App, Request};
use kernel::{Error, Money, Origin, Response};
use models::invoice::Attempt;
use models::transaction::PaymentOutcome;
use models::{Invoice, PaymentMethod, Stored};
use table::UnitOfWork;

use crate::payments::{self, Bill, Payment, Progress};

/// The same origin, for a write that is not the request's last: only the last write uses the idempotency key.
fn without_idempotency(origin: &Origin) -> Origin {
    Origin {
        idempotency: None,
        ..origin.clone()
    }
}

/// Writes the beginning of an attempt.
pub async fn begin(
    app: &App,
    origin: &Origin,
    mut invoice: Stored<Invoice>,
    method: Stored<PaymentMethod>,
    progress: &Progress,
) -> Result<Stored<Invoice>, Error> {
    let Stored {
        object, internal, ..
    } = method;
    let transaction = invoice.begin_payment(object, internal, origin.now);
    progress.note(&transaction.id);
    let origin = without_idempotency(origin);
    let mut tx = app.store.begin(&origin);
    tx.save(&mut invoice)?;
    tx.create(&mut Stored::new(transaction))?;
    tx.commit_without_response().await?;
    Ok(invoice)
}

/// Finishes the attempt that was begun, and responds to the request with its result.
pub async fn settle(request: &Request, invoice: Stored<Invoice>) -> Result<Response, Error> {
    let mut tx = request.begin();
    let transaction = invoice
        .internal
        .attempt
        .as_ref()
        .map(|attempt| attempt.transaction.clone());
    let (invoice, payment) = charge(&request.app, &mut tx, invoice).await?;
    let response = match payment.outcome {
        PaymentOutcome::Succeeded => request.respond(&invoice.object)?.into(),
        PaymentOutcome::Declined(code) => {
            let transaction = transaction.map(|id| id.to_string()).unwrap_or_default();
            request.error_response(&payments::declined(&code).with("transaction", transaction))
        }
    };
    tx.commit(response).await
}

/// Finishes an attempt that another request started.
pub async fn settle_alone(
    app: &App,
    origin: &Origin,
    invoice: Stored<Invoice>,
) -> Result<Stored<Invoice>, Error> {
    let origin = without_idempotency(origin);
    let mut tx = app.store.begin(&origin);
    let (invoice, _) = charge(app, &mut tx, invoice).await?;
    tx.commit_without_response().await?;
    Ok(invoice)
}

/// Charges the attempt, and adds its result to the changes.
async fn charge(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    mut invoice: Stored<Invoice>,
) -> Result<(Stored<Invoice>, Payment), Error> {
    let attempt = invoice.internal.attempt.clone();
    let attempt = attempt.ok_or_else(|| Error::internal("no attempt to pay was begun"))?;
    let method = Stored::with_internal(attempt.method.clone(), attempt.method_internal.clone());
    let bill = bill(&invoice.object, &attempt);
    let payment = payments::take(app, tx, &method, &bill).await?;
    let succeeded = payment.succeeded();
    let transaction = invoice.end_payment(&attempt, succeeded, tx.origin().now);
    let mut transaction = payments::record(transaction, &payment);
    // It was written once, when the attempt began.
    transaction.version = 1;
    tx.save(&mut invoice)?;
    tx.save(&mut transaction)?;
    Ok((invoice, payment))
}

/// The amount due, as the attempt charges it.
fn bill(invoice: &Invoice, attempt: &Attempt) -> Bill {
    Bill {
        key: attempt.key(&invoice.id),
        amount: Money::new(invoice.amount_due, invoice.currency),
        description: invoice.bill(),
        due_since: attempt.begun,
    }
}

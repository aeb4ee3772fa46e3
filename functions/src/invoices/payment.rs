//! Paying an invoice so that money moves once: the attempt and its pending transaction are written first; then the charge is made under a
//! key that is derived from the invoice and the number of the attempt; then the result is written to both.

use crate::{App, Request};
use kernel::{Error, Id, Money, Origin, Response};
use models::invoice::Attempt;
use models::transaction::TransactionStatus;
use models::{Invoice, PaymentMethod, Stored, Transaction};
use table::UnitOfWork;

use crate::payments::{self, Bill, Progress};

/// Writes the beginning of an attempt. The idempotency record of the request refers to its transaction from here on.
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
    let mut transaction = Stored::new(transaction);
    let mut tx = app.store.begin(origin);
    tx.save(&mut invoice)?;
    tx.create(&mut transaction)?;
    tx.commit_open(&transaction.object.id).await?;
    Ok(invoice)
}

/// Finishes the attempt that was begun, and responds to the request with its result.
pub async fn settle(request: &Request, invoice: Stored<Invoice>) -> Result<Response, Error> {
    let mut tx = request.begin();
    let (invoice, transaction) = charge(&request.app, &mut tx, invoice).await?;
    let response = response(request, &invoice.object, &transaction.object)?;
    tx.commit_settled(&transaction.object.id, response).await
}

/// Responds to the repetition of a request that began this transaction.
///
/// # Errors
/// Those of [`settle`] if the attempt is not finished; `Contended` if it began after the invoice was read.
pub async fn resume(
    request: &Request,
    invoice: Stored<Invoice>,
    transaction: &Id,
) -> Result<Response, Error> {
    let attempt = invoice.internal.attempt.as_ref();
    if attempt.is_some_and(|attempt| attempt.transaction == *transaction) {
        return settle(request, invoice).await;
    }
    let recorded = request.load::<Transaction>(transaction).await?.object;
    if recorded.status == TransactionStatus::Pending {
        return Err(Error::Contended);
    }
    let response = response(request, &invoice.object, &recorded)?;
    let tx = request.begin();
    tx.commit_settled(transaction, response).await
}

/// The response that shows the result of an attempt.
fn response(
    request: &Request,
    invoice: &Invoice,
    transaction: &Transaction,
) -> Result<Response, Error> {
    match &transaction.failed_reason {
        None => request.respond(invoice).map(Response::from),
        Some(code) => {
            let declined = payments::declined(code).with("transaction", transaction.id.as_str());
            Ok(request.error_response(&declined))
        }
    }
}

/// Finishes an attempt that another request started.
pub async fn settle_alone(
    app: &App,
    origin: &Origin,
    invoice: Stored<Invoice>,
) -> Result<Stored<Invoice>, Error> {
    // The record of a request with a key is for the attempt that this request begins.
    let origin = Origin {
        idempotency: None,
        ..origin.clone()
    };
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
) -> Result<(Stored<Invoice>, Stored<Transaction>), Error> {
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
    Ok((invoice, transaction))
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

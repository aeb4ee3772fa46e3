//! `POST /v1/invoices/{id}/pay`: pays an open invoice.

use crate::Request;
use kernel::{Code, Error, Id, Kind, Reply, Response};
use models::api_key::{Resource, Scope};
use models::invoice::PayInvoice;
use models::{Fleet, Invoice, PaymentMethod, Stored};
use table::Recalled;
use table::access::Items;
use web::deployment::Need;
use web::{Body, PathId, Route};

use super::payment;
use crate::payments::{self, Progress};

pub const ROUTE: Route = Route::post("pay-invoice", "/v1/invoices/{id}/pay", Resource::Invoices)
    .charging()
    .refusing(&[
        Code::InvoicePaymentInvalidState,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
        Code::PaymentAuthorizationFailed,
    ])
    .requiring(&[Scope::Write(Resource::PaymentMethods)])
    .timeout(29)
    .writing(&[
        Items::Of(Kind::Transaction),
        Items::Of(Kind::Account),
        Items::Of(Kind::Driver),
        Items::Of(Kind::Fleet),
    ])
    .needing(&[Need::Payments]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<PayInvoice>,
) -> Result<Reply<Invoice>, Error> {
    let progress = Progress::default();
    let run = || pay(&request, &id, &body, &progress);
    payments::within_limit(&request.app, &progress, run)
        .await
        .map(Reply::from)
}

async fn pay(
    request: &Request,
    id: &Id,
    body: &PayInvoice,
    progress: &Progress,
) -> Result<Response, Error> {
    let mut invoice = request.load::<Invoice>(id).await?;
    // Read after the invoice: a response that was stored in between has changed the invoice.
    let origin = &request.origin;
    let recalled = match &origin.idempotency {
        Some(idempotency) => request.store().recall_open(origin, idempotency).await?,
        None => None,
    };
    match recalled {
        Some(Recalled::Response(first)) => return Ok(first),
        Some(Recalled::Open(transaction)) => {
            progress.note(&transaction);
            return payment::resume(request, invoice, &transaction).await;
        }
        None => {}
    }
    let named = match &body.payment_method {
        Some(id) => Some(method(request, &invoice.object, id).await?),
        None => None,
    };
    invoice.object.check_payable()?;
    let method = match named {
        Some(method) => method,
        None => default_method(request, &invoice.object).await?,
    };
    // An interrupted attempt may have charged, so it is finished first.
    if let Some(attempt) = &invoice.internal.attempt {
        progress.note(&attempt.transaction);
        let another = attempt.method.id != method.object.id;
        if !another {
            // A repetition of this request returns the result of the attempt that it has joined.
            request.begin().commit_open(&attempt.transaction).await?;
            return payment::settle(request, invoice).await;
        }
        invoice = match payment::settle_alone(&request.app, &request.origin, invoice).await? {
            paid if paid.object.check_payable().is_err() => {
                return request.respond(&paid.object).map(Response::from);
            }
            unpaid => unpaid,
        };
    }
    let invoice = payment::begin(&request.app, &request.origin, invoice, method, progress).await?;
    payment::settle(request, invoice).await
}

async fn default_method(
    request: &Request,
    invoice: &Invoice,
) -> Result<Stored<PaymentMethod>, Error> {
    let account = request.account().await?;
    let mode = request.tenant().mode;
    let of_account = account.default_payment_method(mode).cloned();
    let default = match (of_account, &invoice.fleet) {
        (None, Some(fleet)) => {
            let fleet = request.find::<Fleet>(fleet).await?;
            fleet.and_then(|fleet| fleet.object.preferences.default_payment_method)
        }
        (of_account, _) => of_account,
    };
    match &default {
        Some(id) => method(request, invoice, id).await,
        None => {
            let message = "is required: neither the account nor the fleet has a preferences.default_payment_method";
            Err(Error::invalid(Kind::PaymentMethod.name(), message)
                .coded(Some(Code::InvoiceValidationError)))
        }
    }
}

async fn method(
    request: &Request,
    invoice: &Invoice,
    id: &Id,
) -> Result<Stored<PaymentMethod>, Error> {
    let method = request.load::<PaymentMethod>(id).await?;
    invoice.check_method(&method.object)?;
    Ok(method)
}

//! `POST /v1/invoices/{id}/pay`: pays an open invoice.

use crate::App;
use axum::extract::State;
use kernel::{Code, Error, Id, Kind};
use kernel::{Reply, Response};
use models::account::Account;
use models::api_key::{Resource, Scope};
use models::fleet::Fleet;
use models::invoice::{Invoice, PayInvoice};
use models::payment_method::PaymentMethod;
use models::stored::Stored;
use table::access::Items;
use web::deployment::Need;
use web::{Body, PathId, RequestContext, Route};

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
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<PayInvoice>,
) -> Result<Reply<Invoice>, Error> {
    let progress = Progress::default();
    let run = || pay(&app, &context, &id, &body, &progress);
    payments::within_limit(&app, &progress, run)
        .await
        .map(Reply::from)
}

async fn pay(
    app: &App,
    context: &RequestContext,
    id: &Id,
    body: &PayInvoice,
    progress: &Progress,
) -> Result<Response, Error> {
    let mut invoice = app.store.load::<Invoice>(context.tenant(), id).await?;
    // Read after the invoice: a response that was stored in between has changed the invoice.
    if let Some(first) = payments::answered(app, &context.origin).await? {
        return Ok(first);
    }
    let named = match &body.payment_method {
        Some(id) => Some(method(app, context, &invoice.object, id).await?),
        None => None,
    };
    invoice.object.check_payable()?;
    let method = match named {
        Some(method) => method,
        None => default_method(app, context, &invoice.object).await?,
    };
    // An interrupted attempt may have charged, so it is finished first.
    if let Some(attempt) = &invoice.internal.attempt {
        progress.note(&attempt.transaction);
        let another = attempt.method.id != method.object.id;
        if !another {
            return payment::settle(app, context, invoice).await;
        }
        invoice = match payment::settle_alone(app, &context.origin, invoice).await? {
            paid if paid.object.check_payable().is_err() => {
                return context.respond(&paid.object).map(Response::from);
            }
            unpaid => unpaid,
        };
    }
    let invoice = payment::begin(app, &context.origin, invoice, method, progress).await?;
    payment::settle(app, context, invoice).await
}

async fn default_method(
    app: &App,
    context: &RequestContext,
    invoice: &Invoice,
) -> Result<Stored<PaymentMethod>, Error> {
    let account = &context.tenant().account;
    let account = app.store.get::<Account>(context.tenant(), account).await?;
    let of_account = account
        .default_payment_method(context.tenant().mode)
        .cloned();
    let default = match (of_account, &invoice.fleet) {
        (None, Some(fleet)) => {
            let fleet = app.store.find::<Fleet>(context.tenant(), fleet).await?;
            fleet.and_then(|fleet| fleet.object.preferences.default_payment_method)
        }
        (of_account, _) => of_account,
    };
    match &default {
        Some(id) => method(app, context, invoice, id).await,
        None => {
            let message = "is required: neither the account nor the fleet has a preferences.default_payment_method";
            Err(Error::invalid(Kind::PaymentMethod.name(), message)
                .coded(Some(Code::InvoiceValidationError)))
        }
    }
}

async fn method(
    app: &App,
    context: &RequestContext,
    invoice: &Invoice,
    id: &Id,
) -> Result<Stored<PaymentMethod>, Error> {
    let method = app
        .store
        .load::<PaymentMethod>(context.tenant(), id)
        .await?;
    invoice.check_method(&method.object)?;
    Ok(method)
}

//! `POST /v1/invoices/{id}/pay`: pays an open invoice.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::account::Account;
use shared::models::api_key::{Resource, Scope};
use shared::models::invoice::{Invoice, Payment};
use shared::models::payment_method::PaymentMethod;
use shared::store::Answer;
use shared::store::access::Rows;
use shared::store::row::Row;
use shared::{App, Code, Error, Id, Kind};

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
        Rows::Of(Kind::Transaction),
        Rows::Of(Kind::Account),
        Rows::Of(Kind::Driver),
        Rows::Of(Kind::Fleet),
    ])
    .needing(&[Need::Payments]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<Payment>,
) -> Result<Answer, Error> {
    let progress = Progress::default();
    let run = || pay(&app, &caller, &id, &body, &progress);
    payments::within_limit(&app, &progress, run).await
}

async fn pay(
    app: &App,
    caller: &Caller,
    id: &Id,
    body: &Payment,
    progress: &Progress,
) -> Result<Answer, Error> {
    let mut row = app.store.load::<Invoice>(caller.tenant(), id).await?;
    // Asked for after the invoice was read: what was answered since then has changed it.
    if let Some(first) = payments::answered(app, &caller.origin).await? {
        return Ok(first);
    }
    let named = match &body.payment_method {
        Some(id) => Some(method(app, caller, &row.object, id).await?),
        None => None,
    };
    row.object.check_payable()?;
    let method = match named {
        Some(method) => method,
        None => default_method(app, caller, &row.object).await?,
    };
    // The money of an attempt that was cut short may have moved: first that one is brought to its end.
    if let Some(attempt) = &row.private.attempt {
        progress.note(&attempt.transaction);
        let another = attempt.method.id != method.object.id;
        if !another {
            return payment::settle(app, caller, row).await;
        }
        row = match payment::settle_alone(app, &caller.origin, row).await? {
            paid if paid.object.check_payable().is_err() => return caller.answer(&paid.object),
            unpaid => unpaid,
        };
    }
    let row = payment::begin(app, &caller.origin, row, method, progress).await?;
    payment::settle(app, caller, row).await
}

async fn default_method(
    app: &App,
    caller: &Caller,
    invoice: &Invoice,
) -> Result<Row<PaymentMethod>, Error> {
    let account = &caller.tenant().account;
    let account = app.store.get::<Account>(caller.tenant(), account).await?;
    match &account.object.preferences.default_payment_method {
        Some(id) => method(app, caller, invoice, id).await,
        None => {
            let message = "is required: the account has no preferences.default_payment_method";
            Err(Error::invalid(Kind::PaymentMethod.name(), message)
                .coded(Some(Code::InvoiceValidationError)))
        }
    }
}

async fn method(
    app: &App,
    caller: &Caller,
    invoice: &Invoice,
    id: &Id,
) -> Result<Row<PaymentMethod>, Error> {
    let method = app.store.load::<PaymentMethod>(caller.tenant(), id).await?;
    invoice.check_method(&method.object)?;
    Ok(method)
}

//! Taking money from a payment method.
//!
//! A card or bank account is charged at its provider by [`pay`], at once and once per key; what the outcome means for our
//! own rows is committed afterwards. When that commit is lost, the repetition charges under the same key, is told the
//! first outcome, and commits that. A wallet is a row of ours: its money moves within the caller's transaction.

use shared::models::payment_method::{Card, PaymentMethod, PaymentMethodType};
use shared::money::Currency;
use shared::origin::{Mode, Origin};
use shared::ports::payments::{Charge, Outcome};
use shared::store::row::Row;
use shared::{App, Code, Error};

/// Charges a card or bank account, once per key.
///
/// `key` says what is paid for, such as the id of a session with the number of the attempt; it is told apart by tenant
/// here.
///
/// # Errors
/// 503: the provider is out of reach, or none is configured for live mode.
pub async fn pay(
    app: &App,
    origin: &Origin,
    method: &Row<PaymentMethod>,
    amount: i64,
    currency: Currency,
    key: &str,
    description: &str,
) -> Result<Outcome, Error> {
    let tenant = &origin.tenant;
    let Some(token) = method.private.token.clone() else {
        return Err(Error::internal("a wallet has no provider to be charged at"));
    };
    let charge = Charge {
        key: Charge::key(tenant, key),
        token,
        amount,
        currency,
        description: description.to_owned(),
    };
    app.payments.of(tenant.mode)?.charge(&charge).await
}

/// The card a new payment method stands for; none for bank accounts and wallets.
///
/// # Errors
/// `payment_method_invalid_input` for a token the provider does not know.
pub async fn card(
    app: &App,
    mode: Mode,
    kind: PaymentMethodType,
    token: Option<&str>,
) -> Result<Option<Card>, Error> {
    let Some(token) = token else {
        return Ok(None);
    };
    let provider = app.payments.of(mode)?;
    if kind != PaymentMethodType::Card {
        return Ok(None);
    }
    let unknown = || {
        Code::PaymentMethodInvalidInput
            .because("the payment provider knows no card by this token")
            .at("token")
    };
    provider.card(token).await?.ok_or_else(unknown).map(Some)
}

/// What makes a request's charge recognisable when the request is repeated: its idempotency key with what was sent under
/// it, else the request itself, which runs again when it loses against a concurrent change.
pub fn key_of(origin: &Origin) -> Result<String, Error> {
    match (&origin.idempotency, &origin.request) {
        (Some(idempotency), _) => Ok(format!("{} {}", idempotency.key, idempotency.fingerprint)),
        (None, Some(request)) => Ok(request.to_string()),
        (None, None) => Err(Error::internal("a charge without a request behind it")),
    }
}

/// The refusal of a payment that was declined.
pub fn declined(code: &str) -> Error {
    Code::PaymentAuthorizationFailed
        .because("The payment was declined.")
        .at("payment_method")
        .with("decline_code", code)
}

//! Taking money from a payment method.
//!
//! A card or bank account is charged at its provider by [`pay`], at once and once per key; what the outcome means for our
//! own rows is committed afterwards. When that commit is lost, the repetition charges under the same key, is told the
//! first outcome, and commits that. A wallet is a row of ours: its money moves within the caller's transaction.
//! [`take`] does either.

use shared::http::Caller;
use shared::models::event::EventType;
use shared::models::payment_method::{Card, Payer, PaymentMethod, PaymentMethodType};
use shared::models::transaction::{
    Movement, TopUp, Transaction, TransactionPrivate, TransactionStatus, TransactionType,
};
use shared::money::Currency;
use shared::origin::{Mode, Origin};
use shared::ports::payments::{Charge, Outcome, Refund};
use shared::store::row::Row;
use shared::store::wallets::{Funds, Wallet};
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Id, Kind};

use crate::references;

/// What is to be paid.
#[derive(Debug, Clone)]
pub struct Bill {
    /// What is paid for: see [`pay`].
    pub key: String,
    /// Minor units of `currency`; of nothing, nothing is taken.
    pub amount: i64,
    pub currency: Currency,
    pub description: String,
}

/// Takes money from any payment method. A card or bank account is charged now. From a wallet the money goes with
/// `changes`, so those have to be committed where this succeeds; they must not write the wallet owner's row otherwise,
/// and a commit that is refused as contended means the wallet has changed: look again.
///
/// # Errors
/// 503: the provider is out of reach, or none is configured for live mode.
pub async fn take(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    method: &Row<PaymentMethod>,
    bill: &Bill,
) -> Result<Outcome, Error> {
    let Bill {
        key,
        amount,
        currency,
        description,
    } = bill;
    if *amount == 0 {
        return Ok(Outcome::Succeeded);
    }
    if method.object.kind != PaymentMethodType::Wallet {
        return pay(app, origin, method, *amount, *currency, key, description).await;
    }
    let wallet = Wallet::of(&method.object, &origin.tenant);
    let declined = |why: &str| Ok(Outcome::Declined(why.to_owned()));
    match app.store.funds(&origin.tenant, wallet).await? {
        None => declined("wallet_closed"),
        Some(funds) if funds.currency != *currency => declined("currency_not_supported"),
        Some(funds) if funds.balance < *amount => declined("insufficient_funds"),
        Some(_) => {
            let price = Funds {
                balance: *amount,
                currency: *currency,
            };
            app.store
                .debit(changes, origin, wallet, price, Error::Contended)?;
            Ok(Outcome::Succeeded)
        }
    }
}

/// Takes money as [`take`] does from a payment method that may be gone by now.
///
/// # Errors
/// Those of [`take`].
pub async fn take_from(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    method: Option<&Id>,
    bill: &Bill,
) -> Result<Outcome, Error> {
    match find_method(app, origin, method).await? {
        Some(method) => take(app, origin, changes, &method, bill).await,
        None => Ok(gone()),
    }
}

/// A payment method that may be gone by now.
///
/// # Errors
/// The table's.
pub async fn find_method(
    app: &App,
    origin: &Origin,
    method: Option<&Id>,
) -> Result<Option<Row<PaymentMethod>>, Error> {
    match method {
        Some(id) => app.store.find::<PaymentMethod>(&origin.tenant, id).await,
        None => Ok(None),
    }
}

/// How a payment ends whose method is gone.
pub fn gone() -> Outcome {
    Outcome::Declined("payment_method_gone".to_owned())
}

/// The row of a charge as it ended, told of as `service.succeeded` or `service.failed`. `key` is that of its [`Bill`].
pub fn record(transaction: Transaction, key: String) -> Row<Transaction> {
    let told = match transaction.status {
        TransactionStatus::Succeeded => EventType::ServiceSucceeded,
        TransactionStatus::Failed | TransactionStatus::Pending => EventType::ServiceFailed,
    };
    Row::with_private(transaction, TransactionPrivate::charged(key)).announcing(told)
}

/// Gives back what a charge took, to where it came from. To a wallet it goes with `changes`, as in [`take`].
///
/// # Errors
/// 503: the provider is out of reach, or none is configured for live mode.
pub async fn give_back(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    method: &Row<PaymentMethod>,
    refund: &Row<Transaction>,
) -> Result<Outcome, Error> {
    let tenant = &origin.tenant;
    let Transaction {
        amount, currency, ..
    } = refund.object;
    let Some(bill) = &refund.private.bill else {
        return Err(Error::internal("a refund of nothing"));
    };
    if method.object.kind != PaymentMethodType::Wallet {
        let refund = Refund {
            key: Charge::key(tenant, refund.object.id.as_str()),
            charge: Charge::key(tenant, bill),
            amount,
            currency,
        };
        return app.payments.of(tenant.mode)?.refund(&refund).await;
    }
    let wallet = Wallet::of(&method.object, tenant);
    match app.store.funds(tenant, wallet).await? {
        Some(funds) if funds.currency == currency => {
            let price = Funds {
                balance: amount,
                currency,
            };
            app.store
                .credit(changes, origin, wallet, price, Error::Contended)?;
            Ok(Outcome::Succeeded)
        }
        Some(_) => Ok(Outcome::Declined("currency_not_supported".to_owned())),
        None => Ok(Outcome::Declined("wallet_closed".to_owned())),
    }
}

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

/// The answer to an earlier request with the same idempotency key. A request that charges asks for it first: other
/// writes find out in their own transaction, but a charge cannot be taken back.
pub async fn answered(app: &App, origin: &Origin) -> Result<Option<Answer>, Error> {
    match &origin.idempotency {
        Some(idempotency) => app.store.recall(origin, idempotency).await,
        None => Ok(None),
    }
}

/// The refusal of a payment that was declined.
pub fn declined(code: &str) -> Error {
    Code::PaymentAuthorizationFailed
        .because("The payment was declined.")
        .at("payment_method")
        .with("decline_code", code)
}

/// How the charge of a top-up ended.
pub enum ToppedUp {
    /// The transaction that tells of it, to be committed with the wallet.
    Paid(Box<Row<Transaction>>),
    /// What the request is answered with, declined and committed, or repeated.
    Answered(Answer),
}

/// Charges a payment method for the wallet of an account, a driver or a fleet.
///
/// # Errors
/// 404 or 400 for a payment method that is not there, not the payer's, or a wallet itself; 503 where the provider is out of
/// reach, or none is configured for live mode.
pub async fn top_up(
    app: &App,
    caller: &Caller,
    body: &TopUp,
    wallet: &Id,
    payer: Payer<'_>,
    currency: Currency,
) -> Result<ToppedUp, Error> {
    let (origin, param) = (&caller.origin, Kind::PaymentMethod.name());
    if let Some(first) = answered(app, origin).await? {
        return Ok(ToppedUp::Answered(first));
    }
    let id = Some(&body.payment_method);
    let method = references::payment_method(app, &origin.tenant, id, payer, param).await?;
    let method = method.ok_or_else(|| Error::not_found(Kind::PaymentMethod))?;
    if method.object.kind == PaymentMethodType::Wallet {
        return Err(Code::PaymentMethodScopeInvalid
            .because("A wallet cannot be topped up from a wallet.")
            .at(param));
    }
    app.payments.of(origin.tenant.mode)?;
    let movement = Movement {
        kind: TransactionType::Charge,
        amount: body.amount.minor_units(),
        currency,
        description: "Wallet top-up".into(),
        payment_method: Some(method.object.id.clone()),
        driver: payer.driver.cloned(),
        fleet: payer.fleet.cloned(),
        vehicle: None,
        charging_session: None,
    };
    let mut row = begin_top_up(app, origin, movement, wallet).await?;
    let outcome = charge_top_up(app, origin, &method, &row.object).await?;
    row.object
        .end(&mut row.private, outcome == Outcome::Succeeded);
    match outcome {
        Outcome::Succeeded => Ok(ToppedUp::Paid(Box::new(row))),
        Outcome::Declined(code) => {
            let answer = caller.refusal(&declined(&code));
            let mut changes = Changes::new();
            write_top_up(app, origin, &mut changes, &row)?;
            let answer = app.store.commit(origin, changes, answer).await?;
            Ok(ToppedUp::Answered(answer))
        }
    }
}

/// The transaction of a top-up that begins. A request with an idempotency key is repeated when it is cut short after the
/// charge. Any other would be forgotten, so its transaction is written down before, and `give-back` brings it to its end.
async fn begin_top_up(
    app: &App,
    origin: &Origin,
    movement: Movement,
    wallet: &Id,
) -> Result<Row<Transaction>, Error> {
    let begun = Transaction::new(movement, TransactionStatus::Pending, origin.now);
    let Some(request) = origin
        .request
        .as_ref()
        .filter(|_| origin.idempotency.is_none())
    else {
        return Ok(Row::new(begun));
    };
    let id = request.as_kind(Kind::Transaction);
    // The request runs again when it loses against a concurrent change.
    match app.store.find::<Transaction>(&origin.tenant, &id).await? {
        None => {}
        Some(row) if row.object.status == TransactionStatus::Pending => return Ok(row),
        Some(_) => return Err(Error::Contended),
    }
    let private = TransactionPrivate::topping_up(wallet.clone(), origin.now);
    let mut row = Row::with_private(Transaction { id, ..begun }, private);
    let mut changes = Changes::new();
    app.store.create(&mut changes, origin, &row)?;
    app.store.commit_later(origin, changes).await?;
    row.version += 1;
    Ok(row)
}

/// Charges a top-up, once however often it is repeated: under the request's idempotency key, else its transaction's id.
///
/// # Errors
/// 503: the provider is out of reach, or none is configured for live mode.
pub async fn charge_top_up(
    app: &App,
    origin: &Origin,
    method: &Row<PaymentMethod>,
    transaction: &Transaction,
) -> Result<Outcome, Error> {
    let key = match &origin.idempotency {
        Some(idempotency) => format!("idempotency key {}", idempotency.key),
        None => transaction.id.to_string(),
    };
    let Transaction {
        amount,
        currency,
        description,
        ..
    } = transaction;
    pay(app, origin, method, *amount, *currency, &key, description).await
}

/// Adds the transaction of a top-up as it ended to the changes.
///
/// # Errors
/// The row cannot be written as an item.
pub fn write_top_up(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    row: &Row<Transaction>,
) -> Result<(), Error> {
    match row.version {
        0 => app.store.create(changes, origin, row),
        _ => app.store.replace(changes, origin, row),
    }
}

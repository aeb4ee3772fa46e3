//! Top-ups of the wallets of accounts, drivers and fleets: a payment method is charged, and the wallet is credited.
//!
//! [`handle`] is behind the three routes. [`finish`] finishes a top-up without its request. Both run [`settle`], which can be
//! run at any stage, by several at once and any number of times: the provider's answer is the same for all of them, and one of
//! them commits.

use shared::http::Caller;
use shared::models::payment_method::{Payer, PaymentMethodType};
use shared::models::transaction::{
    Movement, RefundReason, TopUp, TopUpStage, TopUpState, Transaction, TransactionPrivate,
    TransactionStatus, TransactionType,
};
use shared::origin::Origin;
use shared::ports::payments::{Charge, ChargeResult, Outcome, Refund};
use shared::store::row::Row;
use shared::store::wallets::{Wallet, WalletOwner};
use shared::store::{Answer, Changes, Recalled};
use shared::{App, Code, Error, Kind};

use super::{Progress, declined, key_expired, within_limit};
use crate::references;

/// Charges a payment method and credits the wallet. Answers with the owner of the wallet.
///
/// # Errors
/// The 404 of the owner; `payment_method_not_found`; `payment_method_scope_invalid` for a method of another owner or a wallet;
/// `PaymentInterrupted`.
pub async fn handle(
    app: &App,
    caller: &Caller,
    wallet: Wallet<'_>,
    body: &TopUp,
) -> Result<Answer, Error> {
    let progress = Progress::default();
    within_limit(app, &progress, || run(app, caller, wallet, body, &progress)).await
}

async fn run(
    app: &App,
    caller: &Caller,
    wallet: Wallet<'_>,
    body: &TopUp,
    progress: &Progress,
) -> Result<Answer, Error> {
    let origin = &caller.origin;
    let begun = match &origin.idempotency {
        Some(idempotency) => match app.store.recall_open(origin, idempotency).await? {
            Some(Recalled::Answer(first)) => return Ok(first),
            Some(Recalled::Open(id)) => Some(id),
            None => None,
        },
        // The request itself is run again when it loses against a concurrent change.
        None => progress.transaction(),
    };
    let row = match begun {
        Some(id) => {
            progress.note(&id);
            app.store.find::<Transaction>(&origin.tenant, &id).await?
        }
        None => None,
    };
    let row = match row {
        Some(row) => row,
        None => begin(app, caller, wallet, body, progress).await?,
    };
    settle(app, origin, Some(caller), row).await
}

/// Checks the request, and writes the pending transaction.
async fn begin(
    app: &App,
    caller: &Caller,
    wallet: Wallet<'_>,
    body: &TopUp,
    progress: &Progress,
) -> Result<Row<Transaction>, Error> {
    let (origin, param) = (&caller.origin, Kind::PaymentMethod.name());
    let tenant = &origin.tenant;
    let owner = match wallet {
        Wallet::Account(id) => WalletOwner::Account(Box::new(app.store.account(tenant, id).await?)),
        Wallet::Driver(_) | Wallet::Fleet(_) => {
            let owner = app.store.wallet_owner(tenant, wallet).await?;
            owner.ok_or_else(|| Error::not_found(kind(wallet)))?
        }
    };
    let payer = match wallet {
        Wallet::Account(_) => Payer::account(),
        Wallet::Driver(id) => Payer::driver(id),
        Wallet::Fleet(id) => Payer::fleet(id),
    };
    let id = Some(&body.payment_method);
    let method = references::payment_method(app, tenant, id, payer, param).await?;
    let method = method.ok_or_else(|| Error::not_found(Kind::PaymentMethod))?;
    let token = match (method.object.kind, method.private.token) {
        (PaymentMethodType::Wallet, _) | (_, None) => {
            return Err(Code::PaymentMethodScopeInvalid
                .because("A wallet cannot be topped up from a wallet.")
                .at(param));
        }
        (_, Some(token)) => token,
    };
    app.payments.of(tenant.mode)?;
    let movement = Movement {
        kind: TransactionType::Charge,
        amount: body.amount.minor_units(),
        currency: owner.currency(),
        description: "Wallet top-up".into(),
        payment_method: Some(method.object.id),
        driver: payer.driver.cloned(),
        fleet: payer.fleet.cloned(),
        vehicle: None,
        charging_session: None,
    };
    let mut transaction = Transaction::new(movement, TransactionStatus::Pending, origin.now);
    if let Some(request) = &origin.request {
        transaction.id = request.as_kind(Kind::Transaction);
    }
    let wallet = wallet.owner().clone();
    let private =
        TransactionPrivate::topping_up(wallet, token, method.private.customer, origin.now);
    let mut row = Row::with_private(transaction, private);
    let mut changes = Changes::new();
    app.store.create(&mut changes, origin, &row)?;
    progress.note(&row.object.id);
    let committed = app.store.commit_begun(origin, changes, &row.object.id);
    committed.await?;
    row.version += 1;
    Ok(row)
}

/// Finishes a top-up whose request did not, once its time is over.
///
/// # Errors
/// `Unavailable` if the provider gives no clear answer or DynamoDB cannot be reached; `Contended` if somebody else finished it.
pub async fn finish(app: &App, origin: &Origin, row: Row<Transaction>) -> Result<(), Error> {
    match row.private.due {
        Some(due) if due <= origin.now => settle(app, origin, None, row).await.map(drop),
        _ => Ok(()),
    }
}

/// Finishes a top-up from whatever stage it has reached, and makes the response if a caller waits for one.
async fn settle(
    app: &App,
    origin: &Origin,
    caller: Option<&Caller>,
    row: Row<Transaction>,
) -> Result<Answer, Error> {
    let Some(top_up) = row.private.top_up.clone() else {
        return Err(Error::internal("a transaction that is no top-up"));
    };
    let wallet = Wallet::owned_by(&top_up.wallet)
        .ok_or_else(|| Error::internal("a wallet that nobody can own"))?;
    let ending = Ending {
        app,
        origin,
        caller,
        wallet,
    };
    match &top_up.stage {
        TopUpStage::Charging => {
            let charged = charge(app, origin, &top_up, &row.object).await?;
            ending.charged(row, charged).await
        }
        TopUpStage::Refunding { .. } => ending.refund(row).await,
        TopUpStage::Credited | TopUpStage::Declined { .. } | TopUpStage::Refunded { .. } => {
            let id = &row.object.id;
            let answer = ending.answer(&row).await?;
            let unchanged = Changes::new();
            app.store
                .commit_settled(origin, unchanged, id, answer)
                .await
        }
    }
}

async fn charge(
    app: &App,
    origin: &Origin,
    top_up: &TopUpState,
    transaction: &Transaction,
) -> Result<ChargeResult, Error> {
    let tenant = &origin.tenant;
    let charge = Charge {
        key: Charge::key(tenant, transaction.id.as_str()),
        token: top_up.token.clone(),
        customer: top_up.customer.clone(),
        amount: transaction.amount,
        currency: transaction.currency,
        description: transaction.description.clone(),
        key_expired: key_expired(transaction.created, origin),
    };
    app.payments.of(tenant.mode)?.charge(&charge).await
}

/// What the ends of a top-up need.
struct Ending<'a> {
    app: &'a App,
    origin: &'a Origin,
    caller: Option<&'a Caller>,
    wallet: Wallet<'a>,
}

impl Ending<'_> {
    async fn charged(
        &self,
        mut row: Row<Transaction>,
        charged: ChargeResult,
    ) -> Result<Answer, Error> {
        let Origin { tenant, now, .. } = self.origin;
        if let Outcome::Declined(code) = charged.outcome {
            row.object.end_declined(&mut row.private, code);
            return self.commit(row, Changes::new()).await;
        }
        // Read only now: charging takes long, and the owner may have changed meanwhile.
        let owner = self.app.store.wallet_owner(tenant, self.wallet).await?;
        let reason = match owner {
            Some(mut owner) if owner.currency() == row.object.currency => {
                owner.credit(tenant.mode, row.object.amount, *now);
                row.object.end_credited(&mut row.private);
                let answer = self.show(&owner)?;
                let mut changes = Changes::new();
                let store = &self.app.store;
                store.replace_wallet_owner(&mut changes, self.origin, &owner)?;
                store.replace(&mut changes, self.origin, &row)?;
                let id = &row.object.id;
                let committed = store.commit_settled(self.origin, changes, id, answer);
                return committed.await;
            }
            Some(_) => RefundReason::CurrencyChanged,
            None => RefundReason::OwnerDeleted,
        };
        row.private.begin_refund(reason, charged.reference, *now);
        self.write(&mut row).await?;
        self.refund(row).await
    }

    /// Refunds the charge of a top-up that the wallet cannot take.
    async fn refund(&self, mut row: Row<Transaction>) -> Result<Answer, Error> {
        let Some(TopUpState {
            stage:
                TopUpStage::Refunding {
                    reason,
                    reference,
                    attempts,
                },
            ..
        }) = row.private.top_up.clone()
        else {
            return Err(Error::internal("a top-up that is not to be refunded"));
        };
        let (tenant, id) = (&self.origin.tenant, &row.object.id);
        let refund = Refund {
            key: Charge::key(tenant, &format!("{id} refund {attempts}")),
            charge: Charge::key(tenant, id.as_str()),
            reference,
            amount: row.object.amount,
            currency: row.object.currency,
        };
        match self.app.payments.of(tenant.mode)?.refund(&refund).await? {
            Outcome::Succeeded => {
                row.object.end_refunded(&mut row.private, reason);
                self.commit(row, Changes::new()).await
            }
            Outcome::Declined(code) => {
                row.private.delay_refund(self.origin.now);
                self.write(&mut row).await?;
                let why = format!("the refund of {} was declined: {code}", row.object.id);
                Err(Error::unavailable(why))
            }
        }
    }

    /// Writes a stage that is not the last.
    async fn write(&self, row: &mut Row<Transaction>) -> Result<(), Error> {
        let origin = Origin {
            idempotency: None,
            ..self.origin.clone()
        };
        let mut changes = Changes::new();
        self.app.store.replace(&mut changes, &origin, row)?;
        self.app.store.commit_later(&origin, changes).await?;
        row.version += 1;
        Ok(())
    }

    /// Writes the last stage with the answer.
    async fn commit(&self, row: Row<Transaction>, mut changes: Changes) -> Result<Answer, Error> {
        let answer = self.answer(&row).await?;
        let (store, id) = (&self.app.store, &row.object.id);
        store.replace(&mut changes, self.origin, &row)?;
        store.commit_settled(self.origin, changes, id, answer).await
    }

    /// The answer to a top-up that has ended.
    async fn answer(&self, row: &Row<Transaction>) -> Result<Answer, Error> {
        let Some(caller) = self.caller else {
            return Ok(Answer::ok(Vec::new()));
        };
        let stage = row.private.top_up.as_ref().map(|top_up| &top_up.stage);
        let kind = kind(self.wallet);
        let name = kind.name();
        let gone = |message: String| match kind.not_found() {
            Some(code) => code.because(message).at(name),
            None => Error::not_found(kind),
        };
        let refusal = match stage {
            Some(TopUpStage::Declined { code }) => declined(code),
            Some(TopUpStage::Refunded {
                reason: RefundReason::OwnerDeleted,
            }) => gone(format!(
                "The {name} was deleted while its wallet was being topped up. The charge was refunded."
            )),
            Some(TopUpStage::Refunded {
                reason: RefundReason::CurrencyChanged,
            }) => Error::conflict(
                "The currency of the wallet changed while it was being topped up. The charge was refunded.",
                Some(name),
            ),
            _ => {
                let tenant = &self.origin.tenant;
                match self.app.store.wallet_owner(tenant, self.wallet).await? {
                    Some(owner) => return self.show(&owner),
                    None => gone(format!(
                        "The wallet was topped up. Since then the {name} was deleted."
                    )),
                }
            }
        };
        let refusal = refusal.with("transaction", row.object.id.as_str());
        Ok(caller.refusal(&refusal))
    }

    /// The answer that shows the owner of the wallet.
    fn show(&self, owner: &WalletOwner) -> Result<Answer, Error> {
        let Some(caller) = self.caller else {
            return Ok(Answer::ok(Vec::new()));
        };
        match owner {
            WalletOwner::Account(row) => caller.answer(&row.seen_in(self.origin.tenant.mode)),
            WalletOwner::Driver(row) => caller.answer(&row.object),
            WalletOwner::Fleet(row) => caller.answer(&row.object),
        }
    }
}

/// The kind of a wallet's owner.
fn kind(wallet: Wallet<'_>) -> Kind {
    match wallet {
        Wallet::Account(_) => Kind::Account,
        Wallet::Driver(_) => Kind::Driver,
        Wallet::Fleet(_) => Kind::Fleet,
    }
}

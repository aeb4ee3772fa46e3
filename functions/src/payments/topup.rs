//! Top-ups of the wallets of accounts, drivers and fleets: a payment method is charged, and the wallet is credited.
//!
//! [`handle`] serves the three routes. [`finish`] finishes a top-up without its request. Both run `settle`, which can be run at any stage,
//! concurrently and any number of times: the provider's response is the same for all runs, and one of them commits.

use kernel::{Code, Error, Kind, Origin, Reply, Response};
use models::api_key::{Resource, Scope};
use models::parts::Parts;
use models::payment_method::{Payer, PaymentMethodType};
use models::ports::payments::{Charge, ChargeResult, Refund};
use models::stored::Object;
use models::transaction::{
    Movement, PaymentOutcome, RefundReason, TopUp, TopUpStage, TopUpState, TransactionInternal,
    TransactionStatus, TransactionType,
};
use models::{Action, Stored, Transaction};
use table::Recalled;
use table::access::Items;
use table::wallets::{Wallet, WalletOwner};
use web::deployment::Need;
use web::{Body, PathId, RequestContext, Route};

use super::{Progress, declined, key_expired, wallet_of, within_limit};
use crate::{App, Request, references};

/// A route that tops up a wallet.
pub const fn route(name: &'static str, path: &'static str, resource: Resource) -> Route {
    Route::post(name, path, resource)
        .charging()
        .refusing(&[
            Code::PaymentAuthorizationFailed,
            Code::PaymentMethodNotFound,
            Code::PaymentMethodScopeInvalid,
        ])
        .requiring(&[Scope::Write(Resource::PaymentMethods)])
        .timeout(29)
        .writing(&[Items::Of(Kind::Transaction)])
        .needing(&[Need::Payments])
}

/// Charges a payment method and credits the wallet. Responds with the owner of the wallet.
///
/// # Errors
/// The 404 of the owner; 400 for an amount that cannot be charged in the currency of the wallet; `payment_method_not_found`;
/// `payment_method_scope_invalid` for a method of another owner or a wallet; `PaymentInterrupted`.
pub async fn handle<T: Object>(
    request: Request,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Reply<T>, Error> {
    let wallet = match T::KIND {
        Kind::Account => Wallet::Account(&id),
        Kind::Driver => Wallet::Driver(&id),
        _ => Wallet::Fleet(&id),
    };
    let progress = Progress::default();
    let run = || run(&request, wallet, &body, &progress);
    let topped_up = within_limit(&request.app, &progress, run).await;
    topped_up.map(Reply::from)
}

async fn run(
    request: &Request,
    wallet: Wallet<'_>,
    body: &TopUp,
    progress: &Progress,
) -> Result<Response, Error> {
    let origin = &request.origin;
    let begun = match &origin.idempotency {
        Some(idempotency) => match request.store().recall_open(origin, idempotency).await? {
            Some(Recalled::Response(first)) => return Ok(first),
            Some(Recalled::Open(id)) => Some(id),
            None => None,
        },
        // The request itself is run again after a conflict with a concurrent change.
        None => progress.transaction(),
    };
    let transaction = match begun {
        Some(id) => {
            progress.note(&id);
            request.find::<Transaction>(&id).await?
        }
        None => None,
    };
    let transaction = match transaction {
        Some(transaction) => transaction,
        None => begin(request, wallet, body, progress).await?,
    };
    settle(&request.app, origin, Some(request), transaction).await
}

/// The owner of a wallet. A parent may top up the wallet of a child that is active.
async fn owner(request: &Request, wallet: Wallet<'_>) -> Result<WalletOwner, Error> {
    let Wallet::Account(id) = wallet else {
        let (store, tenant) = (request.store(), request.tenant());
        let owner = store.wallet_owner(tenant, wallet).await?;
        return owner.ok_or_else(|| Error::not_found(kind(wallet)));
    };
    let account = references::active_account(request, id).await?;
    Ok(WalletOwner::Account(Box::new(account)))
}

/// Checks the request, and writes the pending transaction.
async fn begin(
    request: &Request,
    wallet: Wallet<'_>,
    body: &TopUp,
    progress: &Progress,
) -> Result<Stored<Transaction>, Error> {
    let (origin, param) = (&request.origin, Kind::PaymentMethod.name());
    let tenant = &origin.tenant;
    let owner = owner(request, wallet).await?;
    let payer = match wallet {
        Wallet::Account(_) => Payer::account(),
        Wallet::Driver(id) => Payer::driver(id),
        Wallet::Fleet(id) => Payer::fleet(id),
    };
    let id = Some(&body.payment_method);
    let method = references::payment_method(&request.app, tenant, id, payer, param).await?;
    let method = method.ok_or_else(|| Error::not_found(Kind::PaymentMethod))?;
    let token = match (method.object.kind, method.internal.token) {
        (PaymentMethodType::Wallet, _) | (_, None) => {
            return Err(Code::PaymentMethodScopeInvalid
                .because("A wallet cannot be topped up from a wallet.")
                .at(param));
        }
        (_, Some(token)) => token,
    };
    request.app.payments.of(tenant.mode)?;
    let movement = Movement {
        kind: TransactionType::Charge,
        amount: body.amount.in_currency(owner.currency())?,
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
        // Lists are narrowed by ids.
        transaction.created = transaction.id.time(Kind::Transaction).unwrap_or(origin.now);
    }
    let wallet = wallet.owner().clone();
    let internal =
        TransactionInternal::topping_up(wallet, token, method.internal.customer, origin.now);
    let mut stored = Stored::with_internal(transaction, internal);
    let mut tx = request.begin();
    tx.create(&mut stored)?;
    progress.note(&stored.object.id);
    let committed = tx.commit_open(&stored.object.id);
    committed.await?;
    Ok(stored)
}

/// Finishes a top-up that its request did not finish, once its time is over.
///
/// # Errors
/// `Unavailable` if the provider's response is not clear or DynamoDB cannot be reached; `Contended` if another instance finished it.
pub async fn finish(
    app: &App,
    origin: &Origin,
    transaction: Stored<Transaction>,
) -> Result<(), Error> {
    if transaction.is_due(Action::SettleTransaction, origin.now) {
        settle(app, origin, None, transaction).await?;
    }
    Ok(())
}

/// Finishes a top-up from whatever stage it has reached, and returns the response for a waiting caller.
async fn settle(
    app: &App,
    origin: &Origin,
    context: Option<&RequestContext>,
    transaction: Stored<Transaction>,
) -> Result<Response, Error> {
    let Some(top_up) = transaction.internal.top_up.clone() else {
        return Err(Error::internal("a transaction that is no top-up"));
    };
    let wallet = wallet_of(&top_up.wallet)?;
    let ending = Ending {
        app,
        origin,
        context,
        wallet,
    };
    match &top_up.stage {
        TopUpStage::Charging => {
            let charged = charge(app, origin, &top_up, &transaction.object).await?;
            ending.charged(transaction, charged).await
        }
        TopUpStage::Refunding { .. } => ending.refund(transaction).await,
        TopUpStage::Credited | TopUpStage::Declined { .. } | TopUpStage::Refunded { .. } => {
            let id = &transaction.object.id;
            let response = ending.answer(&transaction).await?;
            app.store.begin(origin).commit_settled(id, response).await
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
        amount: transaction.money(),
        description: transaction.description.clone(),
        key_expired: key_expired(transaction.created, origin),
    };
    app.payments.of(tenant.mode)?.charge(&charge).await
}

/// The context in which a top-up ends.
struct Ending<'a> {
    app: &'a App,
    origin: &'a Origin,
    context: Option<&'a RequestContext>,
    wallet: Wallet<'a>,
}

impl Ending<'_> {
    async fn charged(
        &self,
        mut transaction: Stored<Transaction>,
        charged: ChargeResult,
    ) -> Result<Response, Error> {
        let Origin { tenant, now, .. } = self.origin;
        if let PaymentOutcome::Declined(code) = charged.outcome {
            transaction.end_declined(code);
            return self.commit(transaction).await;
        }
        // Read only now, because charging takes long, and the owner may have changed in the meantime.
        let owner = self.app.store.wallet_owner(tenant, self.wallet).await?;
        let reason = match owner {
            Some(mut owner) if owner.currency() == transaction.object.currency => {
                owner.credit(tenant.mode, transaction.object.amount, *now);
                transaction.end_credited(charged.reference);
                let response = self.show(&owner)?;
                let mut tx = self.app.store.begin(self.origin);
                tx.save_wallet_owner(&mut owner)?;
                tx.save(&mut transaction)?;
                let id = &transaction.object.id;
                let committed = tx.commit_settled(id, response);
                return committed.await;
            }
            Some(_) => RefundReason::CurrencyChanged,
            None => RefundReason::OwnerDeleted,
        };
        transaction
            .internal
            .begin_refund(reason, charged.reference, *now);
        self.write(&mut transaction).await?;
        self.refund(transaction).await
    }

    /// Refunds the charge of a top-up that cannot be credited to the wallet.
    async fn refund(&self, mut transaction: Stored<Transaction>) -> Result<Response, Error> {
        let Some(TopUpState {
            stage:
                TopUpStage::Refunding {
                    reason,
                    reference,
                    attempts,
                },
            ..
        }) = transaction.internal.top_up.clone()
        else {
            return Err(Error::internal("a top-up that is not to be refunded"));
        };
        let (tenant, id) = (&self.origin.tenant, &transaction.object.id);
        let refund = Refund {
            key: Charge::key(tenant, &format!("{id} refund {attempts}")),
            charge: Charge::key(tenant, id.as_str()),
            reference,
            amount: transaction.object.money(),
            is_partial: false,
            parts: Parts::of(transaction.object.amount),
            is_last: true,
            key_expired: false,
        };
        match self.app.payments.of(tenant.mode)?.refund(&refund).await? {
            PaymentOutcome::Succeeded => {
                transaction.end_refunded(reason);
                self.commit(transaction).await
            }
            PaymentOutcome::Declined(code) => {
                transaction.internal.delay_refund(self.origin.now);
                self.write(&mut transaction).await?;
                let why = format!(
                    "the refund of {} was declined: {code}",
                    transaction.object.id
                );
                Err(Error::unavailable(why))
            }
        }
    }

    /// Writes a stage that is not the last.
    async fn write(&self, transaction: &mut Stored<Transaction>) -> Result<(), Error> {
        let origin = Origin {
            idempotency: None,
            ..self.origin.clone()
        };
        self.app.store.save(&origin, transaction).await
    }

    /// Writes the last stage with the response.
    async fn commit(&self, mut transaction: Stored<Transaction>) -> Result<Response, Error> {
        let response = self.answer(&transaction).await?;
        let mut tx = self.app.store.begin(self.origin);
        tx.save(&mut transaction)?;
        tx.commit_settled(&transaction.object.id, response).await
    }

    /// The response to a top-up that has ended.
    async fn answer(&self, transaction: &Stored<Transaction>) -> Result<Response, Error> {
        let Some(context) = self.context else {
            return Ok(Response::ok(Vec::new()));
        };
        let stage = transaction
            .internal
            .top_up
            .as_ref()
            .map(|top_up| &top_up.stage);
        let kind = kind(self.wallet);
        let name = kind.name();
        let gone = |message: String| match Code::not_found(kind) {
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
        let refusal = refusal.with("transaction", transaction.object.id.as_str());
        Ok(context.error_response(&refusal))
    }

    /// The response that shows the owner of the wallet.
    fn show(&self, owner: &WalletOwner) -> Result<Response, Error> {
        let Some(context) = self.context else {
            return Ok(Response::ok(Vec::new()));
        };
        match owner {
            WalletOwner::Account(account) => context
                .respond(&account.seen_in(self.origin.tenant.mode))
                .map(Response::from),
            WalletOwner::Driver(driver) => context.respond(&driver.object).map(Response::from),
            WalletOwner::Fleet(fleet) => context.respond(&fleet.object).map(Response::from),
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

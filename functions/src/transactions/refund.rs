//! `POST /v1/transactions/{id}/refund`: refunds a charge, or a part of it, to the source of its money or to a wallet. The refund is a
//! separate transaction, pending until the money has moved. A refund that failed can be requested again. The invoice, session or fee that
//! the charge paid stays paid. A refund of a top-up takes its amount out of the wallet at once, so it is at most what the wallet contains;
//! a refund that fails returns it. The same holds for a refund to a wallet, which can be refunded to the card or bank account that paid.

use kernel::{Error, Id, Kind, Reply, Resource};
use models::transaction::{NewRefund, RefundDestination};
use models::{Stored, Transaction};
use table::access::Items;
use table::wallets::Wallet;
use web::{Body, PathId, Route};

use crate::{Request, payments};

pub const ROUTE: Route = Route::post(
    "refund-transaction",
    "/v1/transactions/{id}/refund",
    Resource::Transactions,
)
.allowing_dry_run()
.writing(&[
    Items::Of(Kind::Account),
    Items::Of(Kind::Driver),
    Items::Of(Kind::Fleet),
]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(new): Body<NewRefund>,
) -> Result<Reply<Transaction>, Error> {
    let mut transaction = request.load::<Transaction>(&id).await?;
    if let Some(charge) = transaction.brought_to_wallet() {
        let charge = request.load::<Transaction>(charge).await?;
        transaction.become_top_up(&charge);
    }
    transaction.refundable()?;
    let mut tx = request.begin();
    let mut refund = match (&transaction.internal.top_up, new.destination) {
        (Some(top_up), _) => {
            let wallet = top_up.wallet.clone();
            payments::refund_top_up(&request.app, &mut tx, &mut transaction, &wallet, new).await?
        }
        (None, Some(RefundDestination::Wallet)) => {
            let wallet = wallet(&request, &transaction).await?;
            transaction.refund(new, Some(wallet), request.now())?
        }
        (None, _) => transaction.refund(new, None, request.now())?,
    };
    let response = request.respond(&refund.object)?;
    tx.save(&mut transaction)?;
    tx.create(&mut refund)?;
    tx.commit(response).await
}

/// The owner of the wallet that receives the money of a charge: the owner of the payment method that was charged, or else the fleet or the
/// account.
///
/// # Errors
/// 409 if none of these wallets is in the currency of the charge; `Unavailable` if DynamoDB cannot be reached.
async fn wallet(request: &Request, charge: &Stored<Transaction>) -> Result<Id, Error> {
    let (app, tenant, charge) = (&request.app, request.tenant(), &charge.object);
    let method = match &charge.payment_method {
        Some(id) => app.store.payment_method_or_deleted(tenant, id).await?,
        None => None,
    };
    let owner = method
        .as_ref()
        .map(|method| Wallet::of(&method.object, tenant));
    let (currency, fleet) = (charge.currency, charge.fleet.as_ref());
    let wallet = payments::wallet_in(app, tenant, currency, owner, fleet).await?;
    let wallet = wallet.ok_or_else(|| payments::no_wallet(currency))?;
    Ok(wallet.owner().clone())
}

//! `give-back`, of a top-up that was cut short: charges what was to be charged, under the same key, and adds it to the
//! wallet.

use shared::models::transaction::Transaction;
use shared::origin::Origin;
use shared::ports::payments::Outcome;
use shared::store::Changes;
use shared::store::row::Row;
use shared::store::wallets::{Funds, Wallet};
use shared::{App, Error};

use crate::payments;

pub async fn handle(app: &App, origin: &Origin, mut row: Row<Transaction>) -> Result<(), Error> {
    let cut_short = row.private.due.is_some_and(|due| due <= origin.now);
    let owner = row.private.wallet.clone().filter(|_| cut_short);
    let Some(wallet) = owner.as_ref().and_then(Wallet::owned_by) else {
        return Ok(());
    };
    let method = row.object.payment_method.as_ref();
    let outcome = match payments::find_method(app, origin, method).await? {
        Some(method) => payments::charge_top_up(app, origin, &method, &row.object).await?,
        None => payments::gone(),
    };
    let mut changes = Changes::new();
    let succeeded = outcome == Outcome::Succeeded;
    if succeeded {
        let funds = Funds {
            balance: row.object.amount,
            currency: row.object.currency,
        };
        app.store
            .credit(&mut changes, origin, wallet, funds, Error::Contended)?;
    }
    row.object.end(&mut row.private, succeeded);
    app.store.replace(&mut changes, origin, &row)?;
    app.store.commit_later(origin, changes).await
}

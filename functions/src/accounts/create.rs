//! `POST /v1/accounts`: creates a child of the caller's account. Accounts nest at most five deep, and an account has at most
//! 1,000 accounts below it, unless the deployment sets another number.

use axum::extract::State;
use shared::http::{Body, Caller, Route, version};
use shared::models::account::{Account, AccountPrivate, MAX_DEPTH, NewAccount};
use shared::models::api_key::Resource;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

pub const ROUTE: Route = Route::post("create-account", "/v1/accounts", Resource::Accounts)
    .refusing(&[Code::PaymentMethodNotFound, Code::PaymentMethodScopeInvalid]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewAccount>,
) -> Result<Answer, Error> {
    let preferences = new.preferences.as_ref();
    if preferences.is_some_and(|preferences| preferences.payment_method().is_some()) {
        // It would have to be one of the new account's own.
        return Err(Error::not_found(Kind::PaymentMethod).at("preferences.default_payment_method"));
    }
    if caller.lineage.len() >= MAX_DEPTH {
        let message =
            format!("Accounts nest at most {MAX_DEPTH} deep; this one has no room below it.");
        return Err(Error::conflict(message, None));
    }
    let account = Account::new(new, caller.now())?;
    let answer = caller.answer(&account)?;
    let private = AccountPrivate {
        parent: Some(caller.tenant().account.clone()),
        version: Some(version::CURRENT.to_owned()),
        ..AccountPrivate::default()
    };
    let mut changes = Changes::new();
    app.store.create(
        &mut changes,
        &caller.origin,
        &Row::with_private(account, private),
    )?;
    let above: Vec<_> = caller
        .lineage
        .iter()
        .map(|tenant| tenant.account.clone())
        .collect();
    let most = app.settings.quotas.children;
    app.store.count_child(&mut changes, &above, most)?;
    app.store.commit(&caller.origin, changes, answer).await
}

//! `POST /v1/accounts`: creates a child of the caller's account. Accounts nest at most five deep, and an account has at most
//! 1,000 accounts below it, unless the deployment sets another number.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource, version};
use models::account::{AccountInternal, MAX_DEPTH, NewAccount};
use models::{Account, Stored};
use web::{Body, Route};

pub const ROUTE: Route = Route::post("create-account", "/v1/accounts", Resource::Accounts)
    .refusing(&[Code::PaymentMethodNotFound, Code::PaymentMethodScopeInvalid]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewAccount>,
) -> Result<Reply<Account>, Error> {
    let preferences = new.preferences.as_ref();
    let method = preferences.and_then(|preferences| preferences.default_payment_method.value());
    if method.is_some() {
        // A default payment method has to belong to the new account itself.
        return Err(Error::not_found(Kind::PaymentMethod).at("preferences.default_payment_method"));
    }
    let account = Account::new(new, request.now())?;
    if request.lineage.len() >= MAX_DEPTH {
        let message =
            format!("Accounts nest at most {MAX_DEPTH} deep; this one has no room below it.");
        return Err(Error::conflict(message, None));
    }
    let response = request.respond(&account)?;
    let internal = AccountInternal {
        parent: Some(request.tenant().account.clone()),
        version: Some(version::CURRENT.to_owned()),
        ..AccountInternal::default()
    };
    let mut tx = request.begin();
    tx.create(&mut Stored::with_internal(account, internal))?;
    let above: Vec<_> = request
        .lineage
        .iter()
        .map(|tenant| tenant.account.clone())
        .collect();
    let most = request.app.settings.quotas.children;
    tx.count_child(&above, most);
    tx.commit(response).await
}

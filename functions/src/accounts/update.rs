//! `POST /v1/accounts/{id}`: updates the caller's account or one of its children.

use kernel::fields::patch::Change;
use kernel::{Code, Error, Reply, Resource, Tenant};
use models::Account;
use models::account::AccountChange;
use models::payment_method::Payer;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post("update-account", "/v1/accounts/{id}", Resource::Accounts)
    .refusing(&[Code::PaymentMethodNotFound, Code::PaymentMethodScopeInvalid])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<AccountChange>,
) -> Result<Reply<Account>, Error> {
    let mut account = references::active_account(&request, &id).await?;
    let before = account.clone();
    let tenant = Tenant::new(id, request.tenant().mode);
    if let Change::Set(preferences) = &change.preferences {
        references::default_payment_method(
            &request,
            &tenant,
            &preferences.default_payment_method,
            account.default_payment_method(tenant.mode),
            Payer::account(),
        )
        .await?;
    }
    account.update(change, tenant.mode, request.now())?;
    let response = request
        .respond(&account.seen_in(tenant.mode))?
        .at_version(account.version + u64::from(account != before));
    let mut tx = request.begin();
    tx.save_update(&before, &mut account)?;
    tx.commit(response).await
}

//! `POST /v1/accounts/{id}`: updates the caller's account or one of its children.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::account::AccountChange;
use shared::models::api_key::Resource;
use shared::models::patch::Change;
use shared::models::payment_method::Payer;
use shared::origin::Tenant;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route = Route::post("update-account", "/v1/accounts/{id}", Resource::Accounts)
    .refusing(&[Code::PaymentMethodNotFound, Code::PaymentMethodScopeInvalid]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<AccountChange>,
) -> Result<Answer, Error> {
    let mut row = app.store.account(caller.tenant(), &id).await?;
    let tenant = Tenant {
        account: id,
        mode: caller.tenant().mode,
    };
    if let Change::Set(preferences) = &change.preferences {
        references::default_payment_method(
            &app,
            &tenant,
            preferences.payment_method(),
            Payer::account(),
        )
        .await?;
    }
    row.object.update(change, &row.private, caller.now())?;
    let answer = caller.answer(&row.seen_in(tenant.mode))?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

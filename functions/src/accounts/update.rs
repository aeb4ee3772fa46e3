//! `POST /v1/accounts/{id}`: updates the caller's account or one of its children.

use axum::extract::State;
use shared::error::Code;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::account::AccountChange;
use shared::models::api_key::Resource;
use shared::models::patch::Change;
use shared::store::{Answer, Changes};
use shared::{App, Error};

use crate::references;

pub const ROUTE: Route = Route::post("update-account", "/v1/accounts/{id}", Resource::Accounts)
    .refusing(&[Code::PaymentMethodNotFound]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<AccountChange>,
) -> Result<Answer, Error> {
    let mut row = app.store.account(caller.tenant(), &id).await?;
    if let Change::Set(preferences) = &change.preferences {
        references::payment_method(&app, caller.tenant(), preferences.payment_method()).await?;
    }
    row.object.update(change, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

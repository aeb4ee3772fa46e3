//! `POST /v1/fleets`: makes a fleet.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::account::Account;
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::fleet::{Fleet, FleetPrivate, NewFleet};
use shared::models::payment_method::Payer;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route = Route::post("create-fleet", "/v1/fleets", Resource::Fleets).refusing(&[
    Code::PolicyNotFound,
    Code::PaymentMethodNotFound,
    Code::PaymentMethodScopeInvalid,
]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewFleet>,
) -> Result<Answer, Error> {
    references::policies(&app, caller.tenant(), new.policy_ids.as_deref()).await?;
    let method = new
        .preferences
        .as_ref()
        .and_then(|preferences| preferences.default_payment_method.value());
    references::default_payment_method(&app, caller.tenant(), method, Payer::account()).await?;
    let account = app
        .store
        .get::<Account>(caller.tenant(), &caller.tenant().account)
        .await?;
    let fleet = Fleet::new(new, &account.object, caller.now())?;
    let mut private = FleetPrivate::default();
    fleet.plan(&mut private, caller.now());
    let answer = caller.answer(&fleet)?;
    let mut changes = Changes::new();
    app.store.create(
        &mut changes,
        &caller.origin,
        &Row::with_private(fleet, private).announcing(EventType::FleetCreated),
    )?;
    app.store.commit(&caller.origin, changes, answer).await
}

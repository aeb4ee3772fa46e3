//! `POST /v1/fleets/{id}`: updates a fleet.

use axum::extract::State;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::fleet::{Fleet, FleetChange};
use shared::models::patch::Change;
use shared::models::payment_method::Payer;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route =
    Route::post("update-fleet", "/v1/fleets/{id}", Resource::Fleets).refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<FleetChange>,
) -> Result<Answer, Error> {
    let mut row = app
        .store
        .load::<Fleet>(caller.tenant(), &id)
        .await?
        .announcing(EventType::FleetUpdated);
    references::policies(
        &app,
        caller.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    if let Change::Set(preferences) = &change.preferences {
        references::default_payment_method(
            &app,
            caller.tenant(),
            preferences.default_payment_method.value(),
            Payer::fleet(&id),
        )
        .await?;
    }
    row.object.update(change, caller.now())?;
    row.object.plan(&mut row.private, caller.now());
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

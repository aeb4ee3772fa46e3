//! `POST /v1/fleets`: creates a fleet.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::account::Account;
use models::api_key::Resource;
use models::fleet::{Fleet, NewFleet};
use models::payment_method::Payer;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("create-fleet", "/v1/fleets", Resource::Fleets)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewFleet>,
) -> Result<Reply<Fleet>, Error> {
    references::policies(&app, context.tenant(), new.policy_ids.as_deref()).await?;
    if let Some(preferences) = &new.preferences {
        let (tenant, method) = (context.tenant(), &preferences.default_payment_method);
        let payer = Payer::account();
        references::default_payment_method(&app, &context, tenant, method, None, payer).await?;
    }
    let account = app
        .store
        .get::<Account>(context.tenant(), &context.tenant().account)
        .await?;
    let mut fleet = Fleet::new(new, &account.object, context.now())?;
    let response = context.respond(&fleet.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create(&mut fleet)?;
    tx.commit(response).await
}

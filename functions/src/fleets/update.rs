//! `POST /v1/fleets/{id}`: updates a fleet.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::fields::patch::Change;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::fleet::{Fleet, FleetChange};
use models::payment_method::Payer;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("update-fleet", "/v1/fleets/{id}", Resource::Fleets)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<FleetChange>,
) -> Result<Reply<Fleet>, Error> {
    let mut fleet = app.store.load::<Fleet>(context.tenant(), &id).await?;
    references::policies(
        &app,
        context.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    if let Change::Set(preferences) = &change.preferences {
        references::default_payment_method(
            &app,
            &context,
            context.tenant(),
            &preferences.default_payment_method,
            fleet.object.preferences.default_payment_method.as_ref(),
            Payer::fleet(&id),
        )
        .await?;
    }
    fleet.update(change, context.now())?;
    let response = context.changed(&fleet)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut fleet)?;
    tx.commit(response).await
}

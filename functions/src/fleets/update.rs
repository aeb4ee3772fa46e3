//! `POST /v1/fleets/{id}`: updates a fleet.

use kernel::fields::patch::Change;
use kernel::{Code, Error, Reply, Resource};
use models::Fleet;
use models::fleet::FleetChange;
use models::payment_method::Payer;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post("update-fleet", "/v1/fleets/{id}", Resource::Fleets)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<FleetChange>,
) -> Result<Reply<Fleet>, Error> {
    let mut fleet = request.load::<Fleet>(&id).await?;
    let before = fleet.clone();
    references::policies(&request, change.policy_ids.set().map(|ids| &**ids)).await?;
    if let Change::Set(preferences) = &change.preferences {
        references::default_payment_method(
            &request,
            request.tenant(),
            &preferences.default_payment_method,
            fleet.object.preferences.default_payment_method.as_ref(),
            Payer::fleet(&id),
        )
        .await?;
    }
    fleet.update(change, request.now())?;
    request.save_update(&before, fleet).await
}

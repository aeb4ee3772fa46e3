//! `POST /v1/fleets`: creates a fleet.

use kernel::{Code, Error, Reply, Resource};
use models::Fleet;
use models::fleet::NewFleet;
use models::payment_method::Payer;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post("create-fleet", "/v1/fleets", Resource::Fleets)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(request: Request, Body(new): Body<NewFleet>) -> Result<Reply<Fleet>, Error> {
    references::policies(&request, new.policy_ids.as_deref()).await?;
    if let Some(preferences) = &new.preferences {
        let (tenant, method) = (request.tenant(), &preferences.default_payment_method);
        let payer = Payer::account();
        references::default_payment_method(&request, tenant, method, None, payer).await?;
    }
    let account = request.account().await?;
    let fleet = Fleet::new(new, &account.object, request.now())?;
    request.create(fleet).await
}

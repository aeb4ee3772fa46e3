//! `POST /v1/vehicles/{id}`: updates a vehicle.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::vehicle::{Vehicle, VehicleChange};
use table::access::Items;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("update-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .refusing(&[Code::PolicyNotFound, Code::SiteNotFound])
    .writing(&[Items::Of(Kind::Driver), Items::Of(Kind::Fleet)]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<VehicleChange>,
) -> Result<Reply<Vehicle>, Error> {
    let mut vehicle = app.store.load::<Vehicle>(context.tenant(), &id).await?;
    references::policies(
        &app,
        context.tenant(),
        change.policy_ids.set().map(|ids| &**ids),
    )
    .await?;
    references::site(&app, context.tenant(), change.site.value()).await?;
    vehicle.update(change, context.now())?;
    let response = context.changed(&vehicle)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut vehicle)?;
    tx.commit(response).await
}

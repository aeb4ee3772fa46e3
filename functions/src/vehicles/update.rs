//! `POST /v1/vehicles/{id}`: updates a vehicle.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::departure::VehicleDepartures;
use models::vehicle::{Vehicle, VehicleChange};
use table::access::Items;
use web::{Body, PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("update-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .refusing(&[Code::PolicyNotFound, Code::SiteNotFound])
    .writing(&[
        Items::Of(Kind::Driver),
        Items::Of(Kind::Fleet),
        Items::Of(Kind::VehicleDepartures),
    ]);

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
    let site = vehicle.object.site.clone();
    vehicle.update(change, context.now())?;
    let response = context.changed(&vehicle)?;
    let mut tx = app.store.begin(&context.origin);
    if site.is_some() && site != vehicle.object.site {
        // Departures are those from the site at which the vehicle charges.
        let departures = VehicleDepartures::id_of(&id);
        let departures = app
            .store
            .find::<VehicleDepartures>(context.tenant(), &departures);
        if let Some(mut departures) = departures.await?
            && departures.cancel()
        {
            tx.save(&mut departures)?;
        }
    }
    tx.save(&mut vehicle)?;
    tx.commit(response).await
}

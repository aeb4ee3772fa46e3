//! `POST /v1/vehicles/{id}`: updates a vehicle.

use kernel::{Code, Error, Kind, Reply, Resource};
use models::vehicle::VehicleChange;
use models::{Stored, Vehicle, VehicleDepartures};
use table::access::Items;
use web::{Body, PathId, Route};

use crate::{Request, references, sites};

pub const ROUTE: Route = Route::post("update-vehicle", "/v1/vehicles/{id}", Resource::Vehicles)
    .refusing(&[Code::PolicyNotFound, Code::SiteNotFound])
    .writing(&[
        Items::Of(Kind::Driver),
        Items::Of(Kind::Fleet),
        Items::Of(Kind::Site),
        Items::Of(Kind::VehicleDepartures),
    ]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<VehicleChange>,
) -> Result<Reply<Vehicle>, Error> {
    let mut vehicle = request.load::<Vehicle>(&id).await?;
    let unchanged = vehicle.clone();
    references::policies(&request, change.policy_ids.set().map(|ids| &**ids)).await?;
    vehicle.update(change, request.now())?;
    let response = request.updated(&unchanged, &vehicle)?;
    let mut tx = request.begin();
    let before = unchanged.object.site.as_ref();
    let after = vehicle.object.site.as_ref();
    sites::move_vehicle(&request.app, &mut tx, before, after).await?;
    if before.is_some() && before != after {
        // Departures are those from the site at which the vehicle charges.
        let departures = VehicleDepartures::id_of(&id);
        let known = request.find::<VehicleDepartures>(&departures).await?;
        let mut departures = known.unwrap_or_else(|| Stored::new(VehicleDepartures::of(&id)));
        if departures.cancel() {
            tx.save(&mut departures)?;
        } else {
            tx.check_unchanged(&departures);
        }
    }
    tx.save_update(&unchanged, &mut vehicle)?;
    tx.commit(response).await
}

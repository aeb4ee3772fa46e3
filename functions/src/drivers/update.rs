//! `POST /v1/drivers/{id}`: updates a driver.

use kernel::{Code, Error, Reply, Resource};
use models::Driver;
use models::driver::DriverChange;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post("update-driver", "/v1/drivers/{id}", Resource::Drivers)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::ChargingStationNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<DriverChange>,
) -> Result<Reply<Driver>, Error> {
    let mut driver = request.load::<Driver>(&id).await?;
    let before = driver.clone();
    references::policies(&request, change.policy_ids.set().map(|ids| &**ids)).await?;
    let preferences = change.preferences.set();
    references::driver_preferences(&request, Some(&driver.object), preferences).await?;
    driver.update(change, request.now())?;
    request.save_update(&before, driver).await
}

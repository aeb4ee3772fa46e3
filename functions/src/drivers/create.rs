//! `POST /v1/drivers`: creates a driver that is not attached to a fleet.

use kernel::{Code, Error, Reply, Resource};
use models::Driver;
use models::driver::NewDriver;
use web::route::CHARGES_BY_DEFAULT;
use web::{Body, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::post("create-driver", "/v1/drivers", Resource::Drivers)
    .refusing(&[
        Code::PolicyNotFound,
        Code::PaymentMethodNotFound,
        Code::ChargingStationNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .sometimes_requiring(&[CHARGES_BY_DEFAULT]);

pub async fn handle(request: Request, Body(new): Body<NewDriver>) -> Result<Reply<Driver>, Error> {
    references::policies(&request, new.policy_ids.as_deref()).await?;
    references::driver_preferences(&request, None, new.preferences.as_ref()).await?;
    let account = request.account().await?;
    let driver = Driver::new(new, &account.object, request.now())?;
    request.create(driver).await
}

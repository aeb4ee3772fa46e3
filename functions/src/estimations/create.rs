//! `POST /v1/estimations`: estimates the duration and cost of charging a vehicle at a station.

use kernel::{Code, Error, Reply, Resource, Window};
use models::charging::estimate::estimate;
use models::charging::policies::{PolicyContext, PricedStation, judge};
use models::estimation::{Estimation, NewEstimation};
use models::{Fleet, Stored, Vehicle};
use web::{Body, Route};

use crate::{Request, policies};

pub const ROUTE: Route = Route::post(
    "create-estimation",
    "/v1/estimations",
    Resource::Estimations,
)
.refusing(&[Code::ChargingStationNotFound, Code::VehicleNotFound]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewEstimation>,
) -> Result<Reply<Estimation>, Error> {
    let (app, tenant) = (&request.app, request.tenant());
    new.check(request.now())?;
    let start = new.start.unwrap_or(request.now());
    let (station, vehicle) = tokio::try_join!(
        app.store.published_station(tenant, &new.charging_station),
        request.get::<Vehicle>(&new.vehicle),
    )?;
    let vehicle = vehicle.object;
    let fleet = request.get::<Fleet>(&vehicle.fleet).await?;
    let preferred = fleet.object.preferences.default_currency;
    let rules = policies::of(app, tenant, None, Some(&fleet.object), &vehicle).await?;
    let (windows, zone) = ([Window::moment(start)], Fleet::zone(Some(&fleet.object)));
    let judge = |currency, price| {
        let plan = PolicyContext {
            station: Some(PricedStation {
                station: &station,
                price,
                mode: tenant.mode,
            }),
            ..PolicyContext::at(&windows, currency, &zone)
        };
        judge(&rules, &plan)
    };
    let estimation = estimate(new, &station, &vehicle, preferred, judge, request.now())?;
    request.create(Stored::new(estimation)).await
}

//! `POST /v1/estimations`: tells what charging a vehicle at a station would take and cost.

use axum::extract::State;
use shared::charging::calendar::Window;
use shared::charging::policies::{Plan, judge};
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::estimation::{Estimation, NewEstimation};
use shared::models::fleet::Fleet;
use shared::models::vehicle::Vehicle;
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::policies;

pub const ROUTE: Route = Route::post(
    "create-estimation",
    "/v1/estimations",
    Resource::Estimations,
)
.refusing(&[Code::ChargingStationNotFound, Code::VehicleNotFound]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewEstimation>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    new.check(caller.now())?;
    let start = new.start.unwrap_or(caller.now());
    let (station, vehicle) = tokio::try_join!(
        app.store.published_station(tenant, &new.charging_station),
        app.store.get::<Vehicle>(tenant, &new.vehicle),
    )?;
    let vehicle = vehicle.object;
    let fleet = app.store.get::<Fleet>(tenant, &vehicle.fleet).await?;
    let preferred = fleet.object.preferences.default_currency;
    let rules = policies::of(&app, tenant, None, Some(&fleet.object), &vehicle).await?;
    let judge = |currency| {
        let plan = Plan {
            station: Some(&station),
            area: None,
            windows: &[Window::moment(start)],
            currency,
            zone: &Fleet::zone(Some(&fleet.object)),
        };
        judge(&rules, &plan)
    };
    let estimation = Estimation::new(new, &station, &vehicle, preferred, judge, caller.now())?;
    let answer = caller.answer(&estimation)?;
    let mut changes = Changes::new();
    app.store
        .create(&mut changes, &caller.origin, &Row::new(estimation))?;
    app.store.commit(&caller.origin, changes, answer).await
}

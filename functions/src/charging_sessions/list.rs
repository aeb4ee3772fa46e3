//! `GET /v1/charging_sessions`: lists the sessions, newest first, active ones with what they have charged so far. Filters:
//! `driver`, `fleet`, `vehicle`, `charging_station`, `status`, `created[gte]`, `created[gt]`, `created[lte]`,
//! `created[lt]`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::models::charging_station::ChargingStation;
use shared::models::condition::Condition;
use shared::models::driver::Driver;
use shared::models::fleet::Fleet;
use shared::models::vehicle::Vehicle;
use shared::origin::Tenant;
use shared::store::keys::Partition;
use shared::store::row::ById;
use shared::{App, Code, Error, Id, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-charging-sessions",
    "/v1/charging_sessions",
    Resource::ChargingSessions,
)
.filtered(&[
    "charging_station",
    "created[gt]",
    "created[gte]",
    "created[lt]",
    "created[lte]",
    "driver",
    "fleet",
    "limit",
    "page",
    "status",
    "vehicle",
])
.refusing(&[Code::DriverOrFleetNotFound]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::ChargingSession);
    let page_request = query.created(query.page_request(tenant, kind)?)?;
    let status = query.word::<SessionStatus>("status")?;
    let named = |kind: Kind| query.id(kind.name());
    let (driver, fleet) = (named(Kind::Driver), named(Kind::Fleet));
    let (vehicle, station) = (named(Kind::Vehicle), named(Kind::ChargingStation));
    let (of_driver, ..) = tokio::try_join!(
        known::<Driver>(&app, tenant, driver.as_ref()),
        known::<Fleet>(&app, tenant, fleet.as_ref()),
        known::<Vehicle>(&app, tenant, vehicle.as_ref()),
        known::<ChargingStation>(&app, tenant, station.as_ref()),
    )?;
    if let (Some(driver), Some(fleet)) = (of_driver, &fleet)
        && !driver.fleets.contains(fleet)
    {
        let message = "The driver is not attached to this fleet.";
        return Err(Code::DriverOrFleetNotFound.because(message).at("driver"));
    }
    let filters = [
        (Kind::Driver.name(), driver.as_ref()),
        (Kind::Fleet.name(), fleet.as_ref()),
        (Kind::Vehicle.name(), vehicle.as_ref()),
        (Kind::ChargingStation.name(), station.as_ref()),
    ];
    let named = filters
        .into_iter()
        .filter_map(|(member, id)| Some(Condition::equals(member, id?.to_string())));
    let filter = named.chain(status.map(|status| Condition::equals("status", status)));
    // The list with the fewest sessions of others.
    let partition = match (&vehicle, &driver, &fleet) {
        (Some(vehicle), ..) => Partition::Vehicle { tenant, vehicle },
        (None, Some(driver), _) => Partition::Driver { tenant, driver },
        (None, None, Some(fleet)) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None, None) => Partition::Kind { tenant, kind },
    };
    let mut found = app
        .store
        .list::<ChargingSession>(partition, &page_request, filter.collect())
        .await?;
    for row in &mut found.rows {
        row.object = row.live(tenant.mode, context.now());
    }
    page::respond(&context, &query, found.objects())
}

/// The object that a filter names, if it names one.
async fn known<T: ById>(app: &App, tenant: &Tenant, id: Option<&Id>) -> Result<Option<T>, Error> {
    match id {
        Some(id) => Ok(Some(app.store.get::<T>(tenant, id).await?.object)),
        None => Ok(None),
    }
}

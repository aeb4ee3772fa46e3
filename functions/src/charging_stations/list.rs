//! `GET /v1/charging_stations`: lists the stations of the caller's mode that fit, newest first, or nearest first around a place or along a route.

use axum::extract::State;
use shared::Response;
use shared::charging::effective_price::ChargingVehicle;
use shared::charging::geo::Corridor;
use shared::charging::search::{
    Circle, LONGEST_ROUTE, MaxPrice, NearbyStation, Place, Search, SearchPosition,
};
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charging_station::Point;
use shared::models::driver::Driver;
use shared::models::vehicle::{ConnectorType, Vehicle};
use shared::models::vehicle_telemetry::VehicleTelemetry;
use shared::store::list::Cursor;
use shared::time::{DAY, HOUR, SignedDuration, days};
use shared::window::Window;
use shared::{App, Error, Kind, Timestamp};

pub const ROUTE: Route = Route::list(
    "list-charging-stations",
    "/v1/charging_stations",
    Resource::ChargingStations,
)
.filtered(&[
    "available",
    "buffer",
    "connector_type[]",
    "destination",
    "driver",
    "from",
    "latitude",
    "limit",
    "longitude",
    "max_price_per_kwh",
    "min_power",
    "operator[]",
    "origin",
    "page",
    "radius",
    "reservable",
    "until",
    "vehicle",
])
.memory(512)
.reading_side_by_side();

/// The default distance from a route within which stations are searched, in metres.
const BUFFER: u32 = 5_000;

/// The longest time a connector may be asked to be free for.
const LONGEST: SignedDuration = days(7);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::ChargingStation);
    let from: Cursor<SearchPosition> = query.from(tenant, kind)?;
    let searched = match &from {
        Cursor::Newest => context.now(),
        Cursor::After(position) | Cursor::Before(position) => position.searched,
    };
    let cap: Option<u32> = query.read("max_price_per_kwh", |text| {
        text.parse()
            .map_err(|_| "must be a whole number, at least 0")
    })?;
    let mut search = Search {
        place: place(&query)?,
        connector_types: types(&query)?,
        min_power: query.read("min_power", |text| between(text, 0.0, f64::MAX))?,
        available: query.read("available", boolean)?,
        window: window(&query)?,
        operators: query.all("operator[]").map(str::to_owned).collect(),
        reservable: query.read("reservable", boolean)?,
        ..Search::default()
    };
    if let Some(driver) = query.id("driver") {
        let driver = app.store.get::<Driver>(tenant, &driver).await?.object;
        search.among = Some(driver.preferences.preferred_charging_stations);
    }
    let mut charging = ChargingVehicle::Any;
    if let Some(vehicle) = query.id("vehicle") {
        let vehicle = app.store.get::<Vehicle>(tenant, &vehicle).await?.object;
        search.standard = Some(vehicle.charging_standard);
        if cap.is_some() {
            let telemetry = &vehicle.telemetry;
            let telemetry = app
                .store
                .find::<VehicleTelemetry>(tenant, telemetry)
                .await?;
            let telemetry = telemetry.map(|row| row.object);
            charging = ChargingVehicle::new(&vehicle, telemetry.as_ref(), searched);
        }
    }
    search.max_price = cap.map(|minor_units| MaxPrice {
        minor_units,
        vehicle: charging,
        window: charging_window(search.window, searched),
        mode: tenant.mode,
    });
    let from = match from {
        Cursor::Newest => Cursor::Newest,
        Cursor::After(position) => Cursor::After(position.station),
        Cursor::Before(position) => Cursor::Before(position.station),
    };
    let found = app
        .store
        .search(tenant, &search, &from, query.limit())
        .await?;
    let position = |station: NearbyStation| SearchPosition { searched, station };
    let found = found.try_map(|(station, object)| Ok((position(station), object)))?;
    query.answer_in_order(&context, found, kind)
}

/// The window whose charge is priced: that for which a connector is to be free, as far as a session may last, or else an hour from
/// the moment of the search.
fn charging_window(window: Option<Window>, searched: Timestamp) -> Window {
    let Window { from, until } = window.unwrap_or(Window {
        from: searched,
        until: searched.plus(HOUR),
    });
    Window {
        from,
        until: until.min(from.plus(DAY)),
    }
}

/// 400 for the first of the names that is missing, unless all are.
fn all_or_none(query: &ListQuery, names: &[&str]) -> Result<bool, Error> {
    let missing = names.iter().find(|name| query.filter(name).is_none());
    match missing {
        None => Ok(true),
        Some(_) if names.iter().all(|name| query.filter(name).is_none()) => Ok(false),
        Some(name) => Err(Error::invalid(
            *name,
            format!("must be given together with {}", names.join(", ")),
        )),
    }
}

fn place(query: &ListQuery) -> Result<Option<Place>, Error> {
    all_or_none(query, &["latitude", "longitude", "radius"])?;
    let latitude = query.read("latitude", |text| between(text, -90.0, 90.0))?;
    let longitude = query.read("longitude", |text| between(text, -180.0, 180.0))?;
    let circle = match (latitude, longitude, query.read("radius", metres)?) {
        (Some(latitude), Some(longitude), Some(meters)) => Some(Circle {
            center: Point {
                latitude,
                longitude,
            },
            meters,
        }),
        _ => None,
    };
    Ok(match (circle, route(query)?) {
        (Some(circle), Some(route)) => Some(Place::Both(circle, route)),
        (Some(circle), None) => Some(Place::Circle(circle)),
        (None, route) => route.map(Place::Along),
    })
}

fn route(query: &ListQuery) -> Result<Option<Corridor>, Error> {
    all_or_none(query, &["origin", "destination"])?;
    let (from, to) = (
        query.read("origin", point)?,
        query.read("destination", point)?,
    );
    let meters = query.read("buffer", metres)?;
    let (Some(from), Some(to)) = (from, to) else {
        return match meters {
            Some(_) => Err(Error::invalid("buffer", "needs origin and destination")),
            None => Ok(None),
        };
    };
    let meters = meters.unwrap_or(BUFFER);
    let route = Corridor { from, to, meters };
    if route.length() > LONGEST_ROUTE {
        return Err(Error::invalid(
            "destination",
            "must be within 2000 km of origin",
        ));
    }
    Ok(Some(route))
}

fn window(query: &ListQuery) -> Result<Option<Window>, Error> {
    all_or_none(query, &["from", "until"])?;
    let (from, until) = (
        query.read("from", Timestamp::parse)?,
        query.read("until", Timestamp::parse)?,
    );
    let (Some(from), Some(until)) = (from, until) else {
        return Ok(None);
    };
    if until <= from || until.since(from) > LONGEST {
        let message = "must be after from, by 7 days at most";
        return Err(Error::invalid("until", message));
    }
    Ok(Some(Window { from, until }))
}

fn types(query: &ListQuery) -> Result<Vec<ConnectorType>, Error> {
    let read = |name: &str| {
        ConnectorType::from_name(name)
            .ok_or_else(|| Error::invalid("connector_type[]", "must be CHAdeMO, CCS or Type2"))
    };
    query.all("connector_type[]").map(read).collect()
}

fn between(text: &str, least: f64, most: f64) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err("must be a number within its limits"),
    }
}

fn metres(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(meters @ 1..=100_000) => Ok(meters),
        _ => Err("must be a whole number from 1 to 100000"),
    }
}

fn boolean(text: &str) -> Result<bool, &'static str> {
    text.parse().map_err(|_| "must be true or false")
}

fn point(text: &str) -> Result<Point, &'static str> {
    let read = || {
        let (latitude, longitude) = text.split_once(',')?;
        Some(Point {
            latitude: between(latitude.trim(), -90.0, 90.0).ok()?,
            longitude: between(longitude.trim(), -180.0, 180.0).ok()?,
        })
    };
    read().ok_or("must be a latitude and a longitude, as in 51.5,-0.1")
}

//! `GET /v1/charging_stations`: lists the matching stations of the caller's mode, newest first, or nearest first around a place or along a
//! route.

use std::ops::RangeInclusive;

use crate::Request;
use kernel::time::{DAY, HOUR, days};
use kernel::{Error, Id, Kind, Reply, Resource, SignedDuration, Timestamp, Window};
use models::charging::effective_price::ChargingVehicle;
use models::charging::geo::Corridor;
use models::charging::search::{
    AvailableAt, Circle, LONGEST_ROUTE, MaxPrice, NearbyStation, Place, Search, SearchPosition,
};
use models::charging_station::Point;
use models::vehicle::ConnectorType;
use models::{ChargingStation, Driver, Vehicle, VehicleTelemetry};
use serde::{Deserialize, Deserializer, de};
use table::list::{Cursor, Page};
use utoipa::ToSchema;
use web::query::Whole;
use web::{ListQuery, Query, Route};

pub const ROUTE: Route = Route::get(
    "list-charging-stations",
    "/v1/charging_stations",
    Resource::ChargingStations,
)
.memory(512)
.reading_side_by_side();

/// The default distance from a route within which stations are searched, in metres.
const BUFFER: u32 = 5_000;

/// The maximum length of a window in which a connector has to be free.
const MAX_WINDOW: SignedDuration = days(7);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// With `longitude` and `radius`: the centre of the area.
    #[schema(minimum = -90.0, maximum = 90.0)]
    latitude: Option<f64>,
    /// With `latitude` and `radius`: the centre of the area.
    #[schema(minimum = -180.0, maximum = 180.0)]
    longitude: Option<f64>,
    /// The radius around the centre of the area, in metres.
    radius: Option<Whole<1, 100_000>>,
    /// `lat,lng`: one end of a route. Both ends are required, or neither.
    #[schema(value_type = Option<String>)]
    origin: Option<RouteEnd>,
    /// `lat,lng`: one end of a route. Both ends are required, or neither.
    #[schema(value_type = Option<String>)]
    destination: Option<RouteEnd>,
    /// With `origin` and `destination`: the maximum distance from the route, in metres. Default 5,000.
    buffer: Option<Whole<1, 100_000>>,
    /// Only stations with one of these plugs.
    #[serde(
        rename = "connector_type[]",
        default,
        deserialize_with = "connector_types"
    )]
    connector_types: Vec<ConnectorType>,
    /// Names of operators: only their stations.
    #[serde(rename = "operator[]", default)]
    operators: Vec<String>,
    /// Only stations with a connector of at least this power, in kW.
    #[schema(minimum = 0.0, maximum = 10_000.0)]
    min_power: Option<f64>,
    /// Only stations with a connector whose effective price is at most this number of minor units per kWh, tax included, in the currency of
    /// its first price. The effective price is the cost of a charge from `from` to `until`, at most 24 hours, or else of an hour from the
    /// moment of the first page, divided by its energy: by `vehicle` until its battery is full, else at 22 kW AC or 50 kW DC. The start fee
    /// and the charging time count, parking does not. In live mode a connector of unknown price is not found.
    max_price_per_kwh: Option<u32>,
    /// `true`: only stations that are open now and have a connector whose `status` is `available`; `false`: only the others. Reservations
    /// are not considered: `from` and `until` find a connector that is not reserved either.
    available: Option<bool>,
    /// `true`: only stations that can be reserved; `false`: only those that cannot.
    reservable: Option<bool>,
    /// With `until`: only stations with a connector that is free for the whole time.
    from: Option<Timestamp>,
    /// With `from`: only stations with a connector that is free for the whole time. At most 7 days after `from`.
    until: Option<Timestamp>,
    /// Id of a driver: only stations among the `preferred_charging_stations` of this driver.
    driver: Option<Id>,
    /// Id of a vehicle: only stations with a plug that fits it. Prices are those of charging this vehicle.
    vehicle: Option<Id>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<ChargingStation>>, Error> {
    let (tenant, kind) = (request.tenant(), Kind::ChargingStation);
    let from: Cursor<SearchPosition> = query.from(tenant, kind)?;
    let searched = match &from {
        Cursor::Newest => request.now(),
        Cursor::After(position) | Cursor::Before(position) => position.searched,
    };
    let search = filters.search(&request, searched).await?;
    let from = match from {
        Cursor::Newest => Cursor::Newest,
        Cursor::After(position) => Cursor::After(position.station),
        Cursor::Before(position) => Cursor::Before(position.station),
    };
    let found = request
        .store()
        .search(tenant, &search, &from, query.limit())
        .await?;
    let position = |station: NearbyStation| SearchPosition { searched, station };
    let found = found
        .at(position)
        .try_map(|(station, object)| Ok((position(station), object)))?;
    query.answer_in_order(&request, found, kind)
}

impl Filters {
    /// The search with these filters, at the given time.
    ///
    /// # Errors
    /// 400 for filters that contradict each other, 404 for a driver or vehicle that does not exist.
    async fn search(self, request: &Request, searched: Timestamp) -> Result<Search, Error> {
        let mut search = Search {
            place: place(&self)?,
            min_power: within("min_power", self.min_power, 0.0..=10_000.0)?,
            available: self.available.map(|is_available| AvailableAt {
                is_available,
                moment: searched,
            }),
            window: window(&self)?,
            connector_types: self.connector_types,
            operators: self.operators,
            reservable: self.reservable,
            ..Search::default()
        };
        if let Some(driver) = self.driver {
            let driver = request.get::<Driver>(&driver).await?.object;
            search.among = Some(driver.preferences.preferred_charging_stations);
        }
        let mut charging = ChargingVehicle::Any;
        if let Some(vehicle) = self.vehicle {
            let vehicle = request.get::<Vehicle>(&vehicle).await?.object;
            search.standard = Some(vehicle.charging_standard);
            if self.max_price_per_kwh.is_some() {
                let telemetry = request.find::<VehicleTelemetry>(&vehicle.telemetry).await?;
                let telemetry = telemetry.map(|telemetry| telemetry.object);
                charging = ChargingVehicle::new(&vehicle, telemetry.as_ref(), searched);
            }
        }
        search.max_price = self.max_price_per_kwh.map(|minor_units| MaxPrice {
            minor_units,
            vehicle: charging,
            window: charging_window(search.window, searched),
            mode: request.tenant().mode,
        });
        Ok(search)
    }
}

/// The window whose charge is priced: that in which a connector has to be free, up to the maximum duration of a session, or else an hour
/// from the moment of the search.
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

/// Returns 400 for the first missing filter, unless all are missing.
fn all_or_none<const N: usize>(filters: [(&str, bool); N]) -> Result<(), Error> {
    let missing = filters.iter().find(|(_, is_given)| !is_given);
    match missing {
        Some((name, _)) if filters.iter().any(|(_, is_given)| *is_given) => {
            let names = filters.map(|(name, _)| name).join(", ");
            Err(Error::invalid(
                *name,
                format!("must be given together with {names}"),
            ))
        }
        _ => Ok(()),
    }
}

fn place(filters: &Filters) -> Result<Option<Place>, Error> {
    all_or_none([
        ("latitude", filters.latitude.is_some()),
        ("longitude", filters.longitude.is_some()),
        ("radius", filters.radius.is_some()),
    ])?;
    let latitude = within("latitude", filters.latitude, -90.0..=90.0)?;
    let longitude = within("longitude", filters.longitude, -180.0..=180.0)?;
    let circle = match (latitude, longitude, filters.radius) {
        (Some(latitude), Some(longitude), Some(Whole(meters))) => Some(Circle {
            center: Point {
                latitude,
                longitude,
            },
            meters,
        }),
        _ => None,
    };
    Ok(match (circle, route(filters)?) {
        (Some(circle), Some(route)) => Some(Place::Both(circle, route)),
        (Some(circle), None) => Some(Place::Circle(circle)),
        (None, route) => route.map(Place::Along),
    })
}

fn route(filters: &Filters) -> Result<Option<Corridor>, Error> {
    all_or_none([
        ("origin", filters.origin.is_some()),
        ("destination", filters.destination.is_some()),
    ])?;
    let (Some(RouteEnd(from)), Some(RouteEnd(to))) = (filters.origin, filters.destination) else {
        return match filters.buffer {
            Some(_) => Err(Error::invalid("buffer", "needs origin and destination")),
            None => Ok(None),
        };
    };
    let meters = filters.buffer.map_or(BUFFER, |Whole(meters)| meters);
    let route = Corridor { from, to, meters };
    if route.length() > LONGEST_ROUTE {
        return Err(Error::invalid(
            "destination",
            "must be within 2000 km of origin",
        ));
    }
    Ok(Some(route))
}

fn window(filters: &Filters) -> Result<Option<Window>, Error> {
    all_or_none([
        ("from", filters.from.is_some()),
        ("until", filters.until.is_some()),
    ])?;
    let (Some(from), Some(until)) = (filters.from, filters.until) else {
        return Ok(None);
    };
    if until <= from || until.since(from) > MAX_WINDOW {
        let message = "must be after from, by 7 days at most";
        return Err(Error::invalid("until", message));
    }
    Ok(Some(Window { from, until }))
}

fn connector_types<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ConnectorType>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let types: Option<_> = names
        .iter()
        .map(|name| ConnectorType::from_name(name))
        .collect();
    types.ok_or_else(|| de::Error::custom("must be CHAdeMO, CCS or Type2"))
}

fn within(
    name: &str,
    number: Option<f64>,
    limits: RangeInclusive<f64>,
) -> Result<Option<f64>, Error> {
    match number {
        Some(number) if !limits.contains(&number) => {
            Err(Error::invalid(name, "must be a number within its limits"))
        }
        _ => Ok(number),
    }
}

/// One end of a route: `51.5,-0.1`.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct RouteEnd(Point);

impl TryFrom<String> for RouteEnd {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let degrees = |text: &str, most: f64| {
            let degrees = text.trim().parse().ok();
            degrees.filter(|degrees: &f64| degrees.abs() <= most)
        };
        let point = text.split_once(',').and_then(|(latitude, longitude)| {
            Some(Self(Point {
                latitude: degrees(latitude, 90.0)?,
                longitude: degrees(longitude, 180.0)?,
            }))
        });
        point.ok_or("must be a latitude and a longitude, as in 51.5,-0.1")
    }
}

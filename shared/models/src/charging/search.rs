//! The criteria of a search for stations, and the check of stations against them.

use std::cmp::Ordering;

use super::effective_price::{ChargingVehicle, EffectivePrice, PriceCap};
use super::geo::{Corridor, distance_meters};
use super::{opening_hours, tariff};
use crate::charging_station::{
    ChargingStation, Connector, ConnectorStatus, Point, Range, StationStatus,
};
use crate::reservation::Area;
use crate::vehicle::ConnectorType;
use kernel::window::joined;
use kernel::{Currency, Id, Mode, Timestamp, Window};

/// The maximum length of the way along which stations are searched, in metres.
pub const LONGEST_ROUTE: f64 = 2_000_000.0;

/// The criteria of a search. An omitted criterion accepts every station.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    pub place: Option<Place>,
    /// Only these stations.
    pub among: Option<Vec<Id>>,
    /// A connector of one of these types.
    pub connector_types: Vec<ConnectorType>,
    /// A connector of the vehicle's type.
    pub standard: Option<ConnectorType>,
    /// A connector with at least this power in kW.
    pub min_power: Option<f64>,
    /// Whether such a connector is free at a moment.
    pub available: Option<AvailableAt>,
    /// Such a connector that is free for the whole window.
    pub window: Option<Window>,
    pub operators: Vec<String>,
    pub reservable: Option<bool>,
    pub max_price: Option<MaxPrice>,
}

/// Whether a station has to be open at a moment, with a connector whose status is `available`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvailableAt {
    pub is_available: bool,
    pub moment: Timestamp,
}

/// The highest effective price of a connector, and the charge that is priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxPrice {
    /// Minor units per kWh of the currency of the connector's first price, tax included.
    pub minor_units: u32,
    pub vehicle: ChargingVehicle,
    /// The window of the charge.
    pub window: Window,
    /// In live mode an unknown price is not accepted.
    pub mode: Mode,
}

impl MaxPrice {
    fn accepts(&self, station: &ChargingStation, connector: &Connector) -> bool {
        let pricing = &connector.pricing;
        let first = pricing
            .iter()
            .find(|price| price.is_for_session(self.window.from));
        let currency = first.map_or(Currency::USD, |price| price.currency);
        let currency = tariff::currency(pricing, currency, self.window.from);
        let price =
            EffectivePrice::in_window(station, connector, self.vehicle, &self.window, currency);
        let cap = PriceCap {
            minor_units: self.minor_units.into(),
            currency,
        };
        cap.allows(price.as_ref(), self.mode)
    }
}

/// The place in which stations are searched: a circle, the surroundings of a route, or the intersection of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    Circle(Circle),
    Along(Corridor),
    Both(Circle, Corridor),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    pub center: Point,
    pub meters: u32,
}

impl From<Area> for Circle {
    fn from(area: Area) -> Self {
        Self {
            center: area.center(),
            meters: area.radius,
        }
    }
}

/// The position of a station in a search, as contained in page tokens, so that all pages show the prices of the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPosition {
    /// The time of the request for the first page.
    pub searched: Timestamp,
    pub station: NearbyStation,
}

/// The position of a station in the order of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearbyStation {
    /// Millimetres from the place; 0 without one. It is a whole number, so that equal distances are always equal numbers.
    pub distance: u64,
    /// When the station was created, in a search without a place; 1970 otherwise.
    pub created: Timestamp,
    pub id: Id,
}

impl Place {
    /// Returns the millimetres from the circle's centre, or else from the route; None for a point outside.
    pub fn distance(&self, point: Point) -> Option<u64> {
        let within = |meters: f64, limit: u32| {
            (meters <= f64::from(limit)).then_some((meters * 1000.0).round() as u64)
        };
        let in_circle =
            |circle: &Circle| within(distance_meters(circle.center, point), circle.meters);
        let along = |route: &Corridor| within(route.distance_meters(point), route.meters);
        match self {
            Self::Circle(circle) => in_circle(circle),
            Self::Along(route) => along(route),
            Self::Both(circle, route) => along(route).and(in_circle(circle)),
        }
    }

    /// Returns the distance in metres from the edge of the place to a point outside. It is negative for a point inside, whose
    /// distance from the edge is at least the absolute value. For a point outside both a circle and a strip it is the larger of the
    /// two distances.
    pub fn meters_outside(&self, point: Point) -> f64 {
        let of_circle =
            |circle: &Circle| distance_meters(circle.center, point) - f64::from(circle.meters);
        let of_route = |route: &Corridor| route.distance_meters(point) - f64::from(route.meters);
        match self {
            Self::Circle(circle) => of_circle(circle),
            Self::Along(route) => of_route(route),
            Self::Both(circle, route) => of_circle(circle).max(of_route(route)),
        }
    }
}

impl Search {
    /// Compares the stations found: nearest first if there is a place, newest first otherwise.
    pub fn order(&self, a: &NearbyStation, b: &NearbyStation) -> Ordering {
        match self.place {
            Some(_) => (a.distance, &a.id).cmp(&(b.distance, &b.id)),
            None => (b.created, &b.id).cmp(&(a.created, &a.id)),
        }
    }

    /// Checks whether any criterion other than the place can refuse a station.
    pub fn is_narrowed(&self) -> bool {
        *self
            != Self {
                place: self.place,
                among: self.among.clone(),
                ..Self::default()
            }
    }

    /// Returns the connectors with the requested types, power and price.
    pub fn connectors<'a>(
        &'a self,
        station: &'a ChargingStation,
    ) -> impl Iterator<Item = &'a Connector> {
        station.connectors.iter().filter(move |connector| {
            let kind = connector.connector_type();
            let one_of = |types: &[ConnectorType]| kind.is_some_and(|kind| types.contains(&kind));
            (self.connector_types.is_empty() || one_of(&self.connector_types))
                && self.standard.is_none_or(|standard| one_of(&[standard]))
                && self.min_power.is_none_or(|power| connector.power >= power)
                && self
                    .max_price
                    .is_none_or(|max| max.accepts(station, connector))
        })
    }

    /// Returns those of them that can be reserved for the window, as far as is known without calendars.
    pub fn in_order<'a>(
        &'a self,
        station: &'a ChargingStation,
    ) -> impl Iterator<Item = &'a Connector> {
        self.connectors(station)
            .filter(|connector| connector.is_in_order())
    }

    /// Checks whether the station meets the criteria, without calendars and place.
    pub fn accepts(&self, station: &ChargingStation) -> bool {
        let active = station.status == StationStatus::Active;
        let any_connector = !self.connector_types.is_empty()
            || self.standard.is_some()
            || self.min_power.is_some()
            || self.max_price.is_some();
        let is_free_at = |moment: Timestamp| {
            let mut connectors = self.connectors(station);
            active
                && connectors.any(|connector| connector.status == ConnectorStatus::Available)
                && opening_hours::is_open_at(station, moment)
        };
        let operator = |name: &String| *name == station.operator;
        (!any_connector || self.connectors(station).next().is_some())
            && self
                .available
                .is_none_or(|search| search.is_available == is_free_at(search.moment))
            && (self.operators.is_empty() || self.operators.iter().any(operator))
            && self
                .reservable
                .is_none_or(|reservable| reservable == station.capabilities.reservable)
            && self.window.is_none_or(|window| {
                active
                    && self.in_order(station).next().is_some()
                    && opening_hours::is_open(station, &window)
            })
    }
}

/// Returns the ranges within a window in which at least one connector in order is free while the station is open. `busy` returns
/// the windows in which a connector is reserved or charging.
pub fn free_ranges(
    station: &ChargingStation,
    window: &Window,
    busy: impl Fn(&Connector) -> Vec<Window>,
) -> Vec<Range> {
    if station.status != StationStatus::Active {
        return Vec::new();
    }
    let open = opening_hours::open_spans(station, window);
    let in_order = station
        .connectors
        .iter()
        .filter(|connector| connector.is_in_order());
    let free = in_order.flat_map(|connector| {
        let busy = busy(connector);
        open.iter()
            .flat_map(move |span| span.without(&busy))
            .collect::<Vec<_>>()
    });
    joined(free.collect())
        .into_iter()
        .map(|Window { from, until }| Range { from, until })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::{Plug, PriceType};
    use kernel::Timestamp;
    use kernel::time::hours;

    fn window(from: i64, until: i64) -> Window {
        let at = |hour: i64| Timestamp::EPOCH.plus(hours(hour));
        Window {
            from: at(from),
            until: at(until),
        }
    }

    fn station() -> ChargingStation {
        let mut station = crate::fixtures::station();
        station.status = StationStatus::Active;
        station.capabilities.access_24_7 = true;
        let mut connector = station.connectors.remove(0);
        connector.status = ConnectorStatus::Available;
        let with = |id: &str, plug, power| Connector {
            id: id.into(),
            plug: Plug::Matched(plug),
            power,
            ..connector.clone()
        };
        station.connectors = vec![
            with("slow", ConnectorType::Type2, 22.0),
            with("fast", ConnectorType::Ccs, 150.0),
        ];
        station
    }

    #[test]
    fn a_place_ends_at_its_radius_to_less_than_a_millimetre() {
        let center = Point {
            latitude: 51.5,
            longitude: 0.0,
        };
        let place = Place::Circle(Circle {
            center,
            meters: 300,
        });
        let north = |meters: f64| Point {
            latitude: center.latitude + (meters / 6_371_008.8_f64).to_degrees(),
            ..center
        };
        assert_eq!(place.distance(north(299.9998)), Some(300_000));
        assert_eq!(place.distance(north(300.0002)), None);
    }

    #[test]
    fn one_connector_has_to_be_all_that_is_asked_of_a_connector() {
        let station = station();
        let asks = |types: &[ConnectorType], power: f64| Search {
            connector_types: types.to_vec(),
            min_power: Some(power),
            ..Search::default()
        };
        assert!(asks(&[ConnectorType::Type2], 22.0).accepts(&station));
        assert!(!asks(&[ConnectorType::Type2], 22.1).accepts(&station));
        assert!(asks(&[ConnectorType::Type2, ConnectorType::Ccs], 100.0).accepts(&station));
        let both = Search {
            standard: Some(ConnectorType::Type2),
            ..asks(&[ConnectorType::Ccs], 0.0)
        };
        assert!(!both.accepts(&station));
    }

    #[test]
    fn what_is_available_is_what_is_free_now_of_the_type() {
        let mut station = station();
        let asks = |available| Search {
            connector_types: vec![ConnectorType::Ccs],
            available: Some(AvailableAt {
                is_available: available,
                moment: window(1, 2).from,
            }),
            ..Search::default()
        };
        assert!(asks(true).accepts(&station) && !asks(false).accepts(&station));
        let Window { from, until } = window(1, 2);
        station.availability.exceptional_closings = vec![Range { from, until }];
        assert!(!asks(true).accepts(&station) && asks(false).accepts(&station));
        station.availability.exceptional_closings.clear();
        station.connectors[1].status = ConnectorStatus::Occupied;
        assert!(!asks(true).accepts(&station) && asks(false).accepts(&station));
    }

    #[test]
    fn the_price_is_the_effective_one_with_tax() {
        let mut station = station();
        let mut price = crate::charging_station::Price {
            currency: kernel::money::Currency::USD,
            price: 50,
            price_decimal: None,
            step_size: 1,
            tax: crate::charging_station::Tax::Vat,
            tax_included: false,
            tax_percent: "20".into(),
            kind: PriceType::Energy,
            restrictions: None,
        };
        let asks = |minor_units, mode| Search {
            max_price: Some(MaxPrice {
                minor_units,
                vehicle: ChargingVehicle::Any,
                window: window(0, 1),
                mode,
            }),
            ..Search::default()
        };
        let accepts = |station: &_, cap| asks(cap, Mode::Live).accepts(station);
        station.set_pricing(vec![price.clone()]);
        assert!(accepts(&station, 60) && !accepts(&station, 59));
        // 11 cents with tax for an hour, in which 22 kWh or 50 kWh flow.
        let energy = price.clone();
        (price.kind, price.price) = (PriceType::Time, 550);
        station.set_pricing(vec![energy, price]);
        assert!(accepts(&station, 74) && !accepts(&station, 73));
        station.connectors.truncate(1);
        assert!(accepts(&station, 90) && !accepts(&station, 89));
        station.set_pricing(Vec::new());
        assert!(asks(0, Mode::Test).accepts(&station));
        assert!(!accepts(&station, 1000));
    }

    #[test]
    fn a_station_is_free_while_one_of_its_connectors_is() {
        let mut station = station();
        let busy = |connector: &Connector| match connector.id.as_str() {
            "slow" => vec![window(1, 4), window(6, 7)],
            _ => vec![window(3, 8), window(2, 3)],
        };
        let free = |station: &ChargingStation| -> Vec<(i64, i64)> {
            let hour = |at: Timestamp| at.since(Timestamp::EPOCH).as_hours();
            free_ranges(station, &window(0, 10), busy)
                .iter()
                .map(|range| (hour(range.from), hour(range.until)))
                .collect()
        };
        assert_eq!(free(&station), [(0, 2), (4, 6), (7, 10)]);
        station.connectors[0].status = ConnectorStatus::Faulted;
        assert_eq!(free(&station), [(0, 2), (8, 10)]);
        station.status = StationStatus::Maintenance;
        assert_eq!(free(&station), []);
    }

    #[test]
    fn a_route_is_as_near_as_its_nearest_point() {
        let at = |latitude, longitude| Point {
            latitude,
            longitude,
        };
        let route = Corridor {
            from: at(0.0, 0.0),
            to: at(0.0, 10.0),
            meters: 200_000,
        };
        let kilometers = |point| (route.distance_meters(point) / 1000.0).round();
        assert_eq!(kilometers(at(1.0, 5.0)), 111.0);
        assert_eq!(kilometers(at(0.0, -1.0)), 111.0);
        assert_eq!(kilometers(at(-1.0, 10.0)), 111.0);
        assert_eq!(kilometers(at(0.0, 190.0)), 18_903.0);
        let place = Place::Both(
            Circle {
                center: at(0.0, 0.0),
                meters: 100_000,
            },
            route,
        );
        assert_eq!(place.distance(at(0.0, 0.5)), Some(55_597_540));
        assert_eq!(place.distance(at(0.0, 1.0)), None);
    }
}

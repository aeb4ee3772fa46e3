//! Prospects: the base and the price that a connector of an unread station, or an open candidate, can have.

use std::collections::BTreeMap;

use crate::charging::effective_price::PricePerKwh;
use crate::charging::geo::distance_meters;
use crate::charging::matching::outline::{ConnectorKind, Outline, operator_checksum};
use crate::charging::matching::score::{Merits, POINTS_PER_MINOR_UNIT, SpeedClass};
use crate::charging::matching::{MatchRequest, need};
use crate::charging_station::Point;
use crate::reservation::need::Need;
use kernel::{Currency, Id};

/// A station of the radius as the index shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedStation {
    pub id: Id,
    pub location: Point,
    /// None if the index has no readable outline; then the station is read first.
    pub outline: Option<Outline>,
}

/// A station that was not read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) id: Id,
    /// The lowest base and price of each kind of connector that fits the vehicle. None if nothing is known.
    kinds: Option<Vec<Prospect>>,
}

/// A base, and the price on which the surcharge depends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prospect {
    pub(super) base: i64,
    pub(super) price: Option<PricePerKwh>,
    /// The lowest price of a pair of the same connector, which may be in another window.
    pub(super) lowest: Option<PricePerKwh>,
}

impl Unread {
    pub(super) fn of(station: &IndexedStation, request: &MatchRequest<'_>) -> Self {
        let preferences = request.preferences;
        let center = request.reservation.location.center();
        let kinds = station.outline.as_ref().map(|outline| {
            let prefers = |operator: &str| operator_checksum(operator) == outline.operator;
            let mut networks = preferences.preferred_cpos.iter();
            let merits = Merits {
                meters: distance_meters(center, station.location) as i64,
                preferred_station: preferences
                    .preferred_charging_stations
                    .contains(&station.id),
                preferred_network: networks.any(|operator| prefers(operator.as_str())),
                ..Merits::default()
            };
            let window = request.windows.first();
            let length = window.map(|window| window.until.since(window.from));
            let prospect = |kind: &ConnectorKind| {
                if let Some(need) = request.need() {
                    return Prospect::of_block(kind, need, request);
                }
                let class = SpeedClass::of(kind.power);
                let merits = Merits {
                    speed_missed: class.misses(preferences.charging_speed),
                    ..merits
                };
                let price = kind.cost.zip(length).and_then(|(cost, length)| {
                    cost.price(request.vehicle, kind.power, kind.plug, length)
                });
                let price = price.map(|price| price.per_kwh);
                Some(Prospect {
                    base: merits.score(),
                    price,
                    lowest: price,
                })
            };
            let fitting = outline.connectors.iter();
            let fitting = fitting.filter(|kind| kind.plug == request.standard);
            fitting.filter_map(prospect).collect()
        });
        Self {
            id: station.id.clone(),
            kinds,
        }
    }

    /// Returns the prospects of its connectors in windows whose shift adds at least these points.
    pub(super) fn prospects(&self, shift: i64) -> impl Iterator<Item = Prospect> {
        let unknown = Prospect {
            base: i64::MIN,
            price: None,
            lowest: None,
        };
        let unknown = self.kinds.is_none().then_some(unknown);
        let known = self.kinds.iter().flatten();
        let known = known.map(move |kind| Prospect {
            base: kind.base.saturating_add(shift),
            ..*kind
        });
        known.chain(unknown)
    }
}

impl Prospect {
    /// Returns the best block that a kind of connector can have. None if it is too slow for the need.
    fn of_block(kind: &ConnectorKind, need: &Need, request: &MatchRequest<'_>) -> Option<Self> {
        let charge = request.vehicle.charge(kind.power, Some(kind.plug));
        let blocks = request.windows_of(&charge);
        let first = blocks.first()?;
        let length = first.until.since(first.from);
        let price = kind
            .cost
            .and_then(|cost| cost.price(request.vehicle, kind.power, kind.plug, length));
        let price = price.map(|price| price.total());
        Some(Self {
            // The index contains no carbon dioxide values.
            base: need::base(need, first, price, Some(0), request),
            price,
            lowest: price,
        })
    }

    /// Returns points that order prospects of one currency, or without a price.
    pub(super) fn total(&self) -> i64 {
        let price = self.price.map_or(0, |price| price.minor_units);
        self.base
            .saturating_add(price.saturating_mul(POINTS_PER_MINOR_UNIT))
    }

    pub(super) fn currency(&self) -> Option<Currency> {
        self.price.map(|price| price.currency)
    }

    /// Returns the score if the cheapest price of the currency is this one, or the prospect's own price if that is lower.
    pub(super) fn score(&self, cheapest: &BTreeMap<Currency, i64>) -> i64 {
        let surcharge = self.price.map_or(0, |price| {
            let cheapest = cheapest.get(&price.currency).copied();
            let surcharge = price
                .minor_units
                .saturating_sub(cheapest.unwrap_or(price.minor_units));
            surcharge.max(0)
        });
        self.base
            .saturating_add(surcharge.saturating_mul(POINTS_PER_MINOR_UNIT))
    }
}

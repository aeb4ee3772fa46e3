//! The result of an attempt to confirm a reservation: the connector that is assigned to it, and why stations were refused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use kernel::{Id, Window};

/// A connector and the window for which it is reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub station: Id,
    /// The EVSE of the connector.
    pub evse: String,
    pub connector: String,
    /// Whether a charging network operates the station. The network then has to keep the EVSE free.
    pub is_of_network: bool,
    pub window: Window,
}

/// The result of the last attempt to confirm: how many stations are in the radius, and how many of them each filter refused. The stations
/// in the radius that are not counted in `refused` are those that could be booked, including the chosen one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchSummary {
    /// Number of stations at most `location.radius` metres away from `location`. Stations that their operator does not publish are not
    /// counted.
    pub stations_in_radius: u32,
    /// How many stations or connectors each filter refused.
    pub refused: MatchRefusals,
}

/// A filter that refuses stations, named as the member of `match_summary.refused` that counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchFilter {
    NotConnected,
    NotReservable,
    ConnectorType,
    OutOfOrder,
    TooSlow,
    Price,
    Closed,
    Policy,
    Booked,
}

/// How many stations each filter refused. The filters are applied in this order, which is not that of the JSON: `not_connected`,
/// `not_reservable`, `connector_type`, `out_of_order`, `too_slow`, `price`, `closed`, `policy`, `booked`. Each station is counted at most
/// once: at the first filter that none of its connectors passes. If the attempt found no connector, it considered every station, and the
/// counts show why each was refused. If it found one, the stations that could not be better are counted as `not_considered`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchRefusals {
    /// The station is not connected to a charging network, in live mode. This filter is applied before the others.
    #[serde(default)]
    pub not_connected: u32,
    /// The station is not `active`, or none of its EVSEs can be reserved: its network may have refused this reservation.
    pub not_reservable: u32,
    /// No reservable connector has the vehicle's `charging_standard`.
    pub connector_type: u32,
    /// Every such connector is `faulted`, `unavailable` or `unknown`.
    pub out_of_order: u32,
    /// No such connector can charge the reservation's need in the time that is left.
    #[serde(default)]
    pub too_slow: u32,
    /// The effective price of every such connector is above the driver's `max_price_per_kwh` in every window, or in another
    /// currency. In live mode also: its price is unknown.
    pub price: u32,
    /// The station is not open for the whole of any window that is left.
    pub closed: u32,
    /// A policy in enforcement forbids the station, its effective price, or every window that is left.
    #[serde(default)]
    pub policy: u32,
    /// In every window left, the EVSE of every such connector, or the vehicle itself, is reserved or charging.
    pub booked: u32,
    /// The attempt did not finish examining the station, because none of its connectors could have a lower score than the
    /// one chosen: the station is further away, more expensive or less preferred. Or every window has begun already.
    #[serde(default)]
    pub not_considered: u32,
}

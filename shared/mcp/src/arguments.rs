//! The arguments of the tools. Their comments are what an assistant reads about them.

use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// A part of the registration plate, VIN, name or e-mail address, or a whole id.
    pub query: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The id of the object, such as `res_…`.
    pub id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmed {
    /// The id of the object.
    pub id: String,
    /// False or omitted: nothing is done, and the response shows what would be done. True: it is done.
    #[serde(default)]
    pub confirm: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// Degrees.
    pub latitude: f64,
    /// Degrees.
    pub longitude: f64,
    /// Metres around that place, at most 100,000.
    pub radius: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chargers {
    pub area: Area,
    /// `CCS`, `CHAdeMO` or `Type2`.
    pub connector_type: Option<String>,
    /// In kW.
    pub min_power: Option<f64>,
    /// In minor units of the currency, such as pence, tax included.
    pub max_price_per_kwh: Option<u32>,
    /// RFC 3339. With `until`: only those with a connector that is free for the whole time.
    pub from: Option<String>,
    /// RFC 3339.
    pub until: Option<String>,
    /// The `next_page` of a result, for what follows it: with the same other arguments.
    pub page: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationRequest {
    /// The id of the driver.
    pub driver: String,
    /// The id of the vehicle.
    pub vehicle: String,
    /// RFC 3339 with an offset: when charging should begin.
    pub ideal_start: String,
    /// RFC 3339 with an offset: when charging should end.
    pub ideal_end: String,
    /// The earliest start, if the window may be moved forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest_start: Option<String>,
    /// The latest end, if the window may be moved back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_end: Option<String>,
    /// One to three of `CCS`, `CHAdeMO` and `Type2`; the vehicle's own is among them.
    pub connector_type: Vec<String>,
    /// The area of the search for a station.
    pub location: Area,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeedRequest {
    /// The id of the driver.
    pub driver: String,
    /// The id of the vehicle.
    pub vehicle: String,
    pub need: Need,
    /// One to three of `CCS`, `CHAdeMO` and `Type2`; the vehicle's own is among them.
    pub connector_type: Vec<String>,
    /// The area of the search for a station.
    pub location: Area,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// The level of the battery to reach, in percent. Either this or `energy_wh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_level: Option<f64>,
    /// Watt-hours. Either this or `target_level`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_wh: Option<u32>,
    /// RFC 3339 with an offset: when the vehicle has to be ready.
    pub ready_by: String,
    /// RFC 3339 with an offset: charging may not begin before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest_start: Option<String>,
    /// `cost` (the default), `time` or `carbon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimize: Option<String>,
    /// In minor units of the currency, such as pence, tax included: nothing is reserved at a higher price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price_per_kwh: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reservations {
    /// `pending`, `confirmed`, `completed`, `cancelled`, `failed` or `expired`.
    pub status: Option<String>,
    /// The id of a vehicle.
    pub vehicle: Option<String>,
    /// The id of a driver.
    pub driver: Option<String>,
    /// The `next_page` of a result, for what follows it: with the same other arguments.
    pub page: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// `pending`, `active`, `completed`, `cancelled` or `failed`.
    pub status: Option<String>,
    /// The id of a fleet.
    pub fleet: Option<String>,
    /// The id of a vehicle.
    pub vehicle: Option<String>,
    /// RFC 3339: only those created since.
    pub since: Option<String>,
    /// The `next_page` of a result, for what follows it: with the same other arguments.
    pub page: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The id of the station.
    pub charging_station: String,
    /// The id of the connector at the station.
    pub connector: String,
    /// The id of the driver.
    pub driver: String,
    /// The id of the vehicle.
    pub vehicle: String,
    /// In watt-hours: charging stops there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_limit: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invoices {
    /// `draft`, `open`, `paid`, `void`, `uncollectible` or `overdue`.
    pub status: Option<String>,
    /// The id of a fleet.
    pub fleet: Option<String>,
    /// The `next_page` of a result, for what follows it: with the same other arguments.
    pub page: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    /// The id of the invoice.
    pub id: String,
    /// The id of the payment method; the default one when left out.
    pub payment_method: Option<String>,
    /// False or omitted: nothing is charged, and the response shows what would be charged. True: it is charged.
    #[serde(default)]
    pub confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// A type of event, such as `reservation.failed`.
    pub r#type: Option<String>,
    /// RFC 3339: only those since.
    pub since: Option<String>,
    /// The `next_page` of a result, for what follows it: with the same other arguments.
    pub page: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportRequest {
    /// `charging_summary`, `cost_analysis`, `usage_breakdown`, `fleet_efficiency` or `carbon`.
    pub r#type: String,
    /// RFC 3339, inclusive.
    pub period_start: String,
    /// RFC 3339, exclusive.
    pub period_end: String,
    /// The id of a fleet; the whole account when left out.
    pub fleet: Option<String>,
    /// `vehicle`, `driver`, `fleet`, `station`, `month` or `session`.
    pub group_by: Option<String>,
}

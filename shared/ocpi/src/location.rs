//! The members of a Location object that a charging station is made of.

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Value;

use super::reader::{moment, number, optional_moment, optional_number, optional_text, text, texts};
use kernel::{Id, Kind, Timestamp};
use models::charging_station::ConnectorStatus;

/// The members of a Location of OCPI 2.2.1 or 2.3.0 that a charging station is made of. Others are ignored, as the standard requires.
#[derive(Debug, Clone, Deserialize)]
pub struct Location {
    pub country_code: String,
    pub party_id: String,
    #[serde(deserialize_with = "text")]
    pub id: String,
    #[serde(default = "yes")]
    pub publish: bool,
    /// `PublishTokenType` objects; the location is usable whatever they are.
    #[serde(default)]
    pub publish_allowed_to: Value,
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub address: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub city: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub postal_code: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub state: Option<String>,
    /// ISO 3166-1 alpha-3.
    pub country: String,
    pub coordinates: Coordinates,
    pub operator: Option<Business>,
    #[serde(default)]
    pub evses: Vec<Evse>,
    /// The EVSEs that the stored location has lost ([`super::object`]).
    #[serde(default, rename = "#dropped")]
    pub dropped: Vec<Evse>,
    #[serde(default, deserialize_with = "texts")]
    pub facilities: Vec<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub time_zone: Option<String>,
    pub opening_times: Option<Hours>,
    /// An `EnergyMix`; the location is usable whatever it is.
    pub energy_mix: Option<Value>,
    #[serde(default, deserialize_with = "optional_moment")]
    pub last_updated: Option<Timestamp>,
}

fn yes() -> bool {
    true
}

/// Decimal degrees.
#[derive(Debug, Clone, Deserialize)]
pub struct Coordinates {
    #[serde(deserialize_with = "number")]
    pub latitude: Decimal,
    #[serde(deserialize_with = "number")]
    pub longitude: Decimal,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Business {
    #[serde(default, deserialize_with = "optional_text")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub website: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Evse {
    #[serde(deserialize_with = "text")]
    pub uid: String,
    #[serde(default, deserialize_with = "optional_text")]
    pub evse_id: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub physical_reference: Option<String>,
    #[serde(default)]
    pub status: EvseStatus,
    #[serde(default, deserialize_with = "texts")]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub connectors: Vec<OcpiConnector>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvseStatus {
    Available,
    Blocked,
    Charging,
    Inoperative,
    #[serde(rename = "OUTOFORDER")]
    OutOfOrder,
    Planned,
    Removed,
    Reserved,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Deserialize)]
pub struct OcpiConnector {
    #[serde(deserialize_with = "text")]
    pub id: String,
    #[serde(default)]
    pub standard: String,
    /// V, line to neutral for three phases.
    #[serde(default, deserialize_with = "optional_number")]
    pub max_voltage: Option<Decimal>,
    /// A
    #[serde(default, deserialize_with = "optional_number")]
    pub max_amperage: Option<Decimal>,
    #[serde(default)]
    pub power_type: String,
    /// W
    #[serde(default, deserialize_with = "optional_number")]
    pub max_electric_power: Option<Decimal>,
    #[serde(default, deserialize_with = "texts")]
    pub tariff_ids: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Hours {
    #[serde(default)]
    pub twentyfourseven: bool,
    #[serde(default)]
    pub regular_hours: Vec<RegularHours>,
    #[serde(default)]
    pub exceptional_openings: Vec<ExceptionalPeriod>,
    #[serde(default)]
    pub exceptional_closings: Vec<ExceptionalPeriod>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ExceptionalPeriod {
    #[serde(deserialize_with = "moment")]
    pub period_begin: Timestamp,
    #[serde(deserialize_with = "moment")]
    pub period_end: Timestamp,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RegularHours {
    /// 1 (Monday) to 7 (Sunday).
    #[serde(deserialize_with = "number")]
    pub weekday: Decimal,
    /// `HH:MM`
    pub period_begin: String,
    /// `HH:MM`
    pub period_end: String,
}

/// The moment in the ids of stations that come from OCPI: such an id is derived only from the names of the location.
pub(super) const ID_TIME: i64 = 1_767_225_600_000;

impl Location {
    /// Returns the ids of the location, which are unique among all parties, in upper case: they are case-insensitive (CiString).
    pub fn key(&self) -> String {
        key(&self.country_code, &self.party_id, &self.id)
    }

    /// Returns the id of the station that a location becomes: it is derived from the location's own id, and the same in any spelling.
    pub fn station_id(country_code: &str, party_id: &str, id: &str) -> Id {
        let seed = key(country_code, party_id, id);
        Id::derived(
            Kind::ChargingStation,
            Timestamp::from_unix_millis(ID_TIME),
            &seed,
        )
    }

    /// Returns the location as if an EVSE that was removed, or that the location has lost, were not.
    #[must_use]
    pub fn with_removed(mut self, uid: &str) -> Self {
        let mut dropped = std::mem::take(&mut self.dropped).into_iter();
        let dropped = dropped.find(|evse| evse.uid.eq_ignore_ascii_case(uid));
        let status = EvseStatus::Removed;
        self.evses
            .extend(dropped.map(|evse| Evse { status, ..evse }));
        for evse in &mut self.evses {
            if evse.uid.eq_ignore_ascii_case(uid) && evse.status == EvseStatus::Removed {
                evse.status = EvseStatus::Unknown;
            }
        }
        self
    }
}

fn key(country_code: &str, party_id: &str, id: &str) -> String {
    format!("{country_code}*{party_id}*{id}").to_ascii_uppercase()
}

impl EvseStatus {
    /// Returns the status of the EVSE's connectors.
    pub fn connector_status(self) -> ConnectorStatus {
        match self {
            Self::Available => ConnectorStatus::Available,
            Self::Charging => ConnectorStatus::Occupied,
            Self::Reserved => ConnectorStatus::Reserved,
            Self::OutOfOrder => ConnectorStatus::Faulted,
            Self::Unknown => ConnectorStatus::Unknown,
            Self::Blocked | Self::Inoperative | Self::Planned | Self::Removed => {
                ConnectorStatus::Unavailable
            }
        }
    }

    /// Returns whether it affects only the status of connectors. The others determine which connectors exist, or the status of the whole
    /// station.
    pub fn is_of_connectors_only(self) -> bool {
        !matches!(self, Self::Inoperative | Self::Planned | Self::Removed)
    }
}

//! Charging stations: shared by all tenants of a mode, read-only for clients.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

use super::energy_mix::EnergyMix;
use super::network::ObjectId;
use super::stored::{Object, is_default};
use super::token::PublishToken;
use super::vehicle::ConnectorType;
use kernel::fields::address::Address;
use kernel::fields::text::ZoneName;
use kernel::{Currency, Id, Kind, Timestamp};

/// A charging station. It is read and written through the implementations below, which complete the items of earlier releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self")]
pub struct ChargingStation {
    pub id: Id,
    pub object: Kind,
    /// Postal address of the station.
    pub address: Address,
    /// Opening hours.
    pub availability: Availability,
    /// Services at the station.
    pub capabilities: Capabilities,
    /// Connectors of the station, each with its state and prices.
    pub connectors: Vec<Connector>,
    pub created: Timestamp,
    /// Metres from the place that was searched around, or from the route; only in such a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_meters: Option<u64>,
    /// How the electricity of the station is generated; null if its network does not state it.
    pub energy_mix: Option<EnergyMix>,
    /// Position of the station.
    pub location: Point,
    /// The operator's id of the location (OCPI `Location.id`); null for a station that does not come from OCPI.
    pub location_id: Option<String>,
    /// Name of the station for drivers.
    pub name: String,
    /// The charging network that operates the station; null for a station that was loaded from a file.
    pub network: Option<StationNetwork>,
    /// Name of the charge point operator (CPO).
    pub operator: String,
    /// Contact address of the operator, such as a telephone number or an email address.
    pub operator_contact: String,
    /// The `pricing` of the station's cheapest connector: the one with the lowest highest ENERGY price, tax included. A
    /// connector whose prices are known comes before one without prices.
    pub pricing: Vec<Price>,
    /// Whether the station is in service. Only `active` stations are reserved.
    pub status: StationStatus,
    /// Time zone of the opening hours and of prices that depend on the time of day.
    pub timezone: ZoneName,
    pub updated: Timestamp,
}

/// A party of a charging network, by its OCPI identifiers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StationNetwork {
    /// Two-letter ISO 3166-1 code.
    pub country_code: String,
    /// Three characters.
    pub party_id: String,
    /// Name of the charging network.
    pub name: String,
}

impl Object for ChargingStation {
    type Internal = StationInternal;

    const KIND: Kind = Kind::ChargingStation;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// Degrees north of the equator; south is below zero.
    pub latitude: f64,
    /// Degrees east of Greenwich; west is below zero.
    pub longitude: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Availability {
    /// The number of EVSEs (charging points) all of whose connectors have the `status` `available`, regardless of opening hours and
    /// reservations. The connectors of an EVSE count as one, because they serve one vehicle at a time.
    pub connectors_available: u32,
    /// The number of EVSEs of the station.
    pub connectors_total: u32,
    /// Periods in which the station is closed in spite of its opening hours, or although it is open round the clock; absent if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptional_closings: Vec<Range>,
    /// Periods in which the station is open in addition to its opening hours; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptional_openings: Vec<Range>,
    /// In the station's time zone. `until` at or before `from` reaches into the next day; `00:00`-`00:00` is the whole day.
    pub opening_hours: Vec<OpeningHours>,
    /// Periods in which a connector is free while the station is open, by the reservations made so far. A retrieved station shows the
    /// coming 24 hours; a search with `from` and `until` shows that time; in other lists this is empty.
    pub range: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpeningHours {
    /// Day of the week on which the period begins.
    pub day: Weekday,
    /// `HH:MM`
    pub from: String,
    /// `HH:MM`
    pub until: String,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl Weekday {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Range {
    /// Beginning of the period.
    pub from: Timestamp,
    /// End of the period, exclusive.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    /// Whether the station can be reached at any hour.
    #[serde(rename = "24_7_access")]
    pub access_24_7: bool,
    /// Facilities nearby, in words that the network or operator has chosen.
    pub amenities: Vec<String>,
    /// Ways to pay at the station itself, in words that the network or operator has chosen.
    pub payment_methods: Vec<String>,
    /// Whether only members of the operator's programme may charge.
    pub requires_membership: bool,
    /// Whether connectors of the station can be reserved.
    pub reservable: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Connector {
    /// Unique within the station.
    pub id: String,
    /// The charging point (EVSE) that the connector belongs to (OCPI `EVSE.uid`), unique within the station. The connectors of
    /// an EVSE share one status and serve one vehicle at a time.
    #[serde(default)]
    pub evse: String,
    /// The public identifier of the EVSE, as in `BE*BEC*E041503001`; null if the operator provides none.
    pub evse_id: Option<String>,
    /// Text on the EVSE, such as a number; null if the operator provides none.
    pub physical_reference: Option<String>,
    /// Power in kW.
    pub power: f64,
    /// Prices of charging at this connector; empty if they are unknown.
    #[serde(default)]
    pub pricing: Vec<Price>,
    /// Whether the EVSE of the connector can be reserved.
    #[serde(default = "yes")]
    pub reservable: bool,
    /// State of the connector as it was last reported.
    pub status: ConnectorStatus,
    /// Plug of the connector.
    #[serde(rename = "type")]
    pub plug: Plug,
}

fn yes() -> bool {
    true
}

/// A plug: one of the three types that are matched, or the name of another kind, which is stored and never matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Plug {
    Matched(ConnectorType),
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectorStatus {
    Available,
    Occupied,
    Reserved,
    Unavailable,
    Faulted,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StationStatus {
    Active,
    Maintenance,
    Inactive,
    Planned,
    Removed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Price {
    /// Currency of the price.
    pub currency: Currency,
    /// Minor units per kWh (`ENERGY`), per hour (`TIME`, `PARKING_TIME`) or once (`FLAT`), or the minimum (`MIN_PRICE`) or maximum
    /// (`MAX_PRICE`) cost of a whole session; rounded to a whole number.
    pub price: i64,
    /// The exact price, if `price` is rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_decimal: Option<String>,
    /// Wh for `ENERGY`, seconds for `TIME` and `PARKING_TIME`.
    pub step_size: u32,
    /// Kind of tax that applies to the price.
    pub tax: Tax,
    /// Whether `price` contains the tax.
    pub tax_included: bool,
    /// A decimal number of percent.
    pub tax_percent: String,
    /// Type of the charge: energy (per kWh), charging or parking time (per hour), or the start of a session.
    #[serde(rename = "type")]
    pub kind: PriceType,
    /// The conditions under which the price holds; without any, it always holds. Of the prices of a type, the first that holds is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restrictions: Option<Restrictions>,
}

/// The conditions under which a price holds: all of them have to be met. Times and days are in the station's time zone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Restrictions {
    /// `HH:MM`, inclusive. If `start_time` is later than `end_time`, the price holds overnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// `HH:MM`, exclusive; `00:00` is the end of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// `YYYY-MM-DD`, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_date: Option<String>,
    /// `YYYY-MM-DD`, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_date: Option<String>,
    /// Empty for every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub day_of_week: Vec<Weekday>,
    /// Seconds since the session began, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_duration: Option<u32>,
    /// Seconds since the session began, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<u32>,
    /// Wh charged, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_energy: Option<u32>,
    /// Wh charged, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_energy: Option<u32>,
    /// W, while at least that much power flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_power: Option<u32>,
    /// W, while less power flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_power: Option<u32>,
    /// A, while at least that current flows. `min_power` is the same limit in W, at the voltage and phases of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_current: Option<f64>,
    /// A, while less current flows. `max_power` is the same limit in W, at the voltage and phases of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_current: Option<f64>,
    /// For sessions that begin at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_date_time: Option<Timestamp>,
    /// For sessions that begin before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_date_time: Option<Timestamp>,
    /// Set on an operator's price for a reservation: this price is never part of a session's cost. The fee of a reservation made through
    /// this API is its `reservation_fee`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationRestriction>,
}

/// The kind of reservation that an operator's price is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReservationRestriction {
    /// A reservation that is used.
    Reservation,
    /// A reservation that expires without a session.
    ReservationExpires,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tax {
    Vat,
    Gst,
    SalesTax,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PriceType {
    Energy,
    Time,
    ParkingTime,
    Flat,
    MinPrice,
    MaxPrice,
}

/// The internal state of a station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationInternal {
    /// Whether the operator publishes the location (OCPI `Location.publish`). A station that is not published is neither
    /// listed nor matched, and a session can be started there only with a token of `published_for`.
    #[serde(default = "yes")]
    pub published: bool,
    /// The tokens for which the operator publishes the location nevertheless (OCPI `Location.publish_allowed_to`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_for: Vec<PublishToken>,
    /// The status of each EVSE as the operator reported it the last time, by its uid. A report that repeats that status does not change
    /// the current status of the EVSE.
    #[serde(default)]
    pub imported_status: BTreeMap<String, ConnectorStatus>,
    /// The location of the station at its network; None for a station that was loaded from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<ObjectId>,
    /// The EVSEs that support charging profiles (OCPI `CHARGING_PROFILE_CAPABLE`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_profiles: Vec<String>,
    /// When the prices of each connector changed last, by its id; without those whose prices have not changed since the station was new.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repriced: BTreeMap<String, Timestamp>,
    /// The EVSEs that the operator has removed: a session there goes on, and counts at its site.
    #[serde(rename = "lost", default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedEvses>,
}

/// EVSEs that the operator has removed from a station together. Their common data is stored once, because a station may lose thousands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedEvses {
    pub evses: Vec<String>,
    /// The power of the strongest connector of each, in W.
    pub power: u32,
    /// When they were removed.
    pub at: Timestamp,
    /// Whether they were occupied then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub was_occupied: bool,
    /// Whether they support charging profiles.
    #[serde(default, skip_serializing_if = "is_default")]
    pub takes_profiles: bool,
}

impl Default for StationInternal {
    fn default() -> Self {
        Self {
            published: true,
            published_for: Vec::new(),
            imported_status: BTreeMap::new(),
            location: None,
            takes_profiles: Vec::new(),
            repriced: BTreeMap::new(),
            removed: Vec::new(),
        }
    }
}

impl Serialize for ChargingStation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ChargingStation {
    /// Reads a station. A connector without an EVSE is an EVSE of its own; if no connector has prices, each has the station's prices.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut station = Self::deserialize(deserializer)?;
        for connector in &mut station.connectors {
            if connector.evse.is_empty() {
                connector.evse.clone_from(&connector.id);
            }
        }
        if station
            .connectors
            .iter()
            .all(|connector| connector.pricing.is_empty())
        {
            for connector in &mut station.connectors {
                connector.pricing.clone_from(&station.pricing);
            }
        }
        Ok(station)
    }
}

impl ChargingStation {
    /// Sets the prices of every connector, and of the station.
    pub fn set_pricing(&mut self, pricing: Vec<Price>) {
        for connector in &mut self.connectors {
            connector.pricing.clone_from(&pricing);
        }
        self.pricing = pricing;
    }

    /// Sets the station's prices to those of its cheapest connector: the one with the lowest highest ENERGY price, tax included, and the
    /// first of equal ones. Connectors without prices come last. Prices without an ENERGY part count as 0 per kWh.
    pub fn show_cheapest_pricing(&mut self) {
        let priced = self
            .connectors
            .iter()
            .filter(|connector| !connector.pricing.is_empty());
        let cheapest = priced.min_by_key(|connector| connector.highest_energy_price());
        self.pricing = cheapest.map_or_else(Vec::new, |connector| connector.pricing.clone());
    }

    /// Returns the connectors of an EVSE, by its uid at the operator, which is compared without regard to case.
    pub fn evse(&self, uid: &str) -> impl Iterator<Item = &Connector> {
        let connectors = self.connectors.iter();
        connectors.filter(move |connector| connector.evse.eq_ignore_ascii_case(uid))
    }

    /// Returns the connector of an EVSE with this id at the operator; the first one if no connector has that id.
    pub fn connector_of(&self, evse: &str, id: Option<&str>) -> Option<&Connector> {
        let is_named = |connector: &&Connector| {
            let own = connector.id_within_evse().zip(id);
            own.is_some_and(|(own, id)| own.eq_ignore_ascii_case(id))
        };
        let named = self.evse(evse).find(is_named);
        named.or_else(|| self.evse(evse).next())
    }

    /// Returns the connector with this id.
    pub fn connector(&self, id: &str) -> Option<&Connector> {
        let mut connectors = self.connectors.iter();
        connectors.find(|connector| connector.id == id)
    }

    /// Checks whether the station is in service and the connector with this id is in order.
    pub fn is_in_order(&self, connector: &str) -> bool {
        let connector = self.connector(connector);
        self.status == StationStatus::Active && connector.is_some_and(Connector::is_in_order)
    }

    /// Checks whether the connector with this id is in order, can be reserved and has this plug.
    pub fn is_reservable_for(&self, connector: &str, plug: Option<ConnectorType>) -> bool {
        let is_suitable =
            |connector: &Connector| connector.reservable && connector.connector_type() == plug;
        self.capabilities.reservable
            && self.is_in_order(connector)
            && self.connector(connector).is_some_and(is_suitable)
    }

    /// Recounts the EVSEs after a connector changed. An EVSE is free while all of its connectors are available.
    pub fn count_connectors(&mut self) {
        let mut evses: BTreeMap<&str, bool> = BTreeMap::new();
        for connector in &self.connectors {
            let free = evses.entry(&connector.evse).or_insert(true);
            *free &= connector.status == ConnectorStatus::Available;
        }
        let available = evses.values().filter(|free| **free).count();
        self.availability.connectors_available = u32::try_from(available).unwrap_or(u32::MAX);
        self.availability.connectors_total = u32::try_from(evses.len()).unwrap_or(u32::MAX);
    }
}

impl Price {
    /// Checks whether the price is an operator's price for a reservation.
    pub fn is_for_reservation(&self) -> bool {
        let restrictions = self.restrictions.as_ref();
        restrictions.is_some_and(|restrictions| restrictions.reservation.is_some())
    }

    /// Checks whether the price can be part of the cost of a session that begins then.
    pub fn is_for_session(&self, begins: Timestamp) -> bool {
        self.restrictions.as_ref().is_none_or(|restrictions| {
            let Restrictions {
                start_date_time,
                end_date_time,
                reservation,
                ..
            } = restrictions;
            reservation.is_none()
                && start_date_time.is_none_or(|start| start <= begins)
                && end_date_time.is_none_or(|end| begins < end)
        })
    }
}

impl Connector {
    /// Returns the highest ENERGY price, tax included, in minor units per kWh, whatever its currency; 0 without one.
    pub fn highest_energy_price(&self) -> Decimal {
        let energy = self
            .pricing
            .iter()
            .filter(|price| price.kind == PriceType::Energy && !price.is_for_reservation());
        energy.map(Price::gross).max().unwrap_or_default()
    }

    /// Returns the operator's id of the connector within its EVSE (OCPI `Connector.id`); None for a connector that does not come from
    /// OCPI.
    pub fn id_within_evse(&self) -> Option<&str> {
        // The import joins the id of the EVSE and the connector's own id.
        self.id.strip_prefix(&self.evse)?.strip_prefix('-')
    }

    /// Returns the matched type of the plug, if it is one of the three.
    pub fn connector_type(&self) -> Option<ConnectorType> {
        match self.plug {
            Plug::Matched(kind) => Some(kind),
            Plug::Other(_) => None,
        }
    }

    /// Checks whether the connector can be reserved for later: not if it is out of order or its status is unknown; it may be occupied
    /// now.
    pub fn is_in_order(&self) -> bool {
        matches!(
            self.status,
            ConnectorStatus::Available | ConnectorStatus::Occupied | ConnectorStatus::Reserved
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(price: i64) -> Price {
        let price = serde_json::json!({"currency": "eur", "price": price, "step_size": 1, "tax": "vat",
            "tax_included": true, "tax_percent": "20", "type": "ENERGY"});
        serde_json::from_value(price).unwrap()
    }

    #[test]
    fn connectors_default_to_their_own_evse_and_station_prices() {
        let mut station = crate::fixtures::station();
        station.connectors = vec![
            crate::fixtures::connector("1"),
            crate::fixtures::connector("2"),
        ];
        station.set_pricing(vec![energy(45)]);
        let mut stored = serde_json::to_value(&station).unwrap();
        stored.as_object_mut().unwrap().remove("location_id");
        for connector in stored["connectors"].as_array_mut().unwrap() {
            let members = connector.as_object_mut().unwrap();
            members.retain(|name, _| ["id", "power", "status", "type"].contains(&name.as_str()));
        }
        let read: ChargingStation = serde_json::from_value(stored).unwrap();
        assert_eq!(read.connectors, station.connectors);
        assert_eq!(read.location_id, None);
    }

    #[test]
    fn a_station_shows_the_prices_of_its_cheapest_connector() {
        let mut station = crate::fixtures::station();
        let prices = [vec![], vec![energy(60), energy(20)], vec![energy(50)]];
        station.connectors = vec![crate::fixtures::connector("1"); 3];
        for (connector, pricing) in station.connectors.iter_mut().zip(prices) {
            connector.pricing = pricing;
        }
        station.show_cheapest_pricing();
        assert_eq!(station.pricing, [energy(50)]);
        station.connectors.truncate(1);
        station.show_cheapest_pricing();
        assert_eq!(station.pricing, []);
    }
}

//! The conversion of a Location object into a charging station.

use std::collections::{HashMap, HashSet};

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::Deserialize;
use serde_json::Value;

use super::country::country;
use super::energy_mix::energy_mix;
use super::imported::{ImportedStation, TariffIds};
use super::location::{
    Coordinates, Evse, EvseStatus, ExceptionalPeriod, Hours, ID_TIME, Location, OcpiConnector,
    RegularHours,
};
use super::reader::time_of_day;
use super::tariff::{MAX_TARIFFS, Supply};
use kernel::fields::address::Address;
use kernel::fields::text::{Memo, Text, ZoneName};
use kernel::{Kind, Timestamp};
use models::ChargingStation;
use models::charging_station::{
    Availability, Capabilities, Connector, OpeningHours, Plug, Point, Range, StationStatus, Weekday,
};
use models::token::PublishToken;
use models::vehicle::ConnectorType;

/// The number of tokens for which a location that is not published may be published, so that its item stays small.
const MAX_PUBLISH_TOKENS: usize = 200;

/// Reads the first of the tokens for which a location is published that is not published for all. Tokens that cannot be read, or are longer
/// than the standard permits, are skipped.
fn publish_tokens(is_published: bool, tokens: &Value) -> Vec<PublishToken> {
    if is_published {
        return Vec::new();
    }
    let read = tokens.as_array().into_iter().flatten();
    let read = read.filter_map(|token| PublishToken::deserialize(token).ok());
    let valid = read.filter(PublishToken::is_short);
    valid.take(MAX_PUBLISH_TOKENS).collect()
}

/// The maximum number of characters of the uid of an EVSE and of the id of a connector (OCPI 2.2.1, mod_locations: `CiString(36)`).
const LONGEST_ID: usize = 36;

/// The maximum numbers of characters of texts (OCPI 2.2.1, mod_locations). Longer ones are cut. The parts of an address may be longer than
/// in the standard, as long as in an [`Address`].
const LONGEST_NAME: usize = 255;
const LONGEST_OPERATOR: usize = 100;
const LONGEST_EVSE_ID: usize = 48;
const LONGEST_REFERENCE: usize = 16;

/// The maximum number of characters of a URL (OCPI 2.2.1, types: `URL`). A longer one is left out.
const LONGEST_URL: usize = 255;

/// The maximum number of characters of the name of a facility or a plug. The longest name of the standard, that of a plug, has 23.
const LONGEST_WORD: usize = 64;

/// The maximum number of facilities of a location. The standard has 21 different ones.
const MOST_FACILITIES: usize = 64;

impl Location {
    /// Converts the location into a charging station. Its id is derived from the location's own, so importing it again changes the same
    /// station. Texts that are too long are cut; an empty text that an address needs becomes `-`. Tariffs beyond the first
    /// [`MAX_TARIFFS`] are ignored.
    ///
    /// # Errors
    /// The reason why the location cannot be used: coordinates beyond the poles, an unknown country or time zone, an invalid opening time,
    /// a connector whose power is not stated or not above zero.
    pub fn into_station(mut self) -> Result<ImportedStation, String> {
        self.spell_evses_alike();
        let location = self.coordinates.point()?;
        let address = self.station_address()?;
        let timezone = self.zone()?;
        let hours = self.opening_times.as_ref();
        let (access_24_7, opening_hours) = opening_hours(hours)?;
        let id = Self::station_id(&self.country_code, &self.party_id, &self.id);
        let takes_profiles = self.present_evses().filter(|evse| evse.can(TAKES_PROFILES));
        let takes_profiles = takes_profiles.map(|evse| evse.uid.clone()).collect();
        let (connectors, tariffs, ignored_tariffs) = self.connectors()?;
        let updated = self
            .last_updated
            .unwrap_or(Timestamp::from_unix_millis(ID_TIME));
        let capabilities = self.capabilities(access_24_7);
        let name = self.name.as_deref().unwrap_or(address.line1.as_str());
        let name = shortened(name, LONGEST_NAME);
        let (operator, operator_contact) = self.operator_details();
        let mut station = ChargingStation {
            id,
            object: Kind::ChargingStation,
            distance_meters: None,
            address,
            availability: availability(hours, opening_hours),
            capabilities,
            connectors,
            created: updated,
            energy_mix: energy_mix(self.energy_mix.as_ref()),
            location,
            location_id: Some(self.id),
            name,
            network: None,
            operator,
            operator_contact,
            pricing: Vec::new(),
            status: station_status(&self.evses),
            timezone,
            updated,
        };
        station.count_connectors();
        Ok(ImportedStation {
            station,
            published: self.publish,
            published_for: publish_tokens(self.publish, &self.publish_allowed_to),
            priced: Vec::new(),
            tariffs,
            ignored_tariffs,
            country_code: self.country_code,
            party_id: self.party_id,
            location: None,
            takes_profiles,
            last_updated: self.last_updated,
        })
    }

    /// Spells the uids that are equal without regard to case as the first of them: they name one EVSE.
    fn spell_evses_alike(&mut self) {
        let mut first = HashMap::new();
        for evse in &mut self.evses {
            let uid = first.entry(evse.uid.to_ascii_lowercase());
            evse.uid = uid.or_insert(evse.uid.clone()).clone();
        }
    }

    fn station_address(&self) -> Result<Address, String> {
        let country = country(&self.country)
            .ok_or_else(|| format!("country: {:?} is no ISO 3166-1 code", self.country))?;
        Ok(Address {
            city: required(self.city.as_deref())?,
            country,
            line1: required(self.address.as_deref())?,
            line2: Memo::default(),
            postal_code: required(self.postal_code.as_deref())?,
            state: shortened(self.state.as_deref().unwrap_or_default(), 256).try_into()?,
        })
    }

    /// Returns the name of the operator, or else the id of the party, and the operator's website.
    fn operator_details(&self) -> (String, String) {
        let operator = self.operator.as_ref();
        let name = operator.and_then(|operator| operator.name.as_deref());
        let website = operator.and_then(|operator| operator.website.as_deref());
        let website = website.filter(|url| url.chars().count() <= LONGEST_URL);
        (
            shortened(name.unwrap_or(&self.party_id), LONGEST_OPERATOR),
            website.unwrap_or_default().to_owned(),
        )
    }

    fn zone(&self) -> Result<ZoneName, String> {
        let Some(name) = &self.time_zone else {
            return Ok(ZoneName::utc());
        };
        let zone = ZoneName::try_from(name.trim().to_owned());
        zone.map_err(|why| format!("time_zone: {why}, not {name:?}"))
    }

    /// Returns the EVSEs that were not removed.
    fn present_evses(&self) -> impl Iterator<Item = &Evse> {
        let evses = self.evses.iter();
        evses.filter(|evse| evse.status != EvseStatus::Removed)
    }

    /// Returns the connectors, each with its tariffs, and the number of tariffs that are ignored.
    fn connectors(&self) -> Result<(Vec<Connector>, Vec<TariffIds>, usize), String> {
        let (mut connectors, mut tariffs) = (Vec::new(), Vec::new());
        for evse in self.present_evses() {
            for connector in &evse.connectors {
                let supply = connector.supply();
                connectors.push(connector.of(evse, supply)?);
                tariffs.push(TariffIds {
                    ids: connector.tariff_ids.clone(),
                    supply,
                });
            }
        }
        match duplicate(&connectors) {
            Some(twice) => Err(format!("evses: two connectors are {twice}")),
            None => {
                let ignored = ignore_tariffs(&mut tariffs);
                Ok((connectors, tariffs, ignored))
            }
        }
    }

    fn capabilities(&self, access_24_7: bool) -> Capabilities {
        let can = |capability: &str| self.present_evses().any(|evse| evse.can(capability));
        let card = can("CREDIT_CARD_PAYABLE") || can("DEBIT_CARD_PAYABLE");
        let methods: &[&str] = if card { &["app", "card"] } else { &["app"] };
        let facilities = self.facilities.iter().take(MOST_FACILITIES);
        let amenities = facilities.map(|word| shortened(word, LONGEST_WORD).to_lowercase());
        Capabilities {
            access_24_7,
            amenities: amenities.collect(),
            payment_methods: methods.iter().map(|&name| name.to_owned()).collect(),
            requires_membership: false,
            reservable: can(RESERVABLE),
        }
    }
}

impl Coordinates {
    /// # Errors
    /// The coordinate that is beyond the poles or the date line.
    fn point(&self) -> Result<Point, String> {
        let degrees = |name: &str, degrees: Decimal, limit: i64| {
            let valid = degrees.abs() <= Decimal::from(limit);
            let number = degrees.to_f64().filter(|_| valid);
            number.ok_or_else(|| format!("{name}: {degrees} is beyond {limit} degrees"))
        };
        Ok(Point {
            latitude: degrees("coordinates.latitude", self.latitude, 90)?,
            longitude: degrees("coordinates.longitude", self.longitude, 180)?,
        })
    }
}

const RESERVABLE: &str = "RESERVABLE";
const TAKES_PROFILES: &str = "CHARGING_PROFILE_CAPABLE";

impl Evse {
    fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|other| other == capability)
    }
}

/// Returns the status of a location: `removed` if all its EVSEs are removed; `planned` if the others are all planned; `inactive` if it has
/// no EVSE, or if none of the others works or will work again (`INOPERATIVE`); otherwise `active`.
fn station_status(evses: &[Evse]) -> StationStatus {
    let all = |statuses: &[EvseStatus]| evses.iter().all(|evse| statuses.contains(&evse.status));
    if evses.is_empty() {
        StationStatus::Inactive
    } else if all(&[EvseStatus::Removed]) {
        StationStatus::Removed
    } else if all(&[EvseStatus::Removed, EvseStatus::Planned]) {
        StationStatus::Planned
    } else if all(&[
        EvseStatus::Removed,
        EvseStatus::Planned,
        EvseStatus::Inoperative,
    ]) {
        StationStatus::Inactive
    } else {
        StationStatus::Active
    }
}

impl OcpiConnector {
    fn of(&self, evse: &Evse, supply: Supply) -> Result<Connector, String> {
        // Both are parts of keys, whose size is limited.
        let is_long = |id: &str| id.chars().count() > LONGEST_ID;
        if is_long(&evse.uid) || is_long(&self.id) {
            return Err(format!(
                "evses: a uid or the id of a connector has more than {LONGEST_ID} characters"
            ));
        }
        let id = format!("{}-{}", evse.uid, self.id);
        let watts = match (self.max_electric_power, self.max_amperage) {
            (Some(watts), _) => watts,
            (None, Some(amperes)) if self.voltage().is_some() => amperes
                .checked_mul(supply.watts_per_ampere)
                .ok_or_else(|| format!("connector {id}: its power is too large"))?,
            _ => {
                return Err(format!(
                    "connector {id}: neither max_electric_power nor max_voltage and max_amperage"
                ));
            }
        };
        if watts <= Decimal::ZERO {
            return Err(format!("connector {id}: its power is {watts} W"));
        }
        let text = |text: &Option<String>, most: usize| Some(shortened(text.as_deref()?, most));
        Ok(Connector {
            evse: evse.uid.clone(),
            evse_id: text(&evse.evse_id, LONGEST_EVSE_ID),
            physical_reference: text(&evse.physical_reference, LONGEST_REFERENCE),
            power: kilowatts(watts),
            pricing: Vec::new(),
            reservable: evse.can(RESERVABLE),
            status: evse.status.connector_status(),
            plug: plug(&self.standard),
            id,
        })
    }

    /// Returns the stated voltage, if it is possible.
    fn voltage(&self) -> Option<Decimal> {
        self.max_voltage.filter(|volts| *volts > Decimal::ZERO)
    }

    /// Returns the voltage and the phases, or the values that result from the stated power and amperage; the usual voltage without either.
    fn supply(&self) -> Supply {
        let phases = match self.power_type.as_str() {
            "AC_3_PHASE" => Decimal::from(3),
            "AC_2_PHASE" | "AC_2_PHASE_SPLIT" => Decimal::TWO,
            _ => Decimal::ONE,
        };
        let stated = || {
            let amperes = self.max_amperage.filter(|amperes| *amperes > Decimal::ZERO);
            self.max_electric_power?.checked_div(amperes?)
        };
        let usual = || {
            if self.power_type.starts_with("AC") {
                Decimal::from(230) * phases
            } else {
                Decimal::from(400)
            }
        };
        let watts_per_ampere = self.voltage().map(|volts| volts * phases);
        Supply {
            watts_per_ampere: watts_per_ampere.or_else(stated).unwrap_or_else(usual),
        }
    }
}

/// Converts W to kW, rounded to 100 W.
fn kilowatts(watts: Decimal) -> f64 {
    let hundreds = (watts / Decimal::ONE_HUNDRED).to_f64().unwrap_or_default();
    hundreds.round() / 10.0
}

/// Returns an id that two of the connectors share, whatever its spelling.
fn duplicate(connectors: &[Connector]) -> Option<&str> {
    let mut ids = HashSet::new();
    let mut connectors = connectors.iter().map(|connector| connector.id.as_str());
    connectors.find(|id| !ids.insert(id.to_ascii_lowercase()))
}

/// Removes the tariffs beyond the first [`MAX_TARIFFS`] of a location. Returns how many different ones were removed.
fn ignore_tariffs(tariffs: &mut [TariffIds]) -> usize {
    let (mut used, mut ignored) = (HashSet::new(), HashSet::new());
    for TariffIds { ids, .. } in tariffs {
        ids.retain(|id| {
            let is_used = used.contains(id) || used.len() < MAX_TARIFFS;
            let known = if is_used { &mut used } else { &mut ignored };
            known.insert(id.clone());
            is_used
        });
    }
    ignored.len()
}

fn plug(standard: &str) -> Plug {
    match standard {
        "CHADEMO" => Plug::Matched(ConnectorType::Chademo),
        "IEC_62196_T1_COMBO" | "IEC_62196_T2_COMBO" => Plug::Matched(ConnectorType::Ccs),
        "IEC_62196_T2" => Plug::Matched(ConnectorType::Type2),
        other => Plug::Other(shortened(other, LONGEST_WORD)),
    }
}

/// Returns the text cut to `most` characters.
fn shortened(text: &str, most: usize) -> String {
    text.trim().chars().take(most).collect()
}

/// Returns a text that an address must have; `-` if the location has none.
fn required<const MAX: usize>(text: Option<&str>) -> Result<Text<MAX>, String> {
    shortened(text.unwrap_or("-"), MAX).try_into()
}

/// Returns whether access is round the clock, and the hours by day. A location without a statement counts as always open.
fn opening_hours(hours: Option<&Hours>) -> Result<(bool, Vec<OpeningHours>), String> {
    match hours {
        Some(hours) if !hours.twentyfourseven => {
            let line = |line: &RegularHours| {
                let place = line.weekday.to_usize().and_then(|day| day.checked_sub(1));
                let day = place.filter(|_| line.weekday.is_integer());
                let day = day.and_then(|place| Weekday::ALL.get(place));
                Ok(OpeningHours {
                    day: *day.ok_or_else(|| format!("weekday {} is not 1 to 7", line.weekday))?,
                    from: time_of_day(&line.period_begin)?,
                    until: time_of_day(&line.period_end)?,
                })
            };
            let lines: Result<_, String> = hours.regular_hours.iter().map(line).collect();
            let lines = lines.map_err(|why| format!("opening_times.regular_hours: {why}"))?;
            Ok((false, lines))
        }
        _ => {
            let whole = |day: &Weekday| OpeningHours {
                day: *day,
                from: "00:00".into(),
                until: "00:00".into(),
            };
            Ok((true, Weekday::ALL.iter().map(whole).collect()))
        }
    }
}

/// Returns the hours at which a station is open. Its connectors are not counted yet.
fn availability(hours: Option<&Hours>, opening_hours: Vec<OpeningHours>) -> Availability {
    Availability {
        connectors_available: 0,
        connectors_total: 0,
        exceptional_closings: ranges(hours.map(|hours| &hours.exceptional_closings)),
        exceptional_openings: ranges(hours.map(|hours| &hours.exceptional_openings)),
        opening_hours,
        range: Vec::new(),
    }
}

/// Returns the periods, in order. A period that ends before it begins is ignored.
fn ranges(periods: Option<&Vec<ExceptionalPeriod>>) -> Vec<Range> {
    let range = |period: &ExceptionalPeriod| Range {
        from: period.period_begin,
        until: period.period_end,
    };
    let periods = periods.into_iter().flatten().map(range);
    let mut ranges: Vec<Range> = periods.filter(|range| range.from < range.until).collect();
    ranges.sort_by_key(|range| (range.from, range.until));
    ranges
}

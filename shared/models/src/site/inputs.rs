//! The inputs of the plan of a site: its vehicles, their sessions, the prices, and the power that its stations offer.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::series::{SiteDay, SiteSeries, value_at};
use crate::charging::simulation::offered;
use crate::charging::tariff::energy_price;
use crate::charging_session::profile::SessionProfile;
use crate::charging_station::{ChargingStation, Price, PriceType};
use crate::departure::Departure;
use crate::vehicle::{ConnectorType, Vehicle};
use crate::vehicle_telemetry::{self, UNKNOWN_LEVEL, VehicleTelemetry};
use kernel::time::{HOUR, minutes};
use kernel::{Currency, Id, SignedDuration, Timestamp, Window};

/// The time until the first profile of a session is in force.
const STARTING: SignedDuration = minutes(5);

/// The time for which a vehicle is assumed to follow its profile without a report of the network.
const UNREPORTED: SignedDuration = HOUR;

/// A session of a vehicle of the site at a station of the site. A simulated one follows no plan.
#[derive(Debug, Clone)]
pub struct SiteSession {
    pub id: Id,
    pub vehicle: Id,
    /// False once it has ended.
    pub is_active: bool,
    /// Whether the vehicle has stopped drawing energy by itself, and not because its profile has 0 W.
    pub is_parked: bool,
    /// The maximum power in W of the vehicle at the connector.
    pub power: u32,
    /// Wh that the network has reported, and when they were measured. The energy of a simulated session is that of the present moment.
    pub energy: u32,
    pub reported: Timestamp,
    /// Whether its charging point and its network support charging profiles.
    pub takes_profiles: bool,
    pub profile: Option<SessionProfile>,
}

impl SiteSession {
    /// Checks whether the vehicle draws energy.
    pub fn is_charging(&self) -> bool {
        self.is_active && !self.is_parked
    }

    /// Checks whether the session follows a profile, or will once its first one is accepted.
    pub(super) fn is_limited(&self) -> bool {
        self.takes_profiles
            && self
                .profile
                .as_ref()
                .is_none_or(|profile| !profile.has_failed())
    }

    /// Checks whether a profile is in force, so that another one can reduce the power.
    pub(super) fn is_reducible(&self) -> bool {
        self.is_limited() && self.has_accepted()
    }

    /// Returns the Wh that have flowed since the last report by the profile in force, which the vehicle is assumed to follow: networks
    /// report rarely. Without a report this is assumed for an hour.
    pub(super) fn assumed(&self, now: Timestamp) -> u32 {
        let follows = self.is_reducible() && !self.is_parked;
        let profile = self.profile.as_ref().filter(|_| follows);
        let since = Window {
            from: self.reported.max(now.plus(-UNREPORTED)),
            until: now,
        };
        let accepted = profile.and_then(|profile| profile.accepted.as_ref());
        accepted.map_or(0, |accepted| accepted.energy(&since))
    }

    /// Returns the maximum power in W in a window if the charging point keeps the accepted profile, whether or not it accepts later ones.
    pub(super) fn most_possible(&self, window: &Window) -> u32 {
        let profile = self.profile.as_ref();
        let limit = profile.and_then(|profile| profile.most_possible(window));
        limit.unwrap_or(self.power).min(self.power)
    }

    /// Checks whether a profile is in force.
    pub(super) fn has_accepted(&self) -> bool {
        let profile = self.profile.as_ref();
        profile.is_some_and(|profile| profile.accepted.is_some())
    }

    /// Returns the maximum power in W in a window, whether or not the network accepts profiles that are in flight.
    pub(super) fn most(&self, window: &Window) -> u32 {
        let limit = self
            .profile
            .as_ref()
            .and_then(|profile| profile.most(window));
        limit.unwrap_or(self.power).min(self.power)
    }
}

/// A session at a network's station of the site that has not begun.
#[derive(Debug, Clone)]
pub struct PendingStart {
    pub session: Id,
    /// The maximum power in W of the vehicle at the connector.
    pub power: u32,
    /// Whether START_SESSION was sent.
    pub is_sent: bool,
}

/// The mechanism by which the vehicles follow the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The simulation, in test mode at a site without stations of networks: every vehicle without a session charges as planned.
    Simulation,
    /// Charging profiles of sessions at stations of networks.
    Profiles,
    /// None: no station supports charging profiles.
    None,
}

/// A vehicle of the site.
#[derive(Debug, Clone)]
pub struct SiteVehicle {
    pub vehicle: Vehicle,
    /// The scheduled departures from the site, in the order of their time.
    pub departures: Vec<Departure>,
    pub telemetry: Option<VehicleTelemetry>,
    /// Whether the last level was reported by the vehicle, and not by a simulation.
    pub has_reported: bool,
    /// The session in which it charges, and the last one of the plan in force.
    pub sessions: Vec<SiteSession>,
    /// The same at stations elsewhere, if the vehicles of the site are simulated.
    pub elsewhere: Vec<SiteSession>,
}

/// The inputs of a plan besides the site.
#[derive(Debug, Clone)]
pub struct PlanInputs {
    pub execution: Execution,
    pub vehicles: Vec<SiteVehicle>,
    /// Active sessions at the site's stations that get no profile, and that the account can stop: those of vehicles that do not belong to
    /// the site, and a second one of a vehicle. Their EVSEs are among the reserved ones. Empty if the vehicles are simulated.
    pub others: Vec<SiteSession>,
    /// Sessions that have not begun: first those whose START_SESSION was sent, then the others in order of creation.
    pub starts: Vec<PendingStart>,
    pub days: Vec<SiteDay>,
    /// The time zone of the site.
    pub zone: TimeZone,
    /// The tariff of the stations, which applies at times for which the site has no prices.
    pub tariff: Option<SiteTariff>,
    /// W of the strongest connector in order of each type; 0 if none is in order. None for a site without stations, which has the
    /// connectors that its vehicles need.
    pub offered: Option<HashMap<ConnectorType, u32>>,
    /// Reserved EVSEs: the times, and the W of the strongest connector of each. An EVSE serves one vehicle at a time.
    pub reserved: Vec<(Vec<Window>, u32)>,
}

impl SiteVehicle {
    /// Returns the next scheduled departure.
    pub fn next(&self) -> Option<&Departure> {
        self.departures.first()
    }

    /// Returns a scheduled departure.
    pub(super) fn departure(&self, id: &Id) -> Option<&Departure> {
        let mut all = self.departures.iter();
        all.find(|departure| departure.id == *id)
    }

    fn battery(&self) -> Option<&vehicle_telemetry::Battery> {
        let telemetry = self.telemetry.as_ref()?;
        telemetry.battery.as_ref()
    }

    /// Returns the last level in percent, or that of a vehicle whose level is unknown if it was read too long ago.
    pub(super) fn level(&self, now: Timestamp) -> f64 {
        let telemetry = self.telemetry.as_ref();
        let level = telemetry.and_then(|telemetry| telemetry.recent_level(now));
        level.unwrap_or(UNKNOWN_LEVEL)
    }

    /// Returns the time at which the vehicle reported its level; None if the level was simulated.
    pub(super) fn reported(&self) -> Option<Timestamp> {
        let battery = self.battery().filter(|_| self.has_reported);
        battery.map(|battery| battery.updated)
    }

    /// Returns the session in which the vehicle charges.
    pub(super) fn session(&self) -> Option<&SiteSession> {
        self.sessions.iter().find(|session| session.is_active)
    }

    /// Returns the session in which the vehicle charges at a station elsewhere: it takes nothing at the site meanwhile.
    pub(super) fn session_elsewhere(&self) -> Option<&SiteSession> {
        self.elsewhere.iter().find(|session| session.is_active)
    }

    /// Returns the power in W that a session may use in a window in addition to the plan, because its first profile is not in force.
    pub(super) fn starting(&self, now: Timestamp, window: &Window) -> u64 {
        let session = self.session().filter(|session| session.is_limited());
        let starts = session.filter(|session| !session.has_accepted());
        let is_soon = window.from < now.plus(STARTING);
        starts
            .filter(|_| is_soon)
            .map_or(0, |session| session.power.into())
    }
}

/// The tariff of a station, whose energy prices are those of a site without prices.
#[derive(Debug, Clone)]
pub struct SiteTariff {
    pricing: Vec<Price>,
    currency: Currency,
    zone: TimeZone,
    /// W of the strongest connector.
    power: u32,
}

impl SiteTariff {
    /// Returns the energy price at a moment in thousandths of a minor unit per kWh, with tax. Of prices that depend on the course of a
    /// session it is that of the beginning.
    fn price(&self, at: Timestamp) -> Option<i64> {
        let price = energy_price(&self.pricing, self.currency, at, &self.zone, self.power)?;
        (price.gross() * Decimal::ONE_THOUSAND).round().to_i64()
    }
}

/// Returns the tariff of the first station that has an energy price in this currency.
pub fn tariff(stations: &[ChargingStation], currency: Currency) -> Option<SiteTariff> {
    let is_energy_price = |price: &Price| {
        price.kind == PriceType::Energy && price.currency == currency && !price.is_for_reservation()
    };
    let mut stations = stations.iter();
    let station = stations.find(|station| station.pricing.iter().any(is_energy_price))?;
    let powers = station.connectors.iter().map(offered);
    Some(SiteTariff {
        pricing: station.pricing.clone(),
        currency,
        zone: station.timezone.rules(),
        power: powers.max().unwrap_or_default(),
    })
}

/// Returns the power in W of the strongest connector of each type that is in order: 0 if none is.
pub fn strongest<'a>(
    stations: impl IntoIterator<Item = &'a ChargingStation>,
) -> HashMap<ConnectorType, u32> {
    let mut strongest = HashMap::new();
    for station in stations {
        for connector in &station.connectors {
            let Some(plug) = connector.connector_type() else {
                continue;
            };
            let most: &mut u32 = strongest.entry(plug).or_default();
            if station.is_in_order(&connector.id) {
                *most = offered(connector).max(*most);
            }
        }
    }
    strongest
}

impl PlanInputs {
    /// Checks whether every vehicle without a session charges as planned, because it is simulated.
    pub fn is_simulated(&self) -> bool {
        self.execution == Execution::Simulation
    }

    pub(super) fn price(&self, at: Timestamp) -> Option<(i64, bool)> {
        let known = value_at(&self.days, SiteSeries::Prices, at, &self.zone);
        known.or_else(|| Some((self.tariff.as_ref()?.price(at)?, false)))
    }

    pub(super) fn carbon(&self, at: Timestamp) -> Option<i64> {
        value_at(&self.days, SiteSeries::Carbon, at, &self.zone).map(|(value, _)| value)
    }

    pub(super) fn reserved(&self, window: &Window) -> u64 {
        let overlapping = self
            .reserved
            .iter()
            .filter(|(times, _)| times.iter().any(|time| time.overlaps(window)));
        overlapping.map(|(_, power)| u64::from(*power)).sum()
    }

    pub(super) fn offered(&self, vehicle: &SiteVehicle) -> u32 {
        if let Some(session) = vehicle.session() {
            return session.power;
        }
        let plug = vehicle.vehicle.charging_standard;
        let Some(offered) = &self.offered else {
            return u32::MAX;
        };
        offered.get(&plug).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use serde_json::{Value, json};

    fn price(price: i64, currency: &str, restrictions: Value) -> Value {
        json!({"currency": currency, "price": price, "step_size": 1, "tax": "vat", "tax_included": false, "tax_percent": "20",
            "type": "ENERGY", "restrictions": restrictions})
    }

    #[test]
    fn a_tariff_has_the_price_of_the_local_hour() {
        let night = json!({"start_time": "23:00", "end_time": "06:00"});
        let pricing = json!([
            price(1, "eur", json!({})),
            price(2, "gbp", json!({"reservation": "RESERVATION"})),
            price(3, "gbp", json!({"min_energy": 20_000})),
            price(10, "gbp", night),
            price(30, "gbp", json!({"day_of_week": ["sat", "sun"]})),
            price(
                40,
                "gbp",
                json!({"start_date": "2026-07-01", "end_date": "2026-07-10", "start_time": "06:00"})
            ),
        ]);
        let mut without = fixtures::station();
        without.pricing.clear();
        let mut station = fixtures::station();
        station.pricing = serde_json::from_value(pricing).unwrap();
        let currency = serde_json::from_value(json!("gbp")).unwrap();
        assert!(tariff(std::slice::from_ref(&without), currency).is_none());
        let tariff = tariff(&[without, station], currency).unwrap();
        // In July London is an hour ahead of UTC; the 4th of July 2026 is a Saturday.
        for (at, want) in [
            ("2026-07-01T21:59:00Z", Some(48_000)),
            ("2026-07-01T22:00:00Z", Some(12_000)),
            ("2026-07-02T04:59:00Z", Some(12_000)),
            ("2026-07-02T05:00:00Z", Some(48_000)),
            ("2026-07-04T11:00:00Z", Some(36_000)),
            ("2026-07-04T22:00:00Z", Some(12_000)),
            ("2026-07-14T11:00:00Z", None),
        ] {
            assert_eq!(tariff.price(Timestamp::parse(at).unwrap()), want, "{at}");
        }
    }
}

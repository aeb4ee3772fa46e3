//! The inputs of the plan of a site, and the energy that a vehicle still needs until its next departure.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::series::{SLOT, SiteDay, SiteSeries, value_at};
use crate::charging::battery::{Battery, MILLIS_PER_HOUR};
use crate::charging::simulation::offered;
use crate::charging::tariff::energy_price;
use crate::charging_session::profile::SessionProfile;
use crate::charging_station::{ChargingStation, Price, PriceType};
use crate::departure::{Departure, DepartureOutcome};
use crate::vehicle::{ConnectorType, Vehicle};
use crate::vehicle_telemetry::{self, UNKNOWN_LEVEL, VehicleTelemetry};
use kernel::time::{HOUR, minutes, whole_millis};
use kernel::{Currency, Id, SignedDuration, Timestamp, Window};

/// A level that differs from the plan by less than this number of points is noise, and so is an energy below this number of Wh.
const NOISE: f64 = 3.0;
pub(super) const TOLERANCE: u32 = 20;

/// The time until the first profile of a session is in force.
const STARTING: SignedDuration = minutes(5);

/// The time for which a vehicle is assumed to follow its profile without a report of the network.
const UNREPORTED: SignedDuration = HOUR;

/// The energy that a vehicle still needs until its next departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    pub vehicle: Id,
    pub departure: Id,
    pub at: Timestamp,
    /// The metered Wh that are still needed, and the part of them that has priority.
    pub(super) need: u32,
    pub(super) minimum: u32,
    /// The Wh of the departure for which the battery has no room.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) excess: u32,
    /// Metered Wh, and their price in millionths of a minor unit.
    pub(super) delivered: u32,
    pub(super) cost: i64,
    pub(super) carbon: i64,
    /// The time of the first plan: charging at once would have begun then.
    pub(super) first_planned: Timestamp,
    /// The cost of charging at once, in millionths of a minor unit.
    pub(super) immediate: i64,
    /// Percent.
    pub level: f64,
    /// The time of the report of the level on which the charge is based.
    based: Timestamp,
    /// Metered Wh in the rest of the slot.
    pub(super) flow: u32,
    /// The session in which the vehicle charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metered: Option<Metered>,
    /// Whether energy has flowed at a time without a price, so that the cost is unknown.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) is_unpriced: bool,
    /// Whether the vehicle has another departure before this one. Its level after that departure is unknown.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) is_later: bool,
    /// Whether the need has changed since `immediate` was computed.
    #[serde(skip)]
    pub(super) is_rebased: bool,
}

/// The session in which a vehicle charges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Metered {
    session: Id,
    /// The Wh of the session that are accounted for.
    energy: u32,
    /// Whether the charging point follows no profile.
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    is_unlimited: bool,
}

/// A session of a vehicle of the site at a station of the site. A simulated one follows no plan.
#[derive(Debug, Clone)]
pub struct SiteSession {
    pub id: Id,
    pub vehicle: Id,
    /// False once it has ended.
    pub is_active: bool,
    /// Whether the vehicle has stopped drawing energy.
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

/// The reason why a vehicle will not have the energy that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShortageReason {
    /// The vehicle cannot charge that much until its departure.
    Time,
    /// The limits of the site, or the power that is reserved there.
    Limit,
    /// The connectors of the site are too weak, or out of order.
    Power,
    /// The battery cannot hold this energy.
    Battery,
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
    fn level(&self, now: Timestamp) -> f64 {
        let telemetry = self.telemetry.as_ref();
        let level = telemetry.and_then(|telemetry| telemetry.recent_level(now));
        level.unwrap_or(UNKNOWN_LEVEL)
    }

    /// Returns the time at which the vehicle reported its level; None if the level was simulated.
    fn reported(&self) -> Option<Timestamp> {
        let battery = self.battery().filter(|_| self.has_reported);
        battery.map(|battery| battery.updated)
    }

    /// Returns the charge for a departure. Its level is that of the vehicle's charge `before`, unless the vehicle has reported another one
    /// since.
    pub(super) fn charge(
        &self,
        departure: &Departure,
        before: Option<&Charge>,
        now: Timestamp,
    ) -> Charge {
        let battery = Battery::of(&self.vehicle);
        let before = before.filter(|charge| self.reported().is_none_or(|at| at <= charge.based));
        let level = before.map_or_else(|| self.level(now), |charge| charge.level);
        let until = |target| battery.energy_between(Some(level), target);
        let target = departure.target_level.map_or(0, until);
        let wanted = departure.energy_wh.unwrap_or(target);
        let need = wanted.min(until(100.0));
        Charge {
            vehicle: self.vehicle.id.clone(),
            departure: departure.id.clone(),
            at: departure.at,
            need,
            minimum: departure.min_level.map_or(0, until).min(need),
            excess: wanted - need,
            delivered: 0,
            cost: 0,
            carbon: 0,
            first_planned: now,
            immediate: 0,
            level,
            based: before.map_or_else(|| self.reported().unwrap_or(now), |charge| charge.based),
            flow: 0,
            metered: None,
            is_unpriced: false,
            is_later: false,
            is_rebased: false,
        }
    }

    /// Returns the session in which the vehicle charges.
    pub(super) fn session(&self) -> Option<&SiteSession> {
        self.sessions.iter().find(|session| session.is_active)
    }

    /// Returns the session in which the vehicle charges at a station elsewhere: it takes nothing at the site meanwhile.
    pub(super) fn session_elsewhere(&self) -> Option<&SiteSession> {
        self.elsewhere.iter().find(|session| session.is_active)
    }

    /// Returns the Wh that the vehicle charges in each window regardless of the plan: in a session without a profile in force, until the
    /// battery is full; in a session that is not planned, what its profile allows. None for a vehicle that charges as planned.
    pub(super) fn forced(&self, charge: Option<&Charge>, windows: &[Window]) -> Option<Vec<u32>> {
        let session = self.session()?;
        if charge.is_some() && session.is_limited() {
            return None;
        }
        let now = windows.first()?.from;
        let level = charge.map_or_else(|| self.level(now), |charge| charge.level);
        let battery = Battery::of(&self.vehicle);
        let has_limit = session.is_limited() && session.profile.is_some();
        let mut left = battery.energy_between(Some(level), 100.0);
        // A vehicle that charges although its level says that it is full has a wrong level.
        if has_limit || left == 0 {
            left = u32::MAX;
        }
        let flows = windows.iter().enumerate().map(|(place, window)| {
            // Rounded up, because it is subtracted from the limits.
            let most = match session.most(window) {
                0 => 0,
                power => energy(power.into(), window) + 1,
            };
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            // A vehicle that charges is not full, regardless of its last level.
            let flow = match place {
                _ if session.is_parked => 0,
                0 => most,
                _ => most.min(left),
            };
            left = left.saturating_sub(flow);
            flow
        });
        Some(flows.collect())
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

    /// Returns the minimum energy in Wh with which the vehicle charges in each window, at most the `most` that it can charge.
    pub(super) fn least(&self, offered: u32, windows: &[Window], most: &[u32]) -> Vec<u32> {
        let power = Battery::of(&self.vehicle).lowest_power(offered);
        let least = windows.iter().zip(most).map(|(window, most)| {
            // Rounded up: the power of a profile is rounded down.
            let energy = u64::from(power).min(1) + energy(power.into(), window);
            u32::try_from(energy).unwrap_or(u32::MAX).min(*most)
        });
        least.collect()
    }

    /// Returns the maximum power in W of the vehicle at a connector that offers this power in W.
    pub(super) fn power(&self, offered: u32, charge: &Charge) -> u32 {
        Battery::of(&self.vehicle)
            .charge(offered, Some(charge.level))
            .power
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
            if station.is_reservable(&connector.id) {
                *most = offered(connector).max(*most);
            }
        }
    }
    strongest
}

/// Returns the Wh of a power in W in a window, rounded down.
pub(super) fn energy(power: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(0);
    power.saturating_mul(millis.unsigned_abs()) / MILLIS_PER_HOUR
}

/// Returns the highest power in whole W that delivers at most this energy in Wh in a window.
pub(super) fn whole_power(energy: u32, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    u64::from(energy) * MILLIS_PER_HOUR / millis.unsigned_abs()
}

/// Returns the average power in W of this energy in Wh in a window, rounded up.
pub(super) fn power(energy: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    (energy * MILLIS_PER_HOUR).div_ceil(millis.unsigned_abs())
}

impl PlanInputs {
    /// Checks whether every vehicle without a session charges as planned, because it is simulated.
    pub fn is_simulated(&self) -> bool {
        self.execution == Execution::Simulation
    }

    pub(super) fn vehicle(&self, charge: &Charge) -> Option<&SiteVehicle> {
        let mut all = self.vehicles.iter();
        all.find(|vehicle| vehicle.vehicle.id == charge.vehicle)
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

impl Charge {
    /// Returns the session in which the vehicle charges.
    pub fn session(&self) -> Option<&Id> {
        self.metered.as_ref().map(|metered| &metered.session)
    }

    /// Adds what was charged for the departure before, when its charge was not planned for a time.
    pub(super) fn resume(&mut self, before: Charge, departure: &Departure) {
        if departure.energy_wh.is_some() {
            let wanted = before.wanted();
            // The present need is at most what the battery has room for.
            self.need = self.need.min(wanted);
            self.excess = wanted - self.need;
            self.minimum = self.minimum.min(self.need);
        }
        *self = Self {
            delivered: before.delivered,
            cost: before.cost,
            carbon: before.carbon,
            first_planned: before.first_planned,
            immediate: before.immediate,
            metered: before.metered,
            is_unpriced: before.is_unpriced,
            ..self.clone()
        };
    }

    /// Returns the charge of a departure that another departure of the vehicle precedes.
    pub(super) fn later(self) -> Self {
        Self {
            metered: None,
            is_later: true,
            ..self
        }
    }

    /// Checks whether anything was charged for the departure, or may be in the present session.
    pub(super) fn has_begun(&self) -> bool {
        self.delivered > 0 || self.metered.is_some()
    }

    /// Returns the Wh that are still needed, whether or not the battery has room for them.
    fn wanted(&self) -> u32 {
        self.need.saturating_add(self.excess)
    }

    /// Subtracts Wh from the need, and raises the level by them. Returns the part of them that was needed.
    fn receive(&mut self, energy: u32, inputs: &PlanInputs) -> u32 {
        let energy = energy.min(self.wanted());
        let planned = energy.min(self.need);
        self.need -= planned;
        self.excess -= energy - planned;
        self.minimum = self.minimum.saturating_sub(energy);
        if let Some(vehicle) = inputs.vehicle(self) {
            let share = Battery::of(&vehicle.vehicle).share_of(energy);
            self.level = (self.level + share).min(100.0);
        }
        energy
    }

    /// Accounts for metered Wh at a moment.
    fn take(&mut self, energy: u32, inputs: &PlanInputs, at: Timestamp) {
        let energy = self.receive(energy, inputs);
        self.delivered += energy;
        match inputs.price(at) {
            Some((price, _)) => {
                let cost = i64::from(energy).saturating_mul(price);
                self.cost = self.cost.saturating_add(cost);
            }
            None => self.is_unpriced |= energy > 0,
        }
        self.carbon += i64::from(energy) * inputs.carbon(at).unwrap_or_default();
    }

    /// Accounts for the part of the flow of a window until a moment. The energy of a session is metered instead.
    pub(super) fn settle(&mut self, window: &Window, now: Timestamp, inputs: &PlanInputs) {
        let vehicle = inputs.vehicle(self);
        let session = vehicle.and_then(|vehicle| vehicle.session().or(vehicle.session_elsewhere()));
        if self.metered.is_some() || session.is_some() {
            return;
        }
        let length = whole_millis(window.until.since(window.from)).max(1);
        let elapsed = whole_millis(now.min(window.until).since(window.from)).clamp(0, length);
        let energy = u64::from(self.flow) * elapsed.unsigned_abs() / length.unsigned_abs();
        let energy = u32::try_from(energy).unwrap_or(u32::MAX);
        self.flow -= energy;
        self.take(energy, inputs, window.from);
    }

    /// Accounts for the energy of the vehicle's sessions since a moment, as the network has reported it. For a new charge that is the
    /// energy that flows from now on. The site does not deliver energy that flows elsewhere. Returns whether a session has begun or ended,
    /// or follows its profile and did not before, or the reverse.
    pub(super) fn meter(
        &mut self,
        vehicle: &SiteVehicle,
        inputs: &PlanInputs,
        since: Option<Timestamp>,
    ) -> bool {
        let before = self.metered.take();
        let mut counted = before.clone();
        let here = vehicle.sessions.iter().map(|session| (session, true));
        let elsewhere = vehicle.elsewhere.iter().map(|session| (session, false));
        let (active, ended): (Vec<_>, Vec<_>) = here
            .chain(elsewhere)
            .partition(|(session, _)| session.is_active);
        for (session, is_here) in ended.into_iter().chain(active.first().copied()) {
            let same = counted
                .as_ref()
                .filter(|metered| metered.session == session.id);
            let start = if since.is_some() { 0 } else { session.energy };
            let last = same.map_or(start, |metered| metered.energy);
            let counts = same.is_some() || session.is_active;
            if let Some(since) = since.filter(|_| counts) {
                let risen = session.energy.saturating_sub(last);
                if is_here {
                    self.take(risen, inputs, since);
                } else {
                    self.receive(risen, inputs);
                }
            }
            counted = session.is_active.then(|| Metered {
                session: session.id.clone(),
                energy: session.energy.max(last),
                is_unlimited: !session.is_limited(),
            });
        }
        self.metered = counted.filter(|_| !active.is_empty());
        let control = |metered: &Option<Metered>| {
            let metered = metered.as_ref();
            metered.map(|metered| (metered.session.clone(), metered.is_unlimited))
        };
        control(&before) != control(&self.metered)
    }

    /// Applies the level that the vehicle has reported since. Returns whether it differs from the plan.
    pub(super) fn rebase(
        &mut self,
        vehicle: &SiteVehicle,
        departure: &Departure,
        is_simulated: bool,
        now: Timestamp,
    ) -> bool {
        let is_metered = is_simulated || self.metered.is_some();
        let Some(reported) = vehicle.reported().filter(|at| *at > self.based) else {
            return false;
        };
        self.based = reported;
        let level = vehicle.level(now);
        if (level - self.level).abs() <= NOISE {
            return false;
        }
        let battery = Battery::of(&vehicle.vehicle);
        let risen = battery.energy_between(Some(self.level), level);
        self.level = level;
        let wanted = match departure.target_level {
            Some(target) => battery.energy_between(Some(level), target),
            None if !is_metered => self.wanted().saturating_sub(risen),
            None => self.wanted(),
        };
        self.need = wanted.min(battery.energy_between(Some(level), 100.0));
        self.excess = wanted - self.need;
        let minimum = departure.min_level.unwrap_or_default();
        self.minimum = battery.energy_between(Some(level), minimum).min(self.need);
        self.is_rebased = true;
        true
    }

    /// Returns the charge without its delivery: with the whole need and the level of the vehicle before it.
    pub(super) fn undelivered(&self, vehicle: &SiteVehicle) -> Self {
        let share = Battery::of(&vehicle.vehicle).share_of(self.delivered);
        Self {
            need: self.need.saturating_add(self.delivered),
            level: (self.level - share).max(0.0),
            ..self.clone()
        }
    }

    pub(super) fn outcome(&self, inputs: &PlanInputs, currency: Currency) -> DepartureOutcome {
        let capacity = inputs
            .vehicle(self)
            .map(|vehicle| vehicle.vehicle.battery_capacity);
        // If the energy is not metered, the last level that was applied differs by at most 3 points.
        let is_metered = inputs.is_simulated() || self.metered.is_some() || self.delivered > 0;
        let tolerance = if is_metered {
            TOLERANCE
        } else {
            capacity.unwrap_or_default() / 25
        };
        let missing = self.wanted();
        let priced = is_metered && !self.is_unpriced && inputs.price(self.at.plus(-SLOT)).is_some();
        DepartureOutcome {
            short_by_wh: if missing > tolerance { missing } else { 0 },
            energy_wh: is_metered.then_some(self.delivered),
            cost: priced.then(|| minor_units(self.cost)),
            cost_if_immediate: priced.then(|| minor_units(self.immediate)),
            currency,
        }
    }
}

/// Converts millionths to whole units, rounded half away from zero.
pub(super) fn minor_units(millionths: i64) -> i64 {
    let half = 500_000 * millionths.signum();
    millionths.saturating_add(half) / 1_000_000
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

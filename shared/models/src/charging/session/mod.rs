//! The start and the end of charging sessions: the parties, the energy of simulated sessions (`simulated`), the effects of a
//! network's reports (`network`) and CDRs (`cdr`), and the time that others hold (`hold`). The life cycle is described in
//! [`crate::charging_session`].

mod by_card;
mod cdr;
mod cost;
mod hold;
mod network;
mod plausibility;
mod review;
mod simulated;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use super::battery::{Battery, Charge};
use super::calendar::Entry;
use super::effective_price::ChargingVehicle;
use super::footprint::Footprint;
use super::tariff::{self, Cost, Line};
use super::{opening_hours, plan, simulation};
use crate::charge_card::{CardStatus, ChargeCard};
use crate::charging_session::network::Total;
use crate::charging_session::{
    Charged, ChargingSession, CostSource, EndReason, EndsBy, Names, NetworkSession,
    NewChargingSession, Operator, SessionCost, SessionCostLine, SessionInternal, SessionState,
    Simulated, Start, StartedBy,
};
use crate::charging_station::{ChargingStation, Connector, ConnectorStatus, Price, StationStatus};
use crate::driver::Driver;
use crate::event_type::EventType;
use crate::fleet::Fleet;
use crate::network::{EvseId, ObjectId};
use crate::operation::Operation;
use crate::payment_method::PaymentMethod;
use crate::reservation::need::{LimitedBy, NOISE, Shortfall};
use crate::reservation::{LEAD, Reservation};
use crate::stored::Stored;
use crate::vehicle::Vehicle;
use crate::vehicle_telemetry::{Odometer, VehicleTelemetry};
use kernel::time::{DAY, SECOND, minutes};
use kernel::{Code, Currency, Error, Id, Kind, Result, SignedDuration, Timestamp, Window};

pub use by_card::CardSession;
pub use cdr::CdrOutcome;
pub use plausibility::{CLOCK_TOLERANCE, Plausibility};

/// The maximum duration of a session.
pub const MAX_DURATION: SignedDuration = DAY;

/// The time by which the hold of a parked vehicle is extended at once. It is less than the half hour before its window at which a
/// reservation is matched, so that a parked vehicle does not prevent others from reserving its connector.
pub const HOLD: SignedDuration = minutes(20);

impl SessionCostLine {
    pub(super) fn of(line: &Line) -> Self {
        Self {
            kind: line.kind,
            description: line.description().to_owned(),
            quantity: line.quantity.to_string(),
            unit: line.unit().to_owned(),
            unit_price: line.unit_price.to_string(),
            tax_included: line.tax_included,
            tax_percent: line.tax_percent.to_string(),
            net: line.net,
            tax: line.tax,
            gross: line.gross,
        }
    }
}

/// The driver, the vehicle, the station and everything else that a session depends on.
#[derive(Debug, Clone, Copy)]
pub struct Parties<'a> {
    pub station: &'a ChargingStation,
    /// The location of the station at its network.
    pub location: Option<&'a ObjectId>,
    pub connector: &'a Connector,
    pub driver: &'a Driver,
    /// The app card of the driver; None if it was not created yet, so that it is active.
    pub card: Option<&'a ChargeCard>,
    pub vehicle: &'a Vehicle,
    pub fleet: &'a Fleet,
    pub payment_method: Option<&'a PaymentMethod>,
    /// The vehicle's state of charge in percent, if it was read recently.
    pub battery_level: Option<f64>,
    /// The last reading of its odometer.
    pub odometer: Option<&'a Odometer>,
    /// The currency of the bill, if the station has prices in it.
    pub currency: Currency,
    /// How the station is operated.
    pub operation: Operation,
}

/// The entries of the calendars of the EVSE and the vehicle, from the day on which a session begins.
#[derive(Debug, Clone, Copy)]
pub struct CalendarEntries<'a> {
    pub evse: &'a [Entry],
    pub vehicle: &'a [Entry],
    /// The reservation that the session fulfils.
    pub arriving: Option<&'a Reservation>,
}

/// Returns the reservations for which this vehicle may be expected at a station now: from half an hour before their start, since they may be confirmed then.
pub fn expected(vehicle: &[Entry], now: Timestamp) -> Vec<Id> {
    let expected = vehicle.iter().filter(|entry| {
        entry.holder.is(Kind::Reservation)
            && entry.window.from.plus(-LEAD) <= now
            && now < entry.window.until
    });
    let mut holders: Vec<Id> = expected.map(|entry| entry.holder.clone()).collect();
    holders.dedup();
    holders
}

/// Returns whether a vehicle that comes early has to leave this EVSE to another one before its own reservation begins. It keeps the
/// reservation then.
pub fn leaves_early(reservation: &Reservation, evse: &[Entry], now: Timestamp) -> bool {
    let others = evse.iter().filter(|entry| entry.holder != reservation.id);
    let mut later = others.filter(|entry| now < entry.window.from);
    let window = reservation.window();
    window.is_some_and(|own| later.any(|entry| entry.window.from <= own.from))
}

/// Returns the window in which a session that begins now is expected to charge: that of the reservation it fulfils, for which the
/// price was accepted, or else the maximum duration of a session.
pub fn charging_window(reservation: Option<&Reservation>, now: Timestamp) -> Window {
    let reserved = reservation.and_then(Reservation::window);
    reserved.unwrap_or(Window {
        from: now,
        until: now.plus(MAX_DURATION),
    })
}

/// Returns the vehicle whose charge is priced when a session begins. `limit` is the maximum energy in Wh that the session charges, if it
/// has one.
///
/// If the session fulfils a reservation, it is the vehicle for which the price of the reserved connector was accepted: it has the level that
/// was known then, and charges the energy of the need that is planned. So policies that allowed the price do not refuse it because a
/// level was reported since; they refuse it only if the policies or the tariff have changed.
pub fn charging_vehicle(
    vehicle: &Vehicle,
    telemetry: Option<&VehicleTelemetry>,
    reservation: Option<&Stored<Reservation>>,
    limit: Option<NonZeroU32>,
    now: Timestamp,
) -> ChargingVehicle {
    let charging = match reservation {
        Some(reservation) => ChargingVehicle::at_level(vehicle, reservation.internal.planned_level),
        None => ChargingVehicle::new(vehicle, telemetry, now),
    };
    let reservation = reservation.map(|reservation| &reservation.object);
    let need = reservation.and_then(|reservation| Some((reservation, reservation.need.as_ref()?)));
    match (limit, need) {
        (Some(limit), _) => charging.limited_to(limit.get()),
        (None, Some((reservation, need))) => {
            let start = reservation.window().map(|window| window.from);
            let plan = reservation.charging_plan.as_ref();
            let plan = plan.filter(|plan| plan.from == start);
            let energy = plan.map_or(u32::MAX, |plan| reservation.energy_to_charge(plan));
            charging.for_need(need).limited_to(energy)
        }
        (None, None) => charging,
    }
}

impl Parties<'_> {
    /// Checks that a session may start.
    ///
    /// # Errors
    /// 400 if an object is not active, does not fit or does not belong to the others; `charging_session_conflict` if nothing
    /// operates the station, if it is not open, or if the driver's app card is not active.
    fn check(&self, now: Timestamp) -> Result<()> {
        self.check_drive()?;
        self.check_station(now)?;
        self.check_card()
    }

    /// Checks the card with which sessions are started through the API. A charging network would refuse its token.
    fn check_card(&self) -> Result<()> {
        let is_usable = |card: &ChargeCard| card.status == CardStatus::Active;
        if self.card.is_none_or(is_usable) {
            return Ok(());
        }
        Err(conflict("driver", "The driver's app card is not active."))
    }

    /// Checks the driver, the vehicle, its fleet and the payment method.
    fn check_drive(&self) -> Result<()> {
        if !self.driver.is_active() {
            return Err(Error::invalid("driver", "the driver is not active"));
        }
        if !self.vehicle.is_active() {
            return Err(Error::invalid("vehicle", "the vehicle is not active"));
        }
        if !self.fleet.is_active() {
            let message = "the vehicle's fleet is not active";
            return Err(Error::invalid("vehicle", message));
        }
        if !self.driver.may_drive(self.vehicle) {
            let message = "The driver is neither one of the vehicle's nor in its fleet.";
            return Err(Code::OwnerScopeInvalid.because(message).at("driver"));
        }
        let method = self.payment_method;
        if method.is_some_and(|method| !self.may_pay_with(method)) {
            let message = "The payment method belongs to another driver or fleet.";
            return Err(Code::PaymentMethodScopeInvalid
                .because(message)
                .at("payment_method"));
        }
        Ok(())
    }

    /// Checks the connector and its station.
    fn check_station(&self, now: Timestamp) -> Result<()> {
        if self.connector.connector_type() != Some(self.vehicle.charging_standard) {
            return Err(Error::invalid(
                "connector",
                "the connector does not fit the vehicle's charging_standard",
            ));
        }
        if !self.operation.is_operated() {
            let message = match self.station.network {
                Some(_) => "The station's charging network is not connected.",
                None => {
                    "The station is not connected to a charging network. In live mode a session can only be started at a \
                     connected station; test mode simulates charging."
                }
            };
            return Err(conflict("charging_station", message));
        }
        if self.station.status != StationStatus::Active {
            return Err(conflict("charging_station", "The station is not active."));
        }
        if !opening_hours::is_open_at(self.station, now) {
            return Err(conflict("charging_station", "The station is closed now."));
        }
        Ok(())
    }

    /// Checks whether the payment method belongs to the driver, to the vehicle's fleet or to the account.
    fn may_pay_with(&self, method: &PaymentMethod) -> bool {
        match (&method.driver, &method.fleet) {
            (Some(owner), _) => *owner == self.driver.id,
            (None, Some(owner)) => *owner == self.vehicle.fleet,
            (None, None) => true,
        }
    }

    /// Returns the vehicle's charge at the connector from its present level on.
    fn charge(&self) -> Charge {
        let battery = Battery::of(self.vehicle);
        battery.charge(simulation::offered(self.connector), self.battery_level)
    }

    /// Returns the metered Wh between the vehicle's present level and that of a reservation's need; None if one of them is not known.
    fn missing(&self, reservation: &Reservation) -> Option<u32> {
        let target = reservation.need.as_ref()?.target_level?;
        let battery = Battery::of(self.vehicle);
        Some(battery.energy_between(Some(self.battery_level?), target))
    }

    /// Returns what a session for a reservation by need cannot charge by the time at which the vehicle has to be ready; None if that is no
    /// more than its plan says, with a tolerance of 3 points. An unknown level counts as 20 %.
    pub fn shortfall(
        &self,
        reservation: &Reservation,
        session: &ChargingSession,
        now: Timestamp,
    ) -> Option<Shortfall> {
        let (need, plan) = (
            reservation.need.as_ref()?,
            reservation.charging_plan.as_ref()?,
        );
        let from_level =
            |target| Battery::of(self.vehicle).energy_between(self.battery_level, target);
        let missing = need.target_level.map(from_level).or(need.energy_wh)?;
        let ends = session
            .state
            .ends_by()
            .filter(|ends| ends.at < need.ready_by && ends.reason != EndReason::SessionLimit);
        let until = ends.map_or(need.ready_by, |ends| ends.at);
        let possible = self.charge().energy_after(until.since(now));
        let energy = u32::try_from(possible).unwrap_or(u32::MAX).min(missing);
        let short_by = missing - energy;
        let more = short_by.saturating_sub(plan.short_by_wh);
        let is_noise = Battery::of(self.vehicle).share_of(more) <= f64::from(NOISE) / 100.0;
        let limited_by = match ends.map(|ends| ends.reason) {
            Some(EndReason::Reservation) => LimitedBy::Bookings,
            _ => LimitedBy::Time,
        };
        let (station, connector, currency) = (self.station, self.connector, reservation.currency);
        (!is_noise).then(|| Shortfall {
            energy,
            short_by,
            limited_by,
            from: now,
            until,
            cost: plan::cost(station, connector, &self.charge(), energy, now, currency),
            carbon_g: Footprint::at(station).grams(energy),
        })
    }

    /// Returns the internal state of a session that begins at these prices.
    fn internal(
        &self,
        pricing: Vec<Price>,
        network: Option<NetworkSession>,
        shares_method: bool,
    ) -> SessionInternal {
        SessionInternal {
            evse: self.connector.evse.clone(),
            pricing,
            zone: Some(self.station.timezone.clone()),
            names: Names::of(self.driver, self.vehicle, self.station),
            odometer: self.odometer.map(Odometer::metres),
            network: network.map(Box::new),
            shares_method,
        }
    }

    /// Returns the simulation of a session that charges at most `limit` Wh, and has to leave the connector at `free_until`.
    fn simulation(
        &self,
        charge: &Charge,
        limit: Option<u32>,
        free_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Simulated {
        let room = Battery::of(self.vehicle).energy_between(self.battery_level, 100.0);
        let most_energy = room.min(limit.unwrap_or(u32::MAX));
        let parks = limit.is_none_or(|limit| limit > room);
        let charged = charge.time_until(most_energy).unwrap_or(MAX_DURATION);
        let charged = now.plus(charged.clamp(SECOND, MAX_DURATION));
        let latest = now.plus(MAX_DURATION);
        let ends = [
            (!parks).then_some((charged, EndReason::SessionLimit)),
            opening_hours::closes(self.station, now, latest)
                .map(|closes| (closes, EndReason::StationClosing)),
            free_until.map(|until| (until, EndReason::Reservation)),
        ];
        let ends = ends.into_iter().flatten();
        let (at, reason) = ends
            .min_by_key(|(at, _)| *at)
            .filter(|(at, _)| *at < latest)
            .unwrap_or((latest, EndReason::MaximumDuration));
        Simulated {
            held_until: at.min(charged),
            most_energy,
            parks,
            taper: charge.taper().map(|taper| Box::new(*taper)),
            ends_by: EndsBy { at, reason },
        }
    }
}

impl CalendarEntries<'_> {
    /// Returns the time until which the connector is free from now on; None if no later reservation exists.
    ///
    /// # Errors
    /// `charging_session_conflict` if the connector is busy, out of order or reserved for another vehicle now, or if the vehicle is
    /// charging.
    fn free_until(&self, connector: &Connector, now: Timestamp) -> Result<Option<Timestamp>> {
        // A session that began a moment after `now` was stored before this one, so its time counts as well.
        let holds = |entry: &&Entry| {
            let begun = entry.window.from <= now || entry.holder.is(Kind::ChargingSession);
            begun && now < entry.window.until
        };
        let mut charging = self.vehicle.iter().filter(holds);
        if charging.any(|entry| entry.holder.is(Kind::ChargingSession)) {
            return Err(conflict("vehicle", "The vehicle is charging already."));
        }
        let is_ours = |entry: &&Entry| {
            self.arriving
                .is_some_and(|reservation| entry.holder == reservation.id)
        };
        let others = || self.evse.iter().filter(|entry| !is_ours(entry));
        let ours = || self.evse.iter().filter(is_ours);
        match connector.status {
            ConnectorStatus::Available | ConnectorStatus::Reserved => {}
            ConnectorStatus::Occupied => {
                return Err(conflict("connector", "The connector's EVSE is occupied."));
            }
            ConnectorStatus::Unavailable | ConnectorStatus::Faulted | ConnectorStatus::Unknown => {
                return Err(conflict("connector", "The connector is out of order."));
            }
        }
        let set_aside = connector.status == ConnectorStatus::Reserved && ours().next().is_none();
        if set_aside || others().any(|entry| holds(&entry)) {
            return Err(conflict(
                "connector",
                "The connector is held for another vehicle, by a reservation or a session that begins.",
            ));
        }
        let later = others().map(|entry| entry.window.from);
        Ok(later.filter(|from| *from > now).min())
    }

    /// Returns the Wh at which the session stops by itself, unless another limit is `given`. A session for a reservation by need ends with
    /// the level of the need, from the present level on, or else with the energy of the reservation's plan.
    fn limit(&self, given: Option<NonZeroU32>, parties: &Parties<'_>) -> Option<u32> {
        let needed = || {
            let reservation = self.arriving?;
            let plan = reservation.charging_plan.as_ref()?;
            match parties.missing(reservation) {
                // A vehicle that has reached the level charges next to nothing.
                Some(missing) => Some(missing.max(1)),
                None => Some(reservation.energy_to_charge(plan)).filter(|energy| *energy > 0),
            }
        };
        given.map(NonZeroU32::get).or_else(needed)
    }
}

impl ChargingSession {
    /// Creates a session that begins now. If a network operates the station, the session is requested now.
    ///
    /// # Errors
    /// 400 if an object is not active, does not fit or does not belong to the others; `charging_session_conflict` if the connector
    /// or the vehicle is not free now, or if nothing operates the station.
    pub fn start(
        new: NewChargingSession,
        parties: &Parties<'_>,
        entries: &CalendarEntries<'_>,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        parties.check(now)?;
        let free_until = entries.free_until(parties.connector, now)?;
        let Parties {
            station,
            connector,
            vehicle,
            ..
        } = parties;
        let charge = parties.charge();
        let limit = entries.limit(new.session_limit, parties);
        let simulated = parties.simulation(&charge, limit, free_until, now);
        let card = ChargeCard::app_card_of(parties.driver);
        let of_network = network_session(parties.location, station, connector, card)
            .filter(|_| parties.operation == Operation::Network);
        let (currency, pricing) = pricing(connector, parties.currency, now);
        let source = CostSource::of_tariff(tariff::is_known(&pricing, currency, now));
        let state = match of_network {
            Some(_) => SessionState::pending(simulated.held_until, now),
            None => SessionState::begun(simulated, source),
        };
        // A pending session may begin after its reservation is over.
        let arriving = entries.arriving.filter(|_| of_network.is_none());
        let method = arriving.map(|reservation| &reservation.payment_method);
        let shares_method = method.is_some_and(|method| *method == new.payment_method);
        let session = Self {
            id: Id::new(Kind::ChargingSession, now),
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            country: station.address.country.clone(),
            created: now,
            currency,
            driver: new.driver,
            fleet: vehicle.fleet.clone(),
            invoice: None,
            payment_method: new.payment_method,
            power: f64::from(charge.power) / 1000.0,
            reservation: entries.arriving.map(|reservation| reservation.id.clone()),
            session_limit: limit,
            session_started: now,
            started_by: StartedBy::Api,
            state,
            updated: now,
            vehicle: new.vehicle,
        };
        let internal = parties.internal(pricing, of_network, shares_method);
        let mut session = Stored::with_internal(session, internal);
        if session.internal.network.is_none() {
            session.record(EventType::ChargingSessionStarted);
            session.object = session.shown(parties.operation, now);
        }
        Ok(session)
    }
}

impl SessionState {
    /// A session that a network is to start. Its connector is held until `until`.
    fn pending(until: Timestamp, now: Timestamp) -> Self {
        Self::Pending {
            hold: Some(Window { from: now, until }),
            sent: None,
            start: Start::Due,
        }
    }

    /// A session that has begun and has no cost yet.
    fn begun(simulated: Simulated, source: CostSource) -> Self {
        Self::Active {
            charged: Charged::default(),
            cost: SessionCost::nothing(source),
            operated_by: Operator::Simulation(simulated),
        }
    }
}

impl Names {
    fn of(driver: &Driver, vehicle: &Vehicle, station: &ChargingStation) -> Self {
        Self {
            driver: driver.name.clone().into(),
            registration_plate: vehicle.registration_plate.clone().into(),
            station: station.name.clone(),
        }
    }
}

/// Returns the currency of the bill, `preferred` if the connector has prices in it, and the connector's prices in that currency.
fn pricing(connector: &Connector, preferred: Currency, now: Timestamp) -> (Currency, Vec<Price>) {
    let currency = tariff::currency(&connector.pricing, preferred, now);
    let mut pricing = connector.pricing.clone();
    pricing.retain(|price| price.currency == currency);
    (currency, pricing)
}

/// Returns the data that is stored with a session at a connector of a network's location, in which the driver has this card; None for a
/// station without a network.
fn network_session(
    location: Option<&ObjectId>,
    station: &ChargingStation,
    connector: &Connector,
    card: Id,
) -> Option<NetworkSession> {
    let evse = EvseId::new(location?.clone(), &connector.evse);
    let own = connector.id_within_evse().map(str::to_owned);
    Some(NetworkSession {
        evse_power: evse_power(station, &connector.evse),
        card: Some(card),
        ..NetworkSession::at(evse, own)
    })
}

/// Returns the maximum power of an EVSE in W, regardless of which of its connectors is used.
fn evse_power(station: &ChargingStation, evse: &str) -> u32 {
    let kilowatts = station
        .evse(evse)
        .map(|connector| connector.power)
        .fold(0.0, f64::max);
    (kilowatts * 1000.0).round() as u32
}

fn total_by(cost: &Cost) -> Total {
    Total {
        net: cost.net,
        gross: cost.gross,
    }
}

fn conflict(param: &str, message: &'static str) -> Error {
    Code::ChargingSessionConflict.because(message).at(param)
}

//! Charging sessions: a vehicle on a connector, from plug-in to the end of the charge.
//!
//! active → completed | cancelled | failed.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::address::Country;
use super::charging_station::{ChargingStation, Connector, ConnectorStatus, Price, StationStatus};
use super::driver::Driver;
use super::fleet::Fleet;
use super::payment_method::PaymentMethod;
use super::reservation::Reservation;
use super::vehicle::Vehicle;
use crate::charging::calendar::{Entry, Window};
use crate::charging::tariff::{self, Cost, Usage};
use crate::charging::{network, opening_hours};
use crate::error::{Code, Error, Result};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::{MINUTE, SECOND, Timestamp};

/// How long before its reserved start a vehicle counts as come for its reservation, in milliseconds.
const EARLY: i64 = 15 * MINUTE;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChargingSession {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency` not yet paid; live while the session is active.
    pub amount_due: i64,
    /// Minor units of `currency`.
    pub amount_paid: i64,
    pub charging_station: Id,
    /// The connector within the station.
    pub connector: String,
    pub country: Country,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    /// Wh; live while the session is active.
    pub energy_consumed: i64,
    pub fleet: Id,
    pub payment_method: Option<Id>,
    /// Null while active.
    pub session_ended: Option<Timestamp>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    pub session_started: Timestamp,
    pub status: SessionStatus,
    pub updated: Timestamp,
    pub vehicle: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Active,
    Completed,
    Cancelled,
    Failed,
}

impl SessionStatus {
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Active, Self::Completed, Self::Cancelled, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// What the session's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionPrivate {
    /// The non-void invoice the session is on.
    pub invoice: Option<Id>,
    /// The reservation the session fulfils.
    pub reservation: Option<Id>,
    /// The station's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// W the connector and the vehicle agreed on.
    pub power: u32,
    /// Wh at which the session ends by itself: its limit or a full battery.
    #[serde(default)]
    pub most_energy: u32,
    /// Minor units without tax, once the session has ended.
    pub net: i64,
    /// Minor units of tax, once the session has ended.
    pub tax: i64,
    /// When the service has to look at the session by itself. While it is active: the moment at which it ends, if nobody
    /// stops it before.
    pub due: Option<Timestamp>,
}

/// The body of `POST /v1/charging_sessions`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewChargingSession {
    pub charging_station: Id,
    /// The id of a connector of the station, free and of the vehicle's `charging_standard`.
    pub connector: String,
    /// One of the vehicle's drivers, or attached to its fleet.
    pub driver: Id,
    pub vehicle: Id,
    /// What the session is paid with when it ends; without one it waits for an invoice.
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// Wh at which the session stops by itself, at least 1. Without one it stops when the battery is full.
    #[serde(default)]
    pub session_limit: Option<NonZeroU32>,
}

/// Those a session is between.
#[derive(Debug, Clone, Copy)]
pub struct Parties<'a> {
    pub station: &'a ChargingStation,
    pub connector: &'a Connector,
    pub driver: &'a Driver,
    pub vehicle: &'a Vehicle,
    pub fleet: &'a Fleet,
    pub payment_method: Option<&'a PaymentMethod>,
    /// The vehicle's state of charge in percent, if it was ever read.
    pub battery_level: Option<f64>,
    /// What is billed in where the station has prices in it.
    pub currency: Currency,
}

/// What the calendars of the connector and the vehicle hold, from the day a session begins.
#[derive(Debug, Clone, Copy)]
pub struct Promises<'a> {
    pub connector: &'a [Entry],
    pub vehicle: &'a [Entry],
    /// The reservation that the session fulfils.
    pub arriving: Option<&'a Reservation>,
}

/// The reservations by which this vehicle may be expected at a station now: from 15 minutes before their start.
pub fn expected(vehicle: &[Entry], now: Timestamp) -> Vec<Id> {
    let expected = vehicle.iter().filter(|entry| {
        entry.holder.is(Kind::Reservation)
            && entry.window.from.plus_millis(-EARLY) <= now
            && now < entry.window.until
    });
    let mut holders: Vec<Id> = expected.map(|entry| entry.holder.clone()).collect();
    holders.dedup();
    holders
}

impl Parties<'_> {
    /// Checks that a session may be between these.
    ///
    /// # Errors
    /// 400 for what is not active, does not fit or does not belong together; `charging_session_conflict` for a station
    /// that is not open.
    fn check(&self, now: Timestamp) -> Result<()> {
        let Self {
            station,
            connector,
            driver,
            vehicle,
            fleet,
            payment_method,
            ..
        } = self;
        if !driver.is_active() {
            return Err(Error::invalid("driver", "the driver is not active"));
        }
        if !vehicle.is_active() {
            return Err(Error::invalid("vehicle", "the vehicle is not active"));
        }
        if !fleet.is_active() {
            return Err(Error::invalid(
                "vehicle",
                "the vehicle's fleet is not active",
            ));
        }
        if !driver.may_drive(vehicle) {
            let message = "The driver is neither one of the vehicle's nor in its fleet.";
            return Err(Code::OwnerScopeInvalid.because(message).at("driver"));
        }
        if payment_method.is_some_and(|method| !method.serves(&driver.id, &vehicle.fleet)) {
            let message = "The payment method belongs to another driver or fleet.";
            return Err(Code::PaymentMethodScopeInvalid
                .because(message)
                .at("payment_method"));
        }
        if connector.connector_type() != Some(vehicle.charging_standard) {
            return Err(Error::invalid(
                "connector",
                "the connector does not fit the vehicle's charging_standard",
            ));
        }
        if station.status != StationStatus::Active {
            return Err(conflict("charging_station", "The station is not active."));
        }
        let moment = Window {
            from: now,
            until: now.plus_millis(1),
        };
        if !opening_hours::is_open(station, &moment) {
            return Err(conflict("charging_station", "The station is closed now."));
        }
        Ok(())
    }
}

impl Promises<'_> {
    /// How long the connector is free from now on; none while nobody else is promised it.
    ///
    /// # Errors
    /// `charging_session_conflict` when the connector is busy, out of order or another's now, or the vehicle charges.
    fn free_until(&self, connector: &Connector, now: Timestamp) -> Result<Option<Timestamp>> {
        let holds = |entry: &&Entry| entry.window.from <= now && now < entry.window.until;
        let mut charging = self.vehicle.iter().filter(holds);
        if charging.any(|entry| entry.holder.is(Kind::ChargingSession)) {
            return Err(conflict("vehicle", "The vehicle is charging already."));
        }
        let is_ours = |entry: &&Entry| {
            self.arriving
                .is_some_and(|reservation| entry.holder == reservation.id)
        };
        let others = || self.connector.iter().filter(|entry| !is_ours(entry));
        let ours = || self.connector.iter().filter(is_ours);
        match connector.status {
            ConnectorStatus::Available | ConnectorStatus::Reserved => {}
            ConnectorStatus::Occupied => {
                return Err(conflict("connector", "The connector is occupied."));
            }
            ConnectorStatus::Unavailable | ConnectorStatus::Faulted | ConnectorStatus::Unknown => {
                return Err(conflict("connector", "The connector is out of order."));
            }
        }
        let set_aside = connector.status == ConnectorStatus::Reserved && ours().next().is_none();
        if set_aside || others().any(|entry| holds(&entry)) {
            return Err(conflict(
                "connector",
                "The connector is promised to another.",
            ));
        }
        let later = others().map(|entry| entry.window.from);
        Ok(later.filter(|from| *from > now).min())
    }
}

impl ChargingSession {
    /// A session that begins now. It ends by itself at its limit, with a full battery, when the connector is promised to
    /// another, or after a day.
    ///
    /// # Errors
    /// 400 for what is not active, does not fit or does not belong together; `charging_session_conflict` for what is not
    /// free now.
    pub fn start(
        new: NewChargingSession,
        parties: &Parties<'_>,
        promises: &Promises<'_>,
        now: Timestamp,
    ) -> Result<(Self, SessionPrivate)> {
        parties.check(now)?;
        let promised = promises.free_until(parties.connector, now)?;
        let Parties {
            station,
            connector,
            vehicle,
            ..
        } = parties;
        let power = network::power(connector, vehicle);
        let room = network::energy_between(vehicle.battery_capacity, parties.battery_level, 100.0);
        let limit = new.session_limit.map(NonZeroU32::get);
        let most_energy = room.min(limit.unwrap_or(u32::MAX));
        let charged = network::millis_until(power, most_energy).unwrap_or(network::LONGEST);
        let ends = now.plus_millis(charged.clamp(SECOND, network::LONGEST));
        let currency = tariff::currency(&station.pricing, parties.currency);
        let mut pricing = station.pricing.clone();
        pricing.retain(|price| price.currency == currency);
        let session = Self {
            id: Id::new(Kind::ChargingSession, now),
            object: Kind::ChargingSession,
            amount_due: 0,
            amount_paid: 0,
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            country: station.address.country.clone(),
            created: now,
            currency,
            driver: new.driver,
            energy_consumed: 0,
            fleet: vehicle.fleet.clone(),
            payment_method: new.payment_method,
            session_ended: None,
            session_limit: limit,
            session_started: now,
            status: SessionStatus::Active,
            updated: now,
            vehicle: new.vehicle,
        };
        let private = SessionPrivate {
            reservation: promises.arriving.map(|reservation| reservation.id.clone()),
            pricing,
            power,
            most_energy,
            due: Some(promised.map_or(ends, |promised| promised.min(ends))),
            ..SessionPrivate::default()
        };
        let session = session.live(&private, now);
        Ok((session, private))
    }

    /// The time that the session has taken, or will at most.
    pub fn window(&self, private: &SessionPrivate) -> Window {
        let ends = self.session_ended.or(private.due);
        Window {
            from: self.session_started,
            until: ends.unwrap_or(self.session_started),
        }
    }

    /// The session as it stands at a moment: while it is active, what it has charged so far and what that costs.
    #[must_use]
    pub fn live(mut self, private: &SessionPrivate, now: Timestamp) -> Self {
        if self.status == SessionStatus::Active {
            let (energy, cost) = self.used_until(private, now);
            self.energy_consumed = energy;
            self.amount_due = cost.gross;
        }
        self
    }

    fn used_until(&self, private: &SessionPrivate, moment: Timestamp) -> (i64, Cost) {
        let moment = private.due.map_or(moment, |due| due.min(moment));
        let millis = moment.millis_since(self.session_started).max(0);
        let energy = network::energy_after(private.power, millis).min(private.most_energy.into());
        let usage = Usage {
            energy,
            charging: millis.unsigned_abs(),
            parking: 0,
        };
        let cost = tariff::cost(&private.pricing, self.currency, usage);
        (i64::try_from(energy).unwrap_or(i64::MAX), cost)
    }

    /// Ends an active session, now or at the moment it ended by itself.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn end(&mut self, private: &mut SessionPrivate, now: Timestamp) -> Result<()> {
        if self.status != SessionStatus::Active {
            let message = "Only an active session can be stopped.";
            return Err(Code::ChargingSessionStateConflict.because(message));
        }
        let ended = private.due.map_or(now, |due| due.min(now));
        let (energy, cost) = self.used_until(private, ended);
        self.energy_consumed = energy;
        self.amount_due = cost.gross;
        self.session_ended = Some(ended);
        self.status = SessionStatus::Completed;
        self.updated = now;
        private.net = cost.net;
        private.tax = cost.tax;
        private.due = None;
        Ok(())
    }
}

fn conflict(param: &str, message: &'static str) -> Error {
    Code::ChargingSessionConflict.because(message).at(param)
}

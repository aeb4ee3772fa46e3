//! Charging sessions: a vehicle on a connector, from plug-in until it is unplugged.
//!
//! Life cycle: active → completed | cancelled | failed. An active session first charges. When the battery is full it stays
//! active without energy (it *parks*): the connector stays occupied, and PARKING_TIME is counted, until the vehicle is
//! unplugged. In test mode unplugging is simulated: `stop` unplugs, and the service unplugs when `session_limit` is reached,
//! when the station closes, when the connector is reserved for another vehicle or the vehicle elsewhere, and 24 hours after
//! the start. The earliest of these moments that is known so far is shown as `ends_by`.
//!
//! Terms:
//! - The *hold* is the time that the calendars of the connector and the vehicle keep for the session. It reaches from the
//!   start to `SessionInternal::due`: at first to the moment at which charging ends. While the vehicle parks the hold is
//!   extended by at most 20 minutes at a time, so that the connector can be reserved for later.
//! - *Charging time* is the time until the limit is reached or the battery is full; the rest is *parking time*.
//!
//! Invariants: holds never overlap other sessions or reservations of the connector. Energy, times and cost of an active
//! session are functions of its row and the time ([`ChargingSession::live`]); they are stored when the session ends. `net`
//! plus `tax` is the gross amount, `amount_due` plus `amount_paid` is the gross amount, and the lines of `cost_breakdown`
//! add up to all three.
//!
//! Crashes: whatever a moment demands is done by one conditional transaction. When the trigger for a moment is lost, the
//! sweeper finds the row by `due`, and the session ends, or its hold is extended, as of the moment that was due.
//!
//! In live mode no station is operated yet (see [`crate::operation`]), so no session starts there.

use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::charging_station::{
    ChargingStation, Connector, ConnectorStatus, Price, PriceType, StationStatus,
};
use super::driver::Driver;
use super::event_type::EventType;
use super::fleet::Fleet;
use super::payment_method::PaymentMethod;
use super::reservation::Reservation;
use super::stored::{Object, Stored};
use super::transaction::{Transaction, TransactionStatus, TransactionType};
use super::vehicle::Vehicle;
use crate::charging::calendar::Entry;
use crate::charging::tariff::{self, Cost, Course, Line, Usage};
use crate::charging::{opening_hours, simulation};
use crate::error::{Code, Error, Result};
use crate::fields::address::Country;
use crate::fields::text::ZoneName;
use crate::id::{Id, Kind};
use crate::models::transaction::PaymentOutcome;
use crate::money::Currency;
use crate::operation::{Operation, Simulation};
use crate::time::{DAY, MINUTE, SECOND, Timestamp};
use crate::window::Window;

/// How long before its reserved start a vehicle counts as come for its reservation, in milliseconds.
const EARLY: i64 = 15 * MINUTE;

/// The maximum duration of a session, in milliseconds.
pub const LONGEST: i64 = DAY;

/// By how much the hold of a parked vehicle is extended at a time, in milliseconds: less than the half hour before its window
/// at which a reservation is matched, so that a parked vehicle does not keep others from reserving its connector.
const HOLD: i64 = 20 * MINUTE;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargingSession {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency` not yet paid; live while the session is active.
    pub amount_due: i64,
    /// Minor units of `currency`.
    pub amount_paid: i64,
    /// When the vehicle stopped drawing energy, because the battery was full, `session_limit` was reached or the session
    /// ended; null while it charges. PARKING_TIME counts from here to `session_ended`.
    #[serde(default)]
    #[schema(required)]
    pub charging_ended: Option<Timestamp>,
    pub charging_station: Id,
    /// The connector within the station.
    pub connector: String,
    /// What `amount_due` plus `amount_paid` is made of: one line for each price that applied, live while the session is
    /// active. The `gross` of the lines add up to `amount_due` plus `amount_paid`, their `net` to `net` and their `tax` to
    /// `tax`. Empty where the station has no prices.
    #[serde(default)]
    #[schema(required)]
    pub cost_breakdown: Vec<SessionCostLine>,
    pub country: Country,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    /// When the session ends at the latest, by what is known so far. It can end earlier: by `stop`, or because the connector
    /// is reserved meanwhile for a time after charging has ended.
    #[serde(default)]
    #[schema(required)]
    pub ends_by: Option<Timestamp>,
    /// Why it ends then.
    #[serde(default)]
    #[schema(required)]
    pub ends_by_reason: Option<EndReason>,
    /// Wh; live while the session is active.
    pub energy_consumed: i64,
    pub fleet: Id,
    /// The invoice that bills the session; null before there is one. If that invoice was voided or its draft deleted, it
    /// bills the session no longer, and the next invoice of the session takes its place here.
    #[serde(default)]
    #[schema(required)]
    pub invoice: Option<Id>,
    /// Minor units of `currency` without tax; live while the session is active.
    #[serde(default)]
    #[schema(required)]
    pub net: i64,
    pub payment_method: Option<Id>,
    /// kW at which the vehicle charges: the most that connector and vehicle have in common.
    #[serde(default)]
    #[schema(required)]
    pub power: f64,
    /// The reservation that the session fulfils.
    #[serde(default)]
    #[schema(required)]
    pub reservation: Option<Id>,
    /// Null while active.
    pub session_ended: Option<Timestamp>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    pub session_started: Timestamp,
    pub status: SessionStatus,
    /// Minor units of tax in `currency`; live while the session is active.
    #[serde(default)]
    #[schema(required)]
    pub tax: i64,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for ChargingSession {
    type Internal = SessionInternal;

    const KIND: Kind = Kind::ChargingSession;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// The cost of a session at one of its prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCostLine {
    #[serde(rename = "type")]
    pub kind: PriceType,
    #[schema(example = "Energy")]
    pub description: String,
    /// A decimal number of `unit`, rounded up to the price's `step_size`. Times have six digits after the point at most.
    #[schema(example = "11.01")]
    pub quantity: String,
    /// `kWh`, `hour` or `session`.
    #[schema(example = "kWh")]
    pub unit: String,
    /// Minor units of the session's currency for one `unit`, a decimal number, with tax if `tax_included`.
    #[schema(example = "45")]
    pub unit_price: String,
    /// Whether `unit_price` includes the tax.
    #[schema(example = true)]
    pub tax_included: bool,
    /// A decimal number of percent.
    #[schema(example = "20")]
    pub tax_percent: String,
    /// Minor units without tax.
    #[schema(example = 413)]
    pub net: i64,
    /// Minor units of tax: `gross` less `net`.
    #[schema(example = 82)]
    pub tax: i64,
    /// Minor units with tax, rounded half away from zero.
    #[schema(example = 495)]
    pub gross: i64,
}

impl SessionCostLine {
    fn of(line: &Line) -> Self {
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

/// Why a session ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// `session_limit` is reached.
    SessionLimit,
    /// The station closes.
    StationClosing,
    /// The connector is reserved for another vehicle, or this vehicle is reserved elsewhere.
    Reservation,
    /// A session lasts 24 hours at most.
    MaximumDuration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// The internal state of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInternal {
    /// The non-void invoice the session is on.
    pub invoice: Option<Id>,
    /// The reservation the session fulfils.
    pub reservation: Option<Id>,
    /// The EVSE of the connector, whose calendar the session is in; none in rows of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evse: Option<String>,
    /// The connector's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// The station's time zone, which the restrictions of its prices mean.
    #[serde(default)]
    pub zone: Option<ZoneName>,
    /// W the connector and the vehicle agreed on.
    pub power: u32,
    /// Wh at which the vehicle stops charging: the session's limit or a full battery.
    #[serde(default)]
    pub most_energy: u32,
    /// Whether the vehicle stays plugged in when it has stopped charging. Sessions that were started before parking was
    /// simulated end then, and so do those that reach their limit.
    #[serde(default)]
    pub parks: bool,
    /// Minor units without tax, once the session has ended.
    pub net: i64,
    /// Minor units of tax, once the session has ended.
    pub tax: i64,
    /// When the session has to be processed next. While it is active: the end of its hold. Afterwards: since
    /// when its charge is to be taken; until that is settled no invoice may have it.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// What driver, vehicle and station were called when the session started.
    #[serde(default)]
    pub names: Names,
}

/// What the parties of a session are called, for people who read invoices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    pub driver: String,
    pub registration_plate: String,
    pub station: String,
}

/// The body of `POST /v1/charging_sessions`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChargingSession {
    pub charging_station: Id,
    /// The id of a connector of the station, of the vehicle's `charging_standard`. Its EVSE must be free: a vehicle at another
    /// connector of the same EVSE makes it occupied.
    pub connector: String,
    /// One of the vehicle's drivers, or attached to its fleet.
    pub driver: Id,
    pub vehicle: Id,
    /// What the session is paid with when it ends; without one it waits for an invoice.
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// Wh at which the session ends and the vehicle is unplugged, at least 1. Without one, or with one that the battery does
    /// not hold, the vehicle stays plugged in when its battery is full, and PARKING_TIME is counted from then. The answer
    /// says in `ends_by` when the session ends at the latest: when the station closes, when the connector is reserved for
    /// another vehicle, or after 24 hours.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub session_limit: Option<NonZeroU32>,
}

impl RequestBody for NewChargingSession {}

/// The driver, the vehicle, the station and everything else that a session depends on.
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
    /// What operates the station.
    pub operation: Operation,
}

/// What the calendars of the EVSE and the vehicle hold, from the day a session begins.
#[derive(Debug, Clone, Copy)]
pub struct CalendarEntries<'a> {
    pub evse: &'a [Entry],
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
    /// Checks that a session may start.
    ///
    /// # Errors
    /// 400 for what is not active, does not fit or does not belong together; `charging_session_conflict` for a station
    /// that nothing operates, or that is not open.
    fn check(&self, now: Timestamp) -> Result<()> {
        let Self {
            station,
            connector,
            driver,
            vehicle,
            fleet,
            payment_method,
            operation,
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
        if payment_method.is_some_and(|method| !self.may_pay_with(method)) {
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
        if !operation.is_operated() {
            return Err(conflict(
                "charging_station",
                "The station is not connected to a charging network. In live mode a session can only be started at a \
                 connected station; test mode simulates charging.",
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

impl Parties<'_> {
    /// Whether the payment method is the driver's, the vehicle's fleet's or the account's.
    fn may_pay_with(&self, method: &PaymentMethod) -> bool {
        match (&method.driver, &method.fleet) {
            (Some(owner), _) => *owner == self.driver.id,
            (None, Some(owner)) => *owner == self.vehicle.fleet,
            (None, None) => true,
        }
    }
}

impl CalendarEntries<'_> {
    /// Until when the connector is free from now on; none if no later reservation exists.
    ///
    /// # Errors
    /// `charging_session_conflict` when the connector is busy, out of order or another's now, or the vehicle charges.
    fn free_until(&self, connector: &Connector, now: Timestamp) -> Result<Option<Timestamp>> {
        // A session that began a moment after `now` has overtaken this one: its time counts as well.
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
                "The connector is reserved for another vehicle.",
            ));
        }
        let later = others().map(|entry| entry.window.from);
        Ok(later.filter(|from| *from > now).min())
    }
}

impl ChargingSession {
    /// Records that the session was paid. Returns whether anything was due.
    pub fn mark_paid(&mut self, now: Timestamp) -> bool {
        if self.amount_due == 0 {
            return false;
        }
        self.amount_paid += self.amount_due;
        self.amount_due = 0;
        self.updated = now;
        true
    }

    /// A session that begins now.
    ///
    /// # Errors
    /// 400 for what is not active, does not fit or does not belong together; `charging_session_conflict` for what is not
    /// free now, and for a station that nothing operates.
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
            driver,
            vehicle,
            ..
        } = parties;
        let power = simulation::power(connector, vehicle);
        let capacity = vehicle.battery_capacity;
        let room = simulation::energy_between(capacity, parties.battery_level, 100.0);
        let limit = new.session_limit.map(NonZeroU32::get);
        let most_energy = room.min(limit.unwrap_or(u32::MAX));
        let parks = limit.is_none_or(|limit| limit > room);
        let charged = simulation::millis_until(power, most_energy).unwrap_or(LONGEST);
        let charged = now.plus_millis(charged.clamp(SECOND, LONGEST));
        let latest = now.plus_millis(LONGEST);
        let ends = [
            (!parks).then_some((charged, EndReason::SessionLimit)),
            opening_hours::closes(station, now, latest)
                .map(|closes| (closes, EndReason::StationClosing)),
            free_until.map(|until| (until, EndReason::Reservation)),
        ];
        let ends = ends.into_iter().flatten();
        let (ends_by, reason) = ends
            .min_by_key(|(at, _)| *at)
            .filter(|(at, _)| *at < latest)
            .unwrap_or((latest, EndReason::MaximumDuration));
        let currency = tariff::currency(&connector.pricing, parties.currency);
        let mut pricing = connector.pricing.clone();
        pricing.retain(|price| price.currency == currency);
        let reservation = entries.arriving.map(|reservation| reservation.id.clone());
        let session = Self {
            id: Id::new(Kind::ChargingSession, now),
            object: Kind::ChargingSession,
            amount_due: 0,
            amount_paid: 0,
            charging_ended: None,
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            cost_breakdown: Vec::new(),
            country: station.address.country.clone(),
            created: now,
            currency,
            driver: new.driver,
            ends_by: Some(ends_by),
            ends_by_reason: Some(reason),
            energy_consumed: 0,
            fleet: vehicle.fleet.clone(),
            invoice: None,
            net: 0,
            payment_method: new.payment_method,
            power: f64::from(power) / 1000.0,
            reservation: reservation.clone(),
            session_ended: None,
            session_limit: limit,
            session_started: now,
            status: SessionStatus::Active,
            tax: 0,
            updated: now,
            vehicle: new.vehicle,
        };
        let internal = SessionInternal {
            reservation,
            evse: Some(connector.evse.clone()),
            pricing,
            zone: Some(station.timezone.clone()),
            power,
            most_energy,
            parks,
            next_action_at: Some(ends_by.min(charged)),
            names: Names {
                driver: driver.name.clone().into(),
                registration_plate: vehicle.registration_plate.clone().into(),
                station: station.name.clone(),
            },
            ..SessionInternal::default()
        };
        let mut session =
            Stored::with_internal(session, internal).recording(EventType::ChargingSessionStarted);
        session.object = session.live(parties.operation, now);
        Ok(session)
    }

    /// What a charge for the session is called.
    pub fn description(&self) -> String {
        format!("Charging session {}", self.id)
    }
}

impl Stored<ChargingSession> {
    /// The time that the session has taken, or will at most.
    pub fn window(&self) -> Window {
        let ends = self.object.session_ended.or(self.internal.next_action_at);
        Window {
            from: self.object.session_started,
            until: ends.unwrap_or(self.object.session_started),
        }
    }

    /// The session as it stands at a moment: while it is active, what it has charged so far and what that costs. Where
    /// nothing operates the station no energy is known.
    #[must_use]
    pub fn live(&self, operation: Operation, now: Timestamp) -> ChargingSession {
        let mut session = self.clone();
        if let (SessionStatus::Active, Some(simulation)) =
            (self.object.status, operation.simulation())
        {
            session.charge_until(simulation, now);
        }
        session.object
    }

    /// Sets energy, times and cost to what they are at a moment, but not later than the end of the hold.
    fn charge_until(&mut self, simulation: Simulation, moment: Timestamp) -> Cost {
        let moment = self
            .internal
            .next_action_at
            .map_or(moment, |due| due.min(moment));
        let elapsed = moment.millis_since(self.object.session_started).max(0);
        let full = match self.internal.parks {
            true => simulation::millis_until(self.internal.power, self.internal.most_energy),
            false => None,
        };
        let charging = full.map_or(elapsed, |full| full.min(elapsed));
        let energy = simulation.energy_after(self.internal.power, charging);
        let energy = energy.min(self.internal.most_energy.into());
        let zone = self.internal.zone.as_ref().map(ZoneName::rules);
        let course = Course {
            began: self.object.session_started,
            zone: &zone.unwrap_or(TimeZone::UTC),
            usage: Usage {
                energy,
                charging: charging.unsigned_abs(),
                parking: (elapsed - charging).unsigned_abs(),
            },
        };
        let cost = tariff::cost(&self.internal.pricing, self.object.currency, course);
        self.object.charging_ended = full
            .filter(|full| *full <= elapsed)
            .map(|full| self.object.session_started.plus_millis(full));
        self.object.energy_consumed = i64::try_from(energy).unwrap_or(i64::MAX);
        self.object.amount_due = cost.gross;
        self.object.net = cost.net;
        self.object.tax = cost.tax;
        self.object.cost_breakdown = cost.lines.iter().map(SessionCostLine::of).collect();
        cost
    }

    /// Ends an active session, now or at the end of its hold. Where nothing operates the station the session fails: its
    /// energy is not known, and nothing is charged for it.
    ///
    /// # Errors
    /// `charging_session_state_conflict` in any other state.
    pub fn end(&mut self, operation: Operation, now: Timestamp) -> Result<()> {
        if self.object.status != SessionStatus::Active {
            let message = "Only an active session can be stopped.";
            return Err(Code::ChargingSessionStateConflict.because(message));
        }
        let ended = self.internal.next_action_at.map_or(now, |due| due.min(now));
        let ended = ended.max(self.object.session_started);
        self.object.session_ended = Some(ended);
        self.object.updated = now;
        let Some(simulation) = operation.simulation() else {
            self.object.status = SessionStatus::Failed;
            self.internal.next_action_at = None;
            self.record(EventType::ChargingSessionFailed);
            return Ok(());
        };
        let cost = self.charge_until(simulation, ended);
        self.object.charging_ended = self.object.charging_ended.or(self.object.session_ended);
        self.object.status = SessionStatus::Completed;
        self.record(EventType::ChargingSessionCompleted);
        self.internal.net = cost.net;
        self.internal.tax = cost.tax;
        let charged = self.object.payment_method.is_some() && self.object.amount_due > 0;
        self.internal.next_action_at = charged.then_some(now);
        Ok(())
    }

    /// Extends the hold of a parked vehicle at its end, as far as the other entries in the calendars of the connector and the
    /// vehicle allow. Returns false if it cannot be extended: then the session ends now.
    pub fn extend_hold(
        &mut self,
        operation: Operation,
        connector: &[Entry],
        vehicle: &[Entry],
        now: Timestamp,
    ) -> bool {
        let (Some(held), Some(ends_by), Some(simulation)) = (
            self.internal.next_action_at,
            self.object.ends_by,
            operation.simulation(),
        ) else {
            return false;
        };
        if !self.internal.parks || ends_by <= held {
            return false;
        }
        let is_anothers = |entry: &&Entry| {
            entry.holder != self.object.id
                && Some(&entry.holder) != self.internal.reservation.as_ref()
                && entry.window.until > held
        };
        let others = connector.iter().chain(vehicle).filter(is_anothers);
        let reserved = others.map(|entry| entry.window.from).min();
        if let Some(reserved) = reserved.filter(|reserved| *reserved < ends_by) {
            if reserved <= held {
                return false;
            }
            self.object.ends_by = Some(reserved);
            self.object.ends_by_reason = Some(EndReason::Reservation);
        }
        let ends_by = self.object.ends_by.unwrap_or(ends_by);
        self.internal.next_action_at = Some(held.plus_millis(HOLD).min(ends_by));
        let was_charging = self.object.charging_ended.is_none();
        self.charge_until(simulation, held);
        self.object.updated = now;
        if was_charging {
            self.record(EventType::ChargingSessionUpdated);
        }
        true
    }

    /// The time for which the hold may be extended at its end.
    pub fn next_hold(&self) -> Option<Window> {
        let (held, ends_by) = (self.internal.next_action_at?, self.object.ends_by?);
        (self.internal.parks && held < ends_by).then_some(Window {
            from: held,
            until: ends_by,
        })
    }

    /// Waives the charge for an ended session, because no network operates its station.
    pub fn waive(&mut self, now: Timestamp) {
        self.object.amount_due = 0;
        self.object.updated = now;
        self.internal.next_action_at = None;
    }

    /// Records the outcome of the charge for an ended session, and returns its transaction. A session whose charge was
    /// declined is billed by an invoice.
    pub fn settle(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let amount = self.object.amount_due;
        let status = match outcome {
            PaymentOutcome::Succeeded => TransactionStatus::Succeeded,
            PaymentOutcome::Declined(_) => TransactionStatus::Failed,
        };
        if *outcome == PaymentOutcome::Succeeded {
            self.object.amount_paid += amount;
            self.object.amount_due = 0;
        }
        self.object.updated = now;
        self.internal.next_action_at = None;
        Transaction {
            id: Id::new(Kind::Transaction, now),
            object: Kind::Transaction,
            amount,
            charging_session: Some(self.object.id.clone()),
            created: now,
            currency: self.object.currency,
            description: self.object.description(),
            driver: Some(self.object.driver.clone()),
            fleet: Some(self.object.fleet.clone()),
            payment_method: self.object.payment_method.clone(),
            status,
            kind: TransactionType::Charge,
            vehicle: Some(self.object.vehicle.clone()),
        }
    }

    /// Whether a session that ends before `until` has work left, so that its amount due is not final yet.
    pub fn is_unsettled(&self, until: Timestamp) -> bool {
        let ends = self.object.session_ended.or(self.internal.next_action_at);
        self.internal.next_action_at.is_some() && ends.is_some_and(|ends| ends < until)
    }
}

fn conflict(param: &str, message: &'static str) -> Error {
    Code::ChargingSessionConflict.because(message).at(param)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::account::Account;
    use crate::models::charging_station::{OpeningHours, Plug, PriceType, Tax, Weekday};
    use crate::models::fleet::FleetStatus;
    use crate::models::vehicle::ConnectorType;
    use crate::ocpi;
    use crate::origin::Mode;
    use crate::time::HOUR;
    use serde_json::{Value, json};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn now() -> Timestamp {
        at("2026-03-01T08:00:00Z")
    }

    struct Scene {
        station: ChargingStation,
        driver: Driver,
        vehicle: Vehicle,
        fleet: Fleet,
        payment_method: Option<PaymentMethod>,
        battery_level: Option<f64>,
        mode: Mode,
        connector: Vec<Entry>,
        of_vehicle: Vec<Entry>,
        arriving: Option<Reservation>,
    }

    fn scene() -> Scene {
        let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
        let account = Account::new(serde_json::from_value(account).unwrap(), now()).unwrap();
        let driver = json!({"name": "Ada", "email": "ada@b.example"});
        let driver = Driver::new(serde_json::from_value(driver).unwrap(), &account, now()).unwrap();
        let mut driver = driver.object;
        let fleet = json!({"name": "N", "email": "a@b.example", "address": {"city": "London", "country": "GB",
            "line1": "1", "postal_code": "E3"}});
        let fleet = Fleet::new(serde_json::from_value(fleet).unwrap(), &account, now()).unwrap();
        let fleet = fleet.object;
        let vehicle = json!({"fleet": fleet.id, "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": 60_000, "charging_standard": "Type2"});
        let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
        let vehicle = vehicle.object;
        driver.fleets.push(fleet.id.clone());
        let mut station = ocpi::tests::station();
        station.capabilities.access_24_7 = true;
        station.connectors.truncate(1);
        let connector = &mut station.connectors[0];
        (connector.plug, connector.power) = (Plug::Matched(ConnectorType::Type2), 22.0);
        connector.status = ConnectorStatus::Available;
        station.set_pricing(vec![Price {
            currency: Currency::from_code("gbp").unwrap(),
            price: 45,
            price_decimal: None,
            step_size: 1,
            tax: Tax::Vat,
            tax_included: true,
            tax_percent: "20".into(),
            kind: PriceType::Energy,
            restrictions: None,
        }]);
        Scene {
            station,
            driver,
            vehicle,
            fleet,
            payment_method: None,
            battery_level: None,
            mode: Mode::Test,
            connector: Vec::new(),
            of_vehicle: Vec::new(),
            arriving: None,
        }
    }

    impl Scene {
        fn start(&self, change: Value) -> Result<Stored<ChargingSession>> {
            let mut body = json!({"charging_station": self.station.id, "connector": self.station.connectors[0].id,
                "driver": self.driver.id, "vehicle": self.vehicle.id});
            body.as_object_mut()
                .unwrap()
                .extend(change.as_object().unwrap().clone());
            let parties = Parties {
                station: &self.station,
                connector: &self.station.connectors[0],
                driver: &self.driver,
                vehicle: &self.vehicle,
                fleet: &self.fleet,
                payment_method: self.payment_method.as_ref(),
                battery_level: self.battery_level,
                currency: Currency::USD,
                operation: Operation::of(self.mode),
            };
            let entries = CalendarEntries {
                evse: &self.connector,
                vehicle: &self.of_vehicle,
                arriving: self.arriving.as_ref(),
            };
            let new = serde_json::from_value(body).unwrap();
            ChargingSession::start(new, &parties, &entries, now())
        }

        /// How a start is refused: its code and param.
        fn refusal(&self) -> (Option<Code>, String) {
            match self.start(json!({})).unwrap_err() {
                Error::Client(refusal) => (refusal.code, refusal.param.unwrap()),
                other => panic!("{other}"),
            }
        }
    }

    fn simulated() -> Operation {
        Operation::of(Mode::Test)
    }

    fn entry(kind: Kind, number: u128, from: &str, until: &str) -> Entry {
        Entry {
            window: Window {
                from: at(&format!("2026-03-01T{from}:00Z")),
                until: at(&format!("2026-03-01T{until}:00Z")),
            },
            holder: Id::from_number(kind, number),
            account: None,
        }
    }

    fn reservation(number: u128) -> Reservation {
        let json = json!({"id": Id::from_number(Kind::Reservation, number), "object": "reservation",
            "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
            "created": now(), "currency": "usd", "driver": "drv_1", "ideal_start": now(), "ideal_end": now(),
            "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}, "metadata": {}, "reservation_fee": 0,
            "status": "confirmed", "updated": now(), "vehicle": "veh_1"});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_session_ends_at_its_limit_when_the_station_closes_when_another_comes_or_after_a_day() {
        let mut scene = scene();
        let ends = |scene: &Scene, change| {
            let session = scene.start(change).unwrap();
            let after = |moment: Option<Timestamp>| moment.unwrap().millis_since(now());
            (
                after(session.object.ends_by),
                session.object.ends_by_reason.unwrap(),
                after(session.internal.next_action_at),
            )
        };
        use EndReason::{MaximumDuration, Reservation, SessionLimit, StationClosing};
        // 80 % of 60 kWh at 22 kW, and then it parks.
        let full = 48 * HOUR / 22 + 1;
        assert_eq!(ends(&scene, json!({})), (LONGEST, MaximumDuration, full));
        let limit = json!({"session_limit": 11_000});
        let half = HOUR / 2;
        assert_eq!(ends(&scene, limit.clone()), (half, SessionLimit, half));
        // A limit that the battery does not hold is never reached.
        let beyond = json!({"session_limit": 48_001});
        assert_eq!(ends(&scene, beyond), (LONGEST, MaximumDuration, full));
        scene.battery_level = Some(100.0);
        assert_eq!(
            ends(&scene, limit.clone()),
            (LONGEST, MaximumDuration, SECOND)
        );
        scene.battery_level = None;
        scene.connector = vec![entry(Kind::Reservation, 1, "11:00", "12:00")];
        assert_eq!(ends(&scene, json!({})), (3 * HOUR, Reservation, full));
        scene.connector = vec![entry(Kind::Reservation, 1, "08:20", "09:20")];
        let soon = 20 * MINUTE;
        assert_eq!(ends(&scene, json!({})), (soon, Reservation, soon));
        scene.connector.clear();
        // 2026-03-01 is a Sunday.
        scene.station.capabilities.access_24_7 = false;
        scene.station.timezone = "UTC".to_owned().try_into().unwrap();
        scene.station.availability.opening_hours = vec![OpeningHours {
            day: Weekday::Sun,
            from: "07:00".into(),
            until: "10:00".into(),
        }];
        let closing = 2 * HOUR;
        assert_eq!(ends(&scene, json!({})), (closing, StationClosing, closing));
        assert_eq!(ends(&scene, limit), (half, SessionLimit, half));
        scene.station.capabilities.access_24_7 = true;
        scene.station.connectors[0].power = 0.0;
        assert_eq!(ends(&scene, json!({})), (LONGEST, MaximumDuration, LONGEST));
    }

    /// A price for parking besides that for energy: 60 pence an hour.
    fn with_parking(mut scene: Scene) -> Scene {
        let parking = Price {
            price: 60,
            kind: PriceType::ParkingTime,
            ..scene.station.pricing[0].clone()
        };
        let energy = scene.station.pricing[0].clone();
        scene.station.set_pricing(vec![energy, parking]);
        scene
    }

    #[test]
    fn a_full_vehicle_stays_plugged_in_and_parking_time_counts_from_then() {
        let mut scene = with_parking(scene());
        // 11 kWh to go: half an hour.
        scene.vehicle.battery_capacity = 50_000;
        scene.battery_level = Some(78.0);
        let session = scene.start(json!({})).unwrap();
        assert_eq!(session.internal.most_energy, 11_000);
        let at = |minutes: i64| now().plus_millis(minutes * MINUTE);
        let mut ended = session;
        ended.internal.next_action_at = Some(at(600));
        let live = |minutes| ended.live(simulated(), at(minutes));
        let charging = live(29);
        assert_eq!((charging.charging_ended, charging.amount_due), (None, 478));
        let parked = live(90);
        assert_eq!(parked.charging_ended, Some(at(30)));
        assert_eq!(
            (parked.energy_consumed, parked.status),
            (11_000, SessionStatus::Active)
        );
        let kinds: Vec<_> = parked
            .cost_breakdown
            .iter()
            .map(|line| (line.kind, line.quantity.as_str(), line.gross))
            .collect();
        assert_eq!(
            kinds,
            [
                (PriceType::Energy, "11", 495),
                (PriceType::ParkingTime, "1", 60)
            ]
        );
        assert_eq!(parked.amount_due, 555);
        assert_eq!(parked.net + parked.tax, 555);
        ended.end(simulated(), at(150)).unwrap();
        let ended = ended.object;
        assert_eq!(
            (ended.session_ended, ended.charging_ended, ended.amount_due),
            (Some(at(150)), Some(at(30)), 495 + 120)
        );
    }

    #[test]
    fn the_hold_of_a_parked_vehicle_grows_by_twenty_minutes_until_another_comes_or_its_last_moment()
    {
        let mut scene = scene();
        scene.battery_level = Some(100.0);
        let at = |holds: i64| now().plus_millis(holds * HOLD + SECOND);
        let mut session = scene.start(json!({})).unwrap();
        assert_eq!(session.internal.next_action_at, Some(at(0)));
        let own = Entry {
            holder: session.object.id.clone(),
            ..entry(Kind::ChargingSession, 1, "08:00", "09:00")
        };
        let rival = entry(Kind::Reservation, 1, "08:50", "09:30");
        let connector = [own, rival.clone()];
        let mut stay = |connector: &[Entry], vehicle: &[Entry]| {
            let stays = session.extend_hold(simulated(), connector, vehicle, now());
            (
                stays,
                session.internal.next_action_at,
                session.object.ends_by_reason.unwrap(),
            )
        };
        let longest = EndReason::MaximumDuration;
        assert_eq!(stay(&connector[..1], &[]), (true, Some(at(1)), longest));
        let reserved = EndReason::Reservation;
        assert_eq!(stay(&connector, &[]), (true, Some(at(2)), reserved));
        let half = Some(rival.window.from);
        assert_eq!(stay(&connector, &[]), (true, half, reserved));
        assert_eq!(stay(&connector, &[]), (false, half, reserved));
        // A reservation of the vehicle elsewhere counts as well, and one that has begun ends the session at once.
        let mut session = scene.start(json!({})).unwrap();
        let elsewhere = [entry(Kind::Reservation, 2, "08:00", "09:00")];
        let stays = session.extend_hold(simulated(), &[], &elsewhere, now());
        assert_eq!(
            (stays, session.internal.next_action_at),
            (false, Some(at(0)))
        );
        // Nothing lasts longer than a day.
        let mut holds = 0;
        while session.extend_hold(simulated(), &[], &[], now()) {
            holds += 1;
        }
        assert_eq!(
            (holds, session.internal.next_action_at),
            (72, Some(now().plus_millis(LONGEST)))
        );
    }

    #[test]
    fn in_live_mode_nothing_is_simulated() {
        let mut scene = scene();
        let session = scene.start(json!({"payment_method": "pm_1"})).unwrap();
        scene.mode = Mode::Live;
        let conflict = Some(Code::ChargingSessionConflict);
        assert_eq!(scene.refusal(), (conflict, "charging_station".to_owned()));
        // One that an earlier release simulated.
        let live = Operation::of(Mode::Live);
        let later = now().plus_millis(HOUR);
        assert_eq!(session.live(live, later), session.object);
        let mut ended = session;
        assert!(!ended.extend_hold(live, &[], &[], later));
        ended.end(live, later).unwrap();
        assert_eq!(
            (ended.object.status, ended.internal.next_action_at),
            (SessionStatus::Failed, None)
        );
        let ended = ended.object;
        let amounts = (ended.energy_consumed, ended.amount_due, ended.amount_paid);
        assert_eq!(amounts, (0, 0, 0));
    }

    #[test]
    fn live_values_stop_growing_when_the_session_ends_by_itself() {
        let session = scene().start(json!({"session_limit": 11_000})).unwrap();
        let live = |minutes| {
            let live = session
                .clone()
                .live(simulated(), now().plus_millis(minutes * MINUTE));
            (live.energy_consumed, live.amount_due)
        };
        assert_eq!(live(0), (0, 0));
        assert_eq!(live(15), (5_500, 248));
        assert_eq!(live(30), (11_000, 495));
        assert_eq!(live(300), (11_000, 495));
    }

    #[test]
    fn whoever_ends_it_late_ends_it_as_of_the_moment_it_ended() {
        let mut session = scene().start(json!({"session_limit": 11_000})).unwrap();
        session.end(simulated(), now().plus_millis(HOUR)).unwrap();
        assert_eq!(
            session.object.session_ended,
            Some(at("2026-03-01T08:30:00Z"))
        );
        assert_eq!(session.object.updated, at("2026-03-01T09:00:00Z"));
        assert_eq!(
            (
                session.object.amount_due,
                session.internal.net,
                session.internal.tax
            ),
            (495, 413, 82)
        );
        assert_eq!(
            (session.object.status, session.internal.next_action_at),
            (SessionStatus::Completed, None)
        );
        let again = session.end(simulated(), now()).unwrap_err();
        assert!(again.is(Code::ChargingSessionStateConflict));
    }

    #[test]
    fn the_station_decides_the_currency_where_it_has_no_prices_in_the_preferred_one() {
        let mut scene = scene();
        assert_eq!(
            scene.start(json!({})).unwrap().object.currency.as_str(),
            "gbp"
        );
        let usd = Price {
            currency: Currency::USD,
            ..scene.station.pricing[0].clone()
        };
        scene.station.connectors[0].pricing.push(usd);
        let session = scene.start(json!({})).unwrap();
        assert_eq!(session.object.currency, Currency::USD);
        assert_eq!(session.internal.pricing.len(), 1);
    }

    #[test]
    fn what_is_not_active_or_does_not_fit_is_a_400() {
        let refused = |change: fn(&mut Scene)| {
            let mut scene = scene();
            change(&mut scene);
            scene.refusal()
        };
        let no_code = |param: &str| (None, param.to_owned());
        assert_eq!(
            refused(|scene| scene.driver.status = FleetStatus::Archived),
            no_code("driver")
        );
        assert_eq!(
            refused(|scene| scene.fleet.status = FleetStatus::Suspended),
            no_code("vehicle")
        );
        assert_eq!(
            refused(|scene| scene.vehicle.charging_standard = ConnectorType::Ccs),
            no_code("connector")
        );
        let scope = (Some(Code::OwnerScopeInvalid), "driver".to_owned());
        assert_eq!(refused(|scene| scene.driver.fleets.clear()), scope);
    }

    #[test]
    fn a_payment_method_is_the_drivers_the_fleets_or_the_accounts() {
        let mut scene = scene();
        let method = |driver: Option<&Id>, fleet: Option<&Id>| {
            let json = json!({"id": "pm_1", "object": "payment_method", "card": null, "created": now(), "driver": driver,
                "fleet": fleet, "metadata": {}, "type": "wallet", "updated": now()});
            Some(serde_json::from_value::<PaymentMethod>(json).unwrap())
        };
        let other = Id::from("other");
        let (driver, fleet) = (scene.driver.id.clone(), scene.fleet.id.clone());
        for mine in [(None, None), (Some(&driver), None), (None, Some(&fleet))] {
            scene.payment_method = method(mine.0, mine.1);
            assert!(scene.start(json!({})).is_ok(), "{mine:?}");
        }
        for others in [(Some(&other), None), (None, Some(&other))] {
            scene.payment_method = method(others.0, others.1);
            let want = (
                Some(Code::PaymentMethodScopeInvalid),
                "payment_method".to_owned(),
            );
            assert_eq!(scene.refusal(), want, "{others:?}");
        }
    }

    #[test]
    fn what_is_not_free_is_a_conflict() {
        let conflict = |param: &str| (Some(Code::ChargingSessionConflict), param.to_owned());
        for status in [
            ConnectorStatus::Occupied,
            ConnectorStatus::Faulted,
            ConnectorStatus::Unavailable,
            ConnectorStatus::Unknown,
            ConnectorStatus::Reserved,
        ] {
            let mut scene = scene();
            scene.station.connectors[0].status = status;
            assert_eq!(scene.refusal(), conflict("connector"), "{status:?}");
        }
        let mut scene = scene();
        scene.connector = vec![entry(Kind::Reservation, 1, "07:30", "08:30")];
        assert_eq!(scene.refusal(), conflict("connector"));
        scene.connector = vec![entry(Kind::ChargingSession, 1, "07:30", "08:30")];
        assert_eq!(scene.refusal(), conflict("connector"));
        scene.connector = vec![entry(Kind::ChargingSession, 1, "07:30", "08:00")];
        assert!(scene.start(json!({})).is_ok());
        scene.of_vehicle = vec![entry(Kind::ChargingSession, 1, "07:30", "08:30")];
        assert_eq!(scene.refusal(), conflict("vehicle"));
        // One that came after and was faster.
        scene.of_vehicle = vec![entry(Kind::ChargingSession, 1, "08:01", "08:30")];
        assert_eq!(scene.refusal(), conflict("vehicle"));
        scene.connector = vec![entry(Kind::ChargingSession, 1, "08:01", "08:30")];
        scene.of_vehicle.clear();
        assert_eq!(scene.refusal(), conflict("connector"));
        scene.connector.clear();
        // A driver may charge elsewhere than reserved.
        scene.of_vehicle = vec![entry(Kind::Reservation, 1, "07:30", "08:30")];
        assert!(scene.start(json!({})).is_ok());
        scene.station.status = StationStatus::Maintenance;
        assert_eq!(scene.refusal(), conflict("charging_station"));
    }

    #[test]
    fn the_expected_vehicle_has_the_connector_for_longer_than_was_reserved() {
        let mut scene = scene();
        scene.connector = vec![entry(Kind::Reservation, 1, "07:50", "08:50")];
        scene.arriving = Some(reservation(1));
        scene.station.connectors[0].status = ConnectorStatus::Reserved;
        let stored = scene.start(json!({})).unwrap();
        assert_eq!(
            stored.internal.reservation,
            Some(Id::from_number(Kind::Reservation, 1))
        );
        assert!(stored.internal.next_action_at > Some(at("2026-03-01T10:00:00Z")));
        // But not into the time of the next.
        scene
            .connector
            .push(entry(Kind::Reservation, 2, "09:00", "10:00"));
        let stored = scene.start(json!({})).unwrap();
        assert_eq!(
            stored.internal.next_action_at,
            Some(at("2026-03-01T09:00:00Z"))
        );
    }

    #[test]
    fn a_vehicle_is_expected_from_a_quarter_of_an_hour_before_its_time() {
        let entries = [
            entry(Kind::ChargingSession, 1, "07:00", "09:00"),
            entry(Kind::Reservation, 2, "07:00", "08:00"),
            entry(Kind::Reservation, 3, "08:15", "09:00"),
            entry(Kind::Reservation, 4, "08:16", "09:00"),
        ];
        assert_eq!(
            expected(&entries, now()),
            [Id::from_number(Kind::Reservation, 3)]
        );
    }

    #[test]
    fn a_charge_settles_the_session_and_a_declined_one_leaves_it_due() {
        let paid = json!({"session_limit": 11_000, "payment_method": "pm_1"});
        let mut session = scene().start(paid).unwrap();
        let later = now().plus_millis(HOUR);
        session.end(simulated(), later).unwrap();
        assert_eq!(session.internal.next_action_at, Some(later));
        assert!(session.is_unsettled(later));
        assert!(!session.is_unsettled(session.object.session_ended.unwrap()));
        let mut other = session.clone();
        let told = session.settle(&PaymentOutcome::Succeeded, later);
        assert!(!session.is_unsettled(later));
        assert_eq!(
            (
                session.object.amount_paid,
                session.object.amount_due,
                session.internal.next_action_at
            ),
            (495, 0, None)
        );
        assert_eq!(
            (told.amount, told.status),
            (495, TransactionStatus::Succeeded)
        );
        assert_eq!(told.charging_session, Some(session.object.id));
        let told = other.settle(&PaymentOutcome::Declined("card_declined".into()), later);
        assert_eq!(
            (
                other.object.amount_paid,
                other.object.amount_due,
                other.internal.next_action_at
            ),
            (0, 495, None)
        );
        assert_eq!((told.amount, told.status), (495, TransactionStatus::Failed));
        let mut free = scene().start(json!({"payment_method": "pm_1"})).unwrap();
        free.end(simulated(), now()).unwrap();
        assert_eq!(
            (free.object.amount_due, free.internal.next_action_at),
            (0, None)
        );
    }
}

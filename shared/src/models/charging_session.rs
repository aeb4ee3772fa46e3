//! Charging sessions: a vehicle on a connector, from plug-in to the end of the charge.
//!
//! active → completed | cancelled | failed.

use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::address::Country;
use super::charging_station::{ChargingStation, Connector, ConnectorStatus, Price, StationStatus};
use super::driver::Driver;
use super::fleet::Fleet;
use super::payment_method::PaymentMethod;
use super::reservation::Reservation;
use super::text::ZoneName;
use super::transaction::{Transaction, TransactionStatus, TransactionType};
use super::vehicle::Vehicle;
use crate::charging::calendar::{Entry, Window};
use crate::charging::tariff::{self, Cost, Course, Usage};
use crate::charging::{network, opening_hours};
use crate::error::{Code, Error, Result};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::ports::payments::Outcome;
use crate::time::{MINUTE, SECOND, Timestamp};

/// How long before its reserved start a vehicle counts as come for its reservation, in milliseconds.
const EARLY: i64 = 15 * MINUTE;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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

/// What the session's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionPrivate {
    /// The non-void invoice the session is on.
    pub invoice: Option<Id>,
    /// The reservation the session fulfils.
    pub reservation: Option<Id>,
    /// The connector's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// The station's time zone, which the restrictions of its prices mean.
    #[serde(default)]
    pub zone: Option<ZoneName>,
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
    /// stops it before. Afterwards: since when its charge is to be taken; until that is settled no invoice may have it.
    pub due: Option<Timestamp>,
}

/// The body of `POST /v1/charging_sessions`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
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
    /// Wh at which the session stops by itself, at least 1. With or without one it stops when the battery is full, when
    /// the connector is reserved for another vehicle, and after 24 hours.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
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

impl Promises<'_> {
    /// How long the connector is free from now on; none while nobody else is promised it.
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
    /// The invoice that bills the session was paid. Says whether there was anything left to pay.
    pub fn pay_off(&mut self, now: Timestamp) -> bool {
        if self.amount_due == 0 {
            return false;
        }
        self.amount_paid += self.amount_due;
        self.amount_due = 0;
        self.updated = now;
        true
    }

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
        let currency = tariff::currency(&connector.pricing, parties.currency);
        let mut pricing = connector.pricing.clone();
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
            zone: Some(station.timezone.clone()),
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
        let zone = private.zone.as_ref().map(ZoneName::rules);
        let course = Course {
            began: self.session_started,
            zone: &zone.unwrap_or(TimeZone::UTC),
            usage,
        };
        let cost = tariff::cost(&private.pricing, self.currency, course);
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
        let ended = ended.max(self.session_started);
        let (energy, cost) = self.used_until(private, ended);
        self.energy_consumed = energy;
        self.amount_due = cost.gross;
        self.session_ended = Some(ended);
        self.status = SessionStatus::Completed;
        self.updated = now;
        private.net = cost.net;
        private.tax = cost.tax;
        let charged = self.payment_method.is_some() && self.amount_due > 0;
        private.due = charged.then_some(now);
        Ok(())
    }

    /// Notes how the charge for an ended session went, and makes the transaction that tells of it. A session whose charge
    /// was declined waits for an invoice.
    pub fn settle(
        &mut self,
        private: &mut SessionPrivate,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Transaction {
        let amount = self.amount_due;
        let status = match outcome {
            Outcome::Succeeded => TransactionStatus::Succeeded,
            Outcome::Declined(_) => TransactionStatus::Failed,
        };
        if *outcome == Outcome::Succeeded {
            self.amount_paid += amount;
            self.amount_due = 0;
        }
        self.updated = now;
        private.due = None;
        Transaction {
            id: Id::new(Kind::Transaction, now),
            object: Kind::Transaction,
            amount,
            charging_session: Some(self.id.clone()),
            created: now,
            currency: self.currency,
            description: self.description(),
            driver: Some(self.driver.clone()),
            fleet: Some(self.fleet.clone()),
            payment_method: self.payment_method.clone(),
            status,
            kind: TransactionType::Charge,
            vehicle: Some(self.vehicle.clone()),
        }
    }

    /// Whether something is still to be done about a session that ends before that moment: what it owes is not known yet.
    pub fn is_unsettled(&self, private: &SessionPrivate, until: Timestamp) -> bool {
        let ends = self.session_ended.or(private.due);
        private.due.is_some() && ends.is_some_and(|ends| ends < until)
    }

    /// What a charge for the session is called.
    pub fn description(&self) -> String {
        format!("Charging session {}", self.id)
    }
}

fn conflict(param: &str, message: &'static str) -> Error {
    Code::ChargingSessionConflict.because(message).at(param)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::ocpi;
    use crate::models::account::Account;
    use crate::models::charging_station::{Plug, PriceType, Tax};
    use crate::models::fleet::Standing;
    use crate::models::vehicle::ConnectorType;
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
        connector: Vec<Entry>,
        of_vehicle: Vec<Entry>,
        arriving: Option<Reservation>,
    }

    fn scene() -> Scene {
        let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
        let account = Account::new(serde_json::from_value(account).unwrap(), now()).unwrap();
        let driver = json!({"name": "Ada", "email": "ada@b.example"});
        let (mut driver, _) =
            Driver::new(serde_json::from_value(driver).unwrap(), &account, now()).unwrap();
        let fleet = json!({"name": "N", "email": "a@b.example", "address": {"city": "London", "country": "GB",
            "line1": "1", "postal_code": "E3"}});
        let fleet = Fleet::new(serde_json::from_value(fleet).unwrap(), &account, now()).unwrap();
        let vehicle = json!({"fleet": fleet.id, "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": 60_000, "charging_standard": "Type2"});
        let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
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
            connector: Vec::new(),
            of_vehicle: Vec::new(),
            arriving: None,
        }
    }

    impl Scene {
        fn start(&self, change: Value) -> Result<(ChargingSession, SessionPrivate)> {
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
            };
            let promises = Promises {
                connector: &self.connector,
                vehicle: &self.of_vehicle,
                arriving: self.arriving.as_ref(),
            };
            let new = serde_json::from_value(body).unwrap();
            ChargingSession::start(new, &parties, &promises, now())
        }

        /// How a start is refused: its code and param.
        fn refusal(&self) -> (Option<Code>, String) {
            match self.start(json!({})).unwrap_err() {
                Error::Refused(refusal) => (refusal.code, refusal.param.unwrap()),
                other => panic!("{other}"),
            }
        }
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
    fn a_session_ends_at_its_limit_with_a_full_battery_when_another_comes_or_after_a_day() {
        let mut scene = scene();
        let lasts = |scene: &Scene, change| {
            let (session, private) = scene.start(change).unwrap();
            let window = session.window(&private);
            window.until.millis_since(window.from)
        };
        // 80 % of 60 kWh at 22 kW.
        assert_eq!(lasts(&scene, json!({})), 48 * HOUR / 22 + 1);
        assert_eq!(lasts(&scene, json!({"session_limit": 11_000})), HOUR / 2);
        scene.battery_level = Some(100.0);
        assert_eq!(lasts(&scene, json!({})), SECOND);
        scene.battery_level = None;
        scene.connector = vec![entry(Kind::Reservation, 1, "08:20", "09:20")];
        assert_eq!(lasts(&scene, json!({})), 20 * MINUTE);
        scene.connector.clear();
        scene.station.connectors[0].power = 0.0;
        assert_eq!(lasts(&scene, json!({})), network::LONGEST);
    }

    #[test]
    fn live_values_stop_growing_when_the_session_ends_by_itself() {
        let (session, private) = scene().start(json!({"session_limit": 11_000})).unwrap();
        let live = |minutes| {
            let live = session
                .clone()
                .live(&private, now().plus_millis(minutes * MINUTE));
            (live.energy_consumed, live.amount_due)
        };
        assert_eq!(live(0), (0, 0));
        assert_eq!(live(15), (5_500, 248));
        assert_eq!(live(30), (11_000, 495));
        assert_eq!(live(300), (11_000, 495));
    }

    #[test]
    fn whoever_ends_it_late_ends_it_as_of_the_moment_it_ended() {
        let (mut session, mut private) = scene().start(json!({"session_limit": 11_000})).unwrap();
        session.end(&mut private, now().plus_millis(HOUR)).unwrap();
        assert_eq!(session.session_ended, Some(at("2026-03-01T08:30:00Z")));
        assert_eq!(session.updated, at("2026-03-01T09:00:00Z"));
        assert_eq!(
            (session.amount_due, private.net, private.tax),
            (495, 413, 82)
        );
        assert_eq!(
            (session.status, private.due),
            (SessionStatus::Completed, None)
        );
        let again = session.end(&mut private, now()).unwrap_err();
        assert!(again.is(Code::ChargingSessionStateConflict));
    }

    #[test]
    fn the_station_decides_the_currency_where_it_has_no_prices_in_the_preferred_one() {
        let mut scene = scene();
        assert_eq!(scene.start(json!({})).unwrap().0.currency.as_str(), "gbp");
        let usd = Price {
            currency: Currency::USD,
            ..scene.station.pricing[0].clone()
        };
        scene.station.connectors[0].pricing.push(usd);
        let (session, private) = scene.start(json!({})).unwrap();
        assert_eq!(session.currency, Currency::USD);
        assert_eq!(private.pricing.len(), 1);
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
            refused(|scene| scene.driver.status = Standing::Archived),
            no_code("driver")
        );
        assert_eq!(
            refused(|scene| scene.fleet.status = Standing::Suspended),
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
        let (_, private) = scene.start(json!({})).unwrap();
        assert_eq!(
            private.reservation,
            Some(Id::from_number(Kind::Reservation, 1))
        );
        assert!(private.due > Some(at("2026-03-01T10:00:00Z")));
        // But not into the time of the next.
        scene
            .connector
            .push(entry(Kind::Reservation, 2, "09:00", "10:00"));
        let (_, private) = scene.start(json!({})).unwrap();
        assert_eq!(private.due, Some(at("2026-03-01T09:00:00Z")));
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
        let (mut session, mut private) = scene().start(paid).unwrap();
        let later = now().plus_millis(HOUR);
        session.end(&mut private, later).unwrap();
        assert_eq!(private.due, Some(later));
        assert!(session.is_unsettled(&private, later));
        assert!(!session.is_unsettled(&private, session.session_ended.unwrap()));
        let (mut other, mut others) = (session.clone(), private.clone());
        let told = session.settle(&mut private, &Outcome::Succeeded, later);
        assert!(!session.is_unsettled(&private, later));
        assert_eq!(
            (session.amount_paid, session.amount_due, private.due),
            (495, 0, None)
        );
        assert_eq!(
            (told.amount, told.status),
            (495, TransactionStatus::Succeeded)
        );
        assert_eq!(told.charging_session, Some(session.id));
        let told = other.settle(
            &mut others,
            &Outcome::Declined("card_declined".into()),
            later,
        );
        assert_eq!(
            (other.amount_paid, other.amount_due, others.due),
            (0, 495, None)
        );
        assert_eq!((told.amount, told.status), (495, TransactionStatus::Failed));
        let (mut free, mut private) = scene().start(json!({"payment_method": "pm_1"})).unwrap();
        free.end(&mut private, now()).unwrap();
        assert_eq!((free.amount_due, private.due), (0, None));
    }
}

//! Sessions that are started through the API, and simulated ones.

use super::*;
use crate::account::Account;
use crate::charging_session::SessionStatus;
use crate::charging_station::{OpeningHours, Plug, Price, PriceType, Tax, Weekday};
use crate::fleet::FleetStatus;
use crate::transaction::{PaymentOutcome, TransactionStatus};
use crate::vehicle::ConnectorType;
use kernel::Mode;
use kernel::time::{HOUR, hours, millis};
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(super) fn now() -> Timestamp {
    at("2026-03-01T08:00:00Z")
}

pub(super) struct Scene {
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

pub(super) fn scene() -> Scene {
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
        "battery_capacity": 60_000, "charging_standard": "Type2", "max_ac_power": 22_080});
    let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
    let vehicle = vehicle.object;
    driver.fleets.push(fleet.id.clone());
    let mut station = crate::fixtures::station();
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
    pub(super) fn start(&self, change: Value) -> Result<Stored<ChargingSession>> {
        let mut body = json!({"charging_station": self.station.id, "connector": self.station.connectors[0].id,
            "driver": self.driver.id, "vehicle": self.vehicle.id});
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let parties = Parties {
            location: None,
            station: &self.station,
            connector: &self.station.connectors[0],
            driver: &self.driver,
            card: None,
            vehicle: &self.vehicle,
            fleet: &self.fleet,
            payment_method: self.payment_method.as_ref(),
            odometer: None,
            battery_level: self.battery_level,
            currency: Currency::USD,
            operation: Operation::of(self.mode, false),
        };
        let entries = CalendarEntries {
            evse: &self.connector,
            vehicle: &self.of_vehicle,
            arriving: self.arriving.as_ref(),
        };
        let new = serde_json::from_value(body).unwrap();
        ChargingSession::start(new, &parties, &entries, now())
    }

    /// The code and the param of the error with which a start is refused.
    fn refusal(&self) -> (Option<Code>, String) {
        match self.start(json!({})).unwrap_err() {
            Error::Client(refusal) => (refusal.code, refusal.param.unwrap()),
            other => panic!("{other}"),
        }
    }
}

fn simulated() -> Operation {
    Operation::of(Mode::Test, false)
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
    let json = json!({"id": Id::from_number(Kind::Reservation, number),
        "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
        "created": now(), "currency": "usd", "driver": "drv_1", "ideal_start": now(), "ideal_end": now(),
        "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}, "metadata": {}, "reservation_fee": 0,
        "state": {"status": "pending", "next_attempt": now()}, "updated": now(), "vehicle": "veh_1"});
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_session_ends_at_its_earliest_limit_or_after_24_hours() {
    let mut scene = scene();
    let ends = |scene: &Scene, change| {
        let session = scene.start(change).unwrap();
        let after = |moment: Option<Timestamp>| moment.unwrap().since(now());
        (
            after(session.object.state.ends_by().map(|ends_by| ends_by.at)),
            session.object.state.ends_by().unwrap().reason,
            after(session.next_action_at()),
        )
    };
    use EndReason::{MaximumDuration, Reservation, SessionLimit, StationClosing};
    // 80 % of 60 kWh at 22 kW, of which 90 % reach the battery, and then it parks: 48 / 0.9 = 53.334 kWh, rounded up.
    let full = millis((53_334 * 3_600_000_i64).div_euclid(22_000) + 1);
    assert_eq!(
        ends(&scene, json!({})),
        (MAX_DURATION, MaximumDuration, full)
    );
    let limit = json!({"session_limit": 11_000});
    let half = minutes(30);
    assert_eq!(ends(&scene, limit.clone()), (half, SessionLimit, half));
    // A limit that the battery does not hold is never reached.
    let beyond = json!({"session_limit": 53_335});
    assert_eq!(ends(&scene, beyond), (MAX_DURATION, MaximumDuration, full));
    scene.battery_level = Some(100.0);
    assert_eq!(
        ends(&scene, limit.clone()),
        (MAX_DURATION, MaximumDuration, SECOND)
    );
    scene.battery_level = None;
    scene.connector = vec![entry(Kind::Reservation, 1, "11:00", "12:00")];
    assert_eq!(ends(&scene, json!({})), (hours(3), Reservation, full));
    scene.connector = vec![entry(Kind::Reservation, 1, "08:20", "09:20")];
    let soon = minutes(20);
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
    let closing = hours(2);
    assert_eq!(ends(&scene, json!({})), (closing, StationClosing, closing));
    assert_eq!(ends(&scene, limit), (half, SessionLimit, half));
    scene.station.capabilities.access_24_7 = true;
    scene.station.connectors[0].power = 0.0;
    assert_eq!(
        ends(&scene, json!({})),
        (MAX_DURATION, MaximumDuration, MAX_DURATION)
    );
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
fn parking_time_is_billed_from_the_moment_the_battery_is_full() {
    let mut scene = with_parking(scene());
    // 19.8 % of 50 kWh to go, which are 9.9 kWh in the battery and 11 kWh at the meter: half an hour.
    scene.vehicle.battery_capacity = 50_000;
    scene.battery_level = Some(80.2);
    let session = scene.start(json!({})).unwrap();
    assert_eq!(
        session.object.state.simulated().unwrap().most_energy,
        11_000
    );
    let at = |count: i64| now().plus(minutes(count));
    let mut ended = session;
    ended.object.state.simulated_mut().unwrap().held_until = at(600);
    let live = |minutes| ended.shown(simulated(), at(minutes));
    let charging = live(29);
    assert_eq!(
        (charging.state.charged().ended, charging.amount_due()),
        (None, 478)
    );
    let parked = live(90);
    assert_eq!(parked.state.charged().ended, Some(at(30)));
    assert_eq!(
        (parked.energy(), parked.status()),
        (11_000, SessionStatus::Active)
    );
    let kinds: Vec<_> = parked
        .state
        .cost()
        .unwrap()
        .lines
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
    assert_eq!(parked.amount_due(), 555);
    assert_eq!(parked.total().gross, 555);
    ended.end(simulated(), at(150)).unwrap();
    let ended = ended.object;
    assert_eq!(
        (
            ended.state.ended(),
            ended.state.charged().ended,
            ended.amount_due()
        ),
        (Some(at(150)), Some(at(30)), 495 + 120)
    );
}

#[test]
fn a_parked_vehicles_hold_is_extended_in_steps_of_20_minutes() {
    let mut scene = scene();
    scene.battery_level = Some(100.0);
    let at = |holds: i32| now().plus(holds * HOLD + SECOND);
    let mut session = scene.start(json!({})).unwrap();
    assert_eq!(session.next_action_at(), Some(at(0)));
    let own = Entry {
        holder: session.object.id.clone(),
        ..entry(Kind::ChargingSession, 1, "08:00", "09:00")
    };
    let rival = entry(Kind::Reservation, 1, "08:50", "09:30");
    let connector = [own, rival.clone()];
    let mut stay = |connector: &[Entry], vehicle: &[Entry]| {
        let blocked = session.blocked_reservations(connector, vehicle).len();
        let stays = session.extend_hold(simulated(), connector, vehicle, now());
        (
            stays,
            session.next_action_at(),
            session.object.state.ends_by().unwrap().reason,
            blocked,
        )
    };
    let longest = EndReason::MaximumDuration;
    assert_eq!(stay(&connector[..1], &[]), (true, Some(at(1)), longest, 0));
    // A reservation of another vehicle has to make room before the hold reaches it.
    assert_eq!(stay(&connector, &[]), (true, Some(at(2)), longest, 0));
    let half = Some(rival.window.from);
    assert_eq!(stay(&connector, &[]), (true, half, longest, 1));
    assert_eq!(stay(&connector, &[]), (true, half, longest, 1));
    let next = half.map(|half| half.plus(HOLD));
    assert_eq!(stay(&connector[..1], &[]), (true, next, longest, 0));
    // A reservation of the vehicle itself ends the session, and one that has begun does so at once.
    let reserved = EndReason::Reservation;
    let own = [entry(Kind::Reservation, 3, "09:15", "09:30")];
    let quarter = Some(own[0].window.from);
    assert_eq!(stay(&own, &own), (true, quarter, reserved, 0));
    assert_eq!(stay(&own, &own), (false, quarter, reserved, 0));
    let mut session = scene.start(json!({})).unwrap();
    let elsewhere = [entry(Kind::Reservation, 2, "08:00", "09:00")];
    let stays = session.extend_hold(simulated(), &[], &elsewhere, now());
    assert_eq!((stays, session.next_action_at()), (false, Some(at(0))));
    // So does a session that began while this one awaited room, without a hold in the calendars.
    let mut waiting = scene.start(json!({})).unwrap();
    waiting.await_room(now());
    let (left, later) = (
        &elsewhere,
        [entry(Kind::ChargingSession, 4, "08:30", "09:00")],
    );
    assert_eq!(
        (waiting.has_left(left), waiting.has_left(&later)),
        (true, false)
    );
    // Nothing lasts longer than a day.
    let mut holds = 0;
    while session.extend_hold(simulated(), &[], &[], now()) {
        holds += 1;
    }
    assert_eq!(
        (holds, session.next_action_at()),
        (72, Some(now().plus(MAX_DURATION)))
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
    let live = Operation::of(Mode::Live, false);
    let later = now().plus(HOUR);
    assert_eq!(session.shown(live, later), session.object);
    let mut ended = session;
    assert!(!ended.extend_hold(live, &[], &[], later));
    ended.end(live, later).unwrap();
    assert_eq!(
        (ended.object.status(), ended.next_action_at()),
        (SessionStatus::Failed, None)
    );
    let ended = ended.object;
    let amounts = (ended.energy(), ended.amount_due(), ended.amount_paid());
    assert_eq!(amounts, (0, 0, 0));
}

#[test]
fn live_values_stop_growing_when_the_session_ends_by_itself() {
    let session = scene().start(json!({"session_limit": 11_000})).unwrap();
    let live = |count| {
        let live = session
            .clone()
            .shown(simulated(), now().plus(minutes(count)));
        (live.energy(), live.amount_due())
    };
    assert_eq!(live(0), (0, 0));
    assert_eq!(live(15), (5_500, 248));
    assert_eq!(live(30), (11_000, 495));
    assert_eq!(live(300), (11_000, 495));
}

#[test]
fn whoever_ends_it_late_ends_it_as_of_the_moment_it_ended() {
    let mut session = scene().start(json!({"session_limit": 11_000})).unwrap();
    session.end(simulated(), now().plus(HOUR)).unwrap();
    assert_eq!(
        session.object.state.ended(),
        Some(at("2026-03-01T08:30:00Z"))
    );
    assert_eq!(session.object.updated, at("2026-03-01T09:00:00Z"));
    assert_eq!(
        (
            session.object.amount_due(),
            session.object.total().net,
            session.object.total().tax()
        ),
        (495, 413, 82)
    );
    assert_eq!(
        (session.object.status(), session.next_action_at()),
        (SessionStatus::Completed, None)
    );
    let again = session.end(simulated(), now()).unwrap_err();
    assert!(again.is(Code::ChargingSessionStateConflict));
}

#[test]
fn the_currency_falls_back_to_that_of_the_stations_prices() {
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
    // A session that was requested later but stored first.
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
fn a_vehicle_may_stay_past_its_reservation_until_the_next_one() {
    let mut scene = scene();
    scene.connector = vec![entry(Kind::Reservation, 1, "07:50", "08:50")];
    scene.arriving = Some(reservation(1));
    scene.station.connectors[0].status = ConnectorStatus::Reserved;
    let stored = scene.start(json!({})).unwrap();
    assert_eq!(
        stored.object.reservation,
        Some(Id::from_number(Kind::Reservation, 1))
    );
    assert!(stored.next_action_at() > Some(at("2026-03-01T10:00:00Z")));
    // But not into the time of the next.
    scene
        .connector
        .push(entry(Kind::Reservation, 2, "09:00", "10:00"));
    let stored = scene.start(json!({})).unwrap();
    assert_eq!(stored.next_action_at(), Some(at("2026-03-01T09:00:00Z")));
}

#[test]
fn a_vehicle_is_expected_from_half_an_hour_before_its_reservation() {
    let entries = [
        entry(Kind::ChargingSession, 1, "07:00", "09:00"),
        entry(Kind::Reservation, 2, "07:00", "08:00"),
        entry(Kind::Reservation, 3, "08:30", "09:00"),
        entry(Kind::Reservation, 4, "08:31", "09:00"),
    ];
    assert_eq!(
        expected(&entries, now()),
        [Id::from_number(Kind::Reservation, 3)]
    );
}

#[test]
fn a_charge_settles_a_session_and_a_decline_leaves_it_due() {
    let paid = json!({"session_limit": 11_000, "payment_method": "pm_1"});
    let mut session = scene().start(paid).unwrap();
    let later = now().plus(HOUR);
    session.end(simulated(), later).unwrap();
    assert_eq!(session.next_action_at(), Some(later));
    assert!(session.is_unsettled(later));
    assert!(!session.is_unsettled(session.object.state.ended().unwrap()));
    let mut other = session.clone();
    let transaction = session.settle(&PaymentOutcome::Succeeded, later);
    assert!(!session.is_unsettled(later));
    assert_eq!(
        (
            session.object.amount_paid(),
            session.object.amount_due(),
            session.next_action_at()
        ),
        (495, 0, None)
    );
    assert_eq!(
        (transaction.amount, transaction.status),
        (495, TransactionStatus::Succeeded)
    );
    assert_eq!(transaction.charging_session, Some(session.object.id));
    let transaction = other.settle(&PaymentOutcome::Declined("card_declined".into()), later);
    assert_eq!(
        (
            other.object.amount_paid(),
            other.object.amount_due(),
            other.next_action_at()
        ),
        (0, 495, None)
    );
    assert_eq!(
        (transaction.amount, transaction.status),
        (495, TransactionStatus::Failed)
    );
    let mut free = scene().start(json!({"payment_method": "pm_1"})).unwrap();
    free.end(simulated(), now()).unwrap();
    assert_eq!((free.object.amount_due(), free.next_action_at()), (0, None));
}

/// Objects of one party of a network.
pub mod named {
    use crate::charging_session::NetworkSession;
    use crate::network::{EvseId, Module, ObjectId, Owner, PartyId};
    use kernel::{Id, Kind};

    pub fn object(module: Module, id: &str) -> ObjectId {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "EXA").unwrap(),
        );
        ObjectId::new(owner, module, id).unwrap()
    }

    pub fn network_session() -> NetworkSession {
        let location = object(Module::Locations, "LOC1");
        NetworkSession::at(EvseId::new(location, "E1"), None)
    }
}

/// An active session at a network's EVSE that delivers this power in W.
pub(super) fn at_network(evse_power: u32) -> Stored<ChargingSession> {
    let mut session = scene().start(json!({})).unwrap();
    session.internal.network = Some(Box::new(NetworkSession {
        evse_power,
        ..named::network_session()
    }));
    session.begin(now(), now());
    session.clear_events();
    session
}

use super::*;
use crate::account::Account;
use crate::fleet::FleetStatus;
use kernel::time::{DAY, hours, millis};
use kernel::{Code, Error, Window};
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn now() -> Timestamp {
    at("2026-03-01T08:00:00Z")
}

/// Returns a connector that is assigned for a window.
fn assigned(from: Timestamp, until: Timestamp) -> Assignment {
    Assignment {
        station: Id::from_number(Kind::ChargingStation, 1),
        evse: "1".into(),
        connector: "1".into(),
        is_of_network: false,
        window: Window { from, until },
    }
}

fn pair() -> (Driver, Vehicle) {
    let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
    let account = Account::new(serde_json::from_value(account).unwrap(), now()).unwrap();
    let driver = json!({"name": "Ada", "email": "ada@b.example"});
    let driver = Driver::new(serde_json::from_value(driver).unwrap(), &account, now()).unwrap();
    let mut driver = driver.object;
    let fleet = Id::new(Kind::Fleet, now());
    let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60000,
        "charging_standard": "Type2"});
    let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
    let vehicle = vehicle.object;
    driver.fleets.push(fleet);
    (driver, vehicle)
}

fn body(change: Value) -> Value {
    let (driver, vehicle) = ("drv", "veh");
    let mut body = json!({"driver": driver, "vehicle": vehicle, "ideal_start": "2026-03-01T10:00:00Z",
        "ideal_end": "2026-03-01T11:00:00Z", "connector_type": ["Type2"],
        "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}});
    body.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    body
}

fn reserve(change: Value) -> Result<Stored<Reservation>> {
    let (driver, vehicle) = pair();
    let terms = Terms {
        currency: Currency::USD,
        fee: 0,
        fee_tax_percent: Default::default(),
    };
    let new: NewReservation = serde_json::from_value(body(change)).unwrap();
    new.check(now())?;
    Reservation::new(new, &driver, &vehicle, None, terms, now())
}

/// Returns a reservation that is confirmed at the station of a network `before` its start, and that start.
pub(super) fn confirmed_at_network(before: SignedDuration) -> (Stored<Reservation>, Timestamp) {
    let mut reservation = reserve(json!({})).unwrap();
    let start = reservation.object.ideal_start;
    let assignment = Assignment {
        station: Id::from_number(Kind::ChargingStation, 1),
        evse: "E1".into(),
        connector: "E1-1".into(),
        is_of_network: true,
        window: Window {
            from: start,
            until: reservation.object.ideal_end,
        },
    };
    reservation.confirm(
        &assignment,
        MatchSummary::default(),
        SignedDuration::ZERO,
        start.plus(-before),
    );
    (reservation, start)
}

fn param(result: Result<Stored<Reservation>>) -> String {
    match result.unwrap_err() {
        Error::Client(refusal) => {
            assert_eq!(refusal.code, Some(Code::ReservationInvalidInput));
            refusal.param.unwrap()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_first_attempt_is_30_minutes_before_start_or_immediate() {
    let reservation = reserve(json!({})).unwrap();
    assert_eq!(reservation.object.status(), ReservationStatus::Pending);
    assert_eq!(
        reservation.next_action_at(),
        Some(at("2026-03-01T09:30:00Z"))
    );
    let soon = reserve(json!({"ideal_start": "2026-03-01T08:10:00Z"})).unwrap();
    assert_eq!(soon.next_action_at(), Some(now()));
}

#[test]
fn what_breaks_a_rule_is_named() {
    for (change, want) in [
        (json!({"ideal_end": "2026-03-01T10:00:00Z"}), "ideal_end"),
        (json!({"ideal_end": "2026-03-01T10:14:59Z"}), "ideal_end"),
        (json!({"ideal_end": "2026-03-02T10:00:01Z"}), "ideal_end"),
        (
            json!({"ideal_start": "2026-03-01T08:00:00Z"}),
            "ideal_start",
        ),
        (
            json!({"ideal_start": "2026-05-30T08:00:01Z", "ideal_end": "2026-05-30T09:00:01Z"}),
            "ideal_start",
        ),
        (
            json!({"earliest_start": "2026-03-01T10:00:01Z"}),
            "earliest_start",
        ),
        (json!({"latest_end": "2026-03-01T10:59:59Z"}), "latest_end"),
        (
            json!({"latest_end": "2026-03-08T11:00:00.001Z"}),
            "latest_end",
        ),
        (json!({"latest_end": "9999-03-08T11:00:00Z"}), "latest_end"),
        (
            json!({"location": {"latitude": 90.1, "longitude": 0.0, "radius": 1}}),
            "location.latitude",
        ),
        (
            json!({"location": {"latitude": 0, "longitude": -180.5, "radius": 1}}),
            "location.longitude",
        ),
        (
            json!({"location": {"latitude": 0, "longitude": 0, "radius": 0}}),
            "location.radius",
        ),
        (
            json!({"location": {"latitude": 0, "longitude": 0, "radius": 100_001}}),
            "location.radius",
        ),
        (json!({"connector_type": []}), "connector_type"),
        (json!({"connector_type": ["CCS"]}), "connector_type"),
    ] {
        assert_eq!(param(reserve(change.clone())), want, "{change}");
    }
}

#[test]
fn driver_and_vehicle_must_be_active_and_belong_together() {
    let terms = Terms {
        currency: Currency::USD,
        fee: 0,
        fee_tax_percent: Default::default(),
    };
    let reserve = |driver: &Driver, vehicle: &Vehicle| {
        Reservation::new(
            serde_json::from_value(body(json!({}))).unwrap(),
            driver,
            vehicle,
            None,
            terms,
            now(),
        )
    };
    let (mut driver, mut vehicle) = pair();
    driver.status = FleetStatus::Suspended;
    assert_eq!(param(reserve(&driver, &vehicle)), "driver");
    driver.status = FleetStatus::Active;
    driver.fleets.clear();
    assert_eq!(param(reserve(&driver, &vehicle)), "driver");
    vehicle.drivers.push(driver.id.clone());
    assert!(reserve(&driver, &vehicle).is_ok());
    vehicle.status = crate::vehicle::VehicleStatus::Retired;
    assert_eq!(param(reserve(&driver, &vehicle)), "vehicle");
}

#[test]
fn attempts_go_on_every_five_minutes_until_it_is_too_late() {
    let mut reservation = reserve(json!({"latest_end": "2026-03-01T11:07:00Z"})).unwrap();
    let mut moments = Vec::new();
    while let Some(due) = reservation.next_action_at() {
        moments.push(due.to_string()[11..16].to_owned());
        reservation.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
    }
    assert_eq!(
        moments,
        [
            "09:30", "09:35", "09:40", "09:45", "09:50", "09:55", "10:00", "10:05"
        ]
    );
    assert_eq!(reservation.object.status(), ReservationStatus::Failed);
    assert_eq!(
        reservation.object.state,
        ReservationState::Failed {
            reason: FailedReason::NoAvailableConnectors
        }
    );
}

#[test]
fn a_reservation_has_at_most_2023_attempts_for_any_latest_end() {
    let mut widest = reserve(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
    let attempts = |reservation: &mut Stored<Reservation>| {
        let mut attempts = 0;
        while let Some(due) = reservation.next_action_at() {
            reservation.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
            attempts += 1;
            assert!(attempts < 10_000, "attempts go on without end");
        }
        assert_eq!(reservation.object.status(), ReservationStatus::Failed);
        attempts
    };
    let mut older = widest.clone();
    older.object.latest_end = Some(at("2036-03-01T11:00:00Z"));
    assert_eq!(attempts(&mut widest), 2_023);
    assert_eq!(attempts(&mut older), 2_023);
}

#[test]
fn an_update_keeps_latest_end_within_seven_days() {
    let mut reservation = reserve(json!({})).unwrap();
    let before = reservation.clone();
    for late in [
        json!({"latest_end": "2026-03-08T11:00:00.001Z"}),
        json!({"latest_end": "2026-03-08T12:00:00Z", "ideal_end": "2026-03-01T10:30:00Z"}),
    ] {
        let mut changed = before.clone();
        let change = serde_json::from_value(late.clone()).unwrap();
        let refused = changed.update(change, now());
        assert_eq!(
            param(refused.map(|()| before.clone())),
            "latest_end",
            "{late}"
        );
    }
    let change = serde_json::from_value(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
    reservation.update(change, now()).unwrap();
    assert_eq!(
        reservation.object.latest_end,
        Some(at("2026-03-08T11:00:00Z"))
    );
}

#[test]
fn a_driver_who_left_fails_the_reservation_at_once() {
    let mut reservation = reserve(json!({})).unwrap();
    reservation.record_failed_attempt(
        FailedReason::DriverUnavailable,
        None,
        at("2026-03-01T09:30:00Z"),
    );
    assert_eq!(reservation.object.status(), ReservationStatus::Failed);
    assert_eq!(reservation.next_action_at(), None);
}

#[test]
fn a_confirmed_reservation_can_be_cancelled_but_not_updated() {
    let mut reservation = reserve(json!({})).unwrap();
    let change = || -> ReservationChange {
        serde_json::from_value(json!({"metadata": {"k": "v"}})).unwrap()
    };
    reservation.update(change(), now()).unwrap();
    let assignment = assigned(reservation.object.ideal_start, reservation.object.ideal_end);
    reservation.confirm(
        &assignment,
        MatchSummary::default(),
        SignedDuration::ZERO,
        now(),
    );
    assert_eq!(
        reservation.next_action_at(),
        Some(at("2026-03-01T10:15:00Z"))
    );
    let refused = reservation.update(change(), now()).unwrap_err();
    assert!(refused.is(Code::ReservationUpdateInvalidState));
    reservation.cancel(now()).unwrap();
    assert_eq!(reservation.next_action_at(), None);
    assert!(
        reservation
            .cancel(now())
            .unwrap_err()
            .is(Code::ReservationCancelInvalidState)
    );
}

#[test]
fn moving_the_window_moves_the_attempt() {
    let mut reservation = reserve(json!({})).unwrap();
    let change =
        json!({"ideal_start": "2026-03-01T12:00:00Z", "ideal_end": "2026-03-01T13:00:00Z"});
    reservation
        .update(serde_json::from_value(change).unwrap(), now())
        .unwrap();
    assert_eq!(
        reservation.next_action_at(),
        Some(at("2026-03-01T11:30:00Z"))
    );
    let change = serde_json::from_value(json!({"connector_type": ["CCS"]})).unwrap();
    assert!(reservation.update(change, now()).is_err());
}

#[test]
fn cancelling_is_free_until_30_minutes_before_the_start() {
    let mut reservation = reserve(json!({})).unwrap();
    reservation.object.reservation_fee = 300;
    let assignment = assigned(at("2026-03-01T11:00:00Z"), at("2026-03-01T12:00:00Z"));
    let summary = MatchSummary::default;
    let fee_due = |mut reservation: Stored<Reservation>, now: &str| {
        reservation.cancel(at(now)).unwrap();
        reservation.object.fee_due()
    };
    assert_eq!(fee_due(reservation.clone(), "2026-03-01T09:59:00Z"), 0);
    reservation.confirm(&assignment, summary(), SignedDuration::ZERO, now());
    assert_eq!(reservation.object.fee_due(), 300);
    assert_eq!(fee_due(reservation.clone(), "2026-03-01T10:30:00Z"), 0);
    assert_eq!(
        fee_due(reservation.clone(), "2026-03-01T10:30:00.001Z"),
        300
    );
    reservation.object.cancellation_policy.kind = CancellationType::NonRefundable;
    assert_eq!(fee_due(reservation, "2026-03-01T09:00:00Z"), 300);
}

#[test]
fn a_reservation_with_a_lost_connector_is_rematched_or_fails() {
    let mut reservation = reserve(json!({"latest_end": "2026-03-01T11:10:00Z"})).unwrap();
    reservation.object.reservation_fee = 300;
    let assignment = assigned(reservation.object.ideal_start, reservation.object.ideal_end);
    let at_half_past_nine = at("2026-03-01T09:30:00Z");
    reservation.confirm(
        &assignment,
        MatchSummary::default(),
        minutes(10),
        at_half_past_nine,
    );
    let now = at("2026-03-01T09:52:00Z");
    let lost = |connector: &'static str| move |reserved: &Reserved| reserved.connector == connector;
    let station = Id::from_number(Kind::ChargingStation, 2);
    assert!(!reservation.request_rematch(&station, lost("1"), now));
    assert!(!reservation.request_rematch(&assignment.station, lost("2"), now));
    assert!(reservation.request_rematch(&assignment.station, lost("1"), now));
    assert!(!reservation.request_rematch(&assignment.station, lost("1"), now));
    let mut moments = Vec::new();
    let mut unassigned = 0;
    while let Some(due) = reservation.next_action_at() {
        let is_first = moments.is_empty();
        assert_eq!(reservation.reserved_window(due).is_some(), is_first);
        moments.push(due.to_string()[11..16].to_owned());
        reservation.clear_events();
        reservation.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
        let events = reservation.events();
        unassigned += usize::from(events == [EventType::ReservationUnassigned]);
        assert_eq!(reservation.object.fee_due(), 0);
        assert!(reservation.object.state.reserved().is_none());
    }
    assert_eq!(unassigned, 1);
    assert_eq!(moments, ["09:52", "09:57", "10:02", "10:07"]);
    let reason = FailedReason::StationUnavailable;
    assert!(
        matches!(&reservation.object.state, ReservationState::Failed { reason: failed, .. } if *failed == reason)
    );
    assert_eq!(reservation.object.fee_due(), 0);
}

#[test]
fn cancelling_is_free_for_ten_minutes_after_a_late_confirmation() {
    let mut reservation = reserve(json!({})).unwrap();
    reservation.object.reservation_fee = 300;
    let assignment = assigned(reservation.object.ideal_start, reservation.object.ideal_end);
    let confirm = |reservation: &mut Stored<Reservation>, late_free, now: &str| {
        reservation.confirm(&assignment, MatchSummary::default(), late_free, at(now));
        reservation
            .object
            .free_cancellation_until()
            .unwrap()
            .to_string()
    };
    let fee_due = |reservation: &Stored<Reservation>, now: &str| {
        let mut reservation = reservation.clone();
        let is_late = reservation.object.is_late_free_cancellation(at(now));
        reservation.cancel(at(now)).unwrap();
        (reservation.object.fee_due(), is_late)
    };
    // Half an hour before the start both moments are the same, or the ten minutes end later, but not after the start.
    for (confirmed, want) in [
        ("2026-03-01T09:20:00Z", "2026-03-01T09:30:00.000Z"),
        ("2026-03-01T09:20:00.001Z", "2026-03-01T09:30:00.001Z"),
        ("2026-03-01T09:30:00Z", "2026-03-01T09:40:00.000Z"),
        ("2026-03-01T09:50:00Z", "2026-03-01T10:00:00.000Z"),
        ("2026-03-01T09:55:00Z", "2026-03-01T10:00:00.000Z"),
    ] {
        let mut reservation = reservation.clone();
        assert_eq!(confirm(&mut reservation, minutes(10), confirmed), want);
        let after = at(want).plus(millis(1)).to_string();
        let is_late = want != "2026-03-01T09:30:00.000Z";
        assert_eq!(fee_due(&reservation, want), (0, is_late), "{confirmed}");
        assert_eq!(fee_due(&reservation, &after), (300, false), "{confirmed}");
    }
    // Without the ten minutes, only `free_until_before` counts.
    let mut strict = reservation.clone();
    let until = confirm(&mut strict, SignedDuration::ZERO, "2026-03-01T09:30:00Z");
    assert_eq!(until, "2026-03-01T09:30:00.000Z");
    assert_eq!(fee_due(&strict, "2026-03-01T09:30:00.001Z"), (300, false));
    // A reassignment starts the ten minutes again, and no fee is charged for a connector that is lost.
    confirm(&mut reservation, minutes(10), "2026-03-01T09:30:00Z");
    let now = at("2026-03-01T09:45:00Z");
    assert!(reservation.request_rematch(&assignment.station, |_| true, now));
    assert_eq!(fee_due(&reservation, "2026-03-01T09:45:00Z"), (0, false));
    let until = confirm(&mut reservation, minutes(10), "2026-03-01T09:45:00Z");
    assert_eq!(until, "2026-03-01T09:55:00.000Z");
    reservation.object.cancellation_policy.kind = CancellationType::NonRefundable;
    assert_eq!(reservation.object.free_cancellation_until(), None);
    assert_eq!(fee_due(&reservation, "2026-03-01T09:46:00Z"), (300, false));
}

#[test]
fn a_vehicle_cancels_late_and_free_three_times_a_day() {
    let (_, vehicle) = pair();
    let mut vehicle = Stored::new(vehicle);
    for hour in 0..3 {
        let now = now().plus(hours(hour));
        assert!(vehicle.may_cancel_late(now));
        vehicle.record_late_cancellation(now);
    }
    let next_day = now().plus(DAY);
    assert!(!vehicle.may_cancel_late(next_day.plus(millis(-1))));
    assert!(vehicle.may_cancel_late(next_day));
    vehicle.record_late_cancellation(next_day);
    assert_eq!(vehicle.internal.late_cancellations.len(), 3);
    assert!(!vehicle.may_cancel_late(next_day));
}

#[test]
fn an_update_after_ideal_start_may_keep_the_window() {
    let mut reservation = reserve(json!({"latest_end": "2026-03-01T13:00:00Z"})).unwrap();
    let later = at("2026-03-01T10:30:00Z");
    let due = reservation.next_action_at();
    let keep = json!({"ideal_start": "2026-03-01T10:00:00Z", "ideal_end": "2026-03-01T11:00:00Z",
        "latest_end": "2026-03-01T12:00:00Z"});
    let change = serde_json::from_value(keep).unwrap();
    reservation.update(change, later).unwrap();
    assert_eq!(reservation.next_action_at(), due);
    let change = serde_json::from_value(json!({"ideal_end": "2026-03-01T11:15:00Z"})).unwrap();
    let refused = reservation.update(change, later);
    assert_eq!(param(refused.map(|()| reservation)), "ideal_start");
}

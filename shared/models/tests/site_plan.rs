//! Plans of a site whose departures are moved and replaced, whose vehicles charge in sessions, and whose limits change.

mod depot;

use kernel::time::{hours, minutes};
use kernel::{Kind, Timestamp};
use models::charging::battery::Battery;
use models::departure::Departure;
use models::site::SiteDay;
use models::site::charge::ShortageReason;
use models::site::inputs::{Execution, PlanInputs, SiteSession};
use models::site::plan::{Planned, plan};
use models::site::view::{NotEnforced, SitePlan};
use models::vehicle_telemetry::Reading;
use models::{Site, Stored, Vehicle, VehicleTelemetry};
use serde_json::{Value, json};

use depot::{id, parked};

const POWER: u32 = 11_000;

fn start() -> Timestamp {
    Timestamp::parse("2027-01-15T18:00:00Z").expect("a time")
}

fn after(count: i64) -> Timestamp {
    start().plus(hours(count))
}

fn vehicle(place: usize) -> Vehicle {
    let own = json!({"battery_capacity": 90_000, "max_ac_power": POWER});
    depot::vehicle(place, start(), own)
}

/// The departure with a number of the vehicle at a place.
fn departure(number: usize, place: usize, at: Timestamp, need: &Value) -> Departure {
    depot::departure(number, &id(Kind::Vehicle, place), at, start(), need.clone())
}

fn wh(energy: u32) -> Value {
    json!({"energy_wh": energy})
}

fn level(target: u32) -> Value {
    json!({"target_level": target})
}

struct Depot {
    site: Stored<Site>,
    inputs: PlanInputs,
}

impl Depot {
    fn new(vans: usize, execution: Execution, limits: Value) -> Self {
        let site = depot::site(
            json!({"time_zone": "Europe/London", "limits": limits}),
            start(),
        );
        let vehicles = (0..vans).map(|place| parked(vehicle(place), Vec::new()));
        let inputs = depot::inputs(execution, vehicles.collect());
        Self { site, inputs }
    }

    fn report(&mut self, place: usize, level: u32, now: Timestamp) {
        let van = &mut self.inputs.vehicles[place];
        let reading = json!({"battery": {"level": level}});
        let reading: Reading = serde_json::from_value(reading).expect("a reading");
        let mut telemetry = VehicleTelemetry::of(&van.vehicle, now);
        let read = telemetry.read(reading, &van.vehicle, now);
        read.expect("a level");
        van.telemetry = Some(telemetry);
        van.has_reported = true;
    }

    /// The vehicle charges in a session, which has charged this energy so far.
    fn charge(&mut self, place: usize, energy: u32, now: Timestamp, takes_profiles: bool) {
        self.inputs.vehicles[place].sessions = vec![SiteSession {
            id: id(Kind::ChargingSession, place),
            vehicle: id(Kind::Vehicle, place),
            is_active: true,
            is_parked: false,
            power: POWER,
            energy,
            reported: now,
            takes_profiles,
            profile: None,
        }];
    }

    /// Replaces the first vehicle by one with 60 kWh at this level, which charges with 50 kW of direct current.
    fn direct(level: u32, limits: Value) -> Self {
        let mut depot = Self::new(1, Execution::Simulation, limits);
        let own =
            json!({"battery_capacity": 60_000, "max_dc_power": 50_000, "charging_standard": "CCS"});
        depot.inputs.vehicles[0] = parked(depot::vehicle(0, start(), own), Vec::new());
        depot.report(0, level, start());
        depot
    }

    /// Sets the prices per kWh of the quarter-hours from the start on.
    fn price(&mut self, prices: &[i64]) {
        let midnight = start().plus(-hours(18));
        let mut day = SiteDay::of(&self.site.object.id, midnight);
        day.prices = vec![None; 72];
        let prices = prices.iter().map(|price| Some(price * 1000));
        day.prices.extend(prices);
        day.prices.resize(96, None);
        self.inputs.days = vec![day];
    }

    /// Plans with these departures of the first vehicle.
    fn plan(&mut self, now: Timestamp, departures: &[Departure]) -> (Planned, SitePlan) {
        self.inputs.vehicles[0].departures = departures.to_vec();
        let planned = plan(&self.site, &self.inputs, now);
        self.site.put_into_force(&planned, &self.inputs, now);
        let view = planned.view(&self.site.object, &self.inputs, now);
        (planned, view)
    }
}

/// The delivered Wh of the only vehicle of a plan, and those that it still needs.
fn energies(plan: &SitePlan) -> (u32, u32) {
    let [van] = &plan.vehicles[..] else {
        panic!("one vehicle: {:?}", plan.vehicles);
    };
    (van.delivered_wh, van.energy_wh)
}

#[test]
fn a_departure_beyond_the_horizon_keeps_what_was_charged_for_it() {
    for need in [wh(22_000), level(45)] {
        let mut depot = Depot::new(1, Execution::Simulation, json!([]));
        depot.report(0, 20, start());
        let (_, first) = depot.plan(start(), &[departure(1, 0, after(8), &need)]);
        let (_, all) = energies(&first);
        let far = [departure(1, 0, after(60), &need)];
        let (planned, view) = depot.plan(after(1), &far);
        assert!(view.vehicles.is_empty() && planned.ended.is_empty());
        depot.plan(after(6), &far);
        let (_, view) = depot.plan(after(20), &far);
        assert_eq!(energies(&view), (11_000, all - 11_000), "{need}");
        assert!(depot.site.internal.waiting.is_empty());
        let (planned, _) = depot.plan(after(60), &far);
        let outcome = &planned.ended[0].1;
        assert_eq!((outcome.energy_wh, outcome.short_by_wh), (Some(all), 0));
    }
}

#[test]
fn a_departure_behind_another_one_keeps_what_was_charged_for_it() {
    let mut depot = Depot::new(1, Execution::Simulation, json!([]));
    let last = |at| departure(1, 0, after(at), &wh(22_000));
    depot.plan(start(), &[last(8)]);
    let before = departure(2, 0, after(3), &wh(5_000));
    let (_, view) = depot.plan(after(1), &[before.clone(), last(8)]);
    assert_eq!(energies(&view), (0, 5_000));
    // The later one moves while it waits.
    let (planned, _) = depot.plan(after(3), &[before, last(10)]);
    let over = planned.ended.iter();
    let over: Vec<_> = over.map(|(_, outcome)| outcome.energy_wh).collect();
    assert_eq!(over, [Some(5_000)]);
    let (planned, view) = depot.plan(after(9), &[last(10)]);
    assert_eq!(energies(&view), (11_000, 11_000));
    assert!(planned.ended.is_empty());
    let (planned, _) = depot.plan(after(10), &[last(10)]);
    assert_eq!(planned.ended[0].1.energy_wh, Some(22_000));
}

#[test]
fn a_removed_departure_does_not_wait() {
    let mut depot = Depot::new(1, Execution::Simulation, json!([]));
    let last = departure(1, 0, after(8), &wh(22_000));
    depot.plan(start(), std::slice::from_ref(&last));
    let before = departure(2, 0, after(3), &wh(5_000));
    depot.plan(after(1), &[before.clone(), last]);
    assert_eq!(depot.site.internal.waiting.len(), 1);
    depot.plan(after(2), &[before]);
    assert!(depot.site.internal.waiting.is_empty());
}

#[test]
fn energy_of_a_session_counts_if_the_departure_is_replaced() {
    let mut depot = Depot::new(1, Execution::Profiles, json!([]));
    depot.report(0, 20, start());
    depot.charge(0, 0, start(), true);
    depot.plan(start(), &[departure(1, 0, after(8), &level(60))]);
    // 20 kWh raise the level by 20 points.
    depot.charge(0, 20_000, after(2), true);
    let (_, view) = depot.plan(after(2), &[departure(2, 0, after(8), &level(80))]);
    assert_eq!(view.vehicles[0].level, 40.0);
    assert_eq!(energies(&view), (0, 40_000));
}

#[test]
fn energy_until_the_departure_counts() {
    let mut depot = Depot::new(1, Execution::Profiles, json!([]));
    depot.charge(0, 0, start(), true);
    let only = [departure(1, 0, after(2), &wh(22_000))];
    depot.plan(start(), &only);
    depot.charge(0, 20_000, after(1), true);
    depot.plan(after(1), &only);
    depot.charge(0, 22_000, after(2), true);
    let (planned, _) = depot.plan(after(2), &only);
    let outcome = &planned.ended[0].1;
    assert_eq!((outcome.energy_wh, outcome.short_by_wh), (Some(22_000), 0));
}

#[test]
fn a_session_of_a_vehicle_without_a_departure_is_not_enforced() {
    let mut depot = Depot::new(2, Execution::Profiles, json!([]));
    depot.charge(0, 0, start(), true);
    let only = [departure(1, 0, after(8), &wh(22_000))];
    let (_, view) = depot.plan(start(), &only);
    assert!(view.enforced, "its first profile is sent with the plan");
    depot.charge(1, 0, start(), true);
    let (_, view) = depot.plan(start(), &only);
    let because = view.not_enforced_because;
    assert_eq!(because, Some(NotEnforced::ProfileNotAccepted));
}

#[test]
fn a_simulated_session_counts_once_as_the_power_of_its_vehicle() {
    let limit = json!([{"type": "capacity", "power_w": 20_000}]);
    let mut depot = Depot::new(1, Execution::Simulation, limit);
    depot.report(0, 20, start());
    depot.charge(0, 0, start(), false);
    let only = [departure(1, 0, after(8), &wh(22_000))];
    let (_, view) = depot.plan(start(), &only);
    let slot = &view.slots[0];
    assert_eq!((slot.load_w, slot.reserved_w), (11_000, 0));
    assert!(!view.enforced);
    depot.charge(0, 11_000, after(1), false);
    let (_, view) = depot.plan(after(1), &only);
    assert_eq!(energies(&view), (11_000, 11_000));
    depot.charge(0, 22_000, after(2), false);
    depot.inputs.vehicles[0].sessions[0].is_active = false;
    let (_, view) = depot.plan(after(2), &only);
    assert_eq!(energies(&view), (22_000, 0));
    assert!(view.enforced);
}

#[test]
fn a_level_older_than_a_day_counts_as_unknown() {
    for (age, level) in [(24, 70.0), (25, 20.0)] {
        let mut depot = Depot::new(1, Execution::Profiles, json!([]));
        depot.report(0, 70, start());
        let only = [departure(1, 0, after(40), &json!({"target_level": 80}))];
        let (_, view) = depot.plan(after(age), &only);
        assert_eq!(view.vehicles[0].level, level, "after {age} hours");
    }
}

#[test]
fn a_limit_below_the_present_load_holds_from_the_next_plan_on() {
    let limit = json!([{"type": "capacity", "power_w": 11_000}]);
    let mut depot = Depot::new(1, Execution::Simulation, limit);
    let only = [departure(1, 0, after(4), &wh(33_000))];
    let (_, view) = depot.plan(start(), &only);
    assert_eq!(view.slots[0].load_w, 11_000);
    depot.site.object.limits[0].power_w = 5_000;
    let later = start().plus(minutes(5));
    let (_, view) = depot.plan(later, &only);
    assert!(view.slots.iter().all(|slot| slot.load_w <= 5_000));
    assert_eq!(view.vehicles[0].delivered_wh, 916);
    // 5 kW for three hours and 55 minutes.
    let missing = view.vehicles[0].short_by_wh;
    assert!(
        ((33_000 - 916 - 19_583)..(33_000 - 916 - 19_560)).contains(&missing),
        "{missing}"
    );
}

#[test]
fn schedules_of_limits_follow_the_clocks_of_the_site() {
    // From midnight until six in London; at one (UTC) the clocks change on the last Sundays of March and October.
    for (first, holds) in [
        (
            "2027-03-27T20:00:00Z",
            "2027-03-28T00:00:00Z/2027-03-28T05:00:00Z",
        ),
        (
            "2027-10-30T20:00:00Z",
            "2027-10-30T23:00:00Z/2027-10-31T06:00:00Z",
        ),
    ] {
        let at = |text: &str| Timestamp::parse(text).expect("a time");
        let night =
            json!([{"days_of_week": ["sunday"], "start_time": "00:00", "end_time": "06:00"}]);
        let limit = json!([{"type": "capacity", "power_w": 4_140, "time_windows": night}]);
        let mut depot = Depot::new(1, Execution::Simulation, limit);
        let (from, until) = holds.split_once('/').expect("two times");
        // The vehicle departs in the hour that is skipped or doubled, or later.
        for departs in ["01:30:00Z", "00:45:00Z", "10:00:00Z"] {
            let departs = at(&format!("{}{departs}", &until[..11]));
            let (_, view) = depot.plan(at(first), &[departure(1, 0, departs, &wh(90_000))]);
            assert_eq!(view.slots.first().map(|slot| slot.from), Some(at(first)));
            assert_eq!(view.slots.last().map(|slot| slot.until), Some(departs));
            for pair in view.slots.windows(2) {
                assert_eq!(pair[0].until, pair[1].from);
                assert_eq!(pair[0].until.since(pair[0].from), minutes(15));
            }
            for slot in &view.slots {
                let is_limited = (at(from)..at(until)).contains(&slot.from);
                assert_eq!(slot.limit_w.is_some(), is_limited, "{slot:?}");
                assert!(!is_limited || slot.load_w <= 4_140, "{slot:?}");
            }
        }
    }
}

#[test]
fn direct_current_flows_in_the_cheap_slot() {
    let mut depot = Depot::direct(60, json!([]));
    depot.price(&[20, 20, 20, 20, 20, 5, 20]);
    let departs = start().plus(minutes(90));
    let (_, view) = depot.plan(start(), &[departure(1, 0, departs, &level(80))]);
    let van = &view.vehicles[0];
    assert_eq!((van.short_by_wh, van.limited_by), (0, None), "{van:?}");
    let cost = van.cost.expect("a cost");
    // The least energy before the cheap slot with which the rest fits into it.
    let battery = Battery::of(&depot.inputs.vehicles[0].vehicle);
    let fits = |before: &u32| {
        let level = 60.0 + battery.share_of(*before);
        before
            + battery
                .charge(u32::MAX, Some(level))
                .energy_within(minutes(15))
            >= 12_766
    };
    let before = (0..12_766).find(fits).expect("an energy");
    let best = i64::from(before * 20 + (12_766 - before) * 5) / 1000;
    assert!((cost - best).abs() <= 1, "{cost} instead of {best}");
    // With 50 kW at every level all but 266 Wh would flow in the cheap slot.
    let gap = view.gap_cost.expect("a gap");
    assert!((cost - gap - 68).abs() <= 1, "{gap}");
}

#[test]
fn direct_current_without_a_limit_is_not_short() {
    let mut depot = Depot::direct(60, json!([]));
    depot.price(&[5, 32, 32, 32, 5, 5]);
    let departs = start().plus(minutes(80));
    let (_, view) = depot.plan(start(), &[departure(1, 0, departs, &level(80))]);
    let van = &view.vehicles[0];
    assert_eq!((van.short_by_wh, van.limited_by), (0, None), "{van:?}");
}

#[test]
fn direct_current_is_short_by_limit_only_behind_a_limit() {
    let limit = |power: u32| json!([{"type": "capacity", "power_w": power}]);
    for (limits, want) in [
        (json!([]), ShortageReason::Time),
        (limit(60_000), ShortageReason::Time),
        (limit(5_000), ShortageReason::Limit),
    ] {
        let mut depot = Depot::direct(60, limits);
        let minutes = if want == ShortageReason::Limit {
            90
        } else {
            15
        };
        let departs = start().plus(kernel::time::minutes(minutes));
        let (_, view) = depot.plan(start(), &[departure(1, 0, departs, &level(100))]);
        assert_eq!(view.vehicles[0].limited_by, Some(want));
    }
}

/// The planned Wh of the first vehicle, the missing ones and the reason.
fn shortage(view: &SitePlan) -> (u32, u32, Option<ShortageReason>) {
    let van = &view.vehicles[0];
    (van.energy_wh, van.short_by_wh, van.limited_by)
}

#[test]
fn energy_beyond_the_battery_is_short_by_battery() {
    let battery = Some(ShortageReason::Battery);
    let need = wh(50_000);
    // 10 % of 90 kWh are 10,000 metered Wh.
    let mut depot = Depot::new(1, Execution::Simulation, json!([]));
    depot.report(0, 90, start());
    let only = [departure(1, 0, after(8), &need)];
    let (planned, view) = depot.plan(start(), &only);
    assert_eq!(shortage(&view), (10_000, 40_000, battery));
    assert_eq!(planned.charges[0].level, 90.0);
    // The departure waits beyond the horizon after an hour, and is planned again.
    let far = [departure(1, 0, after(60), &need)];
    depot.plan(after(1), &far);
    let (_, view) = depot.plan(after(20), &far);
    assert_eq!(shortage(&view), (0, 40_000, battery));
    let (planned, _) = depot.plan(after(60), &far);
    let outcome = &planned.ended[0].1;
    let energies = (outcome.energy_wh, outcome.short_by_wh);
    assert_eq!(energies, (Some(10_000), 40_000));
}

#[test]
fn a_lower_level_has_room_for_energy_that_was_short() {
    let mut depot = Depot::new(1, Execution::Simulation, json!([]));
    depot.report(0, 90, start());
    let only = [departure(1, 0, after(8), &wh(20_000))];
    depot.plan(start(), &only);
    depot.report(0, 70, start().plus(minutes(1)));
    let (_, view) = depot.plan(start().plus(minutes(1)), &only);
    let (planned, short, _) = shortage(&view);
    let delivered = view.vehicles[0].delivered_wh;
    assert_eq!((planned + delivered, short), (20_000, 0));
}

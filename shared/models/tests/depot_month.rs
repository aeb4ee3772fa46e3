//! A month of a depot on simulated time: vans behind one limit, night prices, two outages of the chargers, a limit that is cut at night, a tenth of
//! the vans late and a twentieth of them leaving earlier than announced. The depot is planned as the job `plan-site` plans it: at each quarter-hour
//! and whenever something becomes known.
//!
//! - The limit is never exceeded.
//! - A vehicle that was to be ready, by the plan made when something became known for the last time before its departure, is ready, and in all
//!   no more is missing than those plans expected. Which of the vehicles that are short anyway misses how much may change.
//! - Hardly any van charges with less than 6 A on three phases, and where one would the plan has said so.
//! - What is missing in all and what it costs is printed beside the plan of each night with hindsight, and beside charging at once.
//!
//! `DEPOT_NIGHTS` (2) and `DEPOT_VANS` (12) set the size: `.ci/proofs planner` runs 30 nights of 60 vans.

mod depot;

use std::collections::HashMap;

use kernel::time::{hours, minutes};
use kernel::{Id, Kind, SignedDuration, Timestamp};
use models::charging::battery::Battery;
use models::departure::Departure;
use models::site::inputs::{Execution, PlanInputs};
use models::site::plan::plan;
use models::site::view::SitePlan;
use models::site::{LimitType, NewPrices, SiteDay, SiteLimit};
use models::vehicle::ConnectorType;
use models::vehicle_telemetry::Reading;
use models::{Site, Stored, Vehicle, VehicleDepartures, VehicleTelemetry};
use planner::{Demand, Depot, Slot};
use serde_json::{Value, json};

use depot::{id, parked};

/// W of the limit for each van, and of a van.
const SHARE: u32 = 5_000;
const POWER: u32 = 11_000;
/// W of 6 A on three phases.
const LEAST: u32 = 4_140;
const TARGET: f64 = 80.0;
const MINIMUM: f64 = 30.0;

/// How many quarter-hours a night has, from four in the afternoon.
const QUARTERS: usize = 72;

/// A van of one night. Times are in quarter-hours of the night.
#[derive(Debug, Clone, Copy)]
struct Stay {
    arrives: usize,
    level: f64,
    announced: usize,
    /// When an earlier departure becomes known, and the departure.
    early: Option<(usize, usize)>,
}

impl Stay {
    fn departs(&self) -> usize {
        self.early.map_or(self.announced, |(_, at)| at)
    }
}

/// What a night is like.
struct Night {
    begin: Timestamp,
    stays: Vec<Stay>,
    /// The quarter-hours in which no charger works, and those in which half the limit holds.
    outage: std::ops::Range<usize>,
    cut: std::ops::Range<usize>,
}

/// A generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

impl Night {
    fn new(number: usize, vans: usize, dice: &mut Dice) -> Self {
        let first = Timestamp::parse("2027-03-01T16:00:00Z").expect("a time");
        let stays = (0..vans).map(|_| {
            let late = if dice.below(10) == 0 { 12 } else { 0 };
            let announced = 56 + dice.below(9);
            let leaves_early = dice.below(20) == 0;
            Stay {
                arrives: dice.below(12) + late,
                level: 15.0 + dice.below(31) as f64,
                announced,
                early: leaves_early.then_some((announced - 10, announced - 6)),
            }
        });
        Self {
            begin: first.plus(hours(24) * i32::try_from(number).expect("a night")),
            stays: stays.collect(),
            outage: match number % 15 {
                1 => 36..44,
                _ => 0..0,
            },
            cut: if number == 0 { 40..QUARTERS } else { 0..0 },
        }
    }

    fn at(&self, quarter: usize) -> Timestamp {
        let quarter = i32::try_from(quarter).expect("a quarter-hour");
        self.begin.plus(minutes(15) * quarter)
    }

    fn limit(&self, quarter: usize) -> u32 {
        let full = SHARE * u32::try_from(self.stays.len()).expect("a number of vans");
        if self.cut.contains(&quarter) {
            full / 2
        } else {
            full
        }
    }

    /// Whether something becomes known.
    fn is_event(&self, quarter: usize) -> bool {
        let turns = [&self.outage, &self.cut].map(|turn| [turn.start, turn.end]);
        let stays = &mut self.stays.iter();
        turns.concat().contains(&quarter)
            || stays.any(|stay| {
                stay.arrives == quarter || stay.early.is_some_and(|(known, _)| known == quarter)
            })
    }

    /// The plan of the night with hindsight: the unserved Wh and the cost in millionths.
    fn hindsight(&self, prices: &[i64]) -> (u64, i64) {
        let slots = (0..QUARTERS).map(|quarter| {
            let capacity = u64::from(self.limit(quarter) / 4);
            Slot {
                capacity,
                threshold: capacity,
                price: prices[quarter],
            }
        });
        let demands = self.stays.iter().enumerate().map(|(place, stay)| {
            let battery = Battery::of(&vehicle(place));
            let is_there = |quarter: usize| {
                (stay.arrives..stay.departs()).contains(&quarter) && !self.outage.contains(&quarter)
            };
            let power = |quarter| if is_there(quarter) { POWER / 4 } else { 0 };
            let need = battery.energy_between(Some(stay.level), TARGET);
            Demand {
                key: place.to_string(),
                power: (0..QUARTERS).map(power).collect(),
                need,
                minimum: battery.energy_between(Some(stay.level), MINIMUM),
                prices: None,
            }
        });
        let depot = Depot {
            slots: slots.collect(),
            demands: demands.collect(),
        };
        let flows = depot.plan().flows;
        let each = depot.demands.iter().zip(&flows);
        each.fold((0, 0), |(unserved, cost), (demand, flows)| {
            let price = i64::try_from(depot.cost_of(demand, flows)).expect("a cost");
            (unserved + u64::from(demand.unserved(flows)), cost + price)
        })
    }
}

fn start() -> Timestamp {
    Timestamp::parse("2027-01-01T00:00:00Z").expect("a time")
}

fn vehicle(place: usize) -> Vehicle {
    let own = json!({"battery_capacity": 60_000, "max_ac_power": POWER});
    depot::vehicle(place, start(), own)
}

fn departure(number: usize, at: Timestamp, now: Timestamp, vehicle: &Vehicle) -> Departure {
    let own = json!({"min_level": MINIMUM, "target_level": TARGET});
    depot::departure(number, &vehicle.id, at, now, own)
}

/// The prices of a UTC day: cheap from midnight to six, dear from five in the afternoon.
fn prices(midnight: Timestamp) -> SiteDay {
    let price = |from: i64, until: i64, price: u32| {
        let (from, until) = (midnight.plus(hours(from)), midnight.plus(hours(until)));
        json!({"from": from, "until": until, "price_per_kwh": price})
    };
    let new = json!({"prices": [price(0, 6, 9), price(6, 17, 25), price(17, 24, 32)]});
    let new: NewPrices = serde_json::from_value(new).expect("prices");
    let change = new.check(&id(Kind::Site, 0)).expect("prices");
    let mut day = SiteDay::of(&id(Kind::Site, 0), midnight);
    change.apply(&mut day);
    day
}

/// The price of a quarter-hour of the night, in thousandths of a minor unit per kWh.
fn price(quarter: usize) -> i64 {
    match quarter {
        0..4 | 56.. => 25_000,
        4..32 => 32_000,
        _ => 9_000,
    }
}

/// What came of the nights.
#[derive(Debug, Default)]
struct Month {
    departures: usize,
    missed: usize,
    /// Those of them whose last plan had them ready.
    broken: usize,
    exceeded: SignedDuration,
    /// Wh that were missing, and that were expected to be missing by those plans.
    unserved: u64,
    expected: u64,
    /// How many times a van charged for a quarter-hour or a part of it, and with less than 6 A.
    charging: usize,
    paused: usize,
    /// Millionths of a minor unit.
    cost: i64,
    immediate: i64,
}

struct Simulation {
    site: Stored<Site>,
    inputs: PlanInputs,
    month: Month,
    /// The Wh that the last plan with something new expects to be missing.
    expected: HashMap<Id, u32>,
    announced: usize,
}

impl Simulation {
    fn new(vans: usize) -> Self {
        let site = depot::site(json!({}), start());
        let vehicles = (0..vans).map(|place| parked(vehicle(place), Vec::new()));
        let inputs = depot::inputs(Execution::Simulation, vehicles.collect());
        Self {
            site,
            inputs,
            month: Month::default(),
            expected: HashMap::new(),
            announced: 0,
        }
    }

    fn announce(&mut self, place: usize, at: Timestamp, now: Timestamp) {
        self.announced += 1;
        let van = &mut self.inputs.vehicles[place];
        van.departures = vec![departure(self.announced, at, now, &van.vehicle)];
    }

    /// Takes in what becomes known at a quarter-hour.
    fn learn(&mut self, night: &Night, quarter: usize) {
        let now = night.at(quarter);
        self.site.object.limits = vec![SiteLimit {
            power_w: night.limit(quarter),
            time_windows: Vec::new(),
            kind: LimitType::Capacity,
        }];
        let works = !night.outage.contains(&quarter);
        let offered = if works { 22_000 } else { 0 };
        self.inputs.offered = Some(HashMap::from([(ConnectorType::Type2, offered)]));
        for (place, stay) in night.stays.iter().enumerate() {
            if stay.arrives == quarter {
                let van = &mut self.inputs.vehicles[place];
                let reading = json!({"battery": {"level": stay.level}});
                let reading: Reading = serde_json::from_value(reading).expect("a reading");
                let mut telemetry = VehicleTelemetry::of(&van.vehicle, now);
                let read = telemetry.read(reading, &van.vehicle, now);
                read.expect("a level");
                van.telemetry = Some(telemetry);
                van.has_reported = true;
                self.announce(place, night.at(stay.announced), now);
            }
            if let Some((known, at)) = stay.early
                && known == quarter
            {
                self.keep_cost(place);
                self.announce(place, night.at(at), now);
            }
        }
    }

    /// Counts what the energy has cost so far of a departure that is replaced.
    fn keep_cost(&mut self, place: usize) {
        let vehicle = &self.inputs.vehicles[place].vehicle.id;
        let mut charges = self.site.internal.charges.iter();
        if let Some(charge) = charges.find(|charge| charge.vehicle == *vehicle) {
            let charge: Value = serde_json::to_value(charge).expect("a charge");
            self.month.cost += charge["cost"].as_i64().expect("a cost");
        }
    }

    /// Plans as the job `plan-site`, and follows the plan.
    fn plan(&mut self, night: &Night, quarter: usize) -> SitePlan {
        let now = night.at(quarter);
        let planned = plan(&self.site, &self.inputs, now);
        for (charge, outcome) in &planned.ended {
            self.month.departures += 1;
            self.month.missed += usize::from(outcome.short_by_wh > 0);
            let expected = self.expected.get(&charge.departure).copied();
            let expected = expected.unwrap_or_default();
            self.month.expected += u64::from(expected);
            let is_broken = outcome.short_by_wh > 0 && expected == 0;
            self.month.broken += usize::from(is_broken);
            self.month.unserved += u64::from(outcome.short_by_wh);
            self.month.cost += outcome.cost.expect("a cost") * 1_000_000;
            self.month.immediate += outcome.cost_if_immediate.expect("a cost") * 1_000_000;
        }
        let reached = planned.ended.iter().map(|(charge, _)| charge);
        for charge in reached.chain(&planned.charges) {
            let mut vans = self.inputs.vehicles.iter_mut();
            let van = vans.find(|van| van.vehicle.id == charge.vehicle);
            let van = van.expect("the van");
            let telemetry = van.telemetry.as_mut().expect("a level");
            telemetry.charge_to(charge.level, &van.vehicle, now);
            van.has_reported = false;
            van.departures.retain(|departure| departure.at > now);
        }
        self.site.put_into_force(&planned, &self.inputs, now);
        planned.view(&self.site.object, &self.inputs, now)
    }

    /// Lives through the beginning of a quarter-hour. What has flowed is accounted for before something new becomes known.
    fn step(&mut self, night: &Night, quarter: usize) {
        let mut plan = self.plan(night, quarter);
        if night.is_event(quarter) {
            self.learn(night, quarter);
            plan = self.plan(night, quarter);
            let each = plan.vehicles.iter();
            let expected = each.map(|vehicle| (vehicle.departure.clone(), vehicle.short_by_wh));
            self.expected = expected.collect();
        }
        let limit = u64::from(night.limit(quarter));
        if let Some(slot) = plan.slots.first().filter(|slot| slot.load_w > limit) {
            self.month.exceeded += slot.until.since(slot.from);
        }
        for van in plan.vehicles {
            let load = van.loads_w.first().copied().unwrap_or_default();
            // Up to 20 Wh are negligible.
            let is_paused = (81..LEAST).contains(&load);
            assert!(!is_paused || van.gap_wh > 0, "{van:?}");
            self.month.charging += usize::from(load > 0);
            self.month.paused += usize::from(is_paused);
        }
    }
}

fn size(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn a_month_of_a_depot_keeps_its_limit_and_its_plans() {
    let (nights, vans) = (size("DEPOT_NIGHTS", 2), size("DEPOT_VANS", 12));
    let mut dice = Dice(7);
    let mut simulation = Simulation::new(vans);
    let (mut unserved, mut cost) = (0, 0);
    let by_quarter: Vec<i64> = (0..QUARTERS).map(price).collect();
    for number in 0..nights {
        let night = Night::new(number, vans, &mut dice);
        let midnight = night.begin.plus(-hours(16));
        let days = [0, 24, 48].map(|later| prices(midnight.plus(hours(later))));
        simulation.inputs.days = days.to_vec();
        for quarter in 0..QUARTERS {
            simulation.step(&night, quarter);
        }
        let best = night.hindsight(&by_quarter);
        unserved += best.0;
        cost += best.1;
    }
    let month = &simulation.month;
    println!("{nights} nights of {vans} vans: {month:?}");
    println!(
        "with hindsight: {unserved} Wh unserved, {} minor units",
        cost / 1_000_000
    );
    assert_eq!(month.departures, nights * vans);
    assert_eq!(month.exceeded, SignedDuration::ZERO);
    assert_eq!(month.broken, 0);
    assert!(month.unserved <= month.expected + 20 * (nights * vans) as u64);
    assert!(month.unserved + 20 * (nights * vans) as u64 >= unserved);
    assert!(month.cost < month.immediate);
    assert!(month.paused * 40 < month.charging);
}

#[test]
fn a_departure_that_moves_keeps_what_was_charged_for_it() {
    let mut depot = Simulation::new(1);
    let mut departures = Stored::new(VehicleDepartures::of(&id(Kind::Vehicle, 0)));
    let mut announce = |depot: &mut Simulation, at: Timestamp, now: Timestamp| {
        let later = at.plus(hours(30));
        let both = json!({"departures": [{"at": later, "target_level": 90}, {"at": at, "energy_wh": 22_000}]});
        let new = serde_json::from_value(both).expect("departures");
        let van = &mut depot.inputs.vehicles[0];
        departures
            .replace(new, &van.vehicle, now)
            .expect("departures");
        van.departures = departures.object.scheduled().cloned().collect();
        let planned = plan(&depot.site, &depot.inputs, now);
        depot.site.put_into_force(&planned, &depot.inputs, now);
        planned.view(&depot.site.object, &depot.inputs, now)
    };
    let before = announce(&mut depot, start().plus(hours(8)), start());
    let hour = start().plus(hours(1));
    let after = announce(&mut depot, hour.plus(hours(4)), hour);
    let (before, after) = (&before.vehicles[0], &after.vehicles[0]);
    assert_eq!((before.energy_wh, before.delivered_wh), (22_000, 0));
    assert_eq!((after.energy_wh, after.delivered_wh), (11_000, 11_000));
    assert_eq!(before.departure, after.departure);
    assert_eq!(after.departs_at, hour.plus(hours(4)));
    let over = plan(&depot.site, &depot.inputs, hour.plus(hours(5)));
    assert_eq!(over.ended[0].1.energy_wh, Some(22_000));
}

#[test]
fn a_short_departure_leaves_the_summary_once_it_is_over() {
    let mut depot = Simulation::new(2);
    for (place, later) in [(0, 1), (1, 2)] {
        let van = &mut depot.inputs.vehicles[place];
        let at = start().plus(hours(later));
        let new = json!({"departures": [{"at": at, "energy_wh": 50_000}]});
        let new = serde_json::from_value(new).expect("departures");
        let mut departures = Stored::new(VehicleDepartures::of(&van.vehicle.id));
        let replaced = departures.replace(new, &van.vehicle, start());
        replaced.expect("departures");
        van.departures = departures.object.scheduled().cloned().collect();
    }
    let plan_at = |depot: &mut Simulation, now: Timestamp| {
        for van in &mut depot.inputs.vehicles {
            van.departures.retain(|departure| departure.at > now);
        }
        let planned = plan(&depot.site, &depot.inputs, now);
        let is_written = depot.site.put_into_force(&planned, &depot.inputs, now);
        let summary = depot.site.object.plan.as_ref().expect("a summary");
        (is_written, summary.revision, summary.short.len())
    };
    assert_eq!(plan_at(&mut depot, start()), (true, 1, 2));
    let hour = start().plus(hours(1));
    assert_eq!(plan_at(&mut depot, hour), (true, 1, 1));
    assert_eq!(plan_at(&mut depot, hour.plus(minutes(1))), (false, 1, 1));
    // A summary that still names a departure that is over is corrected by the next plan.
    let summary = depot.site.object.plan.as_mut().expect("a summary");
    let mut over = summary.short[0].clone();
    over.at = start();
    summary.short.push(over);
    let later = hour.plus(minutes(2));
    assert_eq!(plan_at(&mut depot, later), (true, 1, 1));
    assert_eq!(plan_at(&mut depot, later), (false, 1, 1));
    assert_eq!(plan_at(&mut depot, hour.plus(hours(1))), (true, 1, 0));
}

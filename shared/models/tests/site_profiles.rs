//! Charging profiles on a network that answers late, refuses, or is silent: all sessions together never take more than the capacity limit, however
//! the plan moves power between them, and whenever sessions start.

mod depot;

use kernel::time::{hours, minutes};
use kernel::{Kind, Timestamp, Window};
use models::charging_session::profile::{PowerProfile, SessionProfile};
use models::departure::Departure;
use models::site::inputs::{Execution, PendingStart, PlanInputs, SiteSession, SiteVehicle};
use models::site::plan::plan;
use models::site::{NewPrices, SiteDay};
use models::{Site, Stored, Vehicle};
use serde_json::{Value, json};

use depot::{id, parked};

const VANS: usize = 6;
const LIMIT: u32 = 30_000;
const POWER: u32 = 11_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut next = self.0;
        next = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        next = (next ^ (next >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (next ^ (next >> 31)) % most
    }
}

fn start() -> Timestamp {
    Timestamp::parse("2027-01-15T18:00:00Z").expect("a moment")
}

fn vehicle(place: usize) -> Vehicle {
    let own = json!({"battery_capacity": 90_000, "max_ac_power": POWER});
    depot::vehicle(place, start(), own)
}

fn departure(number: usize, place: usize, at: Timestamp, energy: u64) -> Departure {
    let own = json!({"energy_wh": energy});
    depot::departure(number, &id(Kind::Vehicle, place), at, start(), own)
}

fn profile(value: Value) -> SessionProfile {
    serde_json::from_value(value).expect("a profile")
}

/// What the network makes of profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    Accepts,
    Refuses,
    IsSilent,
    /// Each of these, by chance.
    IsFickle,
}

/// The depot and what its network has in force: none where the session follows no profile.
struct Depot {
    site: Stored<Site>,
    inputs: PlanInputs,
    network: Network,
    in_force: Vec<Option<PowerProfile>>,
    random: Random,
    announced: usize,
    sent: usize,
}

impl Depot {
    /// Every session has a profile of 5 kW, so that all together take the limit.
    fn new(seed: u64) -> Self {
        let site = depot::site(
            json!({"limits": [{"type": "capacity", "power_w": LIMIT}]}),
            start(),
        );
        let first = PowerProfile::new([(start(), LIMIT / VANS as u32)]);
        let vehicles = (0..VANS).map(|place| SiteVehicle {
            sessions: vec![SiteSession {
                id: id(Kind::ChargingSession, place),
                vehicle: id(Kind::Vehicle, place),
                is_active: true,
                is_parked: false,
                power: POWER,
                energy: 0,
                reported: start(),
                takes_profiles: true,
                profile: Some(profile(
                    json!({"wanted": first, "accepted": first, "sent": start()}),
                )),
            }],
            ..parked(vehicle(place), Vec::new())
        });
        let inputs = depot::inputs(Execution::Profiles, vehicles.collect());
        Self {
            site,
            inputs,
            network: Network::Accepts,
            in_force: vec![Some(first); VANS],
            random: Random(seed),
            announced: 0,
            sent: 0,
        }
    }

    /// Another departure of a vehicle, and other prices.
    fn change(&mut self, now: Timestamp) {
        let place = self.random.below(VANS as u64) as usize;
        let at = now.plus(minutes(30 + self.random.below(600) as i64));
        self.announced += 1;
        let energy = 1_000 + self.random.below(40_000);
        self.inputs.vehicles[place].departures = vec![departure(self.announced, place, at, energy)];
        let midnight = Timestamp::parse("2027-01-15T00:00:00Z").expect("a moment");
        let mut day = SiteDay::of(&id(Kind::Site, 0), midnight);
        let prices = (0..24).map(|hour| {
            let price = self.random.below(40);
            json!({"from": midnight.plus(hours(hour)), "price_per_kwh": price})
        });
        let new = json!({"prices": prices.collect::<Vec<_>>()});
        let new: NewPrices = serde_json::from_value(new).expect("prices");
        new.check(&id(Kind::Site, 0))
            .expect("prices")
            .apply(&mut day);
        self.inputs.days = vec![day];
    }

    /// The same depot before any vehicle has been plugged in.
    fn empty(seed: u64, network: Network) -> Self {
        let mut depot = Self::new(seed);
        depot.network = network;
        depot.in_force = vec![None; VANS];
        for vehicle in &mut depot.inputs.vehicles {
            vehicle.sessions.clear();
        }
        depot
    }

    /// Some of the profiles that were sent have a result. Returns whether any has.
    fn answer(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        for place in 0..VANS {
            let sessions = &mut self.inputs.vehicles[place].sessions;
            let known = sessions
                .first_mut()
                .and_then(|session| session.profile.as_mut());
            let Some(known) = known.filter(|profile| profile.next.is_some()) else {
                continue;
            };
            let is_late = known.next.is_some_and(|next| next <= now);
            if !is_late && self.random.below(3) > 0 {
                continue;
            }
            let accepts = match self.network {
                Network::Accepts => true,
                Network::Refuses => self.in_force[place].is_some(),
                Network::IsSilent => false,
                Network::IsFickle => self.random.below(2) == 0,
            };
            let is_silent = self.network == Network::IsSilent;
            let requested = known.wanted.clone();
            if accepts {
                self.in_force[place] = Some(requested.clone());
                *known = profile(json!({"wanted": requested, "accepted": requested, "sent": now}));
            } else if is_late || !is_silent {
                let failure = if is_silent { "unanswered" } else { "refused" };
                let next = now.plus(minutes(5));
                *known = profile(
                    json!({"wanted": requested, "accepted": known.accepted, "failure": failure, "failures": 1, "next": next}),
                );
            }
            any = true;
        }
        any
    }

    /// A vehicle is to start. Its session begins when there is room for it.
    fn start(&mut self, place: usize) {
        let session = id(Kind::ChargingSession, place);
        let is_here = !self.inputs.vehicles[place].sessions.is_empty();
        if !is_here
            && self
                .inputs
                .starts
                .iter()
                .all(|start| start.session != session)
        {
            self.inputs.starts.push(PendingStart {
                session,
                power: POWER,
                is_sent: false,
            });
        }
    }

    /// Begins the sessions that there is room for. Returns whether any has begun.
    fn begin(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        for place in 0..VANS {
            let session = id(Kind::ChargingSession, place);
            let waits = self
                .inputs
                .starts
                .iter()
                .position(|start| start.session == session);
            let may_start = || self.inputs.may_start(&self.site.object, &session, now);
            let Some(waits) = waits.filter(|_| may_start()) else {
                continue;
            };
            self.inputs.starts.remove(waits);
            self.inputs.vehicles[place].sessions.push(SiteSession {
                id: session,
                vehicle: id(Kind::Vehicle, place),
                is_active: true,
                is_parked: false,
                power: POWER,
                energy: 0,
                reported: now,
                takes_profiles: true,
                profile: None,
            });
            any = true;
        }
        any
    }

    fn plan(&mut self, now: Timestamp) {
        let planned = plan(&self.site, &self.inputs, now);
        self.site.put_into_force(&planned, &self.inputs, now);
        for (session, requested) in planned.profiles(&self.site.object, &self.inputs) {
            let vehicles = self.inputs.vehicles.iter_mut();
            let mut sessions = vehicles.flat_map(|vehicle| vehicle.sessions.first_mut());
            let found = sessions
                .find(|known| known.id == session)
                .expect("the session");
            let before = found.profile.as_ref();
            assert!(
                before.is_none_or(|profile| !profile.is_sent()),
                "one profile at a time"
            );
            let accepted = before.and_then(|profile| profile.accepted.as_ref());
            let next = json!({"wanted": requested, "accepted": accepted, "sent": now, "next": now.plus(minutes(5))});
            found.profile = Some(profile(next));
            self.sent += 1;
        }
    }

    /// The W that a vehicle takes in the next minute.
    fn power(&self, place: usize, now: Timestamp) -> u32 {
        let moment = Window {
            from: now,
            until: now.plus(minutes(1)),
        };
        if self.inputs.vehicles[place].sessions.is_empty() {
            return 0;
        }
        let limit = self.in_force[place].as_ref();
        limit.map_or(POWER, |limit| limit.most(&moment).min(POWER))
    }

    fn load(&self, now: Timestamp) -> u32 {
        (0..VANS).map(|place| self.power(place, now)).sum()
    }

    /// What flows in a minute, as the network reports it.
    fn flow(&mut self, now: Timestamp) {
        for place in 0..VANS {
            let power = self.power(place, now);
            let vehicle = &mut self.inputs.vehicles[place];
            vehicle.departures.retain(|departure| departure.at > now);
            if let Some(session) = vehicle.sessions.first_mut() {
                session.energy += power / 60;
                session.reported = now.plus(minutes(1));
            }
        }
    }
}

#[test]
fn sessions_with_profiles_never_exceed_the_limit() {
    for seed in 0..3 {
        let mut depot = Depot::new(seed);
        let mut busy = 0;
        for minute in 0..360 {
            let now = start().plus(minutes(minute));
            let is_new = depot.random.below(20) == 0;
            if is_new {
                depot.change(now);
            }
            if depot.answer(now) | is_new | (minute % 15 == 0) {
                depot.plan(now);
            }
            let load = depot.load(now);
            assert!(load <= LIMIT, "{load} W at {now} of depot {seed}");
            busy = busy.max(load);
            depot.flow(now);
        }
        assert!(
            busy > LIMIT / 2 && depot.sent > VANS,
            "{busy} W, {} profiles",
            depot.sent
        );
    }
}

/// The greatest load, and how many sessions have begun, in six hours of a depot whose vehicles come one after another.
fn busy_evening(seed: u64, network: Network) -> (u32, usize) {
    let mut depot = Depot::empty(seed, network);
    let mut busy = 0;
    for minute in 0..360 {
        let now = start().plus(minutes(minute));
        let is_new = depot.random.below(12) == 0;
        if is_new {
            depot.change(now);
            let place = depot.random.below(VANS as u64) as usize;
            depot.start(place);
        }
        if depot.answer(now) | depot.begin(now) | is_new | (minute % 15 == 0) {
            depot.plan(now);
        }
        let load = depot.load(now);
        assert!(
            load <= LIMIT,
            "{load} W at {now} of depot {seed}, {network:?}"
        );
        assert_eq!(depot.inputs.excess(&depot.site.object, now), []);
        busy = busy.max(load);
        depot.flow(now);
    }
    let begun = depot
        .inputs
        .vehicles
        .iter()
        .filter(|vehicle| !vehicle.sessions.is_empty());
    (busy, begun.count())
}

#[test]
fn a_late_start_waits_until_the_others_take_less() {
    for seed in 0..3 {
        let (busy, begun) = busy_evening(seed, Network::Accepts);
        // Only two fit at full power.
        assert!(busy > LIMIT / 2 && begun > 3, "{busy} W, {begun} sessions");
    }
}

#[test]
fn a_network_that_refuses_or_is_silent_never_exceeds_a_limit() {
    for seed in 0..3 {
        for network in [Network::Refuses, Network::IsSilent] {
            let (busy, begun) = busy_evening(seed, network);
            assert_eq!((busy, begun), (2 * POWER, 2), "{network:?}");
        }
        let (busy, _) = busy_evening(seed, Network::IsFickle);
        assert!(busy > LIMIT / 2, "{busy} W");
    }
}

#[test]
fn what_no_profile_reduces_is_stopped_where_a_limit_falls() {
    let mut depot = Depot::empty(1, Network::Refuses);
    for place in [0, 1] {
        depot.start(place);
        let at = start().plus(hours(6));
        depot.inputs.vehicles[place].departures = vec![departure(place + 1, place, at, 40_000)];
    }
    assert!(depot.begin(start()));
    depot.site.object.limits[0].power_w = POWER;
    let newest = id(Kind::ChargingSession, 1);
    // Their first profiles may still be accepted.
    assert_eq!(depot.inputs.excess(&depot.site.object, start()), []);
    // Without a departure within 48 hours there will be none.
    let days = [0, 1].map(|place| {
        let later = vec![departure(place + 1, place, start().plus(hours(49)), 40_000)];
        std::mem::replace(&mut depot.inputs.vehicles[place].departures, later)
    });
    assert_eq!(
        depot.inputs.excess(&depot.site.object, start()),
        std::slice::from_ref(&newest)
    );
    for (vehicle, departures) in depot.inputs.vehicles.iter_mut().zip(days) {
        vehicle.departures = departures;
    }
    for vehicle in &mut depot.inputs.vehicles {
        for session in &mut vehicle.sessions {
            session.takes_profiles = false;
        }
    }
    assert_eq!(depot.inputs.excess(&depot.site.object, start()), [newest]);
}

#[test]
fn a_limit_that_is_cut_while_profiles_are_under_way_is_reached() {
    for seed in 0..3 {
        let mut depot = Depot::new(seed);
        for place in 0..VANS {
            let at = start().plus(hours(6));
            depot.inputs.vehicles[place].departures = vec![departure(place + 1, place, at, 40_000)];
        }
        let mut after = Vec::new();
        for minute in 0..90 {
            let now = start().plus(minutes(minute));
            if minute == 20 {
                depot.site.object.limits[0].power_w = LIMIT / 3;
            }
            if depot.answer(now) | (minute % 5 == 0) {
                depot.plan(now);
            }
            let load = depot.load(now);
            // Half an hour is enough for all to answer. Until then one that was sent before the cut may still be accepted.
            let limit = if minute < 50 { LIMIT } else { LIMIT / 3 };
            assert!(load <= limit, "{load} W at {now} of depot {seed}");
            after.extend((minute >= 50).then_some(load));
            depot.flow(now);
        }
        // Not at every moment: power that moves from one vehicle to another waits for an answer.
        let mean = after.iter().sum::<u32>() / after.len() as u32;
        assert!(mean >= LIMIT / 4, "{mean} W of depot {seed}");
    }
}

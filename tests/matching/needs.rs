//! The proof that the block of a need is the cheapest one, the one that is ready first, or the one with the lowest emissions. Brute
//! force over every start of the grid at every connector has to find the same block, when the reservation is created and when it is
//! confirmed. The prices of a city are random: start fees, prices per kWh and hour, steps, hours of the day and days of the week, in
//! time zones whose clocks change during the simulation. Earlier reservations occupy EVSEs and vehicles, so later ones get the next
//! best block.

use super::*;
use crate::oracle::{block, grams, needed};

/// The number of needs in one city.
const NEEDS: u64 = 12;

/// The clock changes in Berlin and New York in 2027, in spring and in autumn.
const CLOCK_CHANGES: [&str; 4] = [
    "2027-03-28T01:00:00Z",
    "2027-10-31T01:00:00Z",
    "2027-03-14T07:00:00Z",
    "2027-11-07T06:00:00Z",
];

#[test]
fn every_random_need_gets_the_block_that_brute_force_finds() {
    let (needs, first) = (
        setting("MATCHING_REQUESTS", 300) / 3,
        setting("MATCHING_SEED", 1) + 1_000_000,
    );
    let worlds = needs.div_ceil(NEEDS);
    let tallies = share_out(first..first + worlds, async |seeds| {
        let test = TestApp::start().await;
        let mut tally = Tally::new();
        while let Some(seed) = seeds.next() {
            let change = CLOCK_CHANGES[(seed % 4) as usize];
            let change = Timestamp::parse(change).expect("a time").unix_millis();
            let began = |dice: &Dice| change - dice.below(24 * 60) as i64 * MINUTE;
            let city = City::build_at(&test, seed, began).await;
            city.play_needs(&mut tally).await;
        }
        tally
    });
    let mut total = Tally::new();
    for (name, count) in tallies.into_iter().flatten() {
        *total.entry(name).or_default() += count;
    }
    for (name, least) in [
        ("feasible", needs / 4),
        ("short", needs / 20),
        ("confirmed", needs / 2),
        // Seldom: of a thousand needs one or two.
        ("planned again", needs / 2_000),
        ("carbon", needs / 10),
        ("time", needs / 10),
    ] {
        let count = total.get(name).copied().unwrap_or_default();
        assert!(count >= least, "{name} happened {count} times: {total:?}");
    }
}

impl City {
    async fn play_needs(mut self, tally: &mut Tally) {
        for _ in 0..NEEDS {
            if self.dice.percent(40) {
                self.change_preferences().await;
            }
            let vehicle = self.one_of(&self.vehicles).clone();
            let body = self.need(&vehicle);
            let reservation = self.post("/v1/reservations", body).await;
            let mut add = |name: &str| *tally.entry(name.to_owned()).or_default() += 1;
            let plan = &reservation["charging_plan"];
            add(plan["status"].as_str().expect("a status"));
            add(reservation["need"]["optimize"].as_str().expect("an aim"));
            self.compare(&reservation, &vehicle, None);
            if plan["from"].is_null() {
                self.cancel(&reservation).await;
                continue;
            }
            let due = millis(&plan["from"]) - 30 * MINUTE;
            self.clock
                .move_by(SignedDuration::from_millis((due - self.now()).max(0)));
            self.attempt(&reservation).await;
            let got = self
                .get(&format!("/v1/reservations/{}", id(&reservation)))
                .await;
            assert_eq!(got["status"], "confirmed", "seed {}: {got:#}", self.seed);
            let text = |name: &str| got[name].as_str().expect("a text").to_owned();
            let chosen = (text("charging_station"), text("connector"));
            self.compare(&got, &vehicle, Some(chosen));
            add("confirmed");
            let again = got["charging_plan"]["revision"] == 2;
            again.then(|| add("planned again"));
            self.booked.push(got);
        }
    }

    /// Compares the plan of a reservation with the current result of brute force.
    fn compare(&self, got: &Value, vehicle: &Value, chosen: Option<(String, String)>) {
        let (plan, world) = (&got["charging_plan"], self.world(got, vehicle));
        let at = |energy: i128| {
            block(&World {
                energy: Some(energy),
                ..world
            })
        };
        let shown = || format!("seed {}: {got:#}", self.seed);
        let needed = needed(&world);
        let energy = i128::from(plan["energy_wh"].as_i64().expect("Wh"));
        let short_by = i128::from(plan["short_by_wh"].as_i64().expect("Wh"));
        assert_eq!(energy + short_by, needed, "{}", shown());
        // A start fee has less weight in a larger charge: below a price cap, a larger charge may be possible although a smaller one is
        // not.
        let is_capped = !self.policies.is_empty()
            || !got["need"]["max_price_per_kwh"].is_null()
            || !self.driver["preferences"]["max_price_per_kwh"].is_null();
        if short_by > 0 && plan["limited_by"] != "battery" && !is_capped {
            // No block charges more.
            assert_eq!(at((energy + 10).min(needed)), None, "{}", shown());
        }
        // Nothing is booked for a vehicle that has nothing to charge.
        let want = at(energy).filter(|_| energy > 0);
        let grams = want.as_ref().and_then(|(station, ..)| {
            let mut stations = self.stations.iter();
            let station = stations.find(|known| known["id"] == json!(station));
            grams(station.expect("the station"), energy)
        });
        assert_eq!(json!(grams), plan["carbon_g"], "{}", shown());
        let block = want.as_ref().map(|(_, _, from, until)| (*from, *until));
        let planned =
            (!plan["from"].is_null()).then(|| (millis(&plan["from"]), millis(&plan["until"])));
        assert_eq!(planned, block, "{} {want:?}", shown());
        if let (Some(chosen), Some((station, connector, ..))) = (chosen, want) {
            assert_eq!(chosen, (station, connector), "{}", shown());
            let reserved = ["reserved_start", "reserved_end"].map(|name| millis(&got[name]));
            assert_eq!(Some((reserved[0], reserved[1])), block, "{}", shown());
        }
    }

    async fn cancel(&self, reservation: &Value) {
        let path = format!("/v1/reservations/{}/cancel", id(reservation));
        self.post(&path, json!({})).await;
    }

    fn need(&self, vehicle: &Value) -> Value {
        let dice = &self.dice;
        let at = |minutes: i64| Timestamp::from_unix_millis(self.now() + minutes * MINUTE);
        let ready = 30 + dice.below(700) as i64;
        let mut need = json!({"ready_by": at(ready)});
        match dice.below(2) {
            0 => need["target_level"] = json!(25 + dice.below(76)),
            _ => need["energy_wh"] = json!(200 + dice.below(30_000)),
        }
        if dice.percent(40) {
            need["earliest_start"] = json!(at(dice.below(ready as u64 - 20) as i64));
        }
        if dice.percent(50) {
            need["optimize"] = json!(self.one_of(&["carbon", "time"]));
        }
        if dice.percent(20) {
            need["max_price_per_kwh"] = json!(20 + dice.below(60));
        }
        let location = with(self.place(), json!({"radius": 500 + dice.below(20_000)}));
        json!({"driver": self.driver["id"], "vehicle": vehicle["id"], "need": need,
            "connector_type": [vehicle["charging_standard"]], "location": location})
    }
}

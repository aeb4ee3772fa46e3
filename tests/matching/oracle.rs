//! An independent matcher: tries every pair of a window and a connector, and selects the one with the lowest score. It is written only
//! from the interface's description, uses none of the service's code, and reads only JSON in the form of the API.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// In milliseconds.
pub const MINUTE: i64 = 60_000;

/// The scale of decimal numbers, in hundred-millionths: prices have at most four decimals, percentages two.
const SCALE: i128 = 100_000_000;

/// A request, and the world at the moment of the attempt.
pub struct World<'a> {
    /// Milliseconds since 1970.
    pub now: i64,
    pub reservation: &'a Value,
    pub vehicle: &'a Value,
    /// The last telemetry of the vehicle, or null.
    pub telemetry: &'a Value,
    pub driver: &'a Value,
    /// The policies of driver, fleet and vehicle.
    pub policies: &'a [Value],
    pub stations: &'a [Value],
    /// The opening hours of each of the stations.
    pub hours: &'a [Hours],
    /// Confirmed reservations.
    pub booked: &'a [Value],
    /// The maximum energy in Wh, unless the vehicle charges until the battery is full.
    pub energy: Option<i128>,
}

/// The outcome according to the description.
#[derive(Debug, PartialEq)]
pub struct PaymentOutcome {
    /// Station, connector and start of the window in milliseconds.
    pub choice: Option<(String, String, i64)>,
    pub summary: Value,
}

/// The minutes in which a station is open, and its local time in each.
pub struct Hours {
    /// The first minute, in milliseconds.
    first: i64,
    open: Vec<bool>,
    /// The day, counted from Monday, and the minute of the day.
    local: Vec<(usize, i32)>,
}

impl Hours {
    /// Evaluates this number of minutes.
    pub fn of(station: &Value, first: i64, minutes: usize) -> Self {
        let availability = &station["availability"];
        let ranges = |name: &str| -> Vec<[i64; 2]> {
            let ranges = list(&availability[name]);
            let range = |range: &Value| [millis(&range["from"]), millis(&range["until"])];
            ranges.map(range).collect()
        };
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let regular = list(&availability["opening_hours"]).map(|hours| {
            let day = days.iter().position(|day| hours["day"] == *day);
            let (from, until) = (clock(&hours["from"]), clock(&hours["until"]));
            (day.expect("a day"), from, until)
        });
        let rules = Rules {
            zone: TimeZone::get(text(&station["timezone"])).expect("a time zone"),
            always: station["capabilities"]["24_7_access"] == true,
            regular: regular.collect(),
            openings: ranges("exceptional_openings"),
            closings: ranges("exceptional_closings"),
        };
        let at = |place: usize| first + place as i64 * MINUTE;
        let open = (0..minutes).map(|place| rules.is_open_at(at(place)));
        let local = (0..minutes).map(|place| rules.local(at(place)));
        Self {
            first,
            open: open.collect(),
            local: local.collect(),
        }
    }

    fn local(&self, at: i64) -> (usize, i32) {
        let place = usize::try_from((at - self.first) / MINUTE).expect("a known minute");
        self.local[place]
    }

    fn cover(&self, from: i64, until: i64) -> bool {
        let place = |at: i64| usize::try_from((at - self.first) / MINUTE).expect("a known minute");
        self.open[place(from)..place(until)]
            .iter()
            .all(|open| *open)
    }
}

/// The opening hours of a station, in the form of the API.
struct Rules {
    zone: TimeZone,
    always: bool,
    /// The day, counted from Monday, and two times in minutes of the day.
    regular: Vec<(usize, i32, i32)>,
    openings: Vec<[i64; 2]>,
    closings: Vec<[i64; 2]>,
}

impl Rules {
    fn is_open_at(&self, at: i64) -> bool {
        let within = |range: &[i64; 2]| range[0] <= at && at < range[1];
        if self.closings.iter().any(within) {
            return false;
        }
        if self.always || self.openings.iter().any(within) {
            return true;
        }
        let (today, minute) = self.local(at);
        let yesterday = (today + 6) % 7;
        self.regular.iter().any(|&(day, from, until)| {
            if until <= from {
                // It extends into the next day.
                (day == today && from <= minute) || (day == yesterday && minute < until)
            } else {
                day == today && from <= minute && minute < until
            }
        })
    }
}

impl Rules {
    /// The day, counted from Monday, and the minute of the day.
    fn local(&self, at: i64) -> (usize, i32) {
        let local = Timestamp::from_millisecond(at).expect("a time");
        let local = self.zone.to_datetime(local);
        let day = local.date().weekday().to_monday_zero_offset() as usize;
        let minute = i32::from(local.hour()) * 60 + i32::from(local.minute());
        (day, minute)
    }
}

/// Minutes of the day.
fn clock(value: &Value) -> i32 {
    let (hour, minute) = text(value).split_once(':').expect("a time of day");
    hour.parse::<i32>().expect("an hour") * 60 + minute.parse::<i32>().expect("a minute")
}

/// A connector and a window that pass every filter.
struct Pair<'a> {
    station: &'a Value,
    connector: &'a Value,
    start: i64,
    /// None if it is unknown.
    price: Option<EffectivePrice<'a>>,
}

/// The cost of the charge that is expected in a window, divided by its energy.
#[derive(Clone, Copy)]
struct EffectivePrice<'a> {
    currency: &'a str,
    /// The cost of the charge, in whole minor units, half of one rounded up.
    total: i128,
    /// Hundred-millionths of minor units per kWh, as a fraction.
    numerator: i128,
    denominator: i128,
}

impl EffectivePrice<'_> {
    /// In whole minor units, half of one rounded up.
    fn whole(&self) -> i128 {
        let unit = self.denominator * SCALE;
        (2 * self.numerator + unit) / (2 * unit)
    }
}

/// Matches the request.
pub fn matching(world: &World<'_>) -> PaymentOutcome {
    let windows = windows(world);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut pairs = Vec::new();
    let mut in_radius = 0;
    for (station, hours) in world.stations.iter().zip(world.hours) {
        let radius = world.reservation["location"]["radius"].as_f64();
        if distance(world, station) > radius.expect("a radius") {
            continue;
        }
        in_radius += 1;
        match of_station(world, station, hours, &windows) {
            Ok(found) => pairs.extend(found),
            Err(filter) => *counts.entry(filter).or_default() += 1,
        }
    }
    let mut cheapest: BTreeMap<&str, i128> = BTreeMap::new();
    for price in pairs.iter().filter_map(|pair| pair.price) {
        let least = cheapest.entry(price.currency).or_insert(price.whole());
        *least = price.whole().min(*least);
    }
    let ideal = millis(&world.reservation["ideal_start"]);
    let best = pairs.iter().min_by_key(|pair| {
        let shift = (pair.start - ideal).abs() / MINUTE;
        let (station, connector) = (text(&pair.station["id"]), text(&pair.connector["id"]));
        let score = score(world, pair, shift, &cheapest);
        (score, shift, pair.start, station, connector)
    });
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    PaymentOutcome {
        choice: best.map(|pair| {
            let (station, connector) = (text(&pair.station["id"]), text(&pair.connector["id"]));
            (station.to_owned(), connector.to_owned(), pair.start)
        }),
        summary: json!({"stations_in_radius": in_radius, "refused": {
            "not_connected": 0, "not_reservable": count("not_reservable"), "connector_type": count("connector_type"),
            "out_of_order": count("out_of_order"), "too_slow": 0, "price": count("price"), "closed": count("closed"),
            "policy": count("policy"), "booked": count("booked"), "not_considered": count("not_considered")}}),
    }
}

/// The starts of all windows: the ideal one, and the others in steps of five minutes. None began more than a minute ago.
fn windows(world: &World<'_>) -> Vec<i64> {
    let reservation = world.reservation;
    let (start, end) = (
        millis(&reservation["ideal_start"]),
        millis(&reservation["ideal_end"]),
    );
    let earliest = match &reservation["earliest_start"] {
        Value::Null => start,
        earliest => millis(earliest),
    };
    let latest = match &reservation["latest_end"] {
        Value::Null => end,
        latest => millis(latest),
    };
    let step = 5 * MINUTE;
    let steps = -2_016_i64..=2_016;
    let starts = steps.map(|steps| start + steps * step);
    starts
        .filter(|from| earliest <= *from && from + (end - start) <= latest)
        .filter(|from| world.now <= *from || *from == start && world.now - MINUTE <= *from)
        .collect()
}

/// The pairs of a station, or the first filter that all of its connectors fail.
fn of_station<'a>(
    world: &World<'a>,
    station: &'a Value,
    hours: &Hours,
    windows: &[i64],
) -> Result<Vec<Pair<'a>>, &'static str> {
    let reservation = world.reservation;
    let length = millis(&reservation["ideal_end"]) - millis(&reservation["ideal_start"]);
    if windows.is_empty() {
        return Err("not_considered");
    }
    let mut connectors: Vec<&Value> = list(&station["connectors"]).collect();
    let in_service = station["status"] == "active" && station["capabilities"]["reservable"] == true;
    connectors.retain(|connector| in_service && connector["reservable"] == true);
    if connectors.is_empty() {
        return Err("not_reservable");
    }
    let standard = &world.vehicle["charging_standard"];
    connectors.retain(|connector| {
        connector["type"] == *standard
            && list(&reservation["connector_type"]).any(|kind| kind == standard)
    });
    if connectors.is_empty() {
        return Err("connector_type");
    }
    connectors.retain(|connector| {
        !["faulted", "unavailable", "unknown"].contains(&text(&connector["status"]))
    });
    if connectors.is_empty() {
        return Err("out_of_order");
    }
    let mut pairs = Vec::new();
    for connector in connectors {
        for start in windows {
            pairs.push(Pair {
                station,
                connector,
                start: *start,
                price: effective_price(world, connector, hours, *start, length),
            });
        }
    }
    let preferences = &world.driver["preferences"];
    pairs.retain(|pair| {
        let currency = text(&preferences["currency"]);
        is_within(pair.price, &preferences["max_price_per_kwh"], currency)
    });
    if pairs.is_empty() {
        return Err("price");
    }
    pairs.retain(|pair| hours.cover(pair.start, pair.start + length));
    if pairs.is_empty() {
        return Err("closed");
    }
    pairs.retain(|pair| {
        world.policies.iter().all(|policy| {
            let rules = &policy["rules"];
            let denied =
                list(&rules["denied_operators"]).any(|operator| *operator == station["operator"]);
            let currency = text(&reservation["currency"]);
            !denied && is_within(pair.price, &rules["max_price_per_kwh"], currency)
        })
    });
    if pairs.is_empty() {
        return Err("policy");
    }
    pairs.retain(|pair| {
        let until = pair.start + length;
        is_free(world, station, pair.connector, pair.start, until)
    });
    if pairs.is_empty() {
        Err("booked")
    } else {
        Ok(pairs)
    }
}

/// Whether no other reservation has the vehicle or a connector of the same EVSE.
fn is_free(world: &World<'_>, station: &Value, connector: &Value, from: i64, until: i64) -> bool {
    let siblings: BTreeSet<&str> = list(&station["connectors"])
        .filter(|sibling| sibling["evse"] == connector["evse"])
        .map(|sibling| text(&sibling["id"]))
        .collect();
    world.booked.iter().all(|booked| {
        let same_evse = booked["charging_station"] == station["id"]
            && siblings.contains(text(&booked["connector"]));
        let same_vehicle = booked["vehicle"] == world.vehicle["id"];
        let (begins, ends) = (
            millis(&booked["reserved_start"]),
            millis(&booked["reserved_end"]),
        );
        !(same_evse || same_vehicle) || ends <= from || until <= begins
    })
}

/// Whether a price is within a cap in this currency. An unknown price is within it, because this is test mode.
fn is_within(price: Option<EffectivePrice<'_>>, cap: &Value, currency: &str) -> bool {
    let (Some(cap), Some(price)) = (cap.as_f64(), price) else {
        return true;
    };
    let cap = (cap * 10_000.0).round() as i128 * (SCALE / 10_000);
    price.currency == currency && price.numerator <= cap * price.denominator
}

/// Powers in watts, each with the watt-milliseconds that flow at it. The last one has no end.
struct Current(Vec<(i128, Option<i128>)>);

impl Current {
    /// Direct current into a battery without a curve of its own, from a level in hundredths of a percent on. Within each percent the
    /// power is that of its middle, on the line through 2 C at 55 %, 0.35 C at 80 % and 0.15 C at 100 %.
    fn direct(capacity: i128, level: i128, offered: i128) -> Self {
        let (two, third, tail) = (2 * capacity, capacity * 35 / 100, capacity * 15 / 100);
        let watts = |percent: i128| {
            // Twice the distance from the previous corner, divided by twice the length of the line.
            let falling = match percent {
                0..55 => two,
                55..80 => two + ((third - two) * (2 * (percent - 55) + 1)).div_euclid(50),
                _ => third + ((tail - third) * (2 * (percent - 80) + 1)).div_euclid(40),
            };
            offered.min(falling)
        };
        let left = (0..100).filter(|percent| (percent + 1) * 100 > level);
        let pieces = left.map(|percent| {
            let hundredths = (percent + 1) * 100 - level.max(percent * 100);
            (watts(percent), Some(capacity * hundredths * 36_000 / 94))
        });
        Self(pieces.chain([(watts(99), None)]).collect())
    }

    /// The time until this number of watt-milliseconds has flowed, in microseconds.
    fn micros(watts: i128, energy: i128) -> i128 {
        (energy * 1_000 + watts - 1) / watts
    }

    /// The energy in Wh within this number of milliseconds.
    fn energy_within(&self, length: i128) -> i128 {
        let (mut left, mut sum) = (length * 1_000, 0);
        for (watts, energy) in &self.0 {
            match energy.filter(|energy| Self::micros(*watts, *energy) <= left) {
                Some(energy) => (left, sum) = (left - Self::micros(*watts, energy), sum + energy),
                None => {
                    let flown = watts * left / 1_000;
                    return (sum + energy.map_or(flown, |energy| flown.min(energy))) / 3_600_000;
                }
            }
        }
        sum / 3_600_000
    }

    /// The time in milliseconds until this number of Wh has flowed.
    fn time_until(&self, energy: i128) -> i128 {
        let (mut left, mut sum) = (energy * 3_600_000, 0);
        for (watts, energy) in &self.0 {
            let part = energy.map_or(left, |energy| energy.min(left));
            (left, sum) = (left - part, sum + Self::micros(*watts, part));
        }
        (sum + 999) / 1_000
    }
}

/// The current of a connector into the vehicle's battery, and the energy in Wh that fills it.
fn current(world: &World<'_>, connector: &Value) -> (Current, i128) {
    let capacity = i128::from(world.vehicle["battery_capacity"].as_i64().expect("Wh"));
    let offered = (connector["power"].as_f64().expect("kW") * 1_000.0).round() as i128;
    let level = level(world);
    let is_alternating = connector["type"] == "Type2";
    let kept = if is_alternating { 90 } else { 94 };
    let room = metered(capacity, level, 10_000, kept);
    let current = if is_alternating {
        let taken = world.vehicle["max_ac_power"].as_i64().unwrap_or(11_000);
        Current(vec![(offered.min(taken.into()), None)])
    } else {
        Current::direct(capacity, level, offered)
    };
    (current, room)
}

/// The level of the battery in hundredths of a percent.
fn level(world: &World<'_>) -> i128 {
    let battery = &world.telemetry["battery"];
    let is_fresh =
        !battery.is_null() && world.now - millis(&battery["updated"]) <= 24 * 60 * MINUTE;
    if is_fresh {
        (battery["level"].as_f64().expect("percent") * 100.0).round() as i128
    } else {
        2_000
    }
}

/// The metered energy in Wh between two levels, of which `kept` percent reach the battery.
fn metered(capacity: i128, from: i128, to: i128, kept: i128) -> i128 {
    (capacity * (to - from).max(0) * 100 + kept * 10_000 - 1) / (kept * 10_000)
}

/// The energy in Wh of the reservation's need.
pub fn needed(world: &World<'_>) -> i128 {
    let need = &world.reservation["need"];
    if let Some(energy) = need["energy_wh"].as_i64() {
        return energy.into();
    }
    let capacity = i128::from(world.vehicle["battery_capacity"].as_i64().expect("Wh"));
    let target = (need["target_level"].as_f64().expect("percent") * 100.0).round() as i128;
    let is_alternating = world.vehicle["charging_standard"] == "Type2";
    let kept = if is_alternating { 90 } else { 94 };
    metered(capacity, level(world), target, kept)
}

/// Whole grams of carbon dioxide of an energy in Wh at a station: by its energy mix, or the averages of the countries of 2023.
pub fn grams(station: &Value, energy: i128) -> Option<i64> {
    let tenths = match (
        station["energy_mix"]["carbon_g_per_kwh"].as_f64(),
        station["address"]["country"].as_str(),
    ) {
        (Some(grams), _) => (grams * 10.0).round() as i128,
        (None, Some("GB")) => 2_380,
        (None, Some("FR")) => 560,
        (None, Some("PL")) => 6_620,
        _ => return None,
    };
    i64::try_from((energy * tenths + 5_000) / 10_000).ok()
}

/// The best block for the reservation's need that charges `world.energy`: station, connector, start and end. It tries every start at
/// every connector.
pub fn block(world: &World<'_>) -> Option<(String, String, i64, i64)> {
    let need = &world.reservation["need"];
    let ready_by = millis(&need["ready_by"]);
    let given = match &need["earliest_start"] {
        Value::Null => i64::MIN,
        earliest => millis(earliest),
    };
    let earliest = given.max(world.now);
    let grid = 5 * MINUTE;
    let first = (earliest + grid - 1).div_euclid(grid) * grid;
    let radius = world.reservation["location"]["radius"].as_f64();
    let mut blocks = Vec::new();
    for (station, hours) in world.stations.iter().zip(world.hours) {
        if distance(world, station) > radius.expect("a radius") {
            continue;
        }
        for connector in list(&station["connectors"]) {
            let (current, room) = current(world, connector);
            let energy = world.energy.expect("Wh").min(room);
            let minutes = (current.time_until(energy) as i64 + MINUTE - 1) / MINUTE;
            let length = minutes.max(15) * MINUTE;
            if length > 24 * 60 * MINUTE {
                continue;
            }
            let starts = (0..=2_016).map(|steps| first + steps * grid);
            let starts: Vec<i64> = starts.filter(|from| from + length <= ready_by).collect();
            if starts.is_empty() {
                continue;
            }
            let time = |at: i64| Timestamp::from_millisecond(at).expect("a time");
            let mut reservation = world.reservation.clone();
            reservation["ideal_start"] = json!(time(first));
            reservation["ideal_end"] = json!(time(first + length));
            let mut alone = station.clone();
            alone["connectors"] = json!([connector]);
            let of_length = World {
                reservation: &reservation,
                ..*world
            };
            let cap = &need["max_price_per_kwh"];
            let currency = text(&world.reservation["currency"]);
            for pair in of_station(&of_length, &alone, hours, &starts).unwrap_or_default() {
                let until = pair.start + length;
                if is_free(world, station, connector, pair.start, until)
                    && is_within(pair.price, cap, currency)
                {
                    let price = pair
                        .price
                        .map(|price| (price.currency.to_owned(), price.total));
                    let ids = (text(&station["id"]), text(&connector["id"]));
                    let aim = match need["optimize"].as_str() {
                        Some("carbon") => grams(station, energy).unwrap_or(i64::MAX),
                        Some("time") => until,
                        _ => 0,
                    };
                    blocks.push((price, aim, pair.start, until, ids));
                }
            }
        }
    }
    let mut cheapest: BTreeMap<String, i128> = BTreeMap::new();
    for (currency, total) in blocks.iter().filter_map(|(price, ..)| price.as_ref()) {
        let least = cheapest.entry(currency.clone()).or_insert(*total);
        *least = (*total).min(*least);
    }
    let best = blocks
        .into_iter()
        .min_by_key(|(price, aim, start, _, ids)| {
            let own = world.reservation["currency"].as_str();
            let is_own = price
                .as_ref()
                .is_some_and(|(currency, _)| Some(currency.as_str()) == own);
            let more = price
                .as_ref()
                .map(|(currency, total)| total - cheapest[currency]);
            (!is_own, *aim, more.unwrap_or_default(), *start, *ids)
        });
    let (_, _, start, until, (station, connector)) = best?;
    Some((station.to_owned(), connector.to_owned(), start, until))
}

/// The effective price, computed from each minute of the charge.
fn effective_price<'a>(
    world: &World<'_>,
    connector: &'a Value,
    hours: &Hours,
    start: i64,
    length: i64,
) -> Option<EffectivePrice<'a>> {
    let for_sessions = || {
        list(&connector["pricing"]).filter(|price| price["restrictions"]["reservation"].is_null())
    };
    let preferred = text(&world.reservation["currency"]);
    let currency = if for_sessions().any(|price| price["currency"] == preferred) {
        for_sessions().find(|price| price["currency"] == preferred)?
    } else {
        for_sessions().next()?
    };
    let currency = text(&currency["currency"]);
    let in_currency = for_sessions().filter(|price| price["currency"] == currency);
    let prices: Vec<&Value> = in_currency.collect();

    let (current, room) = current(world, connector);
    let most = world.energy.map_or(room, |energy| energy.min(room));
    let charged = most.min(current.energy_within(length.into()));
    let energy = charged.max(1_000);
    let cost_of = |energy| cost_of(&current, &prices, hours, start, energy);
    let (cost, parts) = cost_of(energy);
    let (total, total_parts) = cost_of(charged);
    Some(EffectivePrice {
        currency,
        total: (2 * total + total_parts * SCALE) / (2 * total_parts * SCALE),
        numerator: cost * 1_000,
        denominator: parts * energy,
    })
}

/// The cost of charging an energy in Wh, in fractions of a hundred-millionth of a minor unit, and the number of them in one.
fn cost_of(
    current: &Current,
    prices: &[&Value],
    hours: &Hours,
    start: i64,
    energy: i128,
) -> (i128, i128) {
    const HOUR: i128 = 3_600_000;
    // Without energy no time passes, but the start fee of that moment is due.
    let lasts = current.time_until(energy).max(1);
    let parts = lasts * HOUR * 1_000;
    let (mut cost, mut at) = (0, 0);
    let (mut flat, mut last_energy, mut last_time) = (None, None, None);
    while at < lasts {
        let minute = i128::from(MINUTE);
        let piece = (lasts - at).min(minute);
        let local = hours.local(start + at as i64);
        let first = |kind: &str| {
            let mut of_kind = prices.iter().filter(|price| price["type"] == kind);
            of_kind.find(|price| holds(price, local)).copied()
        };
        flat = flat.or(first("FLAT"));
        if let Some(price) = first("ENERGY") {
            cost += gross(price) * energy * piece * HOUR;
            last_energy = Some(price);
        }
        if let (Some(price), true) = (first("TIME"), energy > 0) {
            cost += gross(price) * piece * lasts * 1_000;
            last_time = Some(price);
        }
        at += piece;
    }
    let missing = |quantity: i128, step: i128| (step - quantity % step) % step;
    let step = |price: &Value| i128::from(price["step_size"].as_i64().expect("a step"));
    if let Some(price) = last_energy {
        cost += gross(price) * missing(energy, step(price)) * lasts * HOUR;
    }
    if let Some(price) = last_time {
        cost += gross(price) * missing(lasts, step(price) * 1_000) * lasts * 1_000;
    }
    if let Some(price) = flat {
        cost += gross(price) * parts;
    }
    let limit = |kind: &str| prices.iter().find(|price| price["type"] == kind);
    if let Some(least) = limit("MIN_PRICE") {
        cost = cost.max(gross(least) * parts);
    }
    if let Some(most) = limit("MAX_PRICE") {
        cost = cost.min(gross(most) * parts);
    }
    (cost, parts)
}

/// Whether a price applies in a minute of the station's clock.
fn holds(price: &Value, (day, minute): (usize, i32)) -> bool {
    let restrictions = &price["restrictions"];
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let mut on = list(&restrictions["day_of_week"]).peekable();
    let is_day = on.peek().is_none() || on.any(|weekday| *weekday == days[day]);
    let time = |name: &str| match &restrictions[name] {
        Value::Null => None,
        time => Some(clock(time)),
    };
    let is_time = match (time("start_time"), time("end_time")) {
        (Some(start), Some(end)) if end < start => minute >= start || minute < end,
        (start, end) => {
            let end = end.filter(|end| *end != 0);
            start.is_none_or(|start| minute >= start) && end.is_none_or(|end| minute < end)
        }
    };
    is_day && is_time
}

/// A price with tax.
fn gross(price: &Value) -> i128 {
    let exact = match price["price_decimal"].as_str() {
        Some(exact) => decimal(exact, 4),
        None => i128::from(price["price"].as_i64().expect("a price")) * 10_000,
    };
    let percent = match price["tax"].as_str() {
        Some("none") => 0,
        _ => decimal(text(&price["tax_percent"]), 2),
    };
    if price["tax_included"] == true {
        exact * (SCALE / 10_000)
    } else {
        exact * (10_000 + percent)
    }
}

/// A decimal number as an integer with this number of decimal places.
fn decimal(text: &str, places: usize) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<places$}");
    digits.parse().expect("a decimal number")
}

fn score(world: &World<'_>, pair: &Pair<'_>, shift: i64, cheapest: &BTreeMap<&str, i128>) -> i128 {
    let preferences = &world.driver["preferences"];
    let mut score = i128::from(shift) * 10;
    score += (distance(world, pair.station) / 100.0).floor() as i128;
    if let Some(price) = pair.price {
        score += (price.whole() - cheapest[price.currency]) * 5;
    }
    if list(&preferences["preferred_charging_stations"]).any(|id| *id == pair.station["id"]) {
        score -= 200;
    }
    if list(&preferences["preferred_cpos"]).any(|name| *name == pair.station["operator"]) {
        score -= 100;
    }
    let power = pair.connector["power"].as_f64().expect("a power");
    let class = match power {
        slow if slow < 43.0 => "slow",
        fast if fast < 150.0 => "fast",
        _ => "ultra_fast",
    };
    let speed = text(&preferences["charging_speed"]);
    if speed != "any" && speed != class {
        score += 100;
    }
    if pair.connector["status"] == "occupied" {
        score += 50;
    }
    score
}

/// Metres on the great circle between the request's location and a station: the angle between the two as vectors from the
/// middle of the earth.
fn distance(world: &World<'_>, station: &Value) -> f64 {
    let vector = |point: &Value| {
        let degrees = |name: &str| point[name].as_f64().expect("degrees").to_radians();
        let (latitude, longitude) = (degrees("latitude"), degrees("longitude"));
        [
            latitude.cos() * longitude.cos(),
            latitude.cos() * longitude.sin(),
            latitude.sin(),
        ]
    };
    let (a, b) = (
        vector(&world.reservation["location"]),
        vector(&station["location"]),
    );
    let cross = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ];
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let sine = cross.iter().map(|part| part * part).sum::<f64>().sqrt();
    // The mean radius of the earth (IUGG).
    6_371_008.8 * sine.atan2(dot)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Milliseconds since 1970.
pub fn millis(value: &Value) -> i64 {
    let at: Timestamp = text(value).parse().expect("a time");
    at.as_millisecond()
}

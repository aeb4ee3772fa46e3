//! The charging periods of sessions and CDRs that are too large to be stored as they were received.
//!
//! An item of DynamoDB has at most 400 KB, and a network may report a period for every few seconds of a session. If a session or a CDR
//! has more than 200 KiB, its oldest periods are merged in slots of time: those of a slot into at most two, one in which the vehicle
//! charged, and one in which it was only connected. The two last as long together as the periods did, each as long as those of its kind,
//! and have the sums of their volumes. Nothing else of a period affects a charging session. The newest periods stay as they were received,
//! so that an update which arrives twice is recognized.
//!
//! A charging session keeps its periods as segments, and many of them are merged in slots as well. A slot is a multiple of a quarter of an
//! hour of the clock, because the prices of tariffs usually change at its beginning.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::cost::ChargingPeriod;
use super::reader::lenient;
use kernel::time::{millis, minutes, whole_millis};
use kernel::{SignedDuration, Timestamp};
use models::charging::tariff::Segment;

/// The member of a session and a CDR with the charging periods.
pub const PERIODS: &str = "charging_periods";

/// The maximum size in bytes of a session or a CDR that is received. With 250 bytes for each charging period, it may have one for every 20
/// seconds of a day.
pub const MAX_RECEIVED: usize = 1024 * 1024;

/// The maximum number of charging periods that a partial update adds to a session: one for every 20 seconds of a day.
pub const MAX_ADDED: usize = 4_320;

/// The size of a session or CDR in bytes beyond which its oldest periods are merged, and the size that it has then without the merged ones,
/// which have less than 50 KiB.
const MAX_STORED: usize = 200 * 1024;
const MERGED: usize = MAX_STORED / 2;

/// The maximum number of segments that are not merged, and of slots of time in which the others are merged.
const MAX_SEGMENTS: usize = 96;
const SLOTS: u64 = 48;
const QUARTER: SignedDuration = minutes(15);

/// The types of dimensions whose volumes can be added.
const SUMS: [&str; 6] = [
    "ENERGY",
    "ENERGY_EXPORT",
    "ENERGY_IMPORT",
    "PARKING_TIME",
    "RESERVATION_TIME",
    "TIME",
];

/// Returns a session or a CDR with its oldest charging periods merged, if it is too large. Periods that cannot be read are not merged.
pub fn bounded(mut object: Value) -> Value {
    let size = size_of(&object);
    if size <= MAX_STORED {
        return object;
    }
    if let Some(periods) = object.get_mut(PERIODS).and_then(Value::as_array_mut) {
        merge_oldest(periods, size - MERGED);
    }
    object
}

/// Returns a session or a CDR, which was received as a text of `received` bytes, with its oldest charging periods merged.
///
/// # Errors
/// Its size in bytes, if both the text and what is left of it are larger than `max`.
pub fn bounded_within(object: Value, received: usize, max: usize) -> Result<Value, usize> {
    let object = bounded(object);
    if received > max && size_of(&object) > max {
        return Err(size_of(&object));
    }
    Ok(object)
}

/// Returns the size of the JSON text in bytes.
fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

/// Merges the oldest periods until at least this many bytes of them are replaced. The newest period stays as it is.
fn merge_oldest(periods: &mut Vec<Value>, bytes: usize) {
    let read = periods.iter().map(lenient::<ChargingPeriod>);
    let Ok(read) = read.collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let mut both: Vec<(ChargingPeriod, Value)> = read.into_iter().zip(periods.clone()).collect();
    both.sort_by_key(|(period, _)| period.start_date_time);
    let mut replaced = 0;
    let oldest = both.iter().take_while(|(_, value)| {
        let is_needed = replaced < bytes;
        replaced += size_of(value);
        is_needed
    });
    let count = oldest.count().min(both.len().saturating_sub(1));
    let newest = both.split_off(count);
    let Some((next, _)) = newest.first() else {
        return;
    };
    let oldest: Vec<ChargingPeriod> = both.into_iter().map(|(period, _)| period).collect();
    let merged = merged_in_slots(&oldest, next.start_date_time);
    *periods = merged
        .into_iter()
        .chain(newest.into_iter().map(|(_, value)| value))
        .collect();
}

/// Merges periods in the order of time, of which the last one ends at a moment, in slots of time.
fn merged_in_slots(oldest: &[ChargingPeriod], until: Timestamp) -> Vec<Value> {
    let first = oldest.first();
    let lasts = first.map_or(SignedDuration::ZERO, |first| {
        until.since(first.start_date_time)
    });
    let width = slot_width(lasts);
    let slot = |period: &ChargingPeriod| period.start_date_time.unix_millis().div_euclid(width);
    let mut periods = Vec::new();
    let mut ends = until;
    let slots: Vec<_> = oldest.chunk_by(|a, b| slot(a) == slot(b)).collect();
    for of_slot in slots.into_iter().rev() {
        let Some((last, others)) = of_slot.split_last() else {
            continue;
        };
        // It extends far beyond its slot.
        if ends.since(last.start_date_time) > millis(width) {
            periods.push(merged(std::slice::from_ref(last), ends));
            periods.push(merged(others, last.start_date_time));
        } else {
            periods.push(merged(of_slot, ends));
        }
        ends = of_slot.first().map_or(ends, |first| first.start_date_time);
    }
    periods.into_iter().rev().flatten().collect()
}

/// Returns the duration in milliseconds of the slots of a session that lasts so long.
fn slot_width(lasts: SignedDuration) -> i64 {
    let lasts = whole_millis(lasts).max(0).unsigned_abs();
    let quarter = whole_millis(QUARTER);
    let quarters = lasts.div_ceil(quarter.unsigned_abs() * SLOTS).max(1);
    quarter.saturating_mul(i64::try_from(quarters).unwrap_or(i64::MAX))
}

/// Returns the segments of a session that began then, in their order, in a bounded number; none if the vehicle charged evenly and then was
/// parked.
pub(super) fn bounded_segments(mut segments: Vec<Segment>, began: Timestamp) -> Vec<Segment> {
    segments.retain(|segment| segment.lasts > 0);
    segments.dedup_by(|next, segment| {
        let crosswise = |energy: u64, lasts: u64| u128::from(energy) * u128::from(lasts);
        let is_same = segment.is_parking == next.is_parking
            && crosswise(segment.energy, next.lasts) == crosswise(next.energy, segment.lasts);
        if is_same {
            segment.lasts += next.lasts;
            segment.energy += next.energy;
        }
        is_same
    });
    if segments.len() > MAX_SEGMENTS {
        segments = in_slots(&segments, began);
    }
    let is_usual = match segments.as_slice() {
        [] | [_] => true,
        [first, second] => !first.is_parking && second.is_parking,
        _ => false,
    };
    if is_usual { Vec::new() } else { segments }
}

/// Merges segments in slots of time: those of a slot into at most two, one of each kind.
fn in_slots(segments: &[Segment], began: Timestamp) -> Vec<Segment> {
    let whole: u64 = segments.iter().map(|segment| segment.lasts).sum();
    let width = slot_width(millis(i64::try_from(whole).unwrap_or(i64::MAX)));
    let mut at = began.unix_millis();
    let mut merged: Vec<(i64, Segment)> = Vec::new();
    for segment in segments {
        let mut left = *segment;
        while left.lasts > 0 {
            let slot = at.div_euclid(width);
            let lasts = left
                .lasts
                .min((width - at.rem_euclid(width)).unsigned_abs());
            let energy = u128::from(left.energy) * u128::from(lasts) / u128::from(left.lasts);
            let energy = u64::try_from(energy).unwrap_or(left.energy);
            let mut of_slot = merged.iter_mut().rev().take(2);
            match of_slot.find(|(at, one)| *at == slot && one.is_parking == left.is_parking) {
                Some((_, part)) => {
                    part.lasts += lasts;
                    part.energy += energy;
                }
                None => merged.push((
                    slot,
                    Segment {
                        lasts,
                        energy,
                        ..left
                    },
                )),
            }
            at = at.saturating_add(i64::try_from(lasts).unwrap_or(i64::MAX));
            left.lasts -= lasts;
            left.energy -= energy;
        }
    }
    merged.into_iter().map(|(_, segment)| segment).collect()
}

/// The periods of one kind.
#[derive(Default)]
struct Sum<'a> {
    periods: usize,
    lasts: SignedDuration,
    volumes: BTreeMap<&'a str, Decimal>,
}

/// Merges periods in the order of time, of which the last one ends at a moment. The first of the two periods is of the kind of the first
/// one, which begins with the session.
fn merged(oldest: &[ChargingPeriod], until: Timestamp) -> Vec<Value> {
    let Some(first) = oldest.first() else {
        return Vec::new();
    };
    let mut sums = [Sum::default(), Sum::default()];
    let starts = oldest.iter().map(|period| period.start_date_time);
    for (period, ends) in oldest.iter().zip(starts.skip(1).chain([until])) {
        let sum = &mut sums[usize::from(period.is_parking() != first.is_parking())];
        sum.periods += 1;
        sum.lasts += ends.since(period.start_date_time);
        for dimension in &period.dimensions {
            if SUMS.contains(&dimension.kind.as_str()) {
                let volume = sum.volumes.entry(&dimension.kind).or_default();
                *volume = volume.saturating_add(dimension.volume);
            }
        }
    }
    let mut starts = first.start_date_time;
    let sums = sums.into_iter().filter(|sum| sum.periods > 0);
    let periods = sums.map(|sum| {
        let dimensions = sum.volumes.into_iter();
        let dimensions = dimensions
            .map(|(kind, volume)| json!({"type": kind, "volume": volume.round_dp(4).to_f64()}));
        let dimensions: Vec<Value> = dimensions.collect();
        let period = json!({"start_date_time": starts, "dimensions": dimensions});
        starts = starts.plus(sum.lasts);
        period
    });
    periods.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use kernel::time::{minutes, seconds};
    use kernel::{Id, Kind};
    use models::charging_session::network::SessionReport;
    use models::network::{Module, ObjectId, Owner, PartyId};

    fn start() -> Timestamp {
        Timestamp::parse("2026-03-01T10:00:00Z").unwrap()
    }

    /// The period of a minute. The vehicle is parked in every third one.
    fn period(number: i64) -> Value {
        let starts = start().plus(minutes(number));
        let dimensions = if number % 3 == 2 {
            json!([{"type": "PARKING_TIME", "volume": 0.0167}])
        } else {
            json!([{"type": "ENERGY", "volume": 0.1}, {"type": "MAX_CURRENT", "volume": 16},
                {"type": "TIME", "volume": 0.0167}])
        };
        json!({"start_date_time": starts, "dimensions": dimensions, "tariff_id": "X".repeat(36)})
    }

    /// A session that lasts this many minutes and began 20 seconds before its first period.
    fn session(lasts: i64) -> Value {
        let periods: Vec<Value> = (0..lasts).map(period).collect();
        json!({"country_code": "NL", "party_id": "EXA", "id": "S1", "start_date_time": start().plus(seconds(-20)),
            "end_date_time": start().plus(minutes(lasts)), "kwh": 10, "auth_method": "COMMAND",
            "cdr_token": {"uid": "1", "type": "APP_USER", "contract_id": "C"}, "location_id": "L", "evse_uid": "E",
            "connector_id": "1", "currency": "EUR", "charging_periods": periods, "status": "COMPLETED",
            "last_updated": start().plus(minutes(lasts))})
    }

    fn report(session: &Value) -> SessionReport {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "EXA").unwrap(),
        );
        let id = ObjectId::new(owner, Module::Sessions, "S1").unwrap();
        let session: Session = lenient(session).unwrap();
        session.report(&id, session.last_updated).unwrap()
    }

    #[test]
    fn merged_periods_keep_durations_and_sums() {
        let small = session(100);
        assert_eq!(bounded(small.clone()), small);
        let whole = session(3000);
        assert!(size_of(&whole) > 400 * 1024);
        let stored = bounded(whole.clone());
        assert!(size_of(&stored) <= MERGED + 50 * 1024);
        let periods = stored[PERIODS].as_array().unwrap();
        assert_eq!(periods.last(), whole[PERIODS].as_array().unwrap().last());
        // The first slot begins with the session, 20 seconds before its first period.
        let (merged, exact) = (report(&stored), report(&whole));
        assert_eq!(
            (merged.times.charging, merged.times.parking),
            (exact.times.charging, exact.times.parking)
        );
        assert_eq!(merged.charging_ended, exact.charging_ended);
        let sum = |session: &Value, kind: &str| {
            let periods = session[PERIODS].as_array().unwrap().iter();
            let dimensions = periods.flat_map(|period| period["dimensions"].as_array().unwrap());
            let volumes = dimensions.filter(|dimension| dimension["type"] == kind);
            let sum: f64 = volumes.map(|one| one["volume"].as_f64().unwrap()).sum();
            (sum * 1000.0).round()
        };
        for kind in ["ENERGY", "PARKING_TIME", "TIME"] {
            assert_eq!(sum(&stored, kind), sum(&whole, kind), "{kind}");
        }
        // Merged periods are merged again with those that follow.
        let mut grown = stored;
        let more = (3000..6000).map(period);
        grown[PERIODS].as_array_mut().unwrap().extend(more);
        grown["end_date_time"] = json!(start().plus(minutes(6000)));
        let (merged, exact) = (report(&bounded(grown)).times, report(&session(6000)).times);
        assert_eq!(
            (merged.charging, merged.parking),
            (exact.charging, exact.parking)
        );
    }

    /// The time and the energy of each kind until the end of each hour.
    fn by_hour(segments: &[Segment]) -> Vec<(u64, u64, u64)> {
        let hour = 3_600_000;
        let (mut hours, mut elapsed, mut sum) = (Vec::new(), 0, (0, 0, 0));
        for segment in segments {
            elapsed += segment.lasts;
            let of_kind = if segment.is_parking {
                &mut sum.1
            } else {
                &mut sum.0
            };
            *of_kind += segment.lasts;
            sum.2 += segment.energy;
            if elapsed % hour == 0 {
                hours.push(sum);
            }
        }
        hours
    }

    #[test]
    fn many_segments_keep_their_hours() {
        let second = 1000;
        let alternating: Vec<Segment> = (0..8 * 180)
            .map(|number| Segment {
                lasts: 20 * second,
                energy: if number % 2 == 0 { 100 + number } else { 0 },
                is_parking: number % 2 == 1,
            })
            .collect();
        let long = Segment {
            lasts: 4 * 3600 * second,
            energy: 7_001,
            is_parking: false,
        };
        let segments = [alternating, vec![long]].concat();
        let merged = bounded_segments(segments.clone(), start());
        assert!(merged.len() <= 2 * (SLOTS as usize + 2), "{}", merged.len());
        assert_eq!(by_hour(&merged)[..8], by_hour(&segments)[..8]);
        assert_eq!(by_hour(&merged).last(), by_hour(&segments).last());
        // A session keeps less than 6 KB of them.
        assert!(serde_json::to_string(&merged).unwrap().len() < 6_000);
    }

    #[test]
    fn few_segments_are_joined_only_where_they_are_alike() {
        let part = |minutes: u64, energy: u64, is_parking: bool| Segment {
            lasts: minutes * 60_000,
            energy,
            is_parking,
        };
        let bounded = |segments: &[Segment]| bounded_segments(segments.to_vec(), start());
        let usual = [part(10, 100, false), part(20, 200, false), part(5, 0, true)];
        assert_eq!(bounded(&usual), []);
        let delayed = [part(5, 0, true), part(7, 0, true), part(10, 100, false)];
        let joined = [part(12, 0, true), part(10, 100, false)];
        assert_eq!(bounded(&delayed), joined);
        let uneven = [part(10, 100, false), part(10, 101, false)];
        assert_eq!(bounded(&uneven), uneven);
        // A segment without a duration is none.
        assert_eq!(bounded(&[part(0, 9, true), usual[0], usual[2]]), []);
    }
}

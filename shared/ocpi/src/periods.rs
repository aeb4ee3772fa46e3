//! The charging periods of sessions and CDRs that are too large to be stored as they were received.
//!
//! An item of DynamoDB has at most 400 KB, and a network may report a period for every few seconds of a session. If a session or a CDR
//! has more than 200 KiB, its oldest periods are merged into at most two: one in which the vehicle charged, and one in which it
//! was only connected. The two last as long together as the periods did, each as long as those of its kind, and have the sums of their
//! volumes. Nothing else of a period affects a charging session. The newest periods stay as they were received, so that an update which
//! arrives twice is recognized.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::cost::ChargingPeriod;
use super::reader::lenient;
use kernel::time::{SignedDuration, Timestamp};

/// The member of a session and a CDR with the charging periods.
pub const PERIODS: &str = "charging_periods";

/// The maximum size in bytes of a session or a CDR that is received. With 250 bytes for each charging period, it may have one for every 20
/// seconds of a day.
pub const MAX_RECEIVED: usize = 1024 * 1024;

/// The maximum number of charging periods that a partial update adds to a session: one for every 20 seconds of a day.
pub const MAX_ADDED: usize = 4_320;

/// The size of a session or CDR in bytes beyond which its oldest periods are merged, and the size that they are merged to reach.
const MAX_STORED: usize = 200 * 1024;
const MERGED: usize = MAX_STORED / 2;

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
    let merged = merged(&oldest, next.start_date_time);
    *periods = merged
        .into_iter()
        .chain(newest.into_iter().map(|(_, value)| value))
        .collect();
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
    use kernel::id::{Id, Kind};
    use kernel::time::{minutes, seconds};
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
        let owner = Owner {
            network: Id::from_number(Kind::Network, 1),
            party: PartyId::new("NL", "EXA").unwrap(),
        };
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
        assert!(size_of(&stored) <= MERGED + 512);
        let periods = stored[PERIODS].as_array().unwrap();
        assert_eq!(periods.last(), whole[PERIODS].as_array().unwrap().last());
        assert_eq!(report(&stored), report(&whole));
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
        assert_eq!(report(&bounded(grown)).times, report(&session(6000)).times);
    }
}

//! Tests of opening hours and times.

use kernel::{Timestamp, Window};
use models::charging::opening_hours;
use models::charging_station::Weekday;
use serde_json::{Value, json};

use super::read;
use crate::reader;

pub(super) fn hours(change: Value) -> (bool, Vec<(Weekday, String, String)>) {
    let station = read(json!({"opening_times": change})).unwrap().station;
    let hours = station.availability.opening_hours.into_iter();
    let hours = hours
        .map(|period| (period.day, period.from, period.until))
        .collect();
    (station.capabilities.access_24_7, hours)
}

#[test]
fn hours_by_weekday_are_kept() {
    let line = |from, until| {
        json!({"twentyfourseven": false, "regular_hours": [
            {"weekday": 1, "period_begin": from, "period_end": until}]})
    };
    let monday = |from: &str, until: &str| (false, vec![(Weekday::Mon, from.into(), until.into())]);
    assert_eq!(hours(line("08:00", "20:00")), monday("08:00", "20:00"));
    assert_eq!(hours(line("8:00:00", "23:59")), monday("08:00", "23:59"));
    let refused = read(json!({"opening_times": line("08:00", "25:00")}));
    assert!(refused.unwrap_err().contains("25:00"));
    for weekday in [json!(0), json!(8), json!(1.7)] {
        let mut hours = line("08:00", "20:00");
        hours["regular_hours"][0]["weekday"] = weekday.clone();
        let refused = read(json!({"opening_times": hours})).unwrap_err();
        let expected = format!("opening_times.regular_hours: weekday {weekday} is not 1 to 7");
        assert_eq!(refused, expected);
    }
}

#[test]
fn an_end_at_24_00_is_midnight() {
    let line = json!({"weekday": 1, "period_begin": "06:00", "period_end": "24:00"});
    let station = read(json!({"opening_times": {"regular_hours": [line]}}))
        .unwrap()
        .station;
    let window = |from: &str, until: &str| Window {
        from: Timestamp::parse(from).unwrap(),
        until: Timestamp::parse(until).unwrap(),
    };
    // 2026-03-02 is a Monday.
    let open = |from, until| opening_hours::is_open(&station, &window(from, until));
    assert!(open("2026-03-02T06:00:00Z", "2026-03-03T00:00:00Z"));
    assert!(!open("2026-03-02T06:00:00Z", "2026-03-03T00:00:01Z"));
    assert!(!open("2026-03-02T05:59:59Z", "2026-03-02T07:00:00Z"));
}

#[test]
fn exceptional_periods_are_kept_in_order() {
    let period = |day: u8, from: u8, until: u8| {
        let at = |hour| format!("2026-12-{day}T{hour:02}:00:00Z");
        json!({"period_begin": at(from), "period_end": at(until)})
    };
    let times = json!({"twentyfourseven": true, "exceptional_openings": [period(26, 5, 5)],
        "exceptional_closings": [period(25, 3, 5), period(24, 3, 5)]});
    let station = read(json!({"opening_times": times})).unwrap().station;
    let json = serde_json::to_value(station).unwrap();
    let closed = |day| {
        let at = |hour| format!("2026-12-{day}T{hour:02}:00:00.000Z");
        json!({"from": at(3), "until": at(5)})
    };
    let want = json!([closed(24), closed(25)]);
    assert_eq!(json["availability"]["exceptional_closings"], want);
    assert_eq!(json["availability"].get("exceptional_openings"), None);
}

#[test]
fn a_timestamp_without_an_offset_is_utc() {
    let at = |text| reader::timestamp(text).map(|at| at.to_string());
    assert_eq!(
        at("2015-06-29T20:39:09"),
        Ok("2015-06-29T20:39:09.000Z".into())
    );
    assert_eq!(
        at("2015-06-29T20:39:09.5"),
        Ok("2015-06-29T20:39:09.500Z".into())
    );
    assert_eq!(at("2015-06-29T20:39:09Z"), at("2015-06-29T20:39:09"));
    assert!(at("2015-06-29").is_err());
    let updated = read(json!({"last_updated": "2015-06-29T20:39:09"})).unwrap();
    assert_eq!(
        updated.last_updated,
        Timestamp::parse("2015-06-29T20:39:09Z").ok()
    );
}

//! Tests of how tariffs become the prices of connectors.

use kernel::Timestamp;
use models::charging::tariff::{self, Course, Usage};
use models::charging_station::{PriceType, ReservationRestriction};
use serde_json::{Value, json};

use crate::{ImportedStation, Location, Skipped, Tariffs, reader};

use super::{location, now};

fn tariffs(objects: &Value) -> (Tariffs, Vec<Skipped>) {
    let file = serde_json::to_vec(objects).unwrap();
    Tariffs::read(reader::objects(&file).unwrap())
}

/// Returns a tariff of `price` per kWh without tax.
pub(super) fn tariff(id: &str, price: f64, change: Value) -> Value {
    let component = json!({"type": "ENERGY", "price": price, "step_size": 1});
    let mut tariff = json!({"country_code": "GB", "party_id": "ABC", "id": id, "currency": "EUR",
        "elements": [{"price_components": [component]}], "last_updated": "2026-01-01T00:00:00Z"});
    for (name, member) in change.as_object().unwrap() {
        tariff[name] = member.clone();
    }
    tariff
}

/// Returns the station above whose first connector has these tariffs, priced.
pub(super) fn priced(ids: &[&str], objects: &Value) -> (ImportedStation, Vec<String>) {
    let mut json = location();
    json["evses"][0]["connectors"][0]["tariff_ids"] = json!(ids);
    let location: Location = serde_json::from_value(json).unwrap();
    let mut station = location.into_station().unwrap();
    let unknown = station.set_prices(&tariffs(objects).0, now());
    (station, unknown)
}

fn energy_prices(ids: &[&str], objects: &Value) -> Vec<i64> {
    let pricing = priced(ids, objects).0.station.connectors.remove(0).pricing;
    pricing.iter().map(|price| price.price).collect()
}

#[test]
fn prices_are_those_of_the_connectors_own_tariffs() {
    let mut json = location();
    json["evses"][0]["connectors"][0]["tariff_ids"] = json!(["dear"]);
    json["evses"][1]["connectors"][0]["tariff_ids"] = json!(["cheap"]);
    let location: Location = serde_json::from_value(json).unwrap();
    let mut station = location.into_station().unwrap();
    let file = json!([
        tariff("dear", 0.5, json!({})),
        tariff("cheap", 0.254, json!({}))
    ]);
    assert_eq!(station.set_prices(&tariffs(&file).0, now()), [""; 0]);
    let station = station.station;
    assert_eq!(station.connectors[0].pricing[0].price, 50);
    assert_eq!(station.connectors[0].pricing[0].price_decimal, None);
    let cheap = &station.connectors[1].pricing[0];
    assert_eq!(
        (cheap.price, cheap.price_decimal.as_deref()),
        (25, Some("25.4"))
    );
    assert_eq!(station.pricing, station.connectors[1].pricing);
}

#[test]
fn numbers_beyond_reason_are_refused_and_never_overflow() {
    let restricted = |current: f64| {
        let component = json!({"type": "ENERGY", "price": 0.1, "step_size": 1});
        let restrictions = json!({"min_current": current, "max_current": current});
        json!({"elements": [{"price_components": [component], "restrictions": restrictions}]})
    };
    for (price, change) in [
        (7.9e27, json!({})),
        (9e16, json!({})),
        (-9e16, json!({})),
        (0.1, json!({"max_price": {"excl_vat": 1, "incl_vat": 1e27}})),
        (0.1, restricted(7.9e28)),
    ] {
        let file = json!([tariff("far", price, change.clone())]);
        assert_eq!(energy_prices(&["far"], &file), [0; 0], "{price} {change}");
        assert_eq!(tariffs(&file).1.len(), 1, "{price} {change}");
    }
    let dear = tariff("dear", 10_000_000.0, json!({}));
    assert_eq!(energy_prices(&["dear"], &json!([dear])), [1_000_000_000]);
    let ratio = json!({"max_price": {"excl_vat": 1e-28, "incl_vat": 1e12}});
    assert_eq!(tariffs(&json!([tariff("tiny", 0.1, ratio)])).1.len(), 0);
    let far = tariff("far", 0.1, restricted(1e18));
    let mut json = location();
    let connector = &mut json["evses"][0]["connectors"][0];
    connector["tariff_ids"] = json!(["far"]);
    for (volts, amperes, is_read) in [(1e18, 1e18, true), (7e28, 7e28, false)] {
        connector_limits(&mut json, volts, amperes);
        let location: Result<Location, _> = serde_json::from_value(json.clone());
        assert_eq!(location.is_ok(), is_read, "{volts} V");
        let stations = location.map(Location::into_station);
        if let Ok(Ok(mut station)) = stations {
            station.set_prices(&tariffs(&json!([far])).0, now());
        }
    }
}

/// Sets the voltage and the current of the first connector, from which its power results.
fn connector_limits(location: &mut Value, volts: f64, amperes: f64) {
    let connector = &mut location["evses"][0]["connectors"][0];
    (connector["max_voltage"], connector["max_amperage"]) = (json!(volts), json!(amperes));
    let members = connector.as_object_mut().unwrap();
    members.remove("max_electric_power");
}

#[test]
fn regular_tariffs_precede_untyped_ones_and_others_are_ignored() {
    let file = json!([
        tariff("any", 0.1, json!({})),
        tariff("regular", 0.2, json!({"type": "REGULAR"})),
        tariff("ad_hoc", 0.3, json!({"type": "AD_HOC_PAYMENT"})),
        tariff("green", 0.4, json!({"type": "PROFILE_GREEN"})),
        tariff("future", 0.5, json!({"type": "FUTURE"})),
    ]);
    assert_eq!(
        energy_prices(&["ad_hoc", "any", "green", "regular", "future"], &file),
        [20]
    );
    assert_eq!(energy_prices(&["ad_hoc", "any"], &file), [10]);
    assert_eq!(energy_prices(&["ad_hoc", "green", "future"], &file), [0; 0]);
}

#[test]
fn a_tariff_counts_for_sessions_that_begin_in_its_time() {
    let file = json!([
        tariff("past", 0.1, json!({"end_date_time": "2026-03-01T00:00:00"})),
        tariff(
            "now",
            0.2,
            json!({"start_date_time": "2026-03-01T00:00:00", "end_date_time": "2026-04-01T00:00:00"})
        ),
        tariff(
            "next",
            0.3,
            json!({"start_date_time": "2026-04-01T00:00:00"})
        ),
    ]);
    let (mut station, _) = priced(&["next", "now", "past"], &file);
    let pricing = station.station.connectors.remove(0).pricing;
    let cost = |began: &str| {
        let course = Course {
            began: Timestamp::parse(began).unwrap(),
            zone: &jiff::tz::TimeZone::UTC,
            usage: Usage {
                energy: 1000,
                charging: 3_600_000,
                parking: 0,
            },
            segments: &[],
        };
        tariff::cost(&pricing, pricing[0].currency, course).gross
    };
    assert_eq!(pricing.len(), 2);
    assert_eq!(cost("2026-03-31T23:30:00Z"), 20);
    assert_eq!(cost("2026-04-01T00:00:00Z"), 30);
}

#[test]
fn reservation_prices_are_shown_but_not_added_to_session_cost() {
    let reserved = |kind: &str, price: f64| {
        json!({"price_components": [{"type": "TIME", "price": price, "vat": 20, "step_size": 60},
            {"type": "FLAT", "price": price, "vat": 20, "step_size": 1}], "restrictions": {"reservation": kind}})
    };
    let energy = json!({"price_components": [{"type": "ENERGY", "price": 0.25, "vat": 10.0, "step_size": 1}]});
    let elements = json!([
        reserved("RESERVATION_EXPIRES", 6.0),
        reserved("RESERVATION", 3.0),
        energy
    ]);
    let file = json!([tariff("1", 0.0, json!({"elements": elements}))]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    let shown: Vec<_> = pricing
        .iter()
        .map(|price| {
            (
                price.price,
                price
                    .restrictions
                    .as_ref()
                    .and_then(|restrictions| restrictions.reservation),
            )
        })
        .collect();
    use ReservationRestriction::{Reservation, ReservationExpires};
    let (expires, used) = (Some(ReservationExpires), Some(Reservation));
    assert_eq!(
        shown,
        [
            (600, expires),
            (600, expires),
            (300, used),
            (300, used),
            (25, None)
        ]
    );
    let course = Course {
        began: now(),
        zone: &jiff::tz::TimeZone::UTC,
        usage: Usage {
            energy: 10_000,
            charging: 3_600_000,
            parking: 0,
        },
        segments: &[],
    };
    assert_eq!(
        tariff::cost(&pricing, pricing[0].currency, course).gross,
        275
    );
}

#[test]
fn current_restrictions_become_power_at_connector_voltage() {
    let element = |price: f64, restrictions: Value| json!({"price_components": [{"type": "ENERGY", "price": price, "step_size": 1}], "restrictions": restrictions});
    let elements = json!([
        element(0.1, json!({"max_current": 32})),
        element(0.2, json!({"min_current": 32}))
    ]);
    let file = json!([tariff("1", 0.0, json!({"elements": elements}))]);
    let mut station = priced(&["1"], &file).0.station;
    let connector = station.connectors.remove(0);
    let restrictions = |n: usize| connector.pricing[n].restrictions.clone().unwrap();
    // 3 × 230 V × 32 A = 22,080 W, which the connector shows as 22.1 kW.
    assert_eq!(
        (restrictions(0).max_current, restrictions(0).max_power),
        (Some(32.0), Some(22_100))
    );
    assert_eq!(
        (restrictions(1).min_current, restrictions(1).min_power),
        (Some(32.0), Some(22_100))
    );
    let cost = |watts: u64| {
        let course = Course {
            began: now(),
            zone: &jiff::tz::TimeZone::UTC,
            usage: Usage {
                energy: watts,
                charging: 3_600_000,
                parking: 0,
            },
            segments: &[],
        };
        tariff::cost(&connector.pricing, connector.pricing[0].currency, course).gross
    };
    assert_eq!((cost(22_100), cost(22_000)), (442, 220));
}

#[test]
fn a_tariff_of_another_party_is_not_found() {
    let other = |id: &str, price, party: &str| tariff(id, price, json!({"party_id": party}));
    let file = json!([
        tariff("1", 0.1, json!({})),
        other("1", 0.2, "XYZ"),
        other("2", 0.3, "XYZ"),
    ]);
    assert_eq!(energy_prices(&["1"], &file), [10]);
    let (station, unknown) = priced(&["2", "4"], &file);
    assert_eq!(station.station.connectors[0].pricing, []);
    assert_eq!(unknown, ["2", "4"]);
    // Such a connector keeps its prices.
    assert_eq!(station.priced, ["2-1"]);
}

#[test]
fn a_tariff_that_cannot_be_used_is_named_and_the_others_count() {
    let restricted = |name: &str, value: Value| {
        let mut tariff = tariff(name, 0.1, json!({}));
        tariff["elements"][0]["restrictions"] = json!({name: value});
        tariff
    };
    let (tariffs, skipped) = tariffs(&json!([
        tariff("good", 0.1, json!({"elements": null})),
        tariff("gold", 0.1, json!({"currency": "GLD"})),
        restricted("day_of_week", json!(["CARNIVAL"])),
        restricted("reservation", json!("PERHAPS")),
        restricted("start_date", json!("yesterday"))
    ]));
    assert_eq!(tariffs.len(), 1);
    let reasons: Vec<_> = skipped.iter().map(ToString::to_string).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert_eq!(reasons[0], "gold: currency: \"GLD\" is no ISO 4217 code");
}

#[test]
fn limits_of_the_price_keep_their_tax() {
    let limits =
        json!({"min_price": {"excl_vat": 0.50, "incl_vat": 0.55}, "max_price": {"excl_vat": 10.0}});
    let file = json!([tariff("1", 0.1, limits)]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    let kinds: Vec<_> = pricing
        .iter()
        .map(|price| (price.kind, price.price, price.tax_percent.as_str()))
        .collect();
    use PriceType::{Energy, MaxPrice, MinPrice};
    assert_eq!(
        kinds,
        [
            (Energy, 10, "0"),
            (MinPrice, 50, "10"),
            (MaxPrice, 1000, "0")
        ]
    );
}

#[test]
fn a_limit_without_its_tax_has_that_of_the_components() {
    let component = |vat| json!({"type": "ENERGY", "price": 0.1, "step_size": 1, "vat": vat});
    let percent_of = |vats: [u32; 2]| {
        let elements = json!([{"price_components": vats.map(component)}]);
        let limits = json!({"min_price": {"excl_vat": 10.0}, "elements": elements});
        let file = json!([tariff("1", 0.1, limits)]);
        let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
        let limit = pricing.last().unwrap();
        (limit.kind, limit.tax_percent.clone())
    };
    assert_eq!(percent_of([21, 21]), (PriceType::MinPrice, "21".to_owned()));
    assert_eq!(percent_of([21, 9]), (PriceType::MinPrice, "0".to_owned()));
    // The price of a reservation and a price of nothing are no part of the price of a session.
    let bare = |kind: &str, price: u32| json!({"type": kind, "price": price, "step_size": 1});
    let elements = json!([{"price_components": [component(21), bare("FLAT", 0)]},
        {"price_components": [bare("TIME", 1)], "restrictions": {"reservation": "RESERVATION"}}]);
    let limits = json!({"max_price": {"excl_vat": 4.2}, "elements": elements});
    let file = json!([tariff("1", 0.1, limits)]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    assert_eq!(pricing.last().unwrap().tax_percent, "21");
}

#[test]
fn a_percentage_of_tax_is_shown_as_it_is_billed() {
    for (vat, shown) in [(2_100, "1000"), (-21, "0")] {
        let component = json!({"type": "ENERGY", "price": 0.4, "step_size": 1, "vat": vat});
        let elements = json!({"elements": [{"price_components": [component]}]});
        let file = json!([tariff("1", 0.1, elements)]);
        let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
        assert_eq!(pricing[0].tax_percent, shown);
    }
}

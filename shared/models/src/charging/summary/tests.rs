use super::*;
use crate::adjustment::Adjustment;
use crate::charging_session::network::Total;
use crate::invoice::tests::{at, cost_of, session};
use crate::network::{Module, ObjectId, Owner, PartyId};
use crate::transaction::{Movement, Transaction, TransactionStatus, TransactionType};
use kernel::Kind;
use kernel::Money;
use proptest::prelude::*;
use serde_json::{Value, json};

const KINDS: [&str; 5] = [
    "charging_summary",
    "cost_analysis",
    "usage_breakdown",
    "fleet_efficiency",
    "carbon",
];
const GROUPINGS: [&str; 6] = ["vehicle", "driver", "fleet", "station", "month", "session"];

fn summary(kind: &str, group_by: Option<&str>, format: &str) -> Summary {
    filtered(kind, group_by, format, &json!({}))
}

fn filtered(kind: &str, group_by: Option<&str>, format: &str, filters: &Value) -> Summary {
    let parameters = json!({"type": kind, "period_start": "2026-03-01T00:00:00Z", "filters": filters,
        "period_end": "2026-04-01T00:00:00Z", "group_by": group_by, "format": format});
    let parameters = serde_json::from_value(parameters).unwrap();
    Summary::new(parameters, "Europe/London", at("2026-04-01T00:00:00Z"))
}

fn text(summary: &Summary, names: &HashMap<Id, String>) -> String {
    String::from_utf8(summary.file(names).unwrap()).unwrap()
}

#[test]
fn a_report_of_nothing_is_a_header_or_an_empty_array() {
    for kind in KINDS {
        let csv = text(&summary(kind, Some("vehicle"), "csv"), &HashMap::new());
        let currency = if kind == "carbon" { "" } else { "currency," };
        let header = "vehicle,registration_plate,period_start,period_end,time_zone,";
        let header = format!("{header}{currency}sessions,");
        assert!(csv.starts_with(&header), "{csv}");
        assert_eq!(csv.matches("\r\n").count(), 1);
        assert_eq!(text(&summary(kind, None, "json"), &HashMap::new()), "[]");
    }
}

#[test]
fn a_cost_analysis_is_this_file() {
    let mut summary = summary("cost_analysis", Some("driver"), "csv");
    for (number, paid) in [(1, 0), (2, 1190)] {
        let mut session = session(number, "2026-03-05T00:00:00Z");
        cost_of(&mut session).paid = paid;
        summary.add(&session);
    }
    let out = session(3, "2026-04-05T00:00:00Z");
    summary.add(&out);
    let driver = Id::from_number(Kind::Driver, 1);
    let names = HashMap::from([(driver, "Byron, \"Ada\"".to_owned())]);
    // The fee of a reservation counts, but not in the price of a kWh.
    let reservation = fee("2026-03-05T00:00:00Z", 300);
    summary.add_fee(&reservation);
    let reservation = fee("2026-04-01T00:00:00Z", 300);
    summary.add_fee(&reservation);
    // Neither does an adjustment.
    summary.add_adjustment(&credit("2026-03-31T23:59:59.999Z"), 0);
    summary.add_adjustment(&credit("2026-04-01T00:00:00Z"), 0);
    let want = "driver,driver_name,period_start,period_end,time_zone,currency,sessions,reservation_fees,adjustments,energy_wh,\
                net_minor_units,net,tax_minor_units,tax,gross_minor_units,gross,\
                reservation_fees_gross_minor_units,reservation_fees_gross,adjustments_gross_minor_units,\
                adjustments_gross,paid_minor_units,paid,\
                due_minor_units,due,credited_minor_units,credited,gross_minor_units_per_kwh,gross_per_kwh,refunded_minor_units,refunded,\
                gross_with_fees_minor_units_per_kwh,gross_with_fees_per_kwh\r\n\
                drv_00000000000000000000000000000001,\"Byron, \"\"Ada\"\"\",\
                2026-03-01T00:00:00.000+00:00,2026-04-01T01:00:00.000+01:00,Europe/London,eur,2,1,1,60014,\
                2200,22.00,361,3.61,2561,25.61,300,3.00,-119,-1.19,1190,11.90,1371,13.71,0,0.00,39.66,0.3966,0,0.00,44.66,0.4466\r\n";
    assert_eq!(text(&summary, &names), want);
    let totals = serde_json::to_value(summary.totals()).unwrap();
    let want = json!([{"currency": "eur", "sessions": 2, "reservation_fees": 1, "adjustments": 1,
        "energy_wh": 60014, "duration_seconds": 0, "net": 2200, "net_decimal": "22.00", "tax": 361, "tax_decimal": "3.61",
        "gross": 2561, "gross_decimal": "25.61", "paid": 1190, "paid_decimal": "11.90", "due": 1371, "due_decimal": "13.71", "credited": 0, "credited_decimal": "0.00", "refunded": 0, "refunded_decimal": "0.00"}]);
    assert_eq!(totals, want);
}

/// A reservation of the first driver whose fee has been due since then.
fn fee(since: &str, amount: i64) -> Stored<Reservation> {
    let number = since.len() as u128 + amount as u128;
    let json = json!({"id": Id::from_number(Kind::Reservation, number),
        "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "connector_type": ["Type2"],
        "created": since, "currency": "eur", "driver": Id::from_number(Kind::Driver, 1),
        "ideal_start": since, "ideal_end": since, "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000},
        "metadata": {}, "reservation_fee": amount, "updated": since,
        "state": {"status": "cancelled", "fee": {"due": {"since": since, "amount": amount, "is_charging": false}}},
        "vehicle": Id::from_number(Kind::Vehicle, 1)});
    Stored::new(serde_json::from_value(json).unwrap())
}

/// A credit of 1.19 for the first session, which its network sent then.
fn credit(created: &str) -> Stored<Adjustment> {
    let session = session(1, "2026-03-05T00:00:00Z");
    let total = Total {
        net: -100,
        gross: -119,
    };
    Adjustment::of_session(&session, total, Some(&cdr()), at(created)).expect("it has ended")
}

fn cdr() -> ObjectId {
    let owner = Owner::new(
        Id::from_number(Kind::Network, 1),
        PartyId::new("NL", "EXA").unwrap(),
    );
    ObjectId::new(owner, Module::Cdrs, "CREDIT").unwrap()
}

/// A refund of the first vehicle and driver.
fn refund() -> Transaction {
    let movement = Movement {
        kind: TransactionType::Refund,
        amount: Money::new(50, Currency::from_code("eur").unwrap()),
        description: String::new(),
        payment_method: None,
        driver: Some(Id::from_number(Kind::Driver, 1)),
        fleet: None,
        vehicle: Some(Id::from_number(Kind::Vehicle, 1)),
        charging_session: Some(Id::from_number(Kind::ChargingSession, 1)),
    };
    let created = at("2026-03-20T00:00:00Z");
    Transaction::new(movement, TransactionStatus::Succeeded, created)
}

fn credit_note() -> CreditNote {
    let json = json!({"id": Id::from_number(Kind::CreditNote, 1), "object": "credit_note", "amount": 70, "buyer": null,
        "created": "2026-03-20T00:00:00Z", "currency": "eur", "fleet": null, "invoice": Id::from_number(Kind::Invoice, 1),
        "invoice_number": null, "line_item": null, "lines": [], "number": null, "reason": null, "seller": null, "type": "manual",
        "totals": {"net": 70, "tax": 0, "gross": 70, "credited": 70, "refunded": 0, "by_rate": []}});
    serde_json::from_value(json).unwrap()
}

#[test]
fn filters_apply_to_fees_adjustments_refunds_and_notes() {
    let id = Id::from_number;
    let (fee, adjustment) = (
        fee("2026-03-05T00:00:00Z", 300),
        credit("2026-03-20T00:00:00Z"),
    );
    for (filters, want) in [
        (json!({}), [300, -119, 50, 70]),
        (
            json!({"vehicle": [id(Kind::Vehicle, 1)]}),
            [300, -119, 50, 0],
        ),
        (json!({"vehicle": [id(Kind::Vehicle, 2)]}), [0; 4]),
        (json!({"driver": [id(Kind::Driver, 1)]}), [300, -119, 50, 0]),
        (json!({"driver": [id(Kind::Driver, 2)]}), [0; 4]),
        // Neither the fee of a reservation without a station nor a refund belongs to one.
        (
            json!({"station": [id(Kind::ChargingStation, 1)]}),
            [0, -119, 0, 0],
        ),
        (json!({"station": [id(Kind::ChargingStation, 2)]}), [0; 4]),
        (json!({"session_status": ["completed"]}), [0, -119, 0, 0]),
        (json!({"session_status": ["failed"]}), [0; 4]),
    ] {
        let mut summary = filtered("cost_analysis", None, "json", &filters);
        summary.add_fee(&fee);
        summary.add_adjustment(&adjustment, 0);
        summary.add_refund(&refund());
        summary.add_credit_note(&credit_note(), false);
        let rows = rows(&summary);
        let sums = [
            "reservation_fees_gross_minor_units",
            "adjustments_gross_minor_units",
            "refunded_minor_units",
            "credited_minor_units",
        ];
        let sums = sums.map(|name| rows[0][name].as_i64().unwrap_or_default());
        assert_eq!(sums, want, "{filters}");
    }
}

#[test]
fn a_report_by_session_lists_sessions_fees_and_adjustments() {
    let mut summary = summary("cost_analysis", Some("session"), "json");
    for number in 1..=2 {
        let mut session = session(number, "2026-03-05T00:00:00Z");
        session.internal.names.driver = "Ada Byron".into();
        summary.add(&session);
    }
    let mut reservation = fee("2026-03-05T00:00:00Z", 300);
    assert!(reservation.mark_fee_paid(at("2026-03-06T00:00:00Z")));
    summary.add_fee(&reservation);
    let credit = credit("2026-03-20T00:00:00Z");
    summary.add_adjustment(&credit, credit.object.line.amount);
    let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
    let column = |name: &str| {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row[name].clone()).collect::<Vec<_>>()
    };
    let id = |number| json!(Id::from_number(Kind::ChargingSession, number));
    // Adjustments, sessions, fees: by the ids of these.
    assert_eq!(column("session"), [id(1), id(1), id(2), Value::Null]);
    assert_eq!(
        column("reservation"),
        [
            Value::Null,
            Value::Null,
            Value::Null,
            json!(reservation.object.id)
        ]
    );
    assert_eq!(
        column("driver_name"),
        [
            Value::Null,
            json!("Ada Byron"),
            json!("Ada Byron"),
            Value::Null
        ]
    );
    assert_eq!(
        column("gross"),
        [
            json!("-1.19"),
            json!("11.90"),
            json!("11.90"),
            json!("3.00")
        ]
    );
    assert_eq!(
        column("paid_minor_units"),
        [json!(-119), json!(0), json!(0), json!(300)]
    );
    assert!(!summary.is_too_long());
}

#[test]
fn the_row_of_a_fees_adjustment_names_the_reservation() {
    let mut summary = summary("cost_analysis", Some("session"), "json");
    let mut reservation = fee("2026-03-05T00:00:00Z", 300);
    reservation.internal.fleet = Some(Id::from_number(Kind::Fleet, 1));
    let now = at("2026-03-20T00:00:00Z");
    let more = Adjustment::of_reservation(&reservation, 200, None, &cdr(), now);
    summary.add_adjustment(&more.expect("it has a fleet"), 0);
    let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
    assert_eq!(rows[0]["session"], Value::Null);
    assert_eq!(rows[0]["reservation"], json!(reservation.object.id));
    assert_eq!(rows[0]["gross"], "2.00");
}

#[test]
fn amounts_have_the_digits_of_their_currency() {
    for (code, gross) in [("jpy", "1190"), ("eur", "11.90"), ("kwd", "1.190")] {
        let mut summary = summary("charging_summary", None, "json");
        let mut session = session(1, "2026-03-05T00:00:00Z");
        session.object.currency = Currency::from_code(code).unwrap();
        summary.add(&session);
        let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
        assert_eq!(
            (&rows[0]["gross"], &rows[0]["gross_minor_units"]),
            (&json!(gross), &json!(1190))
        );
        assert_eq!(summary.totals()[0].gross_decimal, gross);
    }
}

#[test]
fn no_text_begins_like_a_formula() {
    for name in ["=1+1", "+1", "-1", "@A1", "\tx", "\rx"] {
        let mut summary = summary("charging_summary", Some("driver"), "csv");
        let session = session(1, "2026-03-05T00:00:00Z");
        summary.add(&session);
        let names = HashMap::from([(session.object.driver, name.to_owned())]);
        let file = text(&summary, &names);
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!(&record[1], format!("'{name}"));
    }
}

#[test]
fn currencies_are_never_added() {
    let mut summary = summary("charging_summary", None, "json");
    for (number, currency) in [(1, "eur"), (2, "usd"), (3, "eur")] {
        let mut session = session(number, "2026-03-05T00:00:00Z");
        session.object.currency = Currency::from_code(currency).unwrap();
        summary.add(&session);
    }
    let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
    let row = |currency, sessions| {
        json!({"period_start": "2026-03-01T00:00:00.000+00:00", "period_end": "2026-04-01T01:00:00.000+01:00",
            "time_zone": "Europe/London", "currency": currency, "sessions": sessions,
            "energy_wh": sessions * 30_007, "duration_seconds": 0, "charging_seconds": 0, "idle_seconds": 0, "gross_minor_units": sessions * 1190,
            "gross": format!("{}.{:02}", sessions * 1190 / 100, sessions * 1190 % 100)})
    };
    assert_eq!(rows, json!([row("eur", 2), row("usd", 1)]));
}

/// The rows of a report in JSON.
fn rows(summary: &Summary) -> Value {
    serde_json::from_str(&text(summary, &HashMap::new())).unwrap()
}

/// A session that ended then, at a station and with a vehicle of these numbers.
fn charge(number: u128, ended: &str, vehicle: u128, station: u128) -> Stored<ChargingSession> {
    let mut session = session(number, ended);
    session.object.vehicle = Id::from_number(Kind::Vehicle, vehicle);
    session.object.charging_station = Id::from_number(Kind::ChargingStation, station);
    session
}

#[test]
fn carbon_follows_the_mix_of_the_station_or_the_country() {
    let mut summary = summary("carbon", None, "json");
    let mut green = crate::fixtures::station();
    green.id = Id::from_number(Kind::ChargingStation, 1);
    green.energy_mix = serde_json::from_value(
        json!({"is_green_energy": true, "carbon_g_per_kwh": 0.0, "sources": []}),
    )
    .unwrap();
    let mut foreign = charge(3, "2026-03-07T00:00:00Z", 1, 3);
    foreign.object.currency = Currency::USD;
    foreign.object.country = "AQ".to_owned().try_into().unwrap();
    let sessions = [
        foreign,
        charge(2, "2026-03-06T00:00:00Z", 1, 2),
        charge(1, "2026-03-05T00:00:00Z", 1, 1),
    ];
    let unknown = summary.unknown_stations(&sessions);
    assert_eq!(unknown.len(), 3);
    summary.set_mixes(unknown, vec![green]);
    assert!(summary.unknown_stations(&sessions).is_empty());
    for session in &sessions {
        summary.add(session);
    }
    // 30.007 kWh without carbon dioxide, 30.007 kWh with 238 g and 46 % of Great Britain, 30.007 kWh of which nothing is known.
    let want = json!([{"period_start": "2026-03-01T00:00:00.000+00:00", "period_end": "2026-04-01T01:00:00.000+01:00",
        "time_zone": "Europe/London", "sessions": 3, "energy_wh": 90_021, "green_energy_wh": 43_810, "green_percent": 73,
        "carbon_g": 7142, "carbon_g_per_kwh": 119, "energy_wh_by_station_mix": 30_007, "energy_wh_by_country_factor": 30_007,
        "energy_wh_without_factor": 30_007, "factors": "energy_mix; Ember 2023: GB 238 g/kWh", "distance_km": null,
        "kwh_per_100_km": null}]);
    assert_eq!(rows(&summary), want);
    let totals = serde_json::to_value(summary.totals()).unwrap();
    let of = |place: usize| {
        (
            &totals[place]["carbon_g"],
            &totals[place]["green_energy_wh"],
        )
    };
    assert_eq!(of(0), (&json!(7142), &json!(43_810)));
    assert_eq!(of(1), (&json!(0), &json!(0)));
}

#[test]
fn distance_is_of_vehicles_with_two_readings() {
    let sessions = [
        ("2026-03-20T00:00:00Z", 1, Some(151_000)),
        ("2026-03-12T00:00:00Z", 2, Some(70_000)),
        ("2026-03-10T00:00:00Z", 1, None),
        ("2026-03-05T00:00:00Z", 1, Some(1_000)),
    ];
    for (group_by, want) in [
        (None, vec![json!([150, 40.01])]),
        (Some("fleet"), vec![json!([150, 40.01])]),
        (Some("month"), vec![json!([150, 40.01])]),
        (
            Some("vehicle"),
            vec![json!([150, 40.01]), json!([null, null])],
        ),
        (Some("driver"), vec![json!([null, null])]),
    ] {
        let mut summary = summary("carbon", group_by, "json");
        for (number, (ended, vehicle, odometer)) in (0..).zip(sessions) {
            let mut session = charge(number, ended, vehicle, 1);
            session.internal.odometer = odometer;
            summary.add(&session);
        }
        let rows = rows(&summary);
        let rows = rows.as_array().unwrap().iter();
        let found = rows.map(|row| json!([row["distance_km"], row["kwh_per_100_km"]]));
        assert_eq!(found.collect::<Vec<_>>(), want, "{group_by:?}");
    }
}

#[test]
fn months_begin_at_midnight_in_the_time_zone_of_the_report() {
    let parameters = json!({"type": "cost_analysis", "period_start": "2026-01-01T00:00:00Z", "filters": {},
        "period_end": "2027-01-01T00:00:00Z", "group_by": "month", "format": "json"});
    let parameters = serde_json::from_value(parameters).unwrap();
    let now = at("2027-01-01T00:00:00Z");
    let mut summary = Summary::new(parameters, "Europe/Amsterdam", now);
    for (number, ended) in [(1, "2026-03-31T21:59:59Z"), (2, "2026-03-31T22:00:00Z")] {
        summary.add(&session(number, ended));
    }
    summary.add_fee(&fee("2026-04-01T00:00:00Z", 300));
    summary.add_adjustment(&credit("2026-05-31T22:00:00Z"), 0);
    let rows = rows(&summary);
    let rows = rows.as_array().unwrap().iter();
    let found = rows.map(|row| json!([row["month"], row["gross_minor_units"]]));
    let want = [
        json!(["2026-03", 1190]),
        json!(["2026-04", 1490]),
        json!(["2026-06", -119]),
    ];
    assert_eq!(found.collect::<Vec<_>>(), want);
}

#[test]
fn energy_whose_price_is_an_adjustment_has_no_price_per_kwh() {
    for kind in ["cost_analysis", "fleet_efficiency"] {
        let mut summary = summary(kind, Some("vehicle"), "json");
        for (number, vehicle) in [(1, 1), (2, 1), (3, 2)] {
            let mut session = charge(number, "2026-03-05T00:00:00Z", vehicle, 1);
            // The first session has a price of its own, and that of the others became final too late for it.
            if number > 1 {
                cost_of(&mut session).total = Total::default();
                let price = session.object.state.final_price_mut().unwrap();
                price.adjusted = Total::new(1000, 1190);
            }
            summary.add(&session);
        }
        let rows = rows(&summary);
        let found = [0, 1].map(|place: usize| {
            let row = &rows[place];
            json!([
                row["sessions"],
                row["energy_wh"],
                row["gross_per_kwh"],
                row["gross_minor_units_per_kwh"]
            ])
        });
        let want = [
            json!([2, 60_014, "0.3966", 39.66]),
            json!([1, 30_007, null, null]),
        ];
        assert_eq!(found, want, "{kind}");
    }
}

#[test]
fn time_after_charging_is_idle() {
    let mut summary = summary("fleet_efficiency", None, "json");
    let mut session = session(1, "2026-03-05T02:00:00Z");
    session.object.session_started = at("2026-03-05T00:00:00Z");
    let (charged, _) = session.object.state.figures_mut().unwrap();
    charged.ended = Some(at("2026-03-05T01:30:00Z"));
    summary.add(&session);
    summary.set_vehicles(&HashMap::from([(Id::from_number(Kind::Fleet, 1), 7)]));
    let row = &rows(&summary)[0];
    let found = [
        "duration_seconds",
        "charging_seconds",
        "idle_seconds",
        "vehicles",
        "vehicles_charged",
    ];
    assert_eq!(
        found.map(|name| row[name].as_i64()),
        [7200, 5400, 1800, 7, 1].map(Some)
    );
    // 30.007 kWh in an hour and a half.
    assert_eq!(row["average_power_w"], json!(20_004.67));
}

proptest! {
    #[test]
    fn the_rows_of_every_report_add_up_to_its_sessions(
        sessions in proptest::collection::vec((0u128..3, 0i64..100_000, 0i64..100_000, 0i64..5_000_000), 0..20),
    ) {
        for kind in KINDS {
            for group_by in GROUPINGS {
                let mut summary = summary(kind, Some(group_by), "json");
                let (mut gross, mut energy) = (0, 0);
                for (number, (whose, due, paid, wh)) in sessions.iter().enumerate() {
                    let mut session = session(number as u128, "2026-03-05T00:00:00Z");
                    session.object.vehicle = Id::from_number(Kind::Vehicle, *whose);
                    session.object.driver = Id::from_number(Kind::Driver, *whose);
                    let (charged, cost) = session.object.state.figures_mut().unwrap();
                    charged.energy = *wh;
                    cost.total = Total::new(due + paid, due + paid);
                    cost.paid = *paid;
                    session.object.session_started = at("2026-03-04T23:00:00Z");
                    summary.add(&session);
                    gross += due + paid;
                    energy += wh;
                }
                let rows: Value = serde_json::from_str(&text(&summary, &HashMap::new())).unwrap();
                let rows = rows.as_array().unwrap();
                let sum = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum::<i64>();
                prop_assert_eq!(sum("sessions"), sessions.len() as i64);
                prop_assert_eq!(sum("energy_wh"), energy);
                if kind != "carbon" {
                    prop_assert_eq!(sum("gross_minor_units"), gross);
                }
            }
        }
    }
}

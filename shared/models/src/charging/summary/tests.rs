use super::*;
use crate::adjustment::Adjustment;
use crate::charging_session::network::Total;
use crate::invoice::tests::{at, cost_of, session};
use crate::network::{Module, ObjectId, Owner, PartyId};
use kernel::id::Kind;
use proptest::prelude::*;
use serde_json::{Value, json};

const KINDS: [&str; 4] = [
    "charging_summary",
    "cost_analysis",
    "usage_breakdown",
    "fleet_efficiency",
];
const GROUPINGS: [&str; 4] = ["vehicle", "driver", "fleet", "station"];

fn summary(kind: &str, group_by: Option<&str>, format: &str) -> Summary {
    let parameters = json!({"type": kind, "period_start": "2026-03-01T00:00:00Z", "filters": {},
        "period_end": "2026-04-01T00:00:00Z", "group_by": group_by, "format": format});
    Summary::new(serde_json::from_value(parameters).unwrap(), "Europe/London")
}

fn text(summary: &Summary, names: &HashMap<Id, String>) -> String {
    String::from_utf8(summary.file(names).unwrap()).unwrap()
}

#[test]
fn a_report_of_nothing_is_a_header_or_an_empty_array() {
    for kind in KINDS {
        let csv = text(&summary(kind, Some("vehicle"), "csv"), &HashMap::new());
        assert!(
            csv.starts_with(
                "vehicle,registration_plate,period_start,period_end,time_zone,currency,sessions,"
            ),
            "{csv}"
        );
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
                due_minor_units,due,credited_minor_units,credited,gross_minor_units_per_kwh,gross_per_kwh,refunded_minor_units,refunded\r\n\
                drv_00000000000000000000000000000001,\"Byron, \"\"Ada\"\"\",\
                2026-03-01T00:00:00.000Z,2026-04-01T00:00:00.000Z,Europe/London,eur,2,1,1,60014,\
                2200,22.00,361,3.61,2561,25.61,300,3.00,-119,-1.19,1190,11.90,1371,13.71,0,0.00,39.66,0.3966,0,0.00\r\n";
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
    let owner = Owner {
        network: Id::from_number(Kind::Network, 1),
        party: PartyId::new("NL", "EXA").unwrap(),
    };
    let cdr = ObjectId::new(owner, Module::Cdrs, "CREDIT").unwrap();
    Adjustment::of_session(&session, total, Some(&cdr), at(created)).expect("it has ended")
}

#[test]
fn a_report_by_session_has_a_row_for_each_session_fee_and_adjustment() {
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
        json!({"period_start": "2026-03-01T00:00:00.000Z", "period_end": "2026-04-01T00:00:00.000Z",
            "time_zone": "Europe/London", "currency": currency, "sessions": sessions,
            "energy_wh": sessions * 30_007, "duration_seconds": 0, "gross_minor_units": sessions * 1190,
            "gross": format!("{}.{:02}", sessions * 1190 / 100, sessions * 1190 % 100)})
    };
    assert_eq!(rows, json!([row("eur", 2), row("usd", 1)]));
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
                prop_assert_eq!(sum("gross_minor_units"), gross);
            }
        }
    }
}

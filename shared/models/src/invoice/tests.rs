use super::*;
use crate::charging_session::network::Total;
use crate::charging_session::{ChargingSession, Names, SessionCost};
use crate::charging_station::PriceType;
use kernel::Mode;
use kernel::time::{days, millis};
use serde_json::json;

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Returns a completed session of 30 kWh that cost 11.90 including 1.90 of tax.
pub fn session(number: u128, ended: &str) -> Stored<ChargingSession> {
    let json = json!({"id": Id::from_number(Kind::ChargingSession, number),
        "charging_station": Id::from_number(Kind::ChargingStation, 1), "connector": "1", "country": "GB", "created": ended,
        "currency": "eur", "driver": Id::from_number(Kind::Driver, 1), "fleet": Id::from_number(Kind::Fleet, 1), "power": 22.0,
        "session_started": ended, "started_by": "api", "updated": ended, "vehicle": Id::from_number(Kind::Vehicle, 1),
        "state": {"status": "completed", "ended": ended, "charged": {"energy": 30_007},
            "cost": {"total": {"net": 1000, "gross": 1190}, "source": "tariff"}, "settlement": {"final": {"at": ended}}}});
    Stored::new(serde_json::from_value(json).unwrap())
}

pub fn cost_of(session: &mut Stored<ChargingSession>) -> &mut SessionCost {
    session.object.state.figures_mut().unwrap().1
}

fn new(json: serde_json::Value) -> NewInvoice {
    serde_json::from_value(json).unwrap()
}

fn march() -> NewInvoice {
    new(json!({"period_start": "2026-03-01T00:00:00Z", "period_end": "2026-04-01T00:00:00Z"}))
}

fn simulated() -> Mode {
    Mode::Test
}

fn eur() -> Currency {
    Currency::from_code("eur").unwrap()
}

#[test]
fn a_line_says_who_charged_where_when_and_at_what_price() {
    let mut session = session(1, "2026-03-05T08:30:00Z");
    session.object.session_started = at("2026-03-05T08:00:00Z");
    let line = json!({"type": "ENERGY", "description": "Energy", "quantity": "30.007", "unit": "kWh",
        "unit_price": "39.66", "tax_included": true, "tax_percent": "19", "net": 1000, "tax": 190, "gross": 1190});
    cost_of(&mut session).lines = vec![serde_json::from_value(line.clone()).unwrap()];
    session.internal.zone = Some("Europe/Amsterdam".to_owned().try_into().unwrap());
    session.internal.names = Names {
        driver: "Ada Byron".into(),
        registration_plate: "AB12 CDE".into(),
        station: "Depot".into(),
    };
    let bill = |session: &Stored<ChargingSession>| {
        let billed = march().bills(simulated(), eur(), session);
        billed.unwrap().line
    };
    let shown = bill(&session);
    assert_eq!(
        shown.description,
        "AB12 CDE, Ada Byron: 30.007 kWh at Depot, connector 1, 2026-03-05 09:00 to 09:30 (Europe/Amsterdam)"
    );
    let name = |name: Option<String>| name.unwrap();
    assert_eq!(
        [
            name(shown.driver_name),
            name(shown.registration_plate),
            name(shown.station_name),
            name(shown.price_per_kwh)
        ],
        ["Ada Byron", "AB12 CDE", "Depot", "39.66"]
    );
    assert_eq!((shown.duration_seconds, shown.free), (Some(1800), false));
    // With two energy prices there is no single price, and a line that is free of charge has `free`.
    let line = serde_json::from_value(line).unwrap();
    let cost = cost_of(&mut session);
    cost.lines.push(line);
    cost.total = Total::default();
    let shown = bill(&session);
    assert_eq!((shown.price_per_kwh, shown.free), (None, true));
    assert!(
        shown.description.ends_with(", free of charge"),
        "{}",
        shown.description
    );
    // The amount that a network bills later is not free.
    let id = Id::from_number(Kind::Adjustment, 1);
    let more = Total {
        net: 100,
        gross: 119,
    };
    let adjusted = LineItem::of_adjustment(&id, &session, more, Some("C1")).unwrap();
    let text = adjusted.description;
    assert!(
        text.starts_with("Adjustment by CDR C1: AB12 CDE, "),
        "{text}"
    );
    assert!(text.ends_with(" 09:30 (Europe/Amsterdam)"), "{text}");
}

#[test]
fn a_component_without_tax_is_exempt_beside_taxed_ones() {
    let mut session = session(1, "2026-03-05T00:00:00Z");
    let price = |kind: &str, tax: &str, percent: &str| {
        let price = json!({"currency": "eur", "price": 100, "step_size": 1, "tax": tax, "tax_included": false,
            "tax_percent": percent, "type": kind});
        serde_json::from_value(price).unwrap()
    };
    session.internal.pricing = vec![
        price("ENERGY", "vat", "19"),
        price("FLAT", "none", "0"),
        price("TIME", "vat", "0"),
    ];
    let line = |kind: &str, percent: &str, net: i64, gross: i64| {
        let line = json!({"type": kind, "description": "", "quantity": "1", "unit": "session", "unit_price": "100",
            "tax_included": false, "tax_percent": percent, "net": net, "tax": gross - net, "gross": gross});
        serde_json::from_value(line).unwrap()
    };
    let cost = cost_of(&mut session);
    cost.lines = vec![
        line("ENERGY", "19", 1000, 1190),
        line("FLAT", "0", 100, 100),
        line("TIME", "0", 50, 50),
    ];
    cost.total = Total {
        net: 1150,
        gross: 1340,
    };
    let line = march().bills(simulated(), eur(), &session).unwrap().line;
    let categories: Vec<_> = line.taxes.iter().map(|tax| tax.category).collect();
    assert_eq!(categories, [TaxCategory::S, TaxCategory::E, TaxCategory::Z]);
    use PriceType::{Energy, Flat, Time};
    assert_eq!(line.tax_components, [vec![Energy], vec![Flat], vec![Time]]);
}

#[test]
fn a_correction_of_the_tax_moves_the_amount_to_its_rate() {
    let mut session = session(1, "2026-03-05T00:00:00Z");
    let net_and_gross = |(net, gross)| Total { net, gross };
    cost_of(&mut session).total = net_and_gross((496, 595));
    let price = json!({"currency": "eur", "price": 100, "step_size": 1, "tax": "vat", "tax_included": false,
        "tax_percent": "20", "type": "ENERGY"});
    session.internal.pricing = vec![serde_json::from_value(price).unwrap()];
    let mut sums = TaxAmount::of_session(&session.object, &session.internal);
    let mut correct = |total, expected: &[(&str, TaxCategory, i64, i64)]| {
        let more = net_and_gross(total).minus(session.billed());
        let price = session.object.state.final_price_mut().unwrap();
        price.adjusted = price.adjusted.plus(more);
        let id = Id::from_number(Kind::Adjustment, 1);
        let line = LineItem::of_adjustment(&id, &session, more, None).unwrap();
        let taxes = line.taxes.iter().map(|tax| {
            let percent = String::from(tax.tax_percent);
            (percent, tax.category, tax.net, tax.tax)
        });
        let expected = expected
            .iter()
            .map(|(percent, category, net, tax)| ((*percent).to_owned(), *category, *net, *tax));
        let expected: Vec<_> = expected.collect();
        assert_eq!(taxes.collect::<Vec<_>>(), expected, "{total:?}");
        line.taxes.iter().for_each(|tax| tax.add_to(&mut sums));
        let sum = |of: fn(&TaxAmount) -> i64| sums.iter().map(of).sum::<i64>();
        assert_eq!((sum(|tax| tax.net), sum(TaxAmount::gross)), total);
        let untaxed = sums.iter().filter(|tax| tax.tax_percent.is_zero());
        assert_eq!(untaxed.map(|tax| tax.tax).sum::<i64>(), 0);
    };
    use TaxCategory::{S, Z};
    correct((496, 496), &[("0", Z, 496, 0), ("20", S, -496, -99)]);
    correct((496, 595), &[("20", S, 496, 99), ("0", Z, -496, 0)]);
    correct((992, 1190), &[("20", S, 496, 99)]);
    correct((400, 480), &[("20", S, -592, -118)]);
    // A minor unit of tax is rounding.
    correct((400, 479), &[("20", S, 0, -1)]);
    correct((400, 400), &[("0", Z, 400, 0), ("20", S, -400, -79)]);
    correct((500, 500), &[("0", Z, 100, 0)]);
    // A rate that the tariff does not have.
    correct((500, 535), &[("7", S, 500, 35), ("0", Z, -500, 0)]);
    correct((496, 595), &[("20", S, 496, 99), ("7", S, -500, -35)]);
    correct((0, 0), &[("20", S, -496, -99)]);
    correct((496, 496), &[("0", Z, 496, 0)]);
    // The difference to the session's own price has the rate of the tariff by coincidence.
    correct((5, 5), &[("0", Z, -491, 0)]);
}

#[test]
fn a_correction_of_an_untaxed_price_adds_the_tax() {
    let mut session = session(1, "2026-03-05T00:00:00Z");
    cost_of(&mut session).total = Total {
        net: 496,
        gross: 496,
    };
    let more = Total { net: 0, gross: 99 };
    session.object.state.final_price_mut().unwrap().adjusted = more;
    let id = Id::from_number(Kind::Adjustment, 1);
    let line = LineItem::of_adjustment(&id, &session, more, None).unwrap();
    let taxes = line.taxes.iter().map(|tax| (tax.net, tax.tax));
    assert_eq!(taxes.collect::<Vec<_>>(), [(496, 99), (-496, 0)]);
}

fn invoice(paid: i64) -> Stored<Invoice> {
    let mut session = session(1, "2026-03-05T00:00:00Z");
    cost_of(&mut session).paid = paid;
    let billable = march().bills(simulated(), eur(), &session).unwrap();
    // An invoice of a billing cycle has the id of the period's end, and is made later.
    let id = Id::derived(Kind::Invoice, at("2026-04-01T00:00:00Z"), "March");
    let now = at("2026-04-02T00:00:00Z");
    Invoice::new(march(), id, eur(), vec![billable], days(30), now).unwrap()
}

#[test]
fn an_invoice_is_due_a_term_after_its_creation() {
    let invoice = invoice(0).object;
    assert_eq!(invoice.created, at("2026-04-01T00:00:00Z"));
    assert_eq!(invoice.due_date, at("2026-05-01T00:00:00Z"));
}

fn issue() -> Issue {
    let seller = json!({"account": Id::from_number(Kind::Account, 1), "email": "ops@fleet.example", "legal_name": "Fleet Ltd"});
    Issue {
        number: "2026-1".to_owned(),
        seller: serde_json::from_value(seller).unwrap(),
        buyer: None,
        language: Language::default(),
        seller_zone: ZoneName::utc(),
        buyer_zone: ZoneName::utc(),
    }
}

fn method(json: serde_json::Value) -> PaymentMethod {
    let mut body = json!({"id": Id::from_number(Kind::PaymentMethod, 1), "object": "payment_method", "card": null,
        "created": "2026-03-01T00:00:00Z", "driver": null, "fleet": null, "metadata": {}, "type": "card",
        "updated": "2026-03-01T00:00:00Z"});
    body.as_object_mut()
        .unwrap()
        .extend(json.as_object().unwrap().clone());
    serde_json::from_value(body).unwrap()
}

#[test]
fn the_window_begins_inclusive_and_ends_exclusive() {
    for (ended, bills) in [
        ("2026-02-28T23:59:59.999Z", false),
        ("2026-03-01T00:00:00.000Z", true),
        ("2026-03-31T23:59:59.999Z", true),
        ("2026-04-01T00:00:00.000Z", false),
    ] {
        let session = session(1, ended);
        assert_eq!(
            march().bills(simulated(), eur(), &session).is_some(),
            bills,
            "{ended}"
        );
    }
}

#[test]
fn only_completed_sessions_of_currency_and_fleet_are_billed() {
    let session = session(1, "2026-03-05T00:00:00Z");
    assert!(
        march()
            .bills(simulated(), Currency::USD, &session)
            .is_none()
    );
    let mut fleet = march();
    fleet.fleet = Some(Id::from_number(Kind::Fleet, 2));
    assert!(fleet.bills(simulated(), eur(), &session).is_none());
    fleet.fleet = Some(session.object.fleet.clone());
    assert!(fleet.bills(simulated(), eur(), &session).is_some());
    let ended = session.object.created;
    for state in [
        json!({"status": "active", "cost": {"source": "tariff"}, "operated_by": {"network": {"heard_at": ended}}}),
        json!({"status": "cancelled", "ended": ended}),
        json!({"status": "failed", "ended": ended}),
    ] {
        let mut session = session.clone();
        session.object.state = serde_json::from_value(state).unwrap();
        assert!(march().bills(simulated(), eur(), &session).is_none());
    }
}

#[test]
fn the_lines_add_up_to_what_is_due_and_paid() {
    for (paid, amount_paid) in [(0, None), (190, Some(190)), (1190, Some(1190))] {
        let invoice = invoice(paid).object;
        assert_eq!(
            (invoice.amount_due, invoice.amount_paid),
            (1190 - paid, amount_paid)
        );
        let line = &invoice.line_items[0];
        assert_eq!(
            (line.amount, line.unit_amount, line.net, line.tax),
            (1190, 1190, 1000, 190)
        );
        assert!(
            line.description.contains("30.007 kWh"),
            "{}",
            line.description
        );
    }
}

#[test]
fn a_period_is_at_least_something_and_at_most_366_days() {
    for (start, end, valid) in [
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", false),
        ("2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z", false),
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00.001Z", true),
        ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", true),
        ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00.001Z", false),
    ] {
        let body = new(json!({"period_start": start, "period_end": end}));
        assert_eq!(body.check().is_ok(), valid, "{start} {end}");
    }
}

#[test]
fn a_draft_is_finalized_once_and_is_paid_if_nothing_is_due() {
    let now = at("2026-04-03T00:00:00Z");
    let mut open = invoice(0);
    assert_eq!(
        open.void().unwrap_err().class(),
        kernel::error::ErrorClass::Conflict
    );
    open.finalize(issue(), now).unwrap();
    assert_eq!(
        (open.object.status, open.object.paid_at),
        (InvoiceStatus::Open, None)
    );
    assert_eq!(
        open.finalize(issue(), now).unwrap_err().class(),
        kernel::error::ErrorClass::Conflict
    );
    let mut settled = invoice(1190);
    settled.count_refund(100);
    settled.finalize(issue(), now).unwrap();
    settled.count_refund(50);
    let issued = settled.internal.issued.as_ref().unwrap();
    assert_eq!((issued.prepaid, issued.refunded), (1190, 100));
    assert_eq!(
        (settled.object.status, settled.object.paid_at),
        (InvoiceStatus::Paid, Some(now))
    );
    assert_eq!(
        (settled.object.amount_due, settled.object.amount_paid),
        (0, Some(1190))
    );
    assert!(settled.update(InvoiceChange::default()).is_err());
    assert!(settled.void().is_err());
}

#[test]
fn a_payment_settles_an_invoice_and_a_decline_leaves_it_due() {
    let now = at("2026-04-03T00:00:00Z");
    let mut invoice = invoice(190);
    invoice.finalize(issue(), now).unwrap();
    let mut keys = Vec::new();
    for succeeded in [false, true] {
        invoice.begin_payment(method(json!({})), PaymentMethodInternal::default(), now);
        let attempt = invoice.internal.attempt.clone().unwrap();
        keys.push(attempt.key(&invoice.object.id));
        assert!(invoice.void().is_err());
        let transaction = invoice.end_payment(&attempt, succeeded, now);
        assert_eq!(transaction.amount, 1000);
        assert_eq!(
            transaction.status == TransactionStatus::Succeeded,
            succeeded
        );
    }
    assert_ne!(keys[0], keys[1]);
    assert_eq!(
        (invoice.object.amount_due, invoice.object.amount_paid),
        (0, Some(1190))
    );
    assert_eq!(
        (invoice.object.status, invoice.object.paid_at),
        (InvoiceStatus::Paid, Some(now))
    );
    assert!(invoice.object.check_payable().is_err());
}

#[test]
fn an_invoice_is_paid_by_its_account_or_its_fleet() {
    let mut invoice = invoice(0).object;
    let (fleet, other_fleet) = (
        Id::from_number(Kind::Fleet, 1),
        Id::from_number(Kind::Fleet, 2),
    );
    let of_fleet = method(json!({"fleet": fleet}));
    let of_driver = method(json!({"driver": Id::from_number(Kind::Driver, 1)}));
    assert!(invoice.check_method(&method(json!({}))).is_ok());
    assert!(invoice.check_method(&of_fleet).is_err());
    assert!(invoice.check_method(&of_driver).is_err());
    invoice.fleet = Some(fleet);
    assert!(invoice.check_method(&of_fleet).is_ok());
    invoice.fleet = Some(other_fleet);
    assert!(invoice.check_method(&of_fleet).is_err());
}

#[test]
fn an_open_invoice_is_checked_when_overdue_or_a_payment_is_lost() {
    let now = at("2026-04-03T00:00:00Z");
    let mut invoice = invoice(0);
    assert_eq!(
        (invoice.next_action_at(), invoice.concern(now)),
        (None, None)
    );
    invoice.finalize(issue(), now).unwrap();
    let late = invoice.object.due_date.plus(millis(1));
    assert_eq!(invoice.next_action_at(), Some(late));
    assert_eq!(invoice.concern(invoice.object.due_date), None);
    assert_eq!(invoice.concern(late), Some(Concern::Overdue));
    let method = method(json!({}));
    invoice.begin_payment(method, PaymentMethodInternal::default(), now);
    let lost = now.plus(LEASE);
    assert_eq!(
        (invoice.next_action_at(), invoice.concern(now)),
        (Some(lost), None)
    );
    assert_eq!(invoice.concern(lost), Some(Concern::LostPayment));
    let attempt = invoice.internal.attempt.clone().unwrap();
    invoice.end_payment(&attempt, false, now);
    invoice.mark_overdue();
    assert_eq!(
        (invoice.next_action_at(), invoice.concern(late)),
        (None, None)
    );
    let later = InvoiceChange {
        due_date: Change::Set(late),
        ..InvoiceChange::default()
    };
    invoice.update(later).unwrap();
    assert_eq!(invoice.next_action_at(), Some(late.plus(millis(1))));
    invoice.void().unwrap();
    assert_eq!(invoice.next_action_at(), None);
}

#[test]
fn only_added_text_makes_an_invoice_too_large() {
    let mut invoice = invoice(0);
    let line = invoice.object.line_items[0].clone();
    invoice.object.line_items = vec![line; 400];
    let mut update = |change| {
        let change = serde_json::from_value(change).unwrap();
        invoice.update(change)
    };
    update(json!({"due_date": "2026-05-01T00:00:00Z"})).unwrap();
    let refused = update(json!({"metadata": {"order": "7"}})).unwrap_err();
    assert!(refused.is(Code::InvoiceValidationError));
}

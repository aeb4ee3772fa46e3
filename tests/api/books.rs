//! The properties of invoices that an accountant expects: parties, numbers without gaps, and totals by tax rate.

use std::collections::BTreeMap;

use futures::future::join_all;
use kernel::time::days;
use kernel::{Mode, Timestamp};
use serde_json::{Value, json};
use tests::records::Records;
use tests::stage::{Outside, Stage};
use tests::{Client, TestApp, assert_has, fleet, id_of, path_of, with};

use crate::invoices::no_show;

/// The path of the client's own account.
pub fn own(client: &Client) -> String {
    let account = client.account.clone().expect("an account");
    format!("/v1/accounts/{account}")
}

pub fn seller() -> Value {
    json!({
        "billing_address": {"line1": "1", "city": "Bonn", "postal_code": "53111", "country": "DE"},
        "bic": "bylademm", "electronic_address": {"scheme": "0204", "value": "991-01234-44"},
        "iban": "de02 1203 0000 0000 2020 51", "invoice_prefix": "R-", "legal_name": "Laden GmbH",
        "payment_terms_days": 14, "reservation_fee_tax_percent": "19.0", "timezone": "Europe/Berlin",
        "vat_id": "de 123456789",
    })
}

pub fn buyer() -> Value {
    json!({
        "billing_address": {"line1": "2", "city": "Gent", "postal_code": "9000", "country": "BE"},
        "buyer_reference": "PO 4711", "electronic_address": {"scheme": "EM", "value": "bills@fleet.example"},
        "legal_name": "Vloot NV", "registration_number": "0123.456.789", "vat_id": "BE0123456789",
    })
}

pub async fn finalized(client: &Client, body: Value) -> Value {
    let draft = client.post_ok("/v1/invoices", body).await;
    let path = format!("/v1/invoices/{}/finalize", id_of(&draft));
    client.post_ok(&path, json!({})).await
}

#[tokio::test]
async fn a_final_invoice_keeps_its_parties_as_they_were() {
    let app = TestApp::start().await;
    let account = own(&app.alice);
    let body = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    let changed = app.alice.post_ok(&account, body).await;
    let details = &changed["billing_details"];
    let shown = json!({"bic": "BYLADEMM", "iban": "DE02120300000000202051", "vat_id": "DE123456789",
        "reservation_fee_tax_percent": "19", "payment_terms_days": 14});
    for (name, value) in shown.as_object().expect("members") {
        assert_eq!(&details[name], value, "{name}");
    }
    // Omitted fields keep their values, and null clears.
    let body = json!({"billing_details": {"bic": null}});
    let changed = app.alice.post_ok(&account, body).await;
    assert_has!(changed["billing_details"], {"bic": null, "legal_name": "Laden GmbH"});
    let body = with(fleet(), json!({"billing_details": buyer()}));
    let fleet = app.alice.post("/v1/fleets", body).await.expect(200);
    assert_eq!(fleet.body["billing_details"]["vat_id"], "BE0123456789");
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let body = with(window.clone(), json!({"fleet": fleet.id()}));
    let draft = app.alice.post_ok("/v1/invoices", body).await;
    for name in ["number", "finalized_at", "seller", "buyer"] {
        assert_eq!(draft[name], Value::Null, "{name}");
    }
    let created = Timestamp::parse(draft["created"].as_str().expect("a time"));
    let due = created.expect("a time").plus(days(14));
    assert_eq!(draft["due_date"], json!(due));
    let path = format!("/v1/invoices/{}", id_of(&draft));
    let invoice = app.alice.post(&format!("{path}/finalize"), json!({})).await;
    let invoice = invoice.expect(200).body;
    let want = json!({"account": app.alice.account, "address": details["billing_address"], "bic": null,
        "electronic_address": details["electronic_address"], "email": changed["email"],
        "iban": "DE02120300000000202051", "legal_name": "Laden GmbH", "registration_number": "HRB 1",
        "vat_id": "DE123456789"});
    assert_eq!(invoice["seller"], want);
    let of_fleet = &fleet.body["billing_details"];
    let want = json!({"address": of_fleet["billing_address"], "buyer_reference": "PO 4711",
        "electronic_address": of_fleet["electronic_address"], "email": fleet.body["email"], "fleet": fleet.id(),
        "legal_name": "Vloot NV", "registration_number": "0123.456.789", "vat_id": "BE0123456789"});
    assert_has!(invoice, {"buyer": want, "finalized_at": invoice["paid_at"]});
    // A later change of the parties' names changes nothing.
    let body = json!({"billing_details": {"legal_name": "Other"}});
    let at = format!("/v1/fleets/{}", fleet.id());
    app.alice.post_ok(&at, body.clone()).await;
    app.alice.post_ok(&account, body).await;
    assert_eq!(app.alice.get_ok(&path).await, invoice);
    // Without details of their own, parties have those of their objects; the account itself is the buyer of its own invoice.
    let bob = app.other_account(Mode::Test).await;
    let fleet = bob.post("/v1/fleets", tests::fleet()).await.expect(200);
    let body = with(window.clone(), json!({"fleet": fleet.id()}));
    let invoice = finalized(&bob, body).await;
    let names = (
        &invoice["buyer"]["legal_name"],
        &invoice["buyer"]["address"],
    );
    assert_eq!(names, (&fleet.body["name"], &fleet.body["address"]));
    let invoice = finalized(&bob, window).await;
    let account = bob.get_ok(&own(&bob)).await;
    for party in ["seller", "buyer"] {
        assert_eq!(invoice[party]["legal_name"], account["name"], "{party}");
    }
}

#[tokio::test]
async fn what_is_wrong_in_billing_details_is_named() {
    let app = TestApp::start().await;
    let before = app.alice.get_ok(&own(&app.alice)).await;
    for (name, wrong) in [
        ("iban", json!("DE02120300000000202052")),
        ("bic", json!("BYLADEM10")),
        ("vat_id", json!("123456789")),
        ("timezone", json!("Mars/Olympus")),
        ("invoice_prefix", json!("R #")),
        ("invoice_prefix", json!("R-Cn")),
        ("payment_terms_days", json!(366)),
        ("reservation_fee_tax_percent", json!("101")),
        ("reservation_fee_tax_percent", json!(19)),
        (
            "electronic_address",
            json!({"scheme": "9999", "value": "x"}),
        ),
        ("buyer_reference", json!("x")),
    ] {
        let body = json!({"billing_details": {name: wrong}});
        let refused = app.alice.post(&own(&app.alice), body).await;
        let (status, _, _, param) = refused.error();
        assert_eq!(status, 400, "{name}");
        let param = param.expect("a param");
        let expected = format!("billing_details.{name}");
        assert!(param.starts_with(&expected), "{param}");
    }
    assert_eq!(app.alice.get_ok(&own(&app.alice)).await, before);
    let body = with(fleet(), json!({"billing_details": {"vat_id": "1"}}));
    let refused = app.alice.post("/v1/fleets", body).await;
    refused.expect_error(400, None, "billing_details.vat_id");
}

/// The sequences of the numbers of all invoices of a client, by what precedes them.
async fn sequences(client: &Client) -> BTreeMap<String, Vec<u64>> {
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for id in client.walk("/v1/invoices").await {
        let invoice = client.get_ok(&path_of(&id)).await;
        if let Some(number) = invoice["number"].as_str() {
            let (prefix, sequence) = number.rsplit_once('-').expect("a sequence");
            let sequence = sequence.parse().expect("a number");
            found.entry(prefix.to_owned()).or_default().push(sequence);
        }
    }
    found
        .values_mut()
        .for_each(|numbers| numbers.sort_unstable());
    found
}

async fn drafts(app: &TestApp, client: &Client, count: usize) -> Vec<String> {
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let drafts = (0..count).map(|_| client.post("/v1/invoices", window.clone()));
    let drafts = join_all(drafts).await.into_iter();
    drafts.map(|draft| draft.expect(200).id()).collect()
}

#[tokio::test]
async fn fifty_finalizations_at_once_have_fifty_consecutive_numbers() {
    let app = TestApp::start().await;
    let other = app.other_account(Mode::Test).await;
    let details =
        json!({"billing_details": {"invoice_prefix": "B-", "timezone": "Pacific/Kiritimati"}});
    app.alice.post_ok(&own(&app.alice), details).await;
    let ids = drafts(&app, &app.alice, 50).await;
    assert!(sequences(&app.alice).await.is_empty(), "a draft has none");
    let finalize = ids.iter().map(async |id| {
        let path = format!("/v1/invoices/{id}/finalize");
        app.alice.post_ok(&path, json!({})).await;
    });
    join_all(finalize).await;
    let year = jiff::tz::TimeZone::get("Pacific/Kiritimati").expect("a zone");
    let year = app.now().date_in(&year).year();
    let all: Vec<u64> = (1..=50).collect();
    let want = BTreeMap::from([(format!("B-{year}"), all)]);
    assert_eq!(sequences(&app.alice).await, want);
    // A deleted draft takes no number, a refused request takes none, and each account has its own numbers.
    let ids = drafts(&app, &app.alice, 2).await;
    app.alice.delete_ok(&path_of(&ids[0])).await;
    let path = format!("/v1/invoices/{}/finalize", ids[1]);
    app.alice.post_ok(&path, json!({})).await;
    let again = app.alice.post(&path, json!({})).await;
    again.expect_error(409, "invoice_finalize_invalid_state", None);
    assert_eq!(
        sequences(&app.alice)
            .await
            .into_values()
            .next()
            .map(|all| all.len()),
        Some(51)
    );
    let ids = drafts(&app, &other, 1).await;
    let path = format!("/v1/invoices/{}/finalize", ids[0]);
    let first = other.post_ok(&path, json!({})).await;
    let number = first["number"].as_str().expect("a number");
    assert!(number.ends_with("-1"), "{number}");
    app.drain().await;
}

#[tokio::test]
async fn the_year_of_a_number_is_that_of_the_accounts_time_zone() {
    let app = TestApp::start().await;
    let account = own(&app.alice);
    let now = app.now();
    let utc = now.date_in(&jiff::tz::TimeZone::UTC);
    // To the last hour of the year in UTC, which is the next year further east.
    let last = jiff::civil::date(utc.year(), 12, 31).at(23, 30, 0, 0);
    let last = last.to_zoned(jiff::tz::TimeZone::UTC).expect("a time");
    let seconds = last.timestamp().as_second() - now.unix_seconds();
    app.advance(seconds.try_into().expect("a time ahead")).await;
    let number = async || {
        let ids = drafts(&app, &app.alice, 1).await;
        let path = format!("/v1/invoices/{}/finalize", ids[0]);
        let invoice = app.alice.post_ok(&path, json!({})).await;
        invoice["number"].as_str().expect("a number").to_owned()
    };
    assert_eq!(number().await, format!("{}-1", utc.year()));
    let body = json!({"billing_details": {"timezone": "Europe/Berlin"}});
    app.alice.post_ok(&account, body).await;
    assert_eq!(number().await, format!("{}-1", utc.year() + 1));
    app.advance(1800).await;
    assert_eq!(number().await, format!("{}-2", utc.year() + 1));
}

#[tokio::test]
async fn a_crash_leaves_no_gap_and_gives_no_number_twice() {
    for seed in 1..=3 {
        let app = TestApp::start().await;
        let mut records = Records::of(&app).await;
        let stage = Stage::new(&app, &app.alice, Outside::of(&app), seed, app.now());
        let ids = drafts(&app, &app.alice, 12).await;
        // Requests are killed before and after each of their calls, and sent again; in the meantime workers finalize other invoices.
        let finalize = ids.iter().map(async |id| {
            let path = format!("/v1/invoices/{id}/finalize");
            stage
                .post_with(&path, json!({}), &format!("finalize {id}"))
                .await
        });
        let ended = join_all(finalize).await;
        assert!(ended.iter().all(|(status, _)| *status == 200), "{ended:?}");
        stage.settle(&mut records).await;
        let numbers = sequences(&app.alice).await.into_values().next();
        assert_eq!(numbers, Some((1..=12).collect()), "seed {seed}");
    }
}

#[tokio::test]
async fn fees_are_taxed_and_lines_say_what_they_are_for() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let body = json!({"billing_details": seller()});
    app.alice.post_ok(&own(&app.alice), body).await;
    let crew = app.crew(&app.alice).await;
    let before = app.now();
    let reservation = no_show(&app, &crew, None).await;
    let session = app
        .completed_session(&crew, json!({"reservation": reservation}))
        .await;
    let body =
        json!({"period_start": before, "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = app.alice.post_ok("/v1/invoices", body).await;
    let lines = invoice["line_items"].as_array().expect("lines");
    let line = |kind: &str| {
        let mut lines = lines.iter();
        lines.find(|line| line["type"] == kind).expect("a line")
    };
    let fee = line("reservation_fee");
    // 300 / 1.19 = 252.1
    assert_has!(fee, {"net": 252, "tax": 48});
    let tax =
        json!([{"country": "DE", "tax_percent": "19", "category": "S", "net": 252, "tax": 48}]);
    assert_eq!(fee["taxes"], tax);
    let shown = app.alice.get(&path_of(&reservation)).await;
    let shown = shown.expect(200).body;
    let station = shown["charging_station"].as_str().expect("a station");
    let station = app.alice.get(&path_of(&station)).await;
    let (name, driver) = (&station.body["name"], &fee["driver_name"]);
    assert_eq!((&fee["station_name"], driver), (name, &json!("Ada Byron")));
    assert_eq!(fee["registration_plate"], "AB12 CDE");
    let description = fee["description"].as_str().expect("a text");
    let start = format!(
        "AB12 CDE, Ada Byron: Reservation, not used at {}, ",
        name.as_str().expect("a name")
    );
    assert!(description.starts_with(&start), "{description}");
    let charged = line("energy_session");
    assert_has!(charged, {"charging_session": session, "reservation": reservation});
    let tax =
        json!([{"country": "GB", "tax_percent": "19", "category": "S", "net": 1000, "tax": 190}]);
    assert_eq!(charged["taxes"], tax);
    let totals = json!({"net": 1252, "tax": 238, "gross": 1490, "paid": 0, "credited": 0, "refunded": 0, "due": 1490,
        "by_rate": [fee["taxes"][0], charged["taxes"][0]]});
    assert_eq!(invoice["totals"], totals);
    // The report of the same period has the same tax.
    let parameters =
        json!({"type": "cost_analysis", "period_start": before, "period_end": app.in_minutes(1)});
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    let report = app.alice.create("/v1/reports", body).await;
    app.drain().await;
    let report = app.alice.get_ok(&path_of(&report)).await;
    let sums = &report["totals"][0];
    assert_eq!(
        (&sums["net"], &sums["tax"], &sums["gross"]),
        (&json!(1252), &json!(238), &json!(1490)),
        "{report}"
    );
    // A later rate holds for later reservations: the fee stays as it is.
    let details = json!({"billing_details": {"reservation_fee_tax_percent": null}});
    app.alice.post_ok(&own(&app.alice), details).await;
    let path = format!("/v1/invoices/{}", id_of(&invoice));
    app.alice.delete_ok(&path).await;
    let body =
        json!({"period_start": before, "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let again = app.alice.post_ok("/v1/invoices", body).await;
    assert_eq!(again["totals"], totals);
}

/// An exact fraction.
#[derive(Clone, Copy)]
struct Fraction(i128, i128);

impl Fraction {
    /// Whole minor units, half away from zero.
    fn rounded(self) -> i64 {
        let Self(part, whole) = self;
        i64::try_from((2 * part + whole) / (2 * whole)).expect("an amount")
    }
}

#[tokio::test]
async fn totals_by_rate_are_what_fractions_add_up_to() {
    let (app, crew) = TestApp::with_crew().await;
    let mut want: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let station = |price: u32, exact: &str, percent: &str, tax: &str, flat: u32| {
        let component = |kind: &str, price: u32, exact: &str, percent: &str, tax: &str| {
            json!({"currency": "usd", "price": price, "price_decimal": exact, "step_size": 1, "tax": tax,
                "tax_included": false, "tax_percent": percent, "type": kind})
        };
        json!({"pricing": [
            component("ENERGY", price, exact, percent, tax),
            component("FLAT", flat, &flat.to_string(), "20", "vat"),
        ]})
    };
    // Each tariff has two rates: its own for energy, and 20 percent on the start.
    for (price, exact, percent, tax, flat) in [
        (41, "41.37", "5.5", "vat", 33),
        (29, "29.01", "19.6", "vat", 7),
        (55, "55", "0", "none", 1),
    ] {
        let place = station(price, exact, percent, tax, flat);
        let place = app.station_in(&app.alice, place).await;
        for _ in 0..2 {
            let session = app
                .alice
                .post("/v1/charging_sessions", app.session(&crew, &place))
                .await;
            app.advance(1234).await;
            let path = format!("/v1/charging_sessions/{}/stop", session.expect(200).id());
            let ended = app.alice.post_ok(&path, json!({})).await;
            let wh = i128::from(ended["energy_consumed"].as_i64().expect("an amount"));
            let digits = |text: &str| {
                let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
                let scale = 10_i128.pow(rest.len() as u32);
                (
                    format!("{whole}{rest}").parse::<i128>().expect("digits"),
                    scale,
                )
            };
            let (unit, scale) = digits(exact);
            let (rate, of) = digits(percent);
            let net = Fraction(unit * wh, scale * 1000);
            let gross = Fraction(net.0 * (100 * of + rate), net.1 * 100 * of);
            let mut add = |percent: &str, net: Fraction, gross: Fraction| {
                let (nets, taxes) = want.entry(percent.to_owned()).or_default();
                *nets += net.rounded();
                *taxes += gross.rounded() - net.rounded();
            };
            add(percent, net, gross);
            let flat = i128::from(flat);
            add("20", Fraction(flat, 1), Fraction(flat * 6, 5));
        }
    }
    app.drain().await;
    let body = json!({"period_start": app.in_minutes(-600), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = app.alice.post_ok("/v1/invoices", body).await;
    let totals = &invoice["totals"];
    let by_rate = totals["by_rate"].as_array().expect("rates").iter();
    let found: BTreeMap<String, (i64, i64)> = by_rate
        .map(|rate| {
            let amount = |name: &str| rate[name].as_i64().expect("an amount");
            let percent = rate["tax_percent"].as_str().expect("a rate").to_owned();
            (percent, (amount("net"), amount("tax")))
        })
        .collect();
    assert_eq!(found, want);
    let net: i64 = want.values().map(|(net, _)| net).sum();
    let tax: i64 = want.values().map(|(_, tax)| tax).sum();
    assert_has!(totals, {"net": net, "tax": tax, "gross": net + tax});
    assert_eq!(invoice["amount_due"], json!(net + tax));
    let category = |percent: &str| {
        let mut rates = totals["by_rate"].as_array().expect("rates").iter();
        rates
            .find(|rate| rate["tax_percent"] == percent)
            .expect("a rate")["category"]
            .clone()
    };
    assert_eq!((category("20"), category("5.5")), (json!("S"), json!("S")));
}

#[tokio::test]
async fn invoices_are_listed_by_time_status_fleet_and_number() {
    let app = TestApp::start().await;
    let first = drafts(&app, &app.alice, 2).await;
    let crew = app.crew(&app.alice).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let before = app.now().plus(days(-1));
    let body = with(window, json!({"fleet": crew.fleet}));
    let own = finalized(&app.alice, body).await;
    let id = id_of(&own).to_owned();
    let number = own["number"].as_str().expect("a number");
    let list = async |query: String| {
        let listed = app.alice.get(&format!("/v1/invoices?{query}")).await;
        let mut ids = listed.expect(200).ids();
        ids.sort();
        ids
    };
    let mut drafts = first.clone();
    drafts.sort();
    let own_ids = vec![id.clone()];
    assert_eq!(list(format!("number={number}")).await, own_ids);
    assert!(list("number=2020-1".to_owned()).await.is_empty());
    assert_eq!(list(format!("fleet={}", crew.fleet)).await, own_ids);
    assert!(
        list(format!("fleet={}&status=draft", crew.fleet))
            .await
            .is_empty()
    );
    assert_eq!(list("status=draft".to_owned()).await, drafts);
    assert_eq!(list("status=paid".to_owned()).await, own_ids);
    assert!(list(format!("created[lte]={before}")).await.is_empty());
    assert_eq!(list(format!("created[gt]={before}")).await.len(), 3);
    let at = own["finalized_at"].as_str().expect("a time");
    assert_eq!(
        list(format!("finalized[gte]={at}&finalized[lte]={at}")).await,
        own_ids
    );
    assert!(list(format!("finalized[lt]={at}")).await.is_empty());
    assert!(list(format!("finalized[gt]={at}")).await.is_empty());
    let path = format!("/v1/invoices/{}/finalize", first[0]);
    app.alice.post_ok(&path, json!({})).await;
    assert_eq!(list("status=draft".to_owned()).await, [first[1].clone()]);
    app.drain().await;
}

#[tokio::test]
async fn the_fleets_default_method_pays_if_the_account_has_none() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let body = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let open = finalized(&app.alice, body).await;
    let path = format!("/v1/invoices/{}/pay", id_of(&open));
    let unpaid = app.alice.post(&path, json!({})).await;
    unpaid.expect_error(400, "invoice_validation_error", "payment_method");
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.create("/v1/payment_methods", body).await;
    let body = json!({"preferences": {"default_payment_method": card}});
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post_ok(&fleet, body).await;
    let paid = app.alice.post_ok(&path, json!({})).await;
    assert_has!(paid, {"status": "paid", "payment_method": card});
    let id = id_of(&paid);
    let listed = app
        .alice
        .get(&format!("/v1/transactions?invoice={id}"))
        .await;
    let charge = &listed.expect(200).body["data"][0];
    assert_has!(charge, {"invoice": id, "amount": 1190});
    app.drain().await;
}

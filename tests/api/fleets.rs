//! `/v1/fleets`.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{Crew, TestApp, assert_has, cases, driver, fleet, id_of, path_of, vehicle, with};

use crate::books::finalized;
use crate::invoices::no_show;
use crate::transactions::charged;

#[tokio::test]
async fn a_new_fleet_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let fleet = app.alice.post_ok("/v1/fleets", fleet()).await;
    let now = &fleet["created"];
    let want = json!({"id": id_of(&fleet), "object": "fleet",
        "address": {"city": "London", "country": "GB", "line1": "1 Bow Road", "line2": "", "postal_code": "E3 4LH", "state": ""},
        "created": now, "description": "", "email": "ops@fleet.example", "metadata": {}, "phone": null, "policy_ids": [],
        "metric_system": "international_system", "name": "Night shift",
        "billing_details": {"billing_address": null, "buyer_reference": null, "electronic_address": null, "language": null, "legal_name": null,
            "registration_number": null, "vat_id": null},
        "preferences": {"billing_cycle": "monthly", "default_currency": "usd", "default_payment_method": null,
            "notifications": true, "report_frequency": "weekly"},
        "status": "active", "timezone": "UTC", "total_drivers": 0, "total_energy_consumed_kwh": 0.0, "total_sessions": 0,
        "total_vehicles": 0, "updated": now, "wallet_balance": 0});
    assert_eq!(fleet, want);
    assert!(id_of(&fleet).starts_with("flt_") && now.as_str().is_some_and(|at| at.len() == 24));
    let shown = app.alice.get(&path_of(id_of(&fleet))).await;
    assert_eq!(
        with(shown.body, json!({"total_energy_consumed_kwh": 0.0})),
        want
    );
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let app = TestApp::start().await;
    for (change, param) in cases! {
        {"name": ""} => "name",
        {"name": "n".repeat(257)} => "name",
        {"name": null} => "name",
        {"email": "nobody"} => "email",
        {"timezone": "Mars/Olympus"} => "timezone",
        {"metric_system": "metric"} => "metric_system",
        {"address": {"line1": "1", "city": "L", "postal_code": "E", "country": "XX"}} => "address.country",
        {"address": {"line1": "1", "city": "L", "country": "GB"}} => "address.postal_code",
        {"description": "d".repeat(1001)} => "description",
        {"preferences": {"billing_cycle": "daily"}} => "preferences.billing_cycle",
        {"preferences": {"default_currency": "USD"}} => "preferences.default_currency",
        {"preferences": {"notifications": "yes"}} => "preferences.notifications",
    } {
        let answer = app.alice.post("/v1/fleets", with(fleet(), change)).await;
        answer.expect_error(400, None, param);
    }
    for name in ["name", "email", "address"] {
        let mut body = fleet();
        body.as_object_mut().expect("an object").remove(name);
        assert_eq!(
            app.alice.post("/v1/fleets", body).await.error().3,
            Some(name)
        );
    }
    let method = with(
        fleet(),
        json!({"preferences": {"default_payment_method": "pm_1"}}),
    );
    assert_eq!(
        app.alice.post("/v1/fleets", method).await.error().2,
        Some("payment_method_not_found")
    );
}

#[tokio::test]
async fn an_update_changes_what_it_names() {
    let app = TestApp::start().await;
    let fleet = app
        .alice
        .post_ok("/v1/fleets", with(fleet(), json!({"phone": "1"})))
        .await;
    let path = format!("/v1/fleets/{}", id_of(&fleet));
    let same = app.alice.post_ok(&path, json!({})).await;
    assert_eq!(
        with(
            same,
            json!({"updated": fleet["updated"], "total_energy_consumed_kwh": 0.0})
        ),
        fleet
    );
    let change = json!({"name": "Day", "phone": null, "timezone": "Europe/Paris", "status": "suspended",
        "preferences": {"report_frequency": "never"}});
    let changed = app.alice.post_ok(&path, change).await;
    assert_has!(changed, {"name": "Day", "phone": null, "status": "suspended"});
    let preferences = json!({"billing_cycle": "monthly", "default_currency": "usd", "default_payment_method": null,
        "notifications": true, "report_frequency": "never"});
    assert_has!(changed, {"preferences": preferences, "email": fleet["email"]});
    assert_eq!(
        app.alice.post(&path, json!({"name": null})).await.error().3,
        Some("name")
    );
}

#[tokio::test]
async fn counters_follow_what_they_count_also_under_load() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{id}");
    let makers = (0..20).map(|_| {
        let (client, id) = (app.alice.clone(), id.clone());
        tokio::spawn(async move {
            client.post_ok("/v1/vehicles", vehicle(&id)).await;
            let driver = client.create("/v1/drivers", driver()).await;
            client
                .post_ok(
                    &format!("/v1/drivers/{driver}/attach"),
                    json!({"fleet": id}),
                )
                .await;
            driver
        })
    });
    let mut drivers = Vec::new();
    for maker in makers.collect::<Vec<_>>() {
        drivers.push(maker.await.expect("a driver"));
    }
    let fleet = app.alice.get_ok(&path).await;
    assert_has!(fleet, {"total_drivers": 20, "total_vehicles": 20});
    for driver in &drivers[..5] {
        app.alice
            .post_ok(
                &format!("/v1/drivers/{driver}/detach"),
                json!({"fleet": id}),
            )
            .await;
    }
    assert_eq!(app.alice.get_ok(&path).await["total_drivers"], 15);
    // An update of the fleet keeps the counts.
    assert_has!(app.alice.post(&path, json!({"name": "New"})).await.body, {"total_vehicles": 20});
}

#[tokio::test]
async fn the_list_is_newest_first_and_filtered_by_status() {
    let app = TestApp::start().await;
    let archived = app.alice.create("/v1/fleets", fleet()).await;
    let active = app.alice.create("/v1/fleets", fleet()).await;
    app.alice
        .post_ok(&path_of(&archived), json!({"status": "archived"}))
        .await;
    assert_eq!(
        app.alice.get("/v1/fleets").await.ids(),
        [active.clone(), archived.clone()]
    );
    assert_eq!(
        app.alice.get("/v1/fleets?status=active").await.ids(),
        [active]
    );
    assert_eq!(
        app.alice.get("/v1/fleets?status=archived").await.ids(),
        [archived]
    );
    assert_eq!(
        app.alice.get("/v1/fleets?status=lost").await.error().3,
        Some("status")
    );
    let page = app.alice.get_ok("/v1/fleets?status=suspended").await;
    assert_eq!(
        page,
        json!({"data": [], "next_page_url": null, "previous_page_url": null})
    );
}

#[tokio::test]
async fn a_fleet_is_deleted_when_nothing_is_left_in_it() {
    let (app, crew) = TestApp::with_crew().await;
    let path = |kind: &str, id: &str| format!("/v1/{kind}/{id}");
    let delete = async |kind: &str, id: &str| app.alice.delete(&path(kind, id)).await;
    let named = app
        .alice
        .create(
            "/v1/vehicles",
            with(vehicle(&crew.fleet), json!({"drivers": [crew.driver]})),
        )
        .await;
    delete("fleets", &crew.fleet)
        .await
        .expect_error(409, None, "fleet");
    delete("vehicles", &crew.vehicle).await.expect(200);
    assert_has!(app.alice.get_ok(&path("fleets", &crew.fleet)).await, {"total_vehicles": 1});
    let gone = delete("drivers", &crew.driver).await.expect(200);
    assert_eq!(
        gone.body,
        json!({"id": crew.driver, "object": "driver", "deleted": true})
    );
    assert_has!(app.alice.get_ok(&path("fleets", &crew.fleet)).await, {"total_drivers": 0});
    assert!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}", crew.fleet))
            .await
            .ids()
            .is_empty()
    );
    assert_eq!(
        app.alice.get_ok(&path("vehicles", &named)).await["drivers"],
        json!([])
    );
    delete("vehicles", &named).await.expect(200);
    delete("fleets", &crew.fleet).await.expect(200);
    for (kind, id) in [
        ("fleets", &crew.fleet),
        ("drivers", &crew.driver),
        ("vehicles", &crew.vehicle),
    ] {
        app.alice.get(&path(kind, id)).await.expect(404);
        delete(kind, id).await.expect(404);
    }
    app.drain().await;
    for kind in ["fleet", "driver", "vehicle"] {
        let events = app
            .alice
            .get(&format!("/v1/events?type={kind}.deleted"))
            .await;
        assert_eq!(events.body["data"][0]["data"]["object"]["object"], kind);
        assert!(events.body["data"][0]["request"]["id"].is_string());
    }
}

/// Deletes the vehicle and the driver of a fleet, and returns the path of the fleet.
async fn emptied(app: &TestApp, crew: &Crew) -> String {
    for path in [
        format!("/v1/vehicles/{}", crew.vehicle),
        format!("/v1/drivers/{}", crew.driver),
    ] {
        app.alice.delete_ok(&path).await;
    }
    format!("/v1/fleets/{}", crew.fleet)
}

/// Checks that a fleet is not deleted, because something of it has to be billed first.
async fn expect_kept(app: &TestApp, fleet: &str) {
    let refused = app.alice.delete(fleet).await;
    refused.expect_error(409, None, "fleet");
    app.alice.get_ok(fleet).await;
}

/// The body of an invoice for the last hour of a fleet.
fn last_hour(app: &TestApp, crew: &Crew) -> Value {
    json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet})
}

/// Voids the invoice of a fleet, which is not deleted before the same window is billed again.
async fn void_and_bill_again(app: &TestApp, fleet: &str, invoice: &Value, window: Value) {
    let void = format!("/v1/invoices/{}/void", id_of(invoice));
    app.alice.post_ok(&void, json!({})).await;
    expect_kept(app, fleet).await;
    finalized(&app.alice, window).await;
    app.alice.delete_ok(fleet).await;
}

#[tokio::test]
async fn a_fleet_is_not_deleted_before_its_charges_are_on_an_invoice() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    app.completed_session(&crew, json!({"amount_due": 0})).await;
    let fleet = emptied(&app, &crew).await;
    expect_kept(&app, &fleet).await;
    let window = last_hour(&app, &crew);
    let invoice = finalized(&app.alice, window.clone()).await;
    void_and_bill_again(&app, &fleet, &invoice, window).await;
}

#[tokio::test]
async fn a_fleet_is_not_deleted_before_its_fees_are_on_an_invoice() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let before = app.now();
    no_show(&app, &crew, None).await;
    let fleet = emptied(&app, &crew).await;
    expect_kept(&app, &fleet).await;
    let window =
        json!({"period_start": before, "period_end": app.in_minutes(1), "fleet": crew.fleet});
    finalized(&app.alice, window).await;
    app.alice.delete_ok(&fleet).await;
}

#[tokio::test]
async fn a_fleet_with_a_draft_invoice_is_not_deleted() {
    for is_of_the_fleet in [true, false] {
        let (app, crew) = TestApp::with_crew().await;
        let priced = json!({"amount_due": 1190, "currency": "gbp"});
        app.completed_session(&crew, priced).await;
        let fleet = emptied(&app, &crew).await;
        let mut window = with(last_hour(&app, &crew), json!({"currency": "gbp"}));
        if !is_of_the_fleet {
            window["fleet"] = Value::Null;
        }
        let draft = app.alice.create("/v1/invoices", window).await;
        expect_kept(&app, &fleet).await;
        let finalize = format!("/v1/invoices/{draft}/finalize");
        app.alice.post_ok(&finalize, json!({})).await;
        app.alice.delete_ok(&fleet).await;
    }
}

#[tokio::test]
async fn the_history_of_deleted_objects_is_listed_by_their_ids() {
    let (app, crew) = TestApp::with_crew().await;
    let card = app.payment_method("tok_success", json!({})).await;
    let (session, charge) = charged(&app, &crew, &card).await;
    let earlier = app
        .completed_session(&crew, json!({"currency": "gbp"}))
        .await;
    let reservation = no_show(&app, &crew, None).await;
    let fleet = emptied(&app, &crew).await;
    let window = json!({"period_start": app.in_minutes(-600), "period_end": app.in_minutes(1), "fleet": crew.fleet, "currency": "gbp"});
    let invoice = finalized(&app.alice, window).await;
    app.alice.delete_ok(&fleet).await;
    app.drain().await;
    // What a final invoice is for does not depend on its fleet.
    let (charge, invoice) = (id_of(&charge), id_of(&invoice));
    let credit = json!({"invoice": invoice, "amount": 10, "reason": "Late"});
    let credit = app.alice.create("/v1/credit_notes", credit).await;
    let bob = app.other_account(Mode::Test).await;
    let all = [
        ("driver", &crew.driver),
        ("fleet", &crew.fleet),
        ("vehicle", &crew.vehicle),
    ];
    for (path, filters, want) in [
        ("charging_sessions", &all[..], vec![&*session, &earlier]),
        ("reservations", &all, vec![&reservation]),
        ("transactions", &all[..2], vec![charge]),
        ("invoices", &all[1..2], vec![invoice]),
        ("credit_notes", &all[1..2], vec![&credit]),
    ] {
        for (filter, id) in filters {
            let list = format!("/v1/{path}?{filter}={id}");
            assert_eq!(app.alice.get(&list).await.expect(200).ids(), want, "{list}");
            let pages = app.alice.walk(&format!("{list}&limit=1")).await;
            assert_eq!(pages, want, "{list}");
            let foreign = bob.get(&list).await;
            foreign.expect_error(404, &*format!("{filter}_not_found"), *filter);
        }
    }
    let failed = format!(
        "/v1/charging_sessions?vehicle={}&status=failed",
        crew.vehicle
    );
    assert_eq!(app.alice.get(&failed).await.expect(200).ids(), [""; 0]);
    for path in ["charging_sessions", "reservations", "transactions"] {
        let both = format!("/v1/{path}?driver={}&fleet={}", crew.driver, crew.fleet);
        let refused = app.alice.get(&both).await;
        refused.expect_error(404, "driver_or_fleet_not_found", "driver");
    }
    let pay = format!("/v1/invoices/{invoice}/pay");
    let body = json!({"payment_method": card});
    assert_has!(app.alice.post_ok(&pay, body).await, {"status": "paid", "fleet": crew.fleet});
}

#[tokio::test]
async fn a_fleet_keeps_its_voided_charges_of_earlier_periods() {
    let (app, crew) = TestApp::with_crew().await;
    app.advance(120).await;
    app.completed_session(&crew, json!({})).await;
    let fleet = emptied(&app, &crew).await;
    let window = last_hour(&app, &crew);
    let invoice = finalized(&app.alice, window.clone()).await;
    app.advance(40 * 86_400).await;
    app.drain().await;
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let id = kernel::Id::from(crew.fleet.as_str());
    let stored = store.load::<models::fleet::Fleet>(&tenant, &id).await;
    let period = stored.expect("the fleet").internal.billing;
    let end = window["period_end"].as_str().expect("a time").to_owned();
    assert!(period.expect("a period").from.to_string() > end);
    void_and_bill_again(&app, &fleet, &invoice, window).await;
}

#[tokio::test]
async fn what_a_reservation_waits_for_is_not_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let id = app
        .alice
        .create("/v1/reservations", app.reservation(&crew, 60))
        .await;
    let (driver, vehicle) = (
        format!("/v1/drivers/{}", crew.driver),
        format!("/v1/vehicles/{}", crew.vehicle),
    );
    app.alice
        .delete(&driver)
        .await
        .expect_error(409, None, "driver");
    app.advance(31 * 60).await;
    app.alice
        .delete(&vehicle)
        .await
        .expect_error(409, None, "vehicle");
    app.alice
        .post_ok(&format!("/v1/reservations/{id}/cancel"), json!({}))
        .await;
    app.alice.delete_ok(&vehicle).await;
    app.alice.delete_ok(&driver).await;
    app.drain().await;
}

#[tokio::test]
async fn metadata_merges_and_an_unknown_reference_changes_nothing() {
    let app = TestApp::start().await;
    let body = with(fleet(), json!({"metadata": {"a": "1", "b": "2"}}));
    let fleet = app.alice.post_ok("/v1/fleets", body).await;
    let path = format!("/v1/fleets/{}", id_of(&fleet));
    let merged = app
        .alice
        .post_ok(&path, json!({"metadata": {"a": null, "c": "3"}}))
        .await;
    assert_eq!(merged["metadata"], json!({"b": "2", "c": "3"}));
    let policy = json!({"name": "Other", "policy_ids": [format!("pol_{:032x}", 1)]});
    app.alice
        .post(&path, policy)
        .await
        .expect_error(404, "policy_not_found", "policy_ids");
    let method = json!({"name": "Other", "preferences": {"default_payment_method": "pm_1"}});
    assert_eq!(
        app.alice.post(&path, method).await.error().2,
        Some("payment_method_not_found")
    );
    assert_eq!(app.alice.get_ok(&path).await["name"], "Night shift");
    let none = app.alice.post(&path, json!({"policy_ids": []})).await;
    assert_eq!(none.expect(200).body["policy_ids"], json!([]));
    for (name, value) in [
        ("total_vehicles", json!(7)),
        ("wallet_balance", json!(1)),
        ("id", json!("flt_1")),
    ] {
        let fixed = app.alice.post(&path, json!({name: value})).await;
        assert_eq!(fixed.error().3, Some(name));
    }
}

#[tokio::test]
async fn updates_and_counts_at_the_same_time_lose_nothing() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{id}");
    let work = (0..10).map(|n| {
        let (client, id, path) = (app.alice.clone(), id.clone(), path.clone());
        tokio::spawn(async move {
            let body = json!({"metadata": {format!("k{n}"): "v"}});
            let (created, changed) = tokio::join!(
                client.post("/v1/vehicles", vehicle(&id)),
                client.post(&path, body)
            );
            (n, created, changed)
        })
    });
    let (mut created, mut changed) = (Vec::new(), Vec::new());
    for task in work.collect::<Vec<_>>() {
        let (n, create, update) = task.await.expect("two answers");
        // With many simultaneous requests, one may be refused with 503, but every response with 200 has to be true.
        for answer in [&create, &update] {
            assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
        }
        created.extend((create.status == 200).then(|| create.id()));
        changed.extend((update.status == 200).then(|| format!("k{n}")));
    }
    assert!(!created.is_empty() && !changed.is_empty());
    let shown = app.alice.get_ok(&path).await;
    let missing = |key: &&String| shown["metadata"][key.as_str()] != "v";
    assert_eq!(changed.iter().find(missing), None, "{shown}");
    let listed = app
        .alice
        .walk(&format!("/v1/vehicles?fleet={id}&limit=100"))
        .await;
    assert!(created.iter().all(|id| listed.contains(id)));
    assert_eq!(shown["total_vehicles"], listed.len());
}

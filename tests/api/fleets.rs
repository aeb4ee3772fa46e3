//! `/v1/fleets`.

use serde_json::{Value, json};
use tests::{TestApp, driver, fleet, vehicle, with};

#[tokio::test]
async fn a_new_fleet_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let made = app.alice.post("/v1/fleets", fleet()).await.expect(200);
    let now = &made.body["created"];
    let want = json!({"id": made.id(), "object": "fleet",
        "address": {"city": "London", "country": "GB", "line1": "1 Bow Road", "line2": "", "postal_code": "E3 4LH", "state": ""},
        "created": now, "description": "", "email": "ops@fleet.example", "metadata": {}, "phone": null, "policy_ids": [],
        "metric_system": "international_system", "name": "Night shift",
        "billing_details": {"billing_address": null, "buyer_reference": null, "electronic_address": null, "language": null, "legal_name": null,
            "registration_number": null, "vat_id": null},
        "preferences": {"billing_cycle": "monthly", "default_currency": "usd", "default_payment_method": null,
            "notifications": true, "report_frequency": "weekly"},
        "status": "active", "timezone": "UTC", "total_drivers": 0, "total_energy_consumed_kwh": 0.0, "total_sessions": 0,
        "total_vehicles": 0, "updated": now, "wallet_balance": 0});
    assert_eq!(made.body, want);
    assert!(made.id().starts_with("flt_") && now.as_str().is_some_and(|at| at.len() == 24));
    let shown = app.alice.get(&format!("/v1/fleets/{}", made.id())).await;
    assert_eq!(
        with(shown.body, json!({"total_energy_consumed_kwh": 0.0})),
        want
    );
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let app = TestApp::start().await;
    for (change, param) in [
        (json!({"name": ""}), "name"),
        (json!({"name": "n".repeat(257)}), "name"),
        (json!({"name": null}), "name"),
        (json!({"email": "nobody"}), "email"),
        (json!({"timezone": "Mars/Olympus"}), "timezone"),
        (json!({"metric_system": "metric"}), "metric_system"),
        (
            json!({"address": {"line1": "1", "city": "L", "postal_code": "E", "country": "XX"}}),
            "address.country",
        ),
        (
            json!({"address": {"line1": "1", "city": "L", "country": "GB"}}),
            "address.postal_code",
        ),
        (json!({"description": "d".repeat(1001)}), "description"),
        (
            json!({"preferences": {"billing_cycle": "daily"}}),
            "preferences.billing_cycle",
        ),
        (
            json!({"preferences": {"default_currency": "USD"}}),
            "preferences.default_currency",
        ),
        (
            json!({"preferences": {"notifications": "yes"}}),
            "preferences.notifications",
        ),
    ] {
        let answer = app
            .alice
            .post("/v1/fleets", with(fleet(), change.clone()))
            .await;
        assert_eq!(
            answer.error(),
            (400, "invalid_request_error", None, Some(param)),
            "{change}"
        );
    }
    for name in ["name", "email", "address"] {
        let mut body = fleet();
        body.as_object_mut().expect("an object").remove(name);
        assert_eq!(
            app.alice.post("/v1/fleets", body).await.error().3,
            Some(name)
        );
    }
    let policies = with(fleet(), json!({"policy_ids": ["pol_1"]}));
    assert_eq!(
        app.alice.post("/v1/fleets", policies).await.error().2,
        Some("policy_not_found")
    );
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
    let made = app
        .alice
        .post("/v1/fleets", with(fleet(), json!({"phone": "1"})))
        .await
        .expect(200);
    let path = format!("/v1/fleets/{}", made.id());
    let same = app.alice.post(&path, json!({})).await.expect(200).body;
    assert_eq!(
        with(
            same,
            json!({"updated": made.body["updated"], "total_energy_consumed_kwh": 0.0})
        ),
        made.body
    );
    let change = json!({"name": "Day", "phone": null, "timezone": "Europe/Paris", "status": "suspended",
        "preferences": {"report_frequency": "never"}});
    let changed = app.alice.post(&path, change).await.expect(200).body;
    assert_eq!(
        (&changed["name"], &changed["phone"], &changed["status"]),
        (&json!("Day"), &Value::Null, &json!("suspended"))
    );
    let preferences = json!({"billing_cycle": "monthly", "default_currency": "usd", "default_payment_method": null,
        "notifications": true, "report_frequency": "never"});
    assert_eq!(
        (&changed["preferences"], &changed["email"]),
        (&preferences, &made.body["email"])
    );
    assert_eq!(
        app.alice.post(&path, json!({"name": null})).await.error().3,
        Some("name")
    );
}

#[tokio::test]
async fn counters_follow_what_they_count_also_under_load() {
    let app = TestApp::start().await;
    let id = app.alice.post("/v1/fleets", fleet()).await.id();
    let path = format!("/v1/fleets/{id}");
    let makers = (0..20).map(|_| {
        let (client, id) = (app.alice.clone(), id.clone());
        tokio::spawn(async move {
            client.post("/v1/vehicles", vehicle(&id)).await.expect(200);
            let driver = client.post("/v1/drivers", driver()).await.id();
            client
                .post(
                    &format!("/v1/drivers/{driver}/attach"),
                    json!({"fleet": id}),
                )
                .await
                .expect(200);
            driver
        })
    });
    let mut drivers = Vec::new();
    for maker in makers.collect::<Vec<_>>() {
        drivers.push(maker.await.expect("a driver"));
    }
    let fleet = app.alice.get(&path).await.body;
    assert_eq!(
        (&fleet["total_drivers"], &fleet["total_vehicles"]),
        (&json!(20), &json!(20))
    );
    for driver in &drivers[..5] {
        app.alice
            .post(
                &format!("/v1/drivers/{driver}/detach"),
                json!({"fleet": id}),
            )
            .await
            .expect(200);
    }
    assert_eq!(app.alice.get(&path).await.body["total_drivers"], 15);
    // An update of the fleet keeps the counts.
    assert_eq!(
        app.alice.post(&path, json!({"name": "New"})).await.body["total_vehicles"],
        20
    );
}

#[tokio::test]
async fn the_list_is_newest_first_and_filtered_by_status() {
    let app = TestApp::start().await;
    let one = app.alice.post("/v1/fleets", fleet()).await.id();
    let two = app.alice.post("/v1/fleets", fleet()).await.id();
    app.alice
        .post(&format!("/v1/fleets/{one}"), json!({"status": "archived"}))
        .await
        .expect(200);
    assert_eq!(
        app.alice.get("/v1/fleets").await.ids(),
        [two.clone(), one.clone()]
    );
    assert_eq!(app.alice.get("/v1/fleets?status=active").await.ids(), [two]);
    assert_eq!(
        app.alice.get("/v1/fleets?status=archived").await.ids(),
        [one]
    );
    assert_eq!(
        app.alice.get("/v1/fleets?status=lost").await.error().3,
        Some("status")
    );
    let page = app.alice.get("/v1/fleets?status=suspended").await.body;
    assert_eq!(
        page,
        json!({"data": [], "next_page_url": null, "previous_page_url": null})
    );
}

#[tokio::test]
async fn a_fleet_is_deleted_when_nothing_is_left_in_it() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = |kind: &str, id: &str| format!("/v1/{kind}/{id}");
    let delete = async |kind: &str, id: &str| app.alice.delete(&path(kind, id)).await;
    let named = app
        .alice
        .post(
            "/v1/vehicles",
            with(vehicle(&crew.fleet), json!({"drivers": [crew.driver]})),
        )
        .await
        .id();
    delete("fleets", &crew.fleet)
        .await
        .expect_error(409, None, Some("fleet"));
    delete("vehicles", &crew.vehicle).await.expect(200);
    assert_eq!(
        app.alice.get(&path("fleets", &crew.fleet)).await.body["total_vehicles"],
        1
    );
    let gone = delete("drivers", &crew.driver).await.expect(200);
    assert_eq!(
        gone.body,
        json!({"id": crew.driver, "object": "driver", "deleted": true})
    );
    assert_eq!(
        app.alice.get(&path("fleets", &crew.fleet)).await.body["total_drivers"],
        0
    );
    assert!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}", crew.fleet))
            .await
            .ids()
            .is_empty()
    );
    assert_eq!(
        app.alice.get(&path("vehicles", &named)).await.body["drivers"],
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

#[tokio::test]
async fn what_a_reservation_waits_for_is_not_deleted() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let id = app
        .alice
        .post("/v1/reservations", app.reservation(&crew, 60))
        .await
        .id();
    let (driver, vehicle) = (
        format!("/v1/drivers/{}", crew.driver),
        format!("/v1/vehicles/{}", crew.vehicle),
    );
    app.alice
        .delete(&driver)
        .await
        .expect_error(409, None, Some("driver"));
    app.advance(31 * 60).await;
    app.alice
        .delete(&vehicle)
        .await
        .expect_error(409, None, Some("vehicle"));
    app.alice
        .post(&format!("/v1/reservations/{id}/cancel"), json!({}))
        .await
        .expect(200);
    app.alice.delete(&vehicle).await.expect(200);
    app.alice.delete(&driver).await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn metadata_merges_and_unknown_policies_and_methods_change_nothing() {
    let app = TestApp::start().await;
    let body = with(fleet(), json!({"metadata": {"a": "1", "b": "2"}}));
    let made = app.alice.post("/v1/fleets", body).await.expect(200);
    let path = format!("/v1/fleets/{}", made.id());
    let merged = app
        .alice
        .post(&path, json!({"metadata": {"a": null, "c": "3"}}))
        .await
        .expect(200);
    assert_eq!(merged.body["metadata"], json!({"b": "2", "c": "3"}));
    let policy = json!({"name": "Other", "policy_ids": [format!("pol_{:032x}", 1)]});
    app.alice.post(&path, policy).await.expect_error(
        404,
        Some("policy_not_found"),
        Some("policy_ids"),
    );
    let method = json!({"name": "Other", "preferences": {"default_payment_method": "pm_1"}});
    assert_eq!(
        app.alice.post(&path, method).await.error().2,
        Some("payment_method_not_found")
    );
    assert_eq!(app.alice.get(&path).await.body["name"], "Night shift");
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
    let id = app.alice.post("/v1/fleets", fleet()).await.id();
    let path = format!("/v1/fleets/{id}");
    let work = (0..10).map(|n| {
        let (client, id, path) = (app.alice.clone(), id.clone(), path.clone());
        tokio::spawn(async move {
            let body = json!({"metadata": {format!("k{n}"): "v"}});
            let (made, changed) = tokio::join!(
                client.post("/v1/vehicles", vehicle(&id)),
                client.post(&path, body)
            );
            (n, made, changed)
        })
    });
    let (mut made, mut changed) = (Vec::new(), Vec::new());
    for one in work.collect::<Vec<_>>() {
        let (n, create, update) = one.await.expect("two answers");
        // Where so many meet a request may be refused with 503, but what was answered 200 has to hold.
        for answer in [&create, &update] {
            assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
        }
        made.extend((create.status == 200).then(|| create.id()));
        changed.extend((update.status == 200).then(|| format!("k{n}")));
    }
    assert!(!made.is_empty() && !changed.is_empty());
    let shown = app.alice.get(&path).await.body;
    let missing = |key: &&String| shown["metadata"][key.as_str()] != "v";
    assert_eq!(changed.iter().find(missing), None, "{shown}");
    let listed = app
        .alice
        .walk(&format!("/v1/vehicles?fleet={id}&limit=100"))
        .await;
    assert!(made.iter().all(|id| listed.contains(id)));
    assert_eq!(shown["total_vehicles"], listed.len());
}

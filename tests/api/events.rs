//! `/v1/events`: the events, their objects, and the requests that caused them.

use kernel::Kind;
use models::Event;
use serde_json::{Value, json};
use table::keys::Partition;
use table::list::PageRequest;
use tests::faulty::Dice;
use tests::{Receiver, TestApp, TestResponse, assert_has, driver, fleet, id_of, path_of, with};

#[tokio::test]
async fn a_change_is_an_event_with_the_previous_values() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{}", fleet.id());
    let change = json!({"name": "Day shift", "metadata": {"k": "v"}}).to_string();
    let changed = app
        .alice
        .send("POST", &path, Some(change), &[("idempotency-key", "n")])
        .await
        .expect(200);
    app.drain().await;
    let events = app.alice.get_ok("/v1/events").await["data"].clone();
    let (updated, created) = (&events[0], &events[1]);
    // A whole number is stored as an integer.
    let shown = with(
        changed.body.clone(),
        json!({"total_energy_consumed_kwh": 0}),
    );
    let want = json!({"id": updated["id"], "object": "event", "account": app.alice.account, "api_version": "2026-03-01",
        "created": changed.body["updated"], "livemode": false, "pending_webhooks": 0, "sequence": 2, "type": "fleet.updated",
        "request": {"id": changed.header("service-request-id"), "idempotency_key": "n"},
        "data": {"object": shown, "previous_attributes":
            {"name": "Night shift", "metadata": {"k": null}, "updated": fleet.body["updated"]}}});
    assert_eq!(*updated, want);
    assert_has!(created, {"type": "fleet.created",
        "data": {"object": with(fleet.body.clone(), json!({"total_energy_consumed_kwh": 0}))}});
    assert_eq!(created["request"]["idempotency_key"], Value::Null);
    let id = id_of(updated);
    assert_eq!(app.alice.get_ok(&path_of(&id)).await, want);
}

#[tokio::test]
async fn events_of_an_object_are_numbered_until_it_is_deleted() {
    let app = TestApp::start().await;
    let fleet = app.alice.post("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{}", fleet.id());
    for name in ["Day shift", "Late shift"] {
        // An attached driver changes the fleet without an event.
        let driver = app.alice.create("/v1/drivers", driver()).await;
        let attach = format!("/v1/drivers/{driver}/attach");
        let body = json!({"fleet": fleet.id()});
        app.alice.post_ok(&attach, body.clone()).await;
        let detach = format!("/v1/drivers/{driver}/detach");
        app.alice.post_ok(&detach, body).await;
        app.alice.post_ok(&path, json!({"name": name})).await;
    }
    app.alice.delete_ok(&path).await;
    app.drain().await;
    let events = app.alice.get_ok("/v1/events?limit=100").await["data"].clone();
    let events = events.as_array().expect("events").iter();
    let of_fleet = events.filter(|event| event["data"]["object"]["id"] == fleet.id());
    let numbers: Vec<_> = of_fleet
        .map(|event| (event["type"].as_str().expect("a type"), &event["sequence"]))
        .collect();
    let want = [
        ("fleet.deleted", &json!(4)),
        ("fleet.updated", &json!(3)),
        ("fleet.updated", &json!(2)),
        ("fleet.created", &json!(1)),
    ];
    assert_eq!(numbers, want);
}

#[tokio::test]
async fn writes_that_only_count_do_not_number_events_anew() {
    let app = TestApp::start().await;
    let site = json!({"name": "Depot", "time_zone": "Europe/London", "currency": "gbp", "stations": [],
        "limits": [{"type": "capacity", "power_w": 60000}]});
    let site = app.alice.create("/v1/sites", site).await;
    let crew = app.crew(&app.alice).await;
    // The fleet and the site count the vehicle. The driver lists it, which is an update of the driver.
    let there = json!({"drivers": [crew.driver], "site": site, "vin": "WVWZZZ1KZAW000002"});
    let vehicle = with(tests::vehicle(&crew.fleet), there);
    app.alice.create("/v1/vehicles", vehicle).await;
    for object in [&site, &crew.fleet, &crew.driver] {
        app.alice
            .post_ok(&path_of(object), json!({"name": "Another"}))
            .await;
    }
    app.drain().await;
    for object in [&site, &crew.fleet, &crew.driver] {
        let list = app.alice.get_ok("/v1/events?limit=100").await;
        let events = list["data"].as_array().expect("events").iter();
        let of_object = events.filter(|event| event["data"]["object"]["id"] == **object);
        let numbers: Vec<_> = of_object
            .map(|event| event["sequence"].as_u64().expect("a number"))
            .collect();
        let want: &[u64] = if object.starts_with("drv_") {
            &[4, 3, 2, 1]
        } else {
            &[2, 1]
        };
        assert_eq!(numbers, want, "{object}");
    }
}

#[tokio::test]
async fn lists_of_drivers_and_vehicles_change_with_an_event() {
    let (app, crew) = TestApp::with_crew().await;
    let named = with(
        tests::vehicle(&crew.fleet),
        json!({"drivers": [crew.driver]}),
    );
    let first = app.alice.create("/v1/vehicles", named.clone()).await;
    let second = app.alice.create("/v1/vehicles", named).await;
    app.alice.delete_ok(&path_of(&first)).await;
    let detach = format!("/v1/drivers/{}/detach", crew.driver);
    app.alice
        .post_ok(&detach, json!({"fleet": crew.fleet}))
        .await;
    app.alice.delete_ok(&path_of(&crew.driver)).await;
    app.drain().await;
    let list = app.alice.get_ok("/v1/events?limit=100").await;
    let events = list["data"].as_array().expect("events").iter().rev();
    let changes = |kind: &str, member: &str| -> Vec<Value> {
        let changes = events.clone().filter(|event| event["type"] == kind);
        let lists = changes.map(|event| {
            let before = &event["data"]["previous_attributes"][member];
            assert!(event["request"]["id"].is_string(), "{event:#}");
            json!([before, event["data"]["object"][member]])
        });
        lists.collect()
    };
    let want = [
        json!([[], [first]]),
        json!([[first], [first, second]]),
        json!([[first, second], [second]]),
    ];
    assert_eq!(changes("driver.updated", "vehicles"), want);
    let want = [json!([[crew.driver], []])];
    assert_eq!(changes("vehicle.updated", "drivers"), want);
}

#[tokio::test]
async fn a_fleet_is_not_said_to_change_when_it_only_counts() {
    let app = TestApp::start().await;
    app.crew(&app.alice).await;
    app.drain().await;
    let events = app.alice.get_ok("/v1/events?limit=100").await["data"].clone();
    let mut types: Vec<_> = events
        .as_array()
        .expect("objects")
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    types.reverse();
    assert_eq!(
        types,
        [
            "fleet.created",
            "driver.created",
            "driver.attached",
            "vehicle.created"
        ]
    );
}

#[tokio::test]
async fn events_are_found_by_type_and_time() {
    let app = TestApp::start().await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(3600).await;
    let between = app.in_minutes(-30);
    app.crew(&app.alice).await;
    app.drain().await;
    let count = async |query: &str| {
        app.alice
            .get(&format!("/v1/events?{query}"))
            .await
            .expect(200)
            .ids()
            .len()
    };
    assert_eq!(count("type=fleet.created").await, 2);
    assert_eq!(
        count(&format!("type=fleet.created&created[gte]={between}")).await,
        1
    );
    assert_eq!(count(&format!("created[lt]={between}")).await, 1);
    assert_eq!(
        count(&format!("created[gt]={between}&created[lte]={between}")).await,
        0
    );
    let first = app
        .alice
        .get_ok(&format!("/v1/events?created[lte]={between}"))
        .await["data"][0]
        .clone();
    let at = first["created"].as_str().expect("a time");
    assert_eq!(
        count(&format!("created[gte]={at}&created[lte]={at}")).await,
        1
    );
    assert_eq!(count(&format!("created[lt]={at}")).await, 0);
    let wrong = app.alice.get("/v1/events?created[gte]=yesterday").await;
    wrong.expect_error(400, None, "created[gte]");
    let wrong = app.alice.get("/v1/events?type=fleet.exploded").await;
    wrong.expect_error(400, None, "type");
}

#[tokio::test]
async fn an_event_older_than_30_days_is_not_found() {
    let app = TestApp::with_clock().await;
    let begun = app.in_minutes(0);
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let list = "/v1/events?type=fleet.created";
    let old = app.alice.get(list).await.ids().remove(0);
    app.advance(24 * 3600).await;
    let between = app.in_minutes(-60);
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let kept = app.alice.get(list).await.ids().remove(0);
    let (path, deliveries) = (path_of(&old), format!("{}/deliveries", path_of(&old)));
    app.alice.get_ok(&path).await;
    app.advance(29 * 24 * 3600 + 60).await;
    let unknown = |response: TestResponse| {
        response.expect_error(404, None, "event");
    };
    unknown(app.alice.get(&path).await);
    unknown(app.alice.get(&deliveries).await);
    let redeliver = format!("{path}/redeliver");
    unknown(app.alice.post(&redeliver, json!({})).await);
    app.alice.get_ok(&path_of(&kept)).await;
    let listed = async |query: &str| {
        let path = format!("{list}{query}");
        app.alice.get(&path).await.expect(200).ids()
    };
    for query in ["", "&limit=1", &format!("&created[gte]={begun}")] {
        assert_eq!(listed(query).await, std::slice::from_ref(&kept), "{query}");
    }
    let before = listed(&format!("&created[lt]={between}")).await;
    assert_eq!(before, Vec::<String>::new());
    let pages = app.alice.walk(&format!("{list}&limit=1")).await;
    assert_eq!(pages, [kept]);
    app.drain().await;
}

#[tokio::test]
async fn attach_and_detach_events_show_the_driver_and_the_request() {
    let app = TestApp::start().await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let driver = app.alice.create("/v1/drivers", driver()).await;
    for (verb, kind) in [("attach", "driver.attached"), ("detach", "driver.detached")] {
        let answer = app
            .alice
            .send(
                "POST",
                &format!("/v1/drivers/{driver}/{verb}"),
                Some(json!({"fleet": fleet}).to_string()),
                &[("idempotency-key", verb)],
            )
            .await
            .expect(200);
        app.drain().await;
        let found = app.alice.get(&format!("/v1/events?type={kind}")).await;
        let events = found.expect(200).body["data"].clone();
        assert_eq!(events.as_array().map(Vec::len), Some(1));
        assert_has!(events[0], {"data": {"object": answer.body},
            "request": {"id": answer.header("service-request-id"), "idempotency_key": verb}});
    }
}

#[tokio::test]
async fn an_event_counts_the_deliveries_it_still_waits_for() {
    let app = TestApp::start().await;
    let (well, ill, other) = (
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    ill.answer(&[500, 500]);
    for (receiver, kind) in [(&well, "*"), (&ill, "fleet.created"), (&other, "ping")] {
        receiver.subscribe(&app.alice, &[kind]).await;
    }
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let id = app.alice.get("/v1/events").await.ids().remove(0);
    let path = format!("/v1/events/{id}");
    for (seconds, pending, attempts) in [(0, 1, 1), (7, 1, 2), (361, 0, 3)] {
        app.advance(seconds).await;
        assert_eq!(app.alice.get_ok(&path).await["pending_webhooks"], pending);
        assert_eq!(ill.received().len(), attempts);
    }
    assert_eq!((well.received().len(), other.received().len()), (1, 0));
    // A delivery has the content that the event had before any delivery.
    assert_eq!(ill.received()[2].event["id"], id);
    assert_eq!(ill.received()[2].event["pending_webhooks"], 0);
}

#[tokio::test]
async fn a_request_that_is_refused_or_repeated_makes_no_event() {
    let app = TestApp::start().await;
    let headers = [("idempotency-key", "k")];
    for _ in 0..3 {
        let body = Some(fleet().to_string());
        app.alice
            .send("POST", "/v1/fleets", body, &headers)
            .await
            .expect(200);
    }
    app.alice.post("/v1/fleets", json!({})).await.expect(400);
    app.alice
        .post("/v1/fleets/flt_1", json!({"name": "Other"}))
        .await
        .expect(404);
    app.drain().await;
    assert_eq!(app.alice.get("/v1/events").await.ids().len(), 1);
}

#[tokio::test]
async fn no_more_large_events_are_read_than_a_page_can_show() {
    let app = TestApp::start().await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    // Texts that can hardly be deflated.
    let dice = Dice::new(1);
    let character = |_| char::from_u32(0x20000 + dice.below(0xa6df) as u32);
    for _ in 0..40 {
        let pair = |n| {
            let value: Option<String> = (0..500).map(character).collect();
            (format!("{n:040}"), json!(value))
        };
        let pairs = (0..50).map(pair);
        let change = json!({"metadata": Value::Object(pairs.collect())});
        app.alice.post_ok(&path_of(&fleet), change).await;
    }
    app.drain().await;
    let (tenant, kind) = (app.alice.tenant(), Kind::Event);
    let list = Partition::Kind {
        tenant: &tenant,
        kind,
    };
    // Each has 200 KB: the metadata, and that before.
    let page = PageRequest::first(100);
    let found = app.app().store.list::<Event>(list, &page, Vec::new()).await;
    let read = found.expect("a page").items.len();
    assert!((20..=35).contains(&read), "{read}");
    let walked = app.alice.walk("/v1/events?limit=100").await;
    let mut distinct = walked.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!((walked.len(), distinct.len()), (41, 41));
}

//! Batches: each body has the same effect as a request with it, once, with the permissions that the key has at that moment.

use models::Batch;
use models::batch::{BatchStatus, CHUNK};
use serde_json::{Value, json};
use tests::samples::unused_uid;
use tests::{Client, TestApp, assert_has, driver, fleet, id_of, path_of, vehicle, with};

/// Creates a batch of these bodies. Returns the batch when it is completed.
async fn run(app: &TestApp, client: &Client, operation: &str, bodies: Vec<Value>) -> Value {
    let total = bodies.len();
    let body = json!({"operation": operation, "bodies": bodies});
    let started = client.post_ok("/v1/batches", body).await;
    assert_has!(started, {"status": "running", "total": total, "finished_at": null});
    app.drain().await;
    let path = format!("/v1/batches/{}", id_of(&started));
    let batch = client.get_ok(&path).await;
    assert_eq!(batch["status"], "completed", "{batch}");
    batch
}

/// All results of a batch.
async fn results(client: &Client, batch: &Value) -> Vec<Value> {
    let id = id_of(batch);
    let mut next = Some(format!("/v1/batches/{id}/results?limit=100"));
    let mut found = Vec::new();
    while let Some(path) = next {
        let page = client.get_ok(&path).await;
        found.extend(page["data"].as_array().expect("a list").iter().cloned());
        let url = page["next_page_url"].as_str();
        next = url.and_then(|url| url.find("/v1/").map(|at| url[at..].to_owned()));
    }
    found
}

#[tokio::test]
async fn each_body_ends_as_a_request_with_it_would() {
    let app = TestApp::start().await;
    let home = app.alice.create("/v1/fleets", fleet()).await;
    let mut bodies: Vec<Value> = (0..145)
        .map(|n| {
            with(
                vehicle(&home),
                json!({"registration_plate": format!("V {n:03}")}),
            )
        })
        .collect();
    bodies[7] = with(
        vehicle(&home),
        json!({"battery_capacity": "large", "vin": 7, "colour": "red"}),
    );
    bodies[8] = with(vehicle(&home), json!({"battery_capacity": 0}));
    bodies[77] = vehicle("flt_01a1f000000070008000000000000099");
    let batch = run(&app, &app.alice, "create_vehicle", bodies.clone()).await;
    assert_has!(batch, {"succeeded": 142, "failed": 3});
    let found = results(&app.alice, &batch).await;
    assert_eq!(found.len(), bodies.len());
    for (index, (result, body)) in found.iter().zip(bodies).enumerate() {
        assert_eq!(result["index"], index);
        if let Some(id) = result["result"].as_str() {
            let created = app.alice.get_ok(&path_of(&id)).await;
            assert_eq!(created["registration_plate"], body["registration_plate"]);
            continue;
        }
        let refused = app.alice.post("/v1/vehicles", body).await;
        for name in ["type", "code", "message", "param", "doc_url", "errors"] {
            assert_eq!(result["error"][name], refused.body[name], "{index}: {name}");
        }
    }
    let counted = app.alice.get_ok(&path_of(&home)).await;
    assert_eq!(counted["total_vehicles"], 142);
    let events = app.alice.get_ok("/v1/events?type=batch.completed").await;
    assert_eq!(events["data"][0]["data"]["object"], batch);
}

#[tokio::test]
async fn each_operation_can_be_that_of_a_batch() {
    let (app, crew) = TestApp::with_crew().await;
    let token = json!({"type": "card", "token": "tok_success"});
    let method = app.alice.create("/v1/payment_methods", token).await;
    let rules = json!({"name": "Anything", "rules": {}});
    let policy = app.alice.create("/v1/policies", rules.clone()).await;
    let reservation = with(
        app.reservation(&crew, 120),
        json!({"payment_method": method}),
    );
    for (operation, body) in [
        (
            "create_charge_card",
            json!({"uid": unused_uid(), "driver": crew.driver}),
        ),
        (
            "create_driver",
            with(
                driver(),
                json!({"preferences": {"default_payment_method": method}, "policy_ids": [policy]}),
            ),
        ),
        (
            "create_fleet",
            with(fleet(), json!({"policy_ids": [policy]})),
        ),
        ("create_policy", rules),
        ("create_reservation", reservation),
        (
            "create_vehicle",
            with(vehicle(&crew.fleet), json!({"drivers": [crew.driver]})),
        ),
    ] {
        let batch = run(&app, &app.alice, operation, vec![body]).await;
        let found = results(&app.alice, &batch).await;
        assert_eq!(batch["succeeded"], 1, "{operation}: {found:?}");
    }
}

#[tokio::test]
async fn what_was_carried_out_is_not_carried_out_again() {
    let app = TestApp::start().await;
    app.needs("the table of the service");
    let bodies: Vec<Value> = (0..25)
        .map(|n| with(fleet(), json!({"name": format!("Depot {n}")})))
        .collect();
    let batch = run(&app, &app.alice, "create_fleet", bodies.clone()).await;
    let first = results(&app.alice, &batch).await;
    // As if the run had ended before it wrote the results of the second chunk.
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let id = id_of(&batch).into();
    let mut stored = store.load::<Batch>(&tenant, &id).await.expect("the batch");
    stored.object.status = BatchStatus::Running;
    stored.object.finished_at = None;
    stored.object.succeeded = CHUNK;
    stored.internal.next_action_at = Some(app.now());
    let chunk = bodies[CHUNK..]
        .iter()
        .map(|body| body.as_object().expect("a body").clone());
    let origin = kernel::origin::Origin::background(tenant, app.now());
    let mut tx = store.begin(&origin);
    let chunk: Vec<_> = chunk.collect();
    tx.put_bodies(&stored.object, 1, &chunk).expect("a chunk");
    tx.save(&mut stored).expect("the batch");
    tx.commit_without_response().await.expect("both are stored");
    let waiting = results(&app.alice, &batch).await;
    assert_eq!(waiting[CHUNK]["status"], "pending");
    app.drain().await;
    assert_eq!(results(&app.alice, &batch).await, first);
    let fleets = app.alice.get("/v1/fleets?limit=100").await.ids();
    assert_eq!(fleets.len(), 25);
    // The keys with which the bodies are executed are no keys of a request.
    let events = app.alice.get_ok("/v1/events?type=fleet.created&limit=1");
    let request = events.await["data"][0]["request"].clone();
    assert_eq!(request["idempotency_key"], Value::Null);
    assert!(request["id"].is_string(), "{request}");
    // The key of a client is no key of a batch, whatever it is.
    let key = format!("{}-0", id_of(&batch));
    let other = with(fleet(), json!({"name": "Other depot"}));
    let headers = [("idempotency-key", key.as_str())];
    let body = Some(other.to_string());
    let answer = app.alice.send("POST", "/v1/fleets", body, &headers).await;
    assert_eq!(answer.expect(200).body["name"], "Other depot");
}

#[tokio::test]
async fn a_batch_has_the_rights_that_its_key_has_when_it_runs() {
    let app = TestApp::start().await;
    let body = json!({"operation": "create_driver", "bodies": [driver()]});
    let lacking = app.restricted(&app.alice, &["batches:write"]).await;
    let refused = lacking.post("/v1/batches", body.clone()).await;
    assert_eq!(
        (refused.status, refused.error().1),
        (403, "authentication_error")
    );

    let scopes = ["batches:read", "batches:write", "drivers:write"];
    let able = app.restricted(&app.alice, &scopes).await;
    let bodies = vec![driver(), with(driver(), json!({"policy_ids": ["pol_x"]}))];
    assert_has!(run(&app, &able, "create_driver", bodies).await, {"succeeded": 1, "failed": 1});

    let batch = able.post_ok("/v1/batches", body).await;
    let key = app.alice.get("/v1/api_keys?limit=1").await.ids().remove(0);
    let key = format!("/v1/api_keys/{key}");
    app.alice.delete_ok(&key).await;
    app.drain().await;
    let found = results(&app.alice, &batch).await;
    assert_eq!(
        found[0]["error"]["type"], "authentication_error",
        "{found:?}"
    );
}

#[tokio::test]
async fn a_batch_acts_in_the_account_that_its_request_acts_in() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let account = child.account.clone().expect("an account").to_string();
    let acting = [("service-account", account.as_str())];
    let body = json!({"operation": "create_fleet", "bodies": [fleet()]});
    let request = app
        .alice
        .send("POST", "/v1/batches", Some(body.to_string()), &acting);
    let batch = request.await.expect(200).body;
    app.drain().await;
    let found = results(&child, &batch).await;
    assert_eq!(found[0]["status"], "succeeded", "{found:?}");
    assert_eq!(child.get("/v1/fleets").await.ids().len(), 1);
    assert_eq!(app.alice.get("/v1/fleets").await.ids().len(), 0);
}

#[tokio::test]
async fn a_suspended_account_creates_nothing_more() {
    let app = TestApp::start().await;
    let body = json!({"operation": "create_fleet", "bodies": [fleet()]});
    let batch = app.alice.post_ok("/v1/batches", body).await;
    app.set_account_status(&app.alice.tenant().account, "suspended")
        .await;
    app.drain().await;
    let found = results(&app.alice, &batch).await;
    assert_eq!(found[0]["status"], "failed", "{found:?}");
    assert_eq!(app.alice.get("/v1/fleets").await.ids().len(), 0);
}

#[tokio::test]
async fn a_batch_is_shown_for_30_days() {
    let app = TestApp::start().await;
    let batch = run(&app, &app.alice, "create_fleet", vec![fleet()]).await;
    app.advance(30 * 24 * 3600 - 60).await;
    assert_eq!(app.alice.get("/v1/batches").await.ids().len(), 1);
    app.advance(120).await;
    assert!(app.alice.get("/v1/batches").await.ids().is_empty());
    let path = format!("/v1/batches/{}", id_of(&batch));
    for path in [format!("{path}/results"), path] {
        let gone = app.alice.get(&path).await;
        assert_eq!(gone.error().0, 404, "{}", gone.body);
    }
}

#[tokio::test]
async fn a_batch_without_bodies_or_with_too_many_is_refused() {
    let app = TestApp::start().await;
    for count in [0, 1001] {
        let body = json!({"operation": "create_fleet", "bodies": vec![json!({}); count]});
        let refused = app.alice.post("/v1/batches", body).await;
        assert_eq!(refused.expect(400).body["param"], "bodies");
    }
    let body = json!({"operation": "create_fleet", "bodies": ["North"]});
    let refused = app.alice.post("/v1/batches", body).await;
    assert_eq!(refused.expect(400).body["param"], "bodies[0]");
    let body = json!({"operation": "pay_invoice", "bodies": [{}]});
    let refused = app.alice.post("/v1/batches", body).await;
    assert_eq!(refused.expect(400).body["param"], "operation");
}

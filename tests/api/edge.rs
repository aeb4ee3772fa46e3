//! Rules for every request: keys, headers, errors, the order of checks, limits and versions.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::AttributeValue;
use kernel::Mode;
use kernel::time::days;
use serde_json::{Value, json};
use tests::{
    Client, TestApp, TestResponse, assert_contains, assert_has, driver, fleet, id_of, path_of, with,
};

async fn fleets(client: &Client, headers: &[(&str, &str)]) -> TestResponse {
    client.send("GET", "/v1/fleets", None, headers).await
}

#[tokio::test]
async fn a_key_that_is_missing_malformed_or_unknown_is_401() {
    let app = TestApp::start().await;
    let key = app.alice.key.clone().expect("a key");
    let typo = key.replace("sk_test_0", "sk_test_1");
    let mut flipped = key.clone();
    flipped.replace_range(60..61, if &key[60..61] == "a" { "b" } else { "a" });
    let account = app.alice.account.clone().expect("an account");
    let (_, unknown) = TestApp::start()
        .await
        .running()
        .make_account(Mode::Test)
        .await
        .expect("another service's key");
    for wrong in ["", "sk_test_", "nonsense", &typo, &flipped, &unknown] {
        let answer = app
            .with_key(wrong.to_owned(), account.clone())
            .get("/v1/fleets")
            .await;
        assert_eq!(
            answer.error(),
            (401, "authentication_error", None, None),
            "{wrong}"
        );
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    for headers in [
        &[][..],
        &[("authorization", "Basic YTpi")],
        &[("authorization", key.as_str())],
    ] {
        assert_eq!(fleets(&app.anon, headers).await.status, 401);
    }
}

#[tokio::test]
async fn an_error_has_the_shape_of_the_specification() {
    let app = TestApp::start().await;
    let answer = app.alice.get("/v1/fleets/flt_1").await;
    let id = answer.header("service-request-id");
    assert!(id.starts_with("req_"));
    let base = app.running().base_url.clone();
    let want = json!({"object": "error", "type": "invalid_request_error", "code": "fleet_not_found", "param": "fleet",
        "message": "No such fleet.", "request": id, "status": 404, "doc_url": format!("{base}/docs/errors#fleet-not-found")});
    assert_eq!(answer.body, want);
}

#[tokio::test]
async fn every_response_has_the_headers_and_a_unique_request_id() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    let bob = app.other_account(Mode::Test).await;
    let answers = [
        app.alice.get("/v1/fleets").await.expect(200),
        app.alice.post("/v1/fleets", json!({})).await.expect(400),
        app.alice.get("/v1/fleets").await.expect(429),
        app.anon.get("/v1/fleets").await.expect(401),
        app.alice.get("/v1/nothing").await.expect(404),
        app.alice.delete("/v1/fleets").await.expect(405),
        fleets(&bob, &[("service-version", "2020-01-01")])
            .await
            .expect(400),
        fleets(&bob, &[("service-account", "acct_1")])
            .await
            .expect(404),
    ];
    let mut ids = HashSet::new();
    for answer in &answers {
        for name in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
            let number = answer.header(name).parse::<u64>();
            assert!(number.is_ok(), "{name} of {}", answer.text);
        }
        assert_eq!(answer.header("ratelimit-limit"), "2");
        assert_eq!(answer.header("service-version"), "2026-03-01");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        let id = answer.header("service-request-id");
        assert!(id.starts_with("req_") && ids.insert(id));
    }
    let limited = &answers[2];
    assert_eq!(
        limited.body["request"],
        limited.header("service-request-id")
    );
}

#[tokio::test]
async fn an_unknown_path_is_404_and_a_wrong_method_405() {
    let app = TestApp::start().await;
    let unknown = app.alice.get("/v2/fleets").await;
    unknown.expect_error(404, None, None);
    let wrong = app.alice.delete("/v1/fleets").await;
    wrong.expect_error(405, None, None);
    let mut allowed: Vec<_> = wrong.header("allow").split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "POST"]);
    // As on AWS, where no function that may read the object would receive it.
    let head = app.alice.send("HEAD", "/v1/fleets", None, &[]).await;
    assert_eq!(head.status, 405);
    assert!(!head.header("allow").contains("HEAD"));
}

#[tokio::test]
async fn an_error_says_whether_a_parameter_is_missing_or_unknown() {
    let app = TestApp::start().await;
    let code_of = |response: tests::TestResponse| response.body["errors"][0]["code"].clone();
    let unknown = app.alice.get("/v1/fleets?foo=1").await;
    assert_eq!(code_of(unknown), "parameter_unknown");
    let missing = app.alice.get("/v1/search").await;
    assert_eq!(code_of(missing), "parameter_missing");
    let empty = app.alice.send("POST", "/v1/drivers", None, &[]).await;
    assert_eq!(empty.body["errors"][1]["code"], "parameter_missing");
    let hook = json!({"enabled_events": ["*"]});
    let missing = app.alice.post("/v1/webhook_endpoints", hook).await;
    assert_eq!(code_of(missing), "parameter_missing");
}

#[tokio::test]
async fn a_rate_that_a_wrong_clock_has_written_is_forgotten() {
    let app = TestApp::start_with(|options| options.rate = 20).await;
    let account = app.alice.account.clone().expect("an account");
    let tomorrow = app.now().plus(days(1)).unix_millis() * 1000;
    let put = tests::golden::table(&app).put_item();
    let put = put
        .table_name(&app.running().table)
        .item("pk", AttributeValue::S(format!("{account}#test#RATE")))
        .item("sk", AttributeValue::S("#".into()))
        .item("full_at", AttributeValue::N(tomorrow.to_string()));
    put.send().await.expect("an item");
    for _ in 0..20 {
        app.alice.get("/v1/fleets").await.expect(200);
    }
}

#[tokio::test]
async fn too_many_requests_are_429_with_a_time_to_wait() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    for remaining in ["1", "0"] {
        let answer = app.alice.get("/v1/fleets").await.expect(200);
        assert_eq!(answer.header("ratelimit-remaining"), remaining);
    }
    let refused = app.alice.get("/v1/fleets").await;
    let error = (429, "rate_limit_error", Some("rate_limit_exceeded"), None);
    assert_eq!(refused.error(), error);
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    // The checks before the rate limit, and the requests that it does not apply to.
    app.anon.get("/v1/fleets").await.expect(401);
    app.alice.get("/v1/nothing").await.expect(404);
    app.alice.delete("/v1/fleets").await.expect(405);
    app.alice.post("/v1/fleets", json!({})).await.expect(429);
    let other = app.other_account(Mode::Test).await;
    other.get_ok("/v1/fleets").await;
    app.advance(2).await;
    app.alice.get_ok("/v1/fleets").await;
}

#[tokio::test]
async fn checks_come_in_their_order() {
    let app = TestApp::start().await;
    let reader = app.restricted(&app.alice, &["drivers:read"]).await;
    reader.get_ok("/v1/drivers").await;
    // A missing scope (403) is reported before errors of the body, and an unknown path (404) before the scope.
    let refused = reader.post("/v1/drivers", json!({"x": 1})).await;
    assert_eq!(refused.error(), (403, "authentication_error", None, None));
    assert!(refused.text.contains("drivers:write"));
    reader.get("/v1/fleets?unknown=1").await.expect(403);
    reader.get("/v1/nothing").await.expect(404);
    // An invalid body (400) is reported before an unknown object (404), and that before a wrong state (409).
    app.alice
        .post("/v1/fleets/flt_1", json!({"name": 1}))
        .await
        .expect(400);
    app.alice
        .post("/v1/drivers/drv_1/detach", json!({"fleet": "flt_1"}))
        .await
        .expect(404);
}

#[tokio::test]
async fn a_version_is_asked_for_and_echoed() {
    let app = TestApp::start().await;
    let good = fleets(&app.alice, &[("service-version", "2026-03-01")])
        .await
        .expect(200);
    assert_eq!(good.header("service-version"), "2026-03-01");
    for wrong in ["2026-03-02", "latest", ""] {
        let answer = fleets(&app.alice, &[("service-version", wrong)]).await;
        answer.expect_error(400, None, "Service-Version");
    }
}

#[tokio::test]
async fn a_body_is_json_of_a_sensible_size() {
    let app = TestApp::start().await;
    let send = async |body: String, kind: &str| {
        let answer = app
            .alice
            .send("POST", "/v1/fleets", Some(body), &[("content-type", kind)])
            .await;
        answer.expect_error(400, None, None);
        answer.body["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(send("{".into(), "application/json").await.contains("JSON"));
    assert!(
        send("[]".into(), "application/json")
            .await
            .contains("object")
    );
    assert!(
        send(fleet().to_string(), "text/plain")
            .await
            .contains("content type")
    );
    let large = with(fleet(), json!({"description": "x".repeat(256 * 1024)})).to_string();
    assert!(send(large, "application/json").await.contains("256 KiB"));
    let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(16), "]".repeat(16));
    assert!(send(deep, "application/json").await.contains("16 levels"));
    let utf8 = [("content-type", "application/json; charset=utf-8")];
    app.alice
        .send("POST", "/v1/fleets", Some(fleet().to_string()), &utf8)
        .await
        .expect(200);
}

#[tokio::test]
async fn unknown_and_repeated_names_are_refused() {
    let app = TestApp::start().await;
    let of = |answer: &TestResponse| answer.error().3.map(str::to_owned);
    let unknown = with(fleet(), json!({"colour": "red"}));
    let unknown = app.alice.post("/v1/fleets", unknown).await.expect(400);
    assert_eq!(of(&unknown).as_deref(), Some("colour"));
    let nested = with(fleet(), json!({"preferences": {"colour": "red"}}));
    let nested = app.alice.post("/v1/fleets", nested).await;
    assert_eq!(of(&nested).as_deref(), Some("preferences.colour"));
    for (path, param) in [
        ("/v1/fleets?colour=red", "colour"),
        ("/v1/fleets?limit=1&limit=2", "limit"),
        ("/v1/fleets/flt_1?x=1", "x"),
    ] {
        assert_eq!(of(&app.alice.get(path).await).as_deref(), Some(param));
    }
}

#[tokio::test]
async fn metadata_has_its_limits_and_merges() {
    let app = TestApp::start().await;
    let many = |n: usize| -> Value {
        let members = (0..n).map(|n| (format!("k{n}"), json!("v")));
        Value::Object(members.collect())
    };
    let make = async |metadata: Value| {
        app.alice
            .post("/v1/drivers", with(driver(), json!({"metadata": metadata})))
            .await
    };
    let driver = make(many(50)).await.expect(200);
    for wrong in [
        many(51),
        json!({"": "v"}),
        json!({"k".repeat(41): "v"}),
        json!({"k": "v".repeat(501)}),
        json!({"k": 1}),
    ] {
        let answer = make(wrong.clone()).await.expect(400);
        let param = answer.error().3.unwrap_or_default();
        assert!(param.starts_with("metadata"), "{wrong}");
    }
    let path = format!("/v1/drivers/{}", driver.id());
    let one_more = json!({"metadata": {"one": "more"}});
    app.alice.post(&path, one_more).await.expect(400);
    app.alice.post_ok(&path, json!({"metadata": null})).await;
    let change = async |metadata: Value| {
        let change = json!({"metadata": metadata});
        app.alice.post_ok(&path, change).await["metadata"].clone()
    };
    assert_eq!(
        change(json!({"a": "1", "b": "2"})).await,
        json!({"a": "1", "b": "2"})
    );
    assert_eq!(
        change(json!({"a": "", "c": "3"})).await,
        json!({"b": "2", "c": "3"})
    );
    assert_eq!(change(json!({"b": null})).await, json!({"c": "3"}));
}

#[tokio::test]
async fn a_parent_acts_inside_its_children_and_nowhere_else() {
    let app = TestApp::start().await;
    let child = json!({"email": "c@d.example", "name": "Child", "type": "business"});
    let child = app.alice.create("/v1/accounts", child).await;
    let acting = [("service-account", child.as_str())];
    let fleet = app
        .alice
        .send("POST", "/v1/fleets", Some(fleet().to_string()), &acting)
        .await
        .id();
    app.alice.get(&path_of(&fleet)).await.expect(404);
    let seen = app
        .alice
        .send("GET", &path_of(&fleet), None, &acting)
        .await
        .expect(200);
    assert_eq!(seen.id(), fleet);
    let own = app.alice.account.clone().expect("an account");
    fleets(&app.alice, &[("service-account", own.as_str())])
        .await
        .expect(200);
    let bob = app.other_account(Mode::Test).await;
    let theirs = bob.account.clone().expect("an account");
    for wrong in [theirs.as_str(), "acct_1", ""] {
        let answer = fleets(&app.alice, &[("service-account", wrong)]).await;
        answer.expect_error(404, "account_not_found", "Service-Account");
    }
    // A child's own key opens the child, not its parent.
    let key = app
        .alice
        .send("POST", "/v1/api_keys", Some("{}".into()), &acting)
        .await
        .expect(200);
    let inside = app.with_key(
        key.body["secret"].as_str().expect("a secret").to_owned(),
        child.as_str().into(),
    );
    assert_eq!(inside.get("/v1/fleets").await.ids(), [fleet]);
    fleets(&inside, &[("service-account", own.as_str())])
        .await
        .expect(404);
    // A restricted key has the same restrictions inside a child.
    let reader = app.restricted(&app.alice, &["fleets:read"]).await;
    fleets(&reader, &acting).await.expect(200);
    let body = Some(tests::fleet().to_string());
    let refused = reader.send("POST", "/v1/fleets", body, &acting).await;
    assert_eq!(refused.error(), (403, "authentication_error", None, None));
}

#[tokio::test]
async fn without_a_key_the_error_is_whole_and_asks_for_a_bearer_key() {
    let app = TestApp::start().await;
    let answer = app.anon.get("/v1/fleets").await.expect(401);
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    let message = &answer.body["message"];
    assert_contains(message, "Authorization: Bearer");
    let want = json!({"object": "error", "type": "authentication_error", "code": null, "param": null,
        "message": message, "request": answer.header("service-request-id"), "status": 401, "doc_url": null});
    assert_eq!(answer.body, want);
}

#[tokio::test]
async fn the_rate_comes_before_the_scope() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    let reader = app.restricted(&app.alice, &["drivers:read"]).await;
    for _ in 0..50 {
        let answer = reader.get("/v1/fleets").await;
        if answer.status == 429 {
            assert_ne!(answer.header("retry-after"), "");
            return;
        }
        assert_eq!(answer.error(), (403, "authentication_error", None, None));
    }
    panic!("the rate was never reached");
}

#[tokio::test]
async fn the_scope_is_checked_before_version_idempotency_and_query() {
    let app = TestApp::start().await;
    let reader = app.restricted(&app.alice, &["fleets:read"]).await;
    let key = ("idempotency-key", "k");
    let first = app
        .alice
        .send("POST", "/v1/fleets", Some(fleet().to_string()), &[key])
        .await
        .expect(200);
    for (path, headers) in [
        ("/v1/fleets", &[key][..]),
        ("/v1/drivers", &[key][..]),
        ("/v1/fleets", &[("idempotency-key", "")][..]),
        ("/v1/fleets", &[("service-version", "latest")][..]),
        ("/v1/fleets?colour=red", &[][..]),
        ("/v1/fleets/flt_1", &[][..]),
    ] {
        let answer = reader
            .send("POST", path, Some(fleet().to_string()), headers)
            .await;
        assert_eq!(
            answer.error(),
            (403, "authentication_error", None, None),
            "{path} {headers:?}"
        );
        assert_eq!(answer.header("idempotent-replayed"), "");
    }
    assert_eq!(reader.get("/v1/fleets").await.ids(), [first.id()]);
}

#[tokio::test]
async fn a_wrong_body_is_reported_before_a_missing_object() {
    let (app, crew) = TestApp::with_crew().await;
    let absent = |prefix: &str| format!("{prefix}{:032x}", 1);
    let vehicle = tests::vehicle(&crew.fleet);
    let wrong = json!({"policy_ids": ["pol_1"], "battery_capacity": 0});
    let vehicle = with(vehicle, wrong);
    let path = |kind: &str, prefix: &str| format!("/v1/{kind}/{}", absent(prefix));
    let driver = path("drivers", "drv_");
    for (path, body, param) in [
        (
            path("accounts", "acct_"),
            json!({"colour": "red"}),
            "colour",
        ),
        (
            path("fleets", "flt_"),
            json!({"timezone": "Mars/Olympus"}),
            "timezone",
        ),
        (driver.clone(), json!({"status": "gone"}), "status"),
        (format!("{driver}/attach"), json!({}), "fleet"),
        (format!("{driver}/detach"), json!({"fleet": 1}), "fleet"),
        (
            path("vehicles", "veh_"),
            json!({"battery_capacity": 0}),
            "battery_capacity",
        ),
        ("/v1/vehicles".to_owned(), vehicle, "battery_capacity"),
    ] {
        let answer = app.alice.post(&path, body.clone()).await;
        assert_eq!(
            (answer.status, answer.body["param"].as_str()),
            (400, Some(param)),
            "{path} {body}: {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn what_cannot_be_an_id_names_nothing() {
    let app = TestApp::start().await;
    app.needs("paths that no gateway has changed");
    let id = app.alice.create("/v1/fleets", fleet()).await;
    for wrong in [
        "flt_".to_owned(),
        id.to_uppercase(),
        id.replace("flt_", "drv_"),
        id.replace("flt_", ""),
        format!("{id}0"),
        format!("{id}%20"),
        format!("{id}%23x"),
        format!("%00{id}"),
        "flt_%2F..%2F".to_owned(),
        format!("flt_{}", "0".repeat(5000)),
        "%F0%9F%9A%97".to_owned(),
        "%FF".to_owned(),
    ] {
        let answer = app.alice.get(&format!("/v1/fleets/{wrong}")).await;
        answer.expect_error(404, "fleet_not_found", "fleet");
    }
    for wrong in ["/v1/fleets/", "/v1/fleets/x/y", "/v1/", "/v2"] {
        app.alice.get(wrong).await.expect_error(404, None, None);
    }
}

#[tokio::test]
async fn the_largest_and_the_deepest_body_are_still_read() {
    let app = TestApp::start().await;
    let fleet = fleet().to_string();
    let padded = |length: usize| format!("{fleet}{}", " ".repeat(length - fleet.len()));
    let send = async |body: String| app.alice.send("POST", "/v1/fleets", Some(body), &[]).await;
    send(padded(256 * 1024)).await.expect(200);
    let large = send(padded(256 * 1024 + 1)).await.expect(400);
    assert!(large.text.contains("256 KiB"), "{}", large.text);
    let nested = |depth: usize| {
        let inner = depth - 1;
        format!(
            "{{\"metadata\":{}{}}}",
            "[".repeat(inner),
            "]".repeat(inner)
        )
    };
    // Sixteen levels are parsed, and then refused as metadata; one more level is too deep.
    assert_eq!(send(nested(16)).await.error().3, Some("metadata"));
    let deep = send(nested(17)).await;
    deep.expect_error(400, None, None);
    assert!(deep.text.contains("16 levels"), "{}", deep.text);
}

#[tokio::test]
async fn a_query_is_refused_where_none_is_understood() {
    let app = TestApp::start().await;
    let response = app.alice.post("/v1/fleets?limit=1", fleet()).await;
    response.expect_error(400, None, "limit");
    let deleted = app.alice.delete("/v1/api_keys/key_1?x=1").await;
    assert_eq!(deleted.error().3, Some("x"));
    assert!(app.alice.get("/v1/fleets").await.ids().is_empty());
}

#[tokio::test]
async fn metadata_at_its_limits_is_kept_whole() {
    let app = TestApp::start().await;
    let metadata = json!({"ключ".repeat(10): "ü".repeat(500), "k": " "});
    let body = with(fleet(), json!({"metadata": metadata}));
    let fleet = app.alice.post_ok("/v1/fleets", body).await;
    assert_eq!(fleet["metadata"], metadata);
    let path = format!("/v1/fleets/{}", id_of(&fleet));
    assert_eq!(app.alice.get_ok(&path).await["metadata"], metadata);
    let wrong = json!({"name": "New", "metadata": {"k": "v".repeat(501)}});
    let refused = app.alice.post(&path, wrong).await;
    assert_eq!(refused.status, 400);
    assert_has!(app.alice.get_ok(&path).await, {"metadata": metadata, "name": fleet["name"]});
}

//! `If-Match`, and requests with `dry_run`.

use serde_json::json;
use tests::samples::Sample;
use tests::{Receiver, TestApp, fleet};
use web::{Method, Route};

fn routes(which: fn(&Route) -> bool) -> impl Iterator<Item = Route> {
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    routes.filter(which)
}

/// A request with another version, the current one and none: only the first is refused, and it changes nothing.
#[tokio::test]
async fn every_update_and_deletion_heeds_if_match() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    for route in routes(Route::accepts_if_match) {
        let name = route.name;
        let sample = Sample::prepare(&app, &receiver, &route).await;
        let path = sample.event["rawPath"].as_str().expect("a path").to_owned();
        let body = sample.event["body"].as_str().map(str::to_owned);
        let before = app.alice.get(&path).await.expect(200);
        let tag = before.header("etag").to_owned();
        assert!(tag.len() > 2 && tag.starts_with('"'), "{name}: {tag}");
        let send = async |tag: &str| {
            let headers = [("if-match", tag), ("idempotency-key", name)];
            let method = route.method.as_str();
            app.alice.send(method, &path, body.clone(), &headers).await
        };
        for other in ["\"999999\"", &format!("W/{tag}"), "\"x\""] {
            let refused = send(other).await;
            refused.expect_error(412, "version_conflict", "If-Match");
        }
        let after = app.alice.get(&path).await.expect(200);
        assert_eq!(after.header("etag"), tag, "{name}");
        let done = send(&format!("\"999999\", {tag}")).await.expect(200);
        let shown = app.alice.get(&path).await;
        match route.method {
            Method::Delete => assert_eq!(shown.status, 404, "{name}"),
            _ => assert_eq!(done.header("etag"), shown.header("etag"), "{name}"),
        }
        // The first response is repeated, although the version has changed.
        let repeated = send(&tag).await.expect(200);
        assert_eq!(repeated.header("idempotent-replayed"), "true", "{name}");
        assert_eq!(repeated.body, done.body, "{name}");
        assert_eq!(
            repeated.headers.get("etag"),
            done.headers.get("etag"),
            "{name}"
        );
    }
    app.drain().await;
}

/// An update without members, or with the values that the object has, creates no version and no event.
#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let is_update = |route: &Route| {
        route.accepts_if_match() && route.method == Method::Post && route.path.ends_with("/{id}")
    };
    let newest_event =
        async || app.alice.get_ok("/v1/events?limit=1").await["data"][0]["id"].clone();
    for route in routes(is_update) {
        let name = route.name;
        let sample = Sample::prepare(&app, &receiver, &route).await;
        let path = sample.event["rawPath"].as_str().expect("a path").to_owned();
        app.drain().await;
        let before = app.alice.get(&path).await.expect(200);
        let event = newest_event().await;
        let own = json!({"metadata": before.body["metadata"]});
        for body in [json!({}), own] {
            let done = app.alice.post(&path, body).await.expect(200);
            assert_eq!(done.header("etag"), before.header("etag"), "{name}");
        }
        app.drain().await;
        let after = app.alice.get(&path).await.expect(200);
        assert_eq!(after.body, before.body, "{name}");
        assert_eq!(after.header("etag"), before.header("etag"), "{name}");
        assert_eq!(newest_event().await, event, "{name}");
        let body = Some(json!({}).to_string());
        let other = [("if-match", "\"999999\"")];
        let refused = app.alice.send("POST", &path, body, &other).await;
        refused.expect_error(412, "version_conflict", "If-Match");
    }
}

/// Failed deliveries are recorded in the endpoint, which does not show them.
#[tokio::test]
async fn failed_deliveries_do_not_change_the_version_of_an_endpoint() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    let path = format!("/v1/webhook_endpoints/{endpoint}");
    let before = app.alice.get(&path).await.expect(200);
    let tag = before.header("etag").to_owned();
    receiver.answer(&[500; 3]);
    for _ in 0..3 {
        app.alice.create("/v1/fleets", fleet()).await;
        app.drain().await;
    }
    assert!(receiver.received().len() >= 3);
    let after = app.alice.get(&path).await.expect(200);
    assert_eq!(after.header("etag"), tag);
    let update = async |tag: &str, note: &str| {
        let body = Some(json!({"description": note}).to_string());
        app.alice
            .send("POST", &path, body, &[("if-match", tag)])
            .await
    };
    let changed = update(&tag, "a").await.expect(200);
    let next = changed.header("etag").to_owned();
    assert_eq!(app.alice.get(&path).await.header("etag"), next);
    assert_ne!(next, tag);
    update(&tag, "b")
        .await
        .expect_error(412, "version_conflict", "If-Match");
    update(&next, "c").await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn if_match_is_refused_where_it_has_no_meaning() {
    let app = TestApp::start().await;
    let send = async |path: &str, body: serde_json::Value, tag: &str| {
        let headers = [("if-match", tag)];
        let body = Some(body.to_string());
        app.alice.send("POST", path, body, &headers).await
    };
    let refused = send("/v1/fleets", fleet(), "\"1\"").await;
    refused.expect_error(400, None, "If-Match");
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{fleet}");
    for malformed in ["1", "\"1", "", "\"1\" \"2\""] {
        let refused = send(&path, json!({"name": "Day"}), malformed).await;
        refused.expect_error(400, None, "If-Match");
    }
    send(&path, json!({"name": "Day"}), "*").await.expect(200);
    app.drain().await;
}

/// A dry run shows the effect of the request, and changes nothing.
#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    for route in routes(|route| route.allows_dry_run) {
        let name = route.name;
        let sample = Sample::prepare(&app, &receiver, &route).await;
        let path = sample.event["rawPath"].as_str().expect("a path").to_owned();
        let body = sample.event["body"].as_str().map(str::to_owned);
        app.drain().await;
        let count = async || app.alice.walk("/v1/events?limit=100").await.len();
        let (events, method) = (count().await, route.method.as_str());
        let headers = [("idempotency-key", name)];
        let send = async |query: &str| {
            let path = format!("{path}{query}");
            app.alice.send(method, &path, body.clone(), &headers).await
        };
        let rehearsed = send("?dry_run=true").await.expect(200);
        assert_eq!(rehearsed.header("service-dry-run"), "true", "{name}");
        app.drain().await;
        assert_eq!(count().await, events, "{name}");
        // Neither the state nor a stored response prevents the request itself.
        let done = send("?dry_run=false").await.expect(200);
        assert_eq!(done.header("service-dry-run"), "", "{name}");
        assert_eq!(done.header("idempotent-replayed"), "", "{name}");
        for member in ["object", "status", "amount", "deleted"] {
            assert_eq!(
                rehearsed.body[member], done.body[member],
                "{name}: {member}"
            );
        }
    }
    app.drain().await;
}

#[tokio::test]
async fn a_dry_run_is_refused_as_the_request_would_be() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/fleets/{}?dry_run=true", crew.fleet);
    let refused = app.alice.delete(&path).await;
    refused.expect_error(409, None, "fleet");
    let path = format!("/v1/fleets/{}?dry_run=perhaps", crew.fleet);
    let refused = app.alice.delete(&path).await;
    refused.expect_error(400, None, "dry_run");
    let response = app.alice.post("/v1/fleets?dry_run=true", fleet()).await;
    response.expect_error(400, None, "dry_run");
    app.drain().await;
}

//! Versions: the service has one version before the current one, as a deployment after its first change.

use kernel::version::{VersionChange, Versions};
use serde_json::{Map, Value, json};
use tests::{Receiver, TestApp, assert_has, fleet, id_of, with};

const OLD: &str = "2025-01-15";
const NEW: &str = "2026-03-01";

/// In the old version a fleet had a `title`, and no `metric_system`.
fn versions() -> Versions {
    fn downgrade(kind: &str, object: &mut Map<String, Value>) {
        if kind == "fleet" {
            object.remove("metric_system");
            if let Some(name) = object.remove("name") {
                object.insert("title".into(), name);
            }
        }
    }
    fn upgrade(route: &str, body: &mut Map<String, Value>) {
        if matches!(route, "create-fleet" | "update-fleet")
            && let Some(title) = body.remove("title")
        {
            body.insert("name".into(), title);
        }
    }
    Versions::before_current(vec![VersionChange {
        older: OLD,
        downgrade,
        upgrade,
    }])
}

async fn start() -> TestApp {
    TestApp::start_with(|options| options.versions = versions()).await
}

fn old_fleet() -> String {
    let mut body = with(fleet(), json!({"title": "Day shift"}));
    body.as_object_mut().expect("an object").remove("name");
    body.to_string()
}

#[tokio::test]
async fn a_request_in_an_older_version_sends_and_gets_the_older_shape() {
    let app = start().await;
    let alice = &app.alice;
    let old = [("service-version", OLD)];
    let fleet = alice
        .send("POST", "/v1/fleets", Some(old_fleet()), &old)
        .await
        .expect(200);
    assert_eq!(fleet.header("service-version"), OLD);
    assert_eq!(fleet.header("deprecation"), "@1772323200");
    assert_eq!(fleet.header("sunset"), "Wed, 01 Mar 2028 00:00:00 GMT");
    assert_eq!(fleet.body["title"], "Day shift");
    assert_eq!(
        (fleet.body.get("name"), fleet.body.get("metric_system")),
        (None, None)
    );
    // The same object in the current version.
    let path = format!("/v1/fleets/{}", fleet.id());
    let shown = alice.get(&path).await.expect(200);
    assert_eq!(shown.header("service-version"), NEW);
    assert_eq!(
        (shown.header("deprecation"), shown.header("sunset")),
        ("", "")
    );
    assert_eq!(
        (&shown.body["name"], shown.body.get("title")),
        (&json!("Day shift"), None)
    );
    let listed = alice
        .send("GET", "/v1/fleets", None, &old)
        .await
        .expect(200);
    assert_eq!(listed.body["data"][0]["title"], "Day shift");
    let body = tests::vehicle(&fleet.id()).to_string();
    let vehicle = alice
        .send("POST", "/v1/vehicles?expand[]=fleet", Some(body), &old)
        .await;
    assert_eq!(vehicle.expect(200).body["fleet"]["title"], "Day shift");
    // Each version only has its own members.
    let answer = alice
        .send("POST", "/v1/fleets", Some(old_fleet()), &[])
        .await;
    assert_eq!(answer.error().0, 400);
    let answer = alice
        .send("POST", &path, None, &[("service-version", "2025-01-16")])
        .await;
    assert_eq!(answer.error().3, Some("Service-Version"));
    app.drain().await;
}

#[tokio::test]
async fn a_delivery_has_the_version_its_endpoint_is_pinned_to() {
    let app = start().await;
    let receiver = Receiver::start().await;
    let hook = |version: &str| json!({"url": receiver.url, "enabled_events": ["fleet.created", "fleet.updated"], "api_version": version});
    let pinned = app.alice.post_ok("/v1/webhook_endpoints", hook(OLD)).await;
    assert_eq!(pinned["api_version"], OLD);
    let created = app.alice.post("/v1/fleets", fleet()).await;
    app.drain().await;
    let path = format!("/v1/fleets/{}", created.id());
    app.alice
        .post_ok(&path, json!({"name": "Noon shift"}))
        .await;
    app.drain().await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    let event = &received[0].event;
    assert_has!(event, {"api_version": OLD, "/data/object/title": "Night shift"});
    assert_eq!(event["data"]["object"].get("name"), None);
    let previous = &received[1].event["data"]["previous_attributes"];
    assert_eq!(
        (&previous["title"], previous.get("name")),
        (&json!("Night shift"), None)
    );
    // The stored event has the account's version.
    let path = format!("/v1/events/{}", id_of(event));
    assert_has!(app.alice.get_ok(&path).await, {"api_version": NEW, "/data/object/name": "Night shift"});
    // After a change of the endpoint's version, its deliveries have the new version.
    let path = format!("/v1/webhook_endpoints/{}", id_of(&pinned));
    app.alice.post_ok(&path, json!({"api_version": NEW})).await;
    app.advance(10).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    assert_eq!(
        receiver.received()[2].event["data"]["object"]["name"],
        "Night shift"
    );
}

#[tokio::test]
async fn an_accounts_version_applies_to_requests_events_and_webhooks() {
    let app = start().await;
    let child = app
        .alice
        .create(
            "/v1/accounts",
            json!({"name": "Branch", "email": "a@b.example", "type": "business"}),
        )
        .await;
    age(&app, &child).await;
    let inside = [("service-account", child.as_str())];
    let fleet = app
        .alice
        .send("POST", "/v1/fleets", Some(old_fleet()), &inside)
        .await
        .expect(200);
    assert_eq!(
        (fleet.header("service-version"), &fleet.body["title"]),
        (OLD, &json!("Day shift"))
    );
    app.drain().await;
    let events = app
        .alice
        .send("GET", "/v1/events?type=fleet.created", None, &inside)
        .await
        .expect(200);
    let event = &events.body["data"][0];
    assert_has!(event, {"api_version": OLD, "/data/object/title": "Day shift"});
    // An event keeps its version, regardless of the version of the request.
    let path = format!("/v1/events/{}", id_of(event));
    let newer = [inside[0], ("service-version", NEW)];
    let shown = app.alice.send("GET", &path, None, &newer).await.expect(200);
    assert_eq!(shown.body["data"]["object"]["title"], "Day shift");
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]}).to_string();
    let endpoint = app
        .alice
        .send("POST", "/v1/webhook_endpoints", Some(hook), &inside)
        .await
        .expect(200);
    assert_eq!(endpoint.body["api_version"], OLD);
}

/// Changes an account as if it had existed before the current version.
async fn age(app: &TestApp, account: &str) {
    use models::Account;
    let tenant = kernel::Tenant::new(kernel::Id::from(account), kernel::Mode::Test);
    let store = &app.app().store;
    let mut stored = store
        .load::<Account>(&tenant, &tenant.account)
        .await
        .expect("the account");
    stored.internal.version = Some(OLD.to_owned());
    let origin = kernel::origin::Origin::background(tenant, app.now());
    store
        .save(&origin, &mut stored)
        .await
        .expect("the object is stored");
}

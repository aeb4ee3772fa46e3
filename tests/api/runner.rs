//! The routes of the local runner below `/_local/` besides the API: its clock, notices of changes, its requests, the pending work, the
//! import of stations, and the console.

use std::time::Duration;

use kernel::time::minutes;
use kernel::{Mode, Timestamp};
use serde_json::{Value, json};
use tests::{TestApp, assert_has, fleet, id_of};

/// A service on an embedded table in this process.
async fn start() -> TestApp {
    TestApp::start_with(|_| {}).await
}

#[tokio::test]
async fn the_clock_can_be_read_and_stands_where_it_was_moved_to() {
    let app = start().await;
    let now = async || {
        let read = app.local().get_ok("/_local/clock").await;
        serde_json::from_value::<Timestamp>(read["now"].clone()).expect("a time")
    };
    let before = now().await;
    app.advance(3_600).await;
    let moved = now().await.since(before);
    assert!((minutes(60)..minutes(61)).contains(&moved), "{moved}");
}

#[tokio::test]
async fn the_log_has_each_request_of_the_api_newest_first() {
    let app = start().await;
    let created = app.alice.post("/v1/fleets?expand[]=data", fleet()).await;
    let listed = app.alice.get("/v1/fleets?limit=1").await.expect(200);
    let missing = app.alice.get("/v1/nothing").await.expect(404);
    let refused = app.anon.get("/v1/fleets").await.expect(401);
    app.local().get_ok("/_local/inbox").await;
    app.anon.get_ok("/docs/errors").await;

    let log = app.local().get_ok("/_local/requests").await;
    assert_eq!(log["last"], 4);
    let entries = log["data"].as_array().expect("entries");
    let shown: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!([
                entry["number"],
                entry["method"],
                entry["path"],
                entry["status"],
                entry["request"]
            ])
        })
        .collect();
    let id = |answer: &tests::TestResponse| answer.header("service-request-id").to_owned();
    assert_eq!(
        shown,
        [
            json!([4, "GET", "/v1/fleets", 401, id(&refused)]),
            json!([3, "GET", "/v1/nothing", 404, id(&missing)]),
            json!([2, "GET", "/v1/fleets", 200, id(&listed)]),
            json!([1, "POST", "/v1/fleets", created.status, id(&created)]),
        ]
    );
    for entry in entries {
        assert!(entry["duration_ms"].as_f64().is_some_and(|ms| ms >= 0.0));
        let time: Result<Timestamp, _> = serde_json::from_value(entry["time"].clone());
        assert!(time.is_ok(), "{entry}");
    }
    let newer = app.local().get_ok("/_local/requests?after=3").await;
    assert_eq!(newer["data"], json!([entries[0]]));
}

#[tokio::test]
async fn the_log_has_no_bodies_keys_or_query_strings() {
    let app = start().await;
    let key = app.alice.key.clone().expect("a key");
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.alice.get("/v1/fleets?page=page_secret").await;
    let log = app.local().get("/_local/requests").await.expect(200).text;
    let name = fleet()["name"].to_string();
    for private in [key.as_str(), "page_secret", "?", &name] {
        assert!(!log.contains(private), "{private}: {log}");
    }
}

#[tokio::test]
async fn an_after_that_is_no_number_is_400() {
    let app = start().await;
    for query in ["after=x", "after=-1", "before=1"] {
        let path = format!("/_local/requests?{query}");
        let answer = app.local().get(&path).await.expect(400).body;
        assert_eq!(answer["param"], "after", "{query}");
    }
}

/// The notices of changes, as they arrive.
struct Notices {
    response: reqwest::Response,
    received: String,
}

impl Notices {
    async fn open(app: &TestApp) -> Self {
        let client = reqwest::Client::builder().no_proxy().build();
        let url = format!("{}/_local/events", app.running().base_url);
        let request = client.expect("a client").get(url);
        let response = request.bearer_auth(&app.running().token).send().await;
        let response = response.expect("a response");
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers().get(name).expect("a header").clone();
        assert_eq!(header("content-type"), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store");
        let received = String::new();
        Self { response, received }
    }

    /// The name and the data of the next event. None at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.received.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines();
                    lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
                };
                let data = field("data:").expect("data");
                let data = serde_json::from_str(&data).expect("JSON");
                let event = (field("event:").expect("a name"), data);
                self.received = rest.to_owned();
                return Some(event);
            }
            let read = self.response.chunk();
            let read = tokio::time::timeout(Duration::from_secs(60), read).await;
            let read = read.expect("something arrives").expect("it goes on")?;
            self.received += std::str::from_utf8(&read).expect("a text");
        }
    }

    /// The next event with this name.
    async fn next_named(&mut self, name: &str) -> Value {
        loop {
            let (event, data) = self.next().await.expect("an event");
            if event == name {
                return data;
            }
        }
    }
}

#[tokio::test]
async fn changes_of_the_account_are_notified_by_kind_and_id_alone() {
    let app = start().await;
    app.drain().await;
    let mut notices = Notices::open(&app).await;
    let (event, ready) = notices.next().await.expect("an event");
    assert_eq!(event, "ready");
    assert_has!(ready, {"account": app.running().account.as_str(), "mode": "test"});
    assert!(ready["run"].is_string() && ready["now"].is_string() && ready["last"].is_number());

    let created = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    let notice = notices.next_named("change").await;
    assert_eq!(notice, json!({"object": "fleet", "id": created}));
    // The event of the creation is a change as well.
    loop {
        let notice = notices.next_named("change").await;
        if notice["object"] == "event" {
            break;
        }
    }
    let again = Notices::open(&app).await.next_named("ready").await;
    assert_eq!(again["run"], ready["run"]);
    assert!(again["last"].as_u64() > ready["last"].as_u64());
}

#[tokio::test]
async fn changes_of_other_accounts_and_modes_are_not_notified() {
    let app = start().await;
    app.drain().await;
    let mut notices = Notices::open(&app).await;
    let ready = notices.next_named("ready").await;
    let others = [
        app.other_account(Mode::Test).await,
        app.other_account(Mode::Live).await,
        app.child_of(&app.alice).await,
    ];
    app.drain().await;
    // The account itself has changed, because it has a child now.
    let before = Notices::open(&app).await.next_named("ready").await;
    for other in &others {
        let fleet = other.post_ok("/v1/fleets", fleet()).await;
        let renamed = json!({"name": "Renamed"});
        let path = format!("/v1/fleets/{}", id_of(&fleet));
        other.post_ok(&path, renamed).await;
    }
    app.drain().await;
    let after = Notices::open(&app).await.next_named("ready").await;
    assert_eq!(
        before,
        json!({"now": before["now"], "last": after["last"], "run": ready["run"],
        "account": ready["account"], "mode": "test"})
    );
    let own = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    let mut seen = Vec::new();
    loop {
        let notice = notices.next_named("change").await;
        seen.push(notice.to_string());
        if notice["id"] == own {
            break;
        }
    }
    let seen = seen.join(" ");
    for other in &others {
        let account = other.account.as_ref().expect("an account");
        assert!(!seen.contains(account.as_str()), "{seen}");
    }
    assert_eq!(seen.matches("\"fleet\"").count(), 1, "{seen}");
}

#[tokio::test]
async fn a_moved_clock_is_notified() {
    let app = start().await;
    app.drain().await;
    let mut notices = Notices::open(&app).await;
    app.advance(3_600).await;
    let moved = notices.next_named("clock").await;
    let moved: Timestamp = serde_json::from_value(moved["now"].clone()).expect("a time");
    assert!(app.now().since(moved) < minutes(1));
}

fn location(id: &str) -> Value {
    json!({"country_code": "PT", "party_id": "ISL", "id": id, "publish": true, "name": id, "address": "1 Quay",
        "city": "Horta", "country": "PRT", "coordinates": {"latitude": "38.5000", "longitude": "-28.6000"},
        "evses": [{"uid": "1", "status": "AVAILABLE", "last_updated": "2026-01-01T00:00:00Z", "connectors": [
            {"id": "1", "standard": "IEC_62196_T2", "format": "CABLE", "power_type": "AC_3_PHASE", "max_voltage": 230,
            "max_amperage": 32, "tariff_ids": ["T"], "last_updated": "2026-01-01T00:00:00Z"}]}],
        "time_zone": "Atlantic/Azores", "last_updated": "2026-01-01T00:00:00Z"})
}

#[tokio::test]
async fn loading_stations_sets_prices_and_reports_skipped_locations() {
    let app = start().await;
    let tariff = json!({"country_code": "PT", "party_id": "ISL", "id": "T", "currency": "EUR", "elements": [
        {"price_components": [{"type": "ENERGY", "price": 0.5, "step_size": 1}]}],
        "last_updated": "2026-01-01T00:00:00Z"});
    let body = json!({"stations": {"data": [location("A"), {"id": "B"}]}, "tariffs": [tariff]});
    let loaded = app.local().post("/_local/stations", body.clone()).await;
    assert_has!(loaded.expect(200).body, {"imported": 1, "created": 1, "tariffs": 1, "/skipped/0/id": "B"});
    let island = "/v1/charging_stations?latitude=38.5&longitude=-28.6&radius=1000";
    let found = app.alice.get_ok(island).await;
    assert_has!(found["data"][0], {"name": "A", "/connectors/0/pricing/0/currency": "eur"});

    assert_has!(app.local().post_ok("/_local/stations", body).await, {"created": 0, "updated": 0});
}

#[tokio::test]
async fn stations_of_another_shape_are_400_and_nothing_is_loaded() {
    let app = start().await;
    let all = "/v1/charging_stations?limit=100";
    let before = app.alice.get_ok(all).await;
    for body in [
        json!({}),
        json!({"stations": 1}),
        json!({"stations": [], "more": 1}),
        json!({"stations": [location("A")], "tariffs": "x"}),
    ] {
        let answer = app.local().post("/_local/stations", body.clone()).await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.body["object"], "error");
    }
    assert_eq!(app.alice.get_ok(all).await, before);
}

#[tokio::test]
async fn work_that_is_due_later_is_listed_in_its_order() {
    let app = start().await;
    let crew = app.crew(&app.alice).await;
    let reservation = app.reservation(&crew, 120);
    let reservation = app
        .alice
        .post("/v1/reservations", reservation)
        .await
        .expect(200);
    app.drain().await;
    let due = app.local().get_ok("/_local/due").await;
    let work = due["data"].as_array().expect("work");
    let of_reservation = work
        .iter()
        .find(|entry| entry["object"] == reservation.id())
        .expect("the confirmation is due");
    assert_eq!(of_reservation["function"], "confirm-reservation");
    let moments: Vec<&str> = work
        .iter()
        .filter_map(|entry| entry["at"].as_str())
        .collect();
    assert!(moments.is_sorted(), "{moments:?}");
    assert_eq!(due["total"], work.len());
}

#[tokio::test]
async fn the_console_is_served_with_a_strict_policy_and_revalidated() {
    let app = start().await;
    let page = app.anon.get("/").await.expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'; script-src 'self'; style-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let script = app.anon.get("/src/main.js").await.expect(200);
    assert_eq!(
        script.header("content-type"),
        "text/javascript; charset=utf-8"
    );
    let known = [("if-none-match", script.header("etag"))];
    let again = app.anon.send("GET", "/src/main.js", None, &known).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let compressed = [("accept-encoding", "gzip")];
    let compressed = app.anon.send("GET", "/src/app.js", None, &compressed).await;
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert_eq!(app.anon.get("/src/missing.js").await.status, 401);
}

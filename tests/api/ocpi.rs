//! The interfaces that charging networks call, and the requests to them: one module per OCPI module, and one for operators.

use std::time::Duration;

use functions::networks::handshake::{self, Agreed};
use functions::networks::sync::{Limits, pull_within};
use futures::future::join_all;
use kernel::time::{HOUR, MINUTE, seconds};
use kernel::{Id, Mode};
use models::ChargingStation;
use ocpi::credentials::CredentialsToken;
use ocpi::versions::OcpiVersion;
use serde_json::{Value, json};
use table::networks::{ReceivedObject, shared_origin};
use tests::platform::{
    Connected, claim, codes, fixture, hub_role, manage, manage_ok, platform, send, send_expecting,
};
use tests::recorder::Recorder;
use tests::{
    TestApp, TestResponse, assert_contains, assert_has, cases, each, id_of, path_of, with,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

async fn get_expecting(app: &TestApp, token: &str, path: &str, code: (u16, i64)) -> TestResponse {
    send_expecting(app, token, "GET", path, None, code).await
}

/// The service that has the table, and a service whose calls of the table are recorded.
async fn recorded() -> (TestApp, TestApp, Recorder) {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    (table, app, recorder)
}

/// The station that the location of the fixture becomes.
async fn station(app: &TestApp) -> Value {
    let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500";
    let page = app.alice.get_ok(path).await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "{page}");
    page["data"][0].clone()
}

mod edge {
    use super::*;
    use axum::body::Body;
    use axum::http::Request;
    use functions::log::lines;
    use std::io::{Result as Written, Write};
    use std::sync::{Arc, Mutex};
    use tower::ServiceExt as _;
    use tracing::instrument::WithSubscriber as _;
    use tracing::level_filters::LevelFilter;

    #[tokio::test]
    async fn every_answer_repeats_the_message_ids_and_names_the_parties() {
        let (app, cpo) = Connected::start().await;
        let headers = [
            ("x-request-id", "request-1"),
            ("x-correlation-id", "correlation-1"),
            ("ocpi-from-country-code", "nl"),
            ("ocpi-from-party-id", "exa"),
            ("ocpi-to-country-code", "GB"),
            ("ocpi-to-party-id", "FCS"),
        ];
        let path = "/ocpi/2.2.1/tokens";
        let answer = send(&app, &cpo.token, "GET", path, None, &headers).await;
        assert_eq!(codes(&answer), (200, 1000));
        assert_eq!(answer.header("x-request-id"), "request-1");
        assert_eq!(answer.header("x-correlation-id"), "correlation-1");
        assert_eq!(answer.header("ocpi-from-party-id"), "FCS");
        assert_eq!(answer.header("ocpi-to-party-id"), "EXA");
        // Messages about the connection itself are not routed.
        let answer = send(&app, &cpo.token, "GET", "/ocpi/versions", None, &headers).await;
        assert_eq!(answer.header("ocpi-from-party-id"), "");
        let path = "/ocpi/2.2.1/tokens";
        for (name, value, code) in [
            ("ocpi-to-party-id", "XXX", (200, 2001)),
            ("ocpi-from-party-id", "XXX", (404, 2000)),
            ("ocpi-from-party-id", "?", (200, 2001)),
        ] {
            let mut headers = headers.to_vec();
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value));
            let answer = send(&app, &cpo.token, "GET", path, None, &headers).await;
            assert_eq!(codes(&answer), code, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn without_a_valid_token_nothing_is_answered_but_401() {
        let (app, cpo) = Connected::start().await;
        let mistyped = cpo.token.replace("test", "live");
        for token in ["", "x", "ocpi_test_0", mistyped.as_str()] {
            for path in ["/ocpi/versions", "/ocpi/2.2.1/tokens", "/ocpi/nothing/here"] {
                let answer = get_expecting(&app, token, path, (401, 2000)).await;
                assert_eq!(answer.header("www-authenticate"), "Token");
            }
        }
        let answer = app.anon.send("GET", "/ocpi/versions", None, &[]).await;
        assert_eq!(codes(&answer), (401, 2000));
        // A key of the API is not a token of OCPI, and a token of OCPI is not a key of the API.
        assert_eq!(codes(&app.alice.get("/ocpi/versions").await), (401, 2000));
        let mut client = app.anon.clone();
        client.key = Some(cpo.token.clone());
        client.get("/v1/fleets").await.expect(401);
    }

    #[tokio::test]
    async fn unknown_paths_methods_and_versions_return_ocpi_errors() {
        let (app, cpo) = Connected::start().await;
        cpo.expect("GET", "/nothing", None, (404, 2000)).await;
        let answer = cpo
            .expect("POST", "/tariffs/NL/EXA/DAY", Some(&json!({})), (405, 2000))
            .await;
        assert!(answer.header("allow").contains("PUT"));
        get_expecting(&app, &cpo.token, "/ocpi/2.1.1/tokens", (404, 3002)).await;
    }

    #[tokio::test]
    async fn a_platform_touches_nothing_of_another_party() {
        let (app, cpo) = Connected::start().await;
        let other = Connected::other(&app).await;
        cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
        let path = "/tariffs/NL/EXA/DAY";
        let tariff = fixture("tariff");
        for (method, body) in [("GET", None), ("PUT", Some(&tariff)), ("DELETE", None)] {
            other.expect(method, path, body, (404, 2000)).await;
        }
        other
            .expect("POST", "/cdrs", Some(&fixture("cdr")), (404, 2000))
            .await;
        assert_eq!(cpo.data(path).await, fixture("tariff"));
    }

    /// Charging periods of about 200 bytes each: `count` that follow the first `skipped` ones, one every ten seconds.
    pub fn periods(skipped: i64, count: i64) -> Vec<Value> {
        let start = kernel::Timestamp::parse("2026-02-01T09:00:00Z").expect("a time");
        let period = |number: i64| {
            let at = start.plus(kernel::time::seconds(10 * number));
            json!({"start_date_time": at, "tariff_id": "T".repeat(36),
                "dimensions": [{"type": "ENERGY", "volume": 0.0301}, {"type": "TIME", "volume": 0.0028}]})
        };
        (skipped..skipped + count).map(period).collect()
    }

    #[tokio::test]
    async fn invalid_json_is_400_and_an_oversized_body_is_413() {
        let (app, cpo) = Connected::start().await;
        use base64::Engine as _;
        let path = "/ocpi/2.2.1/tariffs/NL/EXA/DAY";
        let token = base64::engine::general_purpose::STANDARD.encode(&cpo.token);
        let header = [("authorization", &*format!("Token {token}"))];
        let send = async |body: String| app.anon.send("PUT", path, Some(body), &header).await;
        assert_eq!(codes(&send("{".into()).await), (400, 2001));
        let large = format!("\"{}\"", "x".repeat(300_000));
        assert_eq!(codes(&send(large).await), (413, 2000));
    }

    /// The lines of a log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> Written<usize> {
            let mut lines = self.0.lock().expect("the lines");
            lines.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Written<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_log_has_the_route_of_a_request_and_no_uid() {
        let app = TestApp::start().await;
        let (log, router) = (Lines::default(), functions::router(app.app().clone()));
        let output = log.clone();
        let subscriber = || lines(LevelFilter::INFO, move || output.clone());
        let send = async || {
            for path in ["04A1B2C3D4E5/authorize", "04A1B2C3D4E5/other/path"] {
                let request = Request::post(format!("/ocpi/2.2.1/tokens/{path}"));
                let request = request.body(Body::empty()).expect("a request");
                router.clone().oneshot(request).await.expect("a response");
            }
        };
        // The places that log are known before there is a subscriber, so that another test's thread, which has none, is
        // not the first at one of them and switches it off.
        send().await;
        send().with_subscriber(subscriber()).await;
        let log = log.0.lock().expect("the lines").clone();
        let log = String::from_utf8(log).expect("text");
        assert!(!log.contains("04A1B2C3D4E5"), "{log}");
        let routes: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["http.route"].clone())
            .collect();
        assert_eq!(
            routes,
            [
                json!("/ocpi/{version}/tokens/{token_uid}/authorize"),
                json!("")
            ]
        );
    }

    #[tokio::test]
    async fn the_rate_limit_of_one_platform_does_not_affect_others() {
        let app = TestApp::start().await;
        let (cpo, other) = (Connected::to(&app).await, Connected::other(&app).await);
        let limiter = &app.app().network_rates;
        let tenant =
            kernel::Tenant::new(kernel::Id::from(cpo.network.as_str()), kernel::Mode::Test);
        // The bucket is refilled by one request each millisecond, so it is emptied until a request finds it empty.
        let mut answer = cpo.send("GET", "/tokens", None).await;
        for _ in 0..100 {
            if answer.status == 429 {
                break;
            }
            while limiter
                .admit(&app.app().store, std::slice::from_ref(&tenant), app.now())
                .await
                .is_ok()
            {}
            answer = cpo.send("GET", "/tokens", None).await;
        }
        assert_eq!((answer.status, answer.header("retry-after")), (429, "1"));
        other.expect("GET", "/tokens", None, (200, 1000)).await;
    }
}

mod versions {
    use super::*;

    #[tokio::test]
    async fn both_versions_and_their_endpoints_are_listed() {
        let (app, cpo) = Connected::start().await;
        let list = get_expecting(&app, &cpo.token, "/ocpi/versions", (200, 1000)).await;
        let base = &app.running().base_url;
        let want = json!([{"version": "2.2.1", "url": format!("{base}/ocpi/2.2.1")},
            {"version": "2.3.0", "url": format!("{base}/ocpi/2.3.0")}]);
        assert_eq!(list.body["data"], want);
        for version in ["2.2.1", "2.3.0"] {
            let path = format!("/ocpi/{version}");
            let details = get_expecting(&app, &cpo.token, &path, (200, 1000)).await;
            app.snapshot(&format!("ocpi_{version}"), &details.body["data"]);
        }
    }
}

mod credentials {
    use super::*;

    const PATH: &str = "/ocpi/2.2.1/credentials";

    async fn issued(app: &TestApp) -> (String, String) {
        let issued = manage_ok(app, json!({"action": "issue_token", "name": "Example"})).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (text(&issued["token"]), text(&issued["network"]["id"]))
    }

    /// Sends the credentials of a platform.
    async fn exchange(
        app: &TestApp,
        token: &str,
        method: &str,
        platform: &cpo::Cpo,
        expected: (u16, i64),
    ) -> TestResponse {
        let credentials = platform.credentials();
        send_expecting(app, token, method, PATH, Some(&credentials), expected).await
    }

    async fn networks(app: &TestApp) -> Vec<Value> {
        let listed = manage_ok(app, json!({"action": "list"})).await;
        listed["data"].as_array().expect("networks").clone()
    }

    #[tokio::test]
    async fn a_platform_registers_with_token_a_and_goes_on_with_token_c() {
        let app = TestApp::start().await;
        let platform = platform().await;
        let (token_a, network) = issued(&app).await;
        assert_eq!(networks(&app).await[0]["status"], "pending");
        let path = "/ocpi/2.2.1/tokens";
        get_expecting(&app, &token_a, path, (401, 2000)).await;
        get_expecting(&app, &token_a, "/ocpi/versions", (200, 1000)).await;
        for method in ["PUT", "DELETE"] {
            exchange(&app, &token_a, method, &platform, (405, 2000)).await;
        }
        let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
        let own = &answer.body["data"];
        let token_c = own["token"].as_str().expect("a token");
        assert_has!(own, {"url": format!("{}/ocpi/versions", app.running().base_url), "/roles/0/role": "EMSP"});
        assert_ne!(token_c, token_a);
        // The request to the platform had the token that it has issued.
        assert_eq!(platform.received("GET", "/versions").len(), 1);
        let connected = &networks(&app).await[0];
        assert_has!(connected, {"id": network, "status": "connected"});
        assert_eq!(connected["version"], "2.2.1");
        let credentials = platform.credentials();
        let token_b = credentials["token"].as_str().expect("a token");
        assert!(!connected.to_string().contains(token_b));
        get_expecting(&app, token_c, path, (200, 1000)).await;
        // Token C is in use: token A is not valid any more.
        get_expecting(&app, &token_a, "/ocpi/versions", (401, 2000)).await;
        // It is registered already.
        exchange(&app, token_c, "POST", &platform, (405, 2000)).await;
    }

    #[tokio::test]
    async fn a_registration_whose_answer_was_lost_can_be_repeated() {
        let app = TestApp::start().await;
        let platform = platform().await;
        let (token_a, _) = issued(&app).await;
        let mut tokens = Vec::new();
        for _ in 0..3 {
            let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
            let token = answer.body["data"]["token"].as_str();
            tokens.push(token.expect("a token").to_owned());
        }
        let path = "/ocpi/2.2.1/tokens";
        get_expecting(&app, &tokens[2], path, (200, 1000)).await;
        for lost in [&tokens[0], &tokens[1], &token_a] {
            get_expecting(&app, lost, "/ocpi/versions", (401, 2000)).await;
        }
        assert_eq!(networks(&app).await.len(), 1);
    }

    #[tokio::test]
    async fn a_slow_registration_does_not_replace_a_later_one() {
        for is_used in [true, false] {
            slow_registration(is_used).await;
        }
    }

    /// Sends credentials while those that were sent before are still processed. `is_used` is whether the platform uses its token before
    /// that ends.
    async fn slow_registration(is_used: bool) {
        let app = TestApp::start().await;
        let platform = platform().await;
        let (token_a, _) = issued(&app).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let slow = json!({"url": format!("http://{address}/versions")});
        let slow = with(platform.credentials(), slow);
        let later = async {
            let (mut connection, _) = listener.accept().await.expect("a request");
            let answer = exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
            let token_c = answer.body["data"]["token"].as_str().expect("a token");
            if is_used {
                get_expecting(&app, token_c, PATH, (200, 1000)).await;
            }
            let details = platform.versions_url().replace("/versions", "/2.2.1");
            let list = json!({"status_code": 1000, "timestamp": "2026-01-01T00:00:00Z",
                "data": [{"version": "2.2.1", "url": details}]});
            let list = list.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let reply = format!("{head}\r\ncontent-length: {}\r\n\r\n{list}", list.len());
            connection.write_all(reply.as_bytes()).await.expect("sent");
            token_c.to_owned()
        };
        let first = send_expecting(&app, &token_a, "POST", PATH, Some(&slow), (401, 2000));
        let (_, token_c) = tokio::join!(first, later);
        get_expecting(&app, &token_c, "/ocpi/2.2.1/tokens", (200, 1000)).await;
    }

    #[tokio::test]
    async fn the_newest_token_is_accepted_whatever_the_clocks_say() {
        let (app, cpo) = Connected::start().await;
        let token = CredentialsToken::foreign(&cpo.token).expect("a token");
        let (network, credentials) = (Id::from(cpo.network.as_str()), cpo.credentials());
        let agreed = |token: &CredentialsToken| Agreed {
            version: OcpiVersion::V2_2_1,
            endpoints: Vec::new(),
            credentials: serde_json::from_value(credentials.clone()).expect("credentials"),
            own_url: "https://api.example/ocpi".into(),
            used_token: token.hash(),
            began: app.now().plus(-MINUTE),
        };
        // Another instance, whose clock is a minute slow, answers the platform.
        let next = handshake::connect(app.app(), Mode::Test, &network, agreed(&token)).await;
        let next = next.expect("a response").expect("a token");
        let repeated = Agreed {
            began: app.now().plus(-HOUR),
            ..agreed(&token)
        };
        let refused = handshake::connect(app.app(), Mode::Test, &network, repeated).await;
        assert!(refused.expect("a response").is_none());
        let latest = handshake::connect(app.app(), Mode::Test, &network, agreed(&next)).await;
        assert!(latest.expect("a response").is_some());
    }

    #[tokio::test]
    async fn a_platform_that_cannot_be_used_stays_unregistered() {
        let app = TestApp::start().await;
        let platform = platform().await;
        let (token_a, _) = issued(&app).await;
        let register = async |body: Value| {
            let answer = send(&app, &token_a, "POST", PATH, Some(&body), &[]).await;
            assert!(answer.body.get("data").is_none());
            codes(&answer)
        };
        let credentials = platform.credentials();
        for (change, code) in cases! {
            {"token": "with blanks"} => 2001,
            {"roles": []} => 2001,
            {"url": "not an address"} => 2001,
            {"url": "http://192.168.0.1/versions"} => 2001,
            {"url": "https://user:secret@cpo.example/versions"} => 2001,
            {"token": "another"} => 3001,
        } {
            let changed = with(credentials.clone(), change.clone());
            assert_eq!(register(changed).await, (200, code), "{change}");
        }
        assert_eq!(register(json!({"token": "t"})).await, (200, 2001));
        platform.script().versions = vec!["2.1.1", "2.3.0"];
        assert_eq!(register(credentials.clone()).await, (200, 3002));
        platform.script().versions = vec!["2.2.1"];
        platform.script().missing = vec!["locations"];
        assert_eq!(register(credentials.clone()).await, (200, 3003));
        platform.script().missing.clear();
        platform.script().fail = vec![500; 3];
        assert_eq!(register(credentials.clone()).await, (200, 3001));
        assert_eq!(networks(&app).await[0]["status"], "pending");
        exchange(&app, &token_a, "POST", &platform, (200, 1000)).await;
    }

    #[tokio::test]
    async fn a_party_belongs_to_one_network() {
        let (app, cpo) = Connected::start().await;
        let (token_a, _) = issued(&app).await;
        let second = platform().await;
        let answer = exchange(&app, &token_a, "POST", &second, (200, 2001)).await;
        assert_contains(&answer.body["status_message"], "NL*EXA");
        // After its network is revoked, the party may belong to another one.
        manage_ok(&app, json!({"action": "revoke", "network": cpo.network})).await;
        exchange(&app, &token_a, "POST", &second, (200, 1000)).await;
    }

    #[tokio::test]
    async fn a_platform_renews_its_token_and_moves_to_another_version() {
        let (app, cpo) = Connected::start().await;
        let shown = cpo.send("GET", "/credentials", None).await;
        assert_eq!(shown.body["data"]["token"], cpo.token.as_str());
        cpo.script().versions = vec!["2.2.1", "2.3.0"];
        let (path, own) = ("/ocpi/2.3.0/credentials", cpo.credentials());
        let answer = send_expecting(&app, &cpo.token, "PUT", path, Some(&own), (200, 1000)).await;
        let token = answer.body["data"]["token"].as_str().expect("a token");
        assert_eq!(networks(&app).await[0]["version"], "2.3.0");
        get_expecting(&app, token, "/ocpi/2.3.0/tokens", (200, 1000)).await;
        get_expecting(&app, &cpo.token, "/ocpi/versions", (401, 2000)).await;
    }

    #[tokio::test]
    async fn a_platform_ends_the_connection() {
        let (app, cpo) = Connected::start().await;
        cpo.expect("DELETE", "/credentials", None, (200, 1000))
            .await;
        cpo.expect("GET", "/credentials", None, (401, 2000)).await;
        assert_eq!(networks(&app).await[0]["status"], "revoked");
    }

    #[tokio::test]
    async fn a_platform_ends_the_connection_while_its_network_changes() {
        let (app, cpo) = Connected::start().await;
        let pull = json!({"action": "pull", "network": cpo.network});
        let changes = async {
            for _ in 0..4 {
                manage(&app, pull.clone()).await.ok();
            }
        };
        let end = cpo.expect("DELETE", "/credentials", None, (200, 1000));
        tokio::join!(end, changes);
        assert_eq!(networks(&app).await[0]["status"], "revoked");
    }

    #[tokio::test]
    async fn a_party_that_a_network_has_left_behind_belongs_to_the_next() {
        let (app, cpo) = Connected::start().await;
        manage_ok(&app, json!({"action": "revoke", "network": cpo.network})).await;
        // The process ended before the parties of the network were released.
        claim(&app, "EXA", &cpo.network).await;
        let second = Connected::to(&app).await;
        second.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
        // It belongs to that network alone.
        let (token_a, _) = issued(&app).await;
        let third = platform().await;
        exchange(&app, &token_a, "POST", &third, (200, 2001)).await;
    }
}

mod locations {
    use super::*;

    const PATH: &str = "/locations/NL/EXA/AMS-1";

    async fn connected() -> (TestApp, Connected) {
        let app = TestApp::start().await;
        let cpo = connected_to(&app).await;
        (app, cpo)
    }

    /// The location of the fixture with other members.
    fn location(change: Value) -> Value {
        with(fixture("location"), change)
    }

    async fn connected_to(app: &TestApp) -> Connected {
        let cpo = Connected::to(app).await;
        cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
        let answer = cpo.put(PATH, &fixture("location")).await;
        assert_eq!(
            (answer.status, &answer.body["status_message"]),
            (201, &Value::Null)
        );
        cpo
    }

    #[tokio::test]
    async fn a_station_shows_the_energy_mix_of_its_location() {
        let (app, cpo) = connected().await;
        let mix = |percent: Value| {
            json!({"is_green_energy": false, "energy_sources": [{"source": "WIND", "percentage": percent}],
                "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": 41.5}], "supplier_name": "North Sea Energy"})
        };
        let patch = |mix: Value, second: u8| json!({"energy_mix": mix, "last_updated": format!("2027-01-01T00:00:{second:02}Z")});
        let answer = cpo
            .send("PATCH", PATH, Some(&patch(mix(json!(62.5)), 1)))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let shown = json!({"carbon_g_per_kwh": 41.5, "is_green_energy": false, "nuclear_waste_g_per_kwh": null,
            "product_name": null, "sources": [{"percent": 62.5, "source": "wind"}], "supplier_name": "North Sea Energy"});
        assert_eq!(station(&app).await["energy_mix"], shown);
        // A location with an invalid mix can still be used.
        for (second, wrong) in [(2, mix(json!("much"))), (3, json!(7))] {
            let answer = cpo.send("PATCH", PATH, Some(&patch(wrong, second))).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_has!(station(&app).await, {"energy_mix": null, "status": "active"});
        }
    }

    #[tokio::test]
    async fn a_location_becomes_a_station_with_the_prices_of_its_tariffs() {
        let (app, cpo) = connected().await;
        let station = station(&app).await;
        let network = json!({"country_code": "NL", "party_id": "EXA", "name": "Example Operator"});
        assert_eq!(station["network"], network);
        assert_has!(station, {"status": "active", "location_id": "AMS-1"});
        let statuses = each(&station["connectors"], "status");
        assert_eq!(statuses, json!(["available", "occupied"]));
        let price = &station["connectors"][0]["pricing"][0];
        assert_has!(price, {"price": 40, "currency": "eur", "tax_percent": "21"});
        // It is shown as it was received, including unknown members.
        assert_eq!(cpo.data(PATH).await, fixture("location"));
        let again = cpo.put(PATH, &fixture("location")).await;
        assert_eq!(again.status, 200);
        // A station that was loaded from a file has no network.
        let path = "/v1/charging_stations?limit=1&latitude=51.5&longitude=-0.1&radius=50000";
        assert_has!(app.alice.get_ok(path).await["data"][0], {"network": null});
    }

    #[tokio::test]
    async fn an_older_update_changes_nothing_and_succeeds() {
        let (app, cpo) = connected().await;
        let before = station(&app).await;
        let older = location(json!({"name": "Old", "last_updated": "2026-01-05T07:59:59Z"}));
        cpo.expect("PUT", PATH, Some(&older), (200, 1000)).await;
        let late = json!({"status": "CHARGING", "last_updated": "2026-01-05T07:00:00Z"});
        cpo.patch(&format!("{PATH}/E1"), &late).await;
        assert_eq!(station(&app).await, before);
        assert_eq!(cpo.data(PATH).await, fixture("location"));
    }

    #[tokio::test]
    async fn a_time_far_ahead_does_not_freeze_an_evse() {
        let (app, cpo) = connected().await;
        // The pull would remove the station of a location that is not listed.
        let listed = vec![fixture("location")];
        cpo.list("locations", listed);
        app.drain().await;
        let path = format!("{PATH}/E1");
        let far = "2099-01-01T00:00:00Z";
        let status = async |status: &str, updated: Value| {
            let body = json!({"status": status, "last_updated": updated});
            cpo.patch(&path, &body).await;
            station(&app).await["connectors"][0]["status"].clone()
        };
        assert_eq!(status("CHARGING", json!(far)).await, "occupied");
        // It is shown as it was received.
        let shown = cpo.data(&path).await;
        let want = with(
            fixture("location")["evses"][0].clone(),
            json!({"status": "CHARGING", "last_updated": far}),
        );
        assert_eq!(shown, want);
        app.advance(60).await;
        assert_eq!(status("AVAILABLE", json!(app.now())).await, "available");
        // Objects that were sent before are late.
        let before = json!(app.now().plus(kernel::time::minutes(-5)));
        assert_eq!(status("CHARGING", before).await, "available");
        // A whole location with a time far in the future does not block later changes of the location.
        let ahead = location(json!({"name": "Then", "last_updated": far}));
        cpo.put(PATH, &ahead).await;
        assert_eq!(cpo.data(PATH).await, ahead);
        app.advance(60).await;
        let now = location(json!({"name": "Now", "last_updated": app.now()}));
        cpo.put(PATH, &now).await;
        assert_eq!(station(&app).await["name"], "Now");
    }

    #[tokio::test]
    async fn a_status_takes_two_calls_of_the_table() {
        let (_table, app, recorder) = recorded().await;
        let cpo = connected_to(&app).await;
        recorder.take();
        let path = format!("{PATH}/E1");
        for (minute, status, shown) in [
            (0, "CHARGING", "occupied"),
            (1, "AVAILABLE", "available"),
            (2, "RESERVED", "reserved"),
        ] {
            let updated = format!("2026-01-05T09:0{minute}:00Z");
            let sent = json!({"status": status, "last_updated": updated});
            cpo.patch(&path, &sent).await;
            assert_eq!(recorder.take().len(), 2, "{status}");
            assert_has!(station(&app).await, {"/connectors/0/status": shown,
                "/availability/connectors_available": u8::from(status == "AVAILABLE")});
            recorder.take();
        }
        let shown = cpo.data(&path).await;
        assert_has!(shown, {"status": "RESERVED", "last_updated": "2026-01-05T09:02:00Z"});
        let location = cpo.data(PATH).await;
        assert_eq!(location["last_updated"], "2026-01-05T09:02:00Z");
    }

    #[tokio::test]
    async fn every_status_counts_when_a_site_restarts() {
        const EVSES: usize = 24;
        let (app, cpo) = connected().await;
        let mut whole = fixture("location");
        whole["last_updated"] = json!("2026-01-05T08:00:00Z");
        let evse = |n| with(whole["evses"][0].clone(), json!({"uid": format!("E{n}")}));
        whole["evses"] = (1..=EVSES).map(evse).collect();
        cpo.put(PATH, &whole).await;
        let charging = json!({"status": "CHARGING", "last_updated": "2026-01-05T09:00:00Z"});
        let reports = (1..=EVSES).map(async |n| {
            let path = format!("{PATH}/E{n}");
            cpo.expect("PATCH", &path, Some(&charging), (200, 1000))
                .await
        });
        join_all(reports).await;
        let shown = station(&app).await;
        assert_has!(shown, {"/availability/connectors_available": 0, "/availability/connectors_total": EVSES});
    }

    #[tokio::test]
    async fn a_report_counts_also_when_it_is_what_the_network_said_before() {
        let (app, cpo) = connected().await;
        let at = |status: &str, minute: u8| json!({"status": status, "last_updated": format!("2026-01-05T09:{minute:02}:00Z")});
        let path = format!("{PATH}/E1");
        cpo.send("PATCH", &path, Some(&at("CHARGING", 1))).await;
        let mut whole = fixture("location");
        whole["last_updated"] = json!("2026-01-05T10:00:00Z");
        cpo.put(PATH, &whole).await;
        assert_eq!(station(&app).await["connectors"][0]["status"], "available");
    }

    #[tokio::test]
    async fn parts_are_added_changed_and_removed() {
        let (app, cpo) = connected().await;
        let mut evse = fixture("location")["evses"][0].clone();
        evse["uid"] = json!("E3");
        evse["last_updated"] = json!("2026-01-06T08:00:00Z");
        let path = format!("{PATH}/E3");
        assert_eq!(cpo.put(&path, &evse).await.status, 201);
        assert_eq!(cpo.data(&path).await, evse);
        let mut connector = evse["connectors"][0].clone();
        connector["id"] = json!("2");
        connector["max_electric_power"] = json!(11000);
        connector["last_updated"] = json!("2026-01-06T09:00:00Z");
        let path = format!("{path}/2");
        assert_eq!(cpo.put(&path, &connector).await.status, 201);
        let ids = async || each(&station(&app).await["connectors"], "id");
        assert_eq!(ids().await, json!(["E1-1", "E2-1", "E3-1", "E3-2"]));
        let sent = json!({"max_electric_power": 7400, "last_updated": "2026-01-06T10:00:00Z"});
        cpo.patch(&path, &sent).await;
        assert_eq!(station(&app).await["connectors"][3]["power"], 7.4);
        let removed = json!({"status": "REMOVED", "last_updated": "2026-01-06T11:00:00Z"});
        for evse in ["E1", "E2"] {
            let path = format!("{PATH}/{evse}");
            cpo.patch(&path, &removed).await;
        }
        assert_eq!(ids().await, json!(["E3-1", "E3-2"]));
        cpo.send("PATCH", &format!("{PATH}/E3"), Some(&removed))
            .await;
        assert_has!(station(&app).await, {"status": "removed", "connectors": []});
    }

    #[tokio::test]
    async fn what_is_wrong_is_refused_and_changes_nothing() {
        let (app, cpo) = connected().await;
        let before = station(&app).await;
        let newer = "2026-02-01T00:00:00Z";
        for change in [
            json!({"id": "AMS-2", "last_updated": newer}),
            json!({"party_id": "OTH", "last_updated": newer}),
            json!({"last_updated": "soon"}),
            json!({"coordinates": 1, "last_updated": newer}),
        ] {
            let body = location(change);
            cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
        }
        cpo.expect("PUT", PATH, Some(&json!([])), (200, 2001)).await;
        for change in [
            json!({"name": "x"}),
            json!({"id": "AMS-2", "last_updated": newer}),
        ] {
            cpo.expect("PATCH", PATH, Some(&change), (200, 2001)).await;
        }
        let renamed = json!({"name": "x", "last_updated": newer});
        let blocked = json!({"status": "BLOCKED", "last_updated": newer});
        let connector = json!({"id": "1", "last_updated": newer});
        for (method, path, body, code) in [
            ("PATCH", "/locations/NL/EXA/AMS-9", renamed, (404, 2003)),
            ("PATCH", "/locations/NL/EXA/AMS-1/E9", blocked, (404, 2003)),
            (
                "PUT",
                "/locations/NL/EXA/AMS-1/E9/1",
                connector,
                (404, 2003),
            ),
            (
                "PUT",
                "/locations/NL/OTH/AMS-1",
                fixture("location"),
                (404, 2000),
            ),
        ] {
            cpo.expect(method, path, Some(&body), code).await;
        }
        cpo.expect("GET", "/locations/NL/EXA/AMS-9", None, (404, 2003))
            .await;
        assert_eq!(station(&app).await, before);
    }

    #[tokio::test]
    async fn an_unusable_location_is_stored_without_changing_its_station() {
        let (app, cpo) = connected().await;
        let before = station(&app).await;
        let change = json!({"country": "XXX", "last_updated": "2026-02-01T00:00:00Z"});
        let location = location(change);
        let answer = cpo.put(PATH, &location).await;
        assert_contains(&answer.body["status_message"], "country");
        assert_eq!(cpo.data(PATH).await, location);
        assert_eq!(station(&app).await, before);
    }

    #[tokio::test]
    async fn tariffs_beyond_100_are_ignored_and_reported() {
        let (_table, app, recorder) = recorded().await;
        let cpo = connected_to(&app).await;
        let ids: Vec<String> = (0..1_000).map(|number| format!("T{number}")).collect();
        let change = json!({"tariff_ids": ids, "last_updated": app.now()});
        recorder.take();
        let path = format!("{PATH}/E1/1");
        let answer = cpo.send("PATCH", &path, Some(&change)).await;
        assert_eq!(codes(&answer), (200, 1000));
        let message = "901 tariffs are ignored: a location has at most 100";
        assert_contains(&answer.body["status_message"], message);
        let calls = recorder.take().len();
        assert!(calls < 110, "{calls}");
        assert_eq!(cpo.data(&path).await["tariff_ids"], json!(ids));
    }

    #[tokio::test]
    async fn a_tariff_of_a_repaired_location_has_its_prices() {
        let (app, cpo) = Connected::start().await;
        app.drain().await;
        cpo.put(PATH, &fixture("location")).await;
        let path = format!("{PATH}/E1/1");
        let broken = json!({"tariff_ids": ["LATE"], "max_electric_power": null, "max_voltage": null,
            "last_updated": "2026-01-06T08:00:00Z"});
        cpo.patch(&path, &broken).await;
        let repaired =
            json!({"max_electric_power": 22_000, "last_updated": "2026-01-06T09:00:00Z"});
        cpo.patch(&path, &repaired).await;
        let late = with(fixture("tariff"), json!({"id": "LATE"}));
        cpo.put("/tariffs/NL/EXA/LATE", &late).await;
        app.drain().await;
        assert_has!(station(&app).await, {"/connectors/0/pricing/0/price": 40});
    }

    #[tokio::test]
    async fn a_station_that_is_too_large_with_its_prices_has_none() {
        let (app, cpo) = connected().await;
        cpo.list("locations", vec![fixture("location")]);
        let mut tariff = fixture("tariff");
        let hourly = |hour: usize| {
            let restrictions = json!({"start_time": format!("{:02}:00", hour % 24), "end_time": format!("{:02}:30", hour % 24)});
            with(
                tariff["elements"][0].clone(),
                json!({"restrictions": restrictions}),
            )
        };
        let elements: Vec<Value> = (0..168).map(hourly).collect();
        let mut large = fixture("location");
        let evse = |n: usize| with(large["evses"][0].clone(), json!({"uid": format!("E{n}")}));
        large["evses"] = (0..300).map(evse).collect();
        let mut put_tariff = async |elements: &[Value], updated: &str| {
            tariff["elements"] = json!(elements);
            tariff["last_updated"] = json!(updated);
            cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
            app.drain().await;
            station(&app).await["connectors"][299]["pricing"].clone()
        };
        large["last_updated"] = json!("2026-02-01T00:00:00Z");
        let answer = cpo.put(PATH, &large).await;
        assert!(
            answer.body.get("status_message").is_none(),
            "{}",
            answer.text
        );
        let prices = put_tariff(&elements[..1], "2026-02-01T00:00:01Z").await;
        assert!(prices[0].is_object(), "{prices}");
        assert_eq!(
            put_tariff(&elements, "2026-02-01T00:00:02Z").await,
            json!([])
        );
        large["last_updated"] = json!("2026-02-02T00:00:00Z");
        large["name"] = json!("Renamed");
        let answer = cpo.put(PATH, &large).await;
        assert_contains(&answer.body["status_message"], "prices are unknown");
        assert_has!(station(&app).await, {"name": "Renamed", "/connectors/299/pricing": []});
        assert_eq!(
            put_tariff(&elements[..1], "2026-02-01T00:00:03Z").await,
            prices
        );
    }

    #[tokio::test]
    async fn an_object_that_grows_by_its_parts_is_refused_in_the_end() {
        let (app, cpo) = connected().await;
        let before = cpo.data(PATH).await;
        let large = |uid: &str, updated: &str| {
            let change = json!({"uid": uid, "note": "x".repeat(200_000), "last_updated": updated});
            with(before["evses"][0].clone(), change)
        };
        let evse = large("E3", "2026-02-01T00:00:00Z");
        cpo.expect("PUT", &format!("{PATH}/E3"), Some(&evse), (201, 1000))
            .await;
        let stored = cpo.data(PATH).await;
        let evse = large("E4", "2026-02-01T00:00:01Z");
        cpo.expect("PUT", &format!("{PATH}/E4"), Some(&evse), (413, 2000))
            .await;
        cpo.expect("PATCH", PATH, Some(&evse), (413, 2000)).await;
        assert_eq!(cpo.data(PATH).await, stored);
        let path = "/sessions/NL/EXA/S-1001";
        cpo.put(path, &fixture("session")).await;
        for (member, second, code) in [("a", 1, (200, 1000)), ("b", 2, (413, 2000))] {
            let updated = app.now().plus_seconds(second);
            let sent = json!({member: "x".repeat(200_000), "last_updated": updated});
            cpo.expect("PATCH", path, Some(&sent), code).await;
        }
    }

    /// A confirmed reservation at the only connector that fits: its path, and the reservation.
    async fn confirmed(app: &TestApp, cpo: &Connected) -> (String, Value) {
        // The full pull that follows the handshake would remove a location that the platform does not list.
        let listed = vec![fixture("location")];
        cpo.list("locations", listed);
        let crew = app.crew(&app.alice).await;
        let body = with(
            app.reservation(&crew, 20),
            json!({"location": {"latitude": 52.394, "longitude": 4.852, "radius": 500}}),
        );
        let id = app.alice.create("/v1/reservations", body).await;
        app.drain().await;
        let path = format!("/v1/reservations/{id}");
        let confirmed = app.alice.get_ok(&path).await;
        assert_eq!(confirmed["status"], "confirmed", "{confirmed}");
        (path, confirmed)
    }

    #[tokio::test]
    async fn a_reservation_at_a_connector_that_breaks_is_matched_again() {
        let (app, cpo) = connected().await;
        let (path, _) = confirmed(&app, &cpo).await;
        let sent = json!({"status": "OUTOFORDER", "last_updated": "2026-01-05T09:00:00Z"});
        cpo.send("PATCH", &format!("{PATH}/E1"), Some(&sent)).await;
        app.advance(1800).await;
        let after = app.alice.get_ok(&path).await;
        // There is no other connector.
        assert_ne!(after["status"], "confirmed", "{after}");
        app.advance(7200).await;
    }

    #[tokio::test]
    async fn a_reservation_at_a_location_that_closes_is_matched_again() {
        let (app, cpo) = connected().await;
        let (path, reservation) = confirmed(&app, &cpo).await;
        let closed = json!({"period_begin": reservation["reserved_start"], "period_end": reservation["reserved_end"]});
        let hours = json!({"twentyfourseven": true, "exceptional_closings": [closed]});
        let sent = json!({"opening_times": hours, "last_updated": "2026-01-05T09:00:00Z"});
        cpo.send("PATCH", PATH, Some(&sent)).await;
        app.drain().await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "charging_station": null});
    }
}

mod tariffs {
    use super::*;

    const PATH: &str = "/tariffs/NL/EXA/DAY";

    #[tokio::test]
    async fn a_changed_tariff_updates_the_prices_of_its_connectors() {
        let (app, cpo) = Connected::start().await;
        // The full pull that follows the handshake would remove a location that the platform does not list.
        app.drain().await;
        // The location comes first: its prices are unknown until the tariff arrives.
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        assert_eq!(station(&app).await["connectors"][0]["pricing"], json!([]));
        assert_eq!(cpo.put(PATH, &fixture("tariff")).await.status, 201);
        app.drain().await;
        let price = async || station(&app).await["connectors"][1]["pricing"][0]["price"].clone();
        assert_eq!(price().await, 40);
        let mut dearer = fixture("tariff");
        dearer["elements"][0]["price_components"][0]["price"] = json!(0.55);
        dearer["last_updated"] = json!("2026-01-06T08:00:00Z");
        assert_eq!(cpo.put(PATH, &dearer).await.status, 200);
        app.drain().await;
        assert_eq!(price().await, 55);
        // An older tariff arrives late.
        cpo.put(PATH, &fixture("tariff")).await;
        app.drain().await;
        assert_eq!(price().await, 55);
        assert_eq!(cpo.data(PATH).await, dearer);
    }

    #[tokio::test]
    async fn a_price_without_a_known_tariff_is_unknown() {
        let (app, cpo) = Connected::start().await;
        app.drain().await;
        cpo.put(PATH, &fixture("tariff")).await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        app.drain().await;
        let price = async || {
            let station = station(&app).await;
            station["connectors"][0]["pricing"][0]["price"].clone()
        };
        let name = async |tariff: &str| {
            let ids = json!({"tariff_ids": [tariff], "last_updated": app.now()});
            cpo.patch("/locations/NL/EXA/AMS-1/E1/1", &ids).await;
            app.advance(1).await;
        };
        assert_eq!(price().await, 40);
        name("NOPE").await;
        assert_eq!(price().await, Value::Null);
        name("DAY").await;
        assert_eq!(price().await, 40);
        let mut unreadable = fixture("tariff");
        unreadable["elements"][0]["restrictions"] = json!({"day_of_week": ["FUNDAY"]});
        unreadable["last_updated"] = json!("2026-01-06T08:00:00Z");
        cpo.put(PATH, &unreadable).await;
        app.drain().await;
        assert_eq!(price().await, Value::Null);
    }

    #[tokio::test]
    async fn a_tariff_is_removed_once() {
        let (app, cpo) = Connected::start().await;
        cpo.put(PATH, &fixture("tariff")).await;
        cpo.expect("DELETE", PATH, None, (200, 1000)).await;
        cpo.expect("DELETE", PATH, None, (404, 2000)).await;
        cpo.expect("GET", PATH, None, (404, 2000)).await;
        app.drain().await;
    }

    #[tokio::test]
    async fn the_price_of_a_deleted_tariff_is_unknown() {
        let (app, cpo) = Connected::start().await;
        app.drain().await;
        cpo.put(PATH, &fixture("tariff")).await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        app.drain().await;
        let price = async || station(&app).await["connectors"][0]["pricing"][0]["price"].clone();
        assert_eq!(price().await, 40);
        cpo.expect("DELETE", PATH, None, (200, 1000)).await;
        app.drain().await;
        assert_eq!(price().await, Value::Null);
        cpo.put(PATH, &fixture("tariff")).await;
        app.drain().await;
        assert_eq!(price().await, 40);
    }

    #[tokio::test]
    async fn a_tariff_that_cannot_be_read_is_refused() {
        let (app, cpo) = Connected::start().await;
        for change in [
            json!({"id": "NIGHT"}),
            json!({"elements": 1}),
            json!({"last_updated": "soon"}),
            json!({"currency": null}),
        ] {
            let body = with(fixture("tariff"), change);
            cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
        }
        cpo.expect("GET", PATH, None, (404, 2000)).await;
        let body = with(fixture("tariff"), json!({"currency": "XXX"}));
        let answer = cpo.put(PATH, &body).await;
        assert_contains(&answer.body["status_message"], "gives no prices");
        app.drain().await;
    }
}

mod sessions {
    use super::*;

    const PATH: &str = "/sessions/NL/EXA/S-1001";

    #[tokio::test]
    async fn a_session_of_many_charging_periods_still_ends() {
        let (_app, cpo) = Connected::start().await;
        cpo.put(PATH, &fixture("session")).await;
        for number in 0..6 {
            let updated = format!("2026-02-01T1{number}:00:00Z");
            let more = edge::periods(1_000 * number, 1_000);
            let update = json!({"kwh": number, "charging_periods": more, "last_updated": updated});
            cpo.patch(PATH, &update).await;
        }
        let last = edge::periods(6_000, 1);
        let end = json!({"status": "COMPLETED", "kwh": 9, "charging_periods": last, "last_updated": "2026-02-01T20:00:00Z"});
        for _ in 0..2 {
            cpo.patch(PATH, &end).await;
        }
        let shown = cpo.data(PATH).await;
        assert_has!(shown, {"status": "COMPLETED", "kwh": 9});
        assert!(shown.to_string().len() < 220 * 1024);
        let periods = shown["charging_periods"].as_array().expect("periods");
        assert_eq!(periods[periods.len() - 1], last[0]);
        assert_eq!(periods[0]["start_date_time"], "2026-02-01T09:00:00.000Z");
        let dimensions = periods.iter().map(|period| &period["dimensions"][0]);
        let energy: f64 = dimensions
            .filter_map(|energy| energy["volume"].as_f64())
            .sum();
        assert!((energy - (1.5 + 6_001.0 * 0.0301)).abs() < 0.01, "{energy}");
    }

    #[tokio::test]
    async fn a_session_grows_by_updates_that_may_arrive_twice_and_late() {
        let (_app, cpo) = Connected::start().await;
        assert_eq!(cpo.put(PATH, &fixture("session")).await.status, 201);
        let period = json!({"start_date_time": "2026-02-01T09:10:00Z", "dimensions": [{"type": "ENERGY", "volume": 2.5}]});
        let update = json!({"kwh": 4.0, "charging_periods": [period], "last_updated": "2026-02-01T09:20:00Z"});
        for _ in 0..2 {
            cpo.patch(PATH, &update).await;
        }
        let late = json!({"kwh": 2.0, "last_updated": "2026-02-01T09:15:00Z"});
        cpo.patch(PATH, &late).await;
        let shown = cpo.data(PATH).await;
        let periods = json!([fixture("session")["charging_periods"][0], period]);
        assert_has!(shown, {"kwh": 4.0, "charging_periods": periods});
        // A session that is sent as a whole replaces all members.
        let whole = with(
            fixture("session"),
            json!({"charging_periods": [], "last_updated": "2026-02-01T10:00:00Z"}),
        );
        assert_eq!(cpo.put(PATH, &whole).await.status, 200);
        assert_eq!(cpo.data(PATH).await, whole);
    }

    #[tokio::test]
    async fn an_unmatched_session_is_listed_for_operators() {
        let (app, cpo) = Connected::start().await;
        cpo.put(PATH, &fixture("session")).await;
        let listed = manage_ok(&app, json!({"action": "list_unmatched"})).await;
        let listed = listed["data"].as_array().expect("a list").clone();
        assert_eq!(listed.len(), 1);
        assert_has!(listed[0], {"module": "sessions", "network": cpo.network});
        assert_eq!(listed[0]["object"], fixture("session"));
    }

    #[tokio::test]
    async fn unmatched_sessions_are_listed_a_hundred_at_a_time() {
        let (app, cpo) = Connected::start().await;
        for n in 0..101 {
            let id = format!("S-{n:03}");
            let session = with(fixture("session"), json!({"id": id}));
            cpo.put(&format!("/sessions/NL/EXA/{id}"), &session).await;
        }
        let mut found = Vec::new();
        let mut page = json!({"next": ""});
        while let Some(after) = page["next"].as_str() {
            let list = json!({"action": "list_unmatched", "after": after});
            page = manage_ok(&app, list).await;
            let listed = page["data"].as_array().expect("a list");
            assert!(listed.len() <= 100);
            found.extend(listed.iter().map(|one| one["object"]["id"].clone()));
        }
        let ids: Vec<Value> = (0..101).map(|n| json!(format!("S-{n:03}"))).collect();
        assert_eq!(found, ids);
    }

    #[tokio::test]
    async fn a_session_that_cannot_be_read_is_refused() {
        let (_app, cpo) = Connected::start().await;
        let update = json!({"kwh": 4.0, "last_updated": "2026-02-01T09:20:00Z"});
        let answer = cpo.send("PATCH", PATH, Some(&update)).await;
        assert_eq!(answer.status, 404);
        for change in [
            json!({"kwh": "much"}),
            json!({"cdr_token": null}),
            json!({"id": "S-2"}),
            json!({"country_code": "BE"}),
        ] {
            let body = with(fixture("session"), change);
            cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
        }
        cpo.put(PATH, &fixture("session")).await;
        let many = vec![json!({"start_date_time": "2026-02-01T09:10:00Z"}); 4_321];
        for wrong in [
            json!({"kwh": "much", "last_updated": "2026-03-01T00:00:00Z"}),
            json!({"kwh": 5}),
            json!({"charging_periods": 1, "last_updated": "2026-03-01T00:00:00Z"}),
            json!({"charging_periods": [7], "last_updated": "2026-03-01T00:00:00Z"}),
            json!({"charging_periods": many, "last_updated": "2026-03-01T00:00:00Z"}),
        ] {
            cpo.expect("PATCH", PATH, Some(&wrong), (200, 2001)).await;
        }
        assert_eq!(cpo.data(PATH).await, fixture("session"));
    }
}

mod cdrs {
    use super::*;

    #[tokio::test]
    async fn a_cdr_is_stored_once_and_found_at_its_location() {
        let (app, cpo) = Connected::start().await;
        let answer = cpo
            .expect("POST", "/cdrs", Some(&fixture("cdr")), (201, 1000))
            .await;
        let url = answer.header("location").to_owned();
        assert_eq!(
            url,
            format!("{}/ocpi/2.2.1/cdrs/NL/EXA/C-1001", app.running().base_url)
        );
        let again = cpo.send("POST", "/cdrs", Some(&fixture("cdr"))).await;
        assert_eq!(
            (codes(&again), again.header("location")),
            ((200, 1000), url.as_str())
        );
        let shown = send(&app, &cpo.token, "GET", &url, None, &[]).await;
        assert_eq!(shown.body["data"], fixture("cdr"));
        let other = with(fixture("cdr"), json!({"total_energy": 21}));
        cpo.expect("POST", "/cdrs", Some(&other), (200, 2001)).await;
        assert_eq!(cpo.data("/cdrs/NL/EXA/C-1001").await, fixture("cdr"));
        let listed = manage_ok(&app, json!({"action": "list_unmatched"})).await;
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    }

    #[tokio::test]
    async fn a_cdr_with_many_charging_periods_is_stored_once() {
        let large = with(
            fixture("cdr"),
            json!({"charging_periods": edge::periods(0, 3_000)}),
        );
        assert!(large.to_string().len() > 400 * 1024);
        let listed = with(large.clone(), json!({"id": "C-1002"}));
        let app = TestApp::start().await;
        let cpo = Connected::with(&app, |script| {
            script.lists.insert("cdrs", vec![listed]);
        });
        let cpo = cpo.await;
        app.drain().await;
        for expected in [(201, 1000), (200, 1000)] {
            cpo.expect("POST", "/cdrs", Some(&large), expected).await;
        }
        for id in ["C-1001", "C-1002"] {
            let shown = cpo.data(&format!("/cdrs/NL/EXA/{id}")).await;
            assert_eq!(shown["total_cost"], large["total_cost"], "{id}");
            let size = shown.to_string().len();
            assert!(size < 200 * 1024, "{id}: {size}");
        }
        for change in [
            json!({"charging_periods": edge::periods(0, 8_000)}),
            json!({"remark": "x".repeat(300_000)}),
        ] {
            let larger = with(large.clone(), change);
            cpo.expect("POST", "/cdrs", Some(&larger), (413, 2000))
                .await;
        }
    }

    #[tokio::test]
    async fn the_id_of_a_cdr_has_up_to_39_characters() {
        let (_app, cpo) = Connected::start().await;
        let longest = format!("{}-CC", "8f14e45f-ceea-467f-a0ca-5d4a1c2b3d4e");
        let credit = json!({"id": longest, "credit": true, "credit_reference_id": longest});
        let credit = with(fixture("cdr"), credit);
        let answer = cpo.send("POST", "/cdrs", Some(&credit)).await;
        assert_eq!((longest.len(), codes(&answer)), (39, (201, 1000)));
        let path = format!("/cdrs/NL/EXA/{longest}");
        assert_eq!(cpo.data(&path).await, credit);
        let longer = with(credit, json!({"id": format!("{longest}C")}));
        cpo.expect("POST", "/cdrs", Some(&longer), (200, 2001))
            .await;
        for step in [".", ".."] {
            let other = with(fixture("cdr"), json!({"id": step}));
            cpo.expect("POST", "/cdrs", Some(&other), (200, 2001)).await;
        }
        // All other ids have 36.
        let session = with(fixture("session"), json!({"id": &longest[..37]}));
        let path = format!("/sessions/NL/EXA/{}", &longest[..37]);
        cpo.expect("PUT", &path, Some(&session), (404, 2000)).await;
    }

    #[tokio::test]
    async fn a_cdr_that_cannot_be_read_is_refused() {
        let (_app, cpo) = Connected::start().await;
        for (change, code) in [
            (json!({"total_cost": {}}), (200, 2001)),
            (json!({"id": null}), (200, 2001)),
            (json!({"party_id": 1}), (200, 2001)),
            (json!({"party_id": "OTH"}), (404, 2000)),
            (json!({"last_updated": null}), (200, 2001)),
        ] {
            let body = with(fixture("cdr"), change);
            cpo.expect("POST", "/cdrs", Some(&body), code).await;
        }
        cpo.expect("GET", "/cdrs/NL/EXA/C-1001", None, (404, 2000))
            .await;
    }
}

mod commands {
    use super::*;
    use functions::networks::commands::{Response, send as send_command};
    use kernel::Kind;
    use models::Stored;
    use models::network::PartyId;
    use models::ports::network::Subject;
    use ocpi::command::{Command, ResponseType, ResultType};
    use ocpi::network::Network;
    use table::networks::{SentCommand, operators};

    async fn stop(app: &TestApp, cpo: &Connected) -> (Id, Response) {
        let network = Id::from(cpo.network.as_str());
        let store = &app.app().store;
        let network = store.load(&operators(Mode::Test), &network).await;
        let network: Stored<Network> = network.expect("a network");
        let to = PartyId::new("NL", "EXA").expect("a party");
        let command = Command::StopSession {
            session_id: "S-1001".into(),
        };
        let subject = Subject::new(
            app.alice.tenant(),
            Id::from_number(Kind::ChargingSession, 1),
        );
        let sent = send_command(app.app(), &network, &to, &command, subject).await;
        let sent = sent.expect("the table is there");
        (sent.id, sent.response)
    }

    async fn stored(app: &TestApp, id: &Id) -> SentCommand {
        let command = app.app().store.command(Mode::Test, id).await;
        command.expect("the table is there").expect("a command")
    }

    #[tokio::test]
    async fn a_command_names_where_its_result_belongs() {
        let (app, cpo) = Connected::start().await;
        let (id, response) = stop(&app, &cpo).await;
        assert_eq!(response, Response::Accepted);
        let sent = cpo
            .received("POST", "/2.2.1/commands/STOP_SESSION")
            .remove(0);
        let path = format!("/ocpi/2.2.1/commands/STOP_SESSION/{id}");
        let url = format!("{}{path}", app.running().base_url);
        let body = json!({"session_id": "S-1001", "response_url": url});
        assert_eq!(sent.body, body);
        assert_eq!(sent.headers["ocpi-to-party-id"], "EXA");
        assert_eq!(sent.headers["ocpi-from-party-id"], "FCS");
        let response = stored(&app, &id).await.response;
        assert_eq!(response, Some(ResponseType::Accepted));
        for result in ["TIMEOUT", "ACCEPTED", "ACCEPTED"] {
            let body = json!({"result": result});
            send_expecting(&app, &cpo.token, "POST", &url, Some(&body), (200, 1000)).await;
        }
        let results = stored(&app, &id).await.results.into_iter();
        let results: Vec<ResultType> = results.map(|result| result.result).collect();
        use ResultType::{Accepted, Timeout};
        assert_eq!(results, [Timeout, Accepted, Accepted]);
    }

    #[tokio::test]
    async fn a_result_belongs_to_the_network_that_the_command_was_sent_to() {
        let (app, cpo) = Connected::start().await;
        let other = Connected::other(&app).await;
        let (id, _) = stop(&app, &cpo).await;
        let body = json!({"result": "ACCEPTED"});
        let path = format!("/commands/STOP_SESSION/{id}");
        other.expect("POST", &path, Some(&body), (404, 2000)).await;
        let other_command = format!("/commands/START_SESSION/{id}");
        for path in [other_command.as_str(), "/commands/STOP_SESSION/1"] {
            cpo.expect("POST", path, Some(&body), (404, 2000)).await;
        }
        cpo.expect("POST", &path, Some(&json!({})), (200, 2001))
            .await;
        assert!(stored(&app, &id).await.results.is_empty());
    }

    #[tokio::test]
    async fn refused_and_failed_commands_are_not_repeated() {
        let (app, cpo) = Connected::start().await;
        cpo.script().commands = Some(json!({"result": "UNKNOWN_SESSION", "timeout": 0}));
        let refused = Response::Refused(ResponseType::UnknownSession);
        assert_eq!(stop(&app, &cpo).await.1, refused);
        cpo.script().fail = vec![503];
        let (id, response) = stop(&app, &cpo).await;
        assert!(matches!(response, Response::Failed(_)), "{response:?}");
        assert_eq!(stored(&app, &id).await.response, None);
        // Commands are never repeated.
        assert_eq!(cpo.received("POST", "/2.2.1/commands").len(), 2);
        manage_ok(&app, json!({"action": "suspend", "network": cpo.network})).await;
        assert!(matches!(stop(&app, &cpo).await.1, Response::NotSent(_)));
        assert_eq!(cpo.received("POST", "/2.2.1/commands").len(), 2);
    }
}

mod hub_client_info {
    use super::*;

    #[tokio::test]
    async fn only_a_hub_reports_parties_and_reads_what_it_reported() {
        let app = TestApp::start().await;
        let hub = Connected::with(&app, |script| script.roles = json!([hub_role()])).await;
        let path = "/hubclientinfo/NL/EXA";
        let info = fixture("client_info");
        hub.expect("GET", path, None, (404, 2000)).await;
        assert_eq!(hub.put(path, &info).await.status, 201);
        assert_eq!(hub.put(path, &info).await.status, 200);
        let updated = json!({"last_updated": "2026-01-05T08:00:00.000Z"});
        assert_eq!(hub.data(path).await, with(info.clone(), updated));
        for change in [json!({"party_id": "OTH"}), json!({"status": null})] {
            let wrong = with(info.clone(), change);
            hub.expect("PUT", path, Some(&wrong), (200, 2001)).await;
        }
        let cpo = Connected::to(&app).await;
        cpo.expect("PUT", path, Some(&info), (200, 2000)).await;
    }
}

mod tokens {
    use super::*;
    use tests::Crew;
    use tests::samples::unused_uid;

    /// A card of the crew's driver and vehicle, with other members. Returns its path and its uid.
    async fn card(app: &TestApp, crew: &Crew, change: Value) -> (String, String) {
        let uid = unused_uid();
        let body = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
        let card = app.alice.post("/v1/charge_cards", with(body, change)).await;
        let path = format!("/v1/charge_cards/{}", card.expect(200).id());
        app.drain().await;
        (path, uid)
    }

    async fn change(app: &TestApp, path: &str, body: Value) {
        app.alice.post_ok(path, body).await;
        app.drain().await;
    }

    fn uids(answer: &TestResponse) -> Vec<String> {
        let tokens = answer.body["data"].as_array().expect("tokens").iter();
        tokens
            .map(|token| token["uid"].as_str().expect("a uid").to_owned())
            .collect()
    }

    /// The RFID tokens with a uid that the platform received, in order: whether each is valid, and its whitelist.
    fn sent(cpo: &Connected, uid: &str) -> Vec<(bool, String)> {
        let path = format!("/2.2.1/tokens/GB/FCS/{uid}?type=RFID");
        let received = cpo.received("PUT", &path).into_iter();
        let seen = received.map(|request| {
            let whitelist = request.body["whitelist"].as_str().expect("a whitelist");
            (request.body["valid"] == json!(true), whitelist.to_owned())
        });
        seen.collect()
    }

    async fn authorize(cpo: &Connected, uid: &str, place: Option<&Value>) -> Value {
        let path = format!("/tokens/{uid}/authorize");
        let answer = cpo.expect("POST", &path, place, (200, 1000)).await;
        answer.body["data"].clone()
    }

    #[tokio::test]
    async fn tokens_are_listed_by_page_in_the_order_of_their_updates() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        // The driver has an app card.
        let page = cpo.send("GET", "/tokens", None).await;
        assert_eq!(page.body["data"][0]["type"], "APP_USER");
        let start = app.now();
        let mut cards = Vec::new();
        for _ in 0..5 {
            app.advance(60).await;
            cards.push(card(&app, &crew, json!({})).await);
        }
        let path = |rest: &str| format!("/tokens?date_from={start}{rest}");
        let page = cpo.send("GET", &path("&limit=2"), None).await;
        let all: Vec<String> = cards.iter().map(|(_, uid)| uid.clone()).collect();
        assert_eq!(
            (codes(&page), uids(&page)),
            ((200, 1000), all[..2].to_vec())
        );
        assert_eq!(
            (page.header("x-total-count"), page.header("x-limit")),
            ("5", "100")
        );
        let mut walked = uids(&page);
        let mut link = page.header("link").to_owned();
        while let Some(url) = ocpi::page::next_link(&link) {
            let page = send(&app, &cpo.token, "GET", url, None, &[]).await;
            walked.extend(uids(&page));
            link = page.header("link").to_owned();
        }
        assert_eq!(walked, all);
        // A changed card comes last.
        app.advance(60).await;
        change(&app, &cards[1].0, json!({"status": "lost"})).await;
        let page = cpo.send("GET", &path("&offset=3"), None).await;
        assert_eq!(uids(&page), [all[4].clone(), all[1].clone()]);
        assert_eq!(page.body["data"][1]["valid"], false);
        let none = cpo
            .send("GET", "/tokens?date_from=2097-01-01T00:00:00Z", None)
            .await;
        assert_eq!((uids(&none).len(), none.header("link")), (0, ""));
        for wrong in ["limit=0", "offset=-1", "date_from=soon"] {
            cpo.expect("GET", &format!("/tokens?{wrong}"), None, (200, 2001))
                .await;
        }
        app.drain().await;
    }

    #[tokio::test]
    async fn networks_receive_a_token_when_validity_or_whitelist_changes() {
        let (app, cpo) = Connected::start().await;
        let suspended = Connected::other(&app).await;
        manage_ok(
            &app,
            json!({"action": "suspend", "network": suspended.network}),
        )
        .await;
        let crew = app.crew(&app.alice).await;
        let (path, uid) = card(&app, &crew, json!({"visual_number": "FC-0001"})).await;
        let [first] = &cpo.received("PUT", &format!("/2.2.1/tokens/GB/FCS/{uid}"))[..] else {
            panic!("one token is sent");
        };
        let updated = first.body["last_updated"].as_str().expect("a time");
        let (contract, group) = (&first.body["contract_id"], &first.body["group_id"]);
        let want = json!({"country_code": "GB", "party_id": "FCS", "uid": uid, "type": "RFID", "contract_id": contract,
            "group_id": group, "visual_number": "FC-0001", "issuer": "Fleet Charging Service", "valid": true,
            "whitelist": "ALLOWED", "last_updated": updated});
        assert_eq!(first.body, want);
        let allowed = (true, "ALLOWED".to_owned());
        let refused = (false, "ALLOWED".to_owned());
        let mut expected = vec![allowed.clone()];
        let driver = format!("/v1/drivers/{}", crew.driver);
        let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
        let fleet = format!("/v1/fleets/{}", crew.fleet);
        for (path, off) in [
            (&path, "blocked"),
            (&path, "lost"),
            (&driver, "suspended"),
            (&vehicle, "retired"),
            (&fleet, "archived"),
        ] {
            change(&app, path, json!({"status": off})).await;
            expected.push((false, sent(&cpo, &uid).pop().expect("a token").1));
            assert_eq!(sent(&cpo, &uid), expected, "{path} {off}");
            change(&app, path, json!({"status": "active"})).await;
            expected.push(allowed.clone());
            assert_eq!(sent(&cpo, &uid), expected, "{path} active");
        }
        for (status, token) in [("suspended", &refused), ("active", &allowed)] {
            let account = app.alice.account.clone().expect("an account");
            app.set_account_status(&account, status).await;
            app.drain().await;
            expected.push(token.clone());
            assert_eq!(sent(&cpo, &uid), expected, "{status}");
        }
        // A change that does not affect the token is not sent.
        change(&app, &path, json!({"metadata": {"a": "b"}})).await;
        change(&app, &driver, json!({"name": "Another"})).await;
        assert_eq!(sent(&cpo, &uid), expected);
        // A policy that depends on the place or the time makes networks request authorization.
        let rules = json!({"name": "P", "rules": {"denied_operators": ["Nobody"]}});
        let policy = app.alice.create("/v1/policies", rules).await;
        change(&app, &fleet, json!({"policy_ids": [policy]})).await;
        expected.push((true, "NEVER".to_owned()));
        assert_eq!(sent(&cpo, &uid), expected);
        change(&app, &path_of(&policy), json!({"status": "inactive"})).await;
        expected.push(allowed.clone());
        assert_eq!(sent(&cpo, &uid), expected);
        app.alice.delete_ok(&path).await;
        app.drain().await;
        expected.push(refused);
        assert_eq!(sent(&cpo, &uid), expected);
        // The same card can be assigned again.
        let body =
            json!({"uid": uid.to_lowercase(), "driver": crew.driver, "vehicle": crew.vehicle});
        app.alice.post_ok("/v1/charge_cards", body).await;
        app.drain().await;
        let lower = uid.to_lowercase();
        assert!(sent(&cpo, &lower).pop().expect("a token").0);
        let received = cpo.received("PUT", "/2.2.1/tokens");
        let all: Vec<String> = received
            .iter()
            .map(|request| request.body.to_string())
            .collect();
        let private = [
            "Ada",
            "fleet.example",
            "AB12",
            "acct_",
            "drv_",
            "veh_",
            "flt_",
        ];
        for private in private {
            assert!(all.iter().all(|text| !text.contains(private)), "{private}");
        }
        let none = suspended.received("PUT", "/2.2.1/tokens");
        assert!(none.is_empty());
    }

    #[tokio::test]
    async fn a_platform_that_cannot_be_reached_is_sent_the_token_again() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        cpo.script().fail = vec![503];
        let (_, uid) = card(&app, &crew, json!({})).await;
        app.advance(10).await;
        assert_eq!(sent(&cpo, &uid).len(), 2);
    }

    #[tokio::test]
    async fn a_token_refused_during_a_renewal_is_sent_again() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        let renewal = cpo.renew_after("PUT", "/2.2.1/tokens");
        let ((_, uid), _) = tokio::join!(card(&app, &crew, json!({})), renewal);
        assert_eq!(sent(&cpo, &uid).len(), 2);
    }

    #[tokio::test]
    async fn a_resumed_network_receives_the_tokens_it_has_missed() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        let (path, uid) = card(&app, &crew, json!({})).await;
        for action in ["suspend", "suspend"] {
            manage_ok(&app, json!({"action": action, "network": cpo.network})).await;
        }
        change(&app, &path, json!({"status": "lost"})).await;
        let (allowed, refused) = ((true, "ALLOWED".to_owned()), (false, "ALLOWED".to_owned()));
        assert_eq!(sent(&cpo, &uid), std::slice::from_ref(&allowed));
        manage_ok(&app, json!({"action": "resume", "network": cpo.network})).await;
        app.drain().await;
        assert_eq!(sent(&cpo, &uid), [allowed, refused]);
    }

    #[tokio::test]
    async fn tokens_missed_by_an_unreachable_platform_are_sent_later() {
        let (app, cpo) = Connected::start().await;
        app.needs("a clock that can be moved");
        let crew = app.crew(&app.alice).await;
        let (path, uid) = card(&app, &crew, json!({})).await;
        cpo.script().fail = vec![503; 100];
        change(&app, &path, json!({"status": "lost"})).await;
        app.advance(60).await;
        manage_ok(&app, json!({"action": "pull", "network": cpo.network})).await;
        app.drain().await;
        let tries = sent(&cpo, &uid).len();
        cpo.script().fail.clear();
        app.advance(15 * 60 + 300).await;
        let all = sent(&cpo, &uid);
        // Its message is repeated, and the pull sends what was missed.
        assert_eq!(all.len(), tries + 2);
        assert!(!all[tries].0 && !all[tries + 1].0);
    }

    #[tokio::test]
    async fn a_lost_card_reaches_a_network_that_refused_its_token() {
        let (app, cpo) = Connected::start().await;
        app.needs("a clock that can be moved");
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        for (http, code) in [
            (vec![401], None),
            (vec![404], None),
            (vec![503; 10], None),
            (vec![], Some(2001)),
        ] {
            let (path, uid) = card(&app, &crew, json!({})).await;
            {
                let mut script = cpo.script();
                (script.fail, script.refused_tokens) = (http.clone(), code);
            }
            change(&app, &path, json!({"status": "lost"})).await;
            app.advance(20 * 60).await;
            {
                let mut script = cpo.script();
                (script.fail, script.refused_tokens) = (Vec::new(), None);
            }
            let tries = sent(&cpo, &uid).len();
            app.advance(20 * 60).await;
            let mut all = sent(&cpo, &uid);
            // What was answered with success is not sent again.
            let expected = tries + usize::from(http.len() != 1);
            assert_eq!(all.len(), expected, "{http:?} {code:?}: {all:?}");
            assert!(!all.pop().expect("a token").0, "{http:?} {code:?}");
            assert!(tries > 2, "{http:?} {code:?}");
        }
    }

    #[tokio::test]
    async fn a_time_to_wait_is_respected_before_a_token_is_repeated() {
        let (app, cpo) = Connected::start().await;
        app.needs("a clock that can be moved");
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        let (path, uid) = card(&app, &crew, json!({})).await;
        {
            let mut script = cpo.script();
            (script.fail, script.retry_after) = (vec![429], Some("600"));
        }
        change(&app, &path, json!({"status": "lost"})).await;
        app.advance(500).await;
        assert_eq!(sent(&cpo, &uid).len(), 2);
        app.advance(200).await;
        assert_eq!(sent(&cpo, &uid).len(), 3);
    }

    #[tokio::test]
    async fn a_token_that_is_always_refused_is_rarely_repeated() {
        let (app, cpo) = Connected::start().await;
        app.needs("a clock that can be moved");
        let crew = app.crew(&app.alice).await;
        let (path, uid) = card(&app, &crew, json!({})).await;
        cpo.script().refused_tokens = Some(2001);
        change(&app, &path, json!({"status": "lost"})).await;
        app.advance(600).await;
        // The token is sent once more, because it may have been missed.
        for action in ["suspend", "resume"] {
            manage_ok(&app, json!({"action": action, "network": cpo.network})).await;
        }
        app.advance(86_400).await;
        let before = sent(&cpo, &uid).len();
        app.advance(86_400).await;
        let a_day = sent(&cpo, &uid).len() - before;
        assert!((5..=6).contains(&a_day), "{a_day}");
        // It is not forgotten during a suspension.
        manage_ok(&app, json!({"action": "suspend", "network": cpo.network})).await;
        app.advance(86_400).await;
        cpo.script().refused_tokens = None;
        manage_ok(&app, json!({"action": "resume", "network": cpo.network})).await;
        app.advance(86_400).await;
        assert_eq!(sent(&cpo, &uid).len(), before + a_day + 1);
    }

    #[tokio::test]
    async fn a_card_is_authorized_as_it_is_at_that_moment() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        // The pull that follows the exchange of credentials ends before the location is pushed.
        app.drain().await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        let until = app.in_minutes(60);
        let (path, uid) = card(&app, &crew, json!({"valid_until": until})).await;
        let place = json!({"location_id": "AMS-1", "evse_uids": ["E1", "E2"]});
        let answer = authorize(&cpo, &uid.to_lowercase(), Some(&place)).await;
        assert_eq!(answer["allowed"], "ALLOWED");
        // The vehicle has no plug for the second one.
        assert_has!(answer, {"location": {"location_id": "AMS-1", "evse_uids": ["E1"]}, "/token/uid": uid});
        let reference = answer["authorization_reference"].as_str();
        assert!(reference.is_some_and(|text| (1..=36).contains(&text.len())));
        for body in [None, Some(json!({})), Some(Value::Null)] {
            let answer = authorize(&cpo, &uid, body.as_ref()).await;
            assert_eq!(answer["allowed"], "ALLOWED", "{body:?}");
            assert!(answer.get("location").is_none());
        }
        // A location that this service does not have is no reason for a refusal.
        let unknown = json!({"location_id": "NOWHERE"});
        let answer = authorize(&cpo, &uid, Some(&unknown)).await;
        assert_eq!(
            (&answer["allowed"], answer.get("location")),
            (&json!("ALLOWED"), None)
        );
        for off in ["blocked", "lost"] {
            // The consequences of the change are not awaited.
            app.alice.post_ok(&path, json!({"status": off})).await;
            let answer = authorize(&cpo, &uid, Some(&place)).await;
            assert_has!(answer, {"allowed": "BLOCKED", "/token/valid": false});
            assert!(
                answer.get("location").is_none() && answer.get("authorization_reference").is_none()
            );
        }
        change(&app, &path, json!({"status": "active"})).await;
        let driver = format!("/v1/drivers/{}", crew.driver);
        for (path, status) in [
            (driver, "suspended"),
            (format!("/v1/vehicles/{}", crew.vehicle), "inactive"),
            (format!("/v1/fleets/{}", crew.fleet), "suspended"),
        ] {
            change(&app, &path, json!({"status": status})).await;
            let answer = authorize(&cpo, &uid, Some(&place)).await;
            assert_eq!(answer["allowed"], "BLOCKED", "{path}");
            change(&app, &path, json!({"status": "active"})).await;
        }
        app.advance(60 * 60).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], "EXPIRED");
        assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
        for path in [
            "/tokens/unknown/authorize".to_owned(),
            format!("/tokens/{}/authorize", "0".repeat(5_000)),
            "/tokens/%00/authorize".to_owned(),
            format!("/tokens/{uid}/authorize?type=APP_USER"),
        ] {
            cpo.expect("POST", &path, None, (404, 2004)).await;
        }
        let path = format!("/tokens/{uid}/authorize?type=PAPER");
        cpo.expect("POST", &path, None, (200, 2001)).await;
        let path = format!("/tokens/{uid}/authorize");
        let wrong = json!({"evse_uids": ["E1"]});
        cpo.expect("POST", &path, Some(&wrong), (200, 2001)).await;
    }

    #[tokio::test]
    async fn only_evses_of_the_station_are_looked_up() {
        let (_table, app, recorder) = recorded().await;
        let cpo = Connected::to(&app).await;
        let crew = app.crew(&app.alice).await;
        app.drain().await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        let (_, uid) = card(&app, &crew, json!({})).await;
        let others = (0..5_000).map(|number| format!("X{number}"));
        let named: Vec<String> = ["e1", "E2", "E1"]
            .map(str::to_owned)
            .into_iter()
            .chain(others)
            .collect();
        recorder.take();
        let place = json!({"location_id": "AMS-1", "evse_uids": named});
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_has!(answer, {"allowed": "ALLOWED", "/location/evse_uids": ["e1"]});
        let calls = recorder.take().len();
        assert!(calls < 40, "{calls}");
        let elsewhere = json!({"location_id": "AMS-1", "evse_uids": ["X1"]});
        let answer = authorize(&cpo, &uid, Some(&elsewhere)).await;
        assert_eq!(answer["allowed"], "NOT_ALLOWED");
    }

    /// A network that has pushed a location, and a crew with a card. Returns the uid of the card.
    async fn card_at_location() -> (TestApp, Connected, Crew, String) {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        // The pull that follows the exchange of credentials ends before the location is pushed.
        app.drain().await;
        cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
            .await;
        let (_, uid) = card(&app, &crew, json!({})).await;
        (app, cpo, crew, uid)
    }

    #[tokio::test]
    async fn policies_and_money_decide_where_a_card_may_be_used() {
        let (app, cpo, crew, uid) = card_at_location().await;
        let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
        let driver = format!("/v1/drivers/{}", crew.driver);
        let far =
            json!({"center": {"latitude": 0.0, "longitude": 0.0}, "name": "F", "radius_meters": 1});
        for (rules, allowed) in cases! {
            {"denied_operators": ["Example Operator"]} => "NOT_ALLOWED",
            {"allowed_operators": ["Example Operator"]} => "ALLOWED",
            {"geofences": [far]} => "NOT_ALLOWED",
        } {
            let body = json!({"name": "P", "rules": rules});
            let policy = app.alice.create("/v1/policies", body).await;
            change(&app, &driver, json!({"policy_ids": [policy]})).await;
            let answer = authorize(&cpo, &uid, Some(&place)).await;
            assert_eq!(answer["allowed"], allowed, "{rules}");
            // Without a location there is too little information.
            let path = format!("/tokens/{uid}/authorize");
            cpo.expect("POST", &path, None, (200, 2002)).await;
            let nowhere = json!({"location_id": "NOWHERE"});
            cpo.expect("POST", &path, Some(&nowhere), (200, 2003)).await;
        }
        change(&app, &driver, json!({"policy_ids": []})).await;
        let wallet = json!({"type": "wallet", "driver": crew.driver});
        let wallet = app.alice.create("/v1/payment_methods", wallet).await;
        let preferred = json!({"preferences": {"default_payment_method": wallet}});
        change(&app, &driver, preferred).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], "NO_CREDIT");
        assert_eq!(authorize(&cpo, &uid, None).await["allowed"], "NO_CREDIT");
        let method = app.payment_method("tok_success", json!({})).await;
        let top_up = json!({"amount": 500, "payment_method": method});
        app.alice.post_ok(&format!("{driver}/top_up"), top_up).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], "ALLOWED");
        // A vehicle that charges elsewhere cannot charge here.
        let depot = app.station(json!({})).await;
        let body = app.session(&crew, &depot);
        app.alice.post_ok("/v1/charging_sessions", body).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], "NOT_ALLOWED");
        app.drain().await;
    }

    #[tokio::test]
    async fn the_default_method_of_the_account_decides_as_well() {
        let (app, cpo, _, uid) = card_at_location().await;
        let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
        let wallet = json!({"type": "wallet"});
        let wallet = app.alice.create("/v1/payment_methods", wallet).await;
        let preferred = json!({"preferences": {"default_payment_method": wallet}});
        change(&app, &crate::books::own(&app.alice), preferred).await;
        for place in [Some(&place), None] {
            let answer = authorize(&cpo, &uid, place).await;
            assert_eq!(answer["allowed"], "NO_CREDIT");
        }
        app.drain().await;
    }

    #[tokio::test]
    async fn a_price_cap_holds_when_a_card_is_authorized() {
        let (app, cpo, crew, uid) = card_at_location().await;
        let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
        let rules = json!({"name": "P", "rules": {"max_price_per_kwh": 48}});
        let policy = app.alice.create("/v1/policies", rules).await;
        let driver = format!("/v1/drivers/{}", crew.driver);
        let euros = json!({"policy_ids": [policy], "preferences": {"currency": "eur"}});
        change(&app, &driver, euros).await;
        let allowed = async || authorize(&cpo, &uid, Some(&place)).await["allowed"].clone();
        // Without the tariff the price is unknown, which test mode allows.
        assert_eq!(allowed().await, "ALLOWED");
        cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
        app.drain().await;
        // 40 cents and 21 % tax.
        assert_eq!(allowed().await, "NOT_ALLOWED");
        let path = format!("/v1/policies/{policy}");
        let cap = json!({"rules": {"max_price_per_kwh": 48.4}});
        change(&app, &path, cap).await;
        assert_eq!(allowed().await, "ALLOWED");
        app.drain().await;
    }

    #[tokio::test]
    async fn a_network_sees_nothing_of_a_tenant_but_its_tokens() {
        let (app, cpo) = Connected::start().await;
        let crew = app.crew(&app.alice).await;
        let secret = json!({"metadata": {"note": "secret"}, "vehicle": null});
        let (path, uid) = card(&app, &crew, secret).await;
        let page = cpo.send("GET", "/tokens", None).await.text;
        let answer = authorize(&cpo, &uid, None).await.to_string();
        let id = path.rsplit('/').next().expect("an id");
        for private in [id, "secret", "Ada", "acct_", "drv_", "veh_", "flt_", "ccd_"] {
            assert!(
                !page.contains(private) && !answer.contains(private),
                "{private}"
            );
        }
        app.drain().await;
    }
}

mod sync {
    use super::*;

    /// The time of the last update of the locations that a platform lists at first.
    const OLD: &str = "2026-01-05T08:00:00Z";

    fn location(id: &str, updated: &str) -> Value {
        let change = json!({"id": id, "last_updated": updated});
        with(fixture("location"), change)
    }

    fn locations(ids: &[&str]) -> Vec<Value> {
        ids.iter().map(|id| location(id, OLD)).collect()
    }

    /// A platform that lists these locations.
    async fn listing(app: &TestApp, ids: &[&str]) -> Connected {
        let locations = locations(ids);
        Connected::with(app, |script| {
            script.lists.insert("locations", locations);
        })
        .await
    }

    fn assert_finished(pull: &Value) {
        assert!(pull["finished"].is_string(), "{pull}");
        assert_has!(pull, {"error": null});
    }

    async fn pulled(app: &TestApp) -> Value {
        let listed = manage_ok(app, json!({"action": "list"})).await;
        listed["data"][0]["pull"].clone()
    }

    async fn ids(app: &TestApp) -> Vec<(String, String)> {
        let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=100";
        let page = app.alice.get_ok(path).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let stations = page["data"].as_array().expect("stations").iter();
        let mut ids: Vec<_> = stations
            .map(|station| (text(&station["location_id"]), text(&station["status"])))
            .collect();
        ids.sort();
        ids
    }

    fn active(ids: &[&str]) -> Vec<(String, String)> {
        ids.iter()
            .map(|id| ((*id).to_owned(), "active".to_owned()))
            .collect()
    }

    #[tokio::test]
    async fn a_location_keeps_the_station_that_it_has() {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1"]).await;
        app.drain().await;
        let (store, tenant) = (&app.app().store, app.alice.tenant());
        let id = id_of(&station(&app).await).into();
        let stored = store.load::<ChargingStation>(&tenant, &id).await;
        let place = stored.expect("a station").internal.location;
        let place = place.expect("a location");
        let received = store.received(Mode::Test, &place).await;
        let received = received.expect("a location").expect("a location");
        let other = app.station(json!({})).await;
        let origin = shared_origin(Mode::Test, app.now());
        let mut tx = store.begin(&origin);
        tx.put_received(&ReceivedObject {
            station: Some(other.as_str().into()),
            ..received
        })
        .expect("a write");
        tx.commit_without_response().await.expect("it is stored");
        let renamed = json!({"name": "Renamed"});
        let renamed = with(location("L1", "2026-01-06T08:00:00Z"), renamed);
        cpo.list("locations", vec![renamed]);
        manage_ok(
            &app,
            json!({"action": "pull", "network": cpo.network, "full": true}),
        )
        .await;
        app.drain().await;
        let kept = app.alice.get_ok(&path_of(&other)).await;
        assert_eq!(kept["name"], "Renamed");
    }

    #[tokio::test]
    async fn a_network_that_connects_is_pulled_from_completely() {
        let app = TestApp::start().await;
        let cpo = Connected::with(&app, |script| {
            let bad = with(location("BAD", OLD), json!({"country": "XXX"}));
            let foreign = with(location("FOREIGN", OLD), json!({"party_id": "OTH"}));
            let list = [locations(&["L1", "L2", "L3", "L4"]), vec![bad, foreign]];
            script.lists.insert("locations", list.concat());
            script.lists.insert("tariffs", vec![fixture("tariff")]);
            script.lists.insert("sessions", vec![fixture("session")]);
            script.lists.insert("cdrs", vec![fixture("cdr")]);
        })
        .await;
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
        assert_eq!(station_price(&app).await, 40);
        for path in [
            "/sessions/NL/EXA/S-1001",
            "/cdrs/NL/EXA/C-1001",
            "/tariffs/NL/EXA/DAY",
        ] {
            cpo.expect("GET", path, None, (200, 1000)).await;
        }
        let pull = pulled(&app).await;
        let counts = json!({"received": 9, "changed": 8, "skipped": 2, "removed": 0});
        assert_eq!(pull["counts"], counts);
        assert_finished(&pull);
        assert_contains(&pull["problems"], "BAD");
        assert_contains(&pull["problems"], "NL*OTH");
        // Sessions cannot be listed without a time.
        let first = cpo.received("GET", "/2.2.1/sessions").remove(0);
        assert_contains(&json!(first.path), "date_from=1970-01-01T00:00:00");
    }

    async fn station_price(app: &TestApp) -> Value {
        let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=1";
        let page = app.alice.get_ok(path).await;
        page["data"][0]["connectors"][0]["pricing"][0]["price"].clone()
    }

    #[tokio::test]
    async fn hourly_pulls_load_changes_and_full_pulls_remove_locations() {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1", "L2", "L3"]).await;
        app.drain().await;
        let later = app.now().plus(MINUTE).to_string();
        let listed = vec![location("L1", OLD), location("L4", &later)];
        cpo.list("locations", listed);
        app.advance(3_600 + 300).await;
        assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
        let last = cpo.received("GET", "/2.2.1/locations").pop();
        assert_contains(&json!(last.expect("a request").path), "date_from=");
        assert_eq!(pulled(&app).await["counts"]["received"], 1);
        // Locations are not removed because of pages that lack some, if the platform has counted those.
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        cpo.script().unlisted = 2;
        manage_ok(&app, pull.clone()).await;
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
        assert_contains(&pulled(&app).await["problems"][0], "X-Total-Count");
        cpo.script().unlisted = 0;
        manage_ok(&app, pull).await;
        app.drain().await;
        let removed = |id: &str| (id.to_owned(), "removed".to_owned());
        let mut want = active(&["L1", "L4"]);
        want.extend([removed("L2"), removed("L3")]);
        want.sort();
        assert_eq!(ids(&app).await, want);
        assert_eq!(pulled(&app).await["counts"]["removed"], 2);
        cpo.expect("GET", "/locations/NL/EXA/L2", None, (404, 2003))
            .await;
        // A location that is listed again is a station again.
        cpo.put("/locations/NL/EXA/L2", &location("L2", OLD)).await;
        assert!(ids(&app).await.contains(&active(&["L2"])[0]));
    }

    #[tokio::test]
    async fn only_locations_that_the_network_does_not_know_are_removed() {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1", "L3", "L4", "L5", "Shifted"]).await;
        app.drain().await;
        let later = app.now().plus(MINUTE).to_string();
        let shifted = with(location("Shifted", &later), json!({"name": "Shifted"}));
        let foreign = location("L1", OLD);
        {
            let mut script = cpo.script();
            let answers = [
                ("Shifted", Ok(shifted)),
                ("L3", Err(500)),
                ("L4", Err(404)),
                ("L5", Ok(foreign)),
            ];
            script.locations = answers.into();
            script.lists.insert("locations", locations(&["L1"]));
        }
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage_ok(&app, pull.clone()).await;
        app.drain().await;
        let removed = |id: &str| (id.to_owned(), "removed".to_owned());
        let mut want = active(&["L1", "L3", "L5", "Shifted"]);
        want.insert(2, removed("L4"));
        assert_eq!(ids(&app).await, want);
        let shown = pulled(&app).await;
        assert_finished(&shown);
        assert_has!(shown, {"incomplete": false, "/counts/removed": 1});
        assert_contains(&shown["problems"], "L3");
        let path = "/locations/NL/EXA/shifted";
        assert_eq!(cpo.data(path).await["name"], "Shifted");
        // It no longer exists at the next full pull.
        cpo.script().locations.clear();
        manage_ok(&app, pull).await;
        app.drain().await;
        for (id, status) in &mut want {
            *status = if id == "L1" { "active" } else { "removed" }.to_owned();
        }
        assert_eq!(ids(&app).await, want);
    }

    #[tokio::test]
    async fn missing_locations_are_checked_in_several_runs() {
        let app = TestApp::start().await;
        let all: Vec<String> = (0..20).map(|n| format!("L{n:02}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let cpo = listing(&app, &all).await;
        app.drain().await;
        {
            let mut script = cpo.script();
            script.locations = [("L00", Ok(location("L00", OLD)))].into();
            script.lists.insert("locations", locations(&["L19"]));
        }
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage_ok(&app, pull).await;
        let limits = Limits {
            run: Duration::ZERO,
            ..Limits::default()
        };
        let network = Id::from(cpo.network.as_str());
        let removed = async || pulled(&app).await["counts"]["removed"].as_u64();
        let mut counts = Vec::new();
        while pulled(&app).await["finished"].is_string() == counts.is_empty() {
            let run = pull_within(app.app(), Mode::Test, &network, &limits).await;
            run.expect("a run");
            counts.extend(removed().await);
        }
        counts.dedup();
        assert!(counts.len() > 2 && counts.last() == Some(&18), "{counts:?}");
        let kept = ids(&app).await.into_iter();
        let kept: Vec<_> = kept.filter(|(_, status)| status == "active").collect();
        assert_eq!(kept, active(&["L00", "L19"]));
        let requests = cpo.received("GET", "/2.2.1/locations/L").len();
        assert_eq!(requests, 19, "each is requested once");
    }

    #[tokio::test]
    async fn a_location_that_is_listed_twice_counts_once() {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1", "L2"]).await;
        app.drain().await;
        // L1 has moved to the next page, in the place of L2.
        cpo.list("locations", locations(&["L1", "L1"]));
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage_ok(&app, pull).await;
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1", "L2"]));
        assert_contains(&pulled(&app).await["problems"][0], "X-Total-Count");
    }

    #[tokio::test]
    async fn equal_ids_of_two_networks_are_two_stations() {
        let app = TestApp::start().await;
        let first = listing(&app, &["Isl-1", "iSL-1"]).await;
        let second = Connected::with(&app, |script| {
            script.roles[0]["party_id"] = json!("OTH");
            let theirs = with(location("isl-1", OLD), json!({"party_id": "OTH"}));
            script.lists.insert("locations", vec![theirs]);
        })
        .await;
        app.drain().await;
        let folded = || async {
            let ids = ids(&app).await.into_iter();
            let ids = ids.map(|(id, status)| (id.to_lowercase(), status));
            Vec::from_iter(ids)
        };
        assert_eq!(folded().await, active(&["isl-1", "isl-1"]));
        // Each removes only its own.
        second.list("locations", Vec::new());
        for cpo in [&first, &second] {
            let pull = json!({"action": "pull", "network": cpo.network, "full": true});
            manage_ok(&app, pull).await;
        }
        app.drain().await;
        let removed = ("isl-1".to_owned(), "removed".to_owned());
        assert_eq!(folded().await, [active(&["isl-1"]), vec![removed]].concat());
    }

    /// A network whose locations are at the address of the listener until its addresses change.
    async fn with_slow_locations(app: &TestApp) -> (TcpListener, Connected) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let cpo = Connected::with(app, |script| {
            let slow = format!("http://{address}/locations");
            script.addresses.insert("locations", slow);
            script.lists.insert("locations", locations(&["L1"]));
        });
        (listener, cpo.await)
    }

    const GONE: &[u8] = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    #[tokio::test]
    async fn a_pull_that_is_requested_during_a_pull_follows_it() {
        let app = TestApp::start().await;
        let (listener, cpo) = with_slow_locations(&app).await;
        let answered = async |is_requested: bool| {
            let (mut connection, _) = listener.accept().await.expect("a request");
            if is_requested {
                manage_ok(&app, json!({"action": "pull", "network": cpo.network})).await;
            }
            connection.write_all(GONE).await.expect("sent");
        };
        let pulled_twice = async {
            answered(true).await;
            timeout(Duration::from_secs(20), answered(false)).await
        };
        let (_, follows) = tokio::join!(app.drain(), pulled_twice);
        follows.expect("another pull");
    }

    #[tokio::test]
    async fn credentials_that_change_during_a_pull_begin_another() {
        let app = TestApp::start().await;
        let (listener, cpo) = with_slow_locations(&app).await;
        let renewed = async {
            let (mut connection, _) = listener.accept().await.expect("a request");
            cpo.script().addresses.clear();
            let own = cpo.credentials();
            let answer = cpo
                .expect("PUT", "/credentials", Some(&own), (200, 1000))
                .await;
            connection.write_all(GONE).await.expect("sent");
            answer
        };
        tokio::join!(app.drain(), renewed);
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1"]));
    }

    #[tokio::test]
    async fn an_interrupted_pull_goes_on_where_it_was() {
        let app = TestApp::start().await;
        // No token is sent in the meantime.
        app.drain().await;
        let listed = ["L1", "L2", "L3", "L4", "L5"];
        let cpo = Connected::with(&app, |script| {
            script.missing = vec!["tariffs", "sessions", "cdrs"];
            script.lists.insert("locations", locations(&listed));
        })
        .await;
        cpo.script().fail = vec![500; 3];
        app.drain().await;
        assert_contains(&pulled(&app).await["error"], "500");
        assert_eq!(ids(&app).await, []);
        app.advance(15 * 60 + 300).await;
        assert_eq!(ids(&app).await, active(&listed));
        // Three tries, and three pages.
        assert_eq!(cpo.received("GET", "/2.2.1/locations").len(), 3 + 3);
        assert!(pulled(&app).await["error"].is_null());
    }

    #[tokio::test]
    async fn an_unreachable_network_is_asked_four_times_an_hour() {
        let app = TestApp::start().await;
        let cpo = Connected::with(&app, |script| {
            script.missing = vec!["sessions", "cdrs"];
            script.lists.insert("locations", locations(&["L1"]));
        })
        .await;
        app.drain().await;
        let requests = || cpo.received("GET", "/2.2.1/").len();
        let before = requests();
        cpo.script().fail = vec![503; 1_000];
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage_ok(&app, pull).await;
        app.advance(2 * 3_600).await;
        // Each module is asked three times, with three tries each, and then the pull has ended.
        assert_eq!(requests() - before, 2 * 3 * 3);
        let pull = pulled(&app).await;
        assert!(pull["finished"].is_string(), "{pull}");
        assert_contains(&pull["error"], "503");
        assert_contains(&pull["problems"], "tariffs, ");
        assert_contains(&pull["problems"], "locations, ");
        assert_eq!(ids(&app).await, active(&["L1"]));
        cpo.script().fail.clear();
        app.advance(3_600).await;
        let pull = pulled(&app).await;
        assert_finished(&pull);
        assert_has!(pull, {"full": true, "incomplete": false});
    }

    #[tokio::test]
    async fn a_missing_page_does_not_prevent_pulls_of_other_modules() {
        let app = TestApp::start().await;
        let cpo = Connected::with(&app, |script| {
            script.missing = vec!["sessions", "cdrs"];
            let nowhere = "http://127.0.0.1/ocpi/2.2.1/tariffs/nowhere";
            script.next_pages.insert("tariffs", nowhere.to_owned());
            script.lists.insert("tariffs", vec![fixture("tariff")]);
            script.lists.insert("locations", locations(&["L1", "L2"]));
        })
        .await;
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1", "L2"]));
        let pull = pulled(&app).await;
        assert_contains(&pull["problems"], "tariffs/nowhere");
        assert_contains(&pull["problems"], "404");
        assert_finished(&pull);
        // The missing pages may have had objects that changed before this pull, so the next pull requests everything again.
        cpo.script().next_pages.clear();
        app.advance(60 * 60 + 300).await;
        let paths = cpo.received("GET", "/2.2.1/tariffs");
        let last = &paths.last().expect("a request").path;
        assert!(!last.contains("date_from"), "{last}");
        assert_eq!(pulled(&app).await["problems"], json!([]));
    }

    #[tokio::test]
    async fn a_pulled_tariff_that_gives_no_prices_is_a_problem() {
        let app = TestApp::start().await;
        let mut unusable = fixture("tariff");
        unusable["elements"][0]["restrictions"] = json!({"day_of_week": ["FUNDAY"]});
        let cpo = Connected::with(&app, |script| {
            script.missing = vec!["sessions", "cdrs"];
            script.lists.insert("tariffs", vec![unusable.clone()]);
            script.lists.insert("locations", locations(&["L1"]));
        });
        let cpo = cpo.await;
        app.drain().await;
        let pull = pulled(&app).await;
        assert_contains(&pull["problems"], "FUNDAY");
        assert_finished(&pull);
        assert_eq!(cpo.data("/tariffs/NL/EXA/DAY").await, unusable);
    }

    #[tokio::test]
    async fn a_pull_whose_message_was_lost_is_made_all_the_same() {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1"]).await;
        app.running().lose_triggers().await.expect("lost");
        app.drain().await;
        assert!(cpo.received("GET", "/2.2.1/locations").is_empty());
        functions::stream::sweep::before(app.app(), app.now().plus(seconds(1)))
            .await
            .expect("swept");
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1"]));
    }

    #[tokio::test]
    async fn the_token_is_not_sent_to_another_host_by_way_of_a_link() {
        let app = TestApp::start().await;
        let thief = platform().await;
        let elsewhere = thief.versions_url().replace("127.0.0.1", "localhost");
        let cpo = listing(&app, &["L1"]).await;
        cpo.script().next_pages.insert("locations", elsewhere);
        app.drain().await;
        assert!(thief.received("GET", "").is_empty());
        assert!(!cpo.received("GET", "/2.2.1/locations").is_empty());
        assert_contains(&pulled(&app).await, "names another host");
    }
}

mod manage_networks {
    use super::*;

    #[tokio::test]
    async fn an_operator_connects_to_a_platform_with_its_token_a() {
        let app = TestApp::start().await;
        let platform = platform().await;
        platform.script().versions = vec!["2.1.1", "2.2.1"];
        let listed = vec![fixture("location")];
        platform.script().lists.insert("locations", listed);
        let url = platform.versions_url();
        let connect = json!({"action": "connect", "name": "Example", "url": url, "token": platform.token_a()});
        let network = manage_ok(&app, connect).await;
        assert_has!(network, {"status": "connected", "version": "2.2.1"});
        let sent = platform.received("POST", "/2.2.1/credentials").remove(0);
        assert_has!(sent.body, {"url": format!("{}/ocpi/versions", app.running().base_url),
            "/roles/0/party_id": "FCS"});
        let token_b = sent.body["token"].as_str().expect("a token");
        get_expecting(&app, token_b, "/ocpi/2.2.1/tokens", (200, 1000)).await;
        app.drain().await;
        assert_eq!(station(&app).await["network"]["party_id"], "EXA");
    }

    #[tokio::test]
    async fn a_connection_that_fails_leaves_no_token_behind() {
        let app = TestApp::start().await;
        let platform = platform().await;
        let (url, token_a) = (platform.versions_url(), platform.token_a());
        let connect = |url: &str, token: &str| json!({"action": "connect", "name": "Example", "url": url, "token": token});
        for (url, token) in [
            (url.as_str(), "wrong"),
            ("http://192.168.0.1/versions", token_a.as_str()),
            ("nonsense", &token_a),
            (&url, "with blanks"),
        ] {
            manage(&app, connect(url, token)).await.expect_err(url);
        }
        let mut in_live = connect("https://1.1.1.1:22/versions", &token_a);
        in_live["mode"] = json!("live");
        let refused = manage(&app, in_live).await.expect_err("another port");
        assert!(refused.contains("port 443 or 8443"), "{refused}");
        for mode in ["live", "test"] {
            let listed = manage_ok(&app, json!({"action": "list", "mode": mode})).await;
            assert_eq!(listed["data"], json!([]));
        }
        platform.script().missing = vec!["locations"];
        let refused = manage(&app, connect(&url, &token_a))
            .await
            .expect_err("no locations");
        assert!(refused.contains("locations"), "{refused}");
        let sent = platform.received("POST", "/2.2.1/credentials").remove(0);
        let token_b = sent.body["token"].as_str().expect("a token");
        get_expecting(&app, token_b, "/ocpi/versions", (401, 2000)).await;
        let listed = manage_ok(&app, json!({"action": "list"})).await;
        assert_eq!(listed["data"][0]["status"], "revoked");
    }

    #[tokio::test]
    async fn a_suspended_network_can_be_resumed_and_a_revoked_one_cannot() {
        let (app, cpo) = Connected::start().await;
        let set = async |action: &str| {
            manage(&app, json!({"action": action, "network": cpo.network})).await
        };
        let tokens = async || codes(&cpo.send("GET", "/tokens", None).await);
        set("suspend").await.expect("suspended");
        assert_eq!(tokens().await, (401, 2000));
        set("resume").await.expect("resumed");
        assert_eq!(tokens().await, (200, 1000));
        let revoked = set("revoke").await.expect("revoked");
        assert_has!(revoked, {"status": "revoked", "platform_informed": true});
        let sent = cpo.received("DELETE", "/2.2.1/credentials");
        assert_eq!(sent.len(), 1, "the platform was informed");
        assert_eq!(tokens().await, (401, 2000));
        set("resume").await.expect_err("it is revoked");
        set("pull").await.expect_err("it is revoked");
        let unknown =
            json!({"action": "suspend", "network": "net_00000000000000000000000000000001"});
        manage(&app, unknown)
            .await
            .expect_err("there is no such network");
        app.drain().await;
    }

    #[tokio::test]
    async fn a_network_is_revoked_though_its_platform_cannot_be_informed() {
        let (app, cpo) = Connected::start().await;
        cpo.script().fail = vec![500];
        let revoke = json!({"action": "revoke", "network": cpo.network});
        let revoked = manage_ok(&app, revoke.clone()).await;
        assert_has!(revoked, {"status": "revoked", "platform_informed": false});
        assert_contains(&revoked["problem"], "HTTP 500");
        cpo.expect("GET", "/tokens", None, (401, 2000)).await;
        // Its token was deleted: the platform is not called again.
        let again = manage_ok(&app, revoke).await;
        assert!(again.get("platform_informed").is_none());
        let sent = cpo.received("DELETE", "/2.2.1/credentials");
        assert_eq!(sent.len(), 1);
    }

    #[tokio::test]
    async fn a_network_is_revoked_even_if_its_token_cannot_be_decrypted() {
        let (app, cpo) = Connected::start().await;
        let service = app.app_with_keys("a master secret with which nothing was encrypted");
        let revoke = json!({"action": "revoke", "mode": "test", "network": cpo.network});
        let revoke = serde_json::from_value(revoke).expect("an action");
        let revoked = functions::networks::manage::handle(&service, revoke, None).await;
        let revoked = serde_json::to_value(revoked.expect("revoked")).expect("JSON");
        assert_has!(revoked, {"status": "revoked", "platform_informed": false});
        cpo.expect("GET", "/tokens", None, (401, 2000)).await;
        let sent = cpo.received("DELETE", "/2.2.1/credentials");
        assert_eq!(sent.len(), 0);
    }

    #[tokio::test]
    async fn the_local_runner_offers_the_same() {
        let app = TestApp::start().await;
        // A deployment does not have this path.
        app.running();
        let body = json!({"action": "issue_token", "mode": "test", "name": "Example"});
        let issued = app.local().post_ok("/_local/networks", body).await;
        let token = issued["token"].as_str().expect("a token");
        get_expecting(&app, token, "/ocpi/versions", (200, 1000)).await;
        let listed = app.local().get_ok("/_local/networks").await;
        assert_eq!(listed["data"][0]["name"], "Example");
        let wrong = json!({"action": "issue_token", "mode": "test", "name": ""});
        for wrong in [wrong, json!({"action": "dance"})] {
            let refused = app.local().post("/_local/networks", wrong).await;
            refused.expect(400);
        }
    }
}

mod samples {
    use super::*;

    #[tokio::test]
    async fn every_operation_answers_its_sample_event() {
        let app = TestApp::start().await;
        let cpo = Connected::with(&app, |script| {
            let operator = script.roles[0].clone();
            script.roles = json!([hub_role(), operator]);
        })
        .await;
        let parties = json!([{"country_code": "NL", "party_id": "EXA"}]);
        let approve =
            json!({"action": "approve_parties", "network": cpo.network, "parties": parties});
        manage_ok(&app, approve).await;
        let mut token = cpo.token.clone();
        let mut operations: Vec<_> = functions::ocpi::operations()
            .map(|operation| (operation.name, operation.method))
            .collect();
        // An object that was put can be retrieved, and one that was retrieved can be deleted. The connection ends last.
        let order = [
            "ocpi-put",
            "ocpi-create",
            "ocpi-patch",
            "ocpi-retrieve",
            "ocpi-list",
            "ocpi-authorize",
            "ocpi-delete",
            "ocpi-renew",
        ];
        let place = |name: &str| {
            order
                .iter()
                .position(|prefix| name.starts_with(prefix))
                .unwrap_or(order.len())
        };
        let inner = |name: &str| {
            ["location", "evse", "connector"]
                .iter()
                .position(|suffix| name.ends_with(suffix))
        };
        operations.sort_by_key(|(name, _)| (place(name), inner(name)));
        for (name, method) in operations {
            let event: Value = serde_json::from_str(&tests::samples::text(name)).expect("JSON");
            let mut path = event["rawPath"].as_str().expect("a path").to_owned();
            if let Some(query) = event["rawQueryString"]
                .as_str()
                .filter(|query| !query.is_empty())
            {
                path += &format!("?{query}");
            }
            let mut body: Option<Value> = event["body"]
                .as_str()
                .map(|body| serde_json::from_str(body).expect("JSON"));
            if body
                .as_ref()
                .is_some_and(|body| body.get("roles").is_some())
            {
                body = Some(cpo.credentials());
            }
            assert_eq!(event["requestContext"]["http"]["method"], method, "{name}");
            let answer = send(&app, &token, method, &path, body.as_ref(), &[]).await;
            let code = answer.body["status_code"].as_i64();
            match name {
                // These need an earlier request of the service, or a token that is only valid for registration.
                "ocpi-create-command-result" | "ocpi-create-profile-result" => {
                    assert_eq!(answer.status, 404, "{name}");
                }
                "ocpi-authorize-token" => {
                    assert_eq!((answer.status, code), (404, Some(2004)), "{name}")
                }
                "ocpi-register" => assert_eq!(answer.status, 405, "{name}"),
                _ => assert_eq!(code, Some(1000), "{name}: {}", answer.text),
            }
            if name == "ocpi-renew-credentials" {
                token = answer.body["data"]["token"]
                    .as_str()
                    .expect("a token")
                    .to_owned();
            }
            if name == "ocpi-unregister" {
                break;
            }
        }
        app.drain().await;
    }
}

mod examples {
    use super::*;

    /// An example of the specification, if the examples exist.
    fn example(name: &str) -> Option<Value> {
        let path = format!(
            "{}/../../shared/data/ocpi-2.2.1-examples/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).ok()?;
        Some(serde_json::from_str(&text).expect("JSON"))
    }
    use std::io::Write as _;

    fn skip() {
        drop(writeln!(
            std::io::stderr(),
            "skipped: the examples of the specification are not there"
        ));
    }

    /// A platform of the party of an object.
    async fn of(app: &TestApp, object: &Value) -> Connected {
        let (country, party) = (object["country_code"].clone(), object["party_id"].clone());
        Connected::with(app, |script| {
            script.roles[0]["country_code"] = country;
            script.roles[0]["party_id"] = party;
        })
        .await
    }

    #[tokio::test]
    async fn objects_come_back_as_they_went_in() {
        for (module, names) in [
            (
                "locations",
                &[
                    "location_example",
                    "location_example_parking_garage_opening_hours",
                    "location_example_uc2_destination_charger",
                    "location_example_uc3_destination_charger_not_published",
                    "location_example_uc4_limited_visibility",
                    "location_example_uc5_home_charge_point",
                ][..],
            ),
            (
                "tariffs",
                &[
                    "tariff_1_simple_2hour",
                    "tariff_2_alt_text",
                    "tariff_3_alt_url",
                    "tariff_4_complex",
                    "tariff_5_free_of_charge",
                    "tariff_6_025kwh_start_max_price",
                    "tariff_8_simple_025kwh",
                    "tariff_9_025kwh_start",
                    "tariff_10_025kwh_parking_start",
                    "tariff_11_not_possible_alt_text",
                    "tariff_12_025kwh_min_price",
                    "tariff_13_simple_3hour_5parking",
                    "tariff_14_step_size",
                    "tariff_15_reservation_5_euro_per_hour",
                    "tariff_16_reservation_2_euro_fee_5_euro_per_hour",
                    "tariff_17_reservation_with_expire_fee",
                    "tariff_18_reservation_with_expire_time",
                    "tariff_put_example",
                ],
            ),
            (
                "sessions",
                &[
                    "session_example_1_simple_start",
                    "session_example_2_short_finished",
                ],
            ),
        ] {
            for name in names {
                let Some(object) = example(name) else {
                    return skip();
                };
                let app = TestApp::start().await;
                let cpo = of(&app, &object).await;
                let text = |member: &str| object[member].as_str().expect("a text").to_owned();
                let path = format!(
                    "/{module}/{}/{}/{}",
                    text("country_code"),
                    text("party_id"),
                    text("id")
                );
                assert_eq!(cpo.put(&path, &object).await.status, 201, "{name}");
                assert_eq!(cpo.data(&path).await, object, "{name}");
                app.drain().await;
            }
        }
    }

    #[tokio::test]
    async fn a_cdr_comes_back_as_it_went_in() {
        let Some(cdr) = example("cdr_example") else {
            return skip();
        };
        let app = TestApp::start().await;
        let cpo = of(&app, &cdr).await;
        let answer = cpo.expect("POST", "/cdrs", Some(&cdr), (201, 1000)).await;
        let path = answer.header("location");
        let shown = send(&app, &cpo.token, "GET", path, None, &[]).await;
        assert_eq!(shown.body["data"], cdr);
    }

    #[tokio::test]
    async fn the_patch_examples_of_the_ocpi_specification_are_applied() {
        let (Some(mut location), Some(evse)) = (
            example("location_example"),
            example("location_put_example_add_evse"),
        ) else {
            return skip();
        };
        let app = TestApp::start().await;
        let cpo = of(&app, &location).await;
        // The updates are of a location `1012` of another party, whose EVSE is `3255` in one of them.
        location["id"] = json!("1012");
        location["evses"][1]["uid"] = json!("3255");
        let mut second = location["evses"][1]["connectors"][0].clone();
        second["id"] = json!("2");
        location["evses"][1]["connectors"]
            .as_array_mut()
            .expect("connectors")
            .push(second);
        let path = "/locations/BE/BEC/1012";
        cpo.put(path, &location).await;
        for (name, below, member, want) in [
            (
                "location_patch_example_status",
                "/3255",
                "status",
                json!("CHARGING"),
            ),
            (
                "location_patch_example_location",
                "",
                "name",
                json!("Interparking Gent Zuid"),
            ),
            (
                "location_patch_example_tariff",
                "/3255/2",
                "tariff_ids",
                json!(["15"]),
            ),
            (
                "location_patch_example_remove_evse",
                "/3256",
                "status",
                json!("REMOVED"),
            ),
        ] {
            let sent = example(name).expect("an example");
            let path = format!("{path}{below}");
            cpo.patch(&path, &sent).await;
            let shown = cpo.data(&path).await;
            assert_eq!(shown[member], want, "{name}");
            assert_eq!(shown["last_updated"], sent["last_updated"], "{name}");
        }
        let path = format!("{path}/3256");
        let shown = cpo
            .put(
                &path,
                &with(
                    evse.clone(),
                    json!({"last_updated": "2020-01-01T00:00:00Z"}),
                ),
            )
            .await;
        assert_eq!(shown.status, 200);
        let mut session = example("session_example_1_simple_start").expect("an example");
        session["last_updated"] = json!("2019-06-23T08:00:00Z");
        session["party_id"] = json!("BEC");
        session["country_code"] = json!("BE");
        let path = "/sessions/BE/BEC/101";
        cpo.put(path, &session).await;
        let cost = example("session_patch_example_total_cost").expect("an example");
        cpo.patch(path, &cost).await;
        assert_eq!(cpo.data(path).await["total_cost"], cost["total_cost"]);
        let mut period = example("session_patch_example_charging_period").expect("an example");
        period["last_updated"] = json!("2020-01-01T00:00:00Z");
        cpo.patch(path, &period).await;
        assert_has!(cpo.data(path).await, {"charging_periods": period["charging_periods"]});
        app.drain().await;
    }

    #[test]
    fn the_other_objects_are_read() {
        use models::token::Token;
        use ocpi::credentials::Credentials;
        use ocpi::envelope::Received;
        use ocpi::reader::lenient;
        use ocpi::versions::{Version, VersionDetails, best};
        let Some(list) = example("versions_info_example") else {
            return skip();
        };
        let versions: Vec<Version> = lenient(&list).expect("versions");
        assert_eq!(
            best(&versions).map(|(version, _)| version.as_str()),
            Some("2.2.1")
        );
        for name in ["version_details_example", "version_details_example2"] {
            let details: VersionDetails = lenient(&example(name).expect("an example")).expect(name);
            assert!(
                details.version.starts_with("2.2") && !details.endpoints.is_empty(),
                "{name}"
            );
        }
        for name in [
            "credentials_example",
            "credentials_example2",
            "credentials_example3",
            "credentials_example4",
        ] {
            let credentials: Credentials =
                lenient(&example(name).expect("an example")).expect(name);
            let own = models::network::PartyId::new("GB", "FCS").expect("a party");
            credentials.check(&own).expect(name);
        }
        for name in ["token_example_1_app_user", "token_put_example"] {
            let token = example(name).expect("an example");
            let read: Token = lenient(&token).expect(name);
            assert_eq!(read.uid, token["uid"].as_str().expect("a uid"), "{name}");
        }
        for name in [
            "transport_and_format_get_token_example",
            "transport_and_format_get_token_list_example",
            "transport_and_format_version_details_example",
            "transport_and_format_version_info_example",
        ] {
            let envelope: Received =
                serde_json::from_value(example(name).expect("an example")).expect(name);
            assert!(
                envelope.status_code.is_success() && !envelope.data.is_null(),
                "{name}"
            );
        }
    }
}

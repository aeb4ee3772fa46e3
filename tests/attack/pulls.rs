//! Hostile platforms of charging networks: their lists never end, are circular, are sent slowly or have the maximum size, and their
//! endpoints have private addresses. They cost a bounded amount of work, and no station is withdrawn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use functions::networks::sync::{self, Limits};
use futures::stream;
use kernel::time::{minutes, seconds};
use kernel::{Error, Id, Mode};
use ocpi::network::Network;
use serde_json::{Value, json};
use table::networks::operators;
use tests::platform::{Connected, fixture, manage, platform, send};
use tests::{TestApp, with};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A server of lists that responds to each request as the test specifies, and records the paths with their queries.
#[derive(Clone)]
struct Hostile {
    url: String,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Hostile {
    /// `answer` receives the address of the server and the number of the requested page, which is 0 for the first one.
    async fn start(
        answer: impl Fn(&str, usize) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let port = port.expect("a port");
        let url = format!("http://{}", port.local_addr().expect("an address"));
        let paths: Arc<Mutex<Vec<String>>> = Arc::default();
        let (own, seen) = (url.clone(), paths.clone());
        let respond = async move |uri: Uri| {
            seen.lock().await.push(uri.to_string());
            let page = uri.path().rsplit('/').next().unwrap_or_default();
            answer(&own, page.parse().unwrap_or(0))
        };
        let router = Router::new().fallback(respond);
        tokio::spawn(async move { axum::serve(port, router).await });
        Self { url, paths }
    }

    async fn requests(&self) -> usize {
        self.paths.lock().await.len()
    }
}

fn linked(body: impl Into<Body>, next: Option<String>) -> Response {
    let mut headers = HeaderMap::new();
    if let Some(next) = next {
        let link = HeaderValue::from_str(&format!("<{next}>; rel=\"next\""));
        headers.insert("link", link.expect("a header"));
    }
    (headers, body.into()).into_response()
}

/// A page with these objects that links to a next one.
fn page(objects: &[Value], next: Option<String>) -> Response {
    let body = json!({"data": objects, "status_code": 1000, "timestamp": "2026-01-01T00:00:00Z"});
    linked(body.to_string(), next)
}

fn location(id: &str) -> Value {
    with(fixture("location"), json!({"id": id}))
}

/// A correct platform with two locations and a tariff, from which everything was pulled.
async fn honest(app: &TestApp) -> Connected {
    let cpo = Connected::with(app, |script| {
        let locations = ["L1", "L2"].map(location).to_vec();
        script.lists.insert("locations", locations);
        script.lists.insert("tariffs", vec![fixture("tariff")]);
    })
    .await;
    app.drain().await;
    assert_eq!(statuses(app).await.len(), 2);
    cpo
}

/// The statuses of the stations, by their locations.
async fn statuses(app: &TestApp) -> BTreeMap<String, String> {
    let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=100";
    let listed = app.alice.get_ok(path).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let stations = listed["data"].as_array().expect("stations").iter();
    let stations =
        stations.map(|station| (text(&station["location_id"]), text(&station["status"])));
    stations.collect()
}

/// The platform moves its locations to another address, and everything is requested again.
async fn turn(app: &TestApp, cpo: &Connected, locations: &str) -> Connected {
    turn_module(app, cpo, "locations", locations).await
}

/// The platform moves the list of a module to another address, and everything is requested again.
async fn turn_module(
    app: &TestApp,
    cpo: &Connected,
    module: &'static str,
    list: &str,
) -> Connected {
    let addresses = BTreeMap::from([(module, format!("{list}/0"))]);
    cpo.script().addresses = addresses;
    let path = "/ocpi/2.2.1/credentials";
    let credentials = cpo.credentials();
    let renewed = send(app, &cpo.token, "PUT", path, Some(&credentials), &[]).await;
    let token = renewed.body["data"]["token"].as_str().expect("a token");
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    manage(app, pull).await.expect("asked for");
    Connected {
        token: token.to_owned(),
        ..cpo.clone()
    }
}

async fn last_pull(app: &TestApp) -> Value {
    let listed = manage(app, json!({"action": "list"})).await;
    listed.expect("networks")["data"][0]["pull"].clone()
}

/// Runs the function once with limits. Its message comes again if another run wrote at the same time.
async fn run(app: &TestApp, cpo: &Connected, limits: &Limits) {
    let network = Id::from(cpo.network.as_str());
    let run = async || sync::pull_within(app.app(), Mode::Test, &network, limits).await;
    let mut ended = run().await;
    while matches!(ended, Err(Error::Contended)) {
        ended = run().await;
    }
    ended.expect("a run");
}

/// Checks that a full pull ended early for this reason, and that no station was withdrawn.
async fn assert_given_up(app: &TestApp, cpo: &Connected, why: &str) {
    let pull = last_pull(app).await;
    let first = pull["problems"][0].as_str().unwrap_or_default();
    assert!(first.contains(why), "{pull}");
    assert_eq!(pull["incomplete"], true);
    assert!(pull["finished"].is_string(), "{pull}");
    assert_eq!(pull["counts"]["removed"], 0);
    let statuses = statuses(app).await;
    for id in ["L1", "L2"] {
        assert_eq!(statuses[id], "active", "{statuses:?}");
    }
    let cdrs = cpo.received("GET", "/2.2.1/cdrs");
    assert_eq!(cdrs.len(), 2, "the modules after it are pulled");
}

/// Checks that a pull of the list of this server reads it up to a limit, and gives up for this reason. Returns the number of requests.
async fn given_up_within(hostile: Hostile, limits: Limits, why: &str) -> usize {
    let app = TestApp::start().await;
    let cpo = turn(&app, &honest(&app).await, &hostile.url).await;
    run(&app, &cpo, &limits).await;
    assert_given_up(&app, &cpo, why).await;
    hostile.requests().await
}

#[tokio::test]
async fn pages_that_lead_in_a_circle_are_read_once() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let hostile = Hostile::start(|url, number| {
        let next = format!("{url}/{}", if number == 1 { 2 } else { 1 });
        page(&[location("L3")], Some(next))
    })
    .await;
    let cpo = turn(&app, &cpo, &hostile.url).await;
    run(&app, &cpo, &Limits::default()).await;
    assert_given_up(&app, &cpo, "one that was read before").await;
    assert_eq!(
        hostile.requests().await,
        3,
        "the first one, and two of the circle"
    );
    assert_eq!(statuses(&app).await["L3"], "active");
    // The next pull requests everything again, in an hour.
    app.advance(3_600 + 300).await;
    assert_eq!(hostile.requests().await, 6);
}

#[tokio::test]
async fn pages_and_objects_without_end_are_read_to_a_bound() {
    let endless = Hostile::start(|url, number| {
        let id = format!("L{}", 10 + number % 3);
        page(&[location(&id)], Some(format!("{url}/{}", number + 1)))
    });
    let limits = Limits {
        pages: 7,
        ..Limits::default()
    };
    let requests = given_up_within(endless.await, limits, "more than 7 pages").await;
    assert_eq!(requests, 7);
}

#[tokio::test]
async fn objects_without_end_are_read_to_a_bound() {
    let endless = Hostile::start(|url, number| {
        let objects: Vec<Value> = (0..20).map(|n| location(&format!("N{n}"))).collect();
        page(&objects, Some(format!("{url}/{}", number + 1)))
    });
    let limits = Limits {
        objects: 50,
        ..Limits::default()
    };
    let requests = given_up_within(endless.await, limits, "more than 50 objects").await;
    assert_eq!(requests, 3);
}

#[tokio::test]
async fn bytes_without_end_are_read_to_a_bound() {
    let flood = Hostile::start(|_, _| {
        let head = r#"{"data":[],"status_code":1000,"padding":""#;
        let chunk = || Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 4096]));
        let body = std::iter::once(Ok(Bytes::from(head))).chain(std::iter::repeat_with(chunk));
        linked(Body::from_stream(stream::iter(body)), None)
    });
    let limits = Limits {
        bytes: 1_000_000,
        ..Limits::default()
    };
    given_up_within(flood.await, limits, "more than 1000000 bytes").await;
}

#[tokio::test]
async fn a_pull_that_takes_too_long_ends() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let endless = Hostile::start(|url, number| page(&[], Some(format!("{url}/{}", number + 1))));
    let endless = endless.await;
    let limits = Limits {
        run: Duration::ZERO,
        ..Limits::default()
    };
    let cpo = turn(&app, &cpo, &endless.url).await;
    for _ in 0..3 {
        run(&app, &cpo, &limits).await;
    }
    let pull = last_pull(&app).await;
    assert!(pull["finished"].is_null(), "{pull}");
    app.running().lose_triggers().await.expect("lost");
    app.advance(6 * 3_600 + 1).await;
    run(&app, &cpo, &limits).await;
    let pull = last_pull(&app).await;
    let problems = pull["problems"].to_string();
    assert!(problems.contains("takes too long"), "{pull}");
    assert!(pull["finished"].is_string() && pull["incomplete"] == true);
    assert_eq!(statuses(&app).await["L1"], "active");
}

#[tokio::test]
async fn endless_pages_do_not_stop_the_clock() {
    let app = TestApp::start_with(|options| options.slack = 2).await;
    let cpo = honest(&app).await;
    let endless = Hostile::start(|url, number| page(&[], Some(format!("{url}/{}", number + 1))));
    let endless = endless.await;
    turn(&app, &cpo, &endless.url).await;
    let (before, began) = (app.now(), Instant::now());
    app.advance(3_600).await;
    assert!(app.now().since(before) >= kernel::time::HOUR);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(60), "it took {took:?}");
    assert!(endless.requests().await > 1);
}

#[tokio::test]
async fn an_object_too_large_is_skipped_and_its_station_stays() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let hostile = Hostile::start(|_, _| {
        let large = with(location("L1"), json!({"padding": "x".repeat(300_000)}));
        // This one is small enough, but its parsed form needs eighty times the memory of its text.
        let dense = with(
            location("L2"),
            json!({"padding": vec![json!({"a": 0}); 30_000]}),
        );
        // The depth exceeds the limit of the parser.
        let mut deep = location("L3").to_string();
        deep.truncate(deep.len() - 1);
        let (open, close) = ("[".repeat(10_000), "]".repeat(10_000));
        let deep = format!("{deep},\"padding\":{open}{close}}}");
        let body = format!(
            r#"{{"data":[{large},{dense},{deep},{}],"status_code":1000}}"#,
            location("L4")
        );
        linked(body, None)
    });
    let hostile = hostile.await;
    let cpo = turn(&app, &cpo, &hostile.url).await;
    run(&app, &cpo, &Limits::default()).await;
    app.drain().await;
    let pull = last_pull(&app).await;
    let problems = pull["problems"].to_string();
    for problem in [
        "L1: it has 301337 bytes, more than 262144",
        "L3: recursion limit",
    ] {
        assert!(problems.contains(problem), "{problem}: {problems}");
    }
    assert_eq!(pull["counts"]["skipped"], 2);
    assert_eq!(pull["counts"]["removed"], 0);
    let statuses = statuses(&app).await;
    assert_eq!(statuses.keys().collect::<Vec<_>>(), ["L1", "L2", "L4"]);
    assert!(statuses.values().all(|status| status == "active"));
}

#[tokio::test]
async fn a_long_page_goes_on_where_the_run_ended() {
    const COUNT: usize = 400;
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let long = Hostile::start(|_, _| {
        let objects: Vec<Value> = (1..=COUNT).map(|n| location(&format!("L{n}"))).collect();
        page(&objects, None)
    });
    let long = long.await;
    let limits = Limits {
        run: Duration::ZERO,
        page: Duration::from_secs(1),
        ..Limits::default()
    };
    let cpo = turn(&app, &cpo, &long.url).await;
    let mut runs = 0;
    while last_pull(&app).await["finished"].is_null() || runs == 0 {
        run(&app, &cpo, &limits).await;
        assert_eq!(last_pull(&app).await["error"], Value::Null);
        runs += 1;
        assert!(runs < 1_000, "the pull makes no progress");
    }
    assert!(long.requests().await > 1, "one run was enough");
    let pull = last_pull(&app).await;
    assert_eq!(pull["incomplete"], false, "{pull}");
    // Each object and the tariff were stored once; objects that an earlier run has read do not count as missing.
    app.drain().await;
    assert_eq!(pull["counts"]["received"], COUNT + 1);
    assert_eq!(pull["counts"]["removed"], 0);
    let statuses = statuses(&app).await;
    assert!(statuses.values().all(|status| status == "active"));
}

#[tokio::test]
async fn a_page_that_breaks_withdraws_nothing() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    for body in [
        format!(r#"{{"data":[{}"#, location("L1")),
        format!(r#"{{"data":[{}],"status_code":3000}}"#, location("L1")),
        r#"{"status_code":1000,"data":[]"#.to_owned(),
        r#"{"status_code":1000,"data":{}}"#.to_owned(),
    ] {
        let text = body.clone();
        let hostile = Hostile::start(move |_, _| linked(body.clone(), None)).await;
        let cpo = turn(&app, &cpo, &hostile.url).await;
        run(&app, &cpo, &Limits::default()).await;
        app.drain().await;
        let pull = last_pull(&app).await;
        assert!(pull["error"].is_string(), "{text}: {pull}");
        let statuses = statuses(&app).await;
        assert_eq!(statuses.len(), 2);
        assert!(statuses.values().all(|status| status == "active"));
    }
}

#[tokio::test]
async fn a_module_that_always_fails_does_not_starve_others() {
    let broken = |text: &str| linked(text.to_owned(), None);
    for (module, body, why) in [
        ("tariffs", "", "HTTP 500"),
        (
            "tariffs",
            r#"{"status_code":3000,"status_message":"not implemented"}"#,
            "status code 3000",
        ),
        ("locations", r#"{"status_code":1000,"data":["#, "EOF"),
        ("sessions", r#"{"status_code":1000,"data":[{"id":1}"#, "EOF"),
    ] {
        let app = TestApp::start().await;
        let cpo = honest(&app).await;
        let hostile = Hostile::start(move |_, _| match body {
            "" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            body => broken(body),
        });
        let hostile = hostile.await;
        let cpo = turn_module(&app, &cpo, module, &hostile.url).await;
        app.drain().await;
        let error = last_pull(&app).await["error"].to_string();
        assert!(error.contains(why), "{module}: {error}");
        assert_eq!(cpo.received("GET", "/2.2.1/cdrs").len(), 1);
        app.advance(2 * (15 * 60 + 300)).await;
        assert_given_up(&app, &cpo, why).await;
        // The next pull requests everything that this one should have read.
        let before = hostile.requests().await;
        app.advance(3_600 + 300).await;
        let paths = hostile.paths.lock().await.clone();
        assert!(paths.len() > before, "{module}");
        let is_whole = |path: &String| !path.contains("date_from=20");
        assert!(paths.iter().all(is_whole), "{paths:?}");
    }
}

#[tokio::test]
async fn a_redirect_or_a_link_elsewhere_is_not_repeated() {
    for (is_link, why) in [(true, "names another host"), (false, "HTTP 302")] {
        let app = TestApp::start().await;
        let cpo = honest(&app).await;
        let hostile = Hostile::start(move |_, _| {
            if is_link {
                let next = "https://elsewhere.example/locations".to_owned();
                page(&[location("L1")], Some(next))
            } else {
                (StatusCode::FOUND, [("location", "/1")]).into_response()
            }
        });
        let hostile = hostile.await;
        let cpo = turn(&app, &cpo, &hostile.url).await;
        run(&app, &cpo, &Limits::default()).await;
        assert_given_up(&app, &cpo, why).await;
        assert_eq!(hostile.requests().await, 1);
    }
}

#[tokio::test]
async fn an_empty_response_without_a_count_withdraws_nothing() {
    for body in [
        r#"{"status_code":1000}"#,
        r#"{"status_code":1000,"data":[]}"#,
    ] {
        let app = TestApp::start().await;
        let cpo = honest(&app).await;
        let hostile = Hostile::start(move |_, _| linked(body, None)).await;
        let cpo = turn(&app, &cpo, &hostile.url).await;
        run(&app, &cpo, &Limits::default()).await;
        app.drain().await;
        let pull = last_pull(&app).await;
        assert_eq!(pull["counts"]["removed"], 0);
        let problems = pull["problems"].to_string();
        assert!(problems.contains("without X-Total-Count"), "{pull}");
        let statuses = statuses(&app).await;
        assert_eq!(statuses.len(), 2);
        assert!(statuses.values().all(|status| status == "active"));
    }
}

#[tokio::test]
async fn pulls_at_the_same_time_withdraw_nothing() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let limits = Limits::default();
    for _ in 0..5 {
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage(&app, pull).await.expect("asked for");
        tokio::join!(
            run(&app, &cpo, &limits),
            async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                run(&app, &cpo, &limits).await;
            },
            run(&app, &cpo, &limits)
        );
        app.drain().await;
        let statuses = statuses(&app).await;
        assert!(
            statuses.values().all(|status| status == "active"),
            "{statuses:?}"
        );
    }
}

#[tokio::test]
async fn endpoints_inside_are_refused_at_registration() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let issue = json!({"action": "issue_token", "name": "Example"});
    let issued = manage(&app, issue).await.expect("a token");
    let token_a = issued["token"].as_str().expect("a token");
    let register = async || {
        let credentials = platform.credentials();
        let path = "/ocpi/2.2.1/credentials";
        let answer = send(&app, token_a, "POST", path, Some(&credentials), &[]).await;
        let code = answer.body["status_code"].as_i64();
        (code.expect("a status code"), answer.text)
    };
    for (module, address) in [
        ("locations", "http://10.0.0.1/locations"),
        ("commands", "https://169.254.169.254/latest/meta-data"),
        ("tokens", "https://[::ffff:192.168.0.1]/tokens"),
        ("cdrs", "http://cpo.example/cdrs"),
        ("sessions", "file:///etc/passwd"),
    ] {
        platform.script().addresses = BTreeMap::from([(module, address.to_owned())]);
        let (code, text) = register().await;
        assert_eq!(code, 3001, "{address}: {text}");
        assert!(text.contains(module), "{address}: {text}");
    }
    let connect = json!({"action": "connect", "name": "Example", "url": platform.versions_url(),
        "token": platform.credentials()["token"]});
    let refused = manage(&app, connect).await.expect_err("it is inside");
    assert!(refused.contains("sessions"), "{refused}");
    let listed = manage(&app, json!({"action": "list"}))
        .await
        .expect("networks");
    let networks = listed["data"].as_array().expect("networks");
    assert_eq!(
        (networks.len(), &networks[0]["status"]),
        (1, &json!("pending"))
    );
    platform.script().addresses.clear();
    assert_eq!(register().await.0, 1000);
}

#[tokio::test]
async fn a_platform_is_asked_again_when_it_says() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let requests = || cpo.received("GET", "/2.2.1/tariffs").len();
    let pull = json!({"action": "pull", "network": cpo.network});
    // A short wait is part of the request, and ends with the page.
    let before = requests();
    cpo.script().fail = vec![503];
    cpo.script().retry_after = Some("1");
    let began = Instant::now();
    manage(&app, pull.clone()).await.expect("asked for");
    app.drain().await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(requests(), before + 2);
    assert!(last_pull(&app).await["finished"].is_string());
    // A long one is not: the platform is not called for that time.
    let before = requests();
    cpo.script().fail = vec![429];
    cpo.script().retry_after = Some("2400");
    manage(&app, pull.clone()).await.expect("asked for");
    app.drain().await;
    assert_eq!(requests(), before + 1, "it is not asked three times");
    let error = last_pull(&app).await["error"].to_string();
    assert!(error.contains("HTTP 429"), "{error}");
    app.advance(2_399).await;
    assert_eq!(requests(), before + 1);
    app.advance(301).await;
    assert_eq!(requests(), before + 2);
    // The maximum is an hour.
    cpo.script().fail = vec![503];
    cpo.script().retry_after = Some("Fri, 31 Dec 2199 23:59:59 GMT");
    manage(&app, pull).await.expect("asked for");
    app.drain().await;
    let before = requests();
    app.advance(3_600 + 301).await;
    assert_eq!(requests(), before + 1);
}

#[tokio::test]
async fn two_messages_side_by_side_start_one_pull() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let slow = Hostile::start(|_, _| {
        std::thread::sleep(Duration::from_millis(500));
        page(&[location("L1"), location("L2")], None)
    })
    .await;
    let cpo = turn(&app, &cpo, &slow.url).await;
    let network = Id::from(cpo.network.as_str());
    let limits = Limits::default();
    let run = || sync::pull_within(app.app(), Mode::Test, &network, &limits);
    let (first, second, third) = tokio::join!(run(), run(), run());
    first.and(second).and(third).expect("the runs");
    assert_eq!(slow.requests().await, 1);
    // The messages that the relay has sent find nothing due.
    app.advance(10 * 60).await;
    assert_eq!(slow.requests().await, 1);
    assert!(last_pull(&app).await["finished"].is_string());
}

#[tokio::test]
async fn a_pull_whose_function_ends_goes_on_when_its_lease_is_over() {
    let app = TestApp::start().await;
    let cpo = honest(&app).await;
    let hung = Hostile::start(|_, _| {
        let never = stream::pending::<Result<Bytes, std::io::Error>>();
        linked(Body::from_stream(never), None)
    })
    .await;
    let cpo = turn(&app, &cpo, &hung.url).await;
    let network = Id::from(cpo.network.as_str());
    let limits = Limits::default();
    let run = sync::pull_within(app.app(), Mode::Test, &network, &limits);
    let crash = tokio::time::timeout(Duration::from_secs(3), run).await;
    crash.expect_err("the party hangs");
    let requests = hung.requests().await;
    let second = sync::pull_within(app.app(), Mode::Test, &network, &limits);
    second.await.expect("nothing is due");
    assert_eq!(hung.requests().await, requests);
    let tenant = operators(Mode::Test);
    let network = app.app().store.load::<Network>(&tenant, &network).await;
    let next = network.expect("the network").next_action();
    let (at, _) = next.expect("a pull");
    let wait = at.since(app.now());
    assert!(wait > seconds(60) && wait <= minutes(3), "{wait:?}");
}

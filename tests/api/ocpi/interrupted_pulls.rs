//! Tests of pulls that are interrupted, requested twice, or fail at the network.

use std::time::Duration;

use kernel::time::seconds;
use serde_json::json;
use tests::platform::{Connected, fixture, manage_ok, platform};
use tests::{TestApp, assert_contains, assert_has};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::sync::{active, assert_finished, ids, listing, locations, pulled};

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

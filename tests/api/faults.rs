//! A table that is slow or cannot be reached: the service responds soon, with an error in its own format, and nothing is half done.

use std::time::{Duration, Instant};

use functions::app::Ports;
use functions::aws::{self, SystemClock};
use serde_json::json;
use table::Store;
use tests::TestApp;
use tests::faulty::{Step, scripted};
use tokio::io::AsyncReadExt as _;
use web::settings::Settings;

/// A table that accepts requests and never responds, and its address.
async fn hung() -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            held.push(tokio::spawn(async move {
                let mut bytes = [0; 1024];
                while socket.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
            }));
        }
    });
    url
}

#[tokio::test]
async fn a_hung_table_is_a_503_in_good_time() {
    let app = TestApp::start().await;
    let config = aws::config();
    let mut settings = table::client::tuned(&config, 1);
    settings.set_endpoint_url(Some(hung().await));
    let store = Store::new(
        aws_sdk_dynamodb::Client::from_conf(settings.build()),
        "none",
    );
    let parts = app.app();
    let broken = functions::App::new(
        Ports {
            store,
            clock: std::sync::Arc::new(SystemClock),
            ..parts.ports.clone()
        },
        Settings {
            slack: 1,
            ..Settings::clone(&parts.settings)
        },
    );
    let url = tests::serve(broken).await;
    let client = tests::Client::new(&url, app.alice.key.as_deref());
    let started = Instant::now();
    let answer = client.post("/v1/fleets", json!({})).await;
    // The limits add up to 2.5 s; a busy machine may take longer.
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(answer.error(), (503, "api_error", None, None));
    assert_eq!(answer.header("retry-after"), "1");
    assert!(
        !answer.text.contains("timeout"),
        "the cause is in the log alone: {}",
        answer.text
    );
}

#[tokio::test]
async fn a_committed_write_succeeds_though_its_response_is_lost() {
    let app = TestApp::start().await;
    let fleet = app.crew(&app.alice).await.fleet;
    let vehicles = app.alice.walk("/v1/vehicles").await.len();
    // The first try is committed. The SDK repeats it while another transaction writes the fleet.
    let (url, table) = (&app.running().store_url, &app.running().table);
    let script = vec![Step::Lose, Step::Conflict];
    let store = scripted(url, table, "TransactWriteItems", script);
    let url = tests::serve(app.app_with(store, app.app().clock.clone())).await;
    let client = tests::Client::new(&url, app.alice.key.as_deref());
    let vehicle = client.post("/v1/vehicles", tests::vehicle(&fleet)).await;
    vehicle.expect(200);
    assert_eq!(app.alice.walk("/v1/vehicles").await.len(), vehicles + 1);
    app.drain().await;
}

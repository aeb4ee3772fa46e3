//! A table that is slow or cannot be reached: the service responds soon, with an error in its own format, and nothing is half done. Schedules
//! whose quota is used up: their work is done late.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use functions::App;
use functions::app::Ports;
use functions::aws::{self, SystemClock};
use functions::stream::sweep;
use futures::future::BoxFuture;
use kernel::time::{HOUR, minutes};
use kernel::{Error, Timestamp};
use models::ports::{Message, Schedules};
use serde_json::json;
use table::Store;
use tests::faulty::{Step, scripted};
use tests::player::Player;
use tests::{Receiver, TestApp, fleet};
use tokio::io::AsyncReadExt as _;
use web::metrics::Metrics;
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

/// Schedules whose quota is used up.
struct Full;

impl Schedules for Full {
    fn set<'a>(
        &'a self,
        _: &'a str,
        _: Timestamp,
        _: &'a Message,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Err(Error::quota_exceeded("10,000,000 schedules exist")) })
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}

/// The same service with schedules whose quota is used up, and the lines of its metrics.
fn without_schedules(app: &App) -> (App, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = lines.clone();
    let ports = Ports {
        schedules: Arc::new(Full),
        ..app.ports.clone()
    };
    let settings = Settings {
        metrics: Metrics::to("FleetCharging/test", move |line| {
            written.lock().expect("the lines").push(line.to_owned());
        }),
        ..Settings::clone(&app.settings)
    };
    (App::new(ports, settings), lines)
}

#[tokio::test]
async fn the_sweep_does_the_work_of_refused_schedules() {
    let (test, crew) = TestApp::with_crew().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500, 500, 500]);
    receiver.subscribe(&test.alice, &["fleet.created"]).await;
    test.drain().await;
    let mut player = Player::on(&test).await;
    player.settle().await;
    let (app, lines) = without_schedules(&player.app);
    player.app = app;
    let refused = || {
        let lines = lines.lock().expect("the lines");
        let refusals = lines
            .iter()
            .filter(|line| line.contains("SchedulesRefused"));
        refusals.count()
    };
    // A change whose schedule is refused does not delay the changes after it: the player relays all of them.
    let body = test.reservation(&crew, 24 * 60);
    let path = "/v1/reservations";
    let reservation = player.send("create-reservation", path, &test.alice, body);
    let reservation = reservation.await;
    player
        .send("create-fleet", "/v1/fleets", &test.alice, fleet())
        .await;
    let start = test.now();
    player.advance_to(start.plus(12 * HOUR)).await;
    let count = receiver.received().len();
    assert!(refused() >= 2, "of the reservation and of a delivery");
    // The attempt is long overdue.
    assert!(sweep::handle(&player.app).await.expect("a sweep") >= 1);
    player.settle().await;
    assert_eq!(receiver.received().len(), count + 1);
    let path = tests::path_of(&tests::id_of(&reservation));
    let status = async || test.alice.get_ok(&path).await["status"].clone();
    player.advance_to(start.plus(23 * HOUR + minutes(33))).await;
    assert_eq!(status().await, "pending");
    sweep::handle(&player.app).await.expect("a sweep");
    player.settle().await;
    assert_eq!(status().await, "confirmed");
}

//! `cargo bench --workspace --bench networks`: measures how fast the locations of a charging network are pulled and stored, their
//! capacity units, and whether the memory of the process grows with them; the memory for one large page; and the number of status
//! patches of EVSEs per second, their duration, and their calls of the table. The table is the embedded one, in a file. Nothing is
//! asserted.
//!
//! `LOCATIONS` (100,000), `PAGE_MIB` (16), `PATCHES` per second (1,000) and `SECONDS` (60) set other numbers.
#![allow(clippy::print_stdout, clippy::expect_used)]
// The futures are nested deeper than the compiler allows by default.
#![recursion_limit = "256"]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use functions::App;
use functions::networks::sync;
use futures::stream;
use kernel::{Id, Mode, Timestamp};
use serde_json::{Value, json};
use tests::TestApp;
use tests::meter::{Meter, by_operation};
use tests::platform::{Connected, Generated, fixture, manage};
use tests::stage::setting;
use tower::ServiceExt as _;

/// The number of locations that are pulled while calls of the table are counted.
const COUNTED: usize = 2_000;

const PAGE: usize = 100;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        count().await;
        let name = format!("fleet-charging-networks-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        large_page(&folder.join("page")).await;
        let test = in_file(&folder).await;
        let locations = setting("LOCATIONS", 100_000) as usize;
        let cpo = connected(&test, locations).await;
        pull(&test, &cpo, locations).await;
        patch(&test, &cpo, locations).await;
        // The consequences of the patches are not measured.
        let forgotten = test.running().lose_triggers().await;
        forgotten.expect("the stream is read");
        drop(test);
        drop(std::fs::remove_dir_all(&folder));
    });
}

/// A service whose table is a file.
async fn in_file(folder: &Path) -> TestApp {
    let test = TestApp::start_with(|options| {
        options.memory = false;
        options.data = folder.to_owned();
    });
    test.await
}

/// The location with a number: two EVSEs with a connector each, in a grid of a hundredth of a degree.
fn location(number: usize) -> Value {
    let mut location = fixture("location");
    location["id"] = json!(format!("L{number}"));
    let (line, column) = (number / 400, number % 400);
    let (latitude, longitude) = (40.0 + line as f64 / 100.0, column as f64 / 100.0);
    location["coordinates"] =
        json!({"latitude": format!("{latitude:.4}"), "longitude": format!("{longitude:.4}")});
    location
}

/// An operator with this number of locations.
async fn connected(test: &TestApp, locations: usize) -> Connected {
    let cpo = Connected::with(test, |script| {
        script.page = PAGE;
        script.generated = Some(Generated {
            count: locations,
            make: location,
        });
    });
    cpo.await
}

/// Pulls everything. Calls `after` when a run of the function has ended.
async fn pull_all(app: &App, test: &TestApp, cpo: &Connected, mut after: impl FnMut()) {
    let request = json!({"action": "pull", "network": cpo.network, "full": true});
    manage(test, request).await.expect("a pull");
    let network = Id::from(cpo.network.as_str());
    loop {
        sync::pull_within(app, Mode::Test, &network, &sync::Limits::default())
            .await
            .expect("a run");
        after();
        let pull = app.store.pull(Mode::Test, &network).await.expect("a pull");
        let pull = pull.expect("a pull");
        assert_eq!(pull.error, None);
        if pull.finished.is_some() {
            return;
        }
    }
}

/// Prints the memory of a pull with all locations on one page. The platform generates them while sending.
async fn large_page(folder: &Path) {
    let mebibytes = setting("PAGE_MIB", 16) as usize;
    let size = location(0).to_string().len();
    let count = mebibytes * 1024 * 1024 / size;
    let answer = async move || {
        let begin = Bytes::from(r#"{"data":["#);
        let objects = (0..count).map(|number| {
            let comma = if number == 0 { "" } else { "," };
            Bytes::from(format!("{comma}{}", location(number)))
        });
        let end = Bytes::from(r#"],"status_code":1000}"#);
        let parts = std::iter::once(begin).chain(objects).chain([end]);
        Body::from_stream(stream::iter(parts.map(Ok::<_, std::io::Error>)))
    };
    let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let port = port.expect("a port");
    let address = format!("http://{}/", port.local_addr().expect("an address"));
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(port, router).await });

    let test = in_file(folder).await;
    let cpo = Connected::with(&test, |script| {
        script.addresses.insert("locations", address);
    });
    let cpo = cpo.await;
    let before = memory();
    // Resets the peak (`man proc_pid_clear_refs`).
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak");
    let mut runs = 0;
    pull_all(test.app(), &test, &cpo, || runs += 1).await;
    println!(
        "a page of {mebibytes} MiB with {count} locations, in {runs} runs: {before} MiB before, at most {} MiB",
        memory_of("VmHWM:")
    );
    test.running().lose_triggers().await.expect("lost");
}

/// Prints the calls and the capacity of a pull.
async fn count() {
    let test = TestApp::start().await;
    let cpo = connected(&test, COUNTED).await;
    let running = test.running();
    let meter = Meter::default();
    let store = meter.store(&running.store_url, &running.table);
    let app = test.app_with(store, test.app().clock.clone());
    meter.take();
    pull_all(&app, &test, &cpo, || ()).await;
    let calls = meter.take();
    let (reads, writes): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.is_read());
    let per_location = |calls: &[&tests::meter::Call]| {
        let capacity: f64 = calls.iter().map(|call| call.capacity).sum();
        capacity / COUNTED as f64
    };
    println!(
        "a location that is pulled: {:.1} WCU, {:.2} RCU, {:.2} calls",
        per_location(&writes),
        per_location(&reads),
        calls.len() as f64 / COUNTED as f64
    );
    meter.take();
    pull_all(&app, &test, &cpo, || ()).await;
    let calls = meter.take();
    let written = calls.iter().filter(|call| !call.is_read());
    let written: f64 = written.map(|call| call.capacity).sum();
    println!(
        "pulled again unchanged:    {:.1} WCU, {:.2} calls",
        written / COUNTED as f64,
        calls.len() as f64 / COUNTED as f64
    );
    let router = functions::router(app.clone());
    // With the first request the previous token ends, and with the second the instance reads the network again.
    for status in ["CHARGING", "AVAILABLE"] {
        send_patch(&router, &cpo, 0, status, app.now()).await;
    }
    meter.take();
    let (status, _) = send_patch(&router, &cpo, 0, "CHARGING", app.now()).await;
    let calls = meter.take();
    let capacity: f64 = calls.iter().map(|call| call.capacity).sum();
    let indexes = calls.iter().map(|call| call.consumed.to_string());
    let indexes = indexes.filter(|text| text.contains("GlobalSecondaryIndexes"));
    println!(
        "a status patch:            HTTP {status}, {:?}, {capacity:.1} capacity units in all, {} calls write an index",
        by_operation(&calls),
        indexes.count()
    );
    running.lose_triggers().await.expect("lost");
}

/// The resident memory of this process in MiB.
fn memory() -> u64 {
    memory_of("VmRSS:")
}

fn memory_of(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    kibibytes.map_or(0, |text| text.parse::<u64>().unwrap_or(0)) / 1024
}

async fn pull(test: &TestApp, cpo: &Connected, locations: usize) {
    println!("{} MiB before {locations} locations", memory());
    let started = Instant::now();
    let watch = tokio::spawn(async move {
        let mut most = 0;
        loop {
            tokio::time::sleep(Duration::from_secs(15)).await;
            most = most.max(memory());
            println!("{:>5.0?} {} MiB", started.elapsed(), memory());
        }
    });
    pull_all(test.app(), test, cpo, || ()).await;
    watch.abort();
    let took = started.elapsed();
    println!(
        "{locations} locations in {took:.1?}: {:.0} a second; {} MiB after",
        locations as f64 / took.as_secs_f64(),
        memory()
    );
}

/// Sends the status of an EVSE. Returns the HTTP status and the duration.
async fn send_patch(
    router: &Router,
    cpo: &Connected,
    number: usize,
    status: &str,
    now: Timestamp,
) -> (u16, Duration) {
    let body = json!({"status": status, "last_updated": now});
    let path = format!("/ocpi/2.2.1/locations/NL/EXA/L{number}/E1");
    let request = Request::patch(path)
        .header(
            "authorization",
            format!("Token {}", STANDARD.encode(&cpo.token)),
        )
        .header("host", "api.example.com")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let started = Instant::now();
    let answer = router.clone().oneshot(request).await.expect("an answer");
    (answer.status().as_u16(), started.elapsed())
}

async fn patch(test: &TestApp, cpo: &Connected, locations: usize) {
    let (rate, seconds) = (setting("PATCHES", 1_000), setting("SECONDS", 60));
    let router = functions::router(test.app().clone());
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let started = Instant::now();
    let mut sent = Vec::new();
    while started.elapsed() < Duration::from_secs(seconds) {
        tick.tick().await;
        let due = (started.elapsed().as_secs_f64() * rate as f64) as usize;
        while sent.len() < due {
            let number = sent.len();
            let status = match (number / locations) % 2 {
                0 => "CHARGING",
                _ => "AVAILABLE",
            };
            let (router, number, now) = (router.clone(), number % locations, test.app().now());
            let cpo = cpo.clone();
            sent.push(tokio::spawn(async move {
                send_patch(&router, &cpo, number, status, now).await
            }));
        }
    }
    let count = sent.len();
    let mut statuses: BTreeMap<u16, usize> = BTreeMap::new();
    let mut times = Vec::new();
    for task in sent {
        let (status, took) = task.await.expect("a patch");
        *statuses.entry(status).or_default() += 1;
        times.push(took);
    }
    let took = started.elapsed();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{count} status patches, {rate} a second: answered in {took:.1?}, {:.0} a second; p50 {:.1?}, p99 {:.1?}; by HTTP status {statuses:?}",
        count as f64 / took.as_secs_f64(),
        at(0.5),
        at(0.99)
    );
}

//! `cargo bench --workspace --bench requests`: measures how long requests take on the embedded table, in memory and on disk, and the
//! throughput with 16 clients. The figures are for comparing changes on one machine; nothing is asserted.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::time::{Duration, Instant};

use kernel::time::{DAY, hours};
use local::{Options, Running};
use serde_json::{Value, json};

const SAMPLES: usize = 2_000;
const CLIENTS: usize = 16;
const LOAD: Duration = Duration::from_secs(5);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let started = Instant::now();
        let memory = start(true).await;
        println!(
            "start, in memory, to the first answer   {:>9.1} ms",
            first_answer(&memory, started).await
        );
        measure("in memory", &memory).await;
        memory.stop().await;
        let disk = start(false).await;
        measure("on disk", &disk).await;
        disk.stop().await;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap_or("  not known here");
        println!(
            "peak memory, clients included           {:>12}",
            peak.trim()
        );
    });
}

async fn start(memory: bool) -> Running {
    let data = std::env::temp_dir().join(format!("fleet-charging-bench-{}", std::process::id()));
    let options = Options {
        data,
        memory,
        ..Options::in_memory()
    };
    Running::start(options).await.expect("the service starts")
}

async fn first_answer(running: &Running, started: Instant) -> f64 {
    get(&client(), running, "/v1/fleets").await;
    started.elapsed().as_secs_f64() * 1000.0
}

fn client() -> reqwest::Client {
    // A second installation fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client")
}

async fn get(client: &reqwest::Client, running: &Running, path: &str) -> Value {
    let request = client
        .get(format!("{}{path}", running.base_url))
        .bearer_auth(&running.api_key);
    let answer = request
        .send()
        .await
        .expect("an answer")
        .error_for_status()
        .expect("success");
    answer.json().await.expect("JSON")
}

async fn post(client: &reqwest::Client, running: &Running, path: &str, body: &Value) -> String {
    let request = client
        .post(format!("{}{path}", running.base_url))
        .bearer_auth(&running.api_key)
        .json(body);
    let answer = request
        .send()
        .await
        .expect("an answer")
        .error_for_status()
        .expect("success");
    let body: Value = answer.json().await.expect("JSON");
    body["id"].as_str().expect("an id").to_owned()
}

async fn measure(place: &str, running: &Running) {
    let client = client();
    let fleet = json!({"name": "Bench", "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}});
    let fleet = post(&client, running, "/v1/fleets", &fleet).await;
    let driver = post(
        &client,
        running,
        "/v1/drivers",
        &json!({"name": "Ada", "email": "ada@fleet.example"}),
    )
    .await;
    let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60_000,
        "charging_standard": "Type2", "drivers": [driver]});
    let vehicle = post(&client, running, "/v1/vehicles", &vehicle).await;
    let now = running.app.now();
    let request = json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"],
        "ideal_start": now.plus(DAY), "ideal_end": now.plus(hours(25)),
        "location": {"latitude": 51.507, "longitude": -0.128, "radius": 5000}});
    let mut reservation = String::new();
    let (mut creates, mut retrieves) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let start = Instant::now();
        reservation = post(&client, running, "/v1/reservations", &request).await;
        creates.push(start.elapsed());
    }
    let path = format!("/v1/reservations/{reservation}");
    for _ in 0..SAMPLES {
        let start = Instant::now();
        get(&client, running, &path).await;
        retrieves.push(start.elapsed());
    }
    report(&format!("create a reservation, {place}"), creates);
    report(&format!("retrieve a reservation, {place}"), retrieves);
    let reads = load(async |client| drop(get(client, running, &path).await)).await;
    println!(
        "{:<40}{reads:>9.0} requests/s",
        format!("retrieve, {CLIENTS} clients, {place}")
    );
    let writes =
        load(async |client| drop(post(client, running, "/v1/reservations", &request).await)).await;
    println!(
        "{:<40}{writes:>9.0} requests/s",
        format!("create, {CLIENTS} clients, {place}")
    );
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{what:<40}p50 {:>6.2} ms   p99 {:>6.2} ms",
        at(0.5),
        at(0.99)
    );
}

/// The number of requests per second when `CLIENTS` clients send one after the other.
async fn load(request: impl AsyncFn(&reqwest::Client)) -> f64 {
    let started = Instant::now();
    let send = async || {
        let client = client();
        let mut sent = 0;
        while started.elapsed() < LOAD {
            request(&client).await;
            sent += 1;
        }
        sent
    };
    let sent: Vec<usize> = futures::future::join_all((0..CLIENTS).map(|_| send())).await;
    sent.iter().sum::<usize>() as f64 / started.elapsed().as_secs_f64()
}

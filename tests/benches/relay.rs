//! `cargo bench --workspace --bench relay`: measures how many changes per second one instance of the relay processes, one after
//! another and with several items of a batch concurrently, on a table whose calls take 5, 8 and 35 milliseconds. Nothing is asserted.
//!
//! The changes are those of vehicles that are created and updated while a webhook endpoint is subscribed to everything. `VEHICLES`
//! (100) sets another number.
#![allow(clippy::print_stdout, clippy::expect_used)]
// The futures are nested deeper than the compiler allows by default.
#![recursion_limit = "256"]

use std::time::{Duration, Instant};

use functions::stream::relay::{self, StreamRecord};
use serde_json::json;
use tests::TestApp;
use tests::player::Player;
use tests::stage::setting;
use tracing::Span;

/// The number of changes of one invocation, as in the template.
const BATCH: usize = 100;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        println!("milliseconds of a call | changes/s in a row | side by side | ratio");
        for latency in [5, 8, 35] {
            let in_a_row = rate(latency, false).await;
            let side_by_side = rate(latency, true).await;
            let ratio = side_by_side / in_a_row;
            println!("{latency} | {in_a_row:.0} | {side_by_side:.0} | {ratio:.1}");
        }
    });
}

/// The number of changes that are relayed per second.
async fn rate(latency: u64, side_by_side: bool) -> f64 {
    let test = TestApp::start().await;
    let crew = test.alice.crew().await;
    let mut player = Player::on(&test).await;
    let endpoint = json!({"url": "https://receiver.example/hook", "enabled_events": ["*"]});
    let path = "/v1/webhook_endpoints";
    player
        .send("create-webhook-endpoint", path, &test.alice, endpoint)
        .await;
    player.settle().await;
    for number in 0..setting("VEHICLES", 100) {
        let body = tests::vehicle(&crew.fleet);
        let vehicle = player
            .send("create-vehicle", "/v1/vehicles", &test.alice, body)
            .await;
        let path = format!("/v1/vehicles/{}", vehicle["id"].as_str().expect("an id"));
        let change = json!({"metadata": {"number": number.to_string()}});
        player
            .send("update-vehicle", &path, &test.alice, change)
            .await;
    }
    let changes: Vec<StreamRecord> = player.changes().await;
    let batch: Vec<_> = changes
        .into_iter()
        .map(|change| (change, Span::none()))
        .collect();
    player.meter.slow_down(latency);
    let began = Instant::now();
    let until = tokio::time::Instant::now() + Duration::from_secs(600);
    for changes in batch.chunks(BATCH) {
        if side_by_side {
            assert_eq!(relay::handle_batch(&player.app, changes, until).await, None);
        } else {
            for (change, _) in changes {
                relay::handle(&player.app, change)
                    .await
                    .expect("a change is relayed");
            }
        }
    }
    batch.len() as f64 / began.elapsed().as_secs_f64()
}

//! The sample events in `events/`: each names its route and is answered by it.

use functions::function::Trigger;
use functions::jobs::{read_message, work};
use serde_json::Value;
use tests::samples::{Sample, text};
use tests::{Receiver, TestApp};

#[tokio::test]
async fn every_route_answers_its_sample_event() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let sample = Sample::prepare(&app, &receiver, &route).await;
        assert_eq!(
            sample.event["routeKey"],
            route.to_string(),
            "{}",
            route.name
        );
        sample.send(&app).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn every_queue_has_a_sample_message_that_can_be_worked_on() {
    let app = TestApp::start().await;
    for worker in functions::jobs::workers() {
        let event: Value = serde_json::from_str(&text(worker.name)).expect("JSON");
        let body = event["Records"][0]["body"].as_str().expect("a body");
        let message = read_message(body).expect("a message");
        assert_eq!(message.function, worker.name);
        work(app.app(), &message)
            .await
            .expect("what is not there needs no work");
    }
}

#[test]
fn there_is_no_sample_without_a_function() {
    let mut functions: Vec<String> = functions::endpoints()
        .iter()
        .map(|one| one.route.name.to_owned())
        .collect();
    let others = functions::functions();
    let others = others.filter(|one| !matches!(one.trigger, Trigger::Ocpi(_)));
    functions.extend(others.map(|one| one.name.to_owned()));
    let operations = functions::ocpi::modules()
        .into_iter()
        .flat_map(|module| module.operations);
    functions.extend(operations.map(|one| one.name.to_owned()));
    functions.sort();
    let folder =
        std::fs::read_dir(format!("{}/../events", env!("CARGO_MANIFEST_DIR"))).expect("a folder");
    let mut samples: Vec<String> = folder
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect();
    samples.sort();
    assert_eq!(samples, functions);
}

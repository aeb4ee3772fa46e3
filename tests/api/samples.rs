//! The sample events in `events/`: each is processed by its route or function.

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

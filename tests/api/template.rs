//! The templates of the deployment. infra/quotas/check.py holds them to the quotas of AWS.

use std::collections::BTreeSet;

use functions::FUNCTIONS;
use functions::function::Trigger;
use serde_json::json;
use shared::Kind;
use shared::http::{Method, Route};
use shared::store::access::Rows;
use tests::access::fits;
use tests::recorder::{Call, Recorder};
use tests::samples::Sample;
use tests::{Receiver, TestApp};

use crate::invoices::no_show;

const STACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/stacks");

/// The values of the lines of the nested stacks' templates that begin so.
fn values(prefix: &str) -> Vec<String> {
    let mut values = Vec::new();
    for entry in std::fs::read_dir(STACKS).expect("a folder") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a template");
        let lines = text.lines();
        let found = lines.filter_map(|line| line.trim().strip_prefix(prefix));
        values.extend(found.map(str::to_owned));
    }
    values
}

#[test]
fn every_function_with_a_sample_event_is_deployed_and_no_other() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../events");
    let samples: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string())
        .map(|name| name.expect("a name").trim_end_matches(".json").to_owned())
        .collect();
    // The function of charging networks has a sample for each of its operations.
    let modules = functions::ocpi::modules();
    let mut expected: Vec<String> = values("Handler: ");
    let name = functions::ocpi::NAME;
    assert!(expected.iter().any(|one| one == name), "not deployed");
    expected.retain(|one| one != name);
    let operations = modules.iter().flat_map(|module| &module.operations);
    expected.extend(operations.map(|one| one.name.to_owned()));
    let handlers = expected;
    assert_eq!(handlers.iter().cloned().collect::<BTreeSet<_>>(), samples);
    assert_eq!(handlers.len(), samples.len());
}

#[test]
fn every_operation_of_the_document_is_deployed_at_its_place_and_no_other() {
    let document: serde_json::Value =
        serde_json::from_str(functions::docs::DOCUMENT).expect("JSON");
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            documented.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let deployed = values("RouteKey: ");
    let pages = functions::docs::PAGES.map(|(_, path)| format!("GET {path}"));
    let others = pages
        .into_iter()
        .chain(["$default".to_owned(), "ANY /ocpi/{proxy+}".to_owned()]);
    documented.extend(others);
    assert_eq!(deployed.len(), documented.len());
    assert_eq!(deployed.into_iter().collect::<BTreeSet<_>>(), documented);
}

#[tokio::test]
async fn every_page_that_is_deployed_is_there() {
    let app = TestApp::start().await;
    for (_, path) in functions::docs::PAGES {
        app.anon.get(path).await.expect(200);
    }
}

fn may_write(rows: &[Rows], key: &str) -> bool {
    let mut patterns = rows.iter().flat_map(|rows| rows.patterns());
    patterns.any(|pattern| fits(&pattern, key))
}

fn check_writes(route: &Route, calls: &[Call]) {
    let allowed = route.writes();
    for (action, key) in calls.iter().flat_map(Call::writes) {
        let counted =
            action == "UpdateItem" && may_write(&[Rows::Of(Kind::ApiKey), Rows::Rates], &key);
        assert!(
            counted || may_write(&allowed, &key),
            "{} does {action} on {key}",
            route.name
        );
        assert!(counted || action != "BatchWriteItem", "{}", route.name);
    }
}

#[tokio::test]
async fn no_route_writes_what_its_role_may_not() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| {
        options.store = Some(url);
        options.reservation_fee = 300;
    })
    .await;
    let receiver = Receiver::start().await;
    let routes = functions::endpoints().into_iter().map(|one| one.route);
    for route in routes.filter(|route| route.method != Method::Get) {
        let sample = Sample::prepare(&app, &receiver, &route).await;
        recorder.take();
        sample.send(&app).await;
        check_writes(&route, &recorder.take());
        if route.name == "create-invoice" {
            // An invoice of a session and a fee, which the sample does not have.
            let crew = app.crew(&app.alice).await;
            app.completed_session(&crew, json!({})).await;
            no_show(&app, &crew, None).await;
            let body = json!({"period_start": app.in_minutes(-120), "period_end": app.in_minutes(1), "fleet": crew.fleet});
            recorder.take();
            let made = app.alice.post("/v1/invoices", body).await.expect(200);
            assert_eq!(made.body["line_items"].as_array().map(Vec::len), Some(2));
            check_writes(&route, &recorder.take());
        }
    }
    // What happens later, all of it together.
    recorder.take();
    app.drain().await;
    let background = FUNCTIONS
        .iter()
        .filter(|one| one.trigger != Trigger::Invocation);
    let allowed: Vec<Rows> = background
        .flat_map(|one| one.deployment.writes)
        .copied()
        .collect();
    for (action, key) in recorder.take().iter().flat_map(Call::writes) {
        assert!(may_write(&allowed, &key), "{action} on {key}");
    }
}

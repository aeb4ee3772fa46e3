//! The templates of the deployment. infra/quotas/check.py checks them against the quotas of AWS.

use std::collections::BTreeSet;

use functions::function::Trigger;
use kernel::{Kind, function_scope};
use models::Account;
use serde_json::json;
use table::access::Items;
use tests::access::{self, Access, fits};
use tests::recorder::{Call, Recorder};
use tests::samples::Sample;
use tests::{Receiver, TestApp, assert_same};
use web::{Method, Route};

use crate::invoices::no_show;

const STACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/stacks");

/// The values of the lines of the nested stacks' templates with this prefix.
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
    let mut expected: Vec<String> = values("Handler: ");
    let name = functions::ocpi::NAME;
    assert!(
        expected.iter().any(|handler| handler == name),
        "not deployed"
    );
    expected.retain(|handler| handler != name);
    let operations = functions::ocpi::operations();
    expected.extend(operations.map(|operation| operation.name.to_owned()));
    let remedy = "`cargo run -p generate events template` writes or removes their sample events and functions";
    assert_same(&expected.iter().cloned().collect(), &samples, remedy);
    assert_eq!(expected.len(), samples.len());
}

#[test]
fn every_route_is_deployed_at_its_place_and_no_other() {
    let routes = functions::endpoints();
    let routes = routes.iter().map(|endpoint| endpoint.route.to_string());
    let deployed = values("RouteKey: ");
    let pages = functions::docs::PAGES.map(|(_, path)| format!("GET {path}"));
    let others = pages
        .into_iter()
        .chain(["$default", "ANY /mcp", "ANY /ocpi/{proxy+}"].map(str::to_owned));
    let expected: BTreeSet<String> = routes.chain(others).collect();
    assert_eq!(deployed.len(), expected.len());
    let remedy = "`cargo run -p generate template` deploys or removes these routes";
    assert_same(&deployed.into_iter().collect(), &expected, remedy);
}

#[tokio::test]
async fn every_page_that_is_deployed_is_there() {
    let app = TestApp::start().await;
    for (_, path) in functions::docs::PAGES {
        let path = path.replace("{page}", "quickstart");
        app.anon.get_ok(&path).await;
    }
}

fn may_write(allowed: &[Items], key: &str) -> bool {
    let mut patterns = allowed.iter().flat_map(|items| items.patterns());
    patterns.any(|pattern| fits(&pattern, key))
}

fn check_writes(route: &Route, calls: &[Call]) {
    let allowed = route.writes();
    for (action, key) in calls.iter().flat_map(Call::writes) {
        let counted =
            action == "UpdateItem" && may_write(&[Items::Of(Kind::ApiKey), Items::Rates], &key);
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
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
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
            let invoice = app.alice.post_ok("/v1/invoices", body).await;
            assert_eq!(invoice["line_items"].as_array().map(Vec::len), Some(2));
            check_writes(&route, &recorder.take());
        }
    }
    // All work that happens later, together.
    recorder.take();
    app.drain().await;
    let background =
        functions::functions().filter(|function| function.trigger != Trigger::Invocation);
    let allowed: Vec<Items> = background
        .flat_map(|function| function.deployment.writes)
        .copied()
        .collect();
    for (action, key) in recorder.take().iter().flat_map(Call::writes) {
        assert!(may_write(&allowed, &key), "{action} on {key}");
    }
}

const ACCOUNT: &str = "acct_01a1f000000070008000000000000001";

#[test]
fn key_patterns_replace_variable_parts_with_wildcards() {
    let id = |prefix: &str| format!("{prefix}_01a1f000000070008000000000000002");
    for (key, patterns) in [
        (
            format!("{ACCOUNT}#test#{}", id("flt")),
            vec!["acct_*#flt_*"],
        ),
        (
            format!("{ACCOUNT}#live#{}#3", id("wh")),
            vec!["acct_*#wh_*#*"],
        ),
        (format!("{ACCOUNT}#test#fleet"), vec!["acct_*#fleet"]),
        (format!("{ACCOUNT}#test#event#2"), vec!["acct_*#event#*"]),
        (
            format!("{ACCOUNT}#test#{}#vehicle", id("flt")),
            vec!["acct_*#flt_*#vehicle"],
        ),
        (
            format!("{ACCOUNT}#test#IDEM#flt#x ü"),
            vec!["acct_*#IDEM#*"],
        ),
        (format!("{ACCOUNT}#test#RATE"), vec!["acct_*#RATE"]),
        (
            format!("{ACCOUNT}#test#FEES#2026-03"),
            vec!["acct_*#FEES#*"],
        ),
        (format!("{ACCOUNT}#ACCOUNTS"), vec!["acct_*#ACCOUNTS"]),
        (format!("KEY#{ACCOUNT}#0123456789abcdef"), vec!["KEY#*"]),
        (format!("ACCOUNT#{ACCOUNT}"), vec!["ACCOUNT#*"]),
        (id("drv"), vec!["drv_*"]),
        (format!("{}#RATE", id("net")), vec!["net_*#RATE"]),
        ("NEXT#3".into(), vec!["NEXT#*"]),
        (
            format!("test#{}", id("chst")),
            vec!["live#chst_*", "test#chst_*"],
        ),
        (
            "live#charging_station".into(),
            vec!["live#charging_station", "test#charging_station"],
        ),
        ("test#811fbffffffffff".into(), vec!["live#*", "test#*"]),
        (
            format!("test#CAL#{}#1", id("chst")),
            vec!["live#CAL#*", "test#CAL#*"],
        ),
        (
            "test#OCPI#OBJECT#nl*exa#locations#1".into(),
            vec!["live#OCPI#OBJECT#*", "test#OCPI#OBJECT#*"],
        ),
        (
            "live#OCPI#UNMATCHED".into(),
            vec!["live#OCPI#UNMATCHED", "test#OCPI#UNMATCHED"],
        ),
    ] {
        assert_eq!(access::patterns_of(&key), patterns, "{key}");
        let mut fitting = patterns.iter().filter(|pattern| fits(pattern, &key));
        assert!(fitting.next().is_some(), "{patterns:?} do not fit {key}");
    }
}

#[test]
fn each_part_of_a_transaction_needs_its_own_permission() {
    let granted: BTreeSet<Access> = [
        "PutItem table acct_*#flt_*",
        "ConditionCheckItem table KEY#*",
        "Query index/list acct_*#fleet",
    ]
    .into_iter()
    .map(|text| text.parse().expect("an access"))
    .collect();
    let fleet =
        json!({"pk": {"S": format!("{ACCOUNT}#test#flt_01a1f000000070008000000000000002")}});
    let key = json!({"pk": {"S": format!("KEY#{ACCOUNT}#00")}});
    let refused = |operation: &str, request: serde_json::Value| {
        let calls = access::of_call(operation, &request);
        assert!(!calls.is_empty(), "{operation}");
        access::first_refused(&granted, &calls).map(ToString::to_string)
    };
    let transaction = |items: serde_json::Value| json!({"TransactItems": items});
    let both = json!([{"Put": {"Item": fleet}}, {"ConditionCheck": {"Key": key}}]);
    assert_eq!(refused("TransactWriteItems", transaction(both)), None);
    let deletion = json!([{"Put": {"Item": fleet}}, {"Delete": {"Key": key}}]);
    let missing = refused("TransactWriteItems", transaction(deletion));
    assert_eq!(missing.as_deref(), Some("DeleteItem table KEY#*"));
    let put = json!([{"Put": {"Item": key}}]);
    assert!(refused("TransactWriteItems", transaction(put)).is_some());
    let query = |index: Option<&str>, pk: &str| {
        json!({"IndexName": index, "KeyConditionExpression": "#pk = :pk AND sk > :a",
            "ExpressionAttributeValues": {":pk": {"S": pk}, ":a": {"S": "a"}}})
    };
    let fleets = format!("{ACCOUNT}#live#fleet");
    assert_eq!(refused("Query", query(Some("list"), &fleets)), None);
    assert!(refused("Query", query(Some("next_action"), &fleets)).is_some());
    assert!(refused("Query", query(None, &fleets)).is_some());
    assert!(
        refused(
            "Query",
            query(Some("list"), &format!("{ACCOUNT}#live#driver"))
        )
        .is_some()
    );
    assert!(refused("Scan", json!({})).is_some());
    let batch = json!({"RequestItems": {"t": {"Keys": [fleet, key]}}});
    assert!(refused("BatchGetItem", batch).is_some());
}

#[tokio::test]
async fn a_call_that_a_functions_role_does_not_allow_is_refused() {
    let app = TestApp::start().await;
    app.needs("the inside of the service");
    if access::is_recording() {
        return;
    }
    let tenant = app.alice.tenant();
    let id = tenant.account.clone();
    let read = || app.app().store.find::<Account>(&tenant, &id);
    assert!(read().await.expect("no function reads it").is_some());
    // The pages of the documentation do not read the table.
    let refused = function_scope::within(functions::docs::NAME, read()).await;
    let refused = refused.expect_err("it is refused").to_string();
    assert!(refused.contains("AccessDeniedException"), "{refused}");
}

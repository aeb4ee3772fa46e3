//! The example in the help of every command, run against a service with ids that exist there. `.ci/cli` runs this with
//! FLEET_API_URL and FLEET_API_KEY of a local runner.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use fleet::catalog::{Operation, Resource};
use fleet::commands::CATALOG;
use fleet::examples::command_line;
use serde_json::Value;

fn run(words: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
    command.args(&words[1..]).output().expect("the tool runs")
}

/// Runs a command that has to succeed, and returns what it printed.
fn done(line: &str) -> String {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let output = run(&words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The prefix of an id, if a word of an example is an id: letters, an underscore and a long rest.
fn prefix(word: &str) -> Option<&str> {
    let (prefix, rest) = word.split_once('_')?;
    let long = rest.len() > 20 && rest.chars().all(|letter| letter.is_ascii_hexdigit());
    long.then_some(prefix)
}

/// Existing ids, by their prefixes. The examples that create objects of the other kinds come before those that refer to them.
fn ids() -> BTreeMap<String, String> {
    for event in [
        "batch.completed",
        "service.succeeded",
        "invoice.finalized",
        "reservation.created",
        "report.succeeded",
        "policy.created",
        "ping",
    ] {
        done(&format!("fleet trigger {event} --advance-clock"));
    }
    let mut ids = BTreeMap::new();
    let mut add = |id: String| {
        let prefix = prefix(&id).expect("an id").to_owned();
        ids.insert(prefix, id);
    };
    for list in [
        "batches list",
        "charging-sessions list",
        "drivers list",
        "events list",
        "fleets list",
        "invoices list",
        "payment-methods list",
        "policies list",
        "reports list",
        "reservations list",
        "transactions list",
        "vehicles list",
        "webhook-endpoints list",
    ] {
        add(done(&format!("fleet {list} --limit 1 --get id")));
    }
    let (station, connector) = free_connector();
    let driver = done("fleet drivers list --limit 1 --get id");
    add(done(&format!(
        "fleet charge-cards create --uid 04A1B2C3D4E5F7 --driver {driver} --get id"
    )));
    add(station);
    let invoice = done("fleet invoices list --limit 1 --get id");
    add(done(&format!(
        "fleet credit-notes create --invoice {invoice} --amount 1 --get id"
    )));
    ids.insert(CONNECTOR.into(), connector);
    ids
}

/// The flag whose value is an id without a prefix.
const CONNECTOR: &str = "--connector";

/// A station that is open and has a free connector, and that connector.
fn free_connector() -> (String, String) {
    let stations = done(
        "fleet charging-stations list --available --reservable --connector-type Type2 --all --json-lines",
    );
    let stations = stations
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    for station in stations.filter(|station| station["capabilities"]["24_7_access"] == true) {
        let connectors = station["connectors"].as_array().expect("connectors");
        let free = connectors
            .iter()
            .find(|connector| connector["type"] == "Type2" && connector["status"] == "available");
        if let Some(connector) = free {
            return (text(&station["id"]), text(&connector["id"]));
        }
    }
    panic!("no station has a free connector");
}

/// All commands: those that change objects first, and deletions last. The key in use is not deleted.
fn all() -> Vec<(&'static Resource, &'static Operation)> {
    let resources = CATALOG.resources.iter();
    let mut all: Vec<_> = resources
        .flat_map(|resource| {
            resource
                .operations
                .iter()
                .map(move |operation| (resource, operation))
        })
        .collect();
    all.sort_by_key(|(_, operation)| match operation.method.as_str() {
        "POST" => 0,
        "GET" => 1,
        _ => 2,
    });
    all
}

#[test]
#[ignore = "needs a running service; .ci/cli starts one"]
fn every_example_is_accepted_by_the_service() {
    let mut ids = ids();
    let mut succeeded = 0;
    for (resource, operation) in all() {
        let mut words = command_line(resource, operation);
        for word in &mut words {
            if let Some(prefix) = prefix(word) {
                let id = ids
                    .get(prefix)
                    .unwrap_or_else(|| panic!("{}: no id for {word}", operation.id));
                *word = id.clone();
            }
        }
        if let Some(place) = words.iter().position(|word| word == CONNECTOR) {
            words[place + 1] = ids[CONNECTOR].clone();
        }
        words.push("--json".into());
        let output = run(&words);
        let errors = String::from_utf8_lossy(&output.stderr);
        let shown = words.join(" ");
        if output.status.success() {
            succeeded += 1;
            let created: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let id = created["id"].as_str().unwrap_or_default();
            if let Some(prefix) = prefix(id) {
                ids.entry(prefix.into()).or_insert_with(|| id.into());
            }
            continue;
        }
        // The state of the objects may not permit an action, but the request itself must be valid.
        assert_eq!(output.status.code(), Some(3), "{shown}: {errors}");
        let refusal: Value =
            serde_json::from_str(&errors).unwrap_or_else(|_| panic!("{shown}: {errors}"));
        // A session without a CDR has no signed values.
        let lacks_values =
            words.iter().any(|word| word.contains("signed")) && refusal["status"] == 404;
        assert!(
            matches!(refusal["status"].as_u64(), Some(402 | 409)) || lacks_values,
            "{shown}: {refusal}"
        );
    }
    let count = all().len();
    println!(
        "{succeeded} of {count} examples succeeded, the others were refused for the state of their objects"
    );
    assert!(succeeded * 10 > count * 8, "{succeeded} of {count}");
}

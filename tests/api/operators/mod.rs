//! The functions of operators on accounts and secrets.

mod erased_cards;
mod erasure;
mod export;
mod secrets;

use std::collections::BTreeSet;

use functions::accounts::erase;
use kernel::Id;
use serde_json::{Value, json};
use tests::golden::all_items;
use tests::samples::lists;
use tests::{Client, TestApp};

/// The minimum time between the closure of an account and its erasure, in seconds.
const CLOSED_FOR: u32 = 300;

/// The items that contain one of these texts, in their keys or anywhere else.
async fn items_with(app: &TestApp, texts: &BTreeSet<String>) -> Vec<String> {
    let items = all_items(app).await;
    let items = items.values().map(Value::to_string);
    items
        .filter(|item| texts.iter().any(|text| item.contains(text.as_str())))
        .collect()
}

async fn files_with(app: &TestApp, texts: &BTreeSet<String>) -> Vec<String> {
    let keys = app.app().files.list("").await.expect("the keys");
    let names = |key: &String| texts.iter().any(|text| key.contains(text.as_str()));
    keys.into_iter().filter(names).collect()
}

/// The ids of all objects in the lists of a client.
async fn listed(client: &Client) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for route in lists().filter(|route| route.resource() != "charging_stations") {
        ids.extend(client.walk(&format!("{}?limit=100", route.path)).await);
    }
    ids
}

fn account_of(client: &Client) -> Id {
    client.account.clone().expect("an account")
}

/// Invokes `erase-account` until it is done, one page of the table at a time, with the result of the previous invocation. Returns the
/// responses.
async fn erase_in_steps(
    app: &TestApp,
    account: &Id,
    rows_per_page: u32,
) -> Result<Vec<Value>, String> {
    let mut answers: Vec<Value> = Vec::new();
    loop {
        let cursor = answers.last().map(|answer| answer["cursor"].clone());
        let invocation = json!({"account": account, "cursor": cursor, "max_pages": 1, "rows_per_page": rows_per_page});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let erased = erase::handle(app.app(), invocation).await;
        let erased = erased.map_err(|error| error.to_string())?;
        answers.push(serde_json::to_value(erased).expect("JSON"));
        match answers.last().expect("an answer")["status"].as_str() {
            Some("running") => assert!(answers.len() < 1_000, "it never ends"),
            status => {
                assert_eq!(status, Some("erased"));
                return Ok(answers);
            }
        }
    }
}

/// Closes an account and erases it, as soon as that is permitted. Returns its id.
async fn erase_closed(app: &TestApp, client: &Client) -> String {
    let id = account_of(client);
    app.set_account_status(&id, "closed").await;
    app.advance(CLOSED_FOR).await;
    let erased = erase_in_steps(app, &id, 1_000).await;
    erased.expect("it is erased");
    id.to_string()
}

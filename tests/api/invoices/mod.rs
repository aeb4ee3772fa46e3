//! `/v1/invoices`, with finalize, pay and void.

mod create;
mod interrupted;
mod lines;
mod pay;
mod update;

use serde_json::{Value, json};
use tests::{Client, Crew, TestApp, with};

/// The window that ends now.
fn window(app: &TestApp) -> Value {
    json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)})
}

/// Creates a draft of a fleet's unbilled amounts, with the window that ends now.
async fn draft(app: &TestApp, crew: &Crew) -> String {
    let body = with(window(app), json!({"fleet": crew.fleet}));
    app.alice.create("/v1/invoices", body).await
}

async fn act(client: &Client, id: &str, verb: &str, body: Value) -> tests::TestResponse {
    client
        .post(&format!("/v1/invoices/{id}/{verb}"), body)
        .await
}

/// Performs an action on an invoice, which has to succeed. Returns the invoice.
async fn done(client: &Client, id: &str, verb: &str, body: Value) -> Value {
    act(client, id, verb, body).await.expect(200).body
}

/// An open invoice of one session of a fleet.
async fn open(app: &TestApp, crew: &Crew) -> String {
    app.completed_session(crew, json!({})).await;
    let id = draft(app, crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
    id
}

/// The ids of the sessions on an invoice.
fn sessions(invoice: &Value) -> Vec<&str> {
    let lines = invoice["line_items"].as_array().expect("lines").iter();
    lines
        .map(|line| line["charging_session"].as_str().expect("an id"))
        .collect()
}

/// A reservation whose vehicle did not come, with this payment method for its fee.
pub async fn no_show(app: &TestApp, crew: &Crew, method: Option<&str>) -> String {
    let body = with(app.reservation(crew, 60), json!({"payment_method": method}));
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    app.advance(90 * 60).await;
    app.drain().await;
    id
}

/// Writes this number of completed sessions of a crew.
async fn many_sessions(app: &TestApp, crew: &Crew, count: usize) {
    many_sessions_with(app, crew, count, json!({})).await;
}

/// The same with changed members.
pub async fn many_sessions_with(app: &TestApp, crew: &Crew, count: usize, change: Value) {
    for batch in (0..count).collect::<Vec<_>>().chunks(16) {
        let sessions = batch
            .iter()
            .map(|_| app.completed_session(crew, change.clone()));
        futures::future::join_all(sessions).await;
    }
}

//! Tests of the lines of an invoice: embedded, listed, and of ten thousand sessions.

use serde_json::json;
use table::list::PageRequest;
use tests::meter::Meter;
use tests::{Client, TestApp, assert_has, each};

use super::{many_sessions, sessions, window};

#[tokio::test]
async fn an_invoice_embeds_100_lines_and_paginates_all_of_them() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 230).await;
    let response = app.alice.post("/v1/invoices", window(&app)).await;
    let path = format!("/v1/invoices/{}", response.id());
    assert_has!(response.body, {"amount_due": 230 * 1190, "line_items_has_more": true});
    assert_eq!(sessions(&response.body).len(), 100);
    let mut seen = Vec::new();
    let mut next = Some(format!("{path}/line_items?limit=100"));
    while let Some(url) = next {
        let page = app.alice.get_ok(&url).await;
        seen.extend(page["data"].as_array().expect("lines").clone());
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    let amounts: i64 = seen.iter().filter_map(|line| line["amount"].as_i64()).sum();
    assert_eq!((seen.len(), amounts), (230, 230 * 1190));
    assert_eq!(json!(seen[..100]), response.body["line_items"]);
    // None of them is billed twice. The deletion of an invoice releases all of them and leaves no line behind.
    let stored = async || {
        let invoice = serde_json::from_value(response.body.clone()).expect("an invoice");
        let (tenant, all) = (app.alice.tenant(), PageRequest::first(1000));
        let found = app.app().store.lines(&tenant, &invoice, &all).await;
        found.expect("lines").items.len()
    };
    assert_eq!(stored().await, 230);
    let empty = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(empty["line_items"], json!([]));
    app.alice.delete_ok(&path).await;
    app.drain().await;
    assert_eq!(stored().await, 0);
    let again = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(again["amount_due"], 230 * 1190);
    app.drain().await;
}

#[tokio::test]
async fn long_lines_that_an_invoice_does_not_show_are_listed() {
    let (app, crew) = TestApp::with_crew().await;
    let long = json!({"connector": "7".repeat(3_000)});
    for _ in 0..40 {
        app.completed_session(&crew, long.clone()).await;
    }
    let invoice = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_has!(invoice, {"amount_due": 40 * 1190, "line_items_has_more": true});
    let path = format!(
        "/v1/invoices/{}/line_items",
        invoice["id"].as_str().expect("an id")
    );
    let lines = app.alice.walk(&path).await;
    assert_eq!(lines.len(), 40);
    let shown = invoice["line_items"].as_array().expect("lines").len();
    assert!((1..40).contains(&shown));
    assert_eq!(json!(lines[..shown]), each(&invoice["line_items"], "id"));
    app.drain().await;
}

#[tokio::test]
async fn a_transaction_claims_at_most_50_lines() {
    let (app, crew) = TestApp::with_crew().await;
    let meter = Meter::default();
    let store = meter.store(&app.running().store_url, &app.running().table);
    let url = tests::serve(app.app_with(store, app.app().clock.clone())).await;
    let client = Client::new(&url, app.alice.key.as_deref());
    let mut most = 0;
    // The first is billed in one transaction, the second in several.
    for count in [40, 98] {
        many_sessions(&app, &crew, count).await;
        meter.take();
        let invoice = client.post_ok("/v1/invoices", window(&app)).await;
        assert_eq!(invoice["amount_due"], json!(count * 1190));
        assert_has!(invoice, {"line_items_has_more": false});
        for call in meter.take() {
            let writes = call.request["TransactItems"].as_array();
            let writes = writes.into_iter().flatten();
            let claims = writes.filter(|write| {
                let condition = write["Update"]["ConditionExpression"].as_str();
                condition.is_some_and(|condition| condition.contains("#part.#invoice"))
            });
            most = most.max(claims.count());
        }
    }
    assert_eq!(most, 50);
    app.drain().await;
}

#[tokio::test]
#[ignore = "takes 20 seconds"]
async fn an_invoice_of_ten_thousand_sessions_is_made_in_one_request() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 10_000).await;
    let invoice = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(invoice["amount_due"], 10_000 * 1190);
    app.drain().await;
}

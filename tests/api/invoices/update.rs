//! Tests of updates and deletions of an invoice, its due date, and the filters of the list.

use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, path_of};

use super::{done, draft, open};

#[tokio::test]
async fn an_update_and_a_deletion_of_an_invoice_are_events() {
    let (app, crew) = TestApp::with_crew().await;
    let receiver = Receiver::subscribed(&app.alice, &["invoice.updated", "invoice.deleted"]).await;
    let first = path_of(&draft(&app, &crew).await);
    app.alice
        .post_ok(&first, json!({"description": "March"}))
        .await;
    app.drain().await;
    let refused = app.alice.post(&first, json!({"description": 5})).await;
    refused.expect_error(400, "invoice_validation_error", "description");
    app.alice.delete_ok(&first).await;
    app.drain().await;
    assert_eq!(receiver.types(), ["invoice.updated", "invoice.deleted"]);
    let received = receiver.received();
    let [updated, deleted] = &received[..] else {
        panic!("two deliveries: {received:?}")
    };
    let changes = json!({"description": null});
    assert_has!(updated.event, {"/data/object/description": "March", "/data/previous_attributes": changes});
    assert_has!(deleted.event, {"/data/object/description": "March", "/data/object/status": "draft"});
    // The sequence of an invoice has no gaps.
    let sequence = |event: &Value| event["sequence"].as_u64();
    assert_eq!(
        (sequence(&updated.event), sequence(&deleted.event)),
        (Some(2), Some(3))
    );
    // Finalizing is not an update, and what is refused is no event.
    let second = draft(&app, &crew).await;
    done(&app.alice, &second, "finalize", json!({})).await;
    app.alice.delete(&path_of(&second)).await.expect(409);
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn an_invoice_is_updated_while_it_is_a_draft_or_open() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    let path = format!("/v1/invoices/{id}");
    let due = app.in_minutes(5);
    let change = json!({"description": "Memo", "due_date": due, "metadata": {"a": "1"}});
    assert_has!(app.alice.post_ok(&path, change).await, {"description": "Memo", "due_date": due});
    done(&app.alice, &id, "finalize", json!({})).await;
    let change = json!({"description": null, "metadata": {"a": null, "b": "2"}});
    let changed = app.alice.post_ok(&path, change).await;
    assert_has!(changed, {"description": null, "metadata": {"b": "2"}});
    assert_has!(changed, {"due_date": due, "status": "open"});
    for (wrong, param) in [
        (json!({"due_date": "soon"}), "due_date"),
        (json!({"due_date": null}), "due_date"),
        (json!({"metadata": {"k": 1}}), "metadata.k"),
    ] {
        let answer = app.alice.post(&path, wrong).await;
        answer.expect_error(400, "invoice_validation_error", param);
    }
    done(&app.alice, &id, "void", json!({})).await;
    let refused = app.alice.post(&path, json!({"description": "Late"})).await;
    refused.expect_error(409, "invoice_update_invalid_state", None);
    app.drain().await;
}

#[tokio::test]
async fn invoices_are_filtered_by_fleet_and_status_including_overdue() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    app.completed_session(&crew, json!({})).await;
    let (open, theirs) = (draft(&app, &crew).await, draft(&app, &other).await);
    done(&app.alice, &open, "finalize", json!({})).await;
    let list = async |query: String| app.alice.get(&format!("/v1/invoices{query}")).await;
    assert_eq!(
        list(String::new()).await.ids(),
        [theirs.clone(), open.clone()]
    );
    assert_eq!(
        list(format!("?fleet={}", crew.fleet)).await.ids(),
        std::slice::from_ref(&open)
    );
    assert_eq!(list("?status=draft".into()).await.ids(), [theirs]);
    assert_eq!(
        list("?status=open".into()).await.ids(),
        std::slice::from_ref(&open)
    );
    assert!(list("?status=overdue".into()).await.ids().is_empty());
    let due = json!({"due_date": app.in_minutes(-1)});
    app.alice.post_ok(&path_of(&open), due).await;
    let overdue = list("?status=overdue".into()).await;
    assert_eq!(
        (overdue.ids(), &overdue.body["data"][0]["status"]),
        (vec![open], &json!("open"))
    );
    assert_eq!(
        list("?fleet=flt_1".into()).await.error().2,
        Some("fleet_not_found")
    );
    assert_eq!(list("?status=late".into()).await.error().3, Some("status"));
    app.drain().await;
}

#[tokio::test]
async fn an_open_invoice_past_its_due_date_sends_one_event() {
    let (app, crew) = TestApp::with_crew().await;
    let id = open(&app, &crew).await;
    let overdue_events = async || {
        app.alice
            .get("/v1/events?type=invoice.overdue")
            .await
            .ids()
            .len()
    };
    app.advance(30 * 86_400 - 60).await;
    assert_eq!(overdue_events().await, 0);
    let before = app.alice.get(&path_of(&id)).await;
    app.advance(120).await;
    assert_eq!(overdue_events().await, 1);
    // The invoice does not show that the event was sent, and the same due date is no reason to send it again.
    let same = json!({"due_date": before.body["due_date"]});
    app.alice.post_ok(&path_of(&id), same).await;
    app.advance(60).await;
    assert_eq!(overdue_events().await, 1);
    let after = app.alice.get(&path_of(&id)).await;
    assert_eq!(after.body, before.body);
    assert_eq!(after.header("etag"), before.header("etag"));
    let overdue = app.alice.get("/v1/invoices?status=overdue").await;
    assert_eq!(overdue.ids(), std::slice::from_ref(&id));
    let change = json!({"due_date": app.in_minutes(10)});
    app.alice.post_ok(&path_of(&id), change).await;
    app.advance(11 * 60).await;
    assert_eq!(overdue_events().await, 2);
    app.advance(86_400).await;
    assert_eq!(overdue_events().await, 2);
}

//! Tests of `export-account`, and of the functions of operators in the runner.

use std::collections::BTreeSet;

use functions::accounts::export;
use kernel::{Id, Mode};
use serde_json::{Value, json};
use tests::samples::one_of_each;
use tests::{TestApp, assert_has, fleet};

use super::{CLOSED_FOR, account_of, listed};

/// The objects of an export, which is made one page of the table at a time, and the keys of its files.
async fn exported(app: &TestApp, account: &Id, mode: Mode) -> (Vec<Value>, Vec<String>) {
    let mut cursor = Value::Null;
    loop {
        let invocation = json!({"account": account, "mode": mode, "cursor": cursor, "max_pages": 1, "rows_per_page": 40});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let done = export::handle(app.app(), invocation)
            .await
            .expect("an export");
        if done.status == export::ExportStatus::Running {
            cursor = serde_json::to_value(done.cursor).expect("JSON");
            continue;
        }
        let mut keys = app.app().files.list(&done.folder).await.expect("the keys");
        keys.sort();
        let mut objects = Vec::new();
        for key in keys.iter().filter(|key| key.ends_with(".jsonl")) {
            let file = app.app().files.get(key).await.expect("a part");
            let lines = String::from_utf8(file).expect("UTF-8");
            let lines = lines
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"));
            objects.extend(lines);
        }
        let summary = app
            .app()
            .files
            .get(&format!("{}complete.json", done.folder))
            .await;
        let summary: Value = serde_json::from_slice(&summary.expect("a summary")).expect("JSON");
        assert_has!(summary, {"objects": objects.len(), "files": keys.len() - 1});
        assert_eq!(done.objects, objects.len() as u64);
        return (objects, keys);
    }
}

#[tokio::test]
async fn an_export_contains_exactly_the_objects_of_its_tenant() {
    let app = TestApp::with_demo_stations().await;
    let child = app.child_of(&app.alice).await;
    let created = one_of_each(&app, &child).await;
    let others = one_of_each(&app, &app.alice).await;
    app.drain().await;
    let (objects, keys) = exported(&app, &account_of(&child), Mode::Test).await;
    assert!(
        keys.len() > 2,
        "an invocation that is continued writes parts of its own: {keys:?}"
    );
    let ids: BTreeSet<String> = objects
        .iter()
        .filter_map(|object| object["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), objects.len(), "each object once");
    let mut expected = listed(&child).await;
    let path = format!("/v1/batches/{}/results", created["batches"]);
    let results = child.walk(&path).await;
    assert!(!results.is_empty());
    expected.extend(results);
    expected.extend(
        created
            .values()
            .filter(|id| !id.starts_with("chst_"))
            .cloned(),
    );
    let missing: Vec<&String> = expected.difference(&ids).collect();
    assert_eq!(missing, Vec::<&String>::new());
    let text = Value::from(objects.clone()).to_string();
    for id in others
        .values()
        .filter(|id| !id.starts_with("chst_") && *id != account_of(&app.alice).as_str())
    {
        assert!(
            !text.contains(id.as_str()),
            "{id} belongs to another account"
        );
    }
    for resource in [
        "fleets", "drivers", "vehicles", "policies", "invoices", "accounts",
    ] {
        let shown = child
            .get(&format!("/v1/{resource}/{}", created[resource]))
            .await;
        assert!(objects.contains(&shown.body), "{resource}: {}", shown.text);
    }
    // It contains no secret: neither that of the endpoint nor a key.
    let endpoint = format!("/v1/webhook_endpoints/{}", created["webhook_endpoints"]);
    let secret = child.get_ok(&endpoint).await["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert!(
        secret.starts_with("whsec_") && !text.contains(&secret),
        "{secret}"
    );
    assert!(
        !text.contains("sk_test_") && !text.contains("enc1."),
        "{text}"
    );
    // The other mode contains only the account.
    let (live, _) = exported(&app, &account_of(&child), Mode::Live).await;
    let kinds: Vec<&str> = live
        .iter()
        .filter_map(|object| object["object"].as_str())
        .collect();
    assert_eq!(kinds, ["account"]);
}

#[tokio::test]
async fn the_runner_exports_and_erases_accounts_as_the_functions_do() {
    let app = TestApp::start().await;
    app.needs("the local runner");
    let child = app.child_of(&app.alice).await;
    child.post_ok("/v1/fleets", fleet()).await;
    let id = account_of(&child);
    let body = json!({"account": id, "mode": "test"});
    let exported = app.local().post_ok("/_local/account_export", body).await;
    assert_has!(exported, {"status": "succeeded", "files": 1});
    let link = exported["links"][0].as_str().expect("a link");
    assert!(
        app.anon
            .get(link)
            .await
            .expect(200)
            .text
            .contains("\"fleet\"")
    );
    let body = json!({"account": id});
    let early = app
        .local()
        .post("/_local/account_erasure", body.clone())
        .await;
    early.expect_error(409, None, "account");
    app.set_account_status(&id, "closed").await;
    app.advance(CLOSED_FOR).await;
    let erased = app
        .local()
        .post("/_local/account_erasure", body.clone())
        .await
        .expect(200);
    assert_eq!(erased.body["status"], "erased");
    let gone = app.local().post("/_local/account_erasure", body).await;
    assert_eq!(gone.status, 404);
    let unknown = json!({"account": id, "now": true});
    let unknown = app.local().post("/_local/account_erasure", unknown).await;
    unknown.expect_error(400, None, "now");
    let done = app.local().post_ok("/_local/reencryption", json!({})).await;
    assert_has!(done, {"status": "succeeded", "changed": 0});
}

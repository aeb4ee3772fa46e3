//! The OpenAPI document and the pages that show it.

use serde_json::{Value, json};
use shared::error::Code;
use tests::TestApp;
use tests::contract::DOCUMENT;

#[test]
fn every_route_is_an_operation_and_every_operation_a_route() {
    let mut operations = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("operations").keys() {
            operations.push(format!("{} {path}", method.to_uppercase()));
        }
    }
    let mut routes: Vec<_> = functions::endpoints()
        .iter()
        .map(|one| format!("{} {}", one.route.method.as_str(), one.route.path))
        .collect();
    routes.sort();
    operations.sort();
    assert_eq!(operations, routes);
}

#[tokio::test]
async fn the_document_and_its_pages_are_for_everybody() {
    let app = TestApp::start().await;
    let shown = app.anon.get("/v1/openapi.json").await.expect(200);
    assert_eq!(shown.body["openapi"], "3.1.0");
    assert_eq!(
        shown.body["servers"][0]["url"],
        json!(app.running().base_url)
    );
    let page = app.anon.get("/docs").await.expect(200);
    assert!(page.text.contains("/docs/redoc.js"), "{}", page.text);
    assert!(page.header("content-type").starts_with("text/html"));
    let script = app.anon.get("/docs/redoc.js").await.expect(200);
    assert_eq!(script.header("content-encoding"), "gzip");
    let errors = app.anon.get("/docs/errors").await.expect(200);
    for code in Code::ALL {
        assert!(errors.text.contains(code.as_str()), "{}", code.as_str());
    }
    // An error's link leads there.
    let missing = app.alice.get("/v1/fleets/x").await;
    let link = missing.body["doc_url"].as_str().expect("a link");
    let (page, anchor) = link.split_once('#').expect("an anchor");
    let shown = app.anon.get(page).await.expect(200);
    assert!(shown.text.contains(&format!("id=\"{anchor}\"")));
    // The pages answer to GET alone, and nothing else is open.
    assert_eq!(app.anon.post("/docs", Value::Null).await.status, 405);
    assert_eq!(app.anon.get("/docs/other").await.status, 401);
}

#[tokio::test]
async fn the_pages_load_nothing_from_outside() {
    let app = TestApp::start().await;
    for path in ["/docs", "/docs/errors"] {
        let page = app.anon.get(path).await.expect(200);
        assert!(!page.text.contains("://"), "{path} names another host");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        let sources = policy.split([' ', ';']).filter(|word| !word.is_empty());
        for source in sources {
            let own = source.starts_with('\'')
                || source.ends_with("-src")
                || ["data:", "blob:"].contains(&source);
            let directive = ["base-uri", "form-action", "frame-ancestors"].contains(&source);
            assert!(own || directive, "{path} allows {source}");
        }
        // The policy names the page's own script by its digest, so that no other one runs.
        let script = page
            .text
            .split_once("<script>")
            .and_then(|(_, rest)| rest.split_once("</script>"));
        if let Some((script, _)) = script {
            use base64::Engine as _;
            use sha2::Digest as _;
            let digest =
                base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(script));
            assert!(policy.contains(&format!("'sha256-{digest}'")), "{policy}");
        }
    }
}

#[test]
fn every_example_is_an_answer_the_document_describes() {
    for (path, item) in DOCUMENT["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let content = &operation["responses"]["200"]["content"]["application/json"];
            let shared = content["examples"]["sample"]["$ref"]
                .as_str()
                .expect("an example");
            let example = DOCUMENT.pointer(&shared[1..]).expect("an example");
            tests::contract::check(&method.to_uppercase(), path, 200, &example["value"]);
        }
    }
}

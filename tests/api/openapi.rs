//! The OpenAPI document and the pages that show it.

use std::collections::HashSet;

use kernel::Code;
use models::EventType;
use serde_json::{Value, json};
use tests::contract::{DOCUMENT, faults, resolved};
use tests::{TestApp, assert_has, assert_same};

#[test]
fn every_route_is_an_operation_and_every_operation_a_route() {
    let operations = operations().map(|(name, _)| name).collect();
    let routes = functions::endpoints();
    let routes = routes.iter().map(|endpoint| endpoint.route.to_string());
    let remedy = "`cargo run -p generate openapi` writes or removes these operations";
    assert_same(&operations, &routes.collect(), remedy);
}

#[test]
fn the_document_states_the_limits_of_bodies() {
    let member =
        |schema: &str, name: &str| &DOCUMENT["components"]["schemas"][schema]["properties"][name];
    let capacity = member("VehicleCreateParams", "battery_capacity");
    assert_eq!(capacity["maximum"], 100_000_000);
    for (schema, name) in [
        ("ApiKeyCreateParams", "scopes"),
        ("WebhookEndpointCreateParams", "enabled_events"),
        ("WebhookEndpointUpdateParams", "enabled_events"),
        ("WebhookEndpointReplayParams", "types"),
    ] {
        assert_eq!(member(schema, name)["minItems"], 1, "{schema}.{name}");
    }
    let headers = member("WebhookEndpointCreateParams", "headers");
    let is_refused = |headers: &Value, name: &str| !faults(headers, &json!({name: "x"})).is_empty();
    assert!(!is_refused(headers, "X-Api-Key") && is_refused(headers, "a b"));
}

#[tokio::test]
async fn the_document_and_its_pages_are_for_everybody() {
    let app = TestApp::start().await;
    let shown = app.anon.get_ok("/v1/openapi.json").await;
    assert_has!(shown, {"openapi": "3.1.0", "/servers/0/url": app.running().base_url});
    let page = app.anon.get("/docs/reference").await.expect(200);
    assert!(page.text.contains("/docs/redoc.js"), "{}", page.text);
    assert!(page.header("content-type").starts_with("text/html"));
    let script = app.anon.get("/docs/redoc.js").await.expect(200);
    assert_eq!(script.header("content-encoding"), "gzip");
    let samples = app.anon.get("/docs/samples.js").await.expect(200);
    assert!(samples.text.contains("function withSamples("));
    let errors = app.anon.get("/docs/errors").await.expect(200);
    for code in Code::ALL {
        assert!(errors.text.contains(code.as_str()), "{}", code.as_str());
    }
    // The link in an error leads to the page.
    let missing = app.alice.get("/v1/fleets/x").await;
    let link = missing.body["doc_url"].as_str().expect("a link");
    let (page, anchor) = link.split_once('#').expect("an anchor");
    let shown = app.anon.get(page).await.expect(200);
    assert!(shown.text.contains(&format!("id=\"{anchor}\"")));
    // The pages only support GET, and no other path is public.
    assert_eq!(app.anon.post("/docs", Value::Null).await.status, 405);
    assert_eq!(app.anon.get("/docs/other").await.status, 401);
}

#[tokio::test]
async fn every_guide_is_served_as_html_and_text_with_valid_links() {
    let app = TestApp::start().await;
    let base = &app.running().base_url;
    let listed = app.anon.get("/llms.txt").await.expect(200).text;
    let whole = app.anon.get("/llms-full.txt").await.expect(200).text;
    let targets = listed.split("](").skip(1);
    let targets: Vec<_> = targets.filter_map(|rest| rest.split(')').next()).collect();
    let files = std::fs::read_dir("../docs").expect("the guides").count();
    // The index is not in its own list; the reference and the errors are not files.
    assert_eq!(targets.len(), files - 1 + 2, "{listed}");
    for target in targets {
        let path = target
            .strip_prefix(base.as_str())
            .expect("a link to this service");
        let text = app.anon.get(path).await.expect(200);
        let Some(page) = path.strip_suffix(".md") else {
            continue;
        };
        assert!(text.header("content-type").starts_with("text/markdown"));
        // Only the links differ.
        let mut lines = text.text.lines().filter(|line| !line.contains("]("));
        assert!(
            lines.all(|line| whole.contains(line)),
            "{path} is not in llms-full.txt"
        );
        let page = app.anon.get(page).await.expect(200).text;
        assert!(page.contains("<h1 id="), "{page}");
        for link in page.split("href=\"").skip(1) {
            let link = link.split('"').next().expect("the end of a link");
            // The sources of figures are elsewhere.
            if link.starts_with("http") {
                continue;
            }
            let (there, anchor) = link.split_once('#').unwrap_or((link, ""));
            let there = match there {
                "" => page.clone(),
                there => app.anon.get(there).await.expect(200).text,
            };
            assert!(
                anchor.is_empty() || there.contains(&format!("id=\"{anchor}\"")),
                "{link}"
            );
        }
    }
    for link in whole.split("](").skip(1) {
        let link = link.split(')').next().expect("the end of a link");
        assert!(link.starts_with("http"), "{link} is not absolute");
    }
    let catalog = app.anon.get_ok("/.well-known/api-catalog").await;
    let described = &catalog["linkset"][0]["service-desc"][0]["href"];
    assert_eq!(described, &json!(format!("{base}/v1/openapi.json")));
}

#[tokio::test]
async fn the_pages_load_nothing_from_outside() {
    let app = TestApp::start().await;
    for path in [
        "/docs",
        "/docs/quickstart",
        "/docs/reference",
        "/docs/errors",
    ] {
        let page = app.anon.get(path).await.expect(200);
        for attribute in ["src=\"", "href=\""] {
            for target in page.text.split(attribute).skip(1) {
                assert!(target.starts_with(['/', '#']), "{path} names another host");
            }
        }
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

/// Every operation of the paths, with its method and path.
fn operations() -> impl Iterator<Item = (String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().expect("operations");
        operations.iter().map(move |(method, operation)| {
            (format!("{} {path}", method.to_uppercase()), operation)
        })
    })
}

#[track_caller]
fn assert_conforms(what: &str, schema: &Value, example: &Value) {
    let faults = faults(schema, example);
    assert!(faults.is_empty(), "{what}: {faults:#?} in {example:#}");
}

/// Otherwise the client that openapi-generator makes for Java does not compile.
#[test]
fn the_values_of_a_set_have_a_name() {
    let mut open = vec![&*DOCUMENT];
    let mut sets = 0;
    while let Some(value) = open.pop() {
        if value["uniqueItems"] == true {
            assert!(value["items"].get("enum").is_none(), "{value}");
            sets += 1;
        }
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    assert!(sets > 5, "{sets} sets");
}

#[test]
fn every_request_body_has_a_valid_example() {
    let mut bodies = 0;
    for (name, operation) in operations() {
        let Some(body) = operation.get("requestBody") else {
            assert!(!name.starts_with("POST"), "{name} has no body");
            continue;
        };
        let content = &body["content"]["application/json"];
        let example = content.get("example").expect("an example");
        assert_conforms(&name, &content["schema"], example);
        bodies += 1;
    }
    assert!(bodies > 30, "{bodies} bodies");
}

#[test]
fn every_response_has_a_valid_example_for_each_of_its_codes() {
    let mut seen = HashSet::new();
    for (name, operation) in operations() {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            // Many operations share a response.
            if !seen.insert(response) {
                continue;
            }
            if status == "302" {
                continue;
            }
            let content = &resolved(response)["content"]["application/json"];
            let examples = content["examples"].as_object().expect("examples");
            assert!(!examples.is_empty(), "{name} {status} has no example");
            for example in examples.values() {
                let example = &resolved(example)["value"];
                assert_conforms(&format!("{name} {status}"), &content["schema"], example);
            }
            if status == "200" {
                continue;
            }
            let described = resolved(response)["description"].as_str().expect("a text");
            let listed = described
                .split_once("Codes: ")
                .map_or("", |(_, codes)| codes);
            let listed: HashSet<_> = listed.split('`').skip(1).step_by(2).collect();
            let examples: Vec<_> = examples.values().map(|example| &example["value"]).collect();
            let shown: HashSet<_> = examples
                .iter()
                .filter_map(|example| example["code"].as_str())
                .collect();
            assert_eq!(shown, listed, "{name} {status}");
            for example in examples {
                assert_eq!(example["status"].to_string(), *status, "{name}");
            }
        }
    }
}

#[test]
fn every_type_of_event_is_a_webhook_with_a_valid_example() {
    let webhooks = DOCUMENT["webhooks"].as_object().expect("webhooks");
    let documented = webhooks.keys().cloned().collect();
    let types = EventType::ALL.iter().map(|kind| kind.to_string()).collect();
    let remedy = "`cargo run -p generate openapi` writes or removes these webhooks";
    assert_same(&documented, &types, remedy);
    let event = json!({"$ref": "#/components/schemas/Event"});
    for kind in EventType::ALL {
        let content =
            &webhooks[kind.as_str()]["post"]["requestBody"]["content"]["application/json"];
        let example = &content["example"];
        assert_eq!(example["type"], kind.as_str());
        assert_conforms(kind.as_str(), &content["schema"], example);
        assert_conforms(kind.as_str(), &event, example);
    }
}

#[test]
fn the_type_of_an_event_decides_the_type_of_its_object() {
    let event = json!({"$ref": "#/components/schemas/Event"});
    let webhooks = &DOCUMENT["webhooks"];
    let example = |kind: &str| {
        webhooks[kind]["post"]["requestBody"]["content"]["application/json"]["example"].clone()
    };
    let mut mixed = example("reservation.confirmed");
    mixed["data"] = example("invoice.paid")["data"].clone();
    assert_ne!(faults(&event, &mixed), Vec::<String>::new());
}

#[test]
fn no_schema_is_named_after_a_type_that_only_the_code_has() {
    let schemas = DOCUMENT["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for name in schemas.keys() {
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric());
        assert!(plain && !name.ends_with("Change"), "{name}");
    }
}

#[test]
fn no_two_operations_of_a_resource_have_the_same_method_name() {
    let mut names = HashSet::new();
    for (name, operation) in operations() {
        let method = (operation["tags"][0].clone(), operation["x-method"].clone());
        assert!(operation["x-method"].is_string(), "{name}");
        assert!(names.insert(method.clone()), "{method:?} twice");
    }
}

//! Test of the sample events: each is sent as a request and succeeds.

use serde_json::{Value, json};
use tests::TestApp;
use tests::platform::{Connected, hub_role, manage_ok, send};

#[tokio::test]
async fn every_operation_answers_its_sample_event() {
    let app = TestApp::start().await;
    let cpo = Connected::with(&app, |script| {
        let operator = script.roles[0].clone();
        script.roles = json!([hub_role(), operator]);
    })
    .await;
    let parties = json!([{"country_code": "NL", "party_id": "EXA"}]);
    let approve = json!({"action": "approve_parties", "network": cpo.network, "parties": parties});
    manage_ok(&app, approve).await;
    let mut token = cpo.token.clone();
    let mut operations: Vec<_> = functions::ocpi::operations()
        .map(|operation| (operation.name, operation.method))
        .collect();
    // An object that was put can be retrieved, and one that was retrieved can be deleted. The connection ends last.
    let order = [
        "ocpi-put",
        "ocpi-create",
        "ocpi-patch",
        "ocpi-retrieve",
        "ocpi-list",
        "ocpi-authorize",
        "ocpi-delete",
        "ocpi-renew",
    ];
    let place = |name: &str| {
        order
            .iter()
            .position(|prefix| name.starts_with(prefix))
            .unwrap_or(order.len())
    };
    let inner = |name: &str| {
        ["location", "evse", "connector"]
            .iter()
            .position(|suffix| name.ends_with(suffix))
    };
    operations.sort_by_key(|(name, _)| (place(name), inner(name)));
    for (name, method) in operations {
        let event: Value = serde_json::from_str(&tests::samples::text(name)).expect("JSON");
        let mut path = event["rawPath"].as_str().expect("a path").to_owned();
        if let Some(query) = event["rawQueryString"]
            .as_str()
            .filter(|query| !query.is_empty())
        {
            path += &format!("?{query}");
        }
        let mut body: Option<Value> = event["body"]
            .as_str()
            .map(|body| serde_json::from_str(body).expect("JSON"));
        if body
            .as_ref()
            .is_some_and(|body| body.get("roles").is_some())
        {
            body = Some(cpo.credentials());
        }
        assert_eq!(event["requestContext"]["http"]["method"], method, "{name}");
        let answer = send(&app, &token, method, &path, body.as_ref(), &[]).await;
        let code = answer.body["status_code"].as_i64();
        match name {
            // These need an earlier request of the service, or a token that is only valid for registration.
            "ocpi-create-command-result" | "ocpi-create-profile-result" => {
                assert_eq!(answer.status, 404, "{name}");
            }
            "ocpi-authorize-token" => {
                assert_eq!((answer.status, code), (404, Some(2004)), "{name}")
            }
            "ocpi-register" => assert_eq!(answer.status, 405, "{name}"),
            _ => assert_eq!(code, Some(1000), "{name}: {}", answer.text),
        }
        if name == "ocpi-renew-credentials" {
            token = answer.body["data"]["token"]
                .as_str()
                .expect("a token")
                .to_owned();
        }
        if name == "ocpi-unregister" {
            break;
        }
    }
    app.drain().await;
}

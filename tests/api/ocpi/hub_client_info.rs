//! Test of the OCPI module HubClientInfo, which only a hub may use.

use serde_json::json;
use tests::platform::{Connected, fixture, hub_role};
use tests::{TestApp, with};

#[tokio::test]
async fn only_a_hub_reports_parties_and_reads_what_it_reported() {
    let app = TestApp::start().await;
    let hub = Connected::with(&app, |script| script.roles = json!([hub_role()])).await;
    let path = "/hubclientinfo/NL/EXA";
    let info = fixture("client_info");
    hub.expect("GET", path, None, (404, 2000)).await;
    assert_eq!(hub.put(path, &info).await.status, 201);
    assert_eq!(hub.put(path, &info).await.status, 200);
    let updated = json!({"last_updated": "2026-01-05T08:00:00.000Z"});
    assert_eq!(hub.data(path).await, with(info.clone(), updated));
    for change in [json!({"party_id": "OTH"}), json!({"status": null})] {
        let wrong = with(info.clone(), change);
        hub.expect("PUT", path, Some(&wrong), (200, 2001)).await;
    }
    let cpo = Connected::to(&app).await;
    cpo.expect("PUT", path, Some(&info), (200, 2000)).await;
}

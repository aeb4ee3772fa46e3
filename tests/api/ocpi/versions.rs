//! Test of the versions of OCPI and their endpoints.

use serde_json::json;
use tests::platform::Connected;

use super::get_expecting;

#[tokio::test]
async fn both_versions_and_their_endpoints_are_listed() {
    let (app, cpo) = Connected::start().await;
    let list = get_expecting(&app, &cpo.token, "/ocpi/versions", (200, 1000)).await;
    let base = &app.running().base_url;
    let want = json!([{"version": "2.2.1", "url": format!("{base}/ocpi/2.2.1")},
        {"version": "2.3.0", "url": format!("{base}/ocpi/2.3.0")}]);
    assert_eq!(list.body["data"], want);
    for version in ["2.2.1", "2.3.0"] {
        let path = format!("/ocpi/{version}");
        let details = get_expecting(&app, &cpo.token, &path, (200, 1000)).await;
        app.snapshot(&format!("ocpi_{version}"), &details.body["data"]);
    }
}

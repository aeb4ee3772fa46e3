//! Tests of the OCPI module CDRs: each is stored once and found at its location.

use serde_json::json;
use tests::platform::{Connected, codes, fixture, manage_ok, send};
use tests::{TestApp, with};

use super::edge;

#[tokio::test]
async fn a_cdr_is_stored_once_and_found_at_its_location() {
    let (app, cpo) = Connected::start().await;
    let answer = cpo
        .expect("POST", "/cdrs", Some(&fixture("cdr")), (201, 1000))
        .await;
    let url = answer.header("location").to_owned();
    assert_eq!(
        url,
        format!("{}/ocpi/2.2.1/cdrs/NL/EXA/C-1001", app.running().base_url)
    );
    let again = cpo.send("POST", "/cdrs", Some(&fixture("cdr"))).await;
    assert_eq!(
        (codes(&again), again.header("location")),
        ((200, 1000), url.as_str())
    );
    let shown = send(&app, &cpo.token, "GET", &url, None, &[]).await;
    assert_eq!(shown.body["data"], fixture("cdr"));
    let other = with(fixture("cdr"), json!({"total_energy": 21}));
    cpo.expect("POST", "/cdrs", Some(&other), (200, 2001)).await;
    assert_eq!(cpo.data("/cdrs/NL/EXA/C-1001").await, fixture("cdr"));
    let listed = manage_ok(&app, json!({"action": "list_unmatched"})).await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_cdr_with_many_charging_periods_is_stored_once() {
    let large = with(
        fixture("cdr"),
        json!({"charging_periods": edge::periods(0, 3_000)}),
    );
    assert!(large.to_string().len() > 400 * 1024);
    let listed = with(large.clone(), json!({"id": "C-1002"}));
    let app = TestApp::start().await;
    let cpo = Connected::with(&app, |script| {
        script.lists.insert("cdrs", vec![listed]);
    });
    let cpo = cpo.await;
    app.drain().await;
    for expected in [(201, 1000), (200, 1000)] {
        cpo.expect("POST", "/cdrs", Some(&large), expected).await;
    }
    for id in ["C-1001", "C-1002"] {
        let shown = cpo.data(&format!("/cdrs/NL/EXA/{id}")).await;
        assert_eq!(shown["total_cost"], large["total_cost"], "{id}");
        let size = shown.to_string().len();
        assert!(size < 200 * 1024, "{id}: {size}");
    }
    for change in [
        json!({"charging_periods": edge::periods(0, 8_000)}),
        json!({"remark": "x".repeat(300_000)}),
    ] {
        let larger = with(large.clone(), change);
        cpo.expect("POST", "/cdrs", Some(&larger), (413, 2000))
            .await;
    }
}

#[tokio::test]
async fn the_id_of_a_cdr_has_up_to_39_characters() {
    let (_app, cpo) = Connected::start().await;
    let longest = format!("{}-CC", "8f14e45f-ceea-467f-a0ca-5d4a1c2b3d4e");
    let credit = json!({"id": longest, "credit": true, "credit_reference_id": longest});
    let credit = with(fixture("cdr"), credit);
    let answer = cpo.send("POST", "/cdrs", Some(&credit)).await;
    assert_eq!((longest.len(), codes(&answer)), (39, (201, 1000)));
    let path = format!("/cdrs/NL/EXA/{longest}");
    assert_eq!(cpo.data(&path).await, credit);
    let longer = with(credit, json!({"id": format!("{longest}C")}));
    cpo.expect("POST", "/cdrs", Some(&longer), (200, 2001))
        .await;
    for step in [".", ".."] {
        let other = with(fixture("cdr"), json!({"id": step}));
        cpo.expect("POST", "/cdrs", Some(&other), (200, 2001)).await;
    }
    // All other ids have 36.
    let session = with(fixture("session"), json!({"id": &longest[..37]}));
    let path = format!("/sessions/NL/EXA/{}", &longest[..37]);
    cpo.expect("PUT", &path, Some(&session), (404, 2000)).await;
}

#[tokio::test]
async fn a_cdr_that_cannot_be_read_is_refused() {
    let (_app, cpo) = Connected::start().await;
    for (change, code) in [
        (json!({"total_cost": {}}), (200, 2001)),
        (json!({"id": null}), (200, 2001)),
        (json!({"party_id": 1}), (200, 2001)),
        (json!({"party_id": "OTH"}), (404, 2000)),
        (json!({"last_updated": null}), (200, 2001)),
    ] {
        let body = with(fixture("cdr"), change);
        cpo.expect("POST", "/cdrs", Some(&body), code).await;
    }
    cpo.expect("GET", "/cdrs/NL/EXA/C-1001", None, (404, 2000))
        .await;
}

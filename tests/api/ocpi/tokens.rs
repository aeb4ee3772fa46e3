//! Tests of the OCPI module Tokens: which tokens networks are sent, when, and how often one is sent again.

use functions::job::Job as _;
use functions::networks::push_token::PushToken;
use kernel::{Id, Mode};
use serde_json::{Value, json};
use tests::platform::{Connected, codes, manage_ok, send};
use tests::samples::unused_uid;
use tests::{Crew, TestApp, TestResponse, path_of, with};

use super::authorize::authorize;

/// A card of the crew's driver and vehicle, with other members. Returns its path and its uid.
pub(super) async fn card(app: &TestApp, crew: &Crew, change: Value) -> (String, String) {
    let uid = unused_uid();
    let body = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
    let card = app.alice.post("/v1/charge_cards", with(body, change)).await;
    let path = format!("/v1/charge_cards/{}", card.expect(200).id());
    app.drain().await;
    (path, uid)
}

pub(super) async fn change(app: &TestApp, path: &str, body: Value) {
    app.alice.post_ok(path, body).await;
    app.drain().await;
}

fn uids(answer: &TestResponse) -> Vec<String> {
    let tokens = answer.body["data"].as_array().expect("tokens").iter();
    tokens
        .map(|token| token["uid"].as_str().expect("a uid").to_owned())
        .collect()
}

/// The RFID tokens with a uid that the platform received, in order: whether each is valid, and its whitelist.
fn sent(cpo: &Connected, uid: &str) -> Vec<(bool, String)> {
    let path = format!("/2.2.1/tokens/GB/FCS/{uid}?type=RFID");
    let received = cpo.received("PUT", &path).into_iter();
    let seen = received.map(|request| {
        let whitelist = request.body["whitelist"].as_str().expect("a whitelist");
        (request.body["valid"] == json!(true), whitelist.to_owned())
    });
    seen.collect()
}

#[tokio::test]
async fn tokens_are_listed_by_page_in_the_order_of_their_updates() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    // The driver has an app card.
    let page = cpo.send("GET", "/tokens", None).await;
    assert_eq!(page.body["data"][0]["type"], "APP_USER");
    let start = app.now();
    let mut cards = Vec::new();
    for _ in 0..5 {
        app.advance(60).await;
        cards.push(card(&app, &crew, json!({})).await);
    }
    let path = |rest: &str| format!("/tokens?date_from={start}{rest}");
    let page = cpo.send("GET", &path("&limit=2"), None).await;
    let all: Vec<String> = cards.iter().map(|(_, uid)| uid.clone()).collect();
    assert_eq!(
        (codes(&page), uids(&page)),
        ((200, 1000), all[..2].to_vec())
    );
    assert_eq!(
        (page.header("x-total-count"), page.header("x-limit")),
        ("5", "100")
    );
    let mut walked = uids(&page);
    let mut link = page.header("link").to_owned();
    while let Some(url) = ocpi::page::next_link(&link) {
        let page = send(&app, &cpo.token, "GET", url, None, &[]).await;
        walked.extend(uids(&page));
        link = page.header("link").to_owned();
    }
    assert_eq!(walked, all);
    // A changed card comes last.
    app.advance(60).await;
    change(&app, &cards[1].0, json!({"status": "lost"})).await;
    let page = cpo.send("GET", &path("&offset=3"), None).await;
    assert_eq!(uids(&page), [all[4].clone(), all[1].clone()]);
    assert_eq!(page.body["data"][1]["valid"], false);
    let none = cpo
        .send("GET", "/tokens?date_from=2097-01-01T00:00:00Z", None)
        .await;
    assert_eq!((uids(&none).len(), none.header("link")), (0, ""));
    for wrong in ["limit=0", "offset=-1", "date_from=soon"] {
        cpo.expect("GET", &format!("/tokens?{wrong}"), None, (200, 2001))
            .await;
    }
    app.drain().await;
}

#[tokio::test]
async fn a_token_of_a_lost_card_is_not_sent_as_valid() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    let (path, uid) = card(&app, &crew, json!({})).await;
    assert_eq!(sent(&cpo, &uid).len(), 1);
    // A message that waited until now.
    let push = || PushToken::new(Mode::Test, Id::from(cpo.network.as_str()), uid.clone());
    push().run(app.app()).await.expect("it is sent");
    assert_eq!(sent(&cpo, &uid).len(), 2);
    app.alice.post_ok(&path, json!({"status": "lost"})).await;
    push().run(app.app()).await.expect("it is sent later");
    assert_eq!(sent(&cpo, &uid).len(), 2);
    app.advance(60).await;
    let valid = sent(&cpo, &uid).into_iter().map(|(valid, _)| valid);
    let valid: Vec<bool> = valid.collect();
    assert!(valid[..2] == [true; 2] && valid[2..].iter().all(|valid| !valid));
    assert!(valid.len() > 2);
}

#[tokio::test]
async fn networks_receive_a_token_when_validity_or_whitelist_changes() {
    let (app, cpo) = Connected::start().await;
    let suspended = Connected::other(&app).await;
    manage_ok(
        &app,
        json!({"action": "suspend", "network": suspended.network}),
    )
    .await;
    let crew = app.crew(&app.alice).await;
    let (path, uid) = card(&app, &crew, json!({"visual_number": "FC-0001"})).await;
    let [first] = &cpo.received("PUT", &format!("/2.2.1/tokens/GB/FCS/{uid}"))[..] else {
        panic!("one token is sent");
    };
    let updated = first.body["last_updated"].as_str().expect("a time");
    let (contract, group) = (&first.body["contract_id"], &first.body["group_id"]);
    let want = json!({"country_code": "GB", "party_id": "FCS", "uid": uid, "type": "RFID", "contract_id": contract,
        "group_id": group, "visual_number": "FC-0001", "issuer": "Fleet Charging Service", "valid": true,
        "whitelist": "ALLOWED", "last_updated": updated});
    assert_eq!(first.body, want);
    let allowed = (true, "ALLOWED".to_owned());
    let refused = (false, "ALLOWED".to_owned());
    let mut expected = vec![allowed.clone()];
    let driver = format!("/v1/drivers/{}", crew.driver);
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    for (path, off) in [
        (&path, "blocked"),
        (&path, "lost"),
        (&driver, "suspended"),
        (&vehicle, "retired"),
        (&fleet, "archived"),
    ] {
        change(&app, path, json!({"status": off})).await;
        expected.push((false, sent(&cpo, &uid).pop().expect("a token").1));
        assert_eq!(sent(&cpo, &uid), expected, "{path} {off}");
        change(&app, path, json!({"status": "active"})).await;
        expected.push(allowed.clone());
        assert_eq!(sent(&cpo, &uid), expected, "{path} active");
    }
    for (status, token) in [("suspended", &refused), ("active", &allowed)] {
        let account = app.alice.account.clone().expect("an account");
        app.set_account_status(&account, status).await;
        app.drain().await;
        expected.push(token.clone());
        assert_eq!(sent(&cpo, &uid), expected, "{status}");
    }
    // A change that does not affect the token is not sent.
    change(&app, &path, json!({"metadata": {"a": "b"}})).await;
    change(&app, &driver, json!({"name": "Another"})).await;
    assert_eq!(sent(&cpo, &uid), expected);
    // A policy that depends on the place or the time makes networks request authorization.
    let rules = json!({"name": "P", "rules": {"denied_operators": ["Nobody"]}});
    let policy = app.alice.create("/v1/policies", rules).await;
    change(&app, &fleet, json!({"policy_ids": [policy]})).await;
    expected.push((true, "NEVER".to_owned()));
    assert_eq!(sent(&cpo, &uid), expected);
    change(&app, &path_of(&policy), json!({"status": "inactive"})).await;
    expected.push(allowed.clone());
    assert_eq!(sent(&cpo, &uid), expected);
    app.alice.delete_ok(&path).await;
    app.drain().await;
    expected.push(refused);
    assert_eq!(sent(&cpo, &uid), expected);
    // The same card can be assigned again.
    let body = json!({"uid": uid.to_lowercase(), "driver": crew.driver, "vehicle": crew.vehicle});
    app.alice.post_ok("/v1/charge_cards", body).await;
    app.drain().await;
    let lower = uid.to_lowercase();
    assert!(sent(&cpo, &lower).pop().expect("a token").0);
    let received = cpo.received("PUT", "/2.2.1/tokens");
    let all: Vec<String> = received
        .iter()
        .map(|request| request.body.to_string())
        .collect();
    let private = [
        "Ada",
        "fleet.example",
        "AB12",
        "acct_",
        "drv_",
        "veh_",
        "flt_",
    ];
    for private in private {
        assert!(all.iter().all(|text| !text.contains(private)), "{private}");
    }
    let none = suspended.received("PUT", "/2.2.1/tokens");
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_is_sent_the_token_again() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    cpo.script().fail = vec![503];
    let (_, uid) = card(&app, &crew, json!({})).await;
    app.advance(10).await;
    assert_eq!(sent(&cpo, &uid).len(), 2);
}

#[tokio::test]
async fn a_token_refused_during_a_renewal_is_sent_again() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    let renewal = cpo.renew_after("PUT", "/2.2.1/tokens");
    let ((_, uid), _) = tokio::join!(card(&app, &crew, json!({})), renewal);
    assert_eq!(sent(&cpo, &uid).len(), 2);
}

#[tokio::test]
async fn a_resumed_network_receives_the_tokens_it_has_missed() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    let (path, uid) = card(&app, &crew, json!({})).await;
    for action in ["suspend", "suspend"] {
        manage_ok(&app, json!({"action": action, "network": cpo.network})).await;
    }
    change(&app, &path, json!({"status": "lost"})).await;
    let (allowed, refused) = ((true, "ALLOWED".to_owned()), (false, "ALLOWED".to_owned()));
    assert_eq!(sent(&cpo, &uid), std::slice::from_ref(&allowed));
    manage_ok(&app, json!({"action": "resume", "network": cpo.network})).await;
    app.drain().await;
    assert_eq!(sent(&cpo, &uid), [allowed, refused]);
}

#[tokio::test]
async fn tokens_missed_by_an_unreachable_platform_are_sent_later() {
    let (app, cpo) = Connected::start().await;
    app.needs("a clock that can be moved");
    let crew = app.crew(&app.alice).await;
    let (path, uid) = card(&app, &crew, json!({})).await;
    cpo.script().fail = vec![503; 100];
    change(&app, &path, json!({"status": "lost"})).await;
    app.advance(60).await;
    manage_ok(&app, json!({"action": "pull", "network": cpo.network})).await;
    app.drain().await;
    let tries = sent(&cpo, &uid).len();
    cpo.script().fail.clear();
    app.advance(15 * 60 + 300).await;
    let all = sent(&cpo, &uid);
    // Its message is repeated, and the pull sends what was missed.
    assert_eq!(all.len(), tries + 2);
    assert!(!all[tries].0 && !all[tries + 1].0);
}

#[tokio::test]
async fn a_lost_card_reaches_a_network_that_refused_its_token() {
    let (app, cpo) = Connected::start().await;
    app.needs("a clock that can be moved");
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    for (http, code) in [
        (vec![401], None),
        (vec![404], None),
        (vec![503; 10], None),
        (vec![], Some(2001)),
    ] {
        let (path, uid) = card(&app, &crew, json!({})).await;
        {
            let mut script = cpo.script();
            (script.fail, script.refused_tokens) = (http.clone(), code);
        }
        change(&app, &path, json!({"status": "lost"})).await;
        app.advance(20 * 60).await;
        {
            let mut script = cpo.script();
            (script.fail, script.refused_tokens) = (Vec::new(), None);
        }
        let tries = sent(&cpo, &uid).len();
        app.advance(20 * 60).await;
        let mut all = sent(&cpo, &uid);
        // What was answered with success is not sent again.
        let expected = tries + usize::from(http.len() != 1);
        assert_eq!(all.len(), expected, "{http:?} {code:?}: {all:?}");
        assert!(!all.pop().expect("a token").0, "{http:?} {code:?}");
        assert!(tries > 2, "{http:?} {code:?}");
    }
}

#[tokio::test]
async fn a_time_to_wait_is_respected_before_a_token_is_repeated() {
    let (app, cpo) = Connected::start().await;
    app.needs("a clock that can be moved");
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    let (path, uid) = card(&app, &crew, json!({})).await;
    {
        let mut script = cpo.script();
        (script.fail, script.retry_after) = (vec![429], Some("600"));
    }
    change(&app, &path, json!({"status": "lost"})).await;
    app.advance(500).await;
    assert_eq!(sent(&cpo, &uid).len(), 2);
    app.advance(200).await;
    assert_eq!(sent(&cpo, &uid).len(), 3);
}

#[tokio::test]
async fn a_token_that_is_always_refused_is_rarely_repeated() {
    let (app, cpo) = Connected::start().await;
    app.needs("a clock that can be moved");
    let crew = app.crew(&app.alice).await;
    let (path, uid) = card(&app, &crew, json!({})).await;
    cpo.script().refused_tokens = Some(2001);
    change(&app, &path, json!({"status": "lost"})).await;
    app.advance(600).await;
    // The token is sent once more, because it may have been missed.
    for action in ["suspend", "resume"] {
        manage_ok(&app, json!({"action": action, "network": cpo.network})).await;
    }
    app.advance(86_400).await;
    let before = sent(&cpo, &uid).len();
    app.advance(86_400).await;
    let a_day = sent(&cpo, &uid).len() - before;
    assert!((5..=6).contains(&a_day), "{a_day}");
    // It is not forgotten during a suspension.
    manage_ok(&app, json!({"action": "suspend", "network": cpo.network})).await;
    app.advance(86_400).await;
    cpo.script().refused_tokens = None;
    manage_ok(&app, json!({"action": "resume", "network": cpo.network})).await;
    app.advance(86_400).await;
    assert_eq!(sent(&cpo, &uid).len(), before + a_day + 1);
}

#[tokio::test]
async fn a_network_sees_nothing_of_a_tenant_but_its_tokens() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    let secret = json!({"metadata": {"note": "secret"}});
    let (path, uid) = card(&app, &crew, secret).await;
    let page = cpo.send("GET", "/tokens", None).await.text;
    let answer = authorize(&cpo, &uid, None).await.to_string();
    let id = path.rsplit('/').next().expect("an id");
    for private in [id, "secret", "Ada", "acct_", "drv_", "veh_", "flt_", "ccd_"] {
        assert!(
            !page.contains(private) && !answer.contains(private),
            "{private}"
        );
    }
    app.drain().await;
}

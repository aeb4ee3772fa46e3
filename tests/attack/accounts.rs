//! Suspended and closed accounts, and the limits of objects and requests of an account together with the accounts below it.

use kernel::{Error, Id, Mode};
use serde_json::{Value, json};
use tests::recorder::Recorder;
use tests::samples::{lists, one_of_each, path_to};
use tests::{Client, TestApp, fleet};
use web::settings::Quotas;

fn account_of(client: &Client) -> Id {
    client.account.clone().expect("an account")
}

fn new_account() -> Value {
    json!({"name": "Child", "email": "ops@fleet.example", "type": "business"})
}

/// The contents of every list of a client, except uses of keys.
async fn everything(client: &Client) -> Vec<Vec<String>> {
    let mut shown = Vec::new();
    for route in lists() {
        shown.push(client.walk(&format!("{}?limit=100", route.path)).await);
    }
    shown
}

#[tokio::test]
async fn keys_of_a_suspended_account_and_its_descendants_only_read() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    let objects = one_of_each(&app, &app.alice).await;
    let live = app.other_account(Mode::Live).await;
    let before = everything(&app.alice).await;
    app.set_account_status(&account_of(&app.alice), "suspended")
        .await;
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let path = path_to(&route, &objects);
        for client in [&app.alice, &child, &grandchild] {
            let answer = client.send(route.method.as_str(), &path, None, &[]).await;
            if route.only_reads() {
                assert!(![401, 403].contains(&answer.status), "{}", answer.text);
            } else {
                let want = (403, "authentication_error", None, None);
                assert_eq!(answer.error(), want, "{}", route.name);
                let message = answer.body["message"].as_str().unwrap_or_default();
                assert!(message.contains("suspended"), "{message}");
            }
        }
    }
    assert_eq!(everything(&app.alice).await, before);
    // Accounts that are not below it are not affected, and afterwards everything is as before.
    live.post("/v1/fleets", fleet()).await.expect(200);
    app.set_account_status(&account_of(&app.alice), "active")
        .await;
    for client in [&app.alice, &child, &grandchild] {
        client.post_ok("/v1/fleets", fleet()).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn keys_of_a_closed_account_and_its_descendants_are_refused() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    app.set_account_status(&account_of(&child), "closed").await;
    for endpoint in functions::endpoints() {
        let path = endpoint.route.path.replace("{id}", "x");
        for client in [&child, &grandchild] {
            let method = endpoint.route.method.as_str();
            let answer = client.send(method, &path, None, &[]).await;
            assert_eq!(answer.error(), (401, "authentication_error", None, None));
        }
    }
    let id = account_of(&child).to_string();
    let shown = app.alice.get(&format!("/v1/accounts/{id}")).await;
    assert_eq!(shown.expect(200).body["status"], "closed");
    // The parent cannot act in it any more.
    let acting = [("service-account", id.as_str())];
    let refused = app.alice.send("GET", "/v1/fleets", None, &acting).await;
    assert_eq!(refused.error().2, Some("account_not_found"));
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.set_account_status(&account_of(&child), "active").await;
    grandchild.get_ok("/v1/fleets").await;
    app.drain().await;
}

#[tokio::test]
async fn a_parent_only_reads_in_a_child_that_is_suspended() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let id = account_of(&child).to_string();
    let acting = [("service-account", id.as_str())];
    app.set_account_status(&account_of(&child), "suspended")
        .await;
    let body = Some(fleet().to_string());
    let refused = app.alice.send("POST", "/v1/fleets", body, &acting).await;
    assert_eq!(refused.error(), (403, "authentication_error", None, None));
    let listed = app.alice.send("GET", "/v1/fleets", None, &acting).await;
    assert!(listed.expect(200).ids().is_empty());
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
}

#[tokio::test]
async fn a_wallet_that_cannot_be_used_is_not_topped_up() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let card = json!({"type": "card", "token": "tok_success"});
    let card = app.alice.create("/v1/payment_methods", card).await;
    let path = format!("/v1/accounts/{}/top_up", account_of(&child));
    let body = json!({"amount": 700, "payment_method": card});
    for (status, refused) in [("closed", 404), ("suspended", 403)] {
        app.set_account_status(&account_of(&child), status).await;
        app.alice.post(&path, body.clone()).await.expect(refused);
    }
    assert!(app.alice.get("/v1/transactions").await.ids().is_empty());
    app.set_account_status(&account_of(&child), "active").await;
    let topped = app.alice.post_ok(&path, body).await;
    assert_eq!(topped["wallet_balance"], 700);
    app.drain().await;
}

#[tokio::test]
async fn another_instance_learns_of_a_status_within_a_minute() {
    let app = TestApp::start().await;
    let child = app.child_of(&app.alice).await;
    let url = app.another_instance().await;
    let elsewhere = Client::new(&url, child.key.as_deref());
    elsewhere.get_ok("/v1/fleets").await;
    app.set_account_status(&account_of(&app.alice), "closed")
        .await;
    // It takes effect at once on the instance that set it, and on the other instance when the cached status is a minute old.
    child.get("/v1/fleets").await.expect(401);
    app.advance(60).await;
    elsewhere.get("/v1/fleets").await.expect(401);
    app.set_account_status(&account_of(&app.alice), "suspended")
        .await;
    app.advance(60).await;
    elsewhere.get_ok("/v1/fleets").await;
    elsewhere.post("/v1/fleets", fleet()).await.expect(403);
}

#[tokio::test]
async fn a_key_made_while_its_account_is_closed_is_refused_too() {
    use functions::accounts::bootstrap;
    let app = TestApp::start().await;
    app.set_account_status(&account_of(&app.alice), "closed")
        .await;
    let invocation = json!({"account": app.alice.account, "mode": "live"});
    let invocation = serde_json::from_value(invocation).expect("an invocation");
    let response = bootstrap::handle(app.app(), invocation)
        .await
        .expect("a key");
    let secret = response.api_key.secret.expect("a secret");
    let live = app.with_key(secret, account_of(&app.alice));
    live.get("/v1/fleets").await.expect(401);
}

#[tokio::test]
async fn work_under_way_goes_on_in_a_suspended_account() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let station = app.station(json!({})).await;
    let body = tests::with(app.session(&crew, &station), json!({"session_limit": 1000}));
    let session = app.alice.post("/v1/charging_sessions", body).await.id();
    let reservation = app.reservation(&crew, 180);
    let reservation = app.alice.post("/v1/reservations", reservation).await.id();
    app.set_account_status(&account_of(&app.alice), "suspended")
        .await;
    app.advance(3 * 3600).await;
    let status = async |path: String| app.alice.get_ok(&path).await["status"].clone();
    assert_eq!(
        status(format!("/v1/charging_sessions/{session}")).await,
        "completed"
    );
    assert_eq!(
        status(format!("/v1/reservations/{reservation}")).await,
        "confirmed"
    );
}

#[tokio::test]
async fn the_status_of_an_account_that_does_not_exist_cannot_be_set() {
    let app = TestApp::start().await;
    let unknown = Id::new(kernel::Kind::Account, app.now());
    let invocation = json!({"account": unknown, "status": "closed"});
    let invocation = serde_json::from_value(invocation).expect("an invocation");
    let set = functions::accounts::set_status::handle(app.app(), invocation);
    let refused: Error = set.await.expect_err("no such account");
    assert!(refused.is(kernel::Code::AccountNotFound));
    app.alice.get_ok("/v1/fleets").await;
}

#[tokio::test]
async fn authentication_reads_once_a_minute_plus_once_per_ancestor() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    let child = app.child_of(&app.alice).await;
    let estimation = Id::new(kernel::Kind::Estimation, app.now());
    let path = format!("/v1/estimations/{estimation}");
    // Records the first use of the key.
    child.get(&path).await.expect(404);
    app.advance(60).await;
    for (client, above) in [(&child, 1), (&app.alice, 0)] {
        let instance = Client::new(&app.another_instance().await, client.key.as_deref());
        for reads in [1 + above, 0, 0] {
            recorder.take();
            instance.get(&path).await.expect(404);
            let calls = recorder.take();
            let read = calls.iter().filter(|call| call.is_read()).count();
            assert_eq!(read, reads + 1, "with the object itself");
        }
    }
}

#[tokio::test]
async fn an_account_has_no_more_accounts_below_it_than_it_may_have() {
    let app = TestApp::start_with(|options| {
        options.quotas = Quotas {
            children: 3,
            ..Quotas::default()
        };
    })
    .await;
    let child = app.child_of(&app.alice).await;
    app.child_of(&app.alice).await;
    let grandchild = app.child_of(&child).await;
    for client in [&app.alice, &child, &grandchild] {
        let before = client.walk("/v1/accounts").await;
        let refused = client.post("/v1/accounts", new_account()).await;
        assert_eq!(refused.error().0, 409, "{}", refused.text);
        let message = refused.body["message"].as_str().unwrap_or_default();
        assert!(message.contains("3 accounts below it"), "{message}");
        assert_eq!(client.walk("/v1/accounts").await, before);
    }
    // Another account has its own quota.
    let bob = app.other_account(Mode::Test).await;
    bob.post_ok("/v1/accounts", new_account()).await;
}

#[tokio::test]
async fn accounts_nest_at_most_five_deep() {
    let app = TestApp::start().await;
    let mut lowest = app.alice.clone();
    for _ in 1..models::account::MAX_DEPTH {
        lowest = app.child_of(&lowest).await;
    }
    let refused = lowest.post("/v1/accounts", new_account()).await;
    refused.expect_error(409, None, None);
    assert!(lowest.walk("/v1/accounts").await.is_empty());
    lowest.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
}

#[tokio::test]
async fn webhook_endpoints_of_descendants_count_towards_the_quota() {
    let app = TestApp::start_with(|options| {
        options.quotas = Quotas {
            endpoints: 3,
            ..Quotas::default()
        };
    })
    .await;
    let child = app.child_of(&app.alice).await;
    let other = app.child_of(&app.alice).await;
    let path = "/v1/webhook_endpoints";
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    app.alice.post_ok(path, hook.clone()).await;
    let id = child.post(path, hook.clone()).await.id();
    child.post_ok(path, hook.clone()).await;
    for client in [&app.alice, &child, &other] {
        let before = client.walk(path).await;
        let refused = client.post(path, hook.clone()).await;
        refused.expect_error(409, None, None);
        assert_eq!(client.walk(path).await, before);
    }
    child.delete_ok(&format!("{path}/{id}")).await;
    other.post_ok(path, hook.clone()).await;
    app.alice.post(path, hook).await.expect(409);
}

#[tokio::test]
async fn an_account_and_the_accounts_below_it_share_one_rate() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    // Set by an operator, so that they are as recent as possible; the children's requests come first.
    let bob = app.other_account(Mode::Test).await;
    let child = {
        let id = bob.post("/v1/accounts", new_account()).await.id();
        app.advance(3).await;
        id
    };
    let acting = [("service-account", child.as_str())];
    let started = app.now();
    let mut admitted = 0;
    for n in 0..12 {
        let headers = if n % 2 == 0 { &acting[..] } else { &[] };
        let answer = bob.send("GET", "/v1/fleets", None, headers).await;
        admitted += usize::from(answer.status == 200);
        assert!([200, 429].contains(&answer.status), "{}", answer.text);
    }
    let seconds = usize::try_from(app.now().since(started).as_secs()).expect("a while");
    // A bucket holds two requests and gets one more each second.
    assert!(
        (2..=3 + seconds).contains(&admitted),
        "{admitted} in {seconds} s"
    );
    app.alice.get_ok("/v1/fleets").await;
}

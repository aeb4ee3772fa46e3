//! `/v1/payment_methods`.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{TestApp, assert_has, driver, fleet, id_of, path_of, with};

fn card() -> Value {
    json!({"type": "card", "token": "tok_success"})
}

fn invalid(param: &str) -> (u16, &str, Option<&str>, Option<&str>) {
    (
        400,
        "invalid_request_error",
        Some("payment_method_invalid_input"),
        Some(param),
    )
}

#[tokio::test]
async fn a_new_payment_method_has_every_field_and_never_its_token() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        card(),
        json!({"driver": crew.driver, "metadata": {"k": "v"}}),
    );
    let method = app.alice.post_ok("/v1/payment_methods", body).await;
    let now = &method["created"];
    let fingerprint = method["card"]["fingerprint"].as_str().expect("one");
    let want = json!({"id": id_of(&method), "object": "payment_method", "created": now, "updated": now,
        "card": {"brand": "visa", "exp_month": 12, "exp_year": 2040, "fingerprint": fingerprint, "last4": "4242"},
        "driver": crew.driver, "fleet": null, "metadata": {"k": "v"}, "type": "card"});
    assert_eq!(method, want);
    let path = format!("/v1/payment_methods/{}", id_of(&method));
    let shown = app.alice.get(&path).await;
    assert_eq!(shown.body, want);
    assert!(!shown.text.contains("tok_"));
    let other = app.alice.post("/v1/payment_methods", card()).await;
    assert_eq!(other.body["card"]["fingerprint"], fingerprint);
    let wallet = json!({"type": "wallet", "fleet": crew.fleet});
    let method = app.alice.post("/v1/payment_methods", wallet).await;
    let fleet = json!(crew.fleet);
    assert_has!(method.body, {"card": null, "fleet": fleet});
    let bank = json!({"type": "bank_account", "token": "tok_success"});
    let method = app.alice.post_ok("/v1/payment_methods", bank).await;
    assert_eq!(method["card"], Value::Null);
    app.drain().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let app = TestApp::start().await;
    for (body, param) in [
        (json!({}), "type"),
        (json!({"type": "cash"}), "type"),
        (json!({"type": "card"}), "token"),
        (json!({"type": "card", "token": 4242}), "token"),
        (json!({"type": "card", "token": "tok_1234abcd"}), "token"),
        (
            json!({"type": "card", "token": "4242 4242 4242 4242"}),
            "token",
        ),
        (json!({"type": "bank_account"}), "token"),
        (json!({"type": "wallet", "token": "tok_success"}), "token"),
        (with(card(), json!({"metadata": {"k": 1}})), "metadata.k"),
    ] {
        let answer = app.alice.post("/v1/payment_methods", body.clone()).await;
        assert_eq!(answer.error(), invalid(param), "{body}");
        assert!(!answer.text.contains("4242 4242"));
    }
    let unknown = with(card(), json!({"number": "1"}));
    let answer = app.alice.post("/v1/payment_methods", unknown).await;
    answer.expect_error(400, None, "number");
    assert!(app.alice.get("/v1/payment_methods").await.ids().is_empty());
}

#[tokio::test]
async fn a_payment_method_has_one_owner_that_exists() {
    let (app, crew) = TestApp::with_crew().await;
    let post = async |owner: Value| {
        app.alice
            .post("/v1/payment_methods", with(card(), owner))
            .await
    };
    let both = post(json!({"driver": crew.driver, "fleet": crew.fleet})).await;
    let scope = |param| {
        (
            400,
            "invalid_request_error",
            Some("payment_method_scope_invalid"),
            Some(param),
        )
    };
    assert_eq!(both.error(), scope("fleet"));
    for (owner, param) in [
        (json!({"driver": "drv_1"}), "driver"),
        (json!({"driver": crew.fleet}), "driver"),
        (json!({"fleet": format!("flt_{:032x}", 1)}), "fleet"),
    ] {
        let answer = post(owner).await;
        answer.expect_error(404, "payment_method_owner_not_found", param);
    }
    app.drain().await;
}

#[tokio::test]
async fn the_list_is_filtered_by_owner() {
    let (app, crew) = TestApp::with_crew().await;
    let make = async |owner: Value| {
        app.alice
            .create("/v1/payment_methods", with(card(), owner))
            .await
    };
    let of_driver = make(json!({"driver": crew.driver})).await;
    let of_fleet = make(json!({"fleet": crew.fleet})).await;
    let of_account = make(json!({})).await;
    let list = async |query: String| app.alice.get(&format!("/v1/payment_methods{query}")).await;
    assert_eq!(
        list(String::new()).await.ids(),
        [of_account, of_fleet.clone(), of_driver.clone()]
    );
    assert_eq!(
        list(format!("?driver={}", crew.driver)).await.ids(),
        [of_driver]
    );
    assert_eq!(
        list(format!("?fleet={}", crew.fleet)).await.ids(),
        [of_fleet]
    );
    for (query, param) in [("?driver=drv_1", "driver"), ("?fleet=flt_1", "fleet")] {
        let answer = list(query.into()).await;
        answer.expect_error(404, "payment_method_scope_not_found", param);
    }
    let both = list(format!("?driver={}&fleet={}", crew.driver, crew.fleet)).await;
    assert_eq!(both.error().2, Some("payment_method_scope_invalid"));
    app.drain().await;
}

#[tokio::test]
async fn an_update_changes_metadata_alone() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/payment_methods", card()).await;
    let path = format!("/v1/payment_methods/{id}");
    let changed = app
        .alice
        .post_ok(&path, json!({"metadata": {"a": "b"}}))
        .await;
    assert_eq!(changed["metadata"], json!({"a": "b"}));
    for change in [json!({"token": "tok_declined"}), json!({"driver": "drv_1"})] {
        assert_eq!(app.alice.post(&path, change).await.status, 400);
    }
    let gone = app.alice.delete_ok(&path).await;
    assert_eq!(
        gone,
        json!({"id": id, "object": "payment_method", "deleted": true})
    );
    assert_eq!(
        app.alice.get(&path).await.error().2,
        Some("payment_method_not_found")
    );
}

#[tokio::test]
async fn live_mode_accepts_only_tokens_of_a_payment_provider() {
    let app = TestApp::start().await;
    let live = app.other_account(Mode::Live).await;
    let post = async |token: &str| {
        let body = json!({"type": "card", "token": token});
        live.post("/v1/payment_methods", body).await
    };
    for token in ["tok_success", "4242424242424242", "visa"] {
        assert_eq!(post(token).await.error(), invalid("token"), "{token}");
    }
    let refused = post("pm_1MqLiJLkdIwHu7ix").await;
    assert_eq!(refused.error(), (503, "api_error", None, None));
    assert!(
        refused.text.contains("No payment provider"),
        "{}",
        refused.text
    );
    let wallet = json!({"type": "wallet"});
    live.post_ok("/v1/payment_methods", wallet).await;
}

#[tokio::test]
async fn a_payment_method_is_named_only_where_its_owner_pays() {
    let (app, crew) = TestApp::with_crew().await;
    let stranger = app.alice.create("/v1/drivers", driver()).await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
    let make = async |owner: Value| {
        app.alice
            .create("/v1/payment_methods", with(card(), owner))
            .await
    };
    let hers = make(json!({"driver": crew.driver})).await;
    let theirs = make(json!({"driver": stranger})).await;
    let fleets = make(json!({"fleet": crew.fleet})).await;
    let others = make(json!({"fleet": other})).await;
    let accounts = make(json!({})).await;
    let account = app.alice.account.clone().expect("an account");
    let in_preferences = |id: &str| json!({"preferences": {"default_payment_method": id}});
    let param = "preferences.default_payment_method";
    for (path, allowed, refused) in [
        (
            format!("/v1/drivers/{}", crew.driver),
            vec![&hers, &accounts],
            vec![&theirs, &fleets],
        ),
        (
            format!("/v1/fleets/{}", crew.fleet),
            vec![&fleets, &accounts],
            vec![&hers, &others],
        ),
        (
            format!("/v1/accounts/{account}"),
            vec![&accounts],
            vec![&hers, &fleets],
        ),
    ] {
        for id in allowed {
            app.alice.post_ok(&path, in_preferences(id)).await;
        }
        for id in refused {
            let answer = app.alice.post(&path, in_preferences(id)).await;
            answer.expect_error(400, "payment_method_scope_invalid", param);
        }
        let unknown = app.alice.post(&path, in_preferences("pm_1")).await;
        unknown.expect_error(404, "payment_method_not_found", param);
    }
    let reserve = async |id: &str| {
        let body = with(app.reservation(&crew, 120), json!({"payment_method": id}));
        app.alice.post("/v1/reservations", body).await
    };
    for id in [&hers, &fleets, &accounts] {
        reserve(id).await.expect(200);
    }
    for id in [&theirs, &others] {
        reserve(id)
            .await
            .expect_error(400, "payment_method_scope_invalid", "payment_method");
    }
    app.drain().await;
}

#[tokio::test]
async fn removing_a_default_needs_the_scope_of_naming_one() {
    let (app, crew) = TestApp::with_crew().await;
    let method = app.alice.create("/v1/payment_methods", card()).await;
    let default = |id: Value| json!({"preferences": {"default_payment_method": id}});
    for (kind, id) in [("drivers", &crew.driver), ("fleets", &crew.fleet)] {
        let (path, scope) = (format!("/v1/{kind}/{id}"), format!("{kind}:write"));
        let client = app.restricted(&app.alice, &[&scope]).await;
        client.post_ok(&path, default(Value::Null)).await;
        app.alice.post_ok(&path, default(json!(method))).await;
        let refused = client.post(&path, default(Value::Null)).await;
        let param = "preferences.default_payment_method";
        let want = (403, "authentication_error", None, Some(param));
        assert_eq!(refused.error(), want);
        client.post_ok(&path, json!({"name": "Another"})).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn each_mode_of_an_account_has_its_own_default() {
    let (app, crew) = TestApp::with_crew().await;
    app.needs("the functions of the service");
    let account = app.alice.account.clone().expect("an account");
    let bootstrap = json!({"account": account, "mode": "live"});
    let bootstrap = serde_json::from_value(bootstrap).expect("an invocation");
    let created = functions::accounts::bootstrap::handle(app.app(), bootstrap).await;
    let secret = created.expect("a key").api_key.secret.expect("a secret");
    let live = app.with_key(secret, account.clone());
    let path = path_of(account.as_str());
    let wallet = json!({"type": "wallet"});
    let wallet = live.create("/v1/payment_methods", wallet).await;
    let method = app.alice.create("/v1/payment_methods", card()).await;
    for (client, own) in [(&live, &wallet), (&app.alice, &method)] {
        let default = json!({"preferences": {"default_payment_method": own}});
        client.post_ok(&path, default).await;
    }
    for (client, own) in [(&live, &wallet), (&app.alice, &method)] {
        let shown = client.get_ok(&path).await;
        assert_eq!(shown["preferences"]["default_payment_method"], json!(own));
        let refused = client.delete(&format!("/v1/payment_methods/{own}")).await;
        refused.expect_error(409, None, "payment_method");
    }
    let station = app.station(json!({})).await;
    let session = app.session(&crew, &station);
    let session = app.alice.post_ok("/v1/charging_sessions", session).await;
    assert_eq!(session["payment_method"], json!(method));
    app.drain().await;
}

#[tokio::test]
async fn a_default_or_reservation_payment_method_cannot_be_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let account = app.alice.account.clone().expect("an account");
    let id = app.alice.create("/v1/payment_methods", card()).await;
    let path = format!("/v1/payment_methods/{id}");
    let default = |id: Value| json!({"preferences": {"default_payment_method": id}});
    for owner in [
        format!("/v1/drivers/{}", crew.driver),
        format!("/v1/fleets/{}", crew.fleet),
        format!("/v1/accounts/{account}"),
    ] {
        let set = async |id: Value| app.alice.post(&owner, default(id)).await.expect(200);
        set(json!(id)).await;
        let refused = app.alice.delete(&path).await;
        refused.expect_error(409, None, "payment_method");
        set(Value::Null).await;
    }
    let body = with(app.reservation(&crew, 120), json!({"payment_method": id}));
    let reservation = app.alice.create("/v1/reservations", body).await;
    let refused = app.alice.delete(&path).await;
    refused.expect_error(409, None, "payment_method");
    app.alice
        .post_ok(&format!("/v1/reservations/{reservation}/cancel"), json!({}))
        .await;
    app.alice.delete_ok(&path).await;
    app.drain().await;
}

#[tokio::test]
async fn a_payment_method_stays_while_a_session_pays_with_it() {
    let app = TestApp::with_clock().await;
    let crew = app.crew(&app.alice).await;
    let station = app.station(json!({})).await;
    let id = app.alice.create("/v1/payment_methods", card()).await;
    let path = format!("/v1/payment_methods/{id}");
    let paid = json!({"payment_method": id});
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 5000}});
    let body = with(with(app.reservation(&crew, 60), paid.clone()), area);
    app.alice.post_ok("/v1/reservations", body).await;
    app.advance(60 * 60).await;
    // The first session fulfils the reservation; the reservation's entry stands for both.
    for has_reservation in [true, false] {
        let body = with(app.session(&crew, &station), paid.clone());
        let session = app.alice.post("/v1/charging_sessions", body).await;
        assert_eq!(session.body["reservation"].is_string(), has_reservation);
        let refused = app.alice.delete(&path).await;
        refused.expect_error(409, None, "payment_method");
        let stop = format!("/v1/charging_sessions/{}/stop", session.id());
        app.advance(60).await;
        app.alice.post_ok(&stop, json!({})).await;
        app.drain().await;
    }
    app.alice.delete_ok(&path).await;
    app.drain().await;
}

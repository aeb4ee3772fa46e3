//! `POST …/top_up` of accounts, drivers and fleets, and other transfers of money between wallets.

use std::sync::Arc;

use functions::payments::{self, Bill};
use kernel::{Currency, Error, Id, Mode, Money, Origin, Tenant};
use models::PaymentMethod;
use models::transaction::PaymentOutcome;
use serde_json::{Value, json};

use table::wallets::Wallet;
use tests::ledger::Ledger;
use tests::{Client, TestApp, TestResponse, assert_has, id_of, path_of, with};

use crate::transactions::charged;

async fn card(client: &Client, token: &str, owner: Value) -> String {
    let body = with(json!({"type": "card", "token": token}), owner);
    client.create("/v1/payment_methods", body).await
}

fn top_up(method: &str, amount: i64) -> Value {
    json!({"amount": amount, "payment_method": method})
}

#[tokio::test]
async fn a_top_up_charges_the_method_and_adds_to_the_wallet() {
    let (app, crew) = TestApp::with_crew().await;
    let account = app.alice.account.clone().expect("an account").to_string();
    for (owner, transaction) in [
        (
            format!("/v1/drivers/{}", crew.driver),
            json!({"driver": crew.driver, "fleet": null}),
        ),
        (
            format!("/v1/fleets/{}", crew.fleet),
            json!({"driver": null, "fleet": crew.fleet}),
        ),
        (
            format!("/v1/accounts/{account}"),
            json!({"driver": null, "fleet": null}),
        ),
    ] {
        let method = card(&app.alice, "tok_success", json!({})).await;
        let path = format!("{owner}/top_up");
        app.alice.post_ok(&path, top_up(&method, 5000)).await;
        let topped = app.alice.post_ok(&path, top_up(&method, 1)).await;
        assert_eq!(topped["wallet_balance"], 5001, "{owner}");
        assert_eq!(app.alice.get_ok(&owner).await, topped);
        let latest = app.alice.get_ok("/v1/transactions?limit=2").await;
        let first = &latest["data"][1];
        // Lists are narrowed by the times in ids.
        let id = Id::from(first["id"].as_str().expect("an id"));
        let created = id.time(kernel::Kind::Transaction).expect("a time");
        assert_eq!(first["created"], created.to_string());
        let want = with(
            json!({"id": first["id"], "object": "transaction", "amount": 5000, "amount_refunded": 0, "charge": null, "destination": null,
            "failed_reason": null, "invoice": null, "reason": null, "reservation": null, "charging_session": null, "credit_note": null,
                "created": first["created"], "currency": "usd", "description": "Wallet top-up", "payment_method": method,
                "status": "succeeded", "type": "charge", "vehicle": null}),
            transaction,
        );
        assert_eq!(first, &want);
    }
    assert_eq!(app.alice.walk("/v1/transactions").await.len(), 6);
    app.drain().await;
}

#[tokio::test]
async fn a_declined_top_up_fails_and_does_not_change_the_balance() {
    let (app, crew) = TestApp::with_crew().await;
    let owner = format!("/v1/drivers/{}", crew.driver);
    let path = format!("{owner}/top_up");
    for (n, (token, code)) in [
        ("tok_declined", "card_declined"),
        ("tok_insufficient_funds", "insufficient_funds"),
        ("tok_expired", "expired_card"),
    ]
    .into_iter()
    .enumerate()
    {
        let method = card(&app.alice, token, json!({"driver": crew.driver})).await;
        let key = format!("top-up {n}");
        let send = async || {
            let body = top_up(&method, 700).to_string();
            app.alice
                .send("POST", &path, Some(body), &[("idempotency-key", &key)])
                .await
        };
        let refused = send().await;
        refused.expect_error(402, "payment_authorization_failed", "payment_method");
        assert_eq!(refused.body["decline_code"], code);
        assert_eq!(refused.header("idempotent-replayed"), "");
        let again = send().await;
        assert_eq!(
            (again.body, again.headers["idempotent-replayed"].as_bytes()),
            (refused.body, b"true".as_slice())
        );
        let failed = app.alice.get_ok("/v1/transactions?status=failed").await;
        let failed = failed["data"].as_array().expect("a list");
        assert_eq!(failed.len(), n + 1);
        assert_has!(failed[0], {"payment_method": method, "amount": 700, "failed_reason": code});
    }
    assert_eq!(app.alice.get_ok(&owner).await["wallet_balance"], 0);
    app.drain().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_top_up_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
    let good = card(&app.alice, "tok_success", json!({})).await;
    let theirs = card(&app.alice, "tok_success", json!({"driver": stranger})).await;
    let wallet = json!({"type": "wallet"});
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    let path = format!("/v1/drivers/{}/top_up", crew.driver);
    for (body, want) in [
        (json!({"payment_method": good}), (400, None, "amount")),
        (top_up(&good, 0), (400, None, "amount")),
        (top_up(&good, -5), (400, None, "amount")),
        (top_up(&good, 100_000_000), (400, None, "amount")),
        (
            json!({"amount": 1.5, "payment_method": good}),
            (400, None, "amount"),
        ),
        (json!({"amount": 1}), (400, None, "payment_method")),
        (
            top_up("pm_1", 1),
            (404, Some("payment_method_not_found"), "payment_method"),
        ),
        (
            top_up(&theirs, 1),
            (400, Some("payment_method_scope_invalid"), "payment_method"),
        ),
        (
            top_up(&wallet, 1),
            (400, Some("payment_method_scope_invalid"), "payment_method"),
        ),
    ] {
        let answer = app.alice.post(&path, body).await;
        let (status, code, param) = want;
        answer.expect_error(status, code, param);
    }
    let nobody = app
        .alice
        .post("/v1/drivers/drv_1/top_up", top_up(&good, 1))
        .await;
    assert_eq!(nobody.error().2, Some("driver_not_found"));
    assert!(app.alice.get("/v1/transactions").await.ids().is_empty());
    app.drain().await;
}

#[tokio::test]
async fn a_wallet_with_money_keeps_its_currency() {
    let (app, crew) = TestApp::with_crew().await;
    let account = app.alice.account.clone().expect("an account").to_string();
    let method = card(&app.alice, "tok_success", json!({})).await;
    for (owner, change, param) in [
        (
            format!("/v1/drivers/{}", crew.driver),
            json!({"preferences": {"currency": "jpy"}}),
            "preferences.currency",
        ),
        (
            format!("/v1/fleets/{}", crew.fleet),
            json!({"preferences": {"default_currency": "jpy"}}),
            "preferences.default_currency",
        ),
        (
            format!("/v1/accounts/{account}"),
            json!({"default_currency": "jpy"}),
            "default_currency",
        ),
    ] {
        let path = format!("{owner}/top_up");
        app.alice.post_ok(&path, top_up(&method, 5)).await;
        let refused = app.alice.post(&owner, change).await;
        refused.expect_error(409, None, param);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_top_up_is_an_amount_that_can_be_charged_exactly() {
    let app = TestApp::start().await;
    let method = card(&app.alice, "tok_success", json!({})).await;
    for (currency, bad, good) in [("kwd", 5125, 5120), ("mga", 5050, 5100)] {
        let preferences = json!({"preferences": {"default_currency": currency}});
        let body = with(tests::fleet(), preferences);
        let fleet = path_of(&app.alice.create("/v1/fleets", body).await);
        let path = format!("{fleet}/top_up");
        let refused = app.alice.post(&path, top_up(&method, bad)).await;
        refused.expect_error(400, None, "amount");
        let topped = app.alice.post_ok(&path, top_up(&method, good)).await;
        assert_eq!(topped["wallet_balance"], good);
    }
    let transactions = app.alice.get("/v1/transactions").await.ids();
    assert_eq!(transactions.len(), 2, "nothing was charged");
    app.drain().await;
}

#[tokio::test]
async fn whoever_has_money_is_not_removed() {
    let app = TestApp::start().await;
    let driver = app.alice.create("/v1/drivers", tests::driver()).await;
    let fleet = app.alice.create("/v1/fleets", tests::fleet()).await;
    let method = card(&app.alice, "tok_success", json!({})).await;
    for (owner, param) in [
        (format!("/v1/drivers/{driver}"), "driver"),
        (format!("/v1/fleets/{fleet}"), "fleet"),
    ] {
        let path = format!("{owner}/top_up");
        app.alice.post_ok(&path, top_up(&method, 5)).await;
        let refused = app.alice.delete(&owner).await;
        refused.expect_error(409, None, param);
    }
    app.drain().await;
}

#[tokio::test]
async fn the_play_money_of_test_mode_is_none_in_live_mode() {
    let app = TestApp::start().await;
    let account = app.alice.account.clone().expect("an account");
    let path = format!("/v1/accounts/{account}");
    let method = card(&app.alice, "tok_success", json!({})).await;
    let topped = app
        .alice
        .post_ok(&format!("{path}/top_up"), top_up(&method, 900))
        .await;
    assert_eq!(topped["wallet_balance"], 900);
    let store = &app.app().store;
    let tenant = |mode| Tenant::new(account.clone(), mode);
    let wallet = Wallet::Account(&account);
    for (mode, want) in [(Mode::Test, 900), (Mode::Live, 0)] {
        let funds = store.funds(&tenant(mode), wallet).await.expect("funds");
        assert_eq!(funds.expect("a wallet").amount, want);
    }
    app.drain().await;
}

fn money(amount: i64, code: &str) -> Money {
    Money::new(amount, Currency::from_code(code).expect("a currency"))
}

#[tokio::test]
async fn a_wallet_never_goes_below_zero_and_keeps_to_its_currency() {
    let (app, crew) = TestApp::with_crew().await;
    let account = app.alice.account.clone().expect("an account");
    let method = card(&app.alice, "tok_success", json!({})).await;
    let (driver, fleet) = (
        Id::from(crew.driver.as_str()),
        Id::from(crew.fleet.as_str()),
    );
    let store = &app.app().store;
    let tenant = Tenant::new(account.clone(), Mode::Test);
    let origin = Origin::background(tenant.clone(), app.now());
    for (path, wallet) in [
        (format!("/v1/drivers/{driver}"), Wallet::Driver(&driver)),
        (format!("/v1/fleets/{fleet}"), Wallet::Fleet(&fleet)),
        (format!("/v1/accounts/{account}"), Wallet::Account(&account)),
    ] {
        app.alice
            .post_ok(&format!("{path}/top_up"), top_up(&method, 100))
            .await;
        let take = async |funds| {
            let mut tx = store.begin(&origin);
            let refusal = Error::conflict("not enough", None);
            tx.debit(wallet, funds, refusal);
            tx.commit_without_response().await.is_ok()
        };
        assert!(take(money(60, "usd")).await);
        assert!(!take(money(41, "usd")).await);
        assert!(!take(money(40, "eur")).await);
        assert!(take(money(40, "usd")).await);
        let mut tx = store.begin(&origin);
        tx.credit(wallet, money(7, "usd"), Error::Contended);
        tx.commit_without_response()
            .await
            .expect("the money arrives");
        assert_eq!(app.alice.get_ok(&path).await["wallet_balance"], 7);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_wallet_is_debited_only_if_the_unit_of_work_commits() {
    let (app, crew) = TestApp::with_crew().await;
    let (path, owner) = (
        format!("/v1/fleets/{}", crew.fleet),
        json!({"fleet": crew.fleet}),
    );
    let good = card(&app.alice, "tok_success", owner.clone()).await;
    let bad = card(&app.alice, "tok_declined", owner.clone()).await;
    let wallet = with(json!({"type": "wallet"}), owner);
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    app.alice
        .post_ok(&format!("{path}/top_up"), top_up(&good, 100))
        .await;
    let tenant = app.alice.tenant();
    let (origin, store) = (
        Origin::background(tenant.clone(), app.now()),
        &app.app().store,
    );
    let take = async |method: &str, amount: i64, code: &str, commit: bool| {
        let id = Id::from(method);
        let method = store.load::<PaymentMethod>(&tenant, &id).await;
        let bill = Bill {
            key: format!("test {amount}"),
            amount: money(amount, code),
            description: "Test".into(),
            due_since: app.now(),
        };
        let mut tx = store.begin(&origin);
        let method = method.expect("a method");
        let taken = payments::take(app.app(), &mut tx, &method, &bill).await;
        if commit {
            let done = tx.commit_without_response().await;
            done.expect("the money moves");
        }
        match taken.expect("an outcome").outcome {
            PaymentOutcome::Succeeded => String::new(),
            PaymentOutcome::Declined(code) => code,
        }
    };
    let balance = async || app.alice.get_ok(&path).await["wallet_balance"].clone();
    assert_eq!(take(&good, 5, "usd", true).await, "");
    assert_eq!(take(&bad, 5, "usd", true).await, "card_declined");
    assert_eq!(take(&bad, 0, "usd", true).await, "");
    assert_eq!(take(&wallet, 101, "usd", true).await, "insufficient_funds");
    assert_eq!(
        take(&wallet, 1, "eur", true).await,
        "currency_not_supported"
    );
    assert_eq!(take(&wallet, 70, "usd", false).await, "");
    assert_eq!(balance().await, 100);
    assert_eq!(take(&wallet, 70, "usd", true).await, "");
    assert_eq!(balance().await, 30);
    assert_eq!(take(&wallet, 70, "usd", true).await, "insufficient_funds");
    app.drain().await;
}

async fn app_with_ledger() -> (TestApp, Arc<Ledger>) {
    let (ledger, change) = Ledger::new();
    (TestApp::start_with(change).await, ledger)
}

#[tokio::test]
async fn an_interrupted_top_up_is_finished_in_the_background() {
    let (app, ledger) = app_with_ledger().await;
    let crew = app.crew(&app.alice).await;
    for (token, status, balance) in [
        ("tok_success", "succeeded", 300),
        ("tok_declined", "failed", 0),
    ] {
        let method = card(&app.alice, token, json!({})).await;
        for owner in [
            format!("/v1/fleets/{}", crew.fleet),
            format!("/v1/drivers/{}", crew.driver),
            format!(
                "/v1/accounts/{}",
                app.alice.account.clone().expect("an account")
            ),
        ] {
            let before = app.alice.get_ok(&owner).await["wallet_balance"].clone();
            let requests = ledger.requests();
            ledger.lose_answers(1);
            let cut = app
                .alice
                .post(&format!("{owner}/top_up"), top_up(&method, 300))
                .await;
            assert_eq!((cut.status, ledger.requests()), (503, requests + 1));
            let newest =
                async || app.alice.get_ok("/v1/transactions?limit=1").await["data"][0].clone();
            let pending = newest().await;
            assert_has!(pending, {"status": "pending", "amount": 300});
            // The request may still be in progress.
            app.advance(50).await;
            assert_eq!(newest().await, pending);
            app.advance(15).await;
            assert_has!(newest().await, {"id": pending["id"], "status": status});
            let after = app.alice.get_ok(&owner).await["wallet_balance"].clone();
            assert_eq!(
                after.as_i64(),
                before.as_i64().map(|before| before + balance),
                "{owner}"
            );
            app.advance(600).await;
            assert_eq!(app.alice.get_ok(&owner).await["wallet_balance"], after);
        }
    }
}

#[tokio::test]
async fn a_retried_top_up_reuses_its_key_and_is_credited_once() {
    let (app, ledger) = app_with_ledger().await;
    let crew = app.crew(&app.alice).await;
    let method = card(&app.alice, "tok_success", json!({})).await;
    ledger.lose_answers(1);
    let path = format!("/v1/fleets/{}/top_up", crew.fleet);
    let send = async |amount: i64, key: &str| {
        let body = top_up(&method, amount).to_string();
        app.alice
            .send("POST", &path, Some(body), &[("idempotency-key", key)])
            .await
    };
    assert_eq!(send(300, "k").await.status, 503);
    let done = send(300, "k").await.expect(200);
    assert_eq!(done.body["wallet_balance"], 300);
    assert_eq!(send(300, "k").await.expect(200).body, done.body);
    let keys = ledger.keys();
    assert_eq!((ledger.requests(), keys.len()), (2, 1));
    assert!(keys[0].len() <= 64 && !keys[0].contains("acct"));
    let other = send(301, "k").await;
    let want = (400, "idempotency_error", None, Some("Idempotency-Key"));
    assert_eq!(other.error(), want);
    assert_eq!(ledger.requests(), 2);
    send(300, "other").await.expect(200);
    assert_eq!((ledger.requests(), ledger.keys().len()), (3, 2));
    assert_eq!(app.alice.walk("/v1/transactions").await.len(), 2);
    app.drain().await;
}

/// Tops up a wallet with a new card of the account, and returns the path of the transaction.
async fn topped_up(app: &TestApp, owner: &str, amount: i64) -> String {
    let method = card(&app.alice, "tok_success", json!({})).await;
    let path = format!("{owner}/top_up");
    app.alice.post_ok(&path, top_up(&method, amount)).await;
    let latest = app.alice.get_ok("/v1/transactions?limit=1").await;
    path_of(latest["data"][0]["id"].as_str().expect("an id"))
}

async fn refund(app: &TestApp, top_up: &str, body: Value) -> TestResponse {
    app.alice.post(&format!("{top_up}/refund"), body).await
}

async fn balance(app: &TestApp, owner: &str) -> Value {
    app.alice.get_ok(owner).await["wallet_balance"].clone()
}

#[tokio::test]
async fn a_refund_of_a_top_up_empties_the_wallet() {
    let (app, ledger) = app_with_ledger().await;
    let driver = app.alice.create("/v1/drivers", tests::driver()).await;
    let fleet = app.alice.create("/v1/fleets", tests::fleet()).await;
    let account = app.alice.account.clone().expect("an account");
    for owner in [
        format!("/v1/drivers/{driver}"),
        format!("/v1/fleets/{fleet}"),
        format!("/v1/accounts/{account}"),
    ] {
        let top_up = topped_up(&app, &owner, 500).await;
        let to_wallet = refund(&app, &top_up, json!({"destination": "wallet"})).await;
        to_wallet.expect_error(409, None, "destination");
        let path = format!("{top_up}/refund?dry_run=true");
        let shown = app.alice.post_ok(&path, json!({"amount": 200})).await;
        assert_eq!(balance(&app, &owner).await, 500, "{owner}");
        let pending = refund(&app, &top_up, json!({"amount": 200})).await;
        let pending = pending.expect(200).body;
        assert_has!(shown, {"amount": 200, "charge": pending["charge"], "payment_method": pending["payment_method"]});
        assert_has!(pending, {"status": "pending", "type": "refund", "destination": "original"});
        assert_eq!(balance(&app, &owner).await, 300, "{owner}");
        let too_much = refund(&app, &top_up, json!({"amount": 301})).await;
        too_much.expect_error(400, None, "amount");
        app.drain().await;
        assert_has!(app.alice.get_ok(&top_up).await, {"amount_refunded": 200, "status": "succeeded"});
        let rest = refund(&app, &top_up, json!({})).await.expect(200);
        assert_eq!(rest.body["amount"], 300);
        app.drain().await;
        let ended = app.alice.get_ok(&path_of(&rest.id())).await;
        assert_eq!(ended["status"], "succeeded");
        assert_eq!(
            (balance(&app, &owner).await, ledger.balance()),
            (json!(0), 0)
        );
        let again = refund(&app, &top_up, json!({})).await;
        again.expect_error(409, None, "transaction");
    }
    let change = json!({"preferences": {"currency": "jpy"}});
    app.alice
        .post_ok(&format!("/v1/drivers/{driver}"), change)
        .await;
    let events = app.alice.get("/v1/events?type=service.refunded").await;
    assert_eq!(events.ids().len(), 6);
    for owner in [
        format!("/v1/drivers/{driver}"),
        format!("/v1/fleets/{fleet}"),
    ] {
        app.alice.delete_ok(&owner).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn a_refund_of_a_top_up_is_at_most_the_wallet_balance() {
    let (app, crew) = TestApp::with_crew().await;
    let owner = format!("/v1/fleets/{}", crew.fleet);
    let first = topped_up(&app, &owner, 500).await;
    let second = topped_up(&app, &owner, 100).await;
    let id = Id::from(crew.fleet.as_str());
    let origin = Origin::background(app.alice.tenant(), app.now());
    let mut tx = app.app().store.begin(&origin);
    tx.debit(Wallet::Fleet(&id), money(450, "usd"), Error::Contended);
    tx.commit_without_response().await.expect("money is spent");
    let refused = refund(&app, &first, json!({"amount": 151})).await;
    refused.expect_error(409, None, "amount");
    assert_eq!(balance(&app, &owner).await, 150);
    // The second request has the response of the first.
    for _ in 0..2 {
        let path = format!("{first}/refund");
        let header = [("idempotency-key", "k")];
        let sent = app.alice.send("POST", &path, Some("{}".into()), &header);
        assert_eq!(sent.await.expect(200).body["amount"], 150);
    }
    let empty = refund(&app, &second, json!({})).await;
    empty.expect_error(409, None, "transaction");
    app.drain().await;
    assert_eq!(balance(&app, &owner).await, 0);
    assert_eq!(app.alice.get_ok(&first).await["amount_refunded"], 150);
    let third = topped_up(&app, &owner, 40).await;
    let whole = refund(&app, &second, json!({})).await.expect(200);
    assert_eq!(whole.body["amount"], 40);
    refund(&app, &third, json!({}))
        .await
        .expect_error(409, None, "transaction");
    // A top-up pays for nothing, so its refund is in no report.
    let parameters = json!({"type": "cost_analysis", "period_start": app.in_minutes(-120), "period_end": app.in_minutes(1)});
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    app.drain().await;
    let report = app.alice.create("/v1/reports", body).await;
    app.drain().await;
    let report = app.alice.get_ok(&path_of(&report)).await;
    assert_has!(report, {"status": "succeeded", "totals": []});
}

#[tokio::test]
async fn refunds_of_top_ups_at_once_never_overdraw_the_wallet() {
    let (app, ledger) = app_with_ledger().await;
    let fleet = app.alice.create("/v1/fleets", tests::fleet()).await;
    let owner = format!("/v1/fleets/{fleet}");
    let mut top_ups = Vec::new();
    for _ in 0..4 {
        top_ups.push(topped_up(&app, &owner, 300).await);
    }
    let id = Id::from(fleet.as_str());
    let origin = Origin::background(app.alice.tenant(), app.now());
    let mut tx = app.app().store.begin(&origin);
    tx.debit(Wallet::Fleet(&id), money(700, "usd"), Error::Contended);
    tx.commit_without_response().await.expect("money is spent");
    let body = json!({"amount": 200});
    let sent = top_ups
        .iter()
        .map(|top_up| refund(&app, top_up, body.clone()));
    let mut statuses: Vec<u16> = futures::future::join_all(sent)
        .await
        .iter()
        .map(|sent| sent.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 409, 409]);
    assert_eq!(balance(&app, &owner).await, 100);
    app.drain().await;
    assert_eq!(ledger.balance(), 4 * 300 - 2 * 200);
}

#[tokio::test]
async fn a_failed_refund_of_a_top_up_returns_to_the_wallet() {
    let (app, ledger) = app_with_ledger().await;
    let fleet = app.alice.create("/v1/fleets", tests::fleet()).await;
    let owner = format!("/v1/fleets/{fleet}");
    let top_up = topped_up(&app, &owner, 500).await;
    ledger.decline_refunds(1);
    let begun = refund(&app, &top_up, json!({"amount": 350})).await.id();
    assert_eq!(balance(&app, &owner).await, 150);
    app.drain().await;
    let failed = app.alice.get_ok(&path_of(&begun)).await;
    assert_eq!(failed["status"], "failed");
    assert!(failed["failed_reason"].is_string(), "{failed}");
    assert_eq!(balance(&app, &owner).await, 500);
    assert_eq!(app.alice.get_ok(&top_up).await["amount_refunded"], 0);
    refund(&app, &top_up, json!({})).await.expect(200);
    app.drain().await;
    assert_eq!(
        (balance(&app, &owner).await, ledger.balance()),
        (json!(0), 0)
    );
}

#[tokio::test]
async fn a_failed_refund_without_its_wallet_can_be_repeated() {
    let (app, ledger) = app_with_ledger().await;
    let fleet = app.alice.create("/v1/fleets", tests::fleet()).await;
    let owner = format!("/v1/fleets/{fleet}");
    for deletes in [false, true] {
        let top_up = topped_up(&app, &owner, 500).await;
        ledger.decline_refunds(1);
        refund(&app, &top_up, json!({})).await.expect(200);
        // The wallet is empty, so its currency may change and its owner may be deleted.
        if deletes {
            app.alice.delete_ok(&owner).await;
        } else {
            let body = json!({"preferences": {"default_currency": "eur"}});
            app.alice.post_ok(&owner, body).await;
        }
        app.drain().await;
        refund(&app, &top_up, json!({"amount": 501}))
            .await
            .expect_error(400, None, "amount");
        for amount in [100, 400] {
            refund(&app, &top_up, json!({"amount": amount}))
                .await
                .expect(200);
            app.drain().await;
        }
        assert_eq!(app.alice.get_ok(&top_up).await["amount_refunded"], 500);
        assert_eq!(ledger.balance(), 0);
        if !deletes {
            assert_eq!(balance(&app, &owner).await, 0);
        }
    }
}

#[tokio::test]
async fn a_refund_to_a_wallet_can_be_returned_to_the_card() {
    let (app, ledger) = app_with_ledger().await;
    let crew = app.crew(&app.alice).await;
    let pounds = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path_of(&crew.fleet), pounds).await;
    let owner = path_of(&crew.driver);
    let pounds = json!({"preferences": {"currency": "gbp"}});
    app.alice.post_ok(&owner, pounds).await;
    let method = card(&app.alice, "tok_success", json!({"driver": crew.driver})).await;
    let (session, charge) = charged(&app, &crew, &method).await;
    let whole = charge["amount"].as_i64().expect("an amount");
    let charge = path_of(id_of(&charge));
    refund(&app, &charge, json!({"amount": 3})).await;
    app.drain().await;
    let to_wallet = json!({"destination": "wallet"});
    let received = refund(&app, &charge, to_wallet.clone()).await.id();
    let received = path_of(&received);
    // Nothing can be returned before it is in the wallet.
    let early = refund(&app, &received, json!({})).await;
    early.expect_error(409, None, "transaction");
    app.drain().await;
    let left = whole - 3;
    assert_eq!(balance(&app, &owner).await, left);
    app.alice.delete(&owner).await.expect(409);
    let again = refund(&app, &received, to_wallet).await;
    again.expect_error(409, None, "destination");
    let refused = refund(&app, &received, json!({"amount": left + 1})).await;
    refused.expect_error(400, None, "amount");
    let first = refund(&app, &received, json!({"amount": 5})).await;
    let first = first.expect(200).body;
    assert_has!(first, {"type": "refund", "amount": 5, "destination": "original", "payment_method": method,
        "charging_session": null, "invoice": null, "reservation": null});
    assert_eq!(path_of(first["charge"].as_str().expect("an id")), received);
    assert_eq!(balance(&app, &owner).await, left - 5);
    app.drain().await;
    ledger.decline_refunds(1);
    refund(&app, &received, json!({})).await.expect(200);
    assert_eq!(balance(&app, &owner).await, 0);
    app.drain().await;
    assert_eq!(balance(&app, &owner).await, left - 5);
    refund(&app, &received, json!({})).await.expect(200);
    app.drain().await;
    assert_has!(app.alice.get_ok(&received).await, {"amount_refunded": left, "amount": left});
    let ended = app.alice.get_ok(&path_of(&session)).await;
    assert_eq!(ended["amount_refunded"], whole);
    assert_eq!(ledger.balance(), 0);
    let again = refund(&app, &received, json!({})).await;
    again.expect_error(409, None, "transaction");
    app.alice.delete_ok(&owner).await;
    app.drain().await;
}

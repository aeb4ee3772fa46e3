//! Races and failures around a charge: every charge at the payment provider is either credited or refunded.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tests::ledger::Ledger;
use tests::{Client, Crew, TestApp, TestResponse, fleet, path_of, with};

async fn start() -> (TestApp, Arc<Ledger>) {
    let (ledger, change) = Ledger::new();
    (TestApp::start_with(change).await, ledger)
}

async fn card(app: &TestApp, token: &str) -> String {
    let body = json!({"type": "card", "token": token});
    app.alice.post("/v1/payment_methods", body).await.id()
}

fn top_up(amount: i64, method: &str) -> Value {
    json!({"amount": amount, "payment_method": method})
}

async fn keyed(client: &Client, path: &str, body: &Value, key: &str) -> TestResponse {
    let headers = [("idempotency-key", key)];
    client
        .send("POST", path, Some(body.to_string()), &headers)
        .await
}

/// Sends this number of requests at once.
async fn at_once(times: usize, send: impl AsyncFn(usize) -> TestResponse) -> Vec<TestResponse> {
    futures::future::join_all((0..times).map(|n| send(n))).await
}

async fn balance(app: &TestApp, path: &str) -> i64 {
    let owner = app.alice.get_ok(path).await;
    owner["wallet_balance"].as_i64().expect("a balance")
}

async fn transactions(app: &TestApp) -> Vec<Value> {
    let page = app.alice.get("/v1/transactions?limit=100").await;
    page.expect(200).body["data"]
        .as_array()
        .expect("objects")
        .clone()
}

/// Whether the response refers to the transaction for the outcome, and does not suggest a second payment.
fn is_open(answer: &TestResponse) -> bool {
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert!(!message.contains("Try again"), "{message}");
    assert_eq!(answer.header("retry-after"), "");
    matches!(answer.status, 409 | 503) && answer.body["transaction"].is_string()
}

#[tokio::test]
async fn top_ups_at_once_with_one_key_are_one_charge() {
    let (app, ledger) = start().await;
    let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
    let (to, body) = (
        format!("{path}/top_up"),
        top_up(700, &card(&app, "tok_success").await),
    );
    for round in 1..=4 {
        let key = format!("key {round}");
        ledger.hold();
        let requests = ledger.wait_for_requests(round);
        let (answers, ()) = tokio::join!(
            at_once(6, async |_| keyed(&app.alice, &to, &body, &key).await),
            async {
                requests.await;
                ledger.release();
            }
        );
        let done = answers.iter().filter(|answer| answer.status == 200);
        assert!(done.clone().count() >= 1);
        assert!(
            answers
                .iter()
                .all(|answer| answer.status == 200 || is_open(answer))
        );
        for answer in done {
            assert_eq!(answer.body["wallet_balance"], 700 * round);
        }
        let again = keyed(&app.alice, &to, &body, &key).await.expect(200);
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(ledger.charges(), round);
        assert_eq!(balance(&app, &path).await, 700 * round as i64);
        assert_eq!(transactions(&app).await.len(), round);
    }
    app.drain().await;
}

#[tokio::test]
async fn top_ups_at_once_without_keys_all_end_and_count_once_each() {
    let (app, ledger) = start().await;
    let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
    let (to, card) = (format!("{path}/top_up"), card(&app, "tok_success").await);
    ledger.lose_answers(3);
    let answers = at_once(10, async |n| {
        app.alice.post(&to, top_up(100 + n as i64, &card)).await
    });
    let answers = answers.await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.status == 200 || is_open(answer))
    );
    let done = (100..).zip(&answers);
    let done = done.filter(|(_, answer)| answer.status == 200);
    let credited: Vec<i64> = done.map(|(amount, _)| amount).collect();
    assert_eq!(balance(&app, &path).await, credited.iter().sum::<i64>());
    let succeeded = transactions(&app).await;
    let succeeded = succeeded
        .iter()
        .filter(|transaction| transaction["status"] == "succeeded");
    assert_eq!(succeeded.count(), credited.len());
    app.advance(90).await;
    app.advance(90).await;
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        let id = answer.body["transaction"].as_str().expect("an id");
        let shown = app.alice.get(&format!("/v1/transactions/{id}")).await;
        assert_eq!(shown.expect(200).body["status"], "succeeded");
    }
    let all = transactions(&app).await;
    assert!(
        all.iter()
            .all(|transaction| transaction["status"] == "succeeded"),
        "{all:?}"
    );
    assert_eq!((all.len(), ledger.charges()), (10, 10));
    assert_eq!(balance(&app, &path).await, 1045);
    assert_eq!(ledger.balance(), 1045);
    app.drain().await;
}

#[tokio::test]
async fn a_key_that_is_free_again_after_a_day_charges_again() {
    let (app, ledger) = start().await;
    let mut paths = Vec::new();
    for _ in 0..2 {
        let id = app.alice.post("/v1/fleets", fleet()).await.id();
        paths.push(format!("/v1/fleets/{id}"));
    }
    let body = top_up(500, &card(&app, "tok_success").await);
    let send = async |path: &str| keyed(&app.alice, &format!("{path}/top_up"), &body, "k").await;
    send(&paths[0]).await.expect(200);
    // Not permitted yet: the key is in use for this fleet.
    let mismatch = send(&paths[1]).await;
    assert_eq!(mismatch.error().1, "idempotency_error");
    app.advance(86_401).await;
    send(&paths[0]).await.expect(200);
    assert_eq!(
        (ledger.charges(), balance(&app, &paths[0]).await),
        (2, 1000)
    );
    app.advance(86_401).await;
    send(&paths[1]).await.expect(200);
    assert_eq!((ledger.charges(), balance(&app, &paths[1]).await), (3, 500));
    assert_eq!(ledger.balance(), 1500);
    app.drain().await;
}

#[tokio::test]
async fn a_top_up_that_is_not_retried_is_finished_by_the_service() {
    let (app, ledger) = start().await;
    for (token, status, code, credited) in [
        ("tok_success", 200, "succeeded", 300),
        ("tok_declined", 402, "failed", 0),
    ] {
        let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
        let (to, body) = (
            format!("{path}/top_up"),
            top_up(300, &card(&app, token).await),
        );
        ledger.lose_answers(1);
        let cut = keyed(&app.alice, &to, &body, token).await;
        assert!(cut.status == 503 && is_open(&cut), "{}", cut.text);
        let id = cut.body["transaction"].as_str().expect("an id");
        let transaction_path = format!("/v1/transactions/{id}");
        assert_eq!(
            app.alice.get(&transaction_path).await.body["status"],
            "pending"
        );
        app.advance(65).await;
        assert_eq!(app.alice.get(&transaction_path).await.body["status"], code);
        assert_eq!(balance(&app, &path).await, credited);
        // A repetition then has the final result, now and later.
        let first = keyed(&app.alice, &to, &body, token).await.expect(status);
        let again = keyed(&app.alice, &to, &body, token).await.expect(status);
        assert_eq!(again.text, first.text);
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(balance(&app, &path).await, credited);
    }
    assert_eq!(ledger.balance(), 300);
    app.drain().await;
}

/// An owner of a wallet, by its path, and a change of its currency.
async fn owners(app: &TestApp) -> Vec<(String, Value)> {
    let fleet = app.alice.post("/v1/fleets", fleet()).await.id();
    let driver = app.alice.post("/v1/drivers", tests::driver()).await.id();
    let account = app.alice.account.clone().expect("an account");
    vec![
        (
            format!("/v1/fleets/{fleet}"),
            json!({"preferences": {"default_currency": "jpy"}}),
        ),
        (
            format!("/v1/drivers/{driver}"),
            json!({"preferences": {"currency": "jpy"}}),
        ),
        (
            format!("/v1/accounts/{account}"),
            json!({"default_currency": "jpy"}),
        ),
    ]
}

/// Sends a top-up, and does something while the provider is charging.
async fn meanwhile(
    app: &TestApp,
    ledger: &Ledger,
    path: &str,
    key: Option<&str>,
    deed: impl AsyncFn(),
) -> TestResponse {
    let (to, body) = (
        format!("{path}/top_up"),
        top_up(900, &card(app, "tok_success").await),
    );
    let before = ledger.charges();
    ledger.hold();
    let send = async {
        match key {
            Some(key) => keyed(&app.alice, &to, &body, key).await,
            None => app.alice.post(&to, body.clone()).await,
        }
    };
    let (answer, ()) = tokio::join!(send, async {
        ledger.wait_for_requests(before + 1).await;
        deed().await;
        ledger.release();
    });
    answer
}

#[tokio::test]
async fn a_top_up_is_refunded_if_the_wallet_currency_changes() {
    let (app, ledger) = start().await;
    for (n, (path, change)) in owners(&app).await.into_iter().enumerate() {
        let key = (n > 0).then_some(path.as_str());
        let answer = meanwhile(&app, &ledger, &path, key, async || {
            app.alice.post_ok(&path, change.clone()).await;
        });
        let answer = answer.await.expect(409);
        assert!(
            answer.text.contains("The charge was refunded."),
            "{}",
            answer.text
        );
        let id = answer.body["transaction"].as_str().expect("an id");
        let shown = app.alice.get(&format!("/v1/transactions/{id}")).await.body;
        assert_eq!(
            (&shown["status"], &shown["amount"]),
            (&json!("failed"), &json!(900))
        );
        assert_eq!(balance(&app, &path).await, 0);
        assert_eq!(
            (ledger.charges(), ledger.refunds(), ledger.balance()),
            (n + 1, n + 1, 0)
        );
    }
    app.advance(600).await;
    assert_eq!((ledger.charges(), ledger.refunds()), (3, 3));
}

#[tokio::test]
async fn a_top_up_is_refunded_if_the_wallet_owner_is_deleted() {
    let (app, ledger) = start().await;
    let owners = owners(&app).await;
    // A declined refund is tried again.
    ledger.decline_refunds(1);
    for (n, (path, code)) in owners[..2]
        .iter()
        .map(|(path, _)| path)
        .zip(["fleet_not_found", "driver_not_found"])
        .enumerate()
    {
        let key = format!("k{n}");
        let answer = meanwhile(&app, &ledger, path, Some(&key), async || {
            app.alice.delete_ok(path).await;
        });
        let answer = answer.await;
        if n == 0 {
            assert!(answer.status == 503 && is_open(&answer), "{}", answer.text);
            app.advance(11 * 60).await;
        } else {
            assert_eq!(answer.error().2, Some(code));
            assert!(
                answer.text.contains("The charge was refunded."),
                "{}",
                answer.text
            );
        }
        let id = answer.body["transaction"].as_str().expect("an id");
        let shown = app.alice.get(&format!("/v1/transactions/{id}")).await.body;
        assert_eq!(shown["status"], "failed");
        assert_eq!(
            (ledger.charges(), ledger.refunds(), ledger.balance()),
            (n + 1, n + 1, 0)
        );
        app.advance(86_401).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn a_payment_method_that_is_deleted_meanwhile_is_charged_once() {
    let (app, ledger) = start().await;
    let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
    let to = format!("{path}/top_up");
    let delete = async |card: &str| {
        let path = format!("/v1/payment_methods/{card}");
        app.alice.delete_ok(&path).await;
    };
    // While the provider is charging.
    let first = card(&app, "tok_success").await;
    ledger.hold();
    let (answer, ()) = tokio::join!(app.alice.post(&to, top_up(40, &first)), async {
        ledger.wait_for_requests(1).await;
        delete(&first).await;
        ledger.release();
    });
    assert_eq!(answer.expect(200).body["wallet_balance"], 40);
    // After a charge whose response was lost.
    let two = card(&app, "tok_success").await;
    ledger.lose_answers(1);
    let cut = app.alice.post(&to, top_up(2, &two)).await;
    assert!(cut.status == 503 && is_open(&cut), "{}", cut.text);
    delete(&two).await;
    app.advance(65).await;
    assert_eq!((balance(&app, &path).await, ledger.balance()), (42, 42));
    app.drain().await;
}

/// A session that has ended and is not settled yet, with this payment method.
async fn ended_session(app: &TestApp, crew: &Crew, method: &str) -> String {
    let station = app.station(json!({})).await;
    let body = with(
        app.session(crew, &station),
        json!({"payment_method": method}),
    );
    let id = app.alice.post("/v1/charging_sessions", body).await.id();
    app.advance(1800).await;
    let path = format!("/v1/charging_sessions/{id}");
    let stop = format!("{path}/stop");
    app.alice.post_ok(&stop, json!({})).await;
    path
}

#[tokio::test]
async fn a_charged_session_is_paid_even_if_its_method_is_deleted() {
    let (app, ledger) = start().await;
    let crew = app.crew(&app.alice).await;
    let card = card(&app, "tok_success").await;
    let path = ended_session(&app, &crew, &card).await;
    ledger.lose_answers(1);
    app.drain().await;
    let unpaid = app.alice.get(&path).await.body;
    let due = unpaid["amount_due"].as_i64().expect("an amount");
    assert!(due > 0 && ledger.charges() == 1, "{unpaid}");
    let method = format!("/v1/payment_methods/{card}");
    app.alice.delete_ok(&method).await;
    app.advance(300).await;
    let paid = app.alice.get(&path).await.body;
    assert_eq!(
        (&paid["amount_due"], &paid["amount_paid"]),
        (&json!(0), &json!(due))
    );
    assert_eq!((ledger.charges(), ledger.balance()), (1, due));
    app.drain().await;
}

#[tokio::test]
async fn a_charge_is_refunded_once_after_its_method_is_deleted() {
    let (app, ledger) = start().await;
    let crew = app.crew(&app.alice).await;
    let card = card(&app, "tok_success").await;
    ended_session(&app, &crew, &card).await;
    app.advance(60).await;
    let charge = transactions(&app).await.remove(0);
    assert_eq!(charge["status"], "succeeded");
    let method = format!("/v1/payment_methods/{card}");
    app.alice.delete_ok(&method).await;
    let refund = format!(
        "/v1/transactions/{}/refund",
        charge["id"].as_str().expect("an id")
    );
    // The first one fails, and may be tried again.
    ledger.decline_refunds(1);
    let first = app.alice.post(&refund, json!({})).await.id();
    app.drain().await;
    let first = format!("/v1/transactions/{first}");
    assert_eq!(app.alice.get(&first).await.body["status"], "failed");
    assert!(ledger.balance() > 0);
    let answers = at_once(6, async |_| app.alice.post(&refund, json!({})).await).await;
    let mut begun = 0;
    for answer in &answers {
        assert!(matches!(answer.status, 200 | 409 | 503), "{}", answer.text);
        begun += usize::from(answer.status == 200);
    }
    assert_eq!(begun, 1);
    app.drain().await;
    assert_eq!((ledger.refunds(), ledger.balance()), (1, 0));
    let again = app.alice.post(&refund, json!({})).await;
    again.expect_error(409, None, Some("transaction"));
    let refunds = app.alice.get("/v1/transactions?type=refund").await.body;
    let statuses: Vec<_> = refunds["data"]
        .as_array()
        .expect("objects")
        .iter()
        .map(|refund| &refund["status"])
        .collect();
    assert_eq!(statuses, [&json!("succeeded"), &json!("failed")]);
    assert_eq!(app.alice.get(&first).await.body["status"], "failed");
}

#[tokio::test]
async fn of_payments_of_an_invoice_at_once_one_is_charged() {
    let (app, ledger) = start().await;
    let crew = app.crew(&app.alice).await;
    let cards = [
        card(&app, "tok_success").await,
        card(&app, "tok_success").await,
        card(&app, "tok_declined").await,
    ];
    for round in 1..=3 {
        app.completed_session(&crew, json!({})).await;
        let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
        let id = app.alice.post("/v1/invoices", window).await.id();
        let path = format!("/v1/invoices/{id}");
        app.alice
            .post_ok(&format!("{path}/finalize"), json!({}))
            .await;
        ledger.lose_answers(1);
        let pay = format!("{path}/pay");
        let answers = at_once(6, async |n| {
            let body = json!({"payment_method": cards[n % 3]});
            match n % 2 {
                0 => app.alice.post(&pay, body).await,
                _ => keyed(&app.alice, &pay, &body, &format!("{round} {n}")).await,
            }
        });
        for answer in answers.await {
            let refused = matches!(answer.status, 402 | 409);
            assert!(
                answer.status == 200 || refused || is_open(&answer),
                "{}",
                answer.text
            );
        }
        app.advance(90).await;
        app.advance(90).await;
        let invoice = app.alice.get(&path).await.body;
        if invoice["status"] != "paid" {
            // Only the declined card was tried.
            let body = json!({"payment_method": cards[0]});
            app.alice.post_ok(&pay, body).await;
        }
        assert_eq!(ledger.charges(), round);
        assert_eq!(ledger.balance(), 1190 * round as i64);
        let all = transactions(&app).await;
        assert!(
            all.iter()
                .all(|transaction| transaction["status"] != "pending"),
            "{all:?}"
        );
        let paid = all
            .iter()
            .filter(|transaction| transaction["status"] == "succeeded");
        assert_eq!(paid.count(), round);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_payment_without_a_clear_answer_names_its_transaction() {
    let (app, ledger) = start().await;
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let path = path_of(&app.alice.create("/v1/invoices", window).await);
    app.alice
        .post_ok(&format!("{path}/finalize"), json!({}))
        .await;
    ledger.lose_answers(1);
    let body = json!({"payment_method": card(&app, "tok_success").await});
    let cut = app.alice.post(&format!("{path}/pay"), body).await;
    assert!(cut.status == 503 && is_open(&cut), "{}", cut.text);
    let id = cut.body["transaction"].as_str().expect("an id");
    let transaction_path = format!("/v1/transactions/{id}");
    let pending = app.alice.get_ok(&transaction_path).await;
    assert_eq!(
        (&pending["status"], &pending["amount"]),
        (&json!("pending"), &json!(1190))
    );
    app.advance(90).await;
    assert_eq!(
        app.alice.get(&transaction_path).await.body["status"],
        "succeeded"
    );
    assert_eq!(app.alice.get(&path).await.body["status"], "paid");
    assert_eq!(ledger.balance(), 1190);
    app.drain().await;
}

#[tokio::test]
async fn a_top_up_waits_for_a_slow_payment_provider() {
    let (ledger, change) = Ledger::new();
    let app = TestApp::start_with(|options| {
        change(options);
        options.slack = 2;
    });
    let app = app.await;
    let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
    let body = top_up(60, &card(&app, "tok_success").await);
    ledger.take(Duration::from_millis(5_600));
    let answer = app.alice.post(&format!("{path}/top_up"), body).await;
    assert_eq!(answer.expect(200).body["wallet_balance"], 60);
    assert_eq!(ledger.balance(), 60);
    app.drain().await;
}

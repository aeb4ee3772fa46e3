//! Floods of requests that are refused: without a key, with keys that do not exist, and to paths that do not exist. They are limited
//! by their address, and do not affect other clients.

use std::net::Ipv4Addr;
use std::time::Instant;

use kernel::version::CURRENT;
use models::ApiKey;
use models::api_key::NewApiKey;
use tests::meter::Meter;
use tests::{Client, TestApp, TestResponse};

/// Requests per second of an account in these tests, and refused ones of an address.
const RATE: u32 = 25;

/// An address of this machine other than the one that tests use.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn start() -> TestApp {
    TestApp::start_with(|options| options.rate = RATE).await
}

/// A client with a well-formed key of alice's account that does not exist.
fn with_unknown_key(app: &TestApp) -> Client {
    let tenant = app.alice.tenant();
    let created = ApiKey::new(NewApiKey::default(), &tenant, None, CURRENT, app.now());
    let (key, _) = created.expect("a key");
    app.with_key(key.secret.expect("a secret"), tenant.account)
}

/// The number of requests of a flood that may be refused for their own error: the capacity of a bucket, and the requests that it
/// regains.
fn allowance(began: Instant) -> usize {
    2 * RATE as usize + (began.elapsed().as_secs_f64() * f64::from(RATE)) as usize + 1
}

#[tokio::test]
async fn keys_that_do_not_exist_cost_few_reads_of_the_table() {
    let meter = Meter::default();
    let app = TestApp::start_with(|options| {
        options.rate = RATE;
        let http = options.table_http.take();
        options.table_http = http.map(|http| meter.counted(http));
    })
    .await;
    app.alice.get_ok("/v1/fleets").await;
    meter.take();
    let began = Instant::now();
    let mut statuses = Vec::new();
    for _ in 0..1_000 {
        let answer = with_unknown_key(&app).get("/v1/fleets").await;
        if answer.status == 429 {
            assert_ne!(answer.header("retry-after"), "");
            assert_eq!(answer.error().2, Some("rate_limit_exceeded"));
        }
        statuses.push(answer.status);
    }
    let calls = meter.take();
    assert!(statuses.iter().all(|status| [401, 429].contains(status)));
    let reads = calls.iter().filter(|call| call.is_read()).count();
    let allowed = allowance(began);
    assert!(reads <= allowed, "{reads} reads, {allowed} are allowed");
    let writes = calls.len() - reads;
    assert_eq!(writes, 0, "requests without an account write nothing");
    // A valid key can still be used from the same address.
    app.alice.get("/v1/fleets").await.expect(200);
}

#[tokio::test]
async fn requests_without_a_key_are_limited_by_their_address() {
    let app = start().await;
    let flood = app.anon.from_address(ELSEWHERE);
    let began = Instant::now();
    let mut refused = 0;
    for _ in 0..300 {
        let answer = flood.get("/v1/fleets").await;
        assert!([401, 429].contains(&answer.status), "{}", answer.text);
        refused += usize::from(answer.status == 401);
    }
    let allowed = allowance(began);
    assert!(
        refused <= allowed,
        "{refused} of 300, {allowed} are allowed"
    );
    // Another address has its own bucket, and keys of accounts are not affected.
    app.anon.get("/v1/fleets").await.expect(401);
    app.alice.get_ok("/v1/fleets").await;
    let other = app.other_account(kernel::Mode::Test).await;
    other.get_ok("/v1/fleets").await;
}

#[tokio::test]
async fn unknown_paths_count_for_the_address_and_the_account() {
    let app = start().await;
    let elsewhere = app.alice.from_address(ELSEWHERE);
    let remaining = |answer: &TestResponse| -> i64 {
        answer
            .header("ratelimit-remaining")
            .parse()
            .expect("a number")
    };
    let before = remaining(&elsewhere.get("/v1/fleets").await.expect(200));
    for _ in 0..5 {
        elsewhere.get("/v1/nothing").await.expect(404);
        elsewhere.delete("/v1/fleets").await.expect(405);
    }
    let after = remaining(&elsewhere.get("/v1/fleets").await.expect(200));
    assert!(after <= before - 8, "{before} before and {after} after");
    let began = Instant::now();
    let mut found = 10;
    for _ in 0..300 {
        let answer = elsewhere.get("/v1/nothing").await;
        assert!([404, 429].contains(&answer.status), "{}", answer.text);
        found += usize::from(answer.status == 404);
    }
    let allowed = allowance(began) + 10;
    assert!(found <= allowed, "{found} of 310, {allowed} are allowed");
    app.anon.get("/v1/nothing").await.expect(401);
}

#[tokio::test]
async fn a_new_key_is_served_at_an_address_with_few_refusals() {
    let app = start().await;
    for _ in 0..10 {
        with_unknown_key(&app).get("/v1/fleets").await.expect(401);
    }
    // Requests that succeed are not counted for the address.
    for _ in 0..3 {
        let key = app.restricted(&app.alice, &["fleets:read"]).await;
        key.get_ok("/v1/fleets").await;
    }
    for _ in 0..10 {
        with_unknown_key(&app).get("/v1/fleets").await.expect(401);
    }
}

#[tokio::test]
async fn tokens_of_networks_that_do_not_exist_are_limited_too() {
    let app = start().await;
    let flood = app.anon.from_address(ELSEWHERE);
    let began = Instant::now();
    let mut refused = 0;
    for _ in 0..300 {
        let headers = [("authorization", "Token bm9uc2Vuc2U=")];
        let answer = flood.send("GET", "/ocpi/versions", None, &headers).await;
        assert!([401, 429].contains(&answer.status), "{}", answer.text);
        refused += usize::from(answer.status == 401);
    }
    let allowed = allowance(began);
    assert!(
        refused <= allowed,
        "{refused} of 300, {allowed} are allowed"
    );
}

#[tokio::test]
async fn accounts_are_served_while_another_address_floods() {
    let app = start().await;
    let other = app.other_account(kernel::Mode::Test).await;
    let flood = app.anon.from_address(ELSEWHERE);
    let senders: Vec<_> = (0..8)
        .map(|number| {
            let client = if number % 2 == 0 {
                flood.clone()
            } else {
                with_unknown_key(&app).from_address(ELSEWHERE)
            };
            tokio::spawn(async move {
                let mut statuses = Vec::new();
                for _ in 0..250 {
                    statuses.push(client.get("/v1/fleets").await.status);
                }
                statuses
            })
        })
        .collect();
    for _ in 0..20 {
        app.alice.get_ok("/v1/fleets").await;
        other.get_ok("/v1/drivers").await;
    }
    for sender in senders {
        let statuses = sender.await.expect("responses");
        assert!(statuses.iter().all(|status| [401, 429].contains(status)));
        assert!(statuses.contains(&429), "the flood was never limited");
    }
}

//! The service on a failing table, with its own clock, message queue and client: requests are sent until there is a response, and
//! messages come early, late, twice or not at all, as the dice decide. A seed replays exactly.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use functions::app::{App, Ports};
use functions::charging_sessions::clear_profile::ClearProfile;
use functions::documents::make::MakeDocuments;
use functions::job::Job as _;
use functions::jobs::work;
use functions::networks::apply_tariff::ApplyTariff;
use functions::networks::manage;
use functions::networks::push_token::PushToken;
use functions::networks::received::ApplyReceived;
use functions::networks::rematch_party::RematchParty;
use functions::networks::results::ApplyResult;
use functions::reservations::outward::CancelAtNetwork;
use functions::stream::{relay, sweep};
use functions::webhooks::deliver::DeliverWebhook;
use kernel::time::{MINUTE, minutes};
use kernel::{Result, Tenant, Timestamp};
use models::ports::files::Files;
use models::ports::payments::Providers;
use models::ports::{Clock as _, Message};
use serde_json::Value;
use tower::ServiceExt as _;
use web::settings::Settings;

use crate::clock::Hand;
use crate::faulty::{self, Dice, UNHURRIED, under_faults};
use crate::mailbox::{Mailbox, Undelivered};
use crate::records::Records;
use crate::{Client, TestApp};

/// The number of deliveries of a piece of work that failed or was killed.
pub const DELIVERIES: usize = 60;

/// A number that can be set by an environment variable.
pub fn setting(name: &str, otherwise: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Whether the sweep sends a lost message again. Requests of networks, the outcomes of commands to them, and the first attempts to
/// deliver events have no due time: only the queue stores those messages.
fn is_found_again(message: &Message) -> bool {
    let lost = [
        ApplyReceived::NAME,
        ApplyResult::NAME,
        ApplyTariff::NAME,
        CancelAtNetwork::NAME,
        ClearProfile::NAME,
        DeliverWebhook::NAME,
        MakeDocuments::NAME,
        PushToken::NAME,
        RematchParty::NAME,
    ];
    !lost.contains(&message.job)
}

/// The external parts of the service, besides the table and the messages.
pub struct Outside {
    pub payments: Providers,
    pub files: Arc<dyn Files>,
}

impl Outside {
    /// The parts of the test's own service.
    pub fn of(test: &TestApp) -> Self {
        let parts = test.app();
        Self {
            payments: parts.payments.clone(),
            files: parts.files.clone(),
        }
    }
}

pub struct Stage {
    pub seed: u64,
    pub dice: Dice,
    pub app: App,
    router: Router,
    pub clock: Arc<Hand>,
    pub client: Client,
    pub tenant: Tenant,
    mailbox: Arc<Mailbox>,
    keys: u64,
}

impl Stage {
    pub fn new(
        test: &TestApp,
        client: &Client,
        outside: Outside,
        seed: u64,
        began: Timestamp,
    ) -> Self {
        let clock = Arc::new(Hand::at(began));
        // A worker that receives a cancelled message finds nothing to do.
        let mailbox = Mailbox::new(&clock, true);
        let parts = test.app();
        let store = faulty::store(&test.running().store_url, &test.running().table);
        let app = App::new(
            Ports {
                store,
                clock: clock.clone(),
                queue: mailbox.clone(),
                schedules: mailbox.clone(),
                payments: outside.payments,
                files: outside.files,
                write_document: parts.write_document,
            },
            Settings {
                slack: UNHURRIED,
                ..Settings::clone(&parts.settings)
            },
        );
        Self {
            seed,
            dice: Dice::new(seed),
            router: functions::router(app.clone()),
            app,
            clock,
            client: client.clone(),
            tenant: client.tenant(),
            mailbox,
            keys: 0,
        }
    }

    pub fn one_of<T: Clone>(&self, choices: &[T]) -> Option<T> {
        let place = self.dice.below(choices.len().max(1) as u64) as usize;
        choices.get(place).cloned()
    }

    pub fn pass(&self, count: i64) {
        self.clock.move_by(minutes(count));
    }

    /// Sends a request until there is a response, with one idempotency key for all tries.
    pub async fn post(&mut self, path: &str, body: Value) -> (u16, Value) {
        self.keys += 1;
        let key = format!("{}-{}", self.seed, self.keys);
        self.send("POST", path, Some(body), Some(key)).await
    }

    /// Sends a request once. Its response may be lost.
    pub async fn post_once(&self, path: &str, body: &Value, key: Option<&str>) {
        let request = self.request("POST", path, Some(body), &self.bearer(), key);
        let work = self.router.clone().oneshot(request);
        drop(under_faults(self.dice.below(u64::MAX), work).await);
    }

    /// Sends a request with this idempotency key until there is a response.
    pub async fn post_with(&self, path: &str, body: Value, key: &str) -> (u16, Value) {
        self.send("POST", path, Some(body), Some(key.to_owned()))
            .await
    }

    /// Creates an object, and returns its id.
    pub async fn make(&mut self, path: &str, body: Value) -> String {
        let (status, object) = self.post(path, body).await;
        assert_eq!(status, 200, "seed {}: {object}", self.seed);
        object["id"].as_str().expect("an id").to_owned()
    }

    pub async fn delete(&mut self, path: &str) -> (u16, Value) {
        self.keys += 1;
        let key = format!("{}-{}", self.seed, self.keys);
        self.send("DELETE", path, None, Some(key)).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.send("GET", path, None, None).await.1
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        key: Option<String>,
    ) -> (u16, Value) {
        for _ in 0..DELIVERIES {
            let bearer = self.bearer();
            let request = self.request(method, path, body.as_ref(), &bearer, key.as_deref());
            let Some((status, shown)) = self.answer(request).await else {
                continue;
            };
            // Another request was faster, or the first try is still in progress.
            let contended = shown["code"].is_null() && shown["param"].is_null();
            let again = status >= 500 || (status == 409 && contended);
            if !again {
                return (status, shown);
            }
        }
        panic!("seed {}: {method} {path} was sent too often", self.seed);
    }

    /// Sends a request of a charging network until there is a response. Returns the status code of OCPI.
    pub async fn send_ocpi(&self, token: &str, method: &str, path: &str, body: &Value) -> u64 {
        let authorization = format!("Token {}", STANDARD.encode(token));
        for _ in 0..DELIVERIES {
            let request = self.request(method, path, Some(body), &authorization, None);
            let Some((status, shown)) = self.answer(request).await else {
                continue;
            };
            let code = shown["status_code"].as_u64().unwrap_or_default();
            if status < 500 && code < 3000 {
                return code;
            }
        }
        panic!("seed {}: {method} {path} was sent too often", self.seed);
    }

    /// The status and the body of a response. None if the handler was killed.
    async fn answer(&self, request: Request<Body>) -> Option<(u16, Value)> {
        let work = self.router.clone().oneshot(request);
        let answer = under_faults(self.dice.below(u64::MAX), work).await?;
        let answer = answer.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
        Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.client.key.as_deref().expect("a key"))
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        authorization: &str,
        key: Option<&str>,
    ) -> Request<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", authorization)
            .header("host", "api.example.com");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let text = body.map(Value::to_string).unwrap_or_default();
        request.body(Body::from(text)).expect("a request")
    }

    /// Relays changes and delivers due messages, some of them twice, some late, some never.
    pub async fn settle(&self, records: &mut Records) {
        loop {
            let changes = records.read().await;
            let due = self.take_due();
            if changes.is_empty() && due.is_empty() {
                break;
            }
            for change in changes {
                self.until_done(async || relay::handle(&self.app, &change).await)
                    .await;
            }
            for message in due {
                let copies = match self.dice.below(100) {
                    0..=4 if self.is_lossy() && is_found_again(&message) => 0,
                    5..=14 => 2,
                    15..=19 if self.is_lossy() => {
                        let late = minutes(1 + self.dice.below(10) as i64);
                        let arrives = self.clock.now().plus(late);
                        self.mailbox.add(arrives, &message, None);
                        0
                    }
                    _ => 1,
                };
                for _ in 0..copies {
                    self.until_done(async || work(&self.app, &message).await)
                        .await;
                }
            }
        }
    }

    /// Sends lost messages again. The number of messages that a sweep has sent before a fault ends it depends on the speed of its
    /// reads and on the random ids, which decide the partition of an object. So that a seed replays exactly, messages of an
    /// interrupted sweep do not arrive, and the others arrive in the order of their objects' ids, which begin with the kind and the
    /// time.
    pub async fn sweep(&self) {
        let before = self.mailbox.content().messages.len();
        self.until_done(async || {
            self.mailbox.content().messages.truncate(before);
            sweep::handle(&self.app).await.map(drop)
        })
        .await;
        let sent = &mut self.mailbox.content().messages[before..];
        sent.sort_by_key(|sent| sent.message.subject.object.clone());
    }

    /// Whether messages are lost, early or late, which happens in every other simulation. Only messages with a due time are found
    /// again.
    pub fn is_lossy(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// The messages that have arrived, in order. In simulations with losses, also some that are due within a minute, as if the
    /// scheduler's clock were fast.
    fn take_due(&self) -> Vec<Message> {
        let now = self.clock.now();
        let soon = now.plus(MINUTE);
        let is_early = |sent: &Undelivered| {
            let may_be = self.is_lossy() && sent.arrives <= soon && is_found_again(&sent.message);
            may_be && self.dice.percent(5)
        };
        let due = self
            .mailbox
            .take(|sent| sent.arrives <= now || is_early(sent));
        due.into_iter().map(|sent| sent.message).collect()
    }

    /// Performs an operator's action on networks, until it is done. A try without a visible result may have succeeded: then the next
    /// one is refused with this message.
    pub async fn operate(&self, action: &Value, refusal: &str) {
        self.until_done(async || {
            let action = serde_json::from_value(action.clone()).expect("an action");
            match Box::pin(manage::handle(&self.app, action, None)).await {
                Err(error) if error.to_string().contains(refusal) => Ok(()),
                done => done.map(drop),
            }
        })
        .await;
    }

    async fn until_done(&self, work: impl AsyncFn() -> Result<()>) {
        let mut last = None;
        for _ in 0..DELIVERIES {
            match under_faults(self.dice.below(u64::MAX), work()).await {
                Some(Ok(())) => return,
                Some(Err(error)) => last = Some(error),
                None => {}
            }
        }
        panic!(
            "seed {}: a piece of work was delivered too often, and failed last with {last:?}",
            self.seed
        );
    }
}

//! Fault injection for the table: an HTTP client for the SDK that refuses calls, loses acknowledgements, and ends the calling work.

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use table::{Store, client};
use tokio::sync::Notify;

use crate::access;

/// The factor of the limits of Lambda: under faults, no time-out may decide what happens, because a seed would replay differently.
pub const UNHURRIED: u32 = 100;

/// A reproducible sequence of pseudorandom numbers (SplitMix64).
#[derive(Debug)]
pub struct Dice(AtomicU64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)))
    }

    pub fn below(&self, limit: u64) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns true with this probability in percent.
    pub fn percent(&self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// The fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is refused with this status and exception.
    Refused(u16, &'static str),
    /// The transaction is cancelled because another one touches one of its items.
    Conflict,
    /// The call is carried out, and its response is lost.
    Lost,
    /// The calling work ends before the call, or after it.
    KilledBefore,
    KilledAfter,
}

/// The faults of the calls of one piece of work.
#[derive(Debug)]
struct Fate {
    seed: u64,
    /// The ids of the SDK's calls, in the order in which they were first tried, and the number of tries of each.
    calls: Mutex<Vec<(String, u64)>>,
    killed: Notify,
}

/// The number of faults in all work.
pub static FAULTS: AtomicU64 = AtomicU64::new(0);

/// The number of kills.
pub static KILLS: AtomicU64 = AtomicU64::new(0);

tokio::task_local! {
    static FATE: Arc<Fate>;
}

/// Runs a piece of work under faults. Returns None if it was killed.
pub async fn under_faults<T>(seed: u64, work: impl Future<Output = T>) -> Option<T> {
    let fate = Arc::new(Fate {
        seed,
        calls: Mutex::default(),
        killed: Notify::new(),
    });
    let killed = fate.clone();
    tokio::select! {
        done = FATE.scope(fate, work) => Some(done),
        () = killed.killed.notified() => None,
    }
}

impl Fate {
    /// The dice of one try. They are the same whenever the try is made, because concurrent calls are tried again after waits of random
    /// length.
    fn dice(&self, request: &HttpRequest) -> Dice {
        let id = request.headers().get("amz-sdk-invocation-id");
        let id = id.expect("the SDK numbers its calls");
        let mut calls = self.calls.lock().expect("the calls");
        let known = calls.iter().position(|(call, _)| call == id);
        let place = known.unwrap_or_else(|| {
            calls.push((id.to_owned(), 0));
            calls.len() - 1
        });
        let (_, tries) = &mut calls[place];
        *tries += 1;
        Dice::new(self.seed ^ (place as u64) << 8 ^ *tries)
    }

    fn draw(dice: &Dice, operation: &str) -> Option<Fault> {
        let writes = operation.ends_with("TransactWriteItems");
        let fault = match dice.below(100) {
            0 => Fault::Refused(400, "ThrottlingException"),
            1 => Fault::Refused(400, "ProvisionedThroughputExceededException"),
            2 => Fault::Refused(500, "InternalServerError"),
            3 => Fault::KilledBefore,
            4 => Fault::KilledAfter,
            5 => Fault::Lost,
            6..=15 if writes => Fault::Conflict,
            16..=20 if writes => Fault::Lost,
            21..=23 if writes => Fault::KilledAfter,
            _ => return None,
        };
        FAULTS.fetch_add(1, Ordering::Relaxed);
        Some(fault)
    }
}

/// A store on the table at this address, for work under faults.
pub fn store(url: &str, table: &str) -> Store {
    let config = functions::aws::config();
    let mut settings = client::tuned(&config, UNHURRIED);
    settings.set_endpoint_url(Some(url.to_owned()));
    let inner = access::guarded(config.http_client().expect("a client"));
    settings.set_http_client(Some(http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Faulty(inner.http_connector(settings, components)))
    })));
    Store::new(
        aws_sdk_dynamodb::Client::from_conf(settings.build()),
        table.to_owned(),
    )
}

/// The scripted fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The call is carried out, and its response is lost.
    Lose,
    /// The transaction is cancelled because another one touches an item of it.
    Conflict,
    /// The call is refused because DynamoDB has an internal error.
    Refuse,
}

/// A store on the table at this address, whose first calls of an operation fail as the script says.
pub fn scripted(url: &str, table: &str, operation: &'static str, script: Vec<Step>) -> Store {
    let config = functions::aws::config();
    let mut settings = client::tuned(&config, UNHURRIED);
    settings.set_endpoint_url(Some(url.to_owned()));
    let inner = config.http_client().expect("a client");
    let steps = Arc::new(Mutex::new(script.into_iter()));
    settings.set_http_client(Some(http_client_fn(move |settings, components| {
        let line = inner.http_connector(settings, components);
        SharedHttpConnector::new(Scripted(operation, steps.clone(), line))
    })));
    Store::new(
        aws_sdk_dynamodb::Client::from_conf(settings.build()),
        table.to_owned(),
    )
}

type Steps = Arc<Mutex<std::vec::IntoIter<Step>>>;

#[derive(Debug)]
struct Scripted(&'static str, Steps, SharedHttpConnector);

impl HttpConnector for Scripted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inner = self.2.clone();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let is_meant = target.ends_with(self.0);
        let step = is_meant.then(|| self.1.lock().expect("the script").next());
        let writes = items(&request);
        HttpConnectorFuture::new(async move {
            match step.flatten() {
                None => inner.call(request).await,
                Some(Step::Lose) => {
                    drop(inner.call(request).await);
                    Err(ConnectorError::io("the acknowledgement was lost".into()))
                }
                Some(Step::Conflict) => {
                    let mut reasons = vec![serde_json::json!({"Code": "None"}); writes];
                    reasons[0] = serde_json::json!({"Code": "TransactionConflict"});
                    let reasons = serde_json::Value::from(reasons);
                    let more = format!(",\"CancellationReasons\":{reasons}");
                    refusal(400, "TransactionCanceledException", &more)
                }
                Some(Step::Refuse) => refusal(500, "InternalServerError", ""),
            }
        })
    }
}

#[derive(Debug)]
struct Faulty(SharedHttpConnector);

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inner = self.0.clone();
        let Ok(fate) = FATE.try_with(Arc::clone) else {
            return inner.call(request);
        };
        let operation = request.headers().get("x-amz-target").unwrap_or_default();
        let dice = fate.dice(&request);
        let fault = Fate::draw(&dice, operation);
        let writes = items(&request);
        HttpConnectorFuture::new(async move {
            match fault {
                None => inner.call(request).await,
                Some(Fault::Refused(status, name)) => refusal(status, name, ""),
                Some(Fault::Conflict) => {
                    let name = "TransactionCanceledException";
                    refusal(400, name, &reasons(writes, &dice))
                }
                Some(Fault::Lost) => {
                    drop(inner.call(request).await);
                    Err(ConnectorError::io("the acknowledgement was lost".into()))
                }
                Some(Fault::KilledBefore) => killed(&fate).await,
                Some(Fault::KilledAfter) => {
                    drop(inner.call(request).await);
                    killed(&fate).await
                }
            }
        })
    }
}

async fn killed(fate: &Fate) -> Result<HttpResponse, ConnectorError> {
    KILLS.fetch_add(1, Ordering::Relaxed);
    fate.killed.notify_one();
    pending().await
}

/// The number of items that a transaction writes.
fn items(request: &HttpRequest) -> usize {
    let body: serde_json::Value = request
        .body()
        .bytes()
        .and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or_default();
    body["TransactItems"].as_array().map_or(0, Vec::len)
}

/// The reasons of a cancelled transaction: one of its items was being written by another, or throttled.
fn reasons(writes: usize, dice: &Dice) -> String {
    let at = dice.below(writes.max(1) as u64) as usize;
    let code = match dice.below(3) {
        0 => "ThrottlingError",
        _ => "TransactionConflict",
    };
    let reason = |n: usize| if n == at { code } else { "None" };
    let reasons: Vec<_> = (0..writes)
        .map(|n| serde_json::json!({"Code": reason(n)}))
        .collect();
    format!(
        ",\"CancellationReasons\":{}",
        serde_json::Value::from(reasons)
    )
}

fn refusal(status: u16, name: &str, more: &str) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(status).expect("a status");
    let body = format!(
        "{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{name}\",\"message\":\"on purpose\"{more}}}"
    );
    Ok(HttpResponse::new(status, body.into()))
}

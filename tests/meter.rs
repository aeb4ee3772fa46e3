//! A table whose calls are counted: each call with its duration and its capacity units.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use serde_json::Value;
use table::{Store, client};

use crate::SLACK;

/// One call to the table.
#[derive(Debug, Clone)]
pub struct Call {
    pub operation: String,
    pub began: Instant,
    pub ended: Instant,
    /// Read or write units, as reported by the table.
    pub capacity: f64,
    pub request: Value,
    /// The units of the table and of each index, as reported by the table.
    pub consumed: Value,
    /// Whether the call succeeded.
    pub succeeded: bool,
}

impl Call {
    pub fn is_read(&self) -> bool {
        ["GetItem", "Query", "BatchGetItem", "TransactGetItems"].contains(&self.operation.as_str())
    }
}

/// The calls since they were last read.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Vec<Call>>>, Arc<AtomicU64>);

impl Meter {
    /// A store on the table at this address whose calls are counted.
    pub fn store(&self, url: &str, table: &str) -> Store {
        let config = functions::aws::config();
        let mut settings = client::tuned(&config, SLACK);
        settings.set_endpoint_url(Some(url.to_owned()));
        let inner = config.http_client().expect("a client");
        settings.set_http_client(Some(self.counted(inner)));
        Store::new(
            aws_sdk_dynamodb::Client::from_conf(settings.build()),
            table.to_owned(),
        )
    }

    /// The same connections to the table, whose calls are counted.
    pub fn counted(&self, inner: SharedHttpClient) -> SharedHttpClient {
        let meter = self.clone();
        http_client_fn(move |settings, components| {
            let line = inner.http_connector(settings, components);
            SharedHttpConnector::new(Metered(meter.clone(), line))
        })
    }

    /// Makes every call take this number of milliseconds longer from now on, as if the table were further away.
    pub fn slow_down(&self, milliseconds: u64) {
        self.1.store(milliseconds, Ordering::Relaxed);
    }

    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock().expect("the calls"))
    }
}

/// The number of consecutive calls: the longest sequence in which each call began after the one before had ended.
pub fn in_a_row(calls: &[Call]) -> usize {
    let mut calls: Vec<&Call> = calls.iter().collect();
    calls.sort_by_key(|call| call.began);
    let mut lengths: Vec<usize> = Vec::new();
    for (n, call) in calls.iter().enumerate() {
        let before = (0..n).filter(|&m| calls[m].ended <= call.began);
        lengths.push(1 + before.map(|m| lengths[m]).max().unwrap_or(0));
    }
    lengths.into_iter().max().unwrap_or(0)
}

/// The number of calls of each operation.
pub fn by_operation(calls: &[Call]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.operation.as_str()).or_default() += 1;
    }
    counts
}

#[derive(Debug)]
struct Metered(Meter, SharedHttpConnector);

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (meter, inner) = (self.0.clone(), self.1.clone());
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let content = request.body().bytes().map(serde_json::from_slice);
        let content: Value = content.and_then(Result::ok).unwrap_or_default();
        ask_for_capacity(&mut request);
        HttpConnectorFuture::new(async move {
            let began = Instant::now();
            let latency = meter.1.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(latency)).await;
            let response = inner.call(request).await?;
            let (response, body) = read(response).await?;
            let call = Call {
                operation,
                began,
                ended: Instant::now(),
                capacity: units(&body["ConsumedCapacity"]),
                request: content,
                consumed: body["ConsumedCapacity"].clone(),
                succeeded: response.status().is_success(),
            };
            meter.0.lock().expect("the calls").push(call);
            Ok(response)
        })
    }
}

/// The signature does not match the body then, but local tables do not check it.
fn ask_for_capacity(request: &mut HttpRequest) {
    let body = request.body().bytes().map(serde_json::from_slice::<Value>);
    if let Some(Ok(mut body)) = body {
        body["ReturnConsumedCapacity"] = "INDEXES".into();
        let body = body.to_string();
        let length = body.len().to_string();
        request.headers_mut().insert("content-length", length);
        *request.body_mut() = body.into();
    }
}

async fn read(response: HttpResponse) -> Result<(HttpResponse, Value), ConnectorError> {
    use axum::body::{Body, to_bytes};
    let (status, headers) = (response.status(), response.headers().clone());
    let body = Body::new(response.into_body());
    let bytes = to_bytes(body, usize::MAX).await;
    let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?;
    let shown = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut response = HttpResponse::new(status, bytes.to_vec().into());
    *response.headers_mut() = headers;
    Ok((response, shown))
}

/// The units of one table, or of several.
fn units(consumed: &Value) -> f64 {
    match consumed {
        Value::Array(tables) => tables.iter().map(units).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or(0.0),
    }
}

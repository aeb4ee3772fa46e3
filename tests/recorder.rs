//! A table that records calls and passes them on to another one.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

#[derive(Clone)]
pub struct Recorder {
    http: reqwest::Client,
    table: String,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// A call of the table.
#[derive(Debug, Clone)]
pub struct Call {
    /// `GetItem`
    pub action: String,
    pub request: Value,
    /// The units that it consumes of the table and its indexes.
    pub units: f64,
}

impl Call {
    pub fn is_read(&self) -> bool {
        ["GetItem", "Query", "BatchGetItem", "TransactGetItems"].contains(&self.action.as_str())
    }

    /// The actions on items of which the call consists, each with the item's partition key.
    pub fn writes(&self) -> Vec<(String, String)> {
        let mut noted = Vec::new();
        let mut note = |action: &str, item: &Value| {
            if let Some(pk) = item["pk"]["S"].as_str() {
                noted.push((action.to_owned(), pk.to_owned()));
            }
        };
        let request = &self.request;
        match self.action.as_str() {
            "PutItem" => note("PutItem", &request["Item"]),
            action @ ("UpdateItem" | "DeleteItem") => note(action, &request["Key"]),
            "TransactWriteItems" => {
                for item in request["TransactItems"].as_array().expect("items") {
                    for (kind, write) in item.as_object().expect("a write") {
                        note(&format!("{kind}Item"), &write["Key"]);
                        note(&format!("{kind}Item"), &write["Item"]);
                    }
                }
            }
            action @ "BatchWriteItem" => {
                for batch in request["RequestItems"]
                    .as_object()
                    .expect("tables")
                    .values()
                {
                    for write in batch.as_array().expect("writes") {
                        note(action, &write["PutRequest"]["Item"]);
                        note(action, &write["DeleteRequest"]["Key"]);
                    }
                }
            }
            _ => {}
        }
        noted
    }
}

impl Recorder {
    /// Starts in front of the table at this address. Returns its own address first.
    pub async fn start(table: &str) -> (String, Self) {
        let recorder = Self {
            http: reqwest::Client::new(),
            table: table.to_owned(),
            calls: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(pass).with_state(recorder.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, recorder)
    }

    /// Removes and returns the recorded calls.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.lock().expect("a lock"))
    }
}

async fn pass(State(recorder): State<Recorder>, headers: HeaderMap, body: Bytes) -> Response {
    let action = headers["x-amz-target"].to_str().expect("a target");
    let action = action.rsplit('.').next().unwrap_or_default().to_owned();
    let request: Value = serde_json::from_slice(&body).expect("JSON");
    let mut forwarded = request.clone();
    if action.ends_with("Item") || action.ends_with("Items") || action == "Query" {
        forwarded["ReturnConsumedCapacity"] = "INDEXES".into();
    }
    let mut headers = headers;
    headers.remove("host");
    headers.remove("content-length");
    let sent = recorder
        .http
        .post(&recorder.table)
        .headers(headers)
        .body(forwarded.to_string());
    let answer = sent.send().await.expect("the table answers");
    let status = StatusCode::from_u16(answer.status().as_u16()).expect("a status");
    let content = answer.bytes().await.expect("an answer");
    let response: Value = serde_json::from_slice(&content).unwrap_or_default();
    let consumed = &response["ConsumedCapacity"];
    let consumed = consumed
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![consumed.clone()]);
    let units = consumed
        .iter()
        .filter_map(|capacity| capacity["CapacityUnits"].as_f64());
    let units = units.sum();
    let mut calls = recorder.calls.lock().expect("a lock");
    calls.push(Call {
        action,
        request,
        units,
    });
    drop(calls);
    (
        status,
        [("content-type", "application/x-amz-json-1.0")],
        content,
    )
        .into_response()
}

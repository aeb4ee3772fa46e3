//! `GET /_local/due`: the work that happens later, in the order in which it becomes due.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use kernel::{Id, Timestamp};
use models::ports::{JobSubject, Message};
use serde::Serialize;

use crate::engine::Engine;

pub const ROUTE: &str = "/_local/due";

/// The number of pieces of work that are listed.
const LISTED: usize = 100;

/// The work that is pending.
#[derive(Debug, Serialize)]
pub struct Due {
    now: Timestamp,
    /// The total number of pieces of work that are pending.
    total: usize,
    /// The first of them, by the time at which they are due.
    data: Vec<Work>,
}

/// A piece of work.
#[derive(Debug, Serialize)]
struct Work {
    at: Timestamp,
    /// Null for work that belongs to no account.
    account: Option<Id>,
    /// The function that does it, for example `confirm-reservation`.
    function: &'static str,
    /// The id of the object that it concerns; of a webhook delivery, the event. Null for a tariff of a charging network.
    object: Option<Id>,
}

/// `GET /_local/due`
pub async fn list(State(engine): State<Arc<Engine>>) -> Json<Due> {
    let (total, pending) = engine.pending(LISTED);
    let data = pending
        .into_iter()
        .map(|(at, message)| Work::new(at, &message));
    Json(Due {
        now: engine.now(),
        total,
        data: data.collect(),
    })
}

impl Work {
    fn new(at: Timestamp, message: &Message) -> Self {
        let JobSubject { tenant, object, .. } = &message.subject;
        Self {
            at,
            account: tenant.as_ref().map(|tenant| tenant.account.clone()),
            function: message.function,
            object: object.clone(),
        }
    }
}

//! `GET /_local/due`: the work that happens later, in the order in which it falls due.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use shared::ports::Message;
use shared::{Id, Tenant, Timestamp};

use crate::engine::Engine;

pub const ROUTE: &str = "/_local/due";

/// How many pieces of work are listed.
const LISTED: usize = 100;

/// The work that is pending.
#[derive(Debug, Serialize)]
pub struct Due {
    now: Timestamp,
    /// How many pieces of work are pending in all.
    total: usize,
    /// The first of them.
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
        let of =
            |tenant: &Tenant, object: &Id| (Some(tenant.account.clone()), Some(object.clone()));
        let (account, object) = match message {
            Message::Confirm {
                tenant,
                reservation,
                ..
            }
            | Message::Expire {
                tenant,
                reservation,
            }
            | Message::ReserveAtNetwork {
                tenant,
                reservation,
            }
            | Message::CancelAtNetwork {
                tenant,
                reservation,
                ..
            }
            | Message::ChargeFee {
                tenant,
                reservation,
            } => of(tenant, reservation),
            Message::StopSession { tenant, session }
            | Message::SettleSession { tenant, session }
            | Message::OperateSession { tenant, session } => of(tenant, session),
            Message::Deliver { tenant, event, .. } => of(tenant, event),
            Message::GenerateReport { tenant, report } => of(tenant, report),
            Message::CheckInvoice { tenant, invoice } => of(tenant, invoice),
            Message::SettleTransaction {
                tenant,
                transaction,
            } => of(tenant, transaction),
            Message::BillFleet { tenant, fleet } => of(tenant, fleet),
            Message::RefreshTokens {
                tenant, of: object, ..
            } => of(tenant, object),
            Message::SyncNetwork { network, .. } | Message::PushToken { network, .. } => {
                (None, Some(network.clone()))
            }
            Message::ApplyResult { command, .. } => (None, Some(command.clone())),
            Message::ApplyTariff { .. } | Message::ApplyReceived { .. } | Message::Sweep { .. } => {
                (None, None)
            }
        };
        Self {
            at,
            account,
            function: message.work().function(),
            object,
        }
    }
}

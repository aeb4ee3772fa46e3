//! What the service needs from outside besides the table: a clock, queues, and one-time schedules.

pub mod files;
pub mod network;
pub mod payments;

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::id::{Id, Kind};
use crate::models::network::ObjectId;
use crate::models::reservation::ReservationRequest;
use crate::origin::{Mode, Tenant};
use crate::time::{SignedDuration, Timestamp, millis, minutes};

/// What time it is.
pub trait Clock: Send + Sync {
    /// The service's time: that of everything that happens in it. Local runs and tests can move it.
    fn now(&self) -> Timestamp;

    /// The machine's time, which cannot be moved: that of what others compare with their own clocks, such as the time of a signature.
    /// A clock that is not connected with that of a machine has one time only.
    fn wall_clock(&self) -> Timestamp {
        self.now()
    }
}

/// Hands messages to the functions that work on them: at least once each, in no order.
pub trait Queue: Send + Sync {
    /// Sends a message that arrives after so many seconds, at most 900.
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>>;

    /// Puts a change that can never be relayed where an operator finds it.
    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>>;
}

/// A change of the table that can never be relayed, without its content, which may be too large for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedChange {
    /// The object that changed; none for a row that belongs to no object.
    pub object: Option<Id>,
    /// The key of the row.
    pub pk: String,
    pub sk: String,
    /// Which write of the row it was.
    pub version: Option<u64>,
    pub error: String,
    pub failed_at: Timestamp,
}

/// Sends messages at a moment that is further away than a queue can wait.
pub trait Schedules: Send + Sync {
    /// Sends the message at that moment. A schedule of the same name is replaced.
    fn set<'a>(
        &'a self,
        name: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>>;

    /// Removes the schedule of that name, if there is one.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// A place in a partition of the index of what is due: the keys of a row in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueCursor {
    pub pk: String,
    pub sk: String,
    pub next_at: String,
}

/// A piece of background work. The worker checks whether there is still anything to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Message {
    /// Try to confirm a pending reservation, or check whether the connector of a confirmed one is still in order.
    Confirm {
        tenant: Tenant,
        reservation: Id,
        /// What the attempt can read at the same time as the reservation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Box<ReservationRequest>>,
    },
    /// Expire a confirmed reservation whose vehicle has not arrived.
    Expire { tenant: Tenant, reservation: Id },
    /// End a session that has reached its limit.
    StopSession { tenant: Tenant, session: Id },
    /// Take the next step of a confirmed reservation at the network of its station.
    ReserveAtNetwork { tenant: Tenant, reservation: Id },
    /// End a reservation at the network of the station.
    CancelAtNetwork {
        tenant: Tenant,
        reservation: Id,
        station: Id,
        /// What the network calls the reservation.
        outward: String,
    },
    /// Charge the fee of a reservation that is over.
    ChargeFee { tenant: Tenant, reservation: Id },
    /// Charge the payment method of a session that has ended.
    SettleSession { tenant: Tenant, session: Id },
    /// Make one attempt to deliver an event.
    Deliver {
        tenant: Tenant,
        event: Id,
        endpoint: Id,
        attempt: u32,
    },
    /// Generate the file of a pending report.
    GenerateReport { tenant: Tenant, report: Id },
    /// Process an invoice that is overdue, or whose payment was interrupted.
    CheckInvoice { tenant: Tenant, invoice: Id },
    /// Send a pending refund, or finish a top-up.
    SettleTransaction { tenant: Tenant, transaction: Id },
    /// Pull what has changed at a charging network.
    SyncNetwork { mode: Mode, network: Id },
    /// Give the connectors that name a tariff of a network its prices, those of the locations after the given one.
    ApplyTariff {
        mode: Mode,
        tariff: ObjectId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<ObjectId>,
    },
    /// Do what a charging session at a network's station waits for: send a command, or give up waiting.
    OperateSession { tenant: Tenant, session: Id },
    /// Work on the response to a command to a network, or on the station's result.
    ApplyResult { mode: Mode, command: Id },
    /// Work on a session or a CDR that a network has sent.
    ApplyReceived { mode: Mode, object: ObjectId },
    /// Send the token of a charge card to a network.
    PushToken {
        mode: Mode,
        network: Id,
        uid: String,
    },
    /// Send again what is overdue in a partition of the index `next_action`, from a place on.
    Sweep {
        partition: u8,
        moment: Timestamp,
        after: DueCursor,
    },
    /// Bring the tokens of charge cards up to date that depend on an object, those of the cards after the given one.
    RefreshTokens {
        tenant: Tenant,
        of: Id,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Id>,
    },
    /// Draft the invoice and create the report of a fleet whose billing or reporting period is over.
    BillFleet { tenant: Tenant, fleet: Id },
}

/// The queues: one per function that works on messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Work {
    ConfirmReservation,
    ExpireReservation,
    StopSession,
    SettleSession,
    DeliverWebhook,
    GenerateReport,
    CheckInvoice,
    SettleTransaction,
    BillFleet,
    SyncNetwork,
    OperateNetwork,
    RefreshTokens,
    SweepPartition,
}

impl Work {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The name of the function.
    pub const fn function(self) -> &'static str {
        self.into_str()
    }
}

impl Message {
    pub fn work(&self) -> Work {
        match self {
            Self::Confirm { .. } => Work::ConfirmReservation,
            Self::Expire { .. } => Work::ExpireReservation,
            Self::StopSession { .. } => Work::StopSession,
            Self::SettleSession { .. } | Self::ChargeFee { .. } => Work::SettleSession,
            Self::Deliver { .. } => Work::DeliverWebhook,
            Self::GenerateReport { .. } => Work::GenerateReport,
            Self::CheckInvoice { .. } => Work::CheckInvoice,
            Self::SettleTransaction { .. } => Work::SettleTransaction,
            Self::BillFleet { .. } => Work::BillFleet,
            Self::OperateSession { .. }
            | Self::ApplyResult { .. }
            | Self::ApplyReceived { .. }
            | Self::ReserveAtNetwork { .. }
            | Self::CancelAtNetwork { .. } => Work::OperateNetwork,
            Self::SyncNetwork { .. } | Self::ApplyTariff { .. } | Self::PushToken { .. } => {
                Work::SyncNetwork
            }
            Self::RefreshTokens { .. } => Work::RefreshTokens,
            Self::Sweep { .. } => Work::SweepPartition,
        }
    }

    /// What the message is about: an object of a tenant, or a charging network, which belongs to none.
    pub fn subject(&self) -> (Option<&Tenant>, Option<&Id>) {
        let (tenant, id) = match self {
            Self::Confirm {
                tenant,
                reservation,
                ..
            }
            | Self::Expire {
                tenant,
                reservation,
            }
            | Self::ReserveAtNetwork {
                tenant,
                reservation,
            }
            | Self::CancelAtNetwork {
                tenant,
                reservation,
                ..
            }
            | Self::ChargeFee {
                tenant,
                reservation,
            } => (tenant, reservation),
            Self::StopSession { tenant, session }
            | Self::SettleSession { tenant, session }
            | Self::OperateSession { tenant, session } => (tenant, session),
            Self::GenerateReport { tenant, report } => (tenant, report),
            Self::CheckInvoice { tenant, invoice } => (tenant, invoice),
            Self::SettleTransaction {
                tenant,
                transaction,
            } => (tenant, transaction),
            Self::BillFleet { tenant, fleet } => (tenant, fleet),
            Self::RefreshTokens { tenant, of, .. } => (tenant, of),
            Self::Deliver { tenant, event, .. } => (tenant, event),
            Self::SyncNetwork { network, .. } | Self::PushToken { network, .. } => {
                return (None, Some(network));
            }
            Self::ApplyResult { command, .. } => return (None, Some(command)),
            Self::ApplyTariff { .. } | Self::ApplyReceived { .. } | Self::Sweep { .. } => {
                return (None, None);
            }
        };
        (Some(tenant), Some(id))
    }

    /// The name of the message's schedule: the id of what it is about, or a digest of several names, since
    /// a name has at most 64 characters.
    pub fn schedule_name(&self) -> String {
        match self {
            Self::Confirm { reservation, .. }
            | Self::Expire { reservation, .. }
            | Self::ReserveAtNetwork { reservation, .. }
            | Self::ChargeFee { reservation, .. } => reservation.to_string(),
            Self::CancelAtNetwork { outward, .. } => digest_of("cancel", outward),
            Self::StopSession { session, .. }
            | Self::SettleSession { session, .. }
            | Self::OperateSession { session, .. } => session.to_string(),
            Self::ApplyResult { command, .. } => command.to_string(),
            Self::ApplyReceived { object, .. } => digest_of("received", &object.to_string()),
            Self::GenerateReport { report, .. } => report.to_string(),
            Self::CheckInvoice { invoice, .. } => invoice.to_string(),
            Self::SettleTransaction { transaction, .. } => transaction.to_string(),
            Self::BillFleet { fleet, .. } => fleet.to_string(),
            Self::SyncNetwork { network, .. } => network.to_string(),
            Self::Sweep { partition, .. } => format!("sweep-{partition}"),
            Self::ApplyTariff { tariff, .. } => digest_of("tariff", &tariff.to_string()),
            Self::PushToken { network, uid, .. } => digest_of("token", &format!("{network} {uid}")),
            Self::RefreshTokens { of, .. } => of.to_string(),
            Self::Deliver {
                event, endpoint, ..
            } => digest_of("deliver", &format!("{event} {endpoint}")),
        }
    }
}

/// The names of the schedules that an object of a tenant may have: that of the object itself, and for an event those of its
/// deliveries to these endpoints.
pub fn schedule_names(tenant: &Tenant, id: &Id, endpoints: &BTreeSet<Id>) -> Vec<String> {
    match id.kind() {
        Some(
            Kind::Reservation
            | Kind::ChargingSession
            | Kind::Invoice
            | Kind::Report
            | Kind::Transaction
            | Kind::ChargeCard
            | Kind::Fleet,
        ) => vec![id.to_string()],
        Some(Kind::Event) => {
            let deliver = |endpoint: &Id| Message::Deliver {
                tenant: tenant.clone(),
                event: id.clone(),
                endpoint: endpoint.clone(),
                attempt: 0,
            };
            let messages = endpoints.iter().map(deliver);
            messages.map(|message| message.schedule_name()).collect()
        }
        _ => Vec::new(),
    }
}

/// The name of a schedule that belongs to no single object.
fn digest_of(what: &str, name: &str) -> String {
    let digest = Sha256::digest(name);
    format!("{what}-{}", hex::encode(&digest[..16]))
}

/// The longest a queue can hold a message back.
const QUEUE_DELAY: SignedDuration = minutes(15);

/// Sends a message at a moment: at once, on the queue's delay, or on a schedule, by how far away it is.
///
/// # Errors
/// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
pub async fn send_at(
    queue: &dyn Queue,
    schedules: &dyn Schedules,
    now: Timestamp,
    at: Timestamp,
    message: &Message,
) -> Result<()> {
    let wait = at.since(now);
    if wait > QUEUE_DELAY {
        return schedules.set(&message.schedule_name(), at, message).await;
    }
    let seconds =
        u16::try_from((wait.max(SignedDuration::ZERO) + millis(999)).as_secs()).unwrap_or(900);
    queue.send(message, seconds).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Queue for Notes {
        fn send<'a>(&'a self, _: &'a Message, delay: u16) -> BoxFuture<'a, Result<()>> {
            self.0.lock().unwrap().push(format!("queue {delay}"));
            Box::pin(async { Ok(()) })
        }

        fn fail<'a>(&'a self, _: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    impl Schedules for Notes {
        fn set<'a>(
            &'a self,
            name: &'a str,
            _: Timestamp,
            _: &'a Message,
        ) -> BoxFuture<'a, Result<()>> {
            assert!(name.len() <= 64);
            self.0.lock().unwrap().push("schedule".into());
            Box::pin(async { Ok(()) })
        }

        fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn short_waits_ride_on_the_queue_and_long_ones_on_a_schedule() {
        let tenant = Tenant {
            account: Id::from_number(Kind::Account, 1),
            mode: Mode::Test,
        };
        let (event, endpoint) = (
            Id::from_number(Kind::Event, 1),
            Id::from_number(Kind::WebhookEndpoint, 1),
        );
        let message = Message::Deliver {
            tenant,
            event,
            endpoint,
            attempt: 1,
        };
        let notes = Notes::default();
        let now = Timestamp::from_unix_millis(0);
        for wait in [-5, 0, 1, 4_999, 900_000, 900_001] {
            let sent = send_at(&notes, &notes, now, now.plus(millis(wait)), &message);
            sent.await.unwrap();
        }
        let want = [
            "queue 0",
            "queue 0",
            "queue 1",
            "queue 5",
            "queue 900",
            "schedule",
        ];
        assert_eq!(*notes.0.lock().unwrap(), want);
    }
}

//! Webhook deliveries: the log of a webhook endpoint, an entry for each attempt. Kept 30 days.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::event::EventType;
use super::stored::Object;
use kernel::id::{Id, Kind};
use kernel::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDelivery {
    pub id: Id,
    pub object: Kind,
    /// 1 for the first attempt to deliver the event to this endpoint.
    pub attempt: u32,
    /// When the attempt was made.
    pub created: Timestamp,
    pub event: Id,
    pub event_type: EventType,
    /// Milliseconds.
    pub latency: u64,
    /// When the next attempt is due; null after a success and after the last attempt.
    pub next_attempt: Option<Timestamp>,
    /// The first 4 KiB of the receiver's answer, or why there was none.
    pub response: String,
    /// The receiver's HTTP status; null when there was no answer.
    pub response_status: Option<u16>,
    pub status: DeliveryStatus,
    pub webhook_endpoint: Id,
}

impl Object for WebhookDelivery {
    type Internal = ();

    const KIND: Kind = Kind::WebhookDelivery;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    Succeeded,
    Failed,
}

impl WebhookDelivery {
    /// The id of an attempt, the same however often it is written down.
    pub fn id_of(event: &Id, endpoint: &Id, attempt: u32, at: Timestamp) -> Id {
        let seed = format!("{event} {endpoint} {attempt}");
        Id::derived(Kind::WebhookDelivery, at, &seed)
    }

    /// The id of the delivery of an event to an endpoint: that of the first attempt, if it is made at the moment of the event.
    pub fn first_id(event: &Id, endpoint: &Id) -> Id {
        let at = event.time(Kind::Event).unwrap_or(Timestamp::EPOCH);
        Self::id_of(event, endpoint, 1, at)
    }
}

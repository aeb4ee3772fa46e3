//! Webhook deliveries: the log of a webhook endpoint, an entry for each attempt. Kept 30 days.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::event::EventType;
use super::stored::Object;
use super::webhooks::headers::{CustomHeaders, MASKED};
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
    /// The event that is the body of the request, in the version of the endpoint.
    pub event: Id,
    /// Type of the event that was sent.
    pub event_type: EventType,
    /// Milliseconds.
    pub latency: u64,
    /// When the next attempt is due; null after a success and after the last attempt.
    pub next_attempt: Option<Timestamp>,
    /// Whether the event was delivered once more, on request or by a replay. The request has the header `webhook-redelivery: true` then.
    #[serde(default)]
    #[schema(required)]
    pub redelivery: bool,
    /// The headers of the request by name. Signatures and the values of the endpoint's own `headers` are masked.
    #[serde(default)]
    #[schema(required)]
    pub request_headers: BTreeMap<String, String>,
    /// The first 4 KiB of the receiver's answer, or why there was none.
    pub response: String,
    /// Headers of the receiver's answer by name: `content-type`, `location`, `retry-after`, `server`, `webhook-delivery` and `www-authenticate`, as
    /// far as it has them. Empty after a success without `webhook-delivery`.
    #[serde(default)]
    #[schema(required)]
    pub response_headers: BTreeMap<String, String>,
    /// The receiver's HTTP status; null when there was no answer.
    pub response_status: Option<u16>,
    /// Whether the endpoint acknowledged this attempt.
    pub status: DeliveryStatus,
    /// Whether the receiver's answer was longer than `response`.
    #[serde(default)]
    #[schema(required)]
    pub truncated: bool,
    /// Id of the webhook endpoint.
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

/// The header with the time of the signature: stored where it does not follow from the attempt.
const TIMESTAMP: &str = "webhook-timestamp";

/// What the log says of an attempt in place of a response, if no request was sent.
pub const NOT_MADE: &str = "the endpoint is disabled or deleted";

/// The header of a receiver's response that controls deliveries to its endpoint.
pub const CONTROL: &str = "webhook-delivery";

/// The header of a delivery that is made once more.
pub const REDELIVERY: &str = "webhook-redelivery";

/// The headers of a receiver's answer that are kept, and how much of each, in bytes.
pub const KEPT_HEADERS: [&str; 6] = [
    "content-type",
    "location",
    "retry-after",
    "server",
    CONTROL,
    "www-authenticate",
];
pub const KEPT_OF_HEADER: usize = 256;

impl WebhookDelivery {
    /// The request headers that are stored: the account's own, masked, and the time of the signature if it is not that of the attempt, because
    /// the clock of the service was moved. The others follow from the attempt.
    pub fn stored_headers(
        created: Timestamp,
        signed: Timestamp,
        custom: Option<&CustomHeaders>,
    ) -> BTreeMap<String, String> {
        let differs = created.unix_seconds() != signed.unix_seconds();
        let time = (TIMESTAMP, signed.unix_seconds().to_string());
        let custom = custom.into_iter().flat_map(CustomHeaders::iter);
        let custom = custom.map(|(name, _)| (name, MASKED.to_owned()));
        let headers = differs.then_some(time).into_iter().chain(custom);
        let owned = headers.map(|(name, value)| (name.to_owned(), value));
        owned.collect()
    }

    /// Whether a request was sent.
    pub fn was_made(&self) -> bool {
        self.response_status.is_some() || self.response != NOT_MADE
    }

    /// The attempt with all headers of its request.
    #[must_use]
    pub fn with_headers(mut self) -> Self {
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("service-signature", MASKED.to_owned()),
            ("webhook-id", self.event.to_string()),
            ("webhook-signature", MASKED.to_owned()),
            (TIMESTAMP, self.created.unix_seconds().to_string()),
        ];
        let mark = self.redelivery.then(|| (REDELIVERY, "true".to_owned()));
        for (name, value) in headers.into_iter().chain(mark) {
            let known = self.request_headers.entry(name.to_owned());
            known.or_insert(value);
        }
        self
    }

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

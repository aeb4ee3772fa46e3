//! Webhook deliveries: the log of a webhook endpoint, with an entry for each attempt. Entries are kept for 30 days.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::event::EventType;
use super::stored::Object;
use super::webhooks::headers::{CustomHeaders, MASKED};
use kernel::{Id, Kind, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookDelivery {
    pub id: Id,
    pub object: Kind,
    /// Number of the attempt: 1 for the first attempt to deliver the event to this endpoint.
    pub attempt: u32,
    /// When the attempt was made.
    pub created: Timestamp,
    /// The event that is the body of the request, in the version of the endpoint.
    pub event: Id,
    /// Type of the event that was sent.
    pub event_type: EventType,
    /// Duration of the attempt in milliseconds.
    pub latency: u64,
    /// When the next attempt is due; null after a success and after the last attempt.
    pub next_attempt: Option<Timestamp>,
    /// Whether the attempt belongs to a redelivery, by request or by a replay. The request then has the header `webhook-redelivery: true`.
    #[serde(default)]
    #[schema(required)]
    pub redelivery: bool,
    /// The headers of the request by name. Signatures and the values of the endpoint's own `headers` are masked.
    #[serde(default)]
    #[schema(required)]
    pub request_headers: BTreeMap<String, String>,
    /// The first 4 KiB of the body of the receiver's response, or the reason why there was none.
    pub response: String,
    /// Headers of the receiver's response by name: `content-type`, `location`, `retry-after`, `server`, `webhook-delivery` and
    /// `www-authenticate`, if present. Empty after a success without `webhook-delivery`.
    #[serde(default)]
    #[schema(required)]
    pub response_headers: BTreeMap<String, String>,
    /// The receiver's HTTP status; null without a response.
    pub response_status: Option<u16>,
    /// Whether the endpoint acknowledged this attempt.
    pub status: DeliveryStatus,
    /// Whether the body of the receiver's response was longer than `response`.
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

/// The header with the time of the signature. It is stored if it does not follow from the attempt.
const TIMESTAMP: &str = "webhook-timestamp";

/// The text in the log instead of a response if no request was sent.
pub const NOT_MADE: &str = "the endpoint is disabled or deleted";
pub const NOT_WANTED: &str = "the endpoint no longer receives such events";

/// The header of a receiver's response that controls deliveries to its endpoint.
pub const CONTROL: &str = "webhook-delivery";

/// The header of a redelivery.
pub const REDELIVERY: &str = "webhook-redelivery";

/// The headers of a receiver's response that are stored, with the maximum length of each, in bytes.
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
    /// Returns the request headers that are stored: the account's own, masked, and the time of the signature if it is not that of the
    /// attempt, because the clock of the service was moved. The other headers follow from the attempt.
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

    /// Checks whether a request was sent.
    pub fn was_made(&self) -> bool {
        self.response_status.is_some() || ![NOT_MADE, NOT_WANTED].contains(&self.response.as_str())
    }

    /// Returns the attempt with all headers of its request.
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

    /// Returns the id of an attempt. It is derived from the parameters, so it is the same if the attempt is written again.
    pub fn id_of(event: &Id, endpoint: &Id, attempt: u32, at: Timestamp) -> Id {
        let seed = format!("{event} {endpoint} {attempt}");
        Id::derived(Kind::WebhookDelivery, at, &seed)
    }

    /// Returns the id of the delivery of an event to an endpoint: that of the first attempt, if it is made at the time of the event.
    pub fn first_id(event: &Id, endpoint: &Id) -> Id {
        let at = event.time(Kind::Event).unwrap_or(Timestamp::EPOCH);
        Self::id_of(event, endpoint, 1, at)
    }
}

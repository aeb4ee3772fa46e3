//! The settings of an endpoint: the rate, the types and the form of the events that are sent to it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::event_type::EventType;

/// The maximum number of requests per second: a whole number from 1 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "u32")]
#[schema(value_type = u32, minimum = 1, maximum = 1000)]
pub struct MaxPerSecond(u32);

impl TryFrom<u32> for MaxPerSecond {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, &'static str> {
        match number {
            1..=1000 => Ok(Self(number)),
            _ => Err("must be a whole number from 1 to 1,000"),
        }
    }
}

impl From<MaxPerSecond> for u32 {
    fn from(number: MaxPerSecond) -> Self {
        number.0
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignatureTimestamp {
    /// RFC 3339 with milliseconds.
    #[default]
    Rfc3339,
    /// Unix seconds.
    Unix,
}

/// A type of events, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Subscription {
    All,
    To(EventType),
}

impl TryFrom<String> for Subscription {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, &'static str> {
        match name.as_str() {
            "*" => Ok(Self::All),
            name => EventType::from_name(name)
                .map(Self::To)
                .ok_or("no such event type"),
        }
    }
}

impl From<Subscription> for String {
    fn from(subscription: Subscription) -> Self {
        match subscription {
            Subscription::All => "*".into(),
            Subscription::To(kind) => kind.as_str().into(),
        }
    }
}

/// How much of an object an event shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The object as it was when the event happened.
    #[default]
    Snapshot,
    /// `data.object` has only `id` and `object`, and there are no `previous_attributes`: the receiver retrieves the object, if it may read
    /// it.
    Thin,
}

//! The resources: one file each, with fields, bodies, validation and state changes. This crate does not depend on HTTP or DynamoDB.

pub mod account;
pub mod action;
pub mod adjustment;
pub mod analytics;
pub mod api_key;
pub mod batch;
pub mod body;
pub mod charge_card;
pub mod charging;
pub mod charging_session;
pub mod charging_station;
pub mod condition;
pub mod credit_note;
pub mod departure;
pub mod driver;
pub mod energy_mix;
pub mod estimation;
pub mod event;
pub mod event_type;
#[cfg(test)]
mod fixtures;
pub mod fleet;
pub mod invoice;
pub mod network;
pub mod operation;
pub mod parts;
pub mod party;
pub mod payment_method;
pub mod policy;
pub mod ports;
pub mod report;
pub mod reservation;
pub mod schema;
pub mod search;
mod shown_as_view;
pub mod site;
pub mod stored;
pub mod test_token;
pub mod token;
pub mod transaction;
pub mod vehicle;
pub mod vehicle_telemetry;
pub mod webhook_delivery;
pub mod webhook_endpoint;
pub mod webhook_replay;
pub mod webhooks;

pub use account::Account;
pub use action::Action;
pub use adjustment::Adjustment;
pub use api_key::ApiKey;
pub use batch::Batch;
pub use charge_card::ChargeCard;
pub use charging_session::ChargingSession;
pub use charging_station::ChargingStation;
pub use condition::Condition;
pub use credit_note::CreditNote;
pub use departure::VehicleDepartures;
pub use driver::Driver;
pub use event::{Event, EventType};
pub use fleet::Fleet;
pub use invoice::Invoice;
pub use payment_method::PaymentMethod;
pub use policy::Policy;
pub use report::Report;
pub use reservation::Reservation;
pub use site::Site;
pub use stored::Stored;
pub use transaction::Transaction;
pub use vehicle::Vehicle;
pub use vehicle_telemetry::VehicleTelemetry;
pub use webhook_delivery::WebhookDelivery;
pub use webhook_endpoint::WebhookEndpoint;

use std::collections::HashSet;
use std::hash::Hash;

use serde::{Deserialize, Deserializer, Serialize, de};

use kernel::size::Size;
use kernel::{Error, Result};

/// The maximum number of entries of a list in a body.
pub const MAX_LIST: usize = 100;

/// The maximum size of an object after a request, in bytes of JSON. Its item and the event with its snapshot then stay well below the 400
/// KB that DynamoDB allows for an item: the data that the service itself adds later is a few kilobytes.
pub const MAX_OBJECT: usize = 150 * 1024;

/// Refuses an object that a request makes too large.
///
/// # Errors
/// 400 that names the limit; `param` is the largest member.
pub fn check_size<T: Serialize>(object: &T) -> Result<()> {
    if Size::of(object)?.bytes <= MAX_OBJECT {
        return Ok(());
    }
    let value = serde_json::to_value(object).map_err(Error::internal)?;
    let members = value.as_object().into_iter().flatten();
    let largest = members.max_by_key(|(_, member)| Size::of(member).unwrap_or_default().bytes);
    let param = largest.map_or("", |(name, _)| name);
    let message = format!(
        "the object would be larger than {} KiB as JSON, the most an object can be",
        MAX_OBJECT / 1024
    );
    Err(Error::invalid(param, message))
}

/// Returns the new object, unless the request makes it too large.
///
/// # Errors
/// As [`check_size`].
pub fn sized<T: Serialize>(object: T) -> Result<T> {
    check_size(&object)?;
    Ok(object)
}

/// A list in a body, of at most [`MAX_LIST`] entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Limited<T>(pub Vec<T>);

impl<T> Default for Limited<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Limited<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::deserialize(deserializer)?;
        if entries.len() > MAX_LIST {
            let message = format!("must have at most {MAX_LIST} entries");
            return Err(de::Error::custom(message));
        }
        Ok(Self(entries))
    }
}

/// A list in a body, of at most [`MAX_LIST`] different entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Distinct<T>(Vec<T>);

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for Distinct<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<Distinct<T>> for Vec<T> {
    fn from(list: Distinct<T>) -> Self {
        list.0
    }
}

impl<'de, T: Deserialize<'de> + Eq + Hash> Deserialize<'de> for Distinct<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Limited(entries) = Limited::deserialize(deserializer)?;
        let mut seen = HashSet::new();
        if !entries.iter().all(|entry| seen.insert(entry)) {
            return Err(de::Error::custom("must not name the same entry twice"));
        }
        Ok(Self(entries))
    }
}

/// A list in a body, of at least one and at most [`MAX_LIST`] different entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonEmpty<T>(Distinct<T>);

impl<T> From<NonEmpty<T>> for Vec<T> {
    fn from(list: NonEmpty<T>) -> Self {
        list.0.into()
    }
}

impl<'de, T: Deserialize<'de> + Eq + Hash> Deserialize<'de> for NonEmpty<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Distinct::deserialize(deserializer)?;
        if entries.is_empty() {
            return Err(de::Error::custom("must not be empty"));
        }
        Ok(Self(entries))
    }
}

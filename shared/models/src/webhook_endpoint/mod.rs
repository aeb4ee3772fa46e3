//! Webhook endpoints: the addresses to which events are delivered, and the secrets with which they are signed.

mod request;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use request::{NewWebhookEndpoint, WebhookEndpointChange};

use super::action::Action;
use super::api_key::ActingKey;
use super::event::{Event, EventType};
use super::stored::{Object, Stored, is_default};
use super::webhooks::breaker::Breaker;
use super::webhooks::headers::CustomHeaders;
use super::webhooks::health::EndpointHealth;
pub use super::webhooks::options::{MaxPerSecond, Payload, SignatureTimestamp, Subscription};
pub use super::webhooks::secret::SigningSecret;
use kernel::encryption::Encrypted;
use kernel::fields::metadata::Metadata;
use kernel::fields::text::{Description, Text, WebUrl};
use kernel::time::{DAY, hours};
use kernel::{Error, Id, Kind, Result, SignedDuration, Timestamp};

/// The maximum number of endpoints of an account in one mode.
pub const MAX_ENDPOINTS: usize = 16;

/// The maximum number of rotations of an endpoint's secret in 24 hours. Every secret of that time signs each delivery.
pub const MAX_ROTATIONS: usize = 10;

/// The duration of failures after which the endpoint is disabled.
pub const DISABLED_AFTER: SignedDuration = hours(120);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookEndpoint {
    pub id: Id,
    pub object: Kind,
    /// The API version of the payloads that are sent to this endpoint.
    pub api_version: String,
    /// Name of the program that receives the events; null if it is not set.
    pub application: Option<Text<256>>,
    pub created: Timestamp,
    /// Internal note about the endpoint; null if it is not set.
    pub description: Option<Description>,
    /// Time at which the endpoint was disabled; null while it is enabled.
    pub disabled_at: Option<Timestamp>,
    /// The reason why the endpoint is disabled; null while it is enabled.
    pub disabled_reason: Option<DisabledReason>,
    /// The types of events that this endpoint receives; `*` is every type. A key that sets them, or changes the endpoint otherwise, needs
    /// the read scopes of the objects that these events show.
    pub enabled_events: Vec<Subscription>,
    /// Ids of fleets: only events that belong to one of them are sent. Empty for all events. The event of a fleet belongs to that fleet,
    /// the event of a driver to the fleets of the driver, the event of a reservation to the fleet of its vehicle, and any other event to
    /// the fleet that its object names. Events of objects without a fleet, such as policies, sites and charge cards, are not sent to an
    /// endpoint that names fleets.
    #[serde(default)]
    #[schema(required, max_items = 100)]
    pub fleets: Vec<Id>,
    /// Headers by name that each request to the endpoint has in addition to those of the service. The values are masked for keys without
    /// `webhook_endpoints:write`, in events and in the log of deliveries.
    #[serde(default)]
    #[schema(required)]
    pub headers: CustomHeaders,
    /// Results of the deliveries in the last 24 hours. Present only if a single endpoint is retrieved; null otherwise.
    #[schema(required)]
    pub health: Option<EndpointHealth>,
    /// Whether the endpoint receives events of live mode; otherwise of test mode.
    pub livemode: bool,
    /// Maximum number of requests per second that are sent to the endpoint; null for no limit.
    #[schema(required)]
    pub max_per_second: Option<MaxPerSecond>,
    pub metadata: Metadata,
    /// Time since which events were not delivered, because the endpoint failed until it was disabled, or was disabled for another reason.
    /// The events are kept for 30 days: a replay of all types with this time as `from` delivers them when the endpoint is enabled again, and
    /// sets this to null, or to its `until` if it ends before the time at which the endpoint was enabled. Always null for an endpoint of
    /// the type `polling`, whose events can be read later.
    #[schema(required)]
    pub missed_since: Option<Timestamp>,
    /// Whether the events of an object are sent in their order, one at a time: an event is sent after the one before was acknowledged or
    /// has no attempt left. Events of other objects do not wait. Redeliveries, by request or by a replay, are not in this order.
    #[serde(default)]
    #[schema(required)]
    pub ordered: bool,
    /// How much of an object is shown in the events that are sent to the endpoint.
    #[serde(default)]
    #[schema(required)]
    pub payload: Payload,
    /// The secret with which deliveries are signed. For keys without `webhook_endpoints:write`, and in events, it is masked: `whsec_****`
    /// and its last four characters.
    pub secret: SigningSecret,
    /// Format of the time `t` in `Service-Signature`.
    pub signature_timestamp: SignatureTimestamp,
    /// Whether events are sent to the endpoint.
    pub status: EndpointStatus,
    /// `webhook` for an endpoint to whose `url` events are sent, `polling` for one whose events are read at
    /// `/v1/webhook_endpoints/{id}/events`.
    #[serde(rename = "type", default)]
    #[schema(required)]
    pub kind: EndpointType,
    /// Absolute `https` URL to which events are sent; null for an endpoint of the type `polling`.
    pub url: Option<WebUrl>,
}

impl Object for WebhookEndpoint {
    type Internal = EndpointInternal;

    const KIND: Kind = Kind::WebhookEndpoint;

    fn id(&self) -> &Id {
        &self.id
    }

    fn shown_version(stored: &Stored<Self>) -> u64 {
        stored.version.saturating_sub(stored.internal.hidden_writes)
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = [
            stored.internal.breaker.next_action_at(),
            stored.patience_ends(),
        ];
        let at = at.into_iter().flatten().min();
        at.map(|at| (at, Action::ResumeEndpoint))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointInternal {
    /// Whether deliveries are held because attempts fail.
    #[serde(default, skip_serializing_if = "is_default")]
    pub breaker: Breaker,
    /// The time at which the endpoint was enabled again the last time: no event that was created since is missed, while it is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_at: Option<Timestamp>,
    /// The time since which every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// The creation time of the oldest event whose attempts have failed since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_failed: Option<Timestamp>,
    /// The number of writes that have changed only this internal state, such as those after failed attempts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hidden_writes: u64,
    /// Whether `webhook_endpoint.failing` was recorded, and no response of a working receiver has followed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_reported: bool,
    /// The time at which `max_per_second` was changed the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_since: Option<Timestamp>,
    /// The number of consecutive failed attempts, counted up to the number that opens the breaker.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: u32,
    /// The secrets that were replaced in the last 24 hours, the newest first: each keeps signing for 24 hours after its
    /// replacement.
    pub previous: Vec<PreviousSecret>,
    /// The secret, if it was encrypted with a key that the deployment no longer has. Otherwise the object has it, decrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Encrypted>,
    /// The values of headers for which the same holds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Encrypted>,
}

/// A secret that was replaced by a rotation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviousSecret {
    pub secret: SigningSecret,
    pub until: Timestamp,
}

impl EndpointInternal {
    /// Returns the replaced secrets that still sign, the newest first.
    pub fn previous_secrets(&self, now: Timestamp) -> impl Iterator<Item = &SigningSecret> {
        self.previous
            .iter()
            .filter(move |previous| now < previous.until)
            .map(|previous| &previous.secret)
    }

    /// Returns whether deliveries cannot be sent, because the key of the secret or of a header's value is lost.
    pub fn is_unreadable(&self) -> bool {
        self.secret.is_some() || !self.headers.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointStatus {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointType {
    /// Events are sent to its `url`.
    #[default]
    Webhook,
    /// Its events are read by the client.
    Polling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisabledReason {
    /// The receiver responded with status 410, or with the header `webhook-delivery: disable`.
    Gone,
    /// No attempt succeeded for 120 hours.
    Failing,
    Manual,
}

impl WebhookEndpoint {
    /// Returns the endpoint with its secret and the values of its headers masked.
    #[must_use]
    pub fn masked(mut self) -> Self {
        self.headers = self.headers.masked();
        self.secret = self.secret.masked();
        self
    }

    /// Checks that a key may read the objects of every event that the endpoint is subscribed to, so that a subscription does not show
    /// objects that the key cannot read.
    ///
    /// # Errors
    /// 403 `authentication_error` that names the scope which the key lacks.
    pub fn check_subscriptions(&self, key: &ActingKey) -> Result<()> {
        let subscribed = self
            .enabled_events
            .iter()
            .flat_map(|subscription| match subscription {
                Subscription::All => EventType::ALL,
                Subscription::To(kind) => std::slice::from_ref(kind),
            });
        for kind in subscribed {
            key.require_read(kind.subject())
                .map_err(|error| error.at("enabled_events"))?;
        }
        Ok(())
    }

    /// Checks whether events of this type are delivered to the endpoint.
    pub fn subscribes_to(&self, kind: EventType) -> bool {
        self.status == EndpointStatus::Enabled && self.names(kind)
    }

    /// Checks whether this type is among `enabled_events`.
    fn names(&self, kind: EventType) -> bool {
        let mut subscriptions = self.enabled_events.iter();
        subscriptions.any(|subscription| match subscription {
            Subscription::All => true,
            Subscription::To(subscribed) => *subscribed == kind,
        })
    }

    /// Checks whether an event is delivered to the endpoint. Events about the endpoint itself, and about deliveries to it, are not.
    pub fn wants(&self, event: &Stored<Event>) -> bool {
        self.status == EndpointStatus::Enabled && self.selects(event)
    }

    /// Checks whether the delivery of a new event to the endpoint is begun: if the endpoint wants the event, or was disabled after the event
    /// was created. The attempt is not made in the latter case, but the endpoint records that it misses the event.
    pub fn is_begun(&self, event: &Stored<Event>) -> bool {
        let created = event.object.created;
        let is_earlier = self.disabled_at.is_none_or(|disabled| created < disabled);
        is_earlier && self.selects(event)
    }

    /// Checks whether an event is delivered to the endpoint while it is enabled. A ping is for the endpoint that it tests.
    pub fn selects(&self, event: &Stored<Event>) -> bool {
        let kind = event.object.kind;
        let object = &event.object.data.object;
        if kind == EventType::Ping {
            return object["webhook_endpoint"].as_str() == Some(self.id.as_str());
        }
        let about = match kind.subject() {
            Kind::WebhookEndpoint => object["id"].as_str(),
            Kind::WebhookDelivery => object["webhook_endpoint"].as_str(),
            _ => None,
        };
        self.names(kind)
            && about != Some(self.id.as_str())
            && (self.fleets.is_empty() || event.belongs_to(&self.fleets))
    }
}

impl Stored<WebhookEndpoint> {
    /// Counts the next write as hidden if it does not change the endpoint as it was `before`.
    pub fn count_hidden_write(&mut self, before: &WebhookEndpoint) {
        self.internal.hidden_writes += u64::from(self.object == *before);
    }

    /// Stops deliveries because of a failure. An endpoint that is disabled already keeps its first reason.
    pub fn disable(&mut self, reason: DisabledReason, now: Timestamp) {
        if self.object.status == EndpointStatus::Enabled {
            self.record(EventType::WebhookEndpointDisabled);
        }
        self.stop(reason, now);
    }

    /// Returns the time at which the endpoint is disabled if its breaker is still open.
    fn patience_ends(&self) -> Option<Timestamp> {
        let since = self.internal.failing_since;
        since
            .filter(|_| self.internal.breaker.is_open())
            .map(|since| since.plus(DISABLED_AFTER))
    }

    /// Disables an endpoint whose breaker is open if it has failed for 120 hours. Returns whether it has.
    pub fn disable_if_failing(&mut self, now: Timestamp) -> bool {
        let is_over = self.patience_ends().is_some_and(|end| end <= now);
        if is_over {
            self.disable(DisabledReason::Failing, now);
        }
        is_over
    }

    /// Returns the time since which the endpoint has its present `max_per_second`.
    pub fn limited_since(&self) -> Timestamp {
        self.internal.limited_since.unwrap_or(self.object.created)
    }

    /// Enables the endpoint, and resets its failures.
    pub(crate) fn enable(&mut self, now: Timestamp) {
        if self.object.status == EndpointStatus::Disabled {
            self.internal.enabled_at = Some(now);
        }
        self.object.status = EndpointStatus::Enabled;
        self.object.disabled_reason = None;
        self.object.disabled_at = None;
        self.internal.failing_since = None;
        self.internal.oldest_failed = None;
        self.internal.failures = 0;
        self.internal.breaker.release(now);
    }

    fn stop(&mut self, reason: DisabledReason, now: Timestamp) {
        let endpoint = &mut self.object;
        if endpoint.status == EndpointStatus::Enabled {
            endpoint.status = EndpointStatus::Disabled;
            endpoint.disabled_reason = Some(reason);
            endpoint.disabled_at = Some(now);
            // Deliveries that are held are given up.
            self.internal.breaker.release(now);
            // The feed of a polling endpoint continues while it is disabled.
            if self.object.kind == EndpointType::Webhook {
                let since = self.internal.failing_since.unwrap_or(now);
                self.miss(since.min(self.internal.oldest_failed.unwrap_or(now)));
            }
        }
    }

    /// Records that an event is not delivered, because the endpoint is disabled: a replay from `missed_since` on includes it. Returns
    /// whether the endpoint has changed.
    pub fn miss(&mut self, created: Timestamp) -> bool {
        let missed = &mut self.object.missed_since;
        let is_earlier = missed.is_none_or(|since| created < since);
        if is_earlier {
            *missed = Some(created);
        }
        is_earlier
    }

    /// Replaces the secret of the endpoint. Each replaced secret keeps signing for 24 hours, so that receivers can switch to the new one. One
    /// that cannot be decrypted is dropped.
    ///
    /// # Errors
    /// 409 if the secret was rotated [`MAX_ROTATIONS`] times in the last 24 hours: another rotation would remove a secret before its 24
    /// hours are over. `Internal` if the system's source of randomness failed.
    pub fn rotate_secret(&mut self, now: Timestamp) -> Result<()> {
        self.internal
            .previous
            .retain(|previous| now < previous.until);
        if self.internal.previous.len() >= MAX_ROTATIONS {
            let message = format!(
                "The secret was rotated {MAX_ROTATIONS} times in the last 24 hours, which is the most there can be."
            );
            return Err(Error::conflict(message, None));
        }
        let replaced = PreviousSecret {
            secret: std::mem::replace(&mut self.object.secret, SigningSecret::generate()?),
            until: now.plus(DAY),
        };
        if self.internal.secret.take().is_none() {
            self.internal.previous.insert(0, replaced);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::{Cause, EventInternal, Occurrence};
    use kernel::targets::Targets;
    use kernel::{Mode, Tenant};
    use serde_json::json;

    /// A new endpoint of test mode.
    pub(crate) fn endpoint(
        url: &str,
        events: &[&str],
        targets: Targets,
    ) -> Result<WebhookEndpoint> {
        let new = serde_json::from_value(serde_json::json!({"url": url, "enabled_events": events}))
            .unwrap();
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        WebhookEndpoint::new(
            new,
            &tenant,
            "2026-03-01",
            targets,
            Timestamp::from_unix_millis(0),
        )
    }

    #[test]
    fn every_secret_of_the_last_day_signs() {
        let endpoint = endpoint("https://fleet.example/", &["*"], Targets::Public).unwrap();
        let mut endpoint = Stored::new(endpoint);
        let at = |hour: i64| Timestamp::EPOCH.plus(hours(hour));
        let signing = |endpoint: &Stored<WebhookEndpoint>, hour| {
            std::iter::once(endpoint.object.secret.as_str().to_owned())
                .chain(
                    endpoint
                        .internal
                        .previous_secrets(at(hour))
                        .map(|secret| secret.as_str().to_owned()),
                )
                .collect::<Vec<_>>()
        };
        let mut secrets = vec![endpoint.object.secret.as_str().to_owned()];
        for hour in 0..MAX_ROTATIONS as i64 {
            endpoint.rotate_secret(at(hour)).unwrap();
            secrets.insert(0, endpoint.object.secret.as_str().to_owned());
            assert_eq!(signing(&endpoint, hour), secrets);
        }
        let before = endpoint.clone();
        let refused = endpoint.rotate_secret(at(23)).unwrap_err();
        assert_eq!(refused.class(), kernel::error::ErrorClass::Conflict);
        assert_eq!(endpoint.clone(), before);
        // At this time the first secret was replaced 24 hours ago.
        assert_eq!(signing(&endpoint, 24), secrets[..MAX_ROTATIONS]);
        endpoint.rotate_secret(at(24)).unwrap();
        assert_eq!(signing(&endpoint, 24).len(), 1 + MAX_ROTATIONS);
    }

    #[test]
    fn deliveries_of_events_before_the_disabling_are_begun() {
        let endpoint = endpoint("https://fleet.example/", &["*"], Targets::Public).unwrap();
        let mut endpoint = Stored::new(endpoint);
        let at = |hour: i64| Timestamp::EPOCH.plus(hours(hour));
        endpoint.disable(DisabledReason::Manual, at(2));
        let is_begun = |endpoint: &Stored<WebhookEndpoint>, hour: i64| {
            let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
            let cause = Cause {
                request: None,
                at: at(hour),
                version: "2026-03-01".into(),
            };
            let first = Occurrence {
                subject: &Id::from_number(Kind::Fleet, 1),
                version: 1,
                sequence: 1,
            };
            let kind = EventType::FleetCreated;
            let event = Event::of(kind, &tenant, first, json!({}), None, &cause);
            let event = Stored::with_internal(event, EventInternal::planned(Vec::new()));
            assert!(
                endpoint.object.status == EndpointStatus::Enabled || !endpoint.object.wants(&event)
            );
            endpoint.object.is_begun(&event)
        };
        assert!(is_begun(&endpoint, 1) && !is_begun(&endpoint, 2) && !is_begun(&endpoint, 3));
        endpoint.enable(at(4));
        assert!(is_begun(&endpoint, 3) && is_begun(&endpoint, 5));
    }

    #[test]
    fn a_polling_endpoint_misses_nothing_while_it_is_disabled() {
        let new = json!({"type": "polling", "enabled_events": ["*"]});
        let new = serde_json::from_value(new).unwrap();
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        let (targets, now) = (Targets::Public, Timestamp::EPOCH);
        let endpoint = WebhookEndpoint::new(new, &tenant, "2026-03-01", targets, now).unwrap();
        let mut endpoint = Stored::new(endpoint);
        endpoint.disable(DisabledReason::Manual, now);
        assert_eq!(endpoint.object.missed_since, None);
    }

    #[test]
    fn an_endpoint_wants_what_it_subscribed_to_until_it_is_disabled() {
        let some = endpoint(
            "https://fleet.example/",
            &["reservation.confirmed"],
            Targets::Public,
        )
        .unwrap();
        assert!(some.subscribes_to(EventType::ReservationConfirmed));
        assert!(!some.subscribes_to(EventType::FleetCreated));
        let mut stored = Stored::new(some);
        stored.disable(DisabledReason::Gone, Timestamp::from_unix_millis(1));
        stored.disable(DisabledReason::Failing, Timestamp::from_unix_millis(2));
        let some = stored.object;
        assert_eq!(some.disabled_reason, Some(DisabledReason::Gone));
        assert_eq!(some.missed_since, some.disabled_at);
        assert!(!some.subscribes_to(EventType::ReservationConfirmed));
        let none = serde_json::json!({"url": "https://fleet.example/", "enabled_events": []});
        assert!(serde_json::from_value::<NewWebhookEndpoint>(none).is_err());
    }
}

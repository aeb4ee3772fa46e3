//! The bodies that create and update a webhook endpoint, and their rules.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    DisabledReason, EndpointStatus, EndpointType, MaxPerSecond, Payload, SignatureTimestamp,
    SigningSecret, Subscription, WebhookEndpoint,
};
use crate::body::RequestBody;
use crate::stored::Stored;
use crate::webhooks::headers::{CustomHeaders, HeadersChange};
use crate::{Distinct, NonEmpty, check_size, sized};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Description, Text, WebUrl};
use kernel::targets::Targets;
use kernel::{Error, Id, Kind, Result, Tenant, Timestamp};

/// The body of `POST /v1/webhook_endpoints`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhookEndpoint {
    /// Absolute `https` URL to which events are sent. Required, unless `type` is `polling`; it must be omitted then.
    pub url: Option<WebUrl>,
    /// Types of the events that the endpoint receives; `*` is every type.
    pub enabled_events: NonEmpty<Subscription>,
    /// API version of the events that are sent. Default: the account's version.
    pub api_version: Option<String>,
    /// Name of the program that receives the events.
    pub application: Option<Text<256>>,
    /// Internal note about the endpoint.
    pub description: Option<Description>,
    /// Ids of fleets: only events that belong to one of them are sent. Default: all events.
    pub fleets: Option<Distinct<Id>>,
    /// Headers by name that each request to the endpoint has in addition to those of the service.
    #[serde(default)]
    pub headers: HeadersChange,
    /// Maximum number of requests per second that are sent to the endpoint. Default: no limit.
    pub max_per_second: Option<MaxPerSecond>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Whether the events of an object are sent in their order, one at a time. It cannot be changed later. Default false.
    #[serde(default)]
    pub ordered: bool,
    /// How much of an object is shown in the events that are sent to the endpoint. Default `snapshot`.
    pub payload: Option<Payload>,
    /// Format of the time `t` in `Service-Signature`. Default `rfc3339`.
    pub signature_timestamp: Option<SignatureTimestamp>,
    /// `polling` for an endpoint whose events are read by the client. It cannot be changed later. Default `webhook`.
    #[serde(rename = "type", default)]
    pub kind: EndpointType,
}

impl RequestBody for NewWebhookEndpoint {}

/// The body of `POST /v1/webhook_endpoints/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpointChange {
    /// API version of the events that are sent. Null sets the account's version.
    #[serde(default)]
    pub api_version: Patch<String>,
    /// Name of the program that receives the events. Null removes it.
    #[serde(default)]
    pub application: Patch<Text<256>>,
    /// Internal note about the endpoint. Null removes it.
    #[serde(default)]
    pub description: Patch<Description>,
    /// Types of the events that the endpoint receives; `*` is every type. The list replaces the present one.
    #[serde(default)]
    pub enabled_events: Change<NonEmpty<Subscription>>,
    /// Ids of fleets: only events that belong to one of them are sent; all events if it is empty. The list replaces the present one.
    #[serde(default)]
    pub fleets: Change<Distinct<Id>>,
    /// Headers that each request to the endpoint has. Omitted headers keep their values.
    #[serde(default)]
    pub headers: HeadersChange,
    /// Maximum number of requests per second that are sent to the endpoint. Null removes the limit.
    #[serde(default)]
    pub max_per_second: Patch<MaxPerSecond>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// How much of an object is shown in the events that are sent to the endpoint.
    #[serde(default)]
    pub payload: Change<Payload>,
    /// Format of the time `t` in `Service-Signature`.
    #[serde(default)]
    pub signature_timestamp: Change<SignatureTimestamp>,
    /// `disabled` stops deliveries; `enabled` resumes them.
    #[serde(default)]
    pub status: Change<EndpointStatus>,
    /// Absolute `https` URL to which events are sent.
    #[serde(default)]
    pub url: Change<WebUrl>,
}

impl RequestBody for WebhookEndpointChange {}

impl WebhookEndpoint {
    /// Returns a new, enabled endpoint with a secret of its own.
    ///
    /// # Errors
    /// 400 for `http` where `https` is required, an address that is not public, a list beyond its limits, or an option of
    /// the other type of endpoints.
    pub fn new(
        new: NewWebhookEndpoint,
        tenant: &Tenant,
        version: &str,
        targets: Targets,
        now: Timestamp,
    ) -> Result<Self> {
        let api_version = new.api_version.unwrap_or_else(|| version.to_owned());
        let headers = CustomHeaders::new(new.headers)?;
        match (new.kind, &new.url) {
            (EndpointType::Webhook, Some(url)) => {
                targets.check_in_mode(tenant.mode.is_live(), url)?;
            }
            (EndpointType::Webhook, None) => return Err(Error::missing("url")),
            (EndpointType::Polling, _) => {
                only_of_webhooks("url", new.url.is_some())?;
                only_of_webhooks("max_per_second", new.max_per_second.is_some())?;
                only_of_webhooks("ordered", new.ordered)?;
                only_of_webhooks("headers", headers.iter().next().is_some())?;
            }
        }
        sized(Self {
            id: Id::new(Kind::WebhookEndpoint, now),
            object: Kind::WebhookEndpoint,
            api_version,
            application: new.application,
            created: now,
            description: new.description,
            disabled_at: None,
            disabled_reason: None,
            enabled_events: new.enabled_events.into(),
            fleets: new.fleets.unwrap_or_default().into(),
            headers,
            health: None,
            livemode: tenant.mode.is_live(),
            max_per_second: new.max_per_second,
            metadata: Metadata::new(new.metadata)?,
            missed_since: None,
            ordered: new.ordered,
            payload: new.payload.unwrap_or_default(),
            secret: SigningSecret::generate()?,
            signature_timestamp: new.signature_timestamp.unwrap_or_default(),
            status: EndpointStatus::Enabled,
            kind: new.kind,
            url: new.url,
        })
    }
}

impl Stored<WebhookEndpoint> {
    /// Applies an update. Omitted fields keep their values. Enabling an endpoint resets its failures. `version` is the account's.
    ///
    /// # Errors
    /// 400 for an unknown version, for `http` where `https` is required, a list beyond its limits, or an option that endpoints of this type do
    /// not have.
    pub fn update(
        &mut self,
        change: WebhookEndpointChange,
        version: &str,
        targets: Targets,
        now: Timestamp,
    ) -> Result<()> {
        let WebhookEndpointChange {
            api_version,
            application,
            description,
            enabled_events,
            fleets,
            headers,
            max_per_second,
            metadata,
            payload,
            signature_timestamp,
            status,
            url,
        } = change;
        match api_version {
            Patch::Keep => {}
            Patch::Clear => version.clone_into(&mut self.object.api_version),
            Patch::Set(version) => self.object.api_version = version,
        }
        application.apply(&mut self.object.application);
        description.apply(&mut self.object.description);
        if let Change::Set(events) = enabled_events {
            self.object.enabled_events = events.into();
        }
        if let Change::Set(fleets) = fleets {
            self.object.fleets = fleets.into();
        }
        self.object.headers.merge(headers)?;
        let is_polling = self.object.kind == EndpointType::Polling;
        let has_headers = self.object.headers.iter().next().is_some();
        only_of_webhooks("headers", is_polling && has_headers)?;
        let limit = self.object.max_per_second;
        max_per_second.apply(&mut self.object.max_per_second);
        if self.object.max_per_second != limit {
            self.internal.limited_since = Some(now);
        }
        let is_limited = self.object.max_per_second.is_some();
        only_of_webhooks("max_per_second", is_polling && is_limited)?;
        self.object.metadata.merge(metadata)?;
        payload.apply(&mut self.object.payload);
        signature_timestamp.apply(&mut self.object.signature_timestamp);
        if let Change::Set(url) = url {
            only_of_webhooks("url", is_polling)?;
            targets.check_in_mode(self.object.livemode, &url)?;
            self.object.url = Some(url);
        }
        match status {
            Change::Keep => {}
            Change::Set(EndpointStatus::Disabled) => self.stop(DisabledReason::Manual, now),
            Change::Set(EndpointStatus::Enabled) => self.enable(now),
        }
        check_size(&self.object)
    }
}

/// # Errors
/// 400 if an endpoint of the type `polling` is given an option that only endpoints of the type `webhook` have.
fn only_of_webhooks(name: &'static str, is_given: bool) -> Result<()> {
    if is_given {
        Err(Error::invalid(name, "a polling endpoint has none"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::endpoint;
    use super::*;

    #[test]
    fn http_is_for_this_machine_in_local_runs_alone() {
        let all = &["*"];
        assert!(endpoint("https://fleet.example/hook", all, Targets::Public).is_ok());
        assert!(
            endpoint(
                "http://127.0.0.1:9000/hook",
                all,
                Targets::PublicAndLoopback
            )
            .is_ok()
        );
        assert!(
            endpoint(
                "http://localhost:9000/hook",
                all,
                Targets::PublicAndLoopback
            )
            .is_ok()
        );
        assert!(endpoint("http://127.0.0.1:9000/hook", all, Targets::Public).is_err());
        assert!(endpoint("http://fleet.example/hook", all, Targets::PublicAndLoopback).is_err());
    }
}

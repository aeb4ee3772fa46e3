//! URLs to which events are delivered.
//!
//! A key may subscribe only to events whose objects it may read, and is shown an endpoint's secret and the values of its headers only if it
//! may write endpoints.

use crate::App;
use crate::job::Job as _;
use crate::stream::change::OnChange;
use crate::webhooks::resume::ResumeEndpoint;
use kernel::{Id, Result, Tenant};
use models::api_key::{Resource, Scope};
use models::webhook_replay::WebhookReplay;
use models::{Stored, WebhookEndpoint};
use web::{Conditional, RequestContext};

pub mod create;
pub mod delete;
pub mod list;
pub mod list_deliveries;
pub mod poll;
pub mod replay;
pub mod retrieve;
pub mod retrieve_replay;
pub mod rotate;
pub mod test;
pub mod update;

/// The condition in the OpenAPI document of the routes that show endpoints to readers.
const SHOWS_SECRET: Conditional = Conditional {
    scope: "webhook_endpoints:write",
    when: "the secret and the values of headers are to be shown; without it they are masked",
};

/// The condition in the OpenAPI document of the routes that subscribe an endpoint.
const SUBSCRIBES: Conditional = Conditional {
    scope: "<resource>:read",
    when: "always, of every kind of object that the endpoint's enabled_events show; for * of all kinds that events show",
};

/// The endpoint as the caller may see it.
fn shown(context: &RequestContext, endpoint: WebhookEndpoint) -> WebhookEndpoint {
    if context.key.covers(Scope::Write(Resource::WebhookEndpoints)) {
        endpoint
    } else {
        endpoint.masked()
    }
}

impl OnChange for WebhookEndpoint {
    async fn on_deletion(
        app: &App,
        tenant: &Tenant,
        id: &Id,
        _: Option<&Stored<Self>>,
    ) -> Result<()> {
        let (tenant, endpoint) = (tenant.clone(), id.clone());
        ResumeEndpoint { tenant, endpoint }.send(app).await
    }
}

impl OnChange for WebhookReplay {}

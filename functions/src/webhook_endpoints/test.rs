//! `POST /v1/webhook_endpoints/{id}/test`: sends a `ping` event to this endpoint only, whatever events it is subscribed to.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Id, Kind};
use models::api_key::Resource;
use models::event::{Cause, Event, EventInternal, EventType, Occurrence};
use models::stored::Stored;
use models::webhook_endpoint::{EndpointStatus, EndpointType, WebhookEndpoint};
use models::webhooks::feed::FeedEntry;
use serde_json::json;
use web::body::Nothing;
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post(
    "test-webhook-endpoint",
    "/v1/webhook_endpoints/{id}/test",
    Resource::WebhookEndpoints,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Event>, Error> {
    let endpoint = app
        .store
        .load::<WebhookEndpoint>(context.tenant(), &id)
        .await?
        .object;
    if endpoint.status != EndpointStatus::Enabled {
        return Err(Error::conflict("The endpoint is disabled.", None));
    }
    let (origin, now) = (&context.origin, context.now());
    let cause = Cause {
        version: context.default_version.clone(),
        ..Cause::of(origin)
    };
    let request = origin
        .request
        .clone()
        .unwrap_or_else(|| Id::new(Kind::Request, now));
    let object = json!({"webhook_endpoint": id});
    let occurrence = Occurrence {
        subject: &request,
        version: 0,
        sequence: 1,
    };
    let mut event = Event::of(
        EventType::Ping,
        context.tenant(),
        occurrence,
        object,
        None,
        &cause,
    );
    let is_read = endpoint.kind == EndpointType::Polling;
    event.pending_webhooks = u32::from(!is_read);
    let response = context.respond(&event)?;
    let mut tx = app.store.begin(origin);
    let internal = if is_read {
        tx.append_to_feed(&FeedEntry::on_request(&event, now, &id));
        EventInternal::planned(Vec::new())
    } else {
        EventInternal::unplanned_for(vec![id], now)
    };
    tx.create(&mut Stored::with_internal(event, internal))?;
    tx.commit(response).await
}

//! `POST /v1/webhook_endpoints/{id}/test`: sends a `ping` event to this endpoint only, whatever events it is subscribed to.

use crate::Request;
use kernel::{Error, Id, Kind, Reply, Resource};
use models::event::{Cause, EventInternal, Occurrence};
use models::webhook_endpoint::{EndpointStatus, EndpointType};
use models::webhooks::feed::FeedEntry;
use models::{Event, EventType, Stored, WebhookEndpoint};
use serde_json::json;
use web::body::Nothing;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "test-webhook-endpoint",
    "/v1/webhook_endpoints/{id}/test",
    Resource::WebhookEndpoints,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Event>, Error> {
    let endpoint = request.load::<WebhookEndpoint>(&id).await?.object;
    if endpoint.status != EndpointStatus::Enabled {
        return Err(Error::conflict("The endpoint is disabled.", None));
    }
    let (origin, now) = (&request.origin, request.now());
    let cause = Cause {
        version: request.default_version.clone(),
        ..Cause::of(origin)
    };
    let subject = origin
        .request
        .clone()
        .unwrap_or_else(|| Id::new(Kind::Request, now));
    let object = json!({"webhook_endpoint": id});
    let occurrence = Occurrence {
        subject: &subject,
        version: 0,
        sequence: 1,
    };
    let mut event = Event::of(
        EventType::Ping,
        request.tenant(),
        occurrence,
        object,
        None,
        &cause,
    );
    let is_read = endpoint.kind == EndpointType::Polling;
    event.pending_webhooks = u32::from(!is_read);
    let response = request.respond(&event)?;
    let mut tx = request.begin();
    let internal = if is_read {
        tx.append_to_feed(&FeedEntry::on_request(&event, now, &id));
        EventInternal::planned(Vec::new())
    } else {
        EventInternal::unplanned_for(vec![id], now)
    };
    tx.create(&mut Stored::with_internal(event, internal))?;
    tx.commit(response).await
}

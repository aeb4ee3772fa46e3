//! `POST /v1/webhook_endpoints/{id}/replay`: delivers the events of a period to this endpoint again, in the background and oldest first.
//! `only_failed` leaves out the events that the endpoint has acknowledged. Redeliveries have the header `webhook-redelivery: true`. An
//! endpoint has one replay at a time: while one is running, 409. The key must be allowed to read the objects of all events that the
//! endpoint is subscribed to.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::webhook_endpoint::EndpointType;
use models::webhook_replay::{NewWebhookReplay, ReplayStatus, WebhookReplay};
use models::{Stored, WebhookEndpoint};
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "replay-webhook-endpoint",
    "/v1/webhook_endpoints/{id}/replay",
    Resource::WebhookEndpoints,
)
.sometimes_requiring(&[super::SUBSCRIBES]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(new): Body<NewWebhookReplay>,
) -> Result<Reply<WebhookReplay>, Error> {
    let endpoint = request.load::<WebhookEndpoint>(&id).await?.object;
    endpoint.check_subscriptions(&request.key)?;
    let (replay, internal) = WebhookReplay::new(new, &endpoint, request.now())?;
    if endpoint.kind == EndpointType::Polling {
        let message = "A polling endpoint is sent nothing: read its events again with `from`.";
        return Err(Error::conflict(message, None));
    }
    let last = request.find::<WebhookReplay>(&replay.id).await?;
    let response = request.respond(&replay)?;
    let mut tx = request.begin();
    match last {
        Some(last) if last.object.status == ReplayStatus::Running => {
            let message = "A replay of this webhook endpoint is running already.";
            return Err(Error::conflict(message, None));
        }
        Some(mut last) => {
            (last.object, last.internal) = (replay, internal);
            tx.save(&mut last)?;
        }
        None => tx.create(&mut Stored::with_internal(replay, internal))?,
    }
    tx.commit(response).await
}

//! `POST /v1/webhook_endpoints/{id}/test`: sends a `ping` to this endpoint alone, whatever it subscribed to.

use std::collections::BTreeMap;

use axum::extract::State;
use serde_json::json;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::{Cause, Delivery, Event, EventPrivate, EventType};
use shared::models::webhook_endpoint::{EndpointStatus, WebhookEndpoint};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error, Id, Kind};

pub const ROUTE: Route = Route::post(
    "test-webhook-endpoint",
    "/v1/webhook_endpoints/{id}/test",
    Resource::WebhookEndpoints,
)
.showing(Kind::Event);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let endpoint = app
        .store
        .load::<WebhookEndpoint>(caller.tenant(), &id)
        .await?
        .object;
    if endpoint.status != EndpointStatus::Enabled {
        return Err(Error::conflict("The endpoint is disabled.", None));
    }
    let (origin, now) = (&caller.origin, caller.now());
    let cause = Cause {
        version: caller.default_version.clone(),
        ..Cause::of(origin)
    };
    let request = origin
        .request
        .clone()
        .unwrap_or_else(|| Id::new(Kind::Request, now));
    let object = json!({"webhook_endpoint": id});
    let mut event = Event::of(
        EventType::Ping,
        caller.tenant(),
        (&request, 0),
        object,
        None,
        &cause,
    );
    event.pending_webhooks = 1;
    let answer = caller.answer(&event)?;
    let private = EventPrivate::planned(BTreeMap::from([(id, Delivery::waiting(0, now))]));
    let mut changes = Changes::new();
    app.store
        .create(&mut changes, origin, &Row::with_private(event, private))?;
    app.store.commit(origin, changes, answer).await
}

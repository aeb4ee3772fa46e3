//! Events: one schema for each kind of object that they are about, chosen by the event's type, and the webhooks that deliver
//! them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::Kind;
use shared::models::event::EventType;

use super::names::pascal;
use super::schemas::{Components, object_schemas, reference};
use super::{examples, quoted};

/// `ReservationEvent`: the schema of the events whose types begin with the same word.
fn name(kind: EventType) -> String {
    let subject = kind.as_str().split('.').next().unwrap_or_default();
    pascal(subject) + "Event"
}

/// The schemas of events, made from those that the code derives: `Event` is one of the others, as its `type` says.
pub fn schemas(event: &Value, data: &Value) -> BTreeMap<String, Value> {
    let mut types: BTreeMap<String, Vec<EventType>> = BTreeMap::new();
    for kind in EventType::ALL {
        types.entry(name(*kind)).or_default().push(*kind);
    }
    let mapping: Map<String, Value> = EventType::ALL
        .iter()
        .map(|kind| {
            (
                kind.as_str().to_owned(),
                reference(&name(*kind))["$ref"].clone(),
            )
        })
        .collect();
    let options: Vec<Value> = types.keys().map(|name| reference(name)).collect();
    let mut schemas = BTreeMap::from([(
        "Event".to_owned(),
        json!({"type": "object", "description": "What happened to an object. `type` decides what `data.object` is.",
            "oneOf": options, "discriminator": {"propertyName": "type", "mapping": mapping}}),
    )]);
    for (name, types) in types {
        let object = match types[0] {
            EventType::Ping => {
                json!({"type": "object", "required": ["webhook_endpoint"], "properties": {
                "webhook_endpoint": {"type": "string", "description": "The endpoint that is tested."}}})
            }
            kind => reference(&object_schemas(kind.subject()).0),
        };
        let mut data = data.clone();
        let described = &mut data["properties"]["object"];
        let description = described["description"].take();
        *described = object;
        described["description"] = description;
        let previous = &mut data["properties"]["previous_attributes"];
        previous["type"] = json!("object");
        previous["additionalProperties"] = json!(true);
        let mut schema = event.clone();
        schema["properties"]["data"] = data;
        let types: Vec<_> = types.iter().map(|kind| kind.as_str()).collect();
        schema["properties"]["type"] = json!({"type": "string", "enum": types});
        schemas.insert(name, schema);
    }
    schemas
}

/// The delivery of an event to a webhook endpoint.
pub fn webhook(kind: EventType, components: &mut Components) -> Value {
    components.object(Kind::Event);
    if kind != EventType::Ping {
        components.object(kind.subject());
    }
    let kind_name = kind.as_str();
    json!({"post": {
        "operationId": format!("on{}", pascal(kind_name)),
        "summary": kind_name,
        "description": format!("Sent to the endpoints that subscribed to {}. Answer 200, 201, 202 or 204; any other status is retried.", quoted(kind_name)),
        "tags": ["events"],
        "security": [],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": reference(&name(kind)), "example": examples::event(kind)}}},
        "responses": {"200": {"description": "Received."}, "4XX": {"description": "Retried; 410 disables the endpoint."}},
    }})
}

//! The schemas of events: one for each kind of object that events concern, selected by the event's type.

use std::collections::BTreeMap;

use models::EventType;
use serde_json::{Map, Value, json};

use super::names::pascal;
use super::parts::{object_schemas, reference};

/// `ReservationEvent`: the schema of the events whose types begin with the same word.
pub fn name(kind: EventType) -> String {
    let subject = kind.as_str().split('.').next().unwrap_or_default();
    pascal(subject) + "Event"
}

/// The schema of an event as an endpoint with the `payload` `thin` receives it.
fn thin(event: &Value) -> Value {
    let mut schema = event.clone();
    schema["description"] = json!(
        "An event for an endpoint with the `payload` `thin`, which names the object alone. An event `ping` shows none and has its usual form."
    );
    let description = event["properties"]["data"]["description"].clone();
    let object = json!({"type": "object", "required": ["id", "object"], "description": "The object: only its id and its kind.",
    "properties": {
        "id": {"type": "string", "description": "Id of the object."},
        "object": {"type": "string", "description": "Kind of the object."},
    }});
    schema["properties"]["data"] = json!({"type": "object", "description": description, "required": ["object"],
        "properties": {"object": object}});
    schema
}

/// The schemas of events, made from those that the code derives: `Event` is one of the others, depending on its `type`.
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
    // The union `Event` is not used inside another union, because openapi-generator writes TypeScript for that which does not compile.
    let id = [json!({"type": "string"})];
    let id_or_event: Vec<Value> = id.into_iter().chain(options.iter().cloned()).collect();
    let mut schemas = BTreeMap::from([
        (
            "Event".to_owned(),
            json!({"type": "object", "description": "What happened to an object. `type` decides what `data.object` is.",
                "oneOf": options, "discriminator": {"propertyName": "type", "mapping": mapping}}),
        ),
        (
            "ExpandableEvent".to_owned(),
            json!({"description": "The id, or the whole event where `expand[]` names the member.", "oneOf": id_or_event}),
        ),
    ]);
    schemas.insert("ThinEvent".to_owned(), thin(event));
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
        data["description"] = event["properties"]["data"]["description"].clone();
        schema["properties"]["data"] = data;
        let types: Vec<_> = types.iter().map(|kind| kind.as_str()).collect();
        let kind = &mut schema["properties"]["type"];
        *kind = json!({"type": "string", "enum": types, "description": kind["description"]});
        schemas.insert(name, schema);
    }
    schemas
}

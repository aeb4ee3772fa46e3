//! The schemas of the document, made from those that the models derive.

use std::collections::{BTreeMap, BTreeSet};

use functions::request_spec::{BodyType, Schemas};
use kernel::Kind;
use models::schema::named;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use web::{Route, expand};

use super::parts::{object_schemas, reachable, reference};
use super::{events, names, parts};

/// Members of responses that are omitted when they have no value; every other member is always present.
const SOMETIMES: &[(&str, &str)] = &[
    ("BatchError", "errors"),
    ("BatchError", "policy"),
    ("BatchError", "rule"),
    ("Account", "key"),
    ("ApiKey", "secret"),
    ("Vehicle", "warnings"),
    ("EventData", "previous_attributes"),
    ("ChargingStation", "distance_meters"),
    ("Availability", "exceptional_closings"),
    ("Availability", "exceptional_openings"),
    ("LineItem", "tax_components"),
    ("Price", "price_decimal"),
    ("Price", "restrictions"),
    ("ReportFilters", "driver"),
    ("ReportFilters", "session_status"),
    ("ReportFilters", "station"),
    ("ReportFilters", "vehicle"),
    ("ReportTotals", "carbon_g"),
    ("ReportTotals", "green_energy_wh"),
    ("Restrictions", "day_of_week"),
    ("Restrictions", "end_date"),
    ("Restrictions", "end_date_time"),
    ("Restrictions", "end_time"),
    ("Restrictions", "max_current"),
    ("Restrictions", "max_duration"),
    ("Restrictions", "max_energy"),
    ("Restrictions", "max_power"),
    ("Restrictions", "min_current"),
    ("Restrictions", "min_duration"),
    ("Restrictions", "min_energy"),
    ("Restrictions", "min_power"),
    ("Restrictions", "reservation"),
    ("Restrictions", "start_date"),
    ("Restrictions", "start_date_time"),
    ("Restrictions", "start_time"),
];

/// Descriptions of members that all kinds of objects have in common.
const COMMON_MEMBERS: &[(&str, &str)] = &[
    ("id", "Opaque id of the object."),
    ("created", "Time at which the object was created."),
    ("updated", "Time of the last change of the object."),
];

/// The schema of the body of actions without parameters.
const EMPTY_BODY: &str = "EmptyBody";

/// The schemas that operations refer to. They are collected under their names in the code; [`Self::finish`] converts them to those of
/// the document.
#[derive(Default)]
pub struct Components {
    schemas: BTreeMap<String, Value>,
    responses: BTreeSet<String>,
    /// The body of each operation that has one: its name in the document, and its name in the code.
    bodies: BTreeMap<String, String>,
    kinds: BTreeMap<String, Kind>,
    /// Schemas that are written in this crate and refer to others by their names in the document.
    written: Map<String, Value>,
    /// Objects that also have a variant with the warnings of policies.
    warned: BTreeSet<String>,
    /// Error responses by name: many operations share them.
    pub errors: BTreeMap<String, Value>,
    /// The responses of operations by name.
    pub examples: BTreeMap<String, Value>,
}

impl Components {
    fn add_all(&mut self, schemas: Schemas) {
        for (name, schema) in schemas {
            let schema = serde_json::to_value(schema).expect("a schema is JSON");
            self.schemas.entry(name).or_insert(schema);
        }
    }

    /// Adds a schema that is not derived from a type of the code.
    pub fn write(&mut self, name: &str, schema: Value) -> Value {
        self.written.insert(name.to_owned(), schema);
        reference(name)
    }

    /// A reference to the schema of a kind of object.
    pub fn object(&mut self, kind: Kind) -> Value {
        reference(&self.object_name(kind))
    }

    fn object_name(&mut self, kind: Kind) -> String {
        let (name, schemas) = object_schemas(kind);
        self.add_all(schemas);
        self.responses.insert(name.clone());
        self.kinds.insert(name.clone(), kind);
        name
    }

    /// A reference to an object together with the warnings of policies in suggestion mode.
    pub fn object_with_warnings(&mut self, kind: Kind) -> Value {
        let (name, schemas) = named::<models::charging::policies::Breach>();
        self.add_all(schemas);
        self.responses.insert(name);
        let name = self.object_name(kind);
        self.warned.insert(name.clone());
        reference(&with_warnings(&name))
    }

    /// A reference to a page of objects.
    pub fn page(&mut self, kind: Kind) -> Value {
        let name = self.object_name(kind);
        self.page_of(&name)
    }

    /// A reference to a page of the parts of an object.
    pub fn page_of_parts(&mut self, of: Kind, part: Kind) -> Value {
        self.object_name(of);
        match part {
            Kind::BatchResult => {
                let (name, schemas) = named::<models::batch::BatchResult>();
                self.add_all(schemas);
                self.responses.insert(name.clone());
                self.kinds.insert(name.clone(), part);
                self.page_of(&name)
            }
            Kind::LineItem => self.page_of("LineItem"),
            other => panic!("no schema for the part {other:?}"),
        }
    }

    /// A reference to the candidates of a match.
    pub fn candidates(&mut self) -> Value {
        let (name, schemas) = named::<models::charging::candidates::ReservationCandidates>();
        self.add_all(schemas);
        self.responses.insert(name.clone());
        reference(&name)
    }

    /// A reference to the plan of a site.
    pub fn site_plan(&mut self) -> Value {
        let (name, schemas) = named::<models::site::view::SitePlan>();
        self.add_all(schemas);
        self.responses.insert(name.clone());
        reference(&name)
    }

    /// A reference to the next events of a polling endpoint.
    pub fn feed(&mut self) -> Value {
        let event = self.object_name(Kind::Event);
        let feed = json!({"type": "object", "description": "The next events of a polling endpoint.",
            "required": ["cursor", "data", "has_more", "redelivered"], "properties": {
            "cursor": {"type": "string", "description": "`cursor` of the next request. Keep it once the events of this page are handled."},
            "data": {"type": "array", "items": reference(&event), "description": "Events in the order in which they were published. Where the endpoint has the `payload` `thin`, `data.object` of each has `id` and `object` alone: read them as plain JSON, not as the types of a generated client."},
            "has_more": {"type": "boolean", "description": "Whether there are more events already: then the next request need not wait."},
            "redelivered": {"type": "array", "items": {"type": "string"}, "description": "Ids of the events of `data` that are shown once more, because their redelivery was requested."},
        }});
        self.write("EventFeed", feed)
    }

    /// A reference to an object that is computed for the response and not stored.
    pub fn computed<T: ToSchema>(&mut self, kind: Kind) -> Value {
        let (name, schemas) = named::<T>();
        self.add_all(schemas);
        self.responses.insert(name.clone());
        self.kinds.insert(name.clone(), kind);
        reference(&name)
    }

    fn page_of(&mut self, name: &str) -> Value {
        let page = json!({"type": "object", "description": "One page of a list.",
            "required": ["data", "next_page_url", "previous_page_url"], "properties": {
            "data": {"type": "array", "items": reference(name), "description": "Objects of the page, the newest first unless the operation says otherwise."},
            "next_page_url": {"type": ["string", "null"], "description": "URL of the next page; null on the last page."},
            "previous_page_url": {"type": ["string", "null"], "description": "URL of the previous page; null on the first page."},
        }});
        self.write(&format!("{name}Page"), page)
    }

    /// A reference to the representation of a deleted object.
    pub fn deleted(&mut self, kind: Kind) -> Value {
        let (name, _) = object_schemas(kind);
        let deleted = json!({"type": "object", "required": ["id", "object", "deleted"], "properties": {
            "id": {"type": "string", "description": "Id of the deleted object."},
            "object": object_member(kind),
            "deleted": {"type": "boolean", "const": true, "description": "Always true."},
        }});
        self.write(&format!("Deleted{name}"), deleted)
    }

    /// A reference to the schema of a body, and whether the body is required.
    pub fn body(&mut self, route: &Route, body: BodyType) -> (Value, bool) {
        let BodyType { name, schemas, .. } = body;
        self.add_all(schemas);
        let schema = &self.schemas[&name];
        if schema.get("properties").is_none() {
            let empty = json!({"type": "object", "additionalProperties": false,
                "description": "The operation takes no parameters: the body is an empty object, or is left out."});
            return (self.write(EMPTY_BODY, empty), false);
        }
        let required = schema.get("required").is_some();
        let params = names::params(route);
        self.bodies.insert(params.clone(), name);
        (reference(&params), required)
    }

    /// The schemas `from` and all schemas that they refer to, directly or indirectly.
    fn reachable(&self, from: &BTreeSet<String>) -> BTreeSet<String> {
        reachable(&self.schemas, from)
    }

    /// The schemas of the document: responses have all their members, simple types are inlined, expandable ids may be the objects that
    /// they refer to, and an event's type selects the type of its object.
    pub fn finish(mut self) -> Map<String, Value> {
        let roots: BTreeSet<String> = self.bodies.values().cloned().collect();
        let (responses, bodies) = (self.reachable(&self.responses), self.reachable(&roots));
        for name in responses.difference(&bodies) {
            if let Some(schema) = self.schemas.get_mut(name) {
                require_all(name, schema);
            }
        }
        self.describe_common_members();
        let (simple, mut shown): (BTreeMap<_, _>, BTreeMap<_, _>) = self
            .schemas
            .iter()
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .partition(|(_, schema)| is_simple(schema));
        for (name, schema) in &mut shown {
            inline(schema, &simple);
            if bodies.contains(name) {
                bound(schema);
            }
            tidy(schema);
        }
        for (name, kind) in &self.kinds {
            for (member, target) in expand::members(*kind) {
                let target = object_schemas(target).0;
                if shown.contains_key(&target) {
                    expandable(&mut shown, name, member, &target);
                }
            }
        }
        for (params, name) in &self.bodies {
            shown.insert(params.clone(), shown[name].clone());
        }
        for name in &self.warned {
            shown.insert(with_warnings(name), warned(&shown[name]));
        }
        if let (Some(event), Some(data)) = (shown.remove("Event"), shown.remove("EventData")) {
            shown.extend(events::schemas(&event, &data));
        }
        let warned = self.warned.iter().map(|name| with_warnings(name));
        let used = self.responses.iter().chain(self.bodies.keys());
        let used = used.chain(self.written.keys()).cloned().chain(warned);
        // Only the webhooks refer to it.
        let used = used.chain(["ThinEvent".to_owned()]);
        let used = used.collect();
        shown.extend(self.written);
        let used = reachable(&shown, &used);
        shown.retain(|name, _| used.contains(name));
        let shown = names::rename(shown.into_iter().collect());
        let mut missing = Vec::new();
        for (name, schema) in &shown {
            undescribed(name, schema, &mut missing);
        }
        assert!(missing.is_empty(), "without a description: {missing:#?}");
        shown
    }

    /// Describes the members that objects of all kinds have.
    fn describe_common_members(&mut self) {
        for (name, kind) in &self.kinds {
            let Some(schema) = self.schemas.get_mut(name) else {
                continue;
            };
            let members = schema["properties"].as_object_mut().expect("members");
            members.insert("object".into(), object_member(*kind));
            for (name, description) in COMMON_MEMBERS {
                if let Some(member) = members.get_mut(*name) {
                    member["description"] = json!(description);
                }
            }
        }
    }
}

/// The schema of the member that names the kind of an object.
fn object_member(kind: Kind) -> Value {
    json!({"type": "string", "const": kind.name(), "description": format!("Always `{}`.", kind.name())})
}

/// The paths of members without a description.
fn undescribed(path: &str, schema: &Value, found: &mut Vec<String>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        undescribed(&path, member, found);
        if member["description"].as_str().is_none_or(str::is_empty) {
            found.push(path);
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(part) = schema.get(name) {
            undescribed(path, part, found);
        }
    }
    for option in schema["oneOf"].as_array().into_iter().flatten() {
        undescribed(path, option, found);
    }
}

/// An object's schema with the warnings of policies.
fn warned(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let members = schema["properties"].as_object_mut().expect("members");
    members.insert(
        "policy_warnings".into(),
        json!({"type": "array", "items": reference("Breach"),
            "description": "Policies in suggestion mode that the request violates; empty if none."}),
    );
    let required = schema["required"].as_array_mut().expect("members");
    required.push(json!("policy_warnings"));
    schema
}

/// The name of an object's schema with the warnings of policies.
fn with_warnings(name: &str) -> String {
    format!("{name}WithWarnings")
}

fn require_all(name: &str, schema: &mut Value) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let always = properties
        .keys()
        .filter(|member| !SOMETIMES.contains(&(name, member)))
        .cloned()
        .collect::<Vec<_>>();
    if !always.is_empty() {
        schema["required"] = json!(always);
    }
}

/// Whether a schema is neither an object with members nor an enumeration. Such a schema is easier to read inline.
fn is_simple(schema: &Value) -> bool {
    schema.get("properties").is_none() && schema.get("enum").is_none()
}

/// Replaces references to simple types by the types.
fn inline(schema: &mut Value, simple: &BTreeMap<String, Value>) {
    match schema {
        Value::Object(members) => {
            let name = members
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|path| path.rsplit('/').next());
            if let Some(target) = name.and_then(|name| simple.get(name)).cloned() {
                members.remove("$ref");
                for (key, value) in target.as_object().cloned().unwrap_or_default() {
                    members.entry(key).or_insert(value);
                }
                return inline(schema, simple);
            }
            members
                .values_mut()
                .for_each(|member| inline(member, simple));
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| inline(entry, simple)),
        _ => {}
    }
}

/// The schema of a query parameter: that of an optional member that is never null.
pub fn of_parameter(member: &Value, schemas: &BTreeMap<String, Value>) -> Value {
    let mut schema = member.clone();
    inline(&mut schema, schemas);
    bound(&mut schema);
    tidy(&mut schema);
    let members = schema.as_object_mut().expect("a schema");
    if let Some(Value::Array(options)) = members.remove("oneOf") {
        members.extend(options[0].as_object().expect("a schema").clone());
    }
    if let Some(Value::Array(types)) = members.get("type") {
        members["type"] = types[0].clone();
    }
    if members["type"] == "number" {
        for bound in ["minimum", "maximum"] {
            members[bound] = json!(members[bound].as_f64());
        }
    }
    members.remove("description");
    schema
}

/// The formats of integers, as `utoipa` names them, whose bounds a body cannot exceed.
const BOUNDS: [(&str, i64, i64); 4] = [
    ("int32", i32::MIN as i64, i32::MAX as i64),
    ("u-int8", 0, u8::MAX as i64),
    ("u-int16", 0, u16::MAX as i64),
    ("u-int32", 0, u32::MAX as i64),
];

/// Adds the bounds of the integers in a request that do not have narrower ones.
fn bound(schema: &mut Value) {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(entries) => return entries.iter_mut().for_each(bound),
        _ => return,
    };
    members.values_mut().for_each(bound);
    let format = members.get("format").and_then(Value::as_str);
    let known = BOUNDS.iter().find(|(name, ..)| format == Some(*name));
    if let Some((_, least, most)) = known {
        members.entry("minimum").or_insert(json!(least));
        members.entry("maximum").or_insert(json!(most));
    }
}

/// Converts `{"oneOf": [{"type": "string"}, null]}` to `{"type": ["string", "null"]}`, moves the description of the other type beside
/// a remaining `oneOf`, and removes the formats of numbers that only Rust has.
fn tidy(schema: &mut Value) {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(entries) => return entries.iter_mut().for_each(tidy),
        _ => return,
    };
    members.values_mut().for_each(tidy);
    let rust = [
        "int32", "int64", "u-int8", "u-int16", "u-int32", "u-int64", "double", "float",
    ];
    let format = members.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| rust.contains(&format)) && !members.contains_key("properties") {
        members.remove("format");
    }
    let null = json!({"type": "null"});
    let Some(Value::Array(options)) = members.get_mut("oneOf") else {
        return;
    };
    options.sort_by_key(|option| *option == null);
    let [Value::Object(other), last] = &mut options[..] else {
        return;
    };
    if *last != null {
        return;
    }
    let description = other.remove("description");
    let plain = match other.get("type") {
        Some(Value::String(kind)) if !other.contains_key("enum") => Some(kind.clone()),
        _ => None,
    };
    if let Some(kind) = plain {
        let other = std::mem::take(other);
        members.remove("oneOf");
        for (key, value) in other {
            members.entry(key).or_insert(value);
        }
        members.insert("type".into(), json!([kind, "null"]));
    }
    if let Some(description) = description {
        members.entry("description").or_insert(description);
    }
}

/// Allows a member that holds an id to hold the object instead.
fn expandable(shown: &mut BTreeMap<String, Value>, name: &str, member: &str, target: &str) {
    let (owner, member) = match member.split_once('.') {
        None => (name.to_owned(), member),
        Some((outer, inner)) => {
            let owner = parts::target(&shown[name]["properties"][outer]).unwrap_or(name);
            (owner.to_owned(), inner)
        }
    };
    let union = format!("Expandable{target}");
    shown.entry(union.clone()).or_insert_with(|| {
        json!({"description": "The id, or the whole object where `expand[]` names the member.",
            "oneOf": [{"type": "string"}, reference(target)]})
    });
    let Some(place) = shown
        .get_mut(&owner)
        .and_then(|schema| schema.pointer_mut(&format!("/properties/{member}")))
    else {
        panic!("{owner} has no {member} to expand");
    };
    let place = match place.get_mut("items") {
        Some(_) => &mut place["items"],
        None => place,
    };
    let mut id = place.take();
    *place = match &id["type"] {
        Value::Array(_) => json!({"oneOf": [reference(&union), {"type": "null"}]}),
        _ => reference(&union),
    };
    let description = id.as_object_mut().and_then(|id| id.remove("description"));
    if let Some(description) = description {
        place["description"] = description;
    }
}

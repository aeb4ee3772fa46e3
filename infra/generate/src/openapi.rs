//! Makes the OpenAPI document from the code: routes and handlers give the operations, models the schemas, sample events the
//! examples, and the first lines of each route's file the descriptions.

use std::collections::{BTreeMap, BTreeSet};

use functions::Endpoint;
use functions::request_spec::{BodyType, Schemas};
use serde_json::{Map, Value, json};
use shared::Kind;
use shared::error::Code;
use shared::http::{Conditional, Method, Route, Shows, expand};
use shared::models::event::EventType;
use shared::models::schema::named;
use shared::store::row::schemas;
use shared::version;

use crate::root;

/// Members of answers that are left out when there is nothing to say; every other member is always there.
const SOMETIMES: &[(&str, &str)] = &[
    ("ApiKey", "secret"),
    ("EventData", "previous_attributes"),
    ("ChargingStation", "distance_meters"),
    ("Availability", "exceptional_closings"),
    ("Availability", "exceptional_openings"),
    ("Price", "price_decimal"),
    ("Price", "restrictions"),
    ("ReportFilters", "driver"),
    ("ReportFilters", "session_status"),
    ("ReportFilters", "station"),
    ("ReportFilters", "vehicle"),
    ("Restrictions", "day_of_week"),
    ("Restrictions", "end_date"),
    ("Restrictions", "end_time"),
    ("Restrictions", "max_duration"),
    ("Restrictions", "max_energy"),
    ("Restrictions", "max_power"),
    ("Restrictions", "min_duration"),
    ("Restrictions", "min_energy"),
    ("Restrictions", "min_power"),
    ("Restrictions", "start_date"),
    ("Restrictions", "start_time"),
];

/// The document as it is written to the file: indented by one blank, because the file is part of the executable.
pub fn render() -> String {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
    serde::Serialize::serialize(&document(), &mut serializer).expect("JSON");
    String::from_utf8(text).expect("text") + "\n"
}

/// The whole document.
fn document() -> Value {
    let endpoints = functions::endpoints();
    let mut components = Components::default();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for endpoint in &endpoints {
        let method = endpoint.route.method.as_str().to_lowercase();
        let operation = operation(endpoint, &mut components);
        paths
            .entry(endpoint.route.path)
            .or_default()
            .insert(method, operation);
    }
    let webhooks: Map<_, _> = EventType::ALL
        .iter()
        .map(|kind| (kind.as_str().to_owned(), webhook(*kind, &mut components)))
        .collect();
    components.add("Error".into(), error_schema());
    let failures = std::mem::take(&mut components.failures);
    let examples = std::mem::take(&mut components.examples);
    let mut schemas = components.finish();
    schemas.insert("Error".into(), error_schema());
    let tags: BTreeSet<_> = endpoints.iter().map(|one| tag(&one.route)).collect();
    let tags = tags
        .into_iter()
        .map(|tag| json!({"name": tag, "description": about(tag)}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Fleet Charging Service",
            "version": version::CURRENT,
            "summary": "Charging for fleets of electric vehicles: find, reserve, charge, pay, and be told.",
            "description": INTRODUCTION,
            "contact": {"name": "Fleet Charging Service"},
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8787", "description": "This service."}],
        "security": [{"api_key": []}],
        "tags": tags.collect::<Vec<_>>(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": schemas,
            "examples": examples,
            "parameters": parameters(),
            "responses": failures,
            "headers": headers(),
            "securitySchemes": {"api_key": {"type": "http", "scheme": "bearer",
                "description": "A secret key: `sk_test_…`, `sk_live_…`, or a restricted `rk_test_…`, `rk_live_…`."}},
        },
    })
}

const INTRODUCTION: &str = "\
Requests that carry a body send JSON; updates and actions are POST requests to the resource's path, and members that an \
update leaves out keep their values. Timestamps are RFC 3339 in UTC with milliseconds; amounts are integers in the \
currency's smallest unit. Ids are opaque.

**Keys.** Each key belongs to an account and to test or live mode; another account's or mode's objects do not exist for it. \
A parent acts inside a child account with the header `Service-Account`. A restricted key does what its scopes allow; \
`x-scope` of each operation lists the scopes it needs always (`required`) and for some requests (`conditional`), and a \
missing one is refused with 403 `authentication_error`. Scopes that write include reading. While an account is suspended, \
its keys and those of all accounts below it only read: every other request is refused with 403 `authentication_error`. \
While it is closed, they are refused with 401, and a parent no longer finds the account with `Service-Account` (404).

**Limits.** The rate of requests is per account and mode, and an account and all accounts below it together send no more than \
one account may. An account has at most 1,000 accounts below it, nested at most five deep, and together with them at most \
1,000 webhook endpoints per mode, unless the deployment sets other numbers.

**Lists** run from newest to oldest. Request `next_page_url` and `previous_page_url` exactly as they come. A page whose \
objects are larger than about 5 MB together ends before `limit`; the next page goes on after it.

**Sizes.** A body has at most 256 KiB, and an object at most 150 KiB as JSON: a request that would make one larger is refused \
with 400. Error messages repeat at most 64 characters of what was sent.

**Expansion.** `expand[]` shows whole objects in place of ids: at most 10 dotted paths of at most 4 levels, none of which returns \
to a kind of object that it has passed, and per answer at most 1,000 expanded objects and 5 MB. Anything else is 400 \
`unsupported_expand_value`; where a POST would be answered beyond these limits, its effect happens and the answer keeps its ids.

**Idempotency.** A POST or DELETE with an `Idempotency-Key` has its effect once; a repetition within 24 hours gets the first \
answer, with the header `Idempotent-Replayed: true`.

**Errors** are explained one by one under [errors](/docs/errors).

**Webhooks** are signed: `Service-Signature: t=<time>,v1=<hex>` is the HMAC-SHA256 of `<time>.<raw body>` under the \
endpoint's whole secret; the headers of Standard Webhooks come along.";

/// The schemas that are referred to.
#[derive(Default)]
struct Components {
    schemas: BTreeMap<String, Value>,
    answers: BTreeSet<String>,
    bodies: BTreeSet<String>,
    kinds: BTreeMap<String, Kind>,
    /// Refusals by status and codes: many operations share them.
    failures: BTreeMap<String, Value>,
    /// What operations answer, by name.
    examples: BTreeMap<String, Value>,
}

impl Components {
    fn add(&mut self, name: String, schema: Value) {
        self.schemas.entry(name).or_insert(schema);
    }

    fn add_all(&mut self, schemas: Schemas) {
        for (name, schema) in schemas {
            self.add(
                name,
                serde_json::to_value(schema).expect("a schema is JSON"),
            );
        }
    }

    /// A reference to the schema of a kind of object.
    fn object(&mut self, kind: Kind) -> Value {
        let (name, schemas) = object_schemas(kind);
        self.add_all(schemas);
        self.answers.insert(name.clone());
        self.kinds.insert(name.clone(), kind);
        reference(&name)
    }

    /// The name of the response that refuses with one of these codes.
    fn failure(&mut self, status: u16, codes: &BTreeSet<Option<&'static str>>) -> String {
        let names: Vec<_> = codes.iter().map(|code| code.unwrap_or("no_code")).collect();
        let name = format!("{status}.{}", names.join("."));
        let response = || failure(status, codes);
        self.failures.entry(name.clone()).or_insert_with(response);
        name
    }

    /// A reference to an example of what an operation answers; many operations share one.
    fn example(&mut self, route: &Route) -> Value {
        let name = match route.shows {
            Shows::Object(kind) if warns(route) => format!("allowed_{}", kind.name()),
            _ if route.name == "create-api-key" => "made_api_key".to_owned(),
            Shows::Object(kind) => kind.name().to_owned(),
            Shows::Page(kind) => format!("page_of_{}", kind.name()),
            Shows::Lines => "page_of_lines".to_owned(),
            Shows::Deleted(kind) => format!("deleted_{}", kind.name()),
        };
        let shared = json!({"$ref": format!("#/components/examples/{name}")});
        self.examples.insert(name, json!({"value": example(route)}));
        shared
    }

    fn body(&mut self, body: BodyType) -> Value {
        self.add_all(body.schemas);
        self.bodies.insert(body.name.clone());
        reference(&body.name)
    }

    /// Everything referred to from some schemas.
    fn reachable(&self, from: &BTreeSet<String>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<String> = from.iter().cloned().collect();
        while let Some(name) = open.pop() {
            if found.insert(name.clone())
                && let Some(schema) = self.schemas.get(&name)
            {
                references(schema, &mut open);
            }
        }
        found
    }

    /// The schemas as they are shown: answers have all their members, simple types stand where they are used, and ids
    /// may be the objects they name.
    fn finish(mut self) -> Map<String, Value> {
        let (answers, bodies) = (self.reachable(&self.answers), self.reachable(&self.bodies));
        for name in answers.difference(&bodies) {
            if let Some(schema) = self.schemas.get_mut(name) {
                require_all(name, schema);
            }
        }
        for (name, kind) in &self.kinds {
            let Some(schema) = self.schemas.get_mut(name) else {
                continue;
            };
            schema["properties"]["object"] = json!({"type": "string", "const": kind.name()});
            schema["properties"]["id"] = json!({"type": "string", "description": "Opaque."});
        }
        let simple: BTreeMap<String, Value> = self
            .schemas
            .iter()
            .filter(|(_, schema)| is_simple(schema))
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        let mut shown: Map<String, Value> = self
            .schemas
            .iter()
            .filter(|(name, _)| !simple.contains_key(*name))
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        for schema in shown.values_mut() {
            inline(schema, &simple);
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
        let used = self.reachable(&self.answers.union(&self.bodies).cloned().collect());
        shown.retain(|name, _| used.contains(name));
        shown
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(path)) = members.get("$ref") {
                found.extend(path.rsplit('/').next().map(str::to_owned));
            }
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| references(entry, found)),
        _ => {}
    }
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

/// Neither an object with members nor a list of words: it reads better where it is used.
fn is_simple(schema: &Value) -> bool {
    schema.get("properties").is_none() && schema.get("enum").is_none()
}

/// Puts simple types in place of references to them.
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

/// `{"oneOf": [null, {"type": "string"}]}` as `{"type": ["string", "null"]}`, and no formats that only Rust knows.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(tidy);
            let rust = matches!(
                members.get("format").and_then(Value::as_str),
                Some(
                    "int32"
                        | "int64"
                        | "uint8"
                        | "uint16"
                        | "uint32"
                        | "uint64"
                        | "double"
                        | "float"
                )
            );
            if rust && !members.contains_key("properties") {
                members.remove("format");
            }
            if let Some(Value::Array(options)) = members.get("oneOf")
                && let [null, Value::Object(other)] = &options[..]
                && null == &json!({"type": "null"})
                && let Some(Value::String(kind)) = other.get("type")
                && !other.contains_key("enum")
            {
                let (kind, other) = (kind.clone(), other.clone());
                members.remove("oneOf");
                for (key, value) in other {
                    members.entry(key).or_insert(value);
                }
                members.insert("type".into(), json!([kind, "null"]));
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Lets a member that holds an id hold the object instead.
fn expandable(shown: &mut Map<String, Value>, name: &str, member: &str, target: &str) {
    let (owner, member) = match member.split_once('.') {
        None => (name.to_owned(), member),
        Some((outer, inner)) => {
            let path = shown[name]["properties"][outer]["$ref"].as_str();
            let owner = path
                .and_then(|path| path.rsplit('/').next())
                .unwrap_or(name);
            (owner.to_owned(), inner)
        }
    };
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
    let description = id.as_object_mut().and_then(|id| id.remove("description"));
    *place = json!({"anyOf": [id, reference(target)]});
    if let Some(description) = description {
        place["description"] = description;
    }
}

fn object_schemas(kind: Kind) -> (String, Schemas) {
    schemas(kind).unwrap_or_else(|| panic!("no schema of {kind:?}"))
}

fn sample_id(kind: Kind) -> String {
    format!("{}01a1f000000070008000000000000001", kind.prefix())
}

fn tag(route: &Route) -> &'static str {
    route.path.split('/').nth(2).expect("a resource")
}

/// The first paragraph of the documentation of the resource's folder.
fn about(tag: &str) -> String {
    let path = root().join("functions/src").join(tag).join("mod.rs");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let paragraph = text.split("//!\n").next().unwrap_or_default();
    let said = header(paragraph);
    assert!(!said.is_empty(), "{} has no description", path.display());
    said
}

/// The first lines of a file, `//! …`, as one.
fn header(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// `retrieve-charging-station` as `retrieveChargingStation`.
fn operation_id(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |id, word| id + &capital(word))
}

/// What the description of every operation that charges adds.
const CHARGING: &str = " A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: \
    the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. \
    Repeating the request with the same `Idempotency-Key` never charges twice.";

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// `retrieve-charging-station` as `Retrieve a charging station`.
fn summary(route: &Route) -> String {
    let (verb, object) = route.name.split_once('-').expect("a verb and an object");
    let object = object.replace("api", "API").replace('-', " ");
    let article = match (route.shows, object.chars().next()) {
        (Shows::Page(_) | Shows::Lines, _) => "",
        (_, Some('a' | 'e' | 'i' | 'o' | 'A')) => "an ",
        _ => "a ",
    };
    let verb = verb.replace("topup", "top up");
    format!("{} {article}{object}", capital(&verb))
}

/// What the first lines of the route's file say after the path.
fn description(route: &Route) -> String {
    let folder = root().join("functions/src").join(tag(route));
    for entry in std::fs::read_dir(&folder).expect("the folder of the resource") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        if !text.contains(&format!("\"{}\"", route.name)) {
            continue;
        }
        let said = header(&text);
        let (_, said) = said.split_once("`: ").expect("a path and what it does");
        let charging = if route.charges { CHARGING } else { "" };
        return capital(said) + charging;
    }
    panic!("{} has no file", route.name);
}

/// The scopes of an operation: those that a key needs for any request, and those that it needs for some.
fn scopes(route: &Route) -> Value {
    let required: Vec<_> = route.scopes().map(|scope| scope.to_string()).collect();
    let mut conditional: Vec<_> = route.sometimes.to_vec();
    if expand::is_taken(route) {
        conditional.push(Conditional {
            scope: "<resource>:read",
            when: "expand[] is given, of every kind of object that its paths name",
        });
    }
    let conditional = conditional
        .iter()
        .map(|one| json!({"scope": one.scope, "when": one.when}));
    json!({"required": required, "conditional": conditional.collect::<Vec<_>>()})
}

fn operation(endpoint: &Endpoint, components: &mut Components) -> Value {
    let route = &endpoint.route;
    let spec = (endpoint.request_spec)();
    let mut operation = json!({
        "operationId": operation_id(route.name),
        "summary": summary(route),
        "description": description(route),
        "tags": [tag(route)],
        "parameters": operation_parameters(endpoint, components),
        "x-scope": scopes(route),
    });
    let mut responses = Map::from_iter([("200".to_owned(), success(route, components))]);
    for (status, codes) in refusals(endpoint) {
        let name = components.failure(status, &codes);
        let shared = json!({"$ref": format!("#/components/responses/{name}")});
        responses.insert(status.to_string(), shared);
    }
    operation["responses"] = Value::Object(responses);
    if let Some(body) = spec.body {
        let name = body.name.clone();
        let mut schema = components.body(body);
        let whole = components.schemas[&name].clone();
        let required = whole.get("required").is_some();
        if is_simple(&whole) {
            schema = whole;
        }
        let mut content = json!({"schema": schema});
        if let Some(example) = body_of_sample(route.name) {
            content["example"] = example;
        }
        operation["requestBody"] =
            json!({"required": required, "content": {"application/json": content}});
    }
    operation
}

/// The id in the path of the route's sample event.
fn id_of_sample(name: &str) -> Value {
    let path = sample(name)["rawPath"].as_str().expect("a path").to_owned();
    json!(path.split('/').nth(3).expect("an id"))
}

fn sample(name: &str) -> Value {
    let path = root().join(format!("events/{name}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The body of the route's sample event.
fn body_of_sample(name: &str) -> Option<Value> {
    serde_json::from_str(sample(name)["body"].as_str()?).ok()
}

fn success(route: &Route, components: &mut Components) -> Value {
    let object = components.object(route.shows.kind());
    let (said, schema) = match route.shows {
        Shows::Object(kind) => {
            let object = match warns(route) {
                true => with_warnings(object, components),
                false => object,
            };
            (format!("The {}.", kind.name().replace('_', " ")), object)
        }
        Shows::Page(kind) => (
            format!("A page of {} objects.", kind.name().replace('_', " ")),
            page_of(object),
        ),
        Shows::Lines => (
            "A page of line items.".to_owned(),
            page_of(reference("LineItem")),
        ),
        Shows::Deleted(kind) => (
            "It is gone.".to_owned(),
            json!({"type": "object", "required": ["id", "object", "deleted"], "properties": {
                "id": {"type": "string"},
                "object": {"type": "string", "const": kind.name()},
                "deleted": {"type": "boolean", "const": true},
            }}),
        ),
    };
    let mut headers = every_header();
    if route.method != Method::Get {
        headers.insert(
            "Idempotent-Replayed".into(),
            json!({"$ref": "#/components/headers/Idempotent-Replayed"}),
        );
    }
    json!({"description": said, "headers": headers,
        "content": {"application/json": {"schema": schema, "examples": {"sample": components.example(route)}}}})
}

/// What an operation may answer.
fn example(route: &Route) -> Value {
    let page =
        |row: Value| json!({"data": [row], "next_page_url": null, "previous_page_url": null});
    match route.shows {
        Shows::Object(kind) => {
            let mut object = example_of(kind);
            if route.name == "create-api-key" {
                object["secret"] = json!("rk_test_…");
            }
            if warns(route) {
                object["policy_warnings"] = json!([]);
            }
            object
        }
        Shows::Page(kind) => page(example_of(kind)),
        Shows::Lines => page(example_of(Kind::Invoice)["line_items"][0].clone()),
        Shows::Deleted(kind) => {
            json!({"id": example_of(kind)["id"], "object": kind.name(), "deleted": true})
        }
    }
}

/// An object of that kind, of a day on which a vehicle charged and was billed for it.
fn example_of(kind: Kind) -> Value {
    let path = root().join(format!("infra/generate/examples/{}.json", kind.name()));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

fn page_of(object: Value) -> Value {
    json!({"type": "object", "required": ["data", "next_page_url", "previous_page_url"], "properties": {
        "data": {"type": "array", "items": object},
        "next_page_url": {"type": ["string", "null"], "description": "Null on the last page."},
        "previous_page_url": {"type": ["string", "null"], "description": "Null on the first page."},
    }})
}

/// Whether policies have a say in what the operation does.
fn warns(route: &Route) -> bool {
    route.refuses.contains(&Code::PolicyBlocked)
}

/// An answer that says more than its object: what policies in suggestion mode have against it.
fn with_warnings(object: Value, components: &mut Components) -> Value {
    let (name, schemas) = named::<shared::charging::policies::Breach>();
    components.add_all(schemas);
    components.answers.insert(name.clone());
    let warnings = json!({"type": "array", "items": reference(&name),
        "description": "What policies in suggestion mode have against it; empty when nothing speaks against it."});
    json!({"allOf": [object, {"type": "object", "required": ["policy_warnings"], "properties": {"policy_warnings": warnings}}]})
}

/// What an operation may refuse with: codes by status, where none stands for an error without a code.
pub fn refusals(endpoint: &Endpoint) -> BTreeMap<u16, BTreeSet<Option<&'static str>>> {
    let route = &endpoint.route;
    let spec = (endpoint.request_spec)();
    let mut refusals: BTreeMap<u16, BTreeSet<Option<&'static str>>> = BTreeMap::new();
    for status in [400, 401, 403, 500, 503] {
        refusals.entry(status).or_default().insert(None);
    }
    if route.method != Method::Get {
        // An idempotency key in flight.
        refusals.entry(409).or_default().insert(None);
    }
    let mut codes = vec![Code::RateLimitExceeded, Code::AccountNotFound];
    codes.extend(spec.body.and_then(|body| body.invalid));
    codes.extend(expand::is_taken(route).then_some(Code::UnsupportedExpandValue));
    codes.extend(route.refuses);
    let named = |name: &&str| Kind::ALL.iter().find(|kind| kind.name() == *name);
    codes.extend(
        route
            .query
            .iter()
            .filter_map(named)
            .filter_map(|kind| kind.not_found()),
    );
    if spec.id {
        let own = route.scope.resource().map(|resource| resource.kind());
        let code = own.and_then(Kind::not_found);
        match code {
            Some(code) => codes.push(code),
            None => {
                refusals.entry(404).or_default().insert(None);
            }
        }
    }
    for code in codes {
        refusals
            .entry(code.status())
            .or_default()
            .insert(Some(code.as_str()));
    }
    refusals
}

fn failure(status: u16, codes: &BTreeSet<Option<&'static str>>) -> Value {
    let meaning = match status {
        400 => "The request is invalid for the operation.",
        401 => "The key is missing, invalid or not authenticated.",
        402 => "The payment failed or was not authorized.",
        403 => "The key lacks a scope, the account is suspended, or a policy blocks the request.",
        404 => "Something that the request names does not exist.",
        409 => "The request conflicts with the current state.",
        429 => "Requests come too quickly.",
        500 => "An unexpected fault of the service.",
        503 => "The service is busy; nothing was changed that a repetition could not finish.",
        other => panic!("no meaning of {other}"),
    };
    let names: Vec<_> = codes
        .iter()
        .flatten()
        .map(|code| format!("`{code}`"))
        .collect();
    let said = match names.is_empty() {
        true => meaning.to_owned(),
        false => format!("{meaning} Codes: {}.", names.join(", ")),
    };
    let examples: Map<String, Value> = codes
        .iter()
        .map(|code| {
            (
                code.unwrap_or("no_code").to_owned(),
                json!({"value": example_error(status, *code)}),
            )
        })
        .collect();
    let schema = json!({"allOf": [reference("Error"), {"type": "object", "properties": {
        "status": {"const": status}, "code": {"enum": codes},
    }}]});
    let mut headers = every_header();
    match status {
        401 => {
            headers.insert(
                "WWW-Authenticate".into(),
                json!({"$ref": "#/components/headers/WWW-Authenticate"}),
            );
        }
        429 | 503 => {
            headers.insert(
                "Retry-After".into(),
                json!({"$ref": "#/components/headers/Retry-After"}),
            );
        }
        _ => {}
    }
    json!({"description": said, "headers": headers,
        "content": {"application/json": {"schema": schema, "examples": examples}}})
}

fn example_error(status: u16, code: Option<&str>) -> Value {
    let kind = match status {
        401 | 403 if code.is_none() => "authentication_error",
        429 => "rate_limit_error",
        500 | 503 => "api_error",
        409 if code.is_none() => "idempotency_error",
        _ => "invalid_request_error",
    };
    let doc_url = code.map(|code| {
        format!(
            "http://127.0.0.1:8787/docs/errors#{}",
            code.replace('_', "-")
        )
    });
    json!({"object": "error", "type": kind, "code": code, "message": "What is wrong, for a human reader.", "param": null,
        "request": sample_id(Kind::Request), "status": status, "doc_url": doc_url})
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "description": "Why a request failed.",
        "required": ["object", "type", "code", "message", "param", "request", "status", "doc_url"],
        "properties": {
            "object": {"type": "string", "const": "error"},
            "type": {"type": "string", "enum": ["invalid_request_error", "authentication_error", "rate_limit_error", "api_error", "idempotency_error"]},
            "code": {"type": ["string", "null"], "description": "The specific condition."},
            "message": {"type": "string", "description": "For a human reader."},
            "param": {"type": ["string", "null"], "description": "The parameter at fault, as a path: `location.radius`."},
            "request": {"type": "string", "description": "The id of the request, for support."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "doc_url": {"type": ["string", "null"], "description": "Where the code is explained."},
            "decline_code": {"type": "string", "description": "With `payment_authorization_failed`: the provider's reason."},
            "transaction": {"type": "string", "description": "Of a request that charges: the transaction that shows whether it did."},
            "policy": {"type": "string", "description": "With `policy_blocked`: the policy."},
            "rule": {"type": "string", "description": "With `policy_blocked`: its rule."},
        },
    })
}

fn operation_parameters(endpoint: &Endpoint, components: &mut Components) -> Vec<Value> {
    let route = &endpoint.route;
    let mut list = Vec::new();
    if (endpoint.request_spec)().id {
        let kind = route
            .scope
            .resource()
            .map(|resource| resource.kind())
            .expect("a resource");
        list.push(json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1},
            "description": format!("The id of the {}.", kind.name().replace('_', " ")), "example": id_of_sample(route.name)}));
    }
    for name in route.query {
        list.push(query_parameter(route, name, components));
    }
    if expand::is_taken(route) {
        let prefix = if matches!(route.shows, Shows::Page(_)) {
            "data."
        } else {
            ""
        };
        let members: Vec<_> = expand::members(route.shows.kind())
            .map(|(member, _)| format!("`{prefix}{member}`"))
            .collect();
        list.push(json!({"name": expand::NAME, "in": "query", "style": "form", "explode": true,
            "description": format!("Members to show as whole objects, up to 4 levels deep and 10 in all: {}, and members of those.", members.join(", ")),
            "schema": {"type": "array", "items": {"type": "string"}, "maxItems": 10}}));
    }
    let mut headers = vec!["Service-Version", "Service-Account"];
    if route.method != Method::Get {
        headers.push("Idempotency-Key");
    }
    list.extend(
        headers
            .into_iter()
            .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
    );
    list
}

fn query_parameter(route: &Route, name: &str, components: &mut Components) -> Value {
    let described = |schema: Value, said: &str| {
        let mut parameter =
            json!({"name": name, "in": "query", "schema": schema, "description": said});
        if name.ends_with("[]") {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(true);
        }
        parameter
    };
    let text = json!({"type": "string"});
    let number =
        |least: f64, most: f64| json!({"type": "number", "minimum": least, "maximum": most});
    match name {
        "limit" => described(
            json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 10}),
            "How many objects a page holds.",
        ),
        "page" => described(text, "A token from `next_page_url` or `previous_page_url`."),
        "created[gt]" => described(
            json!({"type": "string", "format": "date-time"}),
            "Made after this moment.",
        ),
        "created[gte]" => described(
            json!({"type": "string", "format": "date-time"}),
            "Made at or after this moment.",
        ),
        "created[lt]" => described(
            json!({"type": "string", "format": "date-time"}),
            "Made before this moment.",
        ),
        "created[lte]" => described(
            json!({"type": "string", "format": "date-time"}),
            "Made at or before this moment.",
        ),
        "latitude" => described(
            number(-90.0, 90.0),
            "With `longitude` and `radius`: the middle of the area.",
        ),
        "longitude" => described(
            number(-180.0, 180.0),
            "With `latitude` and `radius`: the middle of the area.",
        ),
        "radius" => described(
            json!({"type": "integer", "minimum": 1, "maximum": 100_000}),
            "Metres around the middle of the area.",
        ),
        "origin" | "destination" => {
            described(text, "`lat,lng`: one end of a route; both or neither.")
        }
        "buffer" => described(
            json!({"type": "integer", "minimum": 1, "maximum": 100_000, "default": 5000}),
            "Metres to either side of the route.",
        ),
        "connector_type[]" => described(
            json!({"type": "array", "items": {"type": "string", "enum": ["CHAdeMO", "CCS", "Type2"]}}),
            "Has one of these plugs.",
        ),
        "operator[]" => described(
            json!({"type": "array", "items": {"type": "string"}}),
            "Is run by one of these.",
        ),
        "min_power" => described(
            number(0.0, 10_000.0),
            "Has a connector of at least so many kW.",
        ),
        "max_price_per_kwh" => described(
            json!({"type": "integer", "minimum": 0}),
            "Costs at most so many minor units per kWh.",
        ),
        "available" => described(
            json!({"type": "boolean"}),
            "Has a connector that is free now, or has none.",
        ),
        "reservable" => described(
            json!({"type": "boolean"}),
            "RequestSpec reservations, or does not.",
        ),
        "from" => described(
            json!({"type": "string", "format": "date-time"}),
            "With `until`: has a connector that is free for the whole time.",
        ),
        "until" => described(
            json!({"type": "string", "format": "date-time"}),
            "With `from`: has a connector that is free for the whole time.",
        ),
        "type" if route.shows.kind() == Kind::Event => described(
            json!({"type": "string", "enum": EventType::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>()}),
            "Events of this type.",
        ),
        "status" | "type" => {
            components.object(route.shows.kind());
            let object = &components.schemas[&object_schemas(route.shows.kind()).0];
            let mut schema = object["properties"][name].clone();
            if let Some(target) = schema["$ref"]
                .as_str()
                .and_then(|path| path.rsplit('/').next())
            {
                schema = components.schemas[target].clone();
            }
            if route.shows.kind() == Kind::Invoice
                && let Some(words) = schema["enum"].as_array_mut()
            {
                words.push(json!("overdue"));
            }
            let words = schema["enum"].clone();
            described(
                json!({"type": "string", "enum": words}),
                &format!("Objects of this {name}."),
            )
        }
        other => described(
            text,
            &format!(
                "The id of a {}: objects that belong to it.",
                other.replace('_', " ")
            ),
        ),
    }
}

fn parameters() -> Value {
    json!({
        "Idempotency-Key": {"name": "Idempotency-Key", "in": "header", "description": "Makes the request have its effect once: a repetition within 24 hours gets the first answer.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}},
        "Service-Account": {"name": "Service-Account", "in": "header", "description": "The child account to act in.", "schema": {"type": "string"}},
        "Service-Version": {"name": "Service-Version", "in": "header", "description": "The version of the request and its answer; the account's when left out.",
            "schema": {"type": "string", "enum": [version::CURRENT]}},
    })
}

fn headers() -> Value {
    let integer =
        |said: &str| json!({"description": said, "required": true, "schema": {"type": "integer"}});
    let text =
        |said: &str| json!({"description": said, "required": true, "schema": {"type": "string"}});
    json!({
        "Idempotent-Replayed": {"description": "`true` on the answer of an earlier request.", "schema": {"type": "string", "const": "true"}},
        "RateLimit-Limit": integer("How many requests may come at once."),
        "RateLimit-Remaining": integer("How many of them are left."),
        "RateLimit-Reset": integer("Seconds until all are there again."),
        "Retry-After": integer("Seconds to wait before the next try."),
        "Service-Request-Id": text("The id of the request, for support."),
        "Service-Version": text("The version of the answer."),
        "WWW-Authenticate": text("`Bearer`"),
    })
}

fn every_header() -> Map<String, Value> {
    [
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "Service-Request-Id",
        "Service-Version",
    ]
    .iter()
    .map(|name| {
        (
            (*name).to_owned(),
            json!({"$ref": format!("#/components/headers/{name}")}),
        )
    })
    .collect()
}

fn webhook(kind: EventType, components: &mut Components) -> Value {
    let event = components.object(Kind::Event);
    let subject = kind.as_str().split('.').next().unwrap_or_default();
    let object = match subject {
        "ping" => json!({"type": "object"}),
        "service" => components.object(Kind::Transaction),
        subject => match Kind::ALL.iter().find(|kind| kind.name() == subject) {
            Some(kind) => components.object(*kind),
            None => panic!("{subject} is no kind of object"),
        },
    };
    let data = json!({"type": "object", "properties": {"object": object}});
    let schema = json!({"allOf": [event, {"type": "object", "properties": {"type": {"const": kind.as_str()}, "data": data}}]});
    let words = kind.as_str().replace(['.', '_'], "-");
    json!({"post": {
        "operationId": operation_id(&format!("on-{words}")),
        "summary": kind.as_str(),
        "description": format!("Sent to the endpoints that subscribed to `{}`. Answer 200, 201, 202 or 204; anything else is tried again.", kind.as_str()),
        "tags": ["events"],
        "security": [],
        "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "Received."}, "4XX": {"description": "Tried again; 410 disables the endpoint."}},
    }})
}

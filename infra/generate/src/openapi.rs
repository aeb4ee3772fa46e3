//! Generates the OpenAPI document from the code. The operations come from routes and handlers, the schemas from models, the examples
//! from sample requests and `infra/generate/examples`, and the descriptions from the first lines of each route's file.

mod downgrade;
mod errors;
mod events;
pub mod examples;
mod names;
mod parts;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use functions::Endpoint;
use kernel::{Kind, version};
use models::EventType;
use models::departure::ReplacedDepartures;
use models::schema::Named;
use serde_json::{Map, Value, json};
use table::shown::Shows;
use web::{Conditional, DRY_RUN, Method, Route, expand};

use self::names::{capital, pascal};
use self::parts::{header, headers_of_every_response, is_warned, quoted, reference};
use self::schemas::Components;
use crate::{root, samples};

/// The document as it is written to the file: indented by one space, because the file is part of the executable.
pub fn render() -> String {
    write(&document())
}

/// The same document in OpenAPI 3.0, for programs that do not read 3.1.
pub fn render_3_0() -> String {
    write(&downgrade::document(document()))
}

fn write(document: &Value) -> String {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
    serde::Serialize::serialize(document, &mut serializer).expect("JSON");
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
    for (name, schema) in errors::schemas() {
        components.write(&name, schema);
    }
    let errors = std::mem::take(&mut components.errors);
    let examples = std::mem::take(&mut components.examples);
    let schemas = components.finish();
    let tags: BTreeSet<_> = endpoints
        .iter()
        .map(|endpoint| tag(&endpoint.route))
        .collect();
    let tags = tags
        .into_iter()
        .map(|tag| json!({"name": tag, "description": about(tag)}))
        .chain([json!({"name": WEBHOOKS, "description": "Requests that the service sends to webhook endpoints."})]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Fleet Charging Service",
            "version": version::CURRENT,
            "summary": "Charging for fleets of electric vehicles: find stations, reserve, charge, pay, and receive webhooks.",
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
            "responses": errors,
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
its keys and those of all accounts below it only read: operations that need another scope than one that reads are refused with \
403 `authentication_error`. \
While it is closed, they are refused with 401, and a parent no longer finds the account with `Service-Account` (404).

**Limits.** The rate of requests is per account and mode, and an account and all accounts below it together send no more than \
one account may. An account has at most 1,000 accounts below it, in at most five levels with its own, and together with them at most \
1,000 webhook endpoints per mode, unless the deployment sets other numbers. Requests without a valid key, and to paths that do not \
exist, are limited by the address that they come from: beyond the limit they get 429 in place of 401, 404 or 405.

**Lists** run from newest to oldest. Request `next_page_url` and `previous_page_url` exactly as they come. A page whose \
objects are larger than about 5 MB together ends before `limit`; the next page goes on after it. So does a page whose filters leave \
out most of what was read for it: it may even be empty. A list ends where `next_page_url` is null.

**Sizes.** A body has at most 256 KiB, and an object at most 150 KiB as JSON: a request that would make one larger is refused \
with 400. Error messages repeat at most 64 characters of what was sent.

**Expansion.** `expand[]` shows whole objects in place of ids: at most 10 dotted paths of at most 4 levels, none of which returns \
to a kind of object that it has passed, and per answer at most 1,000 expanded objects and 5 MB. Anything else is 400 \
`unsupported_expand_value`; where a POST would be answered beyond these limits, its effect happens and the answer keeps its ids.

**Idempotency.** A POST or DELETE with an `Idempotency-Key` has its effect once; a repetition within 24 hours gets the first \
answer, with the header `Idempotent-Replayed: true`; only the secret of a new API key is not shown again. \
An API key that lacks a scope which the first request has needed gets 403 instead.

**Errors** are explained one by one under [errors](/docs/errors).

**Webhooks** are signed: `Service-Signature: t=<time>,v1=<hex>` is the HMAC-SHA256 of `<time>.<raw body>` under the \
endpoint's whole secret; the headers of Standard Webhooks come along.";

/// The tag of the requests to webhook endpoints. It is not a resource: a generator that writes a file for each tag would otherwise
/// overwrite the file of the events.
const WEBHOOKS: &str = "webhooks";

fn tag(route: &Route) -> &'static str {
    route.resource()
}

/// The first paragraph of the documentation of the resource's folder.
fn about(tag: &str) -> String {
    let path = root().join("functions/src").join(tag).join("mod.rs");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let paragraph = text.split("//!\n").next().unwrap_or_default();
    let description = first_lines(paragraph);
    assert!(
        !description.is_empty(),
        "{} has no description",
        path.display()
    );
    description
}

/// The first lines of a file, `//! …`, joined into one text.
fn first_lines(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The sentence that is added to the description of every operation that charges.
const CHARGING: &str = " A 500 or 503 with `transaction` means that it is not certain yet whether the payment method was charged: \
    the service settles this within minutes, and the transaction shows the outcome. Without `transaction` nothing was charged. \
    Repeating the request with the same `Idempotency-Key` never charges twice.";

/// `retrieve-charging-station` as `Retrieve a charging station`.
fn summary(route: &Route) -> String {
    let (verb, object) = names::verb_and_object(route);
    let object = object.replace("api", "API").replace('-', " ");
    let article = match (route.shows, object.chars().next()) {
        (
            Shows::Page(_)
            | Shows::Parts { .. }
            | Shows::Candidates
            | Shows::SitePlan
            | Shows::Computed(_),
            _,
        ) => "",
        _ if route.path == names::CURRENT_ACCOUNT => "the ",
        (_, Some('a' | 'e' | 'i' | 'o' | 'A')) => "an ",
        _ => "a ",
    };
    let verb = verb.replace('-', " ");
    format!("{} {article}{object}", capital(&verb))
}

/// The text in the first lines of the route's file that follows the path.
fn description(route: &Route) -> String {
    let folder = root().join("functions/src").join(tag(route));
    for entry in std::fs::read_dir(&folder).expect("the folder of the resource") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        if !text.contains(&format!("\"{}\"", route.name)) {
            continue;
        }
        let description = first_lines(&text);
        let (_, description) = description
            .split_once("`: ")
            .expect("a path and what it does");
        let charging = if route.charges { CHARGING } else { "" };
        return capital(description) + charging;
    }
    panic!("{} has no file", route.name);
}

/// The scopes of an operation: those that a key needs for any request, and those that it needs for some.
fn scopes(route: &Route) -> Value {
    let required: Vec<_> = route.scopes().map(|scope| scope.to_string()).collect();
    let mut conditional: Vec<_> = route.sometimes.to_vec();
    if expand::accepts_expand(route) {
        conditional.push(Conditional {
            scope: "<resource>:read",
            when: "expand[] is given, of every kind of object that its paths name",
        });
    }
    let conditional = conditional
        .iter()
        .map(|condition| json!({"scope": condition.scope, "when": condition.when}));
    json!({"required": required, "conditional": conditional.collect::<Vec<_>>()})
}

fn operation(endpoint: &Endpoint, components: &mut Components) -> Value {
    let route = &endpoint.route;
    let spec = (endpoint.request_spec)();
    let mut operation = json!({
        "operationId": names::operation_id(route),
        "summary": summary(route),
        "description": description(route),
        "tags": [tag(route)],
        "parameters": operation_parameters(endpoint),
        "x-method": names::method(route),
        "x-scope": scopes(route),
    });
    let mut responses = Map::from_iter([success(route, components)]);
    for (status, codes) in errors::refusals(endpoint) {
        let error = errors::response(status, &codes, components);
        responses.insert(status.to_string(), error);
    }
    operation["responses"] = Value::Object(responses);
    if let Some(body) = spec.body {
        let (schema, required) = components.body(route, body);
        operation["requestBody"] = json!({"required": required, "content":
            {"application/json": {"schema": schema, "example": samples::body(endpoint)}}});
    }
    operation
}

/// The status of an operation that succeeds, and its response.
fn success(route: &Route, components: &mut Components) -> (String, Value) {
    match route.shows {
        Shows::File(_) => ("302".to_owned(), redirect()),
        _ => ("200".to_owned(), shown(route, components)),
    }
}

/// A redirect to a file.
fn redirect() -> Value {
    let mut headers = headers_of_every_response();
    let location = json!({"description": "A link to the file that is valid for 15 minutes, without a key.",
        "required": true, "schema": {"type": "string", "format": "uri"}});
    headers.insert("Location".to_owned(), location);
    json!({"description": "The address of the file.", "headers": headers})
}

fn shown(route: &Route, components: &mut Components) -> Value {
    let kind = route.shows.kind();
    let called = kind.name().replace('_', " ");
    let (description, schema) = match route.shows {
        Shows::Object(_) if is_warned(route) => (
            format!("The {called}."),
            components.object_with_warnings(kind),
        ),
        Shows::Object(_) => (format!("The {called}."), components.object(kind)),
        Shows::Page(_) => (
            format!("A page of {called} objects."),
            components.page(kind),
        ),
        Shows::Parts { of, part } => (
            format!("A page of {}s.", part.name().replace('_', " ")),
            components.page_of_parts(of, part),
        ),
        Shows::Candidates => (
            "The candidates, the best first.".to_owned(),
            components.candidates(),
        ),
        Shows::File(_) => unreachable!("a redirect shows nothing"),
        Shows::SitePlan => ("The plan.".to_owned(), components.site_plan()),
        Shows::Departures => (
            "The departures, with one result for each that was given.".to_owned(),
            components.computed::<ReplacedDepartures>(Kind::VehicleDepartures),
        ),
        Shows::Feed => ("The next events.".to_owned(), components.feed()),
        Shows::Computed(Kind::Analytics) => (
            "The sums.".to_owned(),
            components.computed::<models::analytics::Analytics>(Kind::Analytics),
        ),
        Shows::Computed(Kind::Search) => (
            "The objects that were found.".to_owned(),
            components.computed::<models::search::Search>(Kind::Search),
        ),
        Shows::Computed(kind) => unreachable!("no response is computed of {kind:?}"),
        Shows::Deleted(_) => (
            "The object was deleted.".to_owned(),
            components.deleted(kind),
        ),
    };
    let mut headers = headers_of_every_response();
    if !route.only_reads() {
        headers.extend([header("Idempotent-Replayed")]);
    }
    if route.allows_dry_run {
        headers.extend([header("Service-Dry-Run")]);
    }
    if has_version(route) {
        headers.extend([header("ETag")]);
    }
    let name = examples::name(route);
    let example = json!({"$ref": format!("#/components/examples/{name}")});
    components
        .examples
        .insert(name, json!({"value": examples::response(route)}));
    json!({"description": description, "headers": headers,
        "content": {"application/json": {"schema": schema, "examples": {"sample": example}}}})
}

/// Whether the response has the version of the object that it shows, that is, of an object that can be updated or deleted with
/// `If-Match`.
fn has_version(route: &Route) -> bool {
    let takes_it = |endpoint: &Endpoint| {
        endpoint.route.accepts_if_match() && endpoint.route.resource() == route.resource()
    };
    let is_object = matches!(route.shows, Shows::Object(kind) if route.scope.resource().map(|resource| resource.kind()) == Some(kind));
    let is_shown = (route.method == Method::Get && route.path.split('/').count() <= 4)
        || route.accepts_if_match();
    is_object && is_shown && functions::endpoints().iter().any(takes_it)
}

fn operation_parameters(endpoint: &Endpoint) -> Vec<Value> {
    let route = &endpoint.route;
    let mut list = Vec::new();
    let spec = (endpoint.request_spec)();
    if spec.id {
        let kind = route
            .scope
            .resource()
            .map(|resource| resource.kind())
            .expect("a resource");
        list.push(json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1},
            "description": format!("The id of the {}.", kind.name().replace('_', " ")), "example": examples::object(kind)["id"]}));
    }
    list.extend(query_parameters(spec.query).into_values());
    if expand::accepts_expand(route) {
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
    if route.allows_dry_run {
        list.push(json!({"$ref": "#/components/parameters/dry_run"}));
    }
    let mut headers = vec!["Service-Version", "Service-Account"];
    if !route.only_reads() {
        headers.push("Idempotency-Key");
    }
    if route.accepts_if_match() {
        headers.push("If-Match");
    }
    list.extend(
        headers
            .into_iter()
            .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
    );
    list
}

/// The parameters of a query by their names: the members of the structs that the query is read into.
fn query_parameters(structs: Vec<Named>) -> BTreeMap<String, Value> {
    let mut parameters = BTreeMap::new();
    for (name, schemas) in structs {
        // The descriptions are those of the members, not of their types.
        let undescribed = |(name, schema)| {
            let mut schema = serde_json::to_value(schema).expect("JSON");
            schema.as_object_mut()?.remove("description");
            Some((name, schema))
        };
        let schemas: BTreeMap<_, _> = schemas.into_iter().filter_map(undescribed).collect();
        let required = schemas[&name]["required"].as_array().into_iter().flatten();
        let required: BTreeSet<_> = required.filter_map(Value::as_str).collect();
        let members = schemas[&name]["properties"].as_object().expect("members");
        for (name, member) in members {
            let schema = schemas::of_parameter(member, &schemas);
            let mut parameter = query_parameter(name, member, schema);
            if required.contains(name.as_str()) {
                parameter["required"] = json!(true);
            }
            parameters.insert(name.clone(), parameter);
        }
    }
    parameters
}

fn query_parameter(name: &str, member: &Value, schema: Value) -> Value {
    let options = member["oneOf"].as_array().into_iter().flatten();
    let documented = std::iter::once(member).chain(options);
    let description = documented
        .filter_map(|schema| schema["description"].as_str())
        .next()
        .unwrap_or_else(|| panic!("the query parameter {name} has no description"))
        .replace('\n', " ");
    let mut parameter =
        json!({"name": name, "in": "query", "schema": schema, "description": description});
    if name.ends_with("[]") {
        parameter["style"] = json!("form");
        parameter["explode"] = json!(true);
    }
    parameter
}

fn parameters() -> Value {
    json!({
        "Idempotency-Key": {"name": "Idempotency-Key", "in": "header", "description": "Makes the request have its effect once: a repetition within 24 hours gets the first answer.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}},
        "If-Match": {"name": "If-Match", "in": "header", "description": "The `ETag` of the object as it was retrieved. The request is refused with 412 `version_conflict` if the object was changed since.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 256}, "example": "\"3\""},
        "dry_run": {"name": DRY_RUN, "in": "query", "description": "Whether the request only asks what it would do: the response is the one that it would have, and nothing is changed, charged or sent.",
            "schema": {"type": "boolean", "default": false}},
        "Service-Account": {"name": "Service-Account", "in": "header", "description": "The child account to act in.", "schema": {"type": "string"}},
        "Service-Version": {"name": "Service-Version", "in": "header", "description": "The version of the request and its answer; the account's when left out.",
            "schema": {"type": "string", "enum": [version::CURRENT]}},
    })
}

fn headers() -> Value {
    let integer = |description: &str| json!({"description": description, "required": true, "schema": {"type": "integer"}});
    let text = |description: &str| json!({"description": description, "required": true, "schema": {"type": "string"}});
    json!({
        "ETag": {"description": "The version of the object, for `If-Match`.", "schema": {"type": "string"}},
        "Service-Dry-Run": {"description": "`true` if the request had `dry_run=true`, so that nothing was changed.", "schema": {"type": "string", "const": "true"}},
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

/// The delivery of an event to a webhook endpoint.
fn webhook(kind: EventType, components: &mut Components) -> Value {
    components.object(Kind::Event);
    if kind != EventType::Ping {
        components.object(kind.subject());
    }
    let kind_name = kind.as_str();
    let snapshot = reference(&events::name(kind));
    let schema = match kind {
        EventType::Ping => snapshot,
        _ => json!({"anyOf": [snapshot, reference("ThinEvent")]}),
    };
    json!({"post": {
        "operationId": format!("on{}", pascal(kind_name)),
        "summary": kind_name,
        "description": format!("Sent to the endpoints that subscribed to {}. Answer 200, 201, 202 or 204; any other status is retried.", quoted(kind_name)),
        "tags": [WEBHOOKS],
        "security": [],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": schema, "example": examples::event(kind)}}},
        "responses": {"200": {"description": "Received."}, "4XX": {"description": "Retried; 410 disables the endpoint."}},
    }})
}

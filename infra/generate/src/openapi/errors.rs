//! Error responses: one schema for each status and set of codes.

use std::collections::{BTreeMap, BTreeSet};

use functions::Endpoint;
use kernel::error::{ErrorType, ViolationCode};
use kernel::{Code, Error, Id, Kind};
use serde_json::{Map, Value, json};
use table::shown::Shows;
use web::expand;

use super::examples;
use super::names::pascal;
use super::parts::{header, headers_of_every_response, quoted, reference};
use super::schemas::Components;

/// The codes of one response. None stands for an error without a code.
type Codes = BTreeSet<Option<&'static str>>;

/// The errors of an operation: codes by status.
pub fn refusals(endpoint: &Endpoint) -> BTreeMap<u16, Codes> {
    let route = &endpoint.route;
    let spec = (endpoint.request_spec)();
    let mut refusals: BTreeMap<u16, Codes> = BTreeMap::new();
    for status in [400, 401, 403, 500, 503] {
        refusals.entry(status).or_default().insert(None);
    }
    if spec.body.is_some() {
        refusals.entry(408).or_default().insert(None);
    }
    if !route.only_reads() || matches!(route.shows, Shows::File(_) | Shows::Feed) {
        // An idempotency key in flight, a file that the object does not have, or an endpoint whose events cannot be read.
        refusals.entry(409).or_default().insert(None);
    }
    let mut codes = vec![Code::RateLimitExceeded, Code::AccountNotFound];
    codes.extend(spec.body.and_then(|body| body.invalid));
    codes.extend(expand::accepts_expand(route).then_some(Code::UnsupportedExpandValue));
    codes.extend(route.refuses);
    codes.extend(route.accepts_if_match().then_some(Code::VersionConflict));
    let named = |name: &&str| Kind::ALL.iter().find(|kind| kind.name() == *name);
    codes.extend(
        (route.query)()
            .iter()
            .filter_map(named)
            .filter_map(|kind| Code::not_found(*kind)),
    );
    if spec.id {
        let own = route.scope.resource().map(|resource| resource.kind());
        let code = own.and_then(Code::not_found);
        match code {
            Some(code) => codes.push(code),
            None => {
                refusals.entry(404).or_default().insert(None);
            }
        }
    }
    for code in codes {
        refusals
            .entry(web::errors::status(code.class()))
            .or_default()
            .insert(Some(code.as_str()));
    }
    refusals
}

/// A reference to the response of an operation that returns one of these codes. Operations with the same codes share it.
pub fn response(status: u16, codes: &Codes, components: &mut Components) -> Value {
    let name = name(status, codes);
    components
        .errors
        .entry(name.clone())
        .or_insert_with(|| render(status, codes));
    json!({"$ref": format!("#/components/responses/{name}")})
}

/// The mistake of the client, or the failure, in one word for the names of schemas and in a sentence.
fn meaning(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => (
            "InvalidRequest",
            "The request is invalid for the operation.",
        ),
        401 => (
            "Authentication",
            "The key is missing, invalid or not authenticated.",
        ),
        402 => ("Payment", "The payment failed or was not authorized."),
        403 => (
            "Permission",
            "The key lacks a scope, the account is suspended, or a policy blocks the request.",
        ),
        404 => (
            "NotFound",
            "Something that the request names does not exist.",
        ),
        408 => (
            "RequestTimeout",
            "The body of the request did not arrive completely in time.",
        ),
        409 => ("Conflict", "The request conflicts with the current state."),
        412 => (
            "VersionConflict",
            "The object was changed since the version that the request names.",
        ),
        429 => ("RateLimit", "Requests are sent too quickly."),
        500 => ("Internal", "An unexpected fault of the service."),
        503 => (
            "Unavailable",
            "The service is busy; nothing was changed that a repetition could not finish.",
        ),
        other => panic!("no meaning of {other}"),
    }
}

/// `DriverFleetNotFoundError`: made from the codes, and from the status unless a code implies it. Codes that most operations have are
/// omitted if there are others.
fn name(status: u16, codes: &Codes) -> String {
    const COMMON: [&str; 3] = [
        "account_not_found",
        "rate_limit_exceeded",
        "unsupported_expand_value",
    ];
    let (word, _) = meaning(status);
    let all: Vec<&str> = codes.iter().flatten().copied().collect();
    let specific: Vec<&str> = all
        .iter()
        .copied()
        .filter(|code| !COMMON.contains(code))
        .collect();
    let named: &[&str] = match (&specific[..], status) {
        (_, 429) => &[],
        ([], _) => &all,
        (specific, _) => specific,
    };
    let suffix = match status {
        404 => "_not_found",
        _ => "_error",
    };
    let words = named
        .iter()
        .map(|code| pascal(code.strip_suffix(suffix).unwrap_or(code)));
    let uncoded = match (status, codes.contains(&None)) {
        (404, true) => "Object",
        _ => "",
    };
    let subject: String = words.collect();
    match status {
        404 => format!("{uncoded}{subject}{word}Error"),
        _ if subject.is_empty() => format!("{word}Error"),
        _ => format!("{subject}Error"),
    }
}

/// The schemas of all errors: `Error`, with `ErrorType` and `ErrorCode`. All statuses and operations share one schema, because
/// generators make a type of each schema, and many of them allow only one error type for an operation. The responses list their codes.
pub fn schemas() -> [(String, Value); 4] {
    let types: Vec<_> = ErrorType::ALL.iter().map(|kind| kind.as_str()).collect();
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let mut error = json!({
        "type": "object",
        "description": "Why a request failed.",
        "required": ["object", "type", "code", "message", "param", "request", "status", "doc_url"],
        "properties": {
            "object": {"type": "string", "const": "error", "description": "Always `error`."},
            "type": described(reference("ErrorType"), "What kind of failure it is."),
            "code": described(json!({"oneOf": [reference("ErrorCode"), {"type": "null"}]}),
                "The specific condition; null where none is named."),
            "message": {"type": "string", "description": "For a human reader."},
            "param": {"type": ["string", "null"], "description": "The parameter at fault, as a path: `location.radius`."},
            "request": {"type": "string", "description": "The id of the request, for support."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "doc_url": {"type": ["string", "null"], "description": "Where the code is explained."},
        },
    });
    let properties = &mut error["properties"];
    for (name, description) in [
        (
            "decline_code",
            "With `payment_authorization_failed`: the payment provider's reason.",
        ),
        (
            "transaction",
            "In the response to a request that charges: the transaction that shows whether it did.",
        ),
        ("policy", "With `policy_blocked`: the id of the policy."),
        ("rule", "With `policy_blocked`: the rule of the policy."),
    ] {
        properties[name] = json!({"type": "string", "description": description});
    }
    properties["errors"] = json!({"type": "array", "minItems": 1, "maxItems": 50, "items": reference("ParameterError"),
        "description": "With 400 about parameters: all parameters of a body that cannot be read that are at fault, and otherwise the one in `param`."});
    let code = json!({"type": "string", "enum": codes,
        "description": "The specific condition of an error."});
    [
        ("Error".to_owned(), error),
        ("ErrorCode".to_owned(), code),
        ("ParameterError".to_owned(), parameter_error()),
        (
            "ErrorType".to_owned(),
            json!({"type": "string", "enum": types}),
        ),
    ]
}

/// The schema of an entry of `errors`.
fn parameter_error() -> Value {
    let codes = ViolationCode::ALL.map(ViolationCode::as_str);
    json!({
        "type": "object",
        "description": "What is wrong with one parameter of a request.",
        "required": ["code", "param", "message", "doc_url"],
        "properties": {
            "code": {"type": "string", "enum": codes, "description": "Whether the parameter is missing, unknown or has an invalid value."},
            "param": {"type": "string", "description": "The parameter as a path: `location.radius`."},
            "message": {"type": "string", "description": "What is wrong, what was expected, and the permitted values."},
            "doc_url": {"type": "string", "description": "Address of the explanation of the code."},
        },
    })
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn description(status: u16, codes: &Codes) -> String {
    let (_, meaning) = meaning(status);
    let names: Vec<_> = codes.iter().flatten().map(|code| quoted(code)).collect();
    if names.is_empty() {
        meaning.to_owned()
    } else {
        format!("{meaning} Codes: {}.", names.join(", "))
    }
}

fn render(status: u16, codes: &Codes) -> Value {
    let examples: Map<String, Value> = codes
        .iter()
        .map(|code| {
            let name = code.unwrap_or("no_code").to_owned();
            (name, json!({"value": example(status, *code)}))
        })
        .collect();
    let mut headers = headers_of_every_response();
    match status {
        401 => headers.extend([header("WWW-Authenticate")]),
        429 | 503 => headers.extend([header("Retry-After")]),
        _ => {}
    }
    json!({"description": description(status, codes), "headers": headers,
        "content": {"application/json": {"schema": reference("Error"), "examples": examples}}})
}

/// An error of the service, as it is answered.
fn example(status: u16, code: Option<&str>) -> Value {
    let known = code.and_then(|code| Code::ALL.iter().find(|known| known.as_str() == code));
    let error = match (known, status) {
        (Some(code), _) => with_code(*code),
        (None, 400) => Error::invalid("limit", "must be a whole number from 1 to 100"),
        (None, 401) => match web::auth::sent_key(&Default::default()) {
            Err(error) => error,
            Ok(_) => panic!("a key without a header"),
        },
        (None, 403) => Error::missing_scope("fleets:write"),
        (None, 404) => Error::not_found(Kind::Event),
        (None, 408) => Error::request_timeout(),
        (None, 409) => Error::conflict("A draft has no credit notes.", Some(Kind::Invoice.name())),
        (None, 503) => Error::Contended,
        (None, _) => Error::internal(""),
    };
    let request =
        Id::from(format!("{}01a1f000000070008000000000000001", Kind::Request.prefix()).as_str());
    let answer = web::errors::answer(&error, &request, "http://127.0.0.1:8787");
    assert_eq!(answer.status, status, "{code:?}");
    serde_json::from_slice(&answer.body).expect("a JSON object")
}

/// An error with a code, whose message is the meaning of the code.
fn with_code(code: Code) -> Error {
    let error = code.because(code.meaning());
    let error = match code.as_str().strip_suffix("_not_found") {
        Some(subject) => error.at(subject),
        None => error,
    };
    let policy = || {
        examples::object(Kind::Policy)["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    match code {
        Code::PaymentAuthorizationFailed => error.with("decline_code", "insufficient_funds"),
        Code::PolicyBlocked => error
            .with("policy", policy())
            .with("rule", "max_price_per_kwh"),
        _ => error,
    }
}

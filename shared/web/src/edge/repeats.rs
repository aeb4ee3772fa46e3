//! Requests that are handled again: after a collision with a concurrent change, and with an idempotency key that was used before.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};

use super::{Edge, failure};
use crate::errors;
use crate::query::QueryString;
use crate::request_context::RequestContext;
use kernel::backoff::Backoff;
use kernel::error::ErrorClass;
use kernel::origin::Idempotency;
use kernel::scope::Rights;
use kernel::{Error, Id, Kind, Origin, Result, function_scope};

/// The maximum number of attempts of a request that collides with concurrent changes.
const TRIES: u32 = 16;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), 2, Duration::from_millis(40));

/// Returns the idempotency key of a request, with the digest of what it asks for; `None` for a request without a key.
///
/// # Errors
/// 400 for a key that is not 1 to 255 printable ASCII characters.
pub(super) fn idempotency(
    parts: &Parts,
    body: &[u8],
    version: &str,
    rights: Rights,
) -> Result<Option<Idempotency>> {
    let Some(value) = parts.headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value.to_str().ok().filter(|key| {
        (1..=255).contains(&key.len()) && key.bytes().all(|b| (b' '..=b'~').contains(&b))
    });
    let key = key.ok_or_else(|| {
        Error::invalid(
            "Idempotency-Key",
            "must be 1 to 255 printable ASCII characters",
        )
    })?;
    let mut digest = Sha256::new();
    for part in [
        parts.method.as_str().as_bytes(),
        parts.uri.path().as_bytes(),
        version.as_bytes(),
        body,
    ] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    Ok(Some(Idempotency {
        key: key.to_owned(),
        fingerprint: hex::encode(digest.finalize()),
        rights,
    }))
}

/// Runs the handler, repeats it after a collision with a concurrent change, and stores the response of a failed request.
pub(super) async fn run(
    edge: &Edge,
    context: RequestContext,
    query: QueryString,
    parts: Parts,
    body: Bytes,
    next: Next,
) -> Response {
    let (origin, base_url) = (context.origin.clone(), context.base_url.clone());
    let mut parts = parts;
    parts.extensions.insert(context);
    parts.extensions.insert(query);
    for attempt in 0.. {
        let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
        let response = next.clone().run(request).await;
        let contended = failure(&response).is_some_and(|error| matches!(**error, Error::Contended));
        if !contended || attempt + 1 == TRIES {
            return settle(edge, &origin, &base_url, response).await;
        }
        BACKOFF.pause(attempt).await;
    }
    unreachable!("the loop ends by returning")
}

/// Determines the response after a failure with an idempotency key: the response to the first request with the key takes precedence over
/// the failure of this one, unless that is a missing right. A response without effect is stored if it will not change by itself.
async fn settle(edge: &Edge, origin: &Origin, base_url: &str, response: Response) -> Response {
    let (Some(idempotency), Some(error)) = (&origin.idempotency, failure(&response)) else {
        return response;
    };
    let is_about_key = matches!(&**error, Error::Client(refusal) if refusal.kind == kernel::error::ErrorType::Idempotency);
    let settled = match error.class() {
        _ if is_about_key || error.is_about_rights() => return response,
        ErrorClass::PaymentDeclined | ErrorClass::NotFound | ErrorClass::Conflict => {
            let request = origin
                .request
                .clone()
                .unwrap_or_else(|| Id::new(Kind::Request, origin.now));
            let answer = errors::answer(error, &request, base_url);
            let remembered = edge.store.remember(origin, idempotency, answer);
            function_scope::within(function_scope::EVERY_CHANGE, remembered)
                .await
                .map(|answer| answer.replayed.then_some(answer))
        }
        // A version conflict is not stored: the client repeats the request with another version.
        ErrorClass::Invalid | ErrorClass::Forbidden | ErrorClass::PreconditionFailed => {
            let recalled = edge.store.recall(origin, idempotency);
            function_scope::within(function_scope::EVERY_CHANGE, recalled).await
        }
        _ => return response,
    };
    match settled {
        Ok(Some(first)) => errors::shown(first),
        Ok(None) => response,
        Err(error) => errors::refused(error),
    }
}

/// Returns the error, unless the idempotency key was used with other parameters, which takes precedence over all but missing rights.
pub(super) async fn recalled(edge: &Edge, origin: &Origin, error: Error) -> Error {
    match &origin.idempotency {
        Some(idempotency) if !error.is_about_rights() => {
            let recalled = edge.store.recall(origin, idempotency);
            let recalled = function_scope::within(function_scope::EVERY_CHANGE, recalled).await;
            recalled.err().unwrap_or(error)
        }
        _ => error,
    }
}

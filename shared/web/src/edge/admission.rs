//! The checks of a request before its handler, in the order in which [`super`] lists them, and the response of the handler as the client has
//! asked for it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::repeats::{idempotency, recalled, run};
use super::{AuthenticatedRequest, Edge, Rendered, base_url, too_long};
use crate::auth::Principal;
use crate::expand::{self, Expansions, Reader};
use crate::query::QueryString;
use crate::request_context::RequestContext;
use crate::route::{DRY_RUN, Route};
use crate::{body, errors};
use kernel::origin::Precondition;
use kernel::{Error, Id, Origin, Result, Tenant, function_scope, version};
use models::api_key::ActingKey;

/// Middleware around each handler: the checks before it, and the time limit of its route, which does not include the time that the client
/// takes to send the body.
pub async fn admit(
    State((edge, route)): State<(Arc<Edge>, Route)>,
    request: Request,
    next: Next,
) -> Response {
    let Some(authenticated) = request.extensions().get::<AuthenticatedRequest>().cloned() else {
        return errors::refused(Error::internal("a route outside the edge"));
    };
    let mut until = authenticated.started + route.patience * edge.settings.slack;
    let (parts, body) = request.into_parts();
    let admitted = edge
        .rates
        .admit(&edge.store, &authenticated.principal.lineage, edge.now());
    let admitted = function_scope::within(function_scope::EVERY_REQUEST, admitted);
    let rate_limit = match timeout_at(until, admitted).await {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return errors::refused(error),
        Err(_) => return errors::refused(too_long()),
    };
    let allowed = match allow(&edge, &route, &authenticated.principal, &parts.headers) {
        Ok(version) => {
            let began = Instant::now();
            let body = body::collect(body).await;
            until += began.elapsed();
            body.map(|body| (version, body))
        }
        Err(error) => Err(error),
    };
    let mut response = match allowed {
        Ok((version, body)) => {
            let handled = handle(edge, route, authenticated, parts, body, version, next);
            let handled = timeout_at(until, function_scope::within(route.name, handled)).await;
            handled.unwrap_or_else(|_| errors::refused(too_long()))
        }
        Err(error) => errors::refused(error),
    };
    response.extensions_mut().insert(rate_limit);
    response
}

/// Checks the rights of a request, and returns the requested version of the API.
fn allow(edge: &Edge, route: &Route, principal: &Principal, headers: &HeaderMap) -> Result<String> {
    for scope in route.scopes() {
        principal.key.rights.check(scope)?;
    }
    if route.only_reads() {
        principal.may_read()?
    } else {
        principal.may_write()?
    }
    asked_version(edge, headers, &principal.version)
}

/// Runs the handler with idempotency, and renders its response.
async fn handle(
    edge: Arc<Edge>,
    route: Route,
    authenticated: AuthenticatedRequest,
    parts: Parts,
    body: Bytes,
    version: String,
    next: Next,
) -> Response {
    let prepared = prepare(&edge, route, authenticated, &parts, body, &version).await;
    let (context, query, body, expansions) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return errors::refused(error),
    };
    let (tenant, key) = (context.tenant().clone(), context.key.clone());
    let dry_run = context.origin.dry_run;
    let response = run(&edge, context, query, parts, body, next).await;
    let mut response = show(&edge, &tenant, route, &key, response, &expansions, &version).await;
    response.extensions_mut().insert(Rendered(version));
    if dry_run {
        let name = HeaderName::from_static("service-dry-run");
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static("true"));
    }
    response
}

/// Checks everything else that does not depend on the handler, and prepares the input of the handler.
async fn prepare(
    edge: &Edge,
    route: Route,
    authenticated: AuthenticatedRequest,
    parts: &Parts,
    body: Bytes,
    version: &str,
) -> Result<(RequestContext, QueryString, Bytes, Expansions)> {
    let rights = authenticated.principal.key.rights.clone();
    let dry_run = is_dry_run(parts)?;
    let idempotency = if route.only_reads() {
        None
    } else {
        idempotency(parts, &body, version, rights)?.filter(|_| !dry_run)
    };
    let origin = Origin {
        tenant: authenticated.principal.tenant,
        now: edge.now(),
        request: Some(authenticated.request),
        idempotency,
        precondition: precondition(&route, parts)?,
        dry_run,
    };
    let base_url = base_url(&edge.settings, &parts.headers);
    let key = authenticated.principal.key;
    let read = || {
        let mut known = (route.query)();
        if expand::accepts_expand(&route) {
            known.push(expand::NAME);
        }
        if route.allows_dry_run {
            known.push(DRY_RUN);
        }
        let query = QueryString::parse(parts.uri.query().unwrap_or_default(), &known)?;
        let expansions = Expansions::read(&query, &route, &key.rights)?;
        Ok((query, expansions))
    };
    let (query, expansions) = match read() {
        Ok(read) => read,
        Err(error) => return Err(recalled(edge, &origin, error).await),
    };
    let body = upgraded(edge, &route, body, version)?;
    let context = RequestContext {
        origin,
        key,
        lineage: authenticated.principal.lineage,
        default_version: authenticated.principal.version,
        base_url,
    };
    Ok((context, query, body, expansions))
}

/// Returns the body in the current API version. The handler refuses a body that is not an object.
fn upgraded(edge: &Edge, route: &Route, body: Bytes, version: &str) -> Result<Bytes> {
    if version == version::CURRENT {
        return Ok(body);
    }
    let Ok(Value::Object(mut members)) = serde_json::from_slice(&body) else {
        return Ok(body);
    };
    edge.settings
        .versions
        .upgrade(route.name, &mut members, version);
    serde_json::to_vec(&members)
        .map(Bytes::from)
        .map_err(Error::internal)
}

/// Renders a successful response as requested: with expanded objects, and in an older API version.
async fn show(
    edge: &Edge,
    tenant: &Tenant,
    route: Route,
    key: &ActingKey,
    response: Response,
    expansions: &Expansions,
    version: &str,
) -> Response {
    let as_it_is = expansions.is_empty() && version == version::CURRENT;
    if as_it_is || !response.status().is_success() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let shown = async {
        let bytes = axum::body::to_bytes(body, usize::MAX)
            .await
            .map_err(Error::internal)?;
        let mut answer = serde_json::from_slice(&bytes).map_err(Error::internal)?;
        let reader = Reader {
            tenant,
            key,
            now: edge.now(),
        };
        match expand::expand(&edge.store, &reader, &mut answer, expansions).await {
            // The request has had its effect, which an error would hide. The response contains the ids instead.
            Err(error) if !route.only_reads() => {
                tracing::warn!(%error, "an answer was not expanded");
            }
            expanded => expanded?,
        }
        edge.settings
            .versions
            .downgrade(&mut answer, version::CURRENT, version);
        serde_json::to_vec(&answer).map_err(Error::internal)
    };
    match shown.await {
        Ok(body) => {
            let mut parts = parts;
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(body))
        }
        Err(error) => errors::refused(error),
    }
}

/// Returns the version of a request: the one in its header, otherwise the account's.
fn asked_version(edge: &Edge, headers: &HeaderMap, default: &str) -> Result<String> {
    let Some(header) = headers.get(version::HEADER) else {
        return Ok(default.to_owned());
    };
    let requested = header.to_str().unwrap_or_default();
    edge.settings
        .versions
        .existing(requested, "Service-Version")?;
    Ok(requested.to_owned())
}

/// Returns whether the request is a dry run.
fn is_dry_run(parts: &Parts) -> Result<bool> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let given = url::form_urlencoded::parse(query).find(|(name, _)| name == DRY_RUN);
    match given.as_ref().map(|(_, value)| value.as_ref()) {
        Some("true") => Ok(true),
        None | Some("false") => Ok(false),
        Some(_) => Err(Error::invalid(DRY_RUN, "must be true or false")),
    }
}

/// Returns the versions of the object in the path that the request may change; `None` if it may change every version. A weak tag, and a tag
/// that is not a version, match no object.
fn precondition(route: &Route, parts: &Parts) -> Result<Option<Precondition>> {
    let mut tags = parts.headers.get_all(header::IF_MATCH).iter().peekable();
    if route.only_reads() || tags.peek().is_none() {
        return Ok(None);
    }
    let refuse = |message: &'static str| Error::invalid("If-Match", message);
    if !route.accepts_if_match() {
        return Err(refuse("is not taken by this operation"));
    }
    let malformed =
        || refuse("must be the ETag of a response, or several with commas between them");
    let mut versions = Vec::new();
    for value in tags {
        for tag in value.to_str().map_err(|_| malformed())?.split(',') {
            let tag = tag.trim();
            if tag == "*" {
                return Ok(None);
            }
            let opaque = tag.strip_prefix("W/").unwrap_or(tag);
            let opaque = opaque
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            let opaque = opaque.filter(|opaque| !opaque.contains('"'));
            let version: Option<u64> = opaque.ok_or_else(malformed)?.parse().ok();
            versions.extend(version.filter(|_| !tag.starts_with('W')));
        }
    }
    let id = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let id = Id::from(id);
    Ok(Some(Precondition { id, versions }))
}

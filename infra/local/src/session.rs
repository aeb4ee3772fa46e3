//! `GET /_local/session`: the account and the API key of the run, with which its web page signs in.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use kernel::Id;
use serde::Serialize;

const ROUTE: &str = "/_local/session";

/// The account and the key with which the console signs in.
pub struct Session {
    pub account: Id,
    pub api_key: String,
}

/// The body of the response.
#[derive(Debug, Serialize)]
struct SignedIn<'a> {
    account: &'a Id,
    api_key: &'a str,
}

/// A router of the session.
pub fn router(session: Session) -> Router {
    let session = Arc::new(session);
    Router::new().route(ROUTE, get(sign_in)).with_state(session)
}

async fn sign_in(State(session): State<Arc<Session>>) -> Response {
    let signed_in = SignedIn {
        account: &session.account,
        api_key: &session.api_key,
    };
    of_own_origin(Json(signed_in).into_response())
}

/// Marks a response so that only pages of the runner's own origin may read it, and no cache stores it.
pub fn of_own_origin(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

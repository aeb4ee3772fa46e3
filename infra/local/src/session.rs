//! `GET /_local/session`: signs the console in, which is the web page of this port.
//!
//! The response holds an API key, so it goes to pages of this port's own origin only. The guard of the port has already
//! refused foreign `Host` and `Origin` headers, but a browser sends no `Origin` with a simple GET, such as that of a
//! `<script>` of another site. It does send `Sec-Fetch-Site`, which no page can set.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use shared::Id;
use shared::ports::Clock;

use crate::guard::forbidden;

const ROUTE: &str = "/_local/session";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What the console signs in with.
#[derive(Clone)]
pub struct Session {
    pub account: Id,
    pub api_key: String,
    pub clock: Arc<dyn Clock>,
}

/// The body of the response.
#[derive(Debug, Serialize)]
struct SignedIn<'a> {
    account: &'a Id,
    api_key: &'a str,
}

/// A router of the session.
pub fn router(session: Session) -> Router {
    Router::new().route(ROUTE, get(sign_in)).with_state(session)
}

async fn sign_in(State(session): State<Session>, headers: HeaderMap) -> Response {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    let own = sites.next().is_some_and(|site| site == "same-origin") && sites.next().is_none();
    if !own {
        let message =
            "Only the web page of this port is signed in. Use the key that the terminal shows.";
        return forbidden(&*session.clock, message.into());
    }
    let signed_in = SignedIn {
        account: &session.account,
        api_key: &session.api_key,
    };
    let mut response = Json(signed_in).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

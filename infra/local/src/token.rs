//! The token of a local run, which the routes below `/_local` require.
//!
//! Every user of the machine and every program on it can reach a port on 127.0.0.1, so access to the port is no proof of identity. The
//! runner prints the token, so the user who started it has the token. Programs send it as `Authorization: Bearer TOKEN`. Browsers
//! receive it in the printed address, `/?token=TOKEN`, which sets a cookie and redirects to `/`, so that the token does not stay in
//! the address bar or in a bookmark.
//!
//! The token is derived from the secret in the folder's credentials: it is the same at each start with the same data folder, and a
//! browser stays signed in.
//!
//! Browsers do not separate the cookies of different ports of a host. Therefore the cookie has the port in its name, scripts of a page
//! cannot read it (`HttpOnly`), and it is sent to paths below `/_local` only (`Path`). It is accepted only in requests of this port's
//! own page, which browsers mark with `Sec-Fetch-Site: same-origin`; no page can set that header. A server on another port of
//! 127.0.0.1 can still receive the cookie if the user opens its pages. No attribute of cookies prevents that.

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hmac::{Hmac, Mac as _};
use kernel::Error;
use models::ports::Clock;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::guard::{LocalPort, forbidden, refused};

/// The length of the token in bytes.
const LENGTH: usize = 16;

/// The only path whose query may have the token.
const PAGE: &str = "/";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const MISSING: &str = "The paths below /_local need the token that the runner printed at its start, as the header \
    `Authorization: Bearer TOKEN`. A browser is signed in by the address with `?token=` that the runner printed.";

/// The token of a local run, in hexadecimal.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Derives the token from the secret of a data folder.
    pub fn of(secret: &[u8]) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret)
            .unwrap_or_else(|_| unreachable!("any length is a key"));
        mac.update(b"token of the local runner");
        Self(hex::encode(&mac.finalize().into_bytes()[..LENGTH]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is the token. Digests are compared, so that the time of the comparison reveals nothing about the token.
    fn is(&self, given: &str) -> bool {
        Sha256::digest(given) == Sha256::digest(&self.0)
    }
}

/// The state of [`check`] and [`sign_in`].
#[derive(Clone)]
pub struct Access {
    pub token: Token,
    pub port: LocalPort,
    pub clock: Arc<dyn Clock>,
}

impl Access {
    /// The name of the cookie, which differs between runners on one machine.
    fn cookie_name(&self) -> String {
        let LocalPort(port) = self.port;
        format!("fleet-local-{port}")
    }

    /// Whether a request has the cookie with the token.
    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let lines = headers.get_all(header::COOKIE).iter();
        let mut cookies = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='));
        cookies.any(|(known, value)| known == name && self.token.is(value))
    }

    /// The response to a request that has neither the token nor the cookie, or has the cookie and comes from another page.
    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if bearer.is_some_and(|(_, given)| self.token.is(given.trim())) {
            return None;
        }
        if !self.has_cookie(headers) {
            return Some(refused(&*self.clock, &Error::unauthenticated(MISSING)));
        }
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        let own = sites.next().is_some_and(|site| site == "same-origin") && sites.next().is_none();
        let message = "Only the web page of this port may use its cookie.";
        (!own).then(|| forbidden(&*self.clock, message.into()))
    }
}

/// Refuses requests without the token with 401, and those that another page sends with the cookie with 403.
pub async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    match access.refusal(request.headers()) {
        None => next.run(request).await,
        Some(refusal) => refusal,
    }
}

/// The query of the printed address.
#[derive(Deserialize)]
struct Printed {
    token: String,
}

/// `GET /?token=TOKEN`: sets the cookie and redirects to `/`. If the token is wrong, it only redirects, and the page explains how to
/// sign in.
pub async fn sign_in(State(access): State<Access>, request: Request, next: Next) -> Response {
    let printed = match (request.method(), request.uri()) {
        (&Method::GET, uri) if uri.path() == PAGE => Query::<Printed>::try_from_uri(uri).ok(),
        _ => None,
    };
    let Some(Query(Printed { token })) = printed else {
        return next.run(request).await;
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static(PAGE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    if access.token.is(&token) {
        let name = access.cookie_name();
        let cookie = format!("{name}={token}; Path=/_local; HttpOnly; SameSite=Strict");
        let cookie = HeaderValue::from_str(&cookie);
        let cookie = cookie.unwrap_or_else(|_| unreachable!("hexadecimal digits are ASCII"));
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use functions::aws::SystemClock;

    fn access() -> Access {
        Access {
            token: Token::of(b"a secret"),
            port: LocalPort(8787),
            clock: Arc::new(SystemClock),
        }
    }

    fn status(access: &Access, headers: &[(HeaderName, String)]) -> Option<u16> {
        let headers = headers.iter().cloned();
        let headers = headers.map(|(name, value)| (name, value.parse().unwrap()));
        let refusal = access.refusal(&HeaderMap::from_iter(headers));
        refusal.map(|response| response.status().as_u16())
    }

    #[test]
    fn a_token_has_128_bits_and_follows_from_its_folder() {
        let token = Token::of(b"a secret");
        assert_eq!(token.as_str().len(), 32);
        assert!(token.is(Token::of(b"a secret").as_str()));
        assert!(!token.is(Token::of(b"another").as_str()));
        assert!(!token.is("") && !token.is(&token.as_str()[..31]));
    }

    #[test]
    fn the_token_is_a_bearer_token() {
        let access = access();
        let token = access.token.as_str().to_owned();
        let with = |value: String| status(&access, &[(header::AUTHORIZATION, value)]);
        assert_eq!(with(format!("Bearer {token}")), None);
        assert_eq!(with(format!("bearer {token}")), None);
        for wrong in [
            token.clone(),
            format!("Basic {token}"),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            format!("Bearer {token}0"),
        ] {
            assert_eq!(with(wrong.clone()), Some(401), "{wrong}");
        }
        assert_eq!(status(&access, &[]), Some(401));
    }

    #[test]
    fn the_cookie_counts_in_requests_of_its_own_page_only() {
        let access = access();
        let token = access.token.as_str();
        let own = (SEC_FETCH_SITE, "same-origin".to_owned());
        let cookie = |text: String| (header::COOKIE, text);
        let good = cookie(format!("a=b; fleet-local-8787={token}; c=d"));
        assert_eq!(status(&access, &[good.clone(), own.clone()]), None);
        assert_eq!(status(&access, std::slice::from_ref(&good)), Some(403));
        for site in ["same-site", "cross-site", "none"] {
            let foreign = (SEC_FETCH_SITE, site.to_owned());
            assert_eq!(status(&access, &[good.clone(), foreign]), Some(403));
        }
        for wrong in [
            format!("fleet-local-8788={token}"),
            "fleet-local-8787=".to_owned(),
            format!("fleet-local-8787={token}0"),
        ] {
            assert_eq!(status(&access, &[cookie(wrong), own.clone()]), Some(401));
        }
    }
}

//! `GET /ocpi/versions` and `GET /ocpi/{version}`: the OCPI versions that this service supports, and its endpoints in each.

use crate::App;
use axum::extract::State;
use axum::http::HeaderMap;
use ocpi::versions::OwnUrls;
use web::edge::base_url;

use super::edge::{InVersion, Platform};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-list-versions", "GET", "/ocpi/versions", list),
        operation("ocpi-retrieve-version", "GET", "/ocpi/{version}", retrieve),
    ]
}

/// Lists the versions.
async fn list(State(app): State<App>, _: Platform, headers: HeaderMap) -> Result {
    Reply::data(&OwnUrls(&base_url(&app.settings, &headers)).list())
}

/// Lists the endpoints of a version.
async fn retrieve(
    State(app): State<App>,
    _: Platform,
    InVersion(version): InVersion,
    headers: HeaderMap,
) -> Result {
    Reply::data(&OwnUrls(&base_url(&app.settings, &headers)).details(version))
}

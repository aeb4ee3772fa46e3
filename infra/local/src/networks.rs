//! `/_local/networks`: the operators' function for charging networks, which is `manage-networks` on AWS.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use functions::App;
use functions::networks::manage::{self, Manage, Managed};
use kernel::{Mode, Result};
use web::edge::base_url;

use crate::guard::{check_json, refused};

/// The path of the charging networks.
pub const ROUTE: &str = "/_local/networks";

/// `POST /_local/networks`: carries out the operation in the body. Networks reach this service at the address to which the request was
/// sent.
pub async fn manage(
    State(app): State<App>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Result<Json<Managed>, Response> {
    let managed = async {
        check_json(&headers)?;
        let manage: Manage = web::body::read(&body, None)?;
        manage::handle(&app, manage, Some(&base_url(&app.settings, &headers))).await
    };
    managed
        .await
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

/// `GET /_local/networks`: lists the networks of test mode.
pub async fn list(State(app): State<App>) -> Result<Json<Managed>, Response> {
    let list = Manage::List { mode: Mode::Test };
    let managed = manage::handle(&app, list, None).await;
    managed
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

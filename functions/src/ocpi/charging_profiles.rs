//! `POST /ocpi/{version}/chargingprofiles/{id}`: receives the charging point's result for a charging profile that this service has set or
//! cleared. It is stored like the result of a command.

use crate::App;
use axum::extract::{Path, State};
use models::ports::network::CommandKind;

use super::commands::store;
use super::edge::{Json, Party};
use super::operation::{Operation, operation};
use super::reply::Result;

const PATH: &str = "/ocpi/{version}/chargingprofiles/{id}";

pub fn operations() -> Vec<Operation> {
    vec![operation(
        "ocpi-create-profile-result",
        "POST",
        PATH,
        create,
    )]
}

async fn create(
    State(app): State<App>,
    party: Party,
    Path((_, id)): Path<(String, String)>,
    Json(body): Json,
) -> Result {
    let is_kind = |kind| matches!(kind, CommandKind::SetProfile | CommandKind::ClearProfile);
    store(&app, &party, &id, &body, is_kind).await
}

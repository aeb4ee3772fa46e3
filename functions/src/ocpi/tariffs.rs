//! `/ocpi/{version}/tariffs/{country_code}/{party_id}/{tariff_id}`: an operator pushes a tariff, or removes one.
//!
//! After a change of a tariff, its prices are applied to the connectors that name it (`crate::networks::apply_tariff`). Sessions keep the
//! prices with which they began.

use crate::App;
use axum::extract::{Path, State};
use ocpi::envelope::StatusCode;
use ocpi::object::{Module, Update, check_identity, put};
use ocpi::reader::lenient;
use ocpi::tariff::Tariff;
use serde_json::{Value, json};

use super::edge::{Json, ObjectPath, Party};
use super::operation::{Operation, operation, retrieve};
use super::reply::{Reply, Result};
use crate::networks::objects;

const PATH: &str = "/ocpi/{version}/tariffs/{country_code}/{party_id}/{tariff_id}";

pub fn operations() -> Vec<Operation> {
    vec![
        retrieve("ocpi-retrieve-tariff", PATH, Module::Tariffs),
        operation("ocpi-put-tariff", "PUT", PATH, replace),
        operation("ocpi-delete-tariff", "DELETE", PATH, delete),
    ]
}

/// Stores a tariff.
async fn replace(
    State(app): State<App>,
    party: Party,
    Path(path): Path<ObjectPath>,
    Json(body): Json,
) -> Result {
    let id = party.object(Module::Tariffs, &path)?;
    check_identity(&body, &id)?;
    let tariff: Tariff =
        lenient(&body).map_err(|why| Reply::error(StatusCode::INVALID_PARAMETERS, why))?;
    let unusable = tariff.read().err();
    let stored = objects::store(&app, &party, &id, |before| {
        put(before, body.clone(), app.now())
    })
    .await?;
    let reply = Reply::stored(matches!(stored, Update::New(_)));
    Ok(match unusable {
        None => reply,
        Some(why) => reply.with_message(format!("The tariff is stored and gives no prices: {why}")),
    })
}

/// Removes a tariff. The price of a connector that names only this tariff is unknown then: the tariff first loses its prices, because the
/// change of a tariff is relayed, and its removal is not.
async fn delete(State(app): State<App>, party: Party, Path(path): Path<ObjectPath>) -> Result {
    let id = party.object(Module::Tariffs, &path)?;
    objects::store(&app, &party, &id, |before| {
        Ok(before.map_or(Update::Stale, |before| {
            Update::Changed(without_prices(before))
        }))
    })
    .await?;
    objects::delete(&app, party.mode, &id).await?;
    Ok(Reply::success())
}

/// Returns a tariff that gives no prices.
pub fn without_prices(tariff: &Value) -> Value {
    let mut tariff = tariff.clone();
    if let Some(members) = tariff.as_object_mut() {
        members.insert("elements".into(), json!([]));
        members.retain(|name, _| name != "min_price" && name != "max_price");
    }
    tariff
}

//! `import-stations`: loads the stations of a file, a JSON array of OCPI 2.2.1 Location objects. Only an operator may
//! invoke it.

use serde::{Deserialize, Serialize};
use shared::charging::ocpi::Location;
use shared::deployment::{Deployment, Need};
use shared::models::charging_station::ChargingStation;
use shared::origin::{Mode, Origin, Tenant};
use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "import-stations";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Loads the stations of a file in the bucket; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .memory(1024)
        .timeout(900)
        .writing(&[Rows::Of(Kind::ChargingStation)])
        .needing(&[Need::BatchWrites, Need::ReadStations]),
};

/// The key of the file in the bucket, and the mode whose tenants share the stations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    pub key: String,
    pub mode: Mode,
}

#[derive(Debug, Clone, Serialize)]
pub struct Imported {
    /// How many stations were written; those that were there already, anew.
    pub imported: usize,
}

pub async fn handle(app: &App, import: Import) -> Result<Imported, Error> {
    let source = app.files.get(&import.key).await?;
    let stations = read(&source)?;
    let imported = stations.len();
    add(app, import.mode, stations).await?;
    Ok(Imported { imported })
}

/// The stations of a file.
///
/// # Errors
/// It is no array of locations, or one of these makes no station.
pub fn read(source: &[u8]) -> Result<Vec<ChargingStation>, Error> {
    let locations: Vec<Location> = serde_json::from_slice(source).map_err(Error::internal)?;
    locations.into_iter().map(Location::into_station).collect()
}

/// Writes stations, which belong to no tenant.
///
/// # Errors
/// The table's.
pub async fn add(app: &App, mode: Mode, stations: Vec<ChargingStation>) -> Result<(), Error> {
    let nobody = Tenant {
        account: Id::from_number(Kind::Account, 0),
        mode,
    };
    let origin = Origin::later(nobody, app.now());
    app.store.import_stations(&origin, stations).await
}

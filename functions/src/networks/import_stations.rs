//! `import-stations`: loads stations from files of OCPI 2.2.1 Location and Tariff objects. Only an operator may invoke it.
//!
//! An object that cannot be used is reported and skipped; the others are loaded. Loading a station again applies the differences between
//! the file and its previous version (`ocpi::update`). Each station that changes is written on the condition that it has not changed since
//! it was read, so that a session that starts or ends in between keeps its effect. An import that fails half-way has loaded some stations;
//! the next import loads the others.

use std::collections::{BTreeSet, HashMap};

use crate::App;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kernel::size::Size;
use kernel::{Error, Id, Kind, Mode, Origin, Tenant, Timestamp, function_scope};
use models::ports::files::MAX_FILE;
use models::{ChargingStation, Stored};
use ocpi::{ImportedStation, Location, Skipped, Tariff, Tariffs, reader, update};
use serde::{Deserialize, Serialize};
use table::access::Items;
use web::deployment::{Deployment, Need};

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "import-stations";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Loads the stations of a file in the bucket; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        // Nine bytes of memory for each byte of a file of the largest size.
        .memory(3008)
        .timeout(900)
        .writing(&[Items::Of(Kind::ChargingStation)])
        .needing(&[Need::BatchWrites, Need::ReadStations, Need::ReadTable]),
};

/// The number of stations that are read at a time.
const AT_A_TIME: usize = 100;

/// The number of changed stations that are written concurrently.
const WRITERS: usize = 8;

/// The maximum number of times that a station that changes concurrently is read again.
const STATION_READS: usize = 10;

/// The maximum number of entries of a list in a response, and the maximum size of the list in bytes of JSON: a response of Lambda has at
/// most 6 MB.
const MAX_LISTED: usize = 1_000;
const MAX_LIST: usize = 1_500_000;

/// The files to load, and the mode.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The key of the file of locations in the bucket.
    pub key: String,
    /// The key of the file of tariffs. Without one, stations keep the prices that they have.
    pub tariffs: Option<String>,
    /// The mode whose tenants share the stations.
    pub mode: Mode,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The number of locations in the file that are stations now.
    pub imported: usize,
    /// The number of these that are new.
    pub created: usize,
    /// The number of these that existed already and have changed.
    pub updated: usize,
    /// The locations that could not be used.
    pub skipped: Vec<Skipped>,
    /// The number of usable tariffs in the file.
    pub tariffs: usize,
    /// The tariffs that could not be used.
    pub skipped_tariffs: Vec<Skipped>,
    /// The tariffs that connectors name but the file of tariffs does not contain. Such connectors keep their prices.
    pub unknown_tariffs: BTreeSet<String>,
}

/// The response of the function. It lists the first 1,000 of the objects that could not be used, and has the counts of all.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub imported: Imported,
    pub skipped_count: usize,
    pub skipped_tariffs_count: usize,
    pub unknown_tariffs_count: usize,
}

impl Summary {
    /// Returns the summary of an import.
    ///
    /// # Errors
    /// `Internal` if an entry has no JSON representation.
    pub fn of(mut imported: Imported) -> Result<Self, Error> {
        let (skipped_count, skipped_tariffs_count, unknown_tariffs_count) = (
            imported.skipped.len(),
            imported.skipped_tariffs.len(),
            imported.unknown_tariffs.len(),
        );
        for skipped in [&mut imported.skipped, &mut imported.skipped_tariffs] {
            skipped.truncate(listed(skipped.iter())?);
        }
        let unknown = std::mem::take(&mut imported.unknown_tariffs);
        let shown = listed(unknown.iter())?;
        imported.unknown_tariffs = unknown.into_iter().take(shown).collect();
        Ok(Self {
            imported,
            skipped_count,
            skipped_tariffs_count,
            unknown_tariffs_count,
        })
    }
}

/// Returns the number of the first entries that a response lists.
fn listed<T: Serialize>(entries: impl Iterator<Item = T>) -> Result<usize, Error> {
    let (mut listed, mut bytes) = (0, 0);
    for entry in entries.take(MAX_LISTED) {
        bytes += Size::of(&entry)?.bytes + 1;
        if bytes > MAX_LIST {
            break;
        }
        listed += 1;
    }
    Ok(listed)
}

/// Loads the files.
///
/// # Errors
/// A file does not exist or is not JSON of the right shape, the files are too large, or the table cannot be reached.
pub async fn handle(app: &App, import: Import) -> Result<Summary, Error> {
    let imported = function_scope::within(NAME, load(app, import)).await?;
    Summary::of(imported)
}

async fn load(app: &App, import: Import) -> Result<Imported, Error> {
    let locations = app.files.get(&import.key).await?;
    let tariffs = match &import.tariffs {
        Some(key) => Some(app.files.get(key).await?),
        None => None,
    };
    if locations.len() + tariffs.as_ref().map_or(0, Vec::len) > MAX_FILE {
        let message = format!("the files have more than {MAX_FILE} bytes together: divide them");
        return Err(Error::malformed(message));
    }
    let (stations, mut imported) = read(&locations, tariffs.as_deref(), app.now())?;
    add(app, import.mode, stations, &mut imported).await?;
    Ok(imported)
}

/// Reads the stations of a file of locations, with the prices of a file of tariffs, and the skipped objects.
///
/// # Errors
/// A file is not JSON of the right shape.
pub fn read(
    locations: &[u8],
    tariffs: Option<&[u8]>,
    now: Timestamp,
) -> Result<(Vec<ImportedStation>, Imported), Error> {
    let mut imported = Imported::default();
    let id = |location: &Location| location.id.clone();
    let mut stations = reader::objects::<Location>(locations)?
        .without_duplicates(id, Location::key, |location| location.last_updated)
        .try_map(id, Location::into_station);
    imported.skipped = stations.skipped;
    if let Some(tariffs) = tariffs {
        let (tariffs, skipped) = Tariffs::read(reader::objects::<Tariff>(tariffs)?);
        (imported.tariffs, imported.skipped_tariffs) = (tariffs.len(), skipped);
        for station in &mut stations.loaded {
            imported
                .unknown_tariffs
                .extend(station.set_prices(&tariffs, now));
        }
    }
    Ok((stations.loaded, imported))
}

/// Stores stations, which belong to no tenant, and counts them.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn add(
    app: &App,
    mode: Mode,
    mut stations: Vec<ImportedStation>,
    imported: &mut Imported,
) -> Result<(), Error> {
    let operator = Tenant::new(Id::from_number(Kind::Account, 0), mode);
    let origin = Origin::background(operator, app.now());
    imported.imported += stations.len();
    while !stations.is_empty() {
        let rest = stations.split_off(stations.len().min(AT_A_TIME));
        let (created, updated) = add_some(app, &origin, stations).await?;
        imported.created += created;
        imported.updated += updated;
        stations = rest;
    }
    Ok(())
}

/// Stores these stations at once; returns the number of new and of changed stations.
async fn add_some(
    app: &App,
    origin: &Origin,
    stations: Vec<ImportedStation>,
) -> Result<(usize, usize), Error> {
    let ids: Vec<Id> = stations
        .iter()
        .map(|station| station.station.id.clone())
        .collect();
    let stored_stations = app
        .store
        .get_all::<ChargingStation>(&origin.tenant, &ids)
        .await?;
    let known = stored_stations
        .into_iter()
        .map(|station| (station.object.id.clone(), station));
    let mut known: HashMap<Id, Stored<ChargingStation>> = known.collect();
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for station in stations {
        match known.remove(&station.station.id) {
            Some(stored) => old.push((station, stored)),
            None => {
                let (object, internal) = update::merged(station, None, origin.now);
                new.push(Stored::with_internal(object, internal));
            }
        }
    }
    let created = new.len();
    app.store.put_stations(origin, new).await?;
    let changed: Vec<bool> = stream::iter(old)
        .map(|(station, stored)| change(app, origin, station, stored))
        .buffer_unordered(WRITERS)
        .try_collect()
        .await?;
    let updated = changed.into_iter().filter(|changed| *changed).count();
    Ok((created, updated))
}

/// Applies the file's changes to a stored station. Returns whether anything changed.
async fn change(
    app: &App,
    origin: &Origin,
    station: ImportedStation,
    mut stored: Stored<ChargingStation>,
) -> Result<bool, Error> {
    for _ in 0..STATION_READS {
        let before = Some((&stored.object, &stored.internal));
        let (object, internal) = update::merged(station.clone(), before, origin.now);
        let shown = object.updated != stored.object.updated;
        if object == stored.object && internal == stored.internal {
            return Ok(false);
        }
        (stored.object, stored.internal) = (object, internal);
        match app.store.replace_station(origin, &stored).await {
            Ok(()) => return Ok(shown),
            Err(Error::Contended) => {
                let id = stored.object.id.clone();
                stored = app.store.load(&origin.tenant, &id).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Contended)
}

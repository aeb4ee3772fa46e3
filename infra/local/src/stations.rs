//! The stations of a local run: loaded from files, or generated.

use std::path::Path;

use functions::App;
use functions::networks::import_stations::{self, Imported};
use kernel::{Currency, Error, Mode, Result};
use models::charging_station::{Price, PriceType, Tax};
use ocpi::{ImportedStation, Location};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::files::{self, Folder};

pub const ROUTE: &str = "/_local/stations";

/// The largest body of `POST /_local/stations`, in bytes.
pub const MAX_BODY: usize = 256 * 1024 * 1024;

/// The number of stations that are generated for a local run.
pub const DEMO_STATIONS: u32 = 300;

/// The version of the generated stations. A data folder with another version is given these at the next start.
const DEMO_EDITION: u32 = 2;

/// The files from which stations are loaded.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// OCPI Location objects. Without a file, demo stations are generated.
    pub stations: Option<&'a Path>,
    /// OCPI Tariff objects.
    pub tariffs: Option<&'a Path>,
    /// The number of stations that are generated without a file.
    pub demo: u32,
}

/// The body of `POST /_local/stations`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// OCPI Location objects: an array, an OCPI response with `data`, or one object.
    stations: Value,
    /// OCPI Tariff objects. Without them, stations keep their current prices.
    tariffs: Option<Value>,
}

/// Adds stations to the run, or changes existing ones.
///
/// # Errors
/// 400 if `stations` or `tariffs` has another shape. Locations and tariffs that cannot be used are listed in the result, each with the
/// reason.
pub async fn load(app: &App, load: Load) -> Result<Imported> {
    let text = |value: &Value| value.to_string().into_bytes();
    let tariffs = load.tariffs.as_ref().map(text);
    let (stations, mut imported) =
        import_stations::read(&text(&load.stations), tariffs.as_deref(), app.now())?;
    import_stations::add(app, Mode::Test, stations, &mut imported).await?;
    Ok(imported)
}

/// Writes the stations to the table, unless the files are those of the last start. Returns the stations that were loaded from a file.
pub async fn import(
    app: &App,
    folder: &Folder,
    sources: Sources<'_>,
    fresh: bool,
) -> Result<Option<Imported>> {
    if sources.stations.is_none() && sources.tariffs.is_some() {
        return Err(Error::internal("--tariffs needs --stations"));
    }
    let stations = read("--stations", sources.stations)?;
    let tariffs = read("--tariffs", sources.tariffs)?;
    let mut digest = Sha256::new();
    match &stations {
        Some(stations) => digest.update(stations),
        None => digest.update(format!("demo {DEMO_EDITION} {}", sources.demo)),
    }
    if let Some(tariffs) = &tariffs {
        digest.update(b"tariffs");
        digest.update(tariffs);
    }
    let digest = hex::encode(digest.finalize());
    if !fresh && folder.read::<String>(files::STATIONS)?.as_deref() == Some(&digest) {
        return Ok(None);
    }
    let (loaded, mut imported) = match &stations {
        Some(stations) => import_stations::read(stations, tariffs.as_deref(), app.now())
            .map_err(|error| Error::internal(format!("{}: {}", names(sources), reason(&error))))?,
        None => (demo(sources.demo)?, Imported::default()),
    };
    if loaded.is_empty() {
        let why = match imported.skipped.as_slice() {
            [] => "the array is empty".to_owned(),
            [first, ..] => format!("no location can be used; the first: {first}"),
        };
        return Err(Error::internal(format!("{}: {why}", names(sources))));
    }
    import_stations::add(app, Mode::Test, loaded, &mut imported).await?;
    folder.write(files::STATIONS, &digest)?;
    Ok(stations.is_some().then_some(imported))
}

/// The content of a file that an option names, which has to be JSON.
fn read(option: &str, file: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(file) = file else {
        return Ok(None);
    };
    let unusable = |why: &dyn std::fmt::Display| {
        Error::internal(format!("{option} {}: {why}", file.display()))
    };
    let content = std::fs::read(file).map_err(|error| unusable(&error))?;
    if content.trim_ascii().is_empty() {
        return Err(unusable(&"the file is empty"));
    }
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&content) {
        return Err(unusable(&format!("the file is not JSON: {error}")));
    }
    Ok(Some(content))
}

/// The options with their files, as they were specified.
fn names(sources: Sources<'_>) -> String {
    let options = [
        ("--stations", sources.stations),
        ("--tariffs", sources.tariffs),
    ];
    let named = options
        .iter()
        .filter_map(|(option, file)| file.map(|file| format!("{option} {}", file.display())));
    named.collect::<Vec<_>>().join(", ")
}

/// The reason for an error, without the word "internal" that a response to a client would have.
fn reason(error: &Error) -> String {
    match error {
        Error::Internal(source) => source.to_string(),
        error => error.to_string(),
    }
}

/// A report on an import, one line per fact.
pub fn report(imported: &Imported) -> String {
    let Imported {
        imported,
        created,
        updated,
        skipped,
        tariffs,
        skipped_tariffs,
        unknown_tariffs,
    } = imported;
    let mut lines = vec![format!(
        "Stations: {imported} loaded ({created} new, {updated} changed, {} unchanged), {} skipped",
        imported - created - updated,
        skipped.len()
    )];
    lines.extend(
        skipped
            .iter()
            .map(|location| format!("  skipped {location}")),
    );
    if *tariffs > 0 || !skipped_tariffs.is_empty() {
        let count = skipped_tariffs.len();
        lines.push(format!("Tariffs: {tariffs} loaded, {count} skipped"));
        lines.extend(
            skipped_tariffs
                .iter()
                .map(|tariff| format!("  skipped {tariff}")),
        );
    }
    if !unknown_tariffs.is_empty() {
        let ids: Vec<&str> = unknown_tariffs.iter().map(String::as_str).collect();
        lines.push(format!(
            "Tariffs that connectors name and that are not in the file: {}",
            ids.join(", ")
        ));
    }
    lines.join("\n")
}

/// A reproducible sequence of pseudorandom numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

/// City, country, time zone, latitude, longitude, currency.
const CITIES: [(&str, &str, &str, f64, f64, &str); 6] = [
    ("London", "GBR", "Europe/London", 51.507, -0.128, "gbp"),
    ("Berlin", "DEU", "Europe/Berlin", 52.520, 13.405, "eur"),
    ("Amsterdam", "NLD", "Europe/Amsterdam", 52.368, 4.904, "eur"),
    ("Oslo", "NOR", "Europe/Oslo", 59.913, 10.752, "nok"),
    (
        "New York",
        "USA",
        "America/New_York",
        40.713,
        -74.006,
        "usd",
    ),
    ("Tokyo", "JPN", "Asia/Tokyo", 35.677, 139.650, "jpy"),
];
const STREETS: [&str; 8] = [
    "Harbour Road",
    "Station Square",
    "Mill Lane",
    "Market Street",
    "Canal Side",
    "Depot Way",
    "Park Avenue",
    "North Gate",
];
const OPERATORS: [&str; 5] = [
    "Voltway",
    "Kerbside Power",
    "Greenline",
    "Ampere & Sons",
    "Northcharge",
];
/// CHARGING is missing: such a session would never end, and a reservation at its connector could never be used.
const STATUSES: [&str; 10] = [
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "AVAILABLE",
    "OUTOFORDER",
    "UNKNOWN",
];
const FACILITIES: [&[&str]; 4] = [&[], &["CAFE", "WIFI"], &["RESTAURANT"], &["SUPERMARKET"]];
/// Standard, kind of power, volts, amperes, watts.
const PLUGS: [(&str, &str, u32, u32, u32); 6] = [
    ("IEC_62196_T2", "AC_3_PHASE", 230, 16, 11_000),
    ("IEC_62196_T2", "AC_3_PHASE", 230, 32, 22_000),
    ("IEC_62196_T2_COMBO", "DC", 500, 100, 50_000),
    ("IEC_62196_T2_COMBO", "DC", 920, 350, 150_000),
    ("IEC_62196_T2_COMBO", "DC", 920, 500, 300_000),
    ("CHADEMO", "DC", 500, 125, 50_000),
];

/// A few hundred varied stations in six cities, the same at every start.
fn demo(count: u32) -> Result<Vec<ImportedStation>> {
    let mut numbers = Numbers(2026);
    (0..count).map(|n| demo_station(n, &mut numbers)).collect()
}

fn demo_station(n: u32, numbers: &mut Numbers) -> Result<ImportedStation> {
    let (city, country, zone, latitude, longitude, currency) = CITIES[n as usize % CITIES.len()];
    let offset = |numbers: &mut Numbers| (numbers.below(120_000) as f64 - 60_000.0) / 1_000_000.0;
    let (latitude, longitude) = (latitude + offset(numbers), longitude + offset(numbers));
    let street = *numbers.one_of(&STREETS);
    let operator = *numbers.one_of(&OPERATORS);
    let reservable = numbers.below(10) < 9;
    let at = "2026-01-01T00:00:00Z";
    let evses: Vec<Value> = (0..=numbers.below(4))
        .map(|evse| {
            let (standard, power, volts, amperes, watts) = *numbers.one_of(&PLUGS);
            let capabilities: &[&str] = if reservable { &["RESERVABLE"] } else { &[] };
            json!({"uid": format!("{n}-{evse}"), "evse_id": format!("{}*DEM*E{n}*{evse}", &country[..2]),
                "physical_reference": (evse + 1).to_string(), "status": numbers.one_of(&STATUSES), "capabilities": capabilities,
                "connectors": [{"id": "1", "standard": standard, "power_type": power, "max_voltage": volts,
                    "max_amperage": amperes, "max_electric_power": watts}]})
        })
        .collect();
    let hours = match numbers.below(4) {
        0 => {
            let day =
                |day: u8| json!({"weekday": day, "period_begin": "07:00", "period_end": "22:00"});
            json!({"twentyfourseven": false, "regular_hours": (1..=7).map(day).collect::<Vec<_>>()})
        }
        _ => json!({"twentyfourseven": true}),
    };
    let facilities = *numbers.one_of(&FACILITIES);
    let location = json!({"country_code": &country[..2], "party_id": "DEM", "id": format!("demo-{n}"),
        "name": format!("{operator} {street}"), "address": format!("{} {street}", 1 + numbers.below(200)), "city": city,
        "postal_code": format!("{:05}", 10_000 + n), "country": country, "operator": {"name": operator},
        "coordinates": {"latitude": format!("{latitude:.6}"), "longitude": format!("{longitude:.6}")}, "evses": evses,
        "facilities": facilities, "time_zone": zone, "opening_times": hours, "energy_mix": energy_mix(n), "last_updated": at});
    let location: Location = serde_json::from_value(location).map_err(Error::internal)?;
    let mut station = location.into_station().map_err(Error::internal)?;
    let currency = Currency::from_code(currency).unwrap_or(Currency::USD);
    let scale = if currency.exponent() == 0 { 2 } else { 1 };
    station.set_pricing(vec![Price {
        currency,
        price: 25 + numbers.below(55) as i64 * scale,
        price_decimal: None,
        step_size: 1,
        tax: Tax::Vat,
        tax_included: true,
        tax_percent: "20".into(),
        kind: PriceType::Energy,
        restrictions: None,
    }]);
    Ok(station)
}

/// The energy mixes of demo stations: green, by sources, or none. Stations without one are assigned the average of their country.
fn energy_mix(n: u32) -> Value {
    match n % 3 {
        0 => {
            json!({"is_green_energy": true, "energy_sources": [{"source": "WIND", "percentage": 70}, {"source": "SOLAR", "percentage": 30}]})
        }
        1 => {
            json!({"is_green_energy": false, "energy_sources": [{"source": "WIND", "percentage": 40}, {"source": "NUCLEAR", "percentage": 15},
            {"source": "GAS", "percentage": 45}], "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": 190}]})
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::ChargingStation;
    use models::charging_station::ConnectorStatus;
    use std::collections::HashSet;

    #[test]
    fn demo_stations_are_varied_and_the_same_every_time() {
        let demo = || -> Vec<ChargingStation> {
            let stations = super::demo(DEMO_STATIONS).unwrap().into_iter();
            stations.map(|entry| entry.station).collect()
        };
        let (once, again) = (demo(), demo());
        assert_eq!(once, again);
        assert_eq!(
            once.iter()
                .map(|station| &station.id)
                .collect::<HashSet<_>>()
                .len(),
            DEMO_STATIONS as usize
        );
        let kinds: HashSet<_> = once
            .iter()
            .flat_map(|station| &station.connectors)
            .map(|c| c.connector_type())
            .collect();
        assert_eq!(kinds.len(), 3);
        assert!(once.iter().any(|station| !station.capabilities.reservable));
        assert!(once.iter().any(|station| !station.capabilities.access_24_7));
        let mut connectors = once.iter().flat_map(|station| &station.connectors);
        assert!(connectors.all(|connector| connector.status != ConnectorStatus::Occupied));
    }
}

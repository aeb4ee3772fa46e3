//! The names of operations, of client methods and of schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use table::shown::Shows;
use web::{Method, Route};

use super::parts::{reference, references_mut};

/// Returns the word with a capital first letter: `Reservation`.
pub fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// Converts `charging-station` or `charging_station` to `ChargingStation`.
pub fn pascal(name: &str) -> String {
    let words = name.split(['-', '_', '.']);
    words.filter(|word| !word.is_empty()).map(capital).collect()
}

/// The verb and the object of a route's name: `top-up` and `account`.
pub fn verb_and_object(route: &Route) -> (&'static str, &'static str) {
    let (verb, object) = route.name.split_once('-').expect("a verb and an object");
    match verb {
        "topup" => ("top-up", object),
        verb => (verb, object),
    }
}

/// Converts `retrieve-charging-station` to `retrieveChargingStation`.
pub fn operation_id(route: &Route) -> String {
    let (verb, object) = verb_and_object(route);
    let id = pascal(verb) + &pascal(object);
    let (first, rest) = id.split_at(1);
    first.to_lowercase() + rest
}

/// The path of the account of the request's key.
pub const CURRENT_ACCOUNT: &str = "/v1/account";

/// The name of the operation in clients, within its resource: `client.reservations.create`, `client.vehicles.retrieve_telemetry`.
pub fn method(route: &Route) -> String {
    let (verb, _) = verb_and_object(route);
    let segments: Vec<&str> = route.path.split('/').skip(3).collect();
    if route.path == CURRENT_ACCOUNT {
        return format!("{verb}_current");
    }
    match (&segments[..], route.method) {
        ([] | ["{id}"], _) => verb.replace('-', "_"),
        ([.., last], Method::Get)
            if matches!(route.shows, Shows::Page(_) | Shows::Parts { .. }) =>
        {
            format!("list_{last}")
        }
        ([.., last], Method::Get) if matches!(route.shows, Shows::Feed) => format!("poll_{last}"),
        ([.., last], Method::Get) => format!("retrieve_{last}"),
        ([.., last], _) if verb == "update" => format!("update_{last}"),
        ([.., last], _) => (*last).to_owned(),
    }
}

/// The beginning of the names of an operation's schemas: `ReservationCreate`.
pub fn of_operation(route: &Route) -> String {
    let (verb, object) = verb_and_object(route);
    pascal(object) + &pascal(verb)
}

/// The schema of an operation's body: `ReservationCreateParams`.
pub fn params(route: &Route) -> String {
    format!("{}Params", of_operation(route))
}

/// Types whose names are clear only in their module, and their names in the document.
const CLEARER: [(&str, &str); 8] = [
    ("Breach", "PolicyWarning"),
    ("Contact", "AccountContact"),
    ("Grouping", "ReportGrouping"),
    ("Information", "VehicleInformation"),
    ("LineType", "LineItemType"),
    ("Range", "AvailabilityRange"),
    ("Rule", "PolicyRule"),
    ("Rules", "PolicyRules"),
];

fn clearer(name: &str) -> &str {
    let found = CLEARER.iter().find(|(plain, _)| *plain == name);
    found.map_or(name, |(_, clear)| clear)
}

/// The name in the document of a schema that has this name in the code. A type for an optional member is shown as the type inside it;
/// parts of request bodies that differ from those of responses end with `Input`.
fn shown(name: &str, schemas: &Map<String, Value>) -> String {
    for prefix in ["Change_", "Patch_"] {
        let Some(inner) = name.strip_prefix(prefix) else {
            continue;
        };
        let is_same = schemas.get(inner).is_none_or(|same| *same == schemas[name]);
        return match (input(inner), is_same) {
            (Some(input), _) => input,
            (None, true) => clearer(inner).to_owned(),
            (None, false) => format!("{}Input", clearer(inner)),
        };
    }
    input(name).unwrap_or_else(|| clearer(name).to_owned())
}

/// Converts `DriverPreferencesChange` and `NewDriverPreferences` to `DriverPreferencesInput`.
fn input(name: &str) -> Option<String> {
    let new = name.strip_prefix("New");
    let new = new.filter(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
    let rest = new.or_else(|| name.strip_suffix("Change"))?;
    Some(format!("{}Input", clearer(rest)))
}

/// Renames every schema to its name in the document.
pub fn rename(schemas: Map<String, Value>) -> Map<String, Value> {
    let names: BTreeMap<String, String> = schemas
        .keys()
        .map(|name| (name.clone(), shown(name, &schemas)))
        .collect();
    let mut renamed = Map::new();
    for (name, mut schema) in schemas {
        references_mut(&mut schema, &mut |path| {
            let target = path.rsplit('/').next().unwrap_or_default();
            if let Some(shown) = names.get(target) {
                *path = reference(shown)["$ref"]
                    .as_str()
                    .expect("a path")
                    .to_owned();
            }
        });
        let name = &names[&name];
        if let Some(other) = renamed.insert(name.clone(), schema.clone()) {
            assert_eq!(other, schema, "two different schemas are called {name}");
        }
    }
    renamed
}

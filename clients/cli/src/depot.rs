//! Depots: `fleet sites plan` shows which vehicle charges when, and `fleet vehicles import-departures` imports the departures of
//! vehicles from a CSV file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use csv::{DeserializeErrorKind, StringRecord};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::{Request, Response};
use crate::context::Context;
use crate::failure::Failure;
use crate::import::sheet::{self, Lines, Problem};
use crate::output::{self, Form};

/// The columns of a plan: the path of the member and the heading.
const COLUMNS: [(&str, &str); 8] = [
    ("departs_at", "departs"),
    ("level", "level"),
    ("energy_wh", "to charge Wh"),
    ("finish", "ready"),
    ("cost", "cost"),
    ("cost_if_immediate", "at once"),
    ("short_by_wh", "short Wh"),
    ("limited_by", "because of"),
];

/// The number of vehicles that are requested at a time.
const CONCURRENCY: usize = 8;

/// Shows the plan of a site, a line for each vehicle.
///
/// # Errors
/// The service cannot be reached, or refuses a request.
pub async fn plan(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    context.needs_key()?;
    let site = matches.get_one::<String>("site").cloned();
    let site = site.unwrap_or_default();
    let path = format!("/v1/sites/{site}/plan");
    let plan = context.client.send(&Request::get(path)).await?.body;
    let vehicles = plan["vehicles"].as_array().cloned().unwrap_or_default();
    let terminal = match &context.form {
        Form::Text { terminal } => *terminal,
        Form::Csv(_) => return context.form.list(&vehicles),
        form => return form.object(&plan),
    };
    let plates = vehicles.iter().map(|vehicle| {
        let id = vehicle["vehicle"].as_str().unwrap_or_default();
        let request = Request::get(format!("/v1/vehicles/{id}"));
        async move { context.client.send(&request).await }
    });
    let plates = futures::stream::iter(plates).buffered(CONCURRENCY);
    let plates: Vec<_> = plates.try_collect().await?;
    let row = |(vehicle, shown): (&Value, &Response)| -> Vec<String> {
        let plate = output::cell(&shown.body["registration_plate"]);
        let cells = COLUMNS
            .iter()
            .map(|(path, _)| output::cell(&vehicle[*path]));
        [plate].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = vehicles.iter().zip(&plates).map(row).collect();
    let headings: Vec<&str> = ["vehicle"]
        .into_iter()
        .chain(COLUMNS.iter().map(|(_, name)| *name))
        .collect();
    if !terminal {
        return output::lines(&rows);
    }
    let member = |name: &str| output::cell(&plan[name]);
    let (revision, planned) = (member("revision"), member("planned_at"));
    output::print(&format!("Plan {revision}, made at {planned}"))?;
    if plan["enforced"] == false {
        output::print(&format!(
            "Vehicles do not follow it: {}",
            member("not_enforced_because").replace('_', " ")
        ))?;
    }
    if rows.is_empty() {
        output::print("No vehicle departs within the next 48 hours.")
    } else {
        output::print(&output::table(Some(&headings), &rows))
    }
}

/// A line of the file: a vehicle, identified by one of three members, and one departure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    vehicle: Option<String>,
    registration_plate: Option<String>,
    vin: Option<String>,
    at: String,
    target_level: Option<f64>,
    energy_wh: Option<u32>,
    min_level: Option<f64>,
}

impl Line {
    /// The member by which the vehicle is found, and its value.
    fn name(&self) -> Option<(&'static str, &str)> {
        let names = [
            ("vehicle", &self.vehicle),
            ("registration_plate", &self.registration_plate),
            ("vin", &self.vin),
        ];
        let mut given = names
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)));
        given.next().filter(|_| given.next().is_none())
    }

    fn departure(&self, at: Timestamp) -> Value {
        let mut departure = Map::new();
        departure.insert("at".into(), json!(at));
        let numbers = [
            ("target_level", self.target_level),
            ("min_level", self.min_level),
        ];
        for (name, value) in numbers {
            departure.extend(value.map(|value| (name.to_owned(), json!(value))));
        }
        let energy = self
            .energy_wh
            .map(|energy| ("energy_wh".to_owned(), json!(energy)));
        departure.extend(energy);
        departure.into()
    }
}

/// The departures of each vehicle, in the order of their first lines, with the numbers of these lines.
type Departures = BTreeMap<(u64, String, String), Vec<Value>>;

/// The lines of a file with this content by vehicle.
fn read(file: &Path, content: &[u8]) -> Result<Departures, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Local(format!("{}{why}", file.display()));
    let mut lines = Lines::of(content);
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.trim(csv::Trim::All).from_reader(content);
    let names = reader.headers();
    let names = names.map_err(|error| wrong(&format!(": {error}")))?.clone();
    let mut first: BTreeMap<(&str, String), u64> = BTreeMap::new();
    let mut departures = Departures::new();
    for record in reader.into_records() {
        let place = match &record {
            Ok(record) => record.position(),
            Err(error) => error.position(),
        };
        let number = place.map_or(0, |place| lines.at(place));
        let wrong = |column: Option<&str>, message: String| {
            let column = column.map(str::to_owned);
            let problem = Problem {
                line: number,
                column,
                message,
            };
            wrong(&format!(", {problem}"))
        };
        let record = record.map_err(|error| wrong(None, sheet::what_is_wrong(&error)))?;
        let line = record.deserialize::<Line>(Some(&names));
        let line = line.map_err(|error| {
            let (column, message) = problem_of(&error, &names);
            wrong(column, message)
        })?;
        let at = line.at.parse::<Timestamp>().map_err(|_| {
            let message = "must be a time such as 2027-01-15T09:00:00Z";
            wrong(Some("at"), message.into())
        })?;
        let Some((member, name)) = line.name() else {
            let message = "one of vehicle, registration_plate and vin is required";
            return Err(wrong(None, message.into()));
        };
        if line.target_level.is_some() == line.energy_wh.is_some() {
            let message = "either target_level or energy_wh is required";
            return Err(wrong(None, message.into()));
        }
        let begun = *first.entry((member, name.to_owned())).or_insert(number);
        let key = (begun, member.to_owned(), name.to_owned());
        departures.entry(key).or_default().push(line.departure(at));
    }
    Ok(departures)
}

/// The reason why a record cannot be read as a [`Line`], and the column, if it is known.
fn problem_of<'a>(error: &csv::Error, names: &'a StringRecord) -> (Option<&'a str>, String) {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return (None, error.to_string());
    };
    let column = err
        .field()
        .and_then(|place| names.get(usize::try_from(place).ok()?));
    let message = match err.kind() {
        DeserializeErrorKind::ParseFloat(_) => "must be a number such as 51.5".to_owned(),
        DeserializeErrorKind::ParseInt(_) => "must be a whole number".to_owned(),
        kind => kind.to_string(),
    };
    (column, message)
}

/// Replaces the future departures of the vehicles in a CSV file. The whole file is checked, and all vehicles are found, before the
/// first departure is changed.
///
/// # Errors
/// The file cannot be read or has a wrong line; a vehicle is not found; the service cannot be reached. 7 if it refuses departures.
pub async fn import_departures(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let file = matches.get_one::<PathBuf>("file").cloned();
    let file = file.unwrap_or_default();
    let departures = read(&file, &sheet::contents(&file).await?)?;
    context.needs_key()?;
    let mut found: BTreeMap<String, (u64, Vec<Value>)> = BTreeMap::new();
    for ((line, member, name), mut departures) in departures {
        let id = vehicle(context, &member, &name).await?;
        let id = id.ok_or_else(|| {
            Failure::Local(format!("line {line}: no vehicle has the {member} {name}"))
        })?;
        found
            .entry(id)
            .or_insert_with(|| (line, Vec::new()))
            .1
            .append(&mut departures);
    }
    let mut results: BTreeMap<String, u64> = BTreeMap::new();
    let mut refused = 0;
    for (vehicle, (line, departures)) in &found {
        if matches.get_flag("dry-run") {
            *results.entry("checked".into()).or_default() += departures.len() as u64;
            continue;
        }
        let path = format!("/v1/vehicles/{vehicle}/departures");
        let request = Request::post(path, json!({"departures": departures}));
        match context.client.send(&request).await {
            Ok(response) => {
                for result in response.body["results"].as_array().into_iter().flatten() {
                    *results.entry(output::cell(&result["result"])).or_default() += 1;
                }
            }
            Err(Failure::Refused(refusal)) if refusal.status < 500 && refusal.status != 401 => {
                refused += 1;
                let message = refusal.member("message").unwrap_or("refused");
                eprintln!("line {line}: {}", output::visible(message));
            }
            Err(failure) => return Err(failure),
        }
    }
    match &context.form {
        Form::Text { .. } => {
            let counts = results
                .iter()
                .map(|(result, count)| format!("{count} {result}"));
            let counts: Vec<String> = counts.collect();
            output::print(&format!("{}: {}", vehicles(found.len()), counts.join(", ")))?;
        }
        form => form
            .object(&json!({"vehicles": found.len(), "departures": results, "refused": refused}))?,
    }
    match refused {
        0 => Ok(()),
        _ => Err(Failure::Partial(format!(
            "the departures of {} were not replaced",
            vehicles(refused)
        ))),
    }
}

/// A number of vehicles in words.
fn vehicles(count: usize) -> String {
    match count {
        1 => "1 vehicle".to_owned(),
        _ => format!("{count} vehicles"),
    }
}

/// The id of the only vehicle whose member has this value.
async fn vehicle(context: &Context, member: &str, name: &str) -> Result<Option<String>, Failure> {
    if member == "vehicle" {
        return Ok(Some(name.to_owned()));
    }
    let search = Request::get("/v1/vehicles")
        .with(member, name)
        .with("limit", "2");
    let page = context.client.send(&search).await?.body;
    match page["data"].as_array().map(Vec::as_slice) {
        Some([vehicle]) => Ok(vehicle["id"].as_str().map(str::to_owned)),
        Some([_, ..]) => Err(Failure::Local(format!(
            "several vehicles have the {member} {name}"
        ))),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departures(text: &str) -> Result<Vec<(u64, String, usize)>, String> {
        let read = read(Path::new("-"), text.as_bytes()).map_err(|failure| failure.to_string())?;
        let of_vehicle =
            |((line, _, name), all): ((u64, String, String), Vec<Value>)| (line, name, all.len());
        Ok(read.into_iter().map(of_vehicle).collect())
    }

    #[test]
    fn the_lines_of_a_vehicle_are_its_departures() {
        let text = "registration_plate,at,target_level,energy_wh,min_level\n\
            AB 1,2027-01-15T06:00:00Z,80,,20\n\nCD 2,2027-01-15T06:30:00+01:00,,22000,\r\nAB 1,2027-01-16T06:00:00Z,90,,\n";
        let read = departures(text).unwrap();
        assert_eq!(read, [(2, "AB 1".to_owned(), 2), (4, "CD 2".to_owned(), 1)]);
    }

    #[test]
    fn one_vehicle_is_named_in_the_singular() {
        let words = [0, 1, 2].map(vehicles);
        assert_eq!(words, ["0 vehicles", "1 vehicle", "2 vehicles"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, why) in [
            (
                "vehicle,at,target_level\nveh_1,06:00,80\n",
                "line 2, at: must be a time",
            ),
            (
                "vehicle,at,target_level\nveh_1,2027-01-15T06:00:00Z,\"80,5\"\n",
                "-, line 2, target_level: must be a number",
            ),
            (
                "vehicle,at,energy_wh\nveh_1,2027-01-15T06:00:00Z,1.5\n",
                "line 2, energy_wh: must be a whole number",
            ),
            ("vehicle,at\nveh_1\n", "-, line 2: has 1 cells instead of 2"),
            (
                "vehicle,at\nveh_1,2027-01-15T06:00:00Z\n",
                "line 2: either target_level or energy_wh",
            ),
            (
                "at,energy_wh\n2027-01-15T06:00:00Z,1\n",
                "line 2: one of vehicle, registration_plate and vin",
            ),
            (
                "vehicle,at,colour\nveh_1,2027-01-15T06:00:00Z,red\n",
                "colour",
            ),
        ] {
            let error = departures(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}

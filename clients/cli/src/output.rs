//! What commands print: tables for people, tab-separated text for other programs, JSON on request.

use std::io::{IsTerminal as _, Write as _};

use clap::ArgMatches;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The members that a list shows, the most telling first, and how many of them.
const COLUMNS: [&str; 24] = [
    "id",
    "name",
    "type",
    "status",
    "email",
    "registration_plate",
    "url",
    "description",
    "operator",
    "fleet",
    "driver",
    "vehicle",
    "charging_station",
    "event",
    "event_type",
    "amount",
    "amount_due",
    "currency",
    "energy_consumed",
    "ideal_start",
    "reserved_start",
    "period_start",
    "distance_meters",
    "created",
];
const MOST_COLUMNS: usize = 7;

/// How a response is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Tables on a terminal, tab-separated text elsewhere.
    Text {
        terminal: bool,
    },
    Json,
    /// A line of JSON for each object.
    JsonLines,
    /// The members at these paths, separated by tabs.
    Members(Vec<String>),
}

impl Form {
    /// The form that the command line asks for.
    pub fn of(matches: &ArgMatches) -> Self {
        if matches.get_flag("json") {
            return Self::Json;
        }
        if matches.get_flag("json-lines") {
            return Self::JsonLines;
        }
        match matches.get_many::<String>("get") {
            Some(paths) => Self::Members(paths.cloned().collect()),
            None => Self::Text {
                terminal: std::io::stdout().is_terminal(),
            },
        }
    }

    /// Prints an object.
    ///
    /// # Errors
    /// Standard output cannot be written, or the object has no member of that name.
    pub fn object(&self, object: &Value) -> Result<(), Failure> {
        match self {
            Self::Json => print(&pretty(object)),
            Self::JsonLines => print(&object.to_string()),
            Self::Members(paths) => print(&members(object, paths)?),
            Self::Text { terminal } => {
                let mut rows = Vec::new();
                flatten("", object, &mut rows);
                match terminal {
                    true => print(&table(None, &rows)),
                    false => lines(&rows),
                }
            }
        }
    }

    /// Prints the objects of a list. A form that prints each object by itself can print the list in parts.
    ///
    /// # Errors
    /// Standard output cannot be written, or an object has no member of that name.
    pub fn list(&self, objects: &[Value]) -> Result<(), Failure> {
        match self {
            Self::Json => print(&pretty(&json!({"data": objects}))),
            Self::JsonLines | Self::Members(_) => {
                objects.iter().try_for_each(|object| self.object(object))
            }
            Self::Text { terminal } => {
                let columns = columns(objects);
                let row =
                    |object: &Value| columns.iter().map(|name| cell(&object[*name])).collect();
                let rows: Vec<Vec<String>> = objects.iter().map(row).collect();
                match terminal {
                    true if rows.is_empty() => print("No objects."),
                    true => print(&table(Some(&columns), &rows)),
                    false => lines(&rows),
                }
            }
        }
    }

    /// Whether each object is printed by itself, so that long lists need not be kept.
    pub fn is_streamed(&self) -> bool {
        matches!(self, Self::JsonLines | Self::Members(_))
    }
}

/// Prints a text and a line feed.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// JSON for people to read.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// The columns of a list: of the members that any object has with a plain value, the most telling ones.
fn columns(objects: &[Value]) -> Vec<&'static str> {
    let shown = |name: &&&str| {
        objects.iter().any(|object| {
            let value = &object[**name];
            !cell(value).is_empty() && !value.is_object() && !value.is_array()
        })
    };
    let mut columns: Vec<&str> = COLUMNS.iter().filter(shown).copied().collect();
    let created = columns.last() == Some(&"created");
    if columns.len() > MOST_COLUMNS {
        columns.truncate(MOST_COLUMNS - usize::from(created));
        if created {
            columns.push("created");
        }
    }
    columns
}

/// A table with these headings.
pub fn table(headings: Option<&[&str]>, rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(headings) = headings {
        table.set_header(headings.iter().map(|name| name.to_uppercase()));
    }
    table.add_rows(rows);
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Prints rows as tab-separated text; tabs and line feeds in values are written as `\t` and `\n`.
fn lines(rows: &[Vec<String>]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let escaped = |value: &String| {
        value
            .replace('\\', r"\\")
            .replace('\t', r"\t")
            .replace('\n', r"\n")
            .replace('\r', r"\r")
    };
    let line = |row: &Vec<String>| row.iter().map(escaped).collect::<Vec<_>>().join("\t");
    print(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The members of an object as rows of path and value, those of objects in it with dots.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                flatten(&path, member, rows);
            }
        }
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for (place, element) in elements.iter().enumerate() {
                flatten(&format!("{path}.{place}"), element, rows);
            }
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(cell).collect();
            rows.push(vec![path.to_owned(), elements.join(", ")]);
        }
        value => rows.push(vec![path.to_owned(), cell(value)]),
    }
}

/// A value in a table: text as it is, null as nothing.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(members) if members.is_empty() => String::new(),
        other => other.to_string(),
    }
}

/// The members at paths, separated by tabs.
fn members(object: &Value, paths: &[String]) -> Result<String, Failure> {
    let mut values = Vec::new();
    for path in paths {
        let value = path.split('.').try_fold(object, |value, name| match value {
            Value::Array(elements) => elements.get(name.parse::<usize>().ok()?),
            value => value.get(name),
        });
        let Some(value) = value else {
            let known: Vec<&String> = object
                .as_object()
                .into_iter()
                .flat_map(|members| members.keys())
                .collect();
            return Err(Failure::Local(format!(
                "--get {path}: there is no such member; there are {known:?}"
            )));
        };
        values.push(cell(value));
    }
    Ok(values.join("\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_paths() {
        let object = json!({"id": "flt_1", "address": {"city": "London"}, "phone": null, "lines": [{"amount": 3}]});
        let get = |paths: &[&str]| {
            members(
                &object,
                &paths
                    .iter()
                    .map(|path| (*path).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            get(&["id", "address.city", "phone", "lines.0.amount"]).unwrap(),
            "flt_1\tLondon\t\t3"
        );
        for missing in ["idd", "lines.1.amount", "id.x", "lines.x"] {
            assert!(get(&[missing]).is_err(), "{missing}");
        }
    }

    #[test]
    fn a_list_has_at_most_seven_columns_with_the_time_of_creation_last() {
        let mut object = json!({});
        for name in COLUMNS {
            object[name] = "x".into();
        }
        let columns = columns(&[object]);
        assert_eq!(
            (columns.len(), columns[0], columns[6]),
            (7, "id", "created")
        );
        assert!(super::columns(&[json!({"id": {}, "name": null})]).is_empty());
    }

    #[test]
    fn objects_are_flattened_with_dots() {
        let mut rows = Vec::new();
        flatten(
            "",
            &json!({"a": {"b": [1, 2], "c": []}, "d": [{"e": null}]}),
            &mut rows,
        );
        let rows: Vec<String> = rows.iter().map(|row| row.join("=")).collect();
        assert_eq!(rows, ["a.b=1, 2", "a.c=", "d.0.e="]);
    }
}

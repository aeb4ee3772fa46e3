//! The output of commands: tables for people, tab-separated text for other programs, JSON, YAML or CSV on request.

use std::io::{IsTerminal as _, Write as _};

use clap::ArgMatches;
use clap::error::ErrorKind;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::yaml;

/// The members that a list shows, the most important first, and their maximum number.
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

/// The form in which a response is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Tables on a terminal, tab-separated text elsewhere.
    Text {
        terminal: bool,
    },
    Json,
    /// A line of JSON for each object.
    JsonLines,
    Yaml,
    /// A line for each object below a line of headings: the members at these paths, or all members of the objects if there are no
    /// paths.
    Csv(Vec<String>),
    /// The members at these paths, separated by tabs.
    Members(Vec<String>),
}

/// The values of `--output`.
pub const OUTPUTS: [&str; 5] = ["table", "json", "jsonl", "yaml", "csv"];

impl Form {
    /// Reads the form from the command line.
    ///
    /// # Errors
    /// `--get` is used with a form that has no columns.
    pub fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let paths = matches.get_many::<String>("get").into_iter().flatten();
        let paths: Vec<String> = paths.cloned().collect();
        let output = match matches.get_one::<String>("output").map(String::as_str) {
            _ if matches.get_flag("json") => Some("json"),
            _ if matches.get_flag("json-lines") => Some("jsonl"),
            output => output,
        };
        let form = match output {
            Some("csv") => return Ok(Self::Csv(paths)),
            None if !paths.is_empty() => return Ok(Self::Members(paths)),
            Some("json") => Self::Json,
            Some("jsonl") => Self::JsonLines,
            Some("yaml") => Self::Yaml,
            Some(_) => Self::Text { terminal: true },
            None => Self::Text {
                terminal: std::io::stdout().is_terminal(),
            },
        };
        if paths.is_empty() {
            Ok(form)
        } else {
            Err(Failure::Usage(clap::Command::new("fleet").error(
                ErrorKind::ArgumentConflict,
                "--get goes with --output csv, or without --output",
            )))
        }
    }

    /// Checks that a response with these members has those of `--get`, before a request that changes something is sent.
    ///
    /// # Errors
    /// The first name of a path is not one of these members.
    pub fn check(&self, members: &[String]) -> Result<(), Failure> {
        let (Self::Csv(paths) | Self::Members(paths)) = self else {
            return Ok(());
        };
        let has = |path: &&String| {
            let mut members = members.iter();
            members.any(|name| path.split('.').next() == Some(name))
        };
        match paths.iter().find(|path| !has(path)) {
            Some(path) if !members.is_empty() => Err(missing(path, members)),
            _ => Ok(()),
        }
    }

    /// Prints an object.
    ///
    /// # Errors
    /// Standard output cannot be written, or the object has no member of that name.
    pub fn object(&self, object: &Value) -> Result<(), Failure> {
        match self {
            Self::Json => print(&json_text(&pretty(object))),
            Self::JsonLines => print(&json_text(&object.to_string())),
            Self::Yaml => print(yaml::written(object).trim_end()),
            Self::Csv(paths) => csv(std::slice::from_ref(object), paths),
            Self::Members(paths) => match members(object, paths)? {
                // A single value is for a variable of a script.
                one if one.len() == 1 && !std::io::stdout().is_terminal() => print(&one[0]),
                several => lines(&[several]),
            },
            Self::Text { terminal } => {
                let mut rows = Vec::new();
                flatten("", object, &mut rows);
                if *terminal {
                    print(&table(None, &rows))
                } else {
                    lines(&rows)
                }
            }
        }
    }

    /// Prints the objects of a list. Forms that print each object separately can print the list in parts.
    ///
    /// # Errors
    /// Standard output cannot be written, or an object has no member of that name.
    pub fn list(&self, objects: &[Value]) -> Result<(), Failure> {
        match self {
            Self::Json | Self::Yaml => self.object(&json!({"data": objects})),
            Self::Csv(paths) => csv(objects, paths),
            Self::JsonLines => objects.iter().try_for_each(|object| self.object(object)),
            Self::Members(paths) => {
                let rows = objects.iter().map(|object| members(object, paths));
                lines(&rows.collect::<Result<Vec<_>, _>>()?)
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

    /// Prints a page of a list: the page itself if the form can show its other members, otherwise its objects.
    ///
    /// # Errors
    /// As [`Form::list`].
    pub fn page(&self, page: &Value) -> Result<(), Failure> {
        match (self, page["data"].as_array()) {
            (Self::Json | Self::Yaml, _) | (_, None) => self.object(page),
            (_, Some(objects)) => self.list(objects),
        }
    }

    /// Whether each object is printed separately, so that long lists need not be kept in memory.
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

/// Formats JSON for people.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// The columns of a list: the most important members that have a plain value in at least one object.
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

/// The smallest width of a terminal that is accepted as correct.
const NARROWEST: u16 = 20;

/// A table with these headings.
pub fn table(headings: Option<&[&str]>, rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals, such as those of containers, have a width of zero.
    if table.width().is_none_or(|width| width < NARROWEST) {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    let coloured = is_coloured(&std::io::stdout());
    if let Some(headings) = headings {
        let heading = |name: &&str| {
            if coloured {
                Cell::new(name.to_uppercase()).add_attribute(Attribute::Bold)
            } else {
                Cell::new(name.to_uppercase())
            }
        };
        table.set_header(headings.iter().map(heading));
    }
    for row in rows {
        let cell = |(place, text): (usize, &String)| {
            let name = match headings {
                Some(headings) => headings.get(place).copied().unwrap_or_default(),
                None if place == 1 => row[0].as_str(),
                None => "",
            };
            match colour(text).filter(|_| coloured && name == "status") {
                Some(colour) => Cell::new(text).fg(colour),
                None => Cell::new(visible(text)),
            }
        };
        table.add_row(row.iter().enumerate().map(cell));
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The colour of a status.
fn colour(status: &str) -> Option<Color> {
    Some(match status {
        "active" | "available" | "completed" | "confirmed" | "enabled" | "paid" | "succeeded" => {
            Color::Green
        }
        "blocked" | "disabled" | "expired" | "failed" | "overdue" | "uncollectible" => Color::Red,
        "draft" | "open" | "pending" | "running" => Color::Yellow,
        _ => return None,
    })
}

/// Whether a stream shows colours: it is a terminal that supports them, and `NO_COLOR` is not set.
pub fn is_coloured(stream: &impl std::io::IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Prints objects as CSV: elements of arrays are separated by semicolons, as imports read them, and nested structures are printed as
/// JSON.
fn csv(objects: &[Value], paths: &[String]) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let mut headings: Vec<String> = paths.to_vec();
    for object in objects {
        let mut cells = std::collections::BTreeMap::new();
        for path in paths {
            cells.insert(path.clone(), csv_cell(member(object, path)?));
        }
        if paths.is_empty() {
            let mut rows = Vec::new();
            csv_cells(object, &mut rows);
            for (name, cell) in rows {
                if !headings.contains(&name) {
                    headings.push(name.clone());
                }
                cells.insert(name, cell);
            }
        }
        lines.push(cells);
    }
    if headings.is_empty() {
        return Ok(());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let records = lines.iter().map(|cells| {
        let cell = |name| cells.get(name).map_or("", String::as_str);
        headings.iter().map(cell).collect::<Vec<_>>()
    });
    writer.write_record(&headings).map_err(Failure::local)?;
    for record in records {
        writer.write_record(record).map_err(Failure::local)?;
    }
    let text = writer.into_inner().map_err(Failure::local)?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_end_matches('\n');
    if std::io::stdout().is_terminal() {
        print(&visible(text))
    } else {
        print(text)
    }
}

/// The cells of an object by the paths of its members.
fn csv_cells(value: &Value, cells: &mut Vec<(String, String)>) {
    leaves("", value, &mut |path, leaf| {
        cells.push((path.to_owned(), csv_cell(leaf)))
    });
}

/// The members of an object that are not objects themselves, with their paths: `location.radius`.
fn leaves(path: &str, value: &Value, found: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                leaves(&path, member, found);
            }
        }
        leaf => found(path, leaf),
    }
}

fn csv_cell(value: &Value) -> String {
    match value {
        Value::Array(elements) if elements.iter().all(|element| !element.is_object()) => {
            elements.iter().map(cell).collect::<Vec<_>>().join(";")
        }
        value => cell(value),
    }
}

/// A text without the control characters by which a value could command a terminal: they are written as `\u{1b}`. Line feeds stay.
pub fn visible(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' => letter.to_string(),
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

/// JSON without the control characters that may stand in its texts as they are, U+007F to U+009F.
pub fn json_text(json: &str) -> String {
    let escaped = |letter: char| match letter {
        '\u{7f}'..='\u{9f}' => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    };
    json.chars().map(escaped).collect()
}

/// Prints rows as tab-separated text; tabs, line feeds and other control characters in values are written as `\t`, `\n` and `\u{1b}`.
///
/// # Errors
/// Standard output cannot be written.
pub fn lines(rows: &[Vec<String>]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let escaped = |value: &String| visible(&value.replace('\\', r"\\").replace('\n', r"\n"));
    let line = |row: &Vec<String>| row.iter().map(escaped).collect::<Vec<_>>().join("\t");
    print(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Converts the members of an object to rows of path and value; paths of members of nested objects have dots.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    leaves(path, value, &mut |path, leaf| match leaf {
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            for (place, element) in elements.iter().enumerate() {
                flatten(&format!("{path}.{place}"), element, rows);
            }
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(cell).collect();
            rows.push(vec![path.to_owned(), elements.join(", ")]);
        }
        leaf => rows.push(vec![path.to_owned(), cell(leaf)]),
    });
}

/// A value in a table: text unchanged, null as an empty text.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(members) if members.is_empty() => String::new(),
        other => other.to_string(),
    }
}

/// The members at paths, as cells.
fn members(object: &Value, paths: &[String]) -> Result<Vec<String>, Failure> {
    let members = paths.iter().map(|path| Ok(cell(member(object, path)?)));
    members.collect()
}

/// The member at a path of names and indexes, separated by dots.
///
/// # Errors
/// There is no such member.
pub fn member<'a>(object: &'a Value, path: &str) -> Result<&'a Value, Failure> {
    let value = path.split('.').try_fold(object, |value, name| match value {
        Value::Array(elements) => elements.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    });
    value.ok_or_else(|| {
        let known = object.as_object().into_iter();
        let known = known.flat_map(|members| members.keys().cloned());
        missing(path, &known.collect::<Vec<_>>())
    })
}

/// The failure if there is no member at a path of an object with these members.
fn missing(path: &str, known: &[String]) -> Failure {
    Failure::Local(format!(
        "{path}: there is no such member; there are {}",
        known.join(", ")
    ))
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
            ["flt_1", "London", "", "3"]
        );
        for missing in ["idd", "lines.1.amount", "id.x", "lines.x"] {
            assert!(get(&[missing]).is_err(), "{missing}");
        }
    }

    #[test]
    fn a_list_has_at_most_seven_columns_and_ends_with_created() {
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
    fn cells_of_csv_are_those_that_an_import_reads() {
        let mut cells = Vec::new();
        let object = json!({"id": "x", "metadata": {"depot": "a, b"}, "tags": ["CCS", "Type2"], "lines": [{"amount": 3}], "phone": null});
        csv_cells(&object, &mut cells);
        let cells: Vec<_> = cells
            .iter()
            .map(|(name, cell)| (name.as_str(), cell.as_str()))
            .collect();
        let want = [
            ("id", "x"),
            ("metadata.depot", "a, b"),
            ("tags", "CCS;Type2"),
            ("lines", r#"[{"amount":3}]"#),
            ("phone", ""),
        ];
        assert_eq!(cells, want);
    }

    #[test]
    fn no_control_character_is_shown() {
        let text = "a\u{1b}[2J\t\u{9b}2J\r\u{7f}\nb";
        assert_eq!(visible(text), "a\\u{1b}[2J\\t\\u{9b}2J\\r\\u{7f}\nb");
        let json = json_text(&json!({"name": text}).to_string());
        assert!(!json.chars().any(char::is_control), "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["name"], text);
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

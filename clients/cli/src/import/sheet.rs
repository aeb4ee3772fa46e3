//! The CSV file of an import: its columns, its lines as bodies, and the problems of its lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use csv::{Reader, StringRecord};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::catalog::{Body, Field, Kind, Operation, Presence};
use crate::failure::Failure;
use crate::input;
use crate::request::{at, joined, set};
use crate::value::{self, Parsed};

/// The column with the reasons in a file of rejected lines; an import ignores it.
const REASON: &str = "import_error";

/// The separator of several values in one cell.
const SEPARATOR: char = ';';

/// Members whose values must be unique, although the document does not say so: a vehicle identification number belongs to one vehicle.
const UNIQUE: [&str; 1] = ["vin"];

/// A CSV file of objects to create.
pub struct Sheet {
    path: PathBuf,
    /// The file, which is read once: it may be a pipe.
    content: Vec<u8>,
    operation: &'static Operation,
    body: &'static Body,
    /// None for [`REASON`].
    columns: Vec<Option<Column>>,
    /// Values for lines that have none: a column and the text of its cell.
    constants: Vec<(Column, String)>,
}

/// The field for the values of a column.
#[derive(Clone)]
struct Column {
    field: &'static Field,
    /// The key within an object of pairs.
    key: Option<String>,
}

/// A line that can be imported.
#[derive(Debug)]
pub struct Row {
    pub line: u64,
    /// The Idempotency-Key.
    pub key: String,
    pub body: Value,
}

/// A problem of a line.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    pub line: u64,
    pub column: Option<String>,
    pub message: String,
}

/// The result of a check of the whole file.
#[derive(Debug, Default)]
pub struct Checked {
    /// The number of lines of the file without the first, which contains the names of the columns.
    pub lines: u64,
    /// The numbers of the lines that can be imported, by their keys.
    pub keys: HashMap<String, u64>,
    pub problems: Vec<Problem>,
    /// The fleets that lines refer to.
    pub fleets: BTreeSet<String>,
}

impl Problem {
    /// A problem of a line as a whole.
    pub fn of_line(line: u64, message: impl Into<String>) -> Self {
        Self {
            line,
            column: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl Sheet {
    /// Reads the names of the columns of a file with this content.
    ///
    /// # Errors
    /// A column is unknown or occurs twice, or a required member has neither a column nor a constant.
    pub fn open(
        operation: &'static Operation,
        path: &Path,
        content: Vec<u8>,
        constants: &[String],
    ) -> Result<Self, Failure> {
        let body = operation.body.as_ref();
        let body = body.ok_or_else(|| Failure::local("the operation has no body"))?;
        let wrong = |why: String| Failure::Local(format!("{}: {why}", path.display()));
        let mut reader = reader(&content);
        let names = reader
            .headers()
            .map_err(|error| wrong(error.to_string()))?
            .clone();
        let columns = columns_of(body, &names).map_err(wrong)?;
        let constants = constants
            .iter()
            .map(|constant| constant_of(body, constant))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::Local)?;
        let named = columns.iter().flatten();
        let named = named.chain(constants.iter().map(|(column, _)| column));
        check_required(body, &named.collect::<Vec<_>>()).map_err(wrong)?;
        Ok(Self {
            path: path.to_owned(),
            content,
            operation,
            body,
            columns,
            constants,
        })
    }

    /// Checks every line. `key` is a member by which objects are found; two lines must not have the same value of it.
    pub fn check(&self, key: Option<&'static str>) -> Checked {
        let others = key.filter(|name| !UNIQUE.contains(name));
        let mut checked = Checked::default();
        let mut unique: HashMap<(&str, String), u64> = HashMap::new();
        for read in self.read() {
            checked.lines += 1;
            let row = match read {
                Ok(row) => row,
                Err(problems) => {
                    checked.problems.extend(problems);
                    continue;
                }
            };
            if let Some(first) = checked.keys.get(&row.key) {
                let message = format!("the same as line {first}");
                checked.problems.push(Problem::of_line(row.line, message));
                continue;
            }
            checked.keys.insert(row.key.clone(), row.line);
            for name in UNIQUE.into_iter().chain(others) {
                let Some(text) = row.body[name].as_str() else {
                    continue;
                };
                if let Some(first) = unique.insert((name, text.to_lowercase()), row.line) {
                    checked.problems.push(Problem {
                        line: row.line,
                        column: Some(name.into()),
                        message: format!("line {first} has the same"),
                    });
                }
            }
            if let Some(fleet) = row.body["fleet"].as_str() {
                checked.fleets.insert(fleet.to_owned());
            }
        }
        checked
    }

    /// Iterates over the lines that can be imported.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.read().filter_map(Result::ok)
    }

    /// The lines whose member has one of these values, which do not exist in the service.
    pub fn lines_with(&self, member: &str, values: &BTreeSet<String>) -> Vec<Problem> {
        if values.is_empty() {
            return Vec::new();
        }
        let wrong = |row: Row| {
            let value = row.body[member]
                .as_str()
                .filter(|value| values.contains(*value))?;
            Some(Problem {
                line: row.line,
                column: Some(member.to_owned()),
                message: format!("{value} does not exist"),
            })
        };
        self.rows().filter_map(wrong).collect()
    }

    /// Checks that rejected lines can be written to a file.
    ///
    /// # Errors
    /// It is the file that is imported.
    pub fn check_rejected(&self, path: &Path) -> Result<(), Failure> {
        let real = |path: &Path| path.canonicalize().ok();
        if real(path).is_some_and(|real_path| real(&self.path) == Some(real_path)) {
            return Err(Failure::Local(format!(
                "{}: rejected lines would replace the file that is imported",
                path.display()
            )));
        }
        Ok(())
    }

    /// Writes the lines that have problems, or every line, to a file with the same columns, and the reasons in an additional last column.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_rejected(
        &self,
        path: &Path,
        problems: &[Problem],
        every_line: bool,
    ) -> Result<(), Failure> {
        let wrong = |why: &dyn fmt::Display| Failure::Local(format!("{}: {why}", path.display()));
        let mut reasons: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for problem in problems {
            let column = problem.column.iter().map(|column| format!("{column}: "));
            let reason = column.chain([problem.message.clone()]).collect();
            reasons.entry(problem.line).or_default().push(reason);
        }
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.flexible(true).from_reader(&self.content[..]);
        let mut lines = Lines::of(&self.content);
        let mut writer = csv::WriterBuilder::new().flexible(true).from_path(path);
        let writer = writer.as_mut().map_err(|error| wrong(error))?;
        let kept = |place: &usize| !matches!(self.columns.get(*place), Some(None));
        let width = self.columns.iter().flatten().count();
        let mut write = |record: &csv::ByteRecord, reason: &str| {
            let cells = record.iter().enumerate().filter(|(place, _)| kept(place));
            let mut line: Vec<&[u8]> = cells.map(|(_, cell)| cell).collect();
            // The reason is below its heading also if cells are missing.
            line.resize(line.len().max(width), b"");
            line.push(reason.as_bytes());
            writer.write_record(line).map_err(|error| wrong(&error))
        };
        write(
            &reader.byte_headers().map_err(Failure::local)?.clone(),
            REASON,
        )?;
        for record in reader.byte_records() {
            let record = record.map_err(Failure::local)?;
            let line = record.position().map_or(0, |place| lines.at(place));
            let reasons = reasons.get(&line);
            if every_line || reasons.is_some() {
                let reasons = reasons.map(|reasons| reasons.join("; "));
                write(&record, &reasons.unwrap_or_default())?;
            }
        }
        writer.flush().map_err(|error| wrong(&error))
    }

    fn read(&self) -> impl Iterator<Item = Result<Row, Vec<Problem>>> {
        let mut lines = Lines::of(&self.content);
        let mut reader = reader(&self.content);
        // Before its headers are read, the reader names their place for an error of the first record. `open` has read them.
        drop(reader.byte_headers());
        reader.into_records().map(move |record| match record {
            Ok(record) => {
                let line = record.position().map_or(0, |place| lines.at(place));
                self.row(line, &record)
            }
            Err(error) => {
                let line = error.position().map_or(0, |place| lines.at(place));
                Err(vec![Problem::of_line(line, what_is_wrong(&error))])
            }
        })
    }

    /// Returns a line as a body, or all its problems.
    fn row(&self, line: u64, record: &StringRecord) -> Result<Row, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut body = json!({});
        let cells = self
            .columns
            .iter()
            .zip(record)
            .filter_map(|(column, cell)| Some((column.as_ref()?, cell.trim())));
        let filled: Vec<(&Column, &str)> = cells.filter(|(_, cell)| !cell.is_empty()).collect();
        let has = |name: &str| filled.iter().any(|(column, _)| column.name() == name);
        let constants = self
            .constants
            .iter()
            .filter(|(column, _)| !has(&column.name()));
        let constants = constants.map(|(column, text)| (column, text.as_str()));
        for (column, text) in filled.iter().copied().chain(constants) {
            match column.parse(text) {
                Ok(value) => set(&mut body, &column.field.path, value),
                Err(message) => problems.push(Problem {
                    line,
                    column: Some(column.name()),
                    message,
                }),
            }
        }
        let named = |field: &Field, problems: &[Problem]| {
            problems
                .iter()
                .any(|problem| problem.column.as_deref() == Some(&field.flag))
        };
        for field in &self.body.fields {
            let parents = &field.path[..field.path.len() - 1];
            let needed = match field.presence {
                Presence::Required => true,
                Presence::WithParent => at(&body, parents).is_some(),
                Presence::Optional => false,
            };
            if needed && at(&body, &field.path).is_none() && !named(field, &problems) {
                problems.push(Problem {
                    line,
                    column: Some(field.flag.clone()),
                    message: "is required".into(),
                });
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let operation = self.operation;
        let (method, path) = (&operation.method, &operation.path);
        let key = key(&format!("{method} {path}\n{}", canonical(&body)));
        Ok(Row { line, key, body })
    }
}

impl Column {
    /// The column of that name.
    fn of(body: &'static Body, name: &str) -> Result<Self, String> {
        let flag = name.trim().replace('_', "-").to_lowercase();
        let same = |field: &&Field| field.flag == flag;
        if let Some(field) = body.fields.iter().find(same) {
            return Ok(Self { field, key: None });
        }
        let within = name.trim().split_once('.').and_then(|(object, key)| {
            let mut objects = body.fields.iter().filter(|field| field.kind == Kind::Pairs);
            let field = objects.find(|field| field.flag == object.replace('_', "-"))?;
            Some(Self {
                field,
                key: Some(key.to_owned()),
            })
        });
        within.ok_or_else(|| {
            let known: Vec<String> = body
                .fields
                .iter()
                .map(|field| match field.kind {
                    Kind::Pairs => format!("{}.KEY", field.flag),
                    _ => field.flag.clone(),
                })
                .collect();
            format!(
                "there is no member `{name}`; there are {}",
                known.join(", ")
            )
        })
    }

    /// The name of the column in the form of a flag.
    fn name(&self) -> String {
        match &self.key {
            Some(key) => format!("{}.{key}", self.field.flag),
            None => self.field.flag.clone(),
        }
    }

    /// The value of a cell.
    fn parse(&self, text: &str) -> Result<Value, String> {
        if let Some(key) = &self.key {
            return Ok(json!({key: text}));
        }
        let field = self.field;
        let whole = matches!(field.kind, Kind::Json | Kind::Pairs) || !field.list;
        let parts: Vec<&str> = if whole {
            vec![text]
        } else {
            text.split(SEPARATOR)
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .collect()
        };
        let mut values = Vec::new();
        for part in parts {
            let parsed = value::parse(field, part)?;
            if let Parsed::Time(
                crate::time::When::Offset(_)
                | crate::time::When::Day(..)
                | crate::time::When::Weekday(..),
            ) = parsed
            {
                return Err(
                    "a time in a file must be absolute, such as 2027-01-15T09:00:00Z".into(),
                );
            }
            // An absolute time does not depend on the current time.
            values.push(parsed.resolve(Timestamp::UNIX_EPOCH, &TimeZone::system())?);
        }
        joined(field, values).ok_or_else(|| "has no value".into())
    }
}

/// The key of a content. The key of a line is derived from the operation and the body, so that it does not depend on the position of
/// the line in the file or on the order of the columns.
pub fn key(content: &str) -> String {
    format!("import-{}", hex::encode(&Sha256::digest(content)[..24]))
}

/// The content of a CSV file, or that of standard input, whose name is `-`.
///
/// # Errors
/// It cannot be read, or a quotation mark in it is not closed.
pub async fn contents(file: &Path) -> Result<Vec<u8>, Failure> {
    let content = if file == Path::new("-") {
        input::standard().await
    } else {
        input::file(file).await
    };
    let content =
        content.map_err(|error| Failure::Local(format!("{}: {error}", file.display())))?;
    match line_of_open_quote(&content) {
        None => Ok(content),
        Some(line) => {
            let problem = Problem::of_line(line, "a quotation mark is not closed");
            Err(Failure::Local(format!("{}, {problem}", file.display())))
        }
    }
}

/// Returns the line of a quotation mark that is not closed. The crate `csv` reads everything behind it as one cell.
fn line_of_open_quote(content: &[u8]) -> Option<u64> {
    /// The state of a cell. A quotation mark within quotation marks ends the cell, or is the first of two that stand for one.
    enum Cell {
        Begins,
        Plain,
        Quoted(usize),
        Closed(usize),
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut cell = Cell::Begins;
    for (place, byte) in content.iter().enumerate() {
        cell = match (cell, byte) {
            (Cell::Begins, b'"') => Cell::Quoted(place),
            (Cell::Quoted(begin), b'"') => Cell::Closed(begin),
            (Cell::Quoted(begin), _) | (Cell::Closed(begin), b'"') => Cell::Quoted(begin),
            (_, b',' | b'\n' | b'\r') => Cell::Begins,
            _ => Cell::Plain,
        };
    }
    let Cell::Quoted(begin) = cell else {
        return None;
    };
    let mut place = csv::Position::new();
    Some(Lines::of(content).at(place.set_byte(begin as u64)))
}

fn reader(content: &[u8]) -> Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .flexible(false)
        .from_reader(content)
}

/// The numbers of lines, which end with a line feed, a carriage return, or both, as text editors count them: the crate `csv` counts line
/// feeds alone.
pub struct Lines<'a> {
    content: &'a [u8],
    /// The place up to which lines are counted, and their number.
    counted: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub fn of(content: &'a [u8]) -> Self {
        let (counted, line) = (0, 1);
        Self {
            content,
            counted,
            line,
        }
    }

    /// Returns the number of the line at which the record at a place begins, which is behind the places of earlier calls. The place may
    /// be that of line ends before the record.
    pub fn at(&mut self, place: &csv::Position) -> u64 {
        let place = usize::try_from(place.byte()).unwrap_or(usize::MAX);
        while let Some(byte) = self.content.get(self.counted) {
            let is_end = matches!(byte, b'\n' | b'\r');
            if self.counted >= place && !is_end {
                break;
            }
            self.counted += 1;
            let is_first_of_two = *byte == b'\r' && self.content.get(self.counted) == Some(&b'\n');
            if is_end && !is_first_of_two {
                self.line += 1;
            }
        }
        self.line
    }
}

/// The description of a line that could not be read.
pub fn what_is_wrong(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("has {len} cells instead of {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8".into(),
        _ => error.to_string(),
    }
}

/// The value with the members of its objects sorted by name, so that equal values have equal text.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, Value> = members
                .iter()
                .map(|(name, member)| (name, canonical(member)))
                .collect();
            json!(sorted)
        }
        Value::Array(elements) => elements.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

/// Returns the columns with these names; none for the column of reasons that a file of rejected lines has.
///
/// # Errors
/// The reason for which a name is refused: it is unknown or occurs twice.
fn columns_of(body: &'static Body, names: &StringRecord) -> Result<Vec<Option<Column>>, String> {
    let mut columns = Vec::new();
    let mut seen = BTreeSet::new();
    for name in names {
        if name.trim() == REASON {
            columns.push(None);
            continue;
        }
        let column = Column::of(body, name)?;
        if !seen.insert(column.name()) {
            return Err(format!("the column `{name}` is there twice"));
        }
        columns.push(Some(column));
    }
    Ok(columns)
}

/// Returns the member and the value of a `--set`.
///
/// # Errors
/// The reason for which it is refused.
fn constant_of(body: &'static Body, constant: &str) -> Result<(Column, String), String> {
    let wrong = |why: String| format!("--set {constant}: {why}");
    let (name, text) = constant
        .split_once('=')
        .ok_or_else(|| wrong("write it as MEMBER=VALUE".into()))?;
    let column = Column::of(body, name).map_err(wrong)?;
    column.parse(text).map_err(wrong)?;
    Ok((column, text.to_owned()))
}

/// Checks that every required member has a value.
///
/// # Errors
/// The names of the members that have none.
fn check_required(body: &Body, columns: &[&Column]) -> Result<(), String> {
    let is_given = |field: &Field| {
        let mut paths = columns.iter().map(|column| &column.field.path);
        paths.any(|path| field.path.starts_with(path))
    };
    let fields = body.fields.iter();
    let required = fields.filter(|field| field.presence == Presence::Required);
    let missing: Vec<&str> = required
        .filter(|field| !is_given(field))
        .map(|field| field.flag.as_str())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(format!(
        "these columns are required and missing: {missing}; --set gives every line the same value"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(content: &str, constants: &[&str]) -> Result<Sheet, String> {
        let operation = crate::commands::operation("vehicles", "create").unwrap();
        let constants: Vec<String> = constants
            .iter()
            .map(|constant| (*constant).to_owned())
            .collect();
        let sheet = Sheet::open(operation, Path::new("-"), content.into(), &constants);
        sheet.map_err(|failure| failure.to_string())
    }

    const NAMES: &str = "registration_plate,vin,battery_capacity,charging_standard";

    #[test]
    fn cells_become_members_of_their_types() {
        let content = format!(
            "{NAMES},information.make,metadata.depot,drivers\nAB 1,VIN1,60000,CCS,\"Make, Inc.\",east,drv_1; drv_2\nAB 2,VIN2,50000,Type2,,,\n"
        );
        let sheet = sheet(&content, &["fleet=flt_1"]).unwrap();
        let rows: Vec<Row> = sheet.rows().collect();
        assert_eq!(
            rows[0].body,
            json!({"registration_plate": "AB 1", "vin": "VIN1", "battery_capacity": 60000, "charging_standard": "CCS",
                "information": {"make": "Make, Inc."}, "metadata": {"depot": "east"}, "drivers": ["drv_1", "drv_2"],
                "fleet": "flt_1"})
        );
        assert_eq!(
            rows[1].body,
            json!({"registration_plate": "AB 2", "vin": "VIN2", "battery_capacity": 50000, "charging_standard": "Type2",
                "fleet": "flt_1"})
        );
        assert_eq!((rows[0].line, rows[1].line), (2, 3));
    }

    #[test]
    fn every_bad_line_is_listed_with_every_reason() {
        let content = format!(
            "{NAMES},fleet\nAB 1,VIN1,60000,CCS,flt_1\n,VIN2,none,Tesla,flt_1\nAB 3,VIN3\nAB 1,VIN1,60000,CCS,flt_1\n\
             AB 5,VIN1,60000,CCS,flt_2\nAB 6,VIN6,0,CCS,flt_1\n"
        );
        let checked = sheet(&content, &[]).unwrap().check(None);
        let problems: Vec<String> = checked.problems.iter().map(Problem::to_string).collect();
        assert_eq!(checked.lines, 6);
        assert_eq!(
            problems,
            [
                "line 3, battery-capacity: must be a whole number",
                "line 3, charging-standard: must be one of CHAdeMO, CCS, Type2",
                "line 3, registration-plate: is required",
                "line 4: has 2 cells instead of 5",
                "line 5: the same as line 2",
                "line 6, vin: line 2 has the same",
                "line 7, battery-capacity: must be at least 1",
            ]
        );
        assert_eq!(
            checked.fleets.into_iter().collect::<Vec<_>>(),
            ["flt_1", "flt_2"]
        );
    }

    #[test]
    fn lines_are_counted_as_editors_count_them() {
        for end in ["\n", "\r\n", "\r"] {
            let lines = [
                NAMES,
                "AB 1,\"V#1\",60000,CCS",
                "",
                "AB 2,VIN2,60000",
                "AB 3,VIN3,60000,CCS",
            ];
            let content = lines.join("#").replace('#', end);
            let sheet = sheet(&content, &["fleet=flt_1"]).unwrap();
            let read = sheet.read().map(|read| match read {
                Ok(row) => row.line,
                Err(problems) => problems[0].line,
            });
            assert_eq!(read.collect::<Vec<u64>>(), [2, 5, 6], "{end:?}");
        }
    }

    #[test]
    fn a_first_line_that_is_not_utf_8_has_its_number() {
        let operation = crate::commands::operation("drivers", "create").unwrap();
        let content = b"name,email\nAd\xe9,a@x.example\n".to_vec();
        let sheet = Sheet::open(operation, Path::new("-"), content, &[]).unwrap();
        let problems = sheet.check(None).problems;
        assert_eq!(problems[0].to_string(), "line 2: is not UTF-8");
        let rejected = tempfile::NamedTempFile::new().unwrap();
        sheet
            .write_rejected(rejected.path(), &problems, false)
            .unwrap();
        let written = std::fs::read(rejected.path()).unwrap();
        assert_eq!(
            written,
            b"name,email,import_error\nAd\xe9,a@x.example,is not UTF-8\n"
        );
    }

    #[test]
    fn an_open_quotation_mark_is_found_at_its_line() {
        for (content, line) in [
            ("a,b\n1,\"2\n3,4\n5,6\n", Some(2)),
            ("a\n\"b\nc\"\r\n\"d\"\"", Some(4)),
            ("\u{feff}\"a\nb", Some(1)),
            ("a\n\"b\nc\"\nd\"\n5\" x,\"\"\"\"", None),
        ] {
            assert_eq!(line_of_open_quote(content.as_bytes()), line, "{content:?}");
        }
    }

    #[test]
    fn an_open_quotation_mark_is_one_for_the_reader_too() {
        let mut contents = vec![Vec::new()];
        for length in 0..=5 {
            let longer = |content: &Vec<u8>| b"\",\na".map(|byte| [&content[..], &[byte]].concat());
            let known = contents.iter().filter(|content| content.len() == length);
            let longer: Vec<Vec<u8>> = known.flat_map(longer).collect();
            contents.extend(longer);
        }
        for content in contents {
            // A line at the end is a record of its own, unless a quotation mark before it is open.
            let lines = [&content[..], b"\nend"].concat();
            let mut reader = csv::ReaderBuilder::new();
            let reader = reader.has_headers(false).flexible(true);
            let last = reader.from_reader(&lines[..]).records().last();
            let is_apart = last.is_some_and(|last| last.unwrap() == vec!["end"]);
            assert_eq!(
                line_of_open_quote(&content).is_none(),
                is_apart,
                "{content:?}"
            );
        }
    }

    #[test]
    fn wrong_columns_are_refused_before_any_line() {
        let refused = |content: &str| sheet(content, &["fleet=flt_1"]).err().unwrap();
        assert!(refused(&format!("{NAMES},colour\n")).contains("no member `colour`"));
        assert!(refused(&format!("{NAMES},vin\n")).contains("twice"));
        assert!(
            refused("vin\n").contains("battery-capacity, charging-standard, registration-plate")
        );
        assert!(sheet(NAMES, &[]).err().unwrap().contains("fleet"));
        assert!(
            sheet(NAMES, &["battery_capacity=x"])
                .err()
                .unwrap()
                .contains("--set")
        );
    }

    #[test]
    fn the_key_of_a_line_depends_on_its_content_alone() {
        let keys = |content: &str| -> Vec<String> {
            let sheet = sheet(content, &["fleet=flt_1"]).unwrap();
            sheet.rows().map(|row| row.key).collect()
        };
        let original = keys(&format!(
            "{NAMES}\nAB 1,VIN1,60000,CCS\nAB 2,VIN2,60000,CCS\n"
        ));
        let other = keys(
            "vin,charging_standard,battery_capacity,registration_plate\nVIN2,CCS,60000,AB 2\nVIN1,CCS,60000,AB 1\n",
        );
        assert_eq!(original, [other[1].clone(), other[0].clone()]);
        assert_ne!(original[0], original[1]);
        assert!(original[0].len() <= 255 - "-attach".len());
    }
}

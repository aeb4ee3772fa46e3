//! The violations of a body that cannot be deserialized: every invalid member, not only the first.
//!
//! Deserialization ends at the first fault. So each top-level member is read alone: only a fault within it counts, because the other
//! members are missing then. An invalid nested member is removed, and the rest is read again. The missing members are determined from the
//! schema. Elements of lists have to keep their positions, so only the first fault in a list is found.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::{Path, Segment};
use utoipa::ToSchema;

use super::strict::Strict;
use kernel::error::{Violation, ViolationCode, excerpt};
use kernel::{Code, Error};

/// The most violations that a response lists.
const MOST: usize = 50;

/// Rust types in error messages, and their names in JSON.
const NUMBERS: [(&str, &str); 8] = [
    ("a nonzero u32", "an integer from 1 to 4294967295"),
    ("a nonzero u64", "an integer above 0"),
    ("u8", "an integer from 0 to 255"),
    ("u16", "an integer from 0 to 65535"),
    ("u32", "an integer from 0 to 4294967295"),
    ("u64", "an integer of at least 0"),
    ("i64", "an integer"),
    ("f64", "a number"),
];

/// Reads a value strictly as `T`.
///
/// # Errors
/// The first fault.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(Strict(value)).map_err(|error| Fault::of(&error))
}

/// Returns every violation of a body that cannot be read as `T`: those of its members, and then the missing members.
pub fn of<T: DeserializeOwned + ToSchema>(body: &[u8]) -> Vec<Violation> {
    let Ok(members) = serde_json::from_slice::<Map<String, Value>>(body) else {
        return Vec::new();
    };
    let schema = serde_json::to_value(T::schema()).unwrap_or_default();
    let missing: Vec<_> = missing(&members, &schema).collect();
    let faults = members
        .into_iter()
        .flat_map(|(name, value)| of_member(&name, value, &|value| read::<T>(value).err()));
    faults.chain(missing).take(MOST).collect()
}

fn missing(members: &Map<String, Value>, schema: &Value) -> impl Iterator<Item = Violation> {
    let required = schema["required"].as_array().into_iter().flatten();
    let absent = required
        .filter_map(Value::as_str)
        .filter(|name| !members.contains_key(*name));
    absent.map(|name| Violation {
        code: ViolationCode::Missing,
        param: name.to_owned(),
        message: match schema["properties"][name]["description"].as_str() {
            Some(description) => format!("is required: {}", description.replace('\n', " ")),
            None => "is required".to_owned(),
        },
    })
}

/// Returns the violations of one member of a body.
fn of_member(name: &str, value: Value, read: &dyn Fn(Value) -> Option<Fault>) -> Vec<Violation> {
    let mut body = json!({name: value});
    let mut found: Vec<Violation> = Vec::new();
    while found.len() < MOST
        && let Some(fault) = read(body.clone())
    {
        let is_new = found.iter().all(|known| known.param != fault.param);
        if !is_new || !is_within(&fault.param, &excerpt(name)) {
            break;
        }
        let is_gone = fault.take_out(&mut body);
        found.push(fault.into());
        if !is_gone {
            break;
        }
    }
    found
}

/// Returns whether a path leads to a member or into it.
fn is_within(path: &str, name: &str) -> bool {
    path.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The first fault of a value.
pub struct Fault {
    code: ViolationCode,
    /// The path of the member, with at most 64 characters of each name that the client chose.
    param: String,
    /// The problem of the member.
    problem: String,
    /// The expected value, if the problem does not contain it.
    expected: Option<String>,
    /// The names that lead to the member; `None` if it is missing or in a list.
    names: Option<Vec<String>>,
}

impl Fault {
    fn of(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let message = error.inner().to_string();
        let path = path_of(error.path());
        let named = |prefix: &str| message.strip_prefix(prefix)?.split('`').next();
        let within = |name: &str| match path.as_str() {
            "." | "" => name.to_owned(),
            path if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
            path => format!("{path}.{name}"),
        };
        if let Some(name) = named("unknown field `") {
            let expected = message.rsplit_once("`, expected ");
            let expected = expected.map(|(_, names)| format!("expected {names}"));
            return Self {
                code: ViolationCode::Unknown,
                param: within(&excerpt(name)),
                problem: "unknown field".to_owned(),
                expected,
                names: names_of(error.path()).map(|mut names| {
                    if names.last().is_none_or(|last| last != name) {
                        names.push(name.to_owned());
                    }
                    names
                }),
            };
        }
        if let Some(name) = named("missing field `") {
            return Self {
                code: ViolationCode::Missing,
                param: within(&excerpt(name)),
                problem: "is required".to_owned(),
                expected: None,
                names: None,
            };
        }
        Self {
            code: ViolationCode::Invalid,
            param: path,
            problem: in_words_of_json(shortened(message)),
            expected: None,
            names: names_of(error.path()),
        }
    }

    /// Returns the error that shows only this fault, with the code of a body of this type if it has one. A name that the body does not have
    /// does not concern its contents and has no code.
    pub fn into_error(self, invalid: Option<Code>) -> Error {
        let code = match self.code {
            ViolationCode::Unknown => None,
            ViolationCode::Missing | ViolationCode::Invalid => invalid,
        };
        Error::invalid(self.param, self.problem).coded(code)
    }

    /// Removes the invalid member, and returns whether it was there.
    fn take_out(&self, body: &mut Value) -> bool {
        let Some((last, above)) = self.names.as_deref().and_then(<[String]>::split_last) else {
            return false;
        };
        let owner = above
            .iter()
            .try_fold(body, |value, name| value.get_mut(name));
        let members = owner.and_then(Value::as_object_mut);
        members.is_some_and(|members| members.remove(last).is_some())
    }
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Self {
        let message = match fault.expected {
            Some(expected) => format!("{}, {expected}", fault.problem),
            None => fault.problem,
        };
        Self {
            code: fault.code,
            param: fault.param,
            message,
        }
    }
}

/// Replaces `expected u32` by `expected an integer`.
fn in_words_of_json(problem: String) -> String {
    let number = NUMBERS.iter().find_map(|(rust, json)| {
        let begin = problem.strip_suffix(rust)?;
        begin
            .ends_with("expected ")
            .then(|| format!("{begin}{json}"))
    });
    number.unwrap_or(problem)
}

/// Returns the names that lead to a member; `None` if one of the steps is not a name.
fn names_of(path: &Path) -> Option<Vec<String>> {
    let name = |segment: &Segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().map(name).collect()
}

/// Returns the path of a member, with at most 64 characters of each name that the client chose.
fn path_of(path: &serde_path_to_error::Path) -> String {
    let mut shown = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => shown += &format!("[{index}]"),
            Segment::Map { key: name } | Segment::Enum { variant: name } => {
                if !shown.is_empty() {
                    shown.push('.');
                }
                shown += &excerpt(name);
            }
            Segment::Unknown => {}
        }
    }
    shown
}

/// Returns the message of failed deserialization, with at most 64 characters of the value that was sent. Such a value is between backticks
/// or quotation marks before `, expected`.
fn shortened(message: String) -> String {
    let Some(begin) = message.find(['`', '"']) else {
        return message;
    };
    let quote = &message[begin..=begin];
    let begin = begin + 1;
    let end = message.rfind(&format!("{quote}, expected"));
    let end = end.filter(|end| *end >= begin).unwrap_or(message.len());
    let sent = excerpt(&message[begin..end]);
    format!("{}{sent}{}", &message[..begin], &message[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::reservation::NewReservation;

    fn found(body: Value) -> Vec<(ViolationCode, String, String)> {
        let found = of::<NewReservation>(body.to_string().as_bytes());
        let parts = |violation: Violation| (violation.code, violation.param, violation.message);
        found.into_iter().map(parts).collect()
    }

    #[test]
    fn messages_do_not_name_types_of_rust() {
        use std::num::{NonZeroU32, NonZeroU64};
        let problems = [
            read::<NonZeroU32>(json!(0)).err(),
            read::<NonZeroU64>(json!(0)).err(),
            read::<u32>(json!(4_294_967_296_u64)).err(),
            read::<f64>(json!([])).err(),
        ];
        let expected = [
            "an integer from 1 to 4294967295",
            "an integer above 0",
            "an integer from 0 to 4294967295",
            "a number",
        ];
        for (fault, expected) in problems.into_iter().zip(expected) {
            let message = fault.unwrap().into_error(None).to_string();
            assert!(
                message.ends_with(&format!("expected {expected}")),
                "{message}"
            );
        }
    }

    #[test]
    fn every_member_at_fault_is_found() {
        let found = found(
            json!({"connector_type": ["CCS", "X", "Y"], "ideal_start": "soon", "color": 1, "driver": "d",
            "location": {"latitude": "far", "longitude": 1, "radius": -1, "x": 1}}),
        );
        let params: Vec<_> = found
            .iter()
            .map(|violation| (violation.0, violation.1.as_str()))
            .collect();
        let mut expected = vec![
            (ViolationCode::Invalid, "connector_type[1]"),
            (ViolationCode::Unknown, "color"),
            (ViolationCode::Invalid, "ideal_start"),
            (ViolationCode::Invalid, "location.latitude"),
            (ViolationCode::Invalid, "location.radius"),
            (ViolationCode::Unknown, "location.x"),
            (ViolationCode::Missing, "vehicle"),
        ];
        let mut params = params;
        params.sort_by_key(|violation| violation.1);
        expected.sort_by_key(|violation| violation.1);
        assert_eq!(params, expected);
        let message = |param: &str| {
            found
                .iter()
                .find(|violation| violation.1 == param)
                .unwrap()
                .2
                .clone()
        };
        assert!(message("connector_type[1]").contains("expected one of `CHAdeMO`, `CCS`, `Type2`"));
        assert!(message("color").starts_with("unknown field, expected one of `driver`, `vehicle`"));
        assert!(message("location.latitude").ends_with("expected a number"));
        assert!(message("vehicle").starts_with("is required: Id of the vehicle"));
    }

    #[test]
    fn a_body_that_can_be_read_has_no_violation() {
        let body = json!({"driver": "d", "vehicle": "v", "connector_type": ["CCS"],
            "location": {"latitude": 1, "longitude": 1, "radius": 1}});
        assert_eq!(found(body), []);
    }

    #[test]
    fn at_most_50_violations_are_listed_and_64_characters_repeated() {
        let names = (0..60_000).map(|number| (format!("{number}"), Value::Null));
        assert_eq!(found(Value::Object(names.collect())).len(), MOST);
        let long = "x".repeat(100_000);
        for (_, param, message) in
            found(json!({&long: 1, "location": {&long: &long}, "ideal_end": &long}))
        {
            assert!(param.chars().count() <= 80, "{param}");
            assert!(message.chars().count() <= 400, "{message}");
        }
    }
}

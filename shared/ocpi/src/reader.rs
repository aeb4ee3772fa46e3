//! Reads files of OCPI objects, leniently.

use std::collections::HashMap;
use std::fmt;

use rust_decimal::Decimal;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use kernel::{Error, Result, Timestamp};
use models::network::ForeignId;

/// An object of a file that was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The object's `id`, or its place in the file, such as `#3`, if it has none.
    pub id: String,
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.id, self.reason)
    }
}

/// The objects of a file: those that can be used, and those that cannot.
#[derive(Debug, Clone)]
pub struct Objects<T> {
    pub loaded: Vec<T>,
    pub skipped: Vec<Skipped>,
}

impl<T> Objects<T> {
    /// Converts each object into another; objects for which that fails are skipped with the reason.
    pub fn try_map<U>(
        self,
        id: impl Fn(&T) -> String,
        turn: impl Fn(T) -> Result<U, String>,
    ) -> Objects<U> {
        let mut skipped = self.skipped;
        let mut loaded = Vec::with_capacity(self.loaded.len());
        for object in self.loaded {
            let id = id(&object);
            match turn(object) {
                Ok(object) => loaded.push(object),
                Err(reason) => skipped.push(Skipped { id, reason }),
            }
        }
        Objects { loaded, skipped }
    }

    /// Keeps one of the objects with the same key: the one that was updated last, and of equal ones the last in the file.
    pub fn without_duplicates(
        self,
        id: impl Fn(&T) -> String,
        key: impl Fn(&T) -> String,
        updated: impl Fn(&T) -> Option<Timestamp>,
    ) -> Self {
        let mut skipped = self.skipped;
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut loaded: Vec<T> = Vec::with_capacity(self.loaded.len());
        for mut object in self.loaded {
            match places.get(&key(&object)) {
                None => {
                    places.insert(key(&object), loaded.len());
                    loaded.push(object);
                }
                Some(place) => {
                    let kept = &mut loaded[*place];
                    if updated(&object) >= updated(kept) {
                        std::mem::swap(kept, &mut object);
                    }
                    skipped.push(Skipped {
                        id: id(&object),
                        reason: "the file has a newer object with the same id".into(),
                    });
                }
            }
        }
        Self { loaded, skipped }
    }
}

/// Returns the objects of a file: a JSON array of them, an OCPI response whose `data` is one, or a single object.
///
/// # Errors
/// Fails if the file is not JSON, or contains neither an array nor an object.
pub fn objects<T: DeserializeOwned>(source: &[u8]) -> Result<Objects<T>> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let source = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
    let invalid =
        |why: &dyn fmt::Display| Error::malformed(format!("not a file of OCPI objects: {why}"));
    let mut file: Value = serde_json::from_slice(source).map_err(|error| invalid(&error))?;
    without_nulls(&mut file);
    if let Some(data) = file.get_mut("data") {
        file = data.take();
    }
    let values = match file {
        Value::Array(values) => values,
        Value::Object(members) if members.contains_key("status_code") => Vec::new(),
        Value::Object(members) => vec![Value::Object(members)],
        _ => return Err(invalid(&"expected an array of objects")),
    };
    let mut objects = Objects {
        loaded: Vec::with_capacity(values.len()),
        skipped: Vec::new(),
    };
    for (place, value) in values.into_iter().enumerate() {
        let id = match value.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => format!("#{}", place + 1),
        };
        match parse(value) {
            Ok(object) => objects.loaded.push(object),
            Err(reason) => objects.skipped.push(Skipped { id, reason }),
        }
    }
    Ok(objects)
}

/// Reads one object as leniently as a file of them.
///
/// # Errors
/// The member that cannot be read, and the reason.
pub fn lenient<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    let mut object = object.clone();
    without_nulls(&mut object);
    parse(object)
}

fn parse<T: DeserializeOwned>(object: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error: serde_path_to_error::Error<_>| {
        match error.path().to_string().as_str() {
            "." => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        }
    })
}

/// Removes members and elements that are null: the standard treats them as omitted.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(elements) => {
            elements.retain(|element| !element.is_null());
            elements.iter_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

/// Reads a timestamp of OCPI: RFC 3339, in UTC if it has no offset.
///
/// # Errors
/// Fails if the text is not a timestamp.
pub fn timestamp(text: &str) -> Result<Timestamp, &'static str> {
    let text = text.trim();
    Timestamp::parse(text).or_else(|error| Timestamp::parse(&format!("{text}Z")).map_err(|_| error))
}

/// Reads a time of day as `HH:MM`. `24:00` is midnight, and seconds are cut off.
///
/// # Errors
/// Fails if the text is not a time of day.
pub(super) fn time_of_day(text: &str) -> Result<String, String> {
    let read = || {
        let mut parts = text.trim().split(':');
        let (hour, minute): (u8, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        match (hour, minute) {
            (24, 0) => Some("00:00".to_owned()),
            (0..24, 0..60) => Some(format!("{hour:02}:{minute:02}")),
            _ => None,
        }
    };
    read().ok_or_else(|| format!("expected a time such as 08:30, not {text:?}"))
}

/// Reads a timestamp, for `deserialize_with`.
pub(super) fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    timestamp(&text).map_err(|why| D::Error::custom(format!("{why}, not {text:?}")))
}

/// Reads a timestamp that may be omitted, for `deserialize_with`.
pub(super) fn optional_moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    moment(deserializer).map(Some)
}

/// Reads a string; a number counts as its digits.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("expected a string, not {other}"))),
    }
}

/// Reads a string that may be omitted; a number counts as its digits, and an empty string as omitted.
pub(super) fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = text(deserializer)?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Reads an id of a party; a number counts as its digits.
pub(super) fn foreign_id<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ForeignId, D::Error> {
    text(deserializer).map(ForeignId::from)
}

/// Reads an id of a party that may be omitted; an empty string counts as omitted.
pub(super) fn optional_foreign_id<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ForeignId>, D::Error> {
    Ok(optional_text(deserializer)?.map(ForeignId::from))
}

/// Reads a list of strings; a number counts as its digits.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    let read = |value| text(value).map_err(D::Error::custom);
    values.into_iter().map(read).collect()
}

/// The maximum cost or energy of a session, and the maximum price, in minor units and Wh: a greater value is a mistake of the network.
pub(super) const MOST: i64 = 1_000_000_000;

/// The largest amount of a number. No quantity of OCPI comes near it, and products with it can be computed.
const LARGEST: Decimal = Decimal::from_parts(2_808_348_672, 232_830_643, 0, false, 0);

/// Reads a number of at most 10^18; a string counts as the number that it contains.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let shown = text(deserializer)?;
    let shown = shown.trim();
    let number: Decimal = shown
        .parse()
        .or_else(|_| Decimal::from_scientific(shown))
        .map_err(|_| D::Error::custom(format!("expected a number, not {shown:?}")))?;
    if number.abs() > LARGEST {
        return Err(D::Error::custom(format!("the number {shown} is too large")));
    }
    Ok(number)
}

/// Reads a number that may be omitted.
pub(super) fn optional_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Decimal>, D::Error> {
    number(deserializer).map(Some)
}

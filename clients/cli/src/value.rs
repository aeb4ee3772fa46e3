//! Values of flags and of CSV cells, according to the fields of the document.

use clap::builder::TypedValueParser as _;
use clap::builder::{PossibleValuesParser, ValueParser};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Number, Value};

use crate::catalog::{Field, Kind};
use crate::time::{self, When};

/// A parsed value. Times depend on the service's clock, so they are resolved later.
#[derive(Debug, Clone)]
pub enum Parsed {
    Value(Value),
    Time(When),
    /// `key=value` of an object with keys of the client's choice.
    Pair(String, String),
}

impl Parsed {
    /// The JSON value at a current time.
    ///
    /// # Errors
    /// If a time is outside the supported years.
    pub fn resolve(&self, now: Timestamp, zone: &TimeZone) -> Result<Value, String> {
        Ok(match self {
            Self::Value(value) => value.clone(),
            Self::Time(when) => time::written(when.resolve(now, zone)?).into(),
            Self::Pair(key, value) => {
                Value::Object([(key.clone(), value.as_str().into())].into_iter().collect())
            }
        })
    }
}

/// Reads one value of a field, or one element of its array.
///
/// # Errors
/// The value has another type or exceeds the field's limits. The message describes the permitted values.
pub fn parse(field: &Field, text: &str) -> Result<Parsed, String> {
    let value = match field.kind {
        Kind::Text => Value::String(text.to_owned()),
        Kind::Integer => Value::Number(integer(text)?),
        Kind::Number => Value::Number(number(text)?),
        Kind::Boolean => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err("must be true or false".into()),
        },
        Kind::Time => return time::parse(text).map(Parsed::Time),
        Kind::Pairs => {
            if text.starts_with('{') {
                return json(text).map(Parsed::Value);
            }
            let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
            return Ok(Parsed::Pair(key.to_owned(), value.to_owned()));
        }
        Kind::Json => json(text)?,
    };
    check(field, &value)?;
    Ok(Parsed::Value(value))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

fn integer(text: &str) -> Result<Number, String> {
    let number = text.parse::<i64>().map(Number::from);
    number.map_err(|_| "must be a whole number".into())
}

fn number(text: &str) -> Result<Number, String> {
    if let Ok(number) = integer(text) {
        return Ok(number);
    }
    let number = text.parse::<f64>().ok().and_then(Number::from_f64);
    number.ok_or_else(|| "must be a number such as 51.5".into())
}

/// Patterns of the document, with descriptions of the values that match them.
const SHAPES: [(&str, &str); 6] = [
    (
        r"^[!-?A-~]{1,64}@[0-9A-Za-z]([0-9A-Za-z.-]{0,187}[0-9A-Za-z])?$",
        "an email address",
    ),
    (r"^[a-z]{3}$", "a lowercase ISO 4217 currency code"),
    (
        r"^[A-Z]{2}$",
        "a two-letter ISO 3166-1 country code in capitals",
    ),
    (
        r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        "a time of day from 00:00 to 23:59",
    ),
    (
        r"^([!-\x2d\x2f-~][!-~]?|\.[!-\x2d\x2f-~]|[!-~]{3,36})$",
        "1 to 36 visible ASCII characters, and neither . nor ..",
    ),
    (
        r"^[0-9A-Za-z][0-9A-Za-z ./-]{0,63}$",
        "1 to 64 letters, digits, spaces, dots, slashes or hyphens, the first a letter or digit",
    ),
];

/// The message that a text does not match a pattern.
fn mismatch(pattern: &str) -> String {
    let shape = SHAPES.iter().find(|(known, _)| *known == pattern);
    match (pattern, shape) {
        (r"\S", _) => "must not be blank".into(),
        (_, Some((_, shape))) => format!("must be {shape}"),
        (pattern, None) => format!("must match {pattern}"),
    }
}

/// Whether one value is within the field's limits.
fn check(field: &Field, value: &Value) -> Result<(), String> {
    let limits = &field.limits;
    if let Some(text) = value.as_str() {
        if !field.values.is_empty() && !field.values.iter().any(|known| known == text) {
            return Err(format!("must be one of {}", field.values.join(", ")));
        }
        let length = text.chars().count() as u64;
        if let Some(least) = limits.min_length.filter(|least| length < *least) {
            return Err(match least {
                1 => "must not be empty".into(),
                least => format!("must have at least {least} characters"),
            });
        }
        if let Some(most) = limits.max_length.filter(|most| length > *most) {
            return Err(format!("must have at most {most} characters"));
        }
        // A pattern that this machine cannot compile is left to the service.
        let pattern = limits.pattern.as_deref().map(regex_lite::Regex::new);
        if let Some(Ok(pattern)) = pattern
            && !pattern.is_match(text)
        {
            return Err(mismatch(pattern.as_str()));
        }
    }
    if let Some(number) = value.as_f64() {
        if let Some(least) = limits.minimum.filter(|least| number < *least) {
            return Err(format!("must be at least {least}"));
        }
        if let Some(most) = limits.maximum.filter(|most| number > *most) {
            return Err(format!("must be at most {most}"));
        }
    }
    Ok(())
}

/// The parser of clap for the values of a field's flag. The values of enums are available for completion.
pub fn parser(field: &'static Field) -> ValueParser {
    if field.kind == Kind::Boolean {
        let values = PossibleValuesParser::new(["true", "false"]);
        return ValueParser::new(values.map(|text| Parsed::Value((text == "true").into())));
    }
    if !field.values.is_empty() {
        let values = PossibleValuesParser::new(field.values.iter().map(String::as_str));
        return ValueParser::new(values.map(|text| Parsed::Value(text.into())));
    }
    ValueParser::new(move |text: &str| parse(field, text))
}

/// The placeholder for the value in help.
pub fn placeholder(field: &Field) -> &'static str {
    match field.kind {
        Kind::Text if !field.values.is_empty() => "VALUE",
        Kind::Text => "TEXT",
        Kind::Integer => "INTEGER",
        Kind::Number => "NUMBER",
        Kind::Boolean => "BOOLEAN",
        Kind::Time => "TIME",
        Kind::Pairs => "KEY=VALUE",
        Kind::Json => "JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Limits, Presence};
    use serde_json::json;

    fn field(kind: Kind) -> Field {
        Field {
            path: vec!["field".into()],
            flag: "field".into(),
            kind,
            list: false,
            presence: Presence::Optional,
            nullable: false,
            description: String::new(),
            values: Vec::new(),
            default: None,
            limits: Limits::default(),
        }
    }

    fn read(field: &Field, text: &str) -> Result<Value, String> {
        let now = "2026-11-22T20:15:00Z".parse().unwrap();
        parse(field, text)?.resolve(now, &TimeZone::UTC)
    }

    #[test]
    fn values_have_the_types_of_their_fields() {
        for (kind, text, want) in [
            (Kind::Text, "12", json!("12")),
            (Kind::Integer, "-12", json!(-12)),
            (Kind::Number, "-0.128", json!(-0.128)),
            (Kind::Number, "5", json!(5)),
            (Kind::Boolean, "true", json!(true)),
            (Kind::Time, "+1h", json!("2026-11-22T21:15:00.000Z")),
            (Kind::Pairs, "shift=night=1", json!({"shift": "night=1"})),
            (Kind::Pairs, r#"{"a":null}"#, json!({"a": null})),
            (Kind::Json, "[1]", json!([1])),
        ] {
            assert_eq!(read(&field(kind), text), Ok(want), "{text}");
        }
        for (kind, text) in [
            (Kind::Integer, "1.5"),
            (Kind::Integer, ""),
            (Kind::Number, "NaN"),
            (Kind::Boolean, "yes"),
            (Kind::Time, "soon"),
            (Kind::Pairs, "shift"),
            (Kind::Json, "{"),
        ] {
            assert!(read(&field(kind), text).is_err(), "{kind:?} {text}");
        }
    }

    #[test]
    fn values_beyond_the_limits_are_refused_with_the_limit() {
        let mut text = field(Kind::Text);
        text.limits = Limits {
            min_length: Some(1),
            max_length: Some(3),
            pattern: Some("^[a-z]*$".into()),
            ..Limits::default()
        };
        assert_eq!(read(&text, "abc"), Ok(json!("abc")));
        assert_eq!(read(&text, "").unwrap_err(), "must not be empty");
        assert_eq!(
            read(&text, "abcd").unwrap_err(),
            "must have at most 3 characters"
        );
        assert_eq!(read(&text, "A").unwrap_err(), "must match ^[a-z]*$");
        text.limits.min_length = Some(4);
        assert_eq!(
            read(&text, "abc").unwrap_err(),
            "must have at least 4 characters"
        );
        let mut choice = field(Kind::Text);
        choice.values = vec!["CCS".into(), "Type2".into()];
        assert_eq!(
            read(&choice, "type2").unwrap_err(),
            "must be one of CCS, Type2"
        );
        let mut whole = field(Kind::Integer);
        (whole.limits.minimum, whole.limits.maximum) = (Some(1.0), Some(9.0));
        assert_eq!(read(&whole, "0").unwrap_err(), "must be at least 1");
        assert_eq!(read(&whole, "10").unwrap_err(), "must be at most 9");
    }

    #[test]
    fn a_known_pattern_is_described_in_words() {
        let mut email = field(Kind::Text);
        email.limits.pattern = Some(SHAPES[0].0.into());
        assert_eq!(read(&email, "ada").unwrap_err(), "must be an email address");
        assert!(read(&email, "ada@fleet.example").is_ok());
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../api/openapi.json");
        let document = std::fs::read_to_string(document).unwrap();
        for (pattern, shape) in SHAPES {
            let member = format!("\"pattern\": {}", json!(pattern));
            assert!(document.contains(&member), "{shape}: {pattern}");
        }
    }
}

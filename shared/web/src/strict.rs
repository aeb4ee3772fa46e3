//! Strict deserialization of a JSON body: an object must not be an array of its values, and an integer may be written `3.0`.

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Number, Value};

/// A JSON value that is read strictly.
pub struct Strict(pub Value);

impl<'de> IntoDeserializer<'de, Error> for Strict {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The largest number below which every integer has a double of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns `3.0` as `3`, and any other number unchanged.
fn whole(number: Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            Number::from(float as i64)
        }
        _ => number,
    }
}

macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.0 {
                    Value::Number(number) => Value::Number(whole(number)).$method(visitor),
                    other => other.$method(visitor),
                }
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Strict {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(values) => {
                let mut values = SeqDeserializer::new(values.into_iter().map(Strict));
                let read = visitor.visit_seq(&mut values)?;
                values.end()?;
                Ok(read)
            }
            Value::Object(members) => {
                let mut members = MapDeserializer::new(
                    members
                        .into_iter()
                        .map(|(name, value)| (name, Strict(value))),
                );
                let read = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(read)
            }
            simple => simple.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            other => Err(Error::invalid_type(unexpected(&other), &"an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(variant) => {
                StringDeserializer::<Error>::new(variant).deserialize_enum(name, variants, visitor)
            }
            other => Err(Error::invalid_type(unexpected(&other), &"a string")),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn unexpected(value: &Value) -> serde::de::Unexpected<'_> {
    use serde::de::Unexpected as U;
    match value {
        Value::Null => U::Other("null"),
        Value::Bool(truth) => U::Bool(*truth),
        Value::Number(_) => U::Other("a number"),
        Value::String(text) => U::Str(text),
        Value::Array(_) => U::Other("an array"),
        Value::Object(_) => U::Other("an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Speed {
        Fast,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        radius: u32,
        speed: Option<Speed>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        inner: Inner,
        list: Vec<i64>,
    }

    fn read(value: Value) -> Result<Outer, Error> {
        Outer::deserialize(Strict(value))
    }

    #[test]
    fn whole_numbers_are_numbers_and_arrays_are_no_objects() {
        let read_well =
            read(json!({"inner": {"radius": 3.0, "speed": "fast"}, "list": [1, 2.0]})).unwrap();
        assert_eq!(
            read_well,
            Outer {
                inner: Inner {
                    radius: 3,
                    speed: Some(Speed::Fast)
                },
                list: vec![1, 2]
            }
        );
        assert!(read(json!({"inner": {"radius": 3.5, "speed": null}, "list": []})).is_err());
        assert!(read(json!({"inner": [3, null], "list": []})).is_err());
        assert!(read(json!([{"radius": 3, "speed": null}, []])).is_err());
        assert!(
            read(json!({"inner": {"radius": 3, "speed": {"fast": null}}, "list": []})).is_err()
        );
        assert!(read(json!({"inner": {"radius": -1, "speed": null}, "list": []})).is_err());
    }
}

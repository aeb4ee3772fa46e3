//! The members of an update body: an omitted member keeps its value, a value sets it, and null clears it if the field may be unset.

use serde::{Deserialize, Deserializer};

/// A member that may be omitted or set, never null.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    #[default]
    Keep,
    Set(T),
}

/// A member that may be omitted, cleared with null, or set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Patch<T> {
    #[default]
    Keep,
    Clear,
    Set(T),
}

impl<T> Change<T> {
    pub fn apply(self, field: &mut T) {
        if let Self::Set(value) = self {
            *field = value;
        }
    }

    /// Returns the new value, if there is one.
    pub fn set(&self) -> Option<&T> {
        match self {
            Self::Keep => None,
            Self::Set(value) => Some(value),
        }
    }
}

impl<T> Patch<T> {
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }

    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::Set)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::<T>::deserialize(deserializer)? {
            Some(value) => Self::Set(value),
            None => Self::Clear,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Body {
        #[serde(default)]
        name: Change<String>,
        #[serde(default)]
        phone: Patch<String>,
    }

    fn read(json: &str) -> Result<Body, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn absent_null_and_value_are_three_things() {
        let body = read("{}").unwrap();
        assert_eq!((body.name, body.phone), (Change::Keep, Patch::Keep));
        let body = read(r#"{"name": "a", "phone": null}"#).unwrap();
        assert_eq!(
            (body.name, body.phone),
            (Change::Set("a".into()), Patch::Clear)
        );
        let body = read(r#"{"phone": "1"}"#).unwrap();
        assert_eq!(body.phone, Patch::Set("1".into()));
        assert!(read(r#"{"name": null}"#).is_err());
    }
}

//! `metadata`: up to 50 key-value pairs that belong to the client.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::{Error, Result};

const MAX_KEYS: usize = 50;
const MAX_KEY: usize = 40;
const MAX_VALUE: usize = 500;

/// The pairs of an object; empty when unset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(BTreeMap<String, String>);

/// What a body does to an object's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MetadataChange {
    #[default]
    Keep,
    /// `metadata: null`
    Clear,
    /// A value sets its key; null and "" remove it.
    Merge(BTreeMap<String, Option<String>>),
}

impl Metadata {
    /// The metadata of a new object.
    ///
    /// # Errors
    /// More than 50 keys.
    pub fn new(change: MetadataChange) -> Result<Self> {
        let mut metadata = Self::default();
        metadata.merge(change)?;
        Ok(metadata)
    }

    /// Applies a body's change.
    ///
    /// # Errors
    /// More than 50 keys afterwards.
    pub fn merge(&mut self, change: MetadataChange) -> Result<()> {
        match change {
            MetadataChange::Keep => {}
            MetadataChange::Clear => self.0.clear(),
            MetadataChange::Merge(pairs) => {
                for (key, value) in pairs {
                    match value.filter(|value| !value.is_empty()) {
                        Some(value) => self.0.insert(key, value),
                        None => self.0.remove(&key),
                    };
                }
            }
        }
        if self.0.len() > MAX_KEYS {
            return Err(Error::invalid(
                "metadata",
                format!("must hold at most {MAX_KEYS} keys"),
            ));
        }
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

impl<'de> Deserialize<'de> for MetadataChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(pairs) = Option::<BTreeMap<String, Option<String>>>::deserialize(deserializer)?
        else {
            return Ok(Self::Clear);
        };
        let set = |value: &&Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
        if pairs.values().filter(set).count() > MAX_KEYS {
            return Err(de::Error::custom(format!(
                "must hold at most {MAX_KEYS} keys"
            )));
        }
        for (key, value) in &pairs {
            if !(1..=MAX_KEY).contains(&key.chars().count()) {
                return Err(de::Error::custom(format!(
                    "a key must have 1 to {MAX_KEY} characters"
                )));
            }
            if value
                .as_ref()
                .is_some_and(|value| value.chars().count() > MAX_VALUE)
            {
                return Err(de::Error::custom(format!(
                    "a value must have at most {MAX_VALUE} characters"
                )));
            }
        }
        Ok(Self::Merge(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(json: serde_json::Value) -> MetadataChange {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn an_update_merges_removes_and_clears() {
        let mut metadata =
            Metadata::new(change(serde_json::json!({"a": "1", "b": "2", "c": ""}))).unwrap();
        metadata
            .merge(change(serde_json::json!({"a": null, "b": "3", "d": "4"})))
            .unwrap();
        assert_eq!(
            serde_json::to_value(&metadata).unwrap(),
            serde_json::json!({"b": "3", "d": "4"})
        );
        metadata.merge(MetadataChange::Keep).unwrap();
        assert_eq!(metadata.get("b"), Some("3"));
        metadata.merge(change(serde_json::Value::Null)).unwrap();
        assert_eq!(metadata, Metadata::default());
    }

    #[test]
    fn limits_are_kept() {
        let refused = |json| serde_json::from_value::<MetadataChange>(json).is_err();
        assert!(refused(serde_json::json!({"": "x"})));
        assert!(refused(serde_json::json!({"k".repeat(41): "x"})));
        assert!(refused(serde_json::json!({"k": "x".repeat(501)})));
        assert!(refused(serde_json::json!({"k": 1})));
        assert!(refused(serde_json::json!([])));
        let many: BTreeMap<_, _> = (0..51)
            .map(|n| (n.to_string(), Some("x".to_string())))
            .collect();
        assert!(Metadata::new(MetadataChange::Merge(many)).is_err());
    }

    proptest! {
        #[test]
        fn a_merge_touches_the_named_keys_and_no_other(
            before in proptest::collection::btree_map("[a-e]", "[x-z]{1,2}", 0..5),
            pairs in proptest::collection::btree_map("[a-g]", proptest::option::of("[x-z]{0,2}"), 0..7),
        ) {
            let mut after = Metadata(before.clone());
            after.merge(MetadataChange::Merge(pairs.clone())).unwrap();
            for key in ["a", "b", "c", "d", "e", "f", "g"] {
                let want = match pairs.get(key) {
                    Some(value) => value.as_deref().filter(|value| !value.is_empty()),
                    None => before.get(key).map(String::as_str),
                };
                prop_assert_eq!(after.get(key), want);
            }
        }
    }
}

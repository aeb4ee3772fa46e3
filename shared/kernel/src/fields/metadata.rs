//! `metadata`: up to 50 key-value pairs that belong to the client.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::{Error, Result};

const MAX_KEYS: usize = 50;
const MAX_KEY: usize = 40;
const MAX_VALUE: usize = 500;

/// Separates key and value in a query.
const SEPARATOR: char = ':';

/// The pairs of an object; empty when unset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(BTreeMap<String, String>);

/// The change of an object's metadata by a body.
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
    /// Returns the metadata of a new object.
    ///
    /// # Errors
    /// Fails if there are more than 50 keys.
    pub fn new(change: MetadataChange) -> Result<Self> {
        let mut metadata = Self::default();
        metadata.merge(change)?;
        Ok(metadata)
    }

    /// Applies a body's change.
    ///
    /// # Errors
    /// Fails if there are more than 50 keys afterwards.
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

    /// Returns the pairs of some keys.
    pub fn pairs(&self, keys: &SearchableKeys) -> BTreeSet<MetadataPair> {
        let pair = |key: &String| {
            let value = self.0.get(key)?.clone();
            Some(MetadataPair {
                key: key.clone(),
                value,
            })
        };
        keys.0.iter().filter_map(pair).collect()
    }

    /// Returns whether the metadata contains a pair.
    pub fn has(&self, pair: &MetadataPair) -> bool {
        self.get(&pair.key) == Some(pair.value.as_str())
    }
}

/// The keys of metadata by which fleets, drivers and vehicles of an account are found: at most three.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct SearchableKeys(BTreeSet<String>);

impl SearchableKeys {
    /// The maximum number of keys.
    pub const MOST: usize = 3;

    pub fn has(&self, key: &str) -> bool {
        self.0.contains(key)
    }

    pub fn has_all(&self, others: &Self) -> bool {
        self.0.is_superset(&others.0)
    }
}

impl TryFrom<Vec<String>> for SearchableKeys {
    type Error = String;

    fn try_from(keys: Vec<String>) -> Result<Self, String> {
        let is_key =
            |key: &String| (1..=MAX_KEY).contains(&key.chars().count()) && !key.contains(SEPARATOR);
        if keys.len() > Self::MOST || !keys.iter().all(is_key) {
            return Err(format!(
                "must hold at most {} keys of 1 to {MAX_KEY} characters without a colon",
                Self::MOST
            ));
        }
        let count = keys.len();
        let keys = BTreeSet::from_iter(keys);
        if keys.len() < count {
            return Err("must not name the same key twice".to_owned());
        }
        Ok(Self(keys))
    }
}

/// A key of metadata and its value, written `key:value` in a query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct MetadataPair {
    pub key: String,
    pub value: String,
}

impl TryFrom<String> for MetadataPair {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (key, value) = text.split_once(SEPARATOR).unwrap_or_default();
        if key.is_empty() || value.is_empty() {
            Err("must be a key and a value with a colon between them, such as depot:north")
        } else {
            Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            })
        }
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

    #[test]
    fn a_pair_is_split_at_its_first_colon() {
        let pair = |text: &str| MetadataPair::try_from(text.to_owned());
        let found = pair("asset:A:17").unwrap();
        assert_eq!(
            (found.key.as_str(), found.value.as_str()),
            ("asset", "A:17")
        );
        for refused in ["", "asset", "asset:", ":A"] {
            assert!(pair(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn at_most_three_keys_are_searchable() {
        let keys = |json| serde_json::from_value::<SearchableKeys>(json);
        assert!(keys(serde_json::json!(["a", "b", "c"])).is_ok());
        for refused in [
            serde_json::json!(["a", "b", "c", "d"]),
            serde_json::json!(["a", "a"]),
            serde_json::json!([""]),
            serde_json::json!(["a:b"]),
        ] {
            assert!(keys(refused.clone()).is_err(), "{refused}");
        }
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

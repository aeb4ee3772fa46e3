//! Records of the table's stream.

use kernel::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_dynamo::{AttributeValue, Item};
use serde_json::{Value, json};

/// One record of the stream: an item before and after a write.
#[derive(Debug, Clone, Default)]
pub struct StreamRecord {
    pub old: Option<Item>,
    pub new: Option<Item>,
}

/// The items that stand for something that happens later have one of these attributes, by name and type of DynamoDB: objects and stations a
/// version; deliveries, commands to networks and tokens a state; objects of networks the text as it was received. Idempotency records and request
/// rates have none.
const RELAYED: [(&str, &str); 3] = [("version", "N"), ("state", "S"), ("raw", "S")];

/// What only an idempotency record has. When one expires, nothing follows.
const NOT_RELAYED: &str = "fingerprint";

/// The patterns of the event source mapping that let through the records for which [`StreamRecord::is_relayed`] holds: the others do not
/// invoke the relay. At most five are possible.
pub fn filters() -> Vec<Value> {
    let changed = |(name, kind): (&str, &str)| json!({"dynamodb": {"NewImage": {name: {kind: [{"exists": true}]}}}});
    let removed = json!({"eventName": ["REMOVE"], "dynamodb": {"OldImage": {NOT_RELAYED: {"S": [{"exists": false}]}}}});
    RELAYED.into_iter().map(changed).chain([removed]).collect()
}

impl StreamRecord {
    /// Whether the relay has to work on the record.
    pub fn is_relayed(&self) -> bool {
        let has = |item: &Item, (name, kind): (&str, &str)| match item.get(name) {
            Some(AttributeValue::N(_)) => kind == "N",
            Some(AttributeValue::S(_)) => kind == "S",
            _ => false,
        };
        match (&self.new, &self.old) {
            (Some(new), _) => RELAYED.into_iter().any(|one| has(new, one)),
            (None, Some(old)) => !has(old, (NOT_RELAYED, "S")),
            (None, None) => false,
        }
    }

    /// The key of the item, for the log: its `pk` and `sk`.
    pub fn key(&self) -> (&str, &str) {
        let image = self.new.as_ref().or(self.old.as_ref());
        let text = |name: &str| match image?.get(name)? {
            AttributeValue::S(text) => Some(text.as_str()),
            _ => None,
        };
        (
            text("pk").unwrap_or_default(),
            text("sk").unwrap_or_default(),
        )
    }
}

/// A text attribute of an item.
pub fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name)? {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

/// A text attribute of an item, if there is an item.
pub fn text_of<'a>(item: &'a Option<Item>, name: &str) -> Option<&'a str> {
    text(item.as_ref()?, name)
}

/// An attribute of an item.
///
/// # Errors
/// A permanent `Internal` if the attribute cannot be read as this type.
pub fn read<T: DeserializeOwned>(item: &Item, name: &str) -> Result<Option<T>> {
    let value = item.get(name).cloned();
    value
        .map(|value| serde_dynamo::from_attribute_value(value).map_err(Error::permanent))
        .transpose()
}

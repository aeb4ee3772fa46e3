//! Records of the table's stream.

use kernel::{Error, Result, Timestamp};
use serde::de::DeserializeOwned;
use serde_dynamo::{AttributeValue, Item};
use serde_json::{Value, json};

/// One record of the stream: an item before and after a write.
#[derive(Debug, Clone, Default)]
pub struct StreamRecord {
    pub old: Option<Item>,
    pub new: Option<Item>,
    /// Whether DynamoDB has removed the item itself, because its time has passed.
    pub is_expired: bool,
    /// When the item was written, to the second. None for a record that does not come from the stream of a deployed table, such as those
    /// of the local runner.
    pub written: Option<Timestamp>,
}

/// Items that can have effects when they change have one of these attributes, by name and DynamoDB type: objects and stations a version;
/// commands to networks and tokens a state; objects of networks the text as it was received. Idempotency records and request rates have
/// none.
const RELAYED: [(&str, &str); 3] = [("version", "N"), ("state", "S"), ("raw", "S")];

/// The deliveries of events that wait for another attempt, and those whose last attempt has failed: the attribute and its values.
const DELIVERIES: (&str, [&str; 2]) = ("delivery", ["waiting", "exhausted"]);

/// Of all removals, only that of an object has effects.
const REMOVED: (&str, &str) = RELAYED[0];

/// The patterns of the event source mapping that select the records for which [`StreamRecord::is_relayed`] holds: other records do not
/// invoke the relay. At most five patterns are possible. The expiry of an item has no effects: such a record names the DynamoDB service as
/// the user.
pub fn filters() -> Vec<Value> {
    let exists = |(name, kind): (&str, &str)| json!({name: {kind: [{"exists": true}]}});
    let changed = |attribute| json!({"dynamodb": {"NewImage": exists(attribute)}});
    let removed = json!({"eventName": ["REMOVE"], "dynamodb": {"OldImage": exists(REMOVED)},
        "userIdentity": {"type": [{"exists": false}]}});
    let (attribute, states) = DELIVERIES;
    let deliveries = json!({"dynamodb": {"NewImage": {attribute: {"S": states}}}});
    let all = RELAYED.into_iter().map(changed);
    all.chain([deliveries, removed]).collect()
}

impl StreamRecord {
    /// Returns whether the relay has to process the record.
    pub fn is_relayed(&self) -> bool {
        let has = |item: &Item, (name, kind): (&str, &str)| match item.get(name) {
            Some(AttributeValue::N(_)) => kind == "N",
            Some(AttributeValue::S(_)) => kind == "S",
            _ => false,
        };
        match (&self.new, &self.old) {
            (Some(new), _) => {
                RELAYED.into_iter().any(|attribute| has(new, attribute))
                    || text(new, DELIVERIES.0).is_some_and(|state| DELIVERIES.1.contains(&state))
            }
            (None, Some(old)) => !self.is_expired && has(old, REMOVED),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_by_time_to_live_are_not_relayed() {
        let number = |name: &str| {
            let value = AttributeValue::N("1".into());
            Some(Item::from(std::collections::HashMap::from([(
                name.to_owned(),
                value,
            )])))
        };
        let removal = |name, is_expired| StreamRecord {
            old: number(name),
            new: None,
            is_expired,
            written: None,
        };
        assert!(removal("version", false).is_relayed());
        assert!(!removal("version", true).is_relayed());
        assert!(!removal("ttl", false).is_relayed());
    }
}

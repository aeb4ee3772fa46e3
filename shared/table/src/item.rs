//! Items of the table and their attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keys::Key;
use kernel::{Error, Result};

/// The attributes of an item.
pub type Item = HashMap<String, AttributeValue>;

/// Returns a key as the attributes `pk` and `sk`.
pub(super) fn key_item(key: Key<'_>) -> Item {
    let (pk, sk) = key.pair();
    HashMap::from([
        ("pk".to_owned(), AttributeValue::S(pk)),
        ("sk".to_owned(), AttributeValue::S(sk)),
    ])
}

/// Returns a string attribute, or "".
pub(super) fn string<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

/// Returns a numeric attribute, or 0.
pub(super) fn number(item: &Item, name: &str) -> i64 {
    item.get(name)
        .and_then(|value| value.as_n().ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

pub(super) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(super) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Returns the names for the placeholders of a projection: the placeholder of `object` is `#object`.
pub(super) fn names_in(projection: &str) -> HashMap<String, String> {
    let placeholders = projection.split(", ");
    placeholders
        .filter_map(|placeholder| {
            Some((
                placeholder.to_owned(),
                placeholder.strip_prefix('#')?.to_owned(),
            ))
        })
        .collect()
}

/// Returns the approximate number of bytes that DynamoDB counts for an item: names and values.
pub(super) fn size(item: &Item) -> usize {
    let attributes = item.iter();
    attributes
        .map(|(name, value)| name.len() + size_of(value))
        .sum()
}

fn size_of(value: &AttributeValue) -> usize {
    /// The bytes that each list and map needs besides its elements, and each element besides its content.
    const COLLECTION: usize = 3;
    const ELEMENT: usize = 1;
    match value {
        AttributeValue::S(text) => text.len(),
        // Two digits need one byte.
        AttributeValue::N(number) => number.len() / 2 + 2,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(values) => {
            let elements = values.iter().map(|value| ELEMENT + size_of(value));
            COLLECTION + elements.sum::<usize>()
        }
        AttributeValue::M(members) => {
            let members = members
                .iter()
                .map(|(name, value)| ELEMENT + name.len() + size_of(value));
            COLLECTION + members.sum::<usize>()
        }
        _ => 1,
    }
}

/// The attribute of an item that is stored as JSON text.
pub(super) const STATE: &str = "state";

pub(super) fn state<T: Serialize>(value: &T) -> Result<AttributeValue> {
    serde_json::to_string(value).map(s).map_err(Error::internal)
}

/// # Errors
/// A permanent `Internal` if the item has no text of this type.
pub(super) fn read_state<T: DeserializeOwned>(item: &Item) -> Result<T> {
    serde_json::from_str(string(item, STATE)).map_err(Error::permanent)
}

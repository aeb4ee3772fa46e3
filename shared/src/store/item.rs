//! Items of the table and their attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::Key;
use super::layout;

/// The attributes of a row.
pub type Item = HashMap<String, AttributeValue>;

/// A key as the attributes `pk` and `sk`.
pub(super) fn key_item(key: Key<'_>) -> Item {
    let (pk, sk) = key.pair();
    HashMap::from([
        ("pk".to_owned(), AttributeValue::S(pk)),
        ("sk".to_owned(), AttributeValue::S(sk)),
    ])
}

/// The attributes that every row begins with: its key, and the version of the layout that it is written in.
pub(super) fn new_item(key: Key<'_>) -> Item {
    let mut item = key_item(key);
    item.insert(layout::SCHEMA.into(), n(layout::VERSION));
    item
}

/// A string attribute, or "".
pub(super) fn string<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

/// A numeric attribute, or 0.
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

//! Items of the table and their attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::Key;

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

/// The names that stand behind the placeholders of a projection: that of `object` is `#object`.
pub(super) fn names_in(projection: &str) -> HashMap<String, String> {
    let placeholders = projection.split(", ");
    placeholders
        .filter_map(|one| Some((one.to_owned(), one.strip_prefix('#')?.to_owned())))
        .collect()
}

//! The secrets of webhook endpoints in their items.
//!
//! The object in the item has the masked secret and masked headers, which most readers are shown. The secret itself and the values of the
//! headers are in `internal`, encrypted, with the secrets that were replaced.

use aws_sdk_dynamodb::types::AttributeValue;

use super::item::{Item, s};
use super::stored_item::{Cipher, text_in};
use kernel::Result;
use models::webhook_endpoint::SigningSecret;
use models::webhooks::headers::MASKED;

/// Moves the secrets of the object to the internal state, encrypted, and masks them in the object.
///
/// # Errors
/// `Internal` if there are no encryption keys.
pub(super) fn encrypt(
    object: &mut AttributeValue,
    internal: &mut AttributeValue,
    cipher: &Cipher<'_>,
) -> Result<()> {
    if let Some(secret) = text_in(object, "secret") {
        let encrypted = cipher.encrypt(secret)?;
        *secret = SigningSecret::stored(secret).masked().as_str().to_owned();
        if let AttributeValue::M(members) = internal {
            members.insert("secret".into(), s(encrypted));
        }
    }
    let mut headers = Item::new();
    for (name, value) in headers_in(object) {
        if let AttributeValue::S(text) = value {
            headers.insert(name.clone(), s(cipher.encrypt(text)?));
        }
        *value = s(MASKED);
    }
    if let (false, AttributeValue::M(members)) = (headers.is_empty(), &mut *internal) {
        members.insert("headers".into(), AttributeValue::M(headers));
    }
    previous_secrets(internal).try_for_each(|secret| {
        *secret = cipher.encrypt(secret)?;
        Ok(())
    })
}

/// Decrypts the secrets that [`encrypt`] has encrypted.
///
/// # Errors
/// `Internal` if the item was encrypted with a key that no longer exists.
pub(super) fn decrypt(
    object: &mut AttributeValue,
    internal: &mut AttributeValue,
    cipher: &Cipher<'_>,
) -> Result<()> {
    let encrypted = text_in(internal, "secret");
    if let (Some(secret), Some(encrypted)) = (text_in(object, "secret"), encrypted) {
        *secret = cipher.decrypt(encrypted)?;
    }
    for (name, encrypted) in headers_in(internal) {
        if let (Some(value), AttributeValue::S(encrypted)) = (header_in(object, name), encrypted) {
            *value = cipher.decrypt(encrypted)?;
        }
    }
    previous_secrets(internal).try_for_each(|secret| {
        *secret = cipher.decrypt(secret)?;
        Ok(())
    })
}

/// Returns the headers of an endpoint: in `object` or in `internal`.
fn headers_in(part: &mut AttributeValue) -> impl Iterator<Item = (&String, &mut AttributeValue)> {
    let headers = match part {
        AttributeValue::M(members) => members.get_mut("headers"),
        _ => None,
    };
    let headers = match headers {
        Some(AttributeValue::M(headers)) => Some(headers.iter_mut()),
        _ => None,
    };
    headers.into_iter().flatten()
}

/// Returns the value of a header of an endpoint.
fn header_in<'a>(object: &'a mut AttributeValue, name: &str) -> Option<&'a mut String> {
    let mut headers = headers_in(object);
    match headers.find(|(found, _)| *found == name)?.1 {
        AttributeValue::S(value) => Some(value),
        _ => None,
    }
}

/// Returns the previous secrets of an endpoint: `internal.previous[].secret`.
fn previous_secrets(internal: &mut AttributeValue) -> impl Iterator<Item = &mut String> {
    let previous = match internal {
        AttributeValue::M(members) => members.get_mut("previous"),
        _ => None,
    };
    let previous = match previous {
        Some(AttributeValue::L(previous)) => previous.as_mut_slice(),
        _ => &mut [],
    };
    previous
        .iter_mut()
        .filter_map(|secret| text_in(secret, "secret"))
}

//! The secrets of webhook endpoints in their items.
//!
//! The object in the item has the masked secret and masked headers, which most readers are shown. The secret itself and the values of the
//! headers are in `internal`, encrypted, with the secrets that were replaced. What cannot be decrypted, because its key is lost, stays there:
//! the endpoint can still be read, changed and deleted, and be given a new secret.

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
    let is_unreadable = text_in(internal, "secret").is_some();
    if let Some(secret) = text_in(object, "secret").filter(|_| !is_unreadable) {
        let encrypted = cipher.encrypt(secret)?;
        *secret = SigningSecret::stored(secret).masked().as_str().to_owned();
        if let AttributeValue::M(members) = internal {
            members.insert("secret".into(), s(encrypted));
        }
    }
    let unreadable: Item = headers_in(internal)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut headers = Item::new();
    for (name, value) in headers_in(object) {
        if let AttributeValue::S(text) = value {
            let encrypted = match unreadable.get(name).filter(|_| text == MASKED) {
                Some(encrypted) => encrypted.clone(),
                None => s(cipher.encrypt(text)?),
            };
            headers.insert(name.clone(), encrypted);
        }
        *value = s(MASKED);
    }
    if let AttributeValue::M(members) = &mut *internal {
        members.remove("headers");
        if !headers.is_empty() {
            members.insert("headers".into(), AttributeValue::M(headers));
        }
    }
    previous_secrets(internal).try_for_each(|secret| {
        *secret = cipher.encrypt(secret)?;
        Ok(())
    })
}

/// Decrypts the secrets that [`encrypt`] has encrypted. One that cannot be decrypted stays masked in the object and encrypted in the internal
/// state; one that was replaced is dropped then.
pub(super) fn decrypt(
    object: &mut AttributeValue,
    internal: &mut AttributeValue,
    cipher: &Cipher<'_>,
) {
    let AttributeValue::M(members) = internal else {
        return;
    };
    let text_of = |encrypted: &AttributeValue| cipher.readable(encrypted.as_s().ok()?);
    let secret = members.get("secret").and_then(text_of);
    if let (Some(shown), Some(secret)) = (text_in(object, "secret"), secret) {
        *shown = secret;
        members.remove("secret");
    }
    if let Some(AttributeValue::M(headers)) = members.get_mut("headers") {
        headers.retain(|name, encrypted| {
            let (shown, value) = (header_in(object, name), text_of(encrypted));
            let is_unreadable = shown.is_some() && value.is_none();
            if let (Some(shown), Some(value)) = (shown, value) {
                *shown = value;
            }
            is_unreadable
        });
    }
    if let Some(AttributeValue::L(previous)) = members.get_mut("previous") {
        previous.retain_mut(|replaced| {
            text_in(replaced, "secret").is_none_or(|secret| {
                let text = cipher.readable(secret);
                text.map(|text| *secret = text).is_some()
            })
        });
    }
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

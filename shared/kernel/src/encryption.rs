//! Encryption of secrets in items of the table: the signing secrets of webhook endpoints, and credentials of other parties.
//!
//! A deployment has one or several *master secrets*, in the secret `EncryptionKeys` or the variable `ENCRYPTION_KEYS`: texts of at least 32
//! characters, separated by commas. From each of them HKDF-SHA256 derives an AES-256-GCM key and the identifier of that key. The first key
//! encrypts; every key decrypts what it has encrypted. So keys are rotated in three deployments: `old,new` (every function can decrypt what
//! the new key will encrypt), `new,old` (the new key encrypts), and `new` when no item needs the old key any more.
//!
//! An encrypted text is `enc1.<key identifier>.<nonce, ciphertext and tag in base64url>`. The nonce is random: one key can encrypt 2^32
//! texts (NIST SP 800-38D, section 8.3). The *context*, which names the item and the field, is authenticated with the text: a text that was
//! copied to another item or field cannot be decrypted there.
//!
//! Only functions that need the master secrets may read them (`Need::EncryptionKeys` in the deployment of a function). All others have
//! [`EncryptionKeys::none`], with which every call fails.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The length of the shortest master secret, in bytes.
pub const MIN_MASTER_SECRET: usize = 32;

/// The prefix of an encrypted text: the version of the format.
const PREFIX: &str = "enc1.";

/// An encrypted text of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encrypted(String);

impl Encrypted {
    /// Returns the encrypted text, or `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        text.starts_with(PREFIX).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the identifier of the key with which it was encrypted.
    pub fn key_id(&self) -> &str {
        let (key_id, _) = self.parts().unwrap_or_default();
        key_id
    }

    fn parts(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix(PREFIX)?.split_once('.')
    }
}

/// The keys of a deployment. Cloning it is cheap. Its debug output does not contain the keys.
#[derive(Clone, Default)]
pub struct EncryptionKeys(Arc<[DerivedKey]>);

struct DerivedKey {
    /// Eight hexadecimal digits that are derived from the master secret.
    id: String,
    key: LessSafeKey,
}

/// The length of a key's identifier before it is written in hexadecimal, for HKDF.
struct KeyIdLength;

impl KeyType for KeyIdLength {
    fn len(&self) -> usize {
        4
    }
}

impl DerivedKey {
    fn derive(master_secret: &str) -> Result<Self> {
        let extracted = Salt::new(HKDF_SHA256, b"fleet-charging").extract(master_secret.as_bytes());
        let mut id = [0; 4];
        expand(&extracted, b"key identifier", KeyIdLength, &mut id)?;
        let mut bytes = [0; 32];
        expand(&extracted, b"rows AES-256-GCM", &AES_256_GCM, &mut bytes)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(unspecified)?;
        Ok(Self {
            id: hex::encode(id),
            key: LessSafeKey::new(key),
        })
    }
}

fn expand<L: KeyType>(extracted: &Prk, info: &[u8], length: L, out: &mut [u8]) -> Result<()> {
    extracted
        .expand(&[info], length)
        .and_then(|expanded| expanded.fill(out))
        .map_err(unspecified)
}

/// `ring` gives no reason for a failure.
fn unspecified(_: ring::error::Unspecified) -> Error {
    Error::internal("a cryptographic operation failed")
}

impl EncryptionKeys {
    /// Returns the keys of these master secrets, which are separated by commas. The first one encrypts.
    ///
    /// # Errors
    /// `Internal` if a master secret has fewer than [`MIN_MASTER_SECRET`] bytes.
    pub fn new(master_secrets: &str) -> Result<Self> {
        let keys = master_secrets.split(',').map(|master_secret| {
            let master_secret = master_secret.trim();
            if master_secret.len() < MIN_MASTER_SECRET {
                return Err(Error::internal(format!(
                    "ENCRYPTION_KEYS: every key must have at least {MIN_MASTER_SECRET} characters"
                )));
            }
            DerivedKey::derive(master_secret)
        });
        Ok(Self(keys.collect::<Result<_>>()?))
    }

    /// Returns no keys: nothing can be encrypted or decrypted.
    pub fn none() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Encrypts a text. `context` names the item and the field of the text.
    ///
    /// # Errors
    /// `Internal` if there are no keys, or the system's source of randomness failed.
    pub fn encrypt(&self, context: &str, text: &str) -> Result<Encrypted> {
        let Some(DerivedKey { id, key }) = self.0.first() else {
            return Err(no_keys());
        };
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| Error::internal(error.to_string()))?;
        let mut ciphertext = text.as_bytes().to_vec();
        let aad = Aad::from(context.as_bytes());
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut ciphertext)
            .map_err(unspecified)?;
        let mut bytes = nonce.to_vec();
        bytes.append(&mut ciphertext);
        let encoded = URL_SAFE_NO_PAD.encode(bytes);
        Ok(Encrypted(format!("{PREFIX}{id}.{encoded}")))
    }

    /// Decrypts a text that was encrypted with the same context.
    ///
    /// # Errors
    /// `Internal` if there are no keys, if none of them has encrypted the text, or if the text or its context is not the encrypted one. The
    /// message contains the key's identifier and never the text.
    pub fn decrypt(&self, context: &str, encrypted: &Encrypted) -> Result<String> {
        if self.0.is_empty() {
            return Err(no_keys());
        }
        let malformed = || Error::internal("an encrypted text in an item is malformed");
        let (key_id, encoded) = encrypted.parts().ok_or_else(malformed)?;
        let Some(DerivedKey { key, .. }) = self.0.iter().find(|key| key.id == key_id) else {
            return Err(Error::internal(format!(
                "an item holds a text that was encrypted with the key {key_id}, which ENCRYPTION_KEYS does not have"
            )));
        };
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| malformed())?;
        let (nonce, ciphertext) = bytes.split_at_checked(NONCE_LEN).ok_or_else(malformed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(unspecified)?;
        let mut opened = ciphertext.to_vec();
        let text = key
            .open_in_place(nonce, Aad::from(context.as_bytes()), &mut opened)
            .map_err(|_| {
                Error::internal(format!(
                    "an encrypted text in an item was changed or belongs to another item (key {key_id})"
                ))
            })?;
        String::from_utf8(text.to_vec()).map_err(|_| malformed())
    }

    /// Returns whether a text was encrypted with another key than the first, so that its item should be written again.
    pub fn is_outdated(&self, encrypted: &Encrypted) -> bool {
        self.0
            .first()
            .is_some_and(|key| key.id != encrypted.key_id())
    }
}

fn no_keys() -> Error {
    Error::internal(
        "this function has no encryption keys: its deployment needs `Need::EncryptionKeys`",
    )
}

impl fmt::Debug for EncryptionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = self.0.iter().map(|key| &key.id);
        f.debug_list().entries(ids).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "the first master secret of 32 characters or more";
    const NEW: &str = "the second master secret of 32 characters or more";
    const CONTEXT: &str = "acct_1#test#wh_1 secret";

    fn keys(master_secrets: &str) -> EncryptionKeys {
        EncryptionKeys::new(master_secrets).unwrap()
    }

    fn failure(result: Result<String>) -> String {
        result.unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn a_text_is_decrypted_with_its_key_and_context(text in ".*", context in ".*") {
            let encrypted = keys(OLD).encrypt(&context, &text).unwrap();
            prop_assert_eq!(keys(OLD).decrypt(&context, &encrypted).unwrap(), text);
        }

        #[test]
        fn a_text_that_was_changed_is_refused(at in 0usize..60, flip in 1u8..) {
            let encrypted = keys(OLD).encrypt(CONTEXT, "whsec_0123456789abcdef").unwrap();
            let (key_id, encoded) = encrypted.parts().unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(encoded).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let changed = format!("{PREFIX}{key_id}.{}", URL_SAFE_NO_PAD.encode(bytes));
            prop_assert!(keys(OLD).decrypt(CONTEXT, &Encrypted(changed)).is_err());
        }
    }

    #[test]
    fn ciphertext_hides_the_plaintext_and_differs_each_time() {
        let keys = keys(OLD);
        let first = keys.encrypt(CONTEXT, "whsec_secret").unwrap();
        let second = keys.encrypt(CONTEXT, "whsec_secret").unwrap();
        assert!(!first.as_str().contains("whsec_secret"));
        assert_ne!(first, second);
        assert_eq!(Encrypted::parse(first.as_str()), Some(first));
        assert_eq!(Encrypted::parse("whsec_secret"), None);
    }

    #[test]
    fn a_text_is_not_decrypted_in_another_context() {
        let encrypted = keys(OLD).encrypt(CONTEXT, "secret").unwrap();
        let refused = failure(keys(OLD).decrypt("acct_2#test#wh_1 secret", &encrypted));
        assert!(refused.contains("belongs to another item"), "{refused}");
    }

    #[test]
    fn old_and_new_keys_both_decrypt_during_rotation() {
        let with_old = keys(OLD).encrypt(CONTEXT, "secret").unwrap();
        let both = keys(&format!("{OLD},{NEW}"));
        assert_eq!(
            both.encrypt(CONTEXT, "a").unwrap().key_id(),
            with_old.key_id()
        );
        let turned = keys(&format!("{NEW}, {OLD}"));
        let with_new = turned.encrypt(CONTEXT, "secret").unwrap();
        assert_ne!(with_new.key_id(), with_old.key_id());
        for encrypted in [&with_old, &with_new] {
            assert_eq!(both.decrypt(CONTEXT, encrypted).unwrap(), "secret");
            assert_eq!(turned.decrypt(CONTEXT, encrypted).unwrap(), "secret");
        }
        assert!(turned.is_outdated(&with_old) && !turned.is_outdated(&with_new));
        let refused = failure(keys(NEW).decrypt(CONTEXT, &with_old));
        assert!(refused.contains(with_old.key_id()), "{refused}");
    }

    #[test]
    fn without_keys_nothing_is_encrypted_or_decrypted() {
        let encrypted = keys(OLD).encrypt(CONTEXT, "secret").unwrap();
        let none = EncryptionKeys::none();
        assert!(none.encrypt(CONTEXT, "secret").is_err());
        assert!(failure(none.decrypt(CONTEXT, &encrypted)).contains("no encryption keys"));
        assert!(!none.is_outdated(&encrypted));
    }

    #[test]
    fn a_master_secret_that_is_too_short_is_refused() {
        for short in [
            "",
            "short",
            "the first master secret of 32 characters or more,short",
        ] {
            let refused = EncryptionKeys::new(short).unwrap_err().to_string();
            assert!(refused.contains("at least 32 characters"), "{refused}");
        }
    }

    #[test]
    fn keys_are_not_shown_when_they_are_printed() {
        let shown = format!("{:?}", keys(OLD));
        assert!(!shown.contains("master") && shown.len() < 20, "{shown}");
    }

    /// Items outlive releases. This text was encrypted by Python's `cryptography` as the module's documentation describes.
    #[test]
    fn a_text_of_the_first_release_is_decrypted() {
        let encrypted = Encrypted(FIRST_RELEASE.to_owned());
        assert_eq!(
            keys(OLD).decrypt(CONTEXT, &encrypted).unwrap(),
            "whsec_first"
        );
    }

    const FIRST_RELEASE: &str =
        "enc1.4f5038ef.AAECAwQFBgcICQoLWc-38UoguGO1qR-2FPSv3WoPXF0nLbVhFd_i";
}

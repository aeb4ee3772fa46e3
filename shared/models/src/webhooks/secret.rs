//! The signing secrets of webhook endpoints.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use kernel::{Error, Result};

/// A signing secret: `whsec_` and 32 base64 characters. The `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SigningSecret(String);

impl SigningSecret {
    const PREFIX: &str = "whsec_";

    /// Generates a secret of 24 random bytes.
    ///
    /// # Errors
    /// `Internal` if the system's source of randomness fails.
    pub fn generate() -> Result<Self> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self(format!("{}{}", Self::PREFIX, STANDARD.encode(random))))
    }

    /// Returns a secret that was stored.
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the prefix, four asterisks and the last four characters: the form for readers who may not sign.
    pub fn masked(&self) -> Self {
        let last4 = &self.0[self.0.len().saturating_sub(4)..];
        Self(format!("{}****{last4}", Self::PREFIX))
    }

    /// Returns the whole text: the key of `Service-Signature`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the random bytes: the key of the Standard Webhooks signature.
    pub fn bytes(&self) -> Vec<u8> {
        let encoded = self.0.strip_prefix(Self::PREFIX).unwrap_or_default();
        STANDARD.decode(encoded).unwrap_or_default()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_redacted_and_carries_24_bytes() {
        let secret = SigningSecret::generate().unwrap();
        assert_eq!(secret.as_str().len(), "whsec_".len() + 32);
        assert_eq!(secret.bytes().len(), 24);
        assert_eq!(format!("{secret:?}"), "[redacted]");
        let masked = secret.masked();
        let last4 = &secret.as_str()[34..];
        assert_eq!(masked.as_str(), format!("whsec_****{last4}"));
    }
}

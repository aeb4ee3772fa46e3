//! Deflated texts: what is large and is read as a whole, and what no filter asks for.

use std::io::{Read as _, Write as _};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use kernel::error::{Error, Result};

/// A text as a binary attribute.
///
/// # Errors
/// None that memory does not cause.
pub(super) fn deflated(text: &[u8]) -> Result<AttributeValue> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).map_err(Error::internal)?;
    let bytes = encoder.finish().map_err(Error::internal)?;
    Ok(AttributeValue::B(Blob::new(bytes)))
}

/// The text of a binary attribute that [`deflated`] has made.
///
/// # Errors
/// A permanent `Internal` if the attribute is none.
pub(super) fn inflated(bytes: &Blob) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut decoder = DeflateDecoder::new(bytes.as_ref());
    decoder.read_to_end(&mut text).map_err(Error::permanent)?;
    Ok(text)
}

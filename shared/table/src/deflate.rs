//! Deflated texts: large data that is read as a whole, and data that no filter reads.
//!
//! An object is JSON of a few hundred bytes, which is too short for deflate to find many repetitions. So it is deflated as if it followed a
//! text that contains the usual names and values: `dictionary.json`. This file must never change, because stored data depends on it.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use kernel::{Error, Result};

/// The text behind which short texts are deflated, with the most frequent names at its end.
const DICTIONARY: &[u8] = include_bytes!("dictionary.json");

/// The maximum increase of the size of a text by deflating, besides an eighth.
const MARGIN: usize = 64;

/// Returns a text as a binary attribute.
///
/// # Errors
/// Only if memory is exhausted.
pub fn deflated(text: &[u8]) -> Result<AttributeValue> {
    finish(Compress::new(Compression::default(), false), text)
}

/// Returns a short text as a binary attribute, deflated behind the dictionary.
///
/// # Errors
/// Only if memory is exhausted.
pub fn deflated_behind_dictionary(text: &[u8]) -> Result<AttributeValue> {
    let mut state = Compress::new(Compression::default(), false);
    // The deflated dictionary ends at the border of a byte and is omitted: `inflated` adds it again.
    let mut left_out = Vec::with_capacity(DICTIONARY.len() + MARGIN);
    let primed = state.compress_vec(DICTIONARY, &mut left_out, FlushCompress::Sync);
    primed.map_err(Error::internal)?;
    finish(state, text)
}

fn finish(mut state: Compress, text: &[u8]) -> Result<AttributeValue> {
    let mut bytes = Vec::with_capacity(text.len() + text.len() / 8 + MARGIN);
    let ended = state.compress_vec(text, &mut bytes, FlushCompress::Finish);
    match ended.map_err(Error::internal)? {
        Status::StreamEnd => Ok(AttributeValue::B(Blob::new(bytes))),
        status => Err(Error::internal(format!(
            "a text was not deflated: {status:?}"
        ))),
    }
}

/// Returns the text of a binary attribute of [`deflated`] or [`deflated_behind_dictionary`].
///
/// # Errors
/// A permanent `Internal` if the attribute is not such a text.
pub fn inflated(bytes: &Blob) -> Result<Vec<u8>> {
    let mut state = Decompress::new(false);
    let mut dictionary = Vec::with_capacity(DICTIONARY.len() + 1);
    let primed = state.decompress_vec(
        &stored_block(DICTIONARY),
        &mut dictionary,
        FlushDecompress::None,
    );
    primed.map_err(Error::permanent)?;
    let bytes = bytes.as_ref();
    let before = state.total_in();
    let mut text = Vec::with_capacity(8 * bytes.len() + MARGIN);
    loop {
        let read = usize::try_from(state.total_in() - before).map_err(Error::permanent)?;
        let (read_so_far, written) = (state.total_in(), text.len());
        let status = state.decompress_vec(&bytes[read..], &mut text, FlushDecompress::None);
        match status.map_err(Error::permanent)? {
            Status::StreamEnd => return Ok(text),
            _ if text.len() == text.capacity() => text.reserve(text.len()),
            _ if state.total_in() == read_so_far && text.len() == written => {
                return Err(Error::permanent("a deflated text without an end"));
            }
            _ => {}
        }
    }
}

/// Returns a text as an uncompressed block of a deflated stream (RFC 1951) that other blocks follow.
fn stored_block(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let mut block = vec![0];
    block.extend(length.to_le_bytes());
    block.extend((!length).to_le_bytes());
    block.extend(text);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str, deflate: fn(&[u8]) -> Result<AttributeValue>) -> usize {
        let AttributeValue::B(bytes) = deflate(text.as_bytes()).unwrap() else {
            panic!("no bytes");
        };
        assert_eq!(inflated(&bytes).unwrap(), text.as_bytes());
        let cut = Blob::new(&bytes.as_ref()[..bytes.as_ref().len() - 1]);
        assert!(inflated(&cut).is_err());
        bytes.as_ref().len()
    }

    #[test]
    fn a_text_of_any_length_reads_back_as_it_was() {
        let mut number: u32 = 1;
        let mut noise = || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'!' + (number >> 24) as u8 % 90)
        };
        for count in [0, 1, 10, 1_000, 100_000] {
            let random: String = (0..count).map(|_| noise()).collect();
            for text in [random, "ab".repeat(count)] {
                length(&text, deflated);
                length(&text, deflated_behind_dictionary);
            }
        }
    }

    #[test]
    fn a_short_text_of_usual_names_is_half_as_long() {
        let text = r#"{"evse":"7","names":{"driver":"Grace Hopper","registration_plate":"CD34 EFG","station":"North"},"pricing":[{"currency":"usd","price":39,"step_size":1,"tax":"sales_tax","tax_included":false,"tax_percent":"8","type":"ENERGY"}],"zone":"America/New_York"}"#;
        let (plain, short) = (
            length(text, deflated),
            length(text, deflated_behind_dictionary),
        );
        assert!(
            short < text.len() / 2 && 3 * short < 2 * plain,
            "{plain} {short}"
        );
    }

    #[test]
    fn the_dictionary_is_the_one_items_were_written_with() {
        assert_eq!(
            crc32fast::hash(DICTIONARY),
            1_839_673_135,
            "what is stored refers to it"
        );
        assert!(u16::try_from(DICTIONARY.len()).is_ok());
    }
}

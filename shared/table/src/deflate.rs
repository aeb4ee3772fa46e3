//! Deflated texts: what is large and is read as a whole, and what no filter asks for.
//!
//! What an object has is JSON of a few hundred bytes, too short for deflate to find many repetitions in. It is deflated as if it followed a text
//! that has the usual names and values: `dictionary.json`, which never changes, because what is stored refers to it.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use kernel::error::{Error, Result};

/// The text that short texts are deflated behind, with the most usual names at its end.
const DICTIONARY: &[u8] = include_bytes!("dictionary.json");

/// How much larger than a text its deflated form may be, besides an eighth.
const MARGIN: usize = 64;

/// A text as a binary attribute.
///
/// # Errors
/// None that memory does not cause.
pub fn deflated(text: &[u8]) -> Result<AttributeValue> {
    finish(Compress::new(Compression::default(), false), text)
}

/// A short text as a binary attribute, deflated behind the dictionary.
///
/// # Errors
/// None that memory does not cause.
pub fn deflated_behind_dictionary(text: &[u8]) -> Result<AttributeValue> {
    let mut state = Compress::new(Compression::default(), false);
    // The dictionary is deflated up to the border of a byte, and left out: `inflated` knows it.
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

/// The text of a binary attribute that [`deflated`] or [`deflated_behind_dictionary`] has made.
///
/// # Errors
/// A permanent `Internal` if the attribute is none.
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

/// A text as a block of a deflated stream that more follow, as RFC 1951 has them for what is not compressed.
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
    fn the_dictionary_is_the_one_that_rows_were_written_with() {
        assert_eq!(
            crc32fast::hash(DICTIONARY),
            1_839_673_135,
            "what is stored refers to it"
        );
        assert!(u16::try_from(DICTIONARY.len()).is_ok());
    }
}

//! The size of a value as JSON.

use std::io;

use serde::Serialize;

use crate::error::{Error, Result};

/// The size of a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Its length in bytes.
    pub bytes: usize,
    /// Its length as a string inside another JSON text, where each quotation mark and backslash has two bytes: a Lambda function returns
    /// the body of its response in this form.
    pub escaped: usize,
}

impl Size {
    /// Returns the size of a value, without building its text.
    ///
    /// # Errors
    /// `Internal` if the value has no JSON representation.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let mut size = Self::default();
        serde_json::to_writer(&mut size, value).map_err(Error::internal)?;
        Ok(size)
    }

    /// Returns the size of an existing text.
    pub fn of_text(text: &[u8]) -> Self {
        let twice = text.iter().filter(|byte| matches!(byte, b'"' | b'\\'));
        Self {
            bytes: text.len(),
            escaped: text.len() + twice.count(),
        }
    }
}

impl io::Write for Size {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let more = Self::of_text(text);
        self.bytes += more.bytes;
        self.escaped += more.escaped;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_that_of_the_text_and_of_the_text_in_a_string() {
        let value = serde_json::json!({"a": "say \"ü\" \\ \u{1}", "b": [1, null]});
        let text = serde_json::to_string(&value).unwrap();
        let quoted = serde_json::to_string(&text).unwrap();
        let want = Size {
            bytes: text.len(),
            escaped: quoted.len() - 2,
        };
        assert_eq!(Size::of(&value).unwrap(), want);
        assert_eq!(Size::of_text(text.as_bytes()), want);
    }
}

//! Texts in a form that documents can contain.

use unicode_normalization::UnicodeNormalization as _;

/// Returns a text after [`clean`], if anything remains of it.
pub(crate) fn cleaned(value: Option<&String>) -> Option<String> {
    value
        .map(|value| clean(value))
        .filter(|value| !value.is_empty())
}

/// Returns a text without characters that XML cannot contain, with single spaces, and with composed letters (NFC), which fonts have.
pub(crate) fn clean(text: &str) -> String {
    let is_forbidden =
        |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    let words = text
        .split(|letter: char| is_forbidden(letter) || letter.is_whitespace() && letter != '\u{a0}');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").trim().nfc().collect()
}

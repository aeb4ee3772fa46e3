//! Search: finds objects by the beginnings of their names, addresses, plates and numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use utoipa::ToSchema;

use kernel::{Id, Kind};

/// The member of an object by which a search has found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchField {
    Email,
    Name,
    Number,
    RegistrationPlate,
    Vin,
}

/// The objects that a search finds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Search {
    pub object: Kind,
    /// The first 10 objects, in the order of the texts by which they are found.
    pub data: Vec<SearchResult>,
    /// The text that was searched for.
    pub query: String,
}

/// An object that a search has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SearchResult {
    /// Id of the object.
    pub id: Id,
    /// The member whose value, or a word of it, begins with the text.
    pub matched: SearchField,
    /// A vehicle's registration plate, the number of an invoice or credit note, and the name of any other object.
    pub title: String,
    /// The kind of the object.
    #[serde(rename = "type")]
    pub kind: SearchResultType,
}

/// The kinds of objects that can be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchResultType {
    CreditNote,
    Driver,
    Fleet,
    Invoice,
    Site,
    Vehicle,
}

impl SearchResultType {
    /// The kinds of objects that can be searched for.
    pub const KINDS: [Kind; 6] = [
        Kind::CreditNote,
        Kind::Driver,
        Kind::Fleet,
        Kind::Invoice,
        Kind::Site,
        Kind::Vehicle,
    ];

    /// Returns the search result type of a kind; none if the kind cannot be searched for.
    pub fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::CreditNote => Self::CreditNote,
            Kind::Driver => Self::Driver,
            Kind::Fleet => Self::Fleet,
            Kind::Invoice => Self::Invoice,
            Kind::Site => Self::Site,
            Kind::Vehicle => Self::Vehicle,
            _ => return None,
        })
    }
}

/// The maximum number of objects that a search returns.
pub const MOST_RESULTS: usize = 10;
/// The number of letters and digits of a text that are compared.
const MOST_LETTERS: usize = 64;
/// The number of words of a name at which a match may begin.
const MOST_WORDS: usize = 4;
/// The maximum number of texts by which an object is found: the words of a name, and an e-mail address.
pub const MOST_TEXTS: usize = MOST_WORDS + 1;

/// Returns the form of a text in which searches compare it: its letters and digits in lowercase, and the other characters that e-mail
/// addresses have. `AB12 CDE` and `ab-12cde` are the same, and so are the composed and the decomposed form of a letter with an accent.
pub fn compared(text: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '@' | '.' | '_' | '+');
    let letters = text.nfc().flat_map(char::to_lowercase);
    letters.filter(kept).take(MOST_LETTERS).collect()
}

/// Returns the texts by which an object is found, in the form in which they are compared, each with the member that it comes from. A name
/// is found by the beginning of each of its first words.
pub fn entries(names: &[(SearchField, &str)]) -> BTreeMap<String, SearchField> {
    let texts = names.iter().flat_map(|(field, text)| {
        let words = match field {
            SearchField::Name => MOST_WORDS,
            _ => 1,
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let starts = 0..parts.len().min(words);
        starts
            .map(|first| (compared(&parts[first..].concat()), *field))
            .collect::<Vec<_>>()
    });
    texts.filter(|(text, _)| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_by_letters_and_digits() {
        for plate in ["AB12 CDE", "ab-12-cde", " Ab12cdE"] {
            assert_eq!(compared(plate), "ab12cde");
        }
        assert_eq!(
            compared("Ada.Byron+x@Fleet.example"),
            "ada.byron+x@fleet.example"
        );
        assert_eq!(compared("ÅSE #|"), "åse");
        // An accent that is a character of its own.
        assert_eq!(compared("Cafe\u{301} A\u{30a}se"), "caféåse");
        assert_eq!(compared(&"x".repeat(200)).len(), MOST_LETTERS);
    }

    #[test]
    fn a_name_is_found_by_each_of_its_words() {
        let found = entries(&[
            (SearchField::Name, "Ada  King Byron-Lovelace"),
            (SearchField::Email, "ada@fleet.example"),
        ]);
        let found: Vec<_> = found
            .iter()
            .map(|(text, field)| (text.as_str(), *field))
            .collect();
        assert_eq!(
            found,
            [
                ("ada@fleet.example", SearchField::Email),
                ("adakingbyronlovelace", SearchField::Name),
                ("byronlovelace", SearchField::Name),
                ("kingbyronlovelace", SearchField::Name),
            ]
        );
        assert_eq!(entries(&[(SearchField::Name, "- - -")]), BTreeMap::new());
    }
}

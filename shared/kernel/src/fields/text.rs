//! Strings with rules: a value of one of these types has been checked.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

macro_rules! checked_string {
    ($name:ident $(<const $max:ident: usize>)?) => {
        impl $(<const $max: usize>)? $name $(<$max>)? {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $(<const $max: usize>)? From<$name $(<$max>)?> for String {
            fn from(text: $name $(<$max>)?) -> Self {
                text.0
            }
        }
    };
}

pub(super) use checked_string;

/// Removes the characters that no reader sees: zero-width spaces, soft hyphens, and marks that change the direction of the text after
/// them, with which two different names look the same. The joiners of scripts and emoji (U+200C, U+200D) are kept.
fn visible(mut text: String) -> String {
    let is_invisible = |c| {
        matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        ) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
    };
    text.retain(|c| !is_invisible(c));
    text
}

/// A text of 1 to `MAX` characters that is not all blank, without invisible characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Text<const MAX: usize>(String);
checked_string!(Text<const MAX: usize>);

/// A display name.
pub type Name = Text<256>;
/// A free description.
pub type Description = Text<1000>;
/// A telephone number in the notation of its owner.
pub type Phone = Text<64>;

impl<const MAX: usize> TryFrom<String> for Text<MAX> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = visible(text);
        let is_blank = |c: char| c.is_whitespace() || matches!(c, '\u{200c}' | '\u{200d}');
        if text.chars().all(is_blank) {
            return Err("must not be empty".into());
        }
        if text.chars().count() > MAX {
            return Err(format!("must have at most {MAX} characters"));
        }
        Ok(Self(text))
    }
}

/// A text of 0 to `MAX` characters without invisible ones; empty means unset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Memo<const MAX: usize>(String);
checked_string!(Memo<const MAX: usize>);

impl<const MAX: usize> TryFrom<String> for Memo<MAX> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = visible(text);
        if text.chars().count() > MAX {
            return Err(format!("must have at most {MAX} characters"));
        }
        Ok(Self(text))
    }
}

/// An email address: one `@`, something on both sides, no blanks, at most 254 bytes (RFC 5321).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Email(String);
checked_string!(Email);

impl TryFrom<String> for Email {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let valid = text.split_once('@').is_some_and(|(local, domain)| {
            let host = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
            let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
            (1..=64).contains(&local.len())
                && text.len() <= 254
                && local.bytes().all(|b| b.is_ascii_graphic())
                && domain.bytes().all(host)
                && edge(domain.as_bytes().first())
                && edge(domain.as_bytes().last())
        });
        if valid {
            Ok(Self(text))
        } else {
            Err("expected an email address")
        }
    }
}

/// The name of a time zone in the IANA database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ZoneName(String);
checked_string!(ZoneName);

impl ZoneName {
    pub fn utc() -> Self {
        Self("UTC".into())
    }

    /// Returns the rules of the zone. A checked name always has some.
    pub fn rules(&self) -> TimeZone {
        TimeZone::get(&self.0).unwrap_or(TimeZone::UTC)
    }
}

impl TryFrom<String> for ZoneName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected an IANA time zone such as Europe/London";
        let zone = TimeZone::get(&text).map_err(|_| SHAPE)?;
        match zone.iana_name() {
            Some(name) if name.eq_ignore_ascii_case(&text) => Ok(Self(name.to_owned())),
            _ => Err(SHAPE),
        }
    }
}

/// An address for deliveries: an absolute URL of at most 2048 characters without user information. Whether `http` is permitted depends on
/// where the service runs, so other code checks the scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct WebUrl(String);
checked_string!(WebUrl);

impl WebUrl {
    /// Returns the address in its parts. A checked address always has them.
    pub fn parts(&self) -> Option<url::Url> {
        url::Url::parse(&self.0).ok()
    }
}

impl TryFrom<String> for WebUrl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.len() > 2048 {
            return Err("must have at most 2048 characters");
        }
        // Programs interpret these characters, and with them the host, in different ways.
        if text
            .bytes()
            .any(|byte| byte <= b' ' || matches!(byte, b'\\' | 0x7f))
        {
            return Err("must not have blanks, control characters or backslashes");
        }
        let url = url::Url::parse(&text).map_err(|_| "expected an absolute https URL")?;
        if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
            return Err("expected an absolute https URL");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not carry a user name or password");
        }
        Ok(Self(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email(text: &str) -> bool {
        Email::try_from(text.to_owned()).is_ok()
    }

    #[test]
    fn an_email_address_has_two_sides_and_no_blanks() {
        assert!(email("ops@fleet.example"));
        assert!(email("a+b@localhost"));
        for wrong in [
            "",
            "ops",
            "@fleet.example",
            "ops@",
            "o ps@fleet.example",
            "ops@fleet example",
            "a@b@c",
            "ops@-a.b",
        ] {
            assert!(!email(wrong), "{wrong}");
        }
        assert!(!email(&format!("{}@x.example", "a".repeat(65))));
    }

    #[test]
    fn an_email_address_has_at_most_254_characters() {
        let address = |local: usize, domain: usize| {
            let labels = "d".repeat(49) + ".";
            let domain: String = labels.chars().cycle().take(domain - 1).collect();
            format!("{}@{domain}e", "a".repeat(local))
        };
        for (local, domain, is_valid) in [
            (1, 252, true),
            (62, 190, true),
            (64, 189, true),
            (1, 253, false),
            (64, 190, false),
            (65, 188, false),
        ] {
            let address = address(local, domain);
            assert_eq!(email(&address), is_valid, "{} {address}", address.len());
        }
    }

    #[test]
    fn a_time_zone_is_one_of_the_database() {
        assert_eq!(
            ZoneName::try_from("europe/london".to_owned())
                .unwrap()
                .as_str(),
            "Europe/London"
        );
        assert!(ZoneName::try_from("UTC".to_owned()).is_ok());
        for wrong in ["", "Mars/Olympus", "+01:00", "../etc/passwd"] {
            assert!(ZoneName::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_for_deliveries_is_absolute_and_anonymous() {
        assert!(WebUrl::try_from("https://fleet.example/hooks".to_owned()).is_ok());
        for wrong in [
            "",
            "/hooks",
            "ftp://fleet.example",
            "https://me:secret@fleet.example/",
            "https://",
            "https:\\\\fleet.example",
            "https://fleet.example\\@10.0.0.1/",
            " https://fleet.example",
            "https://fleet\n.example",
        ] {
            assert!(WebUrl::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn invisible_characters_are_removed_from_a_text() {
        let shown = |text: &str| Text::<8>::try_from(text.to_owned()).map(String::from);
        let read = shown("N\u{200b}orth\u{202e}\u{feff}");
        assert_eq!(read.as_deref(), Ok("North"));
        for blank in ["\u{200b}", " \u{2066}\u{2069} ", "\u{200d}\u{200c}"] {
            assert!(shown(blank).is_err(), "{blank:?}");
        }
        // Persian words and emoji have joiners.
        for kept in ["می\u{200c}خواهم", "👩\u{200d}🔧"] {
            assert_eq!(shown(kept).as_deref(), Ok(kept));
        }
        let memo = Memo::<8>::try_from("\u{200b}".to_owned()).map(String::from);
        assert_eq!(memo.as_deref(), Ok(""));
    }

    #[test]
    fn a_text_is_counted_in_characters() {
        assert!(Text::<3>::try_from("äöü".to_owned()).is_ok());
        assert!(Text::<3>::try_from("abcd".to_owned()).is_err());
        assert!(Text::<3>::try_from("  ".to_owned()).is_err());
    }
}

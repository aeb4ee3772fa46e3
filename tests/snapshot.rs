//! Whole responses, compared with files in `tests/api/snapshots`. Values that differ between runs are replaced before:
//!
//! | In a response | In its snapshot |
//! |---|---|
//! | an id, also within a longer text | the prefix of its kind and a number, in the order of appearance: equal ids stay equal |
//! | a time or date within 100 days of the start of the test, also within a longer text | the minutes or days since then, so that other times, such as those of fixtures, stay |
//! | the port of a service on this machine | `{port}` |
//! | a member named `secret` or `token` | `{secret}` |
//!
//! The clock of a test continues to run, so minutes are rounded to the nearest one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kernel::Timestamp;
use serde_json::{Map, Value};

use crate::TestApp;

/// The number of hexadecimal digits of an id.
const DIGITS: usize = 32;
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;
const NEAR: i64 = 100 * DAY;

impl TestApp {
    /// Compares a value with the snapshot of this name.
    ///
    /// # Panics
    /// The snapshot is missing or different.
    #[track_caller]
    pub fn snapshot(&self, name: &str, value: &Value) {
        let mut redaction = Redaction {
            started: self.started,
            ids: Vec::new(),
        };
        let redacted = redaction.redact(value);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/api/snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let compare = || settings.bind(|| insta::assert_json_snapshot!(name, redacted));
        if catch_unwind(AssertUnwindSafe(compare)).is_err() {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or_default();
            panic!(
                "the snapshot `{name}` is missing or different; if the response is right, \
                 `INSTA_UPDATE=always cargo test --workspace --test api {test}` writes it anew"
            );
        }
    }
}

struct Redaction {
    /// The initial time of the test's clock.
    started: Timestamp,
    /// The ids in the order of appearance.
    ids: Vec<String>,
}

impl Redaction {
    fn redact(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.redact(item)).collect(),
            Value::Object(members) => {
                let redacted = members.iter().map(|(name, member)| {
                    let redacted = match (name.as_str(), member) {
                        ("secret" | "token", Value::String(_)) => "{secret}".into(),
                        _ => self.redact(member),
                    };
                    (name.clone(), redacted)
                });
                Value::Object(redacted.collect::<Map<_, _>>())
            }
            Value::String(text) => {
                let words = text.split(' ').map(|word| self.word(word));
                words.collect::<Vec<_>>().join(" ").into()
            }
            other => other.clone(),
        }
    }

    fn word(&mut self, text: &str) -> String {
        if let Ok(time) = Timestamp::parse(text) {
            let since = time.unix_millis() - self.started.unix_millis();
            return if since.abs() < NEAR {
                format!("start{:+} min", (since + MINUTE / 2).div_euclid(MINUTE))
            } else {
                text.to_owned()
            };
        }
        if let Ok(midnight) = Timestamp::parse(&format!("{text}T00:00:00Z")) {
            let days = |time: Timestamp| time.unix_millis().div_euclid(DAY);
            let since = days(midnight) - days(self.started);
            return if since.abs() < NEAR / DAY {
                format!("start{since:+} days")
            } else {
                text.to_owned()
            };
        }
        self.ids(&without_port(text))
    }

    /// The text with the number of each id instead of its digits.
    fn ids(&mut self, text: &str) -> String {
        let mut redacted = String::new();
        let mut rest = text;
        while let Some(place) = rest.find('_') {
            let (before, after) = rest.split_at(place + 1);
            redacted += before;
            rest = after;
            let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
            let prefix = before.trim_end_matches('_');
            let start = prefix.rfind(|c: char| !c.is_ascii_lowercase());
            let prefix = &prefix[start.map_or(0, |start| start + 1)..];
            if digits == DIGITS && !prefix.is_empty() {
                let (digits, after) = after.split_at(DIGITS);
                redacted += &self.number(prefix, digits).to_string();
                rest = after;
            }
        }
        redacted + rest
    }

    fn number(&mut self, prefix: &str, digits: &str) -> usize {
        let id = format!("{prefix}_{digits}");
        if !self.ids.contains(&id) {
            self.ids.push(id.clone());
        }
        let of_kind = |known: &&String| {
            known
                .split_once('_')
                .is_some_and(|(kind, _)| kind == prefix)
        };
        let mut of_kind = self.ids.iter().filter(of_kind);
        1 + of_kind.position(|known| *known == id).unwrap_or_default()
    }
}

fn without_port(text: &str) -> String {
    const HOST: &str = "http://127.0.0.1:";
    match text.split_once(HOST) {
        Some((before, after)) => {
            let path = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}{HOST}{{port}}{path}")
        }
        None => text.to_owned(),
    }
}

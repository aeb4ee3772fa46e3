//! Versions of the API, by date. All code uses the current version. For each older version there is one [`VersionChange`] that maps the
//! payloads of the next version to it and back; a request, an event or a delivery in an old version passes through all changes in turn.

use serde_json::{Map, Value};

use jiff::civil::Date;

use crate::error::{Error, Result};

/// The current version, which is also that of new accounts.
pub const CURRENT: &str = "2026-03-01";

/// The header with the requested version, and with the version of a response.
pub const HEADER: &str = "service-version";

/// The number of years for which a version is served after it was replaced.
const KEPT_YEARS: i16 = 2;

/// The dates of a replaced version, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retirement {
    /// The day on which another version replaced it.
    replaced: Date,
    /// The first day on which it may be refused.
    sunset: Date,
}

impl Retirement {
    /// Returns the header `Deprecation` (RFC 9745): the date of the replacement.
    pub fn deprecation(&self) -> String {
        let days = self.replaced - Date::constant(1970, 1, 1);
        format!("@{}", i64::from(days.get_days()) * 86_400)
    }

    /// Returns the header `Sunset` (RFC 8594): the first day on which the version may be refused.
    pub fn sunset(&self) -> String {
        self.sunset
            .strftime("%a, %d %b %Y 00:00:00 GMT")
            .to_string()
    }
}

/// The change that replaced an older version.
#[derive(Debug, Clone, Copy)]
pub struct VersionChange {
    /// The version before the change: `YYYY-MM-DD`.
    pub older: &'static str,
    /// Converts an object of this type from the form after the change into the form before it.
    pub downgrade: fn(&str, &mut Map<String, Value>),
    /// Converts the body of the route with this name from the form before the change into the form after it.
    pub upgrade: fn(&str, &mut Map<String, Value>),
}

/// The versions that are served.
#[derive(Debug, Clone, Default)]
pub struct Versions(Vec<VersionChange>);

impl Versions {
    /// Returns the current version, and these before it, the oldest first.
    pub fn before_current(changes: Vec<VersionChange>) -> Self {
        Self(changes)
    }

    pub fn exists(&self, version: &str) -> bool {
        version == CURRENT || self.0.iter().any(|change| change.older == version)
    }

    /// Checks that a version exists.
    ///
    /// # Errors
    /// 400 with that parameter if it does not.
    pub fn existing(&self, version: &str, param: &str) -> Result<()> {
        if self.exists(version) {
            Ok(())
        } else {
            Err(Error::invalid(param, "no such version"))
        }
    }

    /// Returns when a version was replaced and how long it is served; `None` for the current one.
    pub fn retirement(&self, version: &str) -> Option<Retirement> {
        let place = self.0.iter().position(|change| change.older == version)?;
        let next = self.0.get(place + 1).map_or(CURRENT, |next| next.older);
        let replaced: Date = next.parse().ok()?;
        let kept = jiff::Span::new().years(KEPT_YEARS);
        let sunset = replaced.checked_add(kept).ok()?;
        Some(Retirement { replaced, sunset })
    }

    /// Returns the changes after a version, the newest first.
    fn since(&self, version: &str) -> impl DoubleEndedIterator<Item = &VersionChange> {
        self.0
            .iter()
            .rev()
            .filter(move |change| change.older >= version)
    }

    /// Converts a payload of one version into an older one, objects inside objects too. If the target is not older, the payload is
    /// unchanged.
    pub fn downgrade(&self, payload: &mut Value, from: &str, to: &str) {
        let changes: Vec<_> = self
            .since(to)
            .filter(|change| change.older < from)
            .collect();
        if !changes.is_empty() {
            downgrade(payload, &changes);
        }
    }

    /// Converts a body of a version into one of the current version.
    pub fn upgrade(&self, route: &str, body: &mut Map<String, Value>, from: &str) {
        for change in self.since(from).rev() {
            (change.upgrade)(route, body);
        }
    }
}

fn downgrade(payload: &mut Value, changes: &[&VersionChange]) {
    match payload {
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| downgrade(entry, changes)),
        Value::Object(members) => {
            let kind = members
                .get("object")
                .and_then(Value::as_str)
                .map(str::to_owned);
            for (name, member) in members.iter_mut() {
                // The snapshot in an event has the version of the event.
                if !(kind.as_deref() == Some(crate::Kind::Event.name()) && name == "data") {
                    downgrade(member, changes);
                }
            }
            if let Some(kind) = kind {
                changes
                    .iter()
                    .for_each(|change| (change.downgrade)(&kind, members));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rename(members: &mut Map<String, Value>, from: &str, to: &str) {
        if let Some(value) = members.remove(from) {
            members.insert(to.to_owned(), value);
        }
    }

    /// `title` became `name`, which became `label`.
    fn versions() -> Versions {
        Versions::before_current(vec![
            VersionChange {
                older: "2024-01-01",
                downgrade: |_, members| rename(members, "name", "title"),
                upgrade: |_, body| rename(body, "title", "name"),
            },
            VersionChange {
                older: "2025-01-01",
                downgrade: |_, members| rename(members, "label", "name"),
                upgrade: |_, body| rename(body, "name", "label"),
            },
        ])
    }

    #[test]
    fn a_version_is_served_for_two_years_after_it_was_replaced() {
        let headers = |version| {
            let retirement = versions().retirement(version)?;
            Some((retirement.deprecation(), retirement.sunset()))
        };
        let both =
            |deprecation: &str, sunset: &str| Some((deprecation.to_owned(), sunset.to_owned()));
        let first = both("@1735689600", "Fri, 01 Jan 2027 00:00:00 GMT");
        assert_eq!(headers("2024-01-01"), first);
        let second = both("@1772323200", "Wed, 01 Mar 2028 00:00:00 GMT");
        assert_eq!(headers("2025-01-01"), second);
        assert_eq!(headers(CURRENT), None);
    }

    #[test]
    fn a_payload_goes_back_through_every_change() {
        let now = json!({"data": [{"object": "fleet", "label": "a", "driver": {"object": "driver", "label": "b"}}]});
        let shown = |from: &str, to: &str| {
            let mut payload = now.clone();
            versions().downgrade(&mut payload, from, to);
            payload
        };
        assert_eq!(shown(CURRENT, CURRENT), now);
        let last = json!({"data": [{"object": "fleet", "name": "a", "driver": {"object": "driver", "name": "b"}}]});
        assert_eq!(shown(CURRENT, "2025-01-01"), last);
        let first = json!({"data": [{"object": "fleet", "title": "a", "driver": {"object": "driver", "title": "b"}}]});
        assert_eq!(shown(CURRENT, "2024-01-01"), first);
        // An old payload is not changed by earlier changes.
        assert_eq!(shown("2025-01-01", "2025-01-01"), now);
    }

    #[test]
    fn a_body_comes_forward_through_every_change() {
        for (version, member) in [
            ("2024-01-01", "title"),
            ("2025-01-01", "name"),
            (CURRENT, "label"),
        ] {
            let mut body = Map::from_iter([(member.to_owned(), json!("a"))]);
            versions().upgrade("create-fleet", &mut body, version);
            assert_eq!(Value::Object(body), json!({"label": "a"}), "{version}");
        }
        assert!(versions().exists("2024-01-01") && !versions().exists("2023-01-01"));
    }

    #[test]
    fn the_snapshot_of_an_event_keeps_its_version() {
        let mut event = json!({"object": "event", "label": "e", "data": {"object": {"object": "fleet", "label": "a"}}});
        versions().downgrade(&mut event, CURRENT, "2025-01-01");
        assert_eq!(
            event,
            json!({"object": "event", "name": "e", "data": {"object": {"object": "fleet", "label": "a"}}})
        );
    }
}

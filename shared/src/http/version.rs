//! Versions of the interface, by date. A newer version comes with a small module that maps its payloads to the older.

/// The version requests, events and endpoints have unless they ask for another.
pub const CURRENT: &str = "2026-03-01";

/// Every version there is, the oldest first.
pub const ALL: &[&str] = &[CURRENT];

/// The header that asks for a version, and tells which was used.
pub const HEADER: &str = "service-version";

pub fn exists(version: &str) -> bool {
    ALL.contains(&version)
}

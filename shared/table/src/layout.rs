//! The layout of items, and its versions.
//!
//! Every item has the attribute `schema` with the version of the layout in which it was written. A release reads the items of every version
//! up to its own: it upgrades an item of an older version before it reads it. A newer version may only add attributes, and members of
//! `object` and `internal`, so that the functions of two releases can run concurrently on one table during a deployment or a rollback: the
//! older release ignores attributes that are new. When it replaces such an item, it keeps the ignored attributes, and writes their version
//! to `kept`. The newer release then derives its additions again, because their source may have changed.
//!
//! A value that is new, such as a status or a type of event, cannot be ignored: the older release cannot read the object. So a release
//! that reads the value comes before the one that writes it, and the latter writes a newer version: the relay of an older release that
//! cannot read such an item leaves it to the newer release for an hour.
//!
//! Updates of single attributes do not change the others. `tests/golden/` contains an item of each kind in each version.

use super::item::{Item, key_item, n, number};
use super::keys::Key;
use kernel::Kind;

/// The version in which this release writes items.
pub const VERSION: u32 = 1;

/// The attribute with the version in which an item is written.
pub const SCHEMA: &str = "schema";

/// The attribute with the version of the additional content of an item, written by a newer release.
pub(super) const KEPT: &str = "kept";

/// The layout that a release reads and writes.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub version: u32,
    /// Converts an item of an earlier version, which is passed, into one of this version. Values that a newer release has derived may be in
    /// the item already: they are derived again. Lists read only `object` and `schema` of an item, so values that are derived from
    /// `internal` must not be in `object`.
    pub upgrade: fn(Kind, u32, &mut Item),
}

impl Layout {
    /// The layout of this release.
    pub const CURRENT: Self = Self {
        version: VERSION,
        upgrade: |_, _, _| {},
    };

    /// Converts an item that was read into one of this version.
    pub(super) fn upgraded(self, kind: Kind, mut item: Item) -> Item {
        let version = version_of(&item);
        if version < self.version {
            (self.upgrade)(kind, version, &mut item);
        }
        item
    }

    /// Converts an item that is to be written, which this build makes in its own version, into one of this version.
    pub(super) fn finish(self, kind: Kind, item: &mut Item) {
        if self.version > VERSION {
            (self.upgrade)(kind, VERSION, item);
            item.insert(SCHEMA.into(), n(self.version));
        }
    }

    /// Returns the version of the content of an item that a release of this layout ignores, if that version is newer.
    pub(super) fn newer(self, item: &Item) -> Option<u32> {
        let kept = number(item, KEPT).try_into().unwrap_or(0);
        Some(version_of(item).max(kept)).filter(|newest| *newest > self.version)
    }
}

/// Returns the attributes that every item begins with: its key, and the version of the layout that it is written in.
pub(super) fn new_item(key: Key<'_>) -> Item {
    let mut item = key_item(key);
    item.insert(SCHEMA.into(), n(VERSION));
    item
}

/// Returns the version in which an item was written.
fn version_of(item: &Item) -> u32 {
    number(item, SCHEMA).try_into().unwrap_or(0)
}

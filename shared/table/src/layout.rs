//! The layout of rows, and its versions.
//!
//! Every row carries in `schema` the version of the layout in which it was written. A release reads the rows of every version
//! up to its own: it upgrades the item of an older version before it reads it. A newer version may only add attributes, and
//! members of `object` and `internal`, so that the functions of two releases can run side by side on one table while a deployment
//! is under way or rolled back: the older release ignores what it does not know. When it replaces such a row it keeps what it
//! ignored, and notes in `kept` which version that is of; the newer release then derives anew what it has added, because what it
//! was derived from may have changed.
//!
//! Updates of single attributes leave the others as they are. `tests/golden/` has a row of each kind in each version.

use super::item::{Item, key_item, n, number};
use super::keys::Key;
use kernel::id::Kind;

/// The version in which this release writes rows.
pub const VERSION: u32 = 1;

/// The attribute with the version in which a row is written.
pub const SCHEMA: &str = "schema";

/// The attribute with the version of what a row holds besides, written by a newer release.
pub(super) const KEPT: &str = "kept";

/// The layout that a release reads and writes.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub version: u32,
    /// Turns an item that was written in an earlier version, which is given, into one of this version. What a newer release
    /// has derived may be in it already: it is derived anew. Lists read no more than `object` and `schema` of an item, so what is
    /// derived from `internal` must not go into `object`.
    pub upgrade: fn(Kind, u32, &mut Item),
}

impl Layout {
    /// That of this release.
    pub const CURRENT: Self = Self {
        version: VERSION,
        upgrade: |_, _, _| {},
    };

    /// Turns an item that was read into one of this version.
    pub(super) fn upgraded(self, kind: Kind, mut item: Item) -> Item {
        let version = version_of(&item);
        if version < self.version {
            (self.upgrade)(kind, version, &mut item);
        }
        item
    }

    /// Turns an item that is to be written, which this build makes in its own version, into one of this version.
    pub(super) fn finish(self, kind: Kind, item: &mut Item) {
        if self.version > VERSION {
            (self.upgrade)(kind, VERSION, item);
            item.insert(SCHEMA.into(), n(self.version));
        }
    }

    /// The version of what an item may hold that a release of this layout does not know, if it is a newer one.
    pub(super) fn newer(self, item: &Item) -> Option<u32> {
        let kept = number(item, KEPT).try_into().unwrap_or(0);
        Some(version_of(item).max(kept)).filter(|newest| *newest > self.version)
    }
}

/// The attributes that every row begins with: its key, and the version of the layout that it is written in.
pub(super) fn new_item(key: Key<'_>) -> Item {
    let mut item = key_item(key);
    item.insert(SCHEMA.into(), n(VERSION));
    item
}

/// The version in which an item was written.
fn version_of(item: &Item) -> u32 {
    number(item, SCHEMA).try_into().unwrap_or(0)
}

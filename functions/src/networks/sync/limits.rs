//! The limits of a pull: pages, objects, bytes and time.

use std::time::Duration;

use kernel::SignedDuration;
use kernel::time::hours;

/// The limits of what a pull may read, and of its duration. A large network fits in: half a million locations.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The maximum number of pages of a module.
    pub pages: u32,
    /// The maximum number of objects of a module.
    pub objects: u32,
    /// The maximum number of bytes of a module.
    pub bytes: u64,
    /// The maximum duration of the whole pull, including waits.
    pub duration: SignedDuration,
    /// The maximum duration of one run of the function, and of the page with which it ends.
    pub run: Duration,
    pub page: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pages: 10_000,
            objects: 500_000,
            bytes: 4 * 1024 * 1024 * 1024,
            duration: hours(6),
            run: Duration::from_secs(40),
            page: Duration::from_secs(15),
        }
    }
}

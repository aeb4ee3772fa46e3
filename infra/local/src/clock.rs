//! A clock that can be moved forward, and stays moved after a restart.

use std::sync::atomic::{AtomicI64, Ordering};

use functions::aws::SystemClock;
use kernel::time::{millis, whole_millis};
use kernel::{Result, Timestamp};
use models::ports::Clock;

use crate::files::{self, Folder};

#[derive(Debug)]
pub struct LocalClock {
    /// The time by which this clock is ahead of the system's clock, in milliseconds.
    ahead: AtomicI64,
    folder: Folder,
}

impl LocalClock {
    pub fn open(folder: &Folder) -> Result<Self> {
        let ahead = folder.read(files::CLOCK)?.unwrap_or(0);
        Ok(Self {
            ahead: AtomicI64::new(ahead),
            folder: folder.clone(),
        })
    }

    /// Moves the time forward to a moment; an earlier moment has no effect.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be written; the time is then unchanged.
    pub fn move_to(&self, moment: Timestamp) -> Result<()> {
        let ahead = whole_millis(moment.since(SystemClock.now()));
        let before = self.ahead.load(Ordering::SeqCst);
        self.folder.write(files::CLOCK, &before.max(ahead))?;
        self.ahead.fetch_max(ahead, Ordering::SeqCst);
        Ok(())
    }
}

impl Clock for LocalClock {
    fn now(&self) -> Timestamp {
        SystemClock
            .now()
            .plus(millis(self.ahead.load(Ordering::SeqCst)))
    }

    fn wall_clock(&self) -> Timestamp {
        SystemClock.now()
    }
}

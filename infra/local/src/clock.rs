//! A clock that can be moved forward, and stays moved over a restart.

use std::sync::atomic::{AtomicI64, Ordering};

use functions::aws::SystemClock;
use kernel::Timestamp;
use kernel::error::Result;
use kernel::time::{millis, whole_millis};
use models::ports::Clock;

use crate::files::{self, Folder};

#[derive(Debug)]
pub struct LocalClock {
    /// How far ahead of the system's clock this one is, in milliseconds.
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

    /// Moves the time to a moment; never back.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be written: the time is as it was.
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

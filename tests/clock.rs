//! A clock that does not advance until it is moved.

use std::sync::atomic::{AtomicI64, Ordering};

use kernel::time::whole_millis;
use kernel::{SignedDuration, Timestamp};
use models::ports::Clock;

pub struct Hand(AtomicI64);

impl Hand {
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.unix_millis()))
    }

    pub fn move_to(&self, now: Timestamp) {
        self.0.fetch_max(now.unix_millis(), Ordering::SeqCst);
    }

    pub fn move_by(&self, duration: SignedDuration) {
        self.0.fetch_add(whole_millis(duration), Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Ordering::SeqCst))
    }
}

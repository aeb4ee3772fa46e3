//! Limits how much one invocation of an operator's function reads. A pass over a large table takes longer than a function may run, so the
//! function returns a cursor when its time is over, and continues from there when it is invoked with that cursor.

use std::time::Duration;

use tokio::time::Instant;

/// The time-out of such functions, in seconds: the longest that Lambda offers.
pub const TIMEOUT: u32 = 900;

/// The time for reading pages. The rest of the time-out is for the last page, whose items may have to be written.
const READING: Duration = Duration::from_secs(600);

/// The remaining pages and time of an invocation.
#[derive(Debug)]
pub struct Budget {
    pages: Option<u32>,
    until: Instant,
}

impl Budget {
    /// A budget of `pages` pages, if that is given, and of as many as can be read in ten minutes.
    pub fn new(pages: Option<u32>) -> Self {
        Self {
            pages,
            until: Instant::now() + READING,
        }
    }

    /// Returns whether another page may be read, and counts it if so.
    pub fn spend(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        match &mut self.pages {
            Some(0) => false,
            Some(pages) => {
                *pages -= 1;
                true
            }
            None => true,
        }
    }
}

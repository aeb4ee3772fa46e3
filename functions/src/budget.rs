//! How much one invocation of an operator's function reads. A pass over a large table takes longer than a function may run, so
//! the function returns a cursor when its time is over, and continues from there when it is invoked with it.

use std::time::Duration;

use tokio::time::Instant;

/// The time-out of such functions, in seconds: the longest that Lambda offers.
pub const TIMEOUT: u32 = 900;

/// How long pages are read. The rest of the time-out is for the last page, whose rows may have to be written.
const READING: Duration = Duration::from_secs(600);

/// What an invocation may still read.
#[derive(Debug)]
pub struct Budget {
    pages: Option<u32>,
    until: Instant,
}

impl Budget {
    /// At most so many pages, if there is a limit, and as many as can be read in ten minutes.
    pub fn new(pages: Option<u32>) -> Self {
        Self {
            pages,
            until: Instant::now() + READING,
        }
    }

    /// Whether another page may be read, which is counted then.
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

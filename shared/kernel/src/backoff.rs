//! Pauses between repeated attempts.

use std::time::Duration;

use crate::error::{Error, Result};

/// Pauses that grow from attempt to attempt. The length of each is random, between half of its full length and all of it, so that callers
/// that failed together do not retry together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    factor: u32,
    longest: Duration,
}

impl Backoff {
    /// Returns pauses of which the first is at most `first`, each further one `factor` times as long, and none longer than `longest`.
    pub const fn new(first: Duration, factor: u32, longest: Duration) -> Self {
        Self {
            first,
            factor,
            longest,
        }
    }

    /// Waits after an attempt that failed. The first attempt is number 0.
    pub async fn pause(&self, attempt: u32) {
        let mut random = [0; 1];
        // Without randomness the pause has its full length.
        let part = getrandom::fill(&mut random).map_or(u8::MAX, |()| random[0]);
        tokio::time::sleep(self.length(attempt, part)).await;
    }

    /// Repeats `run` after collisions with concurrent changes, with `tries` attempts in all.
    ///
    /// # Errors
    /// The errors of `run`; `Contended` if every attempt collided.
    pub async fn after_collisions<T, F: Future<Output = Result<T>>>(
        &self,
        tries: u32,
        mut run: impl FnMut() -> F,
    ) -> Result<T> {
        for attempt in 0.. {
            match run().await {
                Err(Error::Contended) if attempt + 1 < tries => self.pause(attempt).await,
                ended => return ended,
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Returns the length of a pause: half of its full length, and `part` 255ths of the other half.
    fn length(&self, attempt: u32, part: u8) -> Duration {
        let factor = self.factor.saturating_pow(attempt);
        let whole = self.first.saturating_mul(factor).min(self.longest);
        whole / 2 + whole / 2 * u32::from(part) / u32::from(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_are_at_least_half_as_long() {
        let millis = Duration::from_millis;
        let backoff = Backoff::new(millis(10), 3, millis(100));
        for (attempt, whole) in [(0, 10), (1, 30), (2, 90), (3, 100), (1_000, 100)] {
            assert_eq!(backoff.length(attempt, 0), millis(whole) / 2);
            assert_eq!(backoff.length(attempt, u8::MAX), millis(whole));
        }
    }
}

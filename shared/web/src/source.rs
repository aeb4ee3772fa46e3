//! The addresses that requests come from, and the limit of refused requests of each.
//!
//! A request uses a token of the bucket of its address, and the token is returned once the key of the request was accepted. So requests
//! without a key, with a key that does not exist, and to paths that do not exist empty the bucket. While it is empty, the response to them
//! is 429, before a key is read from the table. A request whose key this instance has accepted within the last minute needs no token:
//! clients behind the same address are not affected.
//!
//! Buckets are in the memory of one instance, which counts by itself and writes nothing. They are token buckets, each stored as one moment
//! in time (generic cell rate algorithm), by the monotonic clock of the process.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use kernel::{Error, Result};

use super::rate_limit::RateLimitStatus;

/// The maximum number of addresses. If there are more, full buckets are forgotten, and all buckets if none is full.
const MAX_SOURCES: usize = 10_000;

/// The minimum number of tokens a second that a bucket regains, however few requests an account may send.
const LEAST_RATE: u32 = 25;

/// The address of a client: an IPv4 address, or the first 64 bits of an IPv6 address, because one client may have all addresses with these
/// bits. It is an extension of requests whose server has determined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

/// The buckets of the addresses that this instance has served.
#[derive(Debug)]
pub struct SourceLimiter {
    /// The time in which a bucket regains a token.
    token: Duration,
    /// The time in which an empty bucket becomes full.
    full: Duration,
    /// The time at which each bucket is full again.
    buckets: Mutex<HashMap<Source, Instant>>,
}

impl SourceLimiter {
    /// Returns buckets that regain `rate` tokens a second, at least 25, and contain twice as many.
    pub fn new(rate: u32) -> Self {
        let token = Duration::from_secs(1) / rate.max(LEAST_RATE);
        Self {
            token,
            full: Duration::from_secs(2),
            buckets: Mutex::default(),
        }
    }

    /// Uses a token of the bucket of an address. A request whose address is unknown needs none.
    ///
    /// # Errors
    /// 429 if the bucket is empty.
    pub fn take(&self, source: Option<Source>, now: Instant) -> Result<()> {
        let Some(source) = source else {
            return Ok(());
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_SOURCES && !buckets.contains_key(&source) {
            buckets.retain(|_, full_at| *full_at > now);
            if buckets.len() >= MAX_SOURCES {
                buckets.clear();
            }
        }
        let full_at = buckets.entry(source).or_insert(now);
        let next = (*full_at).max(now) + self.token;
        let wait = next.duration_since(now).saturating_sub(self.full);
        if !wait.is_zero() {
            return Err(Error::RateLimited {
                retry_after: wait.as_secs() + 1,
            });
        }
        *full_at = next;
        Ok(())
    }

    /// Returns the status of the bucket of an address, without using a token.
    pub fn status(&self, source: Option<Source>, now: Instant) -> RateLimitStatus {
        let tokens = |time: Duration| (time.as_nanos() / self.token.as_nanos()) as i64;
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full_at = source.and_then(|source| buckets.get(&source));
        let wait = full_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        RateLimitStatus {
            limit: tokens(self.full),
            remaining: tokens(self.full.saturating_sub(wait)),
            reset: wait.as_millis().div_ceil(1000) as i64,
        }
    }

    /// Returns a used token to its bucket.
    pub fn give_back(&self, source: Option<Source>) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = source.and_then(|source| buckets.get_mut(&source)) {
            *full_at = full_at.checked_sub(self.token).unwrap_or(*full_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(address: &str) -> Option<Source> {
        Some(Source::from(address.parse::<IpAddr>().unwrap()))
    }

    #[test]
    fn a_bucket_holds_two_seconds_and_regains_a_token_at_a_time() {
        let (limiter, now) = (SourceLimiter::new(50), Instant::now());
        let client = source("192.0.2.1");
        for _ in 0..100 {
            limiter.take(client, now).unwrap();
        }
        let refused = limiter.take(client, now).unwrap_err();
        assert!(matches!(refused, Error::RateLimited { retry_after: 1 }));
        let status = |remaining, reset| RateLimitStatus {
            limit: 100,
            remaining,
            reset,
        };
        assert_eq!(limiter.status(client, now), status(0, 2));
        assert_eq!(limiter.status(None, now), status(100, 0));
        limiter.take(source("192.0.2.2"), now).unwrap();
        assert_eq!(limiter.status(source("192.0.2.2"), now), status(99, 1));
        limiter.take(None, now).unwrap();
        let later = now + Duration::from_millis(20);
        limiter.take(client, later).unwrap();
        assert!(limiter.take(client, later).is_err());
        limiter.give_back(client);
        limiter.take(client, later).unwrap();
        assert!(limiter.take(client, later).is_err());
    }

    #[test]
    fn an_ipv6_address_counts_by_its_first_64_bits() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:0:0:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
    }

    #[test]
    fn the_memory_of_addresses_is_bounded() {
        let (limiter, now) = (SourceLimiter::new(50), Instant::now());
        for number in 0..3 * MAX_SOURCES {
            let address = Ipv6Addr::from_bits((number as u128) << 64);
            let source = Some(Source::from(IpAddr::from(address)));
            limiter.take(source, now).unwrap();
            assert!(limiter.buckets.lock().unwrap().len() <= MAX_SOURCES);
        }
    }
}

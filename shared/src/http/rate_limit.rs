//! The rate of requests: a token bucket per tenant, kept as one moment in time (generic cell rate algorithm). Each
//! instance counts by itself and reports to the table once for many requests, so that instances learn of each other at small
//! cost.
//!
//! A request takes from the bucket of its account and from those of all accounts above it, and is let through only if none of
//! them is empty: an account and all accounts below it together send no more than one account may. In memory that costs
//! next to nothing; each bucket is reported to the table as rarely as before, so a request of a child costs at most twice the
//! small share of a write that any request costs, and nothing while requests are slow.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::origin::{Mode, Tenant};
use crate::settings::Rates;
use crate::store::Store;
use crate::time::Timestamp;

/// The content of the `RateLimit-…` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// What a full bucket holds.
    pub limit: i64,
    pub remaining: i64,
    /// Seconds until the bucket is full again.
    pub reset: i64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Bucket {
    /// When the bucket is full again, in microseconds, as the table last said.
    shared: i64,
    /// The same with what this instance has let through since.
    full_at: i64,
    /// Requests let through that are not reported to the table yet.
    unreported: i64,
}

/// What is reported to the table about a bucket.
#[derive(Debug)]
struct BucketReport {
    tenant: Tenant,
    /// How much was taken, in microseconds of refilling.
    micros: i64,
    /// When the bucket was to be full again, as the table last said.
    known: i64,
}

/// The buckets of the tenants this instance has met.
#[derive(Debug)]
pub struct RateLimiter {
    rates: Rates,
    buckets: Mutex<HashMap<Tenant, Bucket>>,
}

/// How many tenants are remembered; beyond that, full buckets are forgotten.
const MAX_BUCKETS: usize = 10_000;

impl RateLimiter {
    pub fn new(rates: Rates) -> Self {
        Self {
            rates,
            buckets: Mutex::default(),
        }
    }

    /// Lets one request of an account through, or not. `lineage` is the account and the accounts above it. Also says how
    /// much to report to the table about which bucket, when that is due.
    fn take(
        &self,
        lineage: &[Tenant],
        now: Timestamp,
    ) -> Result<(RateLimitStatus, Vec<BucketReport>)> {
        let mode = lineage.first().map_or(Mode::Test, |tenant| tenant.mode);
        let rate = self.rates.of(mode);
        let (cost, now) = (1_000_000 / rate, now.unix_millis() * 1000);
        let mut buckets = self
            .buckets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() > MAX_BUCKETS {
            buckets.retain(|_, bucket| bucket.full_at > now);
        }
        let emptiest = lineage.iter().filter_map(|tenant| buckets.get(tenant));
        let emptiest = emptiest.map(|bucket| bucket.full_at).max();
        let full_at = emptiest.unwrap_or_default().max(now) + cost;
        if full_at > now + 2 * rate * cost {
            let wait = (full_at - now - 2 * rate * cost).div_euclid(1_000_000) + 1;
            return Err(Error::RateLimited {
                retry_after: wait.unsigned_abs(),
            });
        }
        let mut reports = Vec::new();
        for tenant in lineage {
            let bucket = buckets.entry(tenant.clone()).or_default();
            if bucket.full_at <= now {
                // What was spent before has been refilled: it need not be reported.
                bucket.unreported = 0;
            }
            bucket.full_at = bucket.full_at.max(now) + cost;
            bucket.unreported += 1;
            if bucket.unreported >= (rate / 5).max(1) {
                reports.push(BucketReport {
                    tenant: tenant.clone(),
                    micros: std::mem::take(&mut bucket.unreported) * cost,
                    known: bucket.shared,
                });
            }
        }
        Ok((status_of(rate, full_at, now), reports))
    }

    /// Lets one request of an account through, and reports those before it to the table once in a while. `lineage` is the
    /// account and the accounts above it.
    ///
    /// # Errors
    /// 429 when the bucket of one of these accounts is empty.
    pub async fn admit(
        &self,
        store: &Store,
        lineage: &[Tenant],
        now: Timestamp,
    ) -> Result<RateLimitStatus> {
        let (status, reports) = self.take(lineage, now)?;
        for BucketReport {
            tenant,
            micros,
            known,
        } in reports
        {
            match store.spend(&tenant, micros, known, now).await {
                Ok(shared) => self.learn(&tenant, shared),
                // The instance goes on counting by itself.
                Err(error) => {
                    tracing::warn!(account.id = %tenant.account, %error, "the shared request rate was not updated")
                }
            }
        }
        Ok(status)
    }

    fn learn(&self, tenant: &Tenant, shared: i64) {
        let mut buckets = self
            .buckets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(tenant) {
            bucket.shared = shared;
            bucket.full_at = bucket.full_at.max(shared);
        }
    }

    /// The rate limit status of a tenant. Takes nothing from its bucket.
    pub fn status(&self, tenant: Option<&Tenant>, now: Timestamp) -> RateLimitStatus {
        let rate = self
            .rates
            .of(tenant.map_or(Mode::Test, |tenant| tenant.mode));
        let buckets = self
            .buckets
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let full_at = tenant
            .and_then(|tenant| buckets.get(tenant))
            .map_or(0, |bucket| bucket.full_at);
        status_of(rate, full_at, now.unix_millis() * 1000)
    }
}

fn status_of(rate: i64, full_at: i64, now: i64) -> RateLimitStatus {
    let missing = (full_at - now).max(0);
    let cost = 1_000_000 / rate;
    RateLimitStatus {
        limit: 2 * rate,
        remaining: (2 * rate - missing.div_euclid(cost) - i64::from(missing % cost != 0)).max(0),
        reset: missing.div_euclid(1_000_000) + i64::from(missing % 1_000_000 != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Id, Kind};

    fn tenant() -> Tenant {
        Tenant {
            account: Id::from_number(Kind::Account, 1),
            mode: Mode::Test,
        }
    }

    #[test]
    fn a_full_bucket_holds_twice_the_rate_and_refills_at_it() {
        let limiter = RateLimiter::new(Rates::default());
        let start = Timestamp::from_unix_millis(1_000_000);
        let take = |at: Timestamp| limiter.take(&[tenant()], at);
        for n in 0..50 {
            assert_eq!(take(start).unwrap().0.remaining, 49 - n);
        }
        assert!(matches!(
            take(start),
            Err(Error::RateLimited { retry_after: 1 })
        ));
        assert!(take(start.plus_millis(39)).is_err());
        assert!(take(start.plus_millis(40)).is_ok());
        assert!(take(start.plus_millis(40)).is_err());
        assert_eq!(take(start.plus_millis(60_000)).unwrap().0.remaining, 49);
    }

    #[test]
    fn every_fifth_request_is_reported_in_test_mode_and_slow_ones_never() {
        let limiter = RateLimiter::new(Rates::default());
        let now = Timestamp::from_unix_millis(1_000_000);
        let reported = (0..50)
            .filter(|_| !limiter.take(&[tenant()], now).unwrap().1.is_empty())
            .count();
        assert_eq!(reported, 10);
        let limiter = RateLimiter::new(Rates::default());
        let reported = (0..50)
            .filter(|n| {
                let (_, reports) = limiter.take(&[tenant()], now.plus_millis(100 * n)).unwrap();
                !reports.is_empty()
            })
            .count();
        assert_eq!(reported, 0);
    }

    #[test]
    fn what_other_instances_spent_counts() {
        let limiter = RateLimiter::new(Rates::default());
        let now = Timestamp::from_unix_millis(1_000_000);
        limiter.take(&[tenant()], now).unwrap();
        limiter.learn(&tenant(), now.unix_millis() * 1000 + 2_000_000);
        assert!(limiter.take(&[tenant()], now).is_err());
    }

    #[test]
    fn an_account_and_the_accounts_below_it_share_the_rate_of_one() {
        let limiter = RateLimiter::new(Rates::default());
        let now = Timestamp::from_unix_millis(1_000_000);
        let of = |number| Tenant {
            account: Id::from_number(Kind::Account, number),
            mode: Mode::Test,
        };
        let (parent, one, two) = ([of(1)], [of(2), of(1)], [of(3), of(1)]);
        for _ in 0..20 {
            limiter.take(&one, now).unwrap();
            limiter.take(&two, now).unwrap();
        }
        let (status, reports) = limiter.take(&one, now).unwrap();
        assert_eq!(status.remaining, 9, "41 of 50 were sent below the parent");
        assert!(reports.iter().all(|report| report.tenant != two[0]));
        for _ in 0..9 {
            limiter.take(&parent, now).unwrap();
        }
        for lineage in [&parent[..], &one, &two] {
            assert!(limiter.take(lineage, now).is_err());
        }
        // A refused request takes nothing from any bucket.
        let alone = limiter.take(&[of(3)], now).unwrap().0;
        assert_eq!(alone.remaining, 50 - 21);
    }
}

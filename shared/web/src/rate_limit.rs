//! The rate of requests: a token bucket per tenant, kept as one moment in time (generic cell rate algorithm).
//!
//! An instance reserves tokens in the table before it admits requests, a lease of several at a time. A token of a lease may be used from
//! the time at which the bucket of the tenant would have contained it. So all instances together admit what one bucket allows, however many
//! instances there are. Under load each instance waits for its turn: its next lease begins where the last one of all instances ends.
//!
//! A lease is small at first and is doubled each time it is used up, so that many instances that receive few requests each do not reserve
//! each other's tokens. An instance that has reserved nothing for a minute admits two requests first; they are counted with its next lease,
//! and forgotten if there is none: slow requests never call the table.
//!
//! A request uses a token of the bucket of its account and of those of all accounts above it, and is admitted only if none of them is
//! empty: an account and all accounts below it together send no more than one account may.
//!
//! All instances together admit in a time at most the rate times that time, plus two full buckets (four times the rate), plus two requests
//! and an old lease of each instance. If the table cannot be reached, each instance counts by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::settings::Rates;
use axum::http::{HeaderName, HeaderValue};
use kernel::time::{MINUTE, SECOND, millis, seconds, whole_millis};
use kernel::{Error, Mode, Result, SignedDuration, Tenant, Timestamp};
use table::Store;
use table::rates::{Reserve, Reserved};

/// The content of the `RateLimit-…` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// The number of tokens in a full bucket.
    pub limit: i64,
    pub remaining: i64,
    /// Seconds until the bucket is full again.
    pub reset: i64,
}

/// The names of the headers with the status of a bucket.
pub const HEADERS: [&str; 3] = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];

impl RateLimitStatus {
    /// Returns the headers with their values.
    pub fn headers(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let values = [self.limit, self.remaining, self.reset].map(HeaderValue::from);
        HEADERS.map(HeaderName::from_static).into_iter().zip(values)
    }
}

/// The time for which the tokens of a lease may be used, and for which an instance admits a few requests without a lease.
const LIFE: SignedDuration = MINUTE;

/// The number of requests that an instance admits before it reserves tokens.
const FREE: i64 = 2;

/// The number of tokens of the first lease.
const FIRST_LEASE: i64 = 4;

/// The maximum number of tokens of a lease, and the part of a second for which it has tokens if that is more. Each lease is one call to the
/// table.
const LEASE: i64 = 32;
const LEASE_TIME: SignedDuration = millis(300);

/// The maximum time for which tokens are reserved in advance.
const AHEAD: SignedDuration = MINUTE;

/// The time for which a shared bucket has to be full before it is filled anew: until then it contains that much more.
const REFILL: SignedDuration = seconds(2);

/// The maximum number of cached tenants; beyond that, full buckets are forgotten.
const MAX_BUCKETS: usize = 10_000;

/// Moments and durations are in microseconds.
#[derive(Debug, Default, Clone)]
struct Bucket {
    /// The time at which the bucket would be full again if this instance were the only one.
    own: i64,
    /// The same with the reservations of all instances, as last read from the table.
    shared: i64,
    lease: Option<Lease>,
    /// Admitted requests that are not reserved, and the time of the first of them.
    unreserved: i64,
    unreserved_since: i64,
    /// The time until which too much is reserved for another lease.
    closed_until: i64,
    /// The number of tokens of the last lease.
    last_lease: i64,
    /// Held while tokens are reserved, so that concurrent requests reserve them once.
    reserving: Arc<tokio::sync::Mutex<()>>,
}

/// Reserved tokens that have not been used.
#[derive(Debug, Clone, Copy)]
struct Lease {
    tokens: i64,
    /// The moment at which the bucket is full again without them.
    base: i64,
    until: i64,
}

/// The tokens that an instance requests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    tenant: Tenant,
    tokens: i64,
    reserve: Reserve,
}

/// Whether a request may be admitted.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Admitted(RateLimitStatus),
    /// Tokens have to be reserved first, for the first of these tenants that has none.
    Reserve(Request),
}

/// Whether a bucket has a token for a request.
enum Readiness {
    Ready,
    WaitUntil(i64),
    Reserve,
}

/// The duration of a token and of a full bucket.
#[derive(Debug, Clone, Copy)]
struct Measure {
    rate: i64,
    token: i64,
    full: i64,
}

impl Measure {
    fn of(rate: i64) -> Self {
        let token = 1_000_000 / rate;
        Self {
            rate,
            token,
            full: 2 * rate * token,
        }
    }

    /// Returns the maximum number of tokens of a lease.
    fn lease(self) -> i64 {
        LEASE
            .max(self.rate * in_micros(LEASE_TIME) / in_micros(SECOND))
            .min(2 * self.rate)
    }
}

impl Bucket {
    fn forget_what_is_over(&mut self, now: i64) {
        if self.lease.is_some_and(|lease| lease.until <= now) {
            self.lease = None;
            self.last_lease = 0;
        }
        if self.unreserved_since + in_micros(LIFE) <= now {
            self.unreserved = 0;
        }
    }

    fn readiness(&self, measure: Measure, now: i64) -> Readiness {
        let own = self.own.max(now) + measure.token;
        if own > now + measure.full {
            return Readiness::WaitUntil(own - measure.full);
        }
        match self.lease {
            Some(lease) if lease.base + measure.token > now + measure.full => {
                Readiness::WaitUntil(lease.base + measure.token - measure.full)
            }
            Some(_) => Readiness::Ready,
            None if self.unreserved < FREE => Readiness::Ready,
            None if self.closed_until > now => Readiness::WaitUntil(self.closed_until),
            None => Readiness::Reserve,
        }
    }

    fn take(&mut self, measure: Measure, now: i64) {
        self.own = self.own.max(now) + measure.token;
        match &mut self.lease {
            Some(lease) => {
                lease.tokens -= 1;
                lease.base += measure.token;
                if lease.tokens == 0 {
                    self.lease = None;
                }
            }
            None => {
                if self.unreserved == 0 {
                    self.unreserved_since = now;
                }
                self.unreserved += 1;
            }
        }
    }

    /// Returns the tokens to reserve next.
    fn request(&self, tenant: &Tenant, measure: Measure, now: i64) -> Request {
        let doubled = (2 * self.last_lease).max(FIRST_LEASE);
        let tokens = doubled.min(measure.lease());
        // A bucket that was full has refilled since then.
        let start = match self.unreserved {
            0 => now,
            _ => self.unreserved_since.max(now - measure.full),
        };
        Request {
            tenant: tenant.clone(),
            tokens,
            reserve: Reserve {
                micros: (tokens + self.unreserved) * measure.token,
                start,
                most: now + measure.full + in_micros(AHEAD),
                wrong_after: now + measure.full + 2 * in_micros(AHEAD),
                full_before: now - in_micros(REFILL),
                // Other instances have probably used it since.
                in_use: self.shared >= now - in_micros(LIFE),
            },
        }
    }

    fn lend(&mut self, tokens: i64, full_at: i64, measure: Measure, now: i64) {
        self.shared = full_at;
        self.unreserved = 0;
        self.last_lease = tokens;
        self.lease = Some(Lease {
            tokens,
            base: full_at - tokens * measure.token,
            until: now.max(full_at - measure.full) + in_micros(LIFE),
        });
    }

    fn status(&self, measure: Measure, now: i64) -> RateLimitStatus {
        let unused = self.lease.map_or(0, |lease| lease.tokens * measure.token);
        let full_at = self.own.max(self.shared - unused);
        let missing = (full_at - now).max(0);
        let used = missing.div_euclid(measure.token) + i64::from(missing % measure.token != 0);
        RateLimitStatus {
            limit: 2 * measure.rate,
            remaining: (2 * measure.rate - used).max(0),
            reset: missing.div_euclid(1_000_000) + i64::from(missing % 1_000_000 != 0),
        }
    }

    /// Returns whether the bucket may be forgotten without losing information.
    fn is_idle(&self, now: i64) -> bool {
        self.own <= now && self.lease.is_none() && self.closed_until <= now
    }
}

/// The buckets of the tenants that this instance has served.
#[derive(Debug)]
pub struct RateLimiter {
    rates: Rates,
    buckets: Mutex<HashMap<Tenant, Bucket>>,
}

fn in_micros(duration: SignedDuration) -> i64 {
    whole_millis(duration) * 1000
}

fn micros(now: Timestamp) -> i64 {
    now.unix_millis() * 1000
}

impl RateLimiter {
    pub fn new(rates: Rates) -> Self {
        Self {
            rates,
            buckets: Mutex::default(),
        }
    }

    fn buckets(&self) -> MutexGuard<'_, HashMap<Tenant, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn measure(&self, mode: Mode) -> Measure {
        Measure::of(self.rates.of(mode))
    }

    /// Admits one request of an account, or refuses it. `lineage` is the account and the accounts above it.
    fn take(&self, lineage: &[Tenant], now: Timestamp) -> Result<Decision> {
        let mode = lineage.first().map_or(Mode::Test, |tenant| tenant.mode);
        let (measure, now) = (self.measure(mode), micros(now));
        let mut buckets = self.buckets();
        if buckets.len() > MAX_BUCKETS {
            buckets.retain(|_, bucket| !bucket.is_idle(now));
        }
        let (mut wait_until, mut request) = (None, None);
        for tenant in lineage {
            let bucket = buckets.entry(tenant.clone()).or_default();
            bucket.forget_what_is_over(now);
            match bucket.readiness(measure, now) {
                Readiness::Ready => {}
                Readiness::WaitUntil(moment) => wait_until = wait_until.max(Some(moment)),
                Readiness::Reserve => {
                    request.get_or_insert_with(|| bucket.request(tenant, measure, now));
                }
            }
        }
        if let Some(moment) = wait_until {
            let wait = (moment - now).div_euclid(1_000_000) + 1;
            return Err(Error::RateLimited {
                retry_after: wait.unsigned_abs(),
            });
        }
        if let Some(request) = request {
            return Ok(Decision::Reserve(request));
        }
        let mut lowest: Option<RateLimitStatus> = None;
        for tenant in lineage {
            let bucket = buckets.entry(tenant.clone()).or_default();
            bucket.take(measure, now);
            let status = bucket.status(measure, now);
            lowest = lowest
                .filter(|lowest| lowest.remaining <= status.remaining)
                .or(Some(status));
        }
        let full = || Bucket::default().status(measure, now);
        Ok(Decision::Admitted(lowest.unwrap_or_else(full)))
    }

    /// Admits one request of an account, and reserves tokens in the table first if this instance has none. `lineage` is the account and the
    /// accounts above it.
    ///
    /// # Errors
    /// 429 if the bucket of one of these accounts is empty.
    pub async fn admit(
        &self,
        store: &Store,
        lineage: &[Tenant],
        now: Timestamp,
    ) -> Result<RateLimitStatus> {
        loop {
            let request = match self.take(lineage, now)? {
                Decision::Admitted(status) => return Ok(status),
                Decision::Reserve(request) => request,
            };
            let reserving = self
                .buckets()
                .get(&request.tenant)
                .map(|bucket| bucket.reserving.clone());
            let reserving = reserving.unwrap_or_default();
            let held = reserving.lock().await;
            // Another request may have reserved tokens in the meantime.
            let request = match self.take(lineage, now)? {
                Decision::Admitted(status) => return Ok(status),
                Decision::Reserve(still) if still.tenant == request.tenant => still,
                Decision::Reserve(_) => continue,
            };
            let reserved = store
                .reserve_rate(&request.tenant, request.reserve, now)
                .await;
            self.lend(&request, reserved, now);
            drop(held);
        }
    }

    /// Records the outcome of a reservation.
    fn lend(&self, request: &Request, reserved: Result<Reserved>, now: Timestamp) {
        let (measure, now) = (self.measure(request.tenant.mode), micros(now));
        let mut buckets = self.buckets();
        let bucket = buckets.entry(request.tenant.clone()).or_default();
        match reserved {
            Ok(Reserved::Until(full_at)) => bucket.lend(request.tokens, full_at, measure, now),
            Ok(Reserved::TooMuch(full_at)) => {
                bucket.shared = full_at;
                bucket.closed_until =
                    (full_at - in_micros(AHEAD) / 2 - measure.full).max(now + measure.token);
            }
            // The instance continues to count by itself.
            Err(error) => {
                tracing::warn!(account.id = %request.tenant.account, %error, "no tokens were reserved in the shared bucket");
                let full_at = bucket.own.max(now) + request.tokens * measure.token;
                bucket.lend(request.tokens, full_at, measure, now);
            }
        }
    }

    /// Returns the status of a tenant's bucket, without using a token.
    pub fn status(&self, tenant: Option<&Tenant>, now: Timestamp) -> RateLimitStatus {
        let measure = self.measure(tenant.map_or(Mode::Test, |tenant| tenant.mode));
        let buckets = self.buckets();
        let bucket = tenant.and_then(|tenant| buckets.get(tenant));
        let full = || Bucket::default().status(measure, micros(now));
        bucket.map_or_else(full, |bucket| bucket.status(measure, micros(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Id, Kind};

    fn of(number: u128) -> Tenant {
        Tenant::new(Id::from_number(Kind::Account, number), Mode::Test)
    }

    /// The table's items, and the number of calls.
    #[derive(Default)]
    struct Table {
        full_at: HashMap<Tenant, i64>,
        calls: u64,
    }

    impl Table {
        /// Does the same as `Store::reserve_rate`, with the same number of calls.
        fn reserve(&mut self, request: &Request) -> Reserved {
            let reserve = request.reserve;
            let full_at = self.full_at.get(&request.tenant).copied().unwrap_or(0);
            let in_use = full_at >= reserve.full_before;
            self.calls += 1 + u64::from(in_use != reserve.in_use);
            if full_at > reserve.most {
                return Reserved::TooMuch(full_at);
            }
            let base = if in_use { full_at } else { reserve.start };
            let full_at = base + reserve.micros;
            self.full_at.insert(request.tenant.clone(), full_at);
            Reserved::Until(full_at)
        }

        fn admit(
            &mut self,
            limiter: &RateLimiter,
            lineage: &[Tenant],
            now: Timestamp,
        ) -> Result<RateLimitStatus> {
            loop {
                match limiter.take(lineage, now)? {
                    Decision::Admitted(status) => return Ok(status),
                    Decision::Reserve(request) => {
                        let reserved = self.reserve(&request);
                        limiter.lend(&request, Ok(reserved), now);
                    }
                }
            }
        }
    }

    #[test]
    fn a_full_bucket_holds_twice_the_rate_and_refills_at_it() {
        let (limiter, mut table) = (RateLimiter::new(Rates::default()), Table::default());
        let start = Timestamp::from_unix_millis(1_000_000);
        let mut take = |at: Timestamp| table.admit(&limiter, &[of(1)], at);
        for n in 0..50 {
            assert_eq!(take(start).unwrap().remaining, 49 - n);
        }
        assert!(matches!(
            take(start),
            Err(Error::RateLimited { retry_after: 1 })
        ));
        assert!(take(start.plus(millis(39))).is_err());
        assert!(take(start.plus(millis(40))).is_ok());
        assert!(take(start.plus(millis(40))).is_err());
        assert_eq!(take(start.plus(millis(120_000))).unwrap().remaining, 49);
    }

    #[test]
    fn slow_requests_never_call_the_table() {
        let (limiter, mut table) = (RateLimiter::new(Rates::default()), Table::default());
        for n in 0..100 {
            let now = Timestamp::from_unix_millis(1_000_000 + n * whole_millis(LIFE) / FREE);
            table.admit(&limiter, &[of(1)], now).unwrap();
        }
        assert_eq!(table.calls, 0);
    }

    #[test]
    fn what_other_instances_have_reserved_counts() {
        let (limiter, other) = (
            RateLimiter::new(Rates::default()),
            RateLimiter::new(Rates::default()),
        );
        let mut table = Table::default();
        let now = Timestamp::from_unix_millis(1_000_000);
        while table.admit(&limiter, &[of(1)], now).is_ok() {}
        for _ in 0..FREE {
            table.admit(&other, &[of(1)], now).unwrap();
        }
        assert!(table.admit(&other, &[of(1)], now).is_err());
    }

    #[test]
    fn an_account_and_the_accounts_below_it_share_the_rate_of_one() {
        let (limiter, mut table) = (RateLimiter::new(Rates::default()), Table::default());
        let now = Timestamp::from_unix_millis(1_000_000);
        let (parent, first, second) = ([of(1)], [of(2), of(1)], [of(3), of(1)]);
        for _ in 0..20 {
            table.admit(&limiter, &first, now).unwrap();
            table.admit(&limiter, &second, now).unwrap();
        }
        let status = table.admit(&limiter, &first, now).unwrap();
        assert_eq!(status.remaining, 9, "41 of 50 were sent below the parent");
        for _ in 0..9 {
            table.admit(&limiter, &parent, now).unwrap();
        }
        for lineage in [&parent[..], &first, &second] {
            assert!(table.admit(&limiter, lineage, now).is_err());
        }
        // A refused request uses no token of any bucket.
        let alone = table.admit(&limiter, &[of(3)], now).unwrap();
        assert_eq!(alone.remaining, 50 - 21);
    }

    #[test]
    fn an_instance_limits_locally_when_the_table_is_unreachable() {
        let limiter = RateLimiter::new(Rates::default());
        let now = Timestamp::from_unix_millis(1_000_000);
        let mut admitted = 0;
        while let Ok(decision) = limiter.take(&[of(1)], now) {
            match decision {
                Decision::Admitted(_) => admitted += 1,
                Decision::Reserve(request) => {
                    limiter.lend(&request, Err(Error::unavailable("no table")), now);
                }
            }
        }
        assert_eq!(admitted, 50);
    }

    /// The number of instances that share a bucket in the simulations, and the limit.
    const INSTANCES: usize = 50;
    const LIMIT: f64 = 100.0;
    /// The duration of a simulation, in seconds of virtual time.
    const SECONDS: f64 = 300.0;

    /// The result of a simulation, per second where that matters.
    struct Played {
        offered: f64,
        accepted: f64,
        calls: f64,
    }

    /// Sends requests at random moments to random instances, in virtual time: `admit` receives the instance, and returns whether the
    /// request was admitted. The sequence is the same in every run.
    fn play(load: f64, mut admit: impl FnMut(usize, Timestamp) -> bool) -> (f64, f64) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut at, mut offered, mut accepted) = (0.0, 0.0, 0.0);
        loop {
            at -= (1.0 - random()).ln() / (load * LIMIT);
            if at > SECONDS {
                return (offered, accepted);
            }
            let instance = (random() * INSTANCES as f64) as usize;
            let now = Timestamp::from_unix_millis(1_000_000 + (at * 1000.0) as i64);
            offered += 1.0;
            accepted += f64::from(u8::from(admit(instance, now)));
        }
    }

    fn leases(load: f64) -> Played {
        let rates = Rates {
            test: LIMIT as u32,
            live: LIMIT as u32,
        };
        let limiters: Vec<_> = (0..INSTANCES).map(|_| RateLimiter::new(rates)).collect();
        let mut table = Table::default();
        let tenant = [of(1)];
        let (offered, accepted) = play(load, |instance, now| {
            table.admit(&limiters[instance], &tenant, now).is_ok()
        });
        Played {
            offered,
            accepted,
            calls: table.calls as f64,
        }
    }

    const LOADS: [f64; 9] = [0.5, 0.8, 1.0, 1.2, 2.0, 5.0, 10.0, 25.0, 50.0];

    #[test]
    fn fifty_instances_together_enforce_the_rate_of_one_bucket() {
        for load in LOADS {
            let Played {
                offered,
                accepted,
                calls,
            } = leases(load);
            let (limit, per_call) = (LIMIT * SECONDS, accepted / calls);
            assert!(accepted <= 1.2 * limit, "{load}: {accepted} of {offered}");
            assert!(
                accepted >= 0.9 * offered.min(limit),
                "{load}: {accepted} of {offered}"
            );
            assert!(
                per_call >= 20.0,
                "{load}: {per_call} requests for each call"
            );
        }
    }

    /// A limiter that counts by itself and reports the admitted requests afterwards. It forgets unreported requests as soon as its own
    /// bucket is full: the simulation detects that.
    #[test]
    fn the_simulation_refutes_a_limiter_that_reports_afterwards() {
        #[derive(Default, Clone)]
        struct Reporting {
            full_at: i64,
            unreported: i64,
        }
        let token = (1_000_000.0 / LIMIT) as i64;
        let most = (LIMIT / 5.0) as i64;
        let mut instances = vec![Reporting::default(); INSTANCES];
        let mut shared = 0;
        let (_, accepted) = play(25.0, |instance, now| {
            let (limiter, now) = (&mut instances[instance], micros(now));
            if limiter.full_at <= now {
                limiter.unreported = 0;
            }
            let full_at = limiter.full_at.max(now) + token;
            if full_at > now + 2 * LIMIT as i64 * token {
                return false;
            }
            limiter.full_at = full_at;
            limiter.unreported += 1;
            if limiter.unreported >= most {
                shared = i64::max(shared, now) + limiter.unreported * token;
                limiter.unreported = 0;
                limiter.full_at = limiter.full_at.max(shared);
            }
            true
        });
        assert!(accepted > 1.2 * LIMIT * SECONDS, "{accepted}");
    }
}

//! The circuit breaker of a webhook endpoint.
//!
//! Life cycle: closed → open → releasing → closed. An endpoint that fails five times in a row opens its breaker. From then on deliveries
//! are held: they wait without being attempted. The oldest of them is sent as a probe, at growing intervals, or later if the receiver asks
//! for it with `Retry-After`. When an attempt succeeds, the
//! held deliveries are released in the order of their age, and new ones are held behind them until none is left. While the breaker is open
//! and no delivery is held, it is *idle*: the next delivery is the probe, or the next event of a replay.

use serde::{Deserialize, Serialize};

use kernel::time::{DAY, minutes, seconds};
use kernel::{SignedDuration, Timestamp};

/// The number of consecutive failed attempts after which deliveries are held.
pub const FAILURES: u32 = 5;

/// The intervals between probes; the last one is repeated.
const INTERVALS: [SignedDuration; 7] = [
    seconds(5),
    seconds(15),
    seconds(30),
    minutes(1),
    minutes(2),
    minutes(5),
    minutes(15),
];

/// The duration after which a release counts as interrupted: longer than the function can run.
const LEASE: SignedDuration = minutes(6);

/// Whether deliveries to an endpoint are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breaker {
    #[default]
    Closed,
    /// Deliveries are held.
    Open {
        /// The number of probes so far.
        probes: u32,
        next_probe: Timestamp,
    },
    /// New deliveries are held, but none exists yet for a probe. `probes` is the number of probes so far.
    Idle { probes: u32 },
    /// The held deliveries are sent. The work begins at this time at the latest; after it, a run in progress counts as interrupted.
    Releasing { at: Timestamp },
}

impl Breaker {
    /// Returns a breaker that opens now. `requested` is the wait that the receiver requests.
    pub fn opened(requested: Option<SignedDuration>, now: Timestamp) -> Self {
        let wait = INTERVALS[0].max(requested.unwrap_or_default().min(DAY));
        Self::Open {
            probes: 0,
            next_probe: now.plus(wait),
        }
    }

    /// Checks whether deliveries are held instead of being attempted.
    pub fn holds(self) -> bool {
        self != Self::Closed
    }

    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. } | Self::Idle { .. })
    }

    /// Checks whether no delivery is held that could be sent as a probe.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Idle { .. })
    }

    /// Returns the time at which the next probe or the release is due.
    pub fn next_action_at(self) -> Option<Timestamp> {
        match self {
            Self::Open { next_probe, .. } => Some(next_probe),
            Self::Releasing { at } => Some(at),
            Self::Closed | Self::Idle { .. } => None,
        }
    }

    /// Begins a probe if one is due, and schedules the next one. Returns whether one was due.
    pub fn begin_probe(&mut self, now: Timestamp) -> bool {
        let probes = match *self {
            Self::Open { probes, next_probe } if next_probe <= now => probes,
            _ => return false,
        };
        let probes = probes + 1;
        let interval = INTERVALS.get(probes as usize).or(INTERVALS.last());
        *self = Self::Open {
            probes,
            next_probe: now.plus(interval.copied().unwrap_or_default()),
        };
        true
    }

    /// Puts off the next probe for as long as the receiver requests, unless it is later already. While the breaker is idle, deliveries are
    /// held until then.
    pub fn put_off_probe(&mut self, requested: SignedDuration, now: Timestamp) {
        let earliest = now.plus(requested.min(DAY));
        match *self {
            Self::Open { probes, next_probe } => {
                *self = Self::Open {
                    probes,
                    next_probe: next_probe.max(earliest),
                };
            }
            Self::Idle { probes } if earliest > now => {
                *self = Self::Open {
                    probes,
                    next_probe: earliest,
                };
            }
            Self::Idle { .. } | Self::Closed | Self::Releasing { .. } => {}
        }
    }

    /// Reverts a probe for which there was no delivery.
    pub fn idle(&mut self) {
        if let Self::Open { probes, .. } = *self {
            let probes = probes.saturating_sub(1);
            *self = Self::Idle { probes };
        }
    }

    /// Schedules a probe or a release for a delivery that is held now, unless one is scheduled already. Returns whether the breaker has
    /// changed.
    pub fn wake(&mut self, now: Timestamp) -> bool {
        *self = match *self {
            Self::Closed => Self::Releasing { at: now },
            Self::Idle { probes } => Self::Open {
                probes,
                next_probe: now,
            },
            Self::Open { .. } | Self::Releasing { .. } => return false,
        };
        true
    }

    /// Releases the held deliveries.
    pub fn release(&mut self, now: Timestamp) {
        if self.is_open() {
            *self = Self::Releasing { at: now };
        }
    }

    /// Begins the release. Returns whether it was due.
    pub fn begin_release(&mut self, now: Timestamp) -> bool {
        match self {
            Self::Releasing { at } if *at <= now => {
                *at = now.plus(LEASE);
                true
            }
            _ => false,
        }
    }

    /// Ends a run of the release before all deliveries were sent. The next run begins at `until`. Returns whether there is a release.
    pub fn put_off_release(&mut self, until: Timestamp) -> bool {
        match self {
            Self::Releasing { at } => {
                *at = until;
                true
            }
            _ => false,
        }
    }

    /// Ends the release. Returns whether there was one.
    pub fn close(&mut self) -> bool {
        let was_releasing = matches!(self, Self::Releasing { .. });
        if was_releasing {
            *self = Self::Closed;
        }
        was_releasing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::EPOCH.plus(seconds(second))
    }

    #[test]
    fn probes_come_at_growing_intervals() {
        let mut breaker = Breaker::opened(None, at(0));
        let mut moments = Vec::new();
        for second in 0..4000 {
            if breaker.begin_probe(at(second)) {
                moments.push(second);
            }
        }
        assert_eq!(moments, [5, 20, 50, 110, 230, 530, 1430, 2330, 3230]);
        assert!(breaker.holds() && breaker.is_open());
    }

    #[test]
    fn a_receiver_puts_off_the_next_probe_by_a_day_at_most() {
        let mut breaker = Breaker::opened(None, at(0));
        assert!(breaker.begin_probe(at(5)));
        breaker.put_off_probe(seconds(1), at(5));
        assert_eq!(breaker.next_action_at(), Some(at(20)));
        breaker.put_off_probe(minutes(60), at(6));
        assert_eq!(breaker.next_action_at(), Some(at(3606)));
        assert!(!breaker.begin_probe(at(3605)) && breaker.begin_probe(at(3606)));
        breaker.put_off_probe(DAY + DAY, at(3606));
        assert_eq!(breaker.next_action_at(), Some(at(3606).plus(DAY)));
        breaker.idle();
        breaker.put_off_probe(minutes(1), at(3700));
        assert!(!breaker.wake(at(3701)) && !breaker.begin_probe(at(3759)));
        assert!(breaker.begin_probe(at(3760)));
    }

    #[test]
    fn an_idle_breaker_probes_with_the_next_delivery() {
        let mut breaker = Breaker::opened(Some(minutes(1)), at(0));
        assert!(!breaker.begin_probe(at(59)));
        assert!(breaker.begin_probe(at(60)));
        breaker.idle();
        assert_eq!(breaker.next_action_at(), None);
        assert!(
            breaker.holds() && breaker.is_idle() && !breaker.begin_probe(at(3600)),
            "no delivery is there"
        );
        assert!(breaker.wake(at(61)) && !breaker.wake(at(61)));
        assert!(breaker.begin_probe(at(61)) && !breaker.begin_probe(at(61)));
    }

    #[test]
    fn a_release_has_one_runner_and_ends_closed() {
        let mut breaker = Breaker::opened(None, at(0));
        assert!(!breaker.close() && !breaker.begin_release(at(1)));
        breaker.release(at(1));
        assert!(breaker.begin_release(at(1)) && !breaker.begin_release(at(2)));
        assert!(breaker.begin_release(at(361)), "the lease is over");
        assert!(breaker.put_off_release(at(362)) && breaker.holds());
        assert!(breaker.close() && !breaker.holds());
        breaker.release(at(400));
        assert_eq!(breaker, Breaker::Closed);
    }
}

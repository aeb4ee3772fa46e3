//! The consequences of an attempt to deliver an event: the next attempt, and the health of the endpoint.

use std::collections::BTreeMap;

use crate::event::{Delivery, DeliveryState, EventType};
use crate::stored::Stored;
use crate::webhook_endpoint::{DISABLED_AFTER, DisabledReason, EndpointStatus, WebhookEndpoint};
use crate::webhooks::breaker::{Breaker, FAILURES};
use kernel::time::{DAY, hours, millis, minutes, seconds, whole_millis};
use kernel::{SignedDuration, Timestamp};

/// The waits between attempts. The first one follows the first attempt.
const WAITS: [SignedDuration; 9] = [
    seconds(5),
    minutes(5),
    minutes(30),
    hours(2),
    hours(5),
    hours(10),
    hours(14),
    hours(20),
    hours(24),
];

/// The instruction of a receiver in the header `webhook-delivery` of its response, whatever the status of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// No further deliveries: the endpoint is disabled.
    Disable,
    /// No further attempts to deliver this event.
    AbortMessage,
}

impl Control {
    /// Parses the value of the header; none for an unknown value.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "disable" => Some(Self::Disable),
            "abort-message" => Some(Self::AbortMessage),
            _ => None,
        }
    }
}

/// The response of a receiver to an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryOutcome {
    /// The HTTP status; none without a response.
    pub status: Option<u16>,
    /// The instruction in the header `webhook-delivery`.
    pub control: Option<Control>,
    /// The wait that the receiver requests.
    pub retry_after: Option<SignedDuration>,
    /// The beginning of the response's body, or the reason why there was no response.
    pub response: String,
    /// Some of the response's headers.
    pub response_headers: BTreeMap<String, String>,
    /// Whether the response's body is longer than `response`.
    pub truncated: bool,
    pub latency: SignedDuration,
}

impl DeliveryOutcome {
    /// Checks whether the receiver acknowledged the event.
    pub fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201 | 202 | 204))
    }

    /// Checks whether the receiver works: it acknowledged the event, or rejected it on purpose.
    fn is_answer(&self) -> bool {
        self.succeeded() || self.control == Some(Control::AbortMessage)
    }

    /// Returns the wait that the receiver requests, for the statuses with which it is considered.
    fn asked_to_wait(&self) -> Option<SignedDuration> {
        let is_asking = matches!(self.status, Some(429 | 503));
        self.retry_after.filter(|_| is_asking)
    }

    /// Returns the delivery after this outcome of an attempt. There is no next attempt if the receiver was deleted or disabled, or rejects
    /// further attempts. A redelivery has as many attempts as the first delivery. `jitter` is between −0.2 and 0.2.
    pub fn delivery(
        &self,
        has_receiver: bool,
        attempt: u32,
        redelivered_after: Option<u32>,
        now: Timestamp,
        jitter: f64,
    ) -> Delivery {
        let closed = |state| Delivery {
            attempts: attempt,
            state,
            next_at: now,
            redelivered_after,
        };
        if self.succeeded() {
            return closed(DeliveryState::Delivered);
        }
        let earlier = redelivered_after.unwrap_or_default();
        if !has_receiver || self.status == Some(410) || self.control.is_some() {
            return closed(DeliveryState::GivenUp);
        }
        let wait = WAITS.get(attempt.saturating_sub(1 + earlier) as usize);
        match wait {
            Some(wait) => {
                let wait = whole_millis(*wait) as f64 * (1.0 + jitter);
                let requested = self.asked_to_wait().unwrap_or_default();
                let wait = millis(wait.round() as i64).max(requested.min(DAY));
                Delivery {
                    attempts: attempt,
                    state: DeliveryState::Waiting,
                    next_at: now.plus(wait),
                    redelivered_after,
                }
            }
            None => closed(DeliveryState::Exhausted),
        }
    }
}

impl Stored<WebhookEndpoint> {
    /// Records the outcome of an attempt to deliver an event that was created at `created` in the health of the endpoint. A 410, or the
    /// instruction of the receiver, disables the endpoint at once, and so do 120 hours of failures. Five consecutive failures open its
    /// breaker; a response of a working receiver releases the deliveries that are held, and `Retry-After` puts off the next probe. Returns
    /// whether the endpoint has changed. A disabled endpoint does not change.
    pub fn record_outcome(
        &mut self,
        outcome: &DeliveryOutcome,
        created: Timestamp,
        now: Timestamp,
    ) -> bool {
        if self.object.status != EndpointStatus::Enabled {
            return false;
        }
        let before = self.internal.clone();
        if outcome.is_answer() {
            self.note_answer(now)
        } else {
            self.note_failure(created, now)
        }
        let failing = self.internal.failing_since.map(|since| now.since(since));
        let reason = match outcome.status {
            _ if outcome.control == Some(Control::Disable) => Some(DisabledReason::Gone),
            Some(410) => Some(DisabledReason::Gone),
            _ if failing.is_some_and(|failing| failing >= DISABLED_AFTER) => {
                Some(DisabledReason::Failing)
            }
            _ => None,
        };
        if let Some(reason) = reason {
            self.disable(reason, now);
            if !outcome.succeeded() {
                self.miss(created);
            }
        } else if self.internal.breaker.is_open() {
            if let Some(requested) = outcome.asked_to_wait() {
                self.internal.breaker.put_off_probe(requested, now);
            }
        } else if self.internal.failures == FAILURES {
            self.internal.breaker = Breaker::opened(outcome.asked_to_wait(), now);
            self.internal.is_reported = true;
            self.record(EventType::WebhookEndpointFailing);
        }
        reason.is_some() || self.internal != before
    }

    fn note_answer(&mut self, now: Timestamp) {
        if self.internal.breaker.is_open() || self.internal.is_reported {
            self.record(EventType::WebhookEndpointRecovered);
        }
        self.internal.is_reported = false;
        self.internal.failing_since = None;
        self.internal.oldest_failed = None;
        self.internal.failures = 0;
        self.internal.breaker.release(now);
    }

    fn note_failure(&mut self, created: Timestamp, now: Timestamp) {
        let internal = &mut self.internal;
        internal.failures = (internal.failures + 1).min(FAILURES);
        internal.failing_since.get_or_insert(now);
        let oldest = internal.oldest_failed.get_or_insert(created);
        *oldest = created.min(*oldest);
    }
}

/// Parses the header `Retry-After`, as seconds or as a date, into the wait from now: at most 24 hours, however large the value is. None if
/// it is neither.
pub fn retry_after(text: &str, now: Timestamp) -> Option<SignedDuration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows is longer than 24 hours as well.
        let wait = seconds(text.parse::<i64>().unwrap_or(i64::MAX));
        return Some(wait.min(DAY));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let wait = Timestamp::from(date.timestamp()).since(now);
    Some(wait.clamp(SignedDuration::ZERO, DAY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::targets::Targets;
    use kernel::{Id, Kind, Mode, Tenant};

    fn now() -> Timestamp {
        Timestamp::parse("2026-03-01T08:00:00Z").unwrap()
    }

    fn after(status: Option<u16>, attempt: u32, jitter: f64) -> (DeliveryState, i64) {
        let outcome = DeliveryOutcome {
            status,
            ..DeliveryOutcome::default()
        };
        let delivery = outcome.delivery(true, attempt, None, now(), jitter);
        assert_eq!(delivery.attempts, attempt);
        (delivery.state, delivery.next_at.since(now()).as_secs())
    }

    #[test]
    fn ten_attempts_follow_the_table() {
        let waits: Vec<i64> = (1..=9)
            .map(|attempt| after(Some(500), attempt, 0.0).1)
            .collect();
        assert_eq!(
            waits,
            [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
        );
        assert_eq!(after(Some(500), 10, 0.0).0, DeliveryState::Exhausted);
        assert_eq!(after(None, 2, 0.2).1, 360);
        assert_eq!(after(None, 2, -0.2).1, 240);
    }

    #[test]
    fn only_four_answers_acknowledge() {
        for status in [200, 201, 202, 204] {
            assert_eq!(after(Some(status), 1, 0.0).0, DeliveryState::Delivered);
        }
        for status in [203, 205, 301, 302, 400, 404, 500] {
            assert_eq!(after(Some(status), 1, 0.0).0, DeliveryState::Waiting);
        }
        assert_eq!(after(Some(410), 1, 0.0).0, DeliveryState::GivenUp);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_up_to_a_day() {
        let wait = |status, text: &str| {
            let outcome = DeliveryOutcome {
                status: Some(status),
                retry_after: retry_after(text, now()),
                ..DeliveryOutcome::default()
            };
            outcome
                .delivery(true, 1, None, now(), 0.0)
                .next_at
                .since(now())
                .as_secs()
        };
        assert_eq!(wait(503, "120"), 120);
        assert_eq!(wait(429, "1"), 5);
        assert_eq!(wait(429, "999999"), 86_400);
        for absurd in [
            "4294967296",
            "9223372036854775807",
            "99999999999999999999999999999999999999999",
            "Wed, 01 Jan 2200 00:00:00 GMT",
        ] {
            assert_eq!(wait(503, absurd), 86_400, "{absurd}");
        }
        for meaningless in ["", "-1", "1e99", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"] {
            assert_eq!(wait(503, meaningless), 5, "{meaningless}");
        }
        assert_eq!(wait(500, "120"), 5);
        assert_eq!(wait(503, "Sun, 01 Mar 2026 08:02:00 GMT"), 120);
    }

    fn endpoint() -> Stored<WebhookEndpoint> {
        let new = serde_json::json!({"url": "https://fleet.example/", "enabled_events": ["*"]});
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        let new = serde_json::from_value(new).unwrap();
        let endpoint = WebhookEndpoint::new(new, &tenant, "2026-03-01", Targets::Public, now());
        Stored::new(endpoint.unwrap())
    }

    fn outcome(status: u16, control: Option<Control>) -> DeliveryOutcome {
        DeliveryOutcome {
            status: Some(status),
            control,
            ..DeliveryOutcome::default()
        }
    }

    #[test]
    fn a_receiver_that_wants_no_more_is_disabled_at_once() {
        for status in [200, 500] {
            let asks = outcome(status, Control::parse(" Disable"));
            let delivery = asks.delivery(true, 1, None, now(), 0.0);
            assert!(!delivery.is_open());
            let mut endpoint = endpoint();
            let created = now().plus(-minutes(1));
            assert!(endpoint.record_outcome(&asks, created, now()));
            assert_eq!(endpoint.object.disabled_reason, Some(DisabledReason::Gone));
            let is_missed = endpoint.object.missed_since == Some(created);
            assert_eq!(is_missed, status == 500);
            assert_eq!(endpoint.events(), [EventType::WebhookEndpointDisabled]);
            assert!(!endpoint.record_outcome(&outcome(500, None), created, now()));
        }
        assert_eq!(Control::parse("disabled"), None);
    }

    #[test]
    fn a_message_that_is_not_wanted_is_given_up_and_no_failure() {
        let asks = outcome(422, Control::parse("abort-message"));
        let delivery = asks.delivery(true, 1, None, now(), 0.0);
        assert_eq!(delivery.state, DeliveryState::GivenUp);
        let mut endpoint = endpoint();
        for _ in 0..10 {
            assert!(!endpoint.record_outcome(&asks, now(), now()));
        }
        assert_eq!(endpoint.object.status, EndpointStatus::Enabled);
    }

    #[test]
    fn failing_and_recovered_are_recorded_once_each() {
        let mut endpoint = endpoint();
        for _ in 0..20 {
            endpoint.record_outcome(&outcome(500, None), now(), now());
        }
        assert_eq!(endpoint.events(), [EventType::WebhookEndpointFailing]);
        for _ in 0..3 {
            endpoint.record_outcome(&outcome(200, None), now(), now());
        }
        let both = [
            EventType::WebhookEndpointFailing,
            EventType::WebhookEndpointRecovered,
        ];
        assert_eq!(endpoint.events(), both);
    }

    #[test]
    fn an_open_breaker_disables_the_endpoint_after_120_hours() {
        let mut endpoint = endpoint();
        for _ in 1..FAILURES {
            endpoint.record_outcome(&outcome(500, None), now(), now());
        }
        assert_eq!(endpoint.next_action_at(), None);
        endpoint.record_outcome(&outcome(500, None), now(), now());
        let end = now().plus(DISABLED_AFTER);
        assert!(endpoint.next_action_at() < Some(end));
        endpoint.internal.breaker.idle();
        assert_eq!(endpoint.next_action_at(), Some(end));
        assert!(!endpoint.disable_if_failing(end.plus(-seconds(1))));
        assert!(endpoint.disable_if_failing(end) && !endpoint.disable_if_failing(end));
        let reason = endpoint.object.disabled_reason;
        assert_eq!(reason, Some(DisabledReason::Failing));
        assert_eq!(endpoint.next_action_at(), Some(end), "the release");
    }

    #[test]
    fn a_failed_probe_puts_off_the_next_one_by_retry_after() {
        let mut endpoint = endpoint();
        for _ in 0..FAILURES {
            endpoint.record_outcome(&outcome(500, None), now(), now());
        }
        assert!(!endpoint.record_outcome(&outcome(500, None), now(), now()));
        let busy = DeliveryOutcome {
            retry_after: Some(hours(1)),
            ..outcome(503, None)
        };
        assert!(endpoint.record_outcome(&busy, now(), now()));
        let next = endpoint.internal.breaker.next_action_at();
        assert_eq!(next, Some(now().plus(hours(1))));
        assert!(!endpoint.record_outcome(&busy, now(), now()));
    }

    #[test]
    fn what_failed_before_is_missed_from_its_oldest_event_on() {
        let mut endpoint = endpoint();
        let created = |minute| now().plus(minutes(minute));
        for minute in [-5, -9, -1] {
            endpoint.record_outcome(&outcome(500, None), created(minute), now());
        }
        let late = now().plus(DISABLED_AFTER);
        endpoint.record_outcome(&outcome(500, None), late, late);
        assert_eq!(
            endpoint.object.disabled_reason,
            Some(DisabledReason::Failing)
        );
        assert_eq!(endpoint.object.missed_since, Some(created(-9)));
        // An event whose next attempt would be later is given up then.
        assert!(endpoint.miss(created(-20)) && !endpoint.miss(created(-19)));
        assert_eq!(endpoint.object.missed_since, Some(created(-20)));
    }
}

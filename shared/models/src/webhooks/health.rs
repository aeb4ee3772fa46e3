//! The health of a webhook endpoint, computed from the newest attempts of its log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::webhook_delivery::{DeliveryStatus, WebhookDelivery};
use kernel::time::DAY;
use kernel::{SignedDuration, Timestamp};

/// The period of which attempts count.
pub const PERIOD: SignedDuration = DAY;

/// The maximum number of attempts that count, the newest first.
pub const MOST_ATTEMPTS: usize = 100;

/// The results of deliveries to an endpoint in the last 24 hours, by the newest attempts of its log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EndpointHealth {
    /// Number of attempts that count: the newest of the last 24 hours, about 100 at most.
    pub attempts: u32,
    /// The last attempt among them that was not acknowledged; null if there is none.
    pub last_failure: Option<LastFailure>,
    /// Median duration of an attempt in milliseconds; null without attempts.
    pub p50_ms: Option<u64>,
    /// 95th percentile of the duration of an attempt in milliseconds; null without attempts.
    pub p95_ms: Option<u64>,
    /// Share of the attempts that were acknowledged, from 0 to 1; null without attempts.
    #[schema(minimum = 0, maximum = 1)]
    pub success_rate: Option<f64>,
}

/// The last attempt that an endpoint did not acknowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastFailure {
    /// When the attempt was made.
    pub at: Timestamp,
    /// The reason why it was not acknowledged, in plain text.
    #[schema(max_length = 300)]
    pub reason: String,
    /// The receiver's HTTP status; null without a response.
    pub status: Option<u16>,
}

impl EndpointHealth {
    /// Returns the health that follows from these attempts, in any order.
    pub fn of(attempts: &[WebhookDelivery]) -> Self {
        let sent = attempts.iter().filter(|attempt| attempt.was_made());
        let attempts: Vec<&WebhookDelivery> = sent.collect();
        let failed = attempts
            .iter()
            .copied()
            .filter(|attempt| attempt.status == DeliveryStatus::Failed);
        let succeeded = attempts.len() - failed.clone().count();
        let mut latencies: Vec<u64> = attempts.iter().map(|attempt| attempt.latency).collect();
        latencies.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (latencies.len() * percent).div_ceil(100);
            latencies.get(rank.saturating_sub(1)).copied()
        };
        Self {
            attempts: u32::try_from(attempts.len()).unwrap_or(u32::MAX),
            last_failure: failed
                .max_by_key(|attempt| attempt.created)
                .map(LastFailure::of),
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            success_rate: (!attempts.is_empty()).then(|| succeeded as f64 / attempts.len() as f64),
        }
    }
}

impl LastFailure {
    fn of(attempt: &WebhookDelivery) -> Self {
        let reason = match attempt.response_status {
            Some(status @ 300..400) => {
                format!("The receiver redirected with status {status}, which is not followed.")
            }
            Some(status) => format!("The receiver responded with status {status}."),
            None => format!("The receiver did not respond: {}", attempt.response),
        };
        Self {
            at: attempt.created,
            reason: reason.chars().take(300).collect(),
            status: attempt.response_status,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_type::EventType;
    use crate::webhook_delivery::NOT_MADE;
    use kernel::{Id, Kind};
    use std::collections::BTreeMap;

    fn attempt(latency: u64, response_status: Option<u16>, response: &str) -> WebhookDelivery {
        WebhookDelivery {
            id: Id::from_number(Kind::WebhookDelivery, u128::from(latency)),
            object: Kind::WebhookDelivery,
            attempt: 1,
            created: Timestamp::from_unix_millis(latency as i64),
            event: Id::from_number(Kind::Event, 1),
            event_type: EventType::FleetCreated,
            latency,
            next_attempt: None,
            redelivery: false,
            request_headers: BTreeMap::new(),
            response: response.to_owned(),
            response_headers: BTreeMap::new(),
            response_status,
            status: match response_status {
                Some(200) => DeliveryStatus::Succeeded,
                _ => DeliveryStatus::Failed,
            },
            truncated: false,
            webhook_endpoint: Id::from_number(Kind::WebhookEndpoint, 1),
        }
    }

    #[test]
    fn percentiles_are_latencies_that_were_measured() {
        let of = |latencies: std::ops::RangeInclusive<u64>| {
            let attempts: Vec<_> = latencies
                .map(|latency| attempt(latency, Some(200), ""))
                .collect();
            let health = EndpointHealth::of(&attempts);
            (health.p50_ms, health.p95_ms, health.success_rate)
        };
        assert_eq!(of(1..=100), (Some(50), Some(95), Some(1.0)));
        assert_eq!(of(7..=7), (Some(7), Some(7), Some(1.0)));
        assert_eq!(EndpointHealth::of(&[]), EndpointHealth::default());
    }

    #[test]
    fn the_last_failure_is_told_in_words() {
        let attempts = [
            attempt(3, None, "connection refused"),
            attempt(2, Some(500), ""),
            attempt(4, Some(200), ""),
            attempt(5, None, NOT_MADE),
        ];
        let health = EndpointHealth::of(&attempts);
        assert_eq!((health.attempts, health.success_rate), (3, Some(1.0 / 3.0)));
        let last = health.last_failure.unwrap();
        assert_eq!(
            last.reason,
            "The receiver did not respond: connection refused"
        );
        assert_eq!(last.at, attempts[0].created);
        let redirect = LastFailure::of(&attempt(1, Some(302), "")).reason;
        assert!(redirect.contains("not followed"), "{redirect}");
    }
}

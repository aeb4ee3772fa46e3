//! Webhook replays: redeliveries of the events of a period to a webhook endpoint.
//!
//! Life cycle: running → succeeded | failed. An endpoint has at most one replay at a time, and shows the last one. The events are sent from
//! the oldest to the newest, those about one object one after another. The replay waits while the endpoint does not respond, and ends when
//! the endpoint is disabled.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::NonEmpty;
use super::action::Action;
use super::body::RequestBody;
use super::event::{self, Delivery, DeliveryState, Event, EventType};
use super::stored::{Object, Stored};
use super::webhook_endpoint::{EndpointStatus, WebhookEndpoint};
use kernel::time::minutes;
use kernel::{Error, Id, Kind, Result, SignedDuration, Timestamp};

/// The duration after which a run of the job counts as lost: longer than the function can run.
const LEASE: SignedDuration = minutes(10);

/// The pause before a replay checks again whether the endpoint responds.
const PAUSE: SignedDuration = minutes(1);

/// The maximum number of events that a replay delivers.
pub const MAX_EVENTS: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookReplay {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// Number of events that the endpoint has acknowledged.
    pub delivered: u64,
    /// Number of events whose attempt failed. Further attempts follow as for any delivery.
    pub failed: u64,
    /// The reason why the replay failed; null if it did not.
    pub failed_reason: Option<ReplayFailedReason>,
    /// Time at which the replay ended; null while it runs.
    pub finished_at: Option<Timestamp>,
    /// Start of the period, inclusive: events created at or after this moment.
    pub from: Timestamp,
    /// Whether only events that the endpoint has not acknowledged are replayed.
    pub only_failed: bool,
    /// Progress of the replay: the time of the last event that it has processed.
    pub position: Timestamp,
    /// Whether the replay runs, or how it ended.
    pub status: ReplayStatus,
    /// The types of events that are replayed; null for all that the endpoint is subscribed to.
    pub types: Option<Vec<EventType>>,
    /// End of the period, exclusive: events created before this moment.
    pub until: Timestamp,
    /// Id of the webhook endpoint.
    pub webhook_endpoint: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayStatus {
    Running,
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayFailedReason {
    /// The endpoint was disabled or deleted.
    EndpointDisabled,
    /// The period has more than 1,000,000 events. Those up to `position` were replayed.
    TooManyEvents,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayInternal {
    /// The last event that the replay has processed.
    pub last: Option<Id>,
    pub next_action_at: Option<Timestamp>,
}

impl Object for WebhookReplay {
    type Internal = ReplayInternal;

    const KIND: Kind = Kind::WebhookReplay;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::ReplayEvents))
    }
}

/// The body of `POST /v1/webhook_endpoints/{id}/replay`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhookReplay {
    /// Start of the period, inclusive: events created at or after this moment. Events are kept for 30 days.
    pub from: Timestamp,
    /// Whether only events that the endpoint has not acknowledged are replayed. Default true.
    pub only_failed: Option<bool>,
    /// The types of events to replay, to which the endpoint must be subscribed. Default: all that it is subscribed to.
    pub types: Option<NonEmpty<EventType>>,
    /// End of the period, exclusive: events created before this moment. Default: now.
    pub until: Option<Timestamp>,
}

impl RequestBody for NewWebhookReplay {}

impl WebhookReplay {
    /// Returns the id of the replay of an endpoint.
    pub fn id_of(endpoint: &Id) -> Id {
        endpoint.as_kind(Kind::WebhookReplay)
    }

    /// Returns a new replay, which is due at once.
    ///
    /// # Errors
    /// 400 for an empty period, or for types to which the endpoint is not subscribed; 409 for an endpoint that is disabled.
    pub fn new(
        new: NewWebhookReplay,
        endpoint: &WebhookEndpoint,
        now: Timestamp,
    ) -> Result<(Self, ReplayInternal)> {
        let until = new.until.unwrap_or(now).min(now);
        let from = new.from.max(now.plus(-event::KEPT));
        if until <= from {
            let param = new.until.map_or("from", |_| "until");
            return Err(Error::invalid(param, "the period must not be empty"));
        }
        if endpoint.status != EndpointStatus::Enabled {
            return Err(Error::conflict("The endpoint is disabled.", None));
        }
        let types: Option<Vec<EventType>> = new.types.map(Into::into);
        let mut named = types.iter().flatten();
        if let Some(other) = named.find(|kind| !endpoint.subscribes_to(**kind)) {
            let message = format!("the endpoint is not subscribed to `{other}`");
            return Err(Error::invalid("types", message));
        }
        let replay = Self {
            id: Self::id_of(&endpoint.id),
            object: Kind::WebhookReplay,
            created: now,
            delivered: 0,
            failed: 0,
            failed_reason: None,
            finished_at: None,
            from,
            only_failed: new.only_failed.unwrap_or(true),
            position: from,
            status: ReplayStatus::Running,
            types,
            until,
            webhook_endpoint: endpoint.id.clone(),
        };
        let internal = ReplayInternal {
            last: None,
            next_action_at: Some(now),
        };
        Ok((replay, internal))
    }

    /// Checks whether the replay delivers events of every type to which the endpoint is subscribed.
    pub fn has_all_types_of(&self, endpoint: &WebhookEndpoint) -> bool {
        let mut subscribed = EventType::ALL
            .iter()
            .filter(|kind| endpoint.subscribes_to(**kind));
        let types = self.types.as_ref();
        types.is_none_or(|types| subscribed.all(|kind| types.contains(kind)))
    }

    /// Checks whether the replay delivers an event. `delivery` is the delivery of the event to the endpoint; none if it was never started.
    /// A delivery that a worker is attempting is left to that worker.
    pub fn includes(&self, delivery: Option<&Delivery>, now: Timestamp) -> bool {
        match delivery {
            Some(delivery) => match delivery.state {
                DeliveryState::Delivered => !self.only_failed,
                DeliveryState::Claimed => delivery.next_at <= now,
                DeliveryState::Waiting | DeliveryState::GivenUp | DeliveryState::Exhausted => true,
            },
            None => true,
        }
    }
}

impl Stored<WebhookReplay> {
    /// Starts a run of the job, unless one is running or none is due. Returns whether one was started.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        let is_due = self.is_due(Action::ReplayEvents, now);
        if is_due {
            self.internal.next_action_at = Some(now.plus(LEASE));
        }
        is_due
    }

    /// Checks whether the first attempt to deliver an event in order has to wait for the end of the replay, because it may still send
    /// earlier events about the object. `created` is the time at which the object was created.
    pub fn precedes(&self, event: &Event, created: Option<Timestamp>) -> bool {
        let is_running = self.object.finished_at.is_none();
        let is_passed = self
            .internal
            .last
            .as_ref()
            .is_some_and(|last| event.id <= *last);
        let is_older = created.is_none_or(|created| created < self.object.until);
        is_running && !is_passed && is_older && event.sequence > 1
    }

    /// Records the last event that the replay has processed.
    pub fn advance(&mut self, last: &Id) {
        self.object.position = last.time(Kind::Event).unwrap_or(self.object.position);
        self.internal.last = Some(last.clone());
    }

    /// Counts an attempt.
    pub fn count(&mut self, has_succeeded: bool) {
        if has_succeeded {
            self.object.delivered += 1
        } else {
            self.object.failed += 1
        }
    }

    /// Ends a run of the job before the end of the period. The next run begins at once, or after a pause.
    pub fn put_off(&mut self, pauses: bool, now: Timestamp) {
        let pause = if pauses { PAUSE } else { SignedDuration::ZERO };
        self.internal.next_action_at = Some(now.plus(pause));
    }

    /// Ends the replay.
    pub fn finish(&mut self, failed: Option<ReplayFailedReason>, now: Timestamp) {
        self.object.status = match failed {
            Some(_) => ReplayStatus::Failed,
            None => ReplayStatus::Succeeded,
        };
        self.object.failed_reason = failed;
        self.object.finished_at = Some(now);
        if failed.is_none() {
            self.object.position = self.object.until;
        }
        self.internal.next_action_at = None;
    }
}

impl Stored<WebhookEndpoint> {
    /// Clears `missed_since` after a replay that has delivered all missed events, or moves it to the end of a replay that has delivered
    /// those before its end. Returns whether the endpoint has changed.
    ///
    /// It is not changed if the endpoint was disabled since the replay was created, because it may have missed events of the replay again.
    pub fn catch_up(&mut self, replay: &WebhookReplay) -> bool {
        let enabled_at = self.internal.enabled_at.unwrap_or(replay.created);
        let is_enabled = self.object.status == EndpointStatus::Enabled;
        let Some(since) = self.object.missed_since else {
            return false;
        };
        // Older events are not kept.
        let oldest = since.max(replay.created.plus(-event::KEPT));
        if !is_enabled
            || enabled_at > replay.created
            || replay.from > oldest
            || !replay.has_all_types_of(&self.object)
        {
            return false;
        }
        let rest = (replay.until < enabled_at).then_some(replay.until.max(since));
        self.object.missed_since = rest;
        rest != Some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook_endpoint::DisabledReason;
    use crate::webhook_endpoint::tests::endpoint;
    use kernel::targets::Targets;
    use kernel::time::hours;
    use serde_json::json;

    #[test]
    fn only_a_replay_of_all_missed_events_clears_missed_since() {
        let at = |minute: i64| Timestamp::EPOCH.plus(hours(2_400)).plus(minutes(minute));
        let missing = || {
            let events = &["fleet.created", "fleet.updated"];
            let endpoint = endpoint("https://fleet.example/", events, Targets::Public).unwrap();
            let mut endpoint = Stored::new(endpoint);
            endpoint.disable(DisabledReason::Gone, at(10));
            endpoint.enable(at(20));
            endpoint
        };
        let caught_up = |endpoint: &Stored<WebhookEndpoint>, body: serde_json::Value| {
            let new = serde_json::from_value(body).unwrap();
            let (replay, _) = WebhookReplay::new(new, &endpoint.object, at(30)).unwrap();
            let mut endpoint = endpoint.clone();
            let has_changed = endpoint.catch_up(&replay);
            assert_eq!(has_changed, endpoint.object.missed_since != Some(at(10)));
            endpoint.object.missed_since
        };
        let from = at(10);
        for (body, expected) in [
            (json!({"from": from}), None),
            (json!({"from": from, "until": at(20)}), None),
            (json!({"from": from, "until": at(15)}), Some(at(15))),
            (json!({"from": at(5), "until": at(8)}), Some(from)),
            (json!({"from": at(11)}), Some(from)),
            (
                json!({"from": from, "types": ["fleet.created"]}),
                Some(from),
            ),
            (
                json!({"from": from, "types": ["fleet.updated", "fleet.created"]}),
                None,
            ),
        ] {
            assert_eq!(caught_up(&missing(), body.clone()), expected, "{body}");
        }
        // It was disabled again while the replay ran.
        let mut again = missing();
        again.disable(DisabledReason::Gone, at(31));
        let all = json!({"from": from});
        let replay = |endpoint: &Stored<WebhookEndpoint>| {
            let new = serde_json::from_value(all.clone()).unwrap();
            WebhookReplay::new(new, &endpoint.object, at(30)).unwrap().0
        };
        let running = replay(&missing());
        assert!(!again.catch_up(&running));
        again.enable(at(32));
        assert!(!again.catch_up(&running));
        // What was missed more than 30 days ago is not kept.
        let mut old = missing();
        old.object.missed_since = Some(at(30).plus(-event::KEPT).plus(minutes(-1)));
        let long_ago = json!({"from": old.object.missed_since});
        assert_eq!(caught_up(&old, long_ago), None);
    }
}

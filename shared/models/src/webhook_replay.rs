//! Webhook replays: the events of a period, delivered to a webhook endpoint once more.
//!
//! Life cycle: running → succeeded | failed. An endpoint has one replay at a time, and shows the last one. Its events go out in the order of
//! their age, those about one object one after another. It waits while the endpoint does not answer, and ends when the endpoint is disabled.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Distinct;
use super::action::Action;
use super::body::RequestBody;
use super::event::{self, Delivery, DeliveryState, Event, EventType};
use super::stored::{Object, Stored};
use super::webhook_endpoint::{EndpointStatus, WebhookEndpoint};
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::time::{SignedDuration, Timestamp, minutes};

/// How long one run of the job may take before it counts as lost: longer than the function can run.
const LEASE: SignedDuration = minutes(10);

/// How long a replay waits before it looks again whether the endpoint answers.
const PAUSE: SignedDuration = minutes(1);

/// How many events a replay delivers at most.
pub const MAX_EVENTS: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookReplay {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// How many events the endpoint has acknowledged.
    pub delivered: u64,
    /// Of how many events the attempt failed. Further attempts follow as for any delivery.
    pub failed: u64,
    /// Why a failed replay failed.
    pub failed_reason: Option<ReplayFailedReason>,
    /// Time at which the replay ended; null while it runs.
    pub finished_at: Option<Timestamp>,
    /// Events made at or after this moment.
    pub from: Timestamp,
    /// Whether only events are replayed that the endpoint has not acknowledged.
    pub only_failed: bool,
    /// Up to where the replay has come: the moment of the last event that it has looked at.
    pub position: Timestamp,
    /// Whether the replay runs, or how it ended.
    pub status: ReplayStatus,
    /// The types of events that are replayed; null for all that the endpoint is subscribed to.
    pub types: Option<Vec<EventType>>,
    /// Events made before this moment.
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
    /// The last event that the replay has looked at.
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
    /// Events made at or after this moment. They are kept for 30 days.
    pub from: Timestamp,
    /// Leave out the events that the endpoint has acknowledged. Default true.
    #[serde(default)]
    pub only_failed: Option<bool>,
    /// Only events of these types. Default: all that the endpoint is subscribed to.
    #[serde(default)]
    pub types: Option<Distinct<EventType>>,
    /// Events made before this moment. Default: now.
    #[serde(default)]
    pub until: Option<Timestamp>,
}

impl RequestBody for NewWebhookReplay {}

impl WebhookReplay {
    /// The id of the replay of an endpoint.
    pub fn id_of(endpoint: &Id) -> Id {
        endpoint.as_kind(Kind::WebhookReplay)
    }

    /// A new replay, which is due at once.
    ///
    /// # Errors
    /// 400 for an empty period or no types; 409 for an endpoint that is disabled.
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
        if new.types.as_ref().is_some_and(|types| types.is_empty()) {
            return Err(Error::invalid("types", "must have at least one entry"));
        }
        if endpoint.status != EndpointStatus::Enabled {
            return Err(Error::conflict("The endpoint is disabled.", None));
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
            types: new.types.map(Into::into),
            until,
            webhook_endpoint: endpoint.id.clone(),
        };
        let internal = ReplayInternal {
            last: None,
            next_action_at: Some(now),
        };
        Ok((replay, internal))
    }

    /// Whether the replay delivers an event whose delivery to the endpoint has come that far; none that was never begun with. One that a
    /// worker attempts at the moment is left to it.
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

    /// Whether the first attempt to deliver an event in order waits for the end of the replay: earlier events about its object, which was
    /// created then, may still be sent once more.
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

    /// Notes the last event that the replay has looked at.
    pub fn advance(&mut self, last: &Id) {
        self.object.position = last.time(Kind::Event).unwrap_or(self.object.position);
        self.internal.last = Some(last.clone());
    }

    /// Counts an attempt.
    pub fn count(&mut self, has_succeeded: bool) {
        match has_succeeded {
            true => self.object.delivered += 1,
            false => self.object.failed += 1,
        }
    }

    /// Ends a run of the job that has not come to the end of the period: the next one begins at once, or after a pause.
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

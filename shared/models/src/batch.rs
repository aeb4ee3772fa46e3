//! Batches: many bodies of one operation, processed in the background.
//!
//! Life cycle: running → completed. The bodies are processed in chunks, in their order. Each is processed like a request of its own: with
//! the same checks and events, and with the rights of the key that created the batch, as they are at that moment. If a body is refused, the
//! others are not affected.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::event;
use super::event_type::EventType;
use super::stored::{Object, Stored};
use kernel::time::{DAY, minutes};
use kernel::{Error, Id, Kind, Resource, Result, SignedDuration, Timestamp};

/// The maximum number of bodies of a batch. The batch and its chunks are written in one transaction, which has at most 100 writes.
pub const MAX_BODIES: usize = 1000;

/// Bodies of requests, as they were sent.
pub type Bodies = Vec<Map<String, Value>>;

/// The number of bodies of a chunk.
pub const CHUNK: usize = 20;

/// How long a chunk may take before the run of the job counts as lost. If it is only slow, two runs execute the same bodies, which has no
/// effect twice, and one of them ends.
const LEASE: SignedDuration = minutes(2);

/// The pause of a batch after a body could not be processed because the service was busy, and the time after the creation of the batch
/// during which such bodies are retried.
const PAUSE: SignedDuration = minutes(1);
const PATIENCE: SignedDuration = DAY;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Batch {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// The number of bodies that were refused.
    #[schema(example = 1)]
    pub failed: usize,
    /// Time at which the last body was processed; null until then.
    pub finished_at: Option<Timestamp>,
    /// The operation to which each body belongs.
    pub operation: BatchOperation,
    /// Whether the bodies are still being processed.
    pub status: BatchStatus,
    /// The number of bodies that were processed successfully.
    #[schema(example = 249)]
    pub succeeded: usize,
    /// The total number of bodies.
    #[schema(example = 250)]
    pub total: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    Running,
    Completed,
}

/// An operation that a batch can perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchOperation {
    CreateChargeCard,
    CreateDriver,
    CreateFleet,
    CreatePolicy,
    CreateReservation,
    CreateVehicle,
}

impl BatchOperation {
    /// Returns the resource that the key must be allowed to write.
    pub fn writes(self) -> Resource {
        match self {
            Self::CreateChargeCard => Resource::ChargeCards,
            Self::CreateDriver => Resource::Drivers,
            Self::CreateFleet => Resource::Fleets,
            Self::CreatePolicy => Resource::Policies,
            Self::CreateReservation => Resource::Reservations,
            Self::CreateVehicle => Resource::Vehicles,
        }
    }
}

/// The internal state of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchInternal {
    /// The key that created the batch: the account that it belongs to, and the hash of its secret.
    pub key: Option<(Id, String)>,
    /// The request that created the batch.
    pub request: Option<Id>,
    /// The base URL that the client uses. Errors link to the documentation under it.
    pub base_url: String,
    pub next_action_at: Option<Timestamp>,
}

impl Object for Batch {
    type Internal = BatchInternal;

    const KIND: Kind = Kind::Batch;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::RunBatch))
    }
}

/// The body of `POST /v1/batches`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBatch {
    /// 1 to 1,000 bodies of the operation.
    #[schema(value_type = Vec<HashMap<String, Value>>, min_items = 1, max_items = 1000)]
    pub bodies: Bodies,
    /// The operation to which each body belongs.
    pub operation: BatchOperation,
}

impl RequestBody for NewBatch {}

/// The result of one body of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchResult {
    pub id: Id,
    pub object: Kind,
    /// The reason why the body was refused; null if it was not.
    pub error: Option<BatchError>,
    /// The index of the body in the batch, from 0.
    #[schema(example = 0)]
    pub index: usize,
    /// Id of the object that was created; null if none was.
    pub result: Option<Id>,
    /// Whether the body was processed successfully.
    pub status: BatchResultStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchResultStatus {
    Pending,
    Succeeded,
    Failed,
}

/// The reason why a body of a batch was refused: the error that a request with this body would have received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchError {
    /// Class of the error.
    #[serde(rename = "type")]
    #[schema(example = "invalid_request_error")]
    pub kind: String,
    /// The specific condition, if it has a code.
    pub code: Option<String>,
    /// Explanation of the error in plain text.
    #[schema(example = "No such fleet.")]
    pub message: String,
    /// The invalid member of the body.
    #[schema(example = "fleet")]
    pub param: Option<String>,
    /// URL of the documentation of the code.
    pub doc_url: Option<String>,
    /// With an invalid body: every member at fault if the body cannot be read, and otherwise the one in `param`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(min_items = 1, max_items = 50)]
    pub errors: Vec<ParameterError>,
    /// With `policy_blocked`: id of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub policy: Option<String>,
    /// With `policy_blocked`: the rule of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub rule: Option<String>,
}

/// An entry of `errors` of an error. Its schema is that of the errors of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ParameterError {
    pub code: String,
    pub param: String,
    pub message: String,
    pub doc_url: String,
}

/// The stored result of one body of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Succeeded(Id),
    Failed(BatchError),
}

impl Batch {
    /// Returns a new batch, which is due at once, and its chunks of bodies.
    ///
    /// # Errors
    /// 400 for fewer than 1 or more than 1,000 bodies.
    pub fn new(
        new: NewBatch,
        internal: BatchInternal,
        now: Timestamp,
    ) -> Result<(Stored<Self>, Vec<Bodies>)> {
        let total = new.bodies.len();
        if !(1..=MAX_BODIES).contains(&total) {
            let message = format!("must have 1 to {MAX_BODIES} entries, not {total}");
            return Err(Error::invalid("bodies", message));
        }
        let batch = Self {
            id: Id::new(Kind::Batch, now),
            object: Kind::Batch,
            created: now,
            failed: 0,
            finished_at: None,
            operation: new.operation,
            status: BatchStatus::Running,
            succeeded: 0,
            total,
        };
        let internal = BatchInternal {
            next_action_at: Some(now),
            ..internal
        };
        let chunks = new.bodies.chunks(CHUNK).map(<[_]>::to_vec).collect();
        Ok((Stored::with_internal(batch, internal), chunks))
    }

    /// Returns the index of the body to which a result belongs.
    pub fn index_of(result: &Id) -> Option<usize> {
        let last = u128::from(u16::MAX);
        let number = result.number(Kind::BatchResult)? & last;
        usize::try_from(last - number).ok()
    }

    /// Returns the time at which the batch and its chunks are deleted.
    pub fn kept_until(&self) -> Timestamp {
        self.created.plus(event::KEPT)
    }

    /// Checks whether the batch is still kept. DynamoDB may delete its items days later, one before the other.
    ///
    /// # Errors
    /// 404 if it is older than 30 days.
    pub fn check_kept(&self, now: Timestamp) -> Result<()> {
        if self.kept_until() < now {
            return Err(Error::not_found(Kind::Batch));
        }
        Ok(())
    }
}

impl BatchResult {
    /// Returns the result of a body, with its outcome if it was processed.
    pub fn new(batch: &Id, index: usize, outcome: Option<Outcome>) -> Self {
        let (status, result, error) = match outcome {
            None => (BatchResultStatus::Pending, None, None),
            Some(Outcome::Succeeded(id)) => (BatchResultStatus::Succeeded, Some(id), None),
            Some(Outcome::Failed(error)) => (BatchResultStatus::Failed, None, Some(error)),
        };
        Self {
            id: Self::id_of(batch, index),
            object: Kind::BatchResult,
            error,
            index,
            result,
            status,
        }
    }

    /// Returns the id of the result of a body. Lists are sorted by descending id, so the first body has the highest one.
    pub fn id_of(batch: &Id, index: usize) -> Id {
        let last = u128::from(u16::MAX);
        let number = batch.number(Kind::Batch).unwrap_or_default() & !last;
        Id::from_number(Kind::BatchResult, number | (last - index as u128))
    }
}

impl Stored<Batch> {
    /// Starts a run of the job, unless one is running or none is due. Returns whether one was started.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        let is_due = self.is_due(Action::RunBatch, now);
        if is_due {
            self.internal.next_action_at = Some(now.plus(LEASE));
        }
        is_due
    }

    /// Returns the next chunk to process.
    pub fn next_chunk(&self) -> Option<usize> {
        let done = self.object.succeeded + self.object.failed;
        (done < self.object.total).then_some(done / CHUNK)
    }

    /// Checks whether bodies that the service could not process are retried.
    pub fn is_patient(&self, now: Timestamp) -> bool {
        now < self.object.created.plus(PATIENCE)
    }

    /// Counts the outcomes of the next chunk, and gives the run the same time for the one after it. After the last chunk the batch is
    /// completed.
    pub fn count(&mut self, outcomes: &[Outcome], now: Timestamp) {
        let is_failed = |outcome: &&Outcome| matches!(outcome, Outcome::Failed(_));
        let failed = outcomes.iter().filter(is_failed).count();
        self.object.failed += failed;
        self.object.succeeded += outcomes.len() - failed;
        self.internal.next_action_at = Some(now.plus(LEASE));
        if self.next_chunk().is_none() {
            self.object.status = BatchStatus::Completed;
            self.object.finished_at = Some(now);
            self.internal.next_action_at = None;
            self.record(EventType::BatchCompleted);
        }
    }

    /// Ends a run of the job before the last chunk. The next run begins at once, or after a pause.
    pub fn put_off(&mut self, pauses: bool, now: Timestamp) {
        let pause = if pauses { PAUSE } else { SignedDuration::ZERO };
        self.internal.next_action_at = Some(now.plus(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(count: usize) -> Result<(Stored<Batch>, Vec<Bodies>)> {
        let new = NewBatch {
            bodies: vec![Map::new(); count],
            operation: BatchOperation::CreateFleet,
        };
        Batch::new(new, BatchInternal::default(), Timestamp::EPOCH)
    }

    #[test]
    fn a_batch_has_1_to_1000_bodies_in_chunks() {
        assert!(batch(0).is_err());
        assert!(batch(MAX_BODIES + 1).is_err());
        let (_, chunks) = batch(MAX_BODIES).unwrap();
        assert!(chunks.len() < 100);
        assert_eq!(chunks.iter().map(Vec::len).sum::<usize>(), MAX_BODIES);
    }

    #[test]
    fn results_are_listed_in_the_order_of_the_bodies() {
        let (batch, _) = batch(MAX_BODIES).unwrap();
        let ids: Vec<Id> = (0..MAX_BODIES)
            .map(|n| BatchResult::id_of(&batch.object.id, n))
            .collect();
        assert!(ids.windows(2).all(|pair| pair[0] > pair[1]));
        let places: Vec<usize> = ids.iter().filter_map(Batch::index_of).collect();
        assert_eq!(places, (0..MAX_BODIES).collect::<Vec<_>>());
    }

    #[test]
    fn a_batch_is_completed_with_its_last_chunk() {
        let (mut batch, chunks) = batch(CHUNK + 1).unwrap();
        let now = Timestamp::EPOCH;
        assert!(batch.begin(now) && !batch.begin(now));
        for (place, chunk) in chunks.iter().enumerate() {
            assert_eq!(batch.next_chunk(), Some(place));
            let id = Id::new(Kind::Fleet, now);
            batch.count(&vec![Outcome::Succeeded(id); chunk.len()], now);
        }
        assert_eq!(batch.object.status, BatchStatus::Completed);
        assert_eq!(batch.object.succeeded, CHUNK + 1);
        assert_eq!(batch.next_action(), None);
    }
}

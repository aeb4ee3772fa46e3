//! Stored objects: a resource together with what the service keeps about it.
//!
//! A [`Stored`] object has the public object, its internal state, the version that the next write is conditional on, and the
//! events that were recorded since it was read. The resources implement their state transitions on it: a transition checks the
//! state, changes both halves, and records its own event. The store writes the recorded events with the object.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::action::Action;
use super::event_type::EventType;
use super::search::SearchField;
use kernel::fields::metadata::Metadata;
use kernel::id::{Id, Kind};
use kernel::time::Timestamp;

/// A resource that is stored as an object of its own. It is serialized as clients see it.
pub trait Object: Serialize + DeserializeOwned + Clone + Send + Sync {
    /// What is stored with the object and not shown to clients.
    type Internal: Serialize + DeserializeOwned + Default + Clone + Send + Sync;

    const KIND: Kind;

    fn id(&self) -> &Id;

    /// Serializes the object in the form in which it is stored, from which it is deserialized.
    ///
    /// # Errors
    /// Those of the serializer.
    fn stored<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    /// The fleet that the object belongs to, if what clients see of it does not name that.
    fn hidden_fleet(_stored: &Stored<Self>) -> Option<&Id> {
        None
    }

    /// The texts that a search finds the object by; the first is its title. None for a kind that is not searched for.
    fn names(&self) -> Vec<(SearchField, &str)> {
        Vec::new()
    }

    /// The metadata that lists find the object by. None for a kind that is not found by metadata.
    fn searchable_metadata(&self) -> Option<&Metadata> {
        None
    }

    /// What the service does about the object next without a request, and when.
    fn next_action(_stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        None
    }
}

/// An object that is serialized in the form in which it is stored.
pub struct StoredForm<'a, T>(pub &'a T);

impl<T: Object> Serialize for StoredForm<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.stored(serializer)
    }
}

/// Whether a member need not be stored, because it reads back as the default.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An object, its internal state and version, and the events that its next write stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T: Object> {
    pub object: T,
    pub internal: T::Internal,
    /// How often the object was written; 0 for one that is not in the table.
    pub version: u64,
    /// How many events the writes of the object have recorded: the `sequence` of the last one.
    pub recorded: u64,
    events: Vec<EventType>,
    unknown: Option<Box<Unknown>>,
}

/// What a row holds besides that was written by a newer release: it is written back as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unknown {
    /// The version of the layout that the newer release has written.
    pub schema: u32,
    /// Attributes of the row.
    pub row: Map<String, Value>,
    /// Members of the object.
    pub object: Map<String, Value>,
    /// Members of the internal state.
    pub internal: Map<String, Value>,
}

impl<T: Object> Stored<T> {
    /// An object that is not in the table, with the default internal state.
    pub fn new(object: T) -> Self {
        Self::with_internal(object, T::Internal::default())
    }

    /// An object that is not in the table.
    pub fn with_internal(object: T, internal: T::Internal) -> Self {
        Self::read(object, internal, 0)
    }

    /// An object as it is in the table.
    pub fn read(object: T, internal: T::Internal, version: u64) -> Self {
        Self {
            object,
            internal,
            version,
            recorded: 0,
            events: Vec::new(),
            unknown: None,
        }
    }

    /// The object as it was read, after its writes have recorded so many events.
    #[must_use]
    pub fn having_recorded(mut self, events: u64) -> Self {
        self.recorded = events;
        self
    }

    /// The object as it was read, with what a newer release has written besides.
    #[must_use]
    pub fn holding(mut self, unknown: Option<Unknown>) -> Self {
        self.unknown = unknown.map(Box::new);
        self
    }

    /// What a newer release has written besides.
    pub fn unknown(&self) -> Option<&Unknown> {
        self.unknown.as_deref()
    }

    /// What the service does about the object next without a request, and when.
    pub fn next_action(&self) -> Option<(Timestamp, Action)> {
        T::next_action(self)
    }

    /// When the service next acts on the object without a request.
    pub fn next_action_at(&self) -> Option<Timestamp> {
        self.next_action().map(|(at, _)| at)
    }

    /// Whether this action is the next one, and its moment has come.
    pub fn is_due(&self, action: Action, now: Timestamp) -> bool {
        self.next_action()
            .is_some_and(|(at, next)| next == action && at <= now)
    }

    /// Records an event: the next write of the object creates it.
    pub fn record(&mut self, event: EventType) {
        self.events.push(event);
    }

    /// The object with one more recorded event.
    #[must_use]
    pub fn recording(mut self, event: EventType) -> Self {
        self.record(event);
        self
    }

    /// The events that were recorded since the object was read.
    pub fn events(&self) -> &[EventType] {
        &self.events
    }

    /// Forgets the recorded events, which never happen.
    pub fn clear_events(&mut self) {
        self.events.clear();
    }

    /// Counts the recorded events, which are written with the object or by themselves.
    fn count_events(&mut self) {
        self.recorded += self.events.len() as u64;
        self.events.clear();
    }

    /// The object as its write leaves it: the version is increased, and its events are counted.
    pub fn mark_written(&mut self) {
        self.version += 1;
        self.count_events();
    }
}

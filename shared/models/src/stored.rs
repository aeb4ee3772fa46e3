//! Stored objects: resources together with the data that the service keeps about them.
//!
//! A [`Stored`] object has the public object, its internal state, the version that the next write is conditional on, and the events that
//! were recorded since it was read. The resources implement their state transitions on it: a transition checks the state, changes both
//! halves, and records its own event. The store writes the recorded events with the object.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::action::Action;
use super::event_type::EventType;
use super::search::SearchField;
use kernel::fields::metadata::Metadata;
use kernel::{Id, Kind, Timestamp};

/// A resource that is stored as an object of its own. It is serialized as clients see it.
pub trait Object: Serialize + DeserializeOwned + Clone + Send + Sync {
    /// The data that is stored with the object and not shown to clients.
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

    /// Returns the fleet that the object belongs to, if the serialized object does not name it.
    fn hidden_fleet(_stored: &Stored<Self>) -> Option<&Id> {
        None
    }

    /// Returns the texts by which a search finds the object; the first is its title. None for a kind that is not searched for.
    fn names(&self) -> Vec<(SearchField, &str)> {
        Vec::new()
    }

    /// Returns the metadata by which lists find the object. None for a kind that is not found by metadata.
    fn searchable_metadata(&self) -> Option<&Metadata> {
        None
    }

    /// Returns the version of the object that `ETag` and `If-Match` have. It stays the same in writes that do not change the object as
    /// clients see it.
    fn shown_version(stored: &Stored<Self>) -> u64 {
        stored.version
    }

    /// Returns the next action of the service on the object without a request, and its time.
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

/// Checks whether a member need not be stored because it is the default.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An object, its internal state and version, and the events that its next write creates.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T: Object> {
    pub object: T,
    pub internal: T::Internal,
    /// The number of writes of the object; 0 for an object that is not in the table.
    pub version: u64,
    /// The number of events that the writes of the object have recorded, which is the `sequence` of the last one.
    pub recorded: u64,
    /// The time of the last of these events, or a later one of a write without events. None if it is unknown.
    pub last_event: Option<Timestamp>,
    events: Vec<EventType>,
    unknown: Option<Box<Unknown>>,
}

/// Attributes of an item that a newer release has written and this one does not support. They are written back as they were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unknown {
    /// The version of the layout that the newer release has written.
    pub schema: u32,
    /// Attributes of the item.
    pub item: Map<String, Value>,
    /// Members of the object.
    pub object: Map<String, Value>,
    /// Members of the internal state.
    pub internal: Map<String, Value>,
}

impl<T: Object> Stored<T> {
    /// Returns an object that is not in the table, with the default internal state.
    pub fn new(object: T) -> Self {
        Self::with_internal(object, T::Internal::default())
    }

    /// Returns an object that is not in the table.
    pub fn with_internal(object: T, internal: T::Internal) -> Self {
        Self::read(object, internal, 0)
    }

    /// Returns an object that was read from the table.
    pub fn read(object: T, internal: T::Internal, version: u64) -> Self {
        Self {
            object,
            internal,
            version,
            recorded: 0,
            last_event: None,
            events: Vec::new(),
            unknown: None,
        }
    }

    /// Returns whether the object is not in the table.
    pub fn is_new(&self) -> bool {
        self.version == 0
    }

    /// Sets the number of events that the writes of the object have recorded, and the time of the last.
    #[must_use]
    pub fn having_recorded(mut self, events: u64, last: Option<Timestamp>) -> Self {
        (self.recorded, self.last_event) = (events, last);
        self
    }

    /// Returns the time of the events that a write records which began at a moment. The write of a request that began later may have come
    /// first, and the events of an object are sorted by time in the order of its writes.
    pub fn event_time(&self, began: Timestamp) -> Timestamp {
        self.last_event.map_or(began, |last| began.max(last))
    }

    /// Adds the attributes that a newer release has written.
    #[must_use]
    pub fn holding(mut self, unknown: Option<Unknown>) -> Self {
        self.unknown = unknown.map(Box::new);
        self
    }

    /// Returns the attributes that a newer release has written.
    pub fn unknown(&self) -> Option<&Unknown> {
        self.unknown.as_deref()
    }

    /// Returns the next action of the service on the object without a request, and its time.
    pub fn next_action(&self) -> Option<(Timestamp, Action)> {
        let next = T::next_action(self);
        debug_assert!(next.is_none_or(|(_, action)| action.kind() == T::KIND));
        next
    }

    /// Returns the time of the next action on the object without a request.
    pub fn next_action_at(&self) -> Option<Timestamp> {
        self.next_action().map(|(at, _)| at)
    }

    /// Checks whether this action is the next one and is due.
    pub fn is_due(&self, action: Action, now: Timestamp) -> bool {
        self.next_action()
            .is_some_and(|(at, next)| next == action && at <= now)
    }

    /// Records an event: the next write of the object creates it.
    pub fn record(&mut self, event: EventType) {
        self.events.push(event);
    }

    /// Records an event and returns the object.
    #[must_use]
    pub fn recording(mut self, event: EventType) -> Self {
        self.record(event);
        self
    }

    /// Returns the events that were recorded since the object was read.
    pub fn events(&self) -> &[EventType] {
        &self.events
    }

    /// Removes the recorded events. They will not be created.
    pub fn clear_events(&mut self) {
        self.events.clear();
    }

    /// Counts the recorded events, which are written with the object or by themselves.
    fn count_events(&mut self) {
        self.recorded += self.events.len() as u64;
        self.events.clear();
    }

    /// Updates the object after its write: the version is increased, and its events are counted.
    pub fn mark_written(&mut self) {
        self.version += 1;
        self.count_events();
    }
}

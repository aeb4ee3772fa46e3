//! A cache in the memory of one instance of a function.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::time::{SignedDuration, Timestamp};

/// Values that may be used for a limited time after they were read.
#[derive(Debug)]
pub struct TtlCache<K, V> {
    ttl: SignedDuration,
    capacity: usize,
    entries: Mutex<HashMap<K, (Timestamp, V)>>,
}

impl<K: Hash + Eq, V: Clone> TtlCache<K, V> {
    /// Returns a cache whose entries are valid for `ttl`. It holds at most `capacity` of them.
    pub fn new(ttl: SignedDuration, capacity: usize) -> Self {
        Self {
            ttl,
            capacity,
            entries: Mutex::default(),
        }
    }

    /// Returns the value of a key, if it was inserted less than the time to live ago.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: Timestamp) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entries = self.lock();
        let (since, value) = entries.get(key)?;
        self.is_fresh(*since, now).then(|| value.clone())
    }

    /// Returns whether there is a value of a key, however old.
    pub fn holds<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.lock().contains_key(key)
    }

    /// Inserts a value that was read at a moment. A full cache first removes its expired entries, and all entries if none has expired.
    pub fn insert(&self, key: K, value: V, now: Timestamp) {
        let mut entries = self.lock();
        if entries.len() >= self.capacity {
            entries.retain(|_, (since, _)| self.is_fresh(*since, now));
            if entries.len() >= self.capacity {
                entries.clear();
            }
        }
        entries.insert(key, (now, value));
    }

    /// Removes the value of a key, which has changed.
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.lock().remove(key);
    }

    /// Removes the values that satisfy the condition.
    pub fn remove_if(&self, condition: impl Fn(&V) -> bool) {
        self.lock().retain(|_, (_, value)| !condition(value));
    }

    /// Returns whether a value that was read at `since` may still be used. A value from the future, after the clock was set back, may not.
    fn is_fresh(&self, since: Timestamp, now: Timestamp) -> bool {
        (SignedDuration::ZERO..self.ttl).contains(&now.since(since))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Timestamp, V)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::millis;

    fn at(moment: i64) -> Timestamp {
        Timestamp::from_unix_millis(moment)
    }

    #[test]
    fn a_value_is_used_until_its_time_is_over_or_it_is_removed() {
        let cache = TtlCache::new(millis(100), 10);
        cache.insert("one".to_owned(), 1, at(1_000));
        assert_eq!(cache.get("one", at(1_000)), Some(1));
        assert_eq!(cache.get("one", at(1_099)), Some(1));
        assert_eq!(cache.get("one", at(1_100)), None);
        assert_eq!(cache.get("one", at(999)), None);
        assert_eq!(cache.get("two", at(1_000)), None);
        cache.insert("two".to_owned(), 2, at(1_000));
        cache.remove("one");
        assert_eq!(cache.get("one", at(1_000)), None);
        cache.remove_if(|value| *value == 2);
        assert_eq!(cache.get("two", at(1_000)), None);
    }

    #[test]
    fn a_full_cache_drops_expired_entries_first() {
        let cache = TtlCache::new(millis(100), 2);
        cache.insert(1, "old", at(0));
        cache.insert(2, "new", at(90));
        cache.insert(3, "newer", at(110));
        assert_eq!(cache.get(&2, at(110)), Some("new"));
        cache.insert(4, "newest", at(120));
        assert_eq!(cache.get(&2, at(120)), None);
        assert_eq!(cache.get(&4, at(120)), Some("newest"));
    }
}

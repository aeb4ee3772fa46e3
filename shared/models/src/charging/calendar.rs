//! Calendars: the times at which an EVSE or a vehicle is taken.
//!
//! Terms. An *EVSE* is a charging point. It has one or more connectors (cables) and serves one vehicle at a time, so its
//! connectors share one calendar. A *window* is a half-open span of time. The *owner* of a calendar is an EVSE or a vehicle.
//! The *holder* of an entry is the reservation or the charging session for which the time is taken. There is one calendar
//! document per owner and UTC day; a window that touches several days has an entry in the document of each of them.
//!
//! Life cycle. A confirmation books the reserved window in the calendars of the EVSE and of the vehicle. A rematch moves the
//! entries to another EVSE or another window. The entries are removed when the reservation is cancelled, expires, fails or
//! is completed. If the vehicle charges at another EVSE than the reserved one, the entry of the reserved EVSE is removed when its
//! session begins. A session books the time from its start to its next action, books more
//! while the vehicle stays plugged in, and releases what is left when it ends. Documents are deleted a week after their day
//! (TTL), so entries in the past need not be removed.
//!
//! Invariants.
//! - No two reservations, and no two sessions, have overlapping entries in one calendar. On an EVSE, a session does not
//!   overlap a reservation either, unless it is the one that the session fulfils.
//! - Every day of a window that is taken has its entry in the calendars of both owners, except at the EVSE that a reservation does not
//!   use.
//! - A document is written only on condition that it still has the version that was read (`calendars` in the crate `table`). Of
//!   two writers that read the same version one is refused, and has to read and decide again.
//!
//! Crashes. Entries are written in the same transaction as the reservation or session that holds them, and removed in the
//! same transaction that ends it. A process that dies between reading and writing leaves nothing behind. If only the
//! acknowledgement of a transaction is lost, the repeated attempt finds the reservation changed and stops.

use serde::{Deserialize, Serialize};

use crate::charging_station::Connector;
use kernel::{Id, Window};

/// The owner of a calendar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CalendarOwner {
    /// An EVSE of a station: all of its connectors.
    Evse {
        station: Id,
        /// The EVSE's id within the station, in lower case: ids of charging networks are case-insensitive, and a network may spell one in
        /// another way than before.
        evse: String,
    },
    /// A vehicle. Vehicles' ids are unique among all tenants.
    Vehicle(Id),
}

impl CalendarOwner {
    /// Returns the owner for the EVSE with an id.
    pub fn evse(station: &Id, evse: &str) -> Self {
        Self::Evse {
            station: station.clone(),
            evse: evse.to_ascii_lowercase(),
        }
    }

    /// Returns the owner for the EVSE that the connector belongs to.
    pub fn evse_of(station: &Id, connector: &Connector) -> Self {
        Self::evse(station, &connector.evse)
    }
}

/// The entries of one day: the windows that touch it, each with the reservation or session that holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calendar {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub window: Window,
    /// The reservation or session.
    pub holder: Id,
    /// The account that the reservation or session belongs to.
    pub account: Option<Id>,
}

impl Calendar {
    /// Returns the windows that are taken by other holders.
    pub fn taken_by_others(&self, holder: &Id) -> impl Iterator<Item = Window> {
        let others = self.entries.iter().filter(|entry| entry.holder != *holder);
        others.map(|entry| entry.window)
    }

    /// Books the window. The holder's previous entry is removed.
    pub fn book(&mut self, window: Window, holder: &Id, account: &Id) {
        self.release(holder);
        self.entries.push(Entry {
            window,
            holder: holder.clone(),
            account: Some(account.clone()),
        });
        self.entries.sort_by_key(|entry| entry.window.from);
    }

    pub fn release(&mut self, holder: &Id) {
        self.entries.retain(|entry| entry.holder != *holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Kind, Timestamp};
    use proptest::prelude::*;

    fn window(from: &str, until: &str) -> Window {
        Window {
            from: Timestamp::parse(from).unwrap(),
            until: Timestamp::parse(until).unwrap(),
        }
    }

    #[test]
    fn windows_that_touch_do_not_overlap() {
        let morning = window("2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z");
        assert!(!morning.overlaps(&window("2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z")));
        assert!(morning.overlaps(&window("2026-03-01T08:59:59.999Z", "2026-03-01T10:00:00Z")));
        assert!(morning.overlaps(&morning));
    }

    #[test]
    fn a_window_until_midnight_leaves_the_next_day_alone() {
        let days = |from, until| {
            window(from, until)
                .utc_days()
                .map(|day| day.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            days("2026-03-01T22:00:00Z", "2026-03-02T00:00:00Z"),
            ["2026-03-01"]
        );
        assert_eq!(
            days("2026-03-01T22:00:00Z", "2026-03-02T00:00:00.001Z"),
            ["2026-03-01", "2026-03-02"]
        );
    }

    proptest! {
        #[test]
        fn whatever_is_booked_only_while_free_never_overlaps(spans in proptest::collection::vec((0i64..100, 1i64..20), 1..40)) {
            let mut calendar = Calendar::default();
            for (n, (from, length)) in spans.into_iter().enumerate() {
                let holder = Id::from_number(Kind::Reservation, n as u128);
                let span = Window {
                    from: Timestamp::from_unix_millis(from),
                    until: Timestamp::from_unix_millis(from + length),
                };
                if !calendar.taken_by_others(&holder).any(|taken| taken.overlaps(&span)) {
                    calendar.book(span, &holder, &Id::from_number(Kind::Account, 1));
                }
            }
            for (n, a) in calendar.entries.iter().enumerate() {
                for b in &calendar.entries[n + 1..] {
                    prop_assert!(!a.window.overlaps(&b.window));
                }
            }
        }
    }
}

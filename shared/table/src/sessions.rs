//! Charging sessions by the time of their creation, a page at a time, for code that aggregates many of them.

use super::Store;
use super::entries::{Attributes, Entries};
use super::keys::Partition;
use super::list::PageRequest;
use super::stored_item;
use kernel::time::days;
use kernel::{Id, Kind, Result, SignedDuration, Tenant, Window};
use models::{ChargingSession, Stored};

/// The maximum time between the creation of a session and its final price, by which it is found. A session lasts a day, unless a network
/// does not end it; a network that does not report the end, and an operator who reviews the price, have some days each.
const MAX_TIME_TO_FINAL_PRICE: SignedDuration = days(14);

/// The maximum time after which a charging network reports a session that is found by its end.
const LATEST: SignedDuration = days(7);

/// The sessions that may have begun or ended within a window, the newest first. Memory holds one page of them.
pub struct Sessions<'a>(Entries<'a>);

/// The number of sessions that are read at a time: an item has about 2 KB.
const AT_A_TIME: usize = 500;

impl Store {
    /// Returns the sessions of a fleet, or of the whole account, that may have begun or ended within a window.
    pub fn sessions_around<'a>(
        &'a self,
        tenant: &Tenant,
        fleet: Option<&Id>,
        window: Window,
    ) -> Sessions<'a> {
        let kind = Kind::ChargingSession;
        let partition = match fleet {
            Some(fleet) => Partition::Fleet {
                tenant,
                fleet,
                kind,
            },
            None => Partition::Kind { tenant, kind },
        };
        let low = Id::first_number(window.from.plus(-MAX_TIME_TO_FINAL_PRICE));
        let high = Id::first_number(window.until.plus(LATEST)).saturating_sub(1);
        let page_request = PageRequest {
            range: (low, high),
            ..PageRequest::first(AT_A_TIME)
        };
        Sessions(self.entries(partition, kind, &page_request, Attributes::Stored))
    }
}

impl Sessions<'_> {
    /// Returns the next page; none after the last.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn next(&mut self) -> Result<Option<Vec<Stored<ChargingSession>>>> {
        let Some(items) = self.0.next(AT_A_TIME).await? else {
            return Ok(None);
        };
        let sessions = items.into_iter().map(stored_item::from_item);
        sessions.collect::<Result<_>>().map(Some)
    }
}

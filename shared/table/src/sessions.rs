//! Charging sessions by the time of their creation, a page at a time, for code that aggregates many of them. Reports also read the few
//! sessions that were over, or had their final price, long after their creation: these are listed by month in addition.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::Store;
use super::entries::{Attributes, Entries};
use super::invoices::months;
use super::keys::Partition;
use super::list::PageRequest;
use super::stored_item;
use kernel::time::days;
use kernel::{Id, Kind, Result, SignedDuration, Tenant, Timestamp, Window};
use models::{ChargingSession, Stored};

/// The maximum time between the creation of a session and its final price after which it is found by its creation. A session lasts a day,
/// unless a network does not end it; a network that does not report the end, and an operator who reviews the price, have some days each.
const MAX_TIME_TO_FINAL_PRICE: SignedDuration = days(14);

/// The maximum time after which a charging network reports a session that is found by its end.
const LATEST: SignedDuration = days(7);

/// The sessions that may have begun or ended within a window, the newest first. Memory holds one page of them,
/// and at the end all late ones.
pub struct Sessions<'a> {
    entries: Entries<'a>,
    late: Option<Late<'a>>,
}

/// The sessions of a window that were created too long before it to be among the others. They are read last.
struct Late<'a> {
    store: &'a Store,
    tenant: &'a Tenant,
    fleet: Option<&'a Id>,
    window: Window,
    now: Timestamp,
}

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
        let low = first_number(window);
        let high = Id::first_number(window.until.plus(LATEST)).saturating_sub(1);
        let page_request = PageRequest {
            range: (low, high),
            ..PageRequest::first(AT_A_TIME)
        };
        Sessions {
            entries: self.entries(partition, kind, &page_request, Attributes::Stored),
            late: None,
        }
    }

    /// Returns the same sessions, and those that were created earlier and have ended within the window, or whose price became final then.
    pub fn sessions_of_period<'a>(
        &'a self,
        tenant: &'a Tenant,
        fleet: Option<&'a Id>,
        window: Window,
        now: Timestamp,
    ) -> Sessions<'a> {
        let late = Late {
            store: self,
            tenant,
            fleet,
            window,
            now,
        };
        Sessions {
            late: Some(late),
            ..self.sessions_around(tenant, fleet, window)
        }
    }
}

impl Sessions<'_> {
    /// Returns the next page; none after the last.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn next(&mut self) -> Result<Option<Vec<Stored<ChargingSession>>>> {
        let Some(items) = self.entries.next(AT_A_TIME).await? else {
            return match self.late.take() {
                Some(late) => late.read().await.map(Some),
                None => Ok(None),
            };
        };
        let sessions = items.into_iter().map(stored_item::from_item);
        sessions.collect::<Result<_>>().map(Some)
    }
}

impl Late<'_> {
    /// Reads the lists of all months since the window began: a session that has ended in one month may have its price in another.
    async fn read(self) -> Result<Vec<Stored<ChargingSession>>> {
        let Self {
            store,
            tenant,
            fleet,
            window,
            now,
        } = self;
        let low = Some(first_number(window));
        let since = Window {
            until: now,
            ..window
        };
        let mut found = BTreeMap::new();
        for month in months(since, now) {
            let list = Partition::LateSessions { tenant, month };
            for item in store.items_in(list).await? {
                let session: Stored<ChargingSession> = stored_item::from_item(item)?;
                let is_of_fleet = fleet.is_none_or(|fleet| session.object.fleet == *fleet);
                if is_of_fleet && session.object.id.number(Kind::ChargingSession) < low {
                    found.insert(session.object.id.clone(), session);
                }
            }
        }
        Ok(found.into_values().rev().collect())
    }
}

/// Returns the smallest number of an id of a session that is found by its creation.
fn first_number(window: Window) -> u128 {
    Id::first_number(window.from.plus(-MAX_TIME_TO_FINAL_PRICE))
}

/// Returns the first day of the month, UTC, in which a session was over and had its final price, as far as it has both, if that was so long
/// after its creation that its period does not find it by its creation.
pub(super) fn month_if_late(session: &ChargingSession) -> Option<Date> {
    let ended = session.state.ended()?;
    let price = session.state.final_price();
    let over = price.map_or(ended, |price| price.at.max(ended));
    let is_late = over.since(session.created) > MAX_TIME_TO_FINAL_PRICE;
    is_late.then(|| over.utc_date().first_of_month())
}

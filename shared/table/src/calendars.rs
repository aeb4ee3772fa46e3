//! Calendars in the table: one document per EVSE or vehicle and UTC day. [`models::charging::calendar`] describes their content and when it
//! changes.
//!
//! Every document has a `revision`, which each write increases by one. It is not a `version`, because the relay ignores calendars. A write
//! is conditional on the revision that was read (or on the document's absence), and is part of the transaction of the reservation or
//! session. So calendars may be read without locks and eventually consistent: if the data read is out of date, the transaction is refused
//! as a whole, and the caller reads and decides again.
//!
//! Booking a reservation touches at most eight documents: two owners, and a window of up to 24 hours on at most two days, for both the new
//! window and the one that is released.
//!
//! Reservations and sessions store the EVSE themselves, because a station can be imported again while they last.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::keys::Key;
use super::unit_of_work::{CommitFailure, UnitOfWork, Write};
use super::{Store, key_item, n, new_item, number, string};
use kernel::time::days;
use kernel::{Error, Id, Mode, Origin, Result, SignedDuration, Timestamp, Window};
use models::charging::calendar::{Calendar, CalendarOwner, Entry};
use models::{ChargingSession, Reservation, Stored};

/// The attribute that counts the writes of a document.
pub(super) const REVISION: &str = "revision";

/// One document: the owner of the calendar, and the day.
pub type Page = (CalendarOwner, Date);

/// Calendars as they were read, with the revision of each document; 0 if there was none.
#[derive(Debug, Clone, Default)]
pub struct Calendars {
    pages: HashMap<CalendarOwner, BTreeMap<Date, (Calendar, u64)>>,
}

/// A span of time that a holder occupies in the calendars of an EVSE and of a vehicle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarHold {
    /// The reservation or session.
    pub holder: Id,
    /// The EVSE and the vehicle.
    pub owners: [CalendarOwner; 2],
    pub window: Window,
}

impl CalendarHold {
    /// Returns the time that a session occupies.
    pub fn of_session(stored: &Stored<ChargingSession>) -> Self {
        let session = &stored.object;
        Self {
            holder: session.id.clone(),
            owners: [
                CalendarOwner::evse(&session.charging_station, &stored.internal.evse),
                CalendarOwner::Vehicle(session.vehicle.clone()),
            ],
            window: stored.window(),
        }
    }

    /// Returns the reserved time, if there is one.
    pub fn of_reservation(stored: &Stored<Reservation>) -> Option<Self> {
        let reservation = &stored.object;
        let reserved = reservation.state.reserved()?;
        Some(Self {
            holder: reservation.id.clone(),
            owners: [
                CalendarOwner::evse(&reserved.station, &reserved.evse),
                CalendarOwner::Vehicle(reservation.vehicle.clone()),
            ],
            window: reserved.window,
        })
    }

    /// Returns the days of the calendars that the window touches.
    pub fn pages(&self) -> impl Iterator<Item = Page> {
        let days = || self.window.utc_days();
        self.owners
            .iter()
            .flat_map(move |owner| days().map(|day| (owner.clone(), day)))
    }
}

fn key(mode: Mode, (owner, day): &Page) -> Key<'_> {
    Key::Calendar {
        mode,
        owner,
        day: *day,
    }
}

/// The outcome of booking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    Done,
    /// One of the calendars was changed: it has to be read again.
    CalendarMoved,
    /// The reservation was changed: there is nothing left to do here.
    ReservationMoved,
}

/// The maximum time until the end of a confirmed reservation, with a margin: half an hour until `ideal_start`, a day of charging, and
/// the week by which `latest_end` may follow `ideal_end`.
const REACH: SignedDuration = days(9);

/// Returns the time in which the windows of confirmed reservations can lie.
pub fn reach(now: Timestamp) -> Window {
    Window {
        from: now,
        until: now.plus(REACH),
    }
}

/// The reservation comes first in the transaction, then the calendars.
const RESERVATION: usize = 0;

impl Calendars {
    /// Returns the windows of this owner's calendar that other holders occupy, on the days that were read.
    pub fn taken_by_others(&self, owner: &CalendarOwner, holder: &Id) -> Vec<Window> {
        let calendars = self.of(owner);
        calendars
            .flat_map(|calendar| calendar.taken_by_others(holder))
            .collect()
    }

    /// Returns the occupied windows of this owner's calendar that overlap the window.
    pub fn busy(&self, owner: &CalendarOwner, window: &Window) -> Vec<Window> {
        let entries = self.of(owner).flat_map(|calendar| calendar.entries.iter());
        let taken = entries.map(|entry| entry.window);
        taken.filter(|taken| taken.overlaps(window)).collect()
    }

    /// Returns the entries of this owner's calendar on the days that were read, in order.
    pub fn entries(&self, owner: &CalendarOwner) -> Vec<Entry> {
        let entries = self.of(owner).flat_map(|calendar| calendar.entries.iter());
        let mut entries: Vec<Entry> = entries.cloned().collect();
        entries.sort_by(|a, b| (a.window.from, &a.holder).cmp(&(b.window.from, &b.holder)));
        entries.dedup();
        entries
    }

    fn of(&self, owner: &CalendarOwner) -> impl Iterator<Item = &Calendar> {
        let days = self.pages.get(owner).into_iter().flatten();
        days.map(|(_, (calendar, _))| calendar)
    }

    fn insert(&mut self, (owner, day): Page, calendar: Calendar, version: u64) {
        let days = self.pages.entry(owner).or_default();
        days.insert(day, (calendar, version));
    }

    /// Adds calendars that were read later and replaces the older ones.
    pub fn update(&mut self, newer: Calendars) {
        for (owner, days) in newer.pages {
            self.pages.entry(owner).or_default().extend(days);
        }
    }
}

impl Store {
    /// Reads calendars to decide on them, eventually consistent.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn calendars(&self, mode: Mode, pages: Vec<Page>) -> Result<Calendars> {
        self.read_calendars(mode, pages, false).await
    }

    /// Reads calendars with strongly consistent reads.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn calendars_consistently(&self, mode: Mode, pages: Vec<Page>) -> Result<Calendars> {
        self.read_calendars(mode, pages, true).await
    }

    async fn read_calendars(
        &self,
        mode: Mode,
        pages: Vec<Page>,
        consistent: bool,
    ) -> Result<Calendars> {
        // A batch may contain each key only once.
        let pages: BTreeSet<Page> = pages.into_iter().collect();
        let keys = pages.iter().map(|page| key_item(key(mode, page)));
        let items = self.items(keys.collect(), None, consistent).await?;
        let mut calendars = Calendars::default();
        let mut by_key: HashMap<(String, String), Page> = HashMap::new();
        for page in pages {
            by_key.insert(key(mode, &page).pair(), page.clone());
            calendars.insert(page, Calendar::default(), 0);
        }
        for mut item in items {
            let pair = (
                string(&item, "pk").to_owned(),
                string(&item, "sk").to_owned(),
            );
            let page = by_key
                .remove(&pair)
                .ok_or_else(|| Error::internal("a calendar that was not asked for"))?;
            let version = number(&item, REVISION).unsigned_abs();
            let calendar = item
                .remove("calendar")
                .ok_or_else(|| Error::internal("a calendar without content"))?;
            let calendar = serde_dynamo::from_attribute_value(calendar).map_err(Error::internal)?;
            calendars.insert(page, calendar, version);
        }
        Ok(calendars)
    }

    /// Writes a confirmed reservation, the events it has recorded, and its window into every calendar that the window touches, in one
    /// transaction. Its earlier window is released. All these calendars must have been read.
    ///
    /// # Errors
    /// `Internal` if the reservation has no window; `Unavailable` if DynamoDB cannot be reached.
    pub async fn book(
        &self,
        origin: &Origin,
        reservation: &mut Stored<Reservation>,
        calendars: &Calendars,
        before: Option<&CalendarHold>,
    ) -> Result<Booked> {
        let mut tx = self.begin(origin);
        tx.save(reservation)?;
        let now = CalendarHold::of_reservation(reservation)
            .ok_or_else(|| Error::internal("a reservation without a window"))?;
        let kept: BTreeSet<Page> = now.pages().collect();
        let left = before.into_iter().flat_map(CalendarHold::pages);
        let left = left.filter(|page| !kept.contains(page));
        for page in left.collect::<BTreeSet<_>>() {
            tx.rewrite(calendars, page, |calendar| {
                calendar.release(&now.holder);
            })?;
        }
        tx.hold(calendars, &now)?;
        Ok(match tx.write(None).await? {
            None => Booked::Done,
            Some(CommitFailure::Condition(RESERVATION)) => Booked::ReservationMoved,
            Some(_) => Booked::CalendarMoved,
        })
    }

    /// Reads the entries in the calendars of some EVSEs from now on, strongly consistent.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn entries_of(
        &self,
        mode: Mode,
        owners: BTreeSet<CalendarOwner>,
        now: Timestamp,
    ) -> Result<Vec<Entry>> {
        let reach = reach(now);
        let pages = owners
            .iter()
            .flat_map(|owner| reach.utc_days().map(move |day| (owner.clone(), day)));
        let calendars = self.read_calendars(mode, pages.collect(), true).await?;
        let entries = owners.iter().flat_map(|owner| calendars.entries(owner));
        Ok(entries.filter(|entry| entry.window.until > now).collect())
    }
}

impl UnitOfWork<'_> {
    /// Releases the window of a reservation in the calendars, if it has one.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn release(&mut self, reservation: &Stored<Reservation>) -> Result<()> {
        let hold = CalendarHold::of_reservation(reservation);
        self.release_all(hold.as_slice()).await
    }

    /// Saves that a session fulfils a reservation. If the vehicle charges at another EVSE than the reserved one, that is released.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn fulfil(
        &mut self,
        reservation: &mut Stored<Reservation>,
        session: &Stored<ChargingSession>,
    ) -> Result<()> {
        let used = CalendarHold::of_session(session).owners;
        let reserved = CalendarHold::of_reservation(reservation);
        self.release_at(reserved.as_slice(), |owner| !used.contains(owner))
            .await?;
        reservation.fulfil(&session.object.id, &session.internal.evse);
        self.save(reservation)
    }

    /// Releases these holds.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn release_all(&mut self, holds: &[CalendarHold]) -> Result<()> {
        self.release_at(holds, |_| true).await
    }

    /// Releases these holds in the calendars of some of their owners.
    async fn release_at(
        &mut self,
        holds: &[CalendarHold],
        is_released: impl Fn(&CalendarOwner) -> bool,
    ) -> Result<()> {
        // One document may contain several of them, and a transaction writes each item once.
        let pages = holds.iter().flat_map(CalendarHold::pages);
        let pages: BTreeSet<Page> = pages.filter(|(owner, _)| is_released(owner)).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let pages: Vec<Page> = pages.into_iter().collect();
        let calendars = self
            .store
            .calendars(self.origin.tenant.mode, pages.clone())
            .await?;
        for page in pages {
            self.rewrite(&calendars, page, |calendar| {
                for hold in holds {
                    calendar.release(&hold.holder);
                }
            })?;
        }
        Ok(())
    }

    /// Writes a hold into every calendar that its window touches. The commit fails if one of them has changed since it was read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn hold(&mut self, calendars: &Calendars, hold: &CalendarHold) -> Result<()> {
        self.hold_at(calendars, hold, |_| true)
    }

    /// Writes a hold into the calendars of some of its owners, as [`Self::hold`] does.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn hold_at(
        &mut self,
        calendars: &Calendars,
        hold: &CalendarHold,
        is_held: impl Fn(&CalendarOwner) -> bool,
    ) -> Result<()> {
        for page in hold.pages().filter(|(owner, _)| is_held(owner)) {
            self.rewrite(calendars, page, |calendar| {
                calendar.book(hold.window, &hold.holder, &self.origin.tenant.account)
            })?;
        }
        Ok(())
    }

    fn rewrite(
        &mut self,
        calendars: &Calendars,
        page: Page,
        change: impl FnOnce(&mut Calendar),
    ) -> Result<()> {
        let (owner, day) = page;
        let read = calendars
            .pages
            .get(&owner)
            .and_then(|days| days.get(&day))
            .cloned();
        let (mut calendar, version) = read.unwrap_or_default();
        change(&mut calendar);
        let mut item = new_item(Key::Calendar {
            mode: self.origin.tenant.mode,
            owner: &owner,
            day,
        });
        item.insert(REVISION.into(), n(version + 1));
        item.insert(
            "calendar".into(),
            serde_dynamo::to_attribute_value(calendar).map_err(Error::internal)?,
        );
        let kept_until = day
            .saturating_add(8.days())
            .to_zoned(TimeZone::UTC)
            .map_err(Error::internal)?;
        item.insert("ttl".into(), n(kept_until.timestamp().as_second()));
        let put = self.store.put_if_read(item, REVISION, version);
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }
}

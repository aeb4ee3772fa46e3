//! Calendars: one document per connector or vehicle and UTC day. Every write is conditional on the version that was read,
//! so two promises of the same time cannot both go through.

use std::collections::{BTreeSet, HashMap};

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::commit::{Changes, Refused, Write};
use super::keys::{self, Key};
use super::row::Row;
use super::{Store, key_item, n, number, string};
use crate::charging::calendar::{Calendar, Entry, Window};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::models::charging_session::{ChargingSession, SessionPrivate};
use crate::models::event::Event;
use crate::models::reservation::Reservation;
use crate::origin::{Mode, Origin};
use crate::time::{DAY, Timestamp};

/// Whose calendar, and the day.
pub type Page = (String, Date);

/// Calendars as they were read, with the version each had; 0 where there was none.
#[derive(Debug, Clone, Default)]
pub struct Calendars {
    pages: HashMap<Page, (Calendar, u64)>,
}

/// A span of time that somebody's calendars keep for a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The reservation or session.
    pub holder: Id,
    /// Whose calendars: the connector's and the vehicle's.
    pub whose: [String; 2],
    pub window: Window,
}

impl Promise {
    /// What a session keeps.
    pub fn of_session(session: &ChargingSession, private: &SessionPrivate) -> Self {
        Self {
            holder: session.id.clone(),
            whose: [
                keys::connector_calendar(&session.charging_station, &session.connector),
                keys::vehicle_calendar(&session.vehicle),
            ],
            window: session.window(private),
        }
    }

    /// What a reservation was promised, if it was.
    pub fn of_reservation(reservation: &Reservation) -> Option<Self> {
        let station = reservation.charging_station.as_ref()?;
        Some(Self {
            holder: reservation.id.clone(),
            whose: [
                keys::connector_calendar(station, reservation.connector.as_ref()?),
                keys::vehicle_calendar(&reservation.vehicle),
            ],
            window: Window {
                from: reservation.reserved_start?,
                until: reservation.reserved_end?,
            },
        })
    }

    /// The days of the calendars that the window touches.
    pub fn pages(&self) -> impl Iterator<Item = Page> {
        let days = || self.window.utc_days();
        self.whose
            .iter()
            .flat_map(move |whose| days().map(|day| (whose.clone(), day)))
    }
}

/// How writing a promise ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    Done,
    /// Somebody changed one of the calendars: they have to be read again.
    CalendarMoved,
    /// Somebody changed the reservation: there is nothing left to do here.
    ReservationMoved,
}

/// How far ahead reservations are confirmed at most, with a margin: half an hour, a day of sliding, a day of charging.
const REACH: i64 = 3 * DAY;

/// The reservation comes first in the transaction, then its event, then the calendars.
const RESERVATION: usize = 0;

impl Calendars {
    /// Whether somebody's time is free for the whole window, but for what the holder has itself.
    pub fn is_free(&self, whose: &str, window: &Window, holder: &Id) -> bool {
        window.utc_days().all(|day| {
            self.pages
                .get(&(whose.to_owned(), day))
                .is_none_or(|(calendar, _)| calendar.is_free(window, holder))
        })
    }

    /// What of somebody's time in a window is promised.
    pub fn busy(&self, whose: &str, window: &Window) -> Vec<Window> {
        let pages = window
            .utc_days()
            .filter_map(|day| self.pages.get(&(whose.to_owned(), day)));
        let promised = pages.flat_map(|(calendar, _)| calendar.entries.iter());
        let promised = promised.map(|entry| entry.window);
        promised
            .filter(|promised| promised.overlaps(window))
            .collect()
    }

    /// What somebody's time is promised to, on the days that were read, in order.
    pub fn entries(&self, whose: &str) -> Vec<Entry> {
        let pages = self.pages.iter().filter(|((owner, _), _)| owner == whose);
        let mut entries: Vec<Entry> = pages
            .flat_map(|(_, (calendar, _))| calendar.entries.iter().cloned())
            .collect();
        entries.sort_by(|a, b| (a.window.from, &a.holder).cmp(&(b.window.from, &b.holder)));
        entries.dedup();
        entries
    }

    /// Takes newer readings in.
    pub fn update(&mut self, newer: Calendars) {
        self.pages.extend(newer.pages);
    }
}

impl Store {
    /// Reads calendars, for deciding.
    ///
    /// # Errors
    /// The table's.
    pub async fn calendars(&self, mode: Mode, pages: Vec<Page>) -> Result<Calendars> {
        self.read_calendars(mode, pages, false).await
    }

    async fn read_calendars(
        &self,
        mode: Mode,
        pages: Vec<Page>,
        consistent: bool,
    ) -> Result<Calendars> {
        let keys = pages.iter().map(|(whose, day)| {
            key_item(Key::Calendar {
                mode,
                whose,
                day: *day,
            })
        });
        let items = self.items(keys.collect(), None, consistent).await?;
        let mut calendars = Calendars::default();
        let prefix = Key::Calendar {
            mode,
            whose: "",
            day: Date::MIN,
        }
        .pair()
        .0;
        for page in pages {
            calendars.pages.insert(page, (Calendar::default(), 0));
        }
        for mut item in items {
            let whose = string(&item, "pk")
                .strip_prefix(&prefix)
                .unwrap_or_default()
                .to_owned();
            let day: Date = string(&item, "sk").parse().map_err(Error::internal)?;
            let version = number(&item, "version").unsigned_abs();
            let calendar = item
                .remove("calendar")
                .ok_or_else(|| Error::internal("a calendar without content"))?;
            let calendar = serde_dynamo::from_attribute_value(calendar).map_err(Error::internal)?;
            calendars.pages.insert((whose, day), (calendar, version));
        }
        Ok(calendars)
    }

    /// Writes the confirmed reservation, its event, and the promise into every calendar it touches, all at once. What it
    /// was promised before is given up; all those calendars must have been read.
    ///
    /// # Errors
    /// The table's.
    pub async fn book(
        &self,
        origin: &Origin,
        reservation: &Row<Reservation>,
        event: &Row<Event>,
        calendars: &Calendars,
        before: Option<&Promise>,
    ) -> Result<Booked> {
        let mut changes = Changes::new();
        self.replace(&mut changes, origin, reservation)?;
        self.create(&mut changes, origin, event)?;
        let now = Promise::of_reservation(&reservation.object)
            .ok_or_else(|| Error::internal("a reservation without a promise"))?;
        let kept: BTreeSet<Page> = now.pages().collect();
        let left = before.into_iter().flat_map(Promise::pages);
        let left = left.filter(|page| !kept.contains(page));
        for page in left.collect::<BTreeSet<_>>() {
            self.rewrite(&mut changes, origin, calendars, page, |calendar| {
                calendar.release(&now.holder);
            })?;
        }
        self.keep(&mut changes, origin, calendars, &now)?;
        Ok(match self.write(origin, &changes, None).await? {
            None => Booked::Done,
            Some(Refused::At(RESERVATION)) => Booked::ReservationMoved,
            Some(_) => Booked::CalendarMoved,
        })
    }

    /// What the connectors of a station are promised for from now on, as it is at this moment.
    ///
    /// # Errors
    /// The table's.
    pub async fn promises_of(
        &self,
        mode: Mode,
        station: &Id,
        connectors: &[String],
        now: Timestamp,
    ) -> Result<Vec<Entry>> {
        let reach = Window {
            from: now,
            until: now.plus_millis(REACH),
        };
        let whose: Vec<String> = connectors
            .iter()
            .map(|connector| keys::connector_calendar(station, connector))
            .collect();
        let pages = whose
            .iter()
            .flat_map(|whose| reach.utc_days().map(move |day| (whose.clone(), day)));
        let calendars = self.read_calendars(mode, pages.collect(), true).await?;
        let entries = whose.iter().flat_map(|whose| calendars.entries(whose));
        Ok(entries.filter(|entry| entry.window.until > now).collect())
    }

    /// Adds to the changes that a reservation gives up what it was promised, if it was.
    ///
    /// # Errors
    /// The table's.
    pub async fn release(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        row: &Row<Reservation>,
    ) -> Result<()> {
        let promise = Promise::of_reservation(&row.object);
        self.release_all(changes, origin, promise.as_slice()).await
    }

    /// Adds to the changes that these promises are given up.
    ///
    /// # Errors
    /// The table's.
    pub async fn release_all(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        promises: &[Promise],
    ) -> Result<()> {
        // One page may hold several of them, and a transaction writes each row once.
        let pages: BTreeSet<Page> = promises.iter().flat_map(Promise::pages).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let pages: Vec<Page> = pages.into_iter().collect();
        let calendars = self.calendars(origin.tenant.mode, pages.clone()).await?;
        for page in pages {
            self.rewrite(changes, origin, &calendars, page, |calendar| {
                for promise in promises {
                    calendar.release(&promise.holder);
                }
            })?;
        }
        Ok(())
    }

    /// Adds to the changes that a promise is kept in every calendar it touches, as these were read.
    ///
    /// # Errors
    /// The write cannot be built.
    pub fn keep(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        calendars: &Calendars,
        promise: &Promise,
    ) -> Result<()> {
        for page in promise.pages() {
            self.rewrite(changes, origin, calendars, page, |calendar| {
                calendar.book(promise.window, &promise.holder, &origin.tenant.account)
            })?;
        }
        Ok(())
    }

    fn rewrite(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        calendars: &Calendars,
        page: Page,
        change: impl FnOnce(&mut Calendar),
    ) -> Result<()> {
        let (mut calendar, version) = calendars.pages.get(&page).cloned().unwrap_or_default();
        change(&mut calendar);
        let (whose, day) = page;
        let mut item = key_item(Key::Calendar {
            mode: origin.tenant.mode,
            whose: &whose,
            day,
        });
        item.insert("version".into(), n(version + 1));
        item.insert(
            "calendar".into(),
            serde_dynamo::to_attribute_value(calendar).map_err(Error::internal)?,
        );
        let kept_until = day
            .saturating_add(8.days())
            .to_zoned(TimeZone::UTC)
            .map_err(Error::internal)?;
        item.insert("ttl".into(), n(kept_until.timestamp().as_second()));
        let put = self.put(item).condition_expression(if version == 0 {
            "attribute_not_exists(pk)"
        } else {
            "#version = :read"
        });
        let put = match version {
            0 => put,
            _ => put
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":read", n(version)),
        };
        changes.push(
            Write::Put(put.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }
}

//! The search for the pairs with the lowest scores, which reads as few stations and calendars as possible.
//!
//! Terms. A station of the radius is *unread* while only its entry in the index is known. A candidate is *open* while the
//! calendar of its EVSE is not known. The *base* of a pair is its score without the surcharge. The *price* of a pair is the
//! effective price of its connector in its window; that of an unread station is a lower bound by its outline.
//!
//! How it works. [`BestFirst::next`] returns what has to be read next; the caller reads it and passes it to
//! [`BestFirst::add_stations`] or [`BestFirst::add_calendar`], until nothing is left to read. The station or candidate that can
//! have the lowest score is read next: stations nearest first, unless the outline in the index shows that another may have a better
//! price, is preferred, or is of the preferred speed class. The base of an unread station has a lower bound by its distance and its
//! outline, and the score of an open candidate by its best window in which the vehicle is free.
//!
//! The windows of a candidate may differ in price. Whatever the cheapest price is, the best of those priced in one currency has
//! the lowest sum of base and price, and the best of those whose price is unknown the smallest shift. So a candidate has one
//! pair for each of these that can be its best, and almost always only one.
//!
//! When it ends. The surcharge of a pair depends on the cheapest pair in the same currency that can be booked, which may
//! be unread. So a known pair has a highest possible score, with the lowest price that is still possible, and an unread
//! station or open candidate a lowest possible score, with the lowest price that is known. Between two with the same currency
//! the cheapest price makes no difference, and the sums of base and price are compared. The search ends when
//! 1. no unread station and no open candidate can come before one of the requested pairs, and
//! 2. the order of those pairs is the same for every cheapest price that is still possible. If it is not, the cheapest
//!    unread station or open candidate is read next.
//!
//! So the result is the same as if all stations and calendars of the radius were read, for any number of stations. A property test
//! compares it with a matcher that reads everything.

mod prospects;
mod state;

use std::collections::{BTreeMap, BTreeSet};

pub use prospects::IndexedStation;

use super::prices::PriceLists;
use super::score::{Merits, POINTS_PER_MINOR_UNIT};
use super::{Candidate, MatchRequest, need};
use crate::charging::calendar::CalendarOwner;
use crate::charging_station::ChargingStation;
use crate::reservation::{Assignment, MatchFilter, MatchSummary};
use kernel::{Id, Window};
use prospects::Unread;
use state::{BestPairs, Open, Pair, State};

/// The number of stations in the first read, and the maximum in one read. Each read in between is as large as all earlier ones
/// together.
const STATIONS: (usize, usize) = (20, 200);

/// The number of calendars in the first read, and the maximum in one read.
const CALENDARS: (usize, usize) = (10, 100);

/// The next step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Read these stations, and pass them to [`BestFirst::add_stations`].
    ReadStations(Vec<Id>),
    /// Read the calendars of these owners for the days of the request's windows, and pass each to
    /// [`BestFirst::add_calendar`].
    ReadCalendars(Vec<CalendarOwner>),
    /// Nothing has to be read: the requested pairs are known. [`BestFirst::ranking`] returns them.
    Stop,
}

/// A pair, and the components of its score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub assignment: Assignment,
    pub merits: Merits,
}

/// A search that has read some of the stations and calendars.
#[derive(Debug)]
pub struct BestFirst<'a> {
    request: MatchRequest<'a>,
    /// The number of requested pairs: the best ones, each with a different connector.
    pair_count: usize,
    /// Whether policies allow each window of the request.
    allowed: Vec<bool>,
    unread: Vec<Unread>,
    stations_read: usize,
    candidates: Vec<Candidate>,
    price_lists: PriceLists,
    calendars: BTreeMap<CalendarOwner, Vec<Window>>,
    /// How many of the stations read each filter refused.
    summary: MatchSummary,
    /// The stations that were read and refused, each with the filter.
    refused: Vec<(Id, MatchFilter)>,
}

/// Returns the stations that a search reads first. They do not depend on policies, so stations and policies can be read at the same
/// time, for a request that has no limits yet.
pub fn first_stations(request: &MatchRequest<'_>, stations: &[IndexedStation]) -> Vec<Id> {
    match BestFirst::new(request, stations, 1).next() {
        Step::ReadStations(ids) => ids,
        Step::ReadCalendars(_) | Step::Stop => Vec::new(),
    }
}

impl<'a> BestFirst<'a> {
    /// Creates a search for the `pair_count` best pairs among the stations of the radius.
    pub fn new(request: &MatchRequest<'a>, stations: &[IndexedStation], pair_count: usize) -> Self {
        let allowed = request.windows.iter();
        let mut search = Self {
            request: *request,
            pair_count,
            allowed: allowed
                .map(|window| request.limits.allow_window(window))
                .collect(),
            unread: Vec::new(),
            stations_read: 0,
            candidates: Vec::new(),
            price_lists: PriceLists::default(),
            calendars: BTreeMap::new(),
            summary: MatchSummary::default(),
            refused: Vec::new(),
        };
        search.summary.stations_in_radius = count(stations.len());
        search.unread = stations
            .iter()
            .map(|station| Unread::of(station, request))
            .collect();
        search
    }

    /// Adds stations that were read. `requested` are the requested ids; those that are missing from `stations` no longer exist or are
    /// not published, and do not count as stations in the radius.
    pub fn add_stations(&mut self, requested: &[Id], stations: Vec<ChargingStation>) {
        let requested: BTreeSet<&Id> = requested.iter().collect();
        self.unread
            .retain(|station| !requested.contains(&station.id));
        self.stations_read += requested.len();
        let gone = requested.len().saturating_sub(stations.len());
        self.summary.stations_in_radius =
            self.summary.stations_in_radius.saturating_sub(count(gone));
        for station in &stations {
            let candidates =
                super::candidates_of(station, &self.allowed, &self.request, &mut self.price_lists);
            match candidates {
                Ok(candidates) => self.candidates.extend(candidates),
                Err(filter) => {
                    *filter.count_in(&mut self.summary.refused) += 1;
                    self.refused.push((station.id.clone(), filter));
                }
            }
        }
    }

    /// Adds a calendar: the windows in which its owner is taken by others than the reservation. If the calendar was added before,
    /// it is replaced.
    pub fn add_calendar(&mut self, owner: CalendarOwner, taken: Vec<Window>) {
        self.calendars.insert(owner, taken);
    }

    /// Returns what has to be read next.
    pub fn next(&self) -> Step {
        // Without a window there is no pair, whatever the stations are.
        if self.request.windows.is_empty() || self.pair_count == 0 {
            return Step::Stop;
        }
        let state = self.state();
        let mut reading = state.can_come_first(self.pair_count);
        if reading.is_empty() {
            reading = state.can_change_the_order(self.pair_count);
        }
        let Some((first, _)) = reading.first() else {
            // If nothing can be booked, the summary has a reason for every station.
            return if state.pairs.is_empty() && !self.unread.is_empty() {
                Step::ReadStations(self.next_stations(&mut self.unread.iter()))
            } else {
                Step::Stop
            };
        };
        match first {
            Open::Station(_) => {
                let mut stations = reading.iter().filter_map(|(open, _)| match open {
                    Open::Station(station) => Some(*station),
                    Open::Candidate(_) => None,
                });
                Step::ReadStations(self.next_stations(&mut stations))
            }
            Open::Candidate(_) => {
                let many = self.calendars.len().clamp(CALENDARS.0, CALENDARS.1);
                let evses = reading.iter().filter_map(|(open, _)| match open {
                    Open::Station(_) => None,
                    Open::Candidate(candidate) => Some(candidate.evse()),
                });
                let evses: Vec<CalendarOwner> = evses.collect();
                let mut owners = first_of(evses.iter(), many);
                if !self.calendars.contains_key(&self.vehicle()) {
                    owners.push(self.vehicle());
                }
                Step::ReadCalendars(owners)
            }
        }
    }

    fn next_stations(&self, stations: &mut dyn Iterator<Item = &Unread>) -> Vec<Id> {
        let many = self.stations_read.clamp(STATIONS.0, STATIONS.1);
        first_of(stations.map(|station| &station.id), many)
    }

    /// Returns the best pairs by the data that was read, each with a different connector, the best first. After [`Step::Stop`],
    /// these are the requested pairs. A surcharge is relative to the cheapest pair of the connectors whose calendars were read.
    pub fn ranking(&self) -> Vec<Match> {
        let State { pairs, prices, .. } = self.state();
        let mut ranked: Vec<(i64, Pair<'_>)> = pairs
            .into_iter()
            .map(|pair| (pair.prospect().score(&prices.known), pair))
            .collect();
        ranked.sort_by_cached_key(|(score, pair)| (*score, pair.tie_break()));
        let mut seen = BTreeSet::new();
        ranked.retain(|(_, pair)| seen.insert(pair.place));
        ranked.truncate(self.pair_count);
        let with_surcharge = |(score, pair): (i64, Pair<'_>)| Match {
            assignment: Assignment {
                station: pair.candidate.station.clone(),
                evse: pair.candidate.evse.clone(),
                connector: pair.candidate.connector.clone(),
                is_of_network: pair.candidate.is_of_network,
                window: pair.window,
            },
            merits: Merits {
                surcharge: score.saturating_sub(pair.base) / POINTS_PER_MINOR_UNIT,
                ..pair.merits
            },
        };
        ranked.into_iter().map(with_surcharge).collect()
    }

    /// Returns the number of stations, and how many of them each filter refused, by the data that was read.
    pub fn summary(&self) -> MatchSummary {
        let state = self.state();
        let (of_pairs, of_open) = (state.stations_of_pairs(), state.stations_left_open());
        let mut summary = self.summary.clone();
        let all = self.stations_of_candidates();
        summary.refused.booked = count(all.len() - of_pairs.len() - of_open.len());
        summary.refused.not_considered = count(self.unread.len() + of_open.len());
        summary
    }

    /// Returns the stations that each filter refused, by the data that was read: those that [`Self::summary`] counts, except those
    /// that were not considered.
    pub fn refusals(&self) -> Vec<(Id, MatchFilter)> {
        let state = self.state();
        let (of_pairs, of_open) = (state.stations_of_pairs(), state.stations_left_open());
        let booked = self.stations_of_candidates().into_iter();
        let booked = booked
            .filter(|station| !of_pairs.contains(station) && !of_open.contains(station))
            .map(|station| (station.clone(), MatchFilter::Booked));
        self.refused.iter().cloned().chain(booked).collect()
    }

    /// Returns the stations with a connector that passes every filter but the calendars.
    fn stations_of_candidates(&self) -> BTreeSet<&Id> {
        self.candidates
            .iter()
            .map(|candidate| &candidate.station)
            .collect()
    }

    /// Checks whether a station that was read has a connector that passes every filter but the calendars.
    pub fn has_candidates(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// Returns the calendars that were added, for another search.
    pub fn into_calendars(self) -> BTreeMap<CalendarOwner, Vec<Window>> {
        self.calendars
    }

    fn vehicle(&self) -> CalendarOwner {
        CalendarOwner::Vehicle(self.request.reservation.vehicle.clone())
    }

    fn state(&self) -> State<'_> {
        let windows = self.request.windows;
        let vehicle = self.calendars.get(&self.vehicle());
        let vehicle_is_free: Vec<bool> = windows
            .iter()
            .map(|window| vehicle.is_none_or(|taken| is_free(taken, window)))
            .collect();
        let preferred = super::preferred_window(self.request.reservation);
        let need = self.request.need();
        let (mut pairs, mut open) = (Vec::new(), Vec::new());
        for (place, candidate) in self.candidates.iter().enumerate() {
            let calendar = self
                .calendars
                .get(&candidate.evse())
                .filter(|_| vehicle.is_some());
            let free = candidate.windows.iter().copied().filter(|place| {
                let window = candidate.window(&self.request, *place);
                let is_open = |taken: &Vec<Window>| is_free(taken, &window);
                let vehicle_is_free = match need {
                    Some(_) => vehicle.is_none_or(|taken| is_free(taken, &window)),
                    None => vehicle_is_free[*place],
                };
                vehicle_is_free && calendar.is_none_or(is_open)
            });
            let pair = |window| self.pair(place, candidate, window, &preferred);
            let best = BestPairs::of(candidate, free.map(pair));
            match calendar {
                Some(_) => pairs.extend(best.best()),
                None => {
                    let prospects = best.all().map(Pair::prospect);
                    open.extend(prospects.map(|prospect| (Open::Candidate(candidate), prospect)));
                }
            }
        }
        let shift = match need {
            Some(_) => None,
            None => {
                (0..windows.len()).find(|place| vehicle_is_free[*place] && self.allowed[*place])
            }
        };
        let shift = Merits {
            shift: shift.map_or(0, |place| super::shift(&windows[place], &preferred)),
            ..Merits::default()
        };
        for station in &self.unread {
            let prospects = station.prospects(shift.score());
            open.extend(prospects.map(|prospect| (Open::Station(station), prospect)));
        }
        State::new(pairs, open)
    }

    /// Returns the pair of the candidate with this index and one of the windows of the request.
    fn pair<'s>(
        &'s self,
        place: usize,
        candidate: &'s Candidate,
        window: usize,
        preferred: &Window,
    ) -> Pair<'s> {
        let price = candidate.price(window);
        let window = candidate.window(&self.request, window);
        let need = self.request.need();
        let merits = Merits {
            shift: need.map_or_else(|| super::shift(&window, preferred), |_| 0),
            ..candidate.merits
        };
        let base =
            need.map(|need| need::base(need, &window, price, candidate.grams, &self.request));
        Pair {
            place,
            candidate,
            window,
            merits,
            base: base.unwrap_or_else(|| merits.score()),
            price,
            lowest: None,
        }
    }
}

/// Returns the first `many` different values, or all if there are fewer.
fn first_of<'a, T: Clone + Ord + 'a>(values: impl Iterator<Item = &'a T>, many: usize) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let values = values.filter(|value| seen.insert((*value).clone()));
    values.take(many).cloned().collect()
}

fn is_free(taken: &[Window], window: &Window) -> bool {
    !taken.iter().any(|other| other.overlaps(window))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

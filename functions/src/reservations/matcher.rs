//! Reads the stations and calendars that the search for the best match requires. [`models::charging::matching::best_first`] describes the
//! search.

use std::collections::{BTreeMap, BTreeSet};

use crate::App;
use kernel::{Error, Id, Mode, Tenant, Window};
use models::charging::calendar::CalendarOwner;
use models::charging::effective_price::EffectivePrice;
use models::charging::matching::MatchRequest;
use models::charging::matching::best_first::{self, BestFirst, IndexedStation, Match, Step};
use models::charging::plan::{FoundBlock, charging_plan};
use models::charging::policies::{Breach, PolicyContext, PricedStation, judge};
use models::charging_station::Connector;
use models::operation::Operation;
use models::reservation::need::{ChargingPlan, LimitedBy};
use models::reservation::{Assignment, MatchFilter, MatchSummary};
use models::{ChargingStation, Fleet, Policy, Stored};
use table::calendars::Calendars;

/// A search and the objects that were read for it.
pub struct Matcher<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    request: &'a MatchRequest<'a>,
    stations: &'a [IndexedStation],
    limit: usize,
    search: BestFirst<'a>,
    /// The windows on whose days calendars are read.
    windows: Vec<Window>,
    calendars: Calendars,
    /// The stations that were read and that have no operator. They are not matched.
    not_connected: Vec<ChargingStation>,
    /// The stations that were read, if they are kept.
    kept: Option<BTreeMap<Id, ChargingStation>>,
    /// The ids of the stations that were read or do not exist, for a need.
    requested: Vec<Id>,
    /// The Wh that the blocks of a need charge, for which the search looks.
    energy: u32,
    /// The reason for which that is less than the need.
    limited_by: Option<LimitedBy>,
    /// Whether only blocks are searched that charge the whole need.
    is_whole: bool,
}

/// The precision, in Wh, with which the energy of a block is found that cannot charge the whole need.
const SHORT_PRECISION: u32 = 10;

/// The number of parts of a need of which the largest possible one is searched under a price cap.
const PARTS: u32 = 16;

/// A station that a filter refused.
pub struct RefusedStation<'a> {
    pub filter: MatchFilter,
    pub station: &'a ChargingStation,
}

/// Returns whether sessions can take place at a station: its network reaches its party, or the station is simulated.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn is_operated(
    app: &App,
    mode: Mode,
    station: &Stored<ChargingStation>,
) -> Result<bool, Error> {
    let Some(location) = &station.internal.location else {
        return Ok(Operation::of(mode, false).is_operated());
    };
    app.networks
        .reaches(&app.store, mode, location.owner(), app.now())
        .await
}

/// The stations that the search reads first.
pub fn first_stations(request: &MatchRequest<'_>, stations: &[IndexedStation]) -> Vec<Id> {
    best_first::first_stations(request, stations)
}

impl<'a> Matcher<'a> {
    /// Creates a search for the best `limit` matches among the stations within the radius.
    pub fn new(
        app: &'a App,
        tenant: &'a Tenant,
        request: &'a MatchRequest<'a>,
        stations: &'a [IndexedStation],
        limit: usize,
    ) -> Self {
        let need = request.reservation.need.as_ref();
        let mut days = request.windows.to_vec();
        days.extend(need.map(|need| Window::moment(need.ready_by)));
        Self {
            app,
            tenant,
            request,
            stations,
            limit,
            search: BestFirst::new(request, stations, limit),
            windows: days,
            calendars: Calendars::default(),
            not_connected: Vec::new(),
            kept: need.map(|_| BTreeMap::new()),
            requested: Vec::new(),
            energy: request.vehicle.energy().unwrap_or_default(),
            limited_by: None,
            is_whole: false,
        }
    }

    /// The same search, which finds only blocks that charge the whole need if that is required.
    #[must_use]
    pub fn requiring_whole_need(mut self, is_required: bool) -> Self {
        self.is_whole = is_required;
        self
    }

    /// The same search, which keeps the stations that it reads for [`Self::station`] and [`Self::refused`].
    #[must_use]
    pub fn keeping_stations(mut self) -> Self {
        self.kept = Some(BTreeMap::new());
        self
    }

    /// A station that was read and kept.
    pub fn station(&self, id: &Id) -> Option<&ChargingStation> {
        self.kept.as_ref()?.get(id)
    }

    /// The station, the connector and the effective price of an assignment. None if the station was not kept.
    pub fn place(
        &self,
        assignment: &Assignment,
    ) -> Option<(&ChargingStation, &Connector, Option<EffectivePrice>)> {
        let station = self.station(&assignment.station)?;
        let connector = station.connector(&assignment.connector)?;
        let (vehicle, currency) = (self.request.vehicle, self.request.reservation.currency);
        let window = &assignment.window;
        let price = EffectivePrice::in_window(station, connector, vehicle, window, currency);
        Some((station, connector, price))
    }

    /// The policies in suggestion mode that an assignment violates. None if its station was not kept.
    pub(super) fn warnings(
        &self,
        policies: &[Policy],
        fleet: Option<&Fleet>,
        assignment: &Assignment,
    ) -> Option<Vec<Breach>> {
        let (station, _, price) = self.place(assignment)?;
        let (windows, zone) = ([assignment.window], Fleet::zone(fleet));
        let policy_context = PolicyContext {
            station: Some(PricedStation {
                station,
                price,
                mode: self.tenant.mode,
            }),
            ..PolicyContext::at(&windows, self.request.reservation.currency, &zone)
        };
        Some(judge(policies, &policy_context).warnings)
    }

    /// The stations that filters refused, as far as they were kept.
    pub fn refused(&self) -> Vec<RefusedStation<'_>> {
        let not_connected = self.not_connected.iter().map(|station| RefusedStation {
            filter: MatchFilter::NotConnected,
            station,
        });
        let read = self.search.refusals().into_iter();
        let read = read.filter_map(|(id, filter)| {
            let station = self.station(&id)?;
            Some(RefusedStation { filter, station })
        });
        not_connected.chain(read).collect()
    }

    /// Adds stations that were read already: the published ones of `ids`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_stations(
        &mut self,
        ids: &[Id],
        stations: Vec<Stored<ChargingStation>>,
    ) -> Result<(), Error> {
        let mut operated = Vec::with_capacity(stations.len());
        for station in stations {
            if is_operated(self.app, self.tenant.mode, &station).await? {
                operated.push(station.object)
            } else {
                self.not_connected.push(station.object)
            }
        }
        if let Some(kept) = &mut self.kept {
            let read = operated.iter();
            kept.extend(read.map(|station| (station.id.clone(), station.clone())));
        }
        if self.request.reservation.need.is_some() {
            self.requested.extend_from_slice(ids);
        }
        self.search.add_stations(ids, operated);
        Ok(())
    }

    /// Reads stations and calendars until the best matches are known, and returns them, the best first. Nothing is reserved. If no block
    /// charges the whole need, the matches are the blocks that charge most. There are none for a vehicle that has nothing to charge.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn matches(&mut self) -> Result<Vec<Match>, Error> {
        if self.has_nothing_to_charge() {
            return Ok(Vec::new());
        }
        let found = self.search().await?;
        if !found.is_empty() || self.request.reservation.need.is_none() {
            return Ok(found);
        }
        let is_booked = self.search.has_candidates();
        if self.is_whole {
            self.limited_by = Some(if is_booked {
                LimitedBy::Bookings
            } else {
                LimitedBy::Time
            });
            return Ok(found);
        }
        let mut refused = self.search.summary().refused;
        // If none is booked, too expensive, forbidden or closed, all connectors that could be used are too slow for the whole need, and the
        // search for less says what refuses them.
        let is_refused = is_booked || refused.price + refused.policy + refused.closed > 0;
        let whole = self.energy;
        let (mut possible, mut impossible) = (0, whole);
        self.look_for(0);
        let mut found = self.search().await?;
        let mut has_candidates = self.search.has_candidates();
        if self.request.has_price_cap() {
            // A cap can refuse a small energy and allow a larger one, on which a start fee weighs less: the largest part that is possible
            // is searched from above.
            let part = impossible / PARTS;
            for energy in (1..PARTS).rev().map(|parts| parts * part) {
                self.look_for(energy);
                let matches = self.search().await?;
                has_candidates |= self.search.has_candidates();
                if !matches.is_empty() {
                    (possible, found) = (energy, matches);
                    break;
                }
                impossible = energy;
            }
        }
        if found.is_empty() && !is_refused {
            refused = self.search.summary().refused;
        }
        self.limited_by = Some(match has_candidates {
            _ if is_booked => LimitedBy::Bookings,
            _ if refused.price > 0 => LimitedBy::Price,
            _ if refused.policy > 0 => LimitedBy::Policy,
            true if found.is_empty() => LimitedBy::Bookings,
            true => LimitedBy::Time,
            false => LimitedBy::Stations,
        });
        if found.is_empty() {
            self.look_for(if is_refused { whole } else { 0 });
            return self.search().await;
        }
        self.most_energy(found, possible, impossible).await
    }

    /// Returns whether the battery has no room for the energy of a need, or has reached its level: a block would keep a connector for
    /// nothing.
    pub fn has_nothing_to_charge(&self) -> bool {
        self.request.reservation.need.is_some() && self.request.vehicle.energy() == Some(0)
    }

    /// Searches for the blocks with the most energy, of which `possible` is found and `impossible` is not. If an energy is possible, so is
    /// any smaller one, apart from caps.
    async fn most_energy(
        &mut self,
        mut found: Vec<Match>,
        mut possible: u32,
        mut impossible: u32,
    ) -> Result<Vec<Match>, Error> {
        while impossible - possible > SHORT_PRECISION {
            let energy = possible.midpoint(impossible);
            self.look_for(energy);
            let matches = self.search().await?;
            if matches.is_empty() {
                impossible = energy;
            } else {
                (possible, found) = (energy, matches);
            }
        }
        if self.energy != possible {
            self.look_for(possible);
            found = self.search().await?;
        }
        Ok(found)
    }

    /// Begins the search for blocks that charge `energy` Wh, with the objects that were read before.
    fn look_for(&mut self, energy: u32) {
        let request = MatchRequest {
            vehicle: self.request.vehicle.limited_to(energy),
            ..*self.request
        };
        let search = BestFirst::new(&request, self.stations, self.limit);
        let calendars = std::mem::replace(&mut self.search, search).into_calendars();
        let kept = self.kept.iter().flat_map(BTreeMap::values);
        self.search
            .add_stations(&self.requested, kept.cloned().collect());
        for (owner, taken) in calendars {
            self.search.add_calendar(owner, taken);
        }
        self.energy = energy;
    }

    /// The level of the battery for which connectors are priced, in hundredths of a percent. None if it is unknown or too old.
    pub fn level(&self) -> Option<u16> {
        self.request.vehicle.level()
    }

    /// The Wh that the blocks of a need charge. None without a need.
    pub fn block_energy(&self) -> Option<u32> {
        let need = self.request.reservation.need.as_ref();
        need.map(|_| self.energy)
    }

    /// The plan with one of the matches, or with none. None without a need.
    pub fn plan(&self, assignment: Option<&Assignment>) -> Option<ChargingPlan> {
        let found = assignment.and_then(|assignment| {
            Some(FoundBlock {
                assignment,
                station: self.station(&assignment.station)?,
                energy: self.energy,
            })
        });
        charging_plan(self.request, found, self.limited_by)
    }

    async fn search(&mut self) -> Result<Vec<Match>, Error> {
        loop {
            match self.search.next() {
                Step::ReadStations(ids) => {
                    let stations = self.app.store.published_stations(self.tenant, &ids).await?;
                    self.add_stations(&ids, stations).await?;
                }
                Step::ReadCalendars(owners) => self.read_calendars(owners, &[]).await?,
                Step::Stop => return Ok(self.search.ranking()),
            }
        }
    }

    /// Reads calendars, including those that were read before, on the days of all windows of the request and of `more`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn read_calendars(
        &mut self,
        owners: Vec<CalendarOwner>,
        more: &[Window],
    ) -> Result<(), Error> {
        self.windows.extend(more);
        let days: BTreeSet<_> = self.windows.iter().flat_map(Window::utc_days).collect();
        let pages = owners
            .iter()
            .flat_map(|owner| days.iter().map(|day| (owner.clone(), *day)));
        let store = &self.app.store;
        let read = store.calendars(self.tenant.mode, pages.collect()).await?;
        for owner in owners {
            let taken = read.taken_by_others(&owner, &self.request.reservation.id);
            self.search.add_calendar(owner, taken);
        }
        self.calendars.update(read);
        Ok(())
    }

    /// The calendars that were read.
    pub fn calendars(&self) -> &Calendars {
        &self.calendars
    }

    /// The number of stations, and the number that each filter refused.
    pub fn summary(&self) -> MatchSummary {
        let mut summary = self.search.summary();
        let not_connected = u32::try_from(self.not_connected.len()).unwrap_or(u32::MAX);
        summary.stations_in_radius += not_connected;
        summary.refused.not_connected = not_connected;
        summary
    }

    /// Returns whether a connector passed all filters except the calendars.
    pub fn has_candidates(&self) -> bool {
        self.search.has_candidates()
    }
}

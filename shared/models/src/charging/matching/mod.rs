//! Matching: which connector a reservation gets, and for which window.
//!
//! Terms. A *candidate* is a connector that passes every filter but the calendars. A *pair* is a candidate and a window for
//! which it can be booked. The *preferred window* is `ideal_start` to `ideal_end`, or for a confirmed reservation that is
//! matched again the window that was confirmed, because the driver was notified of that window. The *shift* of a window is the
//! number of minutes between its start and that of the preferred window.
//!
//! Life cycle. An attempt to confirm a reservation
//! 1. lists its windows ([`windows`]): all in steps of five minutes that `earliest_start` and `latest_end` allow;
//! 2. reads the index entries of the stations in the radius, and then stations and calendars in the order that
//!    [`best_first`] determines, until no other pair can have a lower score than the best one found;
//! 3. books that pair. If a calendar has changed meanwhile, it is read again and step 2 continues.
//!
//! Filters, in this order: the station is active and the EVSE can be reserved; the connector is of the vehicle's type; it is
//! in order; its effective price in the window ([`super::effective_price`]) is within the driver's cap; the station is open for
//! the whole window; policies in enforcement allow it; the calendars of the EVSE and of the vehicle are free. A station counts in
//! [`MatchRefusals`] at the first filter that none of its connectors passes in any window. A station that could not have been better
//! than the chosen one, or its calendars, may remain unread; then it counts as not considered.
//!
//! Needs. A reservation by need has no preferred window. Its *block* at a connector lasts until the energy of the need has flowed there,
//! in whole minutes and for a quarter of an hour at least, so the blocks of connectors differ in length. The windows of a request
//! are then the starts on the 5-minute grid, and those of a candidate its blocks that begin with them. Everything else is the same search,
//! in which the score is the cost of the block ([`need`]).
//!
//! Score. Each pair has one number; lower is better. All its parts are integers ([`score::Merits`]). Pairs of equal
//! score are ordered by shift, then the earlier window, then the ids of station and connector. So the result depends on
//! nothing but the stations, the calendars and the request.
//!
//! Prices. If a price list holds regardless of when a charge begins, a connector has one price for all windows. Otherwise each window that
//! passes the previous filters is priced once for all connectors of the same price list, power and time zone (`prices`).
//!
//! Invariants. Every window of a pair is as long as the preferred one, lies within `earliest_start` and `latest_end`, and
//! begins at most one minute before the attempt, and then only if the attempt is late. A chosen pair passes all filters by the data that
//! was read.
//!
//! Crashes. Nothing here has side effects. An attempt that crashes is repeated from the beginning (`calendars` in the crate `table`
//! makes sure that it has not booked anything twice).

pub mod best_first;
pub mod need;
pub mod outline;
mod prices;
pub mod score;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use self::prices::{ConnectorPrices, PriceLists};
use self::score::{Merits, SpeedClass};
use super::battery::Charge;
use super::calendar::CalendarOwner;
use super::effective_price::{ChargingVehicle, EffectivePrice, PriceCap, PricePerKwh};
use super::footprint::Footprint;
use super::geo::distance_meters;
use super::policies::{Breach, Limits, PricedStation};
use super::search::Place;
use super::{opening_hours, simulation};
use crate::charging_station::{ChargingStation, Connector, ConnectorStatus, StationStatus};
use crate::driver::DriverPreferences;
use crate::reservation::need::Need;
use crate::reservation::outward::RefusedEvse;
use crate::reservation::{
    LEAD, MatchFilter, MatchRefusals, Reservation, ReservationStatus, SHORTEST,
};
use crate::vehicle::ConnectorType;
use kernel::time::{MINUTE, millis, minutes, whole_millis};
use kernel::{Currency, Id, Mode, SignedDuration, Timestamp, Window};

/// The step by which a window may be shifted.
const STEP: SignedDuration = minutes(5);

/// The maximum delay of an attempt that is due when a window begins.
const LATE: SignedDuration = MINUTE;

/// The request of a reservation, and the rules that apply to it.
#[derive(Debug, Clone, Copy)]
pub struct MatchRequest<'a> {
    pub reservation: &'a Reservation,
    /// The vehicle's `charging_standard`.
    pub standard: ConnectorType,
    /// The vehicle, for the prices of its charge.
    pub vehicle: ChargingVehicle,
    pub preferences: &'a DriverPreferences,
    /// The currency of the driver's price cap.
    pub cap_currency: Currency,
    /// In the order of [`windows`].
    pub windows: &'a [Window],
    pub limits: &'a Limits<'a>,
    pub mode: Mode,
    /// The EVSEs that their networks have refused to keep free for the reservation.
    pub refused_evses: &'a [RefusedEvse],
}

impl<'a> MatchRequest<'a> {
    /// Returns the need of the vehicle, if the reservation is by need.
    fn need(&self) -> Option<&'a Need> {
        self.reservation.need.as_deref()
    }

    /// Checks whether anything limits the price per kWh.
    pub fn has_price_cap(&self) -> bool {
        let of_need = self.need().and_then(|need| need.max_price_per_kwh);
        of_need.or(self.preferences.max_price_per_kwh).is_some() || self.limits.have_price_cap()
    }

    /// Returns the windows of a connector for a charge: for a need, the blocks that begin with the windows of the request and end
    /// in time.
    fn windows_of(&self, charge: &Charge) -> Cow<'a, [Window]> {
        let Some(need) = self.need() else {
            return Cow::Borrowed(self.windows);
        };
        let Some(length) = need::length(self.vehicle, charge) else {
            return Cow::Borrowed(&[]);
        };
        let blocks = self.windows.iter().map(|window| Window {
            from: window.from,
            until: window.from.plus(length),
        });
        // The starts are in order, so the blocks keep their indexes.
        blocks
            .take_while(|block| block.until <= need.ready_by)
            .collect()
    }
}

/// A connector that passes every filter but the calendars.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    station: Id,
    evse: String,
    connector: String,
    /// Whether a charging network operates the station.
    is_of_network: bool,
    /// The windows in which it passes the filters, as indexes into the request's windows, in their order.
    windows: Arc<[usize]>,
    /// The duration of its block, for a need.
    length: Option<SignedDuration>,
    /// The grams of carbon dioxide of the charged energy, for a need.
    grams: Option<i64>,
    prices: ConnectorPrices,
    /// All components except the shift and the surcharge.
    merits: Merits,
}

impl Candidate {
    /// Returns the price on which the score in one of its windows depends: the effective price, or for a need the cost of the
    /// block. None if it is unknown.
    fn price(&self, place: usize) -> Option<PricePerKwh> {
        let price = self.prices.at(place)?;
        Some(match self.length {
            Some(_) => price.total(),
            None => price.per_kwh,
        })
    }

    /// Returns one of its windows.
    fn window(&self, request: &MatchRequest<'_>, place: usize) -> Window {
        let window = request.windows[place];
        let until = self.length.map(|length| window.from.plus(length));
        Window {
            until: until.unwrap_or(window.until),
            ..window
        }
    }

    /// Returns the owner of the calendar that has to be free.
    fn evse(&self) -> CalendarOwner {
        CalendarOwner::evse(&self.station, &self.evse)
    }
}

/// Returns the window from which shifts are counted.
fn preferred_window(reservation: &Reservation) -> Window {
    let is_confirmed = reservation.status() == ReservationStatus::Confirmed;
    let confirmed = reservation.window().filter(|_| is_confirmed);
    confirmed.unwrap_or(Window {
        from: reservation.ideal_start,
        until: reservation.ideal_end,
    })
}

/// Returns the windows that a reservation can have from now on: the ideal one, and all others of the same length in steps of five
/// minutes that lie within `earliest_start` and `latest_end`. They are in the order of their shift; of two with the same shift, the
/// earlier is first. No window begins before `now` unless the attempt is late, or more than half an hour before the ideal one, because
/// attempts to confirm do not begin earlier.
///
/// For a need, the shortest blocks that begin on the 5-minute grid.
pub fn windows(reservation: &Reservation, now: Timestamp) -> Vec<Window> {
    let preferred = preferred_window(reservation);
    let due = reservation.state.next_action().map(|(due, _)| due);
    if let Some(need) = &reservation.need {
        let starts = need.starts(now.plus(-LATE)).into_iter();
        let starts = starts.filter(|from| is_in_time(*from, &preferred, due, now));
        let shortest = |from: Timestamp| Window {
            from,
            until: from.plus(SHORTEST),
        };
        return starts.map(shortest).collect();
    }
    let ideal = Window {
        from: reservation.ideal_start,
        until: reservation.ideal_end,
    };
    let earliest = reservation
        .earliest_start
        .unwrap_or(ideal.from)
        .max(now.plus(-LATE))
        .max(ideal.from.plus(-LEAD - LATE));
    let latest = reservation.latest_end.unwrap_or(ideal.until);
    // Both divisions round towards the ideal window.
    let steps = |duration| whole_millis(duration).div_euclid(whole_millis(STEP));
    let first = -steps(ideal.from.since(earliest));
    let last = steps(latest.since(ideal.until));
    let windows = (first..=last).map(|count| ideal.shifted(millis(count * whole_millis(STEP))));
    let mut windows: Vec<_> = windows
        .filter(|window| window.from >= earliest && window.until <= latest)
        .filter(|window| is_in_time(window.from, &preferred, due, now))
        .collect();
    windows.sort_by_key(|window| (shift(window, &preferred), window.from));
    windows
}

/// Checks whether a window can begin at this time. A window that has begun up to a minute ago is possible for an attempt that was due
/// before its start, and if it is the preferred one: any other one has just been requested, and cancelling it would never be free.
fn is_in_time(from: Timestamp, preferred: &Window, due: Option<Timestamp>, now: Timestamp) -> bool {
    let has_waited = from == preferred.from || due.is_some_and(|due| due <= from);
    from >= now || has_waited && from >= now.plus(-LATE)
}

/// Minutes between the starts of two windows.
fn shift(window: &Window, preferred: &Window) -> i64 {
    window.from.since(preferred.from).abs().as_mins()
}

/// Checks whether it is not too late for a window.
pub fn can_begin(window: &Window, now: Timestamp) -> bool {
    window.from >= now.plus(-LATE)
}

/// Returns the connectors of a station that pass every filter but the calendars. `allowed` contains for each window of the request
/// whether policies allow it.
///
/// # Errors
/// The first filter that no connector passes.
fn candidates_of(
    station: &ChargingStation,
    allowed: &[bool],
    request: &MatchRequest<'_>,
    price_lists: &mut PriceLists,
) -> Result<Vec<Candidate>, MatchFilter> {
    let found = filter(station, allowed, request, price_lists)?;
    let candidates = found.into_iter().map(|passing| {
        let charge = request.vehicle.charge_at(passing.connector);
        for place in &passing.windows {
            passing.price_in(station, *place, request);
        }
        Candidate {
            station: station.id.clone(),
            evse: passing.connector.evse.clone(),
            connector: passing.connector.id.clone(),
            is_of_network: station.network.is_some(),
            merits: merits(station, passing.connector, request),
            windows: passing.windows.into(),
            length: request
                .need()
                .and_then(|_| need::length(request.vehicle, &charge)),
            grams: request
                .need()
                .and(request.vehicle.energy())
                .and_then(|energy| Footprint::at(station).grams(energy)),
            prices: passing.prices,
        }
    });
    Ok(candidates.collect())
}

impl MatchFilter {
    /// Returns the count of the stations that the filter refused.
    fn count_in(self, refused: &mut MatchRefusals) -> &mut u32 {
        match self {
            Self::NotConnected => &mut refused.not_connected,
            Self::NotReservable => &mut refused.not_reservable,
            Self::ConnectorType => &mut refused.connector_type,
            Self::OutOfOrder => &mut refused.out_of_order,
            Self::TooSlow => &mut refused.too_slow,
            Self::Price => &mut refused.price,
            Self::Closed => &mut refused.closed,
            Self::Policy => &mut refused.policy,
            Self::Booked => &mut refused.booked,
        }
    }
}

/// Returns whether policies forbid a station in every open window at every reservable connector, in order or not, that fits the vehicle.
pub fn is_forbidden(station: &ChargingStation, request: &MatchRequest<'_>) -> bool {
    let windows = open_windows(station, request.windows);
    let is_allowed = |connector: &Connector| {
        windows.iter().any(|place| {
            let window = &request.windows[*place];
            let priced = priced(station, connector, window, request);
            request.limits.allow_window(window) && request.limits.allow(&priced)
        })
    };
    !suitable(station, request).any(is_allowed)
}

/// Returns whether a connector is in the area of the reservation, and policies allow it at its effective price in a window. The rules of
/// policies about times are not checked: they depend on no station.
pub fn admits(
    station: &ChargingStation,
    connector: &Connector,
    window: &Window,
    request: &MatchRequest<'_>,
) -> bool {
    let area = Place::Circle(request.reservation.location.into());
    area.distance(station.location).is_some()
        && request
            .limits
            .allow(&priced(station, connector, window, request))
}

/// Returns the rule of a policy for which [`MatchFilter::Policy`] refuses a station, or would refuse it if it were in order: that for the
/// first of the connectors and windows that pass the filters before. None for a station that policies do not refuse.
pub fn breach(station: &ChargingStation, request: &MatchRequest<'_>) -> Option<Breach> {
    let connectors = fitting(station, request);
    let connectors = connectors.unwrap_or_else(|_| suitable(station, request).collect());
    let mut price_lists = PriceLists::default();
    let passing = affordable_and_open(connectors, station, request, &mut price_lists).ok()?;
    let mut pairs = passing.iter().flat_map(|connector| {
        let windows = connector.windows.iter();
        windows.map(move |place| (connector, *place))
    });
    pairs.find_map(|(connector, place)| {
        let priced = PricedStation {
            station,
            price: connector.price_in(station, place, request),
            mode: request.mode,
        };
        request.limits.breach(&priced, &connector.all[place])
    })
}

/// Returns the reservable connectors of a station that have the vehicle's plug, in order or not.
fn suitable<'a>(
    station: &'a ChargingStation,
    request: &MatchRequest<'_>,
) -> impl Iterator<Item = &'a Connector> + use<'a> {
    let standard = Some(request.standard);
    let connectors = station.connectors.iter();
    connectors
        .filter(move |connector| connector.reservable && connector.connector_type() == standard)
}

fn priced<'a>(
    station: &'a ChargingStation,
    connector: &Connector,
    window: &Window,
    request: &MatchRequest<'_>,
) -> PricedStation<'a> {
    PricedStation {
        station,
        price: price(station, connector, window, request),
        mode: request.mode,
    }
}

/// Returns the effective price of a connector in a window; None if it is unknown.
fn price(
    station: &ChargingStation,
    connector: &Connector,
    window: &Window,
    request: &MatchRequest<'_>,
) -> Option<EffectivePrice> {
    let currency = request.reservation.currency;
    EffectivePrice::in_window(station, connector, request.vehicle, window, currency)
}

/// Returns the windows for whose whole length a station is open, as indexes into `windows`, in their order.
fn open_windows(station: &ChargingStation, windows: &[Window]) -> Vec<usize> {
    let (Some(from), Some(until)) = (
        windows.iter().map(|window| window.from).min(),
        windows.iter().map(|window| window.until).max(),
    ) else {
        return Vec::new();
    };
    let spans = opening_hours::open_spans(station, &Window { from, until });
    let is_open = |window: &Window| {
        let mut spans = spans.iter();
        spans.any(|span| span.from <= window.from && window.until <= span.until)
    };
    (0..windows.len())
        .filter(|place| is_open(&windows[*place]))
        .collect()
}

/// A connector with the windows in which it passes the filters, and its prices there.
struct PassingConnector<'a> {
    connector: &'a Connector,
    /// Its windows: those of the request, or its blocks that begin with them.
    all: Cow<'a, [Window]>,
    /// As indexes into the request's windows, in their order.
    windows: Vec<usize>,
    prices: ConnectorPrices,
}

/// Returns the connectors of a station that pass the filters.
fn filter<'a>(
    station: &'a ChargingStation,
    allowed: &[bool],
    request: &MatchRequest<'a>,
    price_lists: &mut PriceLists,
) -> Result<Vec<PassingConnector<'a>>, MatchFilter> {
    let fitting = fitting(station, request)?;
    let mut passing = affordable_and_open(fitting, station, request, price_lists)?;
    keep_allowed(station, allowed, request, &mut passing)?;
    Ok(passing)
}

/// Returns those of these connectors of a station, with their windows, that charge a need in time, are not too expensive and are open.
fn affordable_and_open<'a>(
    connectors: Vec<&'a Connector>,
    station: &ChargingStation,
    request: &MatchRequest<'a>,
    price_lists: &mut PriceLists,
) -> Result<Vec<PassingConnector<'a>>, MatchFilter> {
    let passing = connectors.into_iter().map(|connector| {
        let all = request.windows_of(&request.vehicle.charge_at(connector));
        PassingConnector {
            connector,
            windows: (0..all.len()).collect(),
            prices: price_lists.of(station, connector, all.len(), || {
                price(station, connector, all.first()?, request)
            }),
            all,
        }
    });
    let mut passing: Vec<PassingConnector<'_>> = passing.collect();
    if request.need().is_some() {
        keep_windows(&mut passing, MatchFilter::TooSlow, |_, _| true)?;
    }
    let of_need = request.need().and_then(|need| need.max_price_per_kwh);
    let caps = [
        (of_need, request.reservation.currency),
        (request.preferences.max_price_per_kwh, request.cap_currency),
    ];
    for (cap, currency) in caps {
        let Some(cap) = cap else { continue };
        let cap = PriceCap {
            minor_units: cap.into(),
            currency,
        };
        keep_windows(&mut passing, MatchFilter::Price, |connector, place| {
            let price = connector.price_in(station, place, request);
            cap.allows(price.as_ref(), request.mode)
        })?;
    }
    keep_open(station, &mut passing)?;
    Ok(passing)
}

/// Returns the connectors that can be reserved, fit the vehicle and are in order.
fn fitting<'a>(
    station: &'a ChargingStation,
    request: &MatchRequest<'_>,
) -> Result<Vec<&'a Connector>, MatchFilter> {
    let mut left: Vec<&Connector> = station.connectors.iter().collect();
    let mut keep = |passes: &dyn Fn(&Connector) -> bool, otherwise: MatchFilter| {
        left.retain(|connector| passes(connector));
        if left.is_empty() {
            return Err(otherwise);
        }
        Ok(())
    };
    let reservable = station.status == StationStatus::Active && station.capabilities.reservable;
    let is_refused = |connector: &Connector| {
        let mut refused = request.refused_evses.iter();
        refused.any(|refused| refused.is(&station.id, &connector.evse))
    };
    keep(
        &|connector| reservable && connector.reservable && !is_refused(connector),
        MatchFilter::NotReservable,
    )?;
    let standard = request.standard;
    let is_accepted = request.reservation.connector_type.contains(&standard);
    keep(
        &|connector| is_accepted && connector.connector_type() == Some(standard),
        MatchFilter::ConnectorType,
    )?;
    keep(&Connector::is_in_order, MatchFilter::OutOfOrder)?;
    Ok(left)
}

/// Keeps the windows for whose whole length the station is open.
fn keep_open(
    station: &ChargingStation,
    passing: &mut Vec<PassingConnector<'_>>,
) -> Result<(), MatchFilter> {
    let mut is_open: Option<(SignedDuration, Vec<bool>)> = None;
    for connector in passing.iter_mut() {
        let Some(first) = connector.all.first() else {
            continue;
        };
        let length = first.until.since(first.from);
        // Most connectors have windows of the same length.
        if is_open.as_ref().is_none_or(|(of, _)| *of != length) {
            let mut open = vec![false; connector.all.len()];
            for place in open_windows(station, &connector.all) {
                open[place] = true;
            }
            is_open = Some((length, open));
        }
        if let Some((_, open)) = &is_open {
            connector.windows.retain(|place| open[*place]);
        }
    }
    keep_windows(passing, MatchFilter::Closed, |_, _| true)
}

/// Keeps the windows in which policies allow the connector and its price.
fn keep_allowed(
    station: &ChargingStation,
    allowed: &[bool],
    request: &MatchRequest<'_>,
    passing: &mut Vec<PassingConnector<'_>>,
) -> Result<(), MatchFilter> {
    // Most windows have the price of the window before, and the same verdict.
    let judged: Cell<Option<(Option<EffectivePrice>, bool)>> = Cell::new(None);
    let allows = |price: Option<EffectivePrice>| match judged.get() {
        Some((before, allowed)) if before == price => allowed,
        _ => {
            let allowed = request.limits.allow(&PricedStation {
                station,
                price,
                mode: request.mode,
            });
            judged.set(Some((price, allowed)));
            allowed
        }
    };
    let allows_window = |connector: &PassingConnector<'_>, place: usize| match request.need() {
        Some(_) => request.limits.allow_window(&connector.all[place]),
        None => allowed[place],
    };
    keep_windows(passing, MatchFilter::Policy, |connector, place| {
        allows_window(connector, place) && allows(connector.price_in(station, place, request))
    })
}

/// Keeps the windows that pass a filter, and the connectors that have any.
///
/// # Errors
/// The filter, if no connector is left.
fn keep_windows(
    connectors: &mut Vec<PassingConnector<'_>>,
    filter: MatchFilter,
    passes: impl Fn(&PassingConnector<'_>, usize) -> bool,
) -> Result<(), MatchFilter> {
    connectors.retain_mut(|connector| {
        let mut windows = std::mem::take(&mut connector.windows);
        windows.retain(|place| passes(connector, *place));
        connector.windows = windows;
        !connector.windows.is_empty()
    });
    if connectors.is_empty() {
        return Err(filter);
    }
    Ok(())
}

impl PassingConnector<'_> {
    /// Returns the effective price in a window; None if it is unknown.
    fn price_in(
        &self,
        station: &ChargingStation,
        place: usize,
        request: &MatchRequest<'_>,
    ) -> Option<EffectivePrice> {
        let price = || price(station, self.connector, &self.all[place], request);
        self.prices.get_or_compute(place, price)
    }
}

/// Returns the components of a connector's score that do not depend on the window and the other candidates.
fn merits(station: &ChargingStation, connector: &Connector, request: &MatchRequest<'_>) -> Merits {
    let preferences = request.preferences;
    let center = request.reservation.location.center();
    let networks = &preferences.preferred_cpos;
    Merits {
        shift: 0,
        meters: distance_meters(center, station.location) as i64,
        surcharge: 0,
        preferred_station: preferences
            .preferred_charging_stations
            .contains(&station.id),
        preferred_network: networks
            .iter()
            .any(|network| network.as_str() == station.operator),
        speed_missed: SpeedClass::of(simulation::offered(connector))
            .misses(preferences.charging_speed),
        occupied_now: connector.status == ConnectorStatus::Occupied,
    }
}

#[cfg(test)]
mod tests;

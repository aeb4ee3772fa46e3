//! Checks whether the amount that a charging network bills for a session is plausible. A network may report wrong energy, prices
//! and times, by mistake or on purpose, so none of its figures is accepted as proof of another: its times are bounded by the
//! service's own data, the energy of the session and of each charging period by these times and by the power of the charging point,
//! and the price by the service's own price for that energy and these times.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::super::battery::MILLIS_PER_HOUR;
use super::super::tariff::{self, Cost, Segment};
use super::evse_power;
use crate::charging_session::network::{
    Billed, CdrReport, ReportedState, STOP_REQUESTED_AFTER, SessionReport, Times, Total,
};
use crate::charging_session::review::ReviewReason;
use crate::charging_session::{ChargingSession, SessionStatus, StartedBy};
use crate::charging_station::{ChargingStation, Price, PriceType, Tax};
use crate::stored::Stored;
use kernel::time::{minutes, whole_millis};
use kernel::{Currency, SignedDuration, Timestamp};

/// The maximum deviation of the clock of a network and of its charging stations.
pub const CLOCK_TOLERANCE: SignedDuration = minutes(15);

/// The main units of its currency by which a price may exceed the service's own, and the assumed price of a kWh in main units, if
/// nothing is set for the currency.
const TOLERANCE: i64 = 10;
const ASSUMED_PRICE: i64 = 1;

/// The limits up to which a price is plausible, by currency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plausibility {
    /// Minor units by which a price may exceed the service's own.
    tolerances: BTreeMap<Currency, i64>,
    /// The assumed price of a kWh in minor units, with tax, if the tariff is unknown.
    assumed_prices: BTreeMap<Currency, i64>,
}

impl Plausibility {
    /// Reads both from texts such as `eur:1000,jpy:2000`, in minor units. A currency that is not listed has ten main units, and one
    /// main unit per kWh; a currency without minor units a hundred times as much. A currency that the service does not know is ignored.
    ///
    /// # Errors
    /// The name of the malformed text, and the reason.
    pub fn read(tolerances: Option<&str>, assumed_prices: Option<&str>) -> Result<Self, String> {
        let read = |name: &str, text: Option<&str>| {
            let text = text.unwrap_or_default();
            amounts(text)
                .ok_or_else(|| format!("{name} must have the form eur:1000,jpy:2000, not {text:?}"))
        };
        Ok(Self {
            tolerances: read("REVIEW_TOLERANCES", tolerances)?,
            assumed_prices: read("ASSUMED_PRICES", assumed_prices)?,
        })
    }

    fn tolerance(&self, currency: Currency) -> i64 {
        let set = self.tolerances.get(&currency).copied();
        set.unwrap_or_else(|| minor_units(TOLERANCE, currency))
    }

    /// Returns whether an amount of a network is more than the service's own by more than half and by more than the tolerance.
    pub fn is_excessive(&self, network: i64, ours: i64, currency: Currency) -> bool {
        is_excessive(network, ours, self.tolerance(currency))
    }

    fn assumed_price(&self, currency: Currency) -> Price {
        let set = self.assumed_prices.get(&currency).copied();
        Price {
            currency,
            price: set.unwrap_or_else(|| minor_units(ASSUMED_PRICE, currency)),
            price_decimal: None,
            step_size: 1,
            tax: Tax::None,
            tax_included: true,
            tax_percent: "0".to_owned(),
            kind: PriceType::Energy,
            restrictions: None,
        }
    }
}

/// Reads amounts by currency. A currency that the service does not know is ignored: no price is in it.
fn amounts(text: &str) -> Option<BTreeMap<Currency, i64>> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let mut amounts = BTreeMap::new();
    for part in parts {
        let (code, amount) = part.split_once(':')?;
        let (code, amount) = (code.trim(), amount.trim().parse::<u32>().ok()?);
        if let Some(currency) = Currency::from_code(code) {
            amounts.insert(currency, amount.into());
        } else if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return None;
        }
    }
    Some(amounts)
}

fn is_excessive(network: i64, ours: i64, tolerance: i64) -> bool {
    let (network, ours) = (i128::from(network), i128::from(ours));
    2 * network > 3 * ours && network - ours > tolerance.into()
}

/// Converts main units to minor units. The value of one yen is closer to a cent than to a euro.
fn minor_units(main_units: i64, currency: Currency) -> i64 {
    main_units * 10i64.pow(currency.exponent().max(2).into())
}

/// The statements of a network about a session on which its price depends.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub started: Timestamp,
    pub ended: Timestamp,
    /// Wh
    pub energy: i64,
    pub times: Times,
}

/// The service's own price for a session.
#[derive(Debug)]
pub(super) struct OwnPrice {
    pub cost: Cost,
    /// The energy in Wh, at most as much as the charging point can deliver.
    pub energy: i64,
    tolerance: i64,
    is_energy_plausible: bool,
}

impl OwnPrice {
    /// Returns the reason why a price of the network is not plausible; None if it is. An amount that is not above zero needs no
    /// review.
    pub fn objection(&self, total: Total) -> Option<ReviewReason> {
        let is_dear = is_excessive(total.gross, self.cost.gross, self.tolerance);
        match (total.gross > 0, self.is_energy_plausible) {
            (false, _) => None,
            (true, false) => Some(ReviewReason::Energy),
            (true, true) => is_dear.then_some(ReviewReason::Price),
        }
    }
}

impl Stored<ChargingSession> {
    /// Returns the service's own price for a session as the network describes it, as far as that is possible, in the currency of
    /// the session. If the network has changed prices and moved the session to a connector whose prices exceed those with which it began
    /// by more than is plausible, the first ones count: otherwise the network could choose the price by which its own is checked.
    pub(super) fn own_price(
        &self,
        claim: &Claim,
        limits: &Plausibility,
        now: Timestamp,
    ) -> OwnPrice {
        let currency = self.object.currency;
        let lasted = self.longest_possible(claim, now);
        let power = self.evse_power();
        let most = (power > 0).then(|| most_energy(power, lasted));
        let is_energy_plausible = most.is_none_or(|most| claim.energy <= tolerated(most));
        let energy = most
            .filter(|_| !is_energy_plausible)
            .unwrap_or(claim.energy);
        let times = claim.times.within(lasted);
        let began = self.object.session_started;
        let price = |pricing: &[Price]| {
            if tariff::is_known(pricing, currency, began) {
                self.price(pricing, energy, &times)
            } else {
                self.price(&[limits.assumed_price(currency)], energy, &times)
            }
        };
        let network = self.internal.network.as_deref();
        let first = network.and_then(|network| network.first_pricing.as_deref());
        let first = first.map(price);
        let cost = price(&self.internal.pricing);
        let cost = match first {
            Some(first) if limits.is_excessive(cost.gross, first.gross, currency) => first,
            _ => cost,
        };
        OwnPrice {
            cost,
            energy,
            tolerance: limits.tolerance(currency),
            is_energy_plausible,
        }
    }

    /// Checks whether the energy of a CDR, or else of the session, is more than the charging point could deliver with the power that is
    /// known of it.
    pub fn exceeds_power(&self, cdr: Option<&CdrReport>, now: Timestamp) -> bool {
        let own = || self.claim();
        let claim = cdr.map_or_else(own, |cdr| self.believed_cdr(cdr, now).claim());
        let most = most_energy(self.evse_power(), self.longest_possible(&claim, now));
        self.evse_power() > 0 && claim.energy > tolerated(most)
    }

    /// Raises the power of the charging point to the present one of its EVSE, which was increased during the session.
    pub fn raise_power(&mut self, station: &ChargingStation) {
        if let Some(network) = self.internal.network.as_deref_mut() {
            let present = evse_power(station, network.evse.uid.as_str());
            network.evse_power = network.evse_power.max(present);
        }
    }

    /// Returns the power of the charging point in W; 0 if it is unknown.
    pub(super) fn evse_power(&self) -> u32 {
        let network = self.internal.network.as_ref();
        network.map_or(0, |network| network.evse_power)
    }

    /// Returns a report with the start, the end and the times that can be, and with the tax of the tariff if it states none.
    pub(super) fn believed_report(&self, report: &SessionReport, now: Timestamp) -> SessionReport {
        let reported = report.ended.unwrap_or(report.last_updated);
        let is_over = report.state == ReportedState::Completed;
        let (started, ended, times) =
            self.believed(report.started, reported, is_over, &report.times, now);
        let pricing = &self.internal.pricing;
        let rate = || tariff::common_tax(pricing, report.currency, started);
        let is_moved = is_over && ended != reported;
        SessionReport {
            started,
            ended: (report.ended.is_some() || is_moved).then_some(ended),
            charging_ended: moved_with(report.charging_ended, reported, ended),
            times,
            total: report.total.map(|total| taxed(total, report.untaxed, rate)),
            ..report.clone()
        }
    }

    /// Returns a CDR with the start, the end and the times that can be, and with the tax of the tariff if it states none.
    pub(super) fn believed_cdr(&self, cdr: &CdrReport, now: Timestamp) -> CdrReport {
        let (started, ended, times) = self.believed(cdr.started, cdr.ended, true, &cdr.times, now);
        let currency = cdr.billed.currency;
        let pricing = match &self.internal.pricing {
            ours if tariff::is_known(ours, currency, started) => ours,
            _ => &cdr.pricing,
        };
        let rate = || tariff::common_tax(pricing, currency, started);
        CdrReport {
            billed: Billed {
                total: taxed(cdr.billed.total, cdr.untaxed, rate),
                ..cdr.billed.clone()
            },
            started,
            ended,
            charging_ended: moved_with(cdr.charging_ended, cdr.ended, ended),
            times,
            ..cdr.clone()
        }
    }

    /// Returns the start and the end that a network states, and the times, as far as they can be. A session that was started through the
    /// API did not begin before the request. A session that was started with a card and is not over began at most a day before its first
    /// report; one that is over may be reported long after it.
    ///
    /// A session that is over lasted as long as the network says, also if the clock of the network is wrong: an end in the future is moved
    /// to the time of receipt with its start, and a start that is too early is moved with its end if the session can have lasted so long:
    /// until its known end, or until now if none was reported.
    fn believed(
        &self,
        started: Timestamp,
        ended: Timestamp,
        is_over: bool,
        times: &Times,
        now: Timestamp,
    ) -> (Timestamp, Timestamp, Times) {
        let ahead = ended.since(now);
        let (started, ended) = if is_over && ahead > CLOCK_TOLERANCE && started <= ended {
            (started.plus(-ahead), now)
        } else {
            (started, ended)
        };
        let created = self.object.created;
        let earliest = match self.object.started_by {
            StartedBy::Api => created.plus(-CLOCK_TOLERANCE),
            StartedBy::Card if is_over => started,
            StartedBy::Card => created.plus(-STOP_REQUESTED_AFTER),
        };
        if started >= earliest {
            return (started, ended, times.clone());
        }
        let moved = earliest.plus(ended.since(started));
        let is_known = self.object.status() == SessionStatus::Completed;
        let known = self.object.state.ended().filter(|_| is_known);
        let ended = match known.filter(|_| is_over && ended >= started) {
            Some(known) => moved.min(known).max(ended),
            None if is_over && ended >= started && moved <= now => moved,
            None if ended < earliest => now,
            None => ended,
        };
        let lasted = ended.since(earliest).max(SignedDuration::ZERO);
        (earliest, ended, times.within(lasted))
    }

    /// Checks whether the tariff that the station had when the session began has prices in this currency.
    pub(super) fn is_tariff_known(&self, currency: Currency) -> bool {
        let began = self.object.session_started;
        tariff::is_known(&self.internal.pricing, currency, began)
    }

    /// Returns the longest possible duration of the session. A session that was started through the API did not begin before the
    /// request. A session that was started with a card lasted at most a day before its first report, because otherwise its end
    /// would have been requested.
    fn longest_possible(&self, claim: &Claim, now: Timestamp) -> SignedDuration {
        let created = self.object.created;
        let ended = claim.ended.min(now.plus(CLOCK_TOLERANCE));
        let lasted = match self.object.started_by {
            StartedBy::Api => ended.since(claim.started.max(created.plus(-CLOCK_TOLERANCE))),
            StartedBy::Card => ended
                .since(claim.started)
                .min(STOP_REQUESTED_AFTER + now.since(created)),
        };
        lasted.max(SignedDuration::ZERO)
    }
}

/// Returns a time of the session with the same distance to its end, which was moved.
fn moved_with(time: Option<Timestamp>, before: Timestamp, ended: Timestamp) -> Option<Timestamp> {
    time.map(|time| time.plus(ended.since(before)))
}

/// Returns an amount with tax at the rate of the tariff, if the network does not state the tax and the tariff has one rate.
fn taxed(total: Total, exact: Option<Decimal>, rate: impl Fn() -> Option<Decimal>) -> Total {
    let taxed = exact.and_then(|exact| total.taxed(exact, rate()?));
    taxed.unwrap_or(total)
}

/// Returns the energy in Wh that a power in W delivers in a time, rounded up.
fn most_energy(power: u32, lasted: SignedDuration) -> i64 {
    let elapsed = whole_millis(lasted).max(0).unsigned_abs();
    let energy = u64::from(power)
        .saturating_mul(elapsed)
        .div_ceil(MILLIS_PER_HOUR);
    // Small enough to be compared in tenths.
    i64::try_from(energy).unwrap_or(i64::MAX).min(i64::MAX / 16)
}

/// Returns the energy up to which a claim is plausible if this much is possible, in Wh: a tenth more.
fn tolerated(most: i64) -> i64 {
    most * 11 / 10
}

/// Divides the energy of a session in Wh among its segments as the network claims, but lets no more of it flow in a segment than a charging
/// point of this power in W can deliver. The rest flows in the other segments, in proportion to what these can still deliver; if that is
/// not enough, energy flows evenly. With a power of 0, which is unknown, everything is possible.
pub(super) fn possible_segments(segments: &[Segment], energy: i64, power: u32) -> Vec<Segment> {
    let claimed: u128 = segments.iter().map(|part| u128::from(part.energy)).sum();
    let energy = u128::from(energy.max(0).unsigned_abs());
    let most_of = |segment: &Segment| {
        let lasts = SignedDuration::from_millis(i64::try_from(segment.lasts).unwrap_or(i64::MAX));
        u128::from(tolerated(most_energy(power, lasts)).unsigned_abs())
    };
    let share_of = |segment: &Segment| {
        let share = energy * u128::from(segment.energy);
        share.checked_div(claimed).unwrap_or_default()
    };
    let is_possible = |segment: &Segment| share_of(segment) <= most_of(segment);
    if power == 0 || segments.iter().all(is_possible) {
        return segments.to_vec();
    }
    let flow_of = |segment: &Segment| share_of(segment).min(most_of(segment));
    let room_of = |segment: &Segment| {
        if segment.is_parking {
            0
        } else {
            most_of(segment) - flow_of(segment)
        }
    };
    let flowing: u128 = segments.iter().map(flow_of).sum();
    let room: u128 = segments.iter().map(room_of).sum();
    let rest = (energy - flowing).min(room);
    let possible = segments.iter().map(|segment| {
        let more = (rest * room_of(segment)).checked_div(room);
        let energy = flow_of(segment) + more.unwrap_or_default();
        Segment {
            energy: u64::try_from(energy).unwrap_or(u64::MAX),
            ..*segment
        }
    });
    possible.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at_network, now};
    use super::*;
    use crate::charging_station::Restrictions;
    use kernel::time::{HOUR, days, hours};

    /// A session at 22 kW and 45 pence a kWh.
    fn session() -> Stored<ChargingSession> {
        at_network(22_000)
    }

    /// The claim for a session that begins when it is requested.
    fn claim(energy: i64, lasts: SignedDuration) -> Claim {
        Claim {
            started: now(),
            ended: now().plus(lasts),
            energy,
            times: Times {
                charging: lasts,
                ..Times::default()
            },
        }
    }

    fn objection(claim: &Claim, gross: i64) -> Option<ReviewReason> {
        let own = session().own_price(claim, &Plausibility::default(), claim.ended);
        own.objection(Total::new(gross, gross))
    }

    #[test]
    fn a_price_may_exceed_ours_by_half_or_by_the_tolerance() {
        let dear = Some(ReviewReason::Price);
        // 20 kWh cost 9.00, and 10.00 more may be billed.
        let short = claim(20_000, HOUR);
        assert_eq!(objection(&short, 1900), None);
        assert_eq!(objection(&short, 1901), dear);
        // 60 kWh cost 27.00, and 13.50 more may be billed.
        let long = claim(60_000, hours(3));
        assert_eq!(objection(&long, 4050), None);
        assert_eq!(objection(&long, 4051), dear);
        assert_eq!(objection(&claim(0, HOUR), i64::MAX), dear);
    }

    #[test]
    fn energy_may_exceed_what_is_possible_by_a_tenth() {
        let beyond = Some(ReviewReason::Energy);
        assert_eq!(objection(&claim(24_200, HOUR), 1), None);
        assert_eq!(objection(&claim(24_201, HOUR), 1), beyond);
        assert_eq!(objection(&claim(1, SignedDuration::ZERO), 1), beyond);
        assert_eq!(objection(&claim(1, -HOUR), 1), beyond);
        // Nothing is billed for it.
        assert_eq!(objection(&claim(24_201, HOUR), 0), None);
        let unknown = at_network(0);
        let own = unknown.own_price(&claim(90_000, HOUR), &Plausibility::default(), now());
        assert_eq!(own.objection(Total::new(1, 1)), None);
    }

    /// A part of a session in which energy in Wh flows for hours.
    fn flow(hours: u64, energy: u64) -> Segment {
        Segment {
            lasts: hours * MILLIS_PER_HOUR,
            energy,
            is_parking: false,
        }
    }

    #[test]
    fn a_segment_has_no_more_energy_than_its_power_permits() {
        let parks = Segment {
            is_parking: true,
            ..flow(5, 0)
        };
        let energies = |segments: &[Segment], energy: i64, power: u32| {
            let possible = possible_segments(segments, energy, power);
            let energies = possible.iter().map(|segment| segment.energy);
            energies.collect::<Vec<_>>()
        };
        // At 11 kW, 60 kWh cannot flow in the last of five hours: 12.1 kWh can, and the rest in the others, which have room alike.
        let late = [parks, flow(1, 0), flow(3, 0), flow(1, 60_000)];
        assert_eq!(energies(&late, 60_000, 11_000), [0, 11_975, 35_925, 12_100]);
        // Neither can they if the session has more energy than its segments.
        let scaled = [flow(4, 0), flow(1, 1)];
        assert_eq!(energies(&scaled, 60_000, 11_000), [47_900, 12_100]);
        // What is possible stays as it is claimed.
        let honest = [flow(1, 12_100), parks, flow(1, 400)];
        assert_eq!(energies(&honest, 12_500, 11_000), [12_100, 0, 400]);
        assert_eq!(energies(&late, 60_000, 0), [0, 0, 0, 60_000]);
        // More than is possible at all flows evenly.
        assert_eq!(energies(&scaled, i64::MAX, 11_000), [48_400, 12_100]);
        assert_eq!(energies(&[], 1, 11_000), [0; 0]);
    }

    #[test]
    fn energy_in_a_dear_hour_is_bounded_by_the_power() {
        let mut session = session();
        // From 12:00 to 13:00 a kWh costs ten times as much.
        let pricing = &mut session.internal.pricing;
        let mut dear = pricing[0].clone();
        dear.price *= 10;
        dear.restrictions = Some(Restrictions {
            start_time: Some("12:00".to_owned()),
            end_time: Some("13:00".to_owned()),
            ..Restrictions::default()
        });
        pricing.insert(0, dear);
        session.internal.zone = None;
        let mut claim = claim(100_000, hours(8));
        claim.times.segments = vec![flow(4, 0), flow(1, 100_000), flow(3, 0)];
        let own = session.own_price(&claim, &Plausibility::default(), claim.ended);
        // At 22 kW, 24.2 kWh at 4.50 and 75.8 at 0.45, not 100 at 4.50.
        assert_eq!((own.energy, own.cost.gross), (100_000, 14_301));
        let objection = own.objection(Total::new(45_000, 45_000));
        assert_eq!(objection, Some(ReviewReason::Price));
    }

    #[test]
    fn a_network_does_not_choose_the_price_that_bounds_its_own() {
        let mut session = session();
        let first = session.internal.pricing.clone();
        let network = session.internal.network.as_deref_mut().unwrap();
        network.first_pricing = Some(first);
        let mut own = |price: i64| {
            session.internal.pricing[0].price = price;
            let claim = claim(20_000, HOUR);
            session.own_price(&claim, &Plausibility::default(), claim.ended)
        };
        // 20 kWh cost 9.00 at the connector where it began.
        assert_eq!(own(60).cost.gross, 1200);
        let dear = own(4500);
        assert_eq!(dear.cost.gross, 900);
        let total = Total::new(90_000, 90_000);
        assert_eq!(dear.objection(total), Some(ReviewReason::Price));
    }

    #[test]
    fn our_price_is_for_no_more_energy_than_is_possible() {
        let own = session().own_price(
            &claim(40_000, HOUR),
            &Plausibility::default(),
            now().plus(HOUR),
        );
        assert_eq!((own.energy, own.cost.gross), (22_000, 990));
    }

    #[test]
    fn times_that_cannot_be_make_nothing_possible() {
        let now = now().plus(HOUR);
        let lies = [
            (now.plus(days(-900)), now),
            (now.plus(-HOUR), now.plus(days(900))),
        ];
        for (started, ended) in lies {
            let claim = Claim {
                started,
                ended,
                ..claim(1_000_000, days(900))
            };
            let limits = Plausibility::default();
            let mut session = session();
            session.internal.pricing[0].kind = PriceType::Time;
            let own = session.own_price(&claim, &limits, now);
            // An hour and a quarter, because the network's clock may be off, at 45 pence an hour.
            assert_eq!((own.energy, own.cost.gross), (27_500, 56));
            // A day for a session without an earlier report, and the hour since.
            session.object.started_by = StartedBy::Card;
            let own = session.own_price(&claim, &limits, now);
            let most = if ended > now { 27_500 } else { 25 * 22_000 };
            assert_eq!(own.energy, most);
        }
    }

    #[test]
    fn a_kwh_without_a_tariff_costs_what_is_assumed() {
        let limits = Plausibility::read(Some(" jpy:2000 ,eur:5"), Some("gbp:30")).unwrap();
        let price = |code: &str, limits: &Plausibility| {
            let mut session = session();
            session.object.currency = Currency::from_code(code).unwrap();
            if code == "gbp" {
                session.internal.pricing.clear();
            }
            let claim = claim(10_000, HOUR);
            let own = session.own_price(&claim, limits, claim.ended);
            (own.cost.gross, own.tolerance)
        };
        let standard = Plausibility::default();
        assert_eq!(price("gbp", &standard), (1000, 1000));
        assert_eq!(price("jpy", &standard), (1000, 1000));
        assert_eq!(price("kwd", &standard), (10_000, 10_000));
        assert_eq!(price("gbp", &limits), (300, 1000));
        assert_eq!(price("jpy", &limits), (1000, 2000));
        assert_eq!(price("eur", &limits), (1000, 5));
    }

    #[test]
    fn amounts_that_cannot_be_read_are_refused() {
        for text in [
            "eur",
            "eur:",
            "eur:-1",
            "eur:1.5",
            "EUR:1",
            "euro:1",
            "eur:1;usd:2",
        ] {
            let refused = Plausibility::read(Some(text), None).unwrap_err();
            assert!(refused.starts_with("REVIEW_TOLERANCES"), "{refused}");
            assert!(Plausibility::read(None, Some(text)).is_err(), "{text}");
        }
        for text in ["", "xxx:1"] {
            assert_eq!(
                Plausibility::read(Some(text), None),
                Ok(Plausibility::default())
            );
        }
    }
}

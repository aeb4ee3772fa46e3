//! Sessions at the station of a charging network: the commands to the network, and its reports so far.
//!
//! Terms:
//! - A *report* is the state of a session as the network sends it (an OCPI Session).
//! - A *CDR* (charge detail record) is the bill of a network. It never changes; a wrong one is credited by another.
//! - The price is *final* when it may be invoiced. Amounts that a network bills after that become adjustments.
//!
//! Life cycle. A session that is started through the API is `pending`: START_SESSION is sent once, as soon as the site of the station has
//! room for its power ([`crate::site::starts`]), and the session waits for a report until its deadline. The report makes it active,
//! whenever it arrives: also after the session has failed or was cancelled, because energy that flowed is billed. A session that is
//! started with a card begins with its first report. An active session ends when the network reports that, or bills it. The service
//! requests the end with STOP_SESSION when a driver does, when `session_limit` is reached and after 24 hours; it repeats that four times,
//! and never ends a session by itself. A session on which the network has not reported for 24 hours after that is *stalled*, and the
//! tenant may end it. A session that was ended in this way waits for its CDR like any other; if the network reports that it continues, its end is
//! requested again, and the session stays completed.
//!
//! A completed session waits three days for its CDR, from the moment at which its end was received. Without one, the amount of the last
//! report is billed, otherwise that of the tariff.
//! A price that is not plausible becomes final only after a decision about it ([`super::review`]).
//!
//! Every transition may be requested twice, late, and in another order than the events happened: reports are ordered by `last_updated`,
//! CDRs are counted by their ids and as a set. The effect of each contradiction is listed in `infra/networks.md`.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use super::profile::{ProfileClearing, SessionProfile};
use crate::charging::tariff::Segment;
use crate::charging_station::Price;
use crate::network::{EvseId, ObjectId, Owner};
use kernel::time::{DAY, days, minutes};
use kernel::{Currency, Id, SignedDuration, Timestamp, Window};

/// The time for which a session waits for the network's report that it has begun.
pub const START_PATIENCE: SignedDuration = minutes(5);

/// The time for which a session waits until its site has room for its power, and the pause between two checks of that.
pub const ROOM_PATIENCE: SignedDuration = minutes(15);
pub const ROOM_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// The time after which STOP_SESSION is sent again, and the maximum number of times it is sent.
pub const STOP_PATIENCE: SignedDuration = minutes(5);
pub const MAX_STOPS: u32 = 5;

/// The time for which a session waits for its CDR after the service received its end.
pub const CDR_PATIENCE: SignedDuration = days(3);

/// The duration of a session after which the service requests its end from the network.
pub const STOP_REQUESTED_AFTER: SignedDuration = DAY;

/// Returns the time at which the service requests the end of a session that was created and began at these moments: a day after its
/// start. A network may report a start long ago, by mistake or because a charging point has no clock. If the day would be over when the
/// service heard of the session, it begins then.
pub fn longest_until(created: Timestamp, started: Timestamp) -> Timestamp {
    let until = started.plus(STOP_REQUESTED_AFTER);
    if until > created {
        until
    } else {
        created.plus(STOP_REQUESTED_AFTER)
    }
}

/// A session is stalled at this time after the request for its end and after the network's last report.
pub const STALLED_AFTER: SignedDuration = DAY;

/// The data of a session at a network's station that does not change with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkSession {
    /// The EVSE at which the session takes place.
    pub evse: EvseId,
    /// The connector within the EVSE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
    /// The maximum power of the EVSE in W: that at the start of the session, or a later one if it is greater; 0 if it is unknown.
    pub evse_power: u32,
    /// The prices with which the session began, if it was moved to a connector whose prices had changed in the meantime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_pricing: Option<Vec<Price>>,
    /// The card whose token identifies the driver at the network: the driver's app card if the session was started through the API. Items
    /// of earlier versions lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Id>,
    /// The network's own session, once the network has reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<ObjectId>,
    /// `last_updated` of the newest report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<Timestamp>,
    /// The times and the cost in the newest report.
    #[serde(default)]
    pub usage: Times,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
    /// The CDRs so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cdrs: Vec<Billed>,
}

/// The requests to the network of an active session, and the time of its last report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtNetwork {
    /// The time that is booked in the calendars for the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Window>,
    /// When the newest report was received.
    pub heard_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The time since which the session is stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_at: Option<Timestamp>,
    /// The charging profile that the plan of a site assigns to the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<SessionProfile>>,
    /// Set while the charging point may still follow a profile that is to be cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearing: Option<ProfileClearing>,
}

impl AtNetwork {
    /// Returns the time at which a session whose end was requested becomes stalled, if its network does not report on it.
    pub(super) fn stalls_at(&self) -> Option<Timestamp> {
        let stop = self.stop.filter(|_| self.stalled_at.is_none())?;
        Some(self.heard_at.max(stop.since).plus(STALLED_AFTER))
    }
}

impl NetworkSession {
    /// Returns the data of a session on which the network has not reported.
    pub fn at(evse: EvseId, connector: Option<String>) -> Self {
        Self {
            evse,
            connector,
            evse_power: 0,
            first_pricing: None,
            card: None,
            session: None,
            reported: None,
            usage: Times::default(),
            total: None,
            cdrs: Vec::new(),
        }
    }

    /// Returns the party that operates the station. Reports and bills of any other party do not affect the session.
    pub fn owner(&self) -> &Owner {
        self.evse.owner()
    }
}

/// The request to end a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The time of the request.
    pub since: Timestamp,
    /// The number of times that STOP_SESSION was sent.
    pub sent: u32,
    /// The time at which it is sent next.
    pub next: Option<Timestamp>,
}

/// How long a vehicle charged and was parked, and in which order. Items contain whole milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    #[serde(with = "kernel::time::as_millis")]
    pub charging: SignedDuration,
    #[serde(with = "kernel::time::as_millis")]
    pub parking: SignedDuration,
    /// The charging periods, bounded in number; empty if the network reports none, or if the vehicle charged and then was parked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
}

impl Times {
    /// Returns the times of a session that lasted at most this long. If they are shortened, the segments are unknown.
    #[must_use]
    pub fn within(&self, lasted: SignedDuration) -> Self {
        if self.charging.saturating_add(self.parking) <= lasted {
            return self.clone();
        }
        let charging = self.charging.min(lasted);
        Self {
            charging,
            parking: self.parking.min(lasted - charging),
            segments: Vec::new(),
        }
    }
}

/// An amount in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    pub net: i64,
    /// With tax.
    pub gross: i64,
}

impl Total {
    /// Creates an amount without and with tax. The amount with tax is billed. If the other one cannot be that amount without tax, because it is
    /// zero, is larger or has the other sign, no tax is known.
    pub fn new(net: i64, gross: i64) -> Self {
        let range = gross.min(0)..=gross.max(0);
        let is_possible = net != 0 && range.contains(&net);
        Self {
            net: if is_possible { net } else { gross },
            gross,
        }
    }

    /// Returns an amount with this percentage of tax added to the exact amount without tax; None if it is too large.
    pub fn taxed(self, exact: Decimal, percent: Decimal) -> Option<Self> {
        let with_tax = Decimal::ONE + percent / Decimal::ONE_HUNDRED;
        let gross = exact.checked_mul(with_tax)?;
        let gross = gross.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        Some(Self::new(self.net, gross.to_i64()?))
    }

    pub fn tax(self) -> i64 {
        self.gross - self.net
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            net: self.net.saturating_add(other.net),
            gross: self.gross.saturating_add(other.gross),
        }
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            net: self.net.saturating_sub(other.net),
            gross: self.gross.saturating_sub(other.gross),
        }
    }
}

/// The part of a CDR on which the sum of several CDRs depends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Billed {
    pub id: ObjectId,
    pub total: Total,
    /// Whether it credits another CDR: its total is negative.
    pub credit: bool,
    /// The CDR that it credits, if it names one.
    pub credits: Option<ObjectId>,
    /// When it was updated, by the network's clock if that is believed.
    pub last_updated: Timestamp,
    pub currency: Currency,
}

impl Billed {
    fn is_credit_of(&self, bill: &Self) -> bool {
        let is_named = self.credits.as_ref() == Some(&bill.id);
        self.credit && is_named && self.currency == bill.currency
    }

    /// Returns the amount that a credit returns. Some networks send it as a positive number.
    fn returned(&self) -> Total {
        Total {
            net: self.total.net.saturating_abs(),
            gross: self.total.gross.saturating_abs(),
        }
    }
}

/// The state of a session as its network reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionReport {
    pub session: ObjectId,
    pub state: ReportedState,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// When the vehicle stopped drawing energy, if it has.
    pub charging_ended: Option<Timestamp>,
    /// Wh
    pub energy: i64,
    pub times: Times,
    pub currency: Currency,
    /// The cost so far, if the network reports it.
    pub total: Option<Total>,
    /// The exact cost without tax in minor units, if the network does not state the tax.
    pub untaxed: Option<Decimal>,
    /// When it was updated, by the network's clock if that is believed.
    pub last_updated: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedState {
    /// It has not begun.
    Waiting,
    Active,
    Completed,
    /// It will not be billed.
    Invalid,
}

/// The bill of a network for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct CdrReport {
    pub billed: Billed,
    /// The exact amount without tax in minor units, if the network does not state the tax.
    pub untaxed: Option<Decimal>,
    pub session: Option<ObjectId>,
    pub started: Timestamp,
    pub ended: Timestamp,
    pub charging_ended: Option<Timestamp>,
    /// Wh
    pub energy: i64,
    pub times: Times,
    /// The prices that the CDR itself contains.
    pub pricing: Vec<Price>,
}

/// Returns the CDR in a currency whose price counts: the newest of those that are neither credits nor credited in full.
pub fn newest_bill(cdrs: &[Billed], currency: Currency) -> Option<&Billed> {
    newest_of(cdrs, |cdr| cdr.currency == currency)
}

/// Returns the currency of the newest CDR that is neither a credit nor credited in full.
pub fn newest_currency(cdrs: &[Billed]) -> Option<Currency> {
    newest_of(cdrs, |_| true).map(|bill| bill.currency)
}

fn newest_of(cdrs: &[Billed], is_meant: impl Fn(&Billed) -> bool) -> Option<&Billed> {
    let open = cdrs.iter().filter(|cdr| is_meant(cdr));
    let open = open.filter(|cdr| !cdr.credit && !is_credited(cdrs, cdr));
    open.max_by(|a, b| (a.last_updated, a.id.order()).cmp(&(b.last_updated, b.id.order())))
}

/// Returns whether credits cancel a bill.
fn is_credited(cdrs: &[Billed], bill: &Billed) -> bool {
    let is_named = cdrs.iter().any(|credit| credit.is_credit_of(bill));
    is_named && credit_of(cdrs, bill).gross >= bill.total.gross
}

/// Returns the amount that the credits of a bill return.
fn credit_of(cdrs: &[Billed], bill: &Billed) -> Total {
    let credits = cdrs.iter().filter(|credit| credit.is_credit_of(bill));
    credits.fold(Total::default(), |sum, credit| sum.plus(credit.returned()))
}

/// Returns the total of several CDRs of one session in a currency; None before the session was billed in it. The order in which they
/// arrive does not matter.
///
/// The newest of the CDRs that are not credited in full counts, because a session has one price: a network that bills a session again
/// without crediting the first CDR has corrected it. Credits are subtracted, except those of a CDR that does not count, however much they
/// are together. The cost of a session is never negative.
pub fn total_of(cdrs: &[Billed], currency: Currency) -> Option<Total> {
    let in_currency = || cdrs.iter().filter(|cdr| cdr.currency == currency);
    let bills = || in_currency().filter(|cdr| !cdr.credit);
    bills().next()?;
    let newest = newest_bill(cdrs, currency);
    let sum = newest.map_or_else(Total::default, |newest| newest.total);
    let counts = |credit: &Billed| {
        let mut others = bills().filter(|bill| newest != Some(bill));
        credit.credit && !others.any(|bill| credit.is_credit_of(bill))
    };
    let credits = in_currency().filter(|cdr| counts(cdr));
    let sum = credits.fold(sum, |sum, credit| sum.minus(credit.returned()));
    Some(Total::new(sum.net.max(0), sum.gross.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Module, PartyId};
    use kernel::Kind;

    fn eur() -> Currency {
        Currency::from_code("eur").unwrap()
    }

    fn named(id: &str) -> ObjectId {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "EXA").unwrap(),
        );
        ObjectId::new(owner, Module::Cdrs, id).unwrap()
    }

    fn cdr(id: &str, gross: i64, credits: Option<&str>, minute: i64) -> Billed {
        Billed {
            id: named(id),
            total: Total {
                net: gross / 2,
                gross,
            },
            credit: credits.is_some(),
            credits: credits.filter(|id| !id.is_empty()).map(named),
            last_updated: Timestamp::EPOCH.plus(minutes(minute)),
            currency: eur(),
        }
    }

    /// The total, in whatever order the CDRs arrive.
    #[track_caller]
    fn total(cdrs: &[Billed]) -> Option<i64> {
        let total_of = |cdrs: &[Billed]| super::total_of(cdrs, eur());
        let sum = total_of(cdrs).map(|total| total.gross);
        let mut turned = cdrs.to_vec();
        for _ in cdrs {
            turned.rotate_left(1);
            assert_eq!(total_of(&turned).map(|total| total.gross), sum);
        }
        turned.reverse();
        assert_eq!(total_of(&turned).map(|total| total.gross), sum);
        sum
    }

    #[test]
    fn cdr_total_subtracts_credits_and_uses_the_newest_cdr() {
        let bill = cdr("C1", 500, None, 1);
        assert_eq!(total(&[]), None);
        assert_eq!(total(std::slice::from_ref(&bill)), Some(500));
        // A credit alone does not determine the price.
        assert_eq!(total(&[cdr("X", -500, Some("C1"), 2)]), None);
        let credit = cdr("X", -500, Some("c1"), 2);
        assert_eq!(total(&[bill.clone(), credit.clone()]), Some(0));
        let corrected = cdr("C2", 450, None, 2);
        assert_eq!(
            total(&[bill.clone(), credit.clone(), corrected.clone()]),
            Some(450)
        );
        // Without a credit the session is still billed once.
        assert_eq!(total(&[bill.clone(), corrected.clone()]), Some(450));
        let partial = cdr("X", -100, Some("C1"), 2);
        assert_eq!(total(&[bill.clone(), partial.clone()]), Some(400));
        // Neither is what a credit leaves of a corrected CDR billed beside the correction.
        let partly = [bill.clone(), partial, corrected.clone()];
        assert_eq!(total(&partly), Some(450));
        let of_newest = cdr("X", -50, Some("C2"), 3);
        assert_eq!(total(&[bill.clone(), corrected, of_newest]), Some(400));
        // A negative CDR that is no credit counts as any other: not beside a newer one.
        let negative = [
            bill.clone(),
            cdr("N", -500, None, 2),
            cdr("C3", 450, None, 3),
        ];
        assert_eq!(total(&negative), Some(450));
        let unnamed = cdr("X", -100, Some(""), 2);
        assert_eq!(total(&[bill.clone(), unnamed]), Some(400));
        let positive = cdr("X", 500, Some("C1"), 2);
        assert_eq!(total(&[bill.clone(), positive]), Some(0));
        let excessive = cdr("X", -900, Some("C1"), 2);
        assert_eq!(total(&[bill, excessive]), Some(0));
        assert_eq!(total(&[cdr("C1", -300, None, 1)]), Some(0));
        let elsewhere = Billed {
            currency: Currency::USD,
            ..credit
        };
        assert_eq!(total(&[cdr("C1", 500, None, 1), elsewhere]), Some(500));
    }

    #[test]
    fn credits_of_more_than_their_cdr_reduce_no_other() {
        let bill = cdr("C1", 500, None, 1);
        let twice = ["X", "Y"].map(|id| cdr(id, -500, Some("C1"), 2));
        let [first, second] = twice.clone();
        assert_eq!(total(&[bill.clone(), first, second]), Some(0));
        let [first, second] = twice;
        let corrected = cdr("C2", 450, None, 3);
        let of_newest = cdr("Z", -50, Some("C2"), 4);
        assert_eq!(
            total(&[bill, first, second, corrected, of_newest]),
            Some(400)
        );
    }

    #[test]
    fn credits_that_name_another_tax_leave_no_impossible_tax() {
        let mut bill = cdr("C1", 1000, None, 1);
        let mut credit = cdr("X", -800, Some("C1"), 2);
        credit.total.net = -100;
        let total = total_of(&[bill.clone(), credit], eur()).unwrap();
        assert_eq!((total.net, total.gross), (200, 200));
        let mut untaxed = cdr("X", -800, Some("C1"), 2);
        (bill.total.net, untaxed.total.net) = (800, -800);
        let total = total_of(&[bill, untaxed], eur()).unwrap();
        assert_eq!((total.net, total.gross), (200, 200));
    }
}

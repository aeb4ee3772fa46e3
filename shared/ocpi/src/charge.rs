//! The mapping of sessions and CDRs to the charging sessions of this service.
//!
//! Quantities are whole Wh and milliseconds, and amounts whole minor units, each rounded once, half away from zero. Times are derived from
//! the beginnings of the charging periods, which are exact; if an object has none, from its totals in hours, which have four digits.
//! The energies of the periods are rounded in their sum, so that they add up to the energy of the object.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use super::cdr::Cdr;
use super::cost::{ChargingPeriod, Cost};
use super::periods::bounded_segments;
use super::reader::MOST;
use super::session::{Session, SessionStatus};
use super::tariff::Tariff;
use kernel::time::{HOUR, millis, whole_millis};
use kernel::{Currency, SignedDuration, Timestamp};
use models::charging::tariff::Segment;
use models::charging_session::network::{
    Billed, CdrReport, ReportedState, SessionReport, Times, Total,
};
use models::charging_station::Price;
use models::network::{Module, ObjectId};

impl Session {
    /// Returns the report of the session. `updated` is the time of its update, if that is plausible.
    ///
    /// # Errors
    /// The reason why the session cannot be used: an unknown currency, or an implausible amount or energy.
    pub fn report(&self, id: &ObjectId, updated: Timestamp) -> Result<SessionReport, String> {
        let currency = currency(&self.currency)?;
        let ended = self.end_date_time.unwrap_or(updated);
        let (times, charging_ended) = times(&self.charging_periods, self.start_date_time, ended);
        Ok(SessionReport {
            session: id.clone(),
            state: match self.status {
                SessionStatus::Active => ReportedState::Active,
                SessionStatus::Completed => ReportedState::Completed,
                SessionStatus::Invalid => ReportedState::Invalid,
                SessionStatus::Pending | SessionStatus::Reservation | SessionStatus::Unknown => {
                    ReportedState::Waiting
                }
            },
            started: self.start_date_time,
            ended: self.end_date_time,
            charging_ended,
            energy: watt_hours(self.kwh)?,
            times,
            currency,
            total: self
                .total_cost
                .map(|cost| total(cost, currency))
                .transpose()?,
            untaxed: self.total_cost.and_then(|cost| untaxed(cost, currency)),
            last_updated: updated,
        })
    }
}

impl Cdr {
    /// Returns the report of the CDR. `updated` is the time of its update, if that is plausible.
    ///
    /// # Errors
    /// The reason why the CDR cannot be used: an unknown currency, or an implausible amount or energy.
    pub fn report(&self, id: &ObjectId, updated: Timestamp) -> Result<CdrReport, String> {
        let (started, ended) = (self.start_date_time, self.end_date_time);
        let (mut times, charging_ended) = times(&self.charging_periods, started, ended);
        if self.charging_periods.is_empty() {
            let parking = duration(self.total_parking_time.unwrap_or_default());
            let whole = ended.since(started).max(SignedDuration::ZERO);
            let parking = parking.clamp(SignedDuration::ZERO, whole);
            times = Times {
                charging: whole - parking,
                parking,
                ..Times::default()
            };
        }
        // The energy of a credit may be negative, like its amounts.
        let energy = if self.credit {
            self.total_energy.abs()
        } else {
            self.total_energy
        };
        let billed = self.billed(id, self.total_cost, updated)?;
        Ok(CdrReport {
            untaxed: untaxed(self.total_cost, billed.currency),
            billed,
            session: self.session(id),
            started,
            ended,
            charging_ended,
            energy: watt_hours(energy)?,
            times,
            pricing: self.pricing(),
        })
    }

    /// Returns the amount that the CDR of a reservation that was never used bills.
    ///
    /// # Errors
    /// As for [`Cdr::report`].
    pub fn reservation_cost(&self, id: &ObjectId, updated: Timestamp) -> Result<Billed, String> {
        let cost = self.total_reservation_cost.unwrap_or(self.total_cost);
        self.billed(id, cost, updated)
    }

    fn billed(&self, id: &ObjectId, cost: Cost, updated: Timestamp) -> Result<Billed, String> {
        let currency = currency(&self.currency)?;
        Ok(Billed {
            id: id.clone(),
            total: total(cost, currency)?,
            credit: self.credit,
            credits: self.credited(id),
            last_updated: updated,
            currency,
        })
    }

    /// Returns the session, of the same party, of the CDR with this id.
    pub fn session(&self, id: &ObjectId) -> Option<ObjectId> {
        let named = self.session_id.as_ref()?;
        id.beside(Module::Sessions, named.as_str()).ok()
    }

    /// Returns the CDR, of the same party, that the CDR with this id credits.
    pub fn credited(&self, id: &ObjectId) -> Option<ObjectId> {
        let named = self.credit_reference_id.as_ref()?;
        id.beside(Module::Cdrs, named.as_str()).ok()
    }

    /// Returns the prices of the tariffs in the CDR that can be read, in their order.
    fn pricing(&self) -> Vec<Price> {
        let read = self.tariffs.iter().cloned().map(Tariff::read);
        let prices = read
            .filter_map(Result::ok)
            .map(super::tariff::ReadTariff::into_prices);
        prices.flatten().collect()
    }
}

fn currency(code: &str) -> Result<Currency, String> {
    let read = Currency::from_code(&code.trim().to_lowercase());
    read.ok_or_else(|| format!("currency: {code:?} is no ISO 4217 code"))
}

fn rounded(number: Decimal) -> Option<i64> {
    number
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
        .to_i64()
}

fn watt_hours(kwh: Decimal) -> Result<i64, String> {
    let energy = kwh.checked_mul(Decimal::ONE_THOUSAND).and_then(rounded);
    energy
        .filter(|energy| (0..=MOST).contains(energy))
        .ok_or_else(|| format!("{kwh} kWh is beyond reason"))
}

/// Converts hours to a duration in whole milliseconds.
fn duration(hours: Decimal) -> SignedDuration {
    let rounded = hours
        .checked_mul(whole_millis(HOUR).into())
        .and_then(rounded);
    millis(rounded.unwrap_or(i64::MAX))
}

/// Returns an amount in minor units. An amount without tax, or with an impossible tax, has no tax.
fn total(cost: Cost, currency: Currency) -> Result<Total, String> {
    let minor = |amount: Decimal| {
        let units = exact(amount, currency).and_then(rounded);
        units
            .filter(|units| (-MOST..=MOST).contains(units))
            .ok_or_else(|| format!("an amount of {amount} is beyond reason"))
    };
    let net = minor(cost.net)?;
    let gross = cost.gross.map_or(Ok(net), minor)?;
    Ok(Total::new(net, gross))
}

/// Returns an amount in minor units before it is rounded; None if it is too large.
fn exact(amount: Decimal, currency: Currency) -> Option<Decimal> {
    amount.checked_mul(10u32.pow(currency.exponent().into()).into())
}

/// Returns the exact amount without tax in minor units, if the sender does not state the tax.
fn untaxed(cost: Cost, currency: Currency) -> Option<Decimal> {
    match cost.gross {
        None => exact(cost.net, currency),
        Some(_) => None,
    }
}

/// Returns how long the vehicle charged and was parked, and in which order, and since when it is parked at the end.
fn times(
    periods: &[ChargingPeriod],
    started: Timestamp,
    ended: Timestamp,
) -> (Times, Option<Timestamp>) {
    let mut periods: Vec<&ChargingPeriod> = periods.iter().collect();
    periods.sort_by_key(|period| period.start_date_time);
    let mut times = Times::default();
    let mut parked_since = None;
    let mut delivered = Decimal::ZERO;
    let whole_wh = |kwh: Decimal| {
        let energy = kwh.checked_mul(Decimal::ONE_THOUSAND).and_then(rounded);
        energy.unwrap_or(i64::MAX).unsigned_abs()
    };
    if periods.is_empty() {
        times.charging = ended.since(started).max(SignedDuration::ZERO);
    }
    for (place, period) in periods.iter().enumerate() {
        let from = if place == 0 {
            started
        } else {
            period.start_date_time
        };
        let until = periods.get(place + 1);
        let until = until.map_or(ended, |next| next.start_date_time);
        let lasts = until.since(from).max(SignedDuration::ZERO);
        let before = whole_wh(delivered);
        delivered = delivered.saturating_add(period.energy());
        times.segments.push(Segment {
            lasts: whole_millis(lasts).unsigned_abs(),
            energy: whole_wh(delivered) - before,
            is_parking: period.is_parking(),
        });
        if period.is_parking() {
            times.parking += lasts;
            parked_since.get_or_insert(period.start_date_time);
        } else {
            times.charging += lasts;
            parked_since = None;
        }
    }
    times.segments = bounded_segments(times.segments, started);
    (times, parked_since)
}

impl ChargingPeriod {
    /// Returns the energy in kWh that the vehicle received; 0 if it is not stated.
    fn energy(&self) -> Decimal {
        let dimensions = self.dimensions.iter();
        let energies = dimensions.filter(|dimension| dimension.kind == "ENERGY");
        let sum = energies.fold(Decimal::ZERO, |sum, energy| {
            sum.saturating_add(energy.volume)
        });
        sum.max(Decimal::ZERO)
    }

    /// Returns whether the vehicle was connected and no energy flowed.
    pub(super) fn is_parking(&self) -> bool {
        let volume = |kind: &str| {
            let mut dimensions = self.dimensions.iter();
            dimensions.any(|dimension| dimension.kind == kind && !dimension.volume.is_zero())
        };
        volume("PARKING_TIME") && !volume("ENERGY") && !volume("TIME")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::lenient;
    use kernel::time::minutes;
    use kernel::{Id, Kind};
    use models::network::{Owner, PartyId};
    use serde_json::{Value, json};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn named(module: Module, id: &str) -> ObjectId {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "EXA").unwrap(),
        );
        ObjectId::new(owner, module, id).unwrap()
    }

    fn periods() -> Value {
        json!([{"start_date_time": "2026-03-01T10:00:00Z", "dimensions": [{"type": "ENERGY", "volume": 10},
                {"type": "TIME", "volume": 0.5}]},
            {"start_date_time": "2026-03-01T10:30:00Z", "dimensions": [{"type": "PARKING_TIME", "volume": 0.25}]}])
    }

    fn session(change: Value) -> Result<SessionReport, String> {
        let mut session = json!({"country_code": "NL", "party_id": "EXA", "id": "S1",
            "start_date_time": "2026-03-01T10:00:00Z", "kwh": 10.0004,
            "cdr_token": {"uid": "1", "type": "APP_USER", "contract_id": "C"}, "auth_method": "COMMAND",
            "location_id": "L", "evse_uid": "E", "connector_id": "1", "currency": "EUR",
            "charging_periods": periods(), "total_cost": {"excl_vat": 4.005, "incl_vat": 4.845},
            "status": "ACTIVE", "last_updated": "2026-03-01T10:45:00Z"});
        for (name, value) in change.as_object().unwrap() {
            session[name] = value.clone();
        }
        let read: Session = lenient(&session).unwrap();
        read.report(&named(Module::Sessions, "S1"), read.last_updated)
    }

    fn cdr(change: Value) -> Result<CdrReport, String> {
        let mut cdr = json!({"country_code": "NL", "party_id": "EXA", "id": "C1", "session_id": "S1",
            "start_date_time": "2026-03-01T10:00:00Z", "end_date_time": "2026-03-01T11:00:00Z",
            "cdr_token": {"uid": "1", "type": "APP_USER", "contract_id": "C"}, "currency": "EUR",
            "cdr_location": {"id": "L", "evse_uid": "E", "connector_id": "1"},
            "charging_periods": periods(), "total_cost": {"excl_vat": 4, "incl_vat": 4.84},
            "total_energy": 10, "total_time": 1, "total_parking_time": 0.25,
            "last_updated": "2026-03-01T11:00:00Z"});
        for (name, value) in change.as_object().unwrap() {
            cdr[name] = value.clone();
        }
        let read: Cdr = lenient(&cdr).unwrap();
        read.report(&named(Module::Cdrs, "C1"), read.last_updated)
    }

    #[test]
    fn a_session_report_has_energy_times_and_total_cost() {
        let report = session(json!({})).unwrap();
        assert_eq!(
            (report.state, report.energy),
            (ReportedState::Active, 10_000)
        );
        assert_eq!(
            report.total,
            Some(Total {
                net: 401,
                gross: 485
            })
        );
        let times = |charging, parking| Times {
            charging: minutes(charging),
            parking: minutes(parking),
            ..Times::default()
        };
        assert_eq!(report.times, times(30, 15));
        assert_eq!(report.charging_ended, Some(at("2026-03-01T10:30:00Z")));
        let plain = session(json!({"charging_periods": [], "total_cost": null})).unwrap();
        assert_eq!((plain.times, plain.charging_ended), (times(45, 0), None));
        assert_eq!(plain.total, None);
        for (theirs, ours) in [
            ("COMPLETED", ReportedState::Completed),
            ("INVALID", ReportedState::Invalid),
            ("PENDING", ReportedState::Waiting),
            ("RESERVATION", ReportedState::Waiting),
            ("SOMETHING", ReportedState::Waiting),
        ] {
            assert_eq!(session(json!({"status": theirs})).unwrap().state, ours);
        }
    }

    #[test]
    fn a_report_keeps_the_course_of_its_periods() {
        let delayed = json!([
            {"start_date_time": "2026-03-01T10:20:00Z", "dimensions": [{"type": "ENERGY", "volume": 3.3333}]},
            {"start_date_time": "2026-03-01T10:00:00Z", "dimensions": [{"type": "PARKING_TIME", "volume": 0.3333}]},
            {"start_date_time": "2026-03-01T10:40:00Z", "dimensions": [{"type": "ENERGY", "volume": 6.6664},
                {"type": "TIME", "volume": 0.0833}]}]);
        let part = |lasts: u64, energy: u64, is_parking: bool| Segment {
            lasts: lasts * 60_000,
            energy,
            is_parking,
        };
        let report = session(json!({"charging_periods": delayed})).unwrap();
        // 9.9997 kWh are 10,000 Wh, of which 3,333 were measured first.
        let course = [
            part(20, 0, true),
            part(20, 3333, false),
            part(5, 6667, false),
        ];
        assert_eq!(report.times.segments, course);
        assert_eq!(report.times.charging, minutes(25));
        let report = cdr(json!({"charging_periods": delayed})).unwrap();
        assert_eq!(report.times.segments[2], part(20, 6667, false));
        // Without periods, and with charging before parking, there is nothing to keep.
        assert_eq!(cdr(json!({})).unwrap().times.segments, []);
        let none = json!({"charging_periods": []});
        assert_eq!(cdr(none).unwrap().times.segments, []);
    }

    #[test]
    fn what_is_beyond_reason_is_not_used() {
        for change in [
            json!({"kwh": -1}),
            json!({"kwh": 1e9}),
            json!({"currency": "XXXX"}),
            json!({"total_cost": {"excl_vat": 1e12}}),
        ] {
            assert!(session(change.clone()).is_err(), "{change}");
        }
        assert!(cdr(json!({"total_energy": 1e15})).is_err());
        assert!(cdr(json!({"total_cost": {"excl_vat": -1e12}})).is_err());
    }

    #[test]
    fn a_cdr_is_billed_with_tax_and_an_amount_without_tax_has_none() {
        let report = cdr(json!({})).unwrap();
        assert_eq!(
            report.billed.total,
            Total {
                net: 400,
                gross: 484
            }
        );
        assert_eq!(report.times.parking, minutes(30));
        let net = cdr(json!({"total_cost": {"excl_vat": 4}})).unwrap();
        assert_eq!(
            net.billed.total,
            Total {
                net: 400,
                gross: 400
            }
        );
        assert_eq!(
            (report.untaxed, net.untaxed),
            (None, Some(Decimal::ONE_HUNDRED * Decimal::from(4)))
        );
        let yen = cdr(json!({"currency": "JPY", "total_cost": {"excl_vat": 400, "incl_vat": 440}}));
        assert_eq!(yen.unwrap().billed.total.gross, 440);
        let coarse = cdr(json!({"charging_periods": []})).unwrap();
        assert_eq!(
            (coarse.times.charging, coarse.times.parking),
            (minutes(45), minutes(15))
        );
        let credit = cdr(json!({"credit": true, "credit_reference_id": "C0",
            "total_cost": {"excl_vat": -4, "incl_vat": -4.84}}));
        let billed = credit.unwrap().billed;
        for energy in [-10, 10] {
            let credit = json!({"credit": true, "total_energy": energy});
            assert_eq!(cdr(credit).unwrap().energy, 10_000);
        }
        assert!(cdr(json!({"total_energy": -10})).is_err());
        assert_eq!(
            (billed.credit, billed.credits),
            (true, Some(named(Module::Cdrs, "C0")))
        );
        assert_eq!(billed.total.gross, -484);
    }

    #[test]
    fn tax_is_never_negative_and_never_more_than_the_amount() {
        let total = |net: &str, gross: &str| {
            let read = cdr(json!({"total_cost": {"excl_vat": net, "incl_vat": gross}}));
            let total = read.unwrap().billed.total;
            (total.net, total.gross)
        };
        assert_eq!(total("4", "4.84"), (400, 484));
        assert_eq!(total("-4", "-4.84"), (-400, -484));
        assert_eq!(total("0", "4.84"), (484, 484));
        assert_eq!(total("4.84", "4"), (400, 400));
        assert_eq!(total("-4.84", "-4"), (-400, -400));
        assert_eq!(total("4", "-4.84"), (-484, -484));
        assert_eq!(total("-4", "4.84"), (484, 484));
        // Each amount is rounded by itself, and the tax is the difference.
        assert_eq!(total("4.0049", "4.0050"), (400, 401));
        assert_eq!(total("4.0050", "4.0049"), (400, 400));
        assert_eq!(total("0.0049", "0.0051"), (1, 1));
        let taxes = json!([{"name": "VAT", "amount": 0.84}, {"name": "Refund", "amount": -1}]);
        let read = cdr(json!({"total_cost": {"before_taxes": 4, "taxes": taxes}}));
        assert_eq!(
            read.unwrap().billed.total,
            Total {
                net: 384,
                gross: 384
            }
        );
    }
}

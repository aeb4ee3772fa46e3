//! A charging session at one of the operator's EVSEs.
//!
//! A vehicle charges at constant power, or at the power that a charging profile allows, until it has the energy that it needs. Then it
//! stays plugged in and is parked until somebody stops the session or unplugs it. A session is reported in charging periods:
//! [`Charge::report`] closes the period that has run since the last report, so each report contains only new periods, which the
//! receiver appends (PATCH of a Session, OCPI 2.2.1, 9.2.2.3).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tariff::{self, Costs, Period, number};
use crate::time::{plus_millis, text};

const MILLIS_PER_HOUR: i64 = 3_600_000;

/// A year in milliseconds: how far in the future a charge ends if its profile keeps the vehicle from getting the energy that it needs.
const FAR: u128 = 365 * 24 * 3_600_000;

/// The interval between two reports of a session, while energy flows and while the vehicle is parked, in milliseconds.
const REPORT_CHARGING: i64 = 5 * 60_000;
const REPORT_PARKED: i64 = MILLIS_PER_HOUR;

/// A vehicle at a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vehicle {
    /// The energy that the vehicle needs until it is full, in Wh.
    pub needs: u64,
    /// The highest power at which it charges, in W.
    pub power: u64,
}

impl Default for Vehicle {
    fn default() -> Self {
        Self {
            needs: 30_000,
            power: 100_000,
        }
    }
}

/// The authorization of a session: `auth_method` and `authorization_reference` of OCPI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Authorization {
    /// An OCPI `CdrToken`.
    pub token: Value,
    pub method: String,
    pub reference: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Charge {
    pub id: String,
    pub location: String,
    pub evse: String,
    pub connector: String,
    pub authorization: Authorization,
    /// The OCPI Tariff at which the session is billed.
    pub tariff: Value,
    pub time_zone: String,
    pub began: Timestamp,
    /// In W.
    pub power: u64,
    /// The energy that the vehicle needs until it is full, in Wh.
    pub needs: u64,
    /// The charging profile: moments, and the highest power in W from each moment on.
    #[serde(default)]
    pub limits: Vec<(Timestamp, u64)>,
    pub periods: Vec<Period>,
    /// Whether the eMSP has acknowledged the session. If it has, a PATCH with the changes is enough.
    pub acknowledged: bool,
    pub ended: Option<Timestamp>,
    pub last_updated: Timestamp,
}

impl Charge {
    /// The moments at which the power changes, beginning with the start of the session, each with the power in W from then on.
    fn powers(&self) -> Vec<(Timestamp, u64)> {
        let mut powers = vec![(self.began, self.power)];
        for (at, limit) in &self.limits {
            powers.push(((*at).max(self.began), self.power.min(*limit)));
        }
        powers
    }

    /// Applies a charging profile from now on. Its limits for the time before now have no effect.
    pub fn limit(&mut self, now: Timestamp, profile: &[(Timestamp, u64)]) {
        self.unlimit(now);
        let in_force = profile.iter().rposition(|(at, _)| *at <= now);
        let coming = in_force.map_or(profile, |place| &profile[place..]);
        let coming = coming.iter().map(|(at, limit)| ((*at).max(now), *limit));
        self.limits.extend(coming);
    }

    /// Removes the charging profile from now on.
    pub fn unlimit(&mut self, now: Timestamp) {
        self.limits.retain(|(at, _)| *at < now);
        if !self.limits.is_empty() {
            self.limits.push((now, u64::MAX));
        }
    }

    /// The moment at which the vehicle has the energy that it needs. It is far in the future if the profile keeps the vehicle from it.
    pub fn full_at(&self) -> Timestamp {
        let hour = u128::from(MILLIS_PER_HOUR.unsigned_abs());
        let mut left = u128::from(self.needs) * hour;
        let powers = self.powers();
        for (place, (from, power)) in powers.iter().enumerate() {
            let power = u128::from(*power);
            let until = powers.get(place + 1).map(|(at, _)| *at);
            let lasts = until.map(|until| until.as_millisecond() - from.as_millisecond());
            let lasts = lasts.map(|lasts| u128::from(lasts.max(0).unsigned_abs()));
            if lasts.is_none_or(|lasts| power * lasts >= left) {
                let millis = left.checked_div(power).unwrap_or(FAR)
                    + u128::from(power > 0 && left % power > 0);
                return plus_millis(*from, i64::try_from(millis.min(FAR)).unwrap_or(i64::MAX));
            }
            left -= power * lasts.unwrap_or_default();
        }
        self.began
    }

    /// The energy until a moment, in Wh.
    fn energy_at(&self, moment: Timestamp) -> u64 {
        let powers = self.powers();
        let parts = powers.iter().enumerate().map(|(place, (from, power))| {
            let until = powers
                .get(place + 1)
                .map_or(moment, |(at, _)| (*at).min(moment));
            let millis = until.as_millisecond() - from.as_millisecond();
            u128::from(*power) * u128::from(millis.max(0).unsigned_abs())
        });
        let energy = parts.sum::<u128>() / u128::from(MILLIS_PER_HOUR.unsigned_abs());
        u64::try_from(energy).unwrap_or(u64::MAX).min(self.needs)
    }

    /// The energy that has been reported, in Wh.
    pub fn energy(&self) -> u64 {
        self.periods.iter().map(|period| period.energy).sum()
    }

    /// The moment until which the session has been reported.
    fn reported(&self) -> Timestamp {
        self.periods.last().map_or(self.began, |period| period.end)
    }

    /// The moment at which the session has to be reported again: when the vehicle is full, or after an interval.
    pub fn next_report(&self) -> Timestamp {
        let (reported, full) = (self.reported(), self.full_at());
        if reported < full {
            plus_millis(reported, REPORT_CHARGING).min(full)
        } else {
            plus_millis(reported, REPORT_PARKED)
        }
    }

    fn zone(&self) -> TimeZone {
        TimeZone::get(&self.time_zone).unwrap_or(TimeZone::UTC)
    }

    /// Closes the periods that have run since the last report. Returns the new ones.
    pub fn report(&mut self, now: Timestamp) -> Vec<Period> {
        let from = self.reported();
        let mut cuts = tariff::switches(&self.tariff, &self.zone(), from, now);
        cuts.push(self.full_at());
        cuts.push(now);
        cuts.retain(|cut| from < *cut && *cut <= now);
        cuts.sort_unstable();
        cuts.dedup();
        let mut start = from;
        let mut new = Vec::new();
        for end in cuts {
            new.push(Period {
                start,
                end,
                energy: self.energy_at(end) - self.energy_at(start),
                charging: start < self.full_at(),
            });
            start = end;
        }
        self.periods.extend(&new);
        new
    }

    /// The cost of the reported periods.
    pub fn costs(&self) -> Costs {
        tariff::cost(&self.tariff, &self.zone(), &self.periods)
    }

    /// The OCPI Session.
    pub fn session(&self) -> Value {
        let Self { authorization, .. } = self;
        let status = if self.ended.is_some() {
            "COMPLETED"
        } else {
            "ACTIVE"
        };
        let mut session = json!({
            "country_code": crate::party::COUNTRY_CODE, "party_id": crate::party::PARTY_ID, "id": self.id,
            "start_date_time": text(self.began), "kwh": kwh(self.energy()),
            "cdr_token": authorization.token, "auth_method": authorization.method,
            "location_id": self.location, "evse_uid": self.evse, "connector_id": self.connector,
            "currency": self.tariff["currency"], "charging_periods": self.charging_periods(&self.periods),
            "total_cost": self.costs().total.price(), "status": status, "last_updated": text(self.last_updated),
        });
        if let Some(ended) = self.ended {
            session["end_date_time"] = json!(text(ended));
        }
        if let Some(reference) = &authorization.reference {
            session["authorization_reference"] = json!(reference);
        }
        session
    }

    /// The body of a PATCH of the Session after new periods.
    pub fn patch(&self, new: &[Period]) -> Value {
        json!({"kwh": kwh(self.energy()), "charging_periods": self.charging_periods(new),
            "total_cost": self.costs().total.price(), "last_updated": text(self.last_updated)})
    }

    /// The OCPI CDR of a session that has ended. `place` is its `cdr_location`.
    pub fn cdr(&self, place: &Value) -> Value {
        let costs = self.costs();
        let ended = self.ended.unwrap_or(self.last_updated);
        let lasted = |periods: &[Period]| {
            let millis = periods
                .iter()
                .map(|period| period.end.as_millisecond() - period.start.as_millisecond());
            hours(millis.sum())
        };
        let parked: Vec<Period> = self
            .periods
            .iter()
            .filter(|period| !period.charging)
            .copied()
            .collect();
        let mut cdr = json!({
            "country_code": crate::party::COUNTRY_CODE, "party_id": crate::party::PARTY_ID, "id": format!("CDR-{}", self.id),
            "start_date_time": text(self.began), "end_date_time": text(ended), "session_id": self.id,
            "cdr_token": self.authorization.token, "auth_method": self.authorization.method,
            "cdr_location": place, "currency": self.tariff["currency"], "tariffs": [self.tariff],
            "charging_periods": self.charging_periods(&merged(&self.periods, &self.tariff, &self.zone())),
            "total_cost": costs.total.price(), "total_energy": kwh(self.energy()),
            "total_time": number(lasted(&self.periods)), "total_parking_time": number(lasted(&parked)),
            "last_updated": text(self.last_updated),
        });
        if let Some(reference) = &self.authorization.reference {
            cdr["authorization_reference"] = json!(reference);
        }
        let Costs {
            energy,
            fixed,
            time,
            parking,
            total: _,
        } = costs;
        let parts = [
            ("total_energy_cost", energy),
            ("total_fixed_cost", fixed),
            ("total_time_cost", time),
            ("total_parking_cost", parking),
        ];
        for (name, amount) in parts {
            if let Some(amount) = amount {
                cdr[name] = amount.price();
            }
        }
        cdr
    }

    fn charging_periods(&self, periods: &[Period]) -> Vec<Value> {
        let shown = periods.iter().map(|period| {
            let duration = hours(period.end.as_millisecond() - period.start.as_millisecond());
            let dimensions = if period.charging {
json!([{"type": "ENERGY", "volume": kwh(period.energy)},
                    {"type": "TIME", "volume": number(duration)}])
} else {
json!([{"type": "PARKING_TIME", "volume": number(duration)}])
};
            json!({"start_date_time": text(period.start), "dimensions": dimensions, "tariff_id": self.tariff["id"]})
        });
        shown.collect()
    }
}

/// Merges consecutive periods with the same prices.
fn merged(periods: &[Period], tariff: &Value, zone: &TimeZone) -> Vec<Period> {
    let mut all: Vec<Period> = Vec::new();
    for period in periods {
        match all.last_mut() {
            Some(last)
                if last.charging == period.charging
                    && tariff::switches(tariff, zone, last.start, period.end).is_empty() =>
            {
                last.end = period.end;
                last.energy += period.energy;
            }
            _ => all.push(*period),
        }
    }
    all
}

/// Wh as kWh.
fn kwh(energy: u64) -> Value {
    number(Decimal::from(energy) / Decimal::ONE_THOUSAND)
}

/// Milliseconds as hours, to the 4 digits that a number of OCPI has.
fn hours(millis: i64) -> Decimal {
    (Decimal::from(millis) / Decimal::from(MILLIS_PER_HOUR)).round_dp(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge() -> Charge {
        let began = "2026-03-01T10:00:00Z".parse().unwrap();
        Charge {
            id: "S1".into(),
            location: "L1".into(),
            evse: "E1".into(),
            connector: "1".into(),
            authorization: Authorization {
                token: json!({"uid": "012345678"}),
                method: "COMMAND".into(),
                reference: None,
            },
            tariff: json!({"id": "T1", "currency": "GBP", "elements": [{"price_components": [
                {"type": "ENERGY", "price": 0.50, "vat": 20, "step_size": 1},
                {"type": "PARKING_TIME", "price": 6.00, "vat": 20, "step_size": 60}]}]}),
            time_zone: "Europe/London".into(),
            began,
            power: 10_000,
            needs: 5_000,
            limits: Vec::new(),
            periods: Vec::new(),
            acknowledged: false,
            ended: None,
            last_updated: began,
        }
    }

    fn after(charge: &Charge, minutes: i64) -> Timestamp {
        plus_millis(charge.began, minutes * 60_000)
    }

    #[test]
    fn energy_flows_until_the_vehicle_is_full_and_then_it_is_parked() {
        let mut charge = charge();
        assert_eq!(charge.full_at(), after(&charge, 30));
        let first = charge.report(after(&charge, 10));
        assert_eq!((first.len(), first[0].energy), (1, 1_666));
        let rest = charge.report(after(&charge, 40));
        assert_eq!(
            rest.iter()
                .map(|period| (period.energy, period.charging))
                .collect::<Vec<_>>(),
            [(3_334, true), (0, false)]
        );
        assert_eq!(charge.energy(), 5_000);
        assert_eq!(charge.report(after(&charge, 40)), []);
    }

    #[test]
    fn a_profile_limits_the_power_until_it_is_cleared() {
        let mut charge = charge();
        let steps = [(after(&charge, 0), 4_000), (after(&charge, 30), 0)];
        charge.limit(after(&charge, 15), &steps);
        assert_eq!(charge.energy_at(after(&charge, 15)), 2_500);
        assert_eq!(charge.energy_at(after(&charge, 30)), 3_500);
        assert_eq!(charge.energy_at(after(&charge, 300)), 3_500);
        assert!(charge.full_at() > after(&charge, 10_000));
        charge.unlimit(after(&charge, 60));
        assert_eq!(charge.full_at(), after(&charge, 69));
        assert_eq!(charge.energy_at(after(&charge, 63)), 4_000);
    }

    #[test]
    fn cdr_totals_do_not_depend_on_how_often_a_session_is_reported() {
        let (mut once, mut often) = (charge(), charge());
        once.report(after(&once, 42));
        for minute in 1..=42 {
            often.report(after(&often, minute));
        }
        let place = json!({});
        for charge in [&mut once, &mut often] {
            charge.ended = Some(after(charge, 42));
        }
        let cdr = once.cdr(&place);
        assert_eq!(often.cdr(&place), cdr);
        assert_eq!(cdr["total_energy"], 5.0);
        assert_eq!(cdr["total_time"], 0.7);
        assert_eq!(cdr["total_parking_time"], 0.2);
        assert_eq!(cdr["charging_periods"].as_array().unwrap().len(), 2);
        // 5 kWh at 0.50 and 12 minutes at 6.00 an hour, both with 20 % tax.
        assert_eq!(
            cdr["total_cost"],
            json!({"excl_vat": 3.7, "incl_vat": 4.44})
        );
        assert_eq!(
            cdr["total_energy_cost"],
            json!({"excl_vat": 2.5, "incl_vat": 3.0})
        );
        assert_eq!(
            cdr["total_parking_cost"],
            json!({"excl_vat": 1.2, "incl_vat": 1.44})
        );
    }

    #[test]
    fn a_session_is_reported_every_5_minutes_and_hourly_once_full() {
        let mut charge = charge();
        assert_eq!(charge.next_report(), after(&charge, 5));
        charge.report(after(&charge, 28));
        assert_eq!(charge.next_report(), after(&charge, 30));
        charge.report(after(&charge, 30));
        assert_eq!(charge.next_report(), after(&charge, 90));
    }
}

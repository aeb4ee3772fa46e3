//! Estimates: the energy, the duration and the cost of charging a vehicle at a station.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::battery::{Battery, Charge};
use super::effective_price::EffectivePrice;
use super::policies::Verdict;
use super::simulation;
use super::tariff::{self, Cost, Course, Line, Usage};
use crate::charging_station::{ChargingStation, Connector};
use crate::estimation::{CostLine, Estimation, NewEstimation, PolicyVerdict, VALID, invalid};
use crate::vehicle::Vehicle;
use kernel::time::millis;
use kernel::{Currency, Id, Kind, Result, Timestamp};

/// A charge by the battery model. The vehicle leaves when it is done: parking time is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedCharge {
    /// The time during which energy flows, in seconds, rounded up.
    pub seconds: i64,
    pub cost: Cost,
}

impl SimulatedCharge {
    /// Returns the charge of this metered energy in Wh at a connector, from `start` on, at its prices in `currency`. None for a
    /// connector without power.
    pub fn expected(
        station: &ChargingStation,
        connector: &Connector,
        charge: &Charge,
        energy: u32,
        start: Timestamp,
        currency: Currency,
    ) -> Option<Self> {
        let duration = charge.time_until(energy)?;
        let course = Course {
            began: start,
            zone: &station.timezone.rules(),
            usage: Usage::of_charge(energy, duration),
            segments: &[],
        };
        Some(Self {
            seconds: duration.saturating_add(millis(999)).as_secs(),
            cost: tariff::cost(&connector.pricing, currency, course),
        })
    }
}

/// Returns the estimation for a vehicle at a station. `judge` returns the verdict of the policies for the currency of
/// their price caps, which is the requested or the preferred one as at the start of a session, and the effective price of the charge. If the body has no currency, the preferred currency is used if the connector has prices in it.
///
/// # Errors
/// `estimation_validation_error` with the field at fault.
pub fn estimate(
    new: NewEstimation,
    station: &ChargingStation,
    vehicle: &Vehicle,
    preferred: Currency,
    judge: impl FnOnce(Currency, Option<EffectivePrice>) -> Verdict,
    now: Timestamp,
) -> Result<Estimation> {
    new.check(now)?;
    let start = new.start.unwrap_or(now);
    let connector = match &new.connector {
        Some(id) => named(station, vehicle, id)?,
        None => best(station, vehicle).ok_or_else(|| {
            invalid(
                "charging_station",
                "no connector of the station fits the vehicle's charging_standard",
            )
        })?,
    };
    let capped_in = new.currency.unwrap_or(preferred);
    let currency = currency(connector, new.currency, preferred, start)?;
    let (level, target) = (new.battery_level, new.battery_target_level);
    let battery = Battery::of(vehicle);
    let energy = battery.energy_between(Some(level), target);
    let charge = battery.charge(simulation::offered(connector), Some(level));
    let expected = SimulatedCharge::expected(station, connector, &charge, energy, start, currency);
    let SimulatedCharge { seconds, cost } = expected.ok_or_else(|| {
        let param = match &new.connector {
            Some(_) => "connector",
            None => "charging_station",
        };
        invalid(param, "the connector has no power")
    })?;
    let price = EffectivePrice::of_charge(station, connector, &charge, energy, start, currency);
    Ok(Estimation {
        id: Id::new(Kind::Estimation, now),
        object: Kind::Estimation,
        battery_level: level,
        battery_target_level: target,
        charging_station: new.charging_station,
        connector: connector.id.clone(),
        cost_breakdown: cost.lines.iter().map(line).collect(),
        created: now,
        currency,
        estimated_duration: seconds,
        estimated_energy_kwh: f64::from(energy) / 1000.0,
        estimated_total_cost: cost.gross,
        policy: verdict(judge(capped_in, price)),
        start: Some(start),
        valid_until: now.plus(VALID),
        vehicle: new.vehicle,
    })
}

/// Returns the currency of an estimation: the requested one; else the preferred one, if the connector has prices in it.
///
/// # Errors
/// `estimation_validation_error` if the connector has no prices in the requested currency.
fn currency(
    connector: &Connector,
    requested: Option<Currency>,
    preferred: Currency,
    start: Timestamp,
) -> Result<Currency> {
    let billed = tariff::currency(&connector.pricing, requested.unwrap_or(preferred), start);
    if requested.is_some_and(|requested| requested != billed) {
        let message = "the connector has no prices in this currency";
        return Err(invalid("currency", message));
    }
    Ok(billed)
}

fn verdict(verdict: Verdict) -> PolicyVerdict {
    let breach = verdict.blocked;
    PolicyVerdict {
        allowed: breach.is_none(),
        rule: breach
            .as_ref()
            .map(|breach| breach.rule.as_str().to_owned()),
        policy: breach.map(|breach| breach.policy),
    }
}

fn line(line: &Line) -> CostLine {
    let number = |decimal: Decimal| decimal.to_f64().unwrap_or(f64::MAX);
    CostLine {
        kind: line.kind,
        description: line.description().to_owned(),
        quantity: number(line.quantity),
        unit: line.unit().to_owned(),
        unit_price: number(line.unit_price),
        tax_percent: line.tax_percent.to_string(),
        cost: line.gross,
    }
}

/// Returns the connector with that id.
///
/// # Errors
/// `estimation_validation_error` if the station has no such connector, or if the connector does not fit the vehicle.
fn named<'a>(station: &'a ChargingStation, vehicle: &Vehicle, id: &str) -> Result<&'a Connector> {
    let found = station.connector(id);
    let connector =
        found.ok_or_else(|| invalid("connector", "the station has no such connector"))?;
    if connector.connector_type() != Some(vehicle.charging_standard) {
        let message = "the connector does not fit the vehicle's charging_standard";
        return Err(invalid("connector", message));
    }
    Ok(connector)
}

/// Returns the most powerful connector that fits the vehicle, the first of equal ones. Connectors that are out of order are
/// considered only if no connector in order fits.
fn best<'a>(station: &'a ChargingStation, vehicle: &Vehicle) -> Option<&'a Connector> {
    // Of equal elements, `max_by_key` returns the last.
    let connectors = station.connectors.iter().rev();
    let fitting = connectors
        .filter(|connector| connector.connector_type() == Some(vehicle.charging_standard));
    let battery = Battery::of(vehicle);
    fitting.max_by_key(|connector| {
        let charge = battery.charge(simulation::offered(connector), None);
        (connector.is_in_order(), charge.power)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::{ConnectorStatus, Plug, Price, PriceType, Restrictions, Tax};
    use crate::vehicle::ConnectorType;
    use kernel::{Code, Error};
    use serde_json::{Value, json};

    fn estimation(change: Value, alter: impl FnOnce(&mut ChargingStation)) -> Result<Estimation> {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let mut station = crate::fixtures::station();
        let connector = |id: &str, kilowatts| Connector {
            power: kilowatts,
            plug: Plug::Matched(ConnectorType::Ccs),
            ..crate::fixtures::connector(id)
        };
        station.connectors = vec![connector("slow", 10.0), connector("fast", 50.0)];
        let energy = Price {
            currency: Currency::from_code("gbp").unwrap(),
            price: 45,
            price_decimal: Some("45.5".into()),
            step_size: 1,
            tax: Tax::Vat,
            tax_included: true,
            tax_percent: "20".into(),
            kind: PriceType::Energy,
            restrictions: None,
        };
        let time = Price {
            price: 60,
            price_decimal: None,
            kind: PriceType::Time,
            ..energy.clone()
        };
        station.set_pricing(vec![energy, time]);
        alter(&mut station);
        // 60 % are 33,840 Wh in the battery and 36,000 Wh at the meter, 6 % of which are lost.
        let vehicle = json!({"fleet": Id::new(Kind::Fleet, now), "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": 56_400, "charging_curve": [{"level": 0, "power_w": 100_000}], "charging_standard": "CCS"});
        let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now).unwrap();
        let vehicle = vehicle.object;
        let mut body = json!({"charging_station": station.id, "vehicle": vehicle.id, "battery_level": 20,
            "battery_target_level": 80});
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let new = serde_json::from_value(body).unwrap();
        super::estimate(
            new,
            &station,
            &vehicle,
            Currency::USD,
            |_, _| Verdict::default(),
            now,
        )
    }

    fn param(result: Result<Estimation>) -> String {
        match result.unwrap_err() {
            Error::Client(refusal) => {
                assert_eq!(refusal.code, Some(Code::EstimationValidationError));
                refusal.param.unwrap()
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn energy_time_and_cost_are_those_of_the_best_connector() {
        let estimation = serde_json::to_value(estimation(json!({}), |_| {}).unwrap()).unwrap();
        // 36 kWh at 50 kW are 43 minutes and 12 seconds.
        let want = json!([
            {"type": "ENERGY", "description": "Energy", "quantity": 36, "unit": "kWh", "unit_price": 45.5,
                "tax_percent": "20", "cost": 1638},
            {"type": "TIME", "description": "Charging time", "quantity": 0.72, "unit": "hour", "unit_price": 60,
                "tax_percent": "20", "cost": 43},
        ]);
        assert_eq!(estimation["cost_breakdown"], want);
        assert_eq!(estimation["estimated_energy_kwh"], 36);
        assert_eq!(estimation["estimated_duration"], 2592);
        assert_eq!(estimation["estimated_total_cost"], 1681);
        assert_eq!(estimation["currency"], "gbp");
        assert_eq!(estimation["valid_until"], "2026-03-01T09:00:00.000Z");
    }

    #[test]
    fn a_weaker_connector_has_its_own_duration_and_prices() {
        let slow = estimation(json!({"connector": "slow"}), |station| {
            station.connectors[0].pricing.truncate(1);
        });
        let slow = slow.unwrap();
        assert_eq!(
            (slow.connector.as_str(), slow.estimated_duration),
            ("slow", 12_960)
        );
        assert_eq!(
            (slow.cost_breakdown.len(), slow.estimated_total_cost),
            (1, 1638)
        );
        let fast = estimation(json!({}), |_| {}).unwrap();
        assert_eq!(
            (fast.connector.as_str(), fast.estimated_duration),
            ("fast", 2592)
        );
        for (change, message) in [
            (json!({"connector": "other"}), "no such connector"),
            (json!({"connector": "old"}), "does not fit"),
        ] {
            let refused = estimation(change, |station| {
                let mut old = station.connectors[0].clone();
                old.id = "old".into();
                old.plug = Plug::Matched(ConnectorType::Type2);
                station.connectors.push(old);
            });
            let error = refused.unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(param(Err(error)), "connector");
        }
    }

    #[test]
    fn a_start_tonight_is_estimated_at_tonights_prices() {
        let by_night = |station: &mut ChargingStation| {
            let mut night = station.pricing[0].clone();
            (night.price, night.price_decimal) = (10, None);
            night.restrictions = Some(Restrictions {
                start_time: Some("22:00".into()),
                end_time: Some("06:00".into()),
                ..Restrictions::default()
            });
            let day = station.pricing[0].clone();
            station.timezone = "UTC".to_owned().try_into().unwrap();
            station.set_pricing(vec![night, day]);
        };
        // 36 kWh; the test's day begins at eight.
        let cost = |start: &str| {
            let estimation = estimation(json!({"start": start}), by_night).unwrap();
            assert_eq!(estimation.start, Some(Timestamp::parse(start).unwrap()));
            estimation.estimated_total_cost
        };
        assert_eq!(cost("2026-03-01T08:00:00Z"), 1638);
        assert_eq!(cost("2026-03-01T23:00:00Z"), 360);
        for start in ["2026-03-01T07:59:59.999Z", "2026-05-30T08:00:00.001Z"] {
            assert_eq!(
                param(estimation(json!({"start": start}), by_night)),
                "start"
            );
        }
        assert!(estimation(json!({"start": "2026-05-30T08:00:00Z"}), by_night).is_ok());
    }

    #[test]
    fn a_connector_out_of_order_counts_only_where_no_other_fits() {
        let broken =
            |station: &mut ChargingStation| station.connectors[1].status = ConnectorStatus::Faulted;
        assert_eq!(
            estimation(json!({}), broken).unwrap().estimated_duration,
            12_960
        );
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        for (change, want) in [
            (json!({"battery_level": -1}), "battery_level"),
            (json!({"battery_level": 100.5}), "battery_level"),
            (json!({"battery_target_level": 0}), "battery_target_level"),
            (json!({"battery_target_level": 101}), "battery_target_level"),
            (json!({"battery_target_level": 20}), "battery_target_level"),
            (json!({"currency": "eur"}), "currency"),
        ] {
            assert_eq!(param(estimation(change.clone(), |_| {})), want, "{change}");
        }
        assert!(estimation(json!({"currency": "gbp"}), |_| {}).is_ok());
        let none_fits = |station: &mut ChargingStation| station.connectors.clear();
        assert_eq!(param(estimation(json!({}), none_fits)), "charging_station");
        let powerless = |station: &mut ChargingStation| {
            station
                .connectors
                .iter_mut()
                .for_each(|connector| connector.power = 0.0);
        };
        assert_eq!(param(estimation(json!({}), powerless)), "charging_station");
        let free = |station: &mut ChargingStation| station.set_pricing(Vec::new());
        assert_eq!(
            estimation(json!({"currency": "eur"}), free)
                .unwrap()
                .estimated_total_cost,
            0
        );
    }
}

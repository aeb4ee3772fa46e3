//! The effective price: the cost of a charge per kWh, with tax and with all components of the price list.
//!
//! It is the cost of the charge that is expected in a window at a connector, divided by the energy of that charge. The start fee, the
//! charging time and the hours of the window are included; parking after the charge is not. The charge begins with the window and
//! ends when the battery is full or the window is over, but is priced for 1 kWh at least. So it is comparable between price lists of
//! any kind, and price caps, the score of matching, candidates, estimates and searches all use this one figure. The block of a need is
//! chosen by the cost of its own energy ([`EffectivePrice::total`]), however small that is.
//!
//! Amounts are exact: lines are not rounded to minor units before a price is compared with a cap. The price of a connector is
//! unknown if none of its prices holds for a session that begins with the window, or if no power flows. A connector of unknown
//! price passes a price cap in test mode only.
//!
//! A [`CostBound`] is a lower bound of the cost of a charge by a price list, short enough for the index of stations by place.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use super::battery::{Battery, Charge};
use super::simulation;
use super::tariff::{self, Course, MILLIS_PER_HOUR, Usage, WH_PER_KWH};
use crate::charging_station::{ChargingStation, Connector, Price, PriceType, Restrictions};
use crate::reservation::need::Need;
use crate::vehicle::{ConnectorType, Vehicle};
use crate::vehicle_telemetry::VehicleTelemetry;
use kernel::time::whole_millis;
use kernel::{Currency, Mode, SignedDuration, Timestamp, Window};

/// The minimum energy for which a price is computed, in Wh.
const LEAST_ENERGY: u32 = 1_000;

/// The number of decimal places to which a cost in minor units is exact. Quotients of hours and of energies have no finite decimal
/// form, and the comparison with a cap must have a definite result.
const COST_DIGITS: u32 = 9;

/// The power in W of alternating and of direct current with which `ChargingVehicle::Any` is assumed to charge.
const ANY_VEHICLE: (u32, u32) = (22_000, 50_000);

/// The vehicle whose charge is priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargingVehicle {
    Known {
        battery: Battery,
        /// The state of charge in percent, in hundredths; None if it is unknown.
        level: Option<u16>,
        /// The maximum metered energy that it charges, in Wh.
        energy: u32,
    },
    /// Any vehicle: it charges with 22 kW of alternating current or 50 kW of direct current for the whole window.
    Any,
}

impl ChargingVehicle {
    /// Creates a vehicle that charges until its battery is full. A level that is unknown, or was read more than 24 hours ago, counts as
    /// 20 %.
    pub fn new(vehicle: &Vehicle, telemetry: Option<&VehicleTelemetry>, now: Timestamp) -> Self {
        let level = telemetry.and_then(|telemetry| telemetry.recent_level(now));
        let known = Battery::of(vehicle);
        Self::Known {
            battery: known,
            level: level.map(|level| (level * 100.0).round() as u16),
            energy: known.energy_between(level, 100.0),
        }
    }

    /// Creates a vehicle that charges from this level, in hundredths of a percent, until its battery is full. A level that is unknown counts
    /// as 20 %.
    pub fn at_level(vehicle: &Vehicle, level: Option<u16>) -> Self {
        let known = Battery::of(vehicle);
        let percent = level.map(|level| f64::from(level) / 100.0);
        Self::Known {
            battery: known,
            level,
            energy: known.energy_between(percent, 100.0),
        }
    }

    /// Returns the same vehicle, which charges at most this energy in Wh.
    #[must_use]
    pub fn limited_to(self, limit: u32) -> Self {
        match self {
            Self::Known {
                battery,
                level,
                energy,
            } => Self::Known {
                battery,
                level,
                energy: energy.min(limit),
            },
            Self::Any => Self::Any,
        }
    }

    /// Returns the same vehicle, which charges at most the energy of a need, as far as its battery has room.
    #[must_use]
    pub fn for_need(self, need: &Need) -> Self {
        match (self, need.target_level) {
            (
                Self::Known {
                    battery,
                    level: read,
                    ..
                },
                Some(target),
            ) => {
                let level = read.map(|level| f64::from(level) / 100.0);
                let energy = battery.energy_between(level, target);
                self.limited_to(energy)
            }
            _ => need
                .energy_wh
                .map_or(self, |energy| self.limited_to(energy)),
        }
    }

    /// Returns the state of charge in hundredths of a percent; None if it is unknown or too old.
    pub fn level(self) -> Option<u16> {
        match self {
            Self::Known { level, .. } => level,
            Self::Any => None,
        }
    }

    /// Returns the maximum metered energy that it charges, in Wh; None for any vehicle.
    pub fn energy(self) -> Option<u32> {
        match self {
            Self::Known { energy, .. } => Some(energy),
            Self::Any => None,
        }
    }

    /// Returns its charge at a connector of that type that offers this power in W.
    pub fn charge(self, offered: u32, plug: Option<ConnectorType>) -> Charge {
        match (self, plug) {
            (Self::Known { battery, level, .. }, _) => {
                battery.charge(offered, level.map(|level| f64::from(level) / 100.0))
            }
            (Self::Any, Some(ConnectorType::Ccs | ConnectorType::Chademo)) => {
                Charge::constant(offered.min(ANY_VEHICLE.1))
            }
            (Self::Any, _) => Charge::constant(offered.min(ANY_VEHICLE.0)),
        }
    }

    /// Returns its charge at a connector.
    pub fn charge_at(self, connector: &Connector) -> Charge {
        self.charge(simulation::offered(connector), connector.connector_type())
    }

    /// Returns the metered energy in Wh that it charges in a window of this length.
    pub fn energy_within(self, charge: &Charge, length: SignedDuration) -> u32 {
        let energy = charge.energy_within(length);
        match self {
            Self::Known { energy: most, .. } => energy.min(most),
            Self::Any => energy,
        }
    }
}

/// A price per kWh, tax included, in whole minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricePerKwh {
    pub currency: Currency,
    pub minor_units: i64,
}

/// The cost of a charge per kWh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectivePrice {
    /// The cost of `energy` in minor units, tax included.
    cost: Decimal,
    /// The energy of the charge in Wh, at least 1 kWh.
    energy: u32,
    /// The cost of the charge in minor units, tax included. It differs from `cost` if the charge has less than 1 kWh.
    total: Decimal,
    /// The price in whole minor units, half away from zero.
    pub per_kwh: PricePerKwh,
}

impl EffectivePrice {
    /// Returns the effective price of a connector for a vehicle in a window. `preferred` is the currency in which the driver is
    /// billed if the connector has prices in it. None if the price is unknown.
    pub fn in_window(
        station: &ChargingStation,
        connector: &Connector,
        vehicle: ChargingVehicle,
        window: &Window,
        preferred: Currency,
    ) -> Option<Self> {
        let charge = vehicle.charge_at(connector);
        let energy = vehicle.energy_within(&charge, window.until.since(window.from));
        let currency = tariff::currency(&connector.pricing, preferred, window.from);
        Self::of_charge(station, connector, &charge, energy, window.from, currency)
    }

    /// Returns the price per kWh of charging this metered energy in Wh, at least 1 kWh, by the connector's prices in a currency.
    /// None if the price is unknown.
    pub fn of_charge(
        station: &ChargingStation,
        connector: &Connector,
        charge: &Charge,
        energy: u32,
        start: Timestamp,
        currency: Currency,
    ) -> Option<Self> {
        if !tariff::is_known(&connector.pricing, currency, start) {
            return None;
        }
        let cost = |energy: u32| {
            let duration = charge.time_until(energy)?;
            let course = Course {
                began: start,
                zone: &station.timezone.rules(),
                usage: Usage::of_charge(energy, duration),
                segments: &[],
            };
            Some(tariff::exact_cost(&connector.pricing, currency, course))
        };
        Self::new(energy, currency, cost)
    }

    /// Returns the price of a charge of this energy in Wh. `cost` computes the cost of an energy in minor units.
    fn new(
        charged: u32,
        currency: Currency,
        cost: impl Fn(u32) -> Option<Decimal>,
    ) -> Option<Self> {
        let energy = charged.max(LEAST_ENERGY);
        let exact = cost(energy)?;
        let total = if charged == energy {
            exact
        } else {
            cost(charged)?
        };
        let cost = exact.round_dp(COST_DIGITS);
        let per_kwh = cost
            .checked_mul(WH_PER_KWH)
            .unwrap_or(Decimal::MAX)
            .checked_div(energy.into())
            .unwrap_or(Decimal::MAX)
            .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        Some(Self {
            cost,
            energy,
            total: total.round_dp(COST_DIGITS),
            per_kwh: PricePerKwh {
                currency,
                minor_units: per_kwh.to_i64().unwrap_or(i64::MAX),
            },
        })
    }

    /// Returns the cost of the charge, in whole minor units, rounded half away from zero.
    pub fn total(&self) -> PricePerKwh {
        let total = self
            .total
            .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
        PricePerKwh {
            minor_units: total.to_i64().unwrap_or(i64::MAX),
            ..self.per_kwh
        }
    }

    /// Checks whether the exact price is above the cap, or in another currency than the cap.
    fn is_above(&self, cap: PriceCap) -> bool {
        // cost / energy > cap, without the quotient.
        let cost = self.cost.checked_mul(WH_PER_KWH).unwrap_or(Decimal::MAX);
        let energy = Decimal::from(self.energy);
        let allowed = cap.minor_units.checked_mul(energy);
        self.per_kwh.currency != cap.currency || cost > allowed.unwrap_or(Decimal::MAX)
    }
}

/// The highest effective price that a driver, a policy or a search allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceCap {
    /// Per kWh, tax included.
    pub minor_units: Decimal,
    pub currency: Currency,
}

impl PriceCap {
    /// Checks whether the cap allows a price. A price in another currency cannot be compared and is not allowed, and an unknown one
    /// is allowed in test mode only.
    pub fn allows(self, price: Option<&EffectivePrice>, mode: Mode) -> bool {
        match price {
            Some(price) => !price.is_above(self),
            None => mode == Mode::Test,
        }
    }
}

/// Checks whether the price of a charge depends on when it begins.
pub fn depends_on_start(pricing: &[Price]) -> bool {
    let mut restrictions = pricing
        .iter()
        .filter_map(|price| price.restrictions.as_ref());
    restrictions.any(|restrictions| {
        let Restrictions {
            start_time,
            end_time,
            start_date,
            end_date,
            day_of_week,
            min_duration: _,
            max_duration: _,
            min_energy: _,
            max_energy: _,
            min_power: _,
            max_power: _,
            min_current: _,
            max_current: _,
            start_date_time,
            end_date_time,
            reservation: _,
        } = restrictions;
        start_time.is_some()
            || end_time.is_some()
            || start_date.is_some()
            || end_date.is_some()
            || !day_of_week.is_empty()
            || start_date_time.is_some()
            || end_date_time.is_some()
    })
}

/// A lower bound of the cost of charges by the prices of a list in one currency, whenever they begin. The amounts are thousandths
/// of minor units, tax included, rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CostBound {
    pub currency: Currency,
    /// For each charge.
    pub start: i64,
    pub per_kwh: i64,
    /// For each hour of charging.
    pub per_hour: i64,
    /// The maximum cost of a charge, if there is such a price. A charge may have this cost although the other amounts add up to
    /// more.
    pub most: Option<i64>,
}

impl CostBound {
    /// Returns the bounds of a list's prices, one for each currency. A bound is None if the price of a charge may be unknown.
    pub fn of(pricing: &[Price]) -> Vec<Option<Self>> {
        let for_sessions = || pricing.iter().filter(|price| !price.is_for_reservation());
        let mut currencies: Vec<Currency> = for_sessions().map(|price| price.currency).collect();
        currencies.sort();
        currencies.dedup();
        let always_holds = |price: &&Price| {
            let restrictions = price.restrictions.as_ref();
            restrictions.is_none_or(|restrictions| *restrictions == Restrictions::default())
        };
        let is_always_known = for_sessions().any(|price| {
            let restrictions = price.restrictions.as_ref();
            restrictions.is_none_or(|restrictions| {
                restrictions.start_date_time.is_none() && restrictions.end_date_time.is_none()
            })
        });
        let thousandths = |price: &Price| {
            let gross = price.gross().max(Decimal::ZERO);
            let thousandths = gross.checked_mul(Decimal::ONE_THOUSAND);
            let thousandths = thousandths.unwrap_or(Decimal::MAX).floor();
            thousandths.to_i64().unwrap_or(i64::MAX)
        };
        let bounds = currencies.into_iter().map(|currency| {
            let of_kind = |kind: PriceType| {
                for_sessions().filter(move |price| price.currency == currency && price.kind == kind)
            };
            let least = |kind: PriceType| of_kind(kind).map(thousandths).min();
            // If no price of the kind certainly holds, a part of the charge may cost nothing.
            let sure = |kind: PriceType| {
                let is_sure = of_kind(kind).any(|price| always_holds(&price));
                least(kind).filter(|_| is_sure).unwrap_or_default()
            };
            Self {
                currency,
                start: sure(PriceType::Flat),
                per_kwh: sure(PriceType::Energy),
                per_hour: sure(PriceType::Time),
                most: least(PriceType::MaxPrice),
            }
        });
        let unknown = (!is_always_known).then_some(None);
        bounds.map(Some).chain(unknown).collect()
    }

    /// Returns a lower bound of the effective price of a connector that offers this power in W, in any window of that length. None
    /// if no power flows, because then the price is unknown.
    pub fn price(
        &self,
        vehicle: ChargingVehicle,
        offered: u32,
        plug: ConnectorType,
        length: SignedDuration,
    ) -> Option<EffectivePrice> {
        let charge = vehicle.charge(offered, Some(plug));
        let part = |amount: i64, quantity: Decimal, unit: Decimal| {
            let product = Decimal::from(amount).checked_mul(quantity);
            product.unwrap_or(Decimal::MAX) / unit
        };
        let cost = |energy: u32| {
            let millis = whole_millis(charge.time_until(energy)?);
            let parts = [
                Decimal::from(self.start),
                part(self.per_kwh, energy.into(), WH_PER_KWH),
                part(self.per_hour, millis.into(), MILLIS_PER_HOUR),
            ];
            let sum = parts
                .into_iter()
                .try_fold(Decimal::ZERO, Decimal::checked_add);
            let sum = sum.unwrap_or(Decimal::MAX);
            let least = self.most.map_or(sum, |most| sum.min(most.into()));
            Some(least / Decimal::ONE_THOUSAND)
        };
        let energy = vehicle.energy_within(&charge, length);
        EffectivePrice::new(energy, self.currency, cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::Plug;
    use kernel::time::{hours, minutes};
    use kernel::{Id, Kind};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn price(kind: &str, price: i64, restrictions: &Value) -> Price {
        let price = json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": kind, "restrictions": restrictions});
        serde_json::from_value(price).unwrap()
    }

    fn connector(kilowatts: f64, pricing: &[Price]) -> Connector {
        Connector {
            power: kilowatts,
            plug: Plug::Matched(ConnectorType::Ccs),
            pricing: pricing.to_vec(),
            ..crate::fixtures::connector("1")
        }
    }

    /// A vehicle with a battery of that capacity that can charge with any power at any level.
    fn known(capacity: u32, level: Option<u16>, energy: u32) -> ChargingVehicle {
        let curve = json!([{"level": 0, "power_w": 1_000_000}]);
        ChargingVehicle::Known {
            battery: Battery::of(&vehicle(capacity, &curve)),
            level,
            energy,
        }
    }

    fn vehicle(capacity: u32, curve: &Value) -> Vehicle {
        let now = at("2026-03-02T10:00:00Z");
        let body = json!({"fleet": Id::new(Kind::Fleet, now), "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": capacity, "charging_curve": curve, "charging_standard": "CCS"});
        let vehicle = Vehicle::new(serde_json::from_value(body).unwrap(), now);
        vehicle.unwrap().object
    }

    /// The effective price for a battery of 60 kWh that has room for this energy in Wh.
    fn effective(
        pricing: &[Price],
        energy: u32,
        from: &str,
        until: &str,
    ) -> Option<EffectivePrice> {
        let vehicle = known(60_000, None, energy);
        let window = Window {
            from: at(from),
            until: at(until),
        };
        let mut station = crate::fixtures::station();
        station.timezone = "UTC".to_owned().try_into().unwrap();
        let connector = connector(20.0, pricing);
        EffectivePrice::in_window(&station, &connector, vehicle, &window, Currency::USD)
    }

    fn whole(price: Option<EffectivePrice>) -> Option<i64> {
        price.map(|price| price.per_kwh.minor_units)
    }

    #[test]
    fn the_charge_of_the_window_is_priced_with_all_its_parts() {
        let none = Value::Null;
        let list = [
            price("ENERGY", 20, &none),
            price("TIME", 1200, &none),
            price("FLAT", 100, &none),
            price("PARKING_TIME", 90_000, &none),
        ];
        let in_window =
            |energy, until| whole(effective(&list, energy, "2026-03-02T10:00:00Z", until));
        // 20 kWh in an hour: 400 + 1200 + 100 cents.
        assert_eq!(in_window(48_000, "2026-03-02T11:00:00Z"), Some(85));
        // 10 kWh fill the battery: 200 + 600 + 100 cents, and parking is not priced.
        assert_eq!(in_window(10_000, "2026-03-02T11:00:00Z"), Some(90));
        // 1 kWh at least, also of a full battery: 20 + 60 + 100 cents.
        assert_eq!(in_window(0, "2026-03-02T11:00:00Z"), Some(180));
    }

    #[test]
    fn the_total_is_the_cost_of_the_energy_itself_below_1_kwh() {
        let list = [
            price("ENERGY", 20, &Value::Null),
            price("FLAT", 100, &Value::Null),
        ];
        let (from, until) = ("2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z");
        let price_of = |energy| effective(&list, energy, from, until);
        let total = |energy| price_of(energy).map(|price| price.total().minor_units);
        assert_eq!([0, 500, 2_000].map(total), [100, 110, 140].map(Some));
        // A price per kWh is that of 1 kWh at least.
        assert_eq!(whole(price_of(500)), Some(120));
    }

    #[test]
    fn the_hours_of_the_window_count() {
        let night = json!({"start_time": "22:00", "end_time": "06:00"});
        let list = [
            price("ENERGY", 20, &night),
            price("ENERGY", 60, &Value::Null),
        ];
        let in_window = |from, until| whole(effective(&list, 48_000, from, until));
        assert_eq!(
            in_window("2026-03-02T22:00:00Z", "2026-03-02T23:00:00Z"),
            Some(20)
        );
        assert_eq!(
            in_window("2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"),
            Some(60)
        );
        // A quarter of the hour is cheap.
        assert_eq!(
            in_window("2026-03-02T05:45:00Z", "2026-03-02T06:45:00Z"),
            Some(50)
        );
    }

    #[test]
    fn a_cap_is_compared_with_the_exact_price() {
        let (from, until) = ("2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z");
        let cap = |minor_units: &str, price: Option<EffectivePrice>| {
            let cap = PriceCap {
                minor_units: minor_units.parse().unwrap(),
                currency: Currency::USD,
            };
            cap.allows(price.as_ref(), Mode::Live)
        };
        // 1,050 Wh at 30 cents are 31.5 cents, which a line rounds to 32.
        let energy = [price("ENERGY", 30, &Value::Null)];
        let price_of_energy = effective(&energy, 1_050, from, until);
        assert!(cap("30", price_of_energy) && !cap("29.99", price_of_energy));
        // A third of an hour at 30 cents, for 7 kWh.
        let time = [price("TIME", 30, &Value::Null)];
        let price_of_time = effective(&time, 7_000, from, until);
        assert!(cap("1.5", price_of_time) && !cap("1.49", price_of_time));
        let euros = PriceCap {
            minor_units: Decimal::ONE_HUNDRED,
            currency: Currency::from_code("eur").unwrap(),
        };
        assert!(!euros.allows(price_of_time.as_ref(), Mode::Test));
    }

    #[test]
    fn effective_price_is_unknown_without_valid_price_or_power() {
        let (from, until) = ("2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z");
        let ended = json!({"end_date_time": from});
        let reservation = json!({"reservation": "RESERVATION"});
        for list in [
            vec![],
            vec![price("ENERGY", 20, &ended)],
            vec![price("ENERGY", 20, &reservation)],
        ] {
            assert_eq!(effective(&list, 48_000, from, until), None, "{list:?}");
        }
        let station = crate::fixtures::station();
        let dead = connector(0.0, &[price("ENERGY", 20, &Value::Null)]);
        let hour = Window {
            from: at(from),
            until: at(until),
        };
        let (any, usd) = (ChargingVehicle::Any, Currency::USD);
        assert_eq!(
            EffectivePrice::in_window(&station, &dead, any, &hour, usd),
            None
        );
    }

    #[test]
    fn a_battery_level_counts_for_24_hours() {
        let now = at("2026-03-02T10:00:00Z");
        let vehicle = vehicle(60_000, &json!([{"level": 0, "power_w": 1_000_000}]));
        let read = |updated: Timestamp| {
            let telemetry = json!({"id": vehicle.telemetry, "object": "vehicle_telemetry", "created": now,
                "battery": {"capacity": 60_000, "level": 50.0, "range": null, "status": "idle", "temperature": null,
                    "updated": updated},
                "firmware_version": null, "location": null, "odometer": null, "updated": updated, "vehicle": vehicle.id});
            let telemetry: VehicleTelemetry = serde_json::from_value(telemetry).unwrap();
            ChargingVehicle::new(&vehicle, Some(&telemetry), now)
        };
        // 30 kWh and 48 kWh fill it, of which 94 % of the metered energy.
        let half = known(60_000, Some(5_000), 31_915);
        let unknown = |energy| known(60_000, None, energy);
        assert_eq!(read(now.plus(hours(-24))), half);
        assert_eq!(read(now.plus(hours(-24) - minutes(1))), unknown(51_064));
        assert_eq!(ChargingVehicle::new(&vehicle, None, now), unknown(51_064));
        assert_eq!(unknown(51_064).limited_to(5_000), unknown(5_000));
    }

    proptest! {
        #[test]
        fn a_bound_is_never_above_the_price(
            amounts in prop::collection::vec((0usize..6, 0i64..5_000, 0usize..6, 1u32..3_000, any::<bool>()), 0..6),
            quarters in 0i64..400,
            length in 15i64..600,
            energy in prop_oneof![0u32..2_000, 0u32..100_000],
            kilowatts in 1u32..3_000,
        ) {
            let kinds = ["ENERGY", "ENERGY", "TIME", "FLAT", "MIN_PRICE", "MAX_PRICE"];
            let restrictions = [
                Value::Null,
                Value::Null,
                json!({"start_time": "22:00", "end_time": "06:00"}),
                json!({"day_of_week": ["mon", "sat"]}),
                json!({"min_duration": 1800}),
                json!({"end_date_time": "2026-03-03T10:00:00Z"}),
            ];
            let list = amounts.iter().map(|(kind, amount, when, step, included)| Price {
                price_decimal: Some(format!("{}.{:03}", amount / 7, amount % 1000)),
                step_size: *step,
                tax_included: *included,
                ..price(kinds[*kind], 0, &restrictions[*when])
            });
            let connector = connector(f64::from(kilowatts) / 10.0, &list.collect::<Vec<_>>());
            let from = at("2026-03-02T00:00:00Z").plus(minutes(15 * quarters));
            let window = Window { from, until: from.plus(minutes(length)) };
            let curve = json!([{"level": 40, "power_w": 250_000}, {"level": 90, "power_w": 5_000}]);
            let battery = Battery::of(&vehicle(100_000, &curve));
            let vehicle = ChargingVehicle::Known { battery, level: Some(3_000), energy };
            let station = crate::fixtures::station();
            let (length, offered) = (minutes(length), simulation::offered(&connector));
            let bounds = CostBound::of(&connector.pricing);
            let real = EffectivePrice::in_window(&station, &connector, vehicle, &window, Currency::USD);
            let found = bounds.iter().any(|bound| match (bound, real) {
                (Some(bound), Some(real)) => {
                    let least = bound.price(vehicle, offered, ConnectorType::Ccs, length);
                    least.is_some_and(|least| least.per_kwh <= real.per_kwh && least.total() <= real.total())
                }
                (None, None) => true,
                _ => false,
            });
            prop_assert!(found, "{real:?} {bounds:?}");
        }
    }
}

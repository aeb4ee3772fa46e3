//! The columns of reports, after those that name the group, the period and the currency.

use rust_decimal::Decimal;

use super::table::{Cell, ratio};
use super::totals::Totals;
use crate::charging_session::SessionStatus;
use crate::report::{Grouping, ReportType};
use kernel::{Currency, Money};

/// A column, or two of them for an amount of money: `gross_minor_units` and `gross`.
pub(super) enum Column {
    Plain(&'static str, fn(&Totals) -> Cell),
    Amount(&'static str, fn(&Totals) -> i64),
    /// Minor units per kWh, and the same in the currency. Both are empty if no energy has a price.
    PerKwh(&'static str, fn(&Totals) -> i64),
}

use Column::{Amount, PerKwh, Plain};

const SESSIONS: Column = Plain("sessions", |totals| Cell::Number(totals.sessions()));
const ENERGY: Column = Plain("energy_wh", |totals| Cell::Number(totals.energy));
const DURATION: Column = Plain("duration_seconds", |totals| Cell::Number(totals.seconds()));
const CHARGING: Column = Plain("charging_seconds", |totals| {
    Cell::Number(totals.charging.as_secs())
});
const IDLE: Column = Plain("idle_seconds", |totals| {
    Cell::Number(totals.seconds() - totals.charging.as_secs())
});
const GROSS: Column = Amount("gross", Totals::gross);
const PRICE: Column = PerKwh("gross", Totals::energy_gross);

/// Returns the columns of a type of report.
pub(super) fn columns(kind: ReportType) -> &'static [Column] {
    match kind {
        ReportType::ChargingSummary => &[SESSIONS, ENERGY, DURATION, GROSS, CHARGING, IDLE],
        ReportType::CostAnalysis => &[
            SESSIONS,
            Plain("reservation_fees", |totals| Cell::Number(totals.fees)),
            Plain("adjustments", |totals| Cell::Number(totals.adjustments)),
            ENERGY,
            Amount("net", |totals| totals.net),
            Amount("tax", |totals| totals.tax),
            GROSS,
            Amount("reservation_fees_gross", |totals| totals.fees_gross),
            Amount("adjustments_gross", |totals| totals.adjustments_gross),
            Amount("paid", |totals| totals.paid),
            Amount("due", |totals| totals.due),
            Amount("credited", |totals| totals.credited),
            PRICE,
            Amount("refunded", |totals| totals.refunded),
            PerKwh("gross_with_fees", Totals::energy_and_fees_gross),
        ],
        ReportType::UsageBreakdown => &[
            SESSIONS,
            Plain("completed_sessions", |totals| {
                totals.with(SessionStatus::Completed)
            }),
            Plain("cancelled_sessions", |totals| {
                totals.with(SessionStatus::Cancelled)
            }),
            Plain("failed_sessions", |totals| {
                totals.with(SessionStatus::Failed)
            }),
            Plain("active_sessions", |totals| {
                totals.with(SessionStatus::Active)
            }),
            ENERGY,
            Plain("energy_wh_per_session", |totals| {
                ratio(totals.energy, totals.used)
            }),
            DURATION,
            Plain("duration_seconds_per_session", |totals| {
                ratio(totals.seconds(), totals.used)
            }),
            GROSS,
            Plain("first_session_started", |totals| Cell::time(totals.first)),
            Plain("last_session_started", |totals| Cell::time(totals.last)),
            CHARGING,
            IDLE,
        ],
        ReportType::FleetEfficiency => &[
            SESSIONS,
            Plain("vehicles", |totals| {
                totals.fleet_vehicles.map_or(Cell::Nothing, Cell::Number)
            }),
            Plain("vehicles_charged", |totals| Cell::count(&totals.vehicles)),
            Plain("drivers", |totals| Cell::count(&totals.drivers)),
            ENERGY,
            Plain("energy_wh_per_vehicle", |totals| {
                ratio(totals.energy, totals.vehicles.len() as i64)
            }),
            Plain("sessions_per_vehicle", |totals| {
                ratio(totals.used, totals.vehicles.len() as i64)
            }),
            DURATION,
            Plain("average_power_w", |totals| {
                ratio(totals.energy * 3600, totals.charging.as_secs())
            }),
            GROSS,
            PRICE,
            CHARGING,
            IDLE,
        ],
        ReportType::Carbon => &[
            SESSIONS,
            ENERGY,
            Plain("green_energy_wh", |totals| {
                Cell::Number(totals.carbon.green_energy())
            }),
            Plain("green_percent", |totals| totals.carbon.green_percent()),
            Plain("carbon_g", |totals| Cell::Number(totals.carbon.grams())),
            Plain("carbon_g_per_kwh", |totals| totals.carbon.grams_per_kwh()),
            Plain("energy_wh_by_station_mix", |totals| {
                Cell::Number(totals.carbon.by_station)
            }),
            Plain("energy_wh_by_country_factor", |totals| {
                Cell::Number(totals.carbon.by_country)
            }),
            Plain("energy_wh_without_factor", |totals| {
                Cell::Number(totals.energy - totals.carbon.by_station - totals.carbon.by_country)
            }),
            Plain("factors", |totals| Cell::name(&totals.carbon.sources())),
            Plain("distance_km", |totals| totals.carbon.kilometres()),
            Plain("kwh_per_100_km", |totals| totals.carbon.consumption()),
        ],
    }
}

impl Column {
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Plain(name, _) => vec![(*name).to_owned()],
            Amount(name, _) => vec![format!("{name}_minor_units"), (*name).to_owned()],
            PerKwh(name, _) => vec![
                format!("{name}_minor_units_per_kwh"),
                format!("{name}_per_kwh"),
            ],
        }
    }

    pub(super) fn cells(&self, totals: &Totals, currency: Currency) -> Vec<Cell> {
        match self {
            Plain(_, cell) => vec![cell(totals)],
            Amount(_, amount) => {
                let amount = amount(totals);
                let decimal = Cell::Money(Money::new(amount, currency).decimal());
                vec![Cell::Number(amount), decimal]
            }
            PerKwh(_, amount) => {
                let price = ratio(amount(totals) * 1000, totals.priced_energy);
                let decimal = match &price {
                    Cell::Decimal(price) => {
                        let shift = Decimal::new(1, currency.exponent().into());
                        Cell::Money((price * shift).normalize().to_string())
                    }
                    _ => Cell::Nothing,
                };
                vec![price, decimal]
            }
        }
    }
}

impl Grouping {
    /// Returns the columns that describe a group: its id and its name, or the known values of a single session.
    pub(super) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Vehicle => &["vehicle", "registration_plate"],
            Self::Driver => &["driver", "driver_name"],
            Self::Fleet => &["fleet", "fleet_name"],
            Self::Station => &["station", "station_name"],
            Self::Month => &["month"],
            Self::Session => &[
                "session",
                "reservation",
                "session_status",
                "session_started",
                "charging_ended",
                "session_ended",
                "vehicle",
                "registration_plate",
                "driver",
                "driver_name",
                "fleet",
                "station",
                "station_name",
                "connector",
                "invoice",
            ],
        }
    }
}

//! The lines of an invoice. Each bills a charging session, the fee of a reservation, or an adjustment.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::credits::less;
use super::totals::TaxAmount;
use crate::charging_session::network::Total;
use crate::charging_session::{ChargingSession, CostSource, Names, PriceCheck, SessionInternal};
use crate::charging_station::PriceType;
use crate::reservation::{Fee, Reservation, ReservationStatus};
use crate::stored::Stored;
use kernel::fields::address::Country;
use kernel::fields::text::ZoneName;
use kernel::{Id, Kind, Timestamp};

/// One entry of an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineItem {
    /// The id of the session, the reservation or the adjustment that the line bills.
    pub id: Id,
    /// Amount in minor units, tax included: `quantity` times `unit_amount`. For a session it is the sum of the session's `cost_breakdown`.
    /// It is negative for an adjustment by which a charging network has credited an amount.
    pub amount: i64,
    /// Id of the charging session; null for the fee of a reservation.
    pub charging_session: Option<Id>,
    /// Id of the charging or reserved station; null if it is unknown.
    #[schema(required)]
    pub charging_station: Option<Id>,
    /// The connector within the station.
    #[schema(required, example = "1")]
    pub connector: Option<String>,
    /// Text of the line: plate, driver, energy, station and time.
    #[schema(
        example = "AB12 CDE, Ada Byron: 11.010 kWh at Depot, connector 1, 2026-03-01 08:00 to 08:30 (Europe/London)"
    )]
    pub description: String,
    /// Id of the driver; null if it is unknown.
    #[schema(required)]
    pub driver: Option<Id>,
    /// Name of the driver when the session started, or for a fee when the invoice was drafted.
    #[schema(required, example = "Ada Byron")]
    pub driver_name: Option<String>,
    /// Seconds from `started` to `ended`.
    #[schema(required, example = 1802)]
    pub duration_seconds: Option<i64>,
    /// When the session ended; the end of the reserved window for a fee.
    #[schema(required)]
    pub ended: Option<Timestamp>,
    /// Metered energy in Wh; 0 for a fee.
    pub energy_wh: i64,
    /// Whether the session was free of charge: `amount` is 0, and the price is known.
    pub free: bool,
    /// Minor units without tax.
    pub net: i64,
    /// Price in minor units per kWh, as a decimal number, as in the session's `cost_breakdown`; null if no energy price or several energy
    /// prices applied.
    #[schema(required, example = "45")]
    pub price_per_kwh: Option<String>,
    /// Comparison of the amount that a charging network bills for the whole session with the price by its tariff, as in the session when
    /// the line was created; null for fees of reservations, and for credits that were applied to a draft.
    #[schema(required)]
    pub price_check: Option<PriceCheck>,
    /// Always 1.
    pub quantity: u32,
    /// The vehicle's plate when the session started, or for a fee when the invoice was drafted.
    #[schema(required, example = "AB12 CDE")]
    pub registration_plate: Option<String>,
    /// The reservation whose fee this is, or that the session fulfilled.
    pub reservation: Option<Id>,
    /// When the session started; the start of the reserved window for a fee.
    #[schema(required)]
    pub started: Option<Timestamp>,
    /// Name of the station when the session started, or for a fee when the invoice was drafted.
    #[schema(required, example = "Depot")]
    pub station_name: Option<String>,
    /// Minor units of tax.
    pub tax: i64,
    /// The components of `net` and `tax`: one for each country, rate and category.
    #[serde(default)]
    #[schema(required)]
    pub taxes: Vec<TaxAmount>,
    /// The types of the prices that each entry of `taxes` contains, in the same order, for a session with several rates of tax.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tax_components: Vec<Vec<PriceType>>,
    /// Kind of the billed object.
    #[serde(rename = "type")]
    pub kind: LineType,
    /// Amount of one unit, in minor units, tax included.
    pub unit_amount: i64,
    /// Id of the vehicle; null if it is unknown.
    #[schema(required)]
    pub vehicle: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineType {
    EnergySession,
    ReservationFee,
    /// An amount that a charging network billed or credited for a session after the session's price was final, or a credit that was applied
    /// to the draft.
    Adjustment,
}

impl LineItem {
    /// Returns the session that the line bills or adjusts, or the reservation.
    pub fn subject(&self) -> Option<&Id> {
        self.charging_session.as_ref().or(self.reservation.as_ref())
    }

    pub(super) fn of(
        session: &ChargingSession,
        internal: &SessionInternal,
        ended: Timestamp,
    ) -> Self {
        let total @ Total { net, gross } = session.total();
        let Names {
            driver,
            registration_plate,
            station,
        } = &internal.names;
        let started = session.session_started;
        Self {
            id: session.id.as_kind(Kind::LineItem),
            amount: gross,
            charging_session: Some(session.id.clone()),
            charging_station: Some(session.charging_station.clone()),
            connector: Some(session.connector.clone()),
            description: format!("{}{}", describe(session, internal, ended), note(session)),
            driver: Some(session.driver.clone()),
            driver_name: some(driver),
            duration_seconds: Some(ended.since(started).as_secs()),
            ended: Some(ended),
            energy_wh: session.energy(),
            free: gross == 0 && !is_price_unknown(session),
            net,
            price_per_kwh: price_per_kwh(session),
            price_check: session.state.price_check(),
            quantity: 1,
            registration_plate: some(registration_plate),
            reservation: session.reservation.clone(),
            started: Some(started),
            station_name: some(station),
            tax: total.tax(),
            taxes: TaxAmount::of_session(session, internal),
            tax_components: TaxAmount::components(session, internal),
            kind: LineType::EnergySession,
            unit_amount: gross,
            vehicle: Some(session.vehicle.clone()),
        }
    }

    /// Returns the line of an amount that a network has billed for a session after its price was final; none for a session that has not
    /// ended. The session shows the amount already. The taxes are those of the session's new total less those of the total before.
    pub(crate) fn of_adjustment(
        id: &Id,
        stored: &Stored<ChargingSession>,
        more: Total,
        cdr: Option<&str>,
    ) -> Option<Self> {
        let ended = stored.object.state.ended()?;
        let session = Self::of(&stored.object, &stored.internal, ended);
        let why = match cdr {
            Some(cdr) => format!("Adjustment by CDR {cdr}"),
            None => "Adjustment without a CDR".to_owned(),
        };
        let total = stored.billed();
        let of_billed = |total| TaxAmount::of_billed(&stored.object, &stored.internal, total);
        Some(Self {
            id: id.as_kind(Kind::LineItem),
            amount: more.gross,
            description: format!(
                "{why}: {}",
                describe(&stored.object, &stored.internal, ended)
            ),
            energy_wh: 0,
            free: false,
            kind: LineType::Adjustment,
            net: more.net,
            price_per_kwh: None,
            tax: more.gross - more.net,
            taxes: less(&of_billed(total), &of_billed(total.minus(more))),
            tax_components: Vec::new(),
            unit_amount: more.gross,
            ..session
        })
    }

    /// Returns the line of an amount, in minor units and taxed in this country, that a network bills for a reservation after its fee was
    /// charged or invoiced.
    pub(crate) fn of_fee_adjustment(
        id: &Id,
        reservation: &Stored<Reservation>,
        more: i64,
        country: Option<&Country>,
        cdr: &str,
    ) -> Self {
        let fee = Fee {
            since: reservation.object.updated,
            amount: more,
            paid: 0,
            refunded: 0,
        };
        let line = Self::of_fee(reservation, &fee, country);
        Self {
            id: id.as_kind(Kind::LineItem),
            description: format!("Adjustment by CDR {cdr}: {}", line.description),
            kind: LineType::Adjustment,
            ..line
        }
    }

    /// Returns the line of a credit on a draft. Its amounts are negative.
    pub(crate) fn of_credit(id: &Id, description: String, credited: &[TaxAmount]) -> Self {
        let taxes: Vec<TaxAmount> = credited.iter().map(TaxAmount::negated).collect();
        let amount = taxes.iter().map(TaxAmount::gross).sum();
        Self {
            id: id.as_kind(Kind::LineItem),
            amount,
            charging_session: None,
            charging_station: None,
            connector: None,
            description,
            driver: None,
            driver_name: None,
            duration_seconds: None,
            ended: None,
            energy_wh: 0,
            free: false,
            net: taxes.iter().map(|tax| tax.net).sum(),
            price_per_kwh: None,
            price_check: None,
            quantity: 1,
            registration_plate: None,
            reservation: None,
            started: None,
            station_name: None,
            tax: taxes.iter().map(|tax| tax.tax).sum(),
            taxes,
            tax_components: Vec::new(),
            kind: LineType::Adjustment,
            unit_amount: amount,
            vehicle: None,
        }
    }

    /// Splits a credit in two: one of `amount`, and the rest under another id.
    pub(crate) fn split(&self, amount: i64, id: &Id) -> (Self, Self) {
        let credited: Vec<TaxAmount> = self.taxes.iter().map(TaxAmount::negated).collect();
        let own = super::credits::share(&credited, amount);
        let others = less(&credited, &own);
        let part = |id: Id, taxes: &[TaxAmount]| Self {
            charging_session: self.charging_session.clone(),
            charging_station: self.charging_station.clone(),
            connector: self.connector.clone(),
            driver: self.driver.clone(),
            driver_name: self.driver_name.clone(),
            ended: self.ended,
            registration_plate: self.registration_plate.clone(),
            reservation: self.reservation.clone(),
            started: self.started,
            station_name: self.station_name.clone(),
            vehicle: self.vehicle.clone(),
            duration_seconds: self.duration_seconds,
            ..Self::of_credit(&id, self.description.clone(), taxes)
        };
        (part(self.id.clone(), &own), part(id.clone(), &others))
    }

    /// Returns the line of a reservation's fee, which is taxed in this country.
    pub(super) fn of_fee(
        stored: &Stored<Reservation>,
        fee: &Fee,
        country: Option<&Country>,
    ) -> Self {
        let reservation = &stored.object;
        let reserved = reservation.state.reserved();
        let window = reservation.window();
        let tax = TaxAmount::of_fee(
            fee.amount,
            stored.internal.fee_tax_percent,
            country.cloned(),
        );
        Self {
            id: reservation.id.as_kind(Kind::LineItem),
            amount: fee.amount,
            charging_session: None,
            charging_station: reserved.map(|reserved| reserved.station.clone()),
            connector: reserved.map(|reserved| reserved.connector.clone()),
            description: describe_fee(stored, &FeeNames::default()),
            driver: Some(reservation.driver.clone()),
            driver_name: None,
            duration_seconds: window.map(|window| window.until.since(window.from).as_secs()),
            ended: window.map(|window| window.until),
            energy_wh: 0,
            free: false,
            net: tax.net,
            price_per_kwh: None,
            price_check: None,
            quantity: 1,
            registration_plate: None,
            reservation: Some(reservation.id.clone()),
            started: window.map(|window| window.from),
            station_name: None,
            tax: tax.tax,
            taxes: vec![tax],
            tax_components: Vec::new(),
            kind: LineType::ReservationFee,
            unit_amount: fee.amount,
            vehicle: Some(reservation.vehicle.clone()),
        }
    }

    /// Returns the amount of the line, and its taxes.
    pub(super) fn sums(&self) -> (Total, &[TaxAmount]) {
        let total = Total {
            net: self.net,
            gross: self.amount,
        };
        (total, &self.taxes)
    }

    /// Adds the names of the parties to the line of a reservation's fee.
    pub fn name_fee(&mut self, reservation: &Stored<Reservation>, names: FeeNames) {
        self.description = describe_fee(reservation, &names);
        self.driver_name = names.driver;
        self.registration_plate = names.registration_plate;
        self.station_name = names.station;
    }
}

/// The names of the parties of a reservation; none for a party that was deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeeNames {
    pub driver: Option<String>,
    pub registration_plate: Option<String>,
    pub station: Option<String>,
    /// The station's time zone.
    pub zone: Option<ZoneName>,
}

/// Returns the text for a fee: the parties, the connector, the window and the outcome of the reservation.
fn describe_fee(stored: &Stored<Reservation>, names: &FeeNames) -> String {
    let reservation = &stored.object;
    let what = match reservation.status() {
        ReservationStatus::Expired => "Reservation, not used",
        ReservationStatus::Cancelled => "Reservation, cancelled late",
        _ => "Reservation",
    };
    let who = [&names.registration_plate, &names.driver];
    let who: Vec<&str> = who.into_iter().flatten().map(String::as_str).collect();
    let mut text = if who.is_empty() {
        what.to_owned()
    } else {
        format!("{}: {what}", who.join(", "))
    };
    if let Some(reserved) = reservation.state.reserved() {
        if let Some(station) = &names.station {
            text = format!("{text} at {station}");
        }
        let period = period(
            reserved.window.from,
            reserved.window.until,
            names.zone.as_ref(),
        );
        text = format!("{text}, connector {}, {period}", reserved.connector);
    }
    text
}

/// Formats a period in a time zone, `2026-03-01 08:00 to 08:30 (Europe/London)`; in UTC if the zone is unknown.
fn period(from: Timestamp, until: Timestamp, zone: Option<&ZoneName>) -> String {
    let (zone, name) = match zone {
        Some(zone) => (zone.rules(), zone.as_str()),
        None => (TimeZone::UTC, "UTC"),
    };
    let (from, until) = (from.civil_in(&zone), until.civil_in(&zone));
    let last = if from.date() == until.date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    let (from, until) = (from.strftime("%Y-%m-%d %H:%M"), until.strftime(last));
    format!("{from} to {until} ({name})")
}

fn some(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

fn is_price_unknown(session: &ChargingSession) -> bool {
    let cost = session.state.cost();
    cost.is_some_and(|cost| cost.source == CostSource::Unknown)
}

/// Returns the price of a kWh if exactly one price applied.
fn price_per_kwh(session: &ChargingSession) -> Option<String> {
    let lines = session.state.cost().map(|cost| &cost.lines);
    let mut energy = lines
        .into_iter()
        .flatten()
        .filter(|line| line.kind == PriceType::Energy);
    match (energy.next(), energy.next()) {
        (Some(line), None) => Some(line.unit_price.clone()),
        _ => None,
    }
}

/// Returns the text that follows the description of a session without a price.
fn note(session: &ChargingSession) -> &'static str {
    match session.total().gross {
        0 if is_price_unknown(session) => ", price unknown",
        0 if session.is_billed_by_adjustment() => ", billed by an adjustment",
        0 => ", free of charge",
        _ => "",
    }
}

/// Returns the text for a session: the parties, the energy, the place and the time in the station's time zone.
fn describe(session: &ChargingSession, internal: &SessionInternal, ended: Timestamp) -> String {
    let wh = session.energy();
    let energy = format!("{}.{:03} kWh", wh / 1000, wh % 1000);
    let (names, connector) = (&internal.names, &session.connector);
    if *names == Names::default() {
        return format!("Charging, {energy}, ended {ended}");
    }
    let period = period(session.session_started, ended, internal.zone.as_ref());
    let Names {
        driver,
        registration_plate,
        station,
    } = names;
    format!(
        "{registration_plate}, {driver}: {energy} at {station}, connector {connector}, {period}"
    )
}

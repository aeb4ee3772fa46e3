//! The conversion of Tariff objects into the prices of connectors.
//!
//! A connector names its tariffs by id. Their types determine which of them a driver of an eMSP pays: `REGULAR` is for sessions that an
//! eMSP's app or card starts, and a tariff without a type is for all sessions. `AD_HOC_PAYMENT` is for drivers who pay at the charger, and
//! the `PROFILE_…` types are for drivers who have chosen a smart charging profile, which the API does not offer; neither ever applies, nor
//! does an unknown type. At any moment one tariff applies: a `REGULAR` one before one without a type, and of several tariffs of a type the
//! one that began last. The tariff that applies when a session begins prices the whole session.
//!
//! An element with the restriction `RESERVATION` or `RESERVATION_EXPIRES` is the operator's price of a reservation. It is shown and never
//! prices a session. It does not determine the fee of a reservation, which is fixed when the reservation is created, before it has a
//! station.

use std::collections::HashMap;

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::Deserialize;

use super::reader::{
    MOST, Objects, number, optional_moment, optional_number, optional_text, text, texts,
    time_of_day,
};
use kernel::{Currency, Timestamp};
use models::charging_station::{
    Price, PriceType, ReservationRestriction, Restrictions, Tax, Weekday,
};

/// The maximum number of different tariffs of a location.
pub const MAX_TARIFFS: usize = 100;

/// The members of a Tariff of OCPI 2.2.1 or 2.3.0 that prices are made of.
#[derive(Debug, Clone, Deserialize)]
pub struct Tariff {
    #[serde(default)]
    pub country_code: String,
    #[serde(default)]
    pub party_id: String,
    #[serde(deserialize_with = "text")]
    pub id: String,
    pub currency: String,
    #[serde(default, rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    pub min_price: Option<Limit>,
    pub max_price: Option<Limit>,
    /// Whether the prices of the elements include taxes (OCPI 2.3.0); they never do in 2.2.1.
    #[serde(default)]
    pub tax_included: TaxIncluded,
    #[serde(default)]
    pub elements: Vec<Element>,
    #[serde(default, deserialize_with = "optional_moment")]
    pub start_date_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_moment")]
    pub end_date_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "optional_moment")]
    pub last_updated: Option<Timestamp>,
}

/// The minimum or maximum cost of a session; a bare number is without VAT.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    Price {
        #[serde(deserialize_with = "number")]
        excl_vat: Decimal,
        #[serde(default, deserialize_with = "optional_number")]
        incl_vat: Option<Decimal>,
    },
    /// OCPI 2.3.0.
    Taxes {
        #[serde(deserialize_with = "number")]
        before_taxes: Decimal,
        #[serde(default, deserialize_with = "optional_number")]
        after_taxes: Option<Decimal>,
    },
    Bare(#[serde(deserialize_with = "number")] Decimal),
}

/// Whether taxes are part of the prices of a tariff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum TaxIncluded {
    #[serde(rename = "YES")]
    Yes,
    /// They are added.
    #[default]
    #[serde(rename = "NO")]
    No,
    /// There are none.
    #[serde(rename = "N/A")]
    NotApplicable,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Element {
    #[serde(default)]
    pub price_components: Vec<Component>,
    pub restrictions: Option<OcpiRestrictions>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Component {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(deserialize_with = "number")]
    pub price: Decimal,
    /// Percent.
    #[serde(default, deserialize_with = "optional_number")]
    pub vat: Option<Decimal>,
    #[serde(default, deserialize_with = "optional_number")]
    pub step_size: Option<Decimal>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct OcpiRestrictions {
    #[serde(default, deserialize_with = "optional_text")]
    pub start_time: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub end_time: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub start_date: Option<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub end_date: Option<String>,
    /// kWh
    #[serde(default, deserialize_with = "optional_number")]
    pub min_kwh: Option<Decimal>,
    #[serde(default, deserialize_with = "optional_number")]
    pub max_kwh: Option<Decimal>,
    /// A
    #[serde(default, deserialize_with = "optional_number")]
    pub min_current: Option<Decimal>,
    #[serde(default, deserialize_with = "optional_number")]
    pub max_current: Option<Decimal>,
    /// kW
    #[serde(default, deserialize_with = "optional_number")]
    pub min_power: Option<Decimal>,
    #[serde(default, deserialize_with = "optional_number")]
    pub max_power: Option<Decimal>,
    /// Seconds.
    #[serde(default, deserialize_with = "optional_number")]
    pub min_duration: Option<Decimal>,
    #[serde(default, deserialize_with = "optional_number")]
    pub max_duration: Option<Decimal>,
    #[serde(default, deserialize_with = "texts")]
    pub day_of_week: Vec<String>,
    #[serde(default, deserialize_with = "optional_text")]
    pub reservation: Option<String>,
}

/// The power supply of a connector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Supply {
    /// W for each A: the voltage times the number of phases. It converts the current restrictions of a tariff to power.
    pub watts_per_ampere: Decimal,
}

/// A tariff with prices as this service stores them.
#[derive(Debug, Clone)]
pub struct ReadTariff {
    country_code: String,
    party_id: String,
    id: String,
    kind: Option<String>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    /// Current restrictions are not converted to power yet.
    prices: Vec<Price>,
}

/// The tariffs of a file.
#[derive(Debug, Clone, Default)]
pub struct Tariffs {
    all: Vec<ReadTariff>,
    /// By country code, party and id, in lower case.
    by_party: HashMap<(String, String, String), usize>,
}

impl Tariff {
    /// Returns the ids of the tariff, which are unique among all parties.
    fn key(&self) -> String {
        format!("{}*{}*{}", self.country_code, self.party_id, self.id).to_lowercase()
    }

    /// # Errors
    /// The reason why the tariff cannot be used: an unknown currency, or a restriction that cannot be read.
    pub fn read(self) -> Result<ReadTariff, String> {
        let code = self.currency.trim().to_lowercase();
        let currency = Currency::from_code(&code)
            .ok_or_else(|| format!("currency: {:?} is no ISO 4217 code", self.currency))?;
        let tax_included = self.tax_included == TaxIncluded::Yes;
        let mut prices = Vec::new();
        for element in &self.elements {
            let given = element.restrictions.as_ref();
            let restrictions = given.map(OcpiRestrictions::read).transpose()?;
            let restrictions = restrictions.filter(|read| *read != Restrictions::default());
            for component in &element.price_components {
                let kind = match component.kind.as_str() {
                    "ENERGY" => PriceType::Energy,
                    "TIME" => PriceType::Time,
                    "PARKING_TIME" => PriceType::ParkingTime,
                    "FLAT" => PriceType::Flat,
                    // An element of a later version of the standard, which requires that it is ignored.
                    _ => continue,
                };
                let step = component.step_size.and_then(|step| step.to_u32());
                prices.push(Price {
                    step_size: step.unwrap_or(1).max(1),
                    restrictions: restrictions.clone(),
                    tax_included,
                    ..price(currency, kind, component.price, component.vat)?
                });
            }
        }
        let common_vat = common_vat(&prices);
        for (kind, limit) in [
            (PriceType::MinPrice, self.min_price),
            (PriceType::MaxPrice, self.max_price),
        ] {
            if let Some(limit) = limit {
                let (net, vat) = limit.net_and_percent();
                prices.push(price(currency, kind, net, vat.or(common_vat))?);
            }
        }
        Ok(ReadTariff {
            country_code: self.country_code,
            party_id: self.party_id,
            id: self.id,
            kind: self.kind,
            start: self.start_date_time,
            end: self.end_date_time,
            prices,
        })
    }
}

/// Returns the percentage of tax that all components have which are part of the price of a session. It applies to a limit of the price
/// that states no amount with tax.
fn common_vat(components: &[Price]) -> Option<Decimal> {
    let is_part = |price: &&Price| !price.is_for_reservation() && !price.exact().is_zero();
    let mut parts = components.iter().filter(is_part);
    let first = parts.next()?;
    let percent = first.tax_percent.parse().ok();
    let is_same =
        |other: &Price| (other.tax, &other.tax_percent) == (first.tax, &first.tax_percent);
    percent.filter(|_| first.tax != Tax::None && parts.all(is_same))
}

/// Returns a price without restrictions, in the smallest unit of its currency. Its percentage of tax is from 0 to 1,000.
fn price(
    currency: Currency,
    kind: PriceType,
    amount: Decimal,
    vat: Option<Decimal>,
) -> Result<Price, String> {
    let exact = amount * Decimal::from(10u32.pow(currency.exponent().into()));
    let whole = exact.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
    let too_large = || format!("a price of {amount} is too large");
    let minor_units = whole.to_i64().filter(|price| price.abs() <= MOST);
    Ok(Price {
        currency,
        price: minor_units.ok_or_else(too_large)?,
        price_decimal: (whole != exact).then(|| exact.normalize().to_string()),
        step_size: 1,
        tax: if vat.is_some() { Tax::Vat } else { Tax::None },
        tax_included: false,
        tax_percent: vat
            .unwrap_or_default()
            .clamp(Decimal::ZERO, Decimal::ONE_THOUSAND)
            .normalize()
            .to_string(),
        kind,
        restrictions: None,
    })
}

impl ReadTariff {
    pub(super) fn into_prices(self) -> Vec<Price> {
        self.prices
    }
}

impl Limit {
    /// Returns the amount without tax, and the percentage of tax that results in the amount with tax.
    fn net_and_percent(self) -> (Decimal, Option<Decimal>) {
        match self {
            Self::Bare(net) => (net, None),
            Self::Price {
                excl_vat: net,
                incl_vat: gross,
            }
            | Self::Taxes {
                before_taxes: net,
                after_taxes: gross,
            } => {
                let ratio = gross.and_then(|gross| gross.checked_div(net));
                let part = ratio.and_then(|ratio| ratio.checked_sub(Decimal::ONE));
                let percent = part.and_then(|part| part.checked_mul(Decimal::ONE_HUNDRED));
                (net, percent)
            }
        }
    }
}

impl OcpiRestrictions {
    fn read(&self) -> Result<Restrictions, String> {
        let time = |text: &Option<String>| text.as_deref().map(time_of_day).transpose();
        let date = |name: &str, text: &Option<String>| {
            let Some(text) = text else {
                return Ok(None);
            };
            let read: Result<jiff::civil::Date, _> = text.trim().parse();
            let date = read.map_err(|_| format!("{name}: expected a date, not {text:?}"))?;
            Ok::<_, String>(Some(date.to_string()))
        };
        let whole = |number: Option<Decimal>| {
            let whole = number.map(|number| number.round().max(Decimal::ZERO));
            whole.map(|number| number.to_u32().unwrap_or(u32::MAX))
        };
        let thousands = |number: Option<Decimal>| {
            whole(number.map(|number| number.saturating_mul(Decimal::ONE_THOUSAND)))
        };
        let day = |name: &String| {
            let days = Weekday::ALL.iter().zip(DAYS);
            let mut named = days.filter(|(_, day)| *day == name.to_ascii_uppercase());
            let found = named.next().map(|(day, _)| *day);
            found.ok_or_else(|| format!("day_of_week: {name:?} is no day"))
        };
        let days: Result<Vec<Weekday>, String> = self.day_of_week.iter().map(day).collect();
        let reservation = match self.reservation.as_deref() {
            None => None,
            Some("RESERVATION") => Some(ReservationRestriction::Reservation),
            Some("RESERVATION_EXPIRES") => Some(ReservationRestriction::ReservationExpires),
            Some(other) => return Err(format!("reservation: {other:?} is unknown")),
        };
        Ok(Restrictions {
            start_time: time(&self.start_time)?,
            end_time: time(&self.end_time)?,
            start_date: date("start_date", &self.start_date)?,
            end_date: date("end_date", &self.end_date)?,
            day_of_week: days?,
            min_duration: whole(self.min_duration),
            max_duration: whole(self.max_duration),
            min_energy: thousands(self.min_kwh),
            max_energy: thousands(self.max_kwh),
            min_power: thousands(self.min_power),
            max_power: thousands(self.max_power),
            min_current: self.min_current.and_then(|amperes| amperes.to_f64()),
            max_current: self.max_current.and_then(|amperes| amperes.to_f64()),
            reservation,
            ..Restrictions::default()
        })
    }
}

const DAYS: [&str; 7] = [
    "MONDAY",
    "TUESDAY",
    "WEDNESDAY",
    "THURSDAY",
    "FRIDAY",
    "SATURDAY",
    "SUNDAY",
];

impl Tariffs {
    /// Returns the tariffs of a file's objects, and the objects that cannot be used.
    pub fn read(objects: Objects<Tariff>) -> (Self, Vec<super::Skipped>) {
        let id = |tariff: &Tariff| tariff.id.clone();
        let objects = objects
            .without_duplicates(id, Tariff::key, |tariff| tariff.last_updated)
            .try_map(id, Tariff::read);
        let mut tariffs = Self::default();
        for (place, tariff) in objects.loaded.into_iter().enumerate() {
            let party = party(&tariff.country_code, &tariff.party_id, &tariff.id);
            tariffs.by_party.insert(party, place);
            tariffs.all.push(tariff);
        }
        (tariffs, objects.skipped)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the tariffs of a party with these ids, and the ids of missing ones. A tariff of another party with the same id is another
    /// tariff.
    pub(super) fn find(
        &self,
        country_code: &str,
        party_id: &str,
        ids: &[String],
    ) -> (Vec<&ReadTariff>, Vec<String>) {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for id in ids {
            match self.by_party.get(&party(country_code, party_id, id)) {
                Some(place) => found.push(&self.all[*place]),
                None => missing.push(id.clone()),
            }
        }
        (found, missing)
    }
}

fn party(country_code: &str, party_id: &str, id: &str) -> (String, String, String) {
    (
        country_code.to_lowercase(),
        party_id.to_lowercase(),
        id.to_lowercase(),
    )
}

/// The time in which a tariff applies, in milliseconds: from the first until the second.
type Span = (i64, i64);

/// Returns the prices of a connector's tariffs from now on, for the drivers of an eMSP.
pub(super) fn prices(tariffs: &[&ReadTariff], supply: Supply, now: Timestamp) -> Vec<Price> {
    let rank = |tariff: &ReadTariff| match tariff.kind.as_deref() {
        Some("REGULAR") => Some(0),
        None => Some(1),
        Some(_) => None,
    };
    let period = |tariff: &ReadTariff| -> Span {
        let start = tariff.start.map_or(i64::MIN, Timestamp::unix_millis);
        let end = tariff.end.map_or(i64::MAX, Timestamp::unix_millis);
        (start.max(now.unix_millis()), end)
    };
    let mut candidates: Vec<_> = tariffs
        .iter()
        .filter_map(|tariff| Some((rank(tariff)?, *tariff)))
        .filter(|(_, tariff)| period(tariff).0 < period(tariff).1)
        .collect();
    candidates.sort_by_key(|(rank, tariff)| (*rank, std::cmp::Reverse(tariff.start)));
    let mut taken: Vec<Span> = Vec::new();
    let mut prices = Vec::new();
    for (_, tariff) in candidates {
        let spans = taken.iter().fold(vec![period(tariff)], |left, other| {
            left.into_iter()
                .flat_map(|span| without(span, *other))
                .collect()
        });
        for span in &spans {
            let priced = tariff.prices.iter();
            prices.extend(priced.map(|price| price_in(price, *span, supply, now)));
        }
        taken.extend(spans);
    }
    prices
}

/// Returns the rest of a span without another.
fn without(span: Span, other: Span) -> Vec<Span> {
    let before = (span.0, span.1.min(other.0));
    let after = (span.0.max(other.1), span.1);
    let mut left = vec![before, after];
    left.retain(|(start, end)| start < end);
    left.dedup();
    left
}

/// Returns the price in that span, with its restrictions of current converted to power.
fn price_in(price: &Price, (start, end): Span, supply: Supply, now: Timestamp) -> Price {
    let mut restrictions = price.restrictions.clone().unwrap_or_default();
    let begun = start <= now.unix_millis();
    restrictions.start_date_time = (!begun).then(|| Timestamp::from_unix_millis(start));
    restrictions.end_date_time = (end != i64::MAX).then(|| Timestamp::from_unix_millis(end));
    // The power of a connector is rounded to 100 W.
    let watts = |amperes: Option<f64>| {
        let amperes = Decimal::from_f64_retain(amperes?)?;
        let watts = amperes.checked_mul(supply.watts_per_ampere)?;
        let hundreds = (watts / Decimal::ONE_HUNDRED).round();
        hundreds.checked_mul(Decimal::ONE_HUNDRED)?.to_u32()
    };
    let least = watts(restrictions.min_current).max(restrictions.min_power);
    let most = [watts(restrictions.max_current), restrictions.max_power];
    restrictions.min_power = least;
    restrictions.max_power = most.into_iter().flatten().min();
    let restrictions =
        Some(restrictions).filter(|restrictions| *restrictions != Restrictions::default());
    Price {
        restrictions,
        ..price.clone()
    }
}

impl ReadTariff {
    /// Returns the tariff's prices for sessions in general.
    pub fn prices(&self) -> &[Price] {
        &self.prices
    }
}

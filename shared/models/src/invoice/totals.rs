//! The sums of an invoice, in total and by tax rate.
//!
//! The sums are computed once, when the invoice is drafted, and updated by its transitions, without reading the lines again. The lines add
//! up to `due` plus `paid` plus `credited`, and to `net` plus `tax`.

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::charging_session::network::Total;
use crate::charging_session::{ChargingSession, SessionCostLine, SessionInternal};
use crate::charging_station::{Price, PriceType, Tax};
use kernel::fields::address::Country;
use kernel::fields::party::TaxPercent;

/// The sums of an invoice, in minor units of its currency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InvoiceTotals {
    /// Without tax.
    pub net: i64,
    /// Minor units of tax.
    pub tax: i64,
    /// With tax: the sum of the lines.
    pub gross: i64,
    /// The same as `amount_paid`.
    pub paid: i64,
    /// The amount that credit notes have deducted from the amount due.
    pub credited: i64,
    /// The amount that was paid and refunded. If a charging network credits an amount that was refunded, it reduces `paid`, and is not
    /// counted here.
    pub refunded: i64,
    /// The same as `amount_due`.
    pub due: i64,
    /// The components of `net` and `tax`, by country, rate and category.
    pub by_rate: Vec<TaxAmount>,
}

/// An amount that is taxed at one rate, in minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaxAmount {
    /// The country in which the tax is due: that of the station, and for reservation fees that of the account's billing address, if it has
    /// one.
    #[schema(required)]
    pub country: Option<Country>,
    /// Tax rate in percent, as a decimal number. If a charging network bills an amount that no rate of the tariff explains, it is the rate
    /// that follows from the amounts with and without tax, rounded to two digits.
    #[schema(example = "20")]
    pub tax_percent: TaxPercent,
    /// Category of the tax as electronic invoices name it.
    pub category: TaxCategory,
    /// Minor units without tax.
    #[schema(example = 413)]
    pub net: i64,
    /// Minor units of tax.
    #[schema(example = 82)]
    pub tax: i64,
}

/// The category of a tax by the list UNCL5305.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum TaxCategory {
    /// Standard: a rate above zero.
    S,
    /// Zero rated: a tax with a rate of zero.
    Z,
    /// Exempt: the tariff names no tax.
    E,
}

impl TaxAmount {
    /// Returns the amount with tax, in minor units.
    pub fn gross(&self) -> i64 {
        self.net + self.tax
    }

    /// Checks whether both have the same country, rate and category.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let key = |tax: &Self| (tax.country.clone(), tax.tax_percent, tax.category);
        key(self) == key(other)
    }

    /// Returns the same amount with the opposite sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self {
            net: -self.net,
            tax: -self.tax,
            ..self.clone()
        }
    }

    /// Adds the amount to the entry with its country, rate and category.
    pub(super) fn add_to(&self, by_rate: &mut Vec<Self>) {
        match by_rate.iter_mut().find(|tax| tax.is_like(self)) {
            Some(same) => {
                same.net += self.net;
                same.tax += self.tax;
            }
            None => by_rate.push(self.clone()),
        }
    }

    /// Returns the taxes of a session: one for each rate.
    pub(super) fn of_session(session: &ChargingSession, internal: &SessionInternal) -> Vec<Self> {
        match Self::of_lines(session, internal) {
            Some(lines) => by_rate(lines.iter().map(|(_, tax)| tax)),
            None => Self::of_total(session, internal, session.total()),
        }
    }

    /// Returns the types of the prices that each of the taxes of a session contains; empty if there are not several taxes.
    pub(super) fn components(
        session: &ChargingSession,
        internal: &SessionInternal,
    ) -> Vec<Vec<PriceType>> {
        let lines = Self::of_lines(session, internal).unwrap_or_default();
        let taxes = by_rate(lines.iter().map(|(_, tax)| tax));
        let kinds_of = |rate: &Self| {
            let mut kinds = Vec::new();
            for (kind, tax) in &lines {
                if tax.is_like(rate) && !kinds.contains(kind) {
                    kinds.push(*kind);
                }
            }
            kinds
        };
        let has_several = taxes.len() > 1;
        let several = taxes.iter().filter(|_| has_several);
        several.map(kinds_of).collect()
    }

    /// Returns the tax of each cost line of a session; none if the lines do not add up to its total.
    fn of_lines(
        session: &ChargingSession,
        internal: &SessionInternal,
    ) -> Option<Vec<(PriceType, Self)>> {
        let lines = session.state.cost().map_or(&[][..], |cost| &cost.lines);
        let total = session.total();
        let sum = lines.iter().map(|line| line.gross).sum::<i64>();
        let net = lines.iter().map(|line| line.net).sum::<i64>();
        let tax_of = |line: &SessionCostLine| {
            let amount = Total {
                net: line.net,
                gross: line.gross,
            };
            let percent = line.tax_percent.parse().unwrap_or_default();
            let percent = rate(amount, &internal.pricing, percent);
            let prices = internal.pricing.iter();
            let mut prices = prices
                .filter(|price| price.kind == line.kind && price.percent() == percent)
                .peekable();
            let is_taxed = match prices.peek() {
                Some(_) => prices.any(is_taxed),
                None => internal.pricing.iter().any(is_taxed),
            };
            (line.kind, Self::new(session, percent, is_taxed, amount))
        };
        ((net, sum) == (total.net, total.gross)).then(|| lines.iter().map(tax_of).collect())
    }

    /// Returns the taxes of a total that a network bills for a session in place of the session's own total. The difference between both
    /// has a rate of the session or of its tariff that explains it and leaves no amount below zero, or the rate of both totals if they have
    /// the same. If there is no such rate, or only the session had tax, the whole total has the rate that follows from it.
    pub(super) fn of_billed(
        session: &ChargingSession,
        internal: &SessionInternal,
        total: Total,
    ) -> Vec<Self> {
        let own = session.total();
        let more = total.minus(own);
        if total == Total::default() {
            return Vec::new();
        }
        if total.tax() == 0 && own.tax() != 0 {
            return Self::of_total(session, internal, total);
        }
        let taxes = Self::of_session(session, internal);
        let is_of_tariff = |tax: &Self| {
            let mut rates = internal.pricing.iter().map(Price::percent);
            rates.any(|percent| TaxPercent::new(percent) == tax.tax_percent)
        };
        let own_tax = Decimal::from(own.net).checked_mul(Decimal::from(total.tax()));
        let own_tax = own_tax.and_then(|tax| tax.checked_div(Decimal::from(total.net)));
        let is_same =
            own_tax.is_some_and(|tax| (tax - Decimal::from(own.tax())).abs() < Decimal::ONE);
        let of_more = Self::of_total(session, internal, more).into_iter();
        let of_more = of_more.filter(|tax| is_same || is_of_tariff(tax));
        let rates = taxes.iter().cloned().chain(of_more);
        let with_more = |at_rate: Self| {
            let mut taxes = taxes.clone();
            let (net, tax) = (more.net, more.tax());
            Self {
                net,
                tax,
                ..at_rate
            }
            .add_to(&mut taxes);
            taxes
        };
        let mut found = rates.filter(|tax| tax.explains(more)).map(with_more);
        let is_possible = |taxes: &Vec<Self>| taxes.iter().all(|tax| tax.net >= 0 && tax.tax >= 0);
        let possible = found.find(is_possible);
        possible.unwrap_or_else(|| Self::of_total(session, internal, total))
    }

    /// Checks whether an amount can have the rate, if its tax was rounded.
    fn explains(&self, amount: Total) -> bool {
        let tax = Decimal::from(amount.tax());
        let off = (tax_at(amount.net, self.tax_percent.decimal()) - tax).abs();
        off.is_zero() || !self.tax_percent.is_zero() && off <= Decimal::ONE
    }

    /// Returns the tax of an amount of a session that has no cost lines.
    fn of_total(session: &ChargingSession, internal: &SessionInternal, total: Total) -> Vec<Self> {
        let percent = rate_of(total, &internal.pricing);
        let is_taxed = internal.pricing.iter().any(is_taxed);
        vec![Self::new(session, percent, is_taxed, total)]
    }

    /// Returns the tax of an amount. `is_taxed` is whether the tariff names a tax for it.
    fn new(session: &ChargingSession, percent: Decimal, is_taxed: bool, amount: Total) -> Self {
        let tax_percent = TaxPercent::new(percent);
        Self {
            country: Some(session.country.clone()),
            tax_percent,
            category: if !tax_percent.is_zero() {
                TaxCategory::S
            } else if is_taxed {
                TaxCategory::Z
            } else {
                TaxCategory::E
            },
            net: amount.net,
            tax: amount.tax(),
        }
    }

    /// Returns the tax that an amount includes at the rate of reservation fees.
    pub(super) fn of_fee(gross: i64, percent: TaxPercent, country: Option<Country>) -> Self {
        let net = percent.net_of(gross);
        Self {
            country,
            tax_percent: percent,
            category: if percent.is_zero() {
                TaxCategory::Z
            } else {
                TaxCategory::S
            },
            net,
            tax: gross - net,
        }
    }
}

/// Returns the sums of amounts by country, rate and category.
pub fn by_rate<'a>(taxes: impl Iterator<Item = &'a TaxAmount>) -> Vec<TaxAmount> {
    let mut sums = Vec::new();
    taxes.for_each(|tax| tax.add_to(&mut sums));
    sums
}

impl InvoiceTotals {
    /// Returns the sums of lines, each with its taxes; `paid` of the total was paid before.
    pub(super) fn of<'a>(lines: impl Iterator<Item = (Total, &'a [TaxAmount])>, paid: i64) -> Self {
        let mut totals = Self::default();
        for (line, taxes) in lines {
            totals.net += line.net;
            totals.tax += line.tax();
            totals.gross += line.gross;
            let taxes = taxes.iter();
            taxes.for_each(|tax| tax.add_to(&mut totals.by_rate));
        }
        totals.paid = paid;
        totals.due = totals.gross - paid;
        totals.sort();
        totals
    }

    /// Adds the sums of a line, of which `paid` was paid before, and `refunded` of that refunded.
    pub(super) fn add(&mut self, (line, taxes): (Total, &[TaxAmount]), paid: i64, refunded: i64) {
        self.net += line.net;
        self.tax += line.tax();
        self.gross += line.gross;
        self.paid += paid;
        self.refunded += refunded;
        self.due += line.gross - paid;
        for tax in taxes {
            tax.add_to(&mut self.by_rate);
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.by_rate.sort_by(|a, b| {
            let key = |tax: &TaxAmount| {
                let country = tax
                    .country
                    .as_ref()
                    .map(|country| country.as_str().to_owned());
                (country, tax.tax_percent, tax.category)
            };
            key(a).cmp(&key(b))
        });
    }
}

/// Checks whether a price names a tax.
fn is_taxed(price: &Price) -> bool {
    price.tax != Tax::None
}

/// Returns the tax rate in percent of an amount for which none is stated: that of the tariff which explains its tax, else the one that
/// follows from the amount.
pub(crate) fn rate_of(amount: Total, pricing: &[Price]) -> Decimal {
    rate(amount, pricing, implied(amount))
}

/// Returns the tax rate of an amount in percent: `stated` if the tariff has this rate or has no rate that explains the amount, else the
/// rate that explains it.
fn rate(amount: Total, pricing: &[Price], stated: Decimal) -> Decimal {
    let mut rates = pricing.iter().map(Price::percent);
    if pricing
        .iter()
        .map(Price::percent)
        .any(|percent| percent == stated)
    {
        return stated;
    }
    let explains = |percent: &Decimal| {
        (tax_at(amount.net, *percent) - Decimal::from(amount.tax())).abs() < Decimal::ONE
    };
    rates.find(explains).unwrap_or(stated)
}

/// Returns the exact tax of a net amount at a rate in percent.
fn tax_at(net: i64, percent: Decimal) -> Decimal {
    Decimal::from(net) * percent / Decimal::ONE_HUNDRED
}

/// Returns the rate in percent that follows from an amount with and without tax.
fn implied(amount: Total) -> Decimal {
    let percent = Decimal::from(amount.tax()) * Decimal::ONE_HUNDRED;
    let percent = percent.checked_div(Decimal::from(amount.net));
    let rounding = RoundingStrategy::MidpointAwayFromZero;
    let percent = percent.map(|percent| percent.round_dp_with_strategy(2, rounding));
    percent
        .unwrap_or_default()
        .clamp(Decimal::ZERO, Decimal::ONE_HUNDRED)
}

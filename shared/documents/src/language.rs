//! Labels, and the formats of numbers and dates, in the languages of documents.

use jiff::civil::{Date, DateTime};
use rust_decimal::Decimal;

use crate::document::{Currency, DocumentKind, Language, Line, Period, TaxCategory, Unit};

impl Language {
    /// Returns the code of the language (BCP 47).
    pub fn code(self) -> &'static str {
        self.pick("en", "de")
    }

    pub(crate) fn pick<'a>(self, english: &'a str, german: &'a str) -> &'a str {
        match self {
            Self::En => english,
            Self::De => german,
        }
    }

    pub(crate) fn title(self, kind: DocumentKind) -> &'static str {
        match kind {
            DocumentKind::Invoice => self.pick("Invoice", "Rechnung"),
            // In German tax law, a Gutschrift is an invoice that the buyer writes.
            DocumentKind::CreditNote => self.pick("Credit note", "Rechnungskorrektur"),
        }
    }

    /// Returns a quantity with its unit. Energy has three decimals at least.
    pub(crate) fn quantity(self, quantity: Decimal, unit: Unit) -> String {
        let mut quantity = quantity.normalize();
        let unit = match unit {
            Unit::KilowattHour => {
                quantity.rescale(quantity.scale().max(3));
                "kWh"
            }
            Unit::Minute => self.pick("min", "Min."),
            Unit::Piece => self.pick("pcs", "Stk."),
        };
        format!("{}\u{a0}{unit}", self.number(quantity))
    }

    /// Returns the statement of a document about a category in which the seller owes no tax. `None` for taxed lines.
    pub(crate) fn exemption(self, category: TaxCategory) -> Option<&'static str> {
        match category {
            TaxCategory::Standard | TaxCategory::Zero => None,
            TaxCategory::Exempt => Some(self.pick("Exempt from VAT", "Umsatzsteuerfrei")),
            TaxCategory::ReverseCharge => Some(self.pick(
                "Reverse charge: the recipient owes the VAT",
                "Steuerschuldnerschaft des Leistungsempfängers",
            )),
            TaxCategory::OutOfScope => {
                Some(self.pick("Not subject to VAT", "Nicht umsatzsteuerbar"))
            }
        }
    }

    /// Returns a number in the format of the language: `1,234.50` or `1.234,50`.
    pub(crate) fn number(self, number: Decimal) -> String {
        let (group, point) = match self {
            Self::En => (',', '.'),
            Self::De => ('.', ','),
        };
        let digits = number.abs().to_string();
        let (whole, fraction) = digits
            .split_once('.')
            .map_or((digits.as_str(), None), |(whole, fraction)| {
                (whole, Some(fraction))
            });
        let mut text = String::new();
        if number.is_sign_negative() && !number.is_zero() {
            text.push('\u{2212}');
        }
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at) % 3 == 0 {
                text.push(group);
            }
            text.push(digit);
        }
        if let Some(fraction) = fraction {
            text.push(point);
            text.push_str(fraction);
        }
        text
    }

    /// Returns an amount with all decimals of its currency, without the currency.
    pub(crate) fn amount(self, amount: i64, currency: &Currency) -> String {
        self.number(Decimal::new(amount, currency.decimals.into()))
    }

    /// Returns an amount with its currency: `EUR 12.50` or `12,50 EUR`.
    pub(crate) fn money(self, amount: i64, currency: &Currency) -> String {
        let number = self.amount(amount, currency);
        let code = currency.code.to_uppercase();
        match self {
            Self::En => format!("{code}\u{a0}{number}"),
            Self::De => format!("{number}\u{a0}{code}"),
        }
    }

    /// Returns a percentage in the format of the language: `19%` or `19 %`.
    pub(crate) fn percent(self, percent: Decimal) -> String {
        let number = self.number(percent.normalize());
        match self {
            Self::En => format!("{number}%"),
            Self::De => format!("{number}\u{a0}%"),
        }
    }

    /// Returns a date in the format of the language: `24 November 2026` or `24.11.2026`.
    pub(crate) fn date(self, date: Date) -> String {
        const MONTHS: [&str; 12] = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ];
        let (day, month, year) = (date.day(), date.month(), date.year());
        match self {
            Self::En => {
                let month = MONTHS[month.unsigned_abs() as usize - 1];
                format!("{day}\u{a0}{month}\u{a0}{year}")
            }
            Self::De => format!("{day:02}.{month:02}.{year}"),
        }
    }

    pub(crate) fn days(self, period: Period<Date>) -> String {
        let (start, end) = (period.start, period.end);
        if start == end {
            return self.date(start);
        }
        if self == Self::En && (start.year(), start.month()) == (end.year(), end.month()) {
            return format!("{}–{}", start.day(), self.date(end));
        }
        format!("{} – {}", self.date(start), self.date(end))
    }

    pub(crate) fn times(self, period: Period<DateTime>) -> String {
        let time = |at: DateTime| format!("{:02}:{:02}", at.hour(), at.minute());
        let (start, end) = (period.start, period.end);
        if start.date() == end.date() {
            return format!("{}, {}–{}", self.date(start.date()), time(start), time(end));
        }
        format!(
            "{}, {} – {}, {}",
            self.date(start.date()),
            time(start),
            self.date(end.date()),
            time(end)
        )
    }
}

/// Returns the data of a line besides its amounts, each with its label. Energy is left out if the quantity is the energy.
pub(crate) fn details(language: Language, line: &Line) -> Vec<(&'static str, String)> {
    let energy = (line.energy_wh)
        .filter(|_| line.unit != Unit::KilowattHour)
        .map(|energy| language.quantity(Decimal::new(energy, 3), Unit::KilowattHour));
    [
        (language.pick("Station", "Station"), &line.station),
        (language.pick("Energy", "Energie"), &energy),
        (language.pick("Plate", "Kennzeichen"), &line.plate),
        (language.pick("Driver", "Fahrer"), &line.driver),
        (language.pick("Session", "Ladevorgang"), &line.session),
        (
            language.pick("Reservation", "Reservierung"),
            &line.reservation,
        ),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label, value.clone()?)))
    .filter(|(_, value)| !value.trim().is_empty())
    .collect()
}

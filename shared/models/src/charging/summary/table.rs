//! The table of a report, as CSV and as JSON.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Map, Number, Value};

use kernel::{Error, Id, Result, Timestamp};

/// The characters with which a spreadsheet begins a formula, in full width as well, or which it skips before one.
const FORMULA: [char; 12] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠',
];

/// One field of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    /// A moment, which a report shows in its time zone.
    Time(Timestamp),
    Number(i64),
    Decimal(Decimal),
    /// A decimal number of a currency, with all of its digits.
    Money(String),
    Nothing,
}

impl Cell {
    pub(super) fn id(id: Option<&Id>) -> Self {
        id.map_or(Self::Nothing, |id| Self::Text(id.to_string()))
    }

    pub(super) fn name(name: &str) -> Self {
        match name {
            "" => Self::Nothing,
            name => Self::Text(name.to_owned()),
        }
    }

    pub(super) fn time(moment: Option<Timestamp>) -> Self {
        moment.map_or(Self::Nothing, Self::Time)
    }

    pub(super) fn count(ids: &BTreeSet<Id>) -> Self {
        Self::Number(ids.len() as i64)
    }

    /// Returns the cell as a field of CSV. A text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
    fn field(&self, zone: &TimeZone) -> String {
        match self {
            Self::Time(moment) => moment.text_in(zone),
            Self::Text(text) if text.starts_with(FORMULA) => format!("'{text}"),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Money(number) => number.clone(),
            Self::Nothing => String::new(),
        }
    }

    fn value(&self, zone: &TimeZone) -> Result<Value> {
        Ok(match self {
            Self::Time(moment) => Value::from(moment.text_in(zone)),
            Self::Text(text) | Self::Money(text) => Value::from(text.as_str()),
            Self::Number(number) => Value::from(*number),
            Self::Decimal(number) => Value::Number(
                number
                    .to_string()
                    .parse::<Number>()
                    .map_err(Error::internal)?,
            ),
            Self::Nothing => Value::Null,
        })
    }
}

/// Returns a quotient with two decimal places, rounded half away from zero; [`Cell::Nothing`] if the divisor is zero.
pub(super) fn ratio(part: i64, whole: i64) -> Cell {
    quotient(Decimal::from(part), whole)
}

/// Returns the same for a decimal number.
pub(super) fn quotient(part: Decimal, whole: i64) -> Cell {
    let quotient = part.checked_div(Decimal::from(whole));
    quotient.map_or(Cell::Nothing, rounded)
}

/// Returns the number with two decimal places, rounded half away from zero.
pub(super) fn rounded(number: Decimal) -> Cell {
    let rounded = number.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero);
    Cell::Decimal(rounded.normalize())
}

/// Writes CSV by RFC 4180, with a header line.
pub(super) fn csv(
    header: &[String],
    rows: impl Iterator<Item = Vec<Cell>>,
    zone: &TimeZone,
) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer.write_record(header).map_err(Error::internal)?;
    for row in rows {
        let fields = row.iter().map(|cell| cell.field(zone));
        writer.write_record(fields).map_err(Error::internal)?;
    }
    writer
        .into_inner()
        .map_err(|error| Error::internal(error.to_string()))
}

/// Writes a JSON array of objects with the same members.
pub(super) fn json(
    header: &[String],
    rows: impl Iterator<Item = Vec<Cell>>,
    zone: &TimeZone,
) -> Result<Vec<u8>> {
    let object = |row: Vec<Cell>| {
        let cells = header.iter().zip(&row);
        let members = cells.map(|(name, cell)| Ok((name.clone(), cell.value(zone)?)));
        members.collect::<Result<Map<_, _>>>().map(Value::Object)
    };
    let rows: Vec<Value> = rows.map(object).collect::<Result<_>>()?;
    serde_json::to_vec(&rows).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_a_spreadsheet_computes_is_prefixed() {
        for sign in FORMULA {
            let field = Cell::Text(format!("{sign}1+1")).field(&TimeZone::UTC);
            assert_eq!(field, format!("'{sign}1+1"));
        }
        let field = Cell::Text("1=1".to_owned()).field(&TimeZone::UTC);
        assert_eq!(field, "1=1");
    }
}

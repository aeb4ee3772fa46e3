//! The table of a report, as CSV and as JSON.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use serde_json::{Map, Number, Value};

use kernel::error::{Error, Result};
use kernel::id::Id;
use kernel::time::Timestamp;

/// One field of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
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
        moment.map_or(Self::Nothing, |moment| Self::Text(moment.to_string()))
    }

    pub(super) fn count(ids: &BTreeSet<Id>) -> Self {
        Self::Number(ids.len() as i64)
    }

    /// The cell as a field of CSV. A text that a spreadsheet would take for a formula is made a text.
    fn field(&self) -> String {
        match self {
            Self::Text(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
                format!("'{text}")
            }
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Decimal(number) => number.to_string(),
            Self::Money(number) => number.clone(),
            Self::Nothing => String::new(),
        }
    }

    fn value(&self) -> Result<Value> {
        Ok(match self {
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

/// RFC 4180, with a header line.
pub(super) fn csv(header: &[String], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer.write_record(header).map_err(Error::internal)?;
    for row in rows {
        let fields = row.iter().map(Cell::field);
        writer.write_record(fields).map_err(Error::internal)?;
    }
    writer
        .into_inner()
        .map_err(|error| Error::internal(error.to_string()))
}

/// An array of objects with the same members.
pub(super) fn json(header: &[String], rows: impl Iterator<Item = Vec<Cell>>) -> Result<Vec<u8>> {
    let object = |row: Vec<Cell>| {
        let cells = header.iter().zip(&row);
        let members = cells.map(|(name, cell)| Ok((name.clone(), cell.value()?)));
        members.collect::<Result<Map<_, _>>>().map(Value::Object)
    };
    let rows: Vec<Value> = rows.map(object).collect::<Result<_>>()?;
    serde_json::to_vec(&rows).map_err(Error::internal)
}

//! A series as CSV: a line with the names of the columns, and a line for each entry. The columns are `from`, the value and optionally
//! `until`, in any order. An empty `until` counts as omitted.

use kernel::{Error, Result, Timestamp};

/// The begin, the end and the value of an entry.
pub type Entry = (Timestamp, Option<Timestamp>, f64);

/// Reads the entries of a list. `value` is the name of the value's column.
///
/// # Errors
/// 400 that names the column or the entry.
pub fn entries(text: &str, list: &'static str, value: &str) -> Result<Vec<Entry>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.flexible(true).trim(csv::Trim::All);
    let mut reader = reader.from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| Error::invalid(list, error.to_string());
    let names = reader.headers().map_err(unreadable)?.clone();
    let is_known = |name: &str| [value, "from", "until"].contains(&name);
    let place = |name: &str| names.iter().position(|column| column == name);
    let (Some(from), Some(amount)) = (place("from"), place(value)) else {
        let message = format!("the first line must name the columns from and {value}");
        return Err(Error::invalid(list, message));
    };
    let is_first = |(at, name): (usize, &str)| place(name) == Some(at);
    if !names.iter().all(is_known) || !names.iter().enumerate().all(is_first) {
        let message = format!("the columns are from, {value} and until, each once");
        return Err(Error::invalid(list, message));
    }
    let lines = reader.records();
    let is_blank = |line: &csv::StringRecord| line.iter().eq([""]);
    let lines = lines.filter(|line| !line.as_ref().is_ok_and(is_blank));
    let entries = lines.enumerate().map(|(number, line)| {
        let cells = line.map_err(unreadable)?;
        let invalid = |member: &str, message: &'static str| {
            Error::invalid(format!("{list}[{number}].{member}"), message)
        };
        let moment = |name: &str, text: &str| {
            let moment = Timestamp::parse(text);
            moment.map_err(|_| invalid(name, "must be a time such as 2026-03-01T10:00:00Z"))
        };
        if cells.len() != names.len() {
            let message = "must have a cell for each column";
            return Err(Error::invalid(format!("{list}[{number}]"), message));
        }
        let until = place("until").map(|at| &cells[at]);
        let until = until.filter(|text| !text.is_empty());
        let amount = cells[amount].parse::<f64>();
        Ok((
            moment("from", &cells[from])?,
            until.map(|text| moment("until", text)).transpose()?,
            amount.map_err(|_| invalid(value, "must be a number"))?,
        ))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>> {
        entries(text, "prices", "price_per_kwh")
    }

    #[test]
    fn entries_have_their_columns_in_any_order() {
        let at = |text| Timestamp::parse(text).expect("a moment");
        let text = "\u{feff}price_per_kwh,until,\"from\"\r\n32.5,,2026-01-15T18:00:00Z\r\n\r\n-1,2026-01-15T20:00:00Z,2026-01-15T19:00:00Z\r\n";
        let want = [
            (at("2026-01-15T18:00:00Z"), None, 32.5),
            (
                at("2026-01-15T19:00:00Z"),
                Some(at("2026-01-15T20:00:00Z")),
                -1.0,
            ),
        ];
        assert_eq!(read(text).expect("entries"), want);
    }

    #[test]
    fn a_fault_names_its_entry() {
        let line = "2026-01-15T18:00:00Z";
        for (text, param) in [
            (String::new(), "prices"),
            ("from,price".into(), "prices"),
            ("from,price_per_kwh,from".into(), "prices"),
            (format!("from,price_per_kwh\n{line}"), "prices[0]"),
            (
                format!("from,price_per_kwh\n{line},1\n{line},x"),
                "prices[1].price_per_kwh",
            ),
            ("from,price_per_kwh\nnow,1".into(), "prices[0].from"),
        ] {
            let Err(Error::Client(refusal)) = read(&text) else {
                panic!("{text} is refused");
            };
            assert_eq!(refusal.param.as_deref(), Some(param), "{text}");
        }
    }
}

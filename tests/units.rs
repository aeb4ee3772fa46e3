//! Capacity units by partition key: of the table and of each index, from what was read and written.
//!
//! What a read takes is in the table's answer. What a write takes of each partition follows from the row before and after it, as
//! the table's stream has them, by the published rules: a unit for each kilobyte of the larger image, twice as many for the table
//! in a transaction; an entry of an index is written only if it changes, and one whose key changes is written twice.

use std::collections::{BTreeMap, HashMap};

use functions::stream::relay::StreamRecord;
use serde_dynamo::{AttributeValue, Item};
use serde_json::Value;
use shared::store::schema::INDEXES;

use crate::meter::Call;

/// The name of the table beside those of the indexes.
pub const TABLE: &str = "table";

/// A partition: the table or an index, and the value of its hash key.
pub type Partition = (String, String);

/// Units of a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    pub read: f64,
    pub written: f64,
}

/// Units by partition and second of virtual time.
#[derive(Debug, Default)]
pub struct Usage(HashMap<Partition, BTreeMap<i64, Units>>);

impl Usage {
    fn add(&mut self, partition: Partition, second: i64, units: Units) {
        let seconds = self.0.entry(partition).or_default();
        let sum = seconds.entry(second).or_default();
        sum.read += units.read;
        sum.written += units.written;
    }

    /// Adds calls and the changes that they led to.
    pub fn note(&mut self, calls: &[Call], changes: &[StreamRecord], second: i64) {
        let mut transactions: HashMap<(String, String), usize> = HashMap::new();
        for call in calls.iter().filter(|call| call.succeeded) {
            if call.is_read() {
                self.note_read(call, second);
            }
            if call.operation == "TransactWriteItems" {
                for key in keys_of_transaction(&call.request) {
                    *transactions.entry(key).or_default() += 1;
                }
            }
        }
        for change in changes {
            let key = change.key();
            let key = (key.0.to_owned(), key.1.to_owned());
            let in_transaction = transactions.get_mut(&key).filter(|left| **left > 0);
            let factor = match in_transaction {
                Some(left) => {
                    *left -= 1;
                    2.0
                }
                None => 1.0,
            };
            for (partition, written) in written_by(change, factor) {
                let units = Units { read: 0.0, written };
                self.add(partition, second, units);
            }
        }
    }

    fn note_read(&mut self, call: &Call, second: i64) {
        let text = |value: &Value| value["S"].as_str().unwrap_or_default().to_owned();
        let request = &call.request;
        let partitions: Vec<Partition> = match call.operation.as_str() {
            "GetItem" => vec![(TABLE.to_owned(), text(&request["Key"]["pk"]))],
            "BatchGetItem" => {
                let tables = request["RequestItems"].as_object().into_iter().flatten();
                let keys =
                    tables.flat_map(|(_, asked)| asked["Keys"].as_array().into_iter().flatten());
                keys.map(|key| (TABLE.to_owned(), text(&key["pk"])))
                    .collect()
            }
            _ => {
                let condition = request["KeyConditionExpression"]
                    .as_str()
                    .unwrap_or_default();
                let value = condition
                    .split_whitespace()
                    .find(|word| word.starts_with(':'));
                let value = value.map(|name| text(&request["ExpressionAttributeValues"][name]));
                let place = request["IndexName"].as_str().unwrap_or(TABLE);
                vec![(place.to_owned(), value.unwrap_or_default())]
            }
        };
        let read = call.capacity / partitions.len().max(1) as f64;
        for partition in partitions {
            let units = Units { read, written: 0.0 };
            self.add(partition, second, units);
        }
    }

    /// The units of each partition in all, and the most in a second.
    pub fn totals(&self) -> Vec<(&Partition, Units, Units)> {
        let sums = self.0.iter().map(|(partition, seconds)| {
            let (mut total, mut most) = (Units::default(), Units::default());
            for units in seconds.values() {
                total.read += units.read;
                total.written += units.written;
                most.read = most.read.max(units.read);
                most.written = most.written.max(units.written);
            }
            (partition, total, most)
        });
        sums.collect()
    }
}

/// The keys of the rows that a transaction writes.
fn keys_of_transaction(request: &Value) -> Vec<(String, String)> {
    let items = request["TransactItems"].as_array().into_iter().flatten();
    let writes = items.filter_map(|item| {
        let (_, write) = item.as_object()?.iter().next()?;
        let row = [&write["Key"], &write["Item"]]
            .into_iter()
            .find(|row| row.is_object())?;
        let text = |name: &str| Some(row[name]["S"].as_str()?.to_owned());
        Some((text("pk")?, text("sk")?))
    });
    writes.collect()
}

/// What a change wrote to each partition.
pub fn written_by(change: &StreamRecord, factor: f64) -> Vec<(Partition, f64)> {
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let larger = old.into_iter().chain(new).map(size).max().unwrap_or(0);
    let (pk, _) = change.key();
    let mut written = vec![(
        (TABLE.to_owned(), pk.to_owned()),
        kilobytes(larger) * factor,
    )];
    for (index, hash, range, held) in INDEXES {
        let entry = |item: Option<&Item>| Entry::of(item?, hash, range, held);
        let mut add = |key: &str, units| {
            written.push((((*index).to_owned(), key.to_owned()), units));
        };
        match (entry(old), entry(new)) {
            (None, None) => {}
            (None, Some(one)) | (Some(one), None) => add(&one.hash, kilobytes(one.size)),
            (Some(old), Some(new)) if (&old.hash, &old.range) != (&new.hash, &new.range) => {
                add(&old.hash, kilobytes(old.size));
                add(&new.hash, kilobytes(new.size));
            }
            (Some(old), Some(new)) if old.projected == new.projected => {}
            (Some(old), Some(new)) => add(&new.hash, kilobytes(old.size.max(new.size))),
        }
    }
    written
}

/// What an index holds of a row.
struct Entry {
    hash: String,
    range: String,
    projected: Item,
    size: usize,
}

impl Entry {
    /// None if the row is not in the index.
    fn of(item: &Item, hash: &str, range: &str, held: &[&str]) -> Option<Self> {
        let text = |name: &str| match item.get(name)? {
            AttributeValue::S(text) => Some(text.clone()),
            _ => None,
        };
        let (hash_value, range_value) = (text(hash)?, text(range)?);
        let mut projected = item.clone();
        if held != ["*"] {
            let keys = ["pk", "sk", hash, range];
            let projected = &mut projected;
            let names: Vec<String> = item.keys().cloned().collect();
            for name in names {
                if !keys.contains(&name.as_str()) && !held.contains(&name.as_str()) {
                    projected.remove(&name);
                }
            }
        }
        let size = size(&projected);
        Some(Self {
            hash: hash_value,
            range: range_value,
            projected,
            size,
        })
    }
}

fn kilobytes(bytes: usize) -> f64 {
    bytes.div_ceil(1024).max(1) as f64
}

/// How many bytes DynamoDB counts for an item: names and values.
pub fn size(item: &Item) -> usize {
    item.iter()
        .map(|(name, value)| name.len() + size_of(value))
        .sum()
}

fn size_of(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => {
            let digits = number.trim_start_matches('-').replace('.', "");
            digits.trim_matches('0').len().div_ceil(2) + 1 + usize::from(number.starts_with('-'))
        }
        AttributeValue::L(values) => 3 + values.iter().map(|one| 1 + size_of(one)).sum::<usize>(),
        AttributeValue::M(members) => {
            let members = members.iter();
            3 + members
                .map(|(name, one)| 1 + name.len() + size_of(one))
                .sum::<usize>()
        }
        _ => 1,
    }
}

//! Capacity units by partition key, of the table and of each index, computed from reads and writes.
//!
//! The units of a read are in the table's response. The units of a write in each partition follow from the item before and after it in
//! the table's stream, by the published rules: a unit for each kilobyte of the larger image, twice as many for the table in a
//! transaction; an entry of an index is written only if it changes, and one whose key changes is written twice. A write that changes
//! nothing, or whose condition fails, has no change in the stream and counts as one of a kilobyte.

use std::collections::{BTreeMap, HashMap, VecDeque};

use functions::stream::relay::StreamRecord;
use serde_dynamo::{AttributeValue, Item};
use serde_json::Value;
use table::schema::INDEXES;

use crate::golden::kind_of;
use crate::meter::Call;

/// The name of the table, used beside the names of the indexes.
pub const TABLE: &str = "table";

/// A partition: the table or an index, and the value of its hash key.
pub type Partition = (String, String);

/// Units of a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Units {
    pub read: f64,
    pub written: f64,
}

/// Total units of a partition, and its maximum in one second and in one minute of virtual time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub all: Units,
    pub second: Units,
    pub minute: Units,
}

/// The key of an item: its `pk` and `sk`.
type RowKey = (String, String);

/// Units by partition and second of virtual time.
#[derive(Debug, Default)]
pub struct Usage {
    partitions: HashMap<Partition, BTreeMap<i64, Units>>,
    /// Writes whose changes have not been seen, with the factor of each, in order.
    writes: HashMap<RowKey, VecDeque<f64>>,
    /// The units that the table itself has counted.
    pub consumed: Units,
    changes: BTreeMap<String, Changed>,
}

/// The number of changes of items of a kind, and their units, including those of indexes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed {
    pub times: f64,
    pub writes: f64,
}

impl Changed {
    pub fn add(&mut self, other: Self) {
        self.times += other.times;
        self.writes += other.writes;
    }
}

impl Usage {
    fn add(&mut self, partition: Partition, second: i64, units: Units) {
        let seconds = self.partitions.entry(partition).or_default();
        let sum = seconds.entry(second).or_default();
        sum.read += units.read;
        sum.written += units.written;
    }

    /// Adds calls, and changes that were caused by these or earlier calls.
    pub fn note(&mut self, calls: &[Call], changes: &[StreamRecord], second: i64) {
        for call in calls {
            match (call.is_read(), call.succeeded) {
                (true, true) => {
                    self.consumed.read += call.capacity;
                    self.note_read(call, second);
                }
                (true, false) => {}
                (false, true) => {
                    self.consumed.written += call.capacity;
                    for key in written_keys(&call.request) {
                        let writes = self.writes.entry(key).or_default();
                        writes.push_back(factor(call));
                    }
                }
                (false, false) => {
                    for (pk, _) in written_keys(&call.request) {
                        self.note_unchanged(pk, factor(call), second);
                    }
                }
            }
        }
        for change in changes {
            let (pk, sk) = change.key();
            let writes = self.writes.get_mut(&(pk.to_owned(), sk.to_owned()));
            let factor = writes.and_then(VecDeque::pop_front).unwrap_or(1.0);
            let written = written_by(change, factor);
            let changed = self.changes.entry(kind_of(pk, sk)).or_default();
            changed.times += 1.0;
            changed.writes += written.iter().map(|(_, units)| units).sum::<f64>();
            for (partition, written) in written {
                let units = Units { read: 0.0, written };
                self.add(partition, second, units);
            }
        }
    }

    /// Counts the remaining writes, whose changes have all been seen, as writes that have changed nothing.
    pub fn settle(&mut self, second: i64) {
        for ((pk, _), factors) in std::mem::take(&mut self.writes) {
            for factor in factors {
                self.note_unchanged(pk.clone(), factor, second);
            }
        }
    }

    fn note_unchanged(&mut self, pk: String, factor: f64, second: i64) {
        let units = Units {
            read: 0.0,
            written: factor,
        };
        self.add((TABLE.to_owned(), pk), second, units);
    }

    fn note_read(&mut self, call: &Call, second: i64) {
        let text = |value: &Value| value["S"].as_str().unwrap_or_default().to_owned();
        let request = &call.request;
        let partitions: Vec<Partition> = match call.operation.as_str() {
            "GetItem" => vec![(TABLE.to_owned(), text(&request["Key"]["pk"]))],
            "BatchGetItem" => {
                let tables = request["RequestItems"].as_object().into_iter().flatten();
                let keys = tables
                    .flat_map(|(_, requested)| requested["Keys"].as_array().into_iter().flatten());
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

    /// Removes and returns the changes, by the kind of item as named in `tests/golden`.
    pub fn take_changes(&mut self) -> BTreeMap<String, Changed> {
        std::mem::take(&mut self.changes)
    }

    /// The units of each partition.
    pub fn totals(&self) -> impl Iterator<Item = (&Partition, Totals)> {
        self.partitions.iter().map(|(partition, seconds)| {
            let mut totals = Totals::default();
            let mut minute = (i64::MIN, Units::default());
            for (second, units) in seconds {
                if second.div_euclid(60) != minute.0 {
                    minute = (second.div_euclid(60), Units::default());
                }
                minute.1.read += units.read;
                minute.1.written += units.written;
                totals.all.read += units.read;
                totals.all.written += units.written;
                totals.second = totals.second.most(*units);
                totals.minute = totals.minute.most(minute.1);
            }
            (partition, totals)
        })
    }
}

impl Units {
    fn most(self, other: Self) -> Self {
        Self {
            read: self.read.max(other.read),
            written: self.written.max(other.written),
        }
    }
}

/// The factor by which the units of a write of a call are multiplied in the table.
fn factor(call: &Call) -> f64 {
    match call.operation.as_str() {
        "TransactWriteItems" => 2.0,
        _ => 1.0,
    }
}

/// The keys of the items that a call writes or, in a transaction, checks.
fn written_keys(request: &Value) -> Vec<RowKey> {
    let in_transaction = request["TransactItems"].as_array().into_iter().flatten();
    let tables = request["RequestItems"].as_object().into_iter().flatten();
    let in_batch = tables.flat_map(|(_, items)| items.as_array().into_iter().flatten());
    let together = in_transaction
        .chain(in_batch)
        .filter_map(|item| item.as_object()?.values().next());
    let key = |write: &Value| {
        let item = [&write["Key"], &write["Item"]]
            .into_iter()
            .find(|item| item.is_object())?;
        let text = |name: &str| Some(item[name]["S"].as_str()?.to_owned());
        Some((text("pk")?, text("sk")?))
    };
    together.chain([request]).filter_map(key).collect()
}

/// The units that a change wrote to each partition.
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
            (None, Some(entry)) | (Some(entry), None) => add(&entry.hash, kilobytes(entry.size)),
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

/// The entry of an item in an index.
struct Entry {
    hash: String,
    range: String,
    projected: Item,
    size: usize,
}

impl Entry {
    /// None if the item is not in the index.
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

/// The size of an item by the rules of DynamoDB, in bytes: names and values.
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
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::L(values) => {
            3 + values
                .iter()
                .map(|element| 1 + size_of(element))
                .sum::<usize>()
        }
        AttributeValue::M(members) => {
            let members = members.iter();
            3 + members
                .map(|(name, member)| 1 + name.len() + size_of(member))
                .sum::<usize>()
        }
        _ => 1,
    }
}

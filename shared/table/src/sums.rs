//! The daily sums of fleets and vehicles. Each change of a session or reservation is added exactly once.
//!
//! Terms. An [`Entry`] is the contribution of one change of an object to the sums of days. The *month of a vehicle* is an item with the
//! sums of a vehicle by day in a month, and with the last objects that were counted in it, each with its version. The *day of a fleet* is
//! an item with the sums of a fleet.
//!
//! Life cycle. The relay counts the changes of a batch by fleet. One transaction adds them to the months of their vehicles, to the days of
//! the fleet and to the totals of the fleet. A month is read before, and is written only if it was not written since.
//!
//! Invariants. A change that is relayed again, in whatever batch, is in the month of its vehicle already and adds nothing: the changes of
//! one object arrive in the order of their versions. So the sums of a fleet are those of its vehicles, whichever process crashes at
//! whatever moment. The fleet's item, which many writers share, is written without a condition, once for each batch.
//!
//! Limits. A month keeps the objects that were counted within the last two days, and the last eight objects in any case: a stream keeps
//! changes for one day.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::keys::{self, Key, months_partition, sums_partition, vehicles_in};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::{Error, Id, Origin, Result, Tenant};
use models::analytics::Sums;

/// The contribution of one change of an object to the sums of days.
#[derive(Debug, Clone)]
pub struct Entry {
    pub vehicle: Id,
    pub object: Id,
    /// The version of the object after the change.
    pub version: u64,
    pub days: Vec<(Date, Sums)>,
}

/// The maximum number of entries that one transaction counts. Each writes a month and a day, or two of each if it moves from one month to
/// another, and a transaction has at most a hundred items.
pub const AT_A_TIME: usize = 20;

/// How often months are read again if another writer has changed them in the meantime.
const MONTH_READS: u32 = 8;

/// The number of days for which a counted object is kept, and the least and the greatest number of objects that are kept regardless of it.
const KEPT_DAYS: i64 = 2;
const LEAST_KEPT: usize = 8;
const MOST_KEPT: usize = 500;

const SECONDS_A_DAY: i64 = 86_400;

/// The sums of a vehicle by the day in a month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct VehicleMonth {
    /// The sums by the day of the month in two digits.
    days: BTreeMap<String, Sums>,
    /// The objects that were counted, the last one at the end.
    counted: Vec<Counted>,
}

/// A counted object: the last digits of its id, its version, and the day since 1970 on which it was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Counted(String, u64, i64);

impl VehicleMonth {
    fn has(&self, object: &str, version: u64) -> bool {
        let mut counted = self.counted.iter();
        counted.any(|entry| entry.0 == object && version <= entry.1)
    }

    fn mark(&mut self, object: &str, version: u64, today: i64) {
        self.counted.retain(|entry| entry.0 != object);
        self.counted
            .push(Counted(object.to_owned(), version, today));
        let count = self.counted.len();
        let mut place = 0;
        self.counted.retain(|entry| {
            place += 1;
            let newer = count - place;
            newer < LEAST_KEPT || (newer < MOST_KEPT && entry.2.abs_diff(today) <= KEPT_DAYS as u64)
        });
    }
}

/// Returns the last digits of an id, which distinguish the objects of one vehicle.
fn digits(id: &Id) -> &str {
    let text = id.as_str();
    text.get(text.len().saturating_sub(12)..).unwrap_or(text)
}

impl Store {
    /// Counts those entries of a fleet that were not counted before.
    ///
    /// # Errors
    /// 404 if the fleet was deleted; `Contended` or `Unavailable` if the call has to be repeated.
    pub async fn count(&self, origin: &Origin, fleet: &Id, entries: &[Entry]) -> Result<()> {
        for attempt in 0..MONTH_READS {
            // If a month was read too early, its write is refused, and it is read again, strongly consistent.
            let consistent = attempt > 0;
            let months = self.months(&origin.tenant, fleet, entries, consistent);
            let mut months = months.await?;
            let days = add_to_months(&mut months, entries, origin.now.unix_seconds());
            if days.is_empty() && months.values().all(|month| !month.has_changed) {
                return Ok(());
            }
            let mut tx = self.begin(origin);
            tx.save_months(fleet, months)?;
            tx.save_sums(fleet, &days);
            match tx.commit_without_response().await {
                Err(Error::Contended) => {}
                done => return done,
            }
        }
        Err(Error::Contended)
    }

    /// Returns the months of entries.
    async fn months(
        &self,
        tenant: &Tenant,
        fleet: &Id,
        entries: &[Entry],
        consistent: bool,
    ) -> Result<Months> {
        let mut months: Months = entries
            .iter()
            .flat_map(|entry| {
                let months = entry.days.iter().map(|(day, _)| day.first_of_month());
                months.map(|month| ((entry.vehicle.clone(), month), Month::default()))
            })
            .collect();
        let keys = months.keys().map(|(vehicle, month)| {
            key_item(Key::VehicleMonth {
                tenant,
                fleet,
                month: *month,
                vehicle,
            })
        });
        for item in self.items(keys.collect(), None, consistent).await? {
            let found = keys::parse_vehicle_month(string(&item, "sk"));
            if let Some(month) = found.and_then(|place| months.get_mut(&place)) {
                month.revision = number(&item, "revision").unsigned_abs();
                month.content = content(item)?;
            }
        }
        Ok(months)
    }

    /// Returns the sums of a fleet by day, from one day to before another.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn sums_of_fleet(
        &self,
        tenant: &Tenant,
        fleet: &Id,
        (from, until): (Date, Date),
    ) -> Result<BTreeMap<Date, Sums>> {
        let day = |day: Date| s(format!("{}{day}", keys::DAY_OF_FLEET));
        let last = until.yesterday().unwrap_or(until);
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :from AND :last")
            .expression_attribute_values(":pk", s(sums_partition(tenant, fleet)))
            .expression_attribute_values(":from", day(from))
            .expression_attribute_values(":last", day(last))
            .send()
            .await
            .map_err(client::failure)?;
        let days = page.items.unwrap_or_default().into_iter();
        let read = |item: Item| {
            let day = string(&item, "sk").strip_prefix(keys::DAY_OF_FLEET)?;
            Some((day.parse().ok()?, sums_in(&item)))
        };
        Ok(days.filter_map(read).collect())
    }

    /// Returns the sums by day of the vehicles that have any in a month, at most `limit`, in the order of their ids, after a given one.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn sums_of_vehicles(
        &self,
        tenant: &Tenant,
        fleet: &Id,
        month: Date,
        (behind, limit): (Option<&Id>, usize),
    ) -> Result<Vec<(Id, BTreeMap<Date, Sums>)>> {
        let prefix = vehicles_in(month);
        let behind = behind.map_or("", Id::as_str);
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
            .expression_attribute_values(":pk", s(months_partition(tenant, fleet)))
            .expression_attribute_values(":first", s(format!("{prefix}{behind}!")))
            .expression_attribute_values(":last", s(format!("{prefix}~")))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(client::failure)?;
        let vehicles = page.items.unwrap_or_default().into_iter();
        let read = |item: Item| {
            let Some((vehicle, _)) = keys::parse_vehicle_month(string(&item, "sk")) else {
                return Err(Error::permanent("the sums of no vehicle"));
            };
            let days = content(item)?.days.into_iter();
            let date = |day: String| month.with().day(day.parse().ok()?).build().ok();
            let sums = days.filter_map(|(day, sums)| Some((date(day)?, sums)));
            Ok((vehicle, sums.collect()))
        };
        vehicles.map(read).collect()
    }
}

/// The months of vehicles, and whether they are to be written.
type Months = BTreeMap<(Id, Date), Month>;

#[derive(Default)]
struct Month {
    /// The number of writes; 0 if it is not in the table.
    revision: u64,
    content: VehicleMonth,
    has_changed: bool,
}

/// Adds the entries that are not counted yet to their months, and returns their sums for the fleet.
fn add_to_months(months: &mut Months, entries: &[Entry], now: i64) -> BTreeMap<Date, Sums> {
    let mut of_fleet: BTreeMap<Date, Sums> = BTreeMap::new();
    for entry in entries {
        let mut by_month: BTreeMap<Date, Vec<&(Date, Sums)>> = BTreeMap::new();
        for share in &entry.days {
            let month = share.0.first_of_month();
            by_month.entry(month).or_default().push(share);
        }
        for (first, shares) in by_month {
            let Some(month) = months.get_mut(&(entry.vehicle.clone(), first)) else {
                continue;
            };
            let object = digits(&entry.object);
            if month.content.has(object, entry.version) {
                continue;
            }
            for (day, sums) in shares {
                let days = &mut month.content.days;
                days.entry(format!("{:02}", day.day()))
                    .or_default()
                    .add_all(sums, 1);
                of_fleet.entry(*day).or_default().add_all(sums, 1);
            }
            month.content.days.retain(|_, sums| !sums.is_empty());
            month
                .content
                .mark(object, entry.version, now / SECONDS_A_DAY);
            month.has_changed = true;
        }
    }
    of_fleet.retain(|_, sums| !sums.is_empty());
    of_fleet
}

fn content(mut item: Item) -> Result<VehicleMonth> {
    let content = item.remove("month");
    let content = content.ok_or_else(|| Error::permanent("a month without sums"))?;
    serde_dynamo::from_attribute_value(content).map_err(Error::permanent)
}

/// The prefix of the names of the attributes that are sums.
const SUM: &str = "sum:";

fn sums_in(item: &Item) -> Sums {
    let sums = item
        .keys()
        .filter_map(|name| Some((name.strip_prefix(SUM)?.to_owned(), number(item, name))));
    Sums(sums.filter(|(_, count)| *count != 0).collect())
}

impl UnitOfWork<'_> {
    /// Writes the months that have changed. The commit fails with `Contended` if one was written in the meantime.
    fn save_months(&mut self, fleet: &Id, months: Months) -> Result<()> {
        let changed = months.into_iter().filter(|(_, month)| month.has_changed);
        for ((vehicle, first), month) in changed {
            let key = Key::VehicleMonth {
                tenant: &self.origin.tenant,
                fleet,
                month: first,
                vehicle: &vehicle,
            };
            let mut item = new_item(key);
            let content: AttributeValue =
                serde_dynamo::to_attribute_value(&month.content).map_err(Error::internal)?;
            item.insert("month".into(), content);
            item.insert("revision".into(), n(month.revision + 1));
            let put = self.store.put_if_read(item, "revision", month.revision);
            self.push(Write::Put(put), Error::Contended);
        }
        Ok(())
    }

    /// Adds to the days of a fleet, and to its totals.
    fn save_sums(&mut self, fleet: &Id, days: &BTreeMap<Date, Sums>) {
        let mut total = Sums::default();
        for (day, sums) in days {
            total.add_all(sums, 1);
            let key = Key::FleetDay {
                tenant: &self.origin.tenant,
                fleet,
                day: *day,
            };
            let mut update = self.store.update(key);
            let mut additions = Vec::new();
            for (place, (name, count)) in sums.0.iter().enumerate() {
                update = update
                    .expression_attribute_names(format!("#s{place}"), format!("{SUM}{name}"))
                    .expression_attribute_values(format!(":s{place}"), n(count));
                additions.push(format!("#s{place} :s{place}"));
            }
            let update = update
                .update_expression(format!(
                    "ADD {} SET #schema = :schema",
                    additions.join(", ")
                ))
                .expression_attribute_names("#schema", super::layout::SCHEMA)
                .expression_attribute_values(":schema", n(super::layout::VERSION));
            self.push(Write::Update(update), Error::Contended);
        }
        if total.sessions() != 0 || total.energy() != 0 {
            self.add_to_totals(fleet, total.sessions(), total.energy());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Kind;

    fn object(number: u128) -> Id {
        Id::from_number(Kind::ChargingSession, number)
    }

    #[test]
    fn a_month_keeps_what_the_stream_may_repeat() {
        let mut month = VehicleMonth::default();
        for number in 0..20 {
            month.mark(digits(&object(number)), 3, 100);
        }
        assert_eq!(month.counted.len(), 20);
        assert!(month.has(digits(&object(0)), 3) && month.has(digits(&object(0)), 2));
        assert!(!month.has(digits(&object(0)), 4));
        month.mark(digits(&object(20)), 3, 103);
        assert_eq!(month.counted.len(), LEAST_KEPT);
        for number in 0..600 {
            month.mark(digits(&object(number)), 3, 104);
        }
        assert_eq!(month.counted.len(), MOST_KEPT);
    }

    #[test]
    fn an_entry_that_comes_again_adds_nothing() {
        let vehicle = Id::from_number(Kind::Vehicle, 1);
        let (day, other) = (
            jiff::civil::date(2026, 3, 31),
            jiff::civil::date(2026, 4, 1),
        );
        let sums = |count| Sums(BTreeMap::from([("s".to_owned(), count)]));
        let entries = [Entry {
            vehicle: vehicle.clone(),
            object: object(1),
            version: 2,
            days: vec![(day, sums(-1)), (other, sums(1))],
        }];
        let first = |day: Date| (vehicle.clone(), day.first_of_month());
        let mut months = Months::from([
            (first(day), Month::default()),
            (first(other), Month::default()),
        ]);
        let added = add_to_months(&mut months, &entries, 0);
        assert_eq!(added, BTreeMap::from([(day, sums(-1)), (other, sums(1))]));
        assert!(add_to_months(&mut months, &entries, 0).is_empty());
    }
}

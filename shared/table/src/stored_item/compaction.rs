//! How an item is kept small, and restored when it is read.
//!
//! A write of an item below a kilobyte costs half as much as one of up to two kilobytes. So nothing is stored twice, and an absent value
//! means the default. Omitted are nulls, members that other attributes repeat, members that a kind restores by itself
//! ([`super::Record::complete`]), and an internal state that is null. A session or reservation that is larger nevertheless is deflated,
//! except the members that filters read ([`super::Record::READABLE`]).

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde_json::Value;

use crate::deflate::{deflated_behind_dictionary, inflated};
use crate::item::{Item, number, s, string};
use crate::keys::{self, PAID_WITH};
use kernel::{Error, Id, Kind, Result, Tenant};

/// The maximum size of an item whose write counts as one of a kilobyte, in bytes.
pub(super) const KILOBYTE: usize = 1024;

/// The attribute with the deflated parts of an item, as JSON: the deflated members of the object and of its state, and the internal state.
const DEFLATED: &str = "deflated";

pub(super) const FLEET: &str = "fleet";
pub(crate) const STATE: &str = "state";

/// Deflates the parts of an item that need not stay readable.
pub(super) fn deflate(item: &mut Item, readable: &[&str]) -> Result<()> {
    let mut parts = Item::new();
    if !readable.contains(&"internal") {
        parts.extend(item.remove_entry("internal"));
    }
    if let Some(AttributeValue::M(object)) = item.get_mut("object") {
        if let Some(AttributeValue::M(state)) = object.get_mut(STATE) {
            let others = state.extract_if(|name, _| name != "status").collect();
            parts.insert(STATE.into(), AttributeValue::M(others));
        }
        let others = object.extract_if(|name, _| !readable.contains(&name.as_str()));
        let others = others.collect();
        parts.insert("object".into(), AttributeValue::M(others));
    }
    let parts: Value = serde_dynamo::from_item(parts).map_err(Error::internal)?;
    let deflated = deflated_behind_dictionary(parts.to_string().as_bytes())?;
    item.insert(DEFLATED.into(), deflated);
    Ok(())
}

/// Restores the deflated parts of an item.
///
/// # Errors
/// A permanent `Internal` if they cannot be read.
pub(crate) fn inflate(item: &mut Item) -> Result<()> {
    let Some(AttributeValue::B(bytes)) = item.remove(DEFLATED) else {
        return Ok(());
    };
    let parts: Value = serde_json::from_slice(&inflated(&bytes)?).map_err(Error::permanent)?;
    let mut parts: Item = serde_dynamo::to_item(parts).map_err(Error::permanent)?;
    let state = parts.remove(STATE);
    let object = parts.remove("object");
    item.extend(parts);
    if let (Some(AttributeValue::M(object)), Some(AttributeValue::M(others))) =
        (item.get_mut("object"), object)
    {
        object.extend(others);
        if let (Some(AttributeValue::M(state)), Some(AttributeValue::M(others))) =
            (object.get_mut(STATE), state)
        {
            state.extend(others);
        }
    }
    Ok(())
}

/// Returns the fleet whose list contains a session, reservation or transaction, as the key of the list names it.
pub(super) fn listed_fleet(item: &Item) -> Option<AttributeValue> {
    let fleet = Id::from(string(item, "fleet_pk").split('#').nth(2)?);
    fleet.is(Kind::Fleet).then(|| s(fleet.as_str()))
}

/// Returns whether objects of a kind have many items, so that it pays to omit values that are in their ids and keys.
fn is_frequent(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ChargingSession | Kind::Reservation | Kind::Transaction
    )
}

/// Returns the number of events that the writes of an item have recorded.
pub(super) fn recorded(item: &Item) -> u64 {
    number(item, "sequence").unsigned_abs()
}

/// The members of the object that other attributes of its item may contain.
const REPEATED: [&str; 11] = [
    "account",
    "created",
    "driver",
    "event",
    FLEET,
    "id",
    "livemode",
    "object",
    "payment_method",
    "vehicle",
    "webhook_endpoint",
];

/// An item whose other attributes contain members of the object.
struct Repeating<'a> {
    item: &'a Item,
    id: Option<(Id, Kind)>,
    tenant: Option<Tenant>,
}

impl<'a> Repeating<'a> {
    fn of(item: &'a Item) -> Self {
        let (pk, sk) = (string(item, "pk"), string(item, "sk"));
        let id = keys::id_of(pk, sk);
        Self {
            item,
            id: id.and_then(|id| id.kind().map(|kind| (id, kind))),
            tenant: keys::tenant_of(pk),
        }
    }

    /// Returns the value of a member of the object, if other attributes contain it: the id, and with it the kind and the moment of
    /// creation, the account, the mode and the endpoint of a delivery are in the key, the keys of indexes contain driver, vehicle and
    /// fleet, and a delivery contains its event.
    fn member(&self, name: &str) -> Option<AttributeValue> {
        let Self { item, .. } = self;
        let tenant = self.tenant.as_ref();
        let id = || self.id.as_ref();
        let frequent = || id().filter(|(_, kind)| is_frequent(*kind));
        match name {
            "id" => Some(s(id()?.0.as_str())),
            "object" => Some(s(id()?.1.name())),
            "account" => Some(s(tenant?.account.as_str())),
            "created" => {
                let (id, kind) = frequent()?;
                Some(s(id.time(*kind)?.to_string()))
            }
            FLEET => frequent().and_then(|_| listed_fleet(item)),
            "payment_method" => item.get(PAID_WITH).cloned(),
            "livemode" => Some(AttributeValue::Bool(tenant?.mode.is_live())),
            // The index by driver lists invoices by other keys.
            "driver" if !keys::is_invoice(string(item, "pk")) => item.get("driver_pk").cloned(),
            "event" => item.get("event").cloned(),
            "vehicle" => item.get("vehicle_pk").cloned(),
            "webhook_endpoint" => {
                let (pk, sk) = (string(item, "pk"), string(item, "sk"));
                Some(s(keys::parse_delivery(pk, sk)?.1.as_str()))
            }
            _ => None,
        }
    }
}

/// Omits the members of the object that other attributes of its item contain.
pub(super) fn omit_repeated(object: &mut AttributeValue, item: &Item) {
    if let AttributeValue::M(members) = object {
        let repeating = Repeating::of(item);
        members.retain(|name, member| {
            !REPEATED.contains(&name.as_str()) || repeating.member(name).as_ref() != Some(&*member)
        });
    }
}

/// Restores the members of the object that are not stored because other attributes of its item contain them.
pub(crate) fn restore(item: &mut Item) {
    let Some(AttributeValue::M(object)) = item.get("object") else {
        return;
    };
    let repeating = Repeating::of(item);
    let absent = REPEATED
        .into_iter()
        .filter(|name| !object.contains_key(*name));
    let found = absent.filter_map(|name| Some((name.to_owned(), repeating.member(name)?)));
    let found = found.collect::<Vec<_>>();
    if let Some(AttributeValue::M(object)) = item.get_mut("object") {
        object.extend(found);
    }
}

/// Returns an object as an attribute. Its members that are null are omitted: they are read as null. Nulls within its
/// members are kept, because the snapshots in events show them.
pub(crate) fn without_nulls<T: Serialize>(object: &T) -> Result<AttributeValue> {
    let mut value = serde_dynamo::to_attribute_value(object).map_err(Error::internal)?;
    if let AttributeValue::M(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    without_tiny_numbers(&mut value);
    Ok(value)
}

/// The smallest number besides zero that DynamoDB can store.
const LEAST: f64 = 1e-130;

/// Replaces numbers that are too small for DynamoDB by zero.
fn without_tiny_numbers(value: &mut AttributeValue) {
    match value {
        AttributeValue::N(number) if number.parse().is_ok_and(|n: f64| n.abs() < LEAST) => {
            *number = "0".into();
        }
        AttributeValue::L(values) => values.iter_mut().for_each(without_tiny_numbers),
        AttributeValue::M(members) => members.values_mut().for_each(without_tiny_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_too_small_for_the_table_is_zero() {
        let numbers = json!({"tiny": [2.6e-145, -5e-324], "small": 1e-130, "zero": 0, "one": 1.5});
        let stored: Value =
            serde_dynamo::from_attribute_value(without_nulls(&numbers).unwrap()).unwrap();
        let want = json!({"tiny": [0, 0], "small": 1e-130, "zero": 0, "one": 1.5});
        assert_eq!(stored, want);
    }
}

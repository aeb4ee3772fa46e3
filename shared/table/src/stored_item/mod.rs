//! An item that holds an object: the object as clients see it, its internal state, and the version that every write is conditional on.
//! Index keys are derived from the object, so keys and data cannot disagree.
//!
//! A write omits nulls (`without_nulls`), the members that a kind restores by itself (`compact`), and those that other attributes repeat
//! (`omit_repeated`), deflates an item above a kilobyte (`deflate`), and encrypts secrets. A read reverts these steps: it decrypts (not in
//! the stream, where secrets are masked), inflates (`inflate`), and restores the repeated members (`restore`) and those of the kind
//! (`complete`).

mod compaction;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde_json::{Map, Value};

pub(super) use compaction::{STATE, inflate, restore, without_nulls};

use super::item::{Item, n, number, s, size, string};
use super::keys::{self, Key, PAID_WITH, Partition};
use super::layout::{self, Layout, new_item};
use compaction::{FLEET, KILOBYTE, deflate, listed_fleet, omit_repeated, recorded};
use kernel::encryption::{Encrypted, EncryptionKeys};
use kernel::{Error, Id, Kind, Origin, Result, Tenant, Timestamp};
use models::event::{Cause, EventInternal, Occurrence};
use models::stored::{Object, StoredForm, Unknown};
use models::webhooks::fleets;
use models::{Event, EventType, Stored};

/// An object that has an item of its own: the keys of the item and of its index entries are derived from the object.
pub trait Record: Object {
    /// The parts of an item above a kilobyte that are not deflated: members of the object, `internal`, and of `state` only the status.
    /// Filters read them, or updates of single attributes write them. The other parts are deflated together. `None` for a kind that is
    /// never deflated.
    const READABLE: Option<&'static [&'static str]> = None;

    /// Returns the key of the item.
    fn key<'a>(&'a self, tenant: &'a Tenant, _internal: &'a Self::Internal) -> Key<'a> {
        let id = self.id();
        Key::Object { tenant, id }
    }

    /// Returns the fleet whose list of such objects contains the item.
    fn fleet(&self) -> Option<&Id> {
        None
    }

    /// Returns the lists that contain the item.
    fn lists<'a>(
        &'a self,
        tenant: &'a Tenant,
        _internal: &'a Self::Internal,
    ) -> Vec<Partition<'a>> {
        let kind = Self::KIND;
        let of_fleet = |fleet| Partition::Fleet {
            tenant,
            fleet,
            kind,
        };
        let fleet = self.fleet().map(of_fleet);
        std::iter::once(Partition::Kind { tenant, kind })
            .chain(fleet)
            .collect()
    }

    /// Returns the position of the object in its lists, which run from the highest of these ids to the lowest.
    fn list_id(&self) -> Id {
        self.id().clone()
    }

    /// Shortens the object as it is stored: data that `complete` can restore is omitted.
    fn compact(_object: &mut AttributeValue) {}

    /// Restores the data that `compact` omitted, and data that an earlier release did not store.
    fn complete(_object: &mut AttributeValue) {}

    /// Encrypts the secrets in the members `object` and `internal` of the item.
    ///
    /// # Errors
    /// `Internal` if there are no encryption keys.
    fn encrypt(
        _object: &mut AttributeValue,
        _internal: &mut AttributeValue,
        _cipher: &Cipher<'_>,
    ) -> Result<()> {
        Ok(())
    }

    /// Decrypts the secrets that `encrypt` has encrypted, but for those whose key no longer exists.
    fn decrypt(_object: &mut AttributeValue, _internal: &mut AttributeValue, _cipher: &Cipher<'_>) {
    }

    /// Returns the payment method in the entry of an open object.
    fn paid_with(&self) -> Option<&Id> {
        None
    }

    /// Returns the time from which the item may be deleted.
    fn expires(&self) -> Option<Timestamp> {
        None
    }
}

/// A record that is found by its id alone.
pub trait ById: Record {
    fn locate<'a>(tenant: &'a Tenant, id: &'a Id) -> Key<'a> {
        Key::Object { tenant, id }
    }
}

/// Returns the events that the next write of an object records, as objects of their own.
///
/// # Errors
/// `Internal` if the object has no JSON representation.
pub(super) fn events_of<T: Record>(
    stored: &Stored<T>,
    origin: &Origin,
) -> Result<Vec<Stored<Event>>> {
    let event = |(earlier, kind): (u64, &EventType)| {
        let write = Occurrence {
            subject: stored.object.id(),
            version: stored.version + 1,
            sequence: stored.recorded + earlier + 1,
        };
        let object = serde_json::to_value(&stored.object).map_err(Error::internal)?;
        let at = stored.event_time(origin.now);
        let cause = Cause {
            at,
            ..Cause::of(origin)
        };
        let fleets = fleets::besides((stored, &object), None);
        let event = Event::of(*kind, &origin.tenant, write, object, None, &cause);
        let internal = EventInternal::unplanned(at).of_fleets(fleets);
        Ok(Stored::with_internal(event, internal))
    };
    (0..).zip(stored.events()).map(event).collect()
}

/// Encrypts and decrypts the secrets of one item.
pub struct Cipher<'a> {
    keys: &'a EncryptionKeys,
    /// The key of the item, which is authenticated with each secret.
    item_key: String,
}

impl Cipher<'_> {
    pub(super) fn encrypt(&self, text: &str) -> Result<String> {
        let encrypted = self.keys.encrypt(&self.item_key, text)?;
        Ok(encrypted.as_str().to_owned())
    }

    /// Returns the text of a secret, or `None` if it cannot be decrypted. A text that an earlier release did not encrypt is returned
    /// unchanged.
    pub(super) fn readable(&self, text: &str) -> Option<String> {
        let Some(encrypted) = Encrypted::parse(text) else {
            return Some(text.to_owned());
        };
        let decrypted = self.keys.decrypt(&self.item_key, &encrypted);
        decrypted
            .inspect_err(|error| {
                tracing::error!(item.key = self.item_key, %error, "a secret cannot be decrypted");
            })
            .ok()
    }
}

/// Returns the item with its secrets encrypted.
///
/// # Errors
/// `Internal` if the item has secrets and there are no keys.
pub(super) fn encrypted<T: Record>(item: Item, keys: &EncryptionKeys) -> Result<Item> {
    crypted(item, keys, T::encrypt)
}

/// Returns the item with its secrets decrypted. A function without keys reads them masked, as every function does those whose key is lost.
pub(super) fn decrypted<T: Record>(item: Item, keys: &EncryptionKeys) -> Result<Item> {
    if keys.is_empty() {
        return Ok(item);
    }
    crypted(item, keys, |object, internal, cipher| {
        T::decrypt(object, internal, cipher);
        Ok(())
    })
}

fn crypted(
    mut item: Item,
    keys: &EncryptionKeys,
    crypt: impl FnOnce(&mut AttributeValue, &mut AttributeValue, &Cipher<'_>) -> Result<()>,
) -> Result<Item> {
    let item_key = format!("{} {}", string(&item, "pk"), string(&item, "sk"));
    let cipher = Cipher { keys, item_key };
    if let Some(mut object) = item.remove("object") {
        let internal = item.remove("internal");
        let mut internal = internal.unwrap_or(AttributeValue::Null(true));
        crypt(&mut object, &mut internal, &cipher)?;
        item.insert("object".into(), object);
        if !internal.is_null() {
            item.insert("internal".into(), internal);
        }
    }
    Ok(item)
}

/// Returns the text of a member.
pub(super) fn text_in<'a>(value: &'a mut AttributeValue, name: &str) -> Option<&'a mut String> {
    let AttributeValue::M(members) = value else {
        return None;
    };
    match members.get_mut(name) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}

/// Returns the item that the next write of the object puts, before its secrets are encrypted.
///
/// # Errors
/// `Internal` if the object cannot be represented as attributes.
pub(super) fn to_item<T: Record>(stored: &Stored<T>, origin: &Origin) -> Result<Item> {
    let mut item = keys_of(stored, &origin.tenant);
    if let Some(at) = stored.object.expires() {
        item.insert("ttl".into(), n(at.unix_seconds()));
    }
    if let Some(request) = Cause::of(origin).request {
        item.insert("request".into(), without_nulls(&request)?);
    }
    // An event is written once. No action follows when its deliveries are planned, so it is not relayed then.
    if T::KIND != Kind::Event || stored.next_action_at().is_some() {
        item.insert("version".into(), n(stored.version + 1));
    }
    let mut object = without_nulls(&StoredForm(&stored.object))?;
    T::compact(&mut object);
    if !stored.events().is_empty() {
        let names = stored.events().iter().map(|kind| s(kind.as_str()));
        item.insert("events".into(), AttributeValue::L(names.collect()));
    }
    let last_event = match stored.events() {
        [] => stored.last_event,
        _ => Some(stored.event_time(origin.now)),
    };
    if let Some(written) = last_event.map(|at| at.to_string())
        && text_in(&mut object, "updated").is_none_or(|updated| *updated < written)
    {
        item.insert("written".into(), s(written));
    }
    let recorded = stored.recorded + stored.events().len() as u64;
    if recorded > 0 {
        item.insert("sequence".into(), n(recorded));
    }
    omit_repeated(&mut object, &item);
    item.insert("object".into(), object);
    let mut internal = without_nulls(&stored.internal)?;
    if let (Kind::Reservation, AttributeValue::M(members)) = (T::KIND, &mut internal) {
        members
            .retain(|name, member| name != FLEET || listed_fleet(&item).as_ref() != Some(member));
    }
    if !internal.is_null() {
        item.insert("internal".into(), internal);
    }
    if let Some(unknown) = stored.unknown() {
        keep_unknown(&mut item, unknown)?;
    }
    if let Some(readable) = T::READABLE.filter(|_| size(&item) > KILOBYTE) {
        deflate(&mut item, readable)?;
    }
    Ok(item)
}

/// Returns the keys of the item and of its entries in indexes.
fn keys_of<T: Record>(stored: &Stored<T>, tenant: &Tenant) -> Item {
    let mut item = new_item(stored.object.key(tenant, &stored.internal));
    let lists = stored.object.lists(tenant, &stored.internal);
    let list_id = stored.object.list_id();
    if !lists.is_empty() {
        item.insert("list_sk".into(), s(list_id.as_str()));
    }
    for list in lists {
        let (index, _) = list.place();
        item.insert(keys::hash_key_of(index), s(list.value_of(&list_id)));
        if index == "network" {
            item.insert("network_sk".into(), s(list_id.as_str()));
        }
    }
    if let Some(method) = stored.object.paid_with() {
        item.insert(PAID_WITH.into(), s(method.as_str()));
    }
    if let Some(at) = stored.next_action_at() {
        let partition = keys::next_action_partition(string(&item, "pk"), string(&item, "sk"));
        item.insert("next_pk".into(), s(partition));
        item.insert("next_at".into(), s(at.to_string()));
    }
    item
}

/// Returns the time of the write that has recorded the events of an item.
fn written(item: &Item) -> Option<Timestamp> {
    let written = item.get("written").or_else(|| match item.get("object")? {
        AttributeValue::M(object) => object.get("updated"),
        _ => None,
    });
    Timestamp::parse(written?.as_s().ok()?).ok()
}

/// Reads an object from its item with the layout of this release. An item without an internal state has the defaults.
///
/// # Errors
/// A permanent `Internal` if the item is not of this kind.
pub(super) fn from_item<T: Record>(item: Item) -> Result<Stored<T>> {
    read(item, Layout::CURRENT)
}

/// Reads an object from an item of the stream. Secrets are masked.
///
/// # Errors
/// A permanent `Internal` if the item is not of this kind.
pub fn decode<T: Record>(item: serde_dynamo::Item) -> Result<Stored<T>> {
    from_item(item.into())
}

/// Reads an object from its item with the layout of a release.
///
/// # Errors
/// A permanent `Internal` if the item is not of this kind.
pub(super) fn read<T: Record>(item: Item, layout: Layout) -> Result<Stored<T>> {
    let mut item = layout.upgraded(T::KIND, item);
    inflate(&mut item)?;
    if let (Kind::Reservation, Some(fleet)) = (T::KIND, listed_fleet(&item))
        && let Some(AttributeValue::M(internal)) = item.get_mut("internal")
    {
        internal.entry(FLEET.to_owned()).or_insert(fleet);
    }
    let version = number(&item, "version").unsigned_abs().max(1);
    let recorded = recorded(&item);
    let newer = layout.newer(&item).map(|schema| (schema, item.clone()));
    let last_event = written(&item);
    let object: T = object_in(&mut item)?;
    let internal = match item.remove("internal") {
        None => T::Internal::default(),
        Some(internal) => serde_dynamo::from_attribute_value(internal).map_err(Error::permanent)?,
    };
    let unknown = newer.map(|(schema, item)| unknown(schema, item, &object, &internal));
    let unknown = unknown.transpose()?;
    let read = Stored::read(object, internal, version).having_recorded(recorded, last_event);
    Ok(read.holding(unknown))
}

/// Reads only the object of an item, with the layout of a release. Secrets are masked.
///
/// # Errors
/// A permanent `Internal` if the item is not of this kind.
pub(super) fn object<T: Record>(item: Item, layout: Layout) -> Result<T> {
    let mut item = layout.upgraded(T::KIND, item);
    inflate(&mut item)?;
    object_in(&mut item)
}

fn object_in<T: Record>(item: &mut Item) -> Result<T> {
    restore(item);
    let object = item.remove("object");
    let mut object = object.ok_or_else(|| Error::permanent("an item without an object"))?;
    T::complete(&mut object);
    serde_dynamo::from_attribute_value(object).map_err(Error::permanent)
}

/// The attributes of an item that holds an object.
const ATTRIBUTES: &[&str] = &[
    "events",
    "internal",
    layout::KEPT,
    "object",
    "outline",
    PAID_WITH,
    "place",
    "request",
    layout::SCHEMA,
    "sequence",
    "ttl",
    "version",
    "written",
];

/// Returns the content of an item besides the object and its internal state.
fn unknown<T: Record>(
    schema: u32,
    mut item: Item,
    object: &T,
    internal: &T::Internal,
) -> Result<Unknown> {
    fn besides<T: Serialize>(
        value: Option<AttributeValue>,
        known: &T,
    ) -> Result<Map<String, Value>> {
        let Some(value @ AttributeValue::M(_)) = value else {
            return Ok(Map::new());
        };
        let mut members: Map<String, Value> =
            serde_dynamo::from_attribute_value(value).map_err(Error::permanent)?;
        if let Value::Object(known) = serde_json::to_value(known).map_err(Error::internal)? {
            members.retain(|name, _| !known.contains_key(name));
        }
        Ok(members)
    }
    let object = besides(item.remove("object"), &StoredForm(object))?;
    let internal = besides(item.remove("internal"), internal)?;
    let is_key = |name: &str| name.ends_with("pk") || name.ends_with("sk") || name == "next_at";
    item.retain(|name, _| !is_key(name) && !ATTRIBUTES.contains(&name.as_str()));
    Ok(Unknown {
        schema,
        item: serde_dynamo::from_item(item).map_err(Error::permanent)?,
        object,
        internal,
    })
}

/// Adds the content that a newer release has written to an item that replaces it.
fn keep_unknown(item: &mut Item, unknown: &Unknown) -> Result<()> {
    fn add(members: &mut Item, unknown: &Map<String, Value>) -> Result<()> {
        for (name, value) in unknown {
            let value = serde_dynamo::to_attribute_value(value).map_err(Error::internal)?;
            members.entry(name.clone()).or_insert(value);
        }
        Ok(())
    }
    item.insert(layout::KEPT.into(), n(unknown.schema));
    for (part, members) in [("object", &unknown.object), ("internal", &unknown.internal)] {
        if let Some(AttributeValue::M(value)) = item.get_mut(part) {
            add(value, members)?;
        }
    }
    add(item, &unknown.item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Mode;
    use kernel::origin::Idempotency;
    use kernel::scope::Rights;
    use kernel::time::seconds;
    use models::{Fleet, event};
    use serde_json::json;

    fn origin() -> Origin {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        Origin {
            request: Some(Id::from_number(Kind::Request, 2)),
            idempotency: Some(Idempotency {
                key: "k".into(),
                fingerprint: "f".into(),
                rights: Rights::default(),
            }),
            ..Origin::background(tenant, Timestamp::parse("2026-03-01T08:00:00Z").unwrap())
        }
    }

    fn fleet() -> Fleet {
        let id = Id::from_number(Kind::Fleet, 3);
        let at = "2026-03-01T08:00:00.000Z";
        let json = json!({"id": id, "object": "fleet", "created": at, "description": "", "email": "a@b.example",
            "address": {"city": "London", "country": "GB", "line1": "1", "line2": "", "postal_code": "E3", "state": ""},
            "metadata": {}, "metric_system": "international_system", "name": "N", "phone": null, "policy_ids": [],
            "preferences": {"billing_cycle": "monthly", "default_currency": "usd", "default_payment_method": null,
                "notifications": true, "report_frequency": "weekly"},
            "status": "active", "timezone": "UTC", "total_drivers": 0, "total_energy_consumed_kwh": 0.0,
            "total_sessions": 0, "total_vehicles": 0, "updated": at, "wallet_balance": 0});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_stored_object_has_this_item() {
        let stored = Stored::new(fleet()).recording(EventType::FleetCreated);
        let item = to_item(&stored, &origin()).unwrap();
        let item: Value = serde_dynamo::from_item(item).unwrap();
        let tenant = "acct_00000000000000000000000000000001#test";
        let id = "flt_00000000000000000000000000000003";
        let mut object = serde_json::to_value(fleet()).unwrap();
        // Null members are omitted, also of billing details, and so are id and kind, which are in the key. An integer stays an integer.
        for absent in ["billing_details", "phone", "id", "object"] {
            object.as_object_mut().unwrap().remove(absent);
        }
        object["total_energy_consumed_kwh"] = json!(0);
        let want = json!({"pk": format!("{tenant}#{id}"), "sk": "#", "ids_pk": format!("{tenant}#fleet"), "list_sk": id,
            "network_pk": format!("{tenant}#fleet#EMAIL#a@b.example"), "network_sk": id,
            "schema": 1, "version": 1, "events": ["fleet.created"], "sequence": 1, "object": object, "internal": {},
            "request": {"id": "req_00000000000000000000000000000002", "idempotency_key": "k"}});
        assert_eq!(item, want);
    }

    #[test]
    fn an_item_reads_back_without_the_events_it_had_recorded() {
        let stored = Stored::new(fleet()).recording(EventType::FleetCreated);
        let read = from_item::<Fleet>(to_item(&stored, &origin()).unwrap()).unwrap();
        let as_read =
            Stored::read(stored.object, stored.internal, 1).having_recorded(1, Some(origin().now));
        assert_eq!(read, as_read);
        let item = to_item(&read, &origin()).unwrap();
        assert!(!item.contains_key("events"));
        assert_eq!(from_item::<Fleet>(item).unwrap().version, 2);
    }

    #[test]
    fn events_of_writes_that_overtook_each_other_are_in_their_order() {
        let late = Origin {
            now: origin().now.plus(seconds(1)),
            ..origin()
        };
        let mut stored = Stored::new(fleet());
        let mut times = Vec::new();
        for (origin, is_reported) in [
            (late, true),
            (origin(), true),
            (origin(), false),
            (origin(), true),
        ] {
            stored.object.updated = origin.now;
            if is_reported {
                stored.record(EventType::FleetUpdated);
                times.extend(
                    events_of(&stored, &origin)
                        .unwrap()
                        .iter()
                        .map(|event| event.object.created),
                );
            }
            stored = from_item(to_item(&stored, &origin).unwrap()).unwrap();
            times.extend(stored.last_event.filter(|_| is_reported));
        }
        assert_eq!(times, [times[0]; 6]);
    }

    #[test]
    fn events_are_numbered_over_all_writes_of_an_object() {
        let mut stored = Stored::new(fleet());
        let mut numbers = Vec::new();
        for events in [0, 1, 2, 0, 3] {
            for _ in 0..events {
                stored.record(EventType::FleetUpdated);
            }
            let noted = events_of(&stored, &origin()).unwrap();
            numbers.extend(noted.iter().map(|event| event.object.sequence));
            let item = to_item(&stored, &origin()).unwrap();
            // Counting writes remove the events of an item. The number stays.
            assert_eq!(item.contains_key("sequence"), !numbers.is_empty());
            stored = from_item(item).unwrap();
            assert_eq!(stored.recorded, numbers.len() as u64);
        }
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_item_is_in_the_next_action_index_while_work_is_pending() {
        let event = json!({"id": Id::from_number(Kind::Event, 4), "object": "event", "account": "acct_1",
            "api_version": "2026-03-01", "created": "2026-03-01T08:00:00Z", "data": {"object": {}}, "livemode": false,
            "pending_webhooks": 0, "request": null, "type": "ping"});
        let event: Event = serde_json::from_value(event).unwrap();
        let waiting = Stored::with_internal(event.clone(), EventInternal::unplanned(origin().now));
        let item = to_item(&waiting, &origin()).unwrap();
        assert_eq!(
            super::super::item::string(&item, "next_at"),
            "2026-03-01T08:00:00.000Z"
        );
        assert!(super::super::item::string(&item, "next_pk").starts_with("NEXT#"));
        assert_eq!(
            number(&item, "ttl"),
            event.created.plus(event::KEPT).unix_seconds()
        );
        let done = Stored::with_internal(event, EventInternal::planned(Vec::new()));
        let done = to_item(&done, &origin()).unwrap();
        assert!(!done.contains_key("next_pk") && !done.contains_key("next_at"));
    }
}

//! Objects as they are received: whether an object is newer than the stored one, and the result of an update.
//!
//! An object is stored as JSON, with every member that was sent, and shown as it was received. An update that is older than the stored
//! object changes nothing, and the response is a success, because updates may arrive late or out of order. `last_updated` decides.
//!
//! The clocks of other parties are not trusted. A `last_updated` of more than an hour ahead counts as the time of receipt, which is stored
//! beside it in the member `#received` of the stored object, EVSE or connector. That member is neither accepted from a sender nor shown. A
//! stored `last_updated` of more than an hour ahead without it counts as older than any update.
//!
//! The standard asks for the status `REMOVED` of an EVSE that is removed. The EVSEs that a location has lost without it are kept in the
//! member `#dropped`, likewise, because a session at one of them may be reported or billed later.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::cost::ChargingPeriod;
use super::envelope::StatusCode;
use super::periods::{MAX_ADDED, PERIODS, bounded};
use super::reader;
use kernel::Timestamp;
use models::network::is_believed;
pub use models::network::{Module, ObjectId};

/// The reason why an object is refused, for the party that sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The path names no object: HTTP 404.
    NotFound(&'static str),
    /// The content is wrong: HTTP 200 with a status code.
    Invalid(StatusCode, String),
    /// The object has become larger than [`MAX_OBJECT`]: HTTP 413.
    TooLarge,
}

impl Refusal {
    /// Returns a refusal with status code 2001.
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::Invalid(StatusCode::INVALID_PARAMETERS, message.into())
    }
}

/// The maximum size of an object in bytes with all of its updates. An item of DynamoDB has at most 400 KB.
pub const MAX_OBJECT: usize = 320 * 1024;

/// The result of an update of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The update is older than the stored object, or the same: nothing changes.
    Stale,
    New(Value),
    Changed(Value),
}

impl Update {
    /// Returns the update, unless the object has become too large by it.
    ///
    /// # Errors
    /// A refusal if the object has more than [`MAX_OBJECT`] bytes.
    pub fn bounded(self) -> Result<Self, Refusal> {
        let size = |value: &Value| value.to_string().len();
        match &self {
            // What is kept besides the object makes room for it.
            Self::New(object) | Self::Changed(object)
                if size(object) - object.get(DROPPED).map_or(0, size) > MAX_OBJECT =>
            {
                Err(Refusal::TooLarge)
            }
            _ => Ok(self),
        }
    }
}

/// Returns `last_updated` of an object.
///
/// # Errors
/// A refusal if it is missing or not a timestamp.
pub fn last_updated(object: &Value) -> Result<Timestamp, Refusal> {
    let missing = || Refusal::parameter("last_updated: is required");
    let text = object.get("last_updated").and_then(Value::as_str);
    reader::timestamp(text.ok_or_else(missing)?)
        .map_err(|why| Refusal::parameter(format!("last_updated: {why}")))
}

/// The time at which an object was received whose `last_updated` is implausible.
const RECEIVED: &str = "#received";

/// The EVSEs that a location has had, and the maximum number of them. Together with them the location has at most [`MAX_OBJECT`] bytes.
const DROPPED: &str = "#dropped";
const MAX_DROPPED: usize = 50;

/// The members of a stored object with the time of its update.
pub const TIMES: [&str; 2] = ["last_updated", RECEIVED];

/// The lists of a location and of an EVSE whose members have a `last_updated` of their own.
const PARTS: [&str; 2] = ["evses", "connectors"];

/// Returns the time of a stored object's update: the time of receipt if its `last_updated` is implausible; `None` if that is not stored.
pub fn updated_at(stored: &Value, now: Timestamp) -> Option<Timestamp> {
    let received = stored.get(RECEIVED).and_then(Value::as_str);
    match received.and_then(|text| Timestamp::parse(text).ok()) {
        Some(received) => Some(received),
        None => last_updated(stored).ok().filter(|at| is_believed(*at, now)),
    }
}

/// Returns whether an update is older than the stored object.
fn is_older(update: &Value, stored: &Value, now: Timestamp) -> bool {
    let times = updated_at(update, now).zip(updated_at(stored, now));
    times.is_some_and(|(updated, stored)| updated < stored)
}

/// Returns the object as it is stored: with the time of receipt if its `last_updated`, or that of a part, is implausible.
fn received_at(mut object: Value, now: Timestamp) -> Value {
    fn note(object: &mut Value, now: Timestamp) {
        let is_late = last_updated(object).is_ok_and(|at| !is_believed(at, now));
        let Some(members) = object.as_object_mut() else {
            return;
        };
        members.remove(RECEIVED);
        if is_late {
            members.insert(RECEIVED.into(), now.to_string().into());
        }
        for part in parts_of(members) {
            note(part, now);
        }
    }
    note(&mut object, now);
    object
}

/// Returns a stored object as it was received.
pub fn as_received(stored: &Value) -> Value {
    fn forget(object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            members.remove(RECEIVED);
            members.remove(DROPPED);
            parts_of(members).for_each(forget);
        }
    }
    let mut object = stored.clone();
    forget(&mut object);
    object
}

/// Returns a location as it is stored in place of another: with the EVSEs that it has lost, the latest first, as far as there is room for
/// them.
#[must_use]
pub fn keeping_dropped(mut location: Value, stored: Option<&Value>) -> Value {
    let list = |location: &Value, name: &str| -> Vec<Value> {
        let list = location.get(name).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let uid = |evse: &Value| text_of(evse, "uid").map(|uid| uid.to_ascii_lowercase());
    let present: BTreeSet<_> = list(&location, "evses").iter().map(uid).collect();
    let names = ["evses", DROPPED].into_iter();
    let known = names.flat_map(|name| stored.map_or_else(Vec::new, |stored| list(stored, name)));
    let dropped = known.filter(|evse| !present.contains(&uid(evse)));
    if let Some(members) = location.as_object_mut() {
        members.remove(DROPPED);
    }
    let mut left = MAX_OBJECT.saturating_sub(location.to_string().len());
    let has_room = |evse: &Value| {
        let rest = left.checked_sub(evse.to_string().len());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let dropped = dropped.take(MAX_DROPPED).take_while(has_room);
    let dropped: Vec<Value> = dropped.collect();
    if !dropped.is_empty()
        && let Some(members) = location.as_object_mut()
    {
        members.insert(DROPPED.into(), dropped.into());
    }
    location
}

fn parts_of(members: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    let lists = members.iter_mut();
    let lists = lists.filter(|(name, _)| PARTS.contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// Returns whether two objects were received with the same content, whatever the time of receipt.
pub fn is_same(value: &Value, other: &Value) -> bool {
    value == other || as_received(value) == as_received(other)
}

/// Returns the text of a member; a number counts as its digits.
pub fn text_of(object: &Value, name: &str) -> Option<String> {
    match object.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Checks that a member of the object matches the path, ignoring case.
///
/// # Errors
/// A refusal if the member is missing or differs.
pub fn check_member(object: &Value, name: &str, expected: &str) -> Result<(), Refusal> {
    match text_of(object, name) {
        Some(text) if text.eq_ignore_ascii_case(expected) => Ok(()),
        Some(_) => Err(Refusal::parameter(format!("{name}: differs from the path"))),
        None => Err(Refusal::parameter(format!("{name}: is required"))),
    }
}

/// Checks that an object is the one of the path, and belongs to the party of the path.
///
/// # Errors
/// A refusal if a member is missing or differs from the path.
pub fn check_identity(object: &Value, id: &ObjectId) -> Result<(), Refusal> {
    check_member(object, "country_code", id.party().country_code())?;
    check_member(object, "party_id", id.party().party_id())?;
    check_member(object, "id", id.id().as_str())
}

/// Applies an object that is sent as a whole. An object without `last_updated` counts as newer than the stored one: the member is required,
/// but examples of the standard lack it.
///
/// # Errors
/// A refusal if it is not an object, or `last_updated` is not a timestamp.
pub fn put(stored: Option<&Value>, object: Value, now: Timestamp) -> Result<Update, Refusal> {
    match members(&object)?.get("last_updated") {
        None | Some(Value::Null) => {}
        Some(_) => drop(last_updated(&object)?),
    }
    let object = received_at(object, now);
    Ok(match stored {
        None => Update::New(object),
        Some(stored) if is_older(&object, stored, now) || is_same(stored, &object) => Update::Stale,
        Some(_) => Update::Changed(object),
    })
}

fn members(object: &Value) -> Result<&Map<String, Value>, Refusal> {
    let members = object.as_object();
    members.ok_or_else(|| Refusal::parameter("expected a JSON object"))
}

/// Returns the object with the members of a partial update; omitted members keep their values.
fn merged(stored: &Value, patch: &Value) -> Result<Value, Refusal> {
    let mut merged = stored.clone();
    if let (Some(merged), patch) = (merged.as_object_mut(), members(patch)?) {
        // The update has its own time.
        merged.remove(RECEIVED);
        for (name, member) in patch {
            merged.insert(name.clone(), member.clone());
        }
    }
    Ok(merged)
}

/// Applies a partial update of an object.
///
/// # Errors
/// A refusal if it is not an object, lacks `last_updated`, or changes a member that identifies the object.
pub fn patch(
    stored: &Value,
    patch: &Value,
    identity: &[&str],
    now: Timestamp,
) -> Result<Update, Refusal> {
    for name in identity {
        if patch.get(*name).is_some()
            && let Some(own) = text_of(stored, name)
        {
            check_member(patch, name, &own)?;
        }
    }
    last_updated(patch)?;
    let patch = received_at(patch.clone(), now);
    let merged = merged(stored, &patch)?;
    if is_older(&patch, stored, now) || is_same(stored, &merged) {
        return Ok(Update::Stale);
    }
    Ok(Update::Changed(merged))
}

/// The members that identify an object of a party.
pub const IDENTITY: [&str; 3] = ["country_code", "party_id", "id"];

/// Applies a partial update of a session. Charging periods are added to the existing ones; a period that exists already is not added again,
/// so that an update which arrives twice has its effect once. The oldest periods of a session that becomes too large are merged
/// ([`super::periods`]).
///
/// # Errors
/// As for [`patch`]; a refusal if `charging_periods` is not a list of at most [`MAX_ADDED`] charging periods.
pub fn patch_session(stored: &Value, sent: &Value, now: Timestamp) -> Result<Update, Refusal> {
    let mut sent = sent.clone();
    let added = match sent.as_object_mut().and_then(|sent| sent.remove(PERIODS)) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(periods)) => checked_periods(periods)?,
        Some(_) => return Err(Refusal::parameter("charging_periods: expected a list")),
    };
    if !added.is_empty() {
        let stored = stored.get(PERIODS).and_then(Value::as_array);
        let mut periods = stored.cloned().unwrap_or_default();
        // The text of a value is the same for equal values: members are in the order of their names.
        let mut known: HashSet<String> = periods.iter().map(Value::to_string).collect();
        periods.extend(
            added
                .into_iter()
                .filter(|period| known.insert(period.to_string())),
        );
        sent[PERIODS] = Value::Array(periods);
    }
    Ok(match patch(stored, &sent, &IDENTITY, now)? {
        Update::Changed(session) => Update::Changed(bounded(session)),
        other => other,
    })
}

/// Returns the charging periods that an update adds.
///
/// # Errors
/// A refusal if there are more than [`MAX_ADDED`], or one cannot be read.
fn checked_periods(added: Vec<Value>) -> Result<Vec<Value>, Refusal> {
    let count = added.len();
    if count > MAX_ADDED {
        let message = format!("{PERIODS}: an update adds at most {MAX_ADDED}, not {count}");
        return Err(Refusal::parameter(message));
    }
    let added = Value::Array(added);
    reader::lenient::<Vec<ChargingPeriod>>(&added)
        .map_err(|why| Refusal::parameter(format!("{PERIODS}{why}")))?;
    Ok(match added {
        Value::Array(added) => added,
        _ => Vec::new(),
    })
}

/// The location, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    Location,
    Evse(&'a str),
    Connector(&'a str, &'a str),
}

/// Returns the part of a location.
pub fn part<'a>(location: &'a Value, part: &Part<'_>) -> Option<&'a Value> {
    match part {
        Part::Location => Some(location),
        Part::Evse(uid) => find(location, "evses", "uid", uid),
        Part::Connector(uid, id) => {
            find(find(location, "evses", "uid", uid)?, "connectors", "id", id)
        }
    }
}

fn place(owner: &Value, list: &str, name: &str, id: &str) -> Option<usize> {
    let parts = owner.get(list)?.as_array()?;
    parts
        .iter()
        .position(|part| text_of(part, name).is_some_and(|own| own.eq_ignore_ascii_case(id)))
}

fn find<'a>(owner: &'a Value, list: &str, name: &str, id: &str) -> Option<&'a Value> {
    owner.get(list)?.get(place(owner, list, name, id)?)
}

/// Puts a part into a list of its owner, in place of the one with the same id or at the end.
fn set(owner: &mut Value, list: &str, name: &str, id: &str, part: Value) -> Result<(), Refusal> {
    let at = place(owner, list, name, id);
    let members = owner.as_object_mut();
    let members = members.ok_or_else(|| Refusal::parameter("the stored object is damaged"))?;
    let parts = members.entry(list).or_insert(Value::Null);
    if !parts.is_array() {
        *parts = Value::Array(Vec::new());
    }
    if let Some(parts) = parts.as_array_mut() {
        match at {
            Some(at) => parts[at] = part,
            None => parts.push(part),
        }
    }
    Ok(())
}

/// Sets the times of the owner of a part to those of the part, unless the owner is newer.
fn touch(owner: &mut Value, part: &Value, now: Timestamp) {
    let Some(updated) = updated_at(part, now) else {
        return;
    };
    if updated_at(owner, now).is_none_or(|own| own < updated)
        && let Some(members) = owner.as_object_mut()
    {
        for name in TIMES {
            match part.get(name) {
                Some(time) => members.insert(name.into(), time.clone()),
                None => members.remove(name),
            };
        }
    }
}

const NO_LOCATION: Refusal = Refusal::NotFound("There is no such location.");
const NO_EVSE: Refusal = Refusal::NotFound("There is no such EVSE at the location.");
const NO_CONNECTOR: Refusal = Refusal::NotFound("There is no such connector at the EVSE.");

/// Returns the location with a part in it that has this state.
fn with_part(
    location: &Value,
    part: &Part<'_>,
    new: Value,
    now: Timestamp,
) -> Result<Value, Refusal> {
    match part {
        Part::Location => Ok(new),
        Part::Evse(uid) => {
            let mut location = location.clone();
            touch(&mut location, &new, now);
            set(&mut location, "evses", "uid", uid, new)?;
            Ok(location)
        }
        Part::Connector(uid, id) => {
            let mut evse = self::part(location, &Part::Evse(uid))
                .ok_or(NO_EVSE)?
                .clone();
            touch(&mut evse, &new, now);
            set(&mut evse, "connectors", "id", id, new)?;
            with_part(location, &Part::Evse(uid), evse, now)
        }
    }
}

/// Applies a location, an EVSE or a connector that is sent as a whole. Returns the resulting location.
///
/// # Errors
/// A refusal if the location of a part, or the EVSE of a connector, does not exist; if `last_updated` is not a timestamp; or if the id
/// differs from the path.
pub fn put_part(
    stored: Option<&Value>,
    at: &Part<'_>,
    object: Value,
    now: Timestamp,
) -> Result<Update, Refusal> {
    match at {
        Part::Location => return put(stored, object, now),
        Part::Evse(uid) => check_member(&object, "uid", uid)?,
        Part::Connector(_, id) => check_member(&object, "id", id)?,
    }
    let location = stored.ok_or(NO_LOCATION)?;
    let before = part(location, at);
    Ok(match put(before, object, now)? {
        Update::Stale => Update::Stale,
        Update::New(object) => Update::New(with_part(location, at, object, now)?),
        Update::Changed(object) => Update::Changed(with_part(location, at, object, now)?),
    })
}

/// Applies a partial update of a location, an EVSE or a connector. Returns the resulting location.
///
/// # Errors
/// A refusal if there is no such object, or if the update lacks `last_updated` or changes the object's id.
pub fn patch_part(
    stored: Option<&Value>,
    at: &Part<'_>,
    sent: &Value,
    now: Timestamp,
) -> Result<Update, Refusal> {
    let location = stored.ok_or(NO_LOCATION)?;
    let (missing, identity): (_, &[&str]) = match at {
        Part::Location => (NO_LOCATION, &IDENTITY),
        Part::Evse(_) => (NO_EVSE, &["uid"]),
        Part::Connector(..) => (NO_CONNECTOR, &["id"]),
    };
    let before = part(location, at).ok_or(missing)?;
    Ok(match patch(before, sent, identity, now)? {
        Update::Changed(object) => Update::Changed(with_part(location, at, object, now)?),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::{days, hours, minutes};
    use kernel::{Id, Kind};
    use models::network::{Owner, PartyId};
    use serde_json::json;

    fn now() -> Timestamp {
        Timestamp::parse("2019-06-24T13:00:00Z").unwrap()
    }

    #[test]
    fn evses_that_a_location_has_lost_are_kept_and_not_shown() {
        let evses =
            |uids: &[&str]| -> Value { uids.iter().map(|uid| json!({"uid": uid})).collect() };
        // A sender has no influence on what is kept.
        let sent =
            |uids: &[&str]| json!({"id": "L", "evses": evses(uids), "#dropped": evses(&["X"])});
        let first = keeping_dropped(sent(&["A", "B"]), None);
        assert_eq!(first.get(DROPPED), None);
        let second = keeping_dropped(sent(&["b"]), Some(&first));
        let third = keeping_dropped(sent(&["C"]), Some(&second));
        assert_eq!(third[DROPPED], evses(&["b", "A"]));
        let fourth = keeping_dropped(sent(&["C", "a"]), Some(&third));
        assert_eq!(fourth[DROPPED], evses(&["b"]));
        let shown = json!({"id": "L", "evses": evses(&["C", "a"])});
        assert_eq!(as_received(&fourth), shown);
        let many: Vec<String> = (0..99).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let last = keeping_dropped(
            sent(&["C"]),
            Some(&keeping_dropped(sent(&many), Some(&fourth))),
        );
        assert_eq!(last[DROPPED], evses(&many[..MAX_DROPPED]));
    }

    fn location() -> Value {
        json!({"country_code": "BE", "party_id": "BEC", "id": "LOC1", "vendor": {"x": 1}, "name": "Gent",
            "last_updated": "2019-06-24T12:00:00Z",
            "evses": [{"uid": "3256", "status": "AVAILABLE", "last_updated": "2019-06-24T11:00:00Z",
                "connectors": [{"id": "1", "tariff_ids": ["11"], "last_updated": "2019-06-24T10:00:00Z"}]}]})
    }

    fn changed(update: Result<Update, Refusal>) -> Value {
        match update.unwrap() {
            Update::New(object) | Update::Changed(object) => object,
            Update::Stale => panic!("the update is older"),
        }
    }

    #[test]
    fn an_older_update_changes_nothing() {
        let stored = location();
        for (at, before) in [
            (Part::Location, "2019-06-24T11:59:59Z"),
            (Part::Evse("3256"), "2019-06-24T10:59:59Z"),
            (Part::Connector("3256", "1"), "2019-06-24T09:59:59Z"),
        ] {
            let sent = json!({"status": "CHARGING", "last_updated": before});
            assert_eq!(
                patch_part(Some(&stored), &at, &sent, now()),
                Ok(Update::Stale)
            );
        }
        let mut older = stored.clone();
        older["last_updated"] = json!("2019-06-24T11:00:00");
        older["name"] = json!("Brugge");
        assert_eq!(put(Some(&stored), older, now()), Ok(Update::Stale));
        assert_eq!(put(Some(&stored), stored.clone(), now()), Ok(Update::Stale));
        let undated = json!({"id": "LOC1", "last_updated": null});
        assert_eq!(
            put(Some(&stored), undated.clone(), now()),
            Ok(Update::Changed(undated))
        );
    }

    #[test]
    fn patching_a_connector_updates_last_updated_of_its_parents() {
        let stored = location();
        let sent = json!({"tariff_ids": ["12"], "last_updated": "2019-06-24T12:30:00Z"});
        let at = Part::Connector("3256", "1");
        let after = changed(patch_part(Some(&stored), &at, &sent, now()));
        let evse = part(&after, &Part::Evse("3256")).unwrap();
        assert_eq!(after["last_updated"], sent["last_updated"]);
        assert_eq!(evse["last_updated"], sent["last_updated"]);
        assert_eq!(part(&after, &at).unwrap()["tariff_ids"], json!(["12"]));
        assert_eq!(
            (&after["vendor"], &evse["status"]),
            (&stored["vendor"], &json!("AVAILABLE"))
        );
        // The location is newer than a status that was late, but the EVSE is not.
        let late = json!({"status": "CHARGING", "last_updated": "2019-06-24T11:30:00Z"});
        let after = changed(patch_part(Some(&stored), &Part::Evse("3256"), &late, now()));
        assert_eq!(after["last_updated"], stored["last_updated"]);
        assert_eq!(after["evses"][0]["status"], "CHARGING");
    }

    #[test]
    fn an_evse_is_added_and_ids_are_case_insensitive() {
        let evse = json!({"uid": "A", "status": "PLANNED", "last_updated": "2019-06-24T12:39:09Z"});
        let stored = location();
        let added = put_part(Some(&stored), &Part::Evse("a"), evse.clone(), now()).unwrap();
        let Update::New(after) = added else {
            panic!("the EVSE is new");
        };
        assert_eq!(part(&after, &Part::Evse("a")), Some(&evse));
        assert_eq!(after["evses"].as_array().unwrap().len(), 2);
        let none = json!({"country_code": "BE", "id": "LOC2", "evses": null, "last_updated": "2019-06-24T12:00:00Z"});
        let after = changed(put_part(Some(&none), &Part::Evse("A"), evse, now()));
        assert_eq!(after["evses"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let (stored, sent) = (
            location(),
            json!({"id": "9", "uid": "9", "last_updated": "2019-06-24T12:39:09Z"}),
        );
        assert_eq!(
            patch_part(None, &Part::Location, &sent, now()),
            Err(NO_LOCATION)
        );
        assert_eq!(
            patch_part(Some(&stored), &Part::Evse("9"), &sent, now()),
            Err(NO_EVSE)
        );
        let at = Part::Connector("3256", "9");
        assert_eq!(
            patch_part(Some(&stored), &at, &sent, now()),
            Err(NO_CONNECTOR)
        );
        assert_eq!(
            put_part(None, &Part::Evse("9"), sent.clone(), now()),
            Err(NO_LOCATION)
        );
        let at = Part::Connector("9", "9");
        assert_eq!(put_part(Some(&stored), &at, sent, now()), Err(NO_EVSE));
    }

    #[test]
    fn a_partial_update_needs_its_time_and_keeps_the_identity() {
        let stored = location();
        let refused = |sent: Value| match patch_part(Some(&stored), &Part::Location, &sent, now()) {
            Err(Refusal::Invalid(code, message)) => (code.0, message),
            other => panic!("{other:?}"),
        };
        let (code, message) = refused(json!({"name": "x"}));
        assert_eq!(
            (code, message.as_str()),
            (2001, "last_updated: is required")
        );
        let (_, message) = refused(json!({"name": "x", "last_updated": "soon"}));
        assert!(message.starts_with("last_updated: expected"), "{message}");
        let moved = json!({"party_id": "XXX", "last_updated": "2019-06-24T12:39:09Z"});
        assert_eq!(refused(moved).1, "party_id: differs from the path");
        assert_eq!(refused(json!([])).0, 2001);
    }

    #[test]
    fn a_repeated_session_patch_adds_charging_periods_once() {
        let period = |at: &str| json!({"start_date_time": at, "dimensions": [{"type": "ENERGY", "volume": 2}]});
        let stored = json!({"id": "101", "kwh": 1, "charging_periods": [period("2019-06-23T08:00:00Z")],
            "last_updated": "2019-06-23T08:00:00Z"});
        let sent = json!({"kwh": 3, "charging_periods": [period("2019-06-23T08:16:02Z")],
            "last_updated": "2019-06-23T08:16:02Z"});
        let once = changed(patch_session(&stored, &sent, now()));
        assert_eq!(once["charging_periods"].as_array().unwrap().len(), 2);
        assert_eq!(patch_session(&once, &sent, now()), Ok(Update::Stale));
        let cost = json!({"total_cost": {"excl_vat": 4}, "charging_periods": [], "last_updated": "2019-06-23T09:00:00Z"});
        let after = changed(patch_session(&once, &cost, now()));
        assert_eq!(after["charging_periods"], once["charging_periods"]);
    }

    /// A session, and an update that adds this number of charging periods to it.
    fn grown(added: usize) -> (Value, Value) {
        let start = Timestamp::parse("2019-06-23T08:00:00Z").unwrap();
        let period = |number: usize| {
            let at = start.plus(minutes(i64::try_from(number).unwrap()));
            json!({"start_date_time": at, "dimensions": [{"type": "ENERGY", "volume": 2}]})
        };
        let periods = |from: usize, count: usize| (from..from + count).map(period);
        let stored = json!({"id": "101", "charging_periods": Value::from_iter(periods(0, 2_000)),
            "last_updated": start});
        let sent = json!({"charging_periods": Value::from_iter(periods(2_000, added)), "last_updated": start.plus(hours(1))});
        (stored, sent)
    }

    #[test]
    fn thousands_of_periods_may_be_added_at_once() {
        let (stored, sent) = grown(MAX_ADDED);
        let after = changed(patch_session(&stored, &sent, now()));
        // The oldest ones are merged, and no energy is lost.
        let periods = after["charging_periods"].as_array().unwrap().iter();
        let dimensions = periods.flat_map(|period| period["dimensions"].as_array().unwrap());
        let energies = dimensions.filter(|dimension| dimension["type"] == "ENERGY");
        let energy: f64 = energies
            .map(|dimension| dimension["volume"].as_f64().unwrap())
            .sum();
        assert!((energy - 2.0 * 6_320.0).abs() < 0.001, "{energy}");
    }

    #[test]
    fn too_many_and_unreadable_added_periods_are_refused() {
        let refused = |sent: &Value| match patch_session(&grown(0).0, sent, now()) {
            Err(Refusal::Invalid(code, message)) => (code.0, message),
            other => panic!("{other:?}"),
        };
        let (_, many) = grown(MAX_ADDED + 1);
        let message = "charging_periods: an update adds at most 4320, not 4321";
        assert_eq!(refused(&many), (2001, message.into()));
        let sent = |periods: Value| json!({"charging_periods": periods, "last_updated": "2019-06-24T12:39:09Z"});
        let (code, message) = refused(&sent(json!([null, 0, 1])));
        assert_eq!(code, 2001);
        assert!(message.starts_with("charging_periods[0]: "), "{message}");
        let (_, message) = refused(&sent(json!([{"start_date_time": "soon"}])));
        assert!(
            message.starts_with("charging_periods[0].start_date_time: "),
            "{message}"
        );
    }

    /// Applies an update of the EVSE with a status at a moment `now`.
    fn status(location: &Value, status: &str, updated: Timestamp, now: Timestamp) -> Update {
        let sent = json!({"status": status, "last_updated": updated});
        patch_part(Some(location), &Part::Evse("3256"), &sent, now).unwrap()
    }

    fn evse(location: &Value) -> &Value {
        part(location, &Part::Evse("3256")).unwrap()
    }

    #[test]
    fn a_time_that_is_not_believed_counts_as_that_of_receipt() {
        let far = Timestamp::parse("2099-01-01T00:00:00Z").unwrap();
        let stored = changed(Ok(status(&location(), "CHARGING", far, now())));
        let shown = as_received(&stored);
        assert_eq!(evse(&shown)["last_updated"], json!(far));
        assert_eq!(shown["last_updated"], json!(far));
        assert!(!shown.to_string().contains(RECEIVED));
        // An update that was sent before the stored one was received is late, and one that was sent after it counts.
        let later = now().plus(minutes(5));
        let late = status(&stored, "BLOCKED", now().plus(minutes(-1)), later);
        assert_eq!(late, Update::Stale);
        let next = changed(Ok(status(&stored, "AVAILABLE", later, later)));
        assert_eq!(evse(&next)["status"], "AVAILABLE");
        assert_eq!(as_received(&next), next);
        assert_eq!(next["last_updated"], json!(later));
        // So does an update with the same time.
        let again = changed(Ok(status(&stored, "AVAILABLE", far, later)));
        let again = changed(Ok(status(&again, "CHARGING", far, later.plus(minutes(5)))));
        assert_eq!(evse(&again)["status"], "CHARGING");
        // The same update again changes nothing, whenever it arrives.
        let same = status(&stored, "CHARGING", far, later);
        assert_eq!(same, Update::Stale);
        assert_eq!(
            put(Some(&stored), as_received(&stored), later),
            Ok(Update::Stale)
        );
        // A time of up to an hour ahead is plausible.
        let hour = now().plus(hours(1));
        let ahead = changed(Ok(status(&location(), "CHARGING", hour, now())));
        assert_eq!(status(&ahead, "AVAILABLE", later, later), Update::Stale);
    }

    #[test]
    fn a_clock_that_is_always_ahead_freezes_nothing() {
        let (mut stored, mut at) = (location(), now());
        for step in 0..6 {
            at = at.plus(minutes(50));
            let word = ["CHARGING", "AVAILABLE"][step % 2];
            stored = changed(Ok(status(&stored, word, at.plus(hours(2)), at)));
            assert_eq!(evse(&stored)["status"], word);
            // Another EVSE is updated in between.
            let other = json!({"uid": "OTHER", "status": word, "last_updated": at.plus(hours(2))});
            let (part, moment) = (Part::Evse("OTHER"), at.plus(minutes(20)));
            stored = changed(put_part(Some(&stored), &part, other, moment));
        }
        // The clock is corrected.
        let at = at.plus(minutes(10));
        let stored = changed(Ok(status(&stored, "BLOCKED", at, at)));
        assert_eq!(evse(&stored)["status"], "BLOCKED");
    }

    #[test]
    fn a_far_time_that_was_stored_before_is_older_than_any_update() {
        let mut stored = location();
        stored["last_updated"] = json!("2099-01-01T00:00:00Z");
        stored["evses"][0]["last_updated"] = json!("2099-01-01T00:00:00Z");
        let next = changed(Ok(status(&stored, "CHARGING", now(), now())));
        assert_eq!(next["last_updated"], json!(now()));
        let whole = changed(put(Some(&stored), location(), now().plus(days(1))));
        assert_eq!(whole, location());
    }

    #[test]
    fn a_sender_cannot_say_when_an_object_was_received() {
        let mut sent = location();
        sent["evses"][0][RECEIVED] = json!("2099-01-01T00:00:00Z");
        sent[RECEIVED] = json!("2099-01-01T00:00:00Z");
        assert_eq!(put(None, sent.clone(), now()), Ok(Update::New(location())));
        assert_eq!(put(Some(&location()), sent, now()), Ok(Update::Stale));
        let mut sent = json!({"status": "CHARGING", "last_updated": now()});
        sent[RECEIVED] = json!("2099-01-01T00:00:00Z");
        let after = changed(patch_part(
            Some(&location()),
            &Part::Evse("3256"),
            &sent,
            now(),
        ));
        assert_eq!(as_received(&after), after);
    }

    #[test]
    fn an_object_belongs_to_the_party_of_its_path() {
        let id = |country: &str, id: &str| {
            let owner = Owner::new(
                Id::from_number(Kind::Network, 1),
                PartyId::new(country, "BEC").unwrap(),
            );
            ObjectId::new(owner, Module::Locations, id).unwrap()
        };
        assert_eq!(check_identity(&location(), &id("be", "loc1")), Ok(()));
        assert!(check_identity(&location(), &id("NL", "LOC1")).is_err());
        assert!(check_identity(&location(), &id("BE", "LOC2")).is_err());
    }
}

//! Objects as they are received: which object it is, whether it is newer than the stored one, and what it is afterwards.
//!
//! An object is kept as JSON, with every member that was sent, and shown as it was received. An update that is older than what is
//! stored changes nothing and is answered with success, because updates may arrive late or out of order. `last_updated` decides.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::envelope::StatusCode;
use super::party::PartyId;
use super::reader;
use crate::time::Timestamp;

/// The modules whose objects are kept as they are received.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Module {
    Cdrs,
    HubClientInfo,
    Locations,
    Sessions,
    Tariffs,
}

impl Module {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// The longest id of an object, in characters (`CiString(36)`).
const MAX_ID: usize = 36;

/// An object of a party. Ids are case-insensitive.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectId {
    pub owner: PartyId,
    pub module: Module,
    /// As it is written in addresses; lists of objects are found by its lower case.
    pub id: String,
}

impl ObjectId {
    /// # Errors
    /// The id is empty, longer than 36 characters, or has characters that are not printable.
    pub fn new(owner: PartyId, module: Module, id: &str) -> Result<Self, String> {
        let printable = id.chars().all(|one| !one.is_control());
        if id.is_empty() || id.chars().count() > MAX_ID || !printable {
            return Err("id: expected 1 to 36 printable characters".into());
        }
        Ok(Self {
            owner,
            module,
            id: id.to_owned(),
        })
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.module.as_str(), self.owner, self.id)
    }
}

/// Why an object is not taken, for the party that sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The path names nothing: HTTP 404.
    NotFound(&'static str),
    /// The content is wrong: HTTP 200 with a status code.
    Invalid(StatusCode, String),
}

impl Refusal {
    /// Status code 2001.
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::Invalid(StatusCode::INVALID_PARAMETERS, message.into())
    }
}

/// What an update makes of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The update is older than what is stored, or says the same: nothing changes.
    Stale,
    New(Value),
    Changed(Value),
}

/// `last_updated` of an object.
///
/// # Errors
/// It is missing or not a timestamp.
pub fn last_updated(object: &Value) -> Result<Timestamp, Refusal> {
    let missing = || Refusal::parameter("last_updated: is required");
    let text = object.get("last_updated").and_then(Value::as_str);
    reader::timestamp(text.ok_or_else(missing)?)
        .map_err(|why| Refusal::parameter(format!("last_updated: {why}")))
}

/// Whether an update of that moment is older than the object.
fn is_older(updated: Timestamp, stored: &Value) -> bool {
    last_updated(stored).is_ok_and(|stored| updated < stored)
}

/// The text of a member; a number counts as its digits.
pub fn text_of(object: &Value, name: &str) -> Option<String> {
    match object.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Checks that a member of the object is what the path says, in capitals or not.
///
/// # Errors
/// The member is missing or another.
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
/// A member is missing or differs from the path.
pub fn check_identity(object: &Value, id: &ObjectId) -> Result<(), Refusal> {
    check_member(object, "country_code", id.owner.country_code())?;
    check_member(object, "party_id", id.owner.party_id())?;
    check_member(object, "id", &id.id)
}

/// An object that is sent whole. One without `last_updated` counts as newer than the stored one: the member is required, but examples
/// of the standard lack it.
///
/// # Errors
/// It is not an object, or `last_updated` is not a timestamp.
pub fn put(stored: Option<&Value>, object: Value) -> Result<Update, Refusal> {
    let updated = match members(&object)?.get("last_updated") {
        None | Some(Value::Null) => None,
        Some(_) => Some(last_updated(&object)?),
    };
    let is_late = |stored| updated.is_some_and(|updated| is_older(updated, stored));
    Ok(match stored {
        None => Update::New(object),
        Some(stored) if is_late(stored) || *stored == object => Update::Stale,
        Some(_) => Update::Changed(object),
    })
}

fn members(object: &Value) -> Result<&Map<String, Value>, Refusal> {
    let members = object.as_object();
    members.ok_or_else(|| Refusal::parameter("expected a JSON object"))
}

/// The object with the members of a partial update; members that it does not name stay.
fn merged(stored: &Value, patch: &Value) -> Result<Value, Refusal> {
    let mut merged = stored.clone();
    if let (Some(merged), patch) = (merged.as_object_mut(), members(patch)?) {
        for (name, member) in patch {
            merged.insert(name.clone(), member.clone());
        }
    }
    Ok(merged)
}

/// A partial update of an object.
///
/// # Errors
/// It is not an object, lacks `last_updated`, or changes a member that identifies the object.
pub fn patch(stored: &Value, patch: &Value, identity: &[&str]) -> Result<Update, Refusal> {
    for name in identity {
        if patch.get(*name).is_some()
            && let Some(own) = text_of(stored, name)
        {
            check_member(patch, name, &own)?;
        }
    }
    let updated = last_updated(patch)?;
    let merged = merged(stored, patch)?;
    Ok(match is_older(updated, stored) || merged == *stored {
        true => Update::Stale,
        false => Update::Changed(merged),
    })
}

/// What identifies an object of a party.
pub const IDENTITY: [&str; 3] = ["country_code", "party_id", "id"];

/// A partial update of a session. Charging periods are added to those that are there; one that is there already is not added
/// again, so that an update which arrives twice has its effect once.
///
/// # Errors
/// As [`patch`], and `charging_periods` that is not a list.
pub fn patch_session(stored: &Value, sent: &Value) -> Result<Update, Refusal> {
    const PERIODS: &str = "charging_periods";
    let mut sent = sent.clone();
    let added = match sent.as_object_mut().and_then(|sent| sent.remove(PERIODS)) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(periods)) => periods,
        Some(_) => return Err(Refusal::parameter("charging_periods: expected a list")),
    };
    if !added.is_empty() {
        let stored = stored.get(PERIODS).and_then(Value::as_array);
        let mut periods = stored.cloned().unwrap_or_default();
        for period in added {
            if !periods.contains(&period) {
                periods.push(period);
            }
        }
        sent[PERIODS] = Value::Array(periods);
    }
    patch(stored, &sent, &IDENTITY)
}

/// The location, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    Location,
    Evse(&'a str),
    Connector(&'a str, &'a str),
}

/// The part of a location.
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
        .position(|one| text_of(one, name).is_some_and(|own| own.eq_ignore_ascii_case(id)))
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

/// Sets `last_updated` of the owner of a part that was updated then, unless the owner is newer.
fn touch(owner: &mut Value, part: &Value) {
    let (Ok(updated), Some(text)) = (last_updated(part), part.get("last_updated")) else {
        return;
    };
    if !last_updated(owner).is_ok_and(|own| updated <= own)
        && let Some(members) = owner.as_object_mut()
    {
        members.insert("last_updated".into(), text.clone());
    }
}

const NO_LOCATION: Refusal = Refusal::NotFound("There is no such location.");
const NO_EVSE: Refusal = Refusal::NotFound("There is no such EVSE at the location.");
const NO_CONNECTOR: Refusal = Refusal::NotFound("There is no such connector at the EVSE.");

/// The location with a part in it; the part has this state now.
fn with_part(location: &Value, part: &Part<'_>, new: Value) -> Result<Value, Refusal> {
    match part {
        Part::Location => Ok(new),
        Part::Evse(uid) => {
            let mut location = location.clone();
            touch(&mut location, &new);
            set(&mut location, "evses", "uid", uid, new)?;
            Ok(location)
        }
        Part::Connector(uid, id) => {
            let mut evse = self::part(location, &Part::Evse(uid))
                .ok_or(NO_EVSE)?
                .clone();
            touch(&mut evse, &new);
            set(&mut evse, "connectors", "id", id, new)?;
            with_part(location, &Part::Evse(uid), evse)
        }
    }
}

/// A location, an EVSE or a connector that is sent whole: what the location is afterwards.
///
/// # Errors
/// The location of a part, or the EVSE of a connector, is not there; `last_updated` is not a timestamp, or the id differs from the
/// path.
pub fn put_part(stored: Option<&Value>, at: &Part<'_>, object: Value) -> Result<Update, Refusal> {
    match at {
        Part::Location => return put(stored, object),
        Part::Evse(uid) => check_member(&object, "uid", uid)?,
        Part::Connector(_, id) => check_member(&object, "id", id)?,
    }
    let location = stored.ok_or(NO_LOCATION)?;
    let before = part(location, at);
    Ok(match put(before, object)? {
        Update::Stale => Update::Stale,
        Update::New(object) => Update::New(with_part(location, at, object)?),
        Update::Changed(object) => Update::Changed(with_part(location, at, object)?),
    })
}

/// A partial update of a location, an EVSE or a connector: what the location is afterwards.
///
/// # Errors
/// There is no such object; the update lacks `last_updated`, or changes the object's id.
pub fn patch_part(stored: Option<&Value>, at: &Part<'_>, sent: &Value) -> Result<Update, Refusal> {
    let location = stored.ok_or(NO_LOCATION)?;
    let (missing, identity): (_, &[&str]) = match at {
        Part::Location => (NO_LOCATION, &IDENTITY),
        Part::Evse(_) => (NO_EVSE, &["uid"]),
        Part::Connector(..) => (NO_CONNECTOR, &["id"]),
    };
    let before = part(location, at).ok_or(missing)?;
    Ok(match patch(before, sent, identity)? {
        Update::Changed(object) => Update::Changed(with_part(location, at, object)?),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            assert_eq!(patch_part(Some(&stored), &at, &sent), Ok(Update::Stale));
        }
        let mut older = stored.clone();
        older["last_updated"] = json!("2019-06-24T11:00:00");
        older["name"] = json!("Brugge");
        assert_eq!(put(Some(&stored), older), Ok(Update::Stale));
        assert_eq!(put(Some(&stored), stored.clone()), Ok(Update::Stale));
        let undated = json!({"id": "LOC1", "last_updated": null});
        assert_eq!(
            put(Some(&stored), undated.clone()),
            Ok(Update::Changed(undated))
        );
    }

    #[test]
    fn a_part_sets_the_time_of_what_it_is_part_of_and_leaves_the_rest() {
        let stored = location();
        let sent = json!({"tariff_ids": ["12"], "last_updated": "2019-06-24T12:30:00Z"});
        let at = Part::Connector("3256", "1");
        let after = changed(patch_part(Some(&stored), &at, &sent));
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
        let after = changed(patch_part(Some(&stored), &Part::Evse("3256"), &late));
        assert_eq!(after["last_updated"], stored["last_updated"]);
        assert_eq!(after["evses"][0]["status"], "CHARGING");
    }

    #[test]
    fn an_evse_is_added_and_ids_are_case_insensitive() {
        let evse = json!({"uid": "A", "status": "PLANNED", "last_updated": "2019-06-24T12:39:09Z"});
        let stored = location();
        let added = put_part(Some(&stored), &Part::Evse("a"), evse.clone()).unwrap();
        let Update::New(after) = added else {
            panic!("the EVSE is new");
        };
        assert_eq!(part(&after, &Part::Evse("a")), Some(&evse));
        assert_eq!(after["evses"].as_array().unwrap().len(), 2);
        let none = json!({"country_code": "BE", "id": "LOC2", "evses": null, "last_updated": "2019-06-24T12:00:00Z"});
        let after = changed(put_part(Some(&none), &Part::Evse("A"), evse));
        assert_eq!(after["evses"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let (stored, sent) = (
            location(),
            json!({"id": "9", "uid": "9", "last_updated": "2019-06-24T12:39:09Z"}),
        );
        assert_eq!(patch_part(None, &Part::Location, &sent), Err(NO_LOCATION));
        assert_eq!(
            patch_part(Some(&stored), &Part::Evse("9"), &sent),
            Err(NO_EVSE)
        );
        let at = Part::Connector("3256", "9");
        assert_eq!(patch_part(Some(&stored), &at, &sent), Err(NO_CONNECTOR));
        assert_eq!(
            put_part(None, &Part::Evse("9"), sent.clone()),
            Err(NO_LOCATION)
        );
        let at = Part::Connector("9", "9");
        assert_eq!(put_part(Some(&stored), &at, sent), Err(NO_EVSE));
    }

    #[test]
    fn a_partial_update_needs_its_time_and_keeps_the_identity() {
        let stored = location();
        let refused = |sent: Value| match patch_part(Some(&stored), &Part::Location, &sent) {
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
    fn periods_are_added_to_a_session_once_however_often_they_arrive() {
        let period = |at: &str| json!({"start_date_time": at, "dimensions": [{"type": "ENERGY", "volume": 2}]});
        let stored = json!({"id": "101", "kwh": 1, "charging_periods": [period("2019-06-23T08:00:00Z")],
            "last_updated": "2019-06-23T08:00:00Z"});
        let sent = json!({"kwh": 3, "charging_periods": [period("2019-06-23T08:16:02Z")],
            "last_updated": "2019-06-23T08:16:02Z"});
        let once = changed(patch_session(&stored, &sent));
        assert_eq!(once["charging_periods"].as_array().unwrap().len(), 2);
        assert_eq!(patch_session(&once, &sent), Ok(Update::Stale));
        let cost = json!({"total_cost": {"excl_vat": 4}, "charging_periods": [], "last_updated": "2019-06-23T09:00:00Z"});
        let after = changed(patch_session(&once, &cost));
        assert_eq!(after["charging_periods"], once["charging_periods"]);
    }

    #[test]
    fn an_object_belongs_to_the_party_of_its_path() {
        let id = |country: &str, id: &str| {
            let owner = PartyId::new(country, "BEC").unwrap();
            ObjectId::new(owner, Module::Locations, id).unwrap()
        };
        assert_eq!(check_identity(&location(), &id("be", "loc1")), Ok(()));
        assert!(check_identity(&location(), &id("NL", "LOC1")).is_err());
        assert!(check_identity(&location(), &id("BE", "LOC2")).is_err());
        let owner = PartyId::new("BE", "BEC").unwrap();
        for bad in ["", "a\n", &"x".repeat(37)] {
            assert!(ObjectId::new(owner.clone(), Module::Tariffs, bad).is_err());
        }
    }
}

//! `expand[]`: replaces ids by whole objects, up to four levels deep.
//!
//! An expansion has two steps. The first follows the paths level by level and reads every object that an id names, each once, a hundred at
//! a time. It counts how often each object will occur in the response, so it refuses a response with too many or too large objects before
//! it copies anything. The second step replaces the ids by copies. Both steps yield to the runtime, so that the request's time limit can
//! interrupt them and other requests continue.
//!
//! The effect of a POST or DELETE has happened by then, and an error would hide it: if such a response cannot be expanded, it contains the
//! ids (see `edge`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::query::QueryString;
use super::route::Route;
use kernel::error::excerpt;
use kernel::size::Size;
use kernel::{Code, Error, Id, Kind, Result, Tenant, Timestamp};
use models::api_key::{ActingKey, Resource, Rights, Scope};
use models::{
    Account, ChargingSession, Driver, Event, EventType, Fleet, PaymentMethod, Policy, Site, Stored,
    Vehicle, VehicleTelemetry,
};
use table::Store;
use table::shown::Shows;
use table::stored_item::ById;

/// The name of the query parameter.
pub const NAME: &str = "expand[]";

const MAX_PATHS: usize = 10;
const MAX_LEVELS: usize = 4;
/// The maximum number of objects that one response shows in place of ids. An object that is shown twice counts twice.
const MAX_OBJECTS: usize = 1_000;
/// The maximum size of a response with expanded objects, in bytes.
const MAX_BYTES: usize = 5_000_000;
/// The same as Lambda returns it, as a string inside JSON: Lambda's limit is 6,291,556 bytes with headers.
const MAX_ESCAPED: usize = 6_000_000;
/// The number of objects that are read before their size is checked: as many as one BatchGetItem reads.
const AT_ONCE: usize = 100;

/// The members that contain ids, and the kind of these ids.
const MEMBERS: &[(Kind, &str, Kind)] = &[
    (
        Kind::Account,
        "preferences.default_payment_method",
        Kind::PaymentMethod,
    ),
    (Kind::ChargeCard, "driver", Kind::Driver),
    (Kind::ChargeCard, "vehicle", Kind::Vehicle),
    (
        Kind::ChargingSession,
        "charging_station",
        Kind::ChargingStation,
    ),
    (Kind::ChargingSession, "driver", Kind::Driver),
    (Kind::ChargingSession, "fleet", Kind::Fleet),
    (Kind::ChargingSession, "payment_method", Kind::PaymentMethod),
    (Kind::ChargingSession, "vehicle", Kind::Vehicle),
    (Kind::CreditNote, "fleet", Kind::Fleet),
    (Kind::Driver, "fleets", Kind::Fleet),
    (
        Kind::Driver,
        "preferences.default_payment_method",
        Kind::PaymentMethod,
    ),
    (
        Kind::Driver,
        "preferences.preferred_charging_stations",
        Kind::ChargingStation,
    ),
    (Kind::Driver, "policy_ids", Kind::Policy),
    (Kind::Driver, "vehicles", Kind::Vehicle),
    (Kind::Estimation, "charging_station", Kind::ChargingStation),
    (Kind::Estimation, "vehicle", Kind::Vehicle),
    (Kind::Event, "account", Kind::Account),
    (
        Kind::Fleet,
        "preferences.default_payment_method",
        Kind::PaymentMethod,
    ),
    (Kind::Fleet, "policy_ids", Kind::Policy),
    (Kind::Invoice, "fleet", Kind::Fleet),
    (Kind::Invoice, "payment_method", Kind::PaymentMethod),
    (Kind::PaymentMethod, "driver", Kind::Driver),
    (Kind::PaymentMethod, "fleet", Kind::Fleet),
    (Kind::Report, "account", Kind::Account),
    (Kind::Report, "fleet", Kind::Fleet),
    (Kind::Reservation, "charging_station", Kind::ChargingStation),
    (Kind::Reservation, "driver", Kind::Driver),
    (Kind::Reservation, "payment_method", Kind::PaymentMethod),
    (Kind::Reservation, "vehicle", Kind::Vehicle),
    (Kind::Site, "stations", Kind::ChargingStation),
    (Kind::Transaction, "charging_session", Kind::ChargingSession),
    (Kind::Transaction, "driver", Kind::Driver),
    (Kind::Transaction, "fleet", Kind::Fleet),
    (Kind::Transaction, "payment_method", Kind::PaymentMethod),
    (Kind::Transaction, "vehicle", Kind::Vehicle),
    (Kind::Vehicle, "drivers", Kind::Driver),
    (Kind::Vehicle, "fleet", Kind::Fleet),
    (Kind::Vehicle, "policy_ids", Kind::Policy),
    (Kind::Vehicle, "site", Kind::Site),
    (Kind::Vehicle, "telemetry", Kind::VehicleTelemetry),
    (Kind::VehicleTelemetry, "vehicle", Kind::Vehicle),
    (Kind::WebhookDelivery, "event", Kind::Event),
];

/// Returns the members of a kind that may be expanded, each with the kind of its ids.
pub fn members(of: Kind) -> impl Iterator<Item = (&'static str, Kind)> {
    MEMBERS
        .iter()
        .filter(move |(kind, _, _)| *kind == of)
        .map(|(_, member, target)| (*member, *target))
}

/// Returns the kinds of object that a route can show in place of ids, at any depth.
pub fn reachable(route: &Route) -> BTreeSet<Kind> {
    fn follow(passed: &mut Vec<Kind>, reached: &mut BTreeSet<Kind>) {
        let Some(&last) = passed.last().filter(|_| passed.len() <= MAX_LEVELS) else {
            return;
        };
        for (_, target) in members(last) {
            if !passed.contains(&target) {
                reached.insert(target);
                passed.push(target);
                follow(passed, reached);
                passed.pop();
            }
        }
    }
    let mut reached = BTreeSet::new();
    if accepts_expand(route) {
        follow(&mut vec![route.shows.kind()], &mut reached);
    }
    reached
}

/// Returns whether a route accepts `expand[]`.
pub fn accepts_expand(route: &Route) -> bool {
    let shows_objects = matches!(route.shows, Shows::Object(_) | Shows::Page(_));
    shows_objects && members(route.shows.kind()).next().is_some()
}

/// The expansions of a request: members, the kinds of object of their ids, and the expansions within those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansions(Vec<(&'static str, Kind, Expansions)>);

impl Expansions {
    /// Reads the paths of a query.
    ///
    /// # Errors
    /// 400 `unsupported_expand_value` if there is no such member, too many paths, or too deep a path; 403 for objects that the key may not
    /// read.
    pub fn read(query: &QueryString, route: &Route, rights: &Rights) -> Result<Self> {
        let mut expansions = Self::default();
        let paths: Vec<_> = query.all(NAME).collect();
        if paths.len() > MAX_PATHS {
            return Err(refuse(format!("at most {MAX_PATHS} paths can be expanded")));
        }
        for path in paths {
            let members = match route.shows {
                Shows::Page(_) => path.strip_prefix("data."),
                _ => Some(path),
            };
            let members = members.filter(|members| members.split('.').count() <= MAX_LEVELS);
            let members = members.ok_or_else(|| impossible(path))?;
            let mut passed = vec![route.shows.kind()];
            expansions.add(path, members, &mut passed)?;
            let targets = passed.into_iter().skip(1);
            for target in targets {
                let resource = Resource::of(target);
                let resource = resource
                    .ok_or_else(|| Error::internal(format!("no scope covers {target:?}")))?;
                rights.check(Scope::Read(resource))?;
            }
        }
        Ok(expansions)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether objects of a kind are expanded, at any depth.
    fn names(&self, kind: Kind) -> bool {
        let mut expansions = self.0.iter();
        expansions.any(|(_, target, deeper)| *target == kind || deeper.names(kind))
    }

    /// Adds the rest of a path. `passed` contains the kinds that the path has passed, that of the response first; the kinds of the rest are
    /// added to it.
    fn add(&mut self, path: &str, rest: &str, passed: &mut Vec<Kind>) -> Result<()> {
        let of = passed.last().copied();
        let found = of
            .into_iter()
            .flat_map(members)
            .find_map(|(member, target)| {
                let rest = rest.strip_prefix(member)?;
                (rest.is_empty() || rest.starts_with('.')).then_some((member, target, rest))
            });
        let (member, target, rest) = found.ok_or_else(|| impossible(path))?;
        if passed.contains(&target) {
            let kind = target.name().replace('_', " ");
            let message = format!(
                "{:?} cannot be expanded: it returns to a {kind}, and a path may pass each kind of object once",
                excerpt(path)
            );
            return Err(refuse(message));
        }
        passed.push(target);
        let place = self.0.iter().position(|(known, _, _)| *known == member);
        let place = place.unwrap_or_else(|| {
            self.0.push((member, target, Self::default()));
            self.0.len() - 1
        });
        match rest.strip_prefix('.') {
            Some(rest) => self.0[place].2.add(path, rest, passed),
            None => Ok(()),
        }
    }
}

fn impossible(path: &str) -> Error {
    refuse(format!("{:?} cannot be expanded here", excerpt(path)))
}

fn refuse(message: String) -> Error {
    Code::UnsupportedExpandValue.because(message).at("expand")
}

/// The key that reads the objects, and the time at which it does.
pub struct Reader<'a> {
    pub tenant: &'a Tenant,
    pub key: &'a ActingKey,
    pub now: Timestamp,
}

/// Replaces the ids by objects. The id of a deleted object is not replaced, and neither is that of an event that is no longer kept, or whose
/// object the key may not read: the type of that object is not known before.
///
/// # Errors
/// 400 `unsupported_expand_value` if the response would show more than 1,000 expanded objects or be larger than 5 MB; `Unavailable` if
/// DynamoDB cannot be reached. The response is unchanged then.
pub async fn expand(
    store: &Store,
    reader: &Reader<'_>,
    answer: &mut Value,
    expansions: &Expansions,
) -> Result<()> {
    let size = Size::of(answer)?;
    let mut found = Expansion {
        store,
        reader,
        objects: HashMap::new(),
        shown: 0,
        size,
    };
    let tops = shown_objects(answer);
    let tops = tops.into_iter().map(|object| &*object).collect();
    found.gather(Sources::Response(tops), expansions).await?;
    let objects = found.objects;
    for top in shown_objects(answer) {
        put_in(top, expansions, &objects);
        tokio::task::yield_now().await;
    }
    if expansions.names(Kind::Event) {
        members_of(answer).for_each(|member| hide_events(member, reader.key));
    }
    Ok(())
}

/// Returns the values in an object or an array.
fn members_of(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values_mut()),
        Value::Array(entries) => Box::new(entries.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Replaces each event whose object the key may not read by its id.
fn hide_events(value: &mut Value, key: &ActingKey) {
    let is_event = value.get("object").and_then(Value::as_str) == Some(Kind::Event.name());
    let kind = value.get("type").and_then(Value::as_str);
    let kind = kind.and_then(EventType::from_name).filter(|_| is_event);
    match kind {
        Some(kind) if !key.may_read(kind.subject()) => *value = value["id"].take(),
        Some(_) => {}
        None => members_of(value).for_each(|member| hide_events(member, key)),
    }
}

/// Returns the objects of a response: those of a page, or the response itself.
fn shown_objects(answer: &mut Value) -> Vec<&mut Value> {
    let is_page = answer
        .get("data")
        .and_then(Value::as_array)
        .is_some_and(|objects| objects.iter().all(|object| object.get("object").is_some()));
    if !is_page {
        return vec![answer];
    }
    let objects = answer.get_mut("data").and_then(Value::as_array_mut);
    objects
        .map(|objects| objects.iter_mut().collect())
        .unwrap_or_default()
}

/// The objects that an expansion has read so far.
struct Expansion<'a> {
    store: &'a Store,
    reader: &'a Reader<'a>,
    objects: HashMap<Id, Expanded>,
    /// The number of objects that the response will show in place of ids.
    shown: usize,
    /// The size that the response will have.
    size: Size,
}

/// An object, and its size before anything in it is expanded.
struct Expanded {
    object: Value,
    size: Size,
}

/// The objects that are searched for ids.
enum Sources<'a> {
    /// The objects of the response itself.
    Response(Vec<&'a Value>),
    /// The objects that were read for the level above, each with how often it will be shown.
    Read(BTreeMap<Id, usize>),
}

impl Expansion<'_> {
    /// Reads the objects that these objects name, and the objects that those name.
    fn gather<'b>(
        &'b mut self,
        sources: Sources<'b>,
        expansions: &'b Expansions,
    ) -> BoxFuture<'b, Result<()>> {
        Box::pin(async move {
            for (member, kind, deeper) in &expansions.0 {
                let pointer = pointer(member);
                let mut ids = BTreeMap::new();
                match &sources {
                    Sources::Response(objects) => {
                        for object in objects {
                            collect(object.pointer(&pointer), *kind, 1, &mut ids);
                        }
                    }
                    Sources::Read(above) => {
                        for (id, times) in above {
                            let object = self.objects.get(id).map(|expanded| &expanded.object);
                            let member = object.and_then(|object| object.pointer(&pointer));
                            collect(member, *kind, *times, &mut ids);
                        }
                    }
                }
                self.read(*kind, &ids).await?;
                if !deeper.is_empty() {
                    self.gather(Sources::Read(ids), deeper).await?;
                }
            }
            Ok(())
        })
    }

    /// Reads the objects of these ids that are not read yet. Each id has the number of times its object will be shown.
    async fn read(&mut self, kind: Kind, ids: &BTreeMap<Id, usize>) -> Result<()> {
        self.shown += ids.values().sum::<usize>();
        if self.shown > MAX_OBJECTS {
            let message = format!(
                "the response would show more than {MAX_OBJECTS} expanded objects; expand less, or ask for fewer objects with limit"
            );
            return Err(refuse(message));
        }
        let (known, unknown): (Vec<_>, Vec<_>) = ids
            .keys()
            .cloned()
            .partition(|id| self.objects.contains_key(id));
        self.measure(&known, ids)?;
        for some in unknown.chunks(AT_ONCE) {
            let found = objects_of(self.store, self.reader, kind, some.to_vec()).await?;
            for (id, object) in found {
                let size = Size::of(&object)?;
                self.objects.insert(id, Expanded { object, size });
            }
            self.measure(some, ids)?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Adds the size of these objects, less that of their ids, to the size of the response.
    fn measure(&mut self, some: &[Id], times: &BTreeMap<Id, usize>) -> Result<()> {
        for id in some {
            if let (Some(expanded), Some(times)) = (self.objects.get(id), times.get(id)) {
                let text = id.as_str().len();
                self.size.bytes += times * expanded.size.bytes.saturating_sub(text + 2);
                self.size.escaped += times * expanded.size.escaped.saturating_sub(text + 4);
            }
        }
        if self.size.bytes > MAX_BYTES || self.size.escaped > MAX_ESCAPED {
            let message = "the response would be larger than 5 MB; expand less, or ask for fewer objects with limit";
            return Err(refuse(message.into()));
        }
        Ok(())
    }
}

/// Returns the JSON pointer of a member.
fn pointer(member: &str) -> String {
    format!("/{}", member.replace('.', "/"))
}

/// Collects the ids in a member: one, or a list. Each is counted as often as the member will be shown.
fn collect(member: Option<&Value>, kind: Kind, times: usize, ids: &mut BTreeMap<Id, usize>) {
    match member {
        Some(Value::String(text)) => {
            let id = Id::from(text.as_str());
            if id.is(kind) {
                *ids.entry(id).or_default() += times;
            }
        }
        Some(Value::Array(entries)) => entries
            .iter()
            .for_each(|entry| collect(Some(entry), kind, times, ids)),
        _ => {}
    }
}

/// Replaces the ids in an object by the objects that were read.
fn put_in(object: &mut Value, expansions: &Expansions, found: &HashMap<Id, Expanded>) {
    for (member, _, deeper) in &expansions.0 {
        if let Some(place) = object.pointer_mut(&pointer(member)) {
            put(place, deeper, found);
        }
    }
}

fn put(place: &mut Value, deeper: &Expansions, found: &HashMap<Id, Expanded>) {
    match place {
        Value::String(text) => {
            if let Some(expanded) = found.get(&Id::from(text.as_str())) {
                *place = expanded.object.clone();
                put_in(place, deeper, found);
            }
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| put(entry, deeper, found)),
        _ => {}
    }
}

async fn objects_of(
    store: &Store,
    reader: &Reader<'_>,
    kind: Kind,
    ids: Vec<Id>,
) -> Result<HashMap<Id, Value>> {
    let tenant = reader.tenant;
    fn shown<T: ById + Serialize>(stored: Vec<Stored<T>>) -> Result<HashMap<Id, Value>> {
        let shown = stored.into_iter().map(|stored| {
            let value = serde_json::to_value(&stored.object).map_err(Error::internal)?;
            Ok((stored.object.id().clone(), value))
        });
        shown.collect()
    }
    async fn of<T: ById + Serialize>(
        store: &Store,
        tenant: &Tenant,
        ids: Vec<Id>,
    ) -> Result<HashMap<Id, Value>> {
        shown(store.get_all::<T>(tenant, &ids).await?)
    }
    match kind {
        // A station that is not published is shown as little as by its own path.
        Kind::ChargingStation => shown(store.published_stations(tenant, &ids).await?),
        Kind::Account => {
            let accounts = store.get_all::<Account>(tenant, &ids).await?;
            let shown = accounts.into_iter().map(|stored| {
                let account = stored.seen_in(tenant.mode);
                let value = serde_json::to_value(&account).map_err(Error::internal)?;
                Ok((account.id, value))
            });
            shown.collect()
        }
        Kind::ChargingSession => of::<ChargingSession>(store, tenant, ids).await,
        Kind::Driver => of::<Driver>(store, tenant, ids).await,
        Kind::Event => {
            let mut events = store.get_all::<Event>(tenant, &ids).await?;
            events.retain(|event| event.object.check_kept(reader.now).is_ok());
            store.count_pending(tenant, &mut events).await?;
            let shown = events.into_iter().map(|event| {
                let value = serde_json::to_value(&event.object).map_err(Error::internal)?;
                Ok((event.object.id, value))
            });
            shown.collect()
        }
        Kind::Fleet => of::<Fleet>(store, tenant, ids).await,
        Kind::PaymentMethod => of::<PaymentMethod>(store, tenant, ids).await,
        Kind::Policy => of::<Policy>(store, tenant, ids).await,
        Kind::Site => of::<Site>(store, tenant, ids).await,
        Kind::Vehicle => of::<Vehicle>(store, tenant, ids).await,
        Kind::VehicleTelemetry => of::<VehicleTelemetry>(store, tenant, ids).await,
        other => Err(Error::internal(format!("{other:?} is expanded nowhere"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(route: &Route, query: &str, scopes: &[Scope]) -> Result<Expansions> {
        let query = QueryString::parse(query, &[NAME]).unwrap();
        Expansions::read(&query, route, &Rights::of(scopes.to_vec()))
    }

    #[test]
    fn paths_are_members_that_hold_ids() {
        let all = &[Scope::Everything];
        let retrieve = Route::get("retrieve-reservation", "/", Resource::Reservations);
        let list = Route {
            shows: Shows::Page(Kind::Reservation),
            ..retrieve
        };
        for path in [
            "vehicle",
            "vehicle.fleet",
            "driver.vehicles.fleet",
            "driver.preferences.default_payment_method",
        ] {
            assert!(
                read(&retrieve, &format!("expand[]={path}"), all).is_ok(),
                "{path}"
            );
            assert!(
                read(&list, &format!("expand[]=data.{path}"), all).is_ok(),
                "{path}"
            );
            assert!(
                read(&list, &format!("expand[]={path}"), all).is_err(),
                "{path}"
            );
        }
        for path in [
            "",
            ".",
            "status",
            "vehicle.",
            "vehicle.status",
            "vehicles",
            "vehicle.drivers.vehicles.drivers.vehicles",
            "driver.vehicles.drivers",
            "vehicle.telemetry.vehicle",
        ] {
            let refused = read(&retrieve, &format!("expand[]={path}"), all).unwrap_err();
            assert!(refused.is(Code::UnsupportedExpandValue), "{path}");
        }
        assert!(read(&retrieve, &"expand[]=driver&".repeat(11), all).is_err());
    }

    #[test]
    fn a_key_expands_only_what_it_may_read() {
        let retrieve = Route::get("retrieve-reservation", "/", Resource::Reservations);
        let scopes = [
            Scope::Read(Resource::Reservations),
            Scope::Read(Resource::Vehicles),
        ];
        assert!(read(&retrieve, "expand[]=vehicle", &scopes).is_ok());
        let refused = read(&retrieve, "expand[]=vehicle.fleet", &scopes).unwrap_err();
        assert_eq!(refused.class(), kernel::error::ErrorClass::Forbidden);
    }

    #[test]
    fn a_path_never_returns_to_a_kind_it_has_passed() {
        let all = &[Scope::Everything];
        let list = Route {
            shows: Shows::Page(Kind::Vehicle),
            ..Route::get("list-vehicles", "/", Resource::Vehicles)
        };
        for path in [
            "data.drivers.vehicles",
            "data.telemetry.vehicle",
            "data.fleet.preferences.default_payment_method.fleet",
            "data.drivers.preferences.default_payment_method.driver",
        ] {
            let refused = read(&list, &format!("expand[]={path}"), all).unwrap_err();
            assert!(refused.is(Code::UnsupportedExpandValue), "{path}");
            assert!(refused.to_string().contains("returns to a"), "{refused}");
        }
        // Two paths may pass the same kind in different ways.
        assert!(
            read(
                &list,
                "expand[]=data.fleet&expand[]=data.drivers.fleets",
                all
            )
            .is_ok()
        );
        // The search ends whatever the path is, and the message repeats only a little of it.
        let long = format!("expand[]=data.{}", "drivers.vehicles.".repeat(1_000));
        let refused = read(&list, &long, all).unwrap_err();
        assert!(refused.to_string().len() < 300, "{refused}");
    }

    #[test]
    fn paths_that_share_a_beginning_share_it() {
        let mut expansions = Expansions::default();
        for path in ["vehicle.fleet", "vehicle.drivers"] {
            expansions
                .add(path, path, &mut vec![Kind::Reservation])
                .unwrap();
        }
        assert_eq!(expansions.0.len(), 1);
        assert_eq!(expansions.0[0].2.0.len(), 2);
    }
}

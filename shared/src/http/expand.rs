//! `expand[]`: shows whole objects in place of their ids, up to four levels deep.

use std::collections::{BTreeSet, HashMap};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::query::Query;
use super::route::{Route, Shows};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::id::{Id, Kind};
use crate::models::account::Account;
use crate::models::api_key::{ActingKey, Resource, Scope};
use crate::models::charging_session::ChargingSession;
use crate::models::charging_station::ChargingStation;
use crate::models::driver::Driver;
use crate::models::event::{Event, EventType};
use crate::models::fleet::Fleet;
use crate::models::payment_method::PaymentMethod;
use crate::models::policy::Policy;
use crate::models::vehicle::Vehicle;
use crate::models::vehicle_telemetry::VehicleTelemetry;
use crate::origin::Tenant;
use crate::store::row::ById;

/// The query name.
pub const NAME: &str = "expand[]";

const MAX_PATHS: usize = 10;
const MAX_LEVELS: usize = 4;

/// The members that hold ids, and what of.
const MEMBERS: &[(Kind, &str, Kind)] = &[
    (
        Kind::Account,
        "preferences.default_payment_method",
        Kind::PaymentMethod,
    ),
    (
        Kind::ChargingSession,
        "charging_station",
        Kind::ChargingStation,
    ),
    (Kind::ChargingSession, "driver", Kind::Driver),
    (Kind::ChargingSession, "fleet", Kind::Fleet),
    (Kind::ChargingSession, "payment_method", Kind::PaymentMethod),
    (Kind::ChargingSession, "vehicle", Kind::Vehicle),
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
    (Kind::Transaction, "charging_session", Kind::ChargingSession),
    (Kind::Transaction, "driver", Kind::Driver),
    (Kind::Transaction, "fleet", Kind::Fleet),
    (Kind::Transaction, "payment_method", Kind::PaymentMethod),
    (Kind::Transaction, "vehicle", Kind::Vehicle),
    (Kind::Vehicle, "drivers", Kind::Driver),
    (Kind::Vehicle, "fleet", Kind::Fleet),
    (Kind::Vehicle, "policy_ids", Kind::Policy),
    (Kind::Vehicle, "telemetry", Kind::VehicleTelemetry),
    (Kind::VehicleTelemetry, "vehicle", Kind::Vehicle),
    (Kind::WebhookDelivery, "event", Kind::Event),
];

/// The members of a kind that may be expanded, each with the kind it names.
pub fn members(of: Kind) -> impl Iterator<Item = (&'static str, Kind)> {
    MEMBERS
        .iter()
        .filter(move |(kind, _, _)| *kind == of)
        .map(|(_, member, target)| (*member, *target))
}

/// Whether a route takes `expand[]`.
pub fn is_taken(route: &Route) -> bool {
    let whole = !matches!(route.shows, Shows::Deleted(_) | Shows::Lines);
    whole && members(route.shows.kind()).next().is_some()
}

/// What a request wants to see whole: members, what they name, and what is wanted of that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted(Vec<(&'static str, Kind, Wanted)>);

impl Wanted {
    /// Reads the paths of a query.
    ///
    /// # Errors
    /// 400 `unsupported_expand_value`: no such member, too many paths, or too deep; 403 for what the key may not read.
    pub fn read(query: &Query, route: &Route, scopes: &[Scope]) -> Result<Self> {
        let mut wanted = Self::default();
        let paths: Vec<_> = query.all(NAME).collect();
        if paths.len() > MAX_PATHS {
            return Err(refuse(format!("at most {MAX_PATHS} paths can be expanded")));
        }
        for path in paths {
            let members = match route.shows {
                Shows::Page(_) => path.strip_prefix("data."),
                Shows::Object(_) | Shows::Deleted(_) | Shows::Lines => Some(path),
            };
            let members = members.filter(|members| members.split('.').count() <= MAX_LEVELS);
            let found = members.and_then(|members| wanted.add(route.shows.kind(), members));
            let targets =
                found.ok_or_else(|| refuse(format!("{path:?} cannot be expanded here")))?;
            for target in targets {
                let resource = Resource::of(target);
                let resource = resource
                    .ok_or_else(|| Error::internal(format!("no scope covers {target:?}")))?;
                let scope = Scope::Read(resource);
                if !scopes.iter().any(|held| held.covers(scope)) {
                    return Err(Error::missing_scope(&scope.to_string()));
                }
            }
        }
        Ok(wanted)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether objects of a kind are wanted, at any depth.
    fn names(&self, kind: Kind) -> bool {
        let mut wanted = self.0.iter();
        wanted.any(|(_, target, deeper)| *target == kind || deeper.names(kind))
    }

    /// Adds a path; the kinds it passes, or none when there is no such path.
    fn add(&mut self, of: Kind, path: &str) -> Option<Vec<Kind>> {
        let (member, target, rest) = members(of).find_map(|(member, target)| {
            let rest = path.strip_prefix(member)?;
            (rest.is_empty() || rest.starts_with('.')).then_some((member, target, rest))
        })?;
        let place = self.0.iter().position(|(known, _, _)| *known == member);
        let place = place.unwrap_or_else(|| {
            self.0.push((member, target, Self::default()));
            self.0.len() - 1
        });
        let mut passed = vec![target];
        if let Some(rest) = rest.strip_prefix('.') {
            passed.extend(self.0[place].2.add(target, rest)?);
        }
        Some(passed)
    }
}

fn refuse(message: String) -> Error {
    Code::UnsupportedExpandValue.because(message).at("expand")
}

/// Puts the objects in place of their ids. An object that is gone stays an id, and so does an event that shows an object
/// which the key may not read: its type is known only now.
///
/// # Errors
/// The table's.
pub async fn expand(
    app: &App,
    tenant: &Tenant,
    key: &ActingKey,
    answer: &mut Value,
    wanted: &Wanted,
) -> Result<()> {
    let objects = match answer.get_mut("data").and_then(Value::as_array_mut) {
        Some(rows) if rows.iter().all(|row| row.get("object").is_some()) => {
            rows.iter_mut().collect()
        }
        _ => vec![&mut *answer],
    };
    within(app, tenant, objects, wanted).await?;
    if wanted.names(Kind::Event) {
        members_of(answer).for_each(|member| hide_events(member, key));
    }
    Ok(())
}

/// The values that an object or an array holds.
fn members_of(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values_mut()),
        Value::Array(entries) => Box::new(entries.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Puts the id in place of each event whose object the key may not read.
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

fn within<'a>(
    app: &'a App,
    tenant: &'a Tenant,
    mut objects: Vec<&'a mut Value>,
    wanted: &'a Wanted,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        for (member, kind, deeper) in &wanted.0 {
            let pointer = format!("/{}", member.replace('.', "/"));
            let mut ids = BTreeSet::new();
            for object in &objects {
                collect(object.pointer(&pointer), *kind, &mut ids);
            }
            let mut found = objects_of(app, tenant, *kind, ids.into_iter().collect()).await?;
            if !deeper.is_empty() {
                within(app, tenant, found.values_mut().collect(), deeper).await?;
            }
            for object in &mut objects {
                if let Some(place) = object.pointer_mut(&pointer) {
                    put(place, &found);
                }
            }
        }
        Ok(())
    })
}

/// The ids in a member: one, or a list.
fn collect(member: Option<&Value>, kind: Kind, ids: &mut BTreeSet<Id>) {
    match member {
        Some(Value::String(text)) => {
            let id = Id::from(text.as_str());
            if id.is(kind) {
                ids.insert(id);
            }
        }
        Some(Value::Array(entries)) => entries
            .iter()
            .for_each(|entry| collect(Some(entry), kind, ids)),
        _ => {}
    }
}

fn put(place: &mut Value, found: &HashMap<Id, Value>) {
    match place {
        Value::String(text) => {
            if let Some(object) = found.get(&Id::from(text.as_str())) {
                *place = object.clone();
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| put(entry, found)),
        _ => {}
    }
}

async fn objects_of(
    app: &App,
    tenant: &Tenant,
    kind: Kind,
    ids: Vec<Id>,
) -> Result<HashMap<Id, Value>> {
    async fn of<T: ById + Serialize>(
        app: &App,
        tenant: &Tenant,
        ids: Vec<Id>,
    ) -> Result<HashMap<Id, Value>> {
        let rows = app.store.get_all::<T>(tenant, &ids).await?;
        let shown = rows.into_iter().map(|row| {
            let value = serde_json::to_value(&row.object).map_err(Error::internal)?;
            Ok((row.object.id().clone(), value))
        });
        shown.collect()
    }
    match kind {
        Kind::Account => {
            let rows = app.store.get_all::<Account>(tenant, &ids).await?;
            let shown = rows.into_iter().map(|row| {
                let account = row.seen_in(tenant.mode);
                let value = serde_json::to_value(&account).map_err(Error::internal)?;
                Ok((account.id, value))
            });
            shown.collect()
        }
        Kind::ChargingSession => of::<ChargingSession>(app, tenant, ids).await,
        Kind::ChargingStation => of::<ChargingStation>(app, tenant, ids).await,
        Kind::Driver => of::<Driver>(app, tenant, ids).await,
        Kind::Event => of::<Event>(app, tenant, ids).await,
        Kind::Fleet => of::<Fleet>(app, tenant, ids).await,
        Kind::PaymentMethod => of::<PaymentMethod>(app, tenant, ids).await,
        Kind::Policy => of::<Policy>(app, tenant, ids).await,
        Kind::Vehicle => of::<Vehicle>(app, tenant, ids).await,
        Kind::VehicleTelemetry => of::<VehicleTelemetry>(app, tenant, ids).await,
        other => Err(Error::internal(format!("{other:?} is expanded nowhere"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(route: &Route, query: &str, scopes: &[Scope]) -> Result<Wanted> {
        let query = Query::parse(query, &[NAME]).unwrap();
        Wanted::read(&query, route, scopes)
    }

    #[test]
    fn paths_are_members_that_hold_ids() {
        let all = &[Scope::Everything];
        let one = Route::get("retrieve-reservation", "/", Resource::Reservations);
        let list = Route::list("list-reservations", "/", Resource::Reservations);
        for path in [
            "vehicle",
            "vehicle.fleet",
            "driver.vehicles.fleet",
            "driver.preferences.default_payment_method",
        ] {
            assert!(
                read(&one, &format!("expand[]={path}"), all).is_ok(),
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
        ] {
            let refused = read(&one, &format!("expand[]={path}"), all).unwrap_err();
            assert!(refused.is(Code::UnsupportedExpandValue), "{path}");
        }
        assert!(read(&one, &"expand[]=driver&".repeat(11), all).is_err());
    }

    #[test]
    fn a_key_expands_only_what_it_may_read() {
        let one = Route::get("retrieve-reservation", "/", Resource::Reservations);
        let scopes = [
            Scope::Read(Resource::Reservations),
            Scope::Read(Resource::Vehicles),
        ];
        assert!(read(&one, "expand[]=vehicle", &scopes).is_ok());
        let refused = read(&one, "expand[]=vehicle.fleet", &scopes).unwrap_err();
        assert_eq!(refused.status(), 403);
    }

    #[test]
    fn paths_that_share_a_beginning_share_it() {
        let mut wanted = Wanted::default();
        wanted.add(Kind::Reservation, "vehicle.fleet").unwrap();
        wanted.add(Kind::Reservation, "vehicle.drivers").unwrap();
        assert_eq!(wanted.0.len(), 1);
        assert_eq!(wanted.0[0].2.0.len(), 2);
    }
}

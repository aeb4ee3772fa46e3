//! A row that holds an object: the object as clients see it, what the service keeps to itself, and the version that
//! every write is conditional on. Index keys follow from the object, so keys and data cannot disagree.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keys::{self, Key, Partition};
use super::{Item, key_item, n, number, s};
use crate::error::{Error, Result};
use crate::http::version::Versions;
use crate::id::{Id, Kind};
use crate::models::account::{Account, AccountPrivate};
use crate::models::api_key::{ApiKey, ApiKeyPrivate};
use crate::models::charging_session::{ChargingSession, SessionPrivate};
use crate::models::charging_station::{ChargingStation, StationPrivate};
use crate::models::driver::{Driver, DriverPrivate};
use crate::models::estimation::Estimation;
use crate::models::event::{self, Cause, Event, EventPrivate, EventType};
use crate::models::fleet::{Fleet, FleetPrivate};
use crate::models::invoice::{Invoice, InvoicePrivate};
use crate::models::payment_method::{PaymentMethod, PaymentMethodPrivate};
use crate::models::policy::Policy;
use crate::models::report::{Report, ReportPrivate};
use crate::models::reservation::{Reservation, ReservationPrivate};
use crate::models::transaction::{Transaction, TransactionPrivate};
use crate::models::vehicle::Vehicle;
use crate::models::vehicle_telemetry::VehicleTelemetry;
use crate::models::webhook_delivery::WebhookDelivery;
use crate::models::webhook_endpoint::{EndpointPrivate, WebhookEndpoint};
use crate::origin::{Origin, Tenant};
use crate::time::Timestamp;

/// An object that has a row of its own.
pub trait Record: Serialize + DeserializeOwned + Clone + Send + Sync {
    /// What the row holds besides what clients see.
    type Private: Serialize + DeserializeOwned + Default + Clone + Send + Sync;

    const KIND: Kind;

    fn id(&self) -> &Id;

    /// Where the row lies.
    fn key<'a>(&'a self, tenant: &'a Tenant, _private: &'a Self::Private) -> Key<'a> {
        let id = self.id();
        Key::Object { tenant, id }
    }

    /// The fleet whose list of such objects the row appears in.
    fn fleet(&self) -> Option<&Id> {
        None
    }

    /// The lists the row appears in.
    fn lists<'a>(&'a self, tenant: &'a Tenant, _private: &'a Self::Private) -> Vec<Partition<'a>> {
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

    /// Where the object stands in its lists, which run from the highest of these ids to the lowest.
    fn list_id(&self) -> Id {
        self.id().clone()
    }

    /// Shortens the object as it is stored: what `complete` can put back is left out.
    fn compact(_object: &mut AttributeValue) {}

    /// Puts back what `compact` left out, and what an earlier release did not store.
    fn complete(_object: &mut AttributeValue) {}

    /// When the service has to look at the object by itself.
    fn due(_private: &Self::Private) -> Option<Timestamp> {
        None
    }

    /// When the row may be dropped.
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

/// An object and its row's other attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<T: Record> {
    pub object: T,
    pub private: T::Private,
    /// How often the row was written; 0 before the first time.
    pub version: u64,
    /// The events the next write stands for. The relay writes them from the stream.
    announces: Vec<EventType>,
}

impl<T: Record> Row<T> {
    /// A row that is not in the table yet.
    pub fn new(object: T) -> Self {
        Self::with_private(object, T::Private::default())
    }

    /// The same, with what clients do not see.
    pub fn with_private(object: T, private: T::Private) -> Self {
        Self {
            object,
            private,
            version: 0,
            announces: Vec::new(),
        }
    }

    /// The next write of the row stands for an event of this type.
    #[must_use]
    pub fn announcing(mut self, kind: EventType) -> Self {
        self.announces.push(kind);
        self
    }

    /// The event that the next write of the row stands for, to go into the same transaction; the relay plans its
    /// deliveries.
    ///
    /// # Errors
    /// The object has no JSON.
    pub fn event(&self, kind: EventType, origin: &Origin) -> Result<Row<Event>> {
        let object = serde_json::to_value(&self.object).map_err(Error::internal)?;
        let written = (self.object.id(), self.version + 1);
        let event = Event::of(
            kind,
            &origin.tenant,
            written,
            object,
            None,
            &Cause::of(origin),
        );
        Ok(Row::with_private(
            event,
            EventPrivate::unplanned(origin.now),
        ))
    }

    /// The row as the next write leaves it.
    pub(super) fn to_item(&self, origin: &Origin) -> Result<Item> {
        let tenant = &origin.tenant;
        let mut item = key_item(self.object.key(tenant, &self.private));
        let lists = self.object.lists(tenant, &self.private);
        if !lists.is_empty() {
            item.insert("list_sk".into(), s(self.object.list_id().as_str()));
        }
        for list in lists {
            let (_, attribute, value) = list.place();
            item.insert(attribute.into(), s(value));
        }
        if let Some(due) = T::due(&self.private) {
            item.insert("due_pk".into(), s(keys::due_partition_at(due)));
            item.insert("due_at".into(), s(due.to_string()));
        }
        if let Some(at) = self.object.expires() {
            item.insert("ttl".into(), n(at.unix_seconds()));
        }
        if let Some(request) = Cause::of(origin).request {
            item.insert(
                "request".into(),
                serde_dynamo::to_attribute_value(request).map_err(Error::internal)?,
            );
        }
        item.insert("version".into(), n(self.version + 1));
        item.insert("written".into(), s(origin.now.to_string()));
        if !self.announces.is_empty() {
            let names = self.announces.iter().map(|kind| s(kind.as_str()));
            item.insert("announces".into(), AttributeValue::L(names.collect()));
        }
        let mut object = without_nulls(&self.object)?;
        T::compact(&mut object);
        item.insert("object".into(), object);
        item.insert(
            "private".into(),
            serde_dynamo::to_attribute_value(&self.private).map_err(Error::internal)?,
        );
        Ok(item)
    }

    /// Reads a row; what it announced when it was written is past. One that was written when nothing was kept to itself has
    /// the defaults.
    pub(super) fn from_item(mut item: Item) -> Result<Self> {
        let version = number(&item, "version").unsigned_abs();
        let mut part = |name: &str| {
            item.remove(name)
                .ok_or_else(|| Error::permanent(format!("a row without {name}")))
        };
        let mut object = part("object")?;
        T::complete(&mut object);
        let object = serde_dynamo::from_attribute_value(object).map_err(Error::permanent)?;
        let private = match part("private")? {
            AttributeValue::Null(_) => T::Private::default(),
            private => serde_dynamo::from_attribute_value(private).map_err(Error::permanent)?,
        };
        Ok(Self {
            object,
            private,
            version,
            announces: Vec::new(),
        })
    }
}

/// An object as an attribute. Members that are null are left out: they read back as null, and a row that stays below a
/// kilobyte costs half.
fn without_nulls<T: Serialize>(object: &T) -> Result<AttributeValue> {
    let mut value = serde_dynamo::to_attribute_value(object).map_err(Error::internal)?;
    if let AttributeValue::M(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    without_specks(&mut value);
    Ok(value)
}

/// The least that the table can hold besides zero.
const LEAST: f64 = 1e-130;

/// Numbers that are too small for the table are zero to it.
fn without_specks(value: &mut AttributeValue) {
    match value {
        AttributeValue::N(number) if number.parse().is_ok_and(|n: f64| n.abs() < LEAST) => {
            *number = "0".into();
        }
        AttributeValue::L(values) => values.iter_mut().for_each(without_specks),
        AttributeValue::M(members) => members.values_mut().for_each(without_specks),
        _ => {}
    }
}

/// Records with their private parts, and what differs from the defaults.
macro_rules! records {
    ($($record:ident $private:ty { $($rest:tt)* })*) => {
        $(
            impl Record for $record {
                type Private = $private;
                const KIND: Kind = Kind::$record;

                fn id(&self) -> &Id {
                    &self.id
                }

                $($rest)*
            }
        )*
    };
}

records! {
    Driver DriverPrivate {}
    Fleet FleetPrivate {
        fn due(private: &FleetPrivate) -> Option<Timestamp> {
            private.due
        }
    }

    PaymentMethod PaymentMethodPrivate {}
    Policy () {}
    WebhookEndpoint EndpointPrivate {}

    Vehicle () {
        fn fleet(&self) -> Option<&Id> {
            Some(&self.fleet)
        }
    }

    Transaction TransactionPrivate {
        fn fleet(&self) -> Option<&Id> {
            self.fleet.as_ref()
        }

        fn due(private: &TransactionPrivate) -> Option<Timestamp> {
            private.due
        }
    }

    ChargingSession SessionPrivate {
        fn fleet(&self) -> Option<&Id> {
            Some(&self.fleet)
        }

        fn due(private: &SessionPrivate) -> Option<Timestamp> {
            private.due
        }
    }

    Reservation ReservationPrivate {
        fn lists<'a>(&'a self, tenant: &'a Tenant, private: &'a ReservationPrivate) -> Vec<Partition<'a>> {
            let all = Partition::Kind { tenant, kind: Self::KIND };
            let owes = private.owed_since.map(|_| Partition::Fees { tenant });
            let paid = private.fee_paid.map(|fee| Partition::PaidFees {
                tenant,
                month: fee.since.utc_date().first_of_month(),
            });
            std::iter::once(all).chain(owes.or(paid)).collect()
        }

        fn due(private: &ReservationPrivate) -> Option<Timestamp> {
            private.due
        }
    }

    Invoice InvoicePrivate {
        fn due(private: &InvoicePrivate) -> Option<Timestamp> {
            private.due
        }
    }

    Report ReportPrivate {
        fn due(private: &ReportPrivate) -> Option<Timestamp> {
            private.due
        }
    }

    Event EventPrivate {
        fn due(private: &EventPrivate) -> Option<Timestamp> {
            private.due()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.created.plus_millis(event::KEPT))
        }
    }

    Estimation () {
        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.kept_until())
        }
    }

    VehicleTelemetry () {
        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }
    }

    WebhookDelivery () {
        fn key<'a>(&'a self, tenant: &'a Tenant, (): &'a ()) -> Key<'a> {
            Key::Attempt {
                tenant,
                endpoint: &self.webhook_endpoint,
                delivery: &self.id,
            }
        }

        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.created.plus_millis(event::KEPT))
        }
    }

    Account AccountPrivate {
        fn key<'a>(&'a self, _: &'a Tenant, _: &'a AccountPrivate) -> Key<'a> {
            Key::Account { id: &self.id }
        }

        fn lists<'a>(&'a self, _: &'a Tenant, private: &'a AccountPrivate) -> Vec<Partition<'a>> {
            let parent = private.parent.iter();
            parent.map(|parent| Partition::Children { parent }).collect()
        }
    }

    ApiKey ApiKeyPrivate {
        fn key<'a>(&'a self, tenant: &'a Tenant, private: &'a ApiKeyPrivate) -> Key<'a> {
            Key::ApiKey {
                account: &tenant.account,
                hash: &private.hash,
            }
        }
    }

    ChargingStation StationPrivate {
        fn key<'a>(&'a self, tenant: &'a Tenant, _: &'a StationPrivate) -> Key<'a> {
            Self::locate(tenant, &self.id)
        }

        /// A station that is not published is in no list.
        fn lists<'a>(&'a self, tenant: &'a Tenant, private: &'a StationPrivate) -> Vec<Partition<'a>> {
            let list = private.published.then_some(Partition::Stations { mode: tenant.mode });
            list.into_iter().collect()
        }

        /// Ids of stations that come from OCPI do not sort by creation.
        fn list_id(&self) -> Id {
            self.id.with_time(Self::KIND, self.created)
        }

        /// Leaves out what many connectors have in common: the station's prices, and what is null.
        fn compact(object: &mut AttributeValue) {
            let AttributeValue::M(station) = object else {
                return;
            };
            let pricing = station.get("pricing").cloned();
            for connector in connectors(station) {
                connector.retain(|name, member| {
                    !member.is_null() && (name != "pricing" || Some(&*member) != pricing.as_ref())
                });
            }
        }

        fn complete(object: &mut AttributeValue) {
            let AttributeValue::M(station) = object else {
                return;
            };
            let pricing = station.get("pricing").cloned();
            for connector in connectors(station) {
                if let (false, Some(pricing)) = (connector.contains_key("pricing"), &pricing) {
                    connector.insert("pricing".into(), pricing.clone());
                }
            }
        }
    }
}

/// The connectors of a stored station.
fn connectors(station: &mut Item) -> impl Iterator<Item = &mut Item> {
    let connectors = match station.get_mut("connectors") {
        Some(AttributeValue::L(connectors)) => connectors.as_mut_slice(),
        _ => &mut [],
    };
    connectors.iter_mut().filter_map(|one| match one {
        AttributeValue::M(connector) => Some(connector),
        _ => None,
    })
}

impl ById for ChargingSession {}
impl ById for Driver {}
impl ById for Estimation {}
impl ById for Event {}
impl ById for Fleet {}
impl ById for Invoice {}
impl ById for PaymentMethod {}
impl ById for Policy {}
impl ById for Report {}
impl ById for Reservation {}
impl ById for Transaction {}
impl ById for Vehicle {}
impl ById for VehicleTelemetry {}
impl ById for WebhookEndpoint {}

impl ById for Account {
    fn locate<'a>(_: &'a Tenant, id: &'a Id) -> Key<'a> {
        Key::Account { id }
    }
}

impl ById for ChargingStation {
    fn locate<'a>(tenant: &'a Tenant, id: &'a Id) -> Key<'a> {
        let mode = tenant.mode;
        Key::Station { mode, id }
    }
}

impl Row<Event> {
    /// The event with its snapshot in the version it was made with.
    pub fn shown(self, versions: &Versions) -> Event {
        let mut event = self.object;
        event
            .data
            .downgrade(versions, &self.private.shape, &event.api_version);
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::{Idempotency, Mode};
    use serde_json::{Value, json};

    fn origin() -> Origin {
        Origin {
            tenant: Tenant {
                account: Id::from_number(Kind::Account, 1),
                mode: Mode::Test,
            },
            now: Timestamp::parse("2026-03-01T08:00:00Z").unwrap(),
            request: Some(Id::from_number(Kind::Request, 2)),
            idempotency: Some(Idempotency {
                key: "k".into(),
                fingerprint: "f".into(),
            }),
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
    fn a_row_is_this_item() {
        let item = Row::new(fleet())
            .announcing(EventType::FleetCreated)
            .to_item(&origin())
            .unwrap();
        let item: Value = serde_dynamo::from_item(item).unwrap();
        let tenant = "acct_00000000000000000000000000000001#test";
        let id = "flt_00000000000000000000000000000003";
        let mut object = serde_json::to_value(fleet()).unwrap();
        // Null members are left out, and a whole number is one.
        object.as_object_mut().unwrap().remove("phone");
        object["total_energy_consumed_kwh"] = json!(0);
        let private = json!({"billing": null, "reporting": null, "due": null});
        let want = json!({"pk": format!("{tenant}#{id}"), "sk": "#", "list_pk": format!("{tenant}#fleet"), "list_sk": id,
            "version": 1, "written": "2026-03-01T08:00:00.000Z", "announces": ["fleet.created"], "object": object,
            "private": private, "request": {"id": "req_00000000000000000000000000000002", "idempotency_key": "k"}});
        assert_eq!(item, want);
    }

    #[test]
    fn a_row_reads_back_and_has_nothing_left_to_announce() {
        let row = Row::new(fleet()).announcing(EventType::FleetCreated);
        let read = Row::<Fleet>::from_item(row.to_item(&origin()).unwrap()).unwrap();
        assert_eq!(
            read,
            Row {
                version: 1,
                announces: Vec::new(),
                ..row
            }
        );
        assert_eq!(
            Row::<Fleet>::from_item(read.to_item(&origin()).unwrap())
                .unwrap()
                .version,
            2
        );
        assert!(!read.to_item(&origin()).unwrap().contains_key("announces"));
    }

    #[test]
    fn what_waits_is_in_the_index_of_what_is_due_and_leaves_it_when_done() {
        let event = json!({"id": Id::from_number(Kind::Event, 4), "object": "event", "account": "acct_1",
            "api_version": "2026-03-01", "created": "2026-03-01T08:00:00Z", "data": {"object": {}}, "livemode": false,
            "pending_webhooks": 0, "request": null, "type": "ping"});
        let event: Event = serde_json::from_value(event).unwrap();
        let waiting = Row::with_private(event.clone(), EventPrivate::unplanned(origin().now));
        let item = waiting.to_item(&origin()).unwrap();
        assert_eq!(
            super::super::string(&item, "due_at"),
            "2026-03-01T08:00:00.000Z"
        );
        assert!(super::super::string(&item, "due_pk").starts_with("DUE#"));
        assert_eq!(
            number(&item, "ttl"),
            event.created.plus_millis(event::KEPT).unix_seconds()
        );
        let done = Row::with_private(event, EventPrivate::planned(Default::default()))
            .to_item(&origin())
            .unwrap();
        assert!(!done.contains_key("due_pk") && !done.contains_key("due_at"));
    }

    #[test]
    fn a_number_too_small_for_the_table_is_zero() {
        let numbers =
            json!({"specks": [2.6e-145, -5e-324], "small": 1e-130, "zero": 0, "one": 1.5});
        let stored: Value =
            serde_dynamo::from_attribute_value(without_nulls(&numbers).unwrap()).unwrap();
        let want = json!({"specks": [0, 0], "small": 1e-130, "zero": 0, "one": 1.5});
        assert_eq!(stored, want);
    }
}

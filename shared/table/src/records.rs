//! The storage of the objects of each kind: their keys and lists, and the data that their items omit.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::deflate::{deflated, inflated};
use super::endpoint_secrets;
use super::item::{Item, n};
use super::keys::{Key, Lookup, Partition};
use super::sessions;
use super::stored_item::{ById, Cipher, Record, STATE, from_item};
use kernel::{Error, Id, Kind, Result, Tenant, Timestamp};
use models::account::AccountInternal;
use models::adjustment::AdjustmentInternal;
use models::api_key::ApiKeyInternal;
use models::charging_session::SessionInternal;
use models::charging_station::StationInternal;
use models::estimation::Estimation;
use models::event::{self, EventInternal};
use models::invoice::InvoiceInternal;
use models::reservation::{FeeState, MatchRefusals, ReservationInternal, ReservationStatus};
use models::schema::{Named, named};
use models::site::SiteDay;
use models::stored::Object;
use models::transaction::{TransactionInternal, TransactionType};
use models::vehicle::VehicleInternal;
use models::webhook_replay::{ReplayInternal, WebhookReplay};
use models::{
    Account, Adjustment, ApiKey, Batch, ChargeCard, ChargingSession, ChargingStation, CreditNote,
    Driver, Event, Fleet, Invoice, PaymentMethod, Policy, Report, Reservation, Site, Transaction,
    Vehicle, VehicleDepartures, VehicleTelemetry, WebhookDelivery, WebhookEndpoint,
};

/// Defines records with their differences from the defaults, and [`ById`] for those that [`Key::Object`] locates.
macro_rules! records {
    ($($record:ident $(: $by:ident)? { $($rest:tt)* })*) => {
        $(
            impl Record for $record {
                $($rest)*
            }

            $(impl $by for $record {})?
        )*

        /// Returns the object of an item as clients see it, with secrets masked; `None` for a kind whose items are read elsewhere.
        ///
        /// # Errors
        /// A permanent `Internal` if the item is not of this kind.
        pub(super) fn shown(kind: Kind, item: Item) -> Result<Option<serde_json::Value>> {
            let shown = match kind {
                $(Kind::$record => serde_json::to_value(from_item::<$record>(item)?.object),)*
                _ => return Ok(None),
            };
            shown.map(Some).map_err(Error::internal)
        }

        /// Returns the schema of the objects of a kind in the OpenAPI document.
        pub fn schemas(kind: Kind) -> Option<Named> {
            match kind {
                $(Kind::$record => Some(named::<$record>()),)*
                _ => None,
            }
        }
    };
}

records! {
    Driver: ById {
        fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a <Self as Object>::Internal) -> Vec<Partition<'a>> {
            let (kind, member, value) = (Self::KIND, Lookup::Email, self.email.as_str());
            let found_by = Partition::Lookup { tenant, kind, member, value };
            vec![Partition::Kind { tenant, kind }, found_by]
        }
    }

    Fleet: ById {
        fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a <Self as Object>::Internal) -> Vec<Partition<'a>> {
            let (kind, member, value) = (Self::KIND, Lookup::Email, self.email.as_str());
            let found_by = Partition::Lookup { tenant, kind, member, value };
            vec![Partition::Kind { tenant, kind }, found_by]
        }

        /// Omits absent billing details.
        fn compact(object: &mut AttributeValue) {
            without_absent(object, "billing_details");
        }
    }

    ChargeCard: ById {}

    PaymentMethod: ById {}
    Policy: ById {}
    WebhookEndpoint: ById {
        /// Omits members that are absent in most endpoints.
        fn compact(object: &mut AttributeValue) {
            let AttributeValue::M(endpoint) = object else {
                return;
            };
            endpoint.retain(|name, member| match member {
                AttributeValue::M(members) => name != "headers" || !members.is_empty(),
                AttributeValue::L(entries) => name != "fleets" || !entries.is_empty(),
                AttributeValue::S(text) => name != "payload" || text != "snapshot",
                _ => true,
            });
        }

        fn encrypt(object: &mut AttributeValue, internal: &mut AttributeValue, cipher: &Cipher<'_>) -> Result<()> {
            endpoint_secrets::encrypt(object, internal, cipher)
        }

        fn decrypt(object: &mut AttributeValue, internal: &mut AttributeValue, cipher: &Cipher<'_>) {
            endpoint_secrets::decrypt(object, internal, cipher);
        }
    }

    Vehicle: ById {
        fn fleet(&self) -> Option<&Id> {
            Some(&self.fleet)
        }

        fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a VehicleInternal) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let (list, fleet) = (Partition::Kind { tenant, kind }, &self.fleet);
            let site = self.site.iter().map(|site| Partition::Site { tenant, site });
            let found_by = |member, value| Partition::Lookup { tenant, kind, member, value };
            let fixed = [
                list,
                Partition::Fleet { tenant, fleet, kind },
                found_by(Lookup::Plate, self.registration_plate.as_str()),
                found_by(Lookup::Vin, self.vin.as_str()),
            ];
            fixed.into_iter().chain(site).collect()
        }
    }

    Site: ById {}

    SiteDay: ById {
        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.kept_until())
        }
    }

    VehicleDepartures: ById {
        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }
    }

    Transaction: ById {
        fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a TransactionInternal) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let fleet = self.fleet.as_ref().map(|fleet| Partition::Fleet { tenant, fleet, kind });
            // The charge of a session is found by its id, which is derived from the session.
            let is_charge = self.kind == TransactionType::Charge;
            let session = self.charging_session.as_ref().filter(|_| !is_charge);
            let paid = session.or(self.invoice.as_ref());
            let paid = paid.map(|what| Partition::PaymentsFor { tenant, what });
            let month = self.created.utc_date().first_of_month();
            let refund = Partition::Refunds { tenant, month };
            let refund = (self.kind == TransactionType::Refund).then_some(refund);
            let always = Partition::Kind { tenant, kind };
            [Some(always), fleet, paid, refund].into_iter().flatten().collect()
        }
    }

    ChargingSession: ById {
        const READABLE: Option<&'static [&'static str]> =
            Some(&["charging_station", "invoice", STATE, "updated"]);

        /// Omits the moment at which the session began if it was created then.
        fn compact(object: &mut AttributeValue) {
            if let AttributeValue::M(session) = object
                && session.get("session_started") == session.get("created")
            {
                session.remove("session_started");
            }
        }

        fn complete(object: &mut AttributeValue) {
            if let AttributeValue::M(session) = object
                && let Some(created) = session.get("created").cloned()
            {
                session.entry("session_started".into()).or_insert(created);
            }
        }

        fn lists<'a>(&'a self, tenant: &'a Tenant, internal: &'a SessionInternal) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let (fleet, driver, vehicle) = (&self.fleet, &self.driver, &self.vehicle);
            let is_listed = self.payment_method.is_some() && !internal.shares_method
                || self.state.may_outlast_a_day(self.created, self.session_started);
            let open = is_listed && self.status().is_open();
            let always = [
                Partition::Kind { tenant, kind },
                Partition::Fleet { tenant, fleet, kind },
                Partition::Driver { tenant, driver },
                Partition::Vehicle { tenant, vehicle },
            ];
            let open = open.then_some(Partition::Open { tenant });
            let late = sessions::month_if_late(self);
            let late = late.map(|month| Partition::LateSessions { tenant, month });
            always.into_iter().chain(open).chain(late).collect()
        }

        fn paid_with(&self) -> Option<&Id> {
            self.payment_method.as_ref()
        }
    }

    Adjustment: ById {
        fn lists<'a>(&'a self, tenant: &'a Tenant, internal: &'a AdjustmentInternal) -> Vec<Partition<'a>> {
            let month = self.created.utc_date().first_of_month();
            let list = if internal.invoice_paid {
                Partition::PaidAdjustments { tenant, month }
            } else {
                Partition::OpenAdjustments { tenant }
            };
            let subject = self.line.subject();
            let of_subject = subject.map(|what| Partition::AdjustmentsOf { tenant, what });
            std::iter::once(list).chain(of_subject).collect()
        }
    }

    Reservation: ById {
        const READABLE: Option<&'static [&'static str]> = Some(&["internal", STATE, "updated"]);

        fn lists<'a>(&'a self, tenant: &'a Tenant, internal: &'a ReservationInternal) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let fleet = internal.fleet.iter().map(|fleet| Partition::Fleet { tenant, fleet, kind });
            let (driver, vehicle) = (&self.driver, &self.vehicle);
            let always = [
                Partition::Kind { tenant, kind },
                Partition::Driver { tenant, driver },
                Partition::Vehicle { tenant, vehicle },
            ];
            let open = self.status().is_open().then_some(Partition::Open { tenant });
            let fee = match self.state.fee() {
                FeeState::None | FeeState::Waived => None,
                FeeState::Due { .. } => Some(Partition::Fees { tenant }),
                FeeState::Paid { since, .. } => Some(Partition::PaidFees {
                    tenant,
                    month: since.utc_date().first_of_month(),
                }),
            };
            let is_pending = self.status() == ReservationStatus::Pending;
            let station = internal.planned_station.as_ref().filter(|_| is_pending);
            let planned = station.map(|station| Partition::Planned { mode: tenant.mode, station });
            let others = fleet.chain(open).chain(fee).chain(planned);
            always.into_iter().chain(others).collect()
        }

        fn paid_with(&self) -> Option<&Id> {
            self.payment_method.as_ref()
        }

        /// Omits the counts of the last attempt that are 0.
        fn compact(object: &mut AttributeValue) {
            let Some(summary) = match_summary(object) else {
                return;
            };
            if let Some(AttributeValue::M(refused)) = summary.get_mut("refused") {
                refused.retain(|_, count| *count != n(0));
                if refused.is_empty() {
                    summary.remove("refused");
                }
            }
        }

        fn complete(object: &mut AttributeValue) {
            let none = serde_dynamo::to_item(MatchRefusals::default());
            let (Some(summary), Ok(none)) = (match_summary(object), none) else {
                return;
            };
            let refused = summary.remove("refused");
            let mut counts: Item = none;
            if let Some(AttributeValue::M(refused)) = refused {
                counts.extend(refused);
            }
            summary.insert("refused".into(), AttributeValue::M(counts));
        }
    }

    Invoice: ById {
        const READABLE: Option<&'static [&'static str]> =
            Some(&["fleet", "internal", "number", "status"]);

        fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a InvoiceInternal) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let status = self.status.as_str();
            let fleet = self.fleet.as_ref().map(|fleet| Partition::Fleet { tenant, fleet, kind });
            let number = self.number.as_deref();
            let number = number.map(|number| Partition::Number { tenant, kind, number });
            let finalized = self.finalized_at.map(|at| {
                let month = at.utc_date().first_of_month();
                Partition::Finalized { tenant, first: month, last: month }
            });
            let always = [Partition::Kind { tenant, kind }, Partition::Status { tenant, kind, status }];
            always.into_iter().chain(fleet).chain(number).chain(finalized).collect()
        }
    }

    CreditNote: ById {
        fn lists<'a>(&'a self, tenant: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            let kind = Self::KIND;
            let fleet = self.fleet.as_ref().map(|fleet| Partition::Fleet { tenant, fleet, kind });
            let of_invoice = Partition::PaymentsFor { tenant, what: &self.invoice };
            let always = [Partition::Kind { tenant, kind }, of_invoice];
            always.into_iter().chain(fleet).collect()
        }
    }

    Report: ById {}

    Batch: ById {
        fn expires(&self) -> Option<Timestamp> {
            Some(self.kept_until())
        }
    }

    Event {
        fn key<'a>(&'a self, tenant: &'a Tenant, _: &'a EventInternal) -> Key<'a> {
            Self::locate(tenant, &self.id)
        }

        /// Events are listed in the order of the table.
        fn lists<'a>(&'a self, _: &'a Tenant, _: &'a EventInternal) -> Vec<Partition<'a>> {
            Vec::new()
        }

        /// Deflates the snapshot. The open deliveries are counted when the event is read, and the first event of an object has no number.
        fn compact(object: &mut AttributeValue) {
            let AttributeValue::M(event) = object else {
                return;
            };
            event.remove("pending_webhooks");
            if event.get("sequence") == Some(&n(1)) {
                event.remove("sequence");
            }
            if let Some(data) = event.get_mut("data") {
                let json = serde_dynamo::from_attribute_value::<_, Value>(data.clone());
                let text = json.ok().map(|json| json.to_string());
                let deflated = text.and_then(|text| deflated(text.as_bytes()).ok());
                *data = deflated.unwrap_or_else(|| data.clone());
            }
        }

        fn complete(object: &mut AttributeValue) {
            let AttributeValue::M(event) = object else {
                return;
            };
            event.insert("pending_webhooks".into(), n(0));
            if let Some(AttributeValue::B(bytes)) = event.get("data") {
                let text = inflated(bytes).ok();
                let json = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
                let data = json.and_then(|json| serde_dynamo::to_attribute_value(json).ok());
                event.extend(data.map(|data| ("data".to_owned(), data)));
            }
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.created.plus(event::KEPT))
        }
    }

    Estimation: ById {
        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.kept_until())
        }
    }

    VehicleTelemetry: ById {
        fn lists<'a>(&'a self, _: &'a Tenant, _: &'a Option<Id>) -> Vec<Partition<'a>> {
            Vec::new()
        }
    }

    WebhookDelivery {
        /// Omits members that are absent in most attempts.
        fn compact(object: &mut AttributeValue) {
            let AttributeValue::M(delivery) = object else {
                return;
            };
            delivery.retain(|_, member| match member {
                AttributeValue::M(headers) => !headers.is_empty(),
                member => *member != AttributeValue::Bool(false),
            });
        }

        fn key<'a>(&'a self, tenant: &'a Tenant, (): &'a ()) -> Key<'a> {
            Key::Delivery {
                tenant,
                endpoint: &self.webhook_endpoint,
                delivery: &self.id,
            }
        }

        fn lists<'a>(&'a self, _: &'a Tenant, (): &'a ()) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.created.plus(event::KEPT))
        }
    }

    WebhookReplay: ById {
        fn lists<'a>(&'a self, _: &'a Tenant, _: &'a ReplayInternal) -> Vec<Partition<'a>> {
            Vec::new()
        }

        fn expires(&self) -> Option<Timestamp> {
            Some(self.created.plus(event::KEPT))
        }
    }

    Account {
        fn key<'a>(&'a self, _: &'a Tenant, _: &'a AccountInternal) -> Key<'a> {
            Key::Account { id: &self.id }
        }

        fn lists<'a>(&'a self, _: &'a Tenant, internal: &'a AccountInternal) -> Vec<Partition<'a>> {
            let parent = internal.parent.iter();
            parent.map(|parent| Partition::Children { parent }).collect()
        }
    }

    ApiKey {
        fn key<'a>(&'a self, tenant: &'a Tenant, internal: &'a ApiKeyInternal) -> Key<'a> {
            Key::ApiKey {
                account: &tenant.account,
                hash: &internal.hash,
            }
        }
    }

    ChargingStation {
        fn key<'a>(&'a self, tenant: &'a Tenant, _: &'a StationInternal) -> Key<'a> {
            Self::locate(tenant, &self.id)
        }

        /// A station that is not published is in no list.
        fn lists<'a>(&'a self, tenant: &'a Tenant, internal: &'a StationInternal) -> Vec<Partition<'a>> {
            let list = internal.published.then_some(Partition::Stations { mode: tenant.mode });
            list.into_iter().collect()
        }

        /// The order of the ids of stations from OCPI is not that of their creation.
        fn list_id(&self) -> Id {
            self.id.with_time(Self::KIND, self.created)
        }

        /// Omits data that connectors often share: the station's prices, and nulls.
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

/// Returns the result of the last attempt to confirm a stored reservation.
fn match_summary(reservation: &mut AttributeValue) -> Option<&mut Item> {
    let AttributeValue::M(members) = reservation else {
        return None;
    };
    match members.get_mut("match_summary")? {
        AttributeValue::M(summary) => Some(summary),
        _ => None,
    }
}

/// Returns the connectors of a stored station.
fn connectors(station: &mut Item) -> impl Iterator<Item = &mut Item> {
    let connectors = match station.get_mut("connectors") {
        Some(AttributeValue::L(connectors)) => connectors.as_mut_slice(),
        _ => &mut [],
    };
    connectors.iter_mut().filter_map(|value| match value {
        AttributeValue::M(connector) => Some(connector),
        _ => None,
    })
}

/// Omits the nulls of a member, and the member if it contains nothing else.
fn without_absent(object: &mut AttributeValue, name: &str) {
    let AttributeValue::M(members) = object else {
        return;
    };
    if let Some(AttributeValue::M(member)) = members.get_mut(name) {
        member.retain(|_, value| !value.is_null());
        if member.is_empty() {
            members.remove(name);
        }
    }
}

impl ById for Account {
    fn locate<'a>(_: &'a Tenant, id: &'a Id) -> Key<'a> {
        Key::Account { id }
    }
}

impl ById for Event {
    fn locate<'a>(tenant: &'a Tenant, id: &'a Id) -> Key<'a> {
        Key::Event { tenant, id }
    }
}

impl ById for ChargingStation {
    fn locate<'a>(tenant: &'a Tenant, id: &'a Id) -> Key<'a> {
        let mode = tenant.mode;
        Key::Station { mode, id }
    }
}

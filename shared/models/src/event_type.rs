//! The types of events.

use std::fmt;

use serde::{Deserialize, Serialize};

use kernel::Kind;

macro_rules! event_types {
    ($($variant:ident $name:literal,)*) => {
        /// The types of events.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum EventType { $(#[serde(rename = $name)] $variant,)* }

        impl EventType {
            pub const ALL: &[EventType] = &[$(EventType::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(EventType::$variant => $name,)* }
            }
        }
    };
}

event_types! {
    BatchCompleted "batch.completed",
    ChargeCardContested "charge_card.contested",
    ChargeCardCreated "charge_card.created",
    ChargeCardDeleted "charge_card.deleted",
    ChargeCardUpdated "charge_card.updated",
    ChargingSessionCancelled "charging_session.cancelled",
    ChargingSessionCompleted "charging_session.completed",
    ChargingSessionFailed "charging_session.failed",
    ChargingSessionReviewOpened "charging_session.review_opened",
    ChargingSessionStalled "charging_session.stalled",
    ChargingSessionStarted "charging_session.started",
    ChargingSessionUpdated "charging_session.updated",
    CreditNoteCreated "credit_note.created",
    DriverAttached "driver.attached",
    DriverCreated "driver.created",
    DriverDeleted "driver.deleted",
    DriverDetached "driver.detached",
    DriverUpdated "driver.updated",
    FleetCreated "fleet.created",
    FleetDeleted "fleet.deleted",
    FleetUpdated "fleet.updated",
    InvoiceCreated "invoice.created",
    InvoiceDeleted "invoice.deleted",
    InvoiceFinalized "invoice.finalized",
    InvoiceOverdue "invoice.overdue",
    InvoicePaid "invoice.paid",
    InvoicePaymentFailed "invoice.payment_failed",
    InvoiceUpdated "invoice.updated",
    InvoiceVoided "invoice.voided",
    Ping "ping",
    PolicyCreated "policy.created",
    PolicyDeleted "policy.deleted",
    PolicyUpdated "policy.updated",
    ReportFailed "report.failed",
    ReportSucceeded "report.succeeded",
    ReservationCancelled "reservation.cancelled",
    ReservationCompleted "reservation.completed",
    ReservationConfirmed "reservation.confirmed",
    ReservationCreated "reservation.created",
    ReservationExpired "reservation.expired",
    ReservationFailed "reservation.failed",
    ReservationNeedShort "reservation.need_short",
    ReservationReassigned "reservation.reassigned",
    ReservationReplanned "reservation.replanned",
    ReservationUnassigned "reservation.unassigned",
    ReservationUpdated "reservation.updated",
    ServiceFailed "service.failed",
    ServiceRefunded "service.refunded",
    ServiceSucceeded "service.succeeded",
    SiteCreated "site.created",
    SiteDeleted "site.deleted",
    SitePlanChanged "site.plan_changed",
    SiteUpdated "site.updated",
    VehicleCreated "vehicle.created",
    VehicleDeleted "vehicle.deleted",
    VehicleUpdated "vehicle.updated",
    WebhookDeliveryExhausted "webhook_delivery.exhausted",
    WebhookEndpointDisabled "webhook_endpoint.disabled",
    WebhookEndpointFailing "webhook_endpoint.failing",
    WebhookEndpointRecovered "webhook_endpoint.recovered",
}

impl EventType {
    /// Returns the kind of the object that events of this type show.
    pub fn subject(self) -> Kind {
        let subject = self.as_str().split('.').next().unwrap_or_default();
        let named = Kind::ALL.iter().find(|kind| kind.name() == subject);
        match named {
            Some(kind) => *kind,
            None if self == Self::Ping => Kind::WebhookEndpoint,
            // The events of a charge, `service.…`, show its transaction.
            None => Kind::Transaction,
        }
    }

    /// Checks whether the event is about webhook deliveries themselves.
    pub fn is_operational(self) -> bool {
        matches!(
            self.subject(),
            Kind::WebhookDelivery | Kind::WebhookEndpoint
        )
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Checks whether the event has `previous_attributes`.
    pub fn has_previous_attributes(self) -> bool {
        self.as_str().ends_with(".updated")
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

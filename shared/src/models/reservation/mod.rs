//! Reservations: a request for a charging window in an area, which is confirmed later with a station and a connector.
//!
//! pending → confirmed → completed | expired | cancelled; pending → failed | cancelled. While it is confirmed at the station of a
//! charging network, [`outward`] keeps the EVSE free there.

mod assignment;
pub mod outward;
mod outward_transitions;
mod request;
#[cfg(test)]
mod tests;
mod transitions;
pub mod unused;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::assignment::{Assignment, MatchFilter, MatchRefusals, MatchSummary};
pub use self::outward::GRACE;
use self::outward::{OutwardReservation, RefusedEvse, UnusedReservation};
pub use self::request::{Area, NewReservation, ReservationChange, ReservationRequest};
use self::request::{LATEST, check_start, check_types, check_window, coded, invalid};
use super::action::Action;
use super::check_size;
use super::driver::Driver;
use super::event_type::EventType;
use super::stored::{Object, Stored};
use super::vehicle::{ConnectorType, Vehicle};
use crate::error::Result;
use crate::fields::metadata::Metadata;
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::{SignedDuration, Timestamp, minutes};

/// How long before `ideal_start` the first attempt to confirm is made.
pub const LEAD: SignedDuration = minutes(30);
/// The time between two attempts to confirm.
pub const RETRY: SignedDuration = minutes(5);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reservation {
    pub id: Id,
    pub object: Kind,
    pub cancellation_policy: CancellationPolicy,
    /// The session that fulfils the reservation; null until the vehicle has started charging.
    #[serde(default)]
    #[schema(required)]
    pub charging_session: Option<Id>,
    /// The station; null until one is assigned.
    pub charging_station: Option<Id>,
    pub confirmed_at: Option<Timestamp>,
    /// The connector within the station; null until one is assigned.
    #[serde(default)]
    pub connector: Option<String>,
    pub connector_type: Vec<ConnectorType>,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    pub earliest_start: Option<Timestamp>,
    pub failed_reason: Option<FailedReason>,
    /// How much is due, in minor units of `currency`. The `reservation_fee` from the confirmation on; nothing before, nor after a failure
    /// or a free cancellation. If the reservation is not used and the charging network bills more than that for it, what the network bills.
    /// Once the reservation is over, it is charged to `payment_method`.
    #[serde(default)]
    pub fee_due: i64,
    pub ideal_end: Timestamp,
    pub ideal_start: Timestamp,
    pub latest_end: Option<Timestamp>,
    pub location: Area,
    /// The result of the last attempt to confirm: how many stations were in the radius, and why they were refused.
    pub match_summary: Option<MatchSummary>,
    pub metadata: Metadata,
    pub payment_method: Option<Id>,
    /// Minor units of `currency`, fixed at creation.
    pub reservation_fee: i64,
    pub reserved_end: Option<Timestamp>,
    pub reserved_start: Option<Timestamp>,
    pub status: ReservationStatus,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for Reservation {
    type Internal = ReservationInternal;

    const KIND: Kind = Kind::Reservation;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let action = match stored.object.status {
            ReservationStatus::Confirmed if !stored.internal.awaiting_rematch => {
                let outward = stored.internal.outward.as_ref();
                if outward.is_none_or(OutwardReservation::is_accepted) {
                    Action::ExpireReservation
                } else {
                    Action::ReserveAtNetwork
                }
            }
            ReservationStatus::Pending | ReservationStatus::Confirmed => Action::ConfirmReservation,
            _ => Action::ChargeFee,
        };
        stored.internal.next_action_at.map(|at| (at, action))
    }
}

/// The internal state of a reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationInternal {
    /// When the reservation has to be processed next.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// The vehicle's plug when the reservation was made: what updates of `connector_type` are held against.
    pub charging_standard: ConnectorType,
    /// The vehicle's fleet.
    #[serde(default)]
    pub fleet: Option<Id>,
    /// The EVSE of the reserved connector, whose calendar the reservation is in; none before it is confirmed, and in rows of
    /// earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evse: Option<String>,
    /// Whether the reserved connector is out of order, so that the next action is to find another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_rematch: bool,
    /// The reservation as the network of the station knows it; none for a station without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<OutwardReservation>,
    /// The EVSEs that their networks have refused to keep free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_evses: Vec<RefusedEvse>,
    /// When the reservation ended, if its fee is due since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_due_since: Option<Timestamp>,
    /// The fee, once it is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_paid: Option<PaidFee>,
    /// The invoice that claimed the fee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<Id>,
    /// Whether the reservation was cancelled free of charge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fee_waived: bool,
    /// What the network of the station has billed for not using the reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused: Option<UnusedReservation>,
}

/// A fee that has been paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidFee {
    /// When it became due.
    pub since: Timestamp,
    /// Minor units of the reservation's currency.
    pub amount: i64,
}

/// The fee of a reservation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// When it became due: at the end of the reservation.
    pub since: Timestamp,
    /// Minor units of the reservation's currency.
    pub amount: i64,
    /// What of `amount` is paid.
    pub paid: i64,
}

impl Default for ReservationInternal {
    fn default() -> Self {
        Self {
            next_action_at: None,
            charging_standard: ConnectorType::Type2,
            fleet: None,
            evse: None,
            awaiting_rematch: false,
            outward: None,
            refused_evses: Vec::new(),
            fee_due_since: None,
            fee_paid: None,
            invoice: None,
            is_fee_waived: false,
            unused: None,
        }
    }
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReservationStatus {
    Pending,
    Confirmed,
    Completed,
    Cancelled,
    Failed,
    Expired,
}

impl ReservationStatus {
    /// Whether the reservation is pending or confirmed.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Confirmed)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedReason {
    NoAvailableConnectors,
    PaymentFailed,
    PolicyBlocked,
    DriverUnavailable,
    VehicleUnavailable,
    StationUnavailable,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancellationPolicy {
    #[serde(rename = "type")]
    pub kind: CancellationType,
    /// Seconds before the start.
    pub free_until_before: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancellationType {
    FreeCancellation,
    NonRefundable,
}

/// The price of a reservation, which is fixed at its creation.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub currency: Currency,
    /// Minor units.
    pub fee: i64,
}

impl Reservation {
    /// A new, pending reservation.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn new(
        new: NewReservation,
        driver: &Driver,
        vehicle: &Vehicle,
        terms: Terms,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        if !driver.is_active() {
            return Err(invalid("driver", "the driver is not active"));
        }
        if !vehicle.is_active() {
            return Err(invalid("vehicle", "the vehicle is not active"));
        }
        if !driver.may_drive(vehicle) {
            return Err(invalid(
                "driver",
                "the driver is neither one of the vehicle's nor in its fleet",
            ));
        }
        let reservation = Self {
            id: Id::new(Kind::Reservation, now),
            object: Kind::Reservation,
            cancellation_policy: CancellationPolicy {
                kind: CancellationType::FreeCancellation,
                free_until_before: 1800,
            },
            charging_session: None,
            charging_station: None,
            confirmed_at: None,
            connector: None,
            connector_type: new.connector_type,
            created: now,
            currency: terms.currency,
            driver: new.driver,
            earliest_start: new.earliest_start,
            failed_reason: None,
            fee_due: 0,
            ideal_end: new.ideal_end,
            ideal_start: new.ideal_start,
            latest_end: new.latest_end,
            location: new.location,
            match_summary: None,
            metadata: Metadata::new(new.metadata)?,
            payment_method: new.payment_method,
            reservation_fee: terms.fee,
            reserved_end: None,
            reserved_start: None,
            status: ReservationStatus::Pending,
            updated: now,
            vehicle: new.vehicle,
        };
        check_start(reservation.ideal_start, now)?;
        reservation.check(vehicle.charging_standard)?;
        check_size(&reservation).map_err(coded)?;
        let internal = ReservationInternal {
            next_action_at: Some(reservation.first_attempt(now)),
            charging_standard: vehicle.charging_standard,
            fleet: Some(vehicle.fleet.clone()),
            ..ReservationInternal::default()
        };
        Ok(Stored::with_internal(reservation, internal).recording(EventType::ReservationCreated))
    }

    fn check(&self, standard: ConnectorType) -> Result<()> {
        check_window(
            self.ideal_start,
            self.ideal_end,
            self.earliest_start,
            self.latest_end,
        )?;
        self.location.check()?;
        check_types(&self.connector_type)?;
        if !self.connector_type.contains(&standard) {
            return Err(invalid(
                "connector_type",
                "must include the vehicle's charging_standard",
            ));
        }
        Ok(())
    }

    fn first_attempt(&self, now: Timestamp) -> Timestamp {
        self.ideal_start.plus(-LEAD).max(now)
    }

    /// The last moment an attempt to confirm makes sense. It lies at most 7 days after `ideal_start`, also for a reservation
    /// that an earlier release stored with a later `latest_end`: at one attempt every 5 minutes from 30 minutes before
    /// `ideal_start` on, that bounds the number of attempts at 2,023.
    fn last_attempt(&self) -> Timestamp {
        let length = self.ideal_end.since(self.ideal_start);
        let latest_start = self.latest_end.map(|end| end.plus(-length));
        self.ideal_start
            .max(latest_start.unwrap_or(self.ideal_start))
            .min(self.ideal_start.plus(LATEST))
    }

    /// Whether cancelling is free: before the reservation is confirmed, and until `free_until_before` seconds before the start.
    fn is_free_to_cancel(&self, now: Timestamp) -> bool {
        let CancellationPolicy {
            kind,
            free_until_before,
        } = self.cancellation_policy;
        let Some(start) = self.reserved_start else {
            return true;
        };
        let last = start.plus_seconds(-i64::from(free_until_before));
        kind == CancellationType::FreeCancellation && now <= last
    }

    /// Whether a connector of this station is reserved.
    pub fn is_for(&self, station: &Id) -> bool {
        self.status == ReservationStatus::Confirmed
            && self.charging_station.as_ref() == Some(station)
    }

    /// What a charge of the fee is called.
    pub fn fee_description(&self) -> String {
        format!("Fee of reservation {}", self.id)
    }
}

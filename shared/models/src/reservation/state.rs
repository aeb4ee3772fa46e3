//! The states of a reservation, each with its data.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::outward::{GRACE, OutwardReservation, OutwardState, RefusedEvse, UnusedReservation};
use crate::action::Action;
use crate::stored::is_default;
use kernel::{Id, Timestamp, Window};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ReservationState {
    /// No connector is reserved yet, or any longer.
    Pending {
        next_attempt: Timestamp,
        /// Set if a reserved connector was lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        unassigned: Option<Unassigned>,
    },
    Confirmed {
        reserved: Reserved,
        #[serde(default, skip_serializing_if = "is_default")]
        step: Step,
    },
    /// The session that fulfilled the reservation has ended.
    Completed {
        reserved: Reserved,
        session: Id,
        #[serde(default, skip_serializing_if = "is_default")]
        fee: FeeState,
    },
    /// The vehicle has not arrived.
    Expired {
        reserved: Reserved,
        #[serde(default, skip_serializing_if = "is_default")]
        fee: FeeState,
    },
    Cancelled {
        #[serde(skip_serializing_if = "Option::is_none")]
        reserved: Option<Reserved>,
        #[serde(default, skip_serializing_if = "is_default")]
        fee: FeeState,
    },
    Failed {
        reason: FailedReason,
    },
}

/// The event that a confirmed reservation waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The vehicle, once the network of the station keeps the EVSE free.
    #[default]
    Arrival,
    /// Another connector, because the reserved one is out of order, is refused by its network, stays occupied, is closed in the window, or
    /// does not fit the vehicle any more.
    Rematch {
        next_attempt: Timestamp,
        /// Whether a vehicle of the same tenant occupies the reserved one, or the reservation's vehicle has another plug.
        #[serde(default, skip_serializing_if = "is_default")]
        by_tenant: bool,
    },
    /// The end of the session that fulfils it.
    Charging { session: Id },
}

/// The data that is kept about a reserved connector after it was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unassigned {
    /// The EVSEs that are not kept free for the reservation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_evses: Vec<RefusedEvse>,
}

/// A connector that is reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    pub station: Id,
    /// The EVSE of the connector. The reservation is in the calendar of this EVSE.
    pub evse: String,
    pub connector: String,
    pub window: Window,
    /// When the first connector was reserved.
    pub confirmed_at: Timestamp,
    /// The time until which cancelling is free although `free_until_before` has passed, because the connector was reserved late; at most
    /// the start of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_free_until: Option<Timestamp>,
    /// The reservation at the network of the station; none for a station without a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outward: Option<OutwardReservation>,
    /// The EVSEs that are not kept free for the reservation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_evses: Vec<RefusedEvse>,
    /// The amounts that the network of the station has billed for not using the reservation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unused: UnusedReservation,
    /// The time until which the reservation is kept after it would have expired, because its session was requested and has not begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<Timestamp>,
    /// Whether the connector could not be used at some time after the start of the window, or a session was refused or invalid there: then
    /// no fee is due if the vehicle does not charge.
    #[serde(default, skip_serializing_if = "is_default")]
    pub was_lost: bool,
}

/// The state of the fee of a reservation that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeeState {
    /// Nothing is due, unless the network bills an amount.
    #[default]
    None,
    /// Nothing is due: the reservation was cancelled free of charge, or its connector could not be used.
    Waived,
    /// The amount, in minor units, is due since the end of the reservation.
    Due {
        since: Timestamp,
        amount: i64,
        /// Whether the charge to the payment method is in flight.
        is_charging: bool,
    },
    Paid {
        since: Timestamp,
        amount: i64,
        /// The refunded part of the paid amount.
        #[serde(default, skip_serializing_if = "is_default")]
        refunded: i64,
    },
}

/// The fee of a reservation that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// When it became due: at the end of the reservation.
    pub since: Timestamp,
    /// The amount in minor units of the reservation's currency.
    pub amount: i64,
    /// The paid part of `amount`.
    pub paid: i64,
    /// The refunded part of the paid amount.
    pub refunded: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
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
    /// Checks whether the reservation is pending or confirmed.
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::Confirmed => true,
            Self::Completed | Self::Cancelled | Self::Failed | Self::Expired => false,
        }
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
    /// The vehicle or its fleet is deleted or not active.
    VehicleUnavailable,
    /// The confirmed connector was lost, and no other one was available.
    StationUnavailable,
    /// The vehicle had nothing to charge: its level was that of the need, or its battery was full.
    Other,
}

impl ReservationState {
    pub fn status(&self) -> ReservationStatus {
        match self {
            Self::Pending { .. } => ReservationStatus::Pending,
            Self::Confirmed { .. } => ReservationStatus::Confirmed,
            Self::Completed { .. } => ReservationStatus::Completed,
            Self::Expired { .. } => ReservationStatus::Expired,
            Self::Cancelled { .. } => ReservationStatus::Cancelled,
            Self::Failed { .. } => ReservationStatus::Failed,
        }
    }

    /// Returns the connector that is or was reserved.
    pub fn reserved(&self) -> Option<&Reserved> {
        match self {
            Self::Pending { .. } | Self::Failed { .. } => None,
            Self::Confirmed { reserved, .. }
            | Self::Completed { reserved, .. }
            | Self::Expired { reserved, .. } => Some(reserved),
            Self::Cancelled { reserved, .. } => reserved.as_ref(),
        }
    }

    pub(super) fn reserved_mut(&mut self) -> Option<&mut Reserved> {
        match self {
            Self::Pending { .. } | Self::Failed { .. } => None,
            Self::Confirmed { reserved, .. }
            | Self::Completed { reserved, .. }
            | Self::Expired { reserved, .. } => Some(reserved),
            Self::Cancelled { reserved, .. } => reserved.as_mut(),
        }
    }

    /// Returns the state of the fee; `None` before the reservation has ended.
    pub fn fee(&self) -> FeeState {
        match self {
            Self::Completed { fee, .. }
            | Self::Expired { fee, .. }
            | Self::Cancelled { fee, .. } => *fee,
            Self::Pending { .. } | Self::Confirmed { .. } | Self::Failed { .. } => FeeState::None,
        }
    }

    pub(super) fn set_fee(&mut self, new: FeeState) {
        if let Self::Completed { fee, .. }
        | Self::Expired { fee, .. }
        | Self::Cancelled { fee, .. } = self
        {
            *fee = new;
        }
    }

    /// Returns the session that fulfils or has fulfilled the reservation.
    pub fn session(&self) -> Option<&Id> {
        match self {
            Self::Confirmed {
                step: Step::Charging { session },
                ..
            }
            | Self::Completed { session, .. } => Some(session),
            _ => None,
        }
    }

    pub(crate) fn next_action(&self) -> Option<(Timestamp, Action)> {
        match self {
            Self::Pending { next_attempt, .. }
            | Self::Confirmed {
                step: Step::Rematch { next_attempt, .. },
                ..
            } => Some((*next_attempt, Action::ConfirmReservation)),
            Self::Confirmed {
                reserved,
                step: Step::Arrival,
            } => Some(
                match reserved.outward.as_ref().map(|outward| &outward.state) {
                    Some(
                        OutwardState::Due { at: moment } | OutwardState::Sent { until: moment, .. },
                    ) => (*moment, Action::ReserveAtNetwork),
                    Some(OutwardState::Accepted { .. }) | None => {
                        let expires = reserved.kept_until.unwrap_or(reserved.expires());
                        (expires, Action::ExpireReservation)
                    }
                },
            ),
            _ => match self.fee() {
                FeeState::Due {
                    since,
                    is_charging: true,
                    ..
                } => Some((since, Action::ChargeFee)),
                _ => None,
            },
        }
    }
}

impl Reserved {
    /// Checks whether the EVSE is not kept free for the reservation.
    pub(super) fn is_refused(&self) -> bool {
        let mut refused = self.refused_evses.iter();
        refused.any(|refused| refused.is(&self.station, &self.evse))
    }

    /// Returns the time at which the reservation expires if the vehicle has not arrived. Until then the network keeps the EVSE free.
    pub fn expires(&self) -> Timestamp {
        self.window.from.plus(GRACE)
    }
}

impl FeeState {
    /// Returns a fee that is due from now on, and charged if there is a payment method.
    pub(super) fn due(amount: i64, is_charging: bool, now: Timestamp) -> Self {
        if amount == 0 {
            return Self::None;
        }
        Self::Due {
            since: now,
            amount,
            is_charging,
        }
    }
}

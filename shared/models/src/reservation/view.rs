//! The form of a reservation that clients see.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::need::{ChargingPlan, Need, Optimize};
use super::{
    Area, CancellationPolicy, FailedReason, MatchSummary, Reservation, ReservationState,
    ReservationStatus,
};
use crate::shown_as_view::shown_as_view;
use crate::vehicle::ConnectorType;
use kernel::fields::metadata::Metadata;
use kernel::{Currency, Id, Kind, Timestamp};

// The names and descriptions are those of the OpenAPI document.
#[derive(Serialize, ToSchema)]
struct View {
    id: Id,
    object: Kind,
    /// The rules for cancellations that are free of charge.
    cancellation_policy: CancellationPolicy,
    /// The block that is chosen for `need`; null without a need.
    #[schema(required)]
    charging_plan: Option<ChargingPlan>,
    /// The session that fulfils the reservation; null until the vehicle has started charging.
    #[schema(required)]
    charging_session: Option<Id>,
    /// The station; null until one is assigned.
    charging_station: Option<Id>,
    /// Time at which the reservation was confirmed last; null if it never was, or is pending again. A reservation that has ended keeps it.
    confirmed_at: Option<Timestamp>,
    /// The connector within the station; null until one is assigned.
    connector: Option<String>,
    /// Plugs that the driver accepts.
    connector_type: Vec<ConnectorType>,
    created: Timestamp,
    /// Currency of the fee and of the plan.
    currency: Currency,
    /// Id of the driver who charges.
    driver: Id,
    /// Earliest beginning that the driver accepts; null if it is `ideal_start`.
    earliest_start: Option<Timestamp>,
    /// The reason why the reservation failed; null if it did not.
    failed_reason: Option<FailedReason>,
    /// The last moment at which cancelling is free of charge: `cancellation_policy.free_until_before` seconds before `reserved_start`, or
    /// 10 minutes after the reservation was confirmed or reassigned if that is later, but at most `reserved_start`. A vehicle does not have
    /// these 10 minutes after three of its cancellations within a day were free only because of them. Null while no connector is reserved,
    /// when cancelling is free, and if the policy is `non_refundable`.
    free_cancellation_until: Option<Timestamp>,
    /// The amount due, in minor units of `currency`: the `reservation_fee` from the confirmation on; 0 before, after a failure or a free
    /// cancellation, and if the connector could not be used in its window, or the network or the charging point has refused a session there,
    /// and the vehicle has not charged. If the reservation is not used and
    /// the charging network bills more than the `reservation_fee` for it, the amount that the network bills. When the reservation has ended,
    /// the amount is charged to `payment_method`.
    fee_due: i64,
    /// Preferred end of the window.
    ideal_end: Timestamp,
    /// Preferred beginning of the window.
    ideal_start: Timestamp,
    /// Latest end that the driver accepts; null if it is `ideal_end`.
    latest_end: Option<Timestamp>,
    /// Area in which a station is searched.
    location: Area,
    /// The result of the last attempt to confirm: how many stations were in the radius, and why they were refused.
    match_summary: Option<MatchSummary>,
    metadata: Metadata,
    /// The need of the vehicle; null if a window was requested.
    #[schema(required)]
    need: Option<NeedView>,
    /// Id of the payment method for the reservation fee; null if there is none.
    payment_method: Option<Id>,
    /// Minor units of `currency`, fixed at creation.
    reservation_fee: i64,
    /// End of the window in which the connector is reserved; null while none is.
    reserved_end: Option<Timestamp>,
    /// Beginning of the window in which the connector is reserved; null while none is.
    reserved_start: Option<Timestamp>,
    /// Stage of the reservation.
    status: ReservationStatus,
    updated: Timestamp,
    /// Id of the vehicle to charge.
    vehicle: Id,
}

/// A need with all of its members.
#[derive(Serialize, ToSchema)]
#[schema(as = ReservationNeed)]
struct NeedView {
    /// Metered Wh to charge, losses included; null if `target_level` is set.
    #[schema(required)]
    energy_wh: Option<u32>,
    /// State of charge in percent that the vehicle has to reach; null if `energy_wh` is set.
    #[schema(required)]
    target_level: Option<f64>,
    /// Time at which the vehicle has to be ready.
    ready_by: Timestamp,
    /// Time from which charging may begin; null if it was not set.
    #[schema(required)]
    earliest_start: Option<Timestamp>,
    /// The quantity that the chosen block minimises.
    optimize: Optimize,
    /// Highest effective price per kWh in minor units of `currency`, with tax; null without a limit.
    #[schema(required)]
    max_price_per_kwh: Option<u32>,
}

impl From<Need> for NeedView {
    fn from(need: Need) -> Self {
        let Need {
            energy_wh,
            target_level,
            ready_by,
            earliest_start,
            optimize,
            max_price_per_kwh,
        } = need;
        Self {
            energy_wh,
            target_level,
            ready_by,
            earliest_start,
            optimize,
            max_price_per_kwh,
        }
    }
}

impl From<Reservation> for View {
    fn from(reservation: Reservation) -> Self {
        let fee_due = reservation.fee_due();
        let free_cancellation_until = reservation.free_cancellation_until();
        let Reservation {
            id,
            cancellation_policy,
            charging_plan,
            connector_type,
            created,
            currency,
            driver,
            earliest_start,
            ideal_end,
            ideal_start,
            latest_end,
            location,
            match_summary,
            metadata,
            need,
            payment_method,
            reservation_fee,
            state,
            updated,
            vehicle,
        } = reservation;
        let reserved = state.reserved();
        Self {
            id,
            object: Kind::Reservation,
            cancellation_policy,
            charging_plan: charging_plan.map(|plan| *plan),
            charging_session: state.session().cloned(),
            charging_station: reserved.map(|reserved| reserved.station.clone()),
            confirmed_at: reserved.map(|reserved| reserved.confirmed_at),
            connector: reserved.map(|reserved| reserved.connector.clone()),
            connector_type,
            created,
            currency,
            driver,
            earliest_start,
            failed_reason: match state {
                ReservationState::Failed { reason } => Some(reason),
                _ => None,
            },
            free_cancellation_until,
            fee_due,
            ideal_end,
            ideal_start,
            latest_end,
            location,
            match_summary,
            metadata,
            need: need.map(|need| NeedView::from(*need)),
            payment_method,
            reservation_fee,
            reserved_end: reserved.map(|reserved| reserved.window.until),
            reserved_start: reserved.map(|reserved| reserved.window.from),
            status: state.status(),
            updated,
            vehicle,
        }
    }
}

shown_as_view!(Reservation, "Reservation");

//! Reservations: a request for a charging window in an area, which is confirmed later with a station and a connector.
//!
//! Life cycle: pending → confirmed → completed | expired | cancelled; pending → failed | cancelled. While the reservation is confirmed at
//! the station of a charging network, [`outward`] keeps the EVSE free there. If the connector of a confirmed reservation is lost, the
//! reservation is matched again at once: it is assigned another connector, or is pending again (*unassigned*).

mod assignment;
mod fee_transitions;
mod limits;
pub mod need;
pub mod outward;
mod outward_transitions;
mod plan_transitions;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod transitions;
pub mod unused;
mod view;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

pub use self::assignment::{Assignment, MatchFilter, MatchRefusals, MatchSummary};
pub use self::limits::{AreaRadius, ConnectorTypes, MOST_CONNECTOR_TYPES, MOST_RADIUS, SHORTEST};
use self::limits::{LATEST, coded, invalid};
use self::need::{ChargingPlan, LimitedBy, Need, ReplanReason};
pub use self::outward::GRACE;
use self::outward::RefusedEvse;
pub use self::request::{Area, NewReservation, ReservationChange, ReservationRequest};
use self::request::{check_types, check_window};
pub use self::state::{
    FailedReason, Fee, FeeState, ReservationState, ReservationStatus, Reserved, Step, Unassigned,
};
use super::action::Action;
use super::check_size;
use super::driver::Driver;
use super::event_type::EventType;
use super::fleet::Fleet;
use super::stored::{Object, Stored, is_default};
use super::vehicle::{ConnectorType, Vehicle};
use kernel::fields::metadata::Metadata;
use kernel::fields::party::TaxPercent;
use kernel::time::minutes;
use kernel::{Currency, Id, Kind, Result, SignedDuration, Timestamp, Window};

/// The time between the first attempt to confirm and `ideal_start`.
pub const LEAD: SignedDuration = minutes(30);
/// The time between two attempts to confirm.
pub const RETRY: SignedDuration = minutes(5);

/// A reservation in the form in which it is stored. It is serialized as clients see it (`view`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Reservation {
    pub id: Id,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancellation_policy: CancellationPolicy,
    /// The block that is chosen for `need`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charging_plan: Option<Box<ChargingPlan>>,
    pub connector_type: Vec<ConnectorType>,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    pub earliest_start: Option<Timestamp>,
    pub ideal_end: Timestamp,
    pub ideal_start: Timestamp,
    pub latest_end: Option<Timestamp>,
    pub location: Area,
    /// The result of the last attempt to confirm.
    pub match_summary: Option<MatchSummary>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: Metadata,
    /// The need of the vehicle, if no window was requested. Then `ideal_start` and `ideal_end` are those of the chosen block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<Box<Need>>,
    pub payment_method: Option<Id>,
    /// Minor units of `currency`, fixed at creation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reservation_fee: i64,
    pub state: ReservationState,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for Reservation {
    type Internal = ReservationInternal;

    const KIND: Kind = Kind::Reservation;

    fn id(&self) -> &Id {
        &self.id
    }

    fn stored<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }

    fn hidden_fleet(stored: &Stored<Self>) -> Option<&Id> {
        stored.internal.fleet.as_ref()
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        stored.object.state.next_action()
    }
}

/// The part of the internal state of a reservation that does not depend on its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationInternal {
    /// The vehicle's plug for which a connector was last searched; before the first attempt, that at the creation. Updates of
    /// `connector_type` are checked against it.
    #[serde(default = "usual_plug", skip_serializing_if = "is_usual_plug")]
    pub charging_standard: ConnectorType,
    /// The tax that the fee includes, in percent, fixed at creation; for a fee that only the network of the station bills, fixed at the
    /// first bill.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fee_tax_percent: TaxPercent,
    /// The vehicle's fleet.
    pub fleet: Option<Id>,
    /// The invoice that has claimed the fee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invoice: Option<Id>,
    /// The level of the battery that the plan of a need is based on, or the price of the reserved connector, in hundredths of a percent; none
    /// if it was unknown or too old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_level: Option<u16>,
    /// The station of the block that is planned for a need; none once an attempt to confirm was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned_station: Option<Id>,
}

/// Returns the default plug, which is not stored.
fn usual_plug() -> ConnectorType {
    ConnectorType::Type2
}

fn is_usual_plug(plug: &ConnectorType) -> bool {
    *plug == usual_plug()
}

impl Default for ReservationInternal {
    fn default() -> Self {
        Self {
            charging_standard: usual_plug(),
            fee_tax_percent: TaxPercent::default(),
            fleet: None,
            invoice: None,
            planned_level: None,
            planned_station: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancellationPolicy {
    /// The type of the policy: whether a cancellation can be free of charge.
    #[serde(rename = "type")]
    pub kind: CancellationType,
    /// Number of seconds before the start until which a cancellation is free of charge.
    pub free_until_before: u32,
}

impl Default for CancellationPolicy {
    fn default() -> Self {
        Self {
            kind: CancellationType::FreeCancellation,
            free_until_before: 1800,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancellationType {
    FreeCancellation,
    NonRefundable,
}

/// The price of a reservation, fixed at its creation.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub currency: Currency,
    /// The fee in minor units.
    pub fee: i64,
    /// The tax that the fee includes, in percent.
    pub fee_tax_percent: TaxPercent,
}

/// Returns the time of the first attempt to confirm.
fn first_attempt(ideal_start: Timestamp, now: Timestamp) -> Timestamp {
    ideal_start.plus(-LEAD).max(now)
}

/// Checks that the driver, the vehicle and its fleet are active, and that the driver may drive the vehicle.
fn check_parties(driver: &Driver, vehicle: &Vehicle, fleet: Option<&Fleet>) -> Result<()> {
    if !driver.is_active() {
        return Err(invalid("driver", "the driver is not active"));
    }
    if !vehicle.is_active() {
        return Err(invalid("vehicle", "the vehicle is not active"));
    }
    if fleet.is_some_and(|fleet| !fleet.is_active()) {
        return Err(invalid("vehicle", "the vehicle's fleet is not active"));
    }
    if !driver.may_drive(vehicle) {
        return Err(invalid(
            "driver",
            "the driver is neither one of the vehicle's nor in its fleet",
        ));
    }
    Ok(())
}

impl Reservation {
    /// Returns a new, pending reservation. The body must have passed [`NewReservation::check`].
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn new(
        new: NewReservation,
        driver: &Driver,
        vehicle: &Vehicle,
        fleet: Option<&Fleet>,
        terms: Terms,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        check_parties(driver, vehicle, fleet)?;
        let ideal = new.ideal_window(now)?;
        let need = new.need;
        let reservation = Self {
            id: Id::new(Kind::Reservation, now),
            cancellation_policy: CancellationPolicy::default(),
            charging_plan: None,
            connector_type: new.connector_type,
            created: now,
            currency: terms.currency,
            driver: new.driver,
            earliest_start: match need {
                Some(need) => need.earliest_start.or(Some(ideal.from)),
                None => new.earliest_start,
            },
            ideal_end: ideal.until,
            ideal_start: ideal.from,
            latest_end: need.map_or(new.latest_end, |need| Some(need.ready_by)),
            location: new.location,
            match_summary: None,
            metadata: Metadata::new(new.metadata)?,
            need: need.map(Box::new),
            payment_method: new.payment_method,
            reservation_fee: terms.fee,
            state: ReservationState::Pending {
                next_attempt: first_attempt(ideal.from, now),
                unassigned: None,
            },
            updated: now,
            vehicle: new.vehicle,
        };
        reservation.check_plug(vehicle.charging_standard)?;
        check_size(&reservation).map_err(coded)?;
        let internal = ReservationInternal {
            charging_standard: vehicle.charging_standard,
            fee_tax_percent: terms.fee_tax_percent,
            fleet: Some(vehicle.fleet.clone()),
            ..ReservationInternal::default()
        };
        Ok(Stored::with_internal(reservation, internal).recording(EventType::ReservationCreated))
    }

    fn check(&self) -> Result<()> {
        check_window(
            self.ideal_start,
            self.ideal_end,
            self.earliest_start,
            self.latest_end,
        )?;
        self.location.check()?;
        check_types(&self.connector_type)
    }

    fn check_plug(&self, standard: ConnectorType) -> Result<()> {
        if !self.connector_type.contains(&standard) {
            return Err(invalid(
                "connector_type",
                "must include the vehicle's charging_standard",
            ));
        }
        Ok(())
    }

    /// Returns whether the search for a connector is the same as that of another state of the reservation.
    pub fn searches_as(&self, other: &Self) -> bool {
        let window = |of: &Self| {
            let ends = (of.ideal_start, of.ideal_end);
            (ends, of.earliest_start, of.latest_end)
        };
        window(self) == window(other)
            && self.location == other.location
            && self.connector_type == other.connector_type
            && self.need == other.need
    }

    /// Returns the last moment at which an attempt to confirm can be useful. It is at most 7 days after `ideal_start`, whatever
    /// `latest_end` is stored. With one attempt every 5 minutes, starting 30 minutes before `ideal_start`, this limits the number of
    /// attempts to 2,023.
    fn last_attempt(&self) -> Timestamp {
        if let Some(need) = &self.need {
            return need.ready_by.plus(-SHORTEST);
        }
        let length = self.ideal_end.since(self.ideal_start);
        let latest_start = self.latest_end.map(|end| end.plus(-length));
        self.ideal_start
            .max(latest_start.unwrap_or(self.ideal_start))
            .min(self.ideal_start.plus(LATEST))
    }

    /// Returns the energy in Wh that a session charges by a plan of the reservation. What a change of the station has taken from the plan may
    /// come back, so that the session may charge the whole energy of the need.
    pub(crate) fn energy_to_charge(&self, plan: &ChargingPlan) -> u32 {
        let needed = self.need.as_ref().and_then(|need| need.energy_wh);
        let is_of_station = plan.replanned_because == Some(ReplanReason::Station)
            && plan.limited_by == Some(LimitedBy::Time);
        needed
            .filter(|_| is_of_station)
            .map_or(plan.energy_wh, |needed| needed.max(plan.energy_wh))
    }

    /// Returns the energy in Wh after which a session that a card has started ends, if the need is an energy. A level is not known there.
    pub(crate) fn energy_needed(&self) -> Option<u32> {
        let plan = self.charging_plan.as_ref()?;
        self.need.as_ref()?.energy_wh?;
        Some(self.energy_to_charge(plan)).filter(|energy| *energy > 0)
    }

    /// Returns the last moment at which cancelling is free because of `free_until_before` alone, for a window with this start.
    fn free_before(&self, start: Timestamp) -> Timestamp {
        start.plus_seconds(-i64::from(self.cancellation_policy.free_until_before))
    }

    /// Returns the last moment at which cancelling is free. None if no connector is or was reserved, or if the policy has no such moment.
    pub fn free_cancellation_until(&self) -> Option<Timestamp> {
        let reserved = self.state.reserved()?;
        let free = self.free_before(reserved.window.from);
        let is_refundable = self.cancellation_policy.kind == CancellationType::FreeCancellation;
        is_refundable.then(|| reserved.late_free_until.map_or(free, |late| late.max(free)))
    }

    /// Checks whether cancelling is free: while no connector is reserved or another one is searched, until
    /// [`Self::free_cancellation_until`], and once the connector could not be used in its window.
    pub(crate) fn is_free_to_cancel(&self, now: Timestamp) -> bool {
        match &self.state {
            ReservationState::Pending { .. } => true,
            ReservationState::Confirmed {
                step: Step::Rematch { .. },
                ..
            } if !self.has_other_plug() => true,
            ReservationState::Confirmed { reserved, .. } if reserved.was_lost => true,
            _ => self
                .free_cancellation_until()
                .is_some_and(|last| now <= last),
        }
    }

    /// Checks whether another connector is searched only because the vehicle has another plug now.
    fn has_other_plug(&self) -> bool {
        match &self.state {
            ReservationState::Confirmed {
                reserved,
                step: Step::Rematch {
                    by_tenant: true, ..
                },
            } => !reserved.is_refused(),
            _ => false,
        }
    }

    /// Checks whether the reserved connector is kept although the vehicle has another plug now and no other connector fits: cancelling is
    /// not free any more, so the fee stays due.
    pub(super) fn is_kept_for_its_fee(&self, now: Timestamp) -> bool {
        self.has_other_plug() && self.reservation_fee > 0 && !self.is_free_to_cancel(now)
    }

    /// Checks whether cancelling is free only because the connector was reserved late.
    pub fn is_late_free_cancellation(&self, now: Timestamp) -> bool {
        match &self.state {
            ReservationState::Confirmed {
                reserved,
                step: Step::Arrival,
            } if !reserved.was_lost => {
                self.free_before(reserved.window.from) < now && self.is_free_to_cancel(now)
            }
            _ => false,
        }
    }

    /// Checks whether a connector of this station is reserved.
    pub fn is_for(&self, station: &Id) -> bool {
        self.status() == ReservationStatus::Confirmed
            && self
                .state
                .reserved()
                .is_some_and(|reserved| reserved.station == *station)
    }

    pub fn status(&self) -> ReservationStatus {
        self.state.status()
    }

    /// Returns the window that is or was reserved.
    pub fn window(&self) -> Option<Window> {
        self.state.reserved().map(|reserved| reserved.window)
    }

    /// Returns the EVSEs that are not kept free for the reservation.
    pub fn refused_evses(&self) -> &[RefusedEvse] {
        match &self.state {
            ReservationState::Pending {
                unassigned: Some(unassigned),
                ..
            } => &unassigned.refused_evses,
            state => state
                .reserved()
                .map_or(&[], |reserved| &reserved.refused_evses),
        }
    }

    /// Checks whether the reservation is confirmed and its vehicle is not charging on it yet.
    pub fn awaits_vehicle(&self) -> bool {
        self.status() == ReservationStatus::Confirmed && self.state.session().is_none()
    }

    /// Returns the amount due, in minor units. From the confirmation on it is the reservation's own fee.
    pub fn fee_due(&self) -> i64 {
        match (&self.state, self.state.fee()) {
            (ReservationState::Confirmed { .. }, _) => self.reservation_fee,
            (_, FeeState::Due { amount, .. }) => amount,
            _ => 0,
        }
    }

    /// Returns the description of a charge of the fee.
    pub fn fee_description(&self) -> String {
        format!("Fee of reservation {}", self.id)
    }
}

//! The bodies that create and update a reservation, and their rules.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{
    AreaRadius, ConnectorTypes, HORIZON, LATEST, LONGEST, MOST_CONNECTOR_TYPES, MOST_RADIUS,
    SHORTEST, invalid,
};
use super::need::Need;
use crate::body::RequestBody;
use crate::charging_station::Point;
use crate::policy::Degrees;
use crate::vehicle::ConnectorType;
use kernel::fields::metadata::MetadataChange;
use kernel::fields::patch::{Change, Patch};
use kernel::{Code, Id, Result, SignedDuration, Timestamp, Window};

/// The message of the error for a window in a reservation by need.
pub(super) const WINDOW_BESIDE_NEED: &str = "must not be given beside need";

/// The circle in which a station is searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// Degrees north of the equator of the centre, -90 to 90.
    #[schema(value_type = Degrees<90>)]
    pub latitude: f64,
    /// Degrees east of Greenwich of the centre, -180 to 180.
    #[schema(value_type = Degrees<180>)]
    pub longitude: f64,
    /// Metres around the centre within which stations are searched.
    #[schema(value_type = AreaRadius)]
    pub radius: u32,
}

/// The objects that an attempt to confirm reads besides the reservation: its driver, vehicle, fleet and area. A message contains them, so
/// that the attempt reads these objects at the same time as the reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationRequest {
    pub driver: Id,
    pub vehicle: Id,
    pub fleet: Option<Id>,
    pub location: Area,
}

/// The body of `POST /v1/reservations`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReservation {
    /// Id of the driver who charges. The driver has to be active.
    pub driver: Id,
    /// Id of the vehicle to charge. It has to be active, and related to the driver.
    pub vehicle: Id,
    /// Preferred beginning: in the future, at most 90 days ahead. Required without `need`.
    pub ideal_start: Option<Timestamp>,
    /// Preferred end: 15 minutes to 24 hours after `ideal_start`. Required without `need`.
    pub ideal_end: Option<Timestamp>,
    /// Plugs that the driver accepts: 1 to 3 different ones, the vehicle's `charging_standard` among them.
    #[schema(value_type = ConnectorTypes)]
    pub connector_type: Vec<ConnectorType>,
    /// Area in which a station is searched.
    pub location: Area,
    /// Id of the payment method for the reservation fee. Default: that of the driver, the fleet or the account.
    pub payment_method: Option<Id>,
    /// Earliest beginning, at or before `ideal_start`.
    pub earliest_start: Option<Timestamp>,
    /// Latest end, at or after `ideal_end`, at most 7 days after it.
    pub latest_end: Option<Timestamp>,
    /// The need of the vehicle, instead of `ideal_start`, `ideal_end`, `earliest_start` and `latest_end`.
    pub need: Option<Need>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for NewReservation {
    const INVALID: Option<Code> = Some(Code::ReservationInvalidInput);
}

/// The body of `POST /v1/reservations/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationChange {
    /// Preferred beginning: in the future, at most 90 days ahead.
    #[serde(default)]
    pub ideal_start: Change<Timestamp>,
    /// Preferred end: 15 minutes to 24 hours after `ideal_start`.
    #[serde(default)]
    pub ideal_end: Change<Timestamp>,
    /// Plugs that the driver accepts: 1 to 3 different ones, the vehicle's `charging_standard` among them.
    #[serde(default)]
    #[schema(value_type = ConnectorTypes)]
    pub connector_type: Change<Vec<ConnectorType>>,
    /// Area in which a station is searched.
    #[serde(default)]
    pub location: Change<Area>,
    /// Earliest beginning, at or before `ideal_start`. Null: no earlier than `ideal_start`.
    #[serde(default)]
    pub earliest_start: Patch<Timestamp>,
    /// Latest end, at or after `ideal_end`, at most 7 days after it.
    #[serde(default)]
    pub latest_end: Patch<Timestamp>,
    /// A new need, which replaces the present need or window.
    #[serde(default)]
    pub need: Change<Need>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for ReservationChange {
    const INVALID: Option<Code> = Some(Code::ReservationInvalidInput);
}

impl NewReservation {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        if let Some(need) = &self.need {
            let given = [
                ("ideal_start", self.ideal_start),
                ("ideal_end", self.ideal_end),
                ("earliest_start", self.earliest_start),
                ("latest_end", self.latest_end),
            ];
            if let Some((param, _)) = given.iter().find(|(_, given)| given.is_some()) {
                return Err(invalid(param, WINDOW_BESIDE_NEED));
            }
            need.check(now)?;
        } else {
            let Window { from, until } = self.ideal_window(now)?;
            check_start(from, now)?;
            check_window(from, until, self.earliest_start, self.latest_end)?;
        }
        self.location.check()?;
        check_types(&self.connector_type)
    }

    /// Returns the requested window; for a need, the time in which its block is searched.
    pub(super) fn ideal_window(&self, now: Timestamp) -> Result<Window> {
        if let Some(need) = &self.need {
            return Ok(need.sought(now));
        }
        let required = |param| invalid(param, "is required without need");
        Ok(Window {
            from: self.ideal_start.ok_or_else(|| required("ideal_start"))?,
            until: self.ideal_end.ok_or_else(|| required("ideal_end"))?,
        })
    }
}

impl ReservationChange {
    /// Checks the rules that depend on the body alone. They come before the rules that depend on the reservation: an invalid body is
    /// refused whatever the status of the reservation is.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        if let Some(need) = self.need.set() {
            self.check_no_window()?;
            need.check(now)?;
        }
        if let (Some(start), Some(end)) = (self.ideal_start.set(), self.ideal_end.set()) {
            let (earliest, latest) = (self.earliest_start.value(), self.latest_end.value());
            check_window(*start, *end, earliest.copied(), latest.copied())?;
        }
        if let Some(location) = self.location.set() {
            location.check()?;
        }
        match self.connector_type.set() {
            Some(types) => check_types(types),
            None => Ok(()),
        }
    }

    /// Returns whether the update names anything on which the search for a connector depends.
    pub fn names_search(&self) -> bool {
        self.need.set().is_some()
            || self.location.set().is_some()
            || self.connector_type.set().is_some()
            || self.check_no_window().is_err()
    }

    /// Checks that the change of a reservation by need contains no part of a window.
    pub(super) fn check_no_window(&self) -> Result<()> {
        let given = [
            ("ideal_start", self.ideal_start != Change::Keep),
            ("ideal_end", self.ideal_end != Change::Keep),
            ("earliest_start", self.earliest_start != Patch::Keep),
            ("latest_end", self.latest_end != Patch::Keep),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((param, _)) => Err(invalid(param, WINDOW_BESIDE_NEED)),
            None => Ok(()),
        }
    }
}

impl Area {
    pub fn center(&self) -> Point {
        Point {
            latitude: self.latitude,
            longitude: self.longitude,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(-90.0..=90.0).contains(&self.latitude) {
            return Err(invalid("location.latitude", "must lie between -90 and 90"));
        }
        if !(-180.0..=180.0).contains(&self.longitude) {
            return Err(invalid(
                "location.longitude",
                "must lie between -180 and 180",
            ));
        }
        if !(1..=MOST_RADIUS).contains(&self.radius) {
            return Err(invalid(
                "location.radius",
                "must lie between 1 and 100000 metres",
            ));
        }
        Ok(())
    }
}

pub(super) fn check_start(start: Timestamp, now: Timestamp) -> Result<()> {
    if start <= now {
        return Err(invalid("ideal_start", "must be in the future"));
    }
    if start.since(now) > HORIZON {
        return Err(invalid("ideal_start", "must be at most 90 days ahead"));
    }
    Ok(())
}

pub(super) fn check_window(
    start: Timestamp,
    end: Timestamp,
    earliest_start: Option<Timestamp>,
    latest_end: Option<Timestamp>,
) -> Result<()> {
    let length = end.since(start);
    if length <= SignedDuration::ZERO {
        return Err(invalid("ideal_end", "must be after ideal_start"));
    }
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(invalid(
            "ideal_end",
            "the window must last 15 minutes to 24 hours",
        ));
    }
    if earliest_start.is_some_and(|at| at > start) {
        return Err(invalid("earliest_start", "must not be after ideal_start"));
    }
    if latest_end.is_some_and(|at| at < end) {
        return Err(invalid("latest_end", "must not be before ideal_end"));
    }
    if latest_end.is_some_and(|at| at.since(end) > LATEST) {
        let message = "must be at most 7 days after ideal_end";
        return Err(invalid("latest_end", message));
    }
    Ok(())
}

pub(super) fn check_types(types: &[ConnectorType]) -> Result<()> {
    if !(1..=MOST_CONNECTOR_TYPES).contains(&types.len()) {
        return Err(invalid(
            "connector_type",
            "must name one to three connector types",
        ));
    }
    let repeated = types
        .iter()
        .enumerate()
        .any(|(n, kind)| types[..n].contains(kind));
    if repeated {
        return Err(invalid(
            "connector_type",
            "must not name the same type twice",
        ));
    }
    Ok(())
}

//! The bodies that create and update a reservation, and their rules.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{HORIZON, LATEST, LONGEST, SHORTEST, invalid};
use super::need::Need;
use crate::body::RequestBody;
use crate::charging_station::Point;
use crate::vehicle::ConnectorType;
use kernel::error::{Code, Result};
use kernel::fields::metadata::MetadataChange;
use kernel::fields::patch::{Change, Patch};
use kernel::id::Id;
use kernel::time::{SignedDuration, Timestamp};
use kernel::window::Window;

/// Why a window is refused for a reservation by need.
pub(super) const WINDOW_BESIDE_NEED: &str = "must not be given beside need";

/// The circle in which a station is searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    pub latitude: f64,
    pub longitude: f64,
    /// Metres.
    pub radius: u32,
}

/// What an attempt to confirm reads besides the reservation: its driver, vehicle, fleet and area. A message carries it, so that
/// the attempt reads them at the same time as the reservation.
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
    pub driver: Id,
    pub vehicle: Id,
    /// In the future, at most 90 days ahead. Required without `need`.
    #[serde(default)]
    pub ideal_start: Option<Timestamp>,
    /// 15 minutes to 24 hours after `ideal_start`. Required without `need`.
    #[serde(default)]
    pub ideal_end: Option<Timestamp>,
    pub connector_type: Vec<ConnectorType>,
    pub location: Area,
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// At or before `ideal_start`.
    #[serde(default)]
    pub earliest_start: Option<Timestamp>,
    /// At or after `ideal_end`, at most 7 days after it.
    #[serde(default)]
    pub latest_end: Option<Timestamp>,
    /// What the vehicle needs, in place of `ideal_start`, `ideal_end`, `earliest_start` and `latest_end`.
    #[serde(default)]
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
    #[serde(default)]
    pub ideal_start: Change<Timestamp>,
    #[serde(default)]
    pub ideal_end: Change<Timestamp>,
    #[serde(default)]
    pub connector_type: Change<Vec<ConnectorType>>,
    #[serde(default)]
    pub location: Change<Area>,
    #[serde(default)]
    pub earliest_start: Patch<Timestamp>,
    /// At or after `ideal_end`, at most 7 days after it.
    #[serde(default)]
    pub latest_end: Patch<Timestamp>,
    /// Another need, or one in place of the window.
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

    /// The window that is asked for; for a need the time in which its block is sought.
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
        if !(1..=100_000).contains(&self.radius) {
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
    if types.is_empty() || types.len() > 3 {
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

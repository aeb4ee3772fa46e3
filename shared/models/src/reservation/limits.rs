//! The limits of a window, and how a request beyond them is refused.

use kernel::error::{Code, Error};
use kernel::time::{SignedDuration, days, hours, minutes};

/// How far ahead a window may start.
pub(super) const HORIZON: SignedDuration = days(90);
/// How long after `ideal_end` a window may end at the latest.
pub(super) const LATEST: SignedDuration = days(7);
/// The greatest radius of an area, in metres.
pub const MOST_RADIUS: u32 = 100_000;
/// The greatest number of connector types that a reservation names.
pub const MOST_CONNECTOR_TYPES: usize = 3;
pub const SHORTEST: SignedDuration = minutes(15);
pub(super) const LONGEST: SignedDuration = hours(24);

/// The schema of the `connector_type` of a reservation.
pub struct ConnectorTypes;

/// The schema of the radius of a reservation's area.
pub struct AreaRadius;

pub(super) fn coded(error: Error) -> Error {
    error.coded(Some(Code::ReservationInvalidInput))
}

pub(super) fn invalid(param: &str, message: &'static str) -> Error {
    Code::ReservationInvalidInput.because(message).at(param)
}

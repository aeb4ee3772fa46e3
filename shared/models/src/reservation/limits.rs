//! The limits of a window, and the errors for requests beyond them.

use kernel::time::{days, hours, minutes};
use kernel::{Code, Error, SignedDuration};

/// The maximum time from now to the start of a window.
pub(super) const HORIZON: SignedDuration = days(90);
/// The maximum time from `ideal_end` to the end of a window.
pub(super) const LATEST: SignedDuration = days(7);
/// The maximum radius of an area, in metres.
pub const MOST_RADIUS: u32 = 100_000;
/// The maximum number of connector types of a reservation.
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

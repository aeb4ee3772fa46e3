//! The limits of a window, and how a request beyond them is refused.

use kernel::error::{Code, Error};
use kernel::time::{SignedDuration, days, hours, minutes};

/// How far ahead a window may start.
pub(super) const HORIZON: SignedDuration = days(90);
/// How long after `ideal_end` a window may end at the latest.
pub(super) const LATEST: SignedDuration = days(7);
pub const SHORTEST: SignedDuration = minutes(15);
pub(super) const LONGEST: SignedDuration = hours(24);

pub(super) fn coded(error: Error) -> Error {
    error.coded(Some(Code::ReservationInvalidInput))
}

pub(super) fn invalid(param: &str, message: &'static str) -> Error {
    Code::ReservationInvalidInput.because(message).at(param)
}

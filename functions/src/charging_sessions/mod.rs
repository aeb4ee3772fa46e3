//! The charging of a vehicle at a connector, from its start to its end.

pub mod create;
mod end;
pub mod end_stalled;
pub mod list;
pub mod operate;
pub mod retrieve;
pub mod retrieve_signed_values;
pub mod review;
pub mod settle;
mod start;
pub mod stop;
pub mod stop_at_limit;

use crate::stream::change::OnChange;
use models::charging_session::ChargingSession;

impl OnChange for ChargingSession {}

//! Keys of a fleet's sums by the day, and of its vehicles' sums by the month.

use jiff::civil::Date;

use super::tenant::of_tenant;
use kernel::{Id, Kind, Tenant};

/// The prefix of the sort keys of a fleet's daily sums.
pub const DAY_OF_FLEET: &str = "DAY#";

/// Returns the partition of the table with the sums of a fleet by the day.
pub fn sums_partition(tenant: &Tenant, fleet: &Id) -> String {
    of_tenant(tenant, &format!("{fleet}#SUMS"))
}

/// Returns the partition of the table with the sums of the vehicles of a fleet. Each session writes one of them, so the fleet's own sums
/// are in another partition.
pub fn months_partition(tenant: &Tenant, fleet: &Id) -> String {
    of_tenant(tenant, &format!("{fleet}#MONTHS"))
}

/// Returns the prefix of the sort keys of the sums of vehicles in a month.
pub fn vehicles_in(month: Date) -> String {
    format!("VEHICLE#{}#", month.strftime("%Y-%m"))
}

/// Returns the vehicle and the month in the sort key of the sums of a vehicle.
pub fn parse_vehicle_month(sk: &str) -> Option<(Id, Date)> {
    let (month, vehicle) = sk.strip_prefix("VEHICLE#")?.split_once('#')?;
    let vehicle = Some(Id::from(vehicle)).filter(|id| id.is(Kind::Vehicle))?;
    Some((vehicle, format!("{month}-01").parse().ok()?))
}

pub(super) fn of_fleet(tenant: &Tenant, fleet: &Id, kind: Kind) -> String {
    of_tenant(tenant, &format!("{fleet}#{}", kind.name()))
}

//! Finds the policies that apply to a driver's use of a vehicle, and checks plans against them.

use crate::App;
use kernel::{Error, Tenant};
use models::charging::policies::{Breach, PolicyContext, judge};
use models::{Driver, Fleet, Policy, Vehicle};

/// The policies that the driver, the vehicle and the vehicle's fleet name. One read, or none if they name none.
pub async fn of(
    app: &App,
    tenant: &Tenant,
    driver: Option<&Driver>,
    fleet: Option<&Fleet>,
    vehicle: &Vehicle,
) -> Result<Vec<Policy>, Error> {
    let of_fleet = fleet.map_or([].as_slice(), |fleet| &fleet.policy_ids);
    let of_driver = driver.map_or([].as_slice(), |driver| &driver.policy_ids);
    let mut ids = [of_driver, of_fleet, &vehicle.policy_ids].concat();
    ids.sort();
    ids.dedup();
    let policies = app.store.get_all::<Policy>(tenant, &ids).await?;
    Ok(policies.into_iter().map(|policy| policy.object).collect())
}

/// 403 `policy_blocked` if a policy in enforcement forbids the plan; otherwise returns the policies in suggestion mode that the plan
/// violates.
pub fn check(policies: &[Policy], plan: &PolicyContext<'_>) -> Result<Vec<Breach>, Error> {
    let verdict = judge(policies, plan);
    match verdict.blocked {
        Some(breach) => Err(breach.refusal()),
        None => Ok(verdict.warnings),
    }
}

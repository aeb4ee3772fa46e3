//! `plan-site`: carries out the plan of a site and plans again.
//!
//! The job accounts for what has flowed since its last run, ends the departures that are over, and plans again with what is known now. It
//! runs at the end of each slot, and when limits, prices, departures or telemetry change. In test mode it writes the levels of the vehicles
//! that have charged, so that their telemetry follows the plan.
//!
//! Levels and ended departures are written before the site. They follow from the site as it was read: after a crash the next run writes
//! them again.

use crate::App;
use kernel::origin::{Origin, Tenant};
use kernel::{Error, Id, Kind, Timestamp};
use models::departure::VehicleDepartures;
use models::ports::JobSubject;
use models::site::Site;
use models::site::charge::{Charge, PlanInputs};
use models::site::plan::{Planned, plan};
use models::stored::Stored;
use models::vehicle_telemetry::VehicleTelemetry;
use serde::{Deserialize, Serialize};
use table::access::Rows;
use web::deployment::Deployment;

use super::read::inputs;
use crate::function::Function;
use crate::job::{Job, write_progress};

/// How many items one transaction writes: DynamoDB accepts a hundred.
const PART: usize = 90;

/// Carries out the plan of a site.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanSite {
    pub tenant: Tenant,
    pub site: Id,
}

impl Job for PlanSite {
    const NAME: &'static str = "plan-site";
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .memory(512)
            .timeout(60)
            .writing(&[
                Rows::Of(Kind::Site),
                Rows::Of(Kind::VehicleDepartures),
                Rows::Of(Kind::VehicleTelemetry),
            ]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.site)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, site: id } = &self;
        let Some(mut site) = app.store.find::<Site>(tenant, id).await? else {
            return Ok(());
        };
        let now = app.now();
        let inputs = Box::pin(inputs(app, tenant, &site, now)).await?;
        let planned = plan(&site, &inputs, now);
        let before = site.internal.charges.clone();
        if !site.put_into_force(&planned, &inputs, now) {
            return Ok(());
        }
        let origin = Origin::background(tenant.clone(), now);
        if inputs.is_enforced() {
            let charges = planned.ended.iter().map(|(charge, _)| charge);
            let charges = charges.chain(&planned.charges);
            let has_charged = |charge: &&Charge| {
                let mut before = before.iter();
                before.any(|one| one.departure == charge.departure && one.level < charge.level)
            };
            let charged: Vec<&Charge> = charges.filter(has_charged).collect();
            write_levels(app, &origin, &inputs, &charged).await?;
        }
        end_departures(app, &origin, &planned).await?;
        match write_progress(app, tenant, &mut site).await? {
            true => Ok(()),
            false => Err(Error::Contended),
        }
    }
}

/// Writes the levels that vehicles have reached.
async fn write_levels(
    app: &App,
    origin: &Origin,
    inputs: &PlanInputs,
    charged: &[&Charge],
) -> Result<(), Error> {
    let now: Timestamp = origin.now;
    for part in charged.chunks(PART) {
        let vehicles = part.iter().filter_map(|charge| {
            let mut all = inputs.vehicles.iter();
            let found = all.find(|one| one.vehicle.id == charge.vehicle)?;
            let known = found.telemetry.as_ref();
            let read = known.and_then(|one| one.battery.as_ref());
            Some((&found.vehicle, charge.level, read.map(|one| one.updated)))
        });
        let vehicles: Vec<_> = vehicles.collect();
        let ids: Vec<Id> = vehicles
            .iter()
            .map(|(one, ..)| one.telemetry.clone())
            .collect();
        let mut known = app
            .store
            .get_all::<VehicleTelemetry>(&origin.tenant, &ids)
            .await?;
        let mut tx = app.store.begin(origin);
        for (vehicle, level, read) in vehicles {
            let place = known
                .iter()
                .position(|one| one.object.vehicle == vehicle.id);
            let found = place.map(|place| known.swap_remove(place));
            let new = || Stored::new(VehicleTelemetry::of(vehicle, now));
            let mut row = found.unwrap_or_else(new);
            let battery = row.object.battery.as_ref();
            if battery.map(|one| one.updated) != read {
                // The vehicle has reported another level meanwhile: the site is planned again with that.
                continue;
            }
            row.object.charge_to(level, vehicle, now);
            row.internal = None;
            match row.version {
                0 => tx.create(&mut row)?,
                _ => tx.save(&mut row)?,
            }
        }
        tx.commit_without_response().await?;
    }
    Ok(())
}

/// Ends the departures that are over.
async fn end_departures(app: &App, origin: &Origin, planned: &Planned) -> Result<(), Error> {
    for part in planned.ended.chunks(PART) {
        let ids = part
            .iter()
            .map(|(one, _)| VehicleDepartures::id_of(&one.vehicle));
        let ids: Vec<Id> = ids.collect();
        let tenant = &origin.tenant;
        let mut rows = app.store.get_all::<VehicleDepartures>(tenant, &ids).await?;
        let mut tx = app.store.begin(origin);
        for (charge, outcome) in part {
            let is_it = |one: &&mut Stored<VehicleDepartures>| one.object.vehicle == charge.vehicle;
            let Some(row) = rows.iter_mut().find(is_it) else {
                continue;
            };
            if row.end(&charge.departure, outcome.clone()) {
                tx.save(row)?;
            }
        }
        tx.commit_without_response().await?;
    }
    Ok(())
}

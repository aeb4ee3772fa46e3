//! `plan-site`: executes the plan of a site and plans again.
//!
//! The job accounts for the energy that has flowed since its last run, ends the departures that are over, and plans again with the present
//! data. It runs at the end of each slot, and when limits, prices, departures, sessions or telemetry change. In test mode it writes the
//! levels of the vehicles that have charged, so that their telemetry follows the plan. Sessions at stations of networks are given charging
//! profiles, which are written to the sessions together with the site; the job `operate-session` sends them.
//!
//! One worker at a time plans a site ([`table::sites`]). A message that meets another worker does nothing: that worker learns at its end that
//! there was another request, and sends a message for it.
//!
//! Levels and ended departures are written before the site. They are derived from the site as it was read: after a crash the next run
//! writes them again.

use std::time::Duration;

use crate::App;
use kernel::backoff::Backoff;
use kernel::time::minutes;
use kernel::{Error, Id, Kind, Origin, SignedDuration, Tenant, Timestamp};
use models::charging_session::SessionStatus;
use models::ports::JobSubject;
use models::site::charge::Charge;
use models::site::inputs::PlanInputs;
use models::site::plan::Planned;
use models::stored::is_default;
use models::{ChargingSession, Site, Stored, VehicleDepartures, VehicleTelemetry};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::sites::PlanRequest;
use web::deployment::{Deployment, Need};

use super::read::{MEMORY, inputs, planned_site};
use crate::function::Function;
use crate::job::Job;

/// The maximum number of items that one transaction writes here: DynamoDB accepts a hundred.
const PART: usize = 90;

/// The maximum number of times that a site is planned that changes meanwhile: several causes can start its planning at the same moment.
const PLAN_ATTEMPTS: u32 = 6;

/// The time after which a worker that plans a site is assumed to have crashed: longer than the function may run.
const PLANNING_TIMEOUT: SignedDuration = minutes(2);

/// The pauses after writes that conflict with a plan of a site.
pub(crate) const COLLISIONS: Backoff =
    Backoff::new(Duration::from_millis(20), 2, Duration::from_millis(400));

/// Executes the plan of a site.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanSite {
    pub tenant: Tenant,
    pub site: Id,
    /// The number of the request to plan the site; 0 if the plan is due.
    #[serde(default, skip_serializing_if = "is_default")]
    pub request: i64,
}

impl Job for PlanSite {
    const NAME: &'static str = "plan-site";
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .memory(MEMORY)
            .timeout(60)
            .writing(&[
                Items::Of(Kind::ChargingSession),
                Items::Of(Kind::Site),
                Items::Of(Kind::VehicleDepartures),
                Items::Of(Kind::VehicleTelemetry),
            ])
            .needing(&[Need::Messages]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.site)
    }

    /// # Errors
    /// `Contended` if the site or its sessions are changed continuously; `Unavailable` if DynamoDB cannot be reached.
    async fn run(self, app: &App) -> Result<(), Error> {
        let (store, now) = (&app.store, app.now());
        let Self { tenant, site, .. } = &self;
        let number = match self.request {
            0 => store.request_plan(tenant, site, now).await?,
            number => number,
        };
        let request = PlanRequest {
            tenant,
            site,
            number,
            worker: self.request,
        };
        let until = now.plus(PLANNING_TIMEOUT);
        let Some(covered) = store.begin_plan(request, until, now).await? else {
            return Ok(());
        };
        let planned = COLLISIONS
            .after_collisions(PLAN_ATTEMPTS, || self.plan(app))
            .await;
        let covered = planned.is_ok().then_some(covered);
        let last = store.end_plan(request, covered).await?;
        planned?;
        match last.filter(|last| Some(*last) > covered) {
            Some(request) => PlanSite { request, ..self }.send(app).await,
            None => Ok(()),
        }
    }
}

impl PlanSite {
    /// Requests that a site is planned again.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn request(app: &App, tenant: &Tenant, site: &Id) -> Result<(), Error> {
        let request = app.store.request_plan(tenant, site, app.now()).await?;
        let (tenant, site) = (tenant.clone(), site.clone());
        let job = Self {
            tenant,
            site,
            request,
        };
        job.send(app).await
    }

    /// Plans the site in its present state.
    async fn plan(&self, app: &App) -> Result<(), Error> {
        let (tenant, id) = (&self.tenant, &self.site);
        let Some(mut site) = app.store.find::<Site>(tenant, id).await? else {
            return Ok(());
        };
        let now = app.now();
        let mut inputs = Box::pin(inputs(app, tenant, &site, now)).await?;
        let planned;
        (site, inputs, planned) = planned_site(site, inputs, now).await?;
        let (before, object) = (site.internal.charges.clone(), site.object.clone());
        let origin = Origin::background(tenant.clone(), now);
        let is_new = site.put_into_force(&planned, &inputs, now);
        if is_new && inputs.is_simulated() {
            let charges = planned.ended.iter().map(|(charge, _)| charge);
            let charges = charges.chain(&planned.charges);
            let has_charged = |charge: &&Charge| {
                let mut before = before.iter();
                before.any(|previous| {
                    previous.departure == charge.departure && previous.level < charge.level
                })
            };
            let charged: Vec<&Charge> = charges.filter(has_charged).collect();
            write_levels(app, &origin, &inputs, &charged).await?;
        }
        if is_new {
            end_departures(app, &origin, &planned).await?;
        }
        let sessions = changed_sessions(app, &origin, &site.object, &inputs, &planned).await?;
        if !is_new && sessions.is_empty() {
            return Ok(());
        }
        site.count_hidden_write(&object);
        let mut tx = app.store.begin(&origin);
        tx.save(&mut site)?;
        for mut session in sessions {
            tx.save(&mut session)?;
        }
        tx.commit_without_response().await
    }
}

/// The sessions that are given a changed profile or are stopped. They are written with the site: see [`models::site::starts`].
async fn changed_sessions(
    app: &App,
    origin: &Origin,
    site: &Site,
    inputs: &PlanInputs,
    planned: &Planned,
) -> Result<Vec<Stored<ChargingSession>>, Error> {
    let (excess, mut profiles) = (
        inputs.excess(site, origin.now),
        planned.profiles(site, inputs),
    );
    profiles.truncate(PART - excess.len().min(PART));
    let ids = profiles
        .iter()
        .map(|(id, _)| id)
        .chain(excess.iter().take(PART));
    let ids: Vec<Id> = ids.cloned().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut sessions = app
        .store
        .get_all::<ChargingSession>(&origin.tenant, &ids)
        .await?;
    sessions.retain_mut(|session| {
        let id = &session.object.id;
        let is_active = session.object.status() == SessionStatus::Active;
        if excess.contains(id) {
            return is_active && session.request_stop(origin.now);
        }
        let place = profiles.iter().position(|(other, _)| other == id);
        let profile = place.map(|place| profiles.swap_remove(place).1);
        profile.is_some_and(|profile| session.set_profile(profile, origin.now))
    });
    Ok(sessions)
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
            let found = all.find(|site_vehicle| site_vehicle.vehicle.id == charge.vehicle)?;
            let known = found.telemetry.as_ref();
            let read = known.and_then(|telemetry| telemetry.battery.as_ref());
            Some((
                &found.vehicle,
                charge.level,
                read.map(|battery| battery.updated),
            ))
        });
        let vehicles: Vec<_> = vehicles.collect();
        let ids: Vec<Id> = vehicles
            .iter()
            .map(|(vehicle, ..)| vehicle.telemetry.clone())
            .collect();
        let mut known = app
            .store
            .get_all::<VehicleTelemetry>(&origin.tenant, &ids)
            .await?;
        let mut tx = app.store.begin(origin);
        for (vehicle, level, read) in vehicles {
            let place = known
                .iter()
                .position(|telemetry| telemetry.object.vehicle == vehicle.id);
            let found = place.map(|place| known.swap_remove(place));
            let new = || Stored::new(VehicleTelemetry::of(vehicle, now));
            let mut telemetry = found.unwrap_or_else(new);
            let battery = telemetry.object.battery.as_ref();
            if battery.map(|battery| battery.updated) != read {
                // The vehicle has reported another level meanwhile: the site is planned again with that level.
                continue;
            }
            telemetry.object.charge_to(level, vehicle, now);
            telemetry.internal = None;
            match telemetry.version {
                0 => tx.create(&mut telemetry)?,
                _ => tx.save(&mut telemetry)?,
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
            .map(|(charge, _)| VehicleDepartures::id_of(&charge.vehicle));
        let ids: Vec<Id> = ids.collect();
        let tenant = &origin.tenant;
        let mut all_departures = app.store.get_all::<VehicleDepartures>(tenant, &ids).await?;
        let mut tx = app.store.begin(origin);
        for (charge, outcome) in part {
            let is_it = |departures: &&mut Stored<VehicleDepartures>| {
                departures.object.vehicle == charge.vehicle
            };
            let Some(departures) = all_departures.iter_mut().find(is_it) else {
                continue;
            };
            if departures.end(&charge.departure, outcome.clone()) {
                tx.save(departures)?;
            }
        }
        tx.commit_without_response().await?;
    }
    Ok(())
}

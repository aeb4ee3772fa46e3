//! The inputs of the plan of a site.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::App;
use crate::networks::operator;
use kernel::time::{DAY, HOUR};
use kernel::{Error, Id, Kind, Mode, Result, SignedDuration, Tenant, Timestamp, Window};
use models::charging::calendar::{CalendarOwner, Entry};
use models::charging::simulation::offered;
use models::charging_session::SessionStatus;
use models::charging_session::profile::SessionProfile;
use models::charging_station::StationInternal;
use models::network::{ObjectId, Owner};
use models::site::charge::Charge;
use models::site::inputs::{
    Execution, PendingStart, PlanInputs, SiteSession, SiteVehicle, strongest, tariff,
};
use models::site::plan::{HORIZON, Planned, plan};
use models::site::{MOST_VEHICLES, SiteDay, days_of};
use models::{
    ChargingSession, ChargingStation, Site, Stored, Vehicle, VehicleDepartures, VehicleTelemetry,
};
use table::calendars::Calendars;
use table::keys::Partition;
use table::list::PageRequest;

/// The memory in MB of the functions that plan a site: at this size Lambda allots a whole vCPU, of which the plan of 500 vehicles for 48
/// hours can take several seconds (`shared/models/tests/site_scale.rs`).
pub(super) const MEMORY: u32 = 1769;

/// Reads the inputs: the vehicles of the site with their departures and telemetry, the series, the stations and their calendars.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn inputs(
    app: &App,
    tenant: &Tenant,
    site: &Stored<Site>,
    now: Timestamp,
) -> Result<PlanInputs> {
    let from = site.internal.settled_at.unwrap_or(now).min(now);
    let reach = Window {
        from: now.plus(-DAY).min(from),
        until: now.plus(HORIZON),
    };
    let id = &site.object.id;
    let days = days_of(&reach)
        .into_iter()
        .map(|day| SiteDay::id_of(id, day));
    let days: Vec<Id> = days.collect();
    let (mut vehicles, days, stations) = tokio::try_join!(
        vehicles(app, tenant, id),
        app.store.get_all::<SiteDay>(tenant, &days),
        app.store
            .get_all::<ChargingStation>(tenant, &site.object.stations),
    )?;
    let from = from.min(now.plus(-LAPSED));
    let (owners, calendars) = calendars(app, tenant, &stations, Window { from, ..reach }).await?;
    let takers = profile_takers(app, tenant, &stations).await?;
    let taken = entries(&owners, &calendars, &Window { from, ..reach });
    let holders = taken.iter().flat_map(|(entries, _)| entries);
    let holders = holders.map(|entry| entry.holder.clone());
    let charges = site.internal.charges.iter().chain(&site.internal.waiting);
    let last = charges.filter_map(Charge::session);
    let mut holders: Vec<Id> = holders.chain(last.cloned()).collect();
    let execution = execution(tenant, &stations, &takers);
    if execution == Execution::Simulation {
        holders.extend(present_holders(app, tenant.mode, &planned(&vehicles), now).await?);
    }
    let mut sessions = sessions(app, tenant, holders, now).await?;
    let elsewhere = elsewhere(&mut sessions, &site.object);
    let starts = starts(&sessions);
    let mut attached = attach(&mut vehicles, sessions, &takers, |one| &mut one.sessions);
    attach(&mut vehicles, elsewhere, &takers, |one| &mut one.elsewhere);
    if execution == Execution::Simulation {
        attached.others.clear();
    }
    let reserved = reserved(taken, &attached, now);
    let stations: Vec<ChargingStation> =
        stations.into_iter().map(|station| station.object).collect();
    Ok(PlanInputs {
        execution,
        vehicles,
        others: attached.others,
        starts,
        days: days.into_iter().map(|day| day.object).collect(),
        zone: site.object.time_zone.rules(),
        tariff: tariff(&stations, site.object.currency),
        offered: (!site.object.stations.is_empty()).then(|| strongest(&stations)),
        reserved,
    })
}

/// Plans a site on a thread of its own, so that others are served in the seconds that the plan of many vehicles can take.
///
/// # Errors
/// `Internal` if the plan panics.
pub(super) async fn planned_site(
    site: Stored<Site>,
    inputs: PlanInputs,
    now: Timestamp,
) -> Result<(Stored<Site>, PlanInputs, Planned)> {
    let planned = tokio::task::spawn_blocking(move || {
        let planned = plan(&site, &inputs, now);
        (site, inputs, planned)
    });
    planned.await.map_err(Error::internal)
}

/// The execution of the plans of a site: by simulated sessions if none of its stations belongs to a network.
fn execution(
    tenant: &Tenant,
    stations: &[Stored<ChargingStation>],
    takers: &HashSet<(Id, String)>,
) -> Execution {
    let mut locations = stations.iter().map(|station| &station.internal.location);
    if !tenant.mode.is_live() && locations.all(Option::is_none) {
        Execution::Simulation
    } else if takers.is_empty() {
        Execution::None
    } else {
        Execution::Profiles
    }
}

/// The time after the end of its last hold in which an active session is still found: a job extends holds.
const LAPSED: SignedDuration = HOUR;

/// The EVSEs of the stations that accept charging profiles, through a network that passes them on, also those that were removed lately;
/// their ids are in lower case.
async fn profile_takers(
    app: &App,
    tenant: &Tenant,
    stations: &[Stored<ChargingStation>],
) -> Result<HashSet<(Id, String)>> {
    let mut takers = HashSet::new();
    // Many stations of a site belong to one network, which is read once.
    let mut passed_on: HashMap<&Owner, bool> = HashMap::new();
    for station in stations {
        let internal = &station.internal;
        let location = internal.location.as_ref();
        let Some(owner) = location.map(ObjectId::owner) else {
            continue;
        };
        let evses = takes_profiles(internal);
        if evses.is_empty() {
            continue;
        }
        let is_passed_on = match passed_on.get(owner) {
            Some(known) => *known,
            None => operator::supports_profiles(app, tenant.mode, owner).await?,
        };
        passed_on.insert(owner, is_passed_on);
        if is_passed_on {
            let id = &station.object.id;
            takers.extend(evses.into_iter().map(|evse| (id.clone(), evse)));
        }
    }
    Ok(takers)
}

fn takes_profiles(station: &StationInternal) -> Vec<String> {
    let removed = station.removed.iter().filter(|lost| lost.takes_profiles);
    let removed = removed.flat_map(|removed| &removed.evses);
    let evses = station.takes_profiles.iter().chain(removed);
    evses.map(|evse| evse.to_ascii_lowercase()).collect()
}

/// The sessions among the holders of calendars, read consistently; the simulated ones as they are now.
async fn sessions(
    app: &App,
    tenant: &Tenant,
    holders: Vec<Id>,
    now: Timestamp,
) -> Result<Vec<Stored<ChargingSession>>> {
    let mut ids = holders;
    ids.retain(|id| id.is(Kind::ChargingSession));
    ids.sort();
    ids.dedup();
    let named = ids.iter().map(|id| (Kind::ChargingSession, id));
    let mut found = app.store.find_together(tenant, named).await?;
    let sessions = ids.iter().map(|id| found.take::<ChargingSession>(id));
    let sessions: Vec<_> = sessions.collect::<Result<_>>()?;
    let sessions = sessions.into_iter().flatten().map(|mut session| {
        session.object = session.live(tenant.mode, now);
        session
    });
    Ok(sessions.collect())
}

/// Removes the sessions at stations that do not belong to the site, and returns them.
fn elsewhere(
    sessions: &mut Vec<Stored<ChargingSession>>,
    site: &Site,
) -> Vec<Stored<ChargingSession>> {
    let is_elsewhere = |session: &mut Stored<ChargingSession>| {
        !site.stations.contains(&session.object.charging_station)
    };
    sessions.extract_if(.., is_elsewhere).collect()
}

/// The sessions that have not begun: first those whose START_SESSION was sent, then the others in order of creation.
fn starts(sessions: &[Stored<ChargingSession>]) -> Vec<PendingStart> {
    let pending = sessions.iter().map(|session| &session.object);
    let pending = pending.filter(|session| session.status() == SessionStatus::Pending);
    let mut pending: Vec<&ChargingSession> = pending.collect();
    pending.sort_by_key(|session| (session.state.is_start_due(), session.created, &session.id));
    let starts = pending.into_iter().map(|session| PendingStart {
        session: session.id.clone(),
        power: session.watts(),
        is_sent: !session.state.is_start_due(),
    });
    starts.collect()
}

/// The sessions at a site that were added to their vehicles, and the others.
#[derive(Default)]
struct Attached {
    /// The holders of the entries of the sessions of the site's vehicles, and of those that have not begun.
    own: HashSet<Id>,
    /// The active sessions of other vehicles of the account, and a second one of the same vehicle. Their entries count as reserved.
    others: Vec<SiteSession>,
}

/// Adds the sessions to a list of the vehicles that they charge.
fn attach(
    vehicles: &mut [SiteVehicle],
    sessions: Vec<Stored<ChargingSession>>,
    takers: &HashSet<(Id, String)>,
    list: impl Fn(&mut SiteVehicle) -> &mut Vec<SiteSession>,
) -> Attached {
    let mut attached = Attached::default();
    for session in sessions {
        let holders = [
            session.object.reservation.clone(),
            Some(session.object.id.clone()),
        ];
        if session.object.status() != SessionStatus::Pending {
            let seen = site_session(&session, takers);
            let mut vehicles = vehicles.iter_mut();
            let vehicle = vehicles.find(|one| one.vehicle.id == seen.vehicle);
            let is_first = |seen: &SiteSession, known: &[SiteSession]| {
                !seen.is_active || !known.iter().any(|other| other.is_active)
            };
            match vehicle.map(&list) {
                Some(known) if is_first(&seen, known) => known.push(seen),
                _ => {
                    attached
                        .others
                        .extend(Some(seen).filter(SiteSession::is_charging));
                    continue;
                }
            }
        }
        attached.own.extend(holders.into_iter().flatten());
    }
    attached
}

fn site_session(stored: &Stored<ChargingSession>, takers: &HashSet<(Id, String)>) -> SiteSession {
    let session = &stored.object;
    let charged = session.state.charged();
    let evse = (
        session.charging_station.clone(),
        stored.internal.evse.to_ascii_lowercase(),
    );
    let takes_profiles = takers.contains(&evse);
    let network = stored.internal.network.as_ref();
    let reported = network.and_then(|network| network.reported);
    let reported = reported.unwrap_or(session.created);
    let has_stopped = |since: Timestamp| {
        let stopped = |profile: &SessionProfile| profile.has_stopped_by_itself(since, reported);
        stored.profile().map_or(!takes_profiles, stopped)
    };
    SiteSession {
        id: session.id.clone(),
        vehicle: session.vehicle.clone(),
        is_active: session.status() == SessionStatus::Active,
        is_parked: charged.ended.is_some_and(has_stopped),
        power: session.watts(),
        energy: u32::try_from(charged.energy).unwrap_or_default(),
        reported,
        takes_profiles,
        profile: stored.profile().cloned(),
    }
}

async fn vehicles(app: &App, tenant: &Tenant, site: &Id) -> Result<Vec<SiteVehicle>> {
    let page_request = PageRequest::first(MOST_VEHICLES);
    let partition = Partition::Site { tenant, site };
    let page = app
        .store
        .list::<Vehicle>(partition, &page_request, Vec::new())
        .await?;
    let vehicles: Vec<Vehicle> = page
        .items
        .into_iter()
        .map(|vehicle| vehicle.object)
        .collect();
    let departures = vehicles
        .iter()
        .map(|vehicle| VehicleDepartures::id_of(&vehicle.id));
    let departures: Vec<Id> = departures.collect();
    let telemetry: Vec<Id> = vehicles
        .iter()
        .map(|vehicle| vehicle.telemetry.clone())
        .collect();
    let (departures, telemetry) = tokio::try_join!(
        app.store.get_all::<VehicleDepartures>(tenant, &departures),
        app.store.get_all::<VehicleTelemetry>(tenant, &telemetry),
    )?;
    let mut departures: HashMap<Id, VehicleDepartures> = departures
        .into_iter()
        .map(|stored| (stored.object.vehicle.clone(), stored.object))
        .collect();
    let mut telemetry: HashMap<Id, Stored<VehicleTelemetry>> = telemetry
        .into_iter()
        .map(|stored| (stored.object.vehicle.clone(), stored))
        .collect();
    let vehicles = vehicles.into_iter().map(|vehicle| {
        let telemetry = telemetry.remove(&vehicle.id);
        let departures = departures.remove(&vehicle.id);
        let scheduled = departures.iter().flat_map(VehicleDepartures::scheduled);
        let here = scheduled.filter(|departure| departure.site == *site);
        SiteVehicle {
            departures: here.cloned().collect(),
            has_reported: telemetry
                .as_ref()
                .is_some_and(|telemetry| telemetry.internal.is_some()),
            sessions: Vec::new(),
            elsewhere: Vec::new(),
            telemetry: telemetry.map(|telemetry| telemetry.object),
            vehicle,
        }
    });
    Ok(vehicles.collect())
}

/// The vehicles with departures, as owners of calendars.
fn planned(vehicles: &[SiteVehicle]) -> BTreeSet<CalendarOwner> {
    let planned = vehicles.iter().filter(|vehicle| vehicle.next().is_some());
    let owners = planned.map(|vehicle| CalendarOwner::Vehicle(vehicle.vehicle.id.clone()));
    owners.collect()
}

/// The holders of vehicles or EVSEs now, or within the last hour.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(crate) async fn present_holders(
    app: &App,
    mode: Mode,
    owners: &BTreeSet<CalendarOwner>,
    now: Timestamp,
) -> Result<BTreeSet<Id>> {
    let present = Window {
        from: now.plus(-LAPSED),
        until: now,
    };
    let pages = owners
        .iter()
        .flat_map(|owner| present.utc_days().map(move |day| (owner.clone(), day)));
    let calendars = app
        .store
        .calendars_consistently(mode, pages.collect())
        .await?;
    let entries = owners.iter().flat_map(|owner| calendars.entries(owner));
    let entries = entries.filter(|entry| entry.window.overlaps(&present));
    Ok(entries.map(|entry| entry.holder).collect())
}

/// The calendar of the EVSE of each connector of a station, and of each EVSE that was removed lately, with the power in W.
pub(super) fn evses(
    station: &Stored<ChargingStation>,
) -> impl Iterator<Item = (CalendarOwner, u32)> {
    let Stored {
        object, internal, ..
    } = station;
    let connectors = object.connectors.iter();
    let connectors = connectors.map(|connector| (&connector.evse, offered(connector)));
    let removed = internal.removed.iter();
    let removed =
        removed.flat_map(|removed| removed.evses.iter().map(|evse| (evse, removed.power)));
    let evses = connectors.chain(removed);
    evses.map(|(evse, power)| (CalendarOwner::evse(&object.id, evse), power))
}

/// The calendars of the stations' EVSEs, also of those that were removed lately, and the power of the strongest connector of each, in W.
async fn calendars(
    app: &App,
    tenant: &Tenant,
    stations: &[Stored<ChargingStation>],
    reach: Window,
) -> Result<(HashMap<CalendarOwner, u32>, Calendars)> {
    let mut owners: HashMap<CalendarOwner, u32> = HashMap::new();
    for (owner, power) in stations.iter().flat_map(evses) {
        let most = owners.entry(owner).or_default();
        *most = power.max(*most);
    }
    let pages = owners
        .keys()
        .flat_map(|owner| reach.utc_days().map(move |day| (owner.clone(), day)));
    // The sessions that are to start must be read consistently: see [`models::site::starts`].
    let is_of_network = |station: &Stored<ChargingStation>| station.internal.location.is_some();
    let calendars = if stations.iter().any(is_of_network) {
        let pages = pages.collect();
        app.store.calendars_consistently(tenant.mode, pages).await?
    } else {
        app.store.calendars(tenant.mode, pages.collect()).await?
    };
    Ok((owners, calendars))
}

/// The time ahead for which a session of another vehicle or account counts: its end is not known, and the site is planned again in each
/// slot.
const FORESEEN: SignedDuration = HOUR;

/// The times of the entries of other holders at each EVSE, with its power.
fn reserved(
    taken: Vec<(Vec<Entry>, u32)>,
    attached: &Attached,
    now: Timestamp,
) -> Vec<(Vec<Window>, u32)> {
    let is_other = |entry: &Entry| !attached.own.contains(&entry.holder);
    let is_active = |entry: &Entry| {
        let mut others = attached.others.iter();
        now < entry.window.until || others.any(|other| other.id == entry.holder)
    };
    let window = |entry: Entry| {
        let has_begun = entry.holder.is(Kind::ChargingSession) && entry.window.from <= now;
        let mut window = entry.window;
        if has_begun && is_active(&entry) {
            window.until = window.until.max(now.plus(FORESEEN));
        }
        window
    };
    let reserved = taken.into_iter().map(|(entries, power)| {
        let others = entries.into_iter().filter(is_other);
        (others.map(window).collect(), power)
    });
    reserved.collect()
}

/// The entries of reservations and sessions at each EVSE, with its power.
fn entries(
    owners: &HashMap<CalendarOwner, u32>,
    calendars: &Calendars,
    reach: &Window,
) -> Vec<(Vec<Entry>, u32)> {
    let taken = owners.iter().map(|(owner, power)| {
        let mut taken = calendars.entries(owner);
        taken.retain(|entry| entry.window.overlaps(reach));
        (taken, *power)
    });
    taken.collect()
}

//! `confirm-reservation`: one attempt to confirm a pending reservation on the best connector, or to rematch a confirmed
//! one because its connector is out of order, closed in its window, or does not fit the vehicle any more.

use kernel::time::MINUTE;
use kernel::{Error, Id, Kind, Origin, SignedDuration, Tenant, Window};
use models::charging::matching::best_first::IndexedStation;
use models::charging::policies::{Limits, PolicyContext};
use models::charging::{matching, opening_hours};
use models::ports::JobSubject;
use models::reservation::need::{ReplanReason, Shortfall};
use models::reservation::{FailedReason, MatchSummary, ReservationRequest, ReservationStatus};
use models::{
    Action, ChargingStation, Driver, Fleet, Reservation, Stored, Vehicle, VehicleTelemetry,
};
use serde::{Deserialize, Serialize};
use web::deployment::Deployment;

use table::access::Items;
use table::calendars::CalendarHold;

use super::book::{Booking, book};
use super::expire::is_starting;
use super::keep::KeepRules;
use super::matcher::{Matcher, first_stations, is_operated};
use super::plan::PlanInputs;
use crate::function::Function;
use crate::job::Job;
use crate::{App, policies};

/// The maximum number of times that one job moves a reservation whose connectors go out of order one after the other.
const MOVES: usize = 5;

/// The time within which a station may have changed after it was read for an attempt that has booked it: only then its area and the
/// policies are judged once more.
const JUST_CHANGED: SignedDuration = MINUTE;

/// Tries to confirm a pending reservation, or checks whether the connector of a confirmed one is still in order.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmReservation {
    pub tenant: Tenant,
    pub reservation: Id,
    /// The request of the reservation, which lets the attempt read other objects at the same time as the reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ReservationRequest>>,
}

impl Job for ConfirmReservation {
    const NAME: &'static str = "confirm-reservation";
    const FUNCTION: Function = Function::worker_abreast(
        Self::NAME,
        Deployment::in_background()
            .memory(512)
            .reading_side_by_side()
            .writing(&[
                Items::Of(Kind::Reservation),
                Items::Of(Kind::Event),
                Items::Calendars,
            ]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            reservation: id,
            request,
        } = &self;
        let origin = Origin::background(tenant.clone(), app.now());
        let (mut found, mut inputs) = tokio::try_join!(
            app.store.find::<Reservation>(tenant, id),
            read_inputs_ahead(app, tenant, request.as_deref()),
        )?;
        let mut is_booked = false;
        for _ in 0..MOVES {
            let Some(reservation) = found else {
                return Ok(());
            };
            let due = reservation.is_due(Action::ConfirmReservation, origin.now);
            let reserved = reservation.reserved_window(origin.now);
            let done = match (reservation.object.status(), reserved) {
                (ReservationStatus::Pending, _) if due => {
                    attempt(app, &origin, reservation, inputs.take(), None).await?
                }
                (_, Some(window)) if due || !reservation.is_awaiting_rematch() => {
                    let is_judged = is_booked || reservation.is_lost_by_station();
                    let usability =
                        usability(app, &origin, &reservation, window, is_judged).await?;
                    let shortfall = match usability {
                        Usability::Short(shortfall) => Some(shortfall),
                        Usability::Usable | Usability::Lost => None,
                    };
                    if matches!(usability, Usability::Usable) {
                        reinstate(app, &origin, reservation, None).await?
                    } else if is_starting(app, &origin, &reservation).await? {
                        await_session(app, &origin, reservation).await?
                    } else {
                        attempt(app, &origin, reservation, inputs.take(), shortfall).await?
                    }
                }
                _ => Attempt::Settled,
            };
            is_booked = matches!(done, Attempt::Booked(_));
            found = match done {
                Attempt::Settled => return Ok(()),
                Attempt::Booked(reservation) => Some(*reservation),
                Attempt::Overtaken => app.store.find::<Reservation>(tenant, id).await?,
            };
        }
        Err(Error::Contended)
    }
}

/// The result of an attempt to match a reservation.
enum Attempt {
    /// Nothing is left to do.
    Settled,
    /// A connector is booked. It may have gone out of order just before, so it is checked once more.
    Booked(Box<Stored<Reservation>>),
    /// The reservation or a calendar was changed meanwhile.
    Overtaken,
}

/// The objects that an attempt reads for the reservation's request, before it reads any station.
struct Inputs {
    request: ReservationRequest,
    driver: Option<Stored<Driver>>,
    vehicle: Option<Stored<Vehicle>>,
    fleet: Option<Fleet>,
    /// The stations within the radius, by their entries in the index.
    stations: Vec<IndexedStation>,
}

/// The driver and the vehicle of an attempt, if they may use the reservation.
struct Drive {
    driver: Stored<Driver>,
    vehicle: Stored<Vehicle>,
    fleet: Option<Fleet>,
    stations: Vec<IndexedStation>,
}

impl Inputs {
    /// The driver and the vehicle. Unless the reservation is confirmed, they and the vehicle's fleet have to be active, and the driver has
    /// to be the vehicle's or in its fleet.
    ///
    /// # Errors
    /// The reason for which the attempt fails.
    fn drive(self, is_confirmed: bool) -> Result<Drive, FailedReason> {
        let driver = self
            .driver
            .filter(|driver| is_confirmed || driver.object.is_active());
        let driver = driver.ok_or(FailedReason::DriverUnavailable)?;
        let vehicle = self
            .vehicle
            .filter(|vehicle| is_confirmed || vehicle.object.is_active())
            .filter(|_| is_confirmed || self.fleet.as_ref().is_none_or(Fleet::is_active));
        let vehicle = vehicle.ok_or(FailedReason::VehicleUnavailable)?;
        if !is_confirmed && !driver.object.may_drive(&vehicle.object) {
            return Err(FailedReason::DriverUnavailable);
        }
        Ok(Drive {
            driver,
            vehicle,
            fleet: self.fleet,
            stations: self.stations,
        })
    }
}

async fn read_inputs_ahead(
    app: &App,
    tenant: &Tenant,
    request: Option<&ReservationRequest>,
) -> Result<Option<Inputs>, Error> {
    match request {
        Some(request) => read_inputs(app, tenant, request.clone()).await.map(Some),
        None => Ok(None),
    }
}

async fn read_inputs(
    app: &App,
    tenant: &Tenant,
    request: ReservationRequest,
) -> Result<Inputs, Error> {
    let (driver, vehicle) = (&request.driver, &request.vehicle);
    let fleet = request.fleet.iter().map(|fleet| (Kind::Fleet, fleet));
    let ids = [(Kind::Driver, driver), (Kind::Vehicle, vehicle)];
    let ids = ids.into_iter().chain(fleet);
    let (mut found, stations) = tokio::try_join!(
        app.store.find_together(tenant, ids),
        app.store.indexed_stations(tenant, request.location.into()),
    )?;
    let driver = found.take::<Driver>(&request.driver)?;
    let vehicle = found.take::<Vehicle>(&request.vehicle)?;
    let fleet = match &request.fleet {
        Some(fleet) => found.take::<Fleet>(fleet)?,
        None => None,
    };
    Ok(Inputs {
        request,
        driver,
        vehicle,
        fleet: fleet.map(|fleet| fleet.object),
        stations,
    })
}

/// Whether a confirmed reservation can use its connector.
enum Usability {
    Usable,
    /// Its vehicle charges less of its need in its window than was planned.
    Short(Shortfall),
    Lost,
}

/// Returns whether a reservation can use its connector. If it is judged, because its station has changed or its connector was just booked,
/// its area and the policies have to allow the station, and the vehicle has to charge its need in the window. Otherwise they do not
/// matter: a policy that the tenant creates after the match does not release the reservation from its fee.
async fn usability(
    app: &App,
    origin: &Origin,
    reservation: &Stored<Reservation>,
    window: Window,
    is_judged: bool,
) -> Result<Usability, Error> {
    let Some(station) = usable_station(app, origin, reservation, window).await? else {
        return Ok(Usability::Lost);
    };
    let is_changed = reservation.is_awaiting_rematch()
        || origin.now.since(station.object.updated) < JUST_CHANGED;
    if !is_judged || !is_changed {
        return Ok(Usability::Usable);
    }
    let Some(rules) = KeepRules::read(app, &origin.tenant, &reservation.object).await? else {
        return Ok(Usability::Usable);
    };
    if !rules.allow(reservation, &station.object, origin) {
        return Ok(Usability::Lost);
    }
    let shortfall = rules.shortfall(reservation, &station.object, origin);
    Ok(shortfall.map_or(Usability::Usable, Usability::Short))
}

/// Returns the reserved station if the connector is still in order, can be reserved and fits the vehicle, its network is connected and
/// keeps it free, the station is open for the whole window, and the window can still begin.
async fn usable_station(
    app: &App,
    origin: &Origin,
    reservation: &Stored<Reservation>,
    window: Window,
) -> Result<Option<Stored<ChargingStation>>, Error> {
    let reserved = reservation.object.state.reserved();
    let Some(reserved) = reserved.filter(|_| !reservation.is_refused()) else {
        return Ok(None);
    };
    let station = app
        .store
        .find::<ChargingStation>(&origin.tenant, &reserved.station)
        .await?;
    let in_order = |station: &Stored<ChargingStation>| {
        let plug = Some(reservation.internal.charging_standard);
        station.internal.published
            && station.object.is_reservable_for(&reserved.connector, plug)
            && opening_hours::is_open(&station.object, &window)
    };
    match station.filter(in_order) {
        Some(station) if matching::can_begin(&window, origin.now) => {
            let is_operated = is_operated(app, origin.tenant.mode, &station).await?;
            Ok(is_operated.then_some(station))
        }
        _ => Ok(None),
    }
}

/// Ends the search for another connector, because the reserved one can be used again, or is kept although it charges less than the need.
async fn reinstate(
    app: &App,
    origin: &Origin,
    mut reservation: Stored<Reservation>,
    shortfall: Option<Shortfall>,
) -> Result<Attempt, Error> {
    let mut tx = app.store.begin(origin);
    let is_reinstated = reservation.reinstate();
    if let Some(shortfall) = shortfall {
        reservation.fall_short(shortfall, ReplanReason::Station, origin.now);
    }
    if is_reinstated || shortfall.is_some() {
        tx.save(&mut reservation)?;
    }
    match tx.commit_without_response().await {
        Err(Error::Contended) => Ok(Attempt::Overtaken),
        done => done.map(|()| Attempt::Settled),
    }
}

/// Keeps the reserved connector for another minute, because a session that was requested there may still begin.
async fn await_session(
    app: &App,
    origin: &Origin,
    mut reservation: Stored<Reservation>,
) -> Result<Attempt, Error> {
    reservation.await_session(origin.now);
    match app.store.save(origin, &mut reservation).await {
        Err(Error::Contended) => Ok(Attempt::Overtaken),
        done => done.map(|()| Attempt::Settled),
    }
}

/// Matches a pending reservation, or a confirmed one whose connector is lost. One whose connector charges too little for its need keeps it
/// unless the whole need can be charged in another block.
async fn attempt(
    app: &App,
    origin: &Origin,
    mut reservation: Stored<Reservation>,
    inputs: Option<Inputs>,
    shortfall: Option<Shortfall>,
) -> Result<Attempt, Error> {
    let request = reservation.request();
    let inputs = match inputs.filter(|inputs| inputs.request == request) {
        Some(inputs) => inputs,
        None => read_inputs(app, &origin.tenant, request).await?,
    };
    // A confirmed reservation continues even if its driver or vehicle is deleted or no longer active.
    let is_confirmed = reservation.object.status() == ReservationStatus::Confirmed;
    let drive = match inputs.drive(is_confirmed) {
        Ok(drive) => drive,
        Err(reason) => return record_failure(app, origin, reservation, reason, None).await,
    };
    reservation.match_plug(drive.vehicle.object.charging_standard);
    let windows = matching::windows(&reservation.object, origin.now);
    if windows.is_empty() && !is_confirmed && reservation.object.match_summary.is_some() {
        // It is too late. The summary of the previous attempt contains the reason for which nothing was found.
        let reason = FailedReason::NoAvailableConnectors;
        return record_failure(app, origin, reservation, reason, None).await;
    }
    let is_whole = shortfall.is_some();
    match match_and_book(app, origin, &reservation, drive, &windows, is_whole).await? {
        Booking::Done(confirmed) => Ok(Attempt::Booked(confirmed)),
        Booking::ReservationMoved => Ok(Attempt::Overtaken),
        Booking::NoMatch(reason, summary, plan) => {
            if let Some(shortfall) = shortfall {
                let limited_by = plan.and_then(|plan| plan.limited_by);
                let shortfall = Shortfall {
                    limited_by: limited_by.unwrap_or(shortfall.limited_by),
                    ..shortfall
                };
                return reinstate(app, origin, reservation, Some(shortfall)).await;
            }
            if let Some(plan) = plan {
                reservation.plan_attempt(*plan);
            }
            record_failure(app, origin, reservation, reason, Some(summary)).await
        }
    }
}

/// Searches for the best connector in one of these windows, and books it. For a need it may be required to charge the whole of it.
async fn match_and_book(
    app: &App,
    origin: &Origin,
    reservation: &Stored<Reservation>,
    drive: Drive,
    windows: &[Window],
    is_whole: bool,
) -> Result<Booking, Error> {
    let (tenant, now) = (&origin.tenant, origin.now);
    let late_free = if drive.vehicle.may_cancel_late(now) {
        app.settings.late_cancellation
    } else {
        SignedDuration::ZERO
    };
    let (driver, vehicle) = (drive.driver, drive.vehicle.object);
    let fleet = match drive.fleet.filter(|fleet| fleet.id == vehicle.fleet) {
        Some(fleet) => Some(fleet),
        None => {
            let fleet = app.store.find::<Fleet>(tenant, &vehicle.fleet).await?;
            fleet.map(|fleet| fleet.object)
        }
    };
    let fleet = fleet.as_ref();
    let zone = Fleet::zone(fleet);
    let context = PolicyContext::at(windows, reservation.object.currency, &zone);
    // The policies and the battery's level may affect which stations are read first, but not the result: so everything can be read at the
    // same time.
    let without_policies = PlanInputs {
        driver: &driver,
        vehicle: &vehicle,
        fleet,
        policies: &[],
        telemetry: None,
        stations: &drive.stations,
    };
    let no_limits = Limits::new(&[], &context);
    let request =
        without_policies.match_request(reservation, windows, &no_limits, tenant.mode, now);
    let first = first_stations(&request, &drive.stations);
    let (policies, telemetry, stations) = tokio::try_join!(
        policies::of(app, tenant, Some(&driver.object), fleet, &vehicle),
        app.store
            .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
        app.store.published_stations(tenant, &first),
    )?;
    let inputs = PlanInputs {
        policies: &policies,
        telemetry: telemetry.as_ref().map(|telemetry| &telemetry.object),
        ..without_policies
    };
    let limits = Limits::new(&policies, &context);
    let request = inputs.match_request(reservation, windows, &limits, tenant.mode, now);
    let mut matcher =
        Matcher::new(app, tenant, &request, inputs.stations, 1).requiring_whole_need(is_whole);
    matcher.add_stations(&first, stations).await?;
    book(app, origin, reservation, late_free, matcher).await
}

/// Records that the attempt found no connector. A confirmed reservation, whose connector is lost, releases its window, unless it remains
/// confirmed because it is kept for its fee.
async fn record_failure(
    app: &App,
    origin: &Origin,
    mut reservation: Stored<Reservation>,
    reason: FailedReason,
    summary: Option<MatchSummary>,
) -> Result<Attempt, Error> {
    let mut tx = app.store.begin(origin);
    let before = CalendarHold::of_reservation(&reservation);
    reservation.record_failed_attempt(reason, summary, origin.now);
    let lost = before.filter(|_| reservation.object.status() != ReservationStatus::Confirmed);
    tx.save(&mut reservation)?;
    tx.release_all(lost.as_slice()).await?;
    match tx.commit_without_response().await {
        // The reservation or a calendar was changed meanwhile. No other message is sent for the attempt if it is still due.
        Err(Error::Contended) => Ok(Attempt::Overtaken),
        done => done.map(|()| Attempt::Settled),
    }
}

//! A confirmed reservation at the network of its station: the command to reserve, its result, and the command to cancel
//! ([`models::reservation::outward`] describes the life cycle).
//!
//! The messages are sent to `operate-network`, which may call networks: when a reservation is to be sent, when the result of its command
//! has arrived or is lost, and when it has ended.

use kernel::{Error, Id, Origin, Tenant};
use models::ports::network::{Command, CommandStatus, Network, ReserveOutcome, Subject};
use models::ports::{JobSubject, digest_of};
use models::reservation::Reserved;
use models::reservation::outward::{OutwardReservation, OutwardState};
use models::{ChargingStation, Driver, Reservation, Stored};
use serde::{Deserialize, Serialize};

use crate::function::Function;
use crate::job::Job;
use crate::networks::{COLLISION_ATTEMPTS, COLLISIONS, operator, workers};
use crate::{App, charge_cards};

/// Executes the next step of a confirmed reservation at the network of its station.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReserveAtNetwork {
    pub tenant: Tenant,
    pub reservation: Id,
}

impl Job for ReserveAtNetwork {
    const NAME: &'static str = "reserve-at-network";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        handle(app, &self.tenant, &self.reservation).await
    }
}

/// Executes the next step of a reservation at its network: sends it, or checks the result of its command.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached: the message is delivered again.
pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let step = || async {
        let Some(reservation) = app.store.find::<Reservation>(tenant, id).await? else {
            return Ok(());
        };
        let now = app.now();
        if reservation.is_outward_due(now) {
            send(app, tenant, reservation).await
        } else {
            look(app, tenant, reservation).await
        }
    };
    COLLISIONS.after_collisions(COLLISION_ATTEMPTS, step).await
}

async fn save(
    app: &App,
    tenant: &Tenant,
    reservation: &mut Stored<Reservation>,
) -> Result<(), Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    app.store.save(&origin, reservation).await
}

/// Sends RESERVE_NOW, and stores the response.
async fn send(
    app: &App,
    tenant: &Tenant,
    mut reservation: Stored<Reservation>,
) -> Result<(), Error> {
    let reserved = reservation.object.state.reserved().cloned();
    let (Some(reserved), Some(outward)) = (reserved, reservation.outward().cloned()) else {
        return Ok(());
    };
    let subject = Subject::new(tenant.clone(), reservation.object.id.clone());
    let command = command(app, tenant, &reservation, &reserved, &outward).await?;
    reservation.begin_outward(app.now());
    save(app, tenant, &mut reservation).await?;
    let response = match command {
        Some((network, reserve)) => Some(network.send(&subject, &reserve).await?),
        None => None,
    };
    let (id, now) = (reservation.object.id.clone(), app.now());
    match response {
        Some(CommandStatus::Accepted) => reservation.accept_outward(None),
        Some(CommandStatus::Pending { command, .. }) => reservation.await_outward(command, now),
        Some(CommandStatus::Rejected(why)) => {
            tracing::info!(object.id = %id, ?why, "a network refuses a reservation");
            reservation.refuse_outward(now);
        }
        None => {
            tracing::info!(object.id = %id, "the network of a reservation is not connected");
            reservation.refuse_outward(now);
        }
    }
    match save(app, tenant, &mut reservation).await {
        Err(Error::Contended) => {}
        done => return done,
    }
    // The reservation has changed meanwhile. If it has ended, its cancellation may have arrived before it did.
    let present = app.store.find::<Reservation>(tenant, &id).await?;
    let is_current = present.is_some_and(|reservation| {
        let kept = reservation.object.state.reserved();
        let kept = kept.and_then(|reserved| reserved.outward.as_ref());
        reservation.object.is_for(&reserved.station)
            && kept.is_some_and(|kept| kept.id == outward.id)
    });
    if is_current {
        return Err(Error::Contended);
    }
    let cancellation = CancelAtNetwork {
        tenant: tenant.clone(),
        reservation: id,
        station: reserved.station,
        outward: outward.id,
    };
    cancellation.run(app).await
}

/// RESERVE_NOW, and the network that operates the station. None if the driver or the connector no longer exists, or the network is not
/// connected.
async fn command<'a>(
    app: &'a App,
    tenant: &Tenant,
    reservation: &Stored<Reservation>,
    reserved: &Reserved,
    outward: &OutwardReservation,
) -> Result<Option<(Box<dyn Network + 'a>, Command)>, Error> {
    let (station, driver) = (&reserved.station, &reservation.object.driver);
    let station = app.store.find::<ChargingStation>(tenant, station).await?;
    let driver = app.store.find::<Driver>(tenant, driver).await?;
    let (Some(station), Some(driver)) = (station, driver) else {
        return Ok(None);
    };
    let connector = station.object.connector(&reserved.connector);
    let Some(place) = connector.and_then(|connector| operator::place(&station, connector)) else {
        return Ok(None);
    };
    let reserve = Command::Reserve {
        place,
        token: charge_cards::app_token(app, tenant, &driver.object).await?,
        reservation_id: outward.id.clone(),
        expires: reserved.expires(),
    };
    let network = operator::of_station(app, tenant.mode, &station).await?;
    Ok(network.map(|network| (network, reserve)))
}

/// Checks the result of RESERVE_NOW.
async fn look(
    app: &App,
    tenant: &Tenant,
    mut reservation: Stored<Reservation>,
) -> Result<(), Error> {
    let Some(outward) = reservation.outward() else {
        return Ok(());
    };
    let (command, until) = match outward.state.clone() {
        OutwardState::Due { .. } => return Ok(()),
        OutwardState::Sent { command, until } => (command, Some(until)),
        OutwardState::Accepted { command } => (command, None),
    };
    let sent = match &command {
        Some(command) => app.store.command(tenant.mode, command).await?,
        None => None,
    };
    let now = app.now();
    let outcome = sent.map_or(ReserveOutcome::Open, |sent| sent.reserve_outcome());
    match (outcome, until) {
        (ReserveOutcome::Kept, Some(_)) => reservation.accept_outward(command),
        (ReserveOutcome::Refused, _) => reservation.refuse_outward(now),
        // A lost result counts as a refusal; the relay cancels a reservation that the network may have.
        (ReserveOutcome::Open, Some(until)) if until <= now => reservation.refuse_outward(now),
        (ReserveOutcome::Open, _) | (ReserveOutcome::Kept, None) => return Ok(()),
    }
    save(app, tenant, &mut reservation).await
}

/// Cancels a reservation at the network of the station.
#[derive(Debug, Serialize, Deserialize)]
pub struct CancelAtNetwork {
    pub tenant: Tenant,
    pub reservation: Id,
    pub station: Id,
    /// The network's id of the reservation.
    pub outward: String,
}

impl Job for CancelAtNetwork {
    const NAME: &'static str = "cancel-at-network";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.reservation)
    }

    fn schedule_name(&self) -> String {
        digest_of("cancel", &self.outward)
    }

    /// Sends CANCEL_RESERVATION. The request is not repeated if the network does not know the reservation, or refuses: it expires by
    /// itself.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            reservation,
            station,
            outward,
        } = &self;
        let station = app.store.find::<ChargingStation>(tenant, station).await?;
        let Some(station) = station else {
            return Ok(());
        };
        let network = operator::of_station(app, tenant.mode, &station).await?;
        let Some(network) = network else {
            return Ok(());
        };
        let subject = Subject::new(tenant.clone(), reservation.clone());
        let cancel = Command::Cancel {
            reservation_id: outward.to_owned(),
        };
        let answer = network.send(&subject, &cancel).await?;
        tracing::info!(object.id = %reservation, ?answer, "a reservation was cancelled at its network");
        Ok(())
    }
}

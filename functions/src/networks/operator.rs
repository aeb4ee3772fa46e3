//! The operators of stations: the adapters of the port [`Network`].

use crate::App;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use kernel::{Error, Id, Mode, Tenant};
use models::charging_session::SessionStatus;
use models::charging_station::Connector;
use models::network::{EvseId, ObjectId, Owner};
use models::operation::{Operation, Simulation};
use models::ports::network::{
    CancelRequest, CommandStatus, Network, Place, ProfileRequest, Rejection, ReserveRequest,
    StartRequest, StopRequest, Subject,
};
use models::{ChargingSession, ChargingStation, Stored};
use ocpi::client::below;
use ocpi::command::{Command, ResponseType};
use ocpi::network::Network as OcpiNetwork;
use ocpi::token::ChargingPreferences;
use ocpi::versions::{InterfaceRole, module};

use super::commands::{self, Response};

/// Accepts every command at once. The energy that is charged is derived from the time that passes (`models::charging::simulation`).
#[derive(Debug, Clone, Copy)]
pub struct Simulated(Simulation);

impl Network for Simulated {
    fn start<'a>(&'a self, _: &'a StartRequest) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        ready(Ok(CommandStatus::Accepted)).boxed()
    }

    fn stop<'a>(&'a self, _: &'a StopRequest) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        ready(Ok(CommandStatus::Accepted)).boxed()
    }

    fn reserve<'a>(&'a self, _: &'a ReserveRequest) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        ready(Ok(CommandStatus::Accepted)).boxed()
    }

    fn cancel<'a>(&'a self, _: &'a CancelRequest) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        ready(Ok(CommandStatus::Accepted)).boxed()
    }

    fn set_profile<'a>(
        &'a self,
        _: &'a ProfileRequest,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        ready(Ok(CommandStatus::Accepted)).boxed()
    }
}

/// A party that is reached over OCPI.
pub struct Ocpi<'a> {
    app: &'a App,
    network: Stored<OcpiNetwork>,
    owner: Owner,
}

impl Ocpi<'_> {
    async fn send(&self, command: Command, subject: &Subject) -> Result<CommandStatus, Error> {
        let sent = commands::send(
            self.app,
            &self.network,
            &self.owner.party,
            &command,
            subject.clone(),
        );
        let sent = sent.await?;
        let rejected = |why| Ok(CommandStatus::Rejected(why));
        match sent.response {
            Response::Accepted => Ok(CommandStatus::Pending {
                command: sent.id,
                until: sent.deadline,
            }),
            // It is unknown whether the command has its effect, as if its result were late.
            Response::Unknown(why) => {
                tracing::warn!(command.id = %sent.id, error = why, "a network did not respond to a command");
                Ok(CommandStatus::Pending {
                    command: sent.id,
                    until: sent.deadline,
                })
            }
            Response::Failed(why) => {
                tracing::warn!(command.id = %sent.id, error = why, "a network could not process a command");
                rejected(Rejection::Failed)
            }
            Response::NotSent(why) => {
                tracing::warn!(object.id = %subject.id, error = why, "a command was not sent");
                rejected(Rejection::NotSent)
            }
            Response::Refused(ResponseType::NotSupported) => rejected(Rejection::NotSupported),
            Response::Refused(ResponseType::UnknownSession) => rejected(Rejection::Unknown),
            Response::Refused(_) => rejected(Rejection::Refused),
        }
    }
}

impl Ocpi<'_> {
    /// Sends a command for a session of the network.
    async fn send_for(
        &self,
        session: &ObjectId,
        command: Command,
        subject: &Subject,
    ) -> Result<CommandStatus, Error> {
        if is_of_another(self.app, session, subject).await? {
            return Ok(CommandStatus::Rejected(Rejection::Unknown));
        }
        self.send(command, subject).await
    }
}

/// Returns whether the network has used the id of its session again for that of another subject: a command for it would be for that one.
async fn is_of_another(app: &App, session: &ObjectId, subject: &Subject) -> Result<bool, Error> {
    let received = app.store.received(subject.tenant.mode, session).await?;
    let matched = received.and_then(|received| received.matched);
    Ok(matched.is_some_and(|matched| matched != *subject))
}

impl Network for Ocpi<'_> {
    fn start<'a>(
        &'a self,
        request: &'a StartRequest,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let Place { evse, connector } = &request.place;
        let command = Command::StartSession {
            token: Box::new(request.token.clone()),
            location_id: evse.location.id().to_string(),
            evse_uid: evse.uid.to_string(),
            connector_id: connector.clone(),
            authorization_reference: None,
        };
        self.send(command, &request.subject).boxed()
    }

    fn stop<'a>(&'a self, request: &'a StopRequest) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let command = Command::StopSession {
            session_id: request.session.id().to_string(),
        };
        self.send_for(&request.session, command, &request.subject)
            .boxed()
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReserveRequest,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let evse = &request.place.evse;
        let command = Command::ReserveNow {
            token: Box::new(request.token.clone()),
            expiry_date: request.expires,
            reservation_id: request.reservation_id.clone(),
            location_id: evse.location.id().to_string(),
            evse_uid: evse.uid.to_string(),
            authorization_reference: None,
        };
        self.send(command, &request.subject).boxed()
    }

    fn cancel<'a>(
        &'a self,
        request: &'a CancelRequest,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let command = Command::CancelReservation {
            reservation_id: request.reservation_id.clone(),
        };
        self.send(command, &request.subject).boxed()
    }

    fn set_profile<'a>(
        &'a self,
        request: &'a ProfileRequest,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let session_id = request.session.id().to_string();
        let command = match &request.profile {
            Some(profile) => Command::SetChargingProfile {
                session_id,
                charging_profile: profile.into(),
            },
            None => Command::ClearChargingProfile { session_id },
        };
        self.send_for(&request.session, command, &request.subject)
            .boxed()
    }
}

/// The operator of a station; none if its network does not reach its party, and in live mode also if the station has no network.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_station<'a>(
    app: &'a App,
    mode: Mode,
    station: &Stored<ChargingStation>,
) -> Result<Option<Box<dyn Network + 'a>>, Error> {
    let Some(location) = &station.internal.location else {
        let simulation = Operation::of(mode, false).simulation();
        return Ok(simulation.map(|permission| Box::new(Simulated(permission)) as Box<dyn Network>));
    };
    of_owner(app, mode, location.owner()).await
}

/// The operator of a party's stations; none if its network does not reach the party.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_owner<'a>(
    app: &'a App,
    mode: Mode,
    owner: &Owner,
) -> Result<Option<Box<dyn Network + 'a>>, Error> {
    let ocpi = over_ocpi(app, mode, owner).await?;
    Ok(ocpi.map(|ocpi| Box::new(ocpi) as Box<dyn Network>))
}

/// A party of a network, if commands may be sent to it ([`OcpiNetwork::reaches`]).
async fn over_ocpi<'a>(app: &'a App, mode: Mode, owner: &Owner) -> Result<Option<Ocpi<'a>>, Error> {
    let network = app.store.network_of(mode, owner).await?;
    let reached = network.filter(|network| network.object.reaches(&owner.party));
    Ok(reached.map(|network| Ocpi {
        app,
        network,
        owner: owner.clone(),
    }))
}

/// Sends the preferences of the driver of a session to the session's network. Returns the operator's response, such as `ACCEPTED` or
/// `NOT_POSSIBLE`.
///
/// # Errors
/// 400 if the session does not exist, the network does not support preferences, or it refuses them; 409 if the session does not take place
/// at a connected network at present; 503 if the network cannot be reached.
pub async fn set_charging_preferences(
    app: &App,
    tenant: &Tenant,
    session: &Id,
    preferences: &ChargingPreferences,
) -> Result<String, Error> {
    let conflict = |why| Error::conflict(why, Some("session"));
    let session = app.store.load::<ChargingSession>(tenant, session).await?;
    let at_network = session.internal.network.as_deref();
    let reported = at_network.and_then(|network| network.session.as_ref());
    let (Some(reported), SessionStatus::Active) = (reported, session.object.status()) else {
        return Err(conflict("The session is not active at a charging network."));
    };
    let operator = over_ocpi(app, tenant.mode, reported.owner()).await?;
    let Ocpi { network, owner, .. } =
        operator.ok_or_else(|| conflict("The network is not connected."))?;
    let body = serde_json::to_value(preferences).map_err(Error::internal)?;
    let (to, body) = (&owner.party, &body);
    let request = async |network: Stored<OcpiNetwork>| {
        let endpoint = network
            .object
            .endpoint(module::SESSIONS, InterfaceRole::Sender);
        let endpoint = endpoint
            .ok_or_else(|| Error::malformed("The network does not take charging preferences."))?;
        let url = below(endpoint, &[reported.id().as_str(), "charging_preferences"]);
        let platform = commands::platform(app, &network, Some(to))?;
        Ok(platform.put(&url, body).await)
    };
    let answer = commands::with_valid_token(app, &network, request).await??;
    let answer = answer.as_str().map(str::to_owned);
    answer.ok_or_else(|| Error::unavailable("the network's answer cannot be read"))
}

/// The place of a connector of a network's station; none for a station without a network.
pub fn place(station: &Stored<ChargingStation>, connector: &Connector) -> Option<Place> {
    let location = station.internal.location.clone()?;
    Some(Place {
        evse: EvseId::new(location, &connector.evse),
        connector: connector.id_within_evse().map(str::to_owned),
    })
}

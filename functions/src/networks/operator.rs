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
    ChargingPreferences, Command, CommandStatus, Network, Place, Rejection, Subject, no_preferences,
};
use models::{ChargingSession, ChargingStation, Stored};
use ocpi::client::below;
use ocpi::network::Network as OcpiNetwork;
use ocpi::versions::{InterfaceRole, module};

use super::commands;

/// Accepts every command at once. The energy that is charged is derived from the time that passes (`models::charging::simulation`).
#[derive(Debug, Clone, Copy)]
pub struct Simulated(Simulation);

impl Network for Simulated {
    fn send<'a>(
        &'a self,
        _: &'a Subject,
        _: &'a Command,
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
    /// Returns whether the network has used the id of its session again for that of another subject: a command for it would be for that
    /// one.
    async fn is_of_another(&self, session: &ObjectId, subject: &Subject) -> Result<bool, Error> {
        let mode = subject.tenant.mode;
        let received = self.app.store.received(mode, session).await?;
        let matched = received.and_then(|received| received.matched);
        Ok(matched.is_some_and(|matched| matched != *subject))
    }

    async fn put_preferences(
        &self,
        subject: &Subject,
        session: &ObjectId,
        preferences: &ChargingPreferences,
    ) -> Result<String, Error> {
        if self.is_of_another(session, subject).await? {
            let message = "The network has used the id of the session again.";
            return Err(Error::conflict(message, Some("session")));
        }
        let body = serde_json::to_value(preferences).map_err(Error::internal)?;
        let request = async |network: Stored<OcpiNetwork>| {
            let (module, role) = (module::SESSIONS, InterfaceRole::Sender);
            let endpoint = network.object.endpoint(module, role);
            let endpoint = endpoint.ok_or_else(no_preferences)?;
            let url = below(endpoint, &[session.id().as_str(), "charging_preferences"]);
            let platform = commands::platform(self.app, &network, Some(&self.owner.party))?;
            Ok(platform.put(&url, &body).await)
        };
        let answer = commands::with_valid_token(self.app, &self.network, request).await??;
        let answer = answer.as_str().map(str::to_owned);
        answer.ok_or_else(|| Error::unavailable("the network's answer cannot be read"))
    }
}

impl Network for Ocpi<'_> {
    fn send<'a>(
        &'a self,
        subject: &'a Subject,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandStatus, Error>> {
        let send = async move {
            if let Some(session) = command.session()
                && self.is_of_another(session, subject).await?
            {
                return Ok(CommandStatus::Rejected(Rejection::Unknown));
            }
            let (to, command) = (&self.owner.party, command.into());
            commands::send(self.app, &self.network, to, &command, subject).await
        };
        send.boxed()
    }

    fn set_preferences<'a>(
        &'a self,
        subject: &'a Subject,
        session: &'a ObjectId,
        preferences: &'a ChargingPreferences,
    ) -> BoxFuture<'a, Result<String, Error>> {
        self.put_preferences(subject, session, preferences).boxed()
    }

    fn supports_profiles(&self) -> bool {
        let (module, role) = (module::CHARGING_PROFILES, InterfaceRole::Receiver);
        self.network.object.endpoint(module, role).is_some()
    }
}

/// The adapter of the protocol of a network. Each protocol is registered here.
fn adapter<'a>(app: &'a App, network: Stored<OcpiNetwork>, owner: Owner) -> Box<dyn Network + 'a> {
    Box::new(Ocpi {
        app,
        network,
        owner,
    })
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

/// The operator of a party's stations; none if commands may not be sent to the party ([`OcpiNetwork::reaches`]).
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_owner<'a>(
    app: &'a App,
    mode: Mode,
    owner: &Owner,
) -> Result<Option<Box<dyn Network + 'a>>, Error> {
    let network = app.store.network_of(mode, owner).await?;
    let reached = network.filter(|network| network.object.reaches(&owner.party));
    Ok(reached.map(|network| adapter(app, network, owner.clone())))
}

/// Sends a command to a party. It is rejected as not sent if its network does not reach the party.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached. Errors at the network are returned in the status.
pub async fn send(
    app: &App,
    owner: &Owner,
    subject: &Subject,
    command: &Command,
) -> Result<CommandStatus, Error> {
    match of_owner(app, subject.tenant.mode, owner).await? {
        Some(operator) => operator.send(subject, command).await,
        None => Ok(CommandStatus::Rejected(Rejection::NotSent)),
    }
}

/// Returns whether a party's network passes charging profiles on, also while it does not reach the party.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn supports_profiles(app: &App, mode: Mode, owner: &Owner) -> Result<bool, Error> {
    let network = app.store.network_of(mode, owner).await?;
    Ok(network.is_some_and(|network| adapter(app, network, owner.clone()).supports_profiles()))
}

/// Sends the preferences of the driver of a session to the session's network. Returns the operator's response, such as `ACCEPTED` or
/// `NOT_POSSIBLE`.
///
/// # Errors
/// 400 if the session does not exist, the network does not support preferences, or it refuses them; 409 if the session does not take place
/// at a connected network at present, or the network has used its id again; 503 if the network cannot be reached.
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
    let operator = of_owner(app, tenant.mode, reported.owner()).await?;
    let operator = operator.ok_or_else(|| conflict("The network is not connected."))?;
    let subject = Subject::new(tenant.clone(), session.object.id.clone());
    operator
        .set_preferences(&subject, reported, preferences)
        .await
}

/// The place of a connector of a network's station; none for a station without a network.
pub fn place(station: &Stored<ChargingStation>, connector: &Connector) -> Option<Place> {
    let location = station.internal.location.clone()?;
    Some(Place {
        evse: EvseId::new(location, &connector.evse),
        connector: connector.id_within_evse().map(str::to_owned),
    })
}

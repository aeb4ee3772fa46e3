//! `manage-networks`: what operators do with charging networks. Only an operator may invoke it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::deployment::{Deployment, Need};
use shared::function_scope;
use shared::ocpi::network::{Network, NetworkStatus};
use shared::ocpi::party::PartyId;
use shared::ocpi::token::ChargingPreferences;
use shared::ocpi::versions::OwnUrls;
use shared::origin::{Mode, Tenant};
use shared::store::access::Rows;
use shared::store::networks::{Pull, shared_origin};
use shared::{App, Error, Id, Kind, Timestamp};

use super::operator::set_charging_preferences;
use super::{handshake, hubs};
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "manage-networks";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Connects charging networks and shows what they have sent; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .timeout(60)
        .writing(&[Rows::Of(Kind::Network), Rows::OcpiCredentials])
        .needing(&[Need::EncryptionKeys, Need::ReadTable]),
};

/// How many unmatched objects are shown at once.
const MAX_UNMATCHED: usize = 100;

/// How long the name of a network may be, in characters.
const MAX_NAME: usize = 100;

/// What to do.
#[derive(Clone, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Manage {
    /// Issue a token A with which a platform registers.
    IssueToken { mode: Mode, name: String },
    /// Register with a platform.
    Connect {
        mode: Mode,
        name: String,
        /// The address of the platform's versions endpoint.
        url: String,
        /// The token A that the platform's operator has issued.
        token: String,
    },
    /// List the networks.
    List { mode: Mode },
    /// Refuse what a network sends, and send it nothing.
    Suspend { mode: Mode, network: Id },
    /// End a suspension.
    Resume { mode: Mode, network: Id },
    /// End the connection for good, and inform the platform.
    Revoke { mode: Mode, network: Id },
    /// Store what parties of a network send and send them commands. Those that a hub reports await it. Everything is pulled.
    ApproveParties {
        mode: Mode,
        network: Id,
        /// At most 50, such as `{"country_code": "NL", "party_id": "EXA"}`.
        parties: Vec<PartyId>,
    },
    /// Refuse what parties of a network send, and send them nothing. Their stations are not matched.
    WithdrawApproval {
        mode: Mode,
        network: Id,
        parties: Vec<PartyId>,
    },
    /// Approve the parties of a hub without being asked, those that await it included, or end that.
    TrustHub {
        mode: Mode,
        network: Id,
        trusted: bool,
    },
    /// Pull locations, tariffs, sessions and CDRs from a network now.
    Pull {
        mode: Mode,
        network: Id,
        /// Whether to pull everything, and not only what has changed since the last time.
        #[serde(default)]
        full: bool,
    },
    /// Send the preferences of the driver of an active session to the network where it takes place.
    SetChargingPreferences {
        mode: Mode,
        account: Id,
        session: Id,
        preferences: ChargingPreferences,
    },
    /// List the sessions and CDRs that belong to no charging session of this service, the oldest first.
    ListUnmatched { mode: Mode },
}

/// What was done.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Managed {
    /// The token is shown here and never again.
    Issued {
        network: Box<Network>,
        token: String,
        versions_url: String,
    },
    Network(Box<Network>),
    Revoked {
        #[serde(flatten)]
        network: Box<Network>,
        /// None if the network's platform was never registered.
        #[serde(flatten)]
        notice: Option<handshake::Notice>,
    },
    Networks {
        data: Vec<Listed>,
    },
    /// The operator's answer: `ACCEPTED`, `DEPARTURE_REQUIRED`, `ENERGY_NEED_REQUIRED`, `NOT_POSSIBLE` or
    /// `PROFILE_TYPE_NOT_SUPPORTED`.
    Preferences {
        answer: String,
    },
    Unmatched {
        data: Vec<Unmatched>,
    },
}

/// A network, and how far the last pull from it has come; null before the first one.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    #[serde(flatten)]
    pub network: Network,
    pub pull: Option<Pull>,
}

/// An object that belongs to no charging session of this service.
#[derive(Debug, Clone, Serialize)]
pub struct Unmatched {
    /// `sessions` or `cdrs`.
    pub module: &'static str,
    pub network: Id,
    /// When it was received the last time.
    pub received: Timestamp,
    /// As it was received.
    pub object: Value,
}

/// Does what an operator asks. `own_url` is the address of this service that networks are given, such as `https://api.example.com`.
///
/// # Errors
/// 400 for an unknown network, an address that may not be called, or a platform that refuses; 409 if the network is not in a state
/// that allows it; 503 if the platform cannot be reached.
pub async fn handle(app: &App, manage: Manage, own_url: Option<&str>) -> Result<Managed, Error> {
    function_scope::within(NAME, manage_networks(app, manage, own_url)).await
}

async fn manage_networks(
    app: &App,
    manage: Manage,
    own_url: Option<&str>,
) -> Result<Managed, Error> {
    let now = app.now();
    let own_url = || {
        own_url.ok_or_else(|| {
            Error::malformed(
                "BASE_URL must be set to the address at which networks reach this service",
            )
        })
    };
    match manage {
        Manage::IssueToken { mode, name } => {
            let versions_url = OwnUrls(own_url()?).versions();
            let (network, token) = handshake::issue(app, mode, checked_name(name)?).await?;
            Ok(Managed::Issued {
                network: Box::new(network),
                token: token.expose().to_owned(),
                versions_url,
            })
        }
        Manage::Connect {
            mode,
            name,
            url,
            token,
        } => {
            let name = checked_name(name)?;
            let network = handshake::start(app, mode, name, &url, &token, own_url()?).await?;
            Ok(Managed::Network(Box::new(network)))
        }
        Manage::List { mode } => {
            let mut data = Vec::new();
            for network in app.store.networks(mode).await? {
                let pull = app.store.pull(mode, &network.object.id).await?;
                let network = network.object;
                data.push(Listed { network, pull });
            }
            Ok(Managed::Networks { data })
        }
        Manage::Suspend { mode, network } => {
            set_status(app, mode, &network, NetworkStatus::Suspended).await
        }
        Manage::Resume { mode, network } => {
            set_status(app, mode, &network, NetworkStatus::Connected).await
        }
        Manage::Revoke { mode, network } => {
            let origin = shared_origin(mode, now);
            let network = app.store.load::<Network>(&origin.tenant, &network).await?;
            let (network, notice) = handshake::revoke(app, &origin, network).await?;
            Ok(Managed::Revoked {
                network: Box::new(network),
                notice,
            })
        }
        Manage::ApproveParties {
            mode,
            network,
            parties,
        } => {
            let network = hubs::approve(app, mode, &network, &parties, true).await?;
            Ok(Managed::Network(Box::new(network)))
        }
        Manage::WithdrawApproval {
            mode,
            network,
            parties,
        } => {
            let network = hubs::approve(app, mode, &network, &parties, false).await?;
            Ok(Managed::Network(Box::new(network)))
        }
        Manage::TrustHub {
            mode,
            network,
            trusted,
        } => {
            let network = hubs::trust(app, mode, &network, trusted).await?;
            Ok(Managed::Network(Box::new(network)))
        }
        Manage::Pull {
            mode,
            network,
            full,
        } => pull(app, mode, &network, full, now).await,
        Manage::SetChargingPreferences {
            mode,
            account,
            session,
            preferences,
        } => {
            let tenant = Tenant { account, mode };
            let answer = set_charging_preferences(app, &tenant, &session, &preferences).await?;
            Ok(Managed::Preferences { answer })
        }
        Manage::ListUnmatched { mode } => {
            let objects = app.store.unmatched(mode, MAX_UNMATCHED).await?;
            let data = objects.into_iter().map(|one| Unmatched {
                module: one.id.module.as_str(),
                network: one.network,
                received: one.received,
                object: one.object,
            });
            Ok(Managed::Unmatched {
                data: data.collect(),
            })
        }
    }
}

fn checked_name(name: String) -> Result<String, Error> {
    let name = name.trim().to_owned();
    match (1..=MAX_NAME).contains(&name.chars().count()) {
        true => Ok(name),
        false => Err(Error::invalid("name", "must have 1 to 100 characters")),
    }
}

async fn set_status(
    app: &App,
    mode: Mode,
    id: &Id,
    status: NetworkStatus,
) -> Result<Managed, Error> {
    let origin = shared_origin(mode, app.now());
    let network = app.store.load::<Network>(&origin.tenant, id).await?;
    let network = handshake::set_status(app, &origin, network, status).await?;
    Ok(Managed::Network(Box::new(network)))
}

/// Has a pull begin now. The relay sees it in the network's row.
async fn pull(
    app: &App,
    mode: Mode,
    id: &Id,
    full: bool,
    now: Timestamp,
) -> Result<Managed, Error> {
    let origin = shared_origin(mode, now);
    let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
    if network.object.status != NetworkStatus::Connected {
        return Err(Error::conflict(
            "The network is not connected.",
            Some("network"),
        ));
    }
    if full {
        network.ask_for_full_pull(now);
        if let Some(mut last) = app.store.pull(mode, id).await? {
            last.give_up();
            app.store.put_pull(mode, id, &last).await?;
        }
    }
    network.internal.next_pull_at = Some(now);
    let mut tx = app.store.begin(&origin);
    tx.save(&mut network)?;
    tx.commit_without_response().await?;
    Ok(Managed::Network(Box::new(network.object)))
}

//! `manage-networks`: the operations of operators on charging networks. Only an operator may invoke it.

use std::time::Duration;

use crate::App;
use kernel::backoff::Backoff;
use kernel::size::Size;
use kernel::{Error, Id, Kind, Mode, Origin, Tenant, Timestamp, function_scope};
use models::ChargingSession;
use models::charging_session::review::OperatorDecision;
use models::network::PartyId;
use models::ports::network::{ChargingPreferences, Subject};
use ocpi::network::{Network, NetworkStatus};
use ocpi::versions::OwnUrls;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use table::access::Items;
use table::charge_cards::CardUidUse;
use table::networks::shared_origin;
use table::pulls::Pull;
use web::deployment::{Deployment, Need};
use web::list::MAX_PAGE;

use super::operator::set_charging_preferences;
use super::{handshake, hubs};
use crate::charging_sessions::operate;
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "manage-networks";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Connects charging networks, shows what they have sent, and decides about charge cards; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .timeout(60)
        .writing(&[
            Items::Of(Kind::Network),
            Items::OcpiCredentials,
            Items::CardTokens,
            Items::Of(Kind::ChargingSession),
            Items::Of(Kind::Adjustment),
            Items::Of(Kind::Fleet),
        ])
        .needing(&[Need::EncryptionKeys, Need::ReadTable]),
};

/// The maximum number of unmatched objects in a response, and the number that is read at a time: each may have 200 KB.
const MAX_UNMATCHED: usize = 100;
const UNMATCHED_AT_A_TIME: usize = 25;

/// The maximum number of contested uids in a response.
const MAX_CONTESTED: usize = 100;

/// The maximum number of attempts of an operation that conflicts with a job that writes the same network, such as a pull.
const OPERATION_ATTEMPTS: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), 2, Duration::from_millis(80));

/// The maximum length of a network's name, in characters.
const MAX_NAME: usize = 100;

/// The operation to execute.
#[derive(Clone, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Manage {
    /// Issues a token A with which a platform registers.
    IssueToken { mode: Mode, name: String },
    /// Registers with a platform.
    Connect {
        mode: Mode,
        name: String,
        /// The URL of the platform's versions endpoint.
        url: String,
        /// The token A that the platform's operator has issued.
        token: String,
    },
    /// Lists the networks.
    List { mode: Mode },
    /// Refuses the messages of a network, and sends it none.
    Suspend { mode: Mode, network: Id },
    /// Ends a suspension.
    Resume { mode: Mode, network: Id },
    /// Ends the connection permanently, and informs the platform.
    Revoke { mode: Mode, network: Id },
    /// Stores the objects that parties of a network send, and sends them commands. The parties that a hub reports wait for this approval. A
    /// full pull begins.
    ApproveParties {
        mode: Mode,
        network: Id,
        /// At most 50, such as `{"country_code": "NL", "party_id": "EXA"}`.
        parties: Vec<PartyId>,
    },
    /// Refuses the messages of parties of a network, and sends them none. Their stations are not matched.
    WithdrawApproval {
        mode: Mode,
        network: Id,
        parties: Vec<PartyId>,
    },
    /// Approves the parties of a hub automatically, including those that await approval, or ends that.
    TrustHub {
        mode: Mode,
        network: Id,
        trusted: bool,
    },
    /// Pulls locations, tariffs, sessions and CDRs from a network now.
    Pull {
        mode: Mode,
        network: Id,
        /// Whether to pull everything instead of only the changes since the last time.
        #[serde(default)]
        full: bool,
    },
    /// Sends the preferences of the driver of an active session to the session's network.
    SetChargingPreferences {
        mode: Mode,
        account: Id,
        session: Id,
        preferences: ChargingPreferences,
    },
    /// Decides about the price of a session that is under review, because it is disputed or no decision was made.
    DecideReview {
        mode: Mode,
        account: Id,
        session: Id,
        decision: OperatorDecision,
    },
    /// Lists the sessions and CDRs that belong to no charging session of this service, the oldest first.
    ListUnmatched {
        mode: Mode,
        /// `next` of the response before; the oldest ones are listed without it.
        after: Option<String>,
    },
    /// Lists the uids of charge cards that accounts claim but other accounts hold, the oldest claim first.
    ListContestedCards { mode: Mode },
    /// Decides which account's charge card holds a uid. The cards of the other accounts with this uid become or stay pending.
    AssignCardUid {
        mode: Mode,
        uid: String,
        account: Id,
    },
}

/// The result of an operation.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Managed {
    /// The token is shown only here.
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
    /// The operator's response: `ACCEPTED`, `DEPARTURE_REQUIRED`, `ENERGY_NEED_REQUIRED`, `NOT_POSSIBLE` or `PROFILE_TYPE_NOT_SUPPORTED`.
    Preferences {
        answer: String,
    },
    Session(Box<ChargingSession>),
    Unmatched {
        data: Vec<Unmatched>,
        /// The value of `after` for those that follow; null at the end of the list.
        next: Option<String>,
    },
    ContestedCards {
        data: Vec<ContestedCard>,
    },
    ContestedCard(Box<ContestedCard>),
}

/// A uid for which several accounts have charge cards.
#[derive(Debug, Clone, Serialize)]
pub struct ContestedCard {
    /// In lower case.
    pub uid: String,
    /// The card that holds the uid; null if it was deleted.
    pub holder: Option<CardOfAccount>,
    pub claims: Vec<Claim>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CardOfAccount {
    pub account: Id,
    pub charge_card: Id,
}

/// The claim of a pending card.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    #[serde(flatten)]
    pub card: CardOfAccount,
    /// The time at which the card was created, or lost the uid by a decision.
    pub since: Timestamp,
    /// Whether the claim was rejected.
    pub is_decided: bool,
}

impl From<&Subject> for CardOfAccount {
    fn from(card: &Subject) -> Self {
        Self {
            account: card.tenant.account.clone(),
            charge_card: card.id.clone(),
        }
    }
}

impl ContestedCard {
    fn new(uid: String, uid_use: &CardUidUse) -> Self {
        let claims = uid_use.claims.iter().map(|claim| Claim {
            card: (&claim.card).into(),
            since: claim.since,
            is_decided: claim.is_decided,
        });
        Self {
            uid,
            holder: uid_use.holder().map(CardOfAccount::from),
            claims: claims.collect(),
        }
    }
}

/// A network and the progress of the last pull from it, which is null before the first one.
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
    /// The time at which it was last received.
    pub received: Timestamp,
    /// The object as it was received.
    pub object: Value,
}

/// Executes an operator's operation. `own_url` is the URL of this service that networks are given, such as `https://api.example.com`.
///
/// # Errors
/// 400 for an unknown network, a URL that may not be called, or a platform that refuses; 409 if the network or the session is not in a
/// state that allows it; 503 if the platform cannot be reached.
pub async fn handle(app: &App, manage: Manage, own_url: Option<&str>) -> Result<Managed, Error> {
    // A repeated registration would issue a second token.
    let tries = match manage {
        Manage::IssueToken { .. } | Manage::Connect { .. } => 1,
        _ => OPERATION_ATTEMPTS,
    };
    let run = || function_scope::within(NAME, manage_networks(app, manage.clone(), own_url));
    BACKOFF.after_collisions(tries, run).await
}

async fn manage_networks(
    app: &App,
    manage: Manage,
    own_url: Option<&str>,
) -> Result<Managed, Error> {
    let now = app.now();
    match manage {
        Manage::IssueToken { mode, name } => issue_token(app, mode, name, own_url).await,
        Manage::Connect {
            mode,
            name,
            url,
            token,
        } => {
            let (name, own_url) = (checked_name(name)?, required(own_url)?);
            let network = handshake::start(app, mode, name, &url, &token, own_url).await?;
            Ok(Managed::Network(Box::new(network)))
        }
        Manage::List { mode } => list(app, mode).await,
        Manage::Suspend { mode, network } => {
            set_status(app, mode, &network, NetworkStatus::Suspended).await
        }
        Manage::Resume { mode, network } => {
            set_status(app, mode, &network, NetworkStatus::Connected).await
        }
        Manage::Revoke { mode, network } => revoke(app, mode, &network).await,
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
            let tenant = Tenant::new(account, mode);
            let answer = set_charging_preferences(app, &tenant, &session, &preferences).await?;
            Ok(Managed::Preferences { answer })
        }
        Manage::DecideReview {
            mode,
            account,
            session,
            decision,
        } => decide_review(app, Tenant::new(account, mode), &session, decision).await,
        Manage::ListUnmatched { mode, after } => list_unmatched(app, mode, after).await,
        Manage::ListContestedCards { mode } => list_contested_cards(app, mode).await,
        Manage::AssignCardUid { mode, uid, account } => {
            assign_card_uid(app, mode, &uid, &account).await
        }
    }
}

/// The URL of this service that networks are given.
fn required(own_url: Option<&str>) -> Result<&str, Error> {
    own_url.ok_or_else(|| {
        Error::malformed("BASE_URL must be set to the address at which networks reach this service")
    })
}

async fn issue_token(
    app: &App,
    mode: Mode,
    name: String,
    own_url: Option<&str>,
) -> Result<Managed, Error> {
    let versions_url = OwnUrls(required(own_url)?).versions();
    let (network, token) = handshake::issue(app, mode, checked_name(name)?).await?;
    Ok(Managed::Issued {
        network: Box::new(network),
        token: token.expose().to_owned(),
        versions_url,
    })
}

async fn list(app: &App, mode: Mode) -> Result<Managed, Error> {
    let mut data = Vec::new();
    for network in app.store.networks(mode).await? {
        let network = network.object;
        let pull = app.store.pull(mode, &network.id).await?;
        data.push(Listed { network, pull });
    }
    Ok(Managed::Networks { data })
}

async fn revoke(app: &App, mode: Mode, id: &Id) -> Result<Managed, Error> {
    let origin = shared_origin(mode, app.now());
    let network = app.store.load::<Network>(&origin.tenant, id).await?;
    let (network, notice) = handshake::revoke(app, &origin, network).await?;
    Ok(Managed::Revoked {
        network: Box::new(network),
        notice,
    })
}

/// Lists as many unmatched objects as a response has room for.
async fn list_unmatched(app: &App, mode: Mode, after: Option<String>) -> Result<Managed, Error> {
    // DynamoDB refuses an empty key.
    let mut next = after.filter(|after| !after.is_empty());
    let (mut data, mut room) = (Vec::new(), MAX_PAGE);
    while data.len() < MAX_UNMATCHED {
        let read = app
            .store
            .unmatched(mode, next.as_deref(), UNMATCHED_AT_A_TIME);
        let (objects, following) = read.await?;
        for (place, received) in objects {
            let unmatched = Unmatched {
                module: received.id.module().as_str(),
                network: received.id.network().clone(),
                received: received.received,
                object: received.shown(),
            };
            let size = Size::of(&unmatched)?.bytes + 1;
            if size > room {
                return Ok(Managed::Unmatched { data, next });
            }
            room -= size;
            data.push(unmatched);
            next = Some(place);
        }
        next = following;
        if next.is_none() {
            break;
        }
    }
    Ok(Managed::Unmatched { data, next })
}

async fn list_contested_cards(app: &App, mode: Mode) -> Result<Managed, Error> {
    let mut data = Vec::new();
    for uid in app.store.contested_uids(mode, MAX_CONTESTED).await? {
        let uid_use = app.store.card_uid(mode, &uid).await?;
        data.push(ContestedCard::new(uid, &uid_use));
    }
    Ok(Managed::ContestedCards { data })
}

/// Assigns a uid to the card of an account. The relay then changes the status of the cards.
async fn assign_card_uid(app: &App, mode: Mode, uid: &str, account: &Id) -> Result<Managed, Error> {
    let uid_use = app.store.card_uid(mode, uid).await?;
    let mut claims = uid_use.claims.iter();
    let winner = claims.find(|claim| claim.card.tenant.account == *account);
    let holder = uid_use.holder();
    let is_holder = holder.is_some_and(|holder| holder.tenant.account == *account);
    if winner.is_none() && !is_holder {
        let message = "no charge card of the account has this uid";
        return Err(Error::invalid("account", message));
    }
    let origin = shared_origin(mode, app.now());
    let mut tx = app.store.begin(&origin);
    tx.decide_card_uid(uid, &uid_use, winner)?;
    tx.commit_without_response().await?;
    let uid_use = app.store.card_uid(mode, uid).await?;
    let contested = ContestedCard::new(uid.to_lowercase(), &uid_use);
    Ok(Managed::ContestedCard(Box::new(contested)))
}

fn checked_name(name: String) -> Result<String, Error> {
    let name = name.trim().to_owned();
    if (1..=MAX_NAME).contains(&name.chars().count()) {
        Ok(name)
    } else {
        Err(Error::invalid("name", "must have 1 to 100 characters"))
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

/// Decides about the price of a session that is under review.
async fn decide_review(
    app: &App,
    tenant: Tenant,
    session: &Id,
    decision: OperatorDecision,
) -> Result<Managed, Error> {
    let mut stored = app.store.load::<ChargingSession>(&tenant, session).await?;
    let before = stored.clone();
    let origin = Origin::background(tenant, app.now());
    let outcome = stored.decide_review(decision, origin.now)?;
    let tx = operate::writes_of_decision(app, &origin, &before, &mut stored, outcome).await?;
    tx.commit_without_response().await?;
    Ok(Managed::Session(Box::new(stored.object)))
}

/// Starts a pull now: the relay reacts to the change of the network's item.
async fn pull(
    app: &App,
    mode: Mode,
    id: &Id,
    full: bool,
    now: Timestamp,
) -> Result<Managed, Error> {
    let origin = shared_origin(mode, now);
    let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
    if !network.object.is_connected() {
        return Err(Error::conflict(
            "The network is not connected.",
            Some("network"),
        ));
    }
    if full {
        Network::ask_for_full_pull(&mut network, now);
        if let Some(mut last) = app.store.pull(mode, id).await? {
            last.give_up();
            app.store.put_pull(mode, id, &last).await?;
        }
    }
    network.internal.next_pull_at = Some(now);
    app.store.save(&origin, &mut network).await?;
    Ok(Managed::Network(Box::new(network.object)))
}

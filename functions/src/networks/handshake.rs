//! The exchange of credentials, in both directions.
//!
//! *Towards this service*: an operator issues a token A and hands it over with the URL of the versions endpoint. The platform sends its
//! credentials; this service reads its endpoints, and responds with a token C.
//!
//! *From this service*: an operator hands over the platform's URL and its token A. This service reads the endpoints, stores the network as
//! `pending` with a new token B, sends its credentials with that, and stores the platform's token C. The platform may read the versions of
//! this service with token B meanwhile. If that fails, the network is revoked. If only the platform's response is lost, the platform counts
//! this service as registered: its operator has to issue a new token A.
//!
//! When an operator revokes a network, its platform is notified with `DELETE credentials`, if it can be reached.

use std::borrow::Cow;

use crate::App;
use kernel::{Error, Id, Mode, Origin, Timestamp};
use models::Stored;
use ocpi::client::{Failure, checked};
use ocpi::credentials::{BusinessDetails, Credentials, CredentialsRole, CredentialsToken};
use ocpi::envelope::StatusCode;
use ocpi::network::{Network, NetworkStatus, OwnToken, Registration};
use ocpi::party::Role;
use ocpi::versions::{
    self, Endpoint, InterfaceRole, OcpiVersion, OwnUrls, Version, VersionDetails, module,
};
use serde::Serialize;
use table::networks::{operators, shared_origin};

use super::{COLLISION_ATTEMPTS, COLLISIONS, hubs};

/// The credentials object of this service.
pub fn own_credentials(app: &App, own_url: &str, token: &CredentialsToken) -> Credentials {
    let own = &app.settings.own_party;
    Credentials {
        token: token.expose().to_owned(),
        url: OwnUrls(own_url).versions(),
        hub_party_id: None,
        roles: vec![CredentialsRole {
            role: Role::Emsp,
            party: own.id.clone(),
            business_details: BusinessDetails {
                name: own.name.clone(),
            },
        }],
    }
}

/// The refusal of an exchange: a status code and a message.
pub type Refused = (StatusCode, String);

/// Reads the endpoints of a platform that sends its credentials, in the version of the request.
///
/// # Errors
/// 2001 for a URL that may not be called, and for refused roles; 3001 if the platform's versions cannot be read or name such a URL; 3002 if
/// it does not have the version; 3003 if it lacks an interface that this service needs.
pub async fn endpoints(
    app: &App,
    mode: Mode,
    credentials: &Credentials,
    version: OcpiVersion,
) -> Result<Vec<Endpoint>, Refused> {
    let invalid = |why| (StatusCode::INVALID_PARAMETERS, why);
    let own = &app.settings.own_party.id;
    let token = credentials.check(own).map_err(invalid)?;
    check_addresses(app, mode, [("url", credentials.url.as_str())])
        .await
        .map_err(invalid)?;
    let unusable = |failure: Failure| (StatusCode::CLIENT_API_UNUSABLE, failure.to_string());
    let platform = app.platform(mode, token, None);
    let list: Vec<Version> = platform.get(&credentials.url).await.map_err(unusable)?;
    let found = list
        .iter()
        .find(|listed| listed.version == version.as_str());
    let found = found.ok_or_else(|| {
        let message = format!("{} does not list version {version}", credentials.url);
        (StatusCode::UNSUPPORTED_VERSION, message)
    })?;
    let details: VersionDetails = platform.get(&found.url).await.map_err(unusable)?;
    let endpoints = versions::known(details.endpoints);
    check_endpoints(app, mode, &endpoints)
        .await
        .map_err(|why| (StatusCode::CLIENT_API_UNUSABLE, why))?;
    let roles = credentials.roles.iter().map(|role| role.role);
    match versions::missing(&endpoints, roles) {
        None => Ok(endpoints),
        Some(missing) => Err((
            StatusCode::NO_MATCHING_ENDPOINTS,
            format!("the endpoint {missing} is missing"),
        )),
    }
}

/// Checks that the endpoints of a platform may be called.
///
/// # Errors
/// The first endpoint that may not be called, and the reason.
async fn check_endpoints(app: &App, mode: Mode, endpoints: &[Endpoint]) -> Result<(), String> {
    let named = endpoints
        .iter()
        .map(|endpoint| (endpoint.identifier.as_str(), endpoint.url.as_str()));
    let checked = check_addresses(app, mode, named).await;
    checked.map_err(|why| format!("endpoints: {why}"))
}

/// Checks that URLs may be called, including the addresses to which their host names resolve. Each has the name of the place where it was
/// found.
///
/// # Errors
/// The first URL that may not be called, and the reason.
async fn check_addresses<'a>(
    app: &App,
    mode: Mode,
    addresses: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), String> {
    let mut urls = Vec::new();
    for (name, address) in addresses {
        let url = checked(address, app.settings.targets, mode);
        urls.push(url.map_err(|why| format!("{name}: {why}"))?);
    }
    let names = urls.iter().filter_map(url::Url::domain).collect();
    app.outbound.check_names(names).await
}

/// The result of an exchange, known to both sides.
#[derive(Debug)]
pub struct Agreed {
    pub version: OcpiVersion,
    pub endpoints: Vec<Endpoint>,
    pub credentials: Credentials,
    /// The URL of this service that the platform was given.
    pub own_url: String,
    /// The hash of the token with which the platform has sent its credentials.
    pub used_token: String,
    /// The time at which the platform has sent its credentials.
    pub began: Timestamp,
}

/// Connects a network whose platform has sent its credentials, and issues its token for further requests. None if the platform's token is
/// not valid any more, because the network was revoked or the platform has used a newer token; and if an exchange of credentials that
/// began later has ended: the later one counts, whether or not its token was used.
///
/// # Errors
/// 409 if one of the parties belongs to another network.
pub async fn connect(
    app: &App,
    mode: Mode,
    id: &Id,
    agreed: Agreed,
) -> Result<Option<CredentialsToken>, Error> {
    let origin = shared_origin(mode, app.now());
    let connect = || async {
        let network = app.store.load::<Network>(&origin.tenant, id).await?;
        // The platform repeats its request with the previous token if it has not received the present one.
        let previous = network.internal.previous_token.as_ref();
        let repeated = previous.is_some_and(|own| own.hash == agreed.used_token);
        let is_outrun = |own: &OwnToken| own.exchange_began > Some(agreed.began);
        if !accepts(&network, &agreed.used_token)
            || repeated && network.internal.token.as_ref().is_some_and(is_outrun)
        {
            return Ok(None);
        }
        let token = CredentialsToken::issue(mode)?;
        let own = OwnToken {
            exchange_began: Some(agreed.began),
            ..OwnToken::new(&token, false)
        };
        let registration = Registration {
            version: agreed.version,
            endpoints: agreed.endpoints.clone(),
            credentials: agreed.credentials.clone(),
        };
        let own_url = agreed.own_url.clone();
        let new_token = Some((own, repeated));
        register(app, &origin, network, registration, own_url, new_token).await?;
        Ok(Some(token))
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, connect)
        .await
}

/// Returns whether a platform may exchange credentials, or end the connection, with the token that has this hash.
fn accepts(network: &Stored<Network>, hash: &str) -> bool {
    let internal = &network.internal;
    let mut tokens = internal.token.iter().chain(&internal.previous_token);
    tokens.any(|own| own.hash == hash)
}

/// Revokes a network at the request of its platform. Returns whether the token of the request is still valid, because only then the
/// network is revoked.
///
/// # Errors
/// `Contended` if the network is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn unregister(app: &App, mode: Mode, id: &Id, used_token: &str) -> Result<bool, Error> {
    let origin = shared_origin(mode, app.now());
    let revoke = || async {
        let network = app.store.load::<Network>(&origin.tenant, id).await?;
        if !accepts(&network, used_token) {
            return Ok(false);
        }
        set_status(app, &origin, network, NetworkStatus::Revoked).await?;
        Ok(true)
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, revoke)
        .await
}

/// Stores a registration with its parties and tokens.
async fn register(
    app: &App,
    origin: &Origin,
    mut network: Stored<Network>,
    registration: Registration,
    own_url: String,
    token: Option<(OwnToken, bool)>,
) -> Result<Stored<Network>, Error> {
    let id = network.object.id.clone();
    let before = network.object.own_parties();
    Network::register(
        &mut network,
        registration,
        &app.settings.encryption_keys,
        origin.now,
    )?;
    network.internal.own_url = Some(own_url);
    let after = network.object.own_parties();
    if !before.is_empty() && !after.is_subset(&before) {
        Network::ask_for_full_pull(&mut network, origin.now);
    }
    for party in &network.object.parties {
        if party.awaits_approval && hubs::is_of_another(app, origin, &party.id, &id).await? {
            let message = format!("The party {} belongs to another network.", party.id);
            return Err(Error::conflict(message, Some("roles")));
        }
    }
    let mut tx = app.store.begin(origin);
    if let Some((token, repeated)) = token {
        tx.add_own_token(&token.hash, &id);
        if let Some(outdated) = Network::replace_token(&mut network, token, repeated, origin.now) {
            tx.remove_own_token(&outdated.hash);
        }
    }
    hubs::claim(app, &mut tx, &id, after.difference(&before)).await?;
    tx.save(&mut network)?;
    tx.commit_without_response().await?;
    app.networks.forget(&id);
    hubs::release(app, origin, &id, before.difference(&after)).await?;
    Ok(network)
}

/// Creates a network and issues the token A with which its platform registers.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn issue(
    app: &App,
    mode: Mode,
    name: String,
) -> Result<(Network, CredentialsToken), Error> {
    let origin = shared_origin(mode, app.now());
    let token = CredentialsToken::issue(mode)?;
    let network = create(app, &origin, name, OwnToken::new(&token, true)).await?;
    Ok((network.object, token))
}

async fn create(
    app: &App,
    origin: &Origin,
    name: String,
    token: OwnToken,
) -> Result<Stored<Network>, Error> {
    let mode = origin.tenant.mode;
    let mut network = Stored::new(Network::pending(name, mode, origin.now));
    let mut tx = app.store.begin(origin);
    tx.add_own_token(&token.hash, &network.object.id);
    network.internal.token = Some(token);
    tx.create(&mut network)?;
    tx.commit_without_response().await?;
    Ok(network)
}

/// Registers this service with a platform, with the token A that its operator has issued.
///
/// # Errors
/// 400 if the platform's URL may not be called, or the platform refuses; 503 if it cannot be reached.
pub async fn start(
    app: &App,
    mode: Mode,
    name: String,
    versions_url: &str,
    token_a: &str,
    own_url: &str,
) -> Result<Network, Error> {
    let token_a = CredentialsToken::foreign(token_a).map_err(|why| Error::invalid("token", why))?;
    check_addresses(app, mode, [("url", versions_url)])
        .await
        .map_err(unsuitable)?;
    let platform = app.platform(mode, token_a, None);
    let list: Vec<Version> = platform.get(versions_url).await?;
    let best = versions::best(&list);
    let (version, url) =
        best.ok_or_else(|| unsuitable("the platform has neither version 2.2.1 nor 2.3.0"))?;
    let VersionDetails { endpoints, .. } = platform.get(url).await?;
    let endpoints = versions::known(endpoints);
    check_endpoints(app, mode, &endpoints)
        .await
        .map_err(unsuitable)?;
    let target = versions::find(&endpoints, module::CREDENTIALS, InterfaceRole::Sender);
    let target = target
        .ok_or_else(|| unsuitable("the platform has no endpoint of the module credentials"))?;
    let origin = shared_origin(mode, app.now());
    let token_b = CredentialsToken::issue(mode)?;
    let network = create(app, &origin, name, OwnToken::new(&token_b, false)).await?;
    let id = network.object.id.clone();
    let agreed = async {
        let own = own_credentials(app, own_url, &token_b);
        let own = serde_json::to_value(own).map_err(Error::internal)?;
        let answer = platform.post(target, &own).await?;
        let credentials: Credentials = ocpi::reader::lenient(&answer)
            .map_err(|why| Error::malformed(format!("the platform's credentials: {why}")))?;
        let own = &app.settings.own_party.id;
        credentials.check(own).map_err(Error::malformed)?;
        let roles = credentials.roles.iter().map(|role| role.role);
        if let Some(missing) = versions::missing(&endpoints, roles) {
            let message = format!("the platform has no endpoint {missing}");
            return Err(Error::malformed(message));
        }
        let registration = Registration {
            version,
            endpoints: endpoints.clone(),
            credentials,
        };
        let own_url = own_url.to_owned();
        register(app, &origin, network.clone(), registration, own_url, None).await
    };
    match agreed.await {
        Ok(network) => Ok(network.object),
        Err(error) => {
            let network = app.store.load::<Network>(&operators(mode), &id).await?;
            set_status(app, &origin, network, NetworkStatus::Revoked).await?;
            Err(error)
        }
    }
}

fn unsuitable(why: impl Into<Cow<'static, str>>) -> Error {
    Error::invalid("url", why)
}

/// Sets the status of a network. Its tokens and parties are released when it is revoked, even if it was revoked before.
///
/// # Errors
/// 409 if the transition to the status is not allowed.
pub async fn set_status(
    app: &App,
    origin: &Origin,
    mut network: Stored<Network>,
    status: NetworkStatus,
) -> Result<Network, Error> {
    let internal = &network.internal;
    let tokens = internal.token.iter().chain(&internal.previous_token);
    let hashes: Vec<String> = tokens.map(|token| token.hash.clone()).collect();
    Network::set_status(&mut network, status, origin.now)?;
    let id = network.object.id.clone();
    let mut tx = app.store.begin(origin);
    if status == NetworkStatus::Revoked {
        for hash in &hashes {
            tx.remove_own_token(hash);
        }
    }
    tx.save(&mut network)?;
    tx.commit_without_response().await?;
    app.networks.forget(&id);
    if status == NetworkStatus::Revoked {
        let parties = network.object.own_parties();
        hubs::release(app, origin, &id, parties.iter()).await?;
    }
    Ok(network.object)
}

/// Whether the platform of a revoked network was notified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    pub platform_informed: bool,
    /// The reason for which it could not be informed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Ends a connection permanently, and informs the platform if it was registered. The connection has ended whether or not the platform can
/// be reached (OCPI 2.2.1-d2, "Credentials module", DELETE).
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn revoke(
    app: &App,
    origin: &Origin,
    network: Stored<Network>,
) -> Result<(Network, Option<Notice>), Error> {
    let endpoint = network
        .object
        .endpoint(module::CREDENTIALS, InterfaceRole::Sender)
        .map(str::to_owned);
    let registered = network.internal.foreign_token.is_some();
    let token = Network::foreign_token(&network, &app.settings.encryption_keys);
    let revoked = set_status(app, origin, network, NetworkStatus::Revoked).await?;
    let (Some(endpoint), true) = (endpoint, registered) else {
        return Ok((revoked, None));
    };
    // A token that can no longer be decrypted must not keep the network connected.
    let problem = match token {
        Ok(token) => {
            let platform = app.platform(revoked.mode, token, None);
            platform
                .delete(&endpoint)
                .await
                .err()
                .map(|failure| failure.to_string())
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = &problem {
        tracing::warn!(network = %revoked.id, error = problem, "the platform of a revoked network was not informed");
    }
    let notice = Notice {
        platform_informed: problem.is_none(),
        problem,
    };
    Ok((revoked, Some(notice)))
}

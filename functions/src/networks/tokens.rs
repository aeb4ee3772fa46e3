//! The tokens that drivers charge with, as networks know them.
//!
//! Every driver who starts sessions through the API has a token of the type `APP_USER`. Its uid is the driver's id, so that it is
//! found without a search and says nothing about the person.

use shared::models::driver::Driver;
use shared::ocpi::cost::CdrToken;
use shared::ocpi::token::{Token, TokenType, Whitelist};
use shared::origin::{Mode, Tenant};
use shared::ports::network::Subject;
use shared::store::networks::StoredToken;
use shared::{App, Error, Id, Kind};

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub tenant: Tenant,
    pub driver: Option<Id>,
    pub vehicle: Option<Id>,
}

/// The token that a driver starts sessions with through the API. It is made at the first time.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_driver(app: &App, tenant: &Tenant, driver: &Driver) -> Result<Token, Error> {
    let (mode, uid) = (tenant.mode, driver.id.as_str());
    let kind = TokenType::AppUser;
    if let Some(stored) = app.store.token(mode, kind, uid).await?
        && stored.token.valid
    {
        return Ok(stored.token);
    }
    let own = &app.settings.own_party;
    let token = Token {
        owner: own.id.clone(),
        uid: uid.to_owned(),
        kind,
        contract_id: uid.to_owned(),
        visual_number: None,
        issuer: own.name.clone(),
        valid: true,
        whitelist: Whitelist::Allowed,
        last_updated: app.now(),
    };
    let stored = StoredToken {
        token: token.clone(),
        card: Some(Subject {
            tenant: tenant.clone(),
            id: driver.id.clone(),
        }),
    };
    app.store.put_token(mode, &stored).await?;
    Ok(token)
}

/// Whose token a network names in a session or a CDR; none for a token that this service has not issued.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn holder(app: &App, mode: Mode, token: &CdrToken) -> Result<Option<Holder>, Error> {
    let Some(kind) = TokenType::from_name(&token.kind) else {
        return Ok(None);
    };
    let stored = app.store.token(mode, kind, &token.uid).await?;
    let Some(Subject { tenant, id }) = stored.and_then(|stored| stored.card) else {
        return Ok(None);
    };
    Ok(Some(Holder {
        driver: id.is(Kind::Driver).then(|| id.clone()),
        vehicle: id.is(Kind::Vehicle).then_some(id),
        tenant,
    }))
}

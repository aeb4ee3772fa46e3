//! The tokens with which drivers charge at networks: those of charge cards.

use kernel::{Error, Id, Mode, Tenant, Timestamp};
use models::charging::card::{may_be_contract_of, token_type};
use models::charging::session::CLOCK_TOLERANCE;
use models::token::{Token, TokenType};
use models::{ChargeCard, ChargingSession, Driver, Stored};
use ocpi::cost::CdrToken;
use table::charge_cards::LastUse;

use crate::{App, charge_cards};

/// The tenant, driver and vehicle of a card, and its last use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub tenant: Tenant,
    pub card: Id,
    /// The driver that the card names.
    pub driver: Option<Id>,
    /// The vehicle that the card names.
    pub vehicle: Option<Id>,
    pub last: LastUse,
}

impl Holder {
    /// Returns whether a session of the same account is that of the card, or of its driver or vehicle.
    pub fn charges_in(&self, session: &Stored<ChargingSession>) -> bool {
        let network = session.internal.network.as_deref();
        let is_card = network.and_then(|network| network.card.as_ref()) == Some(&self.card);
        let is_driver = self.driver.as_ref() == Some(&session.object.driver);
        let is_vehicle = self.vehicle.as_ref() == Some(&session.object.vehicle);
        is_card || is_driver || self.driver.is_none() && is_vehicle
    }
}

/// The token with which a driver starts sessions through the API: that of the driver's app card.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_driver(app: &App, tenant: &Tenant, driver: &Driver) -> Result<Token, Error> {
    charge_cards::app_token(app, tenant, driver).await
}

/// The holder of the token that a network names in a session or a CDR that began at a time; none for a token that this service has not
/// issued, also if another party has issued one with the same uid, and for one of another card that had the uid before: its contract id
/// differs, or it was used before the card was created.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn holder(
    app: &App,
    mode: Mode,
    token: &CdrToken,
    began: Timestamp,
) -> Result<Option<Holder>, Error> {
    let own = &app.settings.own_party.id;
    if !token.is_of(own.country_code(), own.party_id()) {
        return Ok(None);
    }
    let Some(kind) = TokenType::from_name(&token.kind) else {
        return Ok(None);
    };
    let stored = app.store.card_token(mode, &token.uid).await?;
    let Some(card) = stored.and_then(|stored| stored.card) else {
        return Ok(None);
    };
    let (found, last) = tokio::try_join!(
        app.store.find::<ChargeCard>(&card.tenant, &card.id),
        app.store.last_use(&card.tenant, &card.id),
    )?;
    let found = found.filter(|found| {
        let charge_card = &found.object;
        let is_contract = |id: &String| may_be_contract_of(charge_card, id);
        token_type(charge_card.kind) == kind
            && charge_card.created <= began.plus(CLOCK_TOLERANCE)
            && token.contract_id.as_ref().is_none_or(is_contract)
    });
    Ok(found.map(|charge_card| Holder {
        tenant: card.tenant,
        card: card.id,
        driver: charge_card.object.driver,
        vehicle: charge_card.object.vehicle,
        last,
    }))
}

/// Returns whether a token without a [`holder`] may be that of a card of the account, of `card` if it is given: a network may name another
/// type of token, or a contract id or a start that cannot be, and the card may have been deleted since. For an object at the place and the
/// time of the session (`is_there`) it may be any token of ours: the uid may have been given to another card later.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn may_have_been_of(
    app: &App,
    mode: Mode,
    token: &CdrToken,
    tenant: &Tenant,
    card: Option<&Id>,
    is_there: bool,
) -> Result<bool, Error> {
    let own = &app.settings.own_party.id;
    if !token.is_of(own.country_code(), own.party_id()) {
        return Ok(false);
    }
    let stored = app.store.card_token(mode, &token.uid).await?;
    Ok(stored.is_some_and(|stored| match &stored.card {
        _ if is_there => true,
        Some(own) => own.tenant == *tenant && card.is_none_or(|card| *card == own.id),
        None => {
            let last = stored.last_account;
            last.is_none_or(|last| last == tenant.account)
        }
    }))
}

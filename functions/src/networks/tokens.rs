//! The tokens with which drivers charge at networks: those of charge cards.

use crate::App;
use kernel::origin::{Mode, Tenant};
use kernel::{Error, Id, Timestamp};
use models::charge_card::ChargeCard;
use models::charging::card::token_type;
use models::driver::Driver;
use models::token::{Token, TokenType};
use ocpi::cost::CdrToken;

use crate::charge_cards;
use crate::charge_cards::tap::{CardUse, Place};

/// The tenant, driver and vehicle of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub tenant: Tenant,
    pub card: Id,
    /// The driver that the card names.
    pub driver: Option<Id>,
    /// The vehicle that the card names.
    pub vehicle: Option<Id>,
}

/// The token with which a driver starts sessions through the API: that of the driver's app card.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_driver(app: &App, tenant: &Tenant, driver: &Driver) -> Result<Token, Error> {
    charge_cards::app_token(app, tenant, driver).await
}

/// The holder of the token that a network names in a session or a CDR; none for a token that this service has not issued.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn holder(app: &App, mode: Mode, token: &CdrToken) -> Result<Option<Holder>, Error> {
    let Some(kind) = TokenType::from_name(&token.kind) else {
        return Ok(None);
    };
    let stored = app.store.card_token(mode, &token.uid).await?;
    let Some(card) = stored.and_then(|stored| stored.card) else {
        return Ok(None);
    };
    let found = app.store.find::<ChargeCard>(&card.tenant, &card.id).await?;
    let found = found.filter(|charge_card| token_type(charge_card.object.kind) == kind);
    Ok(found.map(|charge_card| Holder {
        tenant: card.tenant,
        card: card.id,
        driver: charge_card.object.driver,
        vehicle: charge_card.object.vehicle,
    }))
}

/// Finds who has charged with the token that a network names in a session or a CDR; none for a token that this service has not issued, and
/// for a card that has no driver with a vehicle.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn who_charges(
    app: &App,
    mode: Mode,
    token: &CdrToken,
    place: Place<'_>,
    at: Timestamp,
) -> Result<Option<CardUse>, Error> {
    match TokenType::from_name(&token.kind) {
        Some(kind) => {
            charge_cards::tap::who_charges(app, mode, (kind, &token.uid), place, at).await
        }
        None => Ok(None),
    }
}

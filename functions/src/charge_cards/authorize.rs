//! Real-time authorization: decides whether a card may be used, at a place and now.
//!
//! The card is checked first, with the driver, vehicle, fleet and account that it depends on; then, for each EVSE, who charges there
//! ([`super::tap`]) by the policies in enforcement, and the payment method: that of the reservation, else the default of the driver,
//! the fleet or the account. A wallet without money and an expired payment card lead to a refusal. Without any payment method the session
//! is invoiced.

use std::collections::HashMap;

use kernel::{Error, Id, Mode};
use models::charging::card::{CardValidity, token_type};
use models::payment_method::PaymentMethodType;
use models::ports::network::Subject;
use models::token::{AllowedType, Token, TokenType};
use models::{Account, ChargeCard, ChargingStation, Driver, Fleet, PaymentMethod, Stored};

use super::context;
use super::judge::UsedCard;
use super::tap::{CardUse, Place, TapOutcome};
use crate::{App, references};

/// The place where a card is to be used.
#[derive(Debug, Clone, Copy)]
pub enum Whereabouts<'a> {
    /// The network does not name the place.
    Unknown,
    /// A station, at these EVSEs; at any EVSE if the list is empty.
    Station(&'a ChargingStation, &'a [String]),
}

/// The response to a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Authorization {
    pub allowed: AllowedType,
    pub token: Token,
    /// The requested EVSEs at which the card may be used.
    pub evses: Vec<String>,
    /// Whether the place may change the response, and the network does not name it.
    pub needs_place: bool,
}

/// Decides whether a card may be used. `None` for a token that is unknown.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn authorize(
    app: &App,
    mode: Mode,
    (kind, uid): (TokenType, &str),
    whereabouts: Whereabouts<'_>,
) -> Result<Option<Authorization>, Error> {
    let now = app.now();
    let Some(mut known) = app.store.card_token(mode, uid).await? else {
        return Ok(None);
    };
    let decided = |token: Option<Token>, allowed| {
        let token = token.filter(|token| token.kind == kind)?;
        Some(Authorization {
            allowed,
            token,
            evses: Vec::new(),
            needs_place: false,
        })
    };
    // The token of a deleted card is known, but not valid.
    let Some(Subject { tenant, id }) = known.card.clone() else {
        return Ok(decided(known.token, AllowedType::Blocked));
    };
    let Some(Stored { object: card, .. }) = app.store.find::<ChargeCard>(&tenant, &id).await?
    else {
        return Ok(decided(known.token, AllowedType::Blocked));
    };
    if token_type(card.kind) != kind {
        return Ok(None);
    }
    let context = context::load(app, &tenant, &card).await?;
    known.update(context.token(&card, &context::issuer(app), now));
    let token = known.token;
    match context.validity(&card, now) {
        CardValidity::Blocked => return Ok(decided(token, AllowedType::Blocked)),
        CardValidity::Expired => return Ok(decided(token, AllowedType::Expired)),
        CardValidity::Valid => {}
    }
    let valid = UsedCard::load(app, &tenant, &card, &context, now).await?;
    let (allowed, evses) = match whereabouts {
        Whereabouts::Station(station, named) => valid.at_station(station, named).await?,
        Whereabouts::Unknown => (valid.anywhere().await?, Vec::new()),
    };
    let needs_place = matches!(whereabouts, Whereabouts::Unknown)
        && match allowed {
            AllowedType::Allowed => context
                .enforced()
                .any(|policy| policy.rules.depend_on_station()),
            // A reservation or a session at the place may name another driver or vehicle.
            AllowedType::NotAllowed => context.may_use_reservation(&card),
            _ => false,
        };
    let decided = decided(token, allowed);
    Ok(decided.map(|authorization| Authorization {
        evses,
        needs_place,
        ..authorization
    }))
}

fn all_evses(station: &ChargingStation) -> Vec<String> {
    let connectors = station.connectors.iter();
    let mut evses: Vec<String> = connectors.map(|connector| connector.evse.clone()).collect();
    evses.sort();
    evses.dedup();
    evses
}

impl UsedCard<'_> {
    /// Decides whether the card may be used at a station, and at which of the named EVSEs; at any EVSE if none is named. Named EVSEs that the
    /// station does not have are ignored.
    async fn at_station(
        &self,
        station: &ChargingStation,
        named: &[String],
    ) -> Result<(AllowedType, Vec<String>), Error> {
        let own = all_evses(station);
        let evses: Vec<(String, String)> = match named {
            [] => own.into_iter().map(|evse| (evse.clone(), evse)).collect(),
            named => {
                let own = own.into_iter();
                let own = own.map(|evse| (evse.to_ascii_lowercase(), evse));
                let mut own: HashMap<String, String> = own.collect();
                let of_station = |uid: &String| {
                    let evse = own.remove(&uid.to_ascii_lowercase())?;
                    Some((uid.clone(), evse))
                };
                named.iter().filter_map(of_station).collect()
            }
        };
        let (mut refusal, mut allowed) = (AllowedType::NotAllowed, Vec::new());
        for (uid, evse) in &evses {
            match self.at_place(Place { station, evse }).await? {
                AllowedType::Allowed => allowed.push(uid.clone()),
                // NO_CREDIT is more specific for the driver than NOT_ALLOWED.
                AllowedType::NoCredit => refusal = AllowedType::NoCredit,
                _ => {}
            }
        }
        Ok(match (allowed.is_empty(), named) {
            (true, _) => (refusal, allowed),
            // The whole location is allowed if the card may be used at all of its EVSEs.
            (false, []) if allowed.len() == evses.len() => (AllowedType::Allowed, Vec::new()),
            (false, _) => (AllowedType::Allowed, allowed),
        })
    }

    /// Decides whether the card may be used, as far as that does not depend on the place, by the first driver and vehicle that policies
    /// allow.
    async fn anywhere(&self) -> Result<AllowedType, Error> {
        for pair in self.context.pairs() {
            let card_use = CardUse::of(self.tenant, self.card, pair);
            if !self.is_forbidden(None, &card_use).await? {
                return self.paid(&card_use).await;
            }
        }
        Ok(AllowedType::NotAllowed)
    }

    /// Decides whether the card may be used at an EVSE.
    async fn at_place(&self, place: Place<'_>) -> Result<AllowedType, Error> {
        match self.at(place).await? {
            TapOutcome::Use(card_use) => self.paid(&card_use).await,
            TapOutcome::Started(_) => Ok(AllowedType::Allowed),
            _ => Ok(AllowedType::NotAllowed),
        }
    }

    /// Decides by the payment method whether a driver may charge a vehicle.
    async fn paid(&self, card_use: &CardUse) -> Result<AllowedType, Error> {
        let reservation = card_use.reservation.as_ref();
        let reserved = reservation.and_then(|stored| stored.object.payment_method.clone());
        let (driver, fleet) = (&card_use.driver.object, &card_use.fleet);
        Ok(if self.can_pay(reserved, driver, fleet).await? {
            AllowedType::Allowed
        } else {
            AllowedType::NoCredit
        })
    }

    /// Returns whether the payment method of a reservation, or else the default one, can pay, as far as this service can decide.
    async fn can_pay(
        &self,
        reserved: Option<Id>,
        driver: &Driver,
        fleet: &Fleet,
    ) -> Result<bool, Error> {
        let (store, tenant) = (&self.app.store, self.tenant);
        let method = match reserved {
            Some(method) => Some(method),
            None => {
                references::default_method_of_drive(self.app, tenant, driver, Some(fleet)).await?
            }
        };
        let Some(method) = method else {
            return Ok(true);
        };
        let Some(method) = store.find::<PaymentMethod>(tenant, &method).await? else {
            return Ok(true);
        };
        let method = method.object;
        if method.kind != PaymentMethodType::Wallet {
            let card = method.card.as_ref();
            return Ok(card.is_none_or(|card| !card.has_expired(self.now)));
        }
        let balance = match (&method.driver, &method.fleet) {
            (Some(driver), _) => {
                let driver = store.find::<Driver>(tenant, driver).await?;
                driver.map(|driver| driver.object.wallet_balance)
            }
            (None, Some(fleet)) => {
                let fleet = store.find::<Fleet>(tenant, fleet).await?;
                fleet.map(|fleet| fleet.object.wallet_balance)
            }
            (None, None) => {
                let account = store.find::<Account>(tenant, &tenant.account).await?;
                account.map(|account| account.seen_in(tenant.mode).wallet_balance)
            }
        };
        Ok(balance.is_some_and(|balance| balance > 0))
    }
}

//! Real-time authorization: decides whether a card may be used, at a place and now.
//!
//! The card is checked first, with the driver, vehicle, fleet and account that it depends on; then, for each EVSE, who charges there
//! ([`super::tap`]), the policies in enforcement, and the payment method: that of the reservation, else the default of the driver,
//! the fleet or the account. A wallet without money and an expired payment card lead to a refusal. Without any payment method the session
//! is invoiced.

use std::collections::HashMap;

use kernel::{Error, Id, Mode, Tenant, Timestamp, Window};
use models::charging::card::{CardContext, CardValidity, token_type};
use models::charging::effective_price::{ChargingVehicle, EffectivePrice};
use models::charging::policies::{PolicyContext, PricedStation, judge};
use models::charging::session::charging_window;
use models::charging_station::Plug;
use models::payment_method::PaymentMethodType;
use models::ports::network::Subject;
use models::token::{AllowedType, Token, TokenType};
use models::{
    Account, ChargeCard, ChargingStation, Driver, Fleet, PaymentMethod, Policy, Stored,
    VehicleTelemetry,
};

use super::context;
use super::tap::{CardUse, Place, TapOutcome, at};
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
    /// Whether the response depends on the place, and the network does not name it.
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
    let valid = ValidCard {
        app,
        tenant: &tenant,
        card: &card,
        context: &context,
        now,
    };
    let (allowed, evses) = match whereabouts {
        Whereabouts::Station(station, named) => valid.at_station(station, named).await?,
        Whereabouts::Unknown => (valid.anywhere().await?, Vec::new()),
    };
    let needs_place = matches!(whereabouts, Whereabouts::Unknown)
        && context
            .enforced()
            .any(|policy| policy.rules.depend_on_station());
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

/// A valid card that is to be used now.
struct ValidCard<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    card: &'a ChargeCard,
    context: &'a CardContext,
    now: Timestamp,
}

impl ValidCard<'_> {
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

    /// Decides whether the card may be used, as far as that does not depend on the place.
    async fn anywhere(&self) -> Result<AllowedType, Error> {
        let mut allowed = AllowedType::NotAllowed;
        for pair in self.context.pairs() {
            let (driver, fleet) = (&pair.driver.object, pair.fleet);
            let policies = self.policies_of(&driver.policy_ids, fleet, &pair.vehicle.policy_ids);
            let fleet = Some(fleet);
            let currency = references::currency(self.app, self.tenant, pair.driver, fleet).await?;
            let (windows, zone) = ([Window::moment(self.now)], Fleet::zone(fleet));
            let policy_context = PolicyContext::at(&windows, currency, &zone);
            if judge(&policies, &policy_context).blocked.is_some() {
                continue;
            }
            if self.can_pay(None, driver, pair.fleet).await? {
                return Ok(AllowedType::Allowed);
            }
            allowed = AllowedType::NoCredit;
        }
        Ok(allowed)
    }

    /// Decides whether the card may be used at an EVSE.
    async fn at_place(&self, place: Place<'_>) -> Result<AllowedType, Error> {
        let Self {
            app,
            tenant,
            card,
            context,
            now,
        } = *self;
        let TapOutcome::Use(card_use) = at(app, tenant, card, context, place, now).await? else {
            return Ok(AllowedType::NotAllowed);
        };
        if self.is_forbidden(place, &card_use).await? {
            return Ok(AllowedType::NotAllowed);
        }
        let reservation = card_use.reservation.as_ref();
        let reserved = reservation.and_then(|stored| stored.object.payment_method.clone());
        let (driver, fleet) = (&card_use.driver.object, &card_use.fleet);
        Ok(if self.can_pay(reserved, driver, fleet).await? {
            AllowedType::Allowed
        } else {
            AllowedType::NoCredit
        })
    }

    /// Returns whether policies in enforcement forbid charging at every connector of the EVSE that fits the vehicle.
    async fn is_forbidden(&self, place: Place<'_>, card_use: &CardUse) -> Result<bool, Error> {
        let (app, tenant, now) = (self.app, self.tenant, self.now);
        let CardUse {
            driver,
            vehicle,
            fleet,
            reservation,
            ..
        } = card_use;
        let policies = match reservation {
            // The reservation may name another driver, fleet or vehicle than the card.
            Some(_) => {
                let driver = Some(&driver.object);
                crate::policies::of(app, tenant, driver, Some(fleet), vehicle).await?
            }
            None => self.policies_of(&driver.object.policy_ids, fleet, &vehicle.policy_ids),
        };
        let mut rules = policies.iter().map(|policy| &policy.rules);
        let telemetry = if rules.any(|rules| rules.max_price_per_kwh.is_some()) {
            let telemetry = &vehicle.telemetry;
            app.store
                .find::<VehicleTelemetry>(tenant, telemetry)
                .await?
        } else {
            None
        };
        let telemetry = telemetry.map(|telemetry| telemetry.object);
        let charging = ChargingVehicle::new(vehicle, telemetry.as_ref(), now);
        let window = charging_window(reservation.as_ref().map(|stored| &stored.object), now);
        let currency = references::currency(app, tenant, driver, Some(fleet)).await?;
        let (windows, zone) = ([Window::moment(now)], Fleet::zone(Some(fleet)));
        let mut connectors = place
            .connectors()
            .filter(|connector| connector.plug == Plug::Matched(vehicle.charging_standard));
        Ok(connectors.all(|connector| {
            let station = place.station;
            let price = EffectivePrice::in_window(station, connector, charging, &window, currency);
            let policy_context = PolicyContext {
                station: Some(PricedStation {
                    station,
                    price,
                    mode: tenant.mode,
                }),
                ..PolicyContext::at(&windows, currency, &zone)
            };
            judge(&policies, &policy_context).blocked.is_some()
        }))
    }

    /// The policies of the context that a driver, a fleet or a vehicle names.
    fn policies_of(&self, driver: &[Id], fleet: &Fleet, vehicle: &[Id]) -> Vec<Policy> {
        let is_named =
            |id: &Id| driver.contains(id) || fleet.policy_ids.contains(id) || vehicle.contains(id);
        let policies = self.context.policies.iter();
        policies
            .filter(|policy| is_named(&policy.id))
            .cloned()
            .collect()
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

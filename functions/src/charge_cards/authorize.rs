//! Real-time authorization: whether a card may be used, somewhere and now.
//!
//! The card is checked first, and what it needs (driver, vehicle, fleet, account); then, for each EVSE, who charges there
//! ([`super::tap`]), the policies in enforcement, and the payment method: that of the reservation, else the driver's default, else the
//! fleet's. A wallet without money and a payment card that has expired refuse. Without any payment method the session is invoiced.

use crate::App;
use kernel::origin::{Mode, Tenant};
use kernel::time::Timestamp;
use kernel::window::Window;
use kernel::{Error, Id};
use models::account::Account;
use models::charge_card::ChargeCard;
use models::charging::card::{CardContext, CardValidity, token_type};
use models::charging::effective_price::{ChargingVehicle, EffectivePrice};
use models::charging::policies::{PolicyContext, PricedStation, judge};
use models::charging::session::charging_window;
use models::charging_station::{ChargingStation, Plug};
use models::driver::Driver;
use models::fleet::Fleet;
use models::payment_method::{PaymentMethod, PaymentMethodType};
use models::policy::Policy;
use models::token::{AllowedType, Token, TokenType};
use models::vehicle_telemetry::VehicleTelemetry;

use super::context;
use super::tap::{CardUse, Place, TapOutcome, at};
use crate::references;

/// Where a card is to be used.
#[derive(Debug, Clone, Copy)]
pub enum Whereabouts<'a> {
    /// The network does not say.
    Unknown,
    /// A station, at these EVSEs; at any if there are none.
    Station(&'a ChargingStation, &'a [String]),
}

/// The answer to a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Authorization {
    pub allowed: AllowedType,
    pub token: Token,
    /// Those of the EVSEs that were named at which the card may be used.
    pub evses: Vec<String>,
    /// Whether the answer depends on the place, and the network does not say where the card is to be used.
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
    let Some(mut row) = app.store.card_token(mode, uid).await? else {
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
    let card = match row.card.clone() {
        Some(card) => {
            let found = app.store.find::<ChargeCard>(&card.tenant, &card.id).await?;
            found.map(|found| (card.tenant, found.object))
        }
        None => None,
    };
    // The token of a card that was deleted is known, and not valid.
    let Some((tenant, card)) = card else {
        return Ok(decided(row.token, AllowedType::Blocked));
    };
    if token_type(card.kind) != kind {
        return Ok(None);
    }
    let context = context::load(app, &tenant, &card).await?;
    row.update(context.token(&card, &context::issuer(app), now));
    let token = row.token;
    match context.validity(&card, now) {
        CardValidity::Blocked => return Ok(decided(token, AllowedType::Blocked)),
        CardValidity::Expired => return Ok(decided(token, AllowedType::Expired)),
        CardValidity::Valid => {}
    }
    let (station, named) = match whereabouts {
        Whereabouts::Station(station, named) => (station, named),
        Whereabouts::Unknown => {
            let depends = |one: &Policy| one.rules.depend_on_station();
            let needs_place = context.enforced().any(depends);
            let allowed = anywhere(app, &tenant, &context, now).await?;
            let decided = decided(token, allowed);
            return Ok(decided.map(|one| Authorization { needs_place, ..one }));
        }
    };
    let evses = match named {
        [] => all_evses(station),
        named => named.to_vec(),
    };
    let (mut allowed, mut at_these) = (AllowedType::NotAllowed, Vec::new());
    for evse in &evses {
        let place = Place { station, evse };
        match at_place(app, &tenant, &card, &context, place, now).await? {
            AllowedType::Allowed => at_these.push(evse.clone()),
            // NO_CREDIT says more to the driver than NOT_ALLOWED.
            AllowedType::NoCredit => allowed = AllowedType::NoCredit,
            _ => {}
        }
    }
    if !at_these.is_empty() {
        allowed = AllowedType::Allowed;
    }
    let decided = decided(token, allowed);
    Ok(decided.map(|one| Authorization {
        evses: match named {
            // The whole location, if the card may be used at all of its EVSEs.
            [] if at_these.len() == evses.len() => Vec::new(),
            _ => at_these,
        },
        ..one
    }))
}

fn all_evses(station: &ChargingStation) -> Vec<String> {
    let connectors = station.connectors.iter();
    let mut evses: Vec<String> = connectors.map(|one| one.evse.clone()).collect();
    evses.sort();
    evses.dedup();
    evses
}

/// Whether the card may be used, as far as that does not depend on the place.
async fn anywhere(
    app: &App,
    tenant: &Tenant,
    context: &CardContext,
    now: Timestamp,
) -> Result<AllowedType, Error> {
    let mut allowed = AllowedType::NotAllowed;
    for pair in context.pairs() {
        let policies = policies_of(
            context,
            &pair.driver.object.policy_ids,
            pair.fleet,
            &pair.vehicle.policy_ids,
        );
        let zone = Fleet::zone(Some(pair.fleet));
        let plan = PolicyContext {
            station: None,
            area: None,
            windows: &[Window::moment(now)],
            currency: references::currency(app, tenant, pair.driver, Some(pair.fleet)).await?,
            zone: &zone,
        };
        if judge(&policies, &plan).blocked.is_some() {
            continue;
        }
        let method = default_method(
            pair.driver
                .object
                .preferences
                .default_payment_method
                .as_ref(),
            pair.fleet,
        );
        match can_pay(app, tenant, method, now).await? {
            true => return Ok(AllowedType::Allowed),
            false => allowed = AllowedType::NoCredit,
        }
    }
    Ok(allowed)
}

/// Whether the card may be used at an EVSE.
async fn at_place(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
    context: &CardContext,
    place: Place<'_>,
    now: Timestamp,
) -> Result<AllowedType, Error> {
    let TapOutcome::Use(one) = at(app, tenant, card, context, place, now).await? else {
        return Ok(AllowedType::NotAllowed);
    };
    let CardUse {
        driver,
        vehicle,
        fleet,
        reservation,
        ..
    } = *one;
    let policies = match &reservation {
        // They may name others than the card does.
        Some(_) => {
            crate::policies::of(app, tenant, Some(&driver.object), Some(&fleet), &vehicle).await?
        }
        None => policies_of(
            context,
            &driver.object.policy_ids,
            &fleet,
            &vehicle.policy_ids,
        ),
    };
    let has_cap = |one: &Policy| one.rules.max_price_per_kwh.is_some();
    let telemetry = match policies.iter().any(has_cap) {
        true => {
            let telemetry = &vehicle.telemetry;
            app.store
                .find::<VehicleTelemetry>(tenant, telemetry)
                .await?
        }
        false => None,
    };
    let telemetry = telemetry.map(|row| row.object);
    let charging = ChargingVehicle::new(&vehicle, telemetry.as_ref(), now);
    let window = charging_window(reservation.as_ref().map(|row| &row.object), now);
    let zone = Fleet::zone(Some(&fleet));
    let currency = references::currency(app, tenant, &driver, Some(&fleet)).await?;
    let mut connectors = place
        .connectors()
        .filter(|one| one.plug == Plug::Matched(vehicle.charging_standard));
    let is_forbidden = connectors.all(|connector| {
        let station = place.station;
        let price = EffectivePrice::in_window(station, connector, charging, &window, currency);
        let plan = PolicyContext {
            station: Some(PricedStation {
                station,
                price,
                mode: tenant.mode,
            }),
            area: None,
            windows: &[Window::moment(now)],
            currency,
            zone: &zone,
        };
        judge(&policies, &plan).blocked.is_some()
    });
    if is_forbidden {
        return Ok(AllowedType::NotAllowed);
    }
    let reserved = reservation.and_then(|row| row.object.payment_method);
    let of_driver = driver.object.preferences.default_payment_method.as_ref();
    let method = reserved.as_ref().or(default_method(of_driver, &fleet));
    Ok(match can_pay(app, tenant, method, now).await? {
        true => AllowedType::Allowed,
        false => AllowedType::NoCredit,
    })
}

/// The policies of the context that a driver, a fleet or a vehicle names.
fn policies_of(context: &CardContext, driver: &[Id], fleet: &Fleet, vehicle: &[Id]) -> Vec<Policy> {
    let names =
        |id: &Id| driver.contains(id) || fleet.policy_ids.contains(id) || vehicle.contains(id);
    let policies = context.policies.iter();
    policies.filter(|one| names(&one.id)).cloned().collect()
}

fn default_method<'a>(of_driver: Option<&'a Id>, fleet: &'a Fleet) -> Option<&'a Id> {
    of_driver.or(fleet.preferences.default_payment_method.as_ref())
}

/// Whether the payment method can pay, as far as this service knows.
async fn can_pay(
    app: &App,
    tenant: &Tenant,
    method: Option<&Id>,
    now: Timestamp,
) -> Result<bool, Error> {
    let Some(method) = method else {
        return Ok(true);
    };
    let Some(method) = app.store.find::<PaymentMethod>(tenant, method).await? else {
        return Ok(true);
    };
    let method = method.object;
    if method.kind != PaymentMethodType::Wallet {
        let card = method.card.as_ref();
        return Ok(card.is_none_or(|card| !card.has_expired(now)));
    }
    let balance = match (&method.driver, &method.fleet) {
        (Some(driver), _) => {
            let row = app.store.find::<Driver>(tenant, driver).await?;
            row.map(|row| row.object.wallet_balance)
        }
        (None, Some(fleet)) => {
            let row = app.store.find::<Fleet>(tenant, fleet).await?;
            row.map(|row| row.object.wallet_balance)
        }
        (None, None) => {
            let row = app.store.find::<Account>(tenant, &tenant.account).await?;
            row.map(|row| row.seen_in(tenant.mode).wallet_balance)
        }
    };
    Ok(balance.is_some_and(|balance| balance > 0))
}

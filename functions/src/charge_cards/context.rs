//! Reads the objects that a card depends on.

use std::collections::BTreeSet;

use crate::App;
use kernel::{Error, Id, Tenant};
use models::account::AccountStatus;
use models::charge_card::CardStatus;
use models::charging::card::{CardContext, Issuer};
use models::ports::network::Subject;
use models::token::Token;
use models::{Account, ChargeCard, Driver, Fleet, Policy, Stored, Vehicle};
use table::stored_item::ById;

/// The maximum number of accounts above an account that are read.
const MAX_LINEAGE: usize = 32;

/// Returns whether networks may be sent the token of a card as valid: the card exists and is not blocked, lost or expired, and its
/// account and all accounts above it are active. The other objects that a card depends on are not read.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn may_be_valid(app: &App, card: &Subject) -> Result<bool, Error> {
    let (account_is_active, card) = tokio::try_join!(
        is_active(app, &card.tenant),
        app.store.find::<ChargeCard>(&card.tenant, &card.id),
    )?;
    let is_usable = card.is_some_and(|card| {
        card.object.status == CardStatus::Active && !card.object.has_expired(app.now())
    });
    Ok(account_is_active && is_usable)
}

/// Reads the present state of the objects that a card depends on.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn load(app: &App, tenant: &Tenant, card: &ChargeCard) -> Result<CardContext, Error> {
    let (account_is_active, (drivers, vehicles)) = tokio::try_join!(
        is_active(app, tenant),
        drivers_and_vehicles(app, tenant, card)
    )?;
    let of_drivers = drivers.iter().flat_map(|driver| &driver.object.fleets);
    let fleets = of_drivers.chain(vehicles.iter().map(|vehicle| &vehicle.fleet));
    let fleets = all::<Fleet>(app, tenant, fleets).await?;
    let fleets: Vec<Fleet> = fleets.into_iter().map(|fleet| fleet.object).collect();
    let of_drivers = drivers.iter().flat_map(|driver| &driver.object.policy_ids);
    let of_vehicles = vehicles.iter().flat_map(|vehicle| &vehicle.policy_ids);
    let in_use = fleets
        .iter()
        .filter(|fleet| vehicles.iter().any(|vehicle| vehicle.fleet == fleet.id));
    let of_fleets = in_use.flat_map(|fleet| &fleet.policy_ids);
    let named = of_drivers.chain(of_vehicles).chain(of_fleets);
    let policies = all::<Policy>(app, tenant, named).await?;
    let policies = policies.into_iter().map(|policy| policy.object).collect();
    Ok(CardContext {
        account_is_active,
        drivers,
        vehicles,
        fleets,
        policies,
    })
}

/// The drivers and vehicles of a card, in the order in which they are listed.
async fn drivers_and_vehicles(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
) -> Result<(Vec<Stored<Driver>>, Vec<Vehicle>), Error> {
    let mut found = app.store.find_together(tenant, card.holders()).await?;
    let driver = match &card.driver {
        Some(driver) => found.take::<Driver>(driver)?,
        None => None,
    };
    let vehicle = match &card.vehicle {
        Some(vehicle) => found.take::<Vehicle>(vehicle)?.map(|stored| stored.object),
        None => None,
    };
    Ok(match (driver, vehicle) {
        (Some(driver), None) if card.vehicle.is_none() => {
            let vehicles = all::<Vehicle>(app, tenant, &driver.object.vehicles).await?;
            let vehicles = vehicles.into_iter().map(|vehicle| vehicle.object).collect();
            (vec![driver], vehicles)
        }
        (None, Some(vehicle)) if card.driver.is_none() => {
            let drivers = all::<Driver>(app, tenant, &vehicle.drivers).await?;
            (drivers, vec![vehicle])
        }
        (driver, vehicle) => (Vec::from_iter(driver), Vec::from_iter(vehicle)),
    })
}

/// Reads the present state of objects, in the order of their ids in the list, each once.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn all<'a, T: ById>(
    app: &App,
    tenant: &Tenant,
    ids: impl IntoIterator<Item = &'a Id>,
) -> Result<Vec<Stored<T>>, Error> {
    let ids: Vec<&Id> = ids.into_iter().collect();
    let of_kind = ids.iter().map(|id| (T::KIND, *id));
    let mut found = app.store.find_together(tenant, of_kind).await?;
    let mut seen = BTreeSet::new();
    let once = ids.into_iter().filter(|id| seen.insert(*id));
    once.filter_map(|id| found.take::<T>(id).transpose())
        .collect()
}

/// Returns whether an account and all accounts above it are active.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn is_active(app: &App, tenant: &Tenant) -> Result<bool, Error> {
    let mut next = Some(tenant.account.clone());
    for _ in 0..MAX_LINEAGE {
        let Some(id) = next else {
            return Ok(true);
        };
        let account = app.store.find::<Account>(tenant, &id).await?;
        let Some(account) =
            account.filter(|account| account.object.status == AccountStatus::Active)
        else {
            return Ok(false);
        };
        next = account.internal.parent;
    }
    Ok(true)
}

/// The issuer of this service's tokens.
pub fn issuer(app: &App) -> Issuer<'_> {
    let own = &app.settings.own_party;
    Issuer {
        party: &own.id,
        name: &own.name,
    }
}

/// The token of a driver's app card, with which sessions and reservations of the API are sent to networks. The card itself may not have
/// been created yet.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn app_token(app: &App, tenant: &Tenant, driver: &Driver) -> Result<Token, Error> {
    let now = app.now();
    let id = ChargeCard::app_card_of(driver);
    let card = app.store.find::<ChargeCard>(tenant, &id).await?;
    let card = card.map_or_else(
        || ChargeCard::of_app(driver, now).object,
        |card| card.object,
    );
    let context = load(app, tenant, &card).await?;
    Ok(context.token(&card, &issuer(app), now))
}

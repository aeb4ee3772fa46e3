//! Finds who charges when a card is held to the reader of a charging station.
//!
//! A confirmed reservation of the card's driver or vehicle at that EVSE decides, from half an hour before its start until its end, unless the
//! EVSE is still reserved for another vehicle; at an EVSE that is not reserved, one at another EVSE of the station. Without one, the first
//! driver and vehicle of the card ([`models::charging::card`]) are chosen whose vehicle has a plug that fits and is not charging elsewhere.
//!
//! These rules decide who may begin to charge. A report of energy that has flowed is always attributed to a driver of the card.

use std::collections::HashSet;

use crate::App;
use kernel::{Error, Id, Kind, Tenant, Timestamp};
use models::charging::calendar::{CalendarOwner, Entry};
use models::charging::card::{CardContext, Pair};
use models::charging::session::expected;
use models::charging_station::{Connector, Plug};
use models::reservation::LEAD;
use models::{
    ChargeCard, ChargingSession, ChargingStation, Driver, Fleet, Reservation, Stored, Vehicle,
};

use super::context;
use crate::charging_sessions::start::calendars;

/// A reader of a charging station.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub station: &'a ChargingStation,
    /// OCPI `EVSE.uid`.
    pub evse: &'a str,
}

impl Place<'_> {
    pub(super) fn connectors(&self) -> impl Iterator<Item = &Connector> {
        self.station.evse(self.evse)
    }

    fn fits(&self, vehicle: &Vehicle) -> bool {
        let plug = Plug::Matched(vehicle.charging_standard);
        self.connectors().any(|connector| connector.plug == plug)
    }
}

/// The driver and the vehicle that charge with a card.
#[derive(Debug, Clone)]
pub struct CardUse {
    pub tenant: Tenant,
    pub card: ChargeCard,
    pub driver: Stored<Driver>,
    pub vehicle: Vehicle,
    pub fleet: Fleet,
    /// The reservation of the vehicle at the station, if there is one.
    pub reservation: Option<Stored<Reservation>>,
}

impl CardUse {
    /// The use of a card without a reservation.
    fn of(tenant: &Tenant, card: &ChargeCard, pair: Pair<'_>) -> Self {
        Self {
            tenant: tenant.clone(),
            card: card.clone(),
            driver: pair.driver.clone(),
            vehicle: pair.vehicle.clone(),
            fleet: pair.fleet.clone(),
            reservation: None,
        }
    }

    /// Checks whether the driver, the vehicle and the fleet are active.
    fn is_active(&self) -> bool {
        self.driver.object.is_active() && self.vehicle.is_active() && self.fleet.is_active()
    }
}

/// Finds who has charged with a card at a reader. Energy that has flowed is billed, so the card, its driver, its vehicle and the fleet may
/// be blocked or suspended by now, the plug may not fit, the vehicle may charge elsewhere, and the EVSE may be reserved: a driver and a
/// vehicle of the card who could have charged come first, and then any others. `None` for a card that was deleted, or that has no driver
/// with a vehicle.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn who_charges(
    app: &App,
    tenant: &Tenant,
    card: &Id,
    place: Place<'_>,
    now: Timestamp,
) -> Result<Option<CardUse>, Error> {
    let Some(Stored { object: card, .. }) = app.store.find::<ChargeCard>(tenant, card).await?
    else {
        return Ok(None);
    };
    let context = context::load(app, tenant, &card).await?;
    let found = at(app, tenant, &card, &context, place, now).await?;
    Ok(match found {
        TapOutcome::Use(card_use)
        | TapOutcome::Suspended(card_use)
        | TapOutcome::Early(card_use) => Some(*card_use),
        TapOutcome::NoDriver { charging } | TapOutcome::Reserved { charging } => {
            let unfit = |pair: &Pair<'_>| {
                let vehicle = pair.vehicle;
                let is_charging = charging.contains(&vehicle.id);
                (!pair.is_active(), !place.fits(vehicle), is_charging)
            };
            let pair = context.all_pairs().min_by_key(unfit);
            pair.map(|pair| CardUse::of(tenant, &card, pair))
        }
    })
}

/// Finds who charges in another session of a command: the driver and the vehicle of its first session. `None` if one of them was deleted.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn who_charges_again(
    app: &App,
    tenant: &Tenant,
    card: &Id,
    first: &ChargingSession,
) -> Result<Option<CardUse>, Error> {
    let Some(Stored { object: card, .. }) = app.store.find::<ChargeCard>(tenant, card).await?
    else {
        return Ok(None);
    };
    card_use(app, tenant, &card, &first.driver, &first.vehicle).await
}

/// The result of holding a card to a reader.
pub(super) enum TapOutcome {
    Use(Box<CardUse>),
    /// The EVSE is reserved for the card, but the driver, the vehicle or the fleet is not active.
    Suspended(Box<CardUse>),
    /// The EVSE is reserved for the card, but for another vehicle until then.
    Early(Box<CardUse>),
    /// No driver of the card can charge there now. `charging` are the vehicles of the card that take part in a session.
    NoDriver {
        charging: HashSet<Id>,
    },
    /// The EVSE is reserved for another vehicle.
    Reserved {
        charging: HashSet<Id>,
    },
}

/// Returns the reservations or sessions that hold a moment in a calendar.
fn holders(entries: &[Entry], kind: Kind, now: Timestamp) -> impl Iterator<Item = &Id> {
    let present = entries
        .iter()
        .filter(move |entry| entry.window.from <= now && now < entry.window.until);
    present
        .map(|entry| &entry.holder)
        .filter(move |holder| holder.is(kind))
}

/// Finds who charges with a card at a place.
pub(super) async fn at(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
    context: &CardContext,
    place: Place<'_>,
    now: Timestamp,
) -> Result<TapOutcome, Error> {
    let evse = CalendarOwner::evse(&place.station.id, place.evse);
    let vehicles = context.all_pairs().map(|pair| pair.vehicle.id.clone());
    let mut charging: HashSet<Id> = vehicles.collect();
    let vehicles = charging.iter().cloned().map(CalendarOwner::Vehicle);
    let owners: Vec<CalendarOwner> = vehicles.chain([evse.clone()]).collect();
    let calendars = calendars(app, tenant, &owners, now, LEAD).await?;
    charging.retain(|vehicle| {
        let entries = calendars.entries(&CalendarOwner::Vehicle(vehicle.clone()));
        holders(&entries, Kind::ChargingSession, now)
            .next()
            .is_some()
    });
    let entries = calendars.entries(&evse);
    let is_ours = |id: &Id| {
        let mut entries = entries.iter();
        entries.any(|entry| entry.holder == *id && entry.account.as_ref() == Some(&tenant.account))
    };
    let ours = expected(&entries, now).into_iter().filter(is_ours);
    let suspended = match by_reservations(app, tenant, card, ours, place).await? {
        Some(found) if found.is_active() => {
            let own = found.reservation.as_ref().map(|own| &own.object.id);
            let is_early = holders(&entries, Kind::Reservation, now).any(|id| Some(id) != own);
            return Ok(if is_early {
                TapOutcome::Early(found)
            } else {
                TapOutcome::Use(found)
            });
        }
        suspended => suspended,
    };
    if holders(&entries, Kind::Reservation, now).next().is_some() {
        return Ok(suspended.map_or(TapOutcome::Reserved { charging }, TapOutcome::Suspended));
    }
    let pairs = context.pairs();
    let can_charge =
        |pair: &Pair<'_>| place.fits(pair.vehicle) && !charging.contains(&pair.vehicle.id);
    let mut pairs = pairs.filter(can_charge).peekable();
    let first = pairs.peek().copied();
    let elsewhere = pairs.flat_map(|pair| {
        let vehicle = CalendarOwner::Vehicle(pair.vehicle.id.clone());
        expected(&calendars.entries(&vehicle), now)
    });
    let elsewhere = by_reservations(app, tenant, card, elsewhere, place).await?;
    let found = elsewhere.filter(|found| found.is_active());
    let found = found.or_else(|| first.map(|pair| Box::new(CardUse::of(tenant, card, pair))));
    Ok(match (found, suspended) {
        (Some(found), _) => TapOutcome::Use(found),
        (None, Some(suspended)) => TapOutcome::Suspended(suspended),
        (None, None) => TapOutcome::NoDriver { charging },
    })
}

/// Returns who charges by the first of these reservations whose driver, vehicle and fleet are active, or else by the last of them.
async fn by_reservations(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
    ids: impl Iterator<Item = Id>,
    place: Place<'_>,
) -> Result<Option<Box<CardUse>>, Error> {
    let mut last = None;
    for id in ids {
        if let Some(found) = by_reservation(app, tenant, card, &id, place).await? {
            let is_active = found.is_active();
            last = Some(Box::new(found));
            if is_active {
                break;
            }
        }
    }
    Ok(last)
}

/// Returns who charges by a reservation, if it belongs to the card's driver or vehicle.
async fn by_reservation(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
    id: &Id,
    place: Place<'_>,
) -> Result<Option<CardUse>, Error> {
    let Some(stored) = app.store.find::<Reservation>(tenant, id).await? else {
        return Ok(None);
    };
    let reservation = &stored.object;
    let is_open = reservation.awaits_vehicle() && reservation.is_for(&place.station.id);
    let named = |named: &Option<Id>, id: &Id| named.as_ref().is_none_or(|named| named == id);
    let is_of_card = card.holders().next().is_some()
        && named(&card.driver, &reservation.driver)
        && named(&card.vehicle, &reservation.vehicle);
    if !is_open || !is_of_card {
        return Ok(None);
    }
    let found = card_use(app, tenant, card, &reservation.driver, &reservation.vehicle).await?;
    Ok(found.map(|found| CardUse {
        reservation: Some(stored),
        ..found
    }))
}

/// Returns the use of a card by a driver for a vehicle, if both and the fleet exist.
async fn card_use(
    app: &App,
    tenant: &Tenant,
    card: &ChargeCard,
    driver: &Id,
    vehicle: &Id,
) -> Result<Option<CardUse>, Error> {
    let ids = [(Kind::Driver, driver), (Kind::Vehicle, vehicle)];
    let mut found = app.store.find_together(tenant, ids).await?;
    let driver = found.take::<Driver>(driver)?;
    let vehicle = found.take::<Vehicle>(vehicle)?;
    let (Some(driver), Some(vehicle)) = (driver, vehicle) else {
        return Ok(None);
    };
    let fleet = app
        .store
        .find::<Fleet>(tenant, &vehicle.object.fleet)
        .await?;
    Ok(fleet.map(|fleet| CardUse {
        tenant: tenant.clone(),
        card: card.clone(),
        driver,
        vehicle: vehicle.object,
        fleet: fleet.object,
        reservation: None,
    }))
}

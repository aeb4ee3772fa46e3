//! Finds who charges when a card is held to the reader of a charging station.
//!
//! While the EVSE is held by a pending session that was started through the API, the driver's app card is used for that session.
//! Otherwise a confirmed reservation of the card's driver or vehicle at that EVSE decides, from half an hour before its start until its end,
//! unless the EVSE is still reserved for another vehicle; at an EVSE that is not reserved, one at another EVSE of the station. Without
//! one, the first driver and vehicle of the card ([`models::charging::card`]) are chosen that policies allow and whose vehicle has a plug
//! that fits and is not charging elsewhere.
//!
//! These rules decide who may begin to charge. A report of energy that has flowed is always attributed to a driver of the card.

use std::collections::HashSet;

use crate::App;
use kernel::{Error, Id, Kind, Tenant, Timestamp};
use models::charge_card::CardType;
use models::charging::calendar::{CalendarOwner, Entry};
use models::charging::card::Pair;
use models::charging::session::expected;
use models::charging_session::SessionStatus;
use models::reservation::LEAD;
use models::{ChargeCard, ChargingSession, Driver, Fleet, Reservation, Stored, Vehicle};

use super::context;
use super::judge::UsedCard;
pub use super::judge::{CardUse, Place};
use crate::charging_sessions::start::calendars;

/// Finds who has charged with a card at a reader. Energy that has flowed is billed, so the card, its driver, its vehicle and the fleet may
/// be blocked or suspended by now, policies may forbid it, the plug may not fit, the vehicle may charge elsewhere, and the EVSE may be
/// reserved: a driver and a vehicle of the card who could have charged come first, and then any others. Who has a reservation for that
/// moment comes before both. `None` for a card that was deleted, or that has no driver with a vehicle.
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
    let used = UsedCard::load(app, tenant, &card, &context, now).await?;
    Ok(match used.at(place).await? {
        TapOutcome::Use(card_use)
        | TapOutcome::Started(card_use)
        | TapOutcome::Suspended(card_use)
        | TapOutcome::Early(card_use) => Some(*card_use),
        TapOutcome::Forbidden { card_use, charging } => {
            let reservation = card_use.reservation.as_ref();
            let reserved = reservation.and_then(|reservation| reservation.object.window());
            let allowed = match reserved {
                Some(window) if window.from <= now => None,
                _ => used.first_allowed(place, &charging).await?,
            };
            Some(allowed.unwrap_or(*card_use))
        }
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
    /// The EVSE is held by a pending session that was started through the API. Policies were checked then.
    Started(Box<CardUse>),
    /// Policies forbid the use of the reservation, or of every driver and vehicle that could charge. `charging` are the vehicles of the
    /// card that take part in a session.
    Forbidden {
        card_use: Box<CardUse>,
        charging: HashSet<Id>,
    },
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

impl UsedCard<'_> {
    /// Finds who charges with the card at a place.
    pub(super) async fn at(&self, place: Place<'_>) -> Result<TapOutcome, Error> {
        let (app, tenant, now) = (self.app, self.tenant, self.now);
        let evse = CalendarOwner::evse(&place.station.id, place.evse);
        let vehicles = self.context.all_pairs();
        let mut charging: HashSet<Id> = vehicles.map(|pair| pair.vehicle.id.clone()).collect();
        let vehicles = charging.iter().cloned().map(CalendarOwner::Vehicle);
        let owners: Vec<CalendarOwner> = vehicles.chain([evse.clone()]).collect();
        let calendars = calendars(app, tenant, &owners, now, LEAD).await?;
        charging.retain(|vehicle| {
            let entries = calendars.entries(&CalendarOwner::Vehicle(vehicle.clone()));
            holders(&entries, Kind::ChargingSession, now)
                .next()
                .is_some()
        });
        let mut entries = calendars.entries(&evse);
        let reserved_now: Vec<Id> = holders(&entries, Kind::Reservation, now).cloned().collect();
        entries.retain(|entry| entry.account.as_ref() == Some(&tenant.account));
        if let Some(started) = self.started(&entries).await? {
            return Ok(TapOutcome::Started(Box::new(started)));
        }
        let ours = expected(&entries, now).into_iter();
        let suspended = match self.by_reservations(ours, place).await? {
            Some(found) if found.is_active() => {
                let own = found.reservation.as_ref().map(|own| &own.object.id);
                let is_early = reserved_now.iter().any(|id| Some(id) != own);
                return if is_early {
                    Ok(TapOutcome::Early(found))
                } else {
                    self.judged(found, place, charging).await
                };
            }
            suspended => suspended,
        };
        if !reserved_now.is_empty() {
            return Ok(suspended.map_or(TapOutcome::Reserved { charging }, TapOutcome::Suspended));
        }
        let elsewhere = self.that_can_charge(place, &charging).flat_map(|pair| {
            let vehicle = CalendarOwner::Vehicle(pair.vehicle.id.clone());
            expected(&calendars.entries(&vehicle), now)
        });
        let elsewhere = self.by_reservations(elsewhere, place).await?;
        match elsewhere.filter(|found| found.is_active()) {
            Some(found) => self.judged(found, place, charging).await,
            None => self.without_reservation(place, charging, suspended).await,
        }
    }

    /// The use of a reservation, if policies allow it.
    async fn judged(
        &self,
        card_use: Box<CardUse>,
        place: Place<'_>,
        charging: HashSet<Id>,
    ) -> Result<TapOutcome, Error> {
        Ok(if self.is_forbidden(Some(place), &card_use).await? {
            TapOutcome::Forbidden { card_use, charging }
        } else {
            TapOutcome::Use(card_use)
        })
    }

    /// Finds who charges at an EVSE that is not reserved, except for the suspended user of a reservation.
    async fn without_reservation(
        &self,
        place: Place<'_>,
        charging: HashSet<Id>,
        suspended: Option<Box<CardUse>>,
    ) -> Result<TapOutcome, Error> {
        if let Some(allowed) = self.first_allowed(place, &charging).await? {
            return Ok(TapOutcome::Use(Box::new(allowed)));
        }
        let first = self.that_can_charge(place, &charging).next();
        let first = first.map(|pair| Box::new(CardUse::of(self.tenant, self.card, pair)));
        Ok(match (suspended, first) {
            (Some(suspended), _) => TapOutcome::Suspended(suspended),
            (None, Some(card_use)) => TapOutcome::Forbidden { card_use, charging },
            (None, None) => TapOutcome::NoDriver { charging },
        })
    }

    /// The active drivers and vehicles of the card whose vehicle fits and is not charging.
    fn that_can_charge<'b>(
        &'b self,
        place: Place<'b>,
        charging: &'b HashSet<Id>,
    ) -> impl Iterator<Item = Pair<'b>> {
        self.context
            .pairs()
            .filter(move |pair| place.fits(pair.vehicle) && !charging.contains(&pair.vehicle.id))
    }

    /// The first driver and vehicle of the card that can charge and that policies allow.
    async fn first_allowed(
        &self,
        place: Place<'_>,
        charging: &HashSet<Id>,
    ) -> Result<Option<CardUse>, Error> {
        for pair in self.that_can_charge(place, charging) {
            let card_use = CardUse::of(self.tenant, self.card, pair);
            if !self.is_forbidden(Some(place), &card_use).await? {
                return Ok(Some(card_use));
            }
        }
        Ok(None)
    }

    /// The driver, the vehicle and the reservation of the pending session of these calendar entries that was started with this app card.
    async fn started(&self, entries: &[Entry]) -> Result<Option<CardUse>, Error> {
        let (app, tenant, card) = (self.app, self.tenant, self.card);
        let sessions = holders(entries, Kind::ChargingSession, self.now);
        for id in sessions.filter(|_| card.kind == CardType::App) {
            let session = app.store.find::<ChargingSession>(tenant, id).await?;
            let Some(Stored {
                object: session, ..
            }) = session.filter(|session| {
                session.object.status() == SessionStatus::Pending
                    && card.driver.as_ref() == Some(&session.object.driver)
            })
            else {
                continue;
            };
            let reservation = match &session.reservation {
                Some(id) => app.store.find::<Reservation>(tenant, id).await?,
                None => None,
            };
            let found = card_use(app, tenant, card, &session.driver, &session.vehicle).await?;
            return Ok(found.map(|found| CardUse {
                reservation,
                ..found
            }));
        }
        Ok(None)
    }

    /// Returns who charges by the first of these reservations whose driver, vehicle and fleet are active, or else by the last of them.
    async fn by_reservations(
        &self,
        ids: impl Iterator<Item = Id>,
        place: Place<'_>,
    ) -> Result<Option<Box<CardUse>>, Error> {
        let mut last = None;
        for id in ids {
            if let Some(found) = self.by_reservation(&id, place).await? {
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
    async fn by_reservation(&self, id: &Id, place: Place<'_>) -> Result<Option<CardUse>, Error> {
        let (app, tenant, card) = (self.app, self.tenant, self.card);
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

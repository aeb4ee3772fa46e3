//! Reads everything that the start of a session depends on, in one step.

use kernel::{Code, Currency, Error, Id, SignedDuration, Tenant, Timestamp, Window};
use models::charging::calendar::{CalendarOwner, Entry};
use models::charging::effective_price::EffectivePrice;
use models::charging::policies::{Breach, PolicyContext, PricedStation};
use models::charging::session::{
    CalendarEntries, MAX_DURATION, Parties, charging_vehicle, charging_window, expected,
    leaves_early,
};
use models::charging_session::NewChargingSession;
use models::charging_station::{Connector, StationInternal};
use models::network::ObjectId;
use models::operation::Operation;
use models::{
    ChargeCard, ChargingStation, Driver, Fleet, PaymentMethod, Reservation, Stored, Vehicle,
    VehicleTelemetry,
};
use table::calendars::Calendars;
use table::stored_item::ById;

use std::num::NonZeroU32;

use crate::charge_cards::app_token;
use crate::networks::operator;
use crate::{App, policies, references};

/// A vehicle at a connector, with the objects that were read for both.
pub struct SessionStart {
    pub station: ChargingStation,
    /// The location of the station at its network.
    location: Option<ObjectId>,
    pub connector: Connector,
    pub calendars: Calendars,
    /// The reservation of the vehicle at the station, if there is one.
    pub reservation: Option<Stored<Reservation>>,
    driver: Driver,
    /// The app card of the driver, unless it was not created yet.
    card: Option<ChargeCard>,
    vehicle: Vehicle,
    fleet: Fleet,
    payment_method: Option<PaymentMethod>,
    /// The payment method of the session if the request names none.
    default_method: Option<Id>,
    telemetry: Option<VehicleTelemetry>,
    currency: Currency,
    of_evse: Vec<Entry>,
    of_vehicle: Vec<Entry>,
    operation: Operation,
}

impl SessionStart {
    /// # Errors
    /// 404 `charging_session_dependency_not_found` if the body names an object that does not exist.
    pub async fn load(
        app: &App,
        tenant: &Tenant,
        new: &NewChargingSession,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let (station, driver, vehicle, payment_method) = tokio::try_join!(
            named::<ChargingStation>(app, tenant, &new.charging_station, "charging_station"),
            named::<Driver>(app, tenant, &new.driver, "driver"),
            named::<Vehicle>(app, tenant, &new.vehicle, "vehicle"),
            payment_method(app, tenant, new.payment_method.as_ref()),
        )?;
        if !is_published(app, tenant, &station.internal, &driver.object).await? {
            return Err(unknown("charging_station"));
        }
        let operation = operation(app, tenant, &station).await?;
        let location = station.internal.location;
        let (station, vehicle) = (station.object, vehicle.object);
        let connector = station.connector(&new.connector);
        let connector = connector.cloned().ok_or_else(|| unknown("connector"))?;
        let evse_time = CalendarOwner::evse_of(&station.id, &connector);
        let vehicle_time = CalendarOwner::Vehicle(vehicle.id.clone());
        let (fleet, card, telemetry, calendars) = tokio::try_join!(
            app.store.load::<Fleet>(tenant, &vehicle.fleet),
            app_card(app, tenant, &driver.object),
            app.store
                .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
            calendars(app, tenant, [&evse_time, &vehicle_time], now, MAX_DURATION),
        )?;
        let (fleet, of_vehicle) = (fleet.object, calendars.entries(&vehicle_time));
        let default_method = default_method(app, tenant, new, &driver.object, &fleet).await?;
        let of_evse = calendars.entries(&evse_time);
        let expected = expected(&of_vehicle, now);
        let reservation = reservation(app, tenant, &station.id, expected).await?;
        // A network does not end a session for the next reservation.
        let is_simulated = operation.simulation().is_some();
        Ok(Self {
            reservation: reservation.filter(|reservation| {
                !(is_simulated && leaves_early(&reservation.object, &of_evse, now))
            }),
            currency: references::currency(app, tenant, &driver, Some(&fleet)).await?,
            of_evse,
            of_vehicle,
            driver: driver.object,
            card,
            telemetry: telemetry.map(|telemetry| telemetry.object),
            payment_method,
            default_method,
            station,
            location,
            connector,
            calendars,
            vehicle,
            fleet,
            operation,
        })
    }

    /// 403 `policy_blocked` if a policy of the driver, the fleet or the vehicle forbids charging here and now; otherwise returns the
    /// policies in suggestion mode that the session violates. The price is that of the reserved window, for the vehicle and in the currency
    /// for which it was accepted ([`charging_vehicle`]), or else of charging from now until the battery is full or `session_limit` is reached.
    pub async fn check_policies(
        &self,
        app: &App,
        tenant: &Tenant,
        session_limit: Option<NonZeroU32>,
        now: Timestamp,
    ) -> Result<Vec<Breach>, Error> {
        let (driver, fleet) = (Some(&self.driver), Some(&self.fleet));
        let rules = policies::of(app, tenant, driver, fleet, &self.vehicle).await?;
        let (telemetry, reservation) = (self.telemetry.as_ref(), self.reservation.as_ref());
        let vehicle = charging_vehicle(&self.vehicle, telemetry, reservation, session_limit, now);
        let reservation = reservation.map(|reservation| &reservation.object);
        let window = charging_window(reservation, now);
        let currency = reservation.map_or(self.currency, |reservation| reservation.currency);
        let (station, connector) = (&self.station, &self.connector);
        let price = EffectivePrice::in_window(station, connector, vehicle, &window, currency);
        let (windows, zone) = ([Window::moment(now)], Fleet::zone(fleet));
        let plan = PolicyContext {
            station: Some(PricedStation {
                station,
                price,
                mode: tenant.mode,
            }),
            ..PolicyContext::at(&windows, currency, &zone)
        };
        policies::check(&rules, &plan)
    }

    /// The request, with the default payment method if it names none.
    pub fn with_default_method(&self, new: NewChargingSession) -> NewChargingSession {
        let method = new.payment_method.or_else(|| self.default_method.clone());
        NewChargingSession {
            payment_method: method,
            ..new
        }
    }

    pub fn parties(&self, now: Timestamp) -> Parties<'_> {
        let telemetry = self.telemetry.as_ref();
        Parties {
            station: &self.station,
            location: self.location.as_ref(),
            connector: &self.connector,
            driver: &self.driver,
            card: self.card.as_ref(),
            vehicle: &self.vehicle,
            fleet: &self.fleet,
            payment_method: self.payment_method.as_ref(),
            battery_level: telemetry.and_then(|read| read.recent_level(now)),
            odometer: telemetry.and_then(|read| read.odometer.as_ref()),
            currency: self.currency,
            operation: self.operation,
        }
    }

    pub fn calendar_entries(&self) -> CalendarEntries<'_> {
        CalendarEntries {
            evse: &self.of_evse,
            vehicle: &self.of_vehicle,
            arriving: self
                .reservation
                .as_ref()
                .map(|reservation| &reservation.object),
        }
    }
}

/// The operator of the station: its network, if that is connected.
async fn operation(
    app: &App,
    tenant: &Tenant,
    station: &Stored<ChargingStation>,
) -> Result<Operation, Error> {
    if station.internal.location.is_none() {
        return Ok(Operation::of(tenant.mode, false));
    }
    Ok(
        match operator::of_station(app, tenant.mode, station).await? {
            Some(_) => Operation::of(tenant.mode, true),
            None => Operation::NotConnected,
        },
    )
}

/// Returns whether the operator of a station publishes it, for all or for the token with which this driver's sessions are started.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn is_published(
    app: &App,
    tenant: &Tenant,
    station: &StationInternal,
    driver: &Driver,
) -> Result<bool, Error> {
    if station.published || station.published_for.is_empty() {
        return Ok(station.published);
    }
    let token = app_token(app, tenant, driver).await?;
    Ok(station
        .published_for
        .iter()
        .any(|named| named.names(&token)))
}

fn unknown(param: &str) -> Error {
    let message = format!("No such {}.", param.replace('_', " "));
    Code::ChargingSessionDependencyNotFound
        .because(message)
        .at(param)
}

async fn named<T: ById>(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    param: &str,
) -> Result<Stored<T>, Error> {
    let found = app.store.find::<T>(tenant, id).await?;
    found.ok_or_else(|| unknown(param))
}

async fn payment_method(
    app: &App,
    tenant: &Tenant,
    id: Option<&Id>,
) -> Result<Option<PaymentMethod>, Error> {
    let Some(id) = id else {
        return Ok(None);
    };
    let method = named::<PaymentMethod>(app, tenant, id, "payment_method").await?;
    Ok(Some(method.object))
}

/// The payment method of the session if the request names none.
async fn default_method(
    app: &App,
    tenant: &Tenant,
    new: &NewChargingSession,
    driver: &Driver,
    fleet: &Fleet,
) -> Result<Option<Id>, Error> {
    match new.payment_method {
        Some(_) => Ok(None),
        None => references::default_method_of_drive(app, tenant, driver, Some(fleet)).await,
    }
}

/// The app card of a driver; None if it was not created yet.
async fn app_card(
    app: &App,
    tenant: &Tenant,
    driver: &Driver,
) -> Result<Option<ChargeCard>, Error> {
    let id = ChargeCard::app_card_of(driver);
    let card = app.store.find_lately::<ChargeCard>(tenant, &id).await?;
    Ok(card.map(|card| card.object))
}

/// Reads calendars from now on, for this duration.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn calendars<'a>(
    app: &App,
    tenant: &Tenant,
    owners: impl IntoIterator<Item = &'a CalendarOwner>,
    now: Timestamp,
    duration: SignedDuration,
) -> Result<Calendars, Error> {
    let window = Window {
        from: now,
        until: now.plus(duration),
    };
    let pages = owners
        .into_iter()
        .flat_map(|owner| window.utc_days().map(move |day| (owner.clone(), day)));
    app.store.calendars(tenant.mode, pages.collect()).await
}

/// The reservation among these that is for this station.
async fn reservation(
    app: &App,
    tenant: &Tenant,
    station: &Id,
    expected: Vec<Id>,
) -> Result<Option<Stored<Reservation>>, Error> {
    for id in expected {
        let found = app.store.find::<Reservation>(tenant, &id).await?;
        if let Some(reservation) = found.filter(|reservation| reservation.object.is_for(station)) {
            return Ok(Some(reservation));
        }
    }
    Ok(None)
}

//! The use of a card at a reader, and whether policies allow its driver and its vehicle to charge.

use kernel::{Error, Id, Tenant, Timestamp, Window};
use models::charging::card::{CardContext, Pair};
use models::charging::effective_price::EffectivePrice;
use models::charging::policies::{PolicyContext, PricedStation, judge};
use models::charging::session::{charging_vehicle, charging_window};
use models::charging_station::{Connector, Plug};
use models::{
    ChargeCard, ChargingStation, Driver, Fleet, Policy, Reservation, Stored, Vehicle,
    VehicleTelemetry,
};

use super::context;
use crate::{App, references};

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

    pub(super) fn fits(&self, vehicle: &Vehicle) -> bool {
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
    pub(super) fn of(tenant: &Tenant, card: &ChargeCard, pair: Pair<'_>) -> Self {
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
    pub(super) fn is_active(&self) -> bool {
        self.driver.object.is_active() && self.vehicle.is_active() && self.fleet.is_active()
    }
}

/// A card that is used at a moment, with the objects that it depends on.
pub(super) struct UsedCard<'a> {
    pub app: &'a App,
    pub tenant: &'a Tenant,
    pub card: &'a ChargeCard,
    pub context: &'a CardContext,
    /// The telemetry of the vehicles, if a policy limits the price.
    telemetry: Vec<VehicleTelemetry>,
    pub now: Timestamp,
}

impl<'a> UsedCard<'a> {
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn load(
        app: &'a App,
        tenant: &'a Tenant,
        card: &'a ChargeCard,
        context: &'a CardContext,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let mut enforced = context.enforced();
        let has_cap = enforced.any(|policy| policy.rules.max_price_per_kwh.is_some());
        let vehicles = context.vehicles.iter().filter(|_| has_cap);
        let ids = vehicles.map(|vehicle| &vehicle.telemetry);
        let telemetry = context::all::<VehicleTelemetry>(app, tenant, ids).await?;
        Ok(Self {
            app,
            tenant,
            card,
            context,
            telemetry: telemetry.into_iter().map(|read| read.object).collect(),
            now,
        })
    }

    /// Returns whether policies in enforcement forbid a driver to charge a vehicle now: at every connector of the EVSE that fits the
    /// vehicle, or if the place is not known, anywhere.
    pub async fn is_forbidden(
        &self,
        place: Option<Place<'_>>,
        card_use: &CardUse,
    ) -> Result<bool, Error> {
        let (app, tenant, now) = (self.app, self.tenant, self.now);
        let CardUse {
            driver,
            vehicle,
            fleet,
            reservation,
            ..
        } = card_use;
        let reservation = reservation.as_ref();
        let (policies, currency) = match reservation {
            // The reservation may name another driver, fleet or vehicle than the card.
            Some(reservation) => {
                let driver = Some(&driver.object);
                let policies = crate::policies::of(app, tenant, driver, Some(fleet), vehicle);
                (policies.await?, reservation.object.currency)
            }
            None => {
                let policies = self.policies_of(card_use);
                let currency = references::currency(app, tenant, driver, Some(fleet));
                (policies, currency.await?)
            }
        };
        let (windows, zone) = ([Window::moment(now)], Fleet::zone(Some(fleet)));
        let anywhere = PolicyContext::at(&windows, currency, &zone);
        let Some(Place { station, .. }) = place else {
            return Ok(judge(&policies, &anywhere).blocked.is_some());
        };
        let mut telemetry = self.telemetry.iter();
        let telemetry = telemetry.find(|telemetry| telemetry.vehicle == vehicle.id);
        let charging = charging_vehicle(vehicle, telemetry, reservation, None, now);
        let window = charging_window(reservation.map(|stored| &stored.object), now);
        let plug = Plug::Matched(vehicle.charging_standard);
        let connectors = place.iter().flat_map(Place::connectors);
        let mut connectors = connectors.filter(|connector| connector.plug == plug);
        Ok(connectors.all(|connector| {
            let price = EffectivePrice::in_window(station, connector, charging, &window, currency);
            let priced = PricedStation {
                station,
                price,
                mode: tenant.mode,
            };
            let here = PolicyContext {
                station: Some(priced),
                ..anywhere
            };
            judge(&policies, &here).blocked.is_some()
        }))
    }

    /// The policies of the context that the driver, the fleet or the vehicle names.
    fn policies_of(&self, card_use: &CardUse) -> Vec<Policy> {
        let CardUse {
            driver,
            vehicle,
            fleet,
            ..
        } = card_use;
        let lists = [
            &driver.object.policy_ids,
            &fleet.policy_ids,
            &vehicle.policy_ids,
        ];
        let is_named = |id: &Id| lists.iter().any(|list| list.contains(id));
        let policies = self.context.policies.iter();
        policies
            .filter(|policy| is_named(&policy.id))
            .cloned()
            .collect()
    }
}

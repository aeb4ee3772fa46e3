//! Judges whether a confirmed reservation can keep its connector after a change of the station, by the rules of matching that such a change
//! can violate: the area of the reservation, the policies in enforcement at the effective price in the reserved window, and the energy of a
//! need.
//!
//! The policies are the tenant's own business, so they release a reservation only from a change of the station that they refuse: the
//! station before the change has to be allowed, and the station after it refused. Policies that were created or changed after the
//! confirmation do not count, and one that also refuses the station before the change, because it was assigned later, changes nothing: the
//! fee stays due.
//!
//! The judgement takes a few reads, and is made only for the reservations at a connector that could be refused
//! ([`models::charging::plan::may_be_refused`]). The stations of a tariff change one after the other
//! ([`crate::networks::apply_tariff`]), and so do their reservations.

use kernel::error::ErrorClass;
use kernel::{Error, Origin, Tenant};
use models::charging::matching::{self, MatchRequest};
use models::charging::plan;
use models::charging::policies::{Limits, PolicyContext};
use models::charging::session::charging_vehicle;
use models::reservation::Reserved;
use models::reservation::need::Shortfall;
use models::{ChargingStation, Fleet, Policy, Reservation, Stored};

use super::plan::{Named, read_named};
use crate::App;

/// The objects on which it depends whether a reservation keeps its connector, besides the station.
pub(crate) struct KeepRules {
    named: Named,
    policies: Vec<Policy>,
}

impl KeepRules {
    /// Reads the present rules for a reservation. None if its driver or its vehicle was deleted.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn read(
        app: &App,
        tenant: &Tenant,
        reservation: &Reservation,
    ) -> Result<Option<Self>, Error> {
        let (driver, vehicle) = (&reservation.driver, &reservation.vehicle);
        let named = match read_named(app, tenant, driver, vehicle, None).await {
            Err(Error::Client(error)) if error.class == ErrorClass::NotFound => return Ok(None),
            named => named?,
        };
        let mut policies = named.policies(app, tenant).await?;
        let confirmed_at = reservation
            .state
            .reserved()
            .map(|reserved| reserved.confirmed_at);
        policies.retain(|policy| confirmed_at.is_none_or(|at| policy.updated <= at));
        Ok(Some(Self { named, policies }))
    }

    /// Checks whether a change of the station is the reason why a confirmed reservation cannot be used any more.
    pub fn are_broken_by(
        &self,
        reservation: &Stored<Reservation>,
        before: &ChargingStation,
        after: &ChargingStation,
        origin: &Origin,
    ) -> bool {
        self.allow(reservation, before, origin) && !self.allow(reservation, after, origin)
    }

    /// Checks whether a confirmed reservation may keep its connector at the station in this state. Its price is that for which the start of
    /// its session will be judged.
    pub fn allow(
        &self,
        reservation: &Stored<Reservation>,
        station: &ChargingStation,
        origin: &Origin,
    ) -> bool {
        let admits = |mut request: MatchRequest<'_>, reserved: &Reserved| {
            let connector = station.connector(&reserved.connector)?;
            let window = &reserved.window;
            let Named {
                vehicle, telemetry, ..
            } = &self.named;
            let (telemetry, kept) = (telemetry.as_ref(), Some(reservation));
            request.vehicle = charging_vehicle(vehicle, telemetry, kept, None, origin.now);
            Some(matching::admits(station, connector, window, &request))
        };
        let allowed = self.judge(reservation, origin, admits);
        allowed.unwrap_or_default()
    }

    /// Checks whether a change of the station is the reason why the vehicle charges less of its need in the reserved window than was
    /// planned.
    pub fn are_missed_by(
        &self,
        reservation: &Stored<Reservation>,
        before: &ChargingStation,
        after: &ChargingStation,
        origin: &Origin,
    ) -> bool {
        let [before, after] =
            [before, after].map(|station| self.shortfall(reservation, station, origin));
        after.is_some_and(|after| before.is_none_or(|before| after.energy < before.energy))
    }

    /// Returns what the vehicle cannot charge of its need in the reserved window, if that is more than was planned.
    pub fn shortfall(
        &self,
        reservation: &Stored<Reservation>,
        station: &ChargingStation,
        origin: &Origin,
    ) -> Option<Shortfall> {
        self.judge(reservation, origin, |request, reserved| {
            let connector = station.connector(&reserved.connector)?;
            plan::shortfall(&request, station, connector, &reserved.window)
        })
    }

    fn judge<R>(
        &self,
        reservation: &Stored<Reservation>,
        origin: &Origin,
        judge: impl FnOnce(MatchRequest<'_>, &Reserved) -> Option<R>,
    ) -> Option<R> {
        let reserved = reservation.object.state.reserved()?;
        let inputs = self.named.inputs(&self.policies);
        let (windows, zone) = ([reserved.window], Fleet::zone(inputs.fleet));
        let context = PolicyContext::at(&windows, reservation.object.currency, &zone);
        let limits = Limits::new(&self.policies, &context);
        let mode = origin.tenant.mode;
        let request = inputs.match_request(reservation, &windows, &limits, mode, origin.now);
        judge(request, reserved)
    }
}

//! Sessions that were started with a card, and that a network has reported.

use super::super::battery::Battery;
use super::super::simulation;
use super::{network_session, pricing};
use crate::charging_session::{
    ChargingSession, Names, SessionInternal, SessionState, Start, StartedBy,
};
use crate::charging_station::{ChargingStation, Connector};
use crate::driver::Driver;
use crate::network::ObjectId;
use crate::reservation::Reservation;
use crate::stored::Stored;
use crate::vehicle::Vehicle;
use kernel::{Currency, Id, Kind, Timestamp};

/// The parties of a session that was started with a card.
#[derive(Debug, Clone, Copy)]
pub struct CardSession<'a> {
    pub card: &'a Id,
    pub station: &'a ChargingStation,
    /// The location of the station at its network.
    pub location: Option<&'a ObjectId>,
    pub connector: &'a Connector,
    pub driver: &'a Driver,
    pub vehicle: &'a Vehicle,
    /// The reservation that the session fulfils.
    pub reservation: Option<&'a Reservation>,
    /// The default payment method of the driver, the fleet or the account.
    pub payment_method: Option<&'a Id>,
    /// The currency of the bill until the network reports another one.
    pub currency: Currency,
}

impl ChargingSession {
    /// Creates a session that a network has reported, and that was started with a card there. It is pending until the report is
    /// applied. None for a station without a network.
    pub fn by_card(start: &CardSession<'_>, now: Timestamp) -> Option<Stored<Self>> {
        let CardSession {
            card,
            station,
            location,
            connector,
            driver,
            vehicle,
            reservation,
            payment_method,
            currency,
        } = *start;
        let (currency, pricing) = pricing(connector, currency, now);
        let charge = Battery::of(vehicle).charge(simulation::offered(connector), None);
        let session = Self {
            id: Id::new(Kind::ChargingSession, now),
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            country: station.address.country.clone(),
            created: now,
            currency,
            driver: driver.id.clone(),
            fleet: vehicle.fleet.clone(),
            invoice: None,
            payment_method: payment_method.cloned(),
            power: f64::from(charge.power) / 1000.0,
            reservation: reservation.map(|reservation| reservation.id.clone()),
            session_limit: reservation.and_then(Reservation::energy_needed),
            session_started: now,
            started_by: StartedBy::Card,
            state: SessionState::Pending {
                hold: None,
                sent: None,
                start: Start::Sent,
            },
            updated: now,
            vehicle: vehicle.id.clone(),
        };
        let network = network_session(location, station, connector, card.clone())?;
        let internal = SessionInternal {
            evse: connector.evse.clone(),
            pricing,
            zone: Some(station.timezone.clone()),
            names: Names::of(driver, vehicle, station),
            odometer: None,
            network: Some(Box::new(network)),
            shares_method: false,
        };
        Some(Stored::with_internal(session, internal))
    }
}

//! Candidates of a match: before a reservation is made, the connectors that it could get, and the reasons for which other stations
//! are refused.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::effective_price::{ChargingVehicle, EffectivePrice};
use super::estimate::SimulatedCharge;
use super::geo::distance_meters;
use super::matching::best_first::Match;
use super::matching::score::{CandidatePoints, Merits};
use super::policies::Breach;
use super::tariff;
use crate::body::RequestBody;
use crate::charging_station::{ChargingStation, Connector, Point};
use crate::reservation::need::{ChargingPlan, Need};
use crate::reservation::{Area, ConnectorTypes, MatchFilter, MatchSummary, NewReservation};
use crate::vehicle::ConnectorType;
use kernel::fields::metadata::MetadataChange;
use kernel::{Code, Currency, Id, Result, Timestamp};

/// The default and the maximum number of candidates in a response.
const LIMIT: (u32, u32) = (10, 50);

/// The maximum number of refused stations in a response.
pub const NAMED: usize = 100;

/// The maximum energy of a request, in Wh.
const MOST_ENERGY: u32 = 10_000_000;

/// The body of `POST /v1/reservations/candidates`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateSearch {
    /// Id of the driver who charges. The driver has to be active.
    pub driver: Id,
    /// Id of the vehicle to charge. It has to be active, and related to the driver.
    pub vehicle: Id,
    /// In the future, at most 90 days ahead. Required without `need`.
    pub ideal_start: Option<Timestamp>,
    /// 15 minutes to 24 hours after `ideal_start`. Required without `need`.
    pub ideal_end: Option<Timestamp>,
    /// Plugs that the driver accepts: 1 to 3 different ones, the vehicle's `charging_standard` among them.
    #[schema(value_type = ConnectorTypes)]
    pub connector_type: Vec<ConnectorType>,
    /// Area in which a station is searched.
    pub location: Area,
    /// At or before `ideal_start`.
    pub earliest_start: Option<Timestamp>,
    /// At or after `ideal_end`, at most 7 days after it.
    pub latest_end: Option<Timestamp>,
    /// Energy to charge in Wh, for the estimated cost: at most 10,000,000. Default: the energy that fills the battery from its last
    /// level, or from 20 % if the level is unknown or older than 24 hours.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub energy: Option<u32>,
    /// The vehicle's need, in place of `ideal_start`, `ideal_end`, `earliest_start`, `latest_end` and `energy`.
    pub need: Option<Need>,
    /// The metadata of the reservation.
    #[serde(default)]
    pub metadata: MetadataChange,
    /// The maximum number of candidates to return, at most 50.
    #[schema(minimum = 1, maximum = 50, default = 10)]
    pub limit: Option<u32>,
}

impl RequestBody for CandidateSearch {
    const INVALID: Option<Code> = Some(Code::ReservationInvalidInput);
}

impl CandidateSearch {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        self.reservation().check(now)?;
        let invalid = |param, message: &'static str| {
            Err(Code::ReservationInvalidInput.because(message).at(param))
        };
        if !(1..=LIMIT.1).contains(&self.limit()) {
            return invalid("limit", "must be a whole number from 1 to 50");
        }
        if self.need.is_some() && self.energy.is_some() {
            return invalid("energy", "must not be given beside need");
        }
        if self
            .energy
            .is_some_and(|energy| !(1..=MOST_ENERGY).contains(&energy))
        {
            return invalid("energy", "must be a whole number from 1 to 10000000");
        }
        Ok(())
    }

    /// Returns the reservation whose candidates are requested.
    pub fn reservation(&self) -> NewReservation {
        NewReservation {
            driver: self.driver.clone(),
            vehicle: self.vehicle.clone(),
            ideal_start: self.ideal_start,
            ideal_end: self.ideal_end,
            connector_type: self.connector_type.clone(),
            location: self.location,
            payment_method: None,
            earliest_start: self.earliest_start,
            latest_end: self.latest_end,
            need: self.need,
            metadata: self.metadata.clone(),
        }
    }

    /// Returns the maximum number of candidates to return.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(LIMIT.0)
    }
}

/// The result that an attempt to confirm a reservation would have now, given the reservations made so far.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ReservationCandidates {
    /// The best candidates, each with a different connector, the best first. Empty if nothing can be booked.
    pub candidates: Vec<ReservationCandidate>,
    /// The block that would be chosen for `need`: that of the first candidate. Null without a need.
    #[schema(required)]
    pub charging_plan: Option<ChargingPlan>,
    /// The number of stations, and the number of stations that each filter refuses. The search ends when the best candidates are
    /// known: stations that could not be among them are counted in `not_considered`.
    pub match_summary: MatchSummary,
    /// Rules of policies in suggestion mode that the area and the times violate; empty if none.
    pub policy_warnings: Vec<Breach>,
    /// The stations that `match_summary` counts in `refused`, except those that were not considered, the nearest first: at most
    /// 100.
    pub refused_stations: Vec<RefusedStation>,
}

/// A connector that can be booked, in its best window.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ReservationCandidate {
    /// Id of the charging station.
    pub charging_station: Id,
    /// The connector within the station.
    #[schema(example = "1")]
    pub connector: String,
    /// The currency of the prices and costs: that in which a session at the connector is billed.
    pub currency: Currency,
    /// Metres from the centre of `location`.
    pub distance_meters: u64,
    /// Seconds it takes to charge `estimated_energy`. Null if the connector has no power.
    pub estimated_duration: Option<i64>,
    /// The energy in Wh that is charged from `start` until `end`: `energy`, or less if the window is too short.
    pub estimated_energy: u32,
    /// The cost of charging `estimated_energy` from `start` on by the connector's tariff, in minor units of `currency`, with tax.
    /// Null if the prices are unknown or the connector has no power.
    pub estimated_total_cost: Option<i64>,
    /// The EVSE of the connector.
    #[schema(example = "1")]
    pub evse: String,
    /// Position of the station.
    pub location: Point,
    /// Properties of the candidate from which `points` are computed.
    pub merits: CandidateMerits,
    /// The name of the station.
    pub name: String,
    /// Summands of `score`.
    pub points: CandidatePoints,
    /// Rules of policies in suggestion mode that the candidate violates; empty if none.
    pub policy_warnings: Vec<Breach>,
    /// Power in kW.
    pub power: f64,
    /// The effective price from `start` to `end`, in minor units of `currency` with tax: the cost of charging until the battery is
    /// full or the window ends, at least 1 kWh, divided by the energy. The start fee and the charging time are included, parking is
    /// not. Null if it is unknown.
    pub price_per_kwh: Option<i64>,
    /// Lower is better; the first candidate has the lowest score. It is the sum of `points`. The candidates for a need are ordered
    /// by the value that the need optimizes instead, and `surcharge` compares the costs of their blocks.
    pub score: i64,
    /// The beginning of the window that would be reserved.
    pub start: Timestamp,
    /// The end of the window that would be reserved.
    pub end: Timestamp,
}

/// The components of a candidate's score, besides the distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct CandidateMerits {
    /// Whether the EVSE is occupied now.
    pub occupied_now: bool,
    /// Whether the driver prefers the station's operator.
    pub preferred_network: bool,
    /// Whether the driver prefers the station.
    pub preferred_station: bool,
    /// Minutes between the window and the ideal one.
    pub shift: i64,
    /// Whether the connector is of another speed class than the driver prefers.
    pub speed_missed: bool,
    /// Minor units by which the effective price is above that of the cheapest candidate, in any window, that is priced in the
    /// same currency.
    pub surcharge: i64,
}

/// A station that a filter refuses.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RefusedStation {
    /// Id of the charging station.
    pub charging_station: Id,
    /// Metres from the centre of `location`.
    pub distance_meters: u64,
    /// Position of the station.
    pub location: Point,
    /// Name of the station.
    pub name: String,
    /// The rule of a policy that refuses the station, where `reason` is `policy`.
    pub policy_breach: Option<Breach>,
    /// The filter: the member of `match_summary.refused` that counts the station.
    pub reason: MatchFilter,
}

/// The vehicle of a search for candidates, and the energy that it is to charge.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedCharge {
    pub vehicle: ChargingVehicle,
    /// The energy in Wh that is requested by the search.
    pub energy: Option<u32>,
}

impl From<Merits> for CandidateMerits {
    fn from(merits: Merits) -> Self {
        Self {
            occupied_now: merits.occupied_now,
            preferred_network: merits.preferred_network,
            preferred_station: merits.preferred_station,
            shift: merits.shift,
            speed_missed: merits.speed_missed,
            surcharge: merits.surcharge,
        }
    }
}

impl ReservationCandidate {
    /// A candidate for a vehicle that is to charge a number of Wh, or until its battery is full. `preferred` is the currency in
    /// which the driver is billed if the connector has prices in it. `price` is the effective price.
    pub fn new(
        best: &Match,
        station: &ChargingStation,
        connector: &Connector,
        expected: ExpectedCharge,
        preferred: Currency,
        price: Option<EffectivePrice>,
        policy_warnings: Vec<Breach>,
    ) -> Self {
        let window = best.assignment.window;
        let length = window.until.since(window.from);
        let charge = expected.vehicle.charge_at(connector);
        let energy = match expected.energy {
            Some(energy) => energy.min(charge.energy_within(length)),
            None => expected.vehicle.energy_within(&charge, length),
        };
        let currency = tariff::currency(&connector.pricing, preferred, window.from);
        let charge =
            SimulatedCharge::expected(station, connector, &charge, energy, window.from, currency);
        let is_priced = tariff::is_known(&connector.pricing, currency, window.from);
        Self {
            charging_station: station.id.clone(),
            connector: connector.id.clone(),
            currency,
            distance_meters: best.merits.meters.unsigned_abs(),
            estimated_duration: charge.as_ref().map(|charge| charge.seconds),
            estimated_energy: energy,
            estimated_total_cost: charge.filter(|_| is_priced).map(|charge| charge.cost.gross),
            evse: connector.evse.clone(),
            location: station.location,
            merits: best.merits.into(),
            name: station.name.clone(),
            points: best.merits.points(),
            policy_warnings,
            power: connector.power,
            price_per_kwh: price.map(|price| price.per_kwh.minor_units),
            score: best.merits.score(),
            start: window.from,
            end: window.until,
        }
    }
}

impl RefusedStation {
    /// Creates a refused station with its distance from the centre of the search.
    pub fn new(
        station: &ChargingStation,
        reason: MatchFilter,
        center: Point,
        policy_breach: Option<Breach>,
    ) -> Self {
        Self {
            charging_station: station.id.clone(),
            distance_meters: distance_meters(center, station.location) as u64,
            location: station.location,
            name: station.name.clone(),
            policy_breach,
            reason,
        }
    }
}

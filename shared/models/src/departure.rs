//! Departures: the time at which a vehicle leaves its site, and the charge that it needs by then.
//!
//! Life cycle of a departure: scheduled → completed | missed. All departures of a vehicle are one item, so that they are replaced together.
//! The plan of the site ([`crate::site::plan`]) covers the next departure of each vehicle; a later one is planned after that departure.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::stored::{Object, Stored};
use super::vehicle::Vehicle;
use kernel::time::days;
use kernel::{Currency, Error, Id, Kind, Result, SignedDuration, Timestamp};

/// The maximum number of future departures of a vehicle, the number of past ones that are kept, and how far ahead a departure may be.
const MOST: usize = 14;
const KEPT: usize = 14;
const HORIZON: SignedDuration = days(90);

/// The maximum need of a departure in Wh.
const MOST_ENERGY: u32 = 10_000_000;

/// The departures of a vehicle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VehicleDepartures {
    pub id: Id,
    pub object: Kind,
    /// All future departures and the last past ones, in the order of their time.
    pub departures: Vec<Departure>,
    /// Id of the vehicle.
    pub vehicle: Id,
}

impl Object for VehicleDepartures {
    type Internal = ();

    const KIND: Kind = Kind::VehicleDepartures;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Departure {
    /// Opaque id.
    pub id: Id,
    /// `departure`.
    pub object: Kind,
    /// When the vehicle departs.
    pub at: Timestamp,
    /// The cost of the charged energy, in minor units of `currency`, known after the departure. Null without prices.
    #[schema(required)]
    pub cost: Option<i64>,
    /// The cost if charging had started at once at full power, in minor units of `currency`.
    #[schema(required)]
    pub cost_if_immediate: Option<i64>,
    /// When the departure was created.
    pub created: Timestamp,
    /// Currency of the costs, which is that of the site's prices. Null without prices.
    #[schema(required)]
    pub currency: Option<Currency>,
    /// The metered Wh that were charged, known after the departure. Null if they were not measured.
    #[schema(required)]
    pub energy_delivered_wh: Option<u32>,
    /// The metered Wh that the vehicle needs; null with a `target_level`.
    #[schema(required)]
    pub energy_wh: Option<u32>,
    /// State of charge in percent that has priority over the needs of all vehicles.
    #[schema(required)]
    pub min_level: Option<f64>,
    /// The part of the need, in metered Wh, that was not charged by the departure; null before it.
    #[schema(required)]
    pub short_by_wh: Option<u32>,
    /// Id of the site at which the vehicle charges until it departs.
    pub site: Id,
    /// Whether the departure is in the future, and whether the vehicle had the charge that it needed.
    pub status: DepartureStatus,
    /// State of charge in percent that the vehicle needs; null with `energy_wh`.
    #[schema(required)]
    pub target_level: Option<f64>,
    /// Id of the vehicle.
    pub vehicle: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepartureStatus {
    Scheduled,
    /// The vehicle had the charge that it needed.
    Completed,
    /// The vehicle had less charge than it needed.
    Missed,
}

/// The response of `POST /v1/vehicles/{id}/departures`: the departures, and the result for each departure of the body.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ReplacedDepartures {
    pub id: Id,
    pub object: Kind,
    /// All future departures and the last past ones, in the order of their time.
    pub departures: Vec<Departure>,
    /// One for each departure of the body, in its order.
    pub results: Vec<DepartureResult>,
    /// Id of the vehicle.
    pub vehicle: Id,
}

impl ReplacedDepartures {
    pub fn new(replaced: VehicleDepartures, results: Vec<DepartureResult>) -> Self {
        Self {
            id: replaced.id,
            object: replaced.object,
            departures: replaced.departures,
            results,
            vehicle: replaced.vehicle,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DepartureResult {
    /// Id of the departure.
    pub departure: Id,
    /// The result for the departure.
    pub result: ReplacementResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplacementResult {
    /// There was no departure with this need.
    Created,
    /// The departure was known, at the same time and with the same need.
    Kept,
    /// The departure was known at another time. The energy charged for it before still counts.
    Moved,
}

/// The body of `POST /v1/vehicles/{id}/departures`: all future departures.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDepartures {
    /// At most 14 departures at different times. An empty list removes all that are ahead.
    #[schema(max_items = 14)]
    pub departures: Vec<NewDeparture>,
}

impl RequestBody for NewDepartures {}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDeparture {
    /// When the vehicle departs, at most 90 days ahead.
    pub at: Timestamp,
    /// The metered Wh that the vehicle needs, 1 to 10,000,000. Either this or `target_level`.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub energy_wh: Option<u32>,
    /// State of charge in percent that has priority over the needs of all vehicles. At most `target_level`.
    #[schema(minimum = 0, maximum = 100)]
    pub min_level: Option<f64>,
    /// State of charge in percent that the vehicle needs, more than 0. Either this or `energy_wh`.
    #[schema(minimum = 0, maximum = 100)]
    pub target_level: Option<f64>,
}

impl NewDepartures {
    fn check(&self, now: Timestamp) -> Result<()> {
        if self.departures.len() > MOST {
            let message = "must have at most 14 entries";
            return Err(Error::invalid("departures", message));
        }
        for (place, departure) in self.departures.iter().enumerate() {
            departure.check(place, now)?;
            let mut before = self.departures.iter().take(place);
            if before.any(|other| other.at == departure.at) {
                let param = format!("departures[{place}].at");
                return Err(Error::invalid(param, "must not be given twice"));
            }
        }
        Ok(())
    }
}

impl NewDeparture {
    /// Returns the departure of a vehicle from its site.
    fn departure(&self, vehicle: &Vehicle, site: &Id, now: Timestamp) -> Departure {
        Departure {
            id: Id::new(Kind::Departure, now),
            object: Kind::Departure,
            at: self.at,
            cost: None,
            cost_if_immediate: None,
            created: now,
            currency: None,
            energy_delivered_wh: None,
            energy_wh: self.energy_wh,
            min_level: self.min_level,
            short_by_wh: None,
            site: site.clone(),
            status: DepartureStatus::Scheduled,
            target_level: self.target_level,
            vehicle: vehicle.id.clone(),
        }
    }

    fn check(&self, place: usize, now: Timestamp) -> Result<()> {
        let invalid = |member: &str, message: &'static str| {
            Err(Error::invalid(
                format!("departures[{place}]{member}"),
                message,
            ))
        };
        let is_level = |level: f64| level > 0.0 && level <= 100.0;
        if self.at <= now || self.at.since(now) > HORIZON {
            return invalid(".at", "must be in the future and at most 90 days ahead");
        }
        match (self.energy_wh, self.target_level) {
            (Some(_), Some(_)) | (None, None) => {
                return invalid(
                    "",
                    "exactly one of energy_wh and target_level must be given",
                );
            }
            (Some(energy), _) if !(1..=MOST_ENERGY).contains(&energy) => {
                return invalid(".energy_wh", "must be a whole number from 1 to 10000000");
            }
            (_, Some(level)) if !is_level(level) => {
                return invalid(".target_level", "must be more than 0 and at most 100");
            }
            _ => {}
        }
        match self.min_level {
            Some(level) if !(0.0..=self.target_level.unwrap_or(100.0)).contains(&level) => invalid(
                ".min_level",
                "must be at least 0 and at most target_level or 100",
            ),
            _ => Ok(()),
        }
    }
}

impl VehicleDepartures {
    /// Returns the id of the item with the departures of a vehicle.
    pub fn id_of(vehicle: &Id) -> Id {
        vehicle.as_kind(Kind::VehicleDepartures)
    }

    /// Returns an empty list of departures for a vehicle.
    pub fn of(vehicle: &Id) -> Self {
        Self {
            id: Self::id_of(vehicle),
            object: Kind::VehicleDepartures,
            departures: Vec::new(),
            vehicle: vehicle.clone(),
        }
    }

    /// Returns the scheduled departures, in the order of their time.
    pub fn scheduled(&self) -> impl Iterator<Item = &Departure> {
        let all = self.departures.iter();
        all.filter(|departure| departure.status == DepartureStatus::Scheduled)
    }
}

impl Stored<VehicleDepartures> {
    /// Replaces all future departures. An unchanged departure keeps its id, and so does one that was moved: the energy charged for it
    /// before still counts. Returns the result for each departure, in the order of the body.
    ///
    /// # Errors
    /// 409 for a vehicle without a site, unless no departure is left; 400 for an invalid departure, with its index.
    pub fn replace(
        &mut self,
        new: NewDepartures,
        vehicle: &Vehicle,
        now: Timestamp,
    ) -> Result<Vec<DepartureResult>> {
        new.check(now)?;
        let Some(site) = &vehicle.site else {
            if new.departures.is_empty() {
                self.cancel();
                return Ok(Vec::new());
            }
            let message = "The vehicle has no site: update it with the site at which it charges.";
            return Err(Error::conflict(message, Some("site")));
        };
        // A departure that is over stays, although it is accounted for only by the next plan.
        let is_future = |departure: &Departure| {
            departure.status == DepartureStatus::Scheduled && departure.at > now
        };
        let (scheduled, mut over): (Vec<_>, Vec<_>) = std::mem::take(&mut self.object.departures)
            .into_iter()
            .partition(is_future);
        let needs = |old: &Departure, new: &NewDeparture| {
            let need = (old.energy_wh, old.target_level, old.min_level);
            need == (new.energy_wh, new.target_level, new.min_level) && old.site == *site
        };
        let given: Vec<Timestamp> = new
            .departures
            .iter()
            .map(|departure| departure.at)
            .collect();
        let mut new = new.departures;
        new.sort_by_key(|departure| departure.at);
        let (kept, mut moved): (Vec<_>, Vec<_>) = scheduled
            .into_iter()
            .partition(|old| new.iter().any(|new| old.at == new.at && needs(old, new)));
        let mut results = Vec::new();
        over.extend(new.into_iter().map(|new| {
            if let Some(as_it_was) = kept.iter().find(|old| old.at == new.at) {
                results.push((new.at, as_it_was.id.clone(), ReplacementResult::Kept));
                return as_it_was.clone();
            }
            let place = moved.iter().position(|old| needs(old, &new));
            let old = place.map(|place| moved.remove(place));
            let result = match old {
                Some(_) => ReplacementResult::Moved,
                None => ReplacementResult::Created,
            };
            let moved = old.map(|old| Departure { at: new.at, ..old });
            let departure = moved.unwrap_or_else(|| new.departure(vehicle, site, now));
            results.push((departure.at, departure.id.clone(), result));
            departure
        }));
        over.sort_by_key(|departure| departure.at);
        self.object.departures = over;
        results.sort_by_key(|(at, ..)| given.iter().position(|given| given == at));
        let results = results.into_iter();
        let results = results.map(|(_, departure, result)| DepartureResult { departure, result });
        Ok(results.collect())
    }

    /// Removes all scheduled departures. Returns false if there were none.
    pub fn cancel(&mut self) -> bool {
        let all = &mut self.object.departures;
        let before = all.len();
        all.retain(|departure| departure.status != DepartureStatus::Scheduled);
        all.len() < before
    }

    /// Ends a departure. Returns false if it is not scheduled any more.
    pub fn end(&mut self, id: &Id, outcome: DepartureOutcome) -> bool {
        let is_it = |departure: &&mut Departure| {
            departure.id == *id && departure.status == DepartureStatus::Scheduled
        };
        let Some(departure) = self.object.departures.iter_mut().find(is_it) else {
            return false;
        };
        departure.status = match outcome.short_by_wh {
            0 => DepartureStatus::Completed,
            _ => DepartureStatus::Missed,
        };
        departure.short_by_wh = Some(outcome.short_by_wh);
        departure.energy_delivered_wh = outcome.energy_wh;
        departure.cost = outcome.cost;
        departure.cost_if_immediate = outcome.cost_if_immediate;
        departure.currency = Some(outcome.currency);
        let all = &mut self.object.departures;
        let over = all
            .iter()
            .filter(|departure| departure.status != DepartureStatus::Scheduled);
        let excess = over.count().saturating_sub(KEPT);
        all.drain(..excess);
        true
    }
}

/// The outcome of a departure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartureOutcome {
    /// The part of the need, in metered Wh, that was not charged.
    pub short_by_wh: u32,
    /// The metered Wh that were charged; none if they were not measured.
    pub energy_wh: Option<u32>,
    pub cost: Option<i64>,
    pub cost_if_immediate: Option<i64>,
    pub currency: Currency,
}

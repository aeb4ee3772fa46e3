//! The charging plan of a depot: when each vehicle charges, so that all are ready, the depot's limit is not exceeded and the energy is
//! cheap.
//!
//! Time is divided into slots of equal length, and energy is counted in whole metered Wh. The aims, in this order:
//!
//! 1. least unserved minimum of all vehicles;
//! 2. least unserved need of all vehicles;
//! 3. least energy above the thresholds of the slots;
//! 4. the minimum of each vehicle as early as possible;
//! 5. least price;
//! 6. all energy as early as possible.
//!
//! A slot's `capacity` is never exceeded. The same depot always has the same plan, whatever the order of its demands.
//!
//! # Terms
//!
//! A *demand* is the energy of one vehicle, a *flow* the Wh that a vehicle consumes in a slot, and a *load* the Wh that all vehicles
//! together consume in a slot.
//!
//! # Algorithm
//!
//! A plan is a flow of least cost, in whole Wh, through a network: vehicle → slot → site. The unserved part of a need flows to the site
//! directly, at the cost of an unserved need. The minimum of a vehicle and the rest of its need are two nodes that share the vehicle's
//! power in each slot. All aims are combined in one number: one unit of an aim costs more than all later aims can outweigh (`network.rs`).
//! The network simplex method finds the flow (`simplex.rs`), exactly, whether prices are one series or differ per vehicle. [`Aims`]
//! contains the values of a plan for each aim.
//!
//! The plan is exact for constant powers. [`Depot::steady`] changes a plan for chargers that have a lowest power, and reports the energy
//! that is still below it.

mod aims;
mod network;
mod simplex;
mod steady;

pub use aims::Aims;
pub use steady::Steady;

/// A time in which all powers and prices are constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The maximum Wh of all vehicles together.
    pub capacity: u64,
    /// The Wh of all vehicles together up to which the load costs nothing extra. More flows only if a need would stay unserved otherwise.
    pub threshold: u64,
    /// The price of a Wh, in a unit that the caller chooses. It may be negative.
    pub price: i64,
}

/// The demand of a vehicle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Distinguishes vehicles that are equal otherwise, so that the order of the demands does not matter.
    pub key: String,
    /// The maximum Wh of the vehicle in each slot: 0 while it is away. The length is the number of slots.
    pub power: Vec<u32>,
    /// Wh
    pub need: u32,
    /// The Wh of the need that are the minimum.
    pub minimum: u32,
    /// The price of a Wh in each slot for this vehicle, if it is not that of the slots.
    pub prices: Option<Vec<i64>>,
}

/// A depot to plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Depot {
    pub slots: Vec<Slot>,
    pub demands: Vec<Demand>,
}

/// The Wh that each vehicle consumes in each slot, in the order of the demands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub flows: Vec<Vec<u32>>,
}

//! What operates a charging station: what switches its current on and off, and measures the energy.
//!
//! Terms:
//! - A station is *simulated* when this service computes the energy of its sessions by itself, from the power that
//!   connector and vehicle agree on and the time that has passed (see [`crate::charging::simulation`]).
//! - A station is *not connected* when nothing operates it: no energy flows there as far as this service can know.
//!
//! In test mode every station is simulated. In live mode no station is: until its charging network is connected,
//! a live station is not matched to reservations, no session starts there, no energy is computed, and no amount is
//! charged or invoiced for a session.
//!
//! Invariant: simulated energy cannot be computed in live mode. Every function that computes it is a method of
//! [`Simulation`], whose field is private to this file, and [`Operation::of`] is the only place that makes one. Matching,
//! the start of sessions, their end, their display, their charges and invoices all ask [`Operation::of`].
//!
//! Sessions that an earlier release simulated in live mode show no energy while they are active, end as `failed` without
//! an amount, and are neither charged nor invoiced.

use crate::origin::Mode;

/// What operates the stations of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// This service simulates the station.
    Simulated(Simulation),
    /// Nothing operates the station: it is not connected to a charging network.
    NotConnected,
}

/// The permission to simulate: proof that the mode is test mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation(());

impl Operation {
    /// What operates stations in this mode. Stations have no network of their own yet, so the mode alone decides.
    pub fn of(mode: Mode) -> Self {
        match mode {
            Mode::Test => Self::Simulated(Simulation(())),
            Mode::Live => Self::NotConnected,
        }
    }

    /// The permission to simulate, if the station is simulated.
    pub fn simulation(self) -> Option<Simulation> {
        match self {
            Self::Simulated(simulation) => Some(simulation),
            Self::NotConnected => None,
        }
    }

    /// Whether sessions take place there, so that the station can be reserved and its sessions are billed.
    pub fn is_operated(self) -> bool {
        self != Self::NotConnected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulation_operates_stations_in_test_mode_and_nothing_does_in_live_mode() {
        assert!(Operation::of(Mode::Test).simulation().is_some());
        assert!(Operation::of(Mode::Test).is_operated());
        assert_eq!(Operation::of(Mode::Live), Operation::NotConnected);
        assert_eq!(Operation::of(Mode::Live).simulation(), None);
        assert!(!Operation::of(Mode::Live).is_operated());
    }
}

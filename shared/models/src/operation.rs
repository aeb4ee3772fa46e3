//! The operation of a charging station: the system that switches its current on and off, and measures the energy.
//!
//! Terms:
//! - A station is *of a network* when a charging network has reported it: the network starts and stops its sessions, and reports their
//!   energy and price ([`crate::ports::network`]).
//! - A station is *simulated* when this service computes the energy of its sessions by itself, from the power that
//!   connector and vehicle agree on and the time that has passed (see [`crate::charging::simulation`]).
//! - A station is *not connected* when nothing operates it: no energy flows there as far as this service can know.
//!
//! Stations of a network are operated by it in both modes, as long as it is connected. In test mode every other station is simulated. In
//! live mode no other station is operated: it is not matched to reservations, no session starts there, no energy is computed, and no
//! amount is charged or invoiced for a session.
//!
//! Invariant: simulated energy cannot be computed in live mode. Every function that computes it is a method of [`Simulation`], whose field
//! is private to this file, and [`Operation::of`] is the only function that creates one. Matching, the start of sessions, their end, their
//! display, their charges and invoices all use [`Operation::of`].
//!
//! Sessions that an earlier release simulated in live mode show no energy while they are active, end as `failed` without
//! an amount, and are neither charged nor invoiced.

use kernel::Mode;

/// The operation of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// This service simulates the station.
    Simulated(Simulation),
    /// A charging network operates the station.
    Network,
    /// Nothing operates the station: it is not connected to a charging network.
    NotConnected,
}

/// The permission to simulate: proof that the mode is test mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation(());

impl Operation {
    /// Returns the operation of a station in this mode. `is_of_network` says whether a charging network has reported the station.
    pub fn of(mode: Mode, is_of_network: bool) -> Self {
        match (is_of_network, mode) {
            (true, _) => Self::Network,
            (false, Mode::Test) => Self::Simulated(Simulation(())),
            (false, Mode::Live) => Self::NotConnected,
        }
    }

    /// Returns the permission to simulate, if the station is simulated.
    pub fn simulation(self) -> Option<Simulation> {
        match self {
            Self::Simulated(simulation) => Some(simulation),
            Self::Network | Self::NotConnected => None,
        }
    }

    /// Checks whether sessions take place at the station, so that it can be reserved and its sessions are billed.
    pub fn is_operated(self) -> bool {
        self != Self::NotConnected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulation_operates_only_test_stations_without_a_network() {
        let simulated = Operation::of(Mode::Test, false);
        assert!(simulated.simulation().is_some() && simulated.is_operated());
        let nothing = Operation::of(Mode::Live, false);
        assert_eq!(
            (nothing, nothing.simulation()),
            (Operation::NotConnected, None)
        );
        assert!(!nothing.is_operated());
        for mode in [Mode::Test, Mode::Live] {
            let network = Operation::of(mode, true);
            assert_eq!((network, network.simulation()), (Operation::Network, None));
            assert!(network.is_operated());
        }
    }
}

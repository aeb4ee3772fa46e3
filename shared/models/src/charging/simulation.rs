//! Simulated charging: by the battery model ([`super::battery`]), from plug-in until the limit or a full battery, whichever comes
//! first. After that the vehicle stays plugged in and draws no energy. No process runs while it charges: the energy is computed
//! from the elapsed time.
//!
//! The energy that has flowed in a session is computed by [`Simulation`] alone, and only in test mode.

use super::battery::Charge;
use crate::charging_station::Connector;
use crate::operation::Simulation;
use kernel::SignedDuration;

/// Returns the power that a connector offers, in W.
pub fn offered(connector: &Connector) -> u32 {
    (connector.power * 1000.0).round() as u32
}

impl Simulation {
    /// Returns the metered Wh that have flowed after a time.
    pub fn energy_after(self, charge: &Charge, elapsed: SignedDuration) -> u64 {
        charge.energy_after(elapsed)
    }
}

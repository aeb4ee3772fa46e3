//! The eMSP against a charge point operator on `ocpi-kit`, over HTTP.

mod commands;
mod handshake;
mod objects;
mod pull;
mod reservations;
mod scene;
mod sessions;
mod tokens;
mod tool;

use network::{Cpo, Runner};
use ocpi_kit::VersionNumber;

/// The versions that both sides support.
const VERSIONS: [VersionNumber; 2] = [VersionNumber::V2_2_1, VersionNumber::V2_3_0];

/// A connected service and operator.
async fn connected(version: VersionNumber) -> (Runner, Cpo) {
    let (runner, cpo) = (Runner::start().await, Cpo::start(version).await);
    runner
        .connect(&cpo.versions_url(), &Cpo::token_a())
        .await
        .ok();
    (runner, cpo)
}

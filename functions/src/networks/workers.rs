//! The functions of charging networks that do several jobs each.

use kernel::Kind;
use table::access::Rows;
use web::deployment::{Deployment, Need};

use crate::function::Function;

/// Commands to networks, their results, and the sessions and CDRs that networks send.
pub const OPERATE: Function = Function::worker(
    "operate-network",
    Deployment::in_background()
        .writing(&[
            Rows::Of(Kind::Adjustment),
            Rows::Of(Kind::ChargingSession),
            Rows::Of(Kind::Reservation),
            Rows::Of(Kind::Fleet),
            Rows::Of(Kind::Site),
            Rows::Calendars,
            Rows::OcpiObjects,
        ])
        .needing(&[Need::EncryptionKeys, Need::Messages]),
);

/// Pulls from networks, and updates that concern all stations of a network or the network itself.
pub const SYNC: Function = Function::worker(
    "sync-network",
    Deployment::in_background()
        .memory(512)
        .timeout(120)
        .writing(&[
            Rows::Of(Kind::ChargingStation),
            Rows::Of(Kind::Network),
            Rows::OcpiCredentials,
            Rows::OcpiObjects,
        ])
        .needing(&[Need::EncryptionKeys, Need::Messages]),
);

//! The functions of charging networks that do several jobs each.

use kernel::Kind;
use table::access::Items;
use web::deployment::{Deployment, Need};

use crate::function::Function;

/// Commands to networks, their results, and the sessions and CDRs that networks send.
pub const OPERATE: Function = Function::worker(
    "operate-network",
    Deployment::in_background()
        .writing(&[
            Items::Of(Kind::Adjustment),
            Items::Of(Kind::ChargingSession),
            Items::Of(Kind::Reservation),
            Items::Of(Kind::Fleet),
            Items::Of(Kind::Site),
            Items::Calendars,
            Items::OcpiObjects,
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
            Items::Of(Kind::ChargingStation),
            Items::Of(Kind::Reservation),
            Items::Of(Kind::Network),
            Items::OcpiCredentials,
            Items::OcpiObjects,
        ])
        .needing(&[Need::EncryptionKeys, Need::Messages]),
);

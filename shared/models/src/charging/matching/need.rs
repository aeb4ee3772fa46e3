//! What the search for a need scores: the cost of a block, or when it ends.
//!
//! The cost of a block is exact and rounded once, by the tariff of the connector, for the energy of the need. Blocks in the currency of the
//! reservation come before those in another one or of unknown price, whose costs cannot be compared with theirs. Of blocks that cost the
//! same the earlier one is chosen, then the one whose ids of station and connector come first. Where the time counts, the block that ends
//! first is chosen, then the one that costs less.

use super::{MatchRequest, PricePerKwh};
use crate::charging::battery::Charge;
use crate::charging::effective_price::ChargingVehicle;
use crate::reservation::SHORTEST;
use crate::reservation::need::{Need, Optimize};
use kernel::time::{DAY, MINUTE, SignedDuration, millis, whole_millis};
use kernel::window::Window;

/// The points of what cannot be compared with blocks in the reservation's currency: more than any cost.
const INCOMPARABLE: i64 = 1 << 60;

/// The points of a minute by which a block ends later, where the time counts: more than any cost.
const LATER: i64 = 1 << 40;

/// How long a block of a charge lasts: until the vehicle has charged what it needs. None if that is more than a day, or if no power flows.
pub(super) fn length(vehicle: ChargingVehicle, charge: &Charge) -> Option<SignedDuration> {
    let lasts = charge.time_until(vehicle.energy()?)?;
    let whole = whole_millis(lasts).checked_add(whole_millis(MINUTE) - 1)?;
    let whole = whole - whole % whole_millis(MINUTE);
    let length = millis(whole).max(SHORTEST);
    (length <= DAY).then_some(length)
}

/// The points of a block besides those of its cost.
pub(super) fn base(
    need: &Need,
    block: &Window,
    price: Option<PricePerKwh>,
    request: &MatchRequest<'_>,
) -> i64 {
    let currency = request.reservation.currency;
    let incomparable = match price {
        Some(price) if price.currency == currency => 0,
        _ => INCOMPARABLE,
    };
    let later = match (need.optimize, request.windows.first()) {
        (Optimize::Time, Some(first)) => block.until.since(first.from).as_mins() * LATER,
        _ => 0,
    };
    later.saturating_add(incomparable)
}

//! The score of the search for a need: the cost of a block, its end, or the carbon dioxide of its energy.
//!
//! The cost of a block is exact and rounded once, by the tariff of the connector, for the energy of the need. Blocks in the currency of the
//! reservation come before those in another one or of unknown price, whose costs cannot be compared with theirs. Of blocks that cost the
//! same the earlier one is chosen, then the one whose ids of station and connector come first. If the time is optimized, the block that ends
//! first is chosen, then the one that costs less; if carbon dioxide is optimized, that with the fewest whole grams, then the one that costs less.
//! Energy whose carbon dioxide is unknown comes last.

use super::{MatchRequest, PricePerKwh};
use crate::charging::battery::Charge;
use crate::charging::effective_price::ChargingVehicle;
use crate::reservation::SHORTEST;
use crate::reservation::need::{Need, Optimize};
use kernel::time::{DAY, MINUTE, millis, whole_millis};
use kernel::{SignedDuration, Window};

/// The points of blocks that cannot be compared with blocks in the reservation's currency: more than any cost.
const INCOMPARABLE: i64 = 1 << 60;

/// The points of each minute by which a block ends later, if the time is optimized: more than any cost.
const LATER: i64 = 1 << 40;

/// The points of a gram of carbon dioxide, if that is optimized, and the number of grams from which on values are not
/// distinguished: more than the largest need emits with 1,600 g for each kWh.
const GRAM: i64 = 1 << 36;
const MOST_GRAMS: i64 = (1 << 24) - 1;

/// Returns the duration of a block of a charge: until the vehicle has charged the energy that it needs. None if that is more than a
/// day, or if no power flows.
pub(super) fn length(vehicle: ChargingVehicle, charge: &Charge) -> Option<SignedDuration> {
    let lasts = charge.time_until(vehicle.energy()?)?;
    let whole = whole_millis(lasts).checked_add(whole_millis(MINUTE) - 1)?;
    let whole = whole - whole % whole_millis(MINUTE);
    let length = millis(whole).max(SHORTEST);
    (length <= DAY).then_some(length)
}

/// Returns the points of a block without those of its cost. `grams` is the carbon dioxide of its energy.
pub(super) fn base(
    need: &Need,
    block: &Window,
    price: Option<PricePerKwh>,
    grams: Option<i64>,
    request: &MatchRequest<'_>,
) -> i64 {
    let currency = request.reservation.currency;
    let incomparable = match price {
        Some(price) if price.currency == currency => 0,
        _ => INCOMPARABLE,
    };
    let aim = match (need.optimize, request.windows.first()) {
        (Optimize::Time, Some(first)) => block.until.since(first.from).as_mins() * LATER,
        (Optimize::Carbon, _) => grams.map_or(MOST_GRAMS, |grams| grams.min(MOST_GRAMS)) * GRAM,
        _ => 0,
    };
    aim.saturating_add(incomparable)
}

//! The limits of a site on the power of all its vehicles together.

use super::{LimitType, Site};
use crate::charging::policies::spans;
use kernel::{Timestamp, Window};

/// The lowest limits of each window in W, before reserved power is subtracted.
pub(super) struct Limits {
    spans: Vec<(LimitType, u32, Option<Vec<Window>>)>,
}

impl Limits {
    pub(super) fn of(site: &Site, reach: &Window) -> Self {
        let zone = site.time_zone.rules();
        let limits = site.limits.iter().map(|limit| {
            let always = limit.time_windows.is_empty();
            let spans = (!always).then(|| spans(&limit.time_windows, reach, &zone));
            (limit.kind, limit.power_w, spans)
        });
        Self {
            spans: limits.collect(),
        }
    }

    pub(super) fn lowest(&self, kind: LimitType, window: &Window, reserved: u64) -> Option<u64> {
        let holds = |spans: &Option<Vec<Window>>| match spans {
            None => true,
            Some(spans) => spans.iter().any(|span| span.overlaps(window)),
        };
        let all = self.spans.iter();
        let lowest = all
            .filter(|(limit_type, _, spans)| *limit_type == kind && holds(spans))
            .map(|(_, power, _)| *power)
            .min()?;
        Some(u64::from(lowest).saturating_sub(reserved))
    }

    /// Returns the next moment at which a capacity limit with a schedule begins to hold.
    pub(super) fn next_capacity(&self, now: Timestamp) -> Option<Timestamp> {
        let all = self.spans.iter();
        let capacity = all.filter(|(limit_type, ..)| *limit_type == LimitType::Capacity);
        let spans = capacity.flat_map(|(_, _, spans)| spans.iter().flatten());
        spans.map(|span| span.from).filter(|from| *from > now).min()
    }
}

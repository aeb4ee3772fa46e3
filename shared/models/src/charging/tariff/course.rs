//! The data of a session from which a tariff computes its cost.

use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::stored::is_default;
use kernel::time::whole_millis;
use kernel::{SignedDuration, Timestamp};

pub(in super::super) const WH_PER_KWH: Decimal = Decimal::ONE_THOUSAND;
pub(in super::super) const MILLIS_PER_HOUR: Decimal =
    Decimal::from_parts(3_600_000, 0, 0, false, 0);

/// The energy and the times of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Wh
    pub energy: u64,
    /// Milliseconds in which energy flowed.
    pub charging: u64,
    /// Milliseconds on the connector without that.
    pub parking: u64,
}

impl Usage {
    /// The usage of a vehicle that leaves as soon as it has charged this energy in Wh.
    pub fn of_charge(energy: u32, duration: SignedDuration) -> Self {
        Self {
            energy: energy.into(),
            charging: whole_millis(duration).unsigned_abs(),
            parking: 0,
        }
    }
}

/// A part of a session in which energy flows evenly, or in which the vehicle is only connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Milliseconds.
    pub lasts: u64,
    /// Wh
    #[serde(default, skip_serializing_if = "is_default")]
    pub energy: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_parking: bool,
}

/// A session in the model of its prices: energy flows evenly in each of its segments.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    pub began: Timestamp,
    /// The station's time zone.
    pub zone: &'a TimeZone,
    pub usage: Usage,
    /// The segments in their order. They count if they last as long as the usage, and the energy of the usage is divided among them in
    /// proportion to theirs. Otherwise energy flows evenly while the vehicle charges, and then it parks.
    pub segments: &'a [Segment],
}

impl Course<'_> {
    /// Returns the segments of the session. The sum of their energies may differ from that of the usage.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let Usage {
            energy,
            charging,
            parking,
        } = self.usage;
        let lasting = |is_parking: bool| {
            let of_kind = self.segments.iter();
            let of_kind = of_kind.filter(|segment| segment.is_parking == is_parking);
            of_kind.map(|segment| u128::from(segment.lasts)).sum()
        };
        let sums: (u128, u128) = (lasting(false), lasting(true));
        if charging == 0 || sums != (charging.into(), parking.into()) {
            return in_order(energy, charging, parking);
        }
        let is_measured = self.segments.iter().any(|segment| segment.energy > 0);
        let segments = self.segments.iter().filter(|segment| segment.lasts > 0);
        let segments = segments.map(|segment| match segment {
            // Energy that was not measured flows evenly.
            segment if !is_measured && !segment.is_parking => Segment {
                energy: segment.lasts,
                ..*segment
            },
            segment => *segment,
        });
        segments.collect()
    }
}

/// Returns the segments of a session that charges first, and then parks.
fn in_order(energy: u64, charging: u64, parking: u64) -> Vec<Segment> {
    let charges = Segment {
        lasts: charging,
        energy,
        is_parking: false,
    };
    let parks = Segment {
        lasts: parking,
        energy: 0,
        is_parking: true,
    };
    match (charging, parking) {
        (0, _) => vec![parks],
        (_, 0) => vec![charges],
        _ => vec![charges, parks],
    }
}

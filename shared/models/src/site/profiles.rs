//! The charging profiles that the plan of a site assigns to the sessions of its vehicles at stations of networks.
//!
//! A profile has the power of every slot until the departure, and 0 W from then on. It is sent when it differs from the one in force.
//!
//! Invariant: whichever of the profiles in flight are in force, all sessions together may use at most the power of the capacity limit, as
//! far as profiles can achieve that. Until a charging point has accepted a new profile, both the new and the old one count. A profile
//! that would not fit then waits: the smaller of both is sent first, and the plan's own one when the others have become smaller.

use super::inputs::{PlanInputs, SiteSession};
use super::limits::Limits;
use super::plan::Planned;
use super::{LimitType, Site, charge};
use crate::charging_session::profile::PowerProfile;
use kernel::{Id, Timestamp, Window};

/// A profile that differs by less than this number of W is not sent again.
const NOISE: u64 = 100;

/// A session that follows its profile, with the W of each window.
struct Limited<'a> {
    session: &'a SiteSession,
    departs: Timestamp,
    planned: Vec<u64>,
    /// The maximum power, whichever profile is in force.
    most: Vec<u64>,
}

impl Planned {
    /// Returns the profiles that are to be sent now, by session.
    pub fn profiles(&self, site: &Site, inputs: &PlanInputs) -> Vec<(Id, PowerProfile)> {
        let limited: Vec<Limited> = (0..self.charges.len())
            .filter_map(|place| self.limited(place, inputs))
            .collect();
        let room = self.room(site, inputs, &limited);
        let mut loads: Vec<u64> = (0..self.windows.len())
            .map(|slot| {
                limited
                    .iter()
                    .map(|limited_session| limited_session.most[slot])
                    .sum()
            })
            .collect();
        let is_over = loads.iter().zip(&room).any(|(load, room)| load > room);
        let mut profiles = Vec::new();
        for limited_session in &limited {
            let profile = limited_session.session.profile.as_ref();
            if profile.is_some_and(|profile| profile.is_sent()) || !limited_session.differs(is_over)
            {
                continue;
            }
            let fits = (0..loads.len()).all(|slot| {
                let grows =
                    limited_session.planned[slot].saturating_sub(limited_session.most[slot]);
                grows == 0 || loads[slot] + grows <= room[slot]
            });
            let powers: Vec<u64> = if fits {
                limited_session.planned.clone()
            } else {
                limited_session.smaller().collect()
            };
            if profile.is_some() && powers == limited_session.most {
                continue;
            }
            for (slot, power) in powers.iter().enumerate() {
                loads[slot] += power.saturating_sub(limited_session.most[slot]);
            }
            profiles.push((
                limited_session.session.id.clone(),
                self.profile(limited_session.departs, &powers),
            ));
        }
        profiles
    }

    fn limited<'a>(&self, place: usize, inputs: &'a PlanInputs) -> Option<Limited<'a>> {
        let charge = &self.charges[place];
        let session = inputs.vehicle(charge)?.session()?;
        let session = Some(session).filter(|session| session.is_limited() && !session.is_parked)?;
        let flows = self.plan.flows[place].iter().zip(&self.windows);
        let planned = flows.map(|(flow, window)| match *flow {
            // A shortage within the tolerance does not count, and the step would be too small for the vehicle to charge.
            0..=charge::TOLERANCE => 0,
            flow => charge::whole_power(flow, window),
        });
        let most = self
            .windows
            .iter()
            .map(|window| session.most(window).into());
        Some(Limited {
            session,
            departs: charge.at,
            planned: planned.collect(),
            most: most.collect(),
        })
    }

    /// Returns the power in W in each window that all sessions with profiles may use together.
    fn room(&self, site: &Site, inputs: &PlanInputs, limited: &[Limited]) -> Vec<u64> {
        let reach = match (self.windows.first(), self.windows.last()) {
            (Some(first), Some(last)) => Window {
                from: first.from,
                until: last.until,
            },
            _ => return Vec::new(),
        };
        let limits = Limits::of(site, &reach);
        let forced = self.charges.iter().filter_map(|charge| {
            let vehicle = inputs.vehicle(charge)?;
            vehicle.forced(Some(charge), &self.windows)
        });
        let forced: Vec<Vec<u32>> = forced.collect();
        let room = self.windows.iter().enumerate().map(|(slot, window)| {
            let taken: u64 = forced.iter().map(|powers| u64::from(powers[slot])).sum();
            // The power of a session before its first profile is in force is among the loads of the sessions.
            let starting = limited
                .iter()
                .filter(|limited_session| !limited_session.session.has_accepted());
            let starting = starting
                .map(|limited_session| u64::from(limited_session.session.power))
                .sum::<u64>();
            let fixed = match slot {
                0 => self.fixed[0].saturating_sub(starting),
                _ => self.fixed[slot],
            };
            let fixed = fixed + charge::power(taken, window);
            limits.lowest(LimitType::Capacity, window, fixed)
        });
        room.map(|room| room.unwrap_or(u64::MAX)).collect()
    }

    fn profile(&self, departs: Timestamp, powers: &[u64]) -> PowerProfile {
        let steps = self.windows.iter().zip(powers);
        let steps = steps.filter(|(window, _)| window.from < departs);
        let steps = steps.map(|(window, power)| {
            let power = u32::try_from(*power).unwrap_or(u32::MAX);
            (window.from, power)
        });
        PowerProfile::new(steps.chain([(departs, 0)]))
    }
}

impl Limited<'_> {
    /// Checks whether the profile in force differs from the planned one. If all profiles together may exceed the limit, each W counts.
    fn differs(&self, is_over: bool) -> bool {
        let noise = NOISE;
        let mut slots = self.planned.iter().zip(&self.most);
        !self.session.has_accepted()
            || slots.any(|(planned, most)| {
                planned.abs_diff(*most) > noise || (is_over && planned < most)
            })
    }

    fn smaller(&self) -> impl Iterator<Item = u64> {
        let slots = self.planned.iter().zip(&self.most);
        slots.map(|(planned, most)| *planned.min(most))
    }
}

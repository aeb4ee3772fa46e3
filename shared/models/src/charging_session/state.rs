//! The states of a session, each with its data.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cost::{PriceCheck, SessionCost};
use super::network::{
    AtNetwork, CDR_PATIENCE, ROOM_PATIENCE, START_PATIENCE, Stop, Total, longest_until,
};
use super::review::{PendingReview, Prices};
use crate::action::Action;
use crate::charging::battery::Taper;
use crate::stored::is_default;
use kernel::time::hours;
use kernel::{SignedDuration, Timestamp, Window};

/// The time from the creation of a session to its start that is usual: it waits for room at its site, and then for its network.
const START_MARGIN: SignedDuration = hours(1);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SessionState {
    /// It was requested at a network's station, and the network has not reported that it has begun.
    Pending {
        /// The time that is booked in the calendars for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hold: Option<Window>,
        /// When START_SESSION was sent, if it had to wait for room at the site.
        #[serde(skip_serializing_if = "Option::is_none")]
        sent: Option<Timestamp>,
        start: Start,
    },
    Active {
        #[serde(default, skip_serializing_if = "is_default")]
        charged: Charged,
        cost: SessionCost,
        operated_by: Operator,
    },
    Completed {
        ended: Timestamp,
        charged: Charged,
        cost: SessionCost,
        /// The latest end that was known of a simulated session.
        #[serde(skip_serializing_if = "Option::is_none")]
        ends_by: Option<EndsBy>,
        #[serde(skip_serializing_if = "Option::is_none")]
        price_check: Option<PriceCheck>,
        settlement: Settlement,
    },
    /// It was cancelled before it began.
    Cancelled {
        ended: Timestamp,
        /// Set if it has begun nevertheless.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Stop>,
    },
    /// It has ended without an amount.
    Failed {
        ended: Timestamp,
        #[serde(default, skip_serializing_if = "is_default")]
        charged: Charged,
        /// Why a session at a network's station failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<SessionFailedReason>,
        /// Set if it continues nevertheless.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Stop>,
        #[serde(default, skip_serializing_if = "is_default")]
        ended_by_tenant: bool,
        /// Whether it had begun.
        #[serde(default, skip_serializing_if = "is_default")]
        has_begun: bool,
    },
}

/// The progress of the start of a pending session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// START_SESSION is to be sent.
    Due,
    /// START_SESSION waits until the site has room for its power, which is checked again at this moment.
    Waiting { next: Timestamp },
    /// START_SESSION was sent, or the session is being started with a card.
    Sent,
    /// The charging point has accepted the start.
    Accepted,
}

/// The operator of the station of an active session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    Simulation(Simulated),
    Network(AtNetwork),
}

/// The course of a simulated session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// The end of the hold.
    pub held_until: Timestamp,
    /// Wh at which the vehicle stops charging: the session's limit or a full battery.
    pub most_energy: u32,
    /// The battery whose level determines the power, if direct current flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taper: Option<Box<Taper>>,
    /// Whether the vehicle stays plugged in when it has stopped charging; not if it reaches the session's limit.
    pub parks: bool,
    pub ends_by: EndsBy,
}

/// When a session ends at the latest, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndsBy {
    pub at: Timestamp,
    pub reason: EndReason,
}

/// Why a session ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// `session_limit` is reached.
    SessionLimit,
    /// The station closes.
    StationClosing,
    /// The connector was reserved for another vehicle when the session began, or this vehicle is reserved elsewhere.
    Reservation,
    /// A session lasts 24 hours at most.
    MaximumDuration,
}

/// The energy that a vehicle has charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charged {
    /// Wh
    pub energy: i64,
    /// When it stopped drawing energy, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// The state of the price of a completed session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The network is to bill the session.
    Awaited {
        /// Set if the session continues at the network.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Stop>,
        /// Whether the tenant has ended the session, and the network has not reported its end.
        #[serde(default, skip_serializing_if = "is_default")]
        ended_by_tenant: bool,
        /// When this service received the end. Items of earlier versions lack it, and the session's `ended` counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        heard_at: Option<Timestamp>,
    },
    /// The price of the network waits for a decision. Meanwhile the session has the service's own price.
    UnderReview(PendingReview),
    Final(FinalPrice),
}

/// The price of a session that may be billed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinalPrice {
    /// The time since which the price is final.
    pub at: Timestamp,
    /// Whether the charge to the payment method is in flight. Until it is settled, no invoice may include the session.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_charging: bool,
    /// The sum of the adjustments so far, which is added to the price.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adjusted: Total,
    /// The overruled price: an operator has decided to bill the service's own price in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overruled: Option<Prices>,
    /// A later price that is not plausible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<PendingReview>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionStatus {
    /// It was requested at a network's station, and the network has not reported that it has begun.
    Pending,
    Active,
    Completed,
    Cancelled,
    Failed,
}

/// Why a session at a network's station failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFailedReason {
    /// The network refused to start it.
    NetworkRejected,
    /// The network did not report within five minutes that it has begun.
    NetworkTimeout,
    /// The charging point accepted the start, and no vehicle began to charge within five minutes.
    NotPluggedIn,
    /// The charging point is out of order.
    OutOfOrder,
    /// The site had no room for its power within 15 minutes.
    SiteLimit,
    Other,
}

impl SessionFailedReason {
    /// Checks whether the network or the charging point has kept the vehicle from charging. The limit of a site is its owner's.
    pub fn is_refusal(self) -> bool {
        match self {
            Self::NetworkRejected | Self::NetworkTimeout | Self::OutOfOrder | Self::Other => true,
            Self::NotPluggedIn | Self::SiteLimit => false,
        }
    }
}

impl SessionStatus {
    /// Checks whether the session has not ended.
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::Active => true,
            Self::Completed | Self::Cancelled | Self::Failed => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl SessionState {
    pub fn status(&self) -> SessionStatus {
        match self {
            Self::Pending { .. } => SessionStatus::Pending,
            Self::Active { .. } => SessionStatus::Active,
            Self::Completed { .. } => SessionStatus::Completed,
            Self::Cancelled { .. } => SessionStatus::Cancelled,
            Self::Failed { .. } => SessionStatus::Failed,
        }
    }

    pub fn charged(&self) -> Charged {
        match self {
            Self::Active { charged, .. }
            | Self::Completed { charged, .. }
            | Self::Failed { charged, .. } => *charged,
            Self::Pending { .. } | Self::Cancelled { .. } => Charged::default(),
        }
    }

    /// Returns the cost of the session; None if it has not begun or has ended without an amount.
    pub fn cost(&self) -> Option<&SessionCost> {
        match self {
            Self::Active { cost, .. } | Self::Completed { cost, .. } => Some(cost),
            Self::Pending { .. } | Self::Cancelled { .. } | Self::Failed { .. } => None,
        }
    }

    /// Returns the charged energy of an active or completed session, and its cost.
    pub(crate) fn figures_mut(&mut self) -> Option<(&mut Charged, &mut SessionCost)> {
        match self {
            Self::Active { charged, cost, .. } | Self::Completed { charged, cost, .. } => {
                Some((charged, cost))
            }
            Self::Pending { .. } | Self::Cancelled { .. } | Self::Failed { .. } => None,
        }
    }

    pub fn ended(&self) -> Option<Timestamp> {
        match self {
            Self::Completed { ended, .. }
            | Self::Cancelled { ended, .. }
            | Self::Failed { ended, .. } => Some(*ended),
            Self::Pending { .. } | Self::Active { .. } => None,
        }
    }

    pub fn ends_by(&self) -> Option<EndsBy> {
        match self {
            Self::Completed { ends_by, .. } => *ends_by,
            _ => self.simulated().map(|simulated| simulated.ends_by),
        }
    }

    /// Returns the course of an active simulated session.
    pub fn simulated(&self) -> Option<&Simulated> {
        match self {
            Self::Active {
                operated_by: Operator::Simulation(simulated),
                ..
            } => Some(simulated),
            _ => None,
        }
    }

    pub(crate) fn simulated_mut(&mut self) -> Option<&mut Simulated> {
        match self {
            Self::Active {
                operated_by: Operator::Simulation(simulated),
                ..
            } => Some(simulated),
            _ => None,
        }
    }

    /// Returns the requests to the network of an active session and its reports.
    pub fn at_network(&self) -> Option<&AtNetwork> {
        match self {
            Self::Active {
                operated_by: Operator::Network(network),
                ..
            } => Some(network),
            _ => None,
        }
    }

    /// Checks whether an open session may continue for more than a day after its creation, which is unusual: its end was requested from a
    /// network, after a day at the latest, or the network has reported that it began long after its creation.
    pub fn may_outlast_a_day(&self, created: Timestamp, started: Timestamp) -> bool {
        self.at_network()
            .is_some_and(|network| network.stop.is_some() || started > created.plus(START_MARGIN))
    }

    pub(crate) fn at_network_mut(&mut self) -> Option<&mut AtNetwork> {
        match self {
            Self::Active {
                operated_by: Operator::Network(network),
                ..
            } => Some(network),
            _ => None,
        }
    }

    /// Checks whether START_SESSION is to be sent.
    pub fn is_start_due(&self) -> bool {
        matches!(
            self,
            Self::Pending {
                start: Start::Due | Start::Waiting { .. },
                ..
            }
        )
    }

    /// Checks whether the start waits for room at its site.
    pub fn is_waiting_for_room(&self) -> bool {
        matches!(
            self,
            Self::Pending {
                start: Start::Waiting { .. },
                ..
            }
        )
    }

    /// Checks whether a start that is to be sent is too late for a session that was created at a moment.
    pub fn is_start_late(&self, created: Timestamp, now: Timestamp) -> bool {
        let patience = match self {
            Self::Pending {
                start: Start::Waiting { .. },
                ..
            } => ROOM_PATIENCE,
            _ => START_PATIENCE,
        };
        now.since(created) >= patience
    }

    /// Returns the time that is booked in the calendars for a session at a network's station.
    pub fn hold(&self) -> Option<Window> {
        match self {
            Self::Pending { hold, .. } => *hold,
            _ => self.at_network().and_then(|network| network.hold),
        }
    }

    /// Returns the request to the network to end the session.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            Self::Completed {
                settlement: Settlement::Awaited { stop, .. },
                ..
            }
            | Self::Cancelled { stop, .. }
            | Self::Failed { stop, .. } => *stop,
            _ => self.at_network().and_then(|network| network.stop),
        }
    }

    /// Returns the place of the request to the network to end the session; None if nothing is to be requested.
    pub(super) fn stop_mut(&mut self) -> Option<&mut Option<Stop>> {
        match self {
            Self::Completed {
                settlement: Settlement::Awaited { stop, .. },
                ..
            }
            | Self::Cancelled { stop, .. }
            | Self::Failed { stop, .. } => Some(stop),
            _ => self.at_network_mut().map(|network| &mut network.stop),
        }
    }

    /// Checks whether the tenant has ended the session, and the network has not reported its end.
    pub(crate) fn was_ended_by_tenant(&self) -> bool {
        match self {
            Self::Completed {
                settlement:
                    Settlement::Awaited {
                        ended_by_tenant, ..
                    },
                ..
            }
            | Self::Failed {
                ended_by_tenant, ..
            } => *ended_by_tenant,
            _ => false,
        }
    }

    /// Checks whether the session has begun, also if it has failed since.
    pub(crate) fn has_begun(&self) -> bool {
        match self {
            Self::Active { .. } | Self::Completed { .. } => true,
            Self::Failed { has_begun, .. } => *has_begun,
            Self::Pending { .. } | Self::Cancelled { .. } => false,
        }
    }

    pub fn price_check(&self) -> Option<PriceCheck> {
        match self {
            Self::Completed { price_check, .. } => *price_check,
            _ => None,
        }
    }

    pub fn failed_reason(&self) -> Option<SessionFailedReason> {
        match self {
            Self::Failed { reason, .. } => *reason,
            _ => None,
        }
    }

    pub(crate) fn settlement_mut(&mut self) -> Option<&mut Settlement> {
        match self {
            Self::Completed { settlement, .. } => Some(settlement),
            _ => None,
        }
    }

    pub fn final_price(&self) -> Option<&FinalPrice> {
        match self {
            Self::Completed {
                settlement: Settlement::Final(price),
                ..
            } => Some(price),
            _ => None,
        }
    }

    pub(crate) fn final_price_mut(&mut self) -> Option<&mut FinalPrice> {
        match self.settlement_mut() {
            Some(Settlement::Final(price)) => Some(price),
            _ => None,
        }
    }

    /// Returns the price that waits for a decision.
    pub fn review(&self) -> Option<&PendingReview> {
        match self {
            Self::Completed {
                settlement: Settlement::UnderReview(review),
                ..
            } => Some(review),
            _ => self.final_price().and_then(|price| price.review.as_ref()),
        }
    }

    pub(crate) fn review_mut(&mut self) -> Option<&mut PendingReview> {
        match self.settlement_mut()? {
            Settlement::UnderReview(review) => Some(review),
            Settlement::Final(price) => price.review.as_mut(),
            Settlement::Awaited { .. } => None,
        }
    }

    /// Returns the next action of the service for a session that was created and began at these moments, and its time.
    pub(super) fn next_action(
        &self,
        created: Timestamp,
        started: Timestamp,
    ) -> Option<(Timestamp, Action)> {
        let next_stop = self.stop().and_then(|stop| stop.next);
        let at = match self {
            Self::Pending {
                start: Start::Due, ..
            } => Some(created),
            Self::Pending {
                start: Start::Waiting { next },
                ..
            } => Some(*next),
            Self::Pending { sent, .. } => Some(sent.unwrap_or(created).plus(START_PATIENCE)),
            Self::Active {
                operated_by: Operator::Simulation(simulated),
                ..
            } => return Some((simulated.held_until, Action::StopSession)),
            Self::Active {
                operated_by: Operator::Network(network),
                ..
            } => {
                let longest = longest_until(created, started);
                let longest = network.stop.is_none().then_some(longest);
                let held = network.hold.map(|hold| hold.until);
                let profile = network.profile.as_ref().and_then(|profile| profile.next);
                let clearing = network.clearing.map(|clearing| clearing.next);
                let stalls = network.stalls_at();
                let moments = [next_stop, longest, held, stalls, profile, clearing];
                moments.into_iter().flatten().min()
            }
            Self::Completed {
                settlement: Settlement::Final(price),
                ..
            } if price.is_charging => return Some((price.at, Action::SettleSession)),
            Self::Completed {
                ended,
                settlement: Settlement::Awaited { heard_at, .. },
                ..
            } => {
                let heard_at = heard_at.unwrap_or(*ended);
                let closes = heard_at.plus(CDR_PATIENCE);
                next_stop.into_iter().chain([closes]).min()
            }
            Self::Completed { .. } => self.review().and_then(|review| review.repeat_at),
            Self::Cancelled { .. } | Self::Failed { .. } => next_stop,
        };
        at.map(|at| (at, Action::OperateSession))
    }
}

impl Settlement {
    /// The network has ended the session, and is to bill it.
    pub const AWAITED: Self = Self::Awaited {
        stop: None,
        ended_by_tenant: false,
        heard_at: None,
    };
}

impl FinalPrice {
    pub fn new(at: Timestamp, is_charging: bool) -> Self {
        Self {
            at,
            is_charging,
            adjusted: Total::default(),
            overruled: None,
            review: None,
        }
    }
}

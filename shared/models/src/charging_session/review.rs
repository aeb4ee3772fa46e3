//! The review of a price: the amount that a charging network bills for a session is not billed at once if it is not plausible.
//!
//! A review is opened when the price would become final, or would be adjusted. The tenant accepts the price or disputes it; an operator
//! accepts it, or decides that the service's own price is billed. A CDR or a credit that makes the total plausible closes the review as
//! well. Until then nothing of the price under review is billed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::network::Total;
use crate::body::RequestBody;
use kernel::fields::text::Description;
use kernel::time::days;
use kernel::{SignedDuration, Timestamp};

/// The time after which `charging_session.review_opened` is sent again for an open review.
pub const REPEAT_AFTER: SignedDuration = days(14);

/// A price of a charging network that is billed only after a decision about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Review {
    /// When the tenant disputed the price. An operator then decides.
    #[schema(required)]
    pub disputed: Option<Timestamp>,
    /// Minor units of the session's currency, with tax, that the network bills for the session in all.
    #[schema(example = 999_999_900)]
    pub network: i64,
    /// The tenant's note on the dispute.
    #[schema(required)]
    pub note: Option<String>,
    /// Time at which the review was opened.
    pub opened: Timestamp,
    /// Minor units of the session's currency, with tax, that the session costs by the tariff that the station had when the session began;
    /// if that tariff is unknown, by a price per kWh that the service assumes. Energy beyond what the charging point can deliver is left
    /// out. It is never more than `network`.
    #[schema(example = 484)]
    pub ours: i64,
    /// Why the price is reviewed before it is billed.
    pub reason: ReviewReason,
}

/// The total that a network bills for a session, and the service's own price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    pub network: Total,
    pub ours: Total,
}

/// A price under review as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingReview {
    pub opened: Timestamp,
    pub reason: ReviewReason,
    pub prices: Prices,
    /// The energy in Wh of the service's own price.
    pub energy: i64,
    /// When the tenant disputed the price, and the tenant's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the event of the review is sent again; None after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_at: Option<Timestamp>,
}

impl From<&PendingReview> for Review {
    fn from(pending: &PendingReview) -> Self {
        Self {
            disputed: pending.disputed,
            network: pending.prices.network.gross,
            note: pending.note.clone(),
            opened: pending.opened,
            ours: pending.prices.ours.gross,
            reason: pending.reason,
        }
    }
}

/// The reason why a price is not plausible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The energy exceeds what the charging point can deliver in the time of the session by more than a tenth.
    Energy,
    /// The price exceeds the service's own by more than half, and by more than an amount that is set for the currency.
    Price,
}

/// The tenant's decision about a price under review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The price of the network is billed.
    Accept,
    /// An operator is to decide.
    Dispute,
}

/// An operator's decision about a price under review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorDecision {
    /// The price of the network is billed.
    Accept,
    /// The service's own price is billed.
    UseOurs,
}

/// The body of `POST /v1/charging_sessions/{id}/review`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewRequest {
    /// Decision about the price that the network bills.
    pub decision: ReviewDecision,
    /// For the operator who decides about a disputed price; shown in `review.note` while the review is open. If it is omitted, the note
    /// of an earlier dispute is kept.
    pub note: Option<Description>,
}

impl RequestBody for ReviewRequest {}

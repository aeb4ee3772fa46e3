//! Payment cards.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Card {
    pub brand: String,
    /// 1 to 12.
    pub exp_month: u8,
    pub exp_year: u16,
    /// The same for the same card, whatever its token.
    pub fingerprint: String,
    pub last4: String,
}

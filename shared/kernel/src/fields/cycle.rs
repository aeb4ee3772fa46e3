//! The frequency of invoices and reports.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The frequency of a fleet's invoices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillingCycle {
    Weekly,
    #[default]
    Monthly,
    Quarterly,
    Yearly,
}

/// The frequency of a fleet's reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFrequency {
    Never,
    Daily,
    #[default]
    Weekly,
    Monthly,
    Quarterly,
}

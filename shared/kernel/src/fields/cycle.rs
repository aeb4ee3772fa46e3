//! How often invoices and reports are created.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How often a fleet is invoiced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillingCycle {
    Weekly,
    #[default]
    Monthly,
    Quarterly,
    Yearly,
}

/// How often the reports of a fleet are created.
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

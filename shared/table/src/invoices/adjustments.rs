//! The adjustments of a tenant. Invoices read one list of those that no paid invoice bills, and their claims decide which are billed. Once
//! its invoice is paid, an adjustment is in the list of the month in which it was created, which only reports read.

use std::collections::BTreeMap;

use super::paid::months;
use crate::entries::key_of_entry;
use crate::keys::Partition;
use crate::{Store, stored_item};
use kernel::{Id, Result, Tenant, Timestamp, Window};
use models::{Adjustment, Stored};

impl Store {
    /// Returns the adjustments that no paid invoice bills, as they are now: they decide what is billed.
    ///
    /// # Errors
    /// Fails if an item cannot be read; `Unavailable` if DynamoDB cannot be reached.
    pub async fn open_adjustments(&self, tenant: &Tenant) -> Result<Vec<Stored<Adjustment>>> {
        self.adjustments_in(Partition::OpenAdjustments { tenant })
            .await
    }

    /// Returns the adjustments of a session or a reservation, as they are now: they decide what is returned.
    ///
    /// # Errors
    /// As [`Store::open_adjustments`].
    pub async fn adjustments_of(
        &self,
        tenant: &Tenant,
        what: &Id,
    ) -> Result<Vec<Stored<Adjustment>>> {
        self.adjustments_in(Partition::AdjustmentsOf { tenant, what })
            .await
    }

    /// Returns the adjustments that were created within a window.
    ///
    /// # Errors
    /// As [`Store::open_adjustments`].
    pub async fn adjustments_within(
        &self,
        tenant: &Tenant,
        window: Window,
        now: Timestamp,
    ) -> Result<Vec<Stored<Adjustment>>> {
        let mut all = self.open_adjustments(tenant).await?;
        for month in months(window, now) {
            let paid = Partition::PaidAdjustments { tenant, month };
            all.extend(self.adjustments_in(paid).await?);
        }
        // An adjustment whose invoice is paid between two reads is read twice; the second result is newer.
        let mut found = BTreeMap::new();
        for adjustment in all {
            found.insert(adjustment.object.id.clone(), adjustment);
        }
        let is_within = |adjustment: &Stored<Adjustment>| {
            (window.from..window.until).contains(&adjustment.object.created)
        };
        Ok(found.into_values().filter(is_within).collect())
    }

    async fn adjustments_in(&self, partition: Partition<'_>) -> Result<Vec<Stored<Adjustment>>> {
        let entries = self.entries_in(partition).await?;
        let keys = entries.iter().map(key_of_entry).collect();
        let items = self.items(keys, None, true).await?;
        items.into_iter().map(stored_item::from_item).collect()
    }
}

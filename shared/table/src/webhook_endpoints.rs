//! The webhook endpoints of a tenant, and their number.

use super::keys::{Key, Partition};
use super::page::PageRequest;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n};
use kernel::{Error, Kind, Result, Tenant};
use models::WebhookEndpoint;
use models::webhook_endpoint::MAX_ENDPOINTS;

impl Store {
    /// Returns all webhook endpoints of a tenant, newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn webhook_endpoints(&self, tenant: &Tenant) -> Result<Vec<WebhookEndpoint>> {
        let partition = Partition::Kind {
            tenant,
            kind: Kind::WebhookEndpoint,
        };
        let found = self
            .list(partition, &PageRequest::first(MAX_ENDPOINTS), Vec::new())
            .await?;
        Ok(found
            .items
            .into_iter()
            .map(|endpoint| endpoint.object)
            .collect())
    }
}

impl UnitOfWork<'_> {
    /// Increases or decreases the number of webhook endpoints of the first of these accounts by one. `lineage` is that account and the
    /// accounts above it: each counts its own endpoints with those of the accounts below it in `total`, and only its own in `count`.
    /// The commit fails with 409 if one of the accounts has reached the maximum.
    pub fn count_endpoint(&mut self, lineage: &[Tenant], by: i8, most_with_children: u32) {
        for (above, tenant) in lineage.iter().enumerate() {
            let is_own = above == 0;
            let mut update = self
                .store
                .update(Key::EndpointCount { tenant })
                .update_expression(if is_own {
                    "ADD #total :by, #count :by"
                } else {
                    "ADD #total :by"
                })
                .expression_attribute_names("#total", "total")
                .expression_attribute_values(":by", n(by));
            if is_own {
                update = update.expression_attribute_names("#count", "count");
            }
            if by > 0 {
                let room = "(attribute_not_exists(#total) OR #total < :most_total)";
                let own_room = "(attribute_not_exists(#count) OR #count < :most)";
                update = update.expression_attribute_values(":most_total", n(most_with_children));
                update = if is_own {
                    update
                        .condition_expression(format!("{room} AND {own_room}"))
                        .expression_attribute_values(":most", n(MAX_ENDPOINTS))
                } else {
                    update.condition_expression(room)
                };
            }
            let message = if is_own {
                format!(
                    "There are {MAX_ENDPOINTS} webhook endpoints already, the most there can be, or {most_with_children} \
                     together with those of the accounts below this one."
                )
            } else {
                format!(
                    "The account {} has {most_with_children} webhook endpoints together with the accounts below it, the \
                     most it may have.",
                    tenant.account
                )
            };
            self.push(Write::Update(update), Error::conflict(message, None));
        }
    }
}

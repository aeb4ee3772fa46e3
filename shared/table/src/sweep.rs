//! The search for due actions, for work whose trigger was lost.
//!
//! Waiting items are spread over the partitions of the index `next_action`. Each partition is read a page at a time, the longest overdue
//! first, and a page contains the place where the next one begins.

use super::{Item, Store, client, keys, networks, s, string};
use kernel::{Id, Result, Tenant, Timestamp};
use models::ports::DueCursor;

/// An item that waits for an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub tenant: Tenant,
    pub id: Id,
    /// The webhook endpoint, if a delivery waits.
    pub endpoint: Option<Id>,
    pub due: Timestamp,
}

/// A page of due items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuePage {
    pub items: Vec<Waiting>,
    /// The place where the next page begins; `None` after the last.
    pub next: Option<DueCursor>,
}

/// The number of items of a page: a key has about 250 bytes.
pub const SWEEP_PAGE: usize = 500;

impl Store {
    /// Returns a page of the items of a partition that are due before a moment, the longest overdue first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn due_before(
        &self,
        partition: u8,
        moment: Timestamp,
        after: Option<&DueCursor>,
    ) -> Result<DuePage> {
        let name = keys::next_actions(partition);
        let start = after.map(|after| {
            let DueCursor { pk, sk, next_at } = after;
            let keys = [
                ("pk", pk),
                ("sk", sk),
                ("next_pk", &name),
                ("next_at", next_at),
            ];
            keys.map(|(attribute, value)| (attribute.to_owned(), s(value)))
                .into()
        });
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("next_action")
            .key_condition_expression("next_pk = :pk AND next_at < :before")
            .expression_attribute_values(":pk", s(&name))
            .expression_attribute_values(":before", s(moment.to_string()))
            .set_exclusive_start_key(start)
            .set_limit(i32::try_from(SWEEP_PAGE).ok())
            .send()
            .await
            .map_err(client::failure)?;
        let next = page.last_evaluated_key.map(|item| DueCursor {
            pk: string(&item, "pk").to_owned(),
            sk: string(&item, "sk").to_owned(),
            next_at: string(&item, "next_at").to_owned(),
        });
        let items = page.items.unwrap_or_default();
        let items = items.iter().filter_map(waiting).collect();
        Ok(DuePage { items, next })
    }
}

/// Returns the content of an entry of the index `next_action`.
fn waiting(item: &Item) -> Option<Waiting> {
    let (pk, sk) = (string(item, "pk"), string(item, "sk"));
    let of_network = || {
        let (mode, id) = keys::parse_network(pk)?;
        Some((networks::operators(mode), id))
    };
    let of_delivery = || {
        let (tenant, endpoint, id) = keys::parse_delivery(pk, sk)?;
        Some((tenant, id, Some(endpoint)))
    };
    let object = keys::parse_object(pk)
        .or_else(|| keys::parse_event(pk, sk))
        .or_else(of_network)
        .map(|(tenant, id)| (tenant, id, None));
    let (tenant, id, endpoint) = object.or_else(of_delivery)?;
    Some(Waiting {
        tenant,
        id,
        endpoint,
        due: Timestamp::parse(string(item, "next_at")).ok()?,
    })
}

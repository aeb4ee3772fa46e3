//! The queues of objects at endpoints with `ordered`: events that wait for other events of their object ([`models::webhooks::order`]).
//!
//! An entry is an item of its own, as is the number whose turn it is. The items of an object and endpoint share a partition key.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::keys::{Key, queue_partition};
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::{Id, Origin, Result, Tenant, Timestamp};
use models::event;
use models::webhooks::order::{self, Entry, Queue};

/// The number of entries that are read at a time.
const PAGE: i32 = 25;

/// The queue of an object at an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct QueueOf<'a> {
    pub endpoint: &'a Id,
    pub object: &'a str,
}

impl<'a> QueueOf<'a> {
    fn key(self, tenant: &'a Tenant, sequence: Option<u64>) -> Key<'a> {
        Key::Queued {
            tenant,
            endpoint: self.endpoint,
            object: self.object,
            sequence,
        }
    }
}

impl Store {
    /// Adds an entry to a queue.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn enqueue(&self, origin: &Origin, of: QueueOf<'_>, entry: &Entry) -> Result<()> {
        let mut item = new_item(of.key(&origin.tenant, Some(entry.sequence)));
        if let Some(event) = &entry.event {
            item.insert("event".into(), s(event.as_str()));
        }
        item.insert("added".into(), s(entry.added.to_string()));
        let expires = origin.now.plus(event::KEPT);
        item.insert("ttl".into(), n(expires.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map(drop).map_err(client::failure)
    }

    /// Passes the turn on if it is the turn of this number, whose event is not delivered to the endpoint. Returns false if it is not: then
    /// the number needs an entry.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn pass_turn(&self, origin: &Origin, of: QueueOf<'_>, number: u64) -> Result<bool> {
        let call = self
            .set_next(origin, of, number + 1)
            .condition_expression("next_number = :read")
            .expression_attribute_values(":read", n(number));
        Ok(client::if_met(call.send().await)?.is_some())
    }

    /// Returns the number whose turn it is and the first entries of a queue, read consistently.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn queue(&self, tenant: &Tenant, of: QueueOf<'_>) -> Result<Queue> {
        let partition = queue_partition(tenant, of.endpoint, of.object);
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(partition))
            .consistent_read(true)
            .limit(PAGE)
            .send()
            .await
            .map_err(client::failure)?;
        let mut queue = Queue::default();
        for item in page.items() {
            match string(item, "sk").parse() {
                Ok(sequence) => queue.entries.push(entry(item, sequence)),
                Err(_) => queue.next = Some(number(item, "next_number").unsigned_abs()),
            }
        }
        Ok(queue)
    }

    /// Passes the turn in a queue that was read on to a number, and removes the entries before it. Nothing happens if another worker has
    /// passed it on meanwhile.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn advance(
        &self,
        origin: &Origin,
        of: QueueOf<'_>,
        read: &Queue,
        next: u64,
    ) -> Result<()> {
        let call = self.set_next(origin, of, next);
        let call = match read.next {
            None => call.condition_expression("attribute_not_exists(pk)"),
            Some(read) => call
                .condition_expression("next_number = :read")
                .expression_attribute_values(":read", n(read)),
        };
        if client::if_met(call.send().await)?.is_none() {
            return Ok(());
        }
        let passed = read.entries.iter().filter(|entry| entry.sequence < next);
        for entry in passed {
            let key = key_item(of.key(&origin.tenant, Some(entry.sequence)));
            let delete = self.client.delete_item().table_name(&self.table);
            let deleted = delete.set_key(Some(key)).send().await;
            deleted.map_err(client::failure)?;
        }
        Ok(())
    }

    fn set_next(&self, origin: &Origin, of: QueueOf<'_>, next: u64) -> UpdateItemFluentBuilder {
        let expires = origin.now.plus(order::KEPT);
        let call = self.client.update_item().table_name(&self.table);
        call.set_key(Some(key_item(of.key(&origin.tenant, None))))
            .update_expression("SET next_number = :next, #ttl = :ttl")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":next", n(next))
            .expression_attribute_values(":ttl", n(expires.unix_seconds()))
    }
}

fn entry(item: &Item, sequence: u64) -> Entry {
    let event = string(item, "event");
    Entry {
        sequence,
        event: (!event.is_empty()).then(|| Id::from(event)),
        added: Timestamp::parse(string(item, "added")).unwrap_or(Timestamp::EPOCH),
    }
}

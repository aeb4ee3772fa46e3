//! Keys of events, of the feed of events, and of deliveries to webhook endpoints.

use super::shards::{EVENT_SHARDS, numbered};
use super::tenant::{of_tenant, parse_tenant, tenant_of};
use kernel::{Id, Kind, Tenant, Timestamp};

/// Returns the partitions of the table with the feed of events.
pub fn feed_partitions(tenant: &Tenant) -> Vec<String> {
    let partition = |number| feed_partition(tenant, number);
    (0..EVENT_SHARDS).map(partition).collect()
}

pub(super) fn feed_partition(tenant: &Tenant, number: u8) -> String {
    let feed = format!("{}#FEED", Kind::Event.name());
    numbered(&of_tenant(tenant, &feed), number)
}

/// Returns the sort key behind the entries of an event at a moment in the feed, or before all entries of the moment.
pub fn behind_in_feed(at: Timestamp, event: Option<&Id>) -> String {
    // The entries of the event end with its id, or continue with `#`, which comes before `$`.
    let event = event.map_or_else(String::new, |event| format!("{event}$"));
    format!("{}#{event}", moment(at))
}

/// Returns a moment as a text whose order is that of the moments.
pub(super) fn moment(at: Timestamp) -> String {
    format!("{:013}", at.unix_millis())
}

/// Returns one of the partitions of the table with the deliveries to an endpoint.
pub fn deliveries_partition(tenant: &Tenant, endpoint: &Id, number: u8) -> String {
    numbered(&of_tenant(tenant, endpoint.as_str()), number)
}

/// Returns the partition of the table with the deliveries that are held for an endpoint.
pub fn held_partition(tenant: &Tenant, endpoint: &Id) -> String {
    of_tenant(tenant, &format!("{endpoint}#HELD"))
}

/// Returns the partition of the table with the queue of an object at a webhook endpoint.
pub fn queue_partition(tenant: &Tenant, endpoint: &Id, object: &str) -> String {
    of_tenant(tenant, &format!("{endpoint}#ORDER#{object}"))
}

/// Returns the tenant and id of the key of an event.
pub fn parse_event(pk: &str, sk: &str) -> Option<(Tenant, Id)> {
    let (tenant, id) = (tenant_of(pk)?, Id::from(sk));
    id.is(Kind::Event).then_some((tenant, id))
}

/// Returns the tenant, the webhook endpoint and the id of the key of a delivery.
pub fn parse_delivery(pk: &str, sk: &str) -> Option<(Tenant, Id, Id)> {
    let (tenant, rest) = parse_tenant(pk)?;
    let (endpoint, number) = rest.split_once('#')?;
    let endpoint = Some(Id::from(endpoint)).filter(|_| number.parse::<u8>().is_ok())?;
    let delivery = Some(Id::from(sk)).filter(|id| id.is(Kind::WebhookDelivery))?;
    Some((tenant, endpoint, delivery))
}

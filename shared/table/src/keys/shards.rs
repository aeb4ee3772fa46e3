//! The partitions over which items are spread that are written faster than one partition accepts.

/// The number of partitions for the events of an account: 6 events for each of 1,000 reservations a second are 750 writes a second in each
/// partition.
pub(super) const EVENT_SHARDS: u8 = 8;

/// The number of partitions for the open objects of an account: 2 writes for each of 1,000 reservations a second are 500 in each partition.
pub(super) const OPEN_SHARDS: u8 = 4;

/// The number of partitions for the deliveries to an endpoint: two writes of each of 6 deliveries for each of 1,000 reservations a second
/// are 750 in each partition.
pub const DELIVERY_SHARDS: u8 = 16;

/// Returns one of several partitions. The text determines which.
pub(super) fn shard(text: &str, of: u8) -> u8 {
    (crc32fast::hash(text.as_bytes()) % u32::from(of)) as u8
}

pub(super) fn numbered(value: &str, number: u8) -> String {
    format!("{value}#{number}")
}

/// The number of partitions of the index `next_action`: 4,000 reservations a second write about ten entries each, which are 640 a second in
/// each partition.
pub const NEXT_ACTION_PARTITIONS: u8 = 64;

/// Returns the partition of the index `next_action` for an item.
pub fn next_action_partition(pk: &str, sk: &str) -> String {
    next_actions(shard(&format!("{pk} {sk}"), NEXT_ACTION_PARTITIONS))
}

/// Returns the name of one partition of the index `next_action`.
pub fn next_actions(number: u8) -> String {
    format!("NEXT#{number}")
}

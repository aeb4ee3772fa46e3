//! Keys of the texts and of the metadata by which objects are found.

use sha2::{Digest as _, Sha256};

use super::tenant::of_tenant;
use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Tenant};

/// Returns the partition of the texts by which the objects of a tenant are found.
pub fn search_partition(tenant: &Tenant) -> String {
    of_tenant(tenant, "SEARCH")
}

/// Returns the partition key of the objects that have a pair in their metadata. It contains a hash of the pair, because a pair may be
/// longer than a partition key.
pub fn metadata_partition(tenant: &Tenant, pair: &MetadataPair) -> String {
    let hash = Sha256::digest(format!("{}:{}", pair.key, pair.value));
    of_tenant(tenant, &format!("META#{}", hex::encode(&hash[..16])))
}

/// Returns the prefix of the sort keys of the texts with a beginning by which objects of a kind are found.
pub fn found_prefix(kind: Kind, text: &str) -> String {
    format!("{}#{text}", kind.name())
}

/// Returns the text and the object in the sort key of a search text.
pub fn parse_found(sk: &str) -> Option<(&str, Id)> {
    let (_, found) = sk.split_once('#')?;
    let (text, id) = found.split_once('#')?;
    let id = Id::from(id);
    id.kind().is_some().then_some((text, id))
}

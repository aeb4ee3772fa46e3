//! Keys that begin with a tenant: those of its objects, and of items that belong to an object.

use kernel::{Id, Kind, Tenant};

/// The sort key of an item that is the only one under its partition key.
pub(super) const ALONE: &str = "#";
/// The prefix of the sort keys of the bodies of a batch.
pub(super) const CHUNK: &str = "CHUNK#";
/// The end of the partition key of the number of a tenant's webhook endpoints.
pub(super) const ENDPOINTS: &str = "ENDPOINTS";
/// The sort key of the item that marks an invoice as in progress.
pub(super) const MAKING: &str = "MAKING";

pub(super) fn of_tenant(tenant: &Tenant, rest: &str) -> String {
    format!("{}#{}#{rest}", tenant.account, tenant.mode)
}

/// Returns the tenant that a `pk` begins with, and the rest of it.
pub(super) fn parse_tenant(pk: &str) -> Option<(Tenant, &str)> {
    let (account, rest) = pk.split_once('#')?;
    let (mode, rest) = rest.split_once('#')?;
    let account = Some(Id::from(account)).filter(|id| id.is(Kind::Account))?;
    let mode = mode.parse().ok()?;
    Some((Tenant::new(account, mode), rest))
}

/// Returns the tenant of an item, by its `pk`.
pub fn tenant_of(pk: &str) -> Option<Tenant> {
    parse_tenant(pk).map(|(tenant, _)| tenant)
}

/// Returns the tenant and id of an object's `pk`, for items that are read without their content.
pub fn parse_object(pk: &str) -> Option<(Tenant, Id)> {
    let (tenant, id) = parse_tenant(pk)?;
    let id = Id::from(id);
    id.kind().is_some().then_some((tenant, id))
}

/// Returns the position of the bodies of a batch, by their sort key.
pub fn parse_chunk(sk: &str) -> Option<usize> {
    sk.strip_prefix(CHUNK)?.parse().ok()
}

/// Returns whether an item is an invoice.
pub fn is_invoice(pk: &str) -> bool {
    parse_object(pk).is_some_and(|(_, id)| id.is(Kind::Invoice))
}

/// Returns the id at the end of the key of an object's item: its sort key, or the last part of the partition key if the item is the only
/// one under it.
pub fn id_of(pk: &str, sk: &str) -> Option<Id> {
    let last = if sk == ALONE {
        pk.rsplit('#').next()?
    } else {
        sk
    };
    Some(Id::from(last)).filter(|id| id.kind().is_some())
}

pub fn is_idempotency_record(pk: &str) -> bool {
    pk.split('#').nth(2) == Some("IDEM")
}

/// Returns whether an item under an invoice's `pk` is the parent of its lines: the invoice, or the item that marks it as in progress.
pub fn heads_object(sk: &str) -> bool {
    matches!(sk, ALONE | MAKING)
}

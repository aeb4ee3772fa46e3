//! Keys of accounts, and the account in other keys.

use super::networks::{CARD, OBJECT};
use super::tenant::{ENDPOINTS, of_tenant, parse_tenant};
use kernel::{Id, Kind, Tenant};

/// Returns the account that an item belongs to, by its partition key: `<acct>#…`, `ACCOUNT#<acct>` or `KEY#<acct>#…`. Returns `None` for
/// items that belong to no account.
pub fn account_of(pk: &str) -> Option<Id> {
    let named = ["ACCOUNT#", "KEY#"];
    let rest = named.iter().find_map(|prefix| pk.strip_prefix(prefix));
    let id = Id::from(rest.unwrap_or(pk).split('#').next()?);
    id.is(Kind::Account).then_some(id)
}

/// Returns whether an item is an account, or counts the accounts below it.
pub fn is_account(pk: &str) -> bool {
    pk.starts_with("ACCOUNT#")
}

/// Returns whether an item is the number of a tenant's webhook endpoints.
pub fn is_endpoint_count(pk: &str) -> bool {
    parse_tenant(pk).is_some_and(|(_, rest)| rest == ENDPOINTS)
}

/// Returns the prefix of the partition keys of a tenant's items, the partition key of its account, and the prefix of those of the account's
/// keys.
pub fn of_account(tenant: &Tenant) -> [String; 3] {
    let id = &tenant.account;
    [
        of_tenant(tenant, ""),
        format!("ACCOUNT#{id}"),
        format!("KEY#{id}#"),
    ]
}

/// Returns whether an item that belongs to no account may contain accounts: a calendar, an id of the payment provider, the site of a
/// station, an object that a party has sent, a command to a network, or the token of a charge card.
pub fn is_about_accounts(pk: &str) -> bool {
    let Some((_, rest)) = pk.split_once('#') else {
        return false;
    };
    let of_network = rest.strip_prefix("OCPI#").unwrap_or_default();
    let of_network = of_network.split('#').next().unwrap_or_default();
    rest.starts_with("CAL#")
        || rest.starts_with("PROVIDER#")
        || rest.starts_with("SITES#")
        || [OBJECT, "COMMAND", CARD].contains(&of_network)
}

/// Returns whether an item is a calendar in which several accounts may have entries: that of an EVSE.
pub fn is_shared_calendar(pk: &str) -> bool {
    let owner = pk.split_once("#CAL#").map(|(_, owner)| owner);
    owner.is_some_and(|owner| owner.starts_with(Kind::ChargingStation.prefix()))
}

/// Returns the account of the `pk` of an account's own item.
pub fn parse_account(pk: &str) -> Option<Id> {
    let id = Id::from(pk.strip_prefix("ACCOUNT#")?);
    id.is(Kind::Account).then_some(id)
}

//! The indexes of the table, and their attributes.

use kernel::Kind;

/// Returns the index of the list of all objects of a kind. Objects that change often are in an index that holds only keys.
pub(super) fn list_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => TABLE,
        Kind::ApiKey
        | Kind::ChargingSession
        | Kind::ChargingStation
        | Kind::Fleet
        | Kind::Invoice
        | Kind::Reservation
        | Kind::Transaction => "ids",
        _ => "list",
    }
}

/// Returns whether the list of all objects of a kind is in an index that holds keys, so that the items are read with a second call.
pub fn is_list_of_keys(kind: Kind) -> bool {
    !holds_items(list_of(kind))
}

/// The value for the table itself in place of the name of an index: a list of the items of some of its partitions, by their sort keys.
pub const TABLE: &str = "table";

/// Returns whether an index holds whole items.
pub fn holds_items(index: &str) -> bool {
    matches!(index, "list" | TABLE)
}

/// Returns the attribute that is the hash key of an index or of the table.
pub fn hash_key_of(index: &str) -> String {
    match index {
        TABLE => "pk".to_owned(),
        _ => format!("{index}_pk"),
    }
}

/// Returns the attribute that orders the entries of a list.
pub fn order_in(index: &str) -> &'static str {
    match index {
        TABLE => "sk",
        "network" => "network_sk",
        _ => "list_sk",
    }
}

/// The attribute with the payment method of a reservation or session.
pub const PAID_WITH: &str = "paid_with";

/// The attribute that orders the stations of a region: the name of the H3 cell of resolution 8. The stations of one cell have the same
/// value, because entries of an index may have equal keys, and the id is in `pk` already.
pub const CELL: &str = "cell_sk";

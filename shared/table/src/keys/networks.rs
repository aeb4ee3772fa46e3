//! Keys of stations, of networks, and of objects that networks and this service exchange.

use super::tenant::ALONE;
use kernel::{Id, Kind, Mode};
use models::network::ObjectId;

/// The prefix, after the mode, of the keys of objects that parties have sent.
pub(super) const OBJECT: &str = "OBJECT";
/// The same prefix for the tokens of charge cards.
pub(super) const CARD: &str = "CARD";
/// The same prefix for commands to networks.
pub(super) const COMMAND: &str = "COMMAND";

pub(super) fn of_ocpi(mode: Mode, what: &str, name: &str) -> String {
    format!("{mode}#OCPI#{what}#{name}")
}

pub(super) fn of_object(mode: Mode, id: &ObjectId) -> String {
    let (owner, module, id) = (id.owner(), id.module().as_str(), id.order());
    of_ocpi(mode, OBJECT, &format!("{owner}#{module}#{id}"))
}

/// Returns the mode and id of the `pk` of an object that a party has sent, in lower case.
pub fn parse_ocpi_object(pk: &str) -> Option<(Mode, ObjectId)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, id) = rest.split_once('#')?;
    let mode = mode.parse().ok().filter(|_| what == OBJECT)?;
    Some((mode, id.parse().ok()?))
}

/// Returns the mode and id of the `pk` of a command to a network.
pub fn parse_network_command(pk: &str) -> Option<(Mode, Id)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, id) = rest.split_once('#')?;
    let id = Some(Id::from(id)).filter(|id| what == COMMAND && id.is(Kind::NetworkCommand))?;
    Some((mode.parse().ok()?, id))
}

/// Returns the mode and uid of the `pk` of a charge card's token, the uid in lower case.
pub fn parse_charge_token(pk: &str) -> Option<(Mode, String)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, uid) = rest.split_once('#')?;
    let mode = mode.parse().ok().filter(|_| what == CARD)?;
    Some((mode, uid.to_owned()))
}

/// Returns whether an item is the token of a charge card, and not a claim of its uid.
pub fn is_charge_token(pk: &str, sk: &str) -> bool {
    sk == ALONE && parse_charge_token(pk).is_some()
}

/// Returns the mode and id of a network's `pk`.
pub fn parse_network(pk: &str) -> Option<(Mode, Id)> {
    let (mode, id) = pk.split_once('#')?;
    let id = Id::from(id);
    let mode = mode.parse().ok()?;
    id.is(Kind::Network).then_some((mode, id))
}

/// Returns the partition key of the sites that a station belongs to.
pub fn sites_partition(mode: Mode, station: &Id) -> String {
    format!("{mode}#SITES#{station}")
}

/// Returns the mode and id of a station's `pk`.
pub fn parse_station(pk: &str) -> Option<(Mode, Id)> {
    let (mode, id) = pk.split_once('#')?;
    let id = Id::from(id);
    let mode = mode.parse().ok()?;
    id.is(Kind::ChargingStation).then_some((mode, id))
}

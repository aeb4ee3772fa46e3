//! The fleets that an event belongs to. An endpoint with `fleets` receives only the events of these fleets.
//!
//! The event of a fleet belongs to that fleet, the event of a driver to the fleets which the driver is attached to, and the event of any
//! other object to the fleet that its `fleet` names. The fleets that the snapshot does not show are stored in the event: the fleet of a
//! reservation, which is that of its vehicle, and the fleets before the change, so that a fleet is notified when a driver or a vehicle
//! leaves it. Events of objects without a fleet, such as policies, sites, charge cards and webhook endpoints, belong to no fleet.

use serde_json::Value;

use crate::event::Event;
use crate::stored::{Object, Stored};
use kernel::{Id, Kind};

/// Returns the fleets that the snapshot of an object shows.
fn shown(kind: Kind, object: &Value) -> Vec<Id> {
    let id = |value: &Value| value.as_str().map(Id::from);
    match kind {
        Kind::Fleet => object["id"].as_str().map(Id::from).into_iter().collect(),
        Kind::Driver => {
            let fleets = object["fleets"].as_array().into_iter().flatten();
            fleets.filter_map(id).collect()
        }
        Kind::WebhookEndpoint => Vec::new(),
        _ => id(&object["fleet"]).into_iter().collect(),
    }
}

/// Returns the fleets of a change that the snapshot after it does not show. `after` and `before` are the object with its snapshot.
pub fn besides<T: Object>(
    after: (&Stored<T>, &Value),
    before: Option<(&Stored<T>, &Value)>,
) -> Vec<Id> {
    let (_, snapshot) = after;
    let seen = shown(T::KIND, snapshot);
    let mut fleets = Vec::new();
    for (stored, snapshot) in before.into_iter().chain([after]) {
        fleets.extend(shown(T::KIND, snapshot));
        fleets.extend(T::hidden_fleet(stored).cloned());
    }
    fleets.retain(|fleet| !seen.contains(fleet));
    fleets.sort();
    fleets.dedup();
    fleets
}

impl Stored<Event> {
    /// Checks whether the event belongs to one of these fleets.
    pub fn belongs_to(&self, fleets: &[Id]) -> bool {
        let shown = shown(self.object.kind.subject(), &self.object.data.object);
        let mut own = shown.iter().chain(&self.internal.fleets);
        own.any(|fleet| fleets.contains(fleet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_snapshot_shows_its_fleets() {
        let ids = |names: &[&str]| names.iter().map(|name| Id::from(*name)).collect::<Vec<_>>();
        for (kind, object, fleets) in [
            (Kind::Fleet, json!({"id": "f1"}), ids(&["f1"])),
            (
                Kind::Driver,
                json!({"id": "d1", "fleets": ["f1", "f2"]}),
                ids(&["f1", "f2"]),
            ),
            (Kind::Vehicle, json!({"fleet": "f1"}), ids(&["f1"])),
            (Kind::Invoice, json!({"fleet": null}), ids(&[])),
            (Kind::Policy, json!({"id": "p1"}), ids(&[])),
            (Kind::WebhookEndpoint, json!({"fleets": ["f1"]}), ids(&[])),
        ] {
            assert_eq!(shown(kind, &object), fleets, "{object}");
        }
    }
}

//! The links between fleets, drivers and vehicles: memberships, counters, and the vehicles that name a driver. All of these writes are part
//! of the transaction that causes them.

use aws_sdk_dynamodb::types::AttributeValue;
use rust_decimal::Decimal;

use super::keys::Key;
use super::stored_item::without_nulls;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n, new_item, s};
use kernel::error::excerpt;
use kernel::{Code, Error, Id, Kind, Result, Timestamp};
use models::event::Cause;
use models::{EventType, Fleet, MAX_LIST, Stored};

/// A counter of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Drivers,
    Vehicles,
}

impl Counter {
    fn member(self) -> &'static str {
        match self {
            Self::Drivers => "total_drivers",
            Self::Vehicles => "total_vehicles",
        }
    }
}

impl Store {
    /// Returns the error for a vehicle that names an unknown fleet.
    pub fn no_such_fleet() -> Error {
        Code::VehicleOwnerNotFound
            .because("No such fleet.")
            .at(Kind::Fleet.name())
    }

    /// Returns the error for a vehicle that names an unknown driver.
    pub fn no_such_driver(driver: &Id) -> Error {
        let message = format!("There is no driver {:?}.", excerpt(driver.as_str()));
        Code::VehicleOwnerNotFound.because(message).at("drivers")
    }
}

impl UnitOfWork<'_> {
    /// Increases the number of a fleet's drivers or vehicles, on the condition that the fleet exists and is active, or decreases it.
    pub fn count(&mut self, fleet: &Id, counter: Counter, by: i8, refusal: Error) {
        let condition = if by > 0 {
            "#object.#status = :active"
        } else {
            "attribute_exists(pk)"
        };
        let mut update = self.store.update(Key::Object { tenant: &self.origin.tenant, id: fleet })
            .update_expression("SET #object.#counter = #object.#counter + :by, #version = #version + :one REMOVE events")
            .condition_expression(condition)
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#counter", counter.member())
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":by", n(by))
            .expression_attribute_values(":one", n(1));
        if by > 0 {
            update = update
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":active", s("active"));
        }
        self.push(Write::Update(update), refusal);
    }

    /// Adds sessions and Wh to the totals of a fleet; both may be negative. DynamoDB adds decimal numbers exactly.
    /// The commit fails with 404 if the fleet was deleted.
    pub(super) fn add_to_totals(&mut self, fleet: &Id, sessions: i64, energy: i64) {
        let update = self
            .store
            .update(Key::Object {
                tenant: &self.origin.tenant,
                id: fleet,
            })
            .update_expression(
                "SET #object.total_sessions = #object.total_sessions + :sessions, \
                 #object.total_energy_consumed_kwh = #object.total_energy_consumed_kwh + :energy, \
                 #version = #version + :one REMOVE events",
            )
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":energy", n(Decimal::new(energy, 3).normalize()))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":sessions", n(sessions));
        self.push(Write::Update(update), Error::not_found(Kind::Fleet));
    }

    /// Writes the current billing and reporting periods of a fleet, without its totals. The commit fails with `Contended` if the time of
    /// the next action is no longer `read`, or if the fleet's settings have changed.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn save_periods(&mut self, fleet: &Stored<Fleet>, read: Option<Timestamp>) -> Result<()> {
        let time =
            |moment: Option<Timestamp>| s(moment.map(|at| at.to_string()).unwrap_or_default());
        let due = fleet.next_action_at().unwrap_or(self.origin.now);
        let update = self.store.update(Key::Object {
                tenant: &self.origin.tenant,
                id: &fleet.object.id,
            })
            .update_expression(
                "SET #internal = :internal, next_at = :next_at, #version = #version + :one REMOVE events",
            )
            .condition_expression("next_at = :read AND #object.#updated = :updated")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#updated", "updated")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(
                ":internal",
                serde_dynamo::to_attribute_value(&fleet.internal).map_err(Error::internal)?,
            )
            .expression_attribute_values(":next_at", s(due.to_string()))
            .expression_attribute_values(":read", time(read))
            .expression_attribute_values(":updated", s(fleet.object.updated.to_string()))
            .expression_attribute_values(":one", n(1));
        self.push(Write::Update(update), Error::Contended);
        Ok(())
    }

    /// Adds a driver to the fleet's list of drivers.
    pub fn join(&mut self, fleet: &Id, driver: &Id) {
        let key = Key::DriverOfFleet {
            tenant: &self.origin.tenant,
            fleet,
            driver,
        };
        let put = self.store.put(new_item(key));
        self.push(Write::Put(put), Error::Contended);
    }

    /// Removes a driver from the fleet's list of drivers.
    pub fn leave(&mut self, fleet: &Id, driver: &Id) {
        let key = Key::DriverOfFleet {
            tenant: &self.origin.tenant,
            fleet,
            driver,
        };
        let delete = self.store.delete(key);
        self.push(Write::Delete(delete), Error::Contended);
    }

    /// Adds a vehicle to the list of a driver whom it names, and records the update of the driver, which is not read for it.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn name_driver(&mut self, driver: &Id, vehicle: &Id) -> Result<()> {
        let refusal = Store::no_such_driver(driver);
        let list = |id: &str| AttributeValue::L(vec![s(id)]);
        let update = self.store.update(Key::Object { tenant: &self.origin.tenant, id: driver })
            .update_expression(
                "SET #object.vehicles = list_append(#object.vehicles, :vehicle), #object.#updated = :now, #version = #version + :one, \
                 #events = :events, #sequence = if_not_exists(#sequence, :zero) + :one, #request = :request REMOVE written",
            )
            .condition_expression("attribute_exists(pk) AND size(#object.vehicles) < :most")
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#updated", "updated")
            .expression_attribute_names("#version", "version")
            .expression_attribute_names("#events", "events")
            .expression_attribute_names("#sequence", "sequence")
            .expression_attribute_names("#request", "request")
            .expression_attribute_values(":vehicle", list(vehicle.as_str()))
            .expression_attribute_values(":events", list(EventType::DriverUpdated.as_str()))
            .expression_attribute_values(":now", s(self.origin.now.to_string()))
            .expression_attribute_values(":most", n(MAX_LIST))
            .expression_attribute_values(":request", without_nulls(&Cause::of(self.origin).request)?)
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":one", n(1));
        self.push(Write::Update(update), refusal);
        Ok(())
    }
}

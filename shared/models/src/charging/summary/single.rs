//! The values of a report line that represents one session, fee, adjustment, credit note or refund, in the order of the columns.

use super::table::Cell;
use crate::adjustment::Adjustment;
use crate::charging_session::{ChargingSession, Names, SessionInternal};
use crate::credit_note::CreditNote;
use crate::report::Grouping;
use crate::reservation::{Reservation, ReservationInternal};
use crate::stored::Stored;
use crate::transaction::Transaction;

pub(super) fn of_session(session: &ChargingSession, internal: &SessionInternal) -> Vec<Cell> {
    let Names {
        driver,
        registration_plate,
        station,
    } = &internal.names;
    let status = session.status().as_str().to_owned();
    vec![
        Cell::id(Some(&session.id)),
        Cell::id(session.reservation.as_ref()),
        Cell::Text(status),
        Cell::time(Some(session.session_started)),
        Cell::time(session.state.charged().ended),
        Cell::time(session.state.ended()),
        Cell::id(Some(&session.vehicle)),
        Cell::name(registration_plate),
        Cell::id(Some(&session.driver)),
        Cell::name(driver),
        Cell::id(Some(&session.fleet)),
        Cell::id(Some(&session.charging_station)),
        Cell::name(station),
        Cell::name(&session.connector),
        Cell::id(session.invoice.as_ref()),
    ]
}

pub(super) fn of_fee(reservation: &Reservation, internal: &ReservationInternal) -> Vec<Cell> {
    let reserved = reservation.state.reserved();
    vec![
        Cell::Nothing,
        Cell::id(Some(&reservation.id)),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::id(Some(&reservation.vehicle)),
        Cell::Nothing,
        Cell::id(Some(&reservation.driver)),
        Cell::Nothing,
        Cell::id(internal.fleet.as_ref()),
        Cell::id(reserved.map(|reserved| &reserved.station)),
        Cell::Nothing,
        Cell::name(reserved.map_or("", |reserved| &reserved.connector)),
        Cell::id(internal.invoice.as_ref()),
    ]
}

pub(super) fn of_adjustment(stored: &Stored<Adjustment>) -> Vec<Cell> {
    let Adjustment { fleet, line, .. } = &stored.object;
    let name = |name: &Option<String>| Cell::name(name.as_deref().unwrap_or_default());
    vec![
        Cell::id(line.charging_session.as_ref()),
        Cell::id(line.reservation.as_ref()),
        Cell::Nothing,
        Cell::time(line.started),
        Cell::Nothing,
        Cell::time(line.ended),
        Cell::id(line.vehicle.as_ref()),
        name(&line.registration_plate),
        Cell::id(line.driver.as_ref()),
        name(&line.driver_name),
        Cell::id(fleet.as_ref()),
        Cell::id(line.charging_station.as_ref()),
        name(&line.station_name),
        name(&line.connector),
        Cell::id(stored.internal.invoice.as_ref()),
    ]
}

pub(super) fn of_credit_note(note: &CreditNote) -> Vec<Cell> {
    let mut cells = vec![Cell::Nothing; Grouping::Session.columns().len()];
    cells[10] = Cell::id(note.fleet.as_ref());
    cells[14] = Cell::id(Some(&note.invoice));
    cells
}

pub(super) fn of_refund(refund: &Transaction) -> Vec<Cell> {
    let mut cells = vec![Cell::Nothing; Grouping::Session.columns().len()];
    cells[0] = Cell::id(refund.charging_session.as_ref());
    cells[1] = Cell::id(refund.reservation.as_ref());
    cells[6] = Cell::id(refund.vehicle.as_ref());
    cells[8] = Cell::id(refund.driver.as_ref());
    cells[10] = Cell::id(refund.fleet.as_ref());
    cells[14] = Cell::id(refund.invoice.as_ref());
    cells
}

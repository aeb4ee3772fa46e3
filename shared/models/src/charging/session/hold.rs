//! The time of the EVSE and of the vehicle that others hold during a session.

use super::super::calendar::Entry;
use crate::charging_session::ChargingSession;
use crate::stored::Stored;
use kernel::id::Kind;
use kernel::time::Timestamp;

impl Stored<ChargingSession> {
    /// Returns the time from which the EVSE or the vehicle is taken. A vehicle that is reserved elsewhere does not leave for that reason.
    pub fn taken_from(
        &self,
        evse: &[Entry],
        vehicle: &[Entry],
        now: Timestamp,
    ) -> Option<Timestamp> {
        let sessions = self.others(vehicle, now);
        let sessions = sessions.filter(|entry| entry.holder.is(Kind::ChargingSession));
        let taken = self.others(evse, now).chain(sessions);
        taken.map(|entry| entry.window.from).min()
    }

    /// Returns the entries of other holders that end after a moment.
    pub(super) fn others<'a>(
        &self,
        entries: &'a [Entry],
        moment: Timestamp,
    ) -> impl Iterator<Item = &'a Entry> {
        let session = &self.object;
        entries.iter().filter(move |entry| {
            entry.holder != session.id
                && Some(&entry.holder) != session.reservation.as_ref()
                && entry.window.until > moment
        })
    }
}

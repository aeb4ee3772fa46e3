//! The time of the EVSE and of the vehicle that others hold during a session.

use super::super::calendar::Entry;
use super::HOLD;
use crate::charging_session::ChargingSession;
use crate::stored::Stored;
use kernel::{Kind, Timestamp};

impl Stored<ChargingSession> {
    /// Returns the reservations of other vehicles for which the vehicle of this session does not leave the EVSE: they have begun, or begin
    /// within 20 minutes. A vehicle is expected to leave at the end of its own reservation.
    pub fn unkept_reservations<'a>(
        &self,
        evse: &'a [Entry],
        vehicle: &[Entry],
        now: Timestamp,
    ) -> Vec<&'a Entry> {
        let own = self.object.reservation.as_ref();
        let has_time = evse
            .iter()
            .any(|entry| Some(&entry.holder) == own && now < entry.window.until);
        let begins = if has_time { now } else { now.plus(HOLD) };
        let unkept = self.others(evse, now).filter(|entry| {
            let is_of_vehicle = vehicle.iter().any(|other| other.holder == entry.holder);
            entry.holder.is(Kind::Reservation) && !is_of_vehicle && entry.window.from < begins
        });
        unkept.collect()
    }

    /// Returns the time from which the EVSE is taken.
    pub fn evse_taken_from(&self, evse: &[Entry], now: Timestamp) -> Option<Timestamp> {
        let taken = self.others(evse, now);
        taken.map(|entry| entry.window.from).min()
    }

    /// Checks whether another session of the vehicle holds it, because its card is used at two EVSEs. A vehicle that is reserved elsewhere
    /// does not leave for that reason.
    pub fn is_vehicle_taken(&self, vehicle: &[Entry], now: Timestamp) -> bool {
        let mut others = self.others(vehicle, now);
        others.any(|entry| entry.holder.is(Kind::ChargingSession))
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

#[cfg(test)]
mod tests {
    use super::super::tests::{now, scene};
    use super::*;
    use kernel::time::minutes;
    use kernel::{Id, Window};
    use serde_json::json;

    fn entry(kind: Kind, number: u128, from: i64, until: i64) -> Entry {
        Entry {
            window: Window {
                from: now().plus(minutes(from)),
                until: now().plus(minutes(until)),
            },
            holder: Id::from_number(kind, number),
            account: None,
        }
    }

    #[test]
    fn a_vehicle_leaves_at_the_end_of_its_own_reservation() {
        let mut session = scene().start(json!({})).unwrap();
        let own = entry(Kind::Reservation, 1, -30, 10);
        let next = entry(Kind::Reservation, 2, 10, 70);
        let evse = [own.clone(), next.clone()];
        let is_kept = |session: &Stored<ChargingSession>, vehicle: &[Entry], at| {
            let at = now().plus(minutes(at));
            session.unkept_reservations(&evse, vehicle, at).is_empty()
        };
        session.object.reservation = Some(own.holder.clone());
        assert!(is_kept(&session, &[], 9) && !is_kept(&session, &[], 10));
        // The next reservation is the same vehicle's.
        assert!(is_kept(&session, &[next], 10));
        // Without a reservation of its own, nothing says when it leaves.
        session.object.reservation = None;
        let at = |minute| now().plus(minutes(minute));
        let others = &evse[1..];
        assert!(session.unkept_reservations(others, &[], at(-11)).is_empty());
        assert_eq!(session.unkept_reservations(others, &[], at(-9)).len(), 1);
    }
}

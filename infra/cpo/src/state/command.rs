//! The commands of the eMSP, and their execution by the EVSEs.

use jiff::Timestamp;
use serde_json::Value;

use super::evse::can;
use super::{BEGINNING, Event, RESPONSE, Reservation, State, same};
use crate::charge::{Authorization, Charge};
use crate::script::Behaviour;
use crate::time::{plus_millis, text};

/// The response to a command: the `result` of OCPI's `CommandResponse`, or a failure of the operator's own system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Accepted,
    Rejected,
    UnknownSession,
    NotSupported,
    /// OCPI status code 2003.
    UnknownLocation,
    /// HTTP status 500.
    Failed,
}

/// A command of the eMSP.
#[derive(Debug, Clone)]
pub enum Command {
    Start {
        location: String,
        evse: Option<String>,
        authorization: Authorization,
    },
    Stop {
        session: String,
    },
    Reserve {
        id: String,
        location: String,
        evse: Option<String>,
        token: Value,
        expires: Timestamp,
    },
    Cancel {
        id: String,
    },
    Unlock {
        location: String,
        evse: String,
    },
    /// A charging profile: moments, and the highest power in W from each moment on. None clears it.
    Limit {
        session: String,
        profile: Option<Vec<(Timestamp, u64)>>,
    },
}

impl State {
    /// Receives a command, for which the script may override the charge point's behaviour. The charge point's actions and its result
    /// come later.
    pub fn command(
        &mut self,
        command: Command,
        response_url: String,
        behaviour: Option<&Behaviour>,
        now: Timestamp,
    ) -> Received {
        match behaviour {
            Some(Behaviour::Error) => return Received::Failed,
            Some(Behaviour::Reject) => return Received::Rejected,
            _ => {}
        }
        let is_profile = matches!(command, Command::Limit { .. });
        let (result, done) = match self.carry_out(command, now, behaviour) {
            Ok(done) => done,
            Err(received) => return received,
        };
        let result = match behaviour {
            Some(Behaviour::Ignore) => return Received::Accepted,
            Some(Behaviour::Fail) if is_profile => "REJECTED",
            Some(Behaviour::Fail) => "FAILED",
            Some(Behaviour::Timeout | Behaviour::TimeoutThenDone) => "TIMEOUT",
            _ => result,
        };
        let late = match behaviour {
            Some(Behaviour::Late { seconds }) => i64::from(*seconds) * 1000,
            _ => 0,
        };
        let at = plus_millis(now, RESPONSE + late);
        let times = if behaviour == Some(&Behaviour::Twice) {
            2
        } else {
            1
        };
        for _ in 0..times {
            let (url, result) = (response_url.clone(), result.to_owned());
            self.events.push((at, Event::Result { url, result }));
        }
        if let Some(event) = done {
            self.events.push((plus_millis(at, BEGINNING), event));
        }
        self.events.sort_by_key(|(at, _)| *at);
        Received::Accepted
    }

    /// Returns the charge point's result of a command, and schedules its action for a moment later. If the charge point's behaviour is
    /// a refusal or no reaction, it does nothing.
    fn carry_out(
        &mut self,
        command: Command,
        now: Timestamp,
        behaviour: Option<&Behaviour>,
    ) -> Result<(&'static str, Option<Event>), Received> {
        let obeys = matches!(
            behaviour,
            None | Some(Behaviour::TimeoutThenDone | Behaviour::Late { .. } | Behaviour::Twice)
        );
        let result = match command {
            Command::Start {
                location,
                evse,
                authorization,
            } => {
                let uid = self.choose(&location, evse.as_deref(), &authorization.token)?;
                let (result, event) = self.start(uid, authorization, now)?;
                return Ok((result, event.filter(|_| obeys)));
            }
            Command::Stop { session } => {
                let session = self.running(&session)?.id.clone();
                self.note(now, format!("STOP_SESSION of {session}"));
                return Ok(("ACCEPTED", obeys.then_some(Event::Stop { session })));
            }
            Command::Reserve {
                id,
                location,
                evse,
                token,
                expires,
            } => {
                // A reservation with an existing id is replaced.
                if obeys {
                    self.release(&id, now);
                }
                let evse = self.choose(&location, evse.as_deref(), &token)?;
                let reservation = Reservation {
                    id,
                    evse,
                    token,
                    expires,
                };
                self.reserve(reservation, obeys, now)?
            }
            Command::Cancel { id } => self.cancel(&id, obeys, now),
            Command::Limit { session, profile } => {
                self.limit(&session, profile.as_deref(), obeys, now)?;
                "ACCEPTED"
            }
            Command::Unlock { location, evse } => {
                self.unlock(&location, &evse, obeys, now)?;
                "ACCEPTED"
            }
        };
        Ok((result, None))
    }

    fn check_capability(&self, uid: &str, capability: &str) -> Result<(), Received> {
        let (_, evse) = self.evse(uid).ok_or(Received::UnknownLocation)?;
        if can(evse, capability) {
            Ok(())
        } else {
            Err(Received::NotSupported)
        }
    }

    /// The result of a start at an EVSE, and the start itself, unless the EVSE cannot be used.
    fn start(
        &mut self,
        evse: String,
        authorization: Authorization,
        now: Timestamp,
    ) -> Result<(&'static str, Option<Event>), Received> {
        self.check_capability(&evse, "REMOTE_START_STOP_CAPABLE")?;
        self.note(now, format!("START_SESSION at {evse}"));
        if let Some(result) = self.unusable(&evse, &authorization.token) {
            return Ok((result, None));
        }
        let event = Event::Begin {
            evse,
            authorization,
        };
        Ok(("ACCEPTED", Some(event)))
    }

    /// A session that has not ended.
    fn running(&self, session: &str) -> Result<&Charge, Received> {
        let charge = self.charge(session);
        let running = charge.filter(|charge| charge.ended.is_none());
        running.ok_or(Received::UnknownSession)
    }

    /// Cancels a reservation.
    fn cancel(&mut self, id: &str, obeys: bool, now: Timestamp) -> &'static str {
        self.note(now, format!("CANCEL_RESERVATION {id}"));
        if self.reservations.iter().all(|known| known.id != id) {
            return "UNKNOWN_RESERVATION";
        }
        if obeys {
            self.release(id, now);
        }
        "CANCELED_RESERVATION"
    }

    /// Unlocks the connector of an EVSE at this location.
    fn unlock(
        &mut self,
        location: &str,
        evse: &str,
        obeys: bool,
        now: Timestamp,
    ) -> Result<(), Received> {
        let (at, _) = self.evse(evse).ok_or(Received::UnknownLocation)?;
        if !same(&at["id"], location) {
            return Err(Received::UnknownLocation);
        }
        self.check_capability(evse, "UNLOCK_CAPABLE")?;
        self.note(now, format!("UNLOCK_CONNECTOR at {evse}"));
        if obeys {
            self.unplug(evse, now);
        }
        Ok(())
    }

    /// Removes the reservation with this id, if there is one.
    fn release(&mut self, id: &str, now: Timestamp) {
        let place = self.reservations.iter().position(|known| known.id == id);
        if let Some(place) = place {
            let removed = self.reservations.remove(place);
            self.set_free(&removed.evse, now);
        }
    }

    fn reserve(
        &mut self,
        reservation: Reservation,
        obeys: bool,
        now: Timestamp,
    ) -> Result<&'static str, Received> {
        let Reservation {
            id,
            evse,
            token,
            expires,
        } = &reservation;
        self.check_capability(evse, "RESERVABLE")?;
        let until = text(*expires);
        self.note(now, format!("RESERVE_NOW {id} at {evse} until {until}"));
        if let Some(result) = self.unusable(evse, token) {
            return Ok(result);
        }
        if obeys {
            self.set_status(evse, "RESERVED", now);
            self.reservations.push(reservation);
        }
        Ok("ACCEPTED")
    }

    /// Sets or clears the charging profile of a session.
    fn limit(
        &mut self,
        session: &str,
        profile: Option<&[(Timestamp, u64)]>,
        obeys: bool,
        now: Timestamp,
    ) -> Result<(), Received> {
        let running = self.running(session)?;
        let (id, uid) = (running.id.clone(), running.evse.clone());
        self.check_capability(&uid, "CHARGING_PROFILE_CAPABLE")?;
        let verb = if profile.is_some() { "set" } else { "cleared" };
        self.note(now, format!("charging profile of {id} {verb}"));
        let running = self.charge_mut(&id).filter(|_| obeys);
        match (running, profile) {
            (Some(charge), Some(profile)) => charge.limit(now, profile),
            (Some(charge), None) => charge.unlimit(now),
            (None, _) => {}
        }
        Ok(())
    }

    /// The EVSE for a command: the one that it names, or one at the location that the card could use.
    fn choose(
        &self,
        location: &str,
        evse: Option<&str>,
        token: &Value,
    ) -> Result<String, Received> {
        let known = self.location(location).ok_or(Received::UnknownLocation)?;
        let evses = known["evses"].as_array().map_or(&[][..], Vec::as_slice);
        let uids = evses.iter().filter_map(|evse| evse["uid"].as_str());
        let uids: Vec<&str> = uids
            .filter(|uid| evse.is_none_or(|evse| uid.eq_ignore_ascii_case(evse)))
            .collect();
        let usable = uids.iter().find(|uid| self.unusable(uid, token).is_none());
        let chosen = usable.or(uids.first()).ok_or(Received::UnknownLocation)?;
        Ok((*chosen).to_owned())
    }

    /// The result of a command at an EVSE, if this card cannot use the EVSE now.
    fn unusable(&self, uid: &str, token: &Value) -> Option<&'static str> {
        let reserved = self
            .reservations
            .iter()
            .find(|reservation| reservation.evse == uid);
        match self.status(uid) {
            "AVAILABLE" => None,
            "RESERVED"
                if reserved
                    .is_some_and(|reservation| self.same_card(&reservation.token, token)) =>
            {
                None
            }
            "OUTOFORDER" => Some("EVSE_INOPERATIVE"),
            _ => Some("EVSE_OCCUPIED"),
        }
    }
}

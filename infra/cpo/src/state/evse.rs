//! Actions of people at an EVSE: they hold cards to its reader, plug vehicles in and out, and break or repair it.

use jiff::Timestamp;
use serde_json::Value;

use super::{State, cdr_token, same};
use crate::charge::{Authorization, Vehicle};

/// The consequence of holding a card to a reader.
#[derive(Debug, Clone, PartialEq)]
pub enum Tap {
    /// The card may charge: its token is on the whitelist.
    Begins(Authorization),
    /// The session of the same card at this EVSE ends.
    Ends(String),
    /// The eMSP has to authorize the card.
    Ask,
    /// The card may not charge. The text is the reason.
    Refused(String),
}

impl State {
    /// Returns the consequence of a card at an EVSE. If the token of a card is not on the whitelist, the eMSP decides.
    ///
    /// # Errors
    /// There is no such EVSE.
    pub fn tap(&self, evse: &str, uid: &str, kind: &str) -> Result<Tap, String> {
        let Some((_, known)) = self.evse(evse) else {
            return Err(format!("EVSE {evse} is unknown"));
        };
        if let Some(running) = self.running_at(evse) {
            let own = same(&running.authorization.token["uid"], uid);
            let other = Tap::Refused("another card is charging here".into());
            return Ok(if own {
                Tap::Ends(running.id.clone())
            } else {
                other
            });
        }
        if !can(known, "RFID_READER") {
            return Ok(Tap::Refused("this EVSE has no card reader".into()));
        }
        let Some(token) = self.token(uid, kind) else {
            return Ok(Tap::Ask);
        };
        let whitelist = token["whitelist"].as_str().unwrap_or("NEVER");
        let valid = token["valid"] == true;
        Ok(match (whitelist, valid) {
            ("ALWAYS" | "ALLOWED" | "ALLOWED_OFFLINE", false) => {
                Tap::Refused("the token is not valid".into())
            }
            ("ALWAYS" | "ALLOWED", true) => Tap::Begins(Authorization {
                token: cdr_token(token),
                method: "WHITELIST".into(),
                reference: None,
            }),
            _ => Tap::Ask,
        })
    }

    /// Plugs a vehicle in. A vehicle that is already plugged in is replaced.
    ///
    /// # Errors
    /// The EVSE is unknown, or a session is running at it.
    pub fn plug_in(&mut self, evse: &str, vehicle: Vehicle, now: Timestamp) -> Result<(), String> {
        if self.evse(evse).is_none() {
            return Err(format!("EVSE {evse} is unknown"));
        }
        if self.running_at(evse).is_some() {
            return Err(format!("EVSE {evse} is in use"));
        }
        self.vehicles.insert(evse.to_owned(), vehicle);
        self.note(now, format!("a vehicle is plugged in at {evse}"));
        Ok(())
    }

    /// Unplugs the vehicle, which ends its session.
    pub fn unplug(&mut self, evse: &str, now: Timestamp) {
        let running = self.running_at(evse).map(|charge| charge.id.clone());
        if let Some(id) = running {
            self.end(&id, now);
        }
        self.vehicles.remove(evse);
    }

    /// Breaks an EVSE, which ends its session, or repairs it.
    ///
    /// # Errors
    /// There is no such EVSE.
    pub fn set_broken(&mut self, evse: &str, broken: bool, now: Timestamp) -> Result<(), String> {
        if self.evse(evse).is_none() {
            return Err(format!("EVSE {evse} is unknown"));
        }
        self.note(
            now,
            format!(
                "EVSE {evse} {}",
                if broken {
                    "is out of order"
                } else {
                    "works again"
                }
            ),
        );
        if broken {
            self.set_status(evse, "OUTOFORDER", now);
            self.unplug(evse, now);
            self.reservations
                .retain(|reservation| reservation.evse != evse);
        } else if self.status(evse) == "OUTOFORDER" {
            self.set_status(evse, "AVAILABLE", now);
        }
        Ok(())
    }
}

pub(super) fn can(evse: &Value, capability: &str) -> bool {
    let capabilities = evse["capabilities"].as_array();
    capabilities.is_some_and(|all| all.iter().any(|value| value == capability))
}

//! Commands to a charging station, sent through its operator.
//!
//! The operator's response states whether it has passed the command on. The station's result arrives later, at the address in the command,
//! or never. Both are stored in the words of the port ([`models::ports::network`]), into which this file translates them.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use kernel::Timestamp;
use models::charging_session::profile::PowerProfile;
use models::ports::network::{self as port, CommandKind, Rejection};
use models::token::Token;

use crate::versions::module;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum CommandType {
    CancelReservation,
    ReserveNow,
    StartSession,
    StopSession,
    /// PUT of the module `chargingprofiles`.
    SetChargingProfile,
    /// DELETE of the module `chargingprofiles`.
    ClearChargingProfile,
}

impl CommandType {
    pub const ALL: [Self; 6] = [
        Self::CancelReservation,
        Self::ClearChargingProfile,
        Self::ReserveNow,
        Self::SetChargingProfile,
        Self::StartSession,
        Self::StopSession,
    ];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

impl From<CommandType> for CommandKind {
    fn from(kind: CommandType) -> Self {
        match kind {
            CommandType::CancelReservation => Self::Cancel,
            CommandType::ReserveNow => Self::Reserve,
            CommandType::StartSession => Self::Start,
            CommandType::StopSession => Self::Stop,
            CommandType::SetChargingProfile => Self::SetProfile,
            CommandType::ClearChargingProfile => Self::ClearProfile,
        }
    }
}

/// The content of a command. `response_url` is added when it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Command {
    StartSession {
        token: Box<Token>,
        location_id: String,
        evse_uid: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        connector_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        authorization_reference: Option<String>,
    },
    StopSession {
        session_id: String,
    },
    ReserveNow {
        token: Box<Token>,
        expiry_date: Timestamp,
        reservation_id: String,
        location_id: String,
        evse_uid: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        authorization_reference: Option<String>,
    },
    CancelReservation {
        reservation_id: String,
    },
    /// `SetChargingProfile` of OCPI 2.2.1, mod_charging_profiles.
    SetChargingProfile {
        #[serde(skip)]
        session_id: String,
        charging_profile: ChargingProfile,
    },
    ClearChargingProfile {
        #[serde(skip)]
        session_id: String,
    },
}

/// `ChargingProfile` of OCPI: the maximum power of a session from certain moments on. It is valid until the session ends or another one is
/// set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChargingProfile {
    start_date_time: Timestamp,
    charging_rate_unit: &'static str,
    charging_profile_period: Vec<ProfilePeriod>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct ProfilePeriod {
    /// Seconds after the start of the profile.
    start_period: u32,
    /// W
    limit: u32,
}

impl From<&PowerProfile> for ChargingProfile {
    fn from(profile: &PowerProfile) -> Self {
        let periods = profile.steps().iter();
        let periods = periods.map(|(start_period, limit)| ProfilePeriod {
            start_period: *start_period,
            limit: *limit,
        });
        Self {
            start_date_time: profile.from,
            charging_rate_unit: "W",
            charging_profile_period: periods.collect(),
        }
    }
}

impl From<&port::Command> for Command {
    fn from(command: &port::Command) -> Self {
        match command {
            port::Command::Start { place, token } => Self::StartSession {
                token: Box::new(token.clone()),
                location_id: place.evse.location.id().to_string(),
                evse_uid: place.evse.uid.to_string(),
                connector_id: place.connector.clone(),
                authorization_reference: None,
            },
            port::Command::Stop { session } => Self::StopSession {
                session_id: session.id().to_string(),
            },
            port::Command::Reserve {
                place,
                token,
                reservation_id,
                expires,
            } => Self::ReserveNow {
                token: Box::new(token.clone()),
                expiry_date: *expires,
                reservation_id: reservation_id.clone(),
                location_id: place.evse.location.id().to_string(),
                evse_uid: place.evse.uid.to_string(),
                authorization_reference: None,
            },
            port::Command::Cancel { reservation_id } => Self::CancelReservation {
                reservation_id: reservation_id.clone(),
            },
            port::Command::SetProfile { session, profile } => Self::SetChargingProfile {
                session_id: session.id().to_string(),
                charging_profile: profile.into(),
            },
            port::Command::ClearProfile { session } => Self::ClearChargingProfile {
                session_id: session.id().to_string(),
            },
        }
    }
}

impl Command {
    pub fn kind(&self) -> CommandType {
        match self {
            Self::StartSession { .. } => CommandType::StartSession,
            Self::StopSession { .. } => CommandType::StopSession,
            Self::ReserveNow { .. } => CommandType::ReserveNow,
            Self::CancelReservation { .. } => CommandType::CancelReservation,
            Self::SetChargingProfile { .. } => CommandType::SetChargingProfile,
            Self::ClearChargingProfile { .. } => CommandType::ClearChargingProfile,
        }
    }

    /// Returns the module whose receiver handles the command.
    pub fn module(&self) -> &'static str {
        match self {
            Self::SetChargingProfile { .. } | Self::ClearChargingProfile { .. } => {
                module::CHARGING_PROFILES
            }
            _ => module::COMMANDS,
        }
    }

    /// Adds a reference to the command, unless it has one. The network repeats it in the resulting session and CDR.
    #[must_use]
    pub fn referenced(mut self, reference: &str) -> Self {
        if let Self::StartSession {
            authorization_reference,
            ..
        }
        | Self::ReserveNow {
            authorization_reference,
            ..
        } = &mut self
        {
            authorization_reference.get_or_insert_with(|| reference.to_owned());
        }
        self
    }

    /// Returns the body of the request.
    ///
    /// # Errors
    /// Not in practice.
    pub fn body(&self, response_url: &str) -> Result<Value, serde_json::Error> {
        let mut body = serde_json::to_value(self)?;
        body["response_url"] = Value::from(response_url);
        Ok(body)
    }
}

/// An operator's response to a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommandResponse {
    pub result: ResponseType,
    /// Seconds within which the station's result arrives; 0 if the operator's number cannot be read.
    #[serde(default, deserialize_with = "timeout")]
    pub timeout: u32,
}

/// Reads a number of seconds. The result of a command counts, whatever its timeout is.
fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text,
        _ => String::new(),
    };
    let seconds = text.trim().parse::<Decimal>().ok();
    Ok(seconds
        .and_then(|seconds| seconds.to_u32())
        .unwrap_or_default())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResponseType {
    NotSupported,
    Rejected,
    Accepted,
    UnknownSession,
    #[serde(other)]
    Unknown,
}

impl From<ResponseType> for port::CommandResponse {
    fn from(response: ResponseType) -> Self {
        match response {
            ResponseType::Accepted => Self::Accepted,
            ResponseType::NotSupported => Self::Rejected(Rejection::NotSupported),
            ResponseType::UnknownSession => Self::Rejected(Rejection::Unknown),
            ResponseType::Rejected | ResponseType::Unknown => Self::Rejected(Rejection::Refused),
        }
    }
}

/// The station's result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommandResult {
    pub result: ResultType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResultType {
    Accepted,
    CanceledReservation,
    EvseOccupied,
    EvseInoperative,
    Failed,
    NotSupported,
    Rejected,
    Timeout,
    UnknownReservation,
    #[serde(other)]
    Unknown,
}

impl From<ResultType> for port::CommandResult {
    fn from(result: ResultType) -> Self {
        match result {
            ResultType::Accepted => Self::Accepted,
            ResultType::CanceledReservation => Self::ReservationEnded,
            ResultType::EvseOccupied => Self::Occupied,
            ResultType::EvseInoperative => Self::OutOfOrder,
            ResultType::Failed => Self::Failed,
            ResultType::NotSupported => Self::NotSupported,
            ResultType::Rejected => Self::Rejected,
            ResultType::Timeout => Self::TimedOut,
            ResultType::UnknownReservation => Self::UnknownReservation,
            ResultType::Unknown => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_says_where_its_result_belongs() {
        let stop = Command::StopSession {
            session_id: "101".into(),
        };
        let body = stop
            .body("https://emsp.example/ocpi/2.2.1/commands/STOP_SESSION/1")
            .unwrap();
        let want = json!({"session_id": "101", "response_url": "https://emsp.example/ocpi/2.2.1/commands/STOP_SESSION/1"});
        assert_eq!(body, want);
        assert_eq!(stop.kind().as_str(), "STOP_SESSION");
    }

    #[test]
    fn a_profile_is_that_of_the_standard() {
        let from = Timestamp::parse("2027-01-15T18:00:00Z").unwrap();
        let steps = [(from, 7_400), (from.plus(kernel::time::HOUR), 0)];
        let set = Command::SetChargingProfile {
            session_id: "101".into(),
            charging_profile: ChargingProfile::from(&PowerProfile::new(steps)),
        };
        let url = "https://emsp.example/ocpi/2.2.1/chargingprofiles/1";
        let want = json!({"charging_profile": {"start_date_time": from, "charging_rate_unit": "W",
            "charging_profile_period": [{"start_period": 0, "limit": 7_400}, {"start_period": 3_600, "limit": 0}]},
            "response_url": url});
        assert_eq!(set.body(url).unwrap(), want);
    }

    #[test]
    fn names_are_those_of_the_standard() {
        for kind in CommandType::ALL {
            assert_eq!(CommandType::from_name(kind.as_str()), Some(kind));
        }
        let read: CommandResult =
            serde_json::from_value(json!({"result": "EVSE_OCCUPIED", "message": []})).unwrap();
        assert_eq!(read.result, ResultType::EvseOccupied);
        let read: CommandResponse = serde_json::from_value(json!({"result": "ACCEPTED"})).unwrap();
        assert_eq!((read.result, read.timeout), (ResponseType::Accepted, 0));
    }

    #[test]
    fn the_result_of_a_command_is_read_with_any_timeout() {
        for (timeout, seconds) in [
            (json!(30), 30),
            (json!(30.0), 30),
            (json!("30"), 30),
            (json!(-1), 0),
            (json!("soon"), 0),
            (json!(1e12), 0),
            (json!([]), 0),
        ] {
            let response = json!({"result": "REJECTED", "timeout": timeout});
            let read: CommandResponse = serde_json::from_value(response).unwrap();
            let want = (ResponseType::Rejected, seconds);
            assert_eq!((read.result, read.timeout), want, "{timeout}");
        }
    }
}

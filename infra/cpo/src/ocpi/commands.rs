//! Reading of the eMSP's commands and charging profiles, and the responses to them.

use axum::body::Bytes;
use axum::extract::{Path, Query, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Parameters, Reply, reads, reply, required};
use crate::charge::Authorization;
use crate::network::{Net, Network};
use crate::script::{self, Behaviour};
use crate::state::cdr_token;
use crate::state::command::{Command, Received};
use crate::time::plus_millis;

/// The time that the eMSP may wait for the result of a command, in seconds.
const COMMAND_TIMEOUT: u32 = 30;

pub async fn command(Shared(network): Net, Path(name): Path<String>, body: Bytes) -> Response {
    let read = reads(&body).and_then(|body| {
        let url = required(&body, "response_url")?.to_owned();
        read_command(&name, &body).map(|command| (command, url))
    });
    match read {
        Ok((command, url)) => receive(&network, &name, command, url).await,
        Err(refused) => reply(&network, refused),
    }
}

/// `SetChargingProfile`
pub async fn set_profile(
    Shared(network): Net,
    Path(session): Path<String>,
    body: Bytes,
) -> Response {
    let read = reads(&body).and_then(|body| {
        let url = required(&body, "response_url")?.to_owned();
        let profile = Some(read_profile(&body["charging_profile"])?);
        Ok((Command::Limit { session, profile }, url))
    });
    match read {
        Ok((command, url)) => receive(&network, "SetChargingProfile", command, url).await,
        Err(refused) => reply(&network, refused),
    }
}

pub async fn clear_profile(
    Shared(network): Net,
    Path(session): Path<String>,
    Query(parameters): Parameters,
) -> Response {
    let Some(url) = parameters.get("response_url") else {
        return reply(&network, Reply::invalid("response_url is required"));
    };
    let profile = None;
    let command = Command::Limit { session, profile };
    receive(&network, "ClearProfile", command, url.clone()).await
}

/// The moments of a `ChargingProfile`, and the highest power in W from each moment on.
fn read_profile(profile: &Value) -> Result<Vec<(Timestamp, u64)>, Reply> {
    let invalid = || Reply::invalid("charging_profile is not one in W with periods");
    let start = profile["start_date_time"].as_str();
    let start: Timestamp = start
        .and_then(|text| text.parse().ok())
        .ok_or_else(invalid)?;
    let periods = profile["charging_profile_period"].as_array();
    let periods = periods.filter(|all| !all.is_empty() && profile["charging_rate_unit"] == "W");
    let read = periods.ok_or_else(invalid)?.iter().map(|period| {
        let after = period["start_period"].as_i64()?;
        Some((plus_millis(start, 1000 * after), period["limit"].as_u64()?))
    });
    read.collect::<Option<Vec<_>>>().ok_or_else(invalid)
}

/// Receives a command as the script specifies, and responds.
async fn receive(network: &Network, name: &str, command: Command, url: String) -> Response {
    let behaviour = network.script().next_command();
    match &behaviour {
        Some(Behaviour::Respond { data }) => return reply(network, Reply::data(data.clone())),
        Some(Behaviour::Status { http }) => return script::status(*http),
        Some(Behaviour::Say { text }) => return text.clone().into_response(),
        // The panic ends the task of the connection without a message, which closes the connection.
        Some(Behaviour::Close) => std::panic::resume_unwind(Box::new("closed")),
        Some(Behaviour::Hang) => return std::future::pending().await,
        _ => {}
    }
    let behaviour = behaviour.as_ref();
    let received = network.change(|state, now| state.command(command, url, behaviour, now));
    let data = |result: &str| json!({"result": result, "timeout": COMMAND_TIMEOUT});
    let answer = match received {
        Received::Accepted => Reply::data(data("ACCEPTED")),
        Received::Rejected => Reply::data(data("REJECTED")),
        Received::UnknownSession => Reply::data(data("UNKNOWN_SESSION")),
        Received::NotSupported => Reply::data(data("NOT_SUPPORTED")),
        Received::UnknownLocation => Reply {
            data: Some(data("REJECTED")),
            ..Reply::error(StatusCode::OK, 2003, "The location or EVSE is unknown.")
        },
        Received::Failed => Reply::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            3000,
            "This failure was asked for.",
        ),
    };
    network.change(|state, now| {
        state.note(now, format!("answered {name} with {}", outcome(received)))
    });
    reply(network, answer)
}

fn outcome(received: Received) -> &'static str {
    match received {
        Received::Accepted => "ACCEPTED",
        Received::Rejected => "REJECTED",
        Received::UnknownSession => "UNKNOWN_SESSION",
        Received::NotSupported => "NOT_SUPPORTED",
        Received::UnknownLocation => "2003 Unknown Location",
        Received::Failed => "HTTP status 500",
    }
}

fn read_command(name: &str, body: &Value) -> Result<Command, Reply> {
    let text = |name: &str| required(body, name).map(str::to_owned);
    let optional = |name: &str| body[name].as_str().map(str::to_owned);
    let token = || {
        required(&body["token"], "uid")?;
        if body["token"]["valid"] == true {
            Ok(cdr_token(&body["token"]))
        } else {
            Err(Reply::invalid("the token is not valid"))
        }
    };
    Ok(match name {
        "START_SESSION" => Command::Start {
            location: text("location_id")?,
            evse: optional("evse_uid"),
            authorization: Authorization {
                token: token()?,
                method: "COMMAND".into(),
                reference: optional("authorization_reference"),
            },
        },
        "STOP_SESSION" => Command::Stop {
            session: text("session_id")?,
        },
        "RESERVE_NOW" => Command::Reserve {
            id: text("reservation_id")?,
            location: text("location_id")?,
            evse: optional("evse_uid"),
            token: token()?,
            expires: text("expiry_date")?.parse().map_err(|_| {
                Reply::invalid("expiry_date is not a time such as 2026-03-01T10:00:00Z")
            })?,
        },
        "CANCEL_RESERVATION" => Command::Cancel {
            id: text("reservation_id")?,
        },
        "UNLOCK_CONNECTOR" => Command::Unlock {
            location: text("location_id")?,
            evse: text("evse_uid")?,
        },
        _ => return Err(Reply::not_found("The command")),
    })
}

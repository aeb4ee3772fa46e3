//! The actions of a person at the charge points, as operations over HTTP: tap a card, plug a vehicle in, unplug it, break an EVSE, and
//! decide how the charge point receives the next command. These operations are not part of OCPI.

use std::sync::Arc;

use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::charge::{Authorization, Vehicle};
use crate::network::Network;
use crate::party::{COUNTRY_CODE, NAME, PARTY_ID};
use crate::script::Behaviour;
use crate::state::evse::Tap;
use crate::state::{State, cdr_token};
use crate::time::text;

/// The hosts under which the operations may be called. A web page with another host name cannot use them.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

type Net = Shared<Arc<Network>>;

/// The operations: `GET /`, and POST of `tap`, `plug_in`, `unplug`, `break`, `repair` and `next_command`.
pub fn router(network: &Arc<Network>) -> Router {
    Router::new()
        .route("/", get(show))
        .route("/tap", post(tap))
        .route("/plug_in", post(plug_in))
        .route("/unplug", post(unplug))
        .route("/break", post(break_down))
        .route("/repair", post(repair))
        .route("/next_command", post(next_command))
        .with_state(network.clone())
}

/// The operations for a port of their own, where requests from web pages are refused.
pub fn guarded(network: &Arc<Network>) -> Router {
    router(network).layer(from_fn(refuse_pages))
}

async fn refuse_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    if HOSTS.contains(&host) && !headers.contains_key(header::ORIGIN) {
        next.run(request).await
    } else {
        failed(StatusCode::FORBIDDEN, "Web pages must not use this port.")
    }
}

/// The reason why an operation was refused.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        failed(self.0, &self.1)
    }
}

fn failed(status: StatusCode, message: &str) -> Response {
    (
        status,
        Json(json!({"error": {"message": message, "status": status.as_u16()}})),
    )
        .into_response()
}

/// The state of the operator, without the secrets.
async fn show(Shared(network): Net) -> Json<Value> {
    let now = (network.clock)();
    network.save_now();
    let next_commands = network.script().next_commands.clone();
    Json(network.read(|state| {
        json!({"name": NAME, "country_code": COUNTRY_CODE, "party_id": PARTY_ID, "now": text(now),
            "versions_url": network.versions_url(), "connected": state.partner.as_ref().map(|partner| {
                json!({"country_code": partner.country_code, "party_id": partner.party_id, "versions_url": partner.versions_url})
            }),
            "evses": evses(state), "tokens": state.tokens, "reservations": state.reservations,
            "sessions": state.charges.iter().map(|charge| charge.session()).collect::<Vec<_>>(), "cdrs": state.cdrs,
            "next_commands": next_commands, "log": state.log})
    }))
}

fn evses(state: &State) -> Vec<Value> {
    let locations = state.locations.iter();
    let evses = locations.flat_map(|location| {
        let evses = location["evses"].as_array().map_or(&[][..], Vec::as_slice);
        evses.iter().map(move |evse| (location, evse))
    });
    let shown = evses.map(|(location, evse)| {
        let uid = evse["uid"].as_str().unwrap_or_default();
        let vehicle = state.vehicles.get(uid);
        json!({"evse": uid, "location": location["id"], "name": location["name"], "status": evse["status"],
            "capabilities": evse["capabilities"], "standard": evse["connectors"][0]["standard"],
            "vehicle": vehicle.map(|vehicle| json!({"needs_kwh": kilo(vehicle.needs), "max_kw": kilo(vehicle.power)})),
            "session": state.running_at(uid).map(|charge| &charge.id)})
    });
    shown.collect()
}

fn kilo(units: u64) -> f64 {
    units as f64 / 1000.0
}

/// Reads a JSON body with exactly these members.
fn read<T: serde::de::DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Refused> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    // A page of another origin can send other content types without a preflight request.
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        let message = "The body must have the content type application/json.";
        return Err(Refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, message.into()));
    }
    serde_json::from_slice(body)
        .map_err(|error| Refused(StatusCode::BAD_REQUEST, error.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtEvse {
    evse: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    evse: String,
    uid: String,
    #[serde(default = "rfid", rename = "type")]
    kind: String,
}

fn rfid() -> String {
    "RFID".into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlugIn {
    evse: String,
    needs_kwh: Option<f64>,
    max_kw: Option<f64>,
}

/// Holds a card to the reader of an EVSE. A card on the whitelist begins a session at once; the eMSP decides about every other card.
/// The card of the session that runs at the EVSE ends that session.
async fn tap(Shared(network): Net, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    let Card { evse, uid, kind } = match read(&headers, &body) {
        Ok(card) => card,
        Err(refused) => return refused.into_response(),
    };
    let tap = network.change(|state, _| state.tap(&evse, &uid, &kind));
    let refuse = |why: &str| {
        network.change(|state, now| {
            state.note(now, format!("card {uid} was refused at {evse}: {why}"))
        });
        (
            StatusCode::OK,
            Json(json!({"result": "refused", "reason": why})),
        )
            .into_response()
    };
    let authorization = match tap {
        Err(unknown) => return failed(StatusCode::NOT_FOUND, &unknown),
        Ok(Tap::Refused(why)) => return refuse(&why),
        Ok(Tap::Ends(session)) => {
            network.change(|state, now| state.end(&session, now));
            return Json(json!({"result": "stopped", "session": session})).into_response();
        }
        Ok(Tap::Begins(authorization)) => authorization,
        Ok(Tap::Ask) => match ask(&network, &evse, &uid, &kind).await {
            Ok(authorization) => authorization,
            Err(why) => return refuse(&why),
        },
    };
    let method = authorization.method.clone();
    match network.change(|state, now| state.begin(&evse, authorization, now)) {
        Ok(session) => {
            let begun = json!({"result": "started", "session": session, "auth_method": method});
            Json(begun).into_response()
        }
        Err(why) => refuse(&why),
    }
}

/// Asks the eMSP whether a card may charge.
async fn ask(
    network: &Network,
    evse: &str,
    uid: &str,
    kind: &str,
) -> Result<Authorization, String> {
    let info = network.authorize(evse, uid, kind).await?;
    let allowed = info["allowed"].as_str().unwrap_or("nothing");
    network.change(|state, now| {
        state.note(now, format!("real-time authorization of {uid}: {allowed}"))
    });
    if allowed != "ALLOWED" {
        let why = info["info"]["text"]
            .as_str()
            .map(|text| format!(": {text}"))
            .unwrap_or_default();
        return Err(format!("the eMSP answered {allowed}{why}"));
    }
    let token = if info["token"].is_object() {
        cdr_token(&info["token"])
    } else {
        network
            .read(|state| state.token(uid, kind).map(cdr_token))
            .ok_or("the eMSP named no token")?
    };
    Ok(Authorization {
        token,
        method: "AUTH_REQUEST".into(),
        reference: info["authorization_reference"].as_str().map(str::to_owned),
    })
}

async fn plug_in(Shared(network): Net, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    let PlugIn {
        evse,
        needs_kwh,
        max_kw,
    } = match read(&headers, &body) {
        Ok(read) => read,
        Err(refused) => return refused.into_response(),
    };
    let usual = Vehicle::default();
    let units = |given: Option<f64>, usual: u64| {
        given.map_or(Some(usual), |given| {
            (0.001..=1_000_000.0)
                .contains(&given)
                .then_some((given * 1000.0) as u64)
        })
    };
    let (Some(needs), Some(power)) = (units(needs_kwh, usual.needs), units(max_kw, usual.power))
    else {
        return failed(
            StatusCode::BAD_REQUEST,
            "needs_kwh and max_kw must be between 0.001 and 1000000.",
        );
    };
    let done = network.change(|state, now| state.plug_in(&evse, Vehicle { needs, power }, now));
    shown(&network, done)
}

async fn unplug(Shared(network): Net, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    at_evse(&network, &headers, &body, |state, evse, now| {
        match state.evse(evse) {
            None => Err(format!("EVSE {evse} is unknown")),
            Some(_) => {
                state.note(now, format!("the vehicle is unplugged at {evse}"));
                state.unplug(evse, now);
                Ok(())
            }
        }
    })
}

async fn break_down(Shared(network): Net, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    at_evse(&network, &headers, &body, |state, evse, now| {
        state.set_broken(evse, true, now)
    })
}

async fn repair(Shared(network): Net, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    at_evse(&network, &headers, &body, |state, evse, now| {
        state.set_broken(evse, false, now)
    })
}

fn at_evse(
    network: &Network,
    headers: &HeaderMap,
    body: &[u8],
    act: impl FnOnce(&mut State, &str, jiff::Timestamp) -> Result<(), String>,
) -> Response {
    match read::<AtEvse>(headers, body) {
        Err(refused) => refused.into_response(),
        Ok(AtEvse { evse }) => {
            let done = network.change(|state, now| act(state, &evse, now));
            shown(network, done)
        }
    }
}

/// Decides how the next command is received.
async fn next_command(
    Shared(network): Net,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Response {
    match read::<Behaviour>(&headers, &body) {
        Err(refused) => refused.into_response(),
        Ok(behaviour) => {
            network.script().next_commands.push_back(behaviour);
            shown(&network, Ok(()))
        }
    }
}

fn shown(network: &Network, done: Result<(), String>) -> Response {
    match done {
        Ok(()) => Json(json!({"evses": network.read(evses)})).into_response(),
        Err(why) => {
            let unknown = why.ends_with("is unknown");
            failed(
                if unknown {
                    StatusCode::NOT_FOUND
                } else {
                    StatusCode::CONFLICT
                },
                &why,
            )
        }
    }
}

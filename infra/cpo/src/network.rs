//! The running operator: its state, and the only code that sends requests to the eMSP.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::partner;
use crate::party::random;
use crate::script::Script;
use crate::state::{Line, Outgoing, Partner, State};
use crate::time::{Clock, text};

/// Receives each line of the log.
pub type Report = Arc<dyn Fn(&Line) + Send + Sync>;

pub type Net = axum::extract::State<Arc<Network>>;

pub struct Network {
    state: Mutex<State>,
    script: Mutex<Script>,
    pub clock: Clock,
    pub http: reqwest::Client,
    /// `http://127.0.0.1:<port>/ocpi`
    pub base_url: String,
    report: Report,
    file: Option<PathBuf>,
    /// Held while requests are sent, so that they leave in their order.
    sending: tokio::sync::Mutex<()>,
    pub changed: Notify,
}

impl Network {
    pub fn new(
        state: State,
        script: Script,
        clock: Clock,
        http: reqwest::Client,
        base_url: String,
        report: Report,
        file: Option<PathBuf>,
    ) -> Self {
        Self {
            state: Mutex::new(state),
            script: Mutex::new(script),
            clock,
            http,
            base_url,
            report,
            file,
            sending: tokio::sync::Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub fn versions_url(&self) -> String {
        format!("{}/versions", self.base_url)
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This party's credentials with a token for the eMSP.
    pub fn credentials(&self, token: &str) -> Value {
        self.script().credentials(token, &self.versions_url())
    }

    /// Reads the state.
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state at the current time, after everything that was due before.
    pub fn change<T>(&self, change: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let now = (self.clock)();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catch_up(now);
        let changed = change(&mut state, now);
        for line in std::mem::take(&mut state.unprinted) {
            (self.report)(&line);
        }
        if let Some(file) = &self.file
            && let Err(error) = save(file, &state)
        {
            let text = format!("{} cannot be written: {error}", file.display());
            (self.report)(&Line {
                at: crate::time::text(now),
                text,
            });
        }
        drop(state);
        self.changed.notify_one();
        changed
    }

    /// Lets the state catch up with the clock, and writes it to the file.
    pub fn save_now(&self) {
        self.change(|_, _| ());
    }

    fn note(&self, text: String) {
        self.change(|state, now| state.note(now, text));
    }

    /// Does the work that is due and sends the outbox. Returns true if there was anything.
    pub async fn settle(&self) -> bool {
        let sending = self.sending.lock().await;
        let mut any = false;
        loop {
            let now = (self.clock)();
            if self.read(|state| state.outbox.is_empty() && state.next().is_none_or(|at| at > now))
            {
                break;
            }
            any = true;
            let outgoing = self.change(|state, _| state.outbox.pop_front());
            if let Some(outgoing) = outgoing
                && let Err(error) = self.send(outgoing).await
            {
                self.note(format!("the eMSP did not take it: {error}"));
            }
        }
        drop(sending);
        any
    }

    async fn send(&self, outgoing: Outgoing) -> Result<(), String> {
        let Some(partner) = self.read(|state| state.partner.clone()) else {
            return Ok(());
        };
        let own = format!("{}/{}", crate::party::COUNTRY_CODE, crate::party::PARTY_ID);
        match outgoing {
            Outgoing::EvseStatus {
                location,
                evse,
                status,
                last_updated,
            } => {
                let receiver = receiver(&partner, "locations")?;
                let url = format!("{receiver}/{own}/{location}/{evse}");
                let body = json!({"status": status, "last_updated": text(last_updated)});
                self.request(&partner, Method::PATCH, &url, &body).await?;
                self.note(format!("PATCH of EVSE {evse}: {status}"));
            }
            Outgoing::Session { id, patch } => {
                let url = format!("{}/{own}/{id}", receiver(&partner, "sessions")?);
                self.send_session(&partner, &url, &id, patch.as_ref())
                    .await?;
            }
            Outgoing::Cdr { id } => {
                let url = receiver(&partner, "cdrs")?;
                let cdr =
                    self.read(|state| state.cdrs.iter().find(|cdr| cdr["id"] == *id).cloned());
                if let Some(cdr) = cdr {
                    self.request(&partner, Method::POST, url, &cdr).await?;
                    self.note(format!(
                        "POST of CDR {id}: {} {}",
                        cdr["total_cost"]["incl_vat"],
                        cdr["currency"].as_str().unwrap_or_default()
                    ));
                }
            }
            Outgoing::CommandResult { url, result } => {
                let body = json!({"result": result});
                self.request(&partner, Method::POST, &url, &body).await?;
                self.note(format!("command result {result}"));
            }
            Outgoing::PullTokens => {
                let url = partner
                    .endpoint("tokens", "SENDER")
                    .ok_or("it has no tokens sender")?;
                let tokens = partner::list(&self.http, &partner, url).await?;
                let count = tokens.len();
                self.change(|state, now| {
                    for token in tokens {
                        state.put_token(token);
                    }
                    state.note(now, format!("pulled {count} tokens"));
                });
            }
        }
        Ok(())
    }

    /// Sends a session: all of it, or the part that has changed.
    async fn send_session(
        &self,
        partner: &Partner,
        url: &str,
        id: &str,
        patch: Option<&Value>,
    ) -> Result<(), String> {
        let Some(session) = self.read(|state| Some(state.charge(id)?.session())) else {
            return Ok(());
        };
        let (method, body) = match patch {
            Some(patch) => (Method::PATCH, patch),
            None => (Method::PUT, &session),
        };
        let sent = self.request(partner, method.clone(), url, body).await;
        // After a failure the content of the eMSP's session is unknown, so the next request is a PUT of the whole session.
        self.change(|state, _| {
            if let Some(charge) = state.charge_mut(id) {
                charge.acknowledged = sent.is_ok();
            }
        });
        sent?;
        let status = session["status"].as_str().unwrap_or_default();
        let kwh = &session["kwh"];
        self.note(format!("{method} of session {id}: {status}, {kwh} kWh"));
        Ok(())
    }

    /// Sends a request to the eMSP.
    async fn request(
        &self,
        partner: &Partner,
        method: Method,
        url: &str,
        body: &Value,
    ) -> Result<(), String> {
        let (token, named) = (&partner.token, method.clone());
        let response =
            partner::request(&self.http, method, url, token, Some(partner), Some(body)).await?;
        let data = response.data();
        data.map(drop)
            .map_err(|error| format!("{named} {url}: {error}"))
    }

    /// Asks the eMSP whether a card may charge at an EVSE (real-time authorization). Returns its `AuthorizationInfo`.
    ///
    /// # Errors
    /// No eMSP is connected, it cannot be reached, or it does not have the token.
    pub async fn authorize(&self, evse: &str, uid: &str, kind: &str) -> Result<Value, String> {
        let partner = self
            .read(|state| state.partner.clone())
            .ok_or("no eMSP is connected")?;
        let url = partner
            .endpoint("tokens", "SENDER")
            .ok_or("the eMSP has no tokens sender")?;
        let location = self.read(|state| {
            state
                .evse(evse)
                .map(|(location, evse)| (location["id"].clone(), evse["uid"].clone()))
        });
        let (location, evse) = location.ok_or_else(|| format!("EVSE {evse} is unknown"))?;
        let url = format!("{url}/{uid}/authorize?type={kind}");
        let body = json!({"location_id": location, "evse_uids": [evse]});
        let response = partner::request(
            &self.http,
            Method::POST,
            &url,
            &partner.token,
            Some(&partner),
            Some(&body),
        )
        .await?;
        response.data()
    }

    /// Registers at an eMSP with a token A of that eMSP.
    ///
    /// # Errors
    /// The eMSP cannot be reached, or it refuses.
    pub async fn register(&self, emsp_versions_url: &str, token_a: &str) -> Result<(), String> {
        self.exchange(Method::POST, emsp_versions_url, token_a)
            .await
    }

    /// Sends the eMSP the current address of this operator with a new token, and reads the eMSP's endpoints again.
    ///
    /// # Errors
    /// No eMSP is connected, it cannot be reached, or it refuses.
    pub async fn renew(&self, emsp_versions_url: &str) -> Result<(), String> {
        let token = self.read(|state| state.partner.as_ref().map(|partner| partner.token.clone()));
        let token = token.ok_or("no eMSP is connected")?;
        self.exchange(Method::PUT, emsp_versions_url, &token).await
    }

    async fn exchange(
        &self,
        method: Method,
        emsp_versions_url: &str,
        token: &str,
    ) -> Result<(), String> {
        let new = random(24);
        let own = self.credentials(&new);
        // The eMSP calls back with the new token before it responds.
        let before = self.change(|state, _| state.token_c.replace(new));
        let partner =
            partner::exchange(&self.http, method.clone(), emsp_versions_url, token, &own).await;
        match partner {
            Ok(partner) => {
                self.connected(
                    partner,
                    if method == Method::POST {
                        "registered with"
                    } else {
                        "renewed credentials of"
                    },
                );
                Ok(())
            }
            Err(error) => {
                self.change(|state, _| state.token_c = before);
                Err(error)
            }
        }
    }

    /// Stores an eMSP as the connected one, and schedules the pull of its tokens.
    pub fn connected(&self, partner: Partner, how: &str) {
        self.change(|state, now| {
            state.note(
                now,
                format!(
                    "{how} {}/{} at {}",
                    partner.country_code, partner.party_id, partner.versions_url
                ),
            );
            state.connect(partner, now);
        });
    }
}

/// Writes the whole state: if the process is killed, the old file or the new one remains. Only the owner may read it.
fn save(file: &Path, state: &State) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(state).map_err(std::io::Error::other)?;
    let beside = file.with_extension("new");
    write_private(&beside, &bytes)?;
    std::fs::rename(&beside, file)
}

#[cfg(unix)]
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

#[cfg(not(unix))]
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}

/// The address at which the eMSP receives objects of a module.
fn receiver<'a>(partner: &'a Partner, module: &str) -> Result<&'a str, String> {
    let url = partner.endpoint(module, "RECEIVER");
    url.ok_or_else(|| format!("it has no {module} receiver"))
}

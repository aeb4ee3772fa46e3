//! A charge point operator (CPO) that speaks OCPI 2.2.1 over HTTP: the charging network on the other side of a local run.
//!
//! It has a few locations in London, tariffs, and charge points at which vehicles are plugged in and cards are held to readers. It
//! registers with one eMSP, pulls its tokens, carries out its commands with asynchronous results, authorizes cards, and pushes EVSE
//! statuses, sessions and CDRs. It shares no code with the service. In a local run the two have only OCPI and the clock in common: the
//! operator uses the clock of the service, so that a session grows when the clock is moved.
//!
//! `state` decides what happens, `charge` and `tariff` compute sessions and prices, `ocpi` has the endpoints for the eMSP, `partner`
//! and `network` send requests to the eMSP, `control` has the actions of a person at the charge points, and `script` overrides the
//! operator's behaviour.
//!
//! A state file keeps everything over a restart, including the registration and its tokens. [`Cpo::settle`] does all work that is due
//! and sends the resulting requests; a background task calls it five times a second.

mod charge;
mod control;
mod demo;
mod network;
mod ocpi;
mod partner;
mod party;
mod script;
mod state;
mod tariff;
pub mod time;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use axum::Router;
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::network::Network;
pub use crate::network::Report;
use crate::party::random;
pub use crate::party::{COUNTRY_CODE, NAME, PARTY_ID};
pub use crate::script::{Behaviour, Generated, Links, Received, Script};
pub use crate::state::Line;
use crate::state::State;
use crate::time::Clock;

/// The interval at which the background task looks for due work.
const REST: Duration = Duration::from_millis(200);

/// The options with which the operator starts.
pub struct Options {
    /// The port on 127.0.0.1. If None, the port of the last run or any free port is used.
    pub port: Option<u16>,
    /// The file of the state. If None, the state is in memory.
    pub file: Option<PathBuf>,
    pub clock: Clock,
    /// Receives each line of the log.
    pub report: Report,
    /// Whether a background task does the work that is due. Otherwise only [`Cpo::settle`] does.
    pub by_itself: bool,
    /// Whether the port serves the operations of `control` below `/control`. They require no credential there.
    pub controlled_at_port: bool,
    /// Whether the operator has no objects and responds as tests specify in its [`Script`].
    pub scripted: bool,
}

impl Options {
    /// An operator for tests, which does nothing without a call.
    pub fn scripted() -> Self {
        Self {
            port: None,
            file: None,
            clock: time::system(),
            report: Arc::new(|_| ()),
            by_itself: false,
            controlled_at_port: false,
            scripted: true,
        }
    }
}

/// The running operator.
pub struct Cpo {
    network: Arc<Network>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
    working: Option<JoinHandle<()>>,
}

impl Cpo {
    /// Starts the operator, and returns when it accepts requests.
    ///
    /// # Errors
    /// The port or the file cannot be used. The text names which.
    pub async fn start(options: Options) -> Result<Self, String> {
        let now = (options.clock)();
        let known = match &options.file {
            Some(file) => load(file)?,
            None => None,
        };
        let (new, script) = if options.scripted {
            (State::default(), Script::of_tests())
        } else {
            (State::demo(now), Script::default())
        };
        let mut state = known.unwrap_or_else(|| State {
            token_a: random(24),
            ..new
        });
        let listener = listen(options.port, state.port).await?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        state.port = address.port();
        let base_url = format!("http://{address}/ocpi");
        let http = http()?;
        let network = Network::new(
            state,
            script,
            options.clock,
            http,
            base_url,
            options.report,
            options.file,
        );
        let network = Arc::new(network);
        network.save_now();
        let mut router = ocpi::router(&network);
        if options.controlled_at_port {
            router = router.nest("/control", control::guarded(&network));
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let server = axum::serve(listener, router).with_graceful_shutdown(async {
            // A dropped sender stops the server as well.
            drop(stopped.await);
        });
        let working = options
            .by_itself
            .then(|| tokio::spawn(work(network.clone())));
        Ok(Self {
            server: tokio::spawn(server.into_future()),
            network,
            stop,
            working,
        })
    }

    /// The URL at which an eMSP begins the handshake.
    pub fn versions_url(&self) -> String {
        self.network.versions_url()
    }

    /// The token with which an eMSP may register.
    pub fn token_a(&self) -> String {
        self.network.read(|state| state.token_a.clone())
    }

    /// The script that overrides the operator's behaviour.
    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.network.script()
    }

    /// The recorded requests with this method whose path begins with `path`.
    pub fn received(&self, method: &str, path: &str) -> Vec<Received> {
        let script = self.script();
        let requests = script.requests.iter().flatten();
        let fitting =
            requests.filter(|request| request.method == method && request.path.starts_with(path));
        fitting.cloned().collect()
    }

    /// The operator's credentials for an eMSP, with the valid token, or with a new one if there is none.
    pub fn credentials(&self) -> Value {
        let valid = |state: &mut State| state.token_c.get_or_insert_with(|| random(24)).clone();
        let token = self.network.change(|state, _| valid(state));
        self.network.credentials(&token)
    }

    /// The token with which the operator calls the connected eMSP.
    pub fn token(&self) -> Option<String> {
        self.network
            .read(|state| Some(state.partner.as_ref()?.token.clone()))
    }

    /// Whether an eMSP is connected, from this run or an earlier one.
    pub fn is_connected(&self) -> bool {
        self.network.read(|state| state.partner.is_some())
    }

    /// Registers at an eMSP with a token A of that eMSP.
    ///
    /// # Errors
    /// The eMSP cannot be reached, or it refuses.
    pub async fn register(&self, emsp_versions_url: &str, token_a: &str) -> Result<(), String> {
        self.network.register(emsp_versions_url, token_a).await
    }

    /// Sends the connected eMSP the operator's address in this run, with a new token (PUT of the credentials).
    ///
    /// # Errors
    /// No eMSP is connected, it cannot be reached, or it refuses.
    pub async fn renew(&self, emsp_versions_url: &str) -> Result<(), String> {
        self.network.renew(emsp_versions_url).await
    }

    /// Removes the eMSP without notifying it.
    pub fn forget(&self) {
        self.network.change(|state, _| {
            state.partner = None;
            state.token_c = None;
            state.outbox.clear();
        });
    }

    /// Does the work that is due by the clock and sends the resulting requests to the eMSP. Returns true if there was any.
    pub async fn settle(&self) -> bool {
        self.network.settle().await
    }

    /// The operations that are needed when the clock is moved.
    pub fn pace(&self) -> Pace {
        Pace(self.network.clone())
    }

    /// The operations of `control`, as routes of another server. That server has to refuse requests from web pages and from
    /// unauthorized clients.
    pub fn control(&self) -> Router {
        control::router(&self.network)
    }

    /// Stops the operator.
    pub async fn stop(self) {
        if let Some(working) = self.working {
            working.abort();
        }
        drop(self.stop);
        drop(tokio::time::timeout(Duration::from_secs(3), self.server).await);
    }
}

/// The operations that are needed when the clock is moved.
#[derive(Clone)]
pub struct Pace(Arc<Network>);

impl Pace {
    /// The moment of the next scheduled event.
    pub fn next(&self) -> Option<Timestamp> {
        self.0.read(State::next)
    }

    /// Does the work that is due and sends the resulting requests to the eMSP. Returns true if there was any.
    pub async fn settle(&self) -> bool {
        self.0.settle().await
    }
}

async fn work(network: Arc<Network>) {
    loop {
        network.settle().await;
        tokio::select! {
            () = network.changed.notified() => {}
            () = tokio::time::sleep(REST) => {}
        }
    }
}

async fn listen(requested: Option<u16>, last: u16) -> Result<TcpListener, String> {
    let bind = async |port: u16| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await;
    let bound = match (requested, last) {
        (Some(port), _) => bind(port).await,
        (None, 0) => bind(0).await,
        (None, last) => match bind(last).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
    };
    let port = requested.unwrap_or(last);
    bound.map_err(|error| format!("port {port} of 127.0.0.1 cannot be used: {error}"))
}

fn load(file: &std::path::Path) -> Result<Option<State>, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| at(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(&error)),
    }
}

/// The client for requests to the eMSP.
///
/// # Errors
/// No cryptography for TLS is available.
pub fn http() -> Result<reqwest::Client, String> {
    // A provider that is already installed can be used as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let http = reqwest::Client::builder().user_agent("cpo").no_proxy();
    let http = http.redirect(reqwest::redirect::Policy::none()).build();
    http.map_err(|error| error.to_string())
}

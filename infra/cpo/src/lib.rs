//! A charge point operator (CPO) that speaks OCPI 2.2.1 over HTTP: the charging network on the other side of a local run.
//!
//! It has a few locations in London, tariffs, and charge points at which vehicles are plugged in and cards are held to readers. It
//! registers with one eMSP, pulls its tokens, carries out its commands with asynchronous results, authorizes cards, and pushes EVSE
//! statuses, sessions and CDRs. It shares no code with the service. What links the two in a local run is OCPI, and the clock: the
//! operator's clock is that of the service, so that a session grows when the clock is moved.
//!
//! `state` decides what happens, `charge` and `tariff` compute sessions and prices, `ocpi` answers the eMSP, `partner` and
//! `network` call it, `control` is what a person would do at the charge points, and `script` is what it does instead.
//!
//! A state file keeps everything over a restart, the registration with its tokens included. [`Cpo::settle`] does what has fallen
//! due and sends it; a background task calls it five times a second.

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
pub use crate::script::{Behaviour, Generated, Received, Script};
pub use crate::state::Line;
use crate::state::State;
use crate::time::Clock;

/// How often due work is looked for.
const REST: Duration = Duration::from_millis(200);

/// How to start the operator.
pub struct Options {
    /// The port on 127.0.0.1. None takes the port of the last run, or any that is free.
    pub port: Option<u16>,
    /// Where the state is kept. None: in memory.
    pub file: Option<PathBuf>,
    pub clock: Clock,
    /// Receives each line of the log.
    pub report: Report,
    /// Whether a background task does what has fallen due. Without it, only [`Cpo::settle`] does.
    pub by_itself: bool,
    /// Whether the port has what a person does at the charge points, below `/control`. It asks for no credential there.
    pub controlled_at_port: bool,
    /// Whether it has no objects, and answers as tests say in its [`Script`].
    pub scripted: bool,
}

impl Options {
    /// An operator for tests, which does nothing by itself.
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

/// The operator, running.
pub struct Cpo {
    network: Arc<Network>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
    working: Option<JoinHandle<()>>,
}

impl Cpo {
    /// Starts the operator, and returns when it answers.
    ///
    /// # Errors
    /// The port or the file cannot be used. The text names it.
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
        network.change(|_, _| ());
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

    /// Where an eMSP begins the handshake.
    pub fn versions_url(&self) -> String {
        self.network.versions_url()
    }

    /// The token with which an eMSP may register.
    pub fn token_a(&self) -> String {
        self.network.read(|state| state.token_a.clone())
    }

    /// What it does and answers in place of what it would by itself.
    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.network.script()
    }

    /// The recorded requests with this method whose paths begin like this.
    pub fn received(&self, method: &str, path: &str) -> Vec<Received> {
        let script = self.script();
        let requests = script.requests.iter().flatten();
        let fitting = requests.filter(|one| one.method == method && one.path.starts_with(path));
        fitting.cloned().collect()
    }

    /// Its credentials for an eMSP, with the token that is valid, or else a new one.
    pub fn credentials(&self) -> Value {
        let valid = |state: &mut State| state.token_c.get_or_insert_with(|| random(24)).clone();
        let token = self.network.change(|state, _| valid(state));
        self.network.credentials(&token)
    }

    /// The token with which it calls the eMSP that is connected.
    pub fn token(&self) -> Option<String> {
        self.network
            .read(|state| Some(state.partner.as_ref()?.token.clone()))
    }

    /// Whether an eMSP is connected, in this run or since an earlier one.
    pub fn is_connected(&self) -> bool {
        self.network.read(|state| state.partner.is_some())
    }

    /// Registers at an eMSP with a token A of that eMSP.
    ///
    /// # Errors
    /// The eMSP cannot be reached, or refuses.
    pub async fn register(&self, emsp_versions_url: &str, token_a: &str) -> Result<(), String> {
        self.network.register(emsp_versions_url, token_a).await
    }

    /// Sends the connected eMSP the address at which this operator is in this run, with a new token (PUT of the credentials).
    ///
    /// # Errors
    /// No eMSP is connected, it cannot be reached, or it refuses.
    pub async fn renew(&self, emsp_versions_url: &str) -> Result<(), String> {
        self.network.renew(emsp_versions_url).await
    }

    /// Forgets the eMSP, without a word to it.
    pub fn forget(&self) {
        self.network.change(|state, _| {
            state.partner = None;
            state.token_c = None;
            state.outbox.clear();
        });
    }

    /// Does what has fallen due by the clock and sends it to the eMSP. True if there was anything.
    pub async fn settle(&self) -> bool {
        self.network.settle().await
    }

    /// What has to be done when the clock is moved.
    pub fn pace(&self) -> Pace {
        Pace(self.network.clone())
    }

    /// What a person does at the charge points, as routes of another server. That server has to refuse requests of web pages and of
    /// strangers.
    pub fn control(&self) -> Router {
        control::router(&self.network)
    }

    /// Ends the operator.
    pub async fn stop(self) {
        if let Some(working) = self.working {
            working.abort();
        }
        drop(self.stop);
        drop(tokio::time::timeout(Duration::from_secs(3), self.server).await);
    }
}

/// What has to be done when the clock is moved.
#[derive(Clone)]
pub struct Pace(Arc<Network>);

impl Pace {
    /// When something happens next by itself.
    pub fn next(&self) -> Option<Timestamp> {
        self.0.read(State::next)
    }

    /// Does what has fallen due and sends it to the eMSP. True if there was anything.
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

async fn listen(wanted: Option<u16>, last: u16) -> Result<TcpListener, String> {
    let bind = async |port: u16| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await;
    let bound = match (wanted, last) {
        (Some(port), _) => bind(port).await,
        (None, 0) => bind(0).await,
        (None, last) => match bind(last).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
    };
    let port = wanted.unwrap_or(last);
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
/// There is no cryptography for TLS.
pub fn http() -> Result<reqwest::Client, String> {
    // A provider that is installed already serves as well.
    drop(rustls::crypto::ring::default_provider().install_default());
    let http = reqwest::Client::builder().user_agent("cpo").no_proxy();
    let http = http.redirect(reqwest::redirect::Policy::none()).build();
    http.map_err(|error| error.to_string())
}

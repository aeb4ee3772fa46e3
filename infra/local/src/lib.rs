//! The local runner: the router of every route, an embedded table, and a queue, a scheduler and a clock in the same
//! process, behind the ports the functions use on AWS.

mod accounts;
mod backlog;
mod clock;
mod console;
mod credentials;
mod database;
mod deliveries;
pub mod demo;
mod demo_network;
mod downloads;
mod due;
mod embedded;
mod engine;
mod files;
mod guard;
mod inbox;
mod networks;
mod notices;
mod options;
mod patience;
mod requests;
mod routes;
mod server;
mod service;
mod session;
mod start_error;
mod stations;
mod streams;
mod timeline;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cpo::Cpo;
use functions::app::App;
use kernel::{Error, Id, Mode, Result};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::accounts::Remains;
use crate::credentials::create_account;
use crate::database::Database;
pub use crate::database::SECRET_KEY;
use crate::embedded::{Disk, Embedded};
use crate::engine::Engine;
use crate::files::Folder;
use crate::guard::LocalPort;
use crate::inbox::Inbox;
pub use crate::options::Options;
use crate::patience::during;
use crate::routes::Routes;
pub use crate::server::ClientLimits;
use crate::service::Service;
pub use crate::start_error::StartError;
pub use crate::stations::DEMO_STATIONS;

/// The running service.
pub struct Running {
    pub base_url: String,
    /// The token that the routes below `/_local` require.
    pub token: String,
    pub api_key: String,
    pub account: Id,
    /// The DynamoDB endpoint in use.
    pub store_url: String,
    /// The access key of the embedded table. It is None with another endpoint, which uses the credentials of the environment.
    pub access_key: Option<String>,
    /// The name of the table there.
    pub table: String,
    /// A report on the files of stations and tariffs that were loaded, one line each. None if no file was read.
    pub imported: Option<String>,
    pub app: App,
    network: Option<Cpo>,
    engine: Arc<Engine>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
    turning: Option<JoinHandle<()>>,
    embedded: Option<Embedded>,
}

impl Running {
    /// Starts the service, and returns when it accepts requests.
    ///
    /// # Errors
    /// The port or the folder cannot be used, the store cannot be reached, or a file cannot be read. The message names the option or
    /// file.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let disk = Arc::<Disk>::default();
        let data = options.data.clone();
        // Boxed, because the threads of tests have small stacks.
        let started = Box::pin(Self::start_on(options, disk.clone())).await;
        started.map_err(|error| {
            if disk.was_full() {
                StartError(format!("the disk of {} is full", data.display()))
            } else {
                error
            }
        })
    }

    async fn start_on(options: Options, disk: Arc<Disk>) -> Result<Self, StartError> {
        let folder = if options.memory {
            Folder::none()
        } else {
            Folder::open(&options.data, options.new)?
        };
        let listener = listen(options.port).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let database = Database::open(&options, &folder, disk).await?;
        let service = Service::open(&options, &folder, &database, address).await?;
        let network = demo_network::start(&options, &folder, service.clock.clone()).await?;
        let pace = network.as_ref().map(Cpo::pace);
        let engine = service.engine(&options, &folder, &database, pace).await?;
        let turning = (!options.by_hand).then(|| tokio::spawn(engine.clone().run()));
        let inbox = Inbox::new(service.clock.clone(), options.prints());
        let remains = Remains {
            engine: engine.clone(),
            inbox: Arc::new(inbox),
            folder,
        };
        let routes = Routes {
            service: &service,
            remains: &remains,
            network: network.as_ref(),
            port: LocalPort(address.port()),
            tiles: options.tiles(),
        };
        let router = routes.router().map_err(StartError)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = server::serve(listener, router, options.client_limits, async {
            // A dropped sender stops the service as well.
            drop(stopped.await);
        });
        let server = tokio::spawn(server);
        during("the last erasure is finished", remains.finish()).await?;
        if let Some(network) = &network {
            let connected = demo_network::connect(&service.app, network, &service.base_url);
            during("the charging network is connected", connected).await?;
        }
        let embedded = database.embedded;
        Ok(Self {
            base_url: service.base_url,
            token: service.token.as_str().to_owned(),
            api_key: service.account.api_key,
            account: service.account.account,
            store_url: database.url,
            access_key: embedded.as_ref().map(|table| table.access_key().to_owned()),
            table: options.table,
            imported: service.imported.as_ref().map(stations::report),
            app: service.app,
            network,
            engine,
            stop,
            server,
            turning,
            embedded,
        })
    }

    /// The versions URL of the charging network, if there is one.
    pub fn network(&self) -> Option<String> {
        self.network.as_ref().map(Cpo::versions_url)
    }

    /// Processes everything that is due now, and returns when no work is left.
    ///
    /// # Errors
    /// `Unavailable` if the work exceeds its time limit; `Internal` if there was a change that can never be relayed.
    pub async fn drain(&self) -> Result<()> {
        self.engine.settle().await?;
        self.engine.timeline.check()
    }

    /// Moves the time forward, and processes work at the moment at which it is due.
    ///
    /// # Errors
    /// As [`Running::drain`].
    pub async fn advance(&self, seconds: u32) -> Result<()> {
        self.engine.advance(seconds).await?;
        self.engine.timeline.check()
    }

    /// Makes the relay skip the contents of the stream and discards every message, as if all triggers had been lost.
    ///
    /// # Errors
    /// `Unavailable` if the stream cannot be read.
    pub async fn lose_triggers(&self) -> Result<()> {
        self.engine.lose_triggers().await
    }

    /// Relays the contents of the stream, and discards every message, as if the queues had lost them.
    ///
    /// # Errors
    /// `Unavailable` if the stream cannot be read.
    pub async fn lose_messages(&self) -> Result<()> {
        self.engine.lose_messages().await
    }

    /// Whether messages are due that have not been processed.
    pub fn has_due_work(&self) -> bool {
        self.engine.has_due_work()
    }

    /// Whether messages that were due when they were sent have not been processed.
    pub fn has_undelivered(&self) -> bool {
        self.engine.has_undelivered()
    }

    /// Creates another account. Returns its id and an API key of the mode.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn make_account(&self, mode: Mode) -> Result<(Id, String)> {
        create_account(&self.app, mode).await
    }

    /// Stops the service. Current requests are completed, and background work is completed or resumed at the next start.
    pub async fn stop(self) {
        let Self {
            network,
            engine,
            stop,
            server,
            turning,
            embedded,
            ..
        } = self;
        if let Some(network) = network {
            network.stop().await;
        }
        engine.notices.end();
        if stop.send(()).is_err() {
            tracing::warn!("the server had ended by itself");
        }
        drop(tokio::time::timeout(Duration::from_secs(3), server).await);
        if let Some(turning) = turning {
            turning.abort();
            // The engine has ended when it has released the data folder.
            drop(turning.await);
        }
        drop(engine);
        if let Some(embedded) = embedded {
            embedded.stop();
        }
    }
}

async fn listen(port: u16) -> Result<TcpListener, StartError> {
    let listening = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await;
    listening.map_err(|error| {
        StartError(format!(
            "--port {port}: the port cannot be used: {error}; --port 0 takes any that is free"
        ))
    })
}

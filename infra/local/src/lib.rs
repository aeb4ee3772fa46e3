//! The local runner: the router of every route, an embedded table, and a queue, a scheduler and a clock in the same
//! process, behind the ports the functions use on AWS.

mod accounts;
mod clock;
mod console;
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
mod patience;
mod requests;
mod server;
mod session;
mod stations;
mod streams;
mod timeline;
mod token;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::config::SharedHttpClient;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use cpo::Cpo;
use functions::accounts::bootstrap::{self, Bootstrap};
use functions::app::{App, Ports, TABLE};
use functions::documents::write::write;
use functions::networks::import_stations::Imported;
use functions::{assistants, aws};
use futures::FutureExt as _;
use kernel::Id;
use kernel::encryption::{EncryptionKeys, MIN_MASTER_SECRET};
use kernel::error::{Error, Result};
use kernel::origin::{Mode, Tenant};
use kernel::targets::Targets;
use kernel::version::Versions;
use models::account;
use models::api_key::Secret;
use models::ports::payments::Providers;
use serde::{Deserialize, Serialize};
use table::Store;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;
use web::metrics::Metrics;
use web::settings::{
    LATE_CANCELLATION, NETWORK_RATE, OwnParty, Quotas, Rates, Settings, UNHURRIED,
};

use crate::accounts::Remains;
use crate::clock::LocalClock;
pub use crate::stations::DEMO_STATIONS;

use crate::console::Tiles;
use crate::downloads::Downloads;
use crate::embedded::{Disk, Embedded};
use crate::engine::{Engine, Moved};
use crate::files::Folder;
use crate::guard::{Guard, LocalPort};
use crate::inbox::Inbox;
use crate::notices::Notices;
use crate::patience::during;
use crate::requests::Requests;
pub use crate::server::ClientLimits;
use crate::session::Session;
use crate::streams::Streams;
use crate::timeline::Timeline;
use crate::token::{Access, Token};

/// The highest fee of a reservation, in minor units.
const MAX_FEE: i64 = 99_999_999;

/// How long the secret of page tokens is, in bytes.
const PAGE_SECRET: usize = 32;

/// The secret access key that goes with the embedded table's access key. Signatures are not verified, so anything would do.
pub const SECRET_KEY: &str = "local";

/// How long it may take to connect to the endpoint of `--store`.
const CONNECT: Duration = Duration::from_secs(30);

/// The Fleet Charging Service on this machine.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "local", about)]
pub struct Options {
    /// The port to listen on; 0 takes any that is free.
    #[arg(long, default_value_t = 8787)]
    pub port: u16,
    /// The folder that holds the state.
    #[arg(long, value_name = "DIR", default_value = ".data")]
    pub data: PathBuf,
    /// Begin with a new account and an empty table. What earlier runs left is moved into a folder of its own in the data folder.
    #[arg(long, conflicts_with = "memory")]
    pub new: bool,
    /// Keep the state in memory: it ends with the process.
    #[arg(long)]
    pub memory: bool,
    /// Use the DynamoDB endpoint at this URL instead of the embedded one.
    #[arg(long, value_name = "URL", value_parser = endpoint_url)]
    pub store: Option<String>,
    /// OCPI 2.2.1 Location objects (a JSON array, an OCPI response with `data`, or one object), instead of the generated demo
    /// stations. Objects that cannot be used are reported and skipped.
    #[arg(long, value_name = "FILE")]
    pub stations: Option<PathBuf>,
    /// OCPI 2.2.1 Tariff objects, which give the connectors of `--stations` their prices.
    #[arg(long, value_name = "FILE", requires = "stations")]
    pub tariffs: Option<PathBuf>,
    /// Start a charging network as well, a second server on this machine that speaks OCPI with the service.
    #[arg(long)]
    pub network: bool,
    /// Requests per second an account may send.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: u32,
    /// The fee of a reservation, in the smallest unit of its currency.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..=MAX_FEE))]
    pub reservation_fee: i64,
    /// Map tiles for the console, for example `https://tiles.example/{z}/{x}/{y}.png`. Without them its map is a coastline that
    /// is part of the executable, and no request leaves this machine.
    #[arg(long, value_name = "URL", value_parser = console::tile_url)]
    pub tiles: Option<String>,
    /// The attribution that the source of the map tiles demands.
    #[arg(long, value_name = "TEXT", requires = "tiles")]
    pub tiles_attribution: Option<String>,
    /// Print one JSON object with `base_url`, `token`, `api_key`, `account` and the table's address and access key.
    #[arg(long)]
    pub json: bool,
    /// The name of the table.
    #[arg(long, value_name = "NAME", default_value = TABLE, hide = true)]
    pub table: String,
    /// For tests: nothing happens later but when [`Running::drain`] or [`Running::advance`] says so.
    #[arg(skip)]
    pub by_hand: bool,
    /// Who takes payments.
    #[arg(skip)]
    pub payments: Providers,
    /// For tests: how many demo stations are generated where no file is named.
    #[arg(skip = DEMO_STATIONS)]
    pub demo_stations: u32,
    /// For tests: how much an account may have together with the accounts below it.
    #[arg(skip)]
    pub quotas: Quotas,
    /// How many times longer than on Lambda a request and a call may take.
    #[arg(skip = UNHURRIED)]
    pub slack: u32,
    /// For tests: the access key of the embedded table. None: a random one.
    #[arg(skip)]
    pub access_key: Option<String>,
    /// For tests: versions before the current one.
    #[arg(skip)]
    pub versions: Versions,
    /// For tests: how long clients may take to send their requests.
    #[arg(skip)]
    pub client_limits: ClientLimits,
    /// For tests: what secrets in rows are encrypted with, as in the variable `ENCRYPTION_KEYS`. None: the keys of the folder.
    #[arg(skip)]
    pub encryption_keys: Option<String>,
    /// For tests: what the clock shows at the start, if it is later than the machine's time.
    #[arg(skip)]
    pub starts_at: Option<kernel::Timestamp>,
    /// For tests: the connections of the service to its table. None: those of [`aws::config`].
    #[arg(skip)]
    pub table_http: Option<SharedHttpClient>,
}

/// The service, running.
pub struct Running {
    pub base_url: String,
    /// What the routes below `/_local` ask for.
    pub token: String,
    pub api_key: String,
    pub account: Id,
    /// The DynamoDB endpoint in use.
    pub store_url: String,
    /// The access key of the embedded table. None with another endpoint, which has the credentials of the environment.
    pub access_key: Option<String>,
    /// The name of the table there.
    pub table: String,
    /// What was loaded from files of stations and tariffs, a line each; none when no file was read.
    pub imported: Option<String>,
    pub app: App,
    network: Option<Cpo>,
    engine: Arc<Engine>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
    turning: Option<JoinHandle<()>>,
    embedded: Option<Embedded>,
}

/// The account and key of earlier runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Account {
    account: Id,
    api_key: String,
    /// In hexadecimal.
    page_secret: String,
    /// The keys that secrets in rows are encrypted with, as in the variable `ENCRYPTION_KEYS`. None in folders of releases that
    /// did not encrypt them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption_keys: Option<String>,
}

/// The response of `GET /_local/clock`.
#[derive(Debug, Serialize)]
struct Time {
    now: kernel::Timestamp,
}

/// The body of `POST /_local/clock`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_seconds: u32,
}

/// Why the service did not start.
#[derive(Debug)]
pub struct StartError(String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for StartError {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Internal(source) | Error::Unavailable(source) => source.to_string(),
            error => error.to_string(),
        })
    }
}

impl Running {
    /// Starts the service, and returns when it answers.
    ///
    /// # Errors
    /// The port or the folder cannot be used, the store is out of reach, or a file cannot be read. The message names the
    /// option or file.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let disk = Arc::<Disk>::default();
        let data = options.data.clone();
        // Boxed, because the threads of tests have small stacks.
        let started = Box::pin(Self::start_on(options, disk.clone())).await;
        started.map_err(|error| match disk.was_full() {
            true => StartError(format!("the disk of {} is full", data.display())),
            false => error,
        })
    }

    async fn start_on(options: Options, disk: Arc<Disk>) -> Result<Self, StartError> {
        let folder = match options.memory {
            true => Folder::none(),
            false => Folder::open(&options.data, options.new)?,
        };
        let listener = listen(options.port).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let base_url = format!("http://{address}");
        let mut config = aws::unhurried_config(options.slack);
        let (embedded, store_url) = match &options.store {
            Some(url) => {
                config = aws::load(&aws::Http::new(options.slack), Some(url)).await?;
                config = config
                    .into_builder()
                    .timeout_config(aws::timeouts(options.slack))
                    .build();
                during(&format!("{url} is connected to"), reach(url)).await?;
                (None, url.clone())
            }
            None => {
                let access_key = match &options.access_key {
                    Some(key) => key.clone(),
                    None => hex::encode(&random()?[..16]),
                };
                folder.begin_table()?;
                let embedded = {
                    let (path, table) = (folder.path().map(Path::to_owned), options.table.clone());
                    let start = move || Embedded::start(path.as_deref(), access_key, table, disk);
                    let started = tokio::task::spawn_blocking(start);
                    during("the table is opened", started)
                        .await
                        .map_err(Error::internal)??
                };
                let credentials = Credentials::from_keys(embedded.access_key(), SECRET_KEY, None);
                let credentials = SharedCredentialsProvider::new(credentials);
                config = config
                    .into_builder()
                    .credentials_provider(credentials)
                    .build();
                let url = embedded.url();
                (Some(embedded), url)
            }
        };
        let mut settings = table::client::tuned(&config, options.slack);
        settings.set_endpoint_url(Some(store_url.clone()));
        if let Some(http) = &options.table_http {
            settings.set_http_client(Some(http.clone()));
        }
        let store = Store::new(
            aws_sdk_dynamodb::Client::from_conf(settings.build()),
            options.table.clone(),
        );
        let made = during("the table is created", store.create_table())
            .await
            .map_err(|error| match &options.store {
                Some(url) => unusable(url, StartError::from(error)),
                None => error.into(),
            })?;
        if let Some(embedded) = &embedded {
            embedded.upkeep().speed_up_streams().await?;
        }

        let clock = Arc::new(LocalClock::open(&folder)?);
        if let Some(moment) = options.starts_at {
            clock.move_to(moment)?;
        }
        let timeline = Arc::new(Timeline::new(clock.clone()));
        let mut known: Option<Account> = folder.read(files::CREDENTIALS)?;
        let page_secret = match &known {
            Some(known) => known.check(&folder)?,
            None => random()?,
        };
        let master_secrets = match (&options.encryption_keys, &mut known) {
            (Some(given), _) => given.clone(),
            (None, Some(known)) => known.master_secrets(&folder)?,
            (None, None) => hex::encode(random()?),
        };
        let downloads = Arc::new(Downloads::new(
            folder.path(),
            &page_secret,
            &base_url,
            clock.clone(),
        ));
        let settings = Settings {
            page_secret: Some(page_secret.clone()),
            encryption_keys: EncryptionKeys::new(&master_secrets)?,
            base_url: None,
            rates: Rates {
                test: options.rate,
                live: options.rate,
            },
            network_rate: NETWORK_RATE,
            own_party: OwnParty::new(
                kernel::environment::variable("OCPI_COUNTRY_CODE").as_deref(),
                kernel::environment::variable("OCPI_PARTY_ID").as_deref(),
                kernel::environment::variable("OCPI_NAME"),
            )?,
            reservation_fee: options.reservation_fee,
            late_cancellation: LATE_CANCELLATION,
            plausibility: web::settings::plausibility()?,
            targets: Targets::PublicAndLoopback,
            quotas: options.quotas,
            slack: options.slack,
            versions: options.versions.clone(),
            metrics: Metrics::default(),
        };
        let app = App::new(
            Ports {
                store,
                clock: clock.clone(),
                queue: timeline.clone(),
                schedules: timeline.clone(),
                payments: options.payments.clone(),
                files: downloads.clone(),
                write_document: write,
            },
            settings,
        );
        let known = match known {
            Some(known) => {
                known.find(&app, &folder).await?;
                known
            }
            None => {
                let made = make_account(&app, &page_secret, master_secrets).await?;
                folder.write(files::CREDENTIALS, &made)?;
                made
            }
        };
        if embedded.is_some() {
            folder.end_table()?;
            demo::create(&app).await?;
        }
        let sources = stations::Sources {
            stations: options.stations.as_deref(),
            tariffs: options.tariffs.as_deref(),
            demo: options.demo_stations,
        };
        let imported = stations::import(&app, &folder, sources, made);
        let imported = during("stations are loaded", imported).await?;

        let inbox = Arc::new(Inbox::new(clock.clone(), !options.json && !options.by_hand));
        let stream = app.store.stream().await?;
        let upkeep = embedded.as_ref().map(|embedded| embedded.upkeep().clone());
        let streams = Streams::open(&config, &store_url, stream, &folder, upkeep);
        let streams = during("the stream is opened", streams).await?;
        let prints = !options.json && !options.by_hand;
        let network = match options.network {
            true => {
                Some(demo_network::start(&folder, clock.clone(), prints, !options.by_hand).await?)
            }
            false => None,
        };
        let pace = network.as_ref().map(Cpo::pace);
        let receivers_slack = if options.by_hand { options.slack } else { 1 };
        let tenant = Tenant {
            account: known.account.clone(),
            mode: Mode::Test,
        };
        let notices = Arc::new(Notices::new(
            tenant,
            hex::encode(&random()?[..8]),
            clock.clone(),
        ));
        let engine = Engine::new(
            app.clone(),
            clock,
            timeline,
            notices,
            streams,
            pace,
            receivers_slack,
        );
        let engine = Arc::new(engine);
        during("pending work is looked for", engine.recover()).await?;
        let turning = (!options.by_hand).then(|| tokio::spawn(engine.clone().run()));
        let (stop, stopped) = oneshot::channel::<()>();
        let port = LocalPort(address.port());
        let guard = Guard {
            port,
            clock: app.clock.clone(),
        };
        let access = Access {
            token: Token::of(&page_secret),
            port,
            clock: app.clock.clone(),
        };
        let token = access.token.as_str().to_owned();
        let tiles = options.tiles.clone().map(|url| Tiles {
            url,
            attribution: options.tiles_attribution.clone(),
        });
        let console = console::router(tiles.as_ref()).map_err(StartError)?;
        let console = console.layer(from_fn_with_state(access.clone(), token::sign_in));
        let session = session::router(Session {
            account: known.account.clone(),
            api_key: known.api_key.clone(),
        });
        let remains = Remains {
            engine: engine.clone(),
            inbox: inbox.clone(),
            folder: folder.clone(),
        };
        let requests = Arc::new(Requests::new(app.clock.clone()));
        let mut private =
            private_routes(&app, &engine, &requests, &inbox, remains.clone()).merge(session);
        if let Some(network) = &network {
            private = private.nest(demo_network::ROUTE, network.control());
        }
        let private = private.layer(from_fn_with_state(access, token::check));
        let public = public_routes(&app, &engine, &requests, downloads, inbox);
        // The methods that the inbox does not have are refused by those that are merged last.
        let router = console.merge(public).merge(private);
        let router = router.layer(from_fn_with_state(guard, guard::check));
        let server = server::serve(listener, router, options.client_limits, async {
            // A dropped sender stops the service as well.
            drop(stopped.await);
        });
        let server = tokio::spawn(server);
        during("the last erasure is finished", remains.finish()).await?;
        if let Some(network) = &network {
            let connected = demo_network::connect(&app, network, &base_url);
            during("the charging network is connected", connected).await?;
        }
        let Account {
            account, api_key, ..
        } = known;
        Ok(Self {
            base_url,
            token,
            api_key,
            account,
            store_url,
            access_key: embedded
                .as_ref()
                .map(|embedded| embedded.access_key().to_owned()),
            table: options.table,
            imported: imported.as_ref().map(stations::report),
            app,
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

    /// Works on everything that is due now, and returns when nothing is left.
    ///
    /// # Errors
    /// `Unavailable` if the work takes longer than it may; `Internal` if there was a change that can never be relayed.
    pub async fn drain(&self) -> Result<()> {
        self.engine.settle().await?;
        self.engine.timeline.check()
    }

    /// Moves the time forward, doing on the way what falls due, when it falls due.
    ///
    /// # Errors
    /// As [`Running::drain`].
    pub async fn advance(&self, seconds: u32) -> Result<()> {
        self.engine.advance(seconds).await?;
        self.engine.timeline.check()
    }

    /// Makes the relay skip what the stream holds and forgets every message, as if all triggers had been lost.
    ///
    /// # Errors
    /// `Unavailable` if the stream cannot be read.
    pub async fn lose_triggers(&self) -> Result<()> {
        self.engine.lose_triggers().await
    }

    /// Relays what the stream holds, and forgets every message, as if the queues had lost them.
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

    /// Makes another account, with a key of that mode.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn make_account(&self, mode: Mode) -> Result<(Id, String)> {
        let made = bootstrap::handle(&self.app, account(mode)?).await?;
        Ok((made.account.id, made.api_key.secret.unwrap_or_default()))
    }

    /// Stops the service: current requests are answered, and background work is finished or resumed at the next start.
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
            // It has ended when it has let go of the data folder.
            drop(turning.await);
        }
        drop(engine);
        if let Some(embedded) = embedded {
            embedded.stop();
        }
    }
}

fn account(mode: Mode) -> Result<Bootstrap> {
    let account = serde_json::json!({"name": "Local account", "email": "ops@fleet.example", "type": "business"});
    serde_json::from_value(serde_json::json!({"account": account, "mode": mode}))
        .map_err(Error::internal)
}

impl Account {
    /// The secret of page tokens, if the file of the account has not been damaged.
    fn check(&self, folder: &Folder) -> Result<Vec<u8>> {
        if Secret::parse(&self.api_key).is_none() {
            return Err(folder.damaged(files::CREDENTIALS, "api_key is not an API key"));
        }
        let secret = hex::decode(&self.page_secret).ok();
        secret
            .filter(|secret| secret.len() >= PAGE_SECRET)
            .ok_or_else(|| {
                let message =
                    format!("page_secret is not at least {PAGE_SECRET} bytes in hexadecimal");
                folder.damaged(files::CREDENTIALS, &message)
            })
    }

    /// Refuses a folder whose account the table does not have: another account would replace its key.
    async fn find(&self, app: &App, folder: &Folder) -> Result<()> {
        let tenant = Tenant {
            account: self.account.clone(),
            mode: Mode::Test,
        };
        let account = app
            .store
            .find::<account::Account>(&tenant, &self.account)
            .await?;
        if account.is_some() {
            return Ok(());
        }
        let message = format!(
            "its account {} is not in the table: it was erased, or this is another table. Start over with --new, which keeps what \
             there is in a folder of its own",
            self.account
        );
        Err(folder.damaged(files::CREDENTIALS, &message))
    }

    /// The master secrets of encryption. A folder that has none is given one.
    fn master_secrets(&mut self, folder: &Folder) -> Result<String> {
        if let Some(master_secrets) = &self.encryption_keys {
            return match EncryptionKeys::new(master_secrets) {
                Ok(_) => Ok(master_secrets.clone()),
                Err(_) => {
                    let message = format!(
                        "encryption_keys is not a list of keys of at least {MIN_MASTER_SECRET} characters"
                    );
                    Err(folder.damaged(files::CREDENTIALS, &message))
                }
            };
        }
        let made = hex::encode(random()?);
        self.encryption_keys = Some(made.clone());
        folder.write(files::CREDENTIALS, self)?;
        Ok(made)
    }
}

async fn make_account(app: &App, page_secret: &[u8], master_secrets: String) -> Result<Account> {
    let made = bootstrap::handle(app, account(Mode::Test)?).await?;
    Ok(Account {
        account: made.account.id,
        api_key: made.api_key.secret.unwrap_or_default(),
        page_secret: hex::encode(page_secret),
        encryption_keys: Some(master_secrets),
    })
}

fn random() -> Result<Vec<u8>> {
    let mut bytes = vec![0; PAGE_SECRET];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(error.to_string()))?;
    Ok(bytes)
}

/// The routes of a local run that ask for its token: the clock, the notices of changes, the requests, the deliveries in the inbox,
/// stations, networks and accounts.
fn private_routes(
    app: &App,
    engine: &Arc<Engine>,
    requests: &Arc<Requests>,
    inbox: &Arc<Inbox>,
    remains: Remains,
) -> Router {
    Router::new()
        .route("/_local/clock", get(time).post(advance))
        .route(due::ROUTE, get(due::list))
        .with_state(engine.clone())
        .route(notices::ROUTE, get(notices::listen))
        .with_state(engine.notices.clone())
        .route(
            stations::ROUTE,
            post(load_stations).layer(DefaultBodyLimit::max(stations::MAX_BODY)),
        )
        .route(
            networks::ROUTE,
            post(networks::manage)
                .get(networks::list)
                .layer(from_fn_with_state(engine.clone(), nudge)),
        )
        .with_state(app.clone())
        .merge(accounts::router(app.clone(), remains))
        .route(
            requests::ROUTE,
            get(requests::list).with_state(requests.clone()),
        )
        .route(inbox::ROUTE, get(inbox::list).with_state(inbox.clone()))
        .route("/_local/{*path}", any(missing).with_state(app.clone()))
}

/// The routes that do not ask for the token: those of the service, which ask for an API key, the files, whose links are signed, and
/// the inbox, to which webhooks are sent.
fn public_routes(
    app: &App,
    engine: &Arc<Engine>,
    requests: &Arc<Requests>,
    downloads: Arc<Downloads>,
    inbox: Arc<Inbox>,
) -> Router {
    let service = functions::router(app.clone())
        .layer(from_fn_with_state(engine.clone(), nudge))
        .layer(from_fn_with_state(requests.clone(), requests::log));
    let api = service.clone();
    let transport: assistants::Transport = Arc::new(move |request| {
        let response = api.clone().oneshot(request);
        Box::pin(response.map(|response| response.map_err(|never| match never {})))
    });
    let rate = app.settings.rates.test;
    let assistants = assistants::router(rate, app.clock.clone(), move |_| Ok(transport.clone()));
    Router::new()
        .route(
            downloads::ROUTE,
            get(downloads::fetch).with_state(downloads),
        )
        .route(inbox::ROUTE, post(inbox::receive).with_state(inbox))
        .merge(assistants)
        .fallback_service(service)
}

/// Any other path below `/_local`.
async fn missing(State(app): State<App>) -> Response {
    guard::refused(&*app.clock, &Error::unknown_path())
}

/// Notifies the engine that a request may have left something to do.
async fn nudge(State(engine): State<Arc<Engine>>, request: Request, next: Next) -> Response {
    let reads = request.method().is_safe();
    let response = next.run(request).await;
    if !reads {
        engine.nudge();
    }
    response
}

/// `POST /_local/stations`: loads stations from OCPI objects, as the function `import-stations` does on AWS.
async fn load_stations(
    State(app): State<App>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Result<Json<Imported>, Response> {
    let loaded = async {
        guard::check_json(&headers)?;
        stations::load(&app, web::body::read(&body, None)?).await
    };
    let loaded = loaded.await.map(Json);
    loaded.map_err(|error| guard::refused(&*app.clock, &error))
}

/// `GET /_local/clock`: the time of everything in the process.
async fn time(State(engine): State<Arc<Engine>>) -> Json<Time> {
    let now = engine.now();
    Json(Time { now })
}

/// `POST /_local/clock`: moves the time, for everything in the process.
async fn advance(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Result<Json<Moved>, Response> {
    let moved = async {
        guard::check_json(&headers)?;
        let Advance { advance_seconds } = web::body::read(&body, None)?;
        engine.advance(advance_seconds).await
    };
    let moved = moved.await.map(Json);
    moved.map_err(|error| guard::refused(&*engine.clock, &error))
}

async fn listen(port: u16) -> Result<tokio::net::TcpListener, StartError> {
    let listening = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await;
    listening.map_err(|error| {
        StartError(format!(
            "--port {port}: the port cannot be used: {error}; --port 0 takes any that is free"
        ))
    })
}

/// The URL of a DynamoDB endpoint, which has no path.
fn endpoint_url(text: &str) -> Result<String, String> {
    let url: Uri = text
        .parse()
        .map_err(|_| "it is not a URL such as http://127.0.0.1:8000".to_owned())?;
    let scheme = url.scheme_str();
    if !matches!(scheme, Some("http" | "https")) || url.host().is_none_or(str::is_empty) {
        return Err("it is not a URL such as http://127.0.0.1:8000".to_owned());
    }
    if url
        .path_and_query()
        .is_some_and(|path| path.as_str() != "/")
    {
        return Err("the URL of a DynamoDB endpoint has no path".to_owned());
    }
    Ok(text.to_owned())
}

/// Whether something listens at the address of `--store`.
async fn reach(url: &str) -> Result<(), StartError> {
    let parsed: Uri = url.parse().map_err(|_| unusable(url, "it is not a URL"))?;
    let default = if parsed.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let (host, port) = (parsed.host(), parsed.port_u16().unwrap_or(default));
    let host = host.unwrap_or_default().trim_matches(['[', ']']);
    let connecting = tokio::net::TcpStream::connect((host, port));
    match tokio::time::timeout(CONNECT, connecting).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unusable(url, error)),
        Err(_) => Err(unusable(url, "nothing answers there")),
    }
}

fn unusable(url: &str, error: impl std::fmt::Display) -> StartError {
    let error = error.to_string();
    // The SDK adds the whole request and response in brackets.
    let brief = error
        .find(" (ServiceError(")
        .or_else(|| error.find(" (DispatchFailure("));
    let brief = brief.map_or(error.as_str(), |end| &error[..end]);
    StartError(format!(
        "--store {url}: DynamoDB cannot be used at this address: {brief}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_http_url_without_a_path() {
        for good in [
            "http://127.0.0.1:8000",
            "http://[::1]:8000/",
            "https://dynamodb.eu-west-1.amazonaws.com",
        ] {
            assert_eq!(endpoint_url(good).unwrap(), good);
        }
        for bad in [
            "",
            "nonsense",
            "127.0.0.1:8000",
            "/tmp/x",
            "ftp://127.0.0.1",
            "http://",
            "http://h/path",
            "http://h/?a=b",
        ] {
            assert!(endpoint_url(bad).is_err(), "{bad}");
        }
    }
}

//! The local runner: the router of every route, an embedded table, and a queue, a scheduler and a clock in the same
//! process, behind the ports the functions use on AWS.

mod clock;
mod demo;
mod downloads;
mod embedded;
mod engine;
mod files;
mod inbox;
mod stations;
mod streams;
mod timeline;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use functions::accounts::bootstrap::{self, Bootstrap};
use functions::accounts::set_status::{self, SetStatus};
use serde::{Deserialize, Serialize};
use shared::app::{App, Quotas, Settings, TABLE};
use shared::error::{Error, Result};
use shared::http::Versions;
use shared::http::errors;
use shared::http::rate_limit::Rates;
use shared::metrics::Metrics;
use shared::models::account::Account;
use shared::models::webhook_endpoint::Targets;
use shared::origin::Mode;
use shared::ports::payments::Providers;
use shared::store::Answer;
use shared::store::Store;
use shared::{Id, Kind, Timestamp, aws};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::clock::LocalClock;
use crate::downloads::Downloads;
use crate::embedded::Embedded;
use crate::engine::Engine;
use crate::files::Folder;
use crate::inbox::Inbox;
use crate::streams::Streams;
use crate::timeline::Timeline;

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
    /// Keep the state in memory: it ends with the process.
    #[arg(long)]
    pub memory: bool,
    /// Use the DynamoDB endpoint at this URL instead of the embedded one.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// A JSON array of OCPI 2.2.1 Location objects, instead of the generated demo stations.
    #[arg(long, value_name = "FILE")]
    pub stations: Option<PathBuf>,
    /// Requests per second an account may send.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub rate: u32,
    /// The fee of a reservation, in the smallest unit of its currency.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub reservation_fee: i64,
    /// Print one JSON object with `base_url`, `api_key` and `account`.
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
    /// For tests: how much an account may have together with the accounts below it.
    #[arg(skip)]
    pub quotas: Quotas,
    /// For tests: how many times longer than on Lambda a request and a call may take.
    #[arg(skip = 1u32)]
    pub slack: u32,
    /// For tests: versions before the current one.
    #[arg(skip)]
    pub versions: Versions,
}

/// The service, running.
pub struct Running {
    pub base_url: String,
    pub api_key: String,
    pub account: Id,
    /// The DynamoDB endpoint in use.
    pub store_url: String,
    /// The name of the table there.
    pub table: String,
    pub app: App,
    engine: Arc<Engine>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
    turning: Option<JoinHandle<()>>,
    embedded: Option<Embedded>,
}

/// The account and key of earlier runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Credentials {
    account: Id,
    api_key: String,
    /// In hexadecimal.
    page_secret: String,
}

/// The body of `POST /_local/clock`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_seconds: u32,
}

#[derive(Debug, Serialize)]
struct Now {
    now: Timestamp,
}

impl Running {
    /// Starts the service, and returns when it answers.
    ///
    /// # Errors
    /// A port or folder that cannot be used, a store out of reach, a file of stations that cannot be read.
    pub async fn start(options: Options) -> Result<Self> {
        let listener =
            tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], options.port))).await;
        let listener =
            listener.map_err(|error| Error::internal(format!("port {}: {error}", options.port)))?;
        let base_url = format!("http://{}", listener.local_addr().map_err(Error::internal)?);
        let folder = Folder::open((!options.memory).then_some(options.data.as_path()))?;
        let (embedded, store_url) = match &options.store {
            Some(url) => (None, url.clone()),
            None => {
                let embedded = Embedded::start(folder.path())?;
                let url = embedded.url();
                (Some(embedded), url)
            }
        };
        let config = aws::config();
        let mut settings = shared::store::client::tuned(&config, options.slack);
        settings.set_endpoint_url(Some(store_url.clone()));
        let store = Store::new(
            aws_sdk_dynamodb::Client::from_conf(settings.build()),
            options.table.clone(),
        );
        let made = store.create_table().await?;
        if let Some(embedded) = &embedded {
            embedded.speed_up_streams()?;
        }

        let clock = Arc::new(LocalClock::open(&folder)?);
        let timeline = Arc::new(Timeline::new(clock.clone()));
        let known: Option<Credentials> = if made {
            None
        } else {
            folder.read("credentials.json")?
        };
        let page_secret = match &known {
            Some(known) => hex::decode(&known.page_secret).map_err(Error::internal)?,
            None => random()?,
        };
        let downloads = Arc::new(Downloads::new(
            folder.path(),
            &page_secret,
            &base_url,
            clock.clone(),
        ));
        let settings = Settings {
            page_secret: page_secret.clone(),
            base_url: None,
            rates: Rates {
                test: options.rate,
                live: options.rate,
            },
            reservation_fee: options.reservation_fee,
            targets: Targets::PublicAndLoopback,
            quotas: options.quotas,
            slack: options.slack,
            versions: options.versions.clone(),
            metrics: Metrics::default(),
        };
        let app = App::new(
            store,
            clock.clone(),
            timeline.clone(),
            timeline.clone(),
            options.payments.clone(),
            downloads.clone(),
            settings,
        );
        let credentials = match known {
            Some(known) => known,
            None => {
                let made = make_account(&app, &page_secret).await?;
                folder.write("credentials.json", &made)?;
                made
            }
        };
        if embedded.is_some() {
            demo::create(&app).await?;
        }
        stations::import(&app, &folder, options.stations.as_deref(), made).await?;

        let inbox = Arc::new(Inbox::new(clock.clone(), !options.json && !options.by_hand));
        let streams = Streams::open(&config, &store_url, app.store.stream().await?, &folder)?;
        let engine = Arc::new(Engine::new(app.clone(), clock, timeline, streams));
        engine.recover().await?;
        let turning = (!options.by_hand).then(|| tokio::spawn(engine.clone().run()));
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(&app, &engine, downloads, inbox);
        let server = axum::serve(listener, router).with_graceful_shutdown(async {
            // A dropped sender stops the service as well.
            drop(stopped.await);
        });
        let server = tokio::spawn(server.into_future());
        let Credentials {
            account, api_key, ..
        } = credentials;
        Ok(Self {
            base_url,
            api_key,
            account,
            store_url,
            table: options.table,
            app,
            engine,
            stop,
            server,
            turning,
            embedded,
        })
    }

    /// Works on everything that is due now, and returns when nothing is left.
    ///
    /// # Errors
    /// Work that goes on longer than it should.
    pub async fn drain(&self) -> Result<()> {
        self.engine.settle().await
    }

    /// Moves the time forward, doing on the way what falls due, when it falls due.
    ///
    /// # Errors
    /// Work that goes on longer than it should.
    pub async fn advance(&self, seconds: u32) -> Result<()> {
        self.engine.advance(seconds).await.map(drop)
    }

    /// Makes the relay skip what the stream holds and forgets every message, as if all triggers had been lost.
    ///
    /// # Errors
    /// The stream's.
    pub async fn lose_triggers(&self) -> Result<()> {
        self.engine.lose_triggers().await
    }

    /// Relays what the stream holds, and forgets every message, as if the queues had lost them.
    ///
    /// # Errors
    /// The stream's.
    pub async fn lose_messages(&self) -> Result<()> {
        self.engine.lose_messages().await
    }

    /// Whether messages are due that nobody has worked on.
    pub fn has_due_work(&self) -> bool {
        self.engine.has_due_work()
    }

    /// Makes another account, with a key of that mode.
    ///
    /// # Errors
    /// The table's.
    pub async fn make_account(&self, mode: Mode) -> Result<(Id, String)> {
        let made = bootstrap::handle(&self.app, account(mode)?).await?;
        Ok((made.account.id, made.api_key.secret.unwrap_or_default()))
    }

    /// Ends the service: requests under way are answered, work under way is finished or found again at the next start.
    pub async fn stop(self) {
        let Self {
            engine,
            stop,
            server,
            turning,
            embedded,
            ..
        } = self;
        if stop.send(()).is_err() {
            tracing::warn!("the server had ended by itself");
        }
        drop(tokio::time::timeout(std::time::Duration::from_secs(3), server).await);
        if let Some(turning) = turning {
            turning.abort();
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

async fn make_account(app: &App, page_secret: &[u8]) -> Result<Credentials> {
    let made = bootstrap::handle(app, account(Mode::Test)?).await?;
    Ok(Credentials {
        account: made.account.id,
        api_key: made.api_key.secret.unwrap_or_default(),
        page_secret: hex::encode(page_secret),
    })
}

fn random() -> Result<Vec<u8>> {
    let mut bytes = vec![0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(error.to_string()))?;
    Ok(bytes)
}

/// The routes, the clock, the files and the inbox.
fn router(app: &App, engine: &Arc<Engine>, downloads: Arc<Downloads>, inbox: Arc<Inbox>) -> Router {
    let service = functions::router(app.clone()).layer(from_fn_with_state(engine.clone(), nudge));
    Router::new()
        .route("/_local/clock", post(advance))
        .with_state(engine.clone())
        .route("/_local/account_status", post(set_account_status))
        .with_state(app.clone())
        .route(
            downloads::ROUTE,
            get(downloads::fetch).with_state(downloads),
        )
        .route(
            inbox::ROUTE,
            post(inbox::receive).get(inbox::list).with_state(inbox),
        )
        .fallback_service(service)
}

/// Tells the engine that a request may have left something to do.
async fn nudge(State(engine): State<Arc<Engine>>, request: Request, next: Next) -> Response {
    let reads = request.method().is_safe();
    let response = next.run(request).await;
    if !reads {
        engine.nudge();
    }
    response
}

/// `POST /_local/account_status`: sets the status of an account, as `set-account-status` does on AWS.
async fn set_account_status(
    State(app): State<App>,
    body: axum::body::Bytes,
) -> Result<Json<Account>, Answer> {
    let set = async {
        let invocation: SetStatus = serde_json::from_slice(&body)
            .map_err(|error| Error::malformed(format!("The body is not valid: {error}.")))?;
        set_status::handle(&app, invocation).await
    };
    let shown = |error| errors::answer(&error, &Id::new(Kind::Request, app.now()), "");
    set.await.map(Json).map_err(shown)
}

/// `POST /_local/clock`: moves the time, for everything in the process.
async fn advance(
    State(engine): State<Arc<Engine>>,
    body: axum::body::Bytes,
) -> Result<Json<Now>, Answer> {
    let moved = async {
        let Advance { advance_seconds } = shared::http::body::read(&body, None)?;
        engine.advance(advance_seconds).await
    };
    let shown = |error| errors::answer(&error, &Id::new(Kind::Request, engine.now()), "");
    moved.await.map(|now| Json(Now { now })).map_err(shown)
}

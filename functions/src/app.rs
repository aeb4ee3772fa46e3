//! The state of every function: the table, the ports, and the settings.

use std::ops::Deref;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use axum::extract::FromRef;

use crate::aws;
use crate::documents::write::Write;
use crate::outbox::Gathering;
use crate::stripe::Stripe;
use kernel::cache::TtlCache;
use kernel::environment::variable;
use kernel::outbound::Outbound;
use kernel::time::{HOUR, seconds};
use kernel::{Id, Mode, Result, SignedDuration, Tenant, Timestamp};
use models::network::PartyId;
use models::ports::files::Files;
use models::ports::payments::{Payments, Providers, Simulated};
use models::ports::{Clock, Message, Queue, Schedules, send_at};
use models::{Stored, WebhookEndpoint};
use ocpi::client::Platform;
use ocpi::credentials::CredentialsToken;
use table::Store;
use table::known_networks::KnownNetworks;
use tokio::time::timeout;
use web::deployment::CONNECTIONS;
use web::edge::Edge;
use web::rate_limit::RateLimiter;
use web::settings::{self, Rates, Settings};

/// The app is shared by all requests of a process. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// The table, the clock, and everything else that a process uses or may lack.
#[derive(Clone)]
pub struct Ports {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub queue: Arc<dyn Queue>,
    pub schedules: Arc<dyn Schedules>,
    pub payments: Providers,
    pub files: Arc<dyn Files>,
    pub write_document: Write,
}

pub struct Parts {
    pub ports: Ports,
    pub settings: Arc<Settings>,
    /// The layer around every request of the API.
    pub edge: Arc<Edge>,
    /// The rate limits of charging networks.
    pub network_rates: RateLimiter,
    pub networks: KnownNetworks,
    /// Webhook endpoints that were read for deliveries.
    pub webhook_endpoints: TtlCache<(Tenant, Id), Stored<WebhookEndpoint>>,
    /// The fleet of each tenant's latest reservation. The next reservation reads it together with its driver and vehicle.
    pub last_fleets: TtlCache<Tenant, Id>,
    pub outbound: Outbound,
    /// The time of the last search for overdue work in this process.
    pub last_sweep: Mutex<Option<Timestamp>>,
}

/// The time for which a webhook endpoint is cached, and the number of cached endpoints. The documentation names the time.
const ENDPOINT_TTL: SignedDuration = seconds(5);
const MAX_ENDPOINTS: usize = 10_000;

/// The number of tenants whose latest fleet is cached.
const MAX_FLEETS: usize = 10_000;

/// The maximum time for which a start waits for its first call.
const FIRST_CALL: Duration = Duration::from_millis(800);

/// The name of the table if none is configured.
pub const TABLE: &str = "fleet-charging";

impl App {
    pub fn new(mut ports: Ports, settings: impl Into<Arc<Settings>>) -> Self {
        let settings = settings.into();
        ports.store = ports
            .store
            .with_encryption_keys(settings.encryption_keys.clone());
        ports.queue = Arc::new(Gathering(ports.queue));
        let edge = Edge::new(ports.store.clone(), ports.clock.clone(), settings.clone());
        let network_rates = RateLimiter::new(Rates {
            test: settings.network_rate,
            live: settings.network_rate,
        });
        let outbound = Outbound::new(settings.targets);
        Self(Arc::new(Parts {
            ports,
            settings,
            edge: Arc::new(edge),
            network_rates,
            networks: KnownNetworks::default(),
            webhook_endpoints: TtlCache::new(ENDPOINT_TTL, MAX_ENDPOINTS),
            last_fleets: TtlCache::new(HOUR, MAX_FLEETS),
            outbound,
            last_sweep: Mutex::default(),
        }))
    }

    /// The app of a Lambda function: the table `TABLE_NAME`, the queues, the scheduler and the bucket of its environment. Connections to
    /// the table are opened here, and an app that authenticates requests makes its first call: during its start a function has a whole
    /// processor, later only the share that belongs to its memory.
    ///
    /// # Errors
    /// A setting that is missing or malformed, or no AWS credentials.
    pub async fn from_env(
        connections: usize,
        authenticates: bool,
        write_document: Write,
    ) -> Result<Self> {
        let endpoint = aws::endpoint();
        let slack = settings::slack(endpoint.as_deref());
        let http = aws::Http::new(slack);
        let config = aws::load(&http, endpoint.as_deref()).await?;
        let secrets = aws::Secrets::from_env(http.clone(), &config);
        let calls = http.with_calls_at_once(CONNECTIONS);
        let of_table = config.to_builder().http_client(calls).build();
        let table = variable("TABLE_NAME").unwrap_or_else(|| TABLE.to_owned());
        let store = Store::new(aws::dynamodb(&of_table, slack), table);
        let connected = aws::connect(&http, &config, connections - usize::from(authenticates));
        let rehearsed = async {
            if authenticates {
                drop(timeout(FIRST_CALL, store.rehearse()).await);
            }
        };
        let (keys, (), ()) = tokio::join!(encryption_keys(&secrets), connected, rehearsed);
        let ports = Ports {
            store,
            clock: Arc::new(aws::SystemClock),
            queue: Arc::new(aws::Sqs::from_env(&config)),
            schedules: Arc::new(aws::Scheduler::from_env(&config)),
            payments: payment_providers(Some(secrets)),
            files: Arc::new(aws::S3::from_env(http, &config)),
            write_document,
        };
        let settings = Settings::from_env(endpoint.as_deref(), keys?)?;
        Ok(Self::new(ports, settings))
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Removes a webhook endpoint that was changed from the cache, so that this process uses the change for its next delivery. Other
    /// processes use it within five seconds.
    pub fn forget_endpoint(&self, tenant: &Tenant, id: &Id) {
        let key = (tenant.clone(), id.clone());
        self.webhook_endpoints.remove(&key);
    }

    /// The platform of another party, and the party that the call is addressed to: see [`Platform`].
    pub fn platform(
        &self,
        mode: Mode,
        token: CredentialsToken,
        to: Option<PartyId>,
    ) -> Platform<'_> {
        Platform {
            mode,
            outbound: &self.outbound,
            targets: self.settings.targets,
            own_party: &self.settings.own_party.id,
            clock: &*self.clock,
            token,
            to,
        }
    }

    /// Sends a message at the given time.
    ///
    /// # Errors
    /// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
    pub async fn send_at(&self, at: Timestamp, message: &Message) -> Result<()> {
        send_at(&*self.queue, &*self.schedules, self.now(), at, message).await
    }

    /// Sends the message about an item of the index `next_action` at the time of its action. If EventBridge Scheduler has no room for
    /// another schedule, the message is left to the sweep, which finds the item when it is overdue: otherwise the change of one tenant
    /// would be relayed again and again, and delay those of all others.
    ///
    /// # Errors
    /// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
    pub async fn send_or_leave_to_sweep(&self, at: Timestamp, message: &Message) -> Result<()> {
        static IS_LOGGED: Once = Once::new();
        match self.send_at(at, message).await {
            Err(error) if error.is_quota_exceeded() => {
                IS_LOGGED.call_once(|| tracing::error!(%error, "the sweep replaces schedules"));
                self.settings.metrics.schedules_full(self.now());
                Ok(())
            }
            sent => sent,
        }
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Deref for Parts {
    type Target = Ports;

    fn deref(&self) -> &Ports {
        &self.ports
    }
}

impl FromRef<App> for Arc<Edge> {
    fn from_ref(app: &App) -> Self {
        app.edge.clone()
    }
}

/// The keys with which secrets in items are encrypted: the value of the secret that `ENCRYPTION_KEYS_SECRET` names, or else of
/// `ENCRYPTION_KEYS`. A function that has them needs them for every item of its kind, so it reads the secret at its start, while it
/// connects to the table.
async fn encryption_keys(secrets: &aws::Secrets) -> Result<Option<String>> {
    match variable("ENCRYPTION_KEYS_SECRET") {
        Some(arn) => secrets.value(&arn).await.map(Some),
        None => Ok(variable("ENCRYPTION_KEYS")),
    }
}

/// The payment providers: simulated in test mode; in live mode Stripe, if the environment has its key or names the one of these secrets
/// that contains it.
pub fn payment_providers(secrets: Option<aws::Secrets>) -> Providers {
    let live = Stripe::from_env(secrets).map(|stripe| Arc::new(stripe) as Arc<dyn Payments>);
    Providers::new(Arc::new(Simulated), live)
}

//! What every function is given: the table, the ports, and the settings.

use std::ops::Deref;
use std::sync::Arc;

use crate::aws;
use crate::error::{Error, Result};
use crate::events::deliver::Sender;
use crate::http::auth::KeyRing;
use crate::http::rate_limit::{RateLimiter, Rates};
use crate::http::version::Versions;
use crate::metrics::Metrics;
use crate::models::webhook_endpoint::Targets;
use crate::ports::files::Files;
use crate::ports::payments::Providers;
use crate::ports::{Clock, Message, Queue, Schedules, send_at};
use crate::store::Store;
use crate::time::Timestamp;

/// Shared by all requests of a process. Cloning it is cheap.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub queue: Arc<dyn Queue>,
    pub schedules: Arc<dyn Schedules>,
    pub payments: Providers,
    pub files: Arc<dyn Files>,
    pub settings: Settings,
    pub keys: KeyRing,
    pub rates: RateLimiter,
    pub sender: Sender,
}

/// The name of the table where none is configured.
pub const TABLE: &str = "fleet-charging";

/// What page tokens are authenticated with where the table is not AWS's own and no secret is configured.
const LOCAL_PAGE_SECRET: &str = "for local runs: nobody else reads these pages";

/// How much an account may have together with all accounts below it.
#[derive(Debug, Clone, Copy)]
pub struct Quotas {
    /// Accounts below it, its children's children included.
    pub children: u32,
    /// Webhook endpoints in one mode, its own included. Its own alone are at most 16.
    pub endpoints: u32,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            children: 1_000,
            endpoints: 1_000,
        }
    }
}

/// What differs from one deployment to the next.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What page tokens are authenticated with: at least 32 bytes, the same for every function of a deployment.
    pub page_secret: Vec<u8>,
    /// The address clients use, such as `https://api.example.com`; without it, the request's host.
    pub base_url: Option<String>,
    pub rates: Rates,
    /// Minor units, fixed at a reservation's creation.
    pub reservation_fee: i64,
    /// Where webhooks may go.
    pub targets: Targets,
    pub quotas: Quotas,
    /// How many times longer than on Lambda a request may take: more than one on a machine that is busy with other things.
    pub slack: u32,
    pub versions: Versions,
    pub metrics: Metrics,
}

impl Settings {
    /// The settings a Lambda function reads from its environment: `PAGE_SECRET`, `BASE_URL`, `RATE_TEST`, `RATE_LIVE`,
    /// `MAX_CHILDREN`, `MAX_ENDPOINTS`, `RESERVATION_FEE`, `METRICS_NAMESPACE`, and `ALLOW_LOOPBACK_WEBHOOKS` for functions under cargo-lambda.
    ///
    /// # Errors
    /// A missing or short secret, or a number that is none.
    pub fn from_env() -> Result<Self> {
        let elsewhere =
            aws::variable("AWS_ENDPOINT_URL_DYNAMODB").map(|_| LOCAL_PAGE_SECRET.to_owned());
        let page_secret = aws::variable("PAGE_SECRET")
            .or(elsewhere)
            .unwrap_or_default()
            .into_bytes();
        if page_secret.len() < 32 {
            return Err(Error::internal(
                "PAGE_SECRET must have at least 32 characters",
            ));
        }
        let (standard, quotas) = (Rates::default(), Quotas::default());
        Ok(Self {
            page_secret,
            base_url: aws::variable("BASE_URL"),
            rates: Rates {
                test: number("RATE_TEST")?.unwrap_or(standard.test),
                live: number("RATE_LIVE")?.unwrap_or(standard.live),
            },
            reservation_fee: number("RESERVATION_FEE")?.unwrap_or(0),
            quotas: Quotas {
                children: number("MAX_CHILDREN")?.unwrap_or(quotas.children),
                endpoints: number("MAX_ENDPOINTS")?.unwrap_or(quotas.endpoints),
            },
            slack: 1,
            targets: match aws::variable("ALLOW_LOOPBACK_WEBHOOKS").as_deref() {
                Some("true") => Targets::PublicAndLoopback,
                _ => Targets::Public,
            },
            versions: Versions::default(),
            metrics: Metrics::new(aws::variable("METRICS_NAMESPACE")),
        })
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>> {
    let read = |text: String| {
        text.parse()
            .map_err(|_| Error::internal(format!("{name} must be a number, not {text:?}")))
    };
    aws::variable(name).map(read).transpose()
}

impl App {
    pub fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        queue: Arc<dyn Queue>,
        schedules: Arc<dyn Schedules>,
        payments: Providers,
        files: Arc<dyn Files>,
        settings: Settings,
    ) -> Self {
        let rates = RateLimiter::new(settings.rates);
        let sender = Sender::new(settings.targets);
        Self(Arc::new(Parts {
            store,
            clock,
            queue,
            schedules,
            payments,
            files,
            settings,
            keys: KeyRing::default(),
            rates,
            sender,
        }))
    }

    /// The app of a Lambda function: the table `TABLE_NAME`, the queues, the scheduler and the bucket of its environment.
    /// It is connected to the table already: at its start a function has a whole processor, later its memory's share.
    ///
    /// # Errors
    /// A setting that is missing or malformed.
    pub async fn from_env() -> Result<Self> {
        let http = aws::Http::default();
        aws::connect(&http).await;
        let config = aws::config_over(http.clone());
        let table = aws::variable("TABLE_NAME").unwrap_or_else(|| TABLE.to_owned());
        let store = Store::new(aws::dynamodb(&config), table);
        let queue = Arc::new(aws::Sqs::from_env(&config));
        let schedules = Arc::new(aws::Scheduler::from_env(&config));
        Ok(Self::new(
            store,
            Arc::new(aws::SystemClock),
            queue,
            schedules,
            Providers::from_env(),
            Arc::new(aws::S3::from_env(http)),
            Settings::from_env()?,
        ))
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sends a message at a moment.
    ///
    /// # Errors
    /// The queue's or the scheduler's.
    pub async fn send_at(&self, at: Timestamp, message: &Message) -> Result<()> {
        send_at(&*self.queue, &*self.schedules, self.now(), at, message).await
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

//! What every function is given: the table, the ports, and the settings.

use std::ops::Deref;
use std::sync::Arc;

use crate::aws;
use crate::deployment::CONNECTIONS;
use crate::encryption::EncryptionKeys;
use crate::environment::variable;
use crate::error::{Error, Result};
use crate::events::deliver::Sender;
use crate::http::auth::KeyRing;
use crate::http::rate_limit::{RateLimiter, Rates};
use crate::metrics::Metrics;
use crate::models::webhook_endpoint::Targets;
use crate::ocpi::party::PartyId;
use crate::ports::files::Files;
use crate::ports::payments::{Payments, Providers, Simulated};
use crate::ports::{Clock, Message, Queue, Schedules, send_at};
use crate::store::Store;
use crate::store::networks::KnownNetworks;
use crate::stripe::Stripe;
use crate::time::Timestamp;
use crate::version::Versions;

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
    /// The rates of requests of charging networks.
    pub network_rates: RateLimiter,
    pub networks: KnownNetworks,
    pub sender: Sender,
}

/// The name of the table where none is configured.
pub const TABLE: &str = "fleet-charging";

/// What page tokens are authenticated with where the table is on this machine and no secret is configured.
const LOCAL_PAGE_SECRET: &str = "for local runs: no other tenant reads these pages";

/// What secrets in rows are encrypted with where the table is on this machine and no key is configured.
const LOCAL_ENCRYPTION_KEY: &str = "for local runs: anybody can decrypt these rows";

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

/// The party that this service is to charging networks: an eMSP.
#[derive(Debug, Clone)]
pub struct OwnParty {
    pub id: PartyId,
    pub name: String,
}

impl OwnParty {
    /// The party of a deployment that has not set its own: a party id that is not registered anywhere.
    const COUNTRY_CODE: &str = "GB";
    const PARTY_ID: &str = "FCS";
    const NAME: &str = "Fleet Charging Service";

    /// # Errors
    /// `Internal` if the country code or the party id is malformed.
    pub fn new(
        country_code: Option<&str>,
        party_id: Option<&str>,
        name: Option<String>,
    ) -> Result<Self> {
        let country_code = country_code.unwrap_or(Self::COUNTRY_CODE);
        let id = PartyId::new(country_code, party_id.unwrap_or(Self::PARTY_ID));
        let wrong = |why| Error::internal(format!("OCPI_COUNTRY_CODE and OCPI_PARTY_ID: {why}"));
        Ok(Self {
            id: id.map_err(wrong)?,
            name: name.unwrap_or_else(|| Self::NAME.to_owned()),
        })
    }
}

/// Requests per second of one charging network, unless it is set: a large operator reports that many changes of status.
pub const NETWORK_RATE: u32 = 1_000;

/// What differs from one deployment to the next.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What page tokens are authenticated with: at least 32 bytes, the same for every function of a deployment. Functions
    /// that answer with no pages have none.
    pub page_secret: Option<Vec<u8>>,
    /// What secrets in rows are encrypted with. Functions that show and use no secret have no keys.
    pub encryption_keys: EncryptionKeys,
    /// The address clients use, such as `https://api.example.com`; without it, the request's host.
    pub base_url: Option<String>,
    pub rates: Rates,
    /// Requests per second of one charging network.
    pub network_rate: u32,
    /// As whom this service takes part in roaming.
    pub own_party: OwnParty,
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
    /// The settings a Lambda function reads from its environment: `PAGE_SECRET`, `ENCRYPTION_KEYS`, `BASE_URL`, `RATE_TEST`,
    /// `RATE_LIVE`, `RATE_NETWORK`, `OCPI_COUNTRY_CODE`, `OCPI_PARTY_ID`, `OCPI_NAME`, `MAX_CHILDREN`, `MAX_ENDPOINTS`, `RESERVATION_FEE`, `METRICS_NAMESPACE`, and `ALLOW_LOOPBACK_WEBHOOKS` for functions under cargo-lambda.
    ///
    /// # Errors
    /// `PAGE_SECRET` or a key of `ENCRYPTION_KEYS` is too short; a number is malformed.
    pub fn from_env() -> Result<Self> {
        let endpoint = aws::endpoint();
        let page_secret = page_secret(variable("PAGE_SECRET"), endpoint.as_deref())?;
        let encryption_keys = encryption_keys(variable("ENCRYPTION_KEYS"), endpoint.as_deref())?;
        let (standard, quotas) = (Rates::default(), Quotas::default());
        Ok(Self {
            page_secret,
            encryption_keys,
            base_url: variable("BASE_URL"),
            rates: Rates {
                test: number("RATE_TEST")?.unwrap_or(standard.test),
                live: number("RATE_LIVE")?.unwrap_or(standard.live),
            },
            network_rate: number("RATE_NETWORK")?.unwrap_or(NETWORK_RATE),
            own_party: OwnParty::new(
                variable("OCPI_COUNTRY_CODE").as_deref(),
                variable("OCPI_PARTY_ID").as_deref(),
                variable("OCPI_NAME"),
            )?,
            reservation_fee: number("RESERVATION_FEE")?.unwrap_or(0),
            quotas: Quotas {
                children: number("MAX_CHILDREN")?.unwrap_or(quotas.children),
                endpoints: number("MAX_ENDPOINTS")?.unwrap_or(quotas.endpoints),
            },
            slack: 1,
            targets: match variable("ALLOW_LOOPBACK_WEBHOOKS").as_deref() {
                Some("true") => Targets::PublicAndLoopback,
                _ => Targets::Public,
            },
            versions: Versions::default(),
            metrics: Metrics::new(variable("METRICS_NAMESPACE")),
        })
    }
}

impl Settings {
    /// The secret of page tokens.
    ///
    /// # Errors
    /// `Internal` if this function has none.
    pub fn page_secret(&self) -> Result<&[u8]> {
        self.page_secret.as_deref().ok_or_else(|| {
            Error::internal(
                "PAGE_SECRET must be set to at least 32 random characters, the same for every function of the deployment: \
                 only a table at a loopback endpoint (AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:...) can do without",
            )
        })
    }
}

/// The secret of page tokens. Without a configured one, a table at a loopback address may use the constant that is in the
/// source code: anybody can forge page tokens that are authenticated with it.
fn page_secret(configured: Option<String>, endpoint: Option<&str>) -> Result<Option<Vec<u8>>> {
    match configured {
        Some(secret) if secret.len() >= 32 => Ok(Some(secret.into_bytes())),
        Some(_) => Err(Error::internal(
            "PAGE_SECRET must have at least 32 characters",
        )),
        None if endpoint.is_some_and(is_loopback) => {
            Ok(Some(LOCAL_PAGE_SECRET.as_bytes().to_vec()))
        }
        None => Ok(None),
    }
}

/// The keys that secrets in rows are encrypted with. Without configured ones, a table at a loopback address may use the
/// constant that is in the source code; a function of a deployment has none, because it does not need any.
fn encryption_keys(configured: Option<String>, endpoint: Option<&str>) -> Result<EncryptionKeys> {
    match configured {
        Some(master_secrets) => EncryptionKeys::new(&master_secrets),
        None if endpoint.is_some_and(is_loopback) => EncryptionKeys::new(LOCAL_ENCRYPTION_KEY),
        None => Ok(EncryptionKeys::none()),
    }
}

/// Whether a URL names this machine.
fn is_loopback(url: &str) -> bool {
    let url = url::Url::parse(url).ok();
    match url.as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>> {
    let read = |text: String| {
        text.parse()
            .map_err(|_| Error::internal(format!("{name} must be a number, not {text:?}")))
    };
    variable(name).map(read).transpose()
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
        let store = store.with_encryption_keys(settings.encryption_keys.clone());
        let rates = RateLimiter::new(settings.rates);
        let network_rates = RateLimiter::new(Rates {
            test: settings.network_rate,
            live: settings.network_rate,
        });
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
            network_rates,
            networks: KnownNetworks::default(),
            sender,
        }))
    }

    /// The app of a Lambda function: the table `TABLE_NAME`, the queues, the scheduler and the bucket of its environment.
    /// So many connections to the table are open already: at its start a function has a whole processor, later the share of
    /// its memory.
    ///
    /// # Errors
    /// A setting that is missing or malformed.
    pub async fn from_env(connections: usize) -> Result<Self> {
        let http = aws::Http::default();
        aws::connect(&http, connections).await;
        let config = aws::config_over(http.clone());
        let of_table = aws::config_over(http.with_calls_at_once(CONNECTIONS));
        let table = variable("TABLE_NAME").unwrap_or_else(|| TABLE.to_owned());
        let store = Store::new(aws::dynamodb(&of_table), table);
        let queue = Arc::new(aws::Sqs::from_env(&config));
        let schedules = Arc::new(aws::Scheduler::from_env(&config));
        Ok(Self::new(
            store,
            Arc::new(aws::SystemClock),
            queue,
            schedules,
            payment_providers(),
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
    /// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
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

/// The payment providers: simulated in test mode, and in live mode Stripe if the environment has its key.
pub fn payment_providers() -> Providers {
    let live = Stripe::from_env().map(|stripe| Arc::new(stripe) as Arc<dyn Payments>);
    Providers::new(Arc::new(Simulated), live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_table_on_this_machine_does_without_a_page_secret() {
        let secret = "s".repeat(32);
        let configured = Some(secret.clone().into_bytes());
        for endpoint in [
            "http://127.0.0.1:8000",
            "http://localhost:8000/",
            "http://[::1]:8000",
        ] {
            let used = page_secret(None, Some(endpoint)).unwrap();
            assert_eq!(used.as_deref(), Some(LOCAL_PAGE_SECRET.as_bytes()));
            let used = page_secret(Some(secret.clone()), Some(endpoint)).unwrap();
            assert_eq!(used, configured, "{endpoint}");
        }
        for endpoint in [
            None,
            Some("https://dynamodb.eu-west-1.amazonaws.com"),
            Some("http://10.0.0.7:8000"),
            Some("http://localhost.attacker.example:8000"),
            Some("http://127.0.0.1.attacker.example"),
            Some("http://127.0.0.1@attacker.example"),
            Some("127.0.0.1:8000"),
        ] {
            assert_eq!(page_secret(None, endpoint).unwrap(), None, "{endpoint:?}");
            let used = page_secret(Some(secret.clone()), endpoint).unwrap();
            assert_eq!(used, configured);
        }
        let short = page_secret(Some("s".repeat(31)), Some("http://127.0.0.1:8000"));
        assert!(short.is_err());
    }

    #[test]
    fn only_a_table_on_this_machine_does_without_encryption_keys() {
        let local = encryption_keys(None, Some("http://127.0.0.1:8000")).unwrap();
        assert!(local.encrypt("row", "secret").is_ok());
        for endpoint in [None, Some("https://dynamodb.eu-west-1.amazonaws.com")] {
            let none = encryption_keys(None, endpoint).unwrap();
            assert!(none.encrypt("row", "secret").is_err());
            let configured = encryption_keys(Some("k".repeat(32)), endpoint).unwrap();
            assert!(configured.encrypt("row", "secret").is_ok());
            assert!(encryption_keys(Some("short".into()), endpoint).is_err());
        }
    }
}

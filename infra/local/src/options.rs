//! The options of the runner: those of the command line, and those for tests.

use std::path::PathBuf;

use aws_sdk_dynamodb::config::SharedHttpClient;
use axum::http::Uri;
use functions::app::TABLE;
use kernel::Result;
use kernel::encryption::EncryptionKeys;
use kernel::targets::Targets;
use kernel::time::days;
use kernel::version::Versions;
use models::ports::payments::Providers;
use web::metrics::Metrics;
use web::page_token::PageSecrets;
use web::settings::{
    LATE_CANCELLATION, NETWORK_RATE, OwnParty, Quotas, RESERVATION_FEES, Rates, Settings, UNHURRIED,
};

use crate::console::{self, Tiles};
use crate::credentials::Secrets;
use crate::server::ClientLimits;
use crate::stations::{DEMO_STATIONS, Sources};

/// The Fleet Charging Service on this machine.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "local", about)]
pub struct Options {
    /// The port to listen on; 0 selects any free port.
    #[arg(long, default_value_t = 8787)]
    pub port: u16,
    /// The folder that holds the state.
    #[arg(long, value_name = "DIR", default_value = ".data")]
    pub data: PathBuf,
    /// Begin with a new account and an empty table. The files of earlier runs are moved into a folder of their own in the data folder.
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
        value_parser = clap::value_parser!(i64).range(RESERVATION_FEES))]
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
    /// For tests: asynchronous work is done only by [`crate::Running::drain`] and [`crate::Running::advance`].
    #[arg(skip)]
    pub by_hand: bool,
    /// The payment providers.
    #[arg(skip)]
    pub payments: Providers,
    /// For tests: the number of demo stations that are generated if no file is named.
    #[arg(skip = DEMO_STATIONS)]
    pub demo_stations: u32,
    /// For tests: the quotas of an account together with the accounts below it.
    #[arg(skip)]
    pub quotas: Quotas,
    /// The factor by which the time limits of requests and calls exceed those on Lambda.
    #[arg(skip = UNHURRIED)]
    pub slack: u32,
    /// For tests: the access key of the embedded table. If None, it is random.
    #[arg(skip)]
    pub access_key: Option<String>,
    /// For tests: versions before the current one.
    #[arg(skip)]
    pub versions: Versions,
    /// For tests: the time limits for clients to send their requests.
    #[arg(skip)]
    pub client_limits: ClientLimits,
    /// For tests: the encryption keys of secrets in items, as in the variable `ENCRYPTION_KEYS`. If None, the keys of the folder are used.
    #[arg(skip)]
    pub encryption_keys: Option<String>,
    /// For tests: the time of the clock at the start, if it is later than the machine's time.
    #[arg(skip)]
    pub starts_at: Option<kernel::Timestamp>,
    /// For tests: where metrics are written.
    #[arg(skip)]
    pub metrics: Metrics,
    /// For tests: the connections of the service to its table. If None, those of [`functions::aws::config`] are used.
    #[arg(skip)]
    pub table_http: Option<SharedHttpClient>,
}

impl Options {
    /// For tests and benchmarks: the state is in memory, on any free port, and the rate limit is never reached.
    pub fn in_memory() -> Self {
        Self {
            port: 0,
            memory: true,
            rate: 1_000_000,
            slack: 1,
            access_key: Some("local".into()),
            ..clap::Parser::parse_from(["local"])
        }
    }

    /// The settings of the service.
    ///
    /// # Errors
    /// `Internal` if a variable of the environment or a key of encryption is malformed.
    pub(crate) fn settings(&self, secrets: &Secrets) -> Result<Settings> {
        Ok(Settings {
            page_secrets: Some(PageSecrets::of(secrets.page.clone())),
            encryption_keys: EncryptionKeys::new(&secrets.encryption_keys)?,
            base_url: None,
            rates: Rates {
                test: self.rate,
                live: self.rate,
            },
            network_rate: NETWORK_RATE,
            own_party: OwnParty::new(
                kernel::environment::variable("OCPI_COUNTRY_CODE").as_deref(),
                kernel::environment::variable("OCPI_PARTY_ID").as_deref(),
                kernel::environment::variable("OCPI_NAME"),
            )?,
            reservation_fee: self.reservation_fee,
            late_cancellation: LATE_CANCELLATION,
            report_retention: Some(days(90)),
            plausibility: web::settings::plausibility()?,
            targets: Targets::PublicAndLoopback,
            quotas: self.quotas,
            slack: self.slack,
            versions: self.versions.clone(),
            metrics: self.metrics.clone(),
        })
    }

    /// The files from which stations are loaded.
    pub(crate) fn sources(&self) -> Sources<'_> {
        Sources {
            stations: self.stations.as_deref(),
            tariffs: self.tariffs.as_deref(),
            demo: self.demo_stations,
        }
    }

    /// The map tiles of the console.
    pub(crate) fn tiles(&self) -> Option<Tiles> {
        Some(Tiles {
            url: self.tiles.clone()?,
            attribution: self.tiles_attribution.clone(),
        })
    }

    /// Whether webhooks and the log of the charging network are printed.
    pub(crate) fn prints(&self) -> bool {
        !self.json && !self.by_hand
    }
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

//! The settings of a deployment.

use std::ops::RangeInclusive;

use crate::metrics::Metrics;
use crate::page_token::PageSecrets;
use kernel::encryption::EncryptionKeys;
use kernel::environment::{is_loopback, variable};
use kernel::targets::Targets;
use kernel::time::{days, minutes, seconds};
use kernel::version::Versions;
use kernel::{Currency, Error, Mode, Result, SignedDuration};
use models::charging::session::Plausibility;
use models::network::PartyId;

/// The secret for page tokens if the table is on this machine and no secret is configured.
const LOCAL_PAGE_SECRET: &str = "for local runs: no other tenant reads these pages";

/// The key for secrets in items if the table is on this machine and no key is configured.
const LOCAL_ENCRYPTION_KEY: &str = "for local runs: anybody can decrypt these items";

/// Requests per second, by mode. A bucket contains twice as many tokens.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    pub test: u32,
    pub live: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            test: 25,
            live: 100,
        }
    }
}

impl Rates {
    /// Returns the rate in a mode, at least 1.
    pub fn of(self, mode: Mode) -> i64 {
        i64::from(match mode {
            Mode::Test => self.test,
            Mode::Live => self.live,
        })
        .max(1)
    }
}

/// The limits of an account together with all accounts below it.
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

/// The party as which this service takes part in roaming: an eMSP.
#[derive(Debug, Clone)]
pub struct OwnParty {
    pub id: PartyId,
    pub name: String,
}

impl OwnParty {
    /// The party of a deployment that has not configured its own: a party id that is not registered anywhere.
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

/// The factor by which the time limits of a request and a call exceed those on Lambda, on a machine that is busy with other work: a request
/// then has 30 seconds.
pub const UNHURRIED: u32 = 12;

/// Returns the factor by which the time limits exceed those on Lambda, for a function whose table is at `endpoint`, if that is not AWS's
/// own. A deployed function, which has SETTINGS, has the limits of Lambda wherever its table is.
pub fn slack(endpoint: Option<&str>) -> u32 {
    let is_deployed = variable("SETTINGS").is_some();
    if !is_deployed && endpoint.is_some_and(is_loopback) {
        UNHURRIED
    } else {
        1
    }
}

/// The default number of requests per second of one charging network: a large operator reports that many changes of status.
pub const NETWORK_RATE: u32 = 1_000;

/// The default time after its confirmation during which a reservation can be cancelled free of charge.
pub const LATE_CANCELLATION: SignedDuration = minutes(10);

/// The fees of a reservation that can be configured, in minor units; `infra/template.yaml` has the same limits.
pub const RESERVATION_FEES: RangeInclusive<i64> = 0..=99_999_999;

/// The settings that differ between deployments.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The secrets for page tokens, the same for every function of a deployment. Functions whose responses are not pages have none.
    pub page_secrets: Option<PageSecrets>,
    /// The keys for secrets in items. Functions that show and use no secret have no keys.
    pub encryption_keys: EncryptionKeys,
    /// The address that clients use, such as `https://api.example.com`; without it, the request's host.
    pub base_url: Option<String>,
    pub rates: Rates,
    /// Requests per second of one charging network.
    pub network_rate: u32,
    /// The party as which this service takes part in roaming.
    pub own_party: OwnParty,
    /// In minor units, fixed when a reservation is created.
    pub reservation_fee: i64,
    /// The time after its confirmation, or after a reassignment that its tenant has not caused, during which a reservation can be cancelled
    /// free of charge, at most until its start.
    pub late_cancellation: SignedDuration,
    /// The time for which the files of reports are kept; none if they are kept for good.
    pub report_retention: Option<SignedDuration>,
    /// The conditions under which amounts of a charging network are reviewed before they are billed.
    pub plausibility: Plausibility,
    /// The permitted addresses of webhooks.
    pub targets: Targets,
    pub quotas: Quotas,
    /// The factor by which the time limit of a request exceeds that on Lambda: more than one on a machine that is busy with other work.
    pub slack: u32,
    pub versions: Versions,
    pub metrics: Metrics,
}

impl Settings {
    /// Reads the settings of a Lambda function from its environment: `PAGE_SECRET`, `BASE_URL`, `RATE_TEST`, `RATE_LIVE`, `RATE_NETWORK`,
    /// `OCPI_COUNTRY_CODE`, `OCPI_PARTY_ID`, `OCPI_NAME`, `MAX_CHILDREN`, `MAX_ENDPOINTS`, `RESERVATION_FEE`, `LATE_CANCELLATION_SECONDS`,
    /// `REPORT_DAYS`, `REVIEW_TOLERANCES`, `ASSUMED_PRICES`, `METRICS_NAMESPACE`, and `ALLOW_LOOPBACK_WEBHOOKS` for functions under
    /// cargo-lambda.
    ///
    /// `endpoint` is the address of the table, if it is not AWS's own, and `keys` are the keys for secrets in items.
    ///
    /// # Errors
    /// `PAGE_SECRET` or one of the keys is too short; a number or a list of amounts is malformed, or the fee of a reservation is not among
    /// [`RESERVATION_FEES`].
    pub fn from_env(endpoint: Option<&str>, keys: Option<String>) -> Result<Self> {
        // A deployed function, which has SETTINGS, has only the secrets that it needs, wherever its table is.
        let deployed = variable("SETTINGS").is_some();
        let endpoint = endpoint.filter(|_| !deployed);
        let page_secrets = page_secrets(variable("PAGE_SECRET"), endpoint)?;
        let encryption_keys = encryption_keys(keys, endpoint)?;
        let (standard, quotas) = (Rates::default(), Quotas::default());
        Ok(Self {
            page_secrets,
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
            reservation_fee: reservation_fee(number("RESERVATION_FEE")?)?,
            late_cancellation: number("LATE_CANCELLATION_SECONDS")?
                .map_or(LATE_CANCELLATION, |count: u32| seconds(count.into())),
            report_retention: number("REPORT_DAYS")?.map(|count: u32| days(count.into())),
            plausibility: plausibility()?,
            quotas: Quotas {
                children: number("MAX_CHILDREN")?.unwrap_or(quotas.children),
                endpoints: number("MAX_ENDPOINTS")?.unwrap_or(quotas.endpoints),
            },
            slack: slack(endpoint),
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
    /// Returns the secrets of page tokens.
    ///
    /// # Errors
    /// `Internal` if this function has none.
    pub fn page_secrets(&self) -> Result<&PageSecrets> {
        self.page_secrets.as_ref().ok_or_else(|| {
            Error::internal(
                "PAGE_SECRET must be set to at least 32 random characters, the same for every function of the deployment: \
                 only a table at a loopback endpoint (AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:...) can do without",
            )
        })
    }
}

/// Returns the secrets of page tokens. If none is configured, a table at a loopback address may use the constant that is in the source code:
/// anyone can forge page tokens that are authenticated with it.
fn page_secrets(configured: Option<String>, endpoint: Option<&str>) -> Result<Option<PageSecrets>> {
    match configured {
        Some(secrets) => PageSecrets::parse(&secrets).map(Some),
        None if endpoint.is_some_and(is_loopback) => {
            let secret = LOCAL_PAGE_SECRET.as_bytes().to_vec();
            Ok(Some(PageSecrets::of(secret)))
        }
        None => Ok(None),
    }
}

/// Returns the keys for secrets in items. If none are configured, a table at a loopback address may use the constant that is in the source
/// code; a function of a deployment has none, because it does not need any.
fn encryption_keys(configured: Option<String>, endpoint: Option<&str>) -> Result<EncryptionKeys> {
    match configured {
        Some(master_secrets) => EncryptionKeys::new(&master_secrets),
        None if endpoint.is_some_and(is_loopback) => EncryptionKeys::new(LOCAL_ENCRYPTION_KEY),
        None => Ok(EncryptionKeys::none()),
    }
}

/// Returns the conditions under which amounts of a charging network are reviewed, from the variables `REVIEW_TOLERANCES` and
/// `ASSUMED_PRICES`. A currency that the service does not know is logged.
///
/// # Errors
/// `Internal` if one of them is malformed.
pub fn plausibility() -> Result<Plausibility> {
    let names = ["REVIEW_TOLERANCES", "ASSUMED_PRICES"];
    let [tolerances, prices] = names.map(variable);
    for (name, list) in names.into_iter().zip([&tolerances, &prices]) {
        let parts = list.iter().flat_map(|list| list.split(','));
        let codes = parts.filter_map(|part| Some(part.split_once(':')?.0.trim()));
        for currency in codes.filter(|code| Currency::from_code(code).is_none()) {
            tracing::warn!(name, currency, "an unknown currency is ignored");
        }
    }
    Plausibility::read(tolerances.as_deref(), prices.as_deref()).map_err(Error::internal)
}

/// Returns the fee of a reservation, 0 if none is configured.
///
/// # Errors
/// `Internal` if it is not among [`RESERVATION_FEES`].
fn reservation_fee(configured: Option<i64>) -> Result<i64> {
    let fee = configured.unwrap_or(0);
    if RESERVATION_FEES.contains(&fee) {
        Ok(fee)
    } else {
        let (least, most) = RESERVATION_FEES.into_inner();
        let message = format!("RESERVATION_FEE must be from {least} to {most}, not {fee}");
        Err(Error::internal(message))
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>> {
    let read = |text: String| {
        text.parse()
            .map_err(|_| Error::internal(format!("{name} must be a number, not {text:?}")))
    };
    variable(name).map(read).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_fee_is_neither_negative_nor_too_large() {
        for (configured, fee) in [(None, 0), (Some(0), 0), (Some(99_999_999), 99_999_999)] {
            assert_eq!(reservation_fee(configured).unwrap(), fee);
        }
        for refused in [-1, 100_000_000] {
            reservation_fee(Some(refused)).unwrap_err();
        }
    }

    #[test]
    fn only_a_table_on_this_machine_does_without_a_page_secret() {
        let secret = "s".repeat(32);
        let configured = Some(PageSecrets::of(secret.clone().into_bytes()));
        let local = PageSecrets::of(LOCAL_PAGE_SECRET.as_bytes().to_vec());
        for endpoint in [
            "http://127.0.0.1:8000",
            "http://localhost:8000/",
            "http://[::1]:8000",
        ] {
            let used = page_secrets(None, Some(endpoint)).unwrap();
            assert_eq!(used.as_ref(), Some(&local));
            let used = page_secrets(Some(secret.clone()), Some(endpoint)).unwrap();
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
            assert_eq!(page_secrets(None, endpoint).unwrap(), None, "{endpoint:?}");
            let used = page_secrets(Some(secret.clone()), endpoint).unwrap();
            assert_eq!(used, configured);
        }
        let short = page_secrets(Some("s".repeat(31)), Some("http://127.0.0.1:8000"));
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

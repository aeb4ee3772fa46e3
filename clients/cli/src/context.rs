//! The context that all commands share: the connection, from their flags, the environment and the profile, and the form of the output.

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::ArgMatches;
use url::Url;

use crate::client::{Client, Settings};
use crate::commands::CATALOG;
use crate::failure::Failure;
use crate::output::Form;
use crate::profile::{Config, LOCAL};

/// The context of a command.
pub struct Context {
    pub client: Client,
    pub form: Form,
    /// Whether progress and notes are suppressed.
    pub quiet: bool,
    /// The profile in use.
    pub profile: Option<String>,
}

impl Context {
    /// Reads the flags that all commands have, and the configuration.
    ///
    /// # Errors
    /// The configuration cannot be used, the profile does not exist, or the address is not a URL.
    pub fn read(matches: &ArgMatches) -> Result<Self, Failure> {
        let config = Config::read()?;
        let text = |name| {
            matches
                .get_one::<String>(name)
                .cloned()
                .filter(|text| !text.is_empty())
        };
        let named = text("profile");
        let profile = config.profile(named.as_deref())?;
        let (name, profile) = profile.unzip();
        let flag_or_variable = text("base-url");
        let base = flag_or_variable
            .as_ref()
            .or(profile.map(|profile| &profile.base_url));
        let base_url = address(base.map_or(LOCAL, String::as_str))?;
        // The key of a profile is sent to the address of that profile only.
        let of_profile = profile.filter(|profile| {
            address(&profile.base_url).is_ok_and(|url| url.origin() == base_url.origin())
        });
        let profile_key = of_profile.and_then(|profile| profile.api_key.clone());
        let profile_token = of_profile.and_then(|profile| profile.local_token.clone());
        let settings = Settings {
            base_url,
            api_key: text("api-key").or(profile_key),
            local_token: text("local-token").or(profile_token),
            account: of_profile.and_then(|profile| profile.account.clone()),
            version: CATALOG.version.clone(),
            max_retries: matches.get_one("max-retries").copied().unwrap_or(5),
            timeout: Duration::from_secs(matches.get_one("timeout").copied().unwrap_or(60)),
            verbose: matches.get_flag("verbose"),
        };
        Ok(Self {
            client: Client::new(settings)?,
            form: Form::of(matches)?,
            quiet: matches.get_flag("quiet"),
            profile: name.map(str::to_owned),
        })
    }

    /// Checks that there is a key, before a request that would be refused without one.
    ///
    /// # Errors
    /// There is no key. The message describes how to set one.
    pub fn needs_key(&self) -> Result<(), Failure> {
        match self.client.settings.api_key {
            Some(_) => Ok(()),
            None => Err(Failure::MissingKey(format!(
                "no API key for {}; set FLEET_API_KEY, or save one with `fleet profiles add NAME --base-url {}`. \
                 `cargo run` prints a test key",
                self.client.settings.base_url, self.client.settings.base_url
            ))),
        }
    }

    /// Prints a note for people, unless `quiet` is set or standard error is not a terminal.
    pub fn note(&self, text: &str) {
        if !self.quiet && std::io::stderr().is_terminal() {
            eprintln!("{text}");
        }
    }
}

/// An address as a URL.
///
/// # Errors
/// It is not one of http or https.
pub fn address(text: &str) -> Result<Url, Failure> {
    let wrong = || Failure::Local(format!("{text}: the address must be a URL such as {LOCAL}"));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty();
    if plain { Ok(url) } else { Err(wrong()) }
}

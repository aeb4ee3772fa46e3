//! `fleet profiles`: named addresses and keys.

use std::io::IsTerminal as _;

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::client::{Request, is_loopback};
use crate::context::{Context, address};
use crate::failure::Failure;
use crate::input;
use crate::output::{Form, print, table, visible};
use crate::profile::{Config, LOCAL, Profile, masked};

/// Runs the command.
///
/// # Errors
/// The configuration cannot be read or written, or the profile does not exist.
pub async fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let mut config = Config::read()?;
    match matches.subcommand() {
        Some(("add", matches)) => add(&mut config, matches).await,
        Some(("use", matches)) => {
            let name = name(matches);
            config.profile(Some(&name))?;
            config.default = Some(name);
            config.write()
        }
        Some(("remove", matches)) => {
            let name = name(matches);
            config.profile(Some(&name))?;
            config.profiles.remove(&name);
            if config.default.as_ref() == Some(&name) {
                config.default = None;
            }
            config.write()
        }
        _ => list(&config, matches),
    }
}

fn name(matches: &ArgMatches) -> String {
    matches
        .get_one::<String>("name")
        .cloned()
        .unwrap_or_default()
}

async fn add(config: &mut Config, matches: &ArgMatches) -> Result<(), Failure> {
    let name = name(matches);
    let base_url = text(matches, "base-url").unwrap_or_else(|| LOCAL.to_owned());
    let mut profile = typed(matches, base_url).await?;
    profile.account = text(matches, "account");
    config.profiles.insert(name.clone(), profile);
    if config.default.is_none() || matches.get_flag("default") {
        config.default = Some(name);
    }
    config.write()
}

/// `fleet login`: stores a key as the default profile after the service has accepted it.
///
/// # Errors
/// The key is refused, the service cannot be reached, or the configuration cannot be read or written.
pub async fn login(matches: &ArgMatches) -> Result<(), Failure> {
    let mut config = Config::read()?;
    let name = text(matches, "name").or_else(|| config.default.clone());
    let name = name.unwrap_or_else(|| "default".to_owned());
    let known = config.profiles.get(&name);
    let base_url = text(matches, "base-url").or_else(|| Some(known?.base_url.clone()));
    let mut profile = typed(matches, base_url.unwrap_or_else(|| LOCAL.to_owned())).await?;
    // A new key of the same service is for the same account, and the runner keeps its token.
    if let Some(known) = known.filter(|known| known.base_url == profile.base_url) {
        profile.account.clone_from(&known.account);
        profile.local_token = profile.local_token.or_else(|| known.local_token.clone());
    }
    let mut context = Context::read(matches)?;
    let settings = &mut context.client.settings;
    settings.base_url = address(&profile.base_url)?;
    (settings.api_key, settings.account) = (profile.api_key.clone(), profile.account.clone());
    let sent = context.client.send(&Request::get("/v1/account")).await;
    let account = sent
        .map_err(|failure| match (failure, &profile.account) {
            (Failure::Refused(refusal), Some(account))
                if refusal.member("param") == Some("Service-Account") =>
            {
                Failure::Local(format!(
                    "the profile {name} is for the account {account}, in which this key may not act; name another profile, or \
                     change this one with `fleet profiles add`"
                ))
            }
            (failure, _) => failure,
        })?
        .body;
    let base_url = profile.base_url.clone();
    config.profiles.insert(name.clone(), profile);
    config.default = Some(name.clone());
    config.write()?;
    match &context.form {
        Form::Text { .. } => {
            let text = |member: &str| account[member].as_str().unwrap_or("?").to_owned();
            let (owner, id) = (text("name"), text("id"));
            print(&visible(&format!(
                "{owner} ({id}) at {base_url} is now the default profile, {name}"
            )))
        }
        form => form.object(&account),
    }
}

fn text(matches: &ArgMatches, name: &str) -> Option<String> {
    let text = matches.get_one::<String>(name).cloned();
    text.filter(|text| !text.is_empty())
}

/// A profile with the key and the token from the flags, the keyboard or standard input.
async fn typed(matches: &ArgMatches, base_url: String) -> Result<Profile, Failure> {
    let url = address(&base_url)?;
    let api_key = match text(matches, "api-key") {
        Some(key) => key,
        None if std::io::stdin().is_terminal() => {
            rpassword::prompt_password(format!("API key for {base_url}: "))?
        }
        None => String::from_utf8(input::standard().await?).map_err(Failure::local)?,
    };
    let api_key = api_key.trim().to_owned();
    if api_key.is_empty() || !api_key.chars().all(|letter| letter.is_ascii_graphic()) {
        return Err(Failure::local(
            "that is not an API key; one begins with sk_ or rk_",
        ));
    }
    let local_token = match text(matches, "local-token") {
        Some(token) => Some(token),
        None if is_loopback(&url) && std::io::stdin().is_terminal() => {
            let prompt = "Token of the local runner (empty for another service): ";
            let token = rpassword::prompt_password(prompt)?.trim().to_owned();
            (!token.is_empty()).then_some(token)
        }
        None => None,
    };
    Ok(Profile {
        base_url,
        api_key: Some(api_key),
        local_token,
        account: None,
    })
}

fn list(config: &Config, matches: &ArgMatches) -> Result<(), Failure> {
    let shown = config.profiles.iter().map(|(name, profile)| {
        let key = profile.api_key.as_deref().map(masked);
        json!({"name": name, "default": config.default.as_ref() == Some(name), "url": profile.base_url, "api_key": key,
            "account": profile.account})
    });
    let shown: Vec<Value> = shown.collect();
    match Form::of(matches)? {
        Form::Text { terminal } => {
            let columns = ["name", "default", "url", "api_key", "account"];
            let row = |profile: &Value| {
                columns.map(|column| match &profile[column] {
                    Value::String(text) => text.clone(),
                    Value::Bool(true) => "*".into(),
                    _ => String::new(),
                })
            };
            let rows: Vec<Vec<String>> =
                shown.iter().map(|profile| row(profile).to_vec()).collect();
            if terminal {
                print(&table(Some(&columns), &rows))
            } else {
                rows.iter().try_for_each(|row| print(&row.join("\t")))
            }
        }
        form => form.list(&shown),
    }
}

//! Profiles: named addresses and keys, in a file of the user's configuration folder that other users cannot read.
//!
//! The file is `fleet/config.json` below the configuration folder of the operating system (`~/.config` on Linux and macOS, or
//! `XDG_CONFIG_HOME`); `FLEET_CONFIG_DIR` sets another folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The address of a local run.
pub const LOCAL: &str = "http://127.0.0.1:8787";

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The profile that is used if none is named.
    pub default: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
    /// The secret with which `fleet listen` signs.
    pub listen_secret: Option<String>,
}

/// The address of requests and their key.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub base_url: String,
    pub api_key: Option<String>,
    /// The token of the local runner at this address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_token: Option<String>,
    /// The child account that requests act in.
    pub account: Option<String>,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.api_key.as_deref().map(masked);
        let (url, account) = (&self.base_url, &self.account);
        write!(f, "Profile({url}, {key:?}, {account:?})")
    }
}

/// Masks a key for output: its kind and its last four characters remain.
pub fn masked(key: &str) -> String {
    let begin = match key.match_indices('_').nth(1) {
        Some((place, _)) => &key[..=place],
        None => "",
    };
    let letters: Vec<char> = key.chars().collect();
    let end: String = letters[letters.len().saturating_sub(4)..].iter().collect();
    if letters.len() > 16 {
        format!("{begin}…{end}")
    } else {
        "…".into()
    }
}

/// The file of the configuration.
///
/// # Errors
/// The user has no home folder.
pub fn file() -> Result<PathBuf, Failure> {
    let folder = match std::env::var_os("FLEET_CONFIG_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => etcetera::choose_base_strategy()
            .map_err(|_| Failure::local("no home folder; set FLEET_CONFIG_DIR"))?
            .config_dir()
            .join("fleet"),
    };
    Ok(folder.join("config.json"))
}

impl Config {
    /// Reads the configuration. It is empty if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or can be read by other users.
    pub fn read() -> Result<Self, Failure> {
        let file = file()?;
        let unusable =
            |why: &dyn std::fmt::Display| Failure::Local(format!("{}: {why}", file.display()));
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(unusable(&error)),
        };
        if is_readable_by_others(&file)? {
            let advice = format!("chmod 600 '{}'", file.display());
            return Err(unusable(&format!(
                "other users can read the keys in it; run {advice}"
            )));
        }
        serde_json::from_str(&text).map_err(|error| unusable(&error))
    }

    /// Replaces the file, as a whole.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).map_err(Failure::local)?;
        replace(&file()?, &text)
    }

    /// The named profile, or the default one. None if no profile is named and none is the default.
    ///
    /// # Errors
    /// The named profile does not exist.
    pub fn profile(&self, name: Option<&str>) -> Result<Option<(&str, &Profile)>, Failure> {
        let Some(name) = name.or(self.default.as_deref()) else {
            return Ok(None);
        };
        let found = self.profiles.get_key_value(name);
        let missing = || {
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "there is none; `fleet profiles add` makes one".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            Failure::Local(format!("no profile `{name}`: {known}"))
        };
        let (name, profile) = found.ok_or_else(missing)?;
        Ok(Some((name, profile)))
    }
}

/// Replaces, as a whole, a file that other users cannot read.
///
/// # Errors
/// The file or its folder cannot be written.
pub fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| Failure::Local(format!("{}: {error}", file.display()));
    make_private_folder(folder).map_err(failed)?;
    let new = file.with_extension(format!("json.{}", std::process::id()));
    let written = create_private(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, file));
    if replaced.is_err() {
        drop(fs::remove_file(&new));
    }
    replaced.map_err(failed)
}

#[cfg(unix)]
fn is_readable_by_others(file: &Path) -> Result<bool, Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(file)?.permissions().mode() & 0o077 != 0)
}

/// On other systems, a user's folders are accessible to that user alone.
#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> Result<bool, Failure> {
    Ok(false)
}

/// Creates a new file that other users cannot read.
///
/// # Errors
/// It exists already, or the folder cannot be written.
pub fn create_private(file: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(file)
}

/// Opens a file that other users cannot read, and creates it and its folder if they do not exist.
///
/// # Errors
/// The file or its folder cannot be written.
pub fn open_private(file: &Path) -> std::io::Result<fs::File> {
    make_private_folder(file.parent().unwrap_or(Path::new(".")))?;
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(file)
}

fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_by_its_kind_and_its_end() {
        assert_eq!(masked("sk_test_0123456789abcdef"), "sk_test_…cdef");
        assert_eq!(masked("short"), "…");
        let profile = Profile {
            base_url: LOCAL.into(),
            api_key: Some("sk_test_0123456789abcdef".into()),
            local_token: Some("0123456789abcdef0123".into()),
            account: None,
        };
        assert!(!format!("{profile:?}").contains("0123456789ab"));
    }
}

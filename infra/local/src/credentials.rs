//! The credentials of a local run: its account with the API key, and the secrets of the service. They are stored in the data folder.

use functions::accounts::bootstrap::{self, Bootstrap};
use functions::app::App;
use kernel::encryption::{EncryptionKeys, MIN_MASTER_SECRET};
use kernel::{Error, Id, Mode, Result, Tenant};
use models::account;
use models::api_key::Secret;
use serde::{Deserialize, Serialize};

use crate::files::{self, Folder};

/// The length of the secret of page tokens, in bytes.
const PAGE_SECRET: usize = 32;

/// The account and key of a data folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedAccount {
    pub account: Id,
    pub api_key: String,
    /// In hexadecimal.
    page_secret: String,
    /// The keys that secrets in items are encrypted with, as in the variable `ENCRYPTION_KEYS`. None in folders of releases that
    /// did not encrypt them.
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption_keys: Option<String>,
}

/// The secrets of the service, and the account that the folder has from an earlier run.
pub struct Secrets {
    /// The secret of page tokens.
    pub page: Vec<u8>,
    /// As in the variable `ENCRYPTION_KEYS`.
    pub encryption_keys: String,
    saved: Option<SavedAccount>,
}

impl Secrets {
    /// Reads the secrets of a folder, or generates them. `encryption_keys` replaces those of the folder.
    ///
    /// # Errors
    /// The file of the account is damaged, or the folder cannot be written.
    pub fn open(folder: &Folder, encryption_keys: Option<&str>) -> Result<Self> {
        let mut saved: Option<SavedAccount> = folder.read(files::CREDENTIALS)?;
        let page = match &saved {
            Some(saved) => saved.check(folder)?,
            None => random()?,
        };
        let encryption_keys = match (encryption_keys, &mut saved) {
            (Some(given), _) => given.to_owned(),
            (None, Some(saved)) => saved.master_secrets(folder)?,
            (None, None) => hex::encode(random()?),
        };
        Ok(Self {
            page,
            encryption_keys,
            saved,
        })
    }

    /// Returns the account of the run: that of the folder, or a new one, which is written to the folder.
    ///
    /// # Errors
    /// The table does not contain the account, or cannot be reached.
    pub async fn account(self, app: &App, folder: &Folder) -> Result<SavedAccount> {
        if let Some(saved) = self.saved {
            saved.find(app, folder).await?;
            return Ok(saved);
        }
        let (account, api_key) = create_account(app, Mode::Test).await?;
        let created = SavedAccount {
            account,
            api_key,
            page_secret: hex::encode(self.page),
            encryption_keys: Some(self.encryption_keys),
        };
        folder.write(files::CREDENTIALS, &created)?;
        Ok(created)
    }
}

impl SavedAccount {
    /// Returns the secret of page tokens, or an error if the file of the account is damaged.
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

    /// Refuses a folder whose account is not in the table, because another account would replace its key.
    async fn find(&self, app: &App, folder: &Folder) -> Result<()> {
        let tenant = Tenant::new(self.account.clone(), Mode::Test);
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

    /// Returns the master secrets of encryption. A folder without any is given new ones.
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
        let master_secret = hex::encode(random()?);
        self.encryption_keys = Some(master_secret.clone());
        folder.write(files::CREDENTIALS, self)?;
        Ok(master_secret)
    }
}

/// Creates an account with an API key of a mode. Returns its id and the key.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn create_account(app: &App, mode: Mode) -> Result<(Id, String)> {
    let account = serde_json::json!({"name": "Local account", "email": "ops@fleet.example", "type": "business"});
    let bootstrap = serde_json::json!({"account": account, "mode": mode});
    let bootstrap: Bootstrap = serde_json::from_value(bootstrap).map_err(Error::internal)?;
    let created = bootstrap::handle(app, bootstrap).await?;
    Ok((
        created.account.id,
        created.api_key.secret.unwrap_or_default(),
    ))
}

/// Random bytes, of the length of the secret of page tokens.
pub fn random() -> Result<Vec<u8>> {
    let mut bytes = vec![0; PAGE_SECRET];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(error.to_string()))?;
    Ok(bytes)
}

//! `reencrypt-secrets`: encrypts the secrets in rows with the first key of `ENCRYPTION_KEYS`, so that the other keys can be
//! removed. Only an operator may invoke it.
//!
//! Keys are rotated in three steps (`kernel::encryption`): `old,new`, `new,old`, and `new` when no row needs the old key any more.
//! This function does what lies between the second and the third: it reads the whole table and encrypts anew what the old key
//! has encrypted, the secrets of webhook endpoints, the tokens of charging networks, and the stored responses that contain
//! secrets. It can be invoked any number of times, also while requests are served.
//!
//! One invocation reads for ten minutes at most; while it answers `running`, it is invoked again with the cursor that it
//! returned.

use crate::App;
use kernel::function_scope;
use kernel::{Error, Kind};
use serde::{Deserialize, Serialize};
use table::access::Rows;
use table::scan::Pass;
use table::secrets::Reencrypted;
use web::deployment::{Deployment, Need};

use crate::budget::{self, Budget};
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "reencrypt-secrets";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Encrypts the secrets in rows with the first encryption key; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .memory(1024)
        .timeout(budget::TIMEOUT)
        .writing(&[
            Rows::Idempotency,
            Rows::Of(Kind::Network),
            Rows::Of(Kind::WebhookEndpoint),
        ])
        .needing(&[Need::EncryptionKeys, Need::ScanTable]),
};

/// Where to begin.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reencrypt {
    /// What the invocation before this one returned.
    #[serde(default)]
    pub cursor: Option<Cursor>,
    /// How often the next pages of the table are read at most in this invocation. Without it, the time alone limits it.
    #[serde(default)]
    pub max_pages: Option<u32>,
    /// How many rows a page has at most, for an invocation that has to spare the table's capacity. Without it, a page has a megabyte.
    #[serde(default)]
    pub rows_per_page: Option<u32>,
}

/// How far the rows have been read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pass: Pass,
    done: Reencrypted,
}

/// What all invocations have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReencryptionProgress {
    pub status: ReencryptionStatus,
    #[serde(flatten)]
    pub done: Reencrypted,
    /// What to invoke the function with to continue; null when every row has been read.
    pub cursor: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReencryptionStatus {
    Running,
    /// Every row has been read. The old keys are needed as long as `unreadable` or `overtaken` is not empty.
    Succeeded,
}

/// Encrypts the outdated secrets of the next rows.
///
/// # Errors
/// `Internal` if the function has no keys; `Unavailable` if DynamoDB cannot be reached.
pub async fn handle(app: &App, reencrypt: Reencrypt) -> Result<ReencryptionProgress, Error> {
    function_scope::within(NAME, read_pages(app, reencrypt)).await
}

async fn read_pages(app: &App, reencrypt: Reencrypt) -> Result<ReencryptionProgress, Error> {
    let Cursor { mut pass, mut done } = reencrypt.cursor.unwrap_or_default();
    let (mut budget, limit) = (Budget::new(reencrypt.max_pages), reencrypt.rows_per_page);
    while !pass.is_finished() {
        if !budget.spend() {
            let cursor = Cursor {
                pass,
                done: done.clone(),
            };
            return Ok(ReencryptionProgress {
                status: ReencryptionStatus::Running,
                done,
                cursor: Some(cursor),
            });
        }
        pass = app.store.reencrypt_next(&pass, &mut done, limit).await?;
    }
    Ok(ReencryptionProgress {
        status: ReencryptionStatus::Succeeded,
        done,
        cursor: None,
    })
}

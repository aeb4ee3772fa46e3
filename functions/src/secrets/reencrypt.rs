//! `reencrypt-secrets`: encrypts the secrets in items with the first key of `ENCRYPTION_KEYS`, so that the other keys can be removed. Only
//! an operator may invoke it.
//!
//! Keys are rotated in three steps (`kernel::encryption`): `old,new`, `new,old`, and `new` when no item needs the old key any more. This
//! function runs between the second and the third step: it reads the whole table and encrypts again everything that was encrypted with the
//! old key: the secrets of webhook endpoints, the tokens of charging networks, and the stored responses that contain secrets. It can be
//! invoked any number of times, also while requests are served.
//!
//! One invocation reads for ten minutes at most; while it returns `running`, it is invoked again with the cursor that it returned.

use crate::App;
use kernel::{Error, Kind, function_scope};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::scan::Pass;
use table::secrets::Reencrypted;
use web::deployment::{Deployment, Need};

use crate::budget::{self, Budget};
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "reencrypt-secrets";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Encrypts the secrets in items with the first encryption key; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .memory(1024)
        .timeout(budget::TIMEOUT)
        .writing(&[
            Items::Idempotency,
            Items::Of(Kind::Network),
            Items::Of(Kind::WebhookEndpoint),
        ])
        .needing(&[Need::EncryptionKeys, Need::ScanTable]),
};

/// The cursor and the limits of an invocation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reencrypt {
    /// The cursor that the previous invocation returned.
    pub cursor: Option<Cursor>,
    /// The maximum number of times that this invocation reads the next pages of the table. Without it, only the time limits the invocation.
    pub max_pages: Option<u32>,
    /// The maximum number of items per page, for an invocation that has to spare the table's capacity. Without it, a page has a megabyte.
    pub rows_per_page: Option<u32>,
}

/// The progress of reading the items.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pass: Pass,
    done: Reencrypted,
}

/// The results of all invocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReencryptionProgress {
    pub status: ReencryptionStatus,
    #[serde(flatten)]
    pub done: Reencrypted,
    /// The cursor for the next invocation; null when every item has been read.
    pub cursor: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReencryptionStatus {
    Running,
    /// Every item has been read. The old keys are needed as long as `unreadable` or `overtaken` is not empty.
    Succeeded,
}

/// Encrypts the outdated secrets of the next items.
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

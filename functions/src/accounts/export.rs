//! `export-account`: writes every object of an account in one mode to the bucket, as JSON lines. Only an operator may invoke it.
//!
//! One invocation reads for ten minutes at most. If it returns `running`, it is invoked again with the cursor that it returned, until it
//! returns `succeeded`. A failed invocation is repeated with the same cursor and writes the same parts again. An object that changes during
//! an export is exported as it was before or after the change.
//!
//! The parts are `<account>/exports/<mode>/<begin>/00001.jsonl` and so on, each of about 8 MB. When all are written, `complete.json` is
//! written beside them, with the number of parts and of objects. Each line is an object as the API shows it, with secrets masked: the
//! account, its API keys, every object of the mode, the attempts of webhook deliveries, and the lines of invoices, which name their
//! `invoice`. Objects of accounts below the account are not included: each account has its own export.

use crate::App;
use kernel::{Error, Id, Mode, Tenant, Timestamp, function_scope};
use models::Account;
use serde::{Deserialize, Serialize};
use table::scan::Pass;
use web::deployment::{Deployment, Need};

use crate::budget::{self, Budget};
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "export-account";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Writes every object of an account to the bucket; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .memory(1024)
        .timeout(budget::TIMEOUT)
        .needing(&[Need::ReadTable, Need::ScanTable, Need::WriteReports]),
};

/// The size, in bytes, from which a part is written.
const PART: usize = 8 * 1024 * 1024;

const LINES: &str = "application/x-ndjson";
const JSON: &str = "application/json";

/// The account and the mode to export, and the cursor of an export that has begun.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    pub account: Id,
    pub mode: Mode,
    /// The cursor that the previous invocation returned. Without it, a new export starts.
    pub cursor: Option<Cursor>,
    /// The maximum number of times that this invocation reads the next pages of the table. Without it, only the time limits the invocation.
    pub max_pages: Option<u32>,
    /// The maximum number of items per page, for an invocation that has to spare the table's capacity. Without it, a page has a megabyte.
    pub rows_per_page: Option<u32>,
}

/// The progress of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The time at which the export began.
    started: Timestamp,
    /// The number of parts that are written.
    files: u32,
    objects: u64,
    pass: Pass,
}

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub status: ExportStatus,
    pub account: Id,
    pub mode: Mode,
    /// The prefix of the keys of the export's files.
    pub folder: String,
    /// The number of parts that all invocations have written so far.
    pub files: u32,
    /// The number of objects in these parts.
    pub objects: u64,
    /// The cursor for the next invocation; null when the export is complete.
    pub cursor: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportStatus {
    Running,
    Succeeded,
}

/// The content of `complete.json`.
#[derive(Serialize)]
struct Summary<'a> {
    account: &'a Id,
    mode: Mode,
    started: Timestamp,
    files: u32,
    objects: u64,
}

/// Continues an export, or starts one.
///
/// # Errors
/// `account_not_found`; `Unavailable` if DynamoDB or S3 cannot be reached.
pub async fn handle(app: &App, export: Export) -> Result<Exported, Error> {
    function_scope::within(NAME, write_parts(app, export)).await
}

async fn write_parts(app: &App, export: Export) -> Result<Exported, Error> {
    let Export {
        account,
        mode,
        cursor,
        max_pages,
        rows_per_page,
    } = export;
    let tenant = Tenant::new(account.clone(), mode);
    app.store.load::<Account>(&tenant, &account).await?;
    let mut at = cursor.unwrap_or_else(|| Cursor {
        started: app.now(),
        files: 0,
        objects: 0,
        pass: Pass::default(),
    });
    let folder = folder_of(&tenant, at.started);
    let mut budget = Budget::new(max_pages);
    let mut part = Vec::new();
    while !at.pass.is_finished() && budget.spend() {
        let (objects, next) = app
            .store
            .next_objects(&tenant, &at.pass, rows_per_page)
            .await?;
        for object in objects {
            serde_json::to_writer(&mut part, &object).map_err(Error::internal)?;
            part.push(b'\n');
            at.objects += 1;
        }
        at.pass = next;
        if part.len() >= PART {
            write_part(app, &folder, &mut at, &mut part).await?;
        }
    }
    if !part.is_empty() {
        write_part(app, &folder, &mut at, &mut part).await?;
    }
    let is_complete = at.pass.is_finished();
    if is_complete {
        write_summary(app, &folder, &tenant, &at).await?;
    }
    let (files, objects) = (at.files, at.objects);
    Ok(Exported {
        status: if is_complete {
            ExportStatus::Succeeded
        } else {
            ExportStatus::Running
        },
        account,
        mode,
        folder,
        files,
        objects,
        cursor: (!is_complete).then_some(at),
    })
}

/// The prefix of the keys of an export. The time contains no characters that URLs escape.
fn folder_of(tenant: &Tenant, started: Timestamp) -> String {
    let started = started.to_string().replace([':', '-', '.'], "");
    format!("{}/exports/{}/{started}/", tenant.account, tenant.mode)
}

async fn write_part(
    app: &App,
    folder: &str,
    at: &mut Cursor,
    part: &mut Vec<u8>,
) -> Result<(), Error> {
    at.files += 1;
    let key = format!("{folder}{:05}.jsonl", at.files);
    app.files.put(&key, LINES, std::mem::take(part)).await
}

/// Writes the file that marks the export as complete.
async fn write_summary(app: &App, folder: &str, tenant: &Tenant, at: &Cursor) -> Result<(), Error> {
    let summary = Summary {
        account: &tenant.account,
        mode: tenant.mode,
        started: at.started,
        files: at.files,
        objects: at.objects,
    };
    let summary = serde_json::to_vec(&summary).map_err(Error::internal)?;
    let key = format!("{folder}complete.json");
    app.files.put(&key, JSON, summary).await
}

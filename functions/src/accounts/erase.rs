//! `erase-account`: deletes an account and all accounts below it, with everything that belongs to them: items, files and schedules, in both
//! modes. Only an operator may invoke it. Deleted data can be restored only from the table's backups.
//!
//! Before that:
//! - The account has been `closed` for five minutes (`set-account-status`): then no instance of the service accepts its keys or
//!   those of accounts below it any more, and the requests that were under way have ended.
//! - Its sessions and reservations have ended, in both modes, because they hold stations that others use, and in live mode its invoices are
//!   paid or void and its payments settled, because money is due until then. Otherwise nothing is deleted, and the error names the objects.
//!   Invoices of test mode are deleted in any state.
//!
//! An erasure is a series of passes over the whole table. The first pass looks for objects that have not ended; the others delete, until a
//! pass finds nothing more. The items of the accounts themselves are deleted last, those of parents after those of their children, so that
//! an interrupted erasure can be started again or continued with its cursor. One invocation reads for ten minutes at most; while it returns
//! `running`, it is invoked again with the cursor that it returned.
//!
//! The documents of final invoices and of credit notes are not deleted, because they have to be kept for the legal term. They are stored
//! below `documents/<account>/` in the bucket; missing documents are made before anything is deleted, and the response counts them.
//!
//! Of the charge cards, their uids and contract ids are kept for 90 days with tokens that are no longer valid: a network that has missed this
//! change would go on accepting the cards. Sessions and CDRs of networks that match no session and name one of these cards are deleted as well.
//!
//! Data outside this service is not deleted: customers and payment methods at the payment provider, sessions and CDRs at charging networks,
//! logs until their retention ends, and the table's backups for 35 days.

use crate::App;
use futures::stream::{self, TryStreamExt as _};
use kernel::time::minutes;
use kernel::{Error, Id, Kind, Mode, SignedDuration, Tenant, function_scope};
use models::{Account, Stored};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::erasure::Accounts;
use table::scan::Pass;
use web::deployment::{Deployment, Need};

use crate::budget::{self, Budget};
use crate::documents::make;
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "erase-account";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Deletes a closed account and everything that belongs to it; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .memory(1024)
        .timeout(budget::TIMEOUT)
        .writing(&[
            Items::OfAccounts,
            Items::Of(Kind::Account),
            Items::Of(Kind::ApiKey),
            Items::Calendars,
            Items::CardTokens,
            Items::OcpiObjects,
            Items::ProviderIds,
            Items::SitesOfStations,
        ])
        .needing(&[
            Need::BatchWrites,
            Need::Documents,
            Need::ReadTable,
            Need::RemoveFiles,
            Need::RemoveSchedules,
            Need::ScanTable,
        ]),
};

/// The minimum time for which an account must have been closed. An instance accepts a key from its cache for a minute.
const CLOSED_FOR: SignedDuration = minutes(5);

/// The number of schedules or files that are deleted concurrently.
const SIDE_BY_SIDE: usize = 16;

/// The maximum number of objects that the error names.
const NAMED: usize = 10;

/// The account to erase, and the cursor of an erasure that has begun.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    pub account: Id,
    /// The cursor that the previous invocation returned.
    pub cursor: Option<Cursor>,
    /// The maximum number of times that this invocation reads the next pages of the table. Without it, only the time limits the invocation.
    pub max_pages: Option<u32>,
    /// The maximum number of items per page, for an invocation that has to spare the table's capacity. Without it, a page has a megabyte.
    pub rows_per_page: Option<u32>,
}

/// The progress of an erasure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    phase: Phase,
    pass: Pass,
    /// The number of items that the present pass has deleted.
    deleted_in_pass: u64,
    /// The number of objects that have not ended, and some of them.
    open: u64,
    open_objects: Vec<String>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// Looks for objects that have not ended.
    #[default]
    Check,
    /// Deletes, until a pass finds nothing.
    Delete,
    /// Deletes the items of the accounts themselves.
    DeleteAccounts,
}

/// The numbers of deleted objects, over all invocations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub rows: u64,
    pub files: u64,
    /// The number of schedule names that were deleted, whether or not a schedule existed.
    pub schedules: u64,
    /// The number of issued invoices and credit notes, whose documents are kept.
    #[serde(default)]
    pub issued_documents_kept: u64,
}

/// The result of an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Erased {
    pub status: ErasureStatus,
    pub account: Id,
    #[serde(flatten)]
    pub counts: Counts,
    /// The cursor for the next invocation; null when nothing is left.
    pub cursor: Option<Cursor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErasureStatus {
    Running,
    Erased,
}

/// Continues an erasure, or starts one.
///
/// # Errors
/// `account_not_found`; 409 if the account has not been closed for five minutes, or if one of its objects has not ended; `Unavailable` if
/// DynamoDB, EventBridge Scheduler or S3 cannot be reached.
pub async fn handle(app: &App, erase: Erase) -> Result<Erased, Error> {
    function_scope::within(NAME, erase_pages(app, erase)).await
}

async fn erase_pages(app: &App, erase: Erase) -> Result<Erased, Error> {
    let id = erase.account;
    let mut at = erase.cursor.unwrap_or_default();
    // An account has no mode.
    let tenant = Tenant::new(id.clone(), Mode::Live);
    let answer = |status, at: Cursor| Erased {
        status,
        account: id.clone(),
        counts: at.counts,
        cursor: (status == ErasureStatus::Running).then_some(at),
    };
    let Some(account) = app.store.find::<Account>(&tenant, &id).await? else {
        return match at.phase {
            Phase::DeleteAccounts => Ok(answer(ErasureStatus::Erased, at)),
            Phase::Check | Phase::Delete => Err(Error::not_found(Kind::Account)),
        };
    };
    check_closed(app, &account)?;
    let family = app.store.accounts_below(&id).await?;
    let accounts: Accounts = family.iter().cloned().collect();
    let (mut budget, limit) = (Budget::new(erase.max_pages), erase.rows_per_page);
    while at.phase != Phase::DeleteAccounts {
        if !budget.spend() {
            return Ok(answer(ErasureStatus::Running, at));
        }
        match at.phase {
            Phase::Check => check_page(app, &accounts, &mut at, limit).await?,
            Phase::Delete | Phase::DeleteAccounts => {
                delete_page(app, &accounts, &mut at, limit).await?;
            }
        }
    }
    // Parents come before their children.
    for account in family.iter().rev() {
        app.store.erase_account(account).await?;
        app.edge.keys.forget_account(account);
        at.counts.rows += 1;
    }
    Ok(answer(ErasureStatus::Erased, at))
}

fn check_closed(app: &App, account: &Stored<Account>) -> Result<(), Error> {
    let closed_for = account.closed().map(|closed| app.now().since(closed));
    if closed_for.is_some_and(|closed_for| closed_for >= CLOSED_FOR) {
        Ok(())
    } else {
        Err(Error::conflict(
            "An account can be erased when it has been closed for five minutes: set its status to closed first.",
            Some("account"),
        ))
    }
}

/// Searches the next pages for objects that have not ended. After the last page the deletion begins.
async fn check_page(
    app: &App,
    accounts: &Accounts,
    at: &mut Cursor,
    limit: Option<u32>,
) -> Result<(), Error> {
    let (traces, next) = app.store.next_traces(accounts, &at.pass, limit).await?;
    for open in traces.open_objects() {
        at.open += 1;
        if at.open_objects.len() < NAMED {
            at.open_objects
                .push(format!("{} ({})", open.id, open.status));
        }
    }
    for (tenant, id) in traces.issued() {
        make::keep(app, &tenant, &id).await?;
        at.counts.issued_documents_kept += 1;
    }
    at.pass = next;
    if !at.pass.is_finished() {
        return Ok(());
    }
    if at.open > 0 {
        let named = at.open_objects.join(", ");
        let message = format!(
            "{} objects of the account or of accounts below it have not ended, among them {named}. Nothing was erased. Open \
             the account again, end sessions and reservations, pay or void invoices, and close it.",
            at.open
        );
        return Err(Error::conflict(message, Some("account")));
    }
    (at.phase, at.pass) = (Phase::Delete, Pass::default());
    Ok(())
}

/// Deletes the items of the next pages. After a pass that has found nothing, only the items of the accounts themselves are left.
async fn delete_page(
    app: &App,
    accounts: &Accounts,
    at: &mut Cursor,
    limit: Option<u32>,
) -> Result<(), Error> {
    let (traces, next) = app.store.next_traces(accounts, &at.pass, limit).await?;
    let (items, schedules) = (traces.count(), traces.schedules());
    // Schedules are deleted before the items that name them.
    stream::iter(schedules.iter().map(Ok))
        .try_for_each_concurrent(SIDE_BY_SIDE, |name| app.schedules.remove(name))
        .await?;
    app.store.erase(traces, accounts, app.now()).await?;
    at.counts.rows += items;
    at.counts.schedules += schedules.len() as u64;
    at.deleted_in_pass += items;
    at.pass = next;
    if !at.pass.is_finished() {
        return Ok(());
    }
    for account in accounts {
        let files = delete_files(app, account).await?;
        at.counts.files += files;
        at.deleted_in_pass += files;
    }
    at.pass = Pass::default();
    if at.deleted_in_pass == 0 {
        at.phase = Phase::DeleteAccounts;
    }
    at.deleted_in_pass = 0;
    Ok(())
}

/// Deletes the files of an account. Returns the number of files.
async fn delete_files(app: &App, account: &Id) -> Result<u64, Error> {
    let prefix = format!("{account}/");
    let mut deleted = 0;
    loop {
        let keys = app.files.list(&prefix).await?;
        if keys.is_empty() {
            return Ok(deleted);
        }
        stream::iter(keys.iter().map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, |key| app.files.delete(key))
            .await?;
        deleted += keys.len() as u64;
    }
}

//! The embedded DynamoDB, on a loopback port and a thread of its own.
//!
//! dynoxide's own HTTP server accepts any credentials and lets pages of every origin read its responses, so it is not used. The server
//! here passes the operations on to the same database after three checks: `Host` and `Origin` (see [`crate::guard`]), and the access
//! key, which changes at every start. The access key is the credential: signatures are not verified.
//!
//! This module works around four faults of dynoxide 3.2.0, three of them over a second connection to the same SQLite database
//! ([`Upkeep`]). With streams on, every write scans all stream records for the last number: an index replaces the scan. Stream records
//! are never removed: those that were relayed are removed here. Deleted data stays in free pages of the file: after the erasure of an
//! account the file is rewritten. And items do not expire: a timer calls the sweep.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use dynoxide::{Database, DynoxideError};
use kernel::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::files;
use crate::guard::LocalPort;

/// The interval at which expired items are removed.
const SWEEP: Duration = Duration::from_secs(60);

/// The largest request that DynamoDB accepts, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// The time that the second connection waits for the first.
const BUSY: Duration = Duration::from_secs(30);

/// The message of SQLite if the disk is full.
const FULL: &str = "database or disk is full";

/// The interval at which a full disk is reported.
const REMINDER: Duration = Duration::from_secs(60);

/// The number that dynoxide adds to the number of a record in its responses.
const FIRST_NUMBER: u128 = 100_000_000_000_000_000_000;

const TRIM: &str =
    "DELETE FROM _stream_records WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) < ?2";

const EMPTY: &str = "UPDATE _stream_records SET keys_json = '{}', new_image = NULL, old_image = NULL \
    WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) = ?2";

const INDEX: &str = "CREATE INDEX IF NOT EXISTS _stream_records_by_number \
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";

pub struct Embedded {
    address: SocketAddr,
    access_key: String,
    upkeep: Upkeep,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The state that the requests to the port share.
struct Table {
    database: Database,
    port: LocalPort,
    access_key: String,
    disk: Arc<Disk>,
}

/// The state of the database's disk: whether it is full.
#[derive(Debug, Default)]
pub struct Disk {
    /// When the full disk was reported last.
    reported: Mutex<Option<Instant>>,
}

impl Disk {
    /// Whether a write has failed because the disk is full.
    pub fn was_full(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports that the disk is full, at most once a minute.
    fn report(&self) {
        let mut reported = self.lock();
        if reported.is_some_and(|last| last.elapsed() < REMINDER) {
            return;
        }
        *reported = Some(Instant::now());
        tracing::error!(
            "the disk of the data folder is full: requests that write are answered with 503 until there is room. What was \
             acknowledged is kept"
        );
    }
}

/// Work on the database that no DynamoDB operation does. It is done between requests, on the thread that processes them.
#[derive(Clone)]
pub struct Upkeep {
    jobs: mpsc::UnboundedSender<Job>,
    /// The name of the table.
    table: String,
}

type Job = Box<dyn FnOnce(&Connection) + Send>;

impl Upkeep {
    /// Runs the work, which returns whether it is complete.
    async fn run(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<bool> + Send + 'static,
    ) -> Result<()> {
        let (done, result) = oneshot::channel();
        // If the receiver was dropped, the result is not needed any more.
        let job: Job = Box::new(move |connection| drop(done.send(work(connection))));
        let ended = || Error::unavailable("the embedded table has ended");
        self.jobs.send(job).map_err(|_| ended())?;
        match result.await.map_err(|_| ended())? {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::unavailable("the embedded table is busy")),
            Err(error) => Err(Error::unavailable(error)),
        }
    }

    /// Creates the index that replaces the scan of the stream at each write.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be written.
    pub async fn speed_up_streams(&self) -> Result<()> {
        self.run(|connection| connection.execute_batch(INDEX).map(|()| true))
            .await
    }

    /// Removes the records of the stream up to `number`. The record with that number is only emptied, because the number of the next
    /// record depends on it.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be written.
    pub async fn trim(&self, number: &str) -> Result<()> {
        let number: u128 = number.parse().map_err(Error::internal)?;
        let stored = number.saturating_sub(FIRST_NUMBER);
        let stored = i64::try_from(stored).map_err(Error::internal)?;
        let table = self.table.clone();
        self.run(move |connection| {
            connection.execute(TRIM, (&table, stored))?;
            connection.execute(EMPTY, (&table, stored)).map(|_| true)
        })
        .await
    }

    /// Rewrites the database's file without the deleted data, and empties its log.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be written.
    pub async fn purge(&self) -> Result<()> {
        self.run(|connection| {
            connection.execute_batch("VACUUM")?;
            let is_busy = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
            let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), is_busy)?;
            Ok(!is_busy)
        })
        .await
    }
}

impl Embedded {
    /// Opens the database of a folder, or one in memory, and serves it to clients with the access key.
    ///
    /// # Errors
    /// The database's file cannot be opened or is damaged, or there is no free port.
    pub fn start(
        folder: Option<&Path>,
        access_key: String,
        table: String,
        disk: Arc<Disk>,
    ) -> Result<Self> {
        static DATABASES: AtomicU64 = AtomicU64::new(0);
        let uri = match folder {
            Some(folder) => {
                let path = folder.join(files::TABLE);
                // SQLite creates the files beside it with the mode of this file.
                files::create_private(&path)
                    .map_err(|error| Error::internal(format!("{}: {error}", path.display())))?;
                path.display().to_string()
            }
            None => {
                let number = DATABASES.fetch_add(1, Ordering::Relaxed);
                format!(
                    "file:table-{}-{number}?mode=memory&cache=shared",
                    std::process::id()
                )
            }
        };
        let unusable = |error: &dyn std::fmt::Display| Error::internal(format!("{uri}: {error}"));
        let connection = connect(&uri).map_err(|error| unusable(&error))?;
        let check = "PRAGMA quick_check(1)";
        let checked = connection.query_row(check, (), |row| row.get::<_, String>(0));
        match checked {
            Ok(text) if text == "ok" => {}
            Ok(damage) => return Err(unusable(&format!("the file is damaged: {damage}"))),
            Err(error) => return Err(unusable(&error)),
        }
        let database = Database::new(&uri).map_err(|error| unusable(&error))?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(Error::internal)?;
        listener.set_nonblocking(true).map_err(Error::internal)?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let served = Table {
            database,
            port: LocalPort(address.port()),
            access_key: access_key.clone(),
            disk,
        };
        let (jobs, upkeep) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("table".into());
        let thread = thread
            .spawn(move || serve(listener, served, (connection, upkeep), stopped))
            .map_err(Error::internal)?;
        Ok(Self {
            address,
            access_key,
            upkeep: Upkeep { jobs, table },
            stop,
            thread,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }

    /// Stops the database after the current requests.
    pub fn stop(self) {
        if self.stop.send(()).is_err() || self.thread.join().is_err() {
            tracing::warn!("the embedded table had ended by itself");
        }
    }
}

/// A second connection to the database.
fn connect(uri: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY)?;
    // After a power failure, trimmed records may exist again. They are trimmed again then.
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    Ok(connection)
}

fn serve(
    listener: std::net::TcpListener,
    table: Table,
    (connection, mut jobs): (Connection, mpsc::UnboundedReceiver<Job>),
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "the embedded table did not start"),
    };
    runtime.block_on(async move {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "the embedded table did not start"),
        };
        let sweeping = tokio::spawn(sweep(table.database.clone()));
        tokio::spawn(async move {
            while let Some(job) = jobs.recv().await {
                job(&connection);
            }
        });
        let stopped = async {
            // A dropped sender stops the database as well.
            drop(stopped.await);
        };
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(Arc::new(table));
        let served = axum::serve(listener, router).with_graceful_shutdown(stopped);
        if let Err(error) = served.await {
            tracing::error!(%error, "the embedded table ended");
        }
        sweeping.abort();
    });
}

async fn sweep(database: Database) {
    let mut timer = tokio::time::interval(SWEEP);
    timer.tick().await;
    loop {
        timer.tick().await;
        let database = database.clone();
        match tokio::task::spawn_blocking(move || database.sweep_ttl()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "rows whose time is over were not removed"),
            Err(error) => tracing::warn!(%error, "rows whose time is over were not removed"),
        }
    }
}

/// Handles every request to the table's port.
async fn answer(
    State(table): State<Arc<Table>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let foreign = table.port.refuses_host(&headers, &uri);
    if let Some(reason) = foreign.or_else(|| table.port.refuses_origin(&headers)) {
        return refusal(StatusCode::FORBIDDEN, "AccessDeniedException", &reason);
    }
    if method == Method::GET {
        // DynamoDB returns this without credentials, and clients connect with it.
        return (StatusCode::OK, "healthy: dynamodb.us-east-1.amazonaws.com ").into_response();
    }
    if !is_signed_with(&headers, &table.access_key) {
        let reason = "The access key is not the one that the service printed at its start.";
        return refusal(
            StatusCode::BAD_REQUEST,
            "UnrecognizedClientException",
            reason,
        );
    }
    let target = headers
        .get("x-amz-target")
        .and_then(|value| value.to_str().ok());
    let operation = target.and_then(|target| target.split_once('.')?.1.into());
    let operation = operation.unwrap_or_default();
    let Some(result) = call(&table.database, operation, &body) else {
        let reason = "The embedded table does not have this operation.";
        return refusal(StatusCode::BAD_REQUEST, "UnknownOperationException", reason);
    };
    match result {
        Ok(text) => shown(StatusCode::OK, text),
        Err(error) if error.to_string().contains(FULL) => {
            table.disk.report();
            // Clients repeat requests that exceed a limit.
            refusal(
                StatusCode::BAD_REQUEST,
                "LimitExceededException",
                "The disk is full.",
            )
        }
        Err(error) => {
            let status = StatusCode::from_u16(error.status_code());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            if status.is_server_error() {
                tracing::warn!(operation, %error, "the embedded table failed");
            }
            shown(status, error.to_json())
        }
    }
}

/// Whether the `Authorization` of AWS's signature has this access key. Digests are compared, so that the time of the comparison
/// reveals nothing about the key.
fn is_signed_with(headers: &HeaderMap, access_key: &str) -> bool {
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("AWS4-HMAC-SHA256 Credential="))
        .and_then(|value| value.split('/').next());
    given.is_some_and(|given| Sha256::digest(given) == Sha256::digest(access_key))
}

fn shown(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

fn refusal(status: StatusCode, name: &str, message: &str) -> Response {
    let kind = format!("com.amazon.coral.service#{name}");
    let text = serde_json::json!({"__type": kind, "message": message});
    shown(status, text.to_string())
}

/// Calls an operation of DynamoDB or DynamoDB Streams by its name. None if there is no such operation.
fn call(
    database: &Database,
    operation: &str,
    body: &[u8],
) -> Option<Result<String, DynoxideError>> {
    Some(match operation {
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| database.batch_write_item(request)),
        "CreateTable" => run(body, |request| database.create_table(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "DeleteTable" => run(body, |request| database.delete_table(request)),
        "DescribeStream" => run(body, |request| database.describe_stream(request)),
        "DescribeTable" => run(body, |request| database.describe_table(request)),
        "DescribeTimeToLive" => run(body, |request| database.describe_time_to_live(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "GetRecords" => run(body, |request| database.get_records(request)),
        "GetShardIterator" => run(body, |request| database.get_shard_iterator(request)),
        "ListStreams" => run(body, |request| database.list_streams(request)),
        "ListTables" => run(body, |request| database.list_tables(request)),
        "PutItem" => run(body, |request| database.put_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "Scan" => run(body, |request| database.scan(request)),
        "TransactGetItems" => run(body, |request| database.transact_get_items(request)),
        "TransactWriteItems" => run(body, |request| database.transact_write_items(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "UpdateTable" => run(body, |request| database.update_table(request)),
        "UpdateTimeToLive" => run(body, |request| database.update_time_to_live(request)),
        _ => return None,
    })
}

fn run<I: DeserializeOwned, O: Serialize>(
    body: &[u8],
    operation: impl FnOnce(I) -> Result<O, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_slice(body)
        .map_err(|error| DynoxideError::ValidationException(error.to_string()))?;
    let answer = operation(request)?;
    serde_json::to_string(&answer)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

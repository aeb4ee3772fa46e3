//! The embedded DynamoDB, on a loopback port and a thread of its own.
//!
//! dynoxide's own HTTP server accepts any credentials and lets pages of every origin read its answers, so it is not used.
//! The server here passes the operations on to the same database, after three checks: `Host` and `Origin` (see
//! [`crate::guard`]), and the access key, which changes at every start. The access key is the credential: signatures
//! are not verified.
//!
//! Two faults of dynoxide 3.2.0 are worked round. With streams on, every write scans all stream records for the
//! last number: an index answers that instead, made over a second connection to the same SQLite database. And nothing
//! expires by itself: a timer calls the sweep.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use dynoxide::{Database, DynoxideError};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use shared::error::{Error, Result};
use tokio::sync::oneshot;

use crate::files;
use crate::guard::LocalPort;

/// How often rows whose time is over are removed.
const SWEEP: Duration = Duration::from_secs(60);

/// The largest request that DynamoDB accepts, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

const INDEX: &str = "CREATE INDEX IF NOT EXISTS _stream_records_by_number \
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";

pub struct Embedded {
    address: SocketAddr,
    uri: String,
    access_key: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// What the requests to the port share.
struct Table {
    database: Database,
    port: LocalPort,
    access_key: String,
}

impl Embedded {
    /// Opens the database of a folder, or one in memory, and serves it to those who have the access key.
    ///
    /// # Errors
    /// The database's file cannot be opened, or there is no free port.
    pub fn start(folder: Option<&Path>, access_key: String) -> Result<Self> {
        static DATABASES: AtomicU64 = AtomicU64::new(0);
        let uri = match folder {
            Some(folder) => {
                let path = folder.join(files::TABLE);
                // SQLite gives the files beside it the mode that this one has.
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
        let database =
            Database::new(&uri).map_err(|error| Error::internal(format!("{uri}: {error}")))?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(Error::internal)?;
        listener.set_nonblocking(true).map_err(Error::internal)?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let table = Table {
            database,
            port: LocalPort(address.port()),
            access_key: access_key.clone(),
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("table".into());
        let thread = thread
            .spawn(move || serve(listener, table, stopped))
            .map_err(Error::internal)?;
        Ok(Self {
            address,
            uri,
            access_key,
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

    /// Makes the index that spares each write a scan of the stream.
    pub fn speed_up_streams(&self) -> Result<()> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(&self.uri, flags).map_err(Error::internal)?;
        connection
            .busy_timeout(Duration::from_secs(5))
            .map_err(Error::internal)?;
        connection.execute_batch(INDEX).map_err(Error::internal)
    }

    /// Stops the database after the current requests are answered.
    pub fn stop(self) {
        if self.stop.send(()).is_err() || self.thread.join().is_err() {
            tracing::warn!("the embedded table had ended by itself");
        }
    }
}

fn serve(listener: std::net::TcpListener, table: Table, stopped: oneshot::Receiver<()>) {
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

/// Any request to the table's port.
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
        // DynamoDB shows this to everybody, and clients connect with it.
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

/// Whether the `Authorization` of AWS's signature has that access key. Digests are compared, so that the time it takes says
/// nothing about the key.
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

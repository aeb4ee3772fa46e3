//! The embedded DynamoDB, on a loopback port and a thread of its own.
//!
//! Two faults of dynoxide 3.2.0 are worked round here. With streams on, every write scans all stream records for the
//! last number: an index answers that instead, made over a second connection to the same SQLite database. And nothing
//! expires by itself: a timer calls the sweep.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use dynoxide::Database;
use rusqlite::{Connection, OpenFlags};
use shared::error::{Error, Result};
use tokio::sync::oneshot;

/// How often rows whose time is over are removed.
const SWEEP: Duration = Duration::from_secs(60);

const INDEX: &str = "CREATE INDEX IF NOT EXISTS _stream_records_by_number \
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";

pub struct Embedded {
    address: SocketAddr,
    uri: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Embedded {
    /// Opens the database of a folder, or one in memory, and serves it.
    pub fn start(folder: Option<&Path>) -> Result<Self> {
        static DATABASES: AtomicU64 = AtomicU64::new(0);
        let uri = match folder {
            Some(folder) => folder.join("table.sqlite").display().to_string(),
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
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("table".into());
        let thread = thread
            .spawn(move || serve(listener, database, stopped))
            .map_err(Error::internal)?;
        Ok(Self {
            address,
            uri,
            stop,
            thread,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
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

    /// Ends the database when the requests under way are answered.
    pub fn stop(self) {
        if self.stop.send(()).is_err() || self.thread.join().is_err() {
            tracing::warn!("the embedded table had ended by itself");
        }
    }
}

fn serve(listener: std::net::TcpListener, database: Database, stopped: oneshot::Receiver<()>) {
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
        let sweeping = tokio::spawn(sweep(database.clone()));
        let stopped = async {
            // A dropped sender stops the database as well.
            drop(stopped.await);
        };
        if let Err(error) = dynoxide::server::serve_with_shutdown(listener, database, stopped).await
        {
            tracing::error!(error, "the embedded table ended");
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

//! What a function is given when it is deployed. `cargo run -p generate template` writes the template from it.

use table::access::Rows;

/// How many connections to DynamoDB an instance of a function has at most. A TLS handshake takes about a millisecond of CPU
/// time, longer than a call, so more calls than that wait for each other.
pub const CONNECTIONS: usize = 2;

/// The size, time and permissions of a function. Every function with a route, a queue, a stream or a rate may read the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    /// In megabytes.
    pub memory: u32,
    /// In seconds.
    pub timeout: u32,
    /// How many connections to DynamoDB an instance opens at its start: [`CONNECTIONS`] where reads run side by side, else one.
    pub connections: usize,
    /// The rows it may write.
    pub writes: &'static [Rows],
    pub needs: &'static [Need],
}

/// What a function needs besides the table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Writes to the table in batches.
    BatchWrites,
    /// Encrypts or decrypts secrets in rows.
    EncryptionKeys,
    /// Sends messages to the queues, now or by schedule.
    Messages,
    /// Authenticates places in a list, other than those of the pages of its own list.
    PageTokens,
    /// Calls the payment provider.
    Payments,
    /// Reads the table, although an operator invokes it.
    ReadTable,
    /// Reads the files of stations.
    ReadStations,
    /// Lists and deletes the files of accounts.
    RemoveFiles,
    /// Reads how many messages the queues hold.
    QueueDepths,
    /// Deletes schedules.
    RemoveSchedules,
    /// Reads every row of the table.
    ScanTable,
    /// Writes, lists and signs links to the documents of invoices.
    Documents,
    /// Signs links to the files of reports.
    SignReports,
    /// Writes files of accounts: reports and exports.
    WriteReports,
}

impl Deployment {
    /// Of a function that someone waits for: 10 seconds.
    pub const fn of_request() -> Self {
        Self {
            memory: 256,
            timeout: 10,
            connections: 1,
            writes: &[],
            needs: &[],
        }
    }

    /// Of a function that works in the background: 60 seconds.
    pub const fn in_background() -> Self {
        Self::of_request().timeout(60)
    }

    /// With this much memory, in megabytes.
    #[must_use]
    pub const fn memory(mut self, megabytes: u32) -> Self {
        self.memory = megabytes;
        self
    }

    /// With this time-out, in seconds.
    #[must_use]
    pub const fn timeout(mut self, seconds: u32) -> Self {
        self.timeout = seconds;
        self
    }

    /// With reads that run side by side.
    #[must_use]
    pub const fn reading_side_by_side(mut self) -> Self {
        self.connections = CONNECTIONS;
        self
    }

    /// With permission to write these rows.
    #[must_use]
    pub const fn writing(mut self, rows: &'static [Rows]) -> Self {
        self.writes = rows;
        self
    }

    /// With permission for these.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }
}

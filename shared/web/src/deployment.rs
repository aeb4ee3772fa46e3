//! The configuration of a function when it is deployed. `cargo run -p generate template` writes the template from it.

use table::access::Items;

/// The maximum number of connections to DynamoDB of an instance of a function. A TLS handshake takes about a millisecond of CPU time,
/// longer than a call, so further calls wait for a connection.
pub const CONNECTIONS: usize = 2;

/// The size, time and permissions of a function. Every function with a route, a queue, a stream or a rate may read the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    /// In megabytes.
    pub memory: u32,
    /// In seconds.
    pub timeout: u32,
    /// The number of connections to DynamoDB that an instance opens at its start: [`CONNECTIONS`] if reads run concurrently, otherwise one.
    pub connections: usize,
    /// The items that it may write.
    pub writes: &'static [Items],
    pub needs: &'static [Need],
}

/// The permissions of a function besides those for the table's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Writes to the table in batches.
    BatchWrites,
    /// Encrypts or decrypts secrets in items.
    EncryptionKeys,
    /// Sends messages to the queues, now or by schedule.
    Messages,
    /// Authenticates page tokens other than those of its own list.
    PageTokens,
    /// Calls the payment provider.
    Payments,
    /// Reads the table, although an operator invokes it.
    ReadTable,
    /// Reads the files of stations.
    ReadStations,
    /// Lists and deletes the files of accounts.
    RemoveFiles,
    /// Reads the numbers of messages in the queues.
    QueueDepths,
    /// Deletes schedules.
    RemoveSchedules,
    /// Reads every item of the table.
    ScanTable,
    /// Writes, lists and signs links to the documents of invoices.
    Documents,
    /// Signs links to the files of reports.
    SignReports,
    /// Writes files of accounts: reports and exports.
    WriteReports,
}

impl Deployment {
    /// Returns the deployment of a function that serves requests: 10 seconds.
    pub const fn of_request() -> Self {
        Self {
            memory: 256,
            timeout: 10,
            connections: 1,
            writes: &[],
            needs: &[],
        }
    }

    /// Returns the deployment of a function that works in the background: 60 seconds.
    pub const fn in_background() -> Self {
        Self::of_request().timeout(60)
    }

    /// Sets the memory, in megabytes.
    #[must_use]
    pub const fn memory(mut self, megabytes: u32) -> Self {
        self.memory = megabytes;
        self
    }

    /// Sets the time-out, in seconds.
    #[must_use]
    pub const fn timeout(mut self, seconds: u32) -> Self {
        self.timeout = seconds;
        self
    }

    /// Declares that reads run concurrently.
    #[must_use]
    pub const fn reading_side_by_side(mut self) -> Self {
        self.connections = CONNECTIONS;
        self
    }

    /// Adds permission to write these items.
    #[must_use]
    pub const fn writing(mut self, items: &'static [Items]) -> Self {
        self.writes = items;
        self
    }

    /// Adds these permissions.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [Need]) -> Self {
        self.needs = needs;
        self
    }
}

//! Creates the objects of lines through batches, and attaches them.

use std::collections::HashMap;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::journal::{Chunk, Entry, History, Journal, Progress};
use super::report::{Bar, LineOutcome, Summary, reason, refusal_of};
use super::sheet::{Problem, Row, key};
use crate::catalog::Operation;
use crate::client::{Client, Request};
use crate::context::Context;
use crate::failure::Failure;

/// The time for which the service certainly keeps a key; it keeps keys for 24 hours.
const KEPT: SignedDuration = SignedDuration::from_hours(23);

/// By how much the time of a chunk may be ahead: the clocks of two instances of the service differ.
const MOST_AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// The maximum number of bodies of a batch, and their maximum total size in bytes. The service accepts 256 KiB.
const MAX_BODIES: usize = 1_000;
const MAX_BYTES: usize = 200_000;

/// The number of objects of a journal that may be missing before it counts as that of another account.
const MOST_MISSING: usize = 10;

/// The number of batches that run at a time: the service processes several bodies of each in parallel.
const ABREAST: usize = 2;

/// The length of the first wait for a batch, and of the longest one. Each wait is 1.5 times as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

const BATCHES: &str = "/v1/batches";

/// An import in progress.
pub struct Import {
    pub client: Client,
    pub operation: &'static Operation,
    pub journal: Journal,
    /// The entries of earlier runs.
    pub history: History,
    /// The numbers of the lines of the file, by their keys.
    pub lines: HashMap<String, u64>,
    /// The fleet to which each object is attached.
    pub attach: Option<String>,
    /// Whether lines that were sent too long ago, without an outcome, are sent again.
    pub retries_uncertain: bool,
}

/// The number and the key of a line, with the id of its object, or with its outcome if no object was created.
type Creation = (u64, String, Result<String, LineOutcome>);

impl Import {
    /// Checks that the objects in the journal belong to the key's account.
    ///
    /// # Errors
    /// They belong to another account, or the service cannot be reached or refuses the key.
    pub async fn check_account(&self) -> Result<(), Failure> {
        let lines = self.history.lines.values();
        let known = lines.filter_map(|line| match line {
            Progress::Created { id, .. } => Some(id),
            _ => None,
        });
        let mut missing = None;
        for id in known.take(MOST_MISSING) {
            let path = format!("{}/{id}", self.operation.path);
            match self.client.send(&Request::get(path)).await {
                // It was deleted since, if another object of the journal is there.
                Err(Failure::Refused(refusal)) if refusal.status == 404 => missing = Some(id),
                Err(Failure::Refused(refusal)) if refusal.status == 403 => return Ok(()),
                Err(failure) => return Err(failure),
                Ok(_) => return Ok(()),
            }
        }
        let Some(id) = missing else {
            return self.check_key().await;
        };
        Err(Failure::Local(format!(
            "{}: the journal names {id}, which this account does not have. The journal belongs to another account, or its objects \
             were deleted; name another journal with --journal, or remove this one to import every line anew",
            self.journal.path().display()
        )))
    }

    /// Sends a first request if there was none, because the times of the journal are those of the service.
    ///
    /// # Errors
    /// The service cannot be reached or refuses the key.
    async fn check_key(&self) -> Result<(), Failure> {
        if self.client.date().is_some() {
            return Ok(());
        }
        let first = Request::get(self.operation.path.as_str()).with("limit", "1");
        match self.client.send(&first).await {
            Err(Failure::Refused(refusal)) if refusal.status == 403 => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// Returns the service's time, by which it forgets keys. The clock of the local runner can be moved, and its header `Date` is the time
    /// of this machine.
    ///
    /// # Errors
    /// As [`Client::local_time`].
    async fn now(&self) -> Result<Timestamp, Failure> {
        Ok(self
            .client
            .local_time()
            .await?
            .unwrap_or_else(|| self.date()))
    }

    /// Returns the time by the service's responses; that of this machine if they do not say it.
    fn date(&self) -> Timestamp {
        self.client.date().unwrap_or_else(Timestamp::now)
    }

    /// Returns the time for the journal at which a chunk is first sent. Without the token of the local runner it is that of this machine.
    /// The runner's clock is ahead of it: the lines can become uncertain too early, and are not created twice.
    ///
    /// # Errors
    /// A local address cannot be reached.
    async fn time_of_sending(&self) -> Result<Timestamp, Failure> {
        match self.now().await {
            Err(Failure::Refused(refusal)) if refusal.status == 401 => Ok(self.date()),
            now => now,
        }
    }

    /// Returns whether the service may have forgotten the key of a chunk that an earlier run has sent.
    ///
    /// # Errors
    /// As [`Client::local_time`].
    async fn is_forgotten(&self, chunk: &Chunk) -> Result<bool, Failure> {
        if chunk.batch.is_some() {
            return Ok(true);
        }
        let age = self.now().await?.duration_since(chunk.at);
        // The age is unknown if the time is ahead.
        Ok(!(-MOST_AHEAD..=KEPT).contains(&age))
    }

    /// Imports all lines without an outcome.
    ///
    /// # Errors
    /// If the key is refused, the service cannot be reached, or the journal cannot be written. These errors end the import.
    pub async fn all(
        &self,
        context: &Context,
        rows: impl Iterator<Item = Row>,
        concurrency: usize,
    ) -> Result<Summary, Failure> {
        let mut summary = Summary::default();
        let mut created: Vec<Creation> = Vec::new();
        let new = rows.filter(|row| match self.history.lines.get(&row.key) {
            None | Some(Progress::Refused) => true,
            Some(Progress::Sent(_)) => false,
            Some(Progress::Created { id, attached }) => {
                if *attached || self.attach.is_none() {
                    summary.done_before += 1;
                } else {
                    created.push((row.line, row.key.clone(), Ok(id.clone())));
                }
                false
            }
        });
        let pending = self.history.pending().into_iter();
        let chunks = pending.chain(chunks(new, |key| self.history.chunks.contains_key(key)));
        let bar = Bar::new(context, self.lines.len() as u64);
        let results: Vec<Vec<Creation>> = stream::iter(chunks)
            .map(|chunk| self.create(chunk, &bar))
            .buffer_unordered(ABREAST.min(concurrency))
            .try_collect()
            .await?;
        bar.finish();
        created.extend(results.into_iter().flatten());
        let bar = Bar::new(context, created.len() as u64);
        let outcomes: Vec<LineOutcome> = stream::iter(created)
            .map(|creation| self.attach(creation))
            .buffer_unordered(concurrency)
            .inspect_ok(|_| bar.advance(1))
            .try_collect()
            .await?;
        bar.finish();
        summary.count(outcomes);
        Ok(summary)
    }

    /// Creates the objects of a chunk, and returns the outcomes of those lines that are still in the file.
    async fn create(&self, mut chunk: Chunk, bar: &Bar) -> Result<Vec<Creation>, Failure> {
        let is_new = !self.history.chunks.contains_key(&chunk.key);
        if is_new {
            chunk.at = self.time_of_sending().await?;
        }
        let known = match &chunk.batch {
            None => None,
            Some(batch) => match self.results(batch, bar).await {
                Err(Failure::Refused(refusal)) if refusal.status == 404 => None,
                results => Some(results?),
            },
        };
        // An interrupted run may have written the outcomes of some lines. Refused lines are then in a later chunk.
        let sent = Progress::Sent(chunk.key.clone());
        let is_open = |key: &String| is_new || self.history.lines.get(key) == Some(&sent);
        let results = match known {
            Some(results) => results,
            None if !is_new && !self.retries_uncertain && self.is_forgotten(&chunk).await? => {
                let message = format!("was sent at {} without a known outcome", chunk.at);
                let lines = chunk.lines.into_iter().filter(is_open).filter_map(|key| {
                    let line = *self.lines.get(&key)?;
                    let problem = Problem::of_line(line, &message);
                    Some((line, key, Err(LineOutcome::Uncertain(problem))))
                });
                return Ok(lines.collect());
            }
            None => match self.send(&chunk).await {
                Ok(batch) => self.results(&batch, bar).await?,
                // Another request with this key is in flight and may create the batch.
                Err(Failure::Refused(refusal)) if refusal.is_in_flight() => {
                    return Err(Failure::Refused(refusal));
                }
                Err(failure) => {
                    let message = refusal_of(0, failure)?.message;
                    vec![json!({"error": {"message": message}}); chunk.lines.len()]
                }
            },
        };
        let mut created = Vec::new();
        let results = chunk.lines.into_iter().zip(results);
        for (key, result) in results.filter(|(key, _)| is_open(key)) {
            let id = result["result"].as_str().map(str::to_owned);
            let of_line = key.clone();
            self.journal.write(&match id.clone() {
                Some(id) => Entry::Created { key: of_line, id },
                None => Entry::Refused { key: of_line },
            })?;
            // The line may have been removed from the file.
            if let Some(line) = self.lines.get(&key).copied() {
                let refused = || Problem::of_line(line, reason(&result["error"]));
                let result = id.ok_or_else(|| LineOutcome::Refused(refused()));
                created.push((line, key, result));
            }
        }
        Ok(created)
    }

    /// Creates the batch of a chunk, and returns its id.
    async fn send(&self, chunk: &Chunk) -> Result<String, Failure> {
        let key = chunk.key.clone();
        if !self.history.chunks.contains_key(&key) {
            self.journal.write(&Entry::Chunk(chunk.clone()))?;
        }
        let resource = self.operation.path.trim_start_matches("/v1/");
        let operation = format!("create_{}", resource.trim_end_matches('s'));
        let body = json!({"operation": operation, "bodies": chunk.bodies});
        let request = Request::post(BATCHES, body).once(&key);
        let batch = self.client.send(&request).await?.body;
        let id = batch["id"].as_str().unwrap_or_default().to_owned();
        self.journal.write(&Entry::Batch {
            key,
            id: id.clone(),
        })?;
        Ok(id)
    }

    /// Waits until a batch is completed, and returns the results of its bodies in their order.
    async fn results(&self, batch: &str, bar: &Bar) -> Result<Vec<Value>, Failure> {
        let path = format!("{BATCHES}/{batch}");
        let (mut wait, mut done) = (FIRST_WAIT, 0);
        loop {
            let batch = self.client.send(&Request::get(&path)).await?.body;
            let counts = ["succeeded", "failed"].map(|name| batch[name].as_u64().unwrap_or(0));
            let ended: u64 = counts.iter().sum();
            bar.advance(ended - done);
            done = ended;
            if batch["status"] == "completed" {
                let first = Request::get(format!("{path}/results")).with("limit", "100");
                let mut page = self.client.send(&first).await?.body;
                let mut results = Vec::new();
                loop {
                    results.extend(page["data"].as_array().into_iter().flatten().cloned());
                    let Some(next) = page["next_page_url"].as_str() else {
                        break;
                    };
                    page = self.client.next_page(next, &first).await?.body;
                }
                // Results are read with eventual consistency: a result may still be pending for a moment.
                if results.iter().all(|result| result["status"] != "pending") {
                    return Ok(results);
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 3 / 2).min(LONGEST_WAIT);
        }
    }

    /// Attaches the object of a line, if it was created and a fleet was specified.
    async fn attach(&self, (line, key, result): Creation) -> Result<LineOutcome, Failure> {
        let (id, fleet) = match (result, &self.attach) {
            (Err(outcome), _) => return Ok(outcome),
            (Ok(_), None) => return Ok(LineOutcome::Created),
            (Ok(id), Some(fleet)) => (id, fleet),
        };
        let path = format!("{}/{id}", self.operation.path);
        let request = Request::post(format!("{path}/attach"), json!({"fleet": fleet}));
        let attached = self
            .client
            .send(&request.once(format!("{key}-attach")))
            .await;
        if let Err(failure) = attached {
            let problem = refusal_of(line, failure)?;
            // It may be attached already, or was deleted since an earlier run.
            let driver = match self.client.send(&Request::get(path)).await {
                Ok(driver) => driver.body,
                Err(Failure::Refused(refusal)) if refusal.status == 404 => {
                    let message = format!("{id} was deleted after its import");
                    return Ok(LineOutcome::Unattached(Problem::of_line(line, message)));
                }
                Err(Failure::Refused(refusal)) if refusal.status == 403 => Value::Null,
                Err(failure) => return Err(failure),
            };
            if !is_in(&driver, fleet) {
                return Ok(LineOutcome::unattached(line, &id, &problem.message));
            }
        }
        let is_of_earlier_run =
            matches!(self.history.lines.get(&key), Some(Progress::Created { .. }));
        self.journal.write(&Entry::Attached { key })?;
        Ok(if is_of_earlier_run {
            LineOutcome::Updated
        } else {
            LineOutcome::Created
        })
    }
}

/// Whether a driver is attached to a fleet.
pub fn is_in(driver: &Value, fleet: &str) -> bool {
    let fleets = driver["fleets"].as_array();
    fleets.is_some_and(|fleets| fleets.contains(&json!(fleet)))
}

/// The chunks of lines, in their order.
fn chunks(
    rows: impl Iterator<Item = Row>,
    is_known: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Chunk> {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        let (mut lines, mut bodies, mut bytes) = (Vec::new(), Vec::new(), 0);
        while let Some(row) = rows.next_if(|row| {
            bytes += row.body.to_string().len() + 1;
            bodies.is_empty() || bodies.len() < MAX_BODIES && bytes <= MAX_BYTES
        }) {
            lines.push(row.key);
            bodies.push(row.body);
        }
        let content = key(&lines.join(" "));
        // Lines that were refused and are sent again together are another batch.
        let mut keys = (1..).map(|attempt| format!("{content}-{attempt}"));
        let key = keys.find(|key| !is_known(key))?;
        // The time is set when the chunk is sent.
        let at = Timestamp::UNIX_EPOCH;
        (!lines.is_empty()).then_some(Chunk {
            key,
            at,
            lines,
            bodies,
            batch: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_at_most_200_kb_and_at_least_one_line() {
        let row = |bytes: usize| Row {
            line: 2,
            key: bytes.to_string(),
            body: json!({"name": "x".repeat(bytes)}),
        };
        let rows = [99_000, 100_000, 1_000, MAX_BYTES, 1].map(row);
        let chunks: Vec<Chunk> = chunks(rows.into_iter(), |key| key.ends_with("-1")).collect();
        let lines: Vec<Vec<String>> = chunks.iter().map(|chunk| chunk.lines.clone()).collect();
        let whole = MAX_BYTES.to_string();
        assert_eq!(
            lines,
            [
                vec!["99000", "100000"],
                vec!["1000"],
                vec![&whole],
                vec!["1"]
            ]
        );
        assert!(chunks.iter().all(|chunk| chunk.key.ends_with("-2")));
    }
}

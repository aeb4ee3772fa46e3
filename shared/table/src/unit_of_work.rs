//! The unit of work: reads and writes objects for one request or one piece of background work, and commits the writes
//! together.
//!
//! Every write of an object is conditional on the version that was read, so that two requests that change the same object never overwrite
//! each other: the second one is refused with [`Error::Contended`], and the edge or the queue repeats it. The events that an object has
//! recorded are written with it: the item names them, and the stream relay creates event objects from them. If an event has to exist as
//! soon as the object does, or if the object is deleted, the event object is part of the transaction.
//!
//! A request with an `Idempotency-Key` stores its response in the same transaction. A single put without such a key is written
//! by itself, which costs half as much as a transaction.

use std::time::Duration;

use aws_sdk_dynamodb::error::{DisplayErrorContext, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::{
    ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder,
};
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};

use super::idempotency::Claim;
use super::keys::Key;
use super::stored_item::{self, Record};
use super::{Item, Store, client, key_item, n, number};
use kernel::backoff::Backoff;
use kernel::error::ErrorClass;
use kernel::size::Size;
use kernel::{Code, Error, Id, Origin, Response, Result};
use models::Stored;

/// The writes of one request or one piece of background work, which are committed together. Each write has the error to return if its
/// condition fails.
#[derive(Debug)]
pub struct UnitOfWork<'a> {
    pub(super) store: &'a Store,
    pub(super) origin: &'a Origin,
    writes: Vec<(Write, Error)>,
}

/// A write, which is built when it is sent.
#[derive(Debug, Clone)]
pub(super) enum Write {
    Put(PutBuilder),
    Update(UpdateBuilder),
    Delete(DeleteBuilder),
    Check(ConditionCheckBuilder),
}

/// The reason why a commit had no effect.
#[derive(Debug)]
pub(super) enum CommitFailure {
    /// The condition of the write with this index failed.
    Condition(usize),
    /// The idempotency key has this record already.
    Repeated(Item),
}

/// The maximum number of attempts of a transaction that collides with others, and the longest pause before the second attempt.
const TRANSACTION_ATTEMPTS: u32 = 7;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(12), 2, Duration::from_millis(192));

/// The largest total size of the items, in bytes of JSON, that one transaction of [`UnitOfWork::save_in_parts`] replaces:
/// DynamoDB accepts 4 MB.
const PART: usize = 3_000_000;

/// The maximum number of writes of one transaction, besides an idempotency record and the check of a key: DynamoDB accepts 100 items.
pub const MAX_WRITES: usize = 98;

impl Store {
    /// Starts a unit of work. Nothing is written before it is committed.
    pub fn begin<'a>(&'a self, origin: &'a Origin) -> UnitOfWork<'a> {
        UnitOfWork {
            store: self,
            origin,
            writes: Vec::new(),
        }
    }

    /// Creates an object and nothing else.
    ///
    /// # Errors
    /// As for [`UnitOfWork::create`] and [`UnitOfWork::commit`].
    pub async fn create<T: Record>(&self, origin: &Origin, stored: &mut Stored<T>) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.create(stored)?;
        tx.commit_without_response().await
    }

    /// Saves an object that was read and changed and nothing else.
    ///
    /// # Errors
    /// As for [`UnitOfWork::save`] and [`UnitOfWork::commit`].
    pub async fn save<T: Record>(&self, origin: &Origin, stored: &mut Stored<T>) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.save(stored)?;
        tx.commit_without_response().await
    }

    pub(super) fn put(&self, item: Item) -> PutBuilder {
        let put = Put::builder().table_name(&self.table);
        put.set_item(Some(item))
    }

    /// Returns the put of an item that must not exist.
    pub(super) fn put_new(&self, item: Item) -> PutBuilder {
        self.put(item)
            .condition_expression("attribute_not_exists(pk)")
    }

    /// Returns a put on the condition that the number of writes of the item, in this attribute, is still `read`; 0 if there was no item.
    pub(super) fn put_if_read(&self, item: Item, counter: &str, read: u64) -> PutBuilder {
        match read {
            0 => self.put_new(item),
            _ => self
                .put(item)
                .condition_expression("#counter = :read")
                .expression_attribute_names("#counter", counter)
                .expression_attribute_values(":read", n(read)),
        }
    }

    pub(super) fn update(&self, key: Key<'_>) -> UpdateBuilder {
        let update = Update::builder().table_name(&self.table);
        update.set_key(Some(key_item(key)))
    }

    pub(super) fn delete(&self, key: Key<'_>) -> DeleteBuilder {
        let delete = Delete::builder().table_name(&self.table);
        delete.set_key(Some(key_item(key)))
    }

    pub(super) fn check(&self, key: Key<'_>) -> ConditionCheckBuilder {
        let check = ConditionCheck::builder().table_name(&self.table);
        check.set_key(Some(key_item(key)))
    }
}

impl<'a> UnitOfWork<'a> {
    /// Returns the tenant, the time and the request of the work.
    pub fn origin(&self) -> &'a Origin {
        self.origin
    }

    pub(super) fn push(&mut self, write: Write, refusal: Error) {
        self.writes.push((write, refusal));
    }

    /// Creates an object. The item must not exist.
    ///
    /// # Errors
    /// `Internal` if the object cannot be written as an item.
    pub fn create<T: Record>(&mut self, stored: &mut Stored<T>) -> Result<()> {
        let item = self.store.item_of(stored, self.origin)?;
        let put = self.store.put_new(item);
        self.push(Write::Put(put), Error::Contended);
        stored.mark_written();
        Ok(())
    }

    /// Checks that an object which the request is about to change has the version that the request names.
    ///
    /// # Errors
    /// `version_conflict` if it has another one.
    pub fn check_version<T: Record>(&self, stored: &Stored<T>) -> Result<()> {
        let precondition = self.origin.precondition.as_ref();
        let is_met = precondition.is_none_or(|precondition| {
            precondition.id != *stored.object.id()
                || precondition.versions.contains(&T::shown_version(stored))
        });
        if is_met {
            Ok(())
        } else {
            Err(Code::VersionConflict
                .because("The object was changed since the version that If-Match names.")
                .at("If-Match"))
        }
    }

    /// Replaces an object that was read. The commit fails with `Contended` if the item was written in the meantime.
    ///
    /// # Errors
    /// `version_conflict` if the request names another version; `Internal` if the object cannot be written as an item.
    pub fn save<T: Record>(&mut self, stored: &mut Stored<T>) -> Result<()> {
        self.check_version(stored)?;
        let put = self
            .store
            .put(self.store.item_of(stored, self.origin)?)
            .condition_expression("#version = :read")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":read", n(stored.version));
        self.push(Write::Put(put), Error::Contended);
        stored.mark_written();
        Ok(())
    }

    /// Replaces an object as [`UnitOfWork::save`] does after an update. If the update has left it as it was `before`, nothing is written:
    /// the object keeps its version, and there is no event.
    ///
    /// # Errors
    /// As for [`UnitOfWork::save`].
    pub fn save_update<T: Record>(
        &mut self,
        before: &Stored<T>,
        stored: &mut Stored<T>,
    ) -> Result<()>
    where
        Stored<T>: PartialEq,
    {
        if before == stored {
            self.check_version(stored)
        } else {
            self.save(stored)
        }
    }

    /// Makes the commit fail with `Contended` if an object was written since it was read, or since it did not exist (version 0).
    pub fn check_unchanged<T: Record>(&mut self, stored: &Stored<T>) {
        let key = stored.object.key(&self.origin.tenant, &stored.internal);
        let check = self.store.check(key);
        let check = match stored.version {
            0 => check.condition_expression("attribute_not_exists(pk)"),
            read => check
                .condition_expression("#version = :read")
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":read", n(read)),
        };
        self.push(Write::Check(check), Error::Contended);
    }

    /// Replaces objects as [`UnitOfWork::save`] does, and commits the writes so far whenever the next object would make the
    /// transaction larger than DynamoDB accepts. `others` is the number of writes that follow in the last transaction, less than
    /// [`MAX_WRITES`].
    ///
    /// Writes that are committed earlier are not undone if the request is refused or interrupted later. So this is only for changes that
    /// may be made in parts and repeated, such as removing a deleted object's id from other objects.
    ///
    /// # Errors
    /// `Internal` if an object cannot be written as an item; the error of the failed condition of an earlier part;
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn save_in_parts<T: Record>(
        &mut self,
        objects: &mut [Stored<T>],
        others: usize,
    ) -> Result<()> {
        let most = MAX_WRITES.saturating_sub(others);
        let mut room = PART;
        for stored in objects {
            let size = Size::of(&stored.object)?.bytes;
            if size > room || self.writes.len() >= most {
                let origin = Origin {
                    dry_run: self.origin.dry_run,
                    ..Origin::background(self.origin.tenant.clone(), self.origin.now)
                };
                let mut earlier = self.store.begin(&origin);
                earlier.writes = std::mem::take(&mut self.writes);
                earlier.commit_without_response().await?;
                room = PART;
            }
            room = room.saturating_sub(size);
            self.save(stored)?;
        }
        Ok(())
    }

    /// Deletes an object that was read, and creates the events that it has recorded. The commit fails with `Contended` if the
    /// item was written in the meantime.
    ///
    /// # Errors
    /// `version_conflict` if the request names another version; `Internal` if an event cannot be written as an item.
    pub fn delete<T: Record>(&mut self, stored: &Stored<T>) -> Result<()> {
        self.check_version(stored)?;
        let key = stored.object.key(&self.origin.tenant, &stored.internal);
        let delete = self
            .store
            .delete(key)
            .condition_expression("#version = :read")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":read", n(stored.version));
        self.push(Write::Delete(delete), Error::Contended);
        let mut events = stored_item::events_of(stored, self.origin)?;
        events.iter_mut().try_for_each(|event| self.create(event))
    }

    /// Commits the writes, and stores the response with them if the request has an idempotency key. Returns the response: that of the first
    /// request if this one repeats it.
    ///
    /// # Errors
    /// The error of the first write whose condition failed; 400 `idempotency_error` if the key was used with other parameters; 403
    /// `authentication_error` if the API key lacks a scope that the first request required; `Unavailable` if DynamoDB cannot be reached.
    pub async fn commit<R: AsRef<Response> + From<Response>>(self, response: R) -> Result<R> {
        let claim = Claim::Response(response.as_ref());
        let stored = self.commit_claiming(claim).await?;
        Ok(stored.map_or(response, R::from))
    }

    /// Commits the writes of background work, which has no response.
    ///
    /// # Errors
    /// The error of the first write whose condition failed; `Unavailable` if DynamoDB cannot be reached.
    pub async fn commit_without_response(self) -> Result<()> {
        self.commit(Response::ok(Vec::new())).await.map(drop)
    }

    /// Commits the writes of a request that starts this transaction and receives its response later. Until then the idempotency record
    /// refers to the transaction.
    ///
    /// # Errors
    /// `Contended` if the idempotency key was used in the meantime: read the content stored under it. Otherwise as for
    /// [`UnitOfWork::commit`].
    pub async fn commit_open(mut self, transaction: &Id) -> Result<()> {
        match self.write(Some(Claim::Open(transaction))).await? {
            None => Ok(()),
            Some(CommitFailure::Repeated(_)) => Err(Error::Contended),
            Some(CommitFailure::Condition(index)) => Err(self.error_of(index)),
        }
    }

    /// Commits the writes that end this transaction, and the response of the request that started it.
    ///
    /// # Errors
    /// As for [`UnitOfWork::commit`].
    pub async fn commit_settled(self, transaction: &Id, response: Response) -> Result<Response> {
        let claim = Claim::Settle(transaction, &response);
        let stored = self.commit_claiming(claim).await?;
        Ok(stored.unwrap_or(response))
    }

    /// Commits the writes and claims the idempotency key. Returns the stored response if the key was claimed before.
    async fn commit_claiming(mut self, claim: Claim<'_>) -> Result<Option<Response>> {
        match self.write(Some(claim)).await? {
            None => Ok(None),
            Some(CommitFailure::Repeated(record)) => match &self.origin.idempotency {
                Some(idempotency) => self.store.replay(&record, idempotency).map(Some),
                None => Err(Error::internal("a repetition without an idempotency key")),
            },
            Some(CommitFailure::Condition(index)) => Err(self.error_of(index)),
        }
    }

    /// Returns the error of the write with this index.
    fn error_of(&mut self, index: usize) -> Error {
        if index < self.writes.len() {
            self.writes.swap_remove(index).1
        } else {
            Error::Contended
        }
    }

    /// Sends the writes: a single put by itself, for half the price, everything else as a transaction. Nothing is sent for a dry run.
    pub(super) async fn write(
        &mut self,
        claim: Option<Claim<'_>>,
    ) -> Result<Option<CommitFailure>> {
        if self.origin.dry_run {
            return Ok(None);
        }
        let claim = match (&self.origin.idempotency, claim) {
            (Some(idempotency), Some(claim)) => {
                Some(self.store.claim(self.origin, idempotency, claim)?)
            }
            _ => None,
        };
        match (&self.writes[..], &claim) {
            ([], None) => Ok(None),
            ([(Write::Put(put), _)], None) => self.store.put_alone(put).await,
            _ => self.write_together(claim).await,
        }
    }

    async fn write_together(&self, claim: Option<PutBuilder>) -> Result<Option<CommitFailure>> {
        let claimed_at = claim.is_some().then_some(self.writes.len());
        let claim = claim.map(Write::Put);
        let writes = self.writes.iter().map(|(write, _)| write).chain(&claim);
        let items: Vec<_> = writes.map(Write::to_transact_item).collect::<Result<_>>()?;
        // All attempts have one token: DynamoDB responds with success if an earlier attempt was committed although its response was lost.
        let token = request_token()?;
        for attempt in 0..TRANSACTION_ATTEMPTS {
            let sent = self
                .store
                .client
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .client_request_token(&token)
                .send()
                .await;
            let error = match sent {
                Ok(_) => return Ok(None),
                Err(error) => error,
            };
            match self.failed_condition(&error, claimed_at) {
                Some(failure) => return Ok(Some(failure)),
                None if is_collision(&error) => BACKOFF.pause(attempt).await,
                None if is_invalid(&error) => {
                    return Err(Error::permanent(DisplayErrorContext(error).to_string()));
                }
                None => return Err(client::failure(error)),
            }
        }
        if claimed_at.is_some() {
            return Err(Error::idempotency_in_flight());
        }
        Err(Error::Contended)
    }

    /// Returns the condition that failed. A failed condition on the acting key takes precedence over all others, and an idempotency key
    /// that was claimed before over the rest: then the effect exists already.
    fn failed_condition(
        &self,
        error: &SdkError<TransactWriteItemsError>,
        claimed_at: Option<usize>,
    ) -> Option<CommitFailure> {
        let reasons = reasons(error);
        let failed = |index: &usize| reasons[*index].code() == Some("ConditionalCheckFailed");
        let is_of_key = |index: &usize| {
            let write = self.writes.get(*index);
            write.is_some_and(|(_, refusal)| refusal.class() == ErrorClass::Unauthenticated)
        };
        let mut all = (0..reasons.len()).filter(failed);
        if let Some(index) = all.clone().find(is_of_key) {
            return Some(CommitFailure::Condition(index));
        }
        match claimed_at.filter(|at| all.clone().any(|index| index == *at)) {
            Some(at) => {
                let record = reasons[at].item.clone().unwrap_or_default();
                Some(CommitFailure::Repeated(record))
            }
            None => all.next().map(CommitFailure::Condition),
        }
    }
}

impl Store {
    /// Sends one conditional put. The SDK repeats a call whose acknowledgement was lost, so a condition that fails because this
    /// request has written the item already counts as a success.
    async fn put_alone(&self, put: &PutBuilder) -> Result<Option<CommitFailure>> {
        let found = self.send_put(put.clone()).await?;
        let item = put.get_item().as_ref();
        let is_other = |found: &Item| !item.is_some_and(|item| is_same_write(found, item));
        Ok(found.filter(is_other).map(|_| CommitFailure::Condition(0)))
    }

    /// Sends a put by itself. Returns the item that failed its condition, which may be empty.
    pub(super) async fn send_put(&self, put: PutBuilder) -> Result<Option<Item>> {
        let put = put.build().map_err(Error::internal)?;
        let call = self.client.put_item().table_name(put.table_name);
        let sent = call
            .set_item(Some(put.item))
            .set_condition_expression(put.condition_expression)
            .set_expression_attribute_names(put.expression_attribute_names)
            .set_expression_attribute_values(put.expression_attribute_values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let Err(error) = sent else {
            return Ok(None);
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(found)) => {
                Ok(Some(found.item.clone().unwrap_or_default()))
            }
            _ => Err(client::failure(error)),
        }
    }
}

/// Returns whether the found item was written by this request with this version.
fn is_same_write(found: &Item, item: &Item) -> bool {
    found.get("request").is_some()
        && found.get("request") == item.get("request")
        && number(found, "version") == number(item, "version")
}

/// Returns a token by which DynamoDB recognizes the attempts of one transaction: 32 random characters.
fn request_token() -> Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
    Ok(hex::encode(random))
}

impl Write {
    /// # Errors
    /// `Internal` if the write has no table, item, key, update or condition.
    pub(super) fn to_transact_item(&self) -> Result<TransactWriteItem> {
        let item = TransactWriteItem::builder();
        let item = match self.clone() {
            Self::Put(put) => put.build().map(|put| item.put(without_idle_request(put))),
            Self::Update(update) => update.build().map(|update| item.update(update)),
            Self::Delete(delete) => delete.build().map(|delete| item.delete(delete)),
            Self::Check(check) => check.build().map(|check| item.condition_check(check)),
        };
        Ok(item.map_err(Error::internal)?.build())
    }
}

/// In a transaction the request is stored only for the events that it causes: the token identifies a repeated call.
fn without_idle_request(mut put: Put) -> Put {
    if !put.item.contains_key("events") {
        put.item.remove("request");
    }
    put
}

fn reasons(error: &SdkError<TransactWriteItemsError>) -> &[CancellationReason] {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons()
        }
        _ => &[],
    }
}

/// Returns whether the transaction collided with another one or was throttled, so that it can succeed when it is repeated.
fn is_collision(error: &SdkError<TransactWriteItemsError>) -> bool {
    const PASSING: &[&str] = &[
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
    ];
    let in_progress = matches!(
        error.as_service_error(),
        Some(TransactWriteItemsError::TransactionInProgressException(_))
    );
    in_progress
        || reasons(error)
            .iter()
            .any(|reason| reason.code().is_some_and(|code| PASSING.contains(&code)))
}

/// Returns whether DynamoDB refuses a write of the transaction as invalid, such as an item that is too large.
fn is_invalid(error: &SdkError<TransactWriteItemsError>) -> bool {
    let invalid = ["ValidationError", "ItemCollectionSizeLimitExceeded"];
    reasons(error)
        .iter()
        .any(|reason| reason.code().is_some_and(|code| invalid.contains(&code)))
}

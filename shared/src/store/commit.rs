//! Writing: a set of changes that happen together or not at all, with the idempotency record among them.

use std::time::Duration;

use aws_sdk_dynamodb::error::{DisplayErrorContext, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};

use super::idempotency::Claim;
use super::row::{Record, Row};
use super::{Answer, Item, Store, client, idempotency, n, number};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::models::event::EventType;
use crate::origin::Origin;
use crate::size::Size;

/// Changes that are written together. Each knows what it means when its condition fails.
#[derive(Debug, Default)]
pub struct Changes {
    writes: Vec<(Write, Error)>,
}

#[derive(Debug)]
pub(super) enum Write {
    Put(Put),
    Update(Update),
    Delete(Delete),
    Check(ConditionCheck),
}

/// How a commit ended that did not go through.
pub(super) enum Refused {
    /// The condition of the write at this place failed.
    At(usize),
    /// The idempotency key was claimed before; its record.
    Repeated(Item),
}

/// How often a transaction is tried that collides with others, and the longest first pause between.
const TRIES: u32 = 7;
const PAUSE: Duration = Duration::from_millis(12);

/// How large the rows are together, in bytes of JSON, that one transaction of [`Store::replace_in_parts`] replaces: DynamoDB
/// accepts 4 MB.
const PART: usize = 3_000_000;

impl Changes {
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn push(&mut self, write: Write, refusal: Error) {
        self.writes.push((write, refusal));
    }

    /// What it means that the condition of the write at this place failed.
    fn refusal(self, place: usize) -> Error {
        let write = self.writes.into_iter().nth(place);
        write.map_or(Error::Contended, |(_, refusal)| refusal)
    }
}

impl Store {
    /// Adds a row that must not be there yet.
    ///
    /// # Errors
    /// The row cannot be written as an item.
    pub fn create<T: Record>(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        row: &Row<T>,
    ) -> Result<()> {
        let put = self
            .put(row.to_item(origin)?)
            .condition_expression("attribute_not_exists(pk)");
        changes.push(
            Write::Put(put.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Writes a row that was read, unless somebody else has written it since.
    ///
    /// # Errors
    /// The row cannot be written as an item.
    pub fn replace<T: Record>(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        row: &Row<T>,
    ) -> Result<()> {
        let put = self
            .put(row.to_item(origin)?)
            .condition_expression("#version = :read")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":read", n(row.version));
        changes.push(
            Write::Put(put.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Adds rows that were read to the changes, as [`Store::replace`] does, and commits the changes so far whenever the next row
    /// would make the transaction larger than DynamoDB accepts.
    ///
    /// What is committed earlier stays if the request is refused or interrupted later, so this is only for changes that may be made
    /// in parts and repeated, such as removing a deleted object's id from other objects.
    ///
    /// # Errors
    /// A row cannot be written as an item; what the failed condition of an earlier part means; `Unavailable` if DynamoDB cannot be
    /// reached.
    pub async fn replace_in_parts<T: Record>(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        rows: &[Row<T>],
    ) -> Result<()> {
        let mut room = PART;
        for row in rows {
            let size = Size::of(&row.object)?.bytes;
            if size > room {
                let earlier = Origin::later(origin.tenant.clone(), origin.now);
                self.commit_later(&earlier, std::mem::take(changes)).await?;
                room = PART;
            }
            room = room.saturating_sub(size);
            self.replace(changes, origin, row)?;
        }
        Ok(())
    }

    /// Removes a row that was read, unless somebody else has written it since.
    ///
    /// # Errors
    /// The row has no key.
    pub fn remove<T: Record>(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        row: &Row<T>,
    ) -> Result<()> {
        let delete = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(super::key_item(
                row.object.key(&origin.tenant, &row.private),
            )))
            .condition_expression("#version = :read")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":read", n(row.version))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        changes.push(
            Write::Delete(delete.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Removes a row that was read, and writes the event that this stands for: there will be no row to announce it.
    ///
    /// # Errors
    /// The row has no key, or the object no JSON.
    pub fn remove_telling<T: Record>(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        row: &Row<T>,
        kind: EventType,
    ) -> Result<()> {
        self.remove(changes, origin, row)?;
        self.create(changes, origin, &row.event(kind, origin)?)
    }

    pub(super) fn put(&self, item: Item) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Writes the changes, and the answer with them when the request has an idempotency key. A repeated request gets
    /// the answer of the first.
    ///
    /// # Errors
    /// What the first failed condition means; 400 `idempotency_error` when the key was used with other parameters.
    pub async fn commit(
        &self,
        origin: &Origin,
        changes: Changes,
        answer: Answer,
    ) -> Result<Answer> {
        self.commit_claiming(origin, changes, Claim::Answer(&answer))
            .await
            .map(|replayed| replayed.unwrap_or(answer))
    }

    /// Writes the changes of a request that begins this transaction and is answered later. Its idempotency key points to the
    /// transaction until then.
    ///
    /// # Errors
    /// `Contended` if the key was used meanwhile: recall what is stored under it.
    pub async fn commit_begun(
        &self,
        origin: &Origin,
        changes: Changes,
        transaction: &Id,
    ) -> Result<()> {
        match self
            .write(origin, &changes, Some(Claim::Open(transaction)))
            .await?
        {
            None => Ok(()),
            Some(Refused::Repeated(_)) => Err(Error::Contended),
            Some(Refused::At(place)) => Err(changes.refusal(place)),
        }
    }

    /// Writes the changes that end this transaction, and the answer of the request that began it.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub async fn commit_settled(
        &self,
        origin: &Origin,
        changes: Changes,
        transaction: &Id,
        answer: Answer,
    ) -> Result<Answer> {
        let claim = Claim::Settle(transaction, &answer);
        self.commit_claiming(origin, changes, claim)
            .await
            .map(|replayed| replayed.unwrap_or(answer))
    }

    /// Writes the changes and claims the idempotency key. Gives the stored answer if the key was claimed before.
    async fn commit_claiming(
        &self,
        origin: &Origin,
        changes: Changes,
        claim: Claim<'_>,
    ) -> Result<Option<Answer>> {
        match self.write(origin, &changes, Some(claim)).await? {
            None => Ok(None),
            Some(Refused::Repeated(record)) => match &origin.idempotency {
                Some(idempotency) => idempotency::replay(&record, idempotency).map(Some),
                None => Err(Error::internal("a repetition without an idempotency key")),
            },
            Some(Refused::At(place)) => Err(changes.refusal(place)),
        }
    }

    /// Writes changes that nobody waits for an answer to.
    ///
    /// # Errors
    /// What the first failed condition means.
    pub async fn commit_later(&self, origin: &Origin, changes: Changes) -> Result<()> {
        self.commit(origin, changes, Answer::ok(Vec::new()))
            .await
            .map(drop)
    }

    /// Writes the changes: a row that stands alone by itself, for half the price, everything else as a transaction.
    pub(super) async fn write(
        &self,
        origin: &Origin,
        changes: &Changes,
        claim: Option<Claim<'_>>,
    ) -> Result<Option<Refused>> {
        let claim = match (&origin.idempotency, claim) {
            (Some(idempotency), Some(claim)) => Some(self.claim(origin, idempotency, claim)?),
            _ => None,
        };
        match (&changes.writes[..], &claim) {
            ([], None) => Ok(None),
            ([(Write::Put(put), _)], None) => self.put_alone(put).await,
            _ => self.write_together(changes, claim).await,
        }
    }

    async fn write_together(
        &self,
        changes: &Changes,
        claim: Option<Put>,
    ) -> Result<Option<Refused>> {
        let writes = changes
            .writes
            .iter()
            .map(|(write, _)| write.to_transact_item());
        let claim = claim.map(|put| TransactWriteItem::builder().put(put).build());
        let claimed_at = claim.is_some().then_some(changes.writes.len());
        let items: Vec<_> = writes.chain(claim).collect();
        for attempt in 0..TRIES {
            let sent = self
                .client
                .transact_write_items()
                .set_transact_items(Some(items.clone()))
                .send()
                .await;
            let error = match sent {
                Ok(_) => return Ok(None),
                Err(error) => error,
            };
            match refusal(&error, claimed_at) {
                Some(refused) => return Ok(Some(refused)),
                None if is_collision(&error) => pause(attempt).await?,
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

    /// One conditional write. The SDK repeats a call whose acknowledgement was lost, so a refusal by a row that this
    /// very request wrote is a success.
    async fn put_alone(&self, put: &Put) -> Result<Option<Refused>> {
        let call = self
            .client
            .put_item()
            .table_name(&put.table_name)
            .set_item(Some(put.item.clone()));
        let sent = call
            .set_condition_expression(put.condition_expression.clone())
            .set_expression_attribute_names(put.expression_attribute_names.clone())
            .set_expression_attribute_values(put.expression_attribute_values.clone())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match sent {
            Ok(_) => Ok(None),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                let found = match failure.into_err() {
                    PutItemError::ConditionalCheckFailedException(found) => found.item,
                    _ => None,
                };
                let ours = found
                    .as_ref()
                    .is_some_and(|found| is_same_write(found, &put.item));
                Ok(if ours { None } else { Some(Refused::At(0)) })
            }
            Err(error) => Err(client::failure(error)),
        }
    }
}

/// Whether the row that was found is the one that was to be written, by the same request.
fn is_same_write(found: &Item, wanted: &Item) -> bool {
    found.get("request").is_some()
        && found.get("request") == wanted.get("request")
        && number(found, "version") == number(wanted, "version")
}

impl Write {
    fn to_transact_item(&self) -> TransactWriteItem {
        let item = TransactWriteItem::builder();
        match self {
            Self::Put(put) => item.put(put.clone()),
            Self::Update(update) => item.update(update.clone()),
            Self::Delete(delete) => item.delete(delete.clone()),
            Self::Check(check) => item.condition_check(check.clone()),
        }
        .build()
    }
}

fn reasons(error: &SdkError<TransactWriteItemsError>) -> &[CancellationReason] {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons()
        }
        _ => &[],
    }
}

/// Which condition failed. A claimed idempotency key goes before everything else: then the effect was there already.
fn refusal(
    error: &SdkError<TransactWriteItemsError>,
    claimed_at: Option<usize>,
) -> Option<Refused> {
    let reasons = reasons(error);
    let failed = |reason: &CancellationReason| reason.code() == Some("ConditionalCheckFailed");
    if let Some(reason) = claimed_at
        .and_then(|at| reasons.get(at))
        .filter(|reason| failed(reason))
    {
        return Some(Refused::Repeated(reason.item.clone().unwrap_or_default()));
    }
    reasons.iter().position(failed).map(Refused::At)
}

/// Whether the transaction only met another one, or a throttle, and may go through the next time.
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

/// Whether DynamoDB refuses a write of the transaction as invalid, such as an item that is too large.
fn is_invalid(error: &SdkError<TransactWriteItemsError>) -> bool {
    let invalid = ["ValidationError", "ItemCollectionSizeLimitExceeded"];
    reasons(error)
        .iter()
        .any(|reason| reason.code().is_some_and(|code| invalid.contains(&code)))
}

/// Waits before the next attempt, longer each time and never twice the same.
async fn pause(attempt: u32) -> Result<()> {
    let mut random = [0; 1];
    getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
    let longest = PAUSE * 2u32.pow(attempt.min(4));
    tokio::time::sleep(longest / 2 + longest * u32::from(random[0]) / 512).await;
    Ok(())
}

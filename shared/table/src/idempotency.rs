//! Idempotency. The response to a request with an `Idempotency-Key` is stored in the transaction of its effect. A repetition receives the
//! stored response, which DynamoDB returns with the refused transaction.
//!
//! A request that charges has an effect before its response is certain. Its record is first written *open*, with the id of the pending
//! payment transaction in place of a response, in the DynamoDB transaction that creates the payment transaction. A repetition finds the
//! payment transaction and finishes it. The record is settled with the response in the DynamoDB transaction that ends the payment
//! transaction.
//!
//! The body of the response is deflated, so that most records stay below a kilobyte. A response that shows a secret is encrypted instead.
//!
//! A record contains the scopes that the first request required in addition to those of its route, which the edge always checks. It is
//! returned only to keys that have these scopes, whatever the error of the request would be otherwise.

use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

use super::deflate::{deflated, inflated};
use super::keys::Key;
use super::{Item, Store, n, new_item, number, s, string};
use kernel::encryption::Encrypted;
use kernel::origin::Idempotency;
use kernel::scope::Scope;
use kernel::time::{DAY, days};
use kernel::{Error, Id, Origin, Response, Result, SignedDuration};

/// The content stored under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recalled {
    Response(Response),
    /// The request began this transaction and has no response yet.
    Open(Id),
}

/// The content that a write stores under the request's idempotency key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Claim<'a> {
    /// The response to a request that has its whole effect in this write.
    Response(&'a Response),
    /// The id of the transaction that the request began.
    Open(&'a Id),
    /// The response to a request that began this transaction earlier.
    Settle(&'a Id, &'a Response),
}

/// The time for which a response is kept.
const KEPT: SignedDuration = DAY;

/// The time for which an open record is kept. It is longer than any payment is pending: without the record, a repetition would begin another
/// payment. If the transaction ends without the request, the record stays open, and a repetition gets the result of the transaction.
const KEPT_OPEN: SignedDuration = days(30);

/// True if there is no record yet, or if the record has expired but DynamoDB has not deleted it yet.
const NEW_OR_EXPIRED: &str = "attribute_not_exists(pk) OR #ttl <= :now";

impl Store {
    /// Returns the write that claims the key, for the transaction of the effect.
    pub(super) fn claim(
        &self,
        origin: &Origin,
        idempotency: &Idempotency,
        claim: Claim<'_>,
    ) -> Result<PutBuilder> {
        let item = match claim {
            Claim::Response(answer) | Claim::Settle(_, answer) => {
                self.record(origin, idempotency, answer)?
            }
            Claim::Open(transaction) => {
                let mut item = bare_record(origin, idempotency, KEPT_OPEN);
                item.insert(TRANSACTION.into(), s(transaction.as_str()));
                item
            }
        };
        let put = self
            .put(item)
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":now", n(origin.now.unix_seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        Ok(match claim {
            Claim::Response(_) | Claim::Open(_) => put.condition_expression(NEW_OR_EXPIRED),
            Claim::Settle(transaction, _) => put
                .condition_expression(format!("{NEW_OR_EXPIRED} OR #transaction = :transaction"))
                .expression_attribute_names("#transaction", TRANSACTION)
                .expression_attribute_values(":transaction", s(transaction.as_str())),
        })
    }

    /// Stores a response of a request without any effect, such as a 404. An existing record takes precedence.
    ///
    /// # Errors
    /// 400 `idempotency_error` if the key was used with other parameters; 403 `authentication_error` for an API key that lacks a scope
    /// which the first request required.
    pub async fn remember(
        &self,
        origin: &Origin,
        idempotency: &Idempotency,
        answer: Response,
    ) -> Result<Response> {
        let put = self.claim(origin, idempotency, Claim::Response(&answer))?;
        match self.send_put(put).await? {
            None => Ok(answer),
            Some(record) => self.replay(&record, idempotency),
        }
    }

    /// Returns the response stored under the key, if there is one.
    ///
    /// # Errors
    /// 400 `idempotency_error` if the key was used with other parameters; 403 `authentication_error` for an API key that lacks a scope
    /// which the first request required.
    pub async fn recall(
        &self,
        origin: &Origin,
        idempotency: &Idempotency,
    ) -> Result<Option<Response>> {
        match self.recall_open(origin, idempotency).await? {
            Some(Recalled::Response(answer)) => Ok(Some(answer)),
            Some(Recalled::Open(_)) | None => Ok(None),
        }
    }

    /// Returns the response stored under the key, or the transaction that the first request began.
    ///
    /// # Errors
    /// 400 `idempotency_error` if the key was used with other parameters; 403 `authentication_error` for an API key that lacks a scope
    /// which the first request required.
    pub async fn recall_open(
        &self,
        origin: &Origin,
        idempotency: &Idempotency,
    ) -> Result<Option<Recalled>> {
        let key = Key::Idempotency {
            tenant: &origin.tenant,
            key: &idempotency.key,
        };
        match self.item(key, true).await? {
            Some(item) if number(&item, "ttl") > origin.now.unix_seconds() => {
                self.recalled(&item, idempotency).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The attribute of an open record with the transaction.
const TRANSACTION: &str = "transaction";

/// The attribute of a record with the version of the object that the response shows.
const VERSION: &str = "version";

/// The attribute of a record with the scopes that the first request required, separated by spaces.
const SCOPES: &str = "scopes";

fn bare_record(origin: &Origin, idempotency: &Idempotency, kept: SignedDuration) -> Item {
    let mut item = new_item(Key::Idempotency {
        tenant: &origin.tenant,
        key: &idempotency.key,
    });
    item.insert("fingerprint".into(), s(&idempotency.fingerprint));
    let scopes = idempotency.rights.needed();
    if !scopes.is_empty() {
        let scopes: Vec<String> = scopes.iter().map(Scope::to_string).collect();
        item.insert(SCOPES.into(), s(scopes.join(" ")));
    }
    item.insert("ttl".into(), n(origin.now.plus(kept).unix_seconds()));
    item
}

impl Store {
    fn record(
        &self,
        origin: &Origin,
        idempotency: &Idempotency,
        answer: &Response,
    ) -> Result<Item> {
        let body = answer.remembered.as_ref().unwrap_or(&answer.body);
        let mut item = bare_record(origin, idempotency, KEPT);
        let stored = if answer.confidential {
            let text = std::str::from_utf8(body).map_err(Error::internal)?;
            let encrypted = self.encryption_keys.encrypt(string(&item, "pk"), text)?;
            s(encrypted.as_str())
        } else {
            deflated(body)?
        };
        item.insert("status".into(), n(answer.status));
        if let Some(version) = answer.version {
            item.insert(VERSION.into(), n(version));
        }
        item.insert("body".into(), stored);
        Ok(item)
    }

    /// Returns the stored response if the repetition has the same parameters.
    pub(super) fn replay(&self, item: &Item, idempotency: &Idempotency) -> Result<Response> {
        match self.recalled(item, idempotency)? {
            Recalled::Response(answer) => Ok(answer),
            Recalled::Open(transaction) => {
                Err(Error::idempotency_in_flight().with(TRANSACTION, transaction.as_str()))
            }
        }
    }

    fn recalled(&self, item: &Item, idempotency: &Idempotency) -> Result<Recalled> {
        if string(item, "fingerprint") != idempotency.fingerprint {
            return Err(Error::idempotency_mismatch());
        }
        for scope in string(item, SCOPES).split_whitespace() {
            let scope = Scope::try_from(scope.to_owned()).map_err(Error::internal)?;
            idempotency.rights.check(scope)?;
        }
        if item.contains_key(TRANSACTION) {
            return Ok(Recalled::Open(Id::from(string(item, TRANSACTION))));
        }
        let encrypted = Encrypted::parse(string(item, "body"));
        let body = match (&encrypted, item.get("body")) {
            (Some(encrypted), _) => {
                let context = string(item, "pk");
                let text = self.encryption_keys.decrypt(context, encrypted)?;
                text.into_bytes()
            }
            (None, Some(AttributeValue::B(bytes))) => inflated(bytes)?,
            _ => return Err(Error::internal("an idempotency record without a body")),
        };
        let status = u16::try_from(number(item, "status")).map_err(Error::internal)?;
        Ok(Recalled::Response(Response {
            status,
            body,
            location: None,
            version: item
                .contains_key(VERSION)
                .then(|| number(item, VERSION).unsigned_abs()),
            remembered: None,
            confidential: encrypted.is_some(),
            replayed: true,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::each_text;
    use super::*;
    use kernel::encryption::EncryptionKeys;
    use kernel::scope::Rights;
    use kernel::{Id, Kind, Mode, Resource, Tenant, Timestamp};

    /// Returns a store that is never called.
    fn store() -> Store {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
            .build();
        let keys = EncryptionKeys::new(&"k".repeat(32)).unwrap();
        Store::new(aws_sdk_dynamodb::Client::from_conf(config), "table").with_encryption_keys(keys)
    }

    #[test]
    fn a_record_is_for_the_same_request_and_keys_with_its_scopes() {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        let origin = Origin::background(tenant, Timestamp::from_unix_millis(1_000));
        let idempotency = Idempotency {
            key: "k".into(),
            fingerprint: "f".into(),
            rights: Rights::of(vec![Scope::Write(Resource::Drivers)]),
        };
        idempotency
            .rights
            .require(Scope::Read(Resource::Drivers))
            .unwrap();
        for confidential in [false, true] {
            let answer = Response {
                status: 404,
                body: br#"{"a": 1}"#.repeat(50),
                location: None,
                version: Some(7).filter(|_| confidential),
                remembered: None,
                confidential,
                replayed: false,
            };
            let item = store().record(&origin, &idempotency, &answer).unwrap();
            let mut is_legible = false;
            each_text(&item["body"], &mut |text| {
                is_legible |= text.contains(r#"{"a": 1}"#)
            })
            .unwrap();
            assert_eq!(is_legible, !confidential);
            assert_eq!(
                store().replay(&item, &idempotency).unwrap(),
                Response {
                    replayed: true,
                    ..answer
                }
            );
            assert_eq!(number(&item, "ttl"), 86_401);
            let other = Idempotency {
                fingerprint: "g".into(),
                ..idempotency.clone()
            };
            assert_eq!(
                store().replay(&item, &other).unwrap_err().class(),
                kernel::error::ErrorClass::Invalid
            );
            let other = Idempotency {
                rights: Rights::of(vec![Scope::Write(Resource::Fleets)]),
                ..idempotency.clone()
            };
            assert_eq!(
                store().replay(&item, &other).unwrap_err().class(),
                kernel::error::ErrorClass::Forbidden
            );
        }
    }
}

//! Reencryption of the secrets of items with the first of the deployment's keys, after the first key has changed.
//!
//! Secrets are texts `enc1.<key>.…` anywhere in an item. Each is authenticated with a context that depends on the item (`context_of`). An
//! item is changed on the condition that its secrets are as they were read, and only the secrets are written. So a concurrent change of the
//! item takes precedence, and its version stays the same.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};

use super::keys;
use super::scan::Pass;
use super::stored_item::from_item;
use super::{Item, Store, client, s, string};
use kernel::encryption::{Encrypted, EncryptionKeys};
use kernel::{Error, Result};
use ocpi::network::{Network, token_context};

/// The number of items that are changed concurrently.
const WRITERS: usize = 8;

/// The progress of the reencryption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reencrypted {
    /// The number of items that have been changed.
    pub changed: u64,
    /// The number of items that a request changed in between. A request encrypts with the first key.
    pub overtaken: u64,
    /// The number of secrets that could not be decrypted, by the identifier of their key.
    pub unreadable: BTreeMap<String, u64>,
}

/// A step on the path to a value in an item.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
}

/// A secret of an item: its path and its text.
type Secret = (Vec<Step>, Encrypted);

enum RowOutcome {
    Current,
    Changed,
    Overtaken,
    /// The identifiers of the keys.
    Unreadable(Vec<String>),
}

impl Store {
    /// Reencrypts the outdated secrets of the next items of the table, and returns the pass after them.
    ///
    /// # Errors
    /// `Internal` if there are no keys; `Unavailable` if DynamoDB cannot be reached.
    pub async fn reencrypt_next(
        &self,
        pass: &Pass,
        done: &mut Reencrypted,
        limit: Option<u32>,
    ) -> Result<Pass> {
        if self.encryption_keys.is_empty() {
            return Err(Error::internal("this function has no encryption keys"));
        }
        let (items, next) = self.next_items(pass, None, limit, true).await?;
        let outcomes: Vec<RowOutcome> = stream::iter(items)
            .map(|item| self.reencrypt(item))
            .buffer_unordered(WRITERS)
            .try_collect()
            .await?;
        for outcome in outcomes {
            match outcome {
                RowOutcome::Current => {}
                RowOutcome::Changed => done.changed += 1,
                RowOutcome::Overtaken => done.overtaken += 1,
                RowOutcome::Unreadable(keys) => {
                    for key in keys {
                        *done.unreadable.entry(key).or_default() += 1;
                    }
                }
            }
        }
        Ok(next)
    }

    async fn reencrypt(&self, item: Item) -> Result<RowOutcome> {
        let keys = &self.encryption_keys;
        let outdated = outdated_secrets(&item, keys);
        if outdated.is_empty() {
            return Ok(RowOutcome::Current);
        }
        let context = context_of(&item)?;
        let (mut renewed, mut unreadable) = (Vec::new(), Vec::new());
        for (path, encrypted) in outdated {
            match keys.decrypt(&context, &encrypted) {
                Ok(text) => {
                    let anew = keys.encrypt(&context, &text)?;
                    renewed.push((path, encrypted, anew));
                }
                Err(error) => {
                    let (pk, sk) = (string(&item, "pk"), string(&item, "sk"));
                    tracing::error!(item.pk = pk, item.sk = sk, %error, "a secret cannot be decrypted");
                    unreadable.push(encrypted.key_id().to_owned());
                }
            }
        }
        if !unreadable.is_empty() {
            return Ok(RowOutcome::Unreadable(unreadable));
        }
        self.replace_secrets(&item, renewed).await
    }

    async fn replace_secrets(
        &self,
        item: &Item,
        renewed: Vec<(Vec<Step>, Encrypted, Encrypted)>,
    ) -> Result<RowOutcome> {
        let mut names = BTreeMap::new();
        let (mut assignments, mut conditions) = (Vec::new(), Vec::new());
        let mut call = self.client.update_item().table_name(&self.table);
        for name in ["pk", "sk"] {
            call = call.key(name, s(string(item, name)));
        }
        for (number, (path, before, after)) in renewed.into_iter().enumerate() {
            let path = expression(&path, &mut names);
            assignments.push(format!("{path} = :after{number}"));
            conditions.push(format!("{path} = :before{number}"));
            call = call
                .expression_attribute_values(format!(":after{number}"), s(after.as_str()))
                .expression_attribute_values(format!(":before{number}"), s(before.as_str()));
        }
        for (name, placeholder) in names {
            call = call.expression_attribute_names(placeholder, name);
        }
        let sent = call
            .update_expression(format!("SET {}", assignments.join(", ")))
            .condition_expression(conditions.join(" AND "))
            .send()
            .await;
        Ok(match client::if_met(sent)? {
            Some(_) => RowOutcome::Changed,
            None => RowOutcome::Overtaken,
        })
    }
}

/// Returns the context with which the secrets of an item are authenticated.
fn context_of(item: &Item) -> Result<String> {
    let (pk, sk) = (string(item, "pk"), string(item, "sk"));
    if keys::parse_network(pk).is_some() {
        return Ok(token_context(&from_item::<Network>(item.clone())?.object));
    }
    if keys::is_idempotency_record(pk) {
        return Ok(pk.to_owned());
    }
    Ok(format!("{pk} {sk}"))
}

/// Returns the secrets of an item that were encrypted with another key than the first.
fn outdated_secrets(item: &Item, keys: &EncryptionKeys) -> Vec<Secret> {
    let mut found = Vec::new();
    for (name, value) in item {
        collect(value, &mut vec![Step::Member(name.clone())], &mut found);
    }
    found.retain(|(_, encrypted)| keys.is_outdated(encrypted));
    found
}

fn collect(value: &AttributeValue, path: &mut Vec<Step>, found: &mut Vec<Secret>) {
    match value {
        AttributeValue::S(text) => {
            found.extend(Encrypted::parse(text).map(|encrypted| (path.clone(), encrypted)));
        }
        AttributeValue::L(values) => {
            for (index, value) in values.iter().enumerate() {
                path.push(Step::Element(index));
                collect(value, path, found);
                path.pop();
            }
        }
        AttributeValue::M(members) => {
            for (name, value) in members {
                path.push(Step::Member(name.clone()));
                collect(value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns a path as expressions write it, with a placeholder for each name.
fn expression(path: &[Step], names: &mut BTreeMap<String, String>) -> String {
    let mut written = String::new();
    for step in path {
        match step {
            Step::Element(index) => written += &format!("[{index}]"),
            Step::Member(name) => {
                let number = names.len();
                let placeholder = names
                    .entry(name.clone())
                    .or_insert_with(|| format!("#name{number}"));
                if !written.is_empty() {
                    written.push('.');
                }
                written += placeholder;
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_expression_has_name_placeholders_and_list_indexes() {
        let mut names = BTreeMap::new();
        let member = |name: &str| Step::Member(name.to_owned());
        let path = [
            member("internal"),
            member("previous"),
            Step::Element(1),
            member("secret"),
        ];
        assert_eq!(expression(&path, &mut names), "#name0.#name1[1].#name2");
        let path = [member("internal"), member("secret")];
        assert_eq!(expression(&path, &mut names), "#name0.#name2");
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn only_texts_of_other_keys_than_the_first_are_outdated() {
        let (first, second) = (
            "the first master secret, of a release".replace(',', ""),
            "2".repeat(32),
        );
        let old = EncryptionKeys::new(&first).unwrap();
        let new = EncryptionKeys::new(&format!("{second},{first}")).unwrap();
        let text = |keys: &EncryptionKeys| s(keys.encrypt("pk sk", "secret").unwrap().as_str());
        let item = Item::from([
            (
                "a".to_owned(),
                AttributeValue::L(vec![text(&old), text(&new), s("enc2.x")]),
            ),
            ("b".to_owned(), s("plain")),
        ]);
        let outdated = outdated_secrets(&item, &new);
        let paths: Vec<&[Step]> = outdated.iter().map(|(path, _)| path.as_slice()).collect();
        assert_eq!(paths, [[Step::Member("a".to_owned()), Step::Element(0)]]);
    }
}

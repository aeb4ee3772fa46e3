//! The tokens of the charge cards of erased accounts, and the sessions and CDRs that name these tokens.
//!
//! A network accepts a card until it has received an invalid token, and it may have missed that for a long time, because it was suspended
//! or refused the request. So an erasure keeps the token for as long as that of a deleted card, invalid and without the account
//! ([`CardToken::erasure`]); it is sent and listed like any other token.
//!
//! A session or a CDR that matches no charging session belongs to no account, but the uid that it names is that of a person. An erasure
//! deletes those that name a card of the account; those that arrive later are not stored ([`CardToken::is_erased`]), also if the uid has
//! another card by then and they name the contract of the erased one.

use std::collections::{BTreeMap, HashMap};

use kernel::{Mode, Result, Timestamp};
use models::charge_card::CardUid;
use ocpi::cost::CdrToken;
use serde_json::Value;

use super::charge_cards::CardToken;
use super::erasure::Accounts;
use super::keys::{self, Key};
use super::networks::RAW;
use super::{Item, Store, client, key_item, n, string};

impl Store {
    /// Returns those of some unmatched sessions and CDRs that name a card of these accounts, or of an account that was erased before.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; a permanent `Internal` if a token cannot be read.
    pub(super) async fn naming_cards_of(
        &self,
        accounts: &Accounts,
        unmatched: Vec<Item>,
    ) -> Result<Vec<Item>> {
        let named: Vec<(Item, String, CdrToken)> = unmatched
            .into_iter()
            .filter_map(|item| {
                let (key, token) = named_token(&item)?;
                Some((item, key, token))
            })
            .collect();
        let mut tokens = HashMap::new();
        for item in self.items(unique_keys(&named), None, true).await? {
            tokens.insert(string(&item, "pk").to_owned(), CardToken::read(&item)?);
        }
        let names_erased = |key: &String, named: &CdrToken| {
            tokens.get(key).is_some_and(|token: &CardToken| {
                token.is_erased(named) || (token.is_of_any(accounts) && token.may_be(named))
            })
        };
        let naming = named.into_iter();
        let naming = naming.filter(|(_, key, token)| names_erased(key, token));
        Ok(naming.map(|(item, ..)| item).collect())
    }

    /// Replaces the item of a card's uid with the invalid token alone. An item that has changed since it was read is left for the next
    /// pass.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; a permanent `Internal` if the item cannot be read.
    pub(super) async fn keep_invalid_token(&self, item: Item, now: Timestamp) -> Result<()> {
        let Some((mode, _)) = keys::parse_charge_token(string(&item, "pk")) else {
            return Ok(());
        };
        let (erased, read) = CardToken::erasure(&item, mode, now)?;
        let put = self.client.put_item().table_name(&self.table);
        let sent = put
            .set_item(Some(erased))
            .condition_expression("version = :read")
            .expression_attribute_values(":read", n(read))
            .send()
            .await;
        client::if_met(sent).map(drop)
    }
}

/// Returns the token that a session or a CDR names, and the partition key of the item that the uid has if it is that of a card.
fn named_token(item: &Item) -> Option<(String, CdrToken)> {
    let (mode, _) = keys::parse_ocpi_object(string(item, "pk"))?;
    let object: Value = serde_json::from_str(string(item, RAW)).ok()?;
    let token = CdrToken::named_in(&object)?;
    let uid = CardUid::try_from(token.uid.clone()).ok()?;
    Some((token_key(mode, uid.as_str()).pair().0, token))
}

fn token_key(mode: Mode, uid: &str) -> Key<'_> {
    Key::ChargeToken { mode, uid }
}

/// Returns the keys of the items of the uids, each once.
fn unique_keys(named: &[(Item, String, CdrToken)]) -> Vec<Item> {
    let keys = named.iter().filter_map(|(item, key, token)| {
        let (mode, _) = keys::parse_ocpi_object(string(item, "pk"))?;
        Some((key, key_item(token_key(mode, &token.uid))))
    });
    let keys: BTreeMap<&String, Item> = keys.collect();
    keys.into_values().collect()
}

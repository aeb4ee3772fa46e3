//! Charge cards by their holders, and their uids and tokens.
//!
//! A card has three kinds of rows: its own; one below each driver and vehicle that it belongs to, by which their cards are found; and
//! one for its uid, which no other card of the mode has. The last is made in the transaction that creates the card, and holds the token
//! as networks know it as soon as there is one. When the card is deleted, the token stays for 90 days, so that networks that pull
//! see that it is not valid any more; the uid can be given to a new card at once.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{Delete, Put};

use super::keys::{Key, Partition};
use super::list::{Page, PageRequest};
use super::networks::{STATE, read_state, state};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use crate::error::{Code, Error, Result};
use crate::id::{Id, Kind};
use crate::models::charge_card::{CardUid, ChargeCard};
use crate::models::stored::Stored;
use crate::ocpi::token::Token;
use crate::origin::{Mode, Tenant};
use crate::ports::network::Subject;
use crate::time::{SignedDuration, Timestamp, days, millis};

/// How long the token of a deleted card is kept.
const TOKEN_KEPT: SignedDuration = days(90);

/// The uid of a charge card, and its token.
#[derive(Debug, Clone, PartialEq)]
pub struct CardToken {
    /// The card; `None` after it was deleted.
    pub card: Option<Subject>,
    /// As networks know it; `None` before it was sent for the first time.
    pub token: Option<Token>,
    /// How often it was written.
    version: u64,
}

const CARD: &str = "card";

impl CardToken {
    fn read(item: &Item) -> Result<Self> {
        let card = string(item, CARD);
        let card = (!card.is_empty()).then(|| serde_json::from_str(card));
        let token = item.contains_key(STATE).then(|| read_state(item));
        Ok(Self {
            card: card.transpose().map_err(Error::permanent)?,
            token: token.transpose()?,
            version: number(item, "version").unsigned_abs(),
        })
    }

    /// The row as the next write leaves it.
    fn item(&self, mode: Mode, uid: &str, now: Timestamp) -> Result<Item> {
        let mut item = new_item(Key::ChargeToken { mode, uid });
        item.insert("version".into(), n(self.version + 1));
        match &self.card {
            Some(card) => {
                let card = serde_json::to_string(card).map_err(Error::internal)?;
                item.insert(CARD.into(), s(card));
            }
            None => {
                let expiry = now.plus(TOKEN_KEPT);
                item.insert("ttl".into(), n(expiry.unix_seconds()));
            }
        }
        if let Some(token) = &self.token {
            let (_, attribute, value) = Partition::Tokens { mode }.place();
            item.insert(attribute.into(), s(value));
            let order = format!("{} {}", token.last_updated, uid.to_lowercase());
            item.insert("network_sk".into(), s(order));
            item.insert(STATE.into(), state(token)?);
        }
        Ok(item)
    }

    /// Replaces the token. Returns whether anything but its time has changed. The time never goes back.
    pub fn update(&mut self, mut token: Token) -> bool {
        if let Some(before) = &self.token {
            let least = before.last_updated.plus(millis(1));
            let renewed = Token {
                last_updated: before.last_updated,
                ..token.clone()
            };
            if renewed == *before {
                return false;
            }
            token.last_updated = token.last_updated.max(least);
        }
        self.token = Some(token);
        true
    }
}

impl Store {
    /// The uid of a charge card and its token. None for a text that no card has as its uid, however long it is.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn card_token(&self, mode: Mode, uid: &str) -> Result<Option<CardToken>> {
        if CardUid::try_from(uid.to_owned()).is_err() {
            return Ok(None);
        }
        let item = self.item(Key::ChargeToken { mode, uid }, true).await?;
        item.map(|item| CardToken::read(&item)).transpose()
    }

    /// The tokens that were updated within a time, the one that was updated first first: so many, after so many. And how many
    /// there are in all.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn tokens(
        &self,
        mode: Mode,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<Token>, usize)> {
        let (index, attribute, value) = Partition::Tokens { mode }.place();
        // Every moment is written with as many digits, so the order of the texts is that of the moments.
        let low = from.map_or_else(|| " ".to_owned(), |from| from.to_string());
        let high = to.map_or_else(|| "~".to_owned(), |to| to.to_string());
        if low >= high {
            return Ok((Vec::new(), 0));
        }
        let pages = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(index)
            .key_condition_expression("#pk = :pk AND network_sk BETWEEN :low AND :high")
            .expression_attribute_names("#pk", attribute)
            .expression_attribute_values(":pk", s(value))
            .expression_attribute_values(":low", s(low))
            .expression_attribute_values(":high", s(high))
            .projection_expression("pk, sk")
            .into_paginator()
            .items()
            .send();
        let keys: Vec<Item> = pages.try_collect().await.map_err(client::failure)?;
        let total = keys.len();
        let keys: Vec<Item> = keys.into_iter().skip(offset).take(limit).collect();
        let order: Vec<String> = keys
            .iter()
            .map(|key| string(key, "pk").to_owned())
            .collect();
        let items = self.items(keys, None, false).await?;
        let mut found: HashMap<String, Token> = HashMap::new();
        for item in &items {
            if let Some(token) = CardToken::read(item)?.token {
                found.insert(string(item, "pk").to_owned(), token);
            }
        }
        let tokens = order.iter().filter_map(|key| found.remove(key)).collect();
        Ok((tokens, total))
    }

    /// One page of the charge cards of a driver or a vehicle: their ids.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn cards_of(
        &self,
        tenant: &Tenant,
        holder: &Id,
        page_request: &PageRequest,
    ) -> Result<Page<Id>> {
        // Every card has the same partition key, whichever it is.
        let key = Key::CardOf {
            tenant,
            holder,
            card: holder,
        };
        let (pk, _) = key.pair();
        let found = self
            .in_collection(pk, Kind::ChargeCard, page_request)
            .await?;
        found.try_map(|item| Ok(Id::from(string(&item, "sk"))))
    }
}

impl UnitOfWork<'_> {
    /// Creates a charge card with its uid and its places below its holders. The commit fails with `charge_card_conflict` if
    /// another card of the mode has the uid, whoever it belongs to.
    ///
    /// # Errors
    /// `Internal` if the writes cannot be built.
    pub fn create_card(&mut self, card: &mut Stored<ChargeCard>) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let claim = CardToken {
            card: Some(self.subject(&card.object.id)),
            token: None,
            version: 0,
        };
        let item = claim.item(mode, card.object.uid.as_str(), self.origin.now)?;
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk) OR attribute_not_exists(#card)")
            .expression_attribute_names("#card", CARD);
        let refusal = Code::ChargeCardConflict
            .because("A charge card with this uid exists already.")
            .at("uid");
        self.push(Write::Put(put.build().map_err(Error::internal)?), refusal);
        for (_, holder) in card.object.holders() {
            self.add_card(holder, &card.object.id)?;
        }
        self.create(card)
    }

    /// Deletes a charge card that was read. `token` is its uid and token.
    ///
    /// # Errors
    /// `Internal` if the writes cannot be built.
    pub fn delete_card(
        &mut self,
        card: &Stored<ChargeCard>,
        token: Option<CardToken>,
    ) -> Result<()> {
        let ours = self.subject(&card.object.id);
        if let Some(mut token) = token.filter(|token| token.card.as_ref() == Some(&ours)) {
            token.card = None;
            if let Some(last) = token.token.clone() {
                token.update(Token {
                    valid: false,
                    last_updated: self.origin.now,
                    ..last
                });
            }
            self.put_card_token(card.object.uid.as_str(), &token)?;
        }
        for (_, holder) in card.object.holders() {
            self.remove_card(holder, &card.object.id)?;
        }
        self.delete(card)
    }

    /// Writes a token, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn put_card_token(&mut self, uid: &str, token: &CardToken) -> Result<()> {
        let item = token.item(self.origin.tenant.mode, uid, self.origin.now)?;
        let put = self
            .store
            .put(item)
            .condition_expression("#version = :read")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":read", n(token.version));
        let put = put.build().map_err(Error::internal)?;
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }

    /// Adds a card to those of a driver or a vehicle.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn add_card(&mut self, holder: &Id, card: &Id) -> Result<()> {
        let key = self.card_of(holder, card);
        let put = Put::builder()
            .table_name(&self.store.table)
            .set_item(Some(key));
        self.push(
            Write::Put(put.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Removes a card from those of a driver or a vehicle.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn remove_card(&mut self, holder: &Id, card: &Id) -> Result<()> {
        let key = self.card_of(holder, card);
        let delete = Delete::builder()
            .table_name(&self.store.table)
            .set_key(Some(key));
        self.push(
            Write::Delete(delete.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    fn card_of(&self, holder: &Id, card: &Id) -> Item {
        key_item(Key::CardOf {
            tenant: &self.origin.tenant,
            holder,
            card,
        })
    }

    fn subject(&self, id: &Id) -> Subject {
        Subject {
            tenant: self.origin.tenant.clone(),
            id: id.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocpi::party::PartyId;
    use crate::ocpi::token::{TokenType, Whitelist};

    #[test]
    fn a_token_is_written_when_it_changes_and_its_time_never_goes_back() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let token = Token {
            owner: PartyId::new("GB", "FCS").unwrap(),
            uid: "04AA".into(),
            kind: TokenType::Rfid,
            contract_id: "GB-FCS-C00000001".into(),
            group_id: None,
            visual_number: None,
            issuer: "Fleet Charging Service".into(),
            valid: true,
            whitelist: Whitelist::Allowed,
            last_updated: now,
        };
        let mut row = CardToken {
            card: None,
            token: None,
            version: 1,
        };
        assert!(row.update(token.clone()));
        let later = Token {
            last_updated: now.plus(millis(5_000)),
            ..token.clone()
        };
        assert!(!row.update(later));
        assert_eq!(row.token, Some(token.clone()));
        let earlier = Token {
            valid: false,
            last_updated: now.plus(millis(-5_000)),
            ..token
        };
        assert!(row.update(earlier));
        let written = row.token.unwrap();
        assert_eq!(
            (written.valid, written.last_updated),
            (false, now.plus(millis(1)))
        );
    }
}

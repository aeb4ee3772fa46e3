//! Charge cards by their holders, and their uids and tokens.
//!
//! A card has three kinds of items: its own; one below each driver and vehicle that it belongs to, by which the cards of a holder are
//! found; and one for its uid. The last is written in the transaction that creates the card. For the card that holds the uid, it contains
//! the token as networks have received it, as soon as there is one. For a pending card it is the account's claim, below the same partition
//! key. When the card that holds a uid is deleted, the token stays for 90 days, so that networks that pull see that it is no longer valid.
//! If no card claims the uid, a new card can have it at once. When the account of the card is erased, the token stays as long, without the
//! account and with those fields only that networks require.

mod uid;

use std::collections::HashMap;

use self::uid::SINCE;
use super::keys::{self, Key, Partition};
use super::list::{Page, PageRequest, all_items};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, key_item, n, new_item, number, s, string};
use kernel::time::days;
use kernel::{Error, Id, Kind, Mode, Result, SignedDuration, Tenant, Timestamp};
use models::charge_card::{CardStatus, CardUid};
use models::ports::network::Subject;
use models::token::Token;
use models::{ChargeCard, Driver, Stored};

pub use self::uid::{CardClaim, CardToken, CardUidUse};

/// The number of RFID cards of a driver.
#[derive(Debug, Clone, Copy)]
pub struct CardCount {
    pub rfid: usize,
    /// The number of additions.
    version: u64,
}

/// The charging session that was created last because a card was used, until a day later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastUse {
    pub session: Option<Id>,
    /// The number of such sessions.
    count: u64,
}

/// The time for which the last use of a card is kept.
const USE_KEPT: SignedDuration = days(1);

const COUNT: &str = "count";
const SESSION: &str = "session";

impl Store {
    /// Returns the card that holds a uid, and those that claim it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn card_uid(&self, mode: Mode, uid: &str) -> Result<CardUidUse> {
        let (pk, alone) = Key::ChargeToken { mode, uid }.pair();
        let items = self.items_under(pk).await?;
        let mut uid_use = CardUidUse::default();
        for item in &items {
            if string(item, "sk") == alone {
                uid_use.token = Some(CardToken::read(item)?)
            } else {
                uid_use.claims.push(CardClaim::read(item)?)
            }
        }
        Ok(uid_use)
    }

    /// Returns the claimed uids for which no operator has decided, the oldest claim first. Each is in lower case and listed once.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn contested_uids(&self, mode: Mode, limit: usize) -> Result<Vec<String>> {
        let items = self.items_in(Partition::CardClaims { mode }).await?;
        let mut claims: Vec<(&str, String)> = items
            .iter()
            .filter_map(|item| {
                let (_, uid) = keys::parse_charge_token(string(item, "pk"))?;
                Some((string(item, SINCE), uid))
            })
            .collect();
        claims.sort();
        let mut uids = Vec::new();
        for (_, uid) in claims {
            if !uids.contains(&uid) && uids.len() < limit {
                uids.push(uid);
            }
        }
        Ok(uids)
    }

    /// Returns the number of RFID cards of a driver.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn card_count(&self, tenant: &Tenant, driver: &Driver) -> Result<CardCount> {
        let holder = &driver.id;
        let (pk, alone) = Key::CardsOf { tenant, holder }.pair();
        let items = self.items_under(pk).await?;
        let app_card = ChargeCard::app_card_of(driver);
        let mut count = CardCount {
            rfid: 0,
            version: 0,
        };
        for item in &items {
            match string(item, "sk") {
                sk if sk == alone => count.version = number(item, "version").unsigned_abs(),
                sk if sk == app_card.as_str() => {}
                _ => count.rfid += 1,
            }
        }
        Ok(count)
    }

    /// Returns the uid of a charge card and its token; `None` if no card has the text as its uid, however long it is.
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

    /// Returns the charging session that was created last for a use of a card.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn last_use(&self, tenant: &Tenant, card: &Id) -> Result<LastUse> {
        let item = self.item(Key::LastUse { tenant, card }, true).await?;
        Ok(LastUse {
            session: item.as_ref().map(|item| Id::from(string(item, SESSION))),
            count: item.map_or(0, |item| number(&item, COUNT).unsigned_abs()),
        })
    }

    /// Returns the tokens that were updated within a time, in the order of their updates: at most `limit` after the first `offset`. Also
    /// returns the total number.
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
        let (index, value) = Partition::Tokens { mode }.place();
        // Every moment is written with the same number of digits, so the order of the texts is that of the moments.
        let low = from.map_or_else(|| " ".to_owned(), |from| from.to_string());
        let high = to.map_or_else(|| "~".to_owned(), |to| to.to_string());
        if low >= high {
            return Ok((Vec::new(), 0));
        }
        let query = self.client.query().table_name(&self.table);
        let query = query
            .index_name(index)
            .key_condition_expression("#pk = :pk AND network_sk BETWEEN :low AND :high")
            .expression_attribute_names("#pk", keys::hash_key_of(index))
            .expression_attribute_values(":pk", s(value))
            .expression_attribute_values(":low", s(low))
            .expression_attribute_values(":high", s(high))
            .projection_expression("pk, sk");
        let keys = all_items(query).await?;
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

    /// Returns the first uids with a token, in the order of the updates of the tokens, that follow a place in that order, each with its
    /// place. A moment is the place before the tokens that were updated at it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn tokens_after(
        &self,
        mode: Mode,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>> {
        let partition = Partition::Tokens { mode };
        let entries = self.network_index_after(partition, after, limit).await?;
        let uids = entries.iter().filter_map(|entry| {
            let (_, uid) = keys::parse_charge_token(string(entry, "pk"))?;
            Some((string(entry, "network_sk").to_owned(), uid))
        });
        Ok(uids.collect())
    }

    /// Returns one page of the charge cards of a driver or a vehicle: their ids.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn cards_of(
        &self,
        tenant: &Tenant,
        holder: &Id,
        page_request: &PageRequest,
    ) -> Result<Page<Id>> {
        // All cards have the same partition key.
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
    /// Notes the charging session that the work creates for a use of a card. The commit fails with `Contended` if another session was
    /// created for the card since `last` was read: it may be the same one.
    pub fn note_use(&mut self, card: &Id, last: &LastUse, session: &Id) {
        let tenant = &self.origin.tenant;
        let mut item = new_item(Key::LastUse { tenant, card });
        item.insert(SESSION.into(), s(session.as_str()));
        item.insert(COUNT.into(), n(last.count + 1));
        let expiry = self.origin.now.plus(USE_KEPT);
        item.insert("ttl".into(), n(expiry.unix_seconds()));
        let put = self.store.put_if_read(item, COUNT, last.count);
        self.push(Write::Put(put), Error::Contended);
    }

    /// Creates a charge card with its uid and its items below its holders. A pending card claims the uid; any other card holds it.
    /// `uid_use` is the use of the uid as it was read; the commit fails if that has changed since.
    ///
    /// # Errors
    /// `Internal` if the card cannot be written as items.
    pub fn create_card(
        &mut self,
        card: &mut Stored<ChargeCard>,
        uid_use: &CardUidUse,
    ) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let uid = card.object.uid.as_str();
        let ours = self.subject(&card.object.id);
        if card.object.status == CardStatus::Pending {
            let claim = CardClaim {
                card: ours,
                since: self.origin.now,
                is_decided: false,
            };
            let put = self.store.put_new(claim.item(mode, uid)?);
            self.push(Write::Put(put), Error::Contended);
        } else {
            let mut token = uid_use.token.clone().unwrap_or_default();
            token.assign(ours);
            token.token = None;
            self.put_card_token(uid, &token)?;
        }
        for (_, holder) in card.object.holders() {
            self.add_card(holder, &card.object.id);
        }
        self.create(card)
    }

    /// Assigns the uid to the card with a claim, and decides against all other claims. `None` decides for the card that holds it.
    ///
    /// # Errors
    /// `Internal` if the writes cannot be built.
    pub fn decide_card_uid(
        &mut self,
        uid: &str,
        uid_use: &CardUidUse,
        winner: Option<&CardClaim>,
    ) -> Result<()> {
        let (mode, now) = (self.origin.tenant.mode, self.origin.now);
        let mut against: Vec<CardClaim> = uid_use.claims.clone();
        if let Some(winner) = winner {
            against.retain(|claim| claim.card != winner.card);
            against.extend(uid_use.holder().map(|holder| CardClaim {
                card: holder.clone(),
                since: now,
                is_decided: true,
            }));
            let mut token = uid_use.token.clone().unwrap_or_default();
            token.assign(winner.card.clone());
            token.invalidate(now);
            self.put_card_token(uid, &token)?;
            self.remove_claim(uid, &winner.card.tenant.account);
        }
        for claim in against {
            let claim = CardClaim {
                is_decided: true,
                ..claim
            };
            let put = self.store.put(claim.item(mode, uid)?);
            self.push(Write::Put(put), Error::Contended);
        }
        Ok(())
    }

    fn remove_claim(&mut self, uid: &str, account: &Id) {
        let mode = self.origin.tenant.mode;
        let delete = self
            .store
            .delete(Key::CardClaim { mode, uid, account })
            .condition_expression("attribute_exists(pk)");
        self.push(Write::Delete(delete), Error::Contended);
    }

    /// Makes the commit fail if a card was added to the driver since the cards were counted.
    pub fn count_card(&mut self, driver: &Id, count: CardCount) {
        let mut item = new_item(Key::CardsOf {
            tenant: &self.origin.tenant,
            holder: driver,
        });
        item.insert("version".into(), n(count.version + 1));
        let put = self.store.put_if_read(item, "version", count.version);
        self.push(Write::Put(put), Error::Contended);
    }

    /// Deletes a charge card that was read. `uid_use` is the use of its uid as it was read.
    ///
    /// # Errors
    /// `Internal` if the writes cannot be built.
    pub fn delete_card(&mut self, card: &Stored<ChargeCard>, uid_use: CardUidUse) -> Result<()> {
        let ours = self.subject(&card.object.id);
        let uid = card.object.uid.as_str();
        if uid_use.claim_of(&ours).is_some() {
            self.remove_claim(uid, &ours.tenant.account);
        }
        let token = uid_use.token;
        if let Some(mut token) = token.filter(|token| token.card.as_ref() == Some(&ours)) {
            token.card = None;
            token.last_account = Some(ours.tenant.account);
            token.invalidate(self.origin.now);
            self.put_card_token(uid, &token)?;
        }
        for (_, holder) in card.object.holders() {
            self.remove_card(holder, &card.object.id);
        }
        self.delete(card)
    }

    /// Writes a token, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn put_card_token(&mut self, uid: &str, token: &CardToken) -> Result<()> {
        let item = token.item(self.origin.tenant.mode, uid, self.origin.now)?;
        let put = self.store.put_if_read(item, "version", token.version);
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }

    /// Adds a card to a driver or a vehicle.
    pub fn add_card(&mut self, holder: &Id, card: &Id) {
        let put = self.store.put(key_item(self.card_of(holder, card)));
        self.push(Write::Put(put), Error::Contended);
    }

    /// Removes a card from a driver or a vehicle.
    pub fn remove_card(&mut self, holder: &Id, card: &Id) {
        let delete = self.store.delete(self.card_of(holder, card));
        self.push(Write::Delete(delete), Error::Contended);
    }

    fn card_of<'k>(&'k self, holder: &'k Id, card: &'k Id) -> Key<'k> {
        Key::CardOf {
            tenant: &self.origin.tenant,
            holder,
            card,
        }
    }

    fn subject(&self, id: &Id) -> Subject {
        Subject::new(self.origin.tenant.clone(), id.clone())
    }
}

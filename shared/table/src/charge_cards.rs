//! Charge cards by their holders, and their uids and tokens.
//!
//! A card has three kinds of items: its own; one below each driver and vehicle that it belongs to, by which the cards of a holder are
//! found; and one for its uid. The last is written in the transaction that creates the card. For the card that holds the uid, it contains
//! the token as networks have received it, as soon as there is one. For a pending card it is the account's claim, below the same partition
//! key. When the card that holds a uid is deleted, the token stays for 90 days, so that networks that pull see that it is no longer valid.
//! If no card claims the uid, a new card can have it at once. When the account of the card is erased, the token stays as long, without the
//! account and with those fields only that networks require.

use std::collections::{BTreeSet, HashMap};

use super::item::{STATE, read_state, state};
use super::keys::{self, Key, Partition};
use super::list::{Page, PageRequest, all_items};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, key_item, n, new_item, number, s, string};
use kernel::time::{days, millis};
use kernel::{Code, Error, Id, Kind, Mode, Result, SignedDuration, Tenant, Timestamp};
use models::charge_card::{CardStatus, CardUid};
use models::charging::card::may_be_contract_of_token;
use models::ports::network::Subject;
use models::token::Token;
use models::{ChargeCard, Driver, Stored};
use ocpi::cost::CdrToken;

/// The time for which the token of a deleted card is kept.
const TOKEN_KEPT: SignedDuration = days(90);

/// The uid of a charge card, and its token.
#[derive(Debug, Clone, PartialEq)]
pub struct CardToken {
    /// The card; `None` after it was deleted.
    pub card: Option<Subject>,
    /// The account whose card had the uid last, after that card was deleted; `None` after the account was erased.
    pub last_account: Option<Id>,
    /// The token as networks have received it; `None` before it was sent for the first time.
    pub token: Option<Token>,
    /// The number of writes.
    version: u64,
}

/// The claim of a uid by a pending card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardClaim {
    pub card: Subject,
    pub since: Timestamp,
    /// Whether an operator has decided against it.
    pub is_decided: bool,
}

/// The card that holds a uid, and the claims of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CardUidUse {
    pub token: Option<CardToken>,
    pub claims: Vec<CardClaim>,
}

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

const CARD: &str = "card";
const COUNT: &str = "count";
const LAST_ACCOUNT: &str = "last_account";
const SESSION: &str = "session";
const SINCE: &str = "since";

/// The number of accounts that can claim a uid at the same time.
const MAX_CLAIMS: usize = 20;

impl CardUidUse {
    /// Returns the card that holds the uid.
    pub fn holder(&self) -> Option<&Subject> {
        self.token.as_ref()?.card.as_ref()
    }

    /// Returns the claim of a card.
    pub fn claim_of(&self, card: &Subject) -> Option<&CardClaim> {
        self.claims.iter().find(|claim| claim.card == *card)
    }

    /// Returns the only claim of a uid whose holder's account was erased: no other account can want the uid back.
    pub fn heir(&self) -> Option<&CardClaim> {
        let is_erased = self
            .token
            .as_ref()
            .is_some_and(CardToken::is_of_erased_account);
        match &self.claims[..] {
            [only] if is_erased => Some(only),
            _ => None,
        }
    }

    /// Returns whether a new card of the account holds the uid at once. This is so if no card holds it, and there are no claims or the
    /// account was its last holder. Otherwise the card has to wait for a decision.
    ///
    /// # Errors
    /// `charge_card_conflict` if the account has a card with the uid, or if too many other cards wait.
    pub fn is_free_for(&self, account: &Id) -> Result<bool> {
        let holder = self.holder();
        let mut claimants = self.claims.iter().map(|claim| &claim.card.tenant.account);
        let is_own = holder.is_some_and(|holder| holder.tenant.account == *account)
            || claimants.any(|claimant| claimant == account);
        let has_held = || {
            let token = self.token.as_ref();
            token.is_some_and(|token| token.last_account.as_ref() == Some(account))
        };
        let is_free = holder.is_none() && (self.claims.is_empty() || has_held());
        if is_own || (!is_free && self.claims.len() >= MAX_CLAIMS) {
            return Err(Code::ChargeCardConflict
                .because("A charge card with this uid exists already.")
                .at("uid"));
        }
        Ok(is_free)
    }
}

impl CardToken {
    pub(super) fn read(item: &Item) -> Result<Self> {
        let card = string(item, CARD);
        let card = (!card.is_empty()).then(|| serde_json::from_str(card));
        let token = item.contains_key(STATE).then(|| read_state(item));
        Ok(Self {
            card: card.transpose().map_err(Error::permanent)?,
            last_account: Some(string(item, LAST_ACCOUNT))
                .filter(|account| !account.is_empty())
                .map(Id::from),
            token: token.transpose()?,
            version: number(item, "version").unsigned_abs(),
        })
    }

    /// Returns the item that the next write puts.
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
        if let Some(account) = &self.last_account {
            item.insert(LAST_ACCOUNT.into(), s(account.as_str()));
        }
        if let Some(token) = &self.token {
            let (index, value) = Partition::Tokens { mode }.place();
            item.insert(keys::hash_key_of(index), s(value));
            let order = format!("{} {}", token.last_updated, uid.to_lowercase());
            item.insert("network_sk".into(), s(order));
            item.insert(STATE.into(), state(token)?);
        }
        Ok(item)
    }

    /// Returns whether the token is that of a card whose account was erased.
    pub fn is_of_erased_account(&self) -> bool {
        self.card.is_none() && self.last_account.is_none() && self.token.is_some()
    }

    /// Returns whether a session or a CDR that names this uid may mean the token: it names no other party, and no contract of another card.
    pub fn may_be(&self, named: &CdrToken) -> bool {
        self.token.as_ref().is_some_and(|token| {
            let contract = named.contract_id.as_ref();
            named.is_of(token.owner.country_code(), token.owner.party_id())
                && contract.is_none_or(|contract| may_be_contract_of_token(token, contract))
        })
    }

    /// Returns whether the card with the uid, or the one that had it last, is of one of these accounts.
    pub(super) fn is_of_any(&self, accounts: &BTreeSet<Id>) -> bool {
        let holder = self.card.as_ref().map(|card| &card.tenant.account);
        let account = holder.or(self.last_account.as_ref());
        account.is_some_and(|account| accounts.contains(account))
    }

    /// Returns the item that replaces that of a uid when the account of its card is erased, and the version that was read. Of the token
    /// it contains what networks require, and that it is invalid.
    ///
    /// # Errors
    /// A permanent `Internal` if the item cannot be read, or has no token.
    pub(super) fn erasure(item: &Item, mode: Mode, now: Timestamp) -> Result<(Item, u64)> {
        let mut erased = Self::read(item)?;
        let Some(token) = erased.token.clone() else {
            return Err(Error::permanent("a uid without a token"));
        };
        let (read, uid) = (erased.version, token.uid.clone());
        (erased.card, erased.last_account) = (None, None);
        erased.update(Token {
            group_id: None,
            visual_number: None,
            valid: false,
            last_updated: now,
            ..token
        });
        Ok((erased.item(mode, &uid, now)?, read))
    }

    /// Makes the token invalid for networks, if there is one.
    fn invalidate(&mut self, now: Timestamp) {
        if let Some(last) = self.token.clone() {
            self.update(Token {
                valid: false,
                last_updated: now,
                ..last
            });
        }
    }

    /// Replaces the token. Returns whether anything but its time has changed. The time never decreases.
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

impl CardClaim {
    fn read(item: &Item) -> Result<Self> {
        Ok(Self {
            card: serde_json::from_str(string(item, CARD)).map_err(Error::permanent)?,
            since: Timestamp::parse(string(item, SINCE)).map_err(Error::permanent)?,
            is_decided: !item.contains_key("network_pk"),
        })
    }

    fn item(&self, mode: Mode, uid: &str) -> Result<Item> {
        let account = &self.card.tenant.account;
        let mut item = new_item(Key::CardClaim { mode, uid, account });
        // Only changes of items with a version are relayed: the card that holds the uid is notified of the claim.
        item.insert("version".into(), n(1));
        let card = serde_json::to_string(&self.card).map_err(Error::internal)?;
        item.insert(CARD.into(), s(card));
        item.insert(SINCE.into(), s(self.since.to_string()));
        if !self.is_decided {
            let (index, value) = Partition::CardClaims { mode }.place();
            item.insert(keys::hash_key_of(index), s(value));
            let order = format!("{} {} {account}", self.since, uid.to_lowercase());
            item.insert("network_sk".into(), s(order));
        }
        Ok(item)
    }
}

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
    /// Notes the charging session that the work creates for a use of a card. The commit fails with `Contended` if another session was created
    /// for the card since `last` was read: it may be the same one.
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
            let token = CardToken {
                card: Some(ours),
                last_account: None,
                token: None,
                version: uid_use.token.as_ref().map_or(0, |token| token.version),
            };
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
            let mut token = uid_use.token.clone().unwrap_or(CardToken {
                card: None,
                last_account: None,
                token: None,
                version: 0,
            });
            token.card = Some(winner.card.clone());
            token.last_account = None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::PartyId;
    use models::token::{TokenType, Whitelist};

    #[test]
    fn a_token_is_written_on_change_and_last_updated_only_increases() {
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
        let mut card_token = CardToken {
            card: None,
            last_account: None,
            token: None,
            version: 1,
        };
        assert!(card_token.update(token.clone()));
        let later = Token {
            last_updated: now.plus(millis(5_000)),
            ..token.clone()
        };
        assert!(!card_token.update(later));
        assert_eq!(card_token.token, Some(token.clone()));
        let earlier = Token {
            valid: false,
            last_updated: now.plus(millis(-5_000)),
            ..token
        };
        assert!(card_token.update(earlier));
        let written = card_token.token.unwrap();
        assert_eq!(
            (written.valid, written.last_updated),
            (false, now.plus(millis(1)))
        );
    }
}

//! The uid of a charge card: the card that holds it, the token that networks receive, and the claims of other accounts.

use std::collections::BTreeSet;

use crate::item::{STATE, read_state, state};
use crate::keys::{self, Key, Partition};
use crate::{Item, n, new_item, number, s, string};
use kernel::time::{days, millis};
use kernel::{Code, Error, Id, Mode, Result, SignedDuration, Timestamp};
use models::charging::card::{is_same_contract, may_be_contract_of_token};
use models::ports::network::Subject;
use models::token::Token;
use ocpi::cost::CdrToken;

/// The time for which the token of a deleted card is kept.
const TOKEN_KEPT: SignedDuration = days(90);

/// The uid of a charge card, and its token.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CardToken {
    /// The card; `None` after it was deleted.
    pub card: Option<Subject>,
    /// The account whose card had the uid last, after that card was deleted; `None` after the account was erased.
    pub last_account: Option<Id>,
    /// The token as networks have received it; `None` before it was sent for the first time.
    pub token: Option<Token>,
    /// The contract ids of cards of erased accounts that had the uid before, each with the time until which it is kept.
    pub(super) erased: Vec<(String, Timestamp)>,
    /// The number of writes.
    pub(super) version: u64,
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

const CARD: &str = "card";
const LAST_ACCOUNT: &str = "last_account";
const ERASED: &str = "erased";
pub(super) const SINCE: &str = "since";

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
    pub(crate) fn read(item: &Item) -> Result<Self> {
        let card = string(item, CARD);
        let card = (!card.is_empty()).then(|| serde_json::from_str(card));
        let token = item.contains_key(STATE).then(|| read_state(item));
        Ok(Self {
            card: card.transpose().map_err(Error::permanent)?,
            last_account: Some(string(item, LAST_ACCOUNT))
                .filter(|account| !account.is_empty())
                .map(Id::from),
            token: token.transpose()?,
            erased: match string(item, ERASED) {
                "" => Vec::new(),
                erased => serde_json::from_str(erased).map_err(Error::permanent)?,
            },
            version: number(item, "version").unsigned_abs(),
        })
    }

    /// Returns the item that the next write puts.
    pub(super) fn item(&self, mode: Mode, uid: &str, now: Timestamp) -> Result<Item> {
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
        let erased = self.erased.iter().filter(|(_, until)| now < *until);
        let erased: Vec<_> = erased.collect();
        if !erased.is_empty() {
            let erased = serde_json::to_string(&erased).map_err(Error::internal)?;
            item.insert(ERASED.into(), s(erased));
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

    /// Returns whether a session or a CDR that names this uid means the card of an erased account: the last one, or an earlier one.
    pub fn is_erased(&self, named: &CdrToken) -> bool {
        let contract = named.contract_id.as_deref();
        let mut earlier = self.erased.iter().map(|(contract, _)| contract);
        (self.is_of_erased_account() && self.may_be(named))
            || contract.is_some_and(|named| earlier.any(|erased| is_same_contract(erased, named)))
    }

    /// Gives the uid to another card. What names the contract of an erased account is recognised as long as before.
    pub(super) fn assign(&mut self, card: Subject) {
        let erased = self.token.as_ref().filter(|_| self.is_of_erased_account());
        let erased = erased.map(|token| {
            let until = token.last_updated.plus(TOKEN_KEPT);
            (token.contract_id.clone(), until)
        });
        self.erased.extend(erased);
        (self.card, self.last_account) = (Some(card), None);
    }

    /// Returns whether the card with the uid, or the one that had it last, is of one of these accounts.
    pub(crate) fn is_of_any(&self, accounts: &BTreeSet<Id>) -> bool {
        let holder = self.card.as_ref().map(|card| &card.tenant.account);
        let account = holder.or(self.last_account.as_ref());
        account.is_some_and(|account| accounts.contains(account))
    }

    /// Returns the item that replaces that of a uid when the account of its card is erased, and the version that was read. Of the token
    /// it contains what networks require, and that it is invalid.
    ///
    /// # Errors
    /// A permanent `Internal` if the item cannot be read, or has no token.
    pub(crate) fn erasure(item: &Item, mode: Mode, now: Timestamp) -> Result<(Item, u64)> {
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
    pub(super) fn invalidate(&mut self, now: Timestamp) {
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
    pub(super) fn read(item: &Item) -> Result<Self> {
        Ok(Self {
            card: serde_json::from_str(string(item, CARD)).map_err(Error::permanent)?,
            since: Timestamp::parse(string(item, SINCE)).map_err(Error::permanent)?,
            is_decided: !item.contains_key("network_pk"),
        })
    }

    pub(super) fn item(&self, mode: Mode, uid: &str) -> Result<Item> {
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
            erased: Vec::new(),
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

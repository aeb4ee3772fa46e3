//! Steps of the simulation about wallets: top-ups, repeated and interrupted, their owners and cards; and the final check of wallets.

use std::collections::BTreeSet;

use kernel::Timestamp;
use kernel::time::DAY;
use models::Transaction;
use serde_json::{Value, json};
use tests::with;

use crate::{Owner, Played, World, amount, is_top_up};

/// A top-up with an idempotency key, and the time at which the key was first used for it.
#[derive(Clone)]
pub(super) struct Sent {
    path: String,
    body: Value,
    key: String,
    at: Timestamp,
}

/// Whether a top-up has credited the wallet of the owner with this path.
fn is_of(top_up: &Value, owner: &str) -> bool {
    let id = top_up["driver"].as_str().or(top_up["fleet"].as_str());
    id.map_or(owner.contains("accounts"), |id| owner.ends_with(id))
}

impl World {
    /// The amount of a top-up, which any currency allows.
    fn top_up_amount(&mut self) -> u64 {
        (1 + self.stage.dice.below(3000)).next_multiple_of(10)
    }

    /// Sends a top-up until there is a response, or once, with a key or without.
    pub(super) async fn top_up(&mut self) {
        let amount = self.top_up_amount();
        let (path, method) = if self.stage.dice.percent(40) {
            let path = format!("/v1/fleets/{}", self.fleet);
            (path, self.methods[0].clone())
        } else {
            if self.stage.dice.percent(40) {
                self.new_owner().await;
            }
            if self.cards.is_empty() {
                self.new_card().await;
            }
            let fresh = self.stage.dice.percent(60);
            let others = self.owners.len() as u64;
            let place = if fresh {
                others - 1
            } else {
                self.stage.dice.below(others)
            };
            let place = place as usize;
            let card = self.stage.one_of(&self.cards).expect("a card");
            (self.owners[place].path.clone(), card)
        };
        let path = format!("{path}/top_up");
        let body = json!({"amount": amount, "payment_method": method});
        self.top_ups_sent += 1;
        if self.stage.dice.percent(30) {
            self.stage.post_once(&path, &body, None).await;
            return self.disturb(&path).await;
        }
        let sent = Sent {
            key: format!("top-up {} {}", self.stage.seed, self.sent.len()),
            path,
            body,
            at: self.stage.app.now(),
        };
        self.sent.push(sent.clone());
        let Sent {
            path, body, key, ..
        } = sent;
        if self.stage.dice.percent(50) {
            self.stage.post_once(&path, &body, Some(&key)).await;
            self.disturb(&path).await;
        } else {
            self.stage.post_with(&path, body, &key).await;
        }
    }

    /// Loses the response to the charge of a top-up, and deletes its wallet before the top-up is completed.
    pub(super) async fn interrupted_top_up(&mut self) {
        self.new_owner().await;
        let body = json!({"type": "card", "token": "tok_success"});
        let card = self.stage.make("/v1/payment_methods", body).await;
        let place = self.owners.len() - 1;
        let path = self.owners[place].path.clone();
        let body = json!({"amount": 1000, "payment_method": card});
        self.top_ups_sent += 1;
        self.till.lose_next();
        self.stage
            .post_once(&format!("{path}/top_up"), &body, None)
            .await;
        if self.stage.dice.percent(50) {
            self.change_currency_of(place).await;
        } else {
            self.delete_owner_at(place).await;
        }
    }

    /// Changes the currency of the wallet, or deletes its owner, while a top-up may be in progress.
    async fn disturb(&mut self, top_up: &str) {
        let owner = |owner: &Owner| format!("{}/top_up", owner.path) == top_up;
        let Some(place) = self.owners.iter().position(owner) else {
            return;
        };
        match self.stage.dice.below(6) {
            0 | 1 => self.change_currency_of(place).await,
            2 if place > 0 => self.delete_owner_at(place).await,
            _ => {}
        }
    }

    /// Uses a key again: for the same request, for another amount, or for another owner.
    pub(super) async fn repeat_top_up(&mut self) {
        if self.sent.is_empty() {
            return;
        }
        let place = self.stage.dice.below(self.sent.len() as u64) as usize;
        let Sent {
            mut path,
            mut body,
            key,
            at,
        } = self.sent[place].clone();
        match self.stage.dice.below(10) {
            0 => body["amount"] = json!(self.top_up_amount()),
            1 => {
                let other = self.stage.dice.below(self.owners.len() as u64) as usize;
                path = format!("{}/top_up", self.owners[other].path);
            }
            _ => {}
        }
        let now = self.stage.app.now();
        if now.since(at) >= DAY {
            // The key can be used again.
            self.top_ups_sent += 1;
            self.sent[place] = Sent {
                path: path.clone(),
                body: body.clone(),
                at: now,
                key: key.clone(),
            };
        }
        self.stage.post_with(&path, body, &key).await;
    }

    pub(super) async fn new_owner(&mut self) {
        let path = if self.stage.dice.percent(50) {
            let id = self.stage.make("/v1/drivers", tests::driver()).await;
            format!("/v1/drivers/{id}")
        } else {
            let preferences = json!({"report_frequency": "never", "billing_cycle": "yearly"});
            let body = with(tests::fleet(), json!({"preferences": preferences}));
            let id = self.stage.make("/v1/fleets", body).await;
            format!("/v1/fleets/{id}")
        };
        self.owners.push(Owner {
            path,
            deleted: false,
        });
    }

    /// Changes the currency of a wallet. This is refused while the wallet has money.
    pub(super) async fn change_currency(&mut self) {
        let place = self.stage.dice.below(self.owners.len() as u64) as usize;
        self.change_currency_of(place).await;
    }

    async fn change_currency_of(&mut self, place: usize) {
        let path = self.owners[place].path.clone();
        let currency = self.stage.one_of(&["usd", "eur", "jpy"]);
        let body = match &path {
            path if path.contains("accounts") => json!({"default_currency": currency}),
            path if path.contains("fleets") => {
                json!({"preferences": {"default_currency": currency}})
            }
            _ => json!({"preferences": {"currency": currency}}),
        };
        self.empty_wallet(&path).await;
        self.stage.post(&path, body).await;
    }

    /// Refunds the top-ups of a wallet in half of the cases.
    pub(super) async fn empty_wallet(&mut self, owner: &str) {
        if self.stage.dice.percent(50) {
            return;
        }
        let page = self.stage.get("/v1/transactions?type=charge&limit=100");
        let page = page.await;
        let charges = page["data"].as_array().expect("a list").iter();
        for top_up in charges.filter(|charge| is_top_up(charge) && is_of(charge, owner)) {
            let id = top_up["id"].as_str().expect("an id");
            let path = format!("/v1/transactions/{id}/refund");
            self.stage.post(&path, json!({})).await;
        }
    }

    /// Deletes the owner of a wallet. This is refused while the wallet has money.
    pub(super) async fn delete_owner(&mut self) {
        // The account is not deleted.
        let others = self.owners.len() as u64 - 1;
        if others > 0 {
            let place = 1 + self.stage.dice.below(others) as usize;
            self.delete_owner_at(place).await;
        }
    }

    async fn delete_owner_at(&mut self, place: usize) {
        let path = self.owners[place].path.clone();
        self.empty_wallet(&path).await;
        let (status, _) = self.stage.delete(&path).await;
        self.owners[place].deleted |= status == 200;
    }

    pub(super) async fn new_card(&mut self) {
        let token = if self.stage.dice.percent(85) {
            "tok_success"
        } else {
            "tok_declined"
        };
        let body = json!({"type": "card", "token": token});
        let id = self.stage.make("/v1/payment_methods", body).await;
        self.cards.push(id);
    }

    /// Deletes a card. This is refused while an active session or an open reservation pays with it.
    pub(super) async fn delete_card(&mut self) {
        if self.cards.is_empty() {
            return;
        }
        let place = self.stage.dice.below(self.cards.len() as u64) as usize;
        let path = format!("/v1/payment_methods/{}", self.cards[place]);
        let (status, _) = self.stage.delete(&path).await;
        if status == 200 {
            self.cards.remove(place);
        }
    }

    /// Checks that a top-up succeeded and was charged, or failed and was declined, never made, or refunded, and that no request made
    /// two. The refunds of one that succeeded have ended, and equal those at the provider.
    pub(super) fn check_top_ups(&self, top_ups: &[Value], refunds: &[Value], played: &mut Played) {
        let (seed, books) = (self.stage.seed, self.till.books());
        for refund in refunds {
            let status = refund["status"].as_str().expect("a status");
            assert_ne!(status, "pending", "seed {seed}: {refund}");
            *played.refunds_of_top_ups.entry(status.into()).or_default() += 1;
        }
        for top_up in top_ups {
            let key = self.key(top_up["id"].as_str().expect("an id"));
            let record = books.charges.get(&key).filter(|record| record.succeeded());
            let refund = books.refund_of(&key);
            match top_up["status"].as_str() {
                Some("succeeded") => {
                    let record =
                        record.unwrap_or_else(|| panic!("seed {seed}: not charged: {top_up}"));
                    assert_eq!(
                        record.charge.amount.amount,
                        amount(top_up, "amount"),
                        "seed {seed}: {top_up}"
                    );
                    assert_eq!(top_up["currency"], record.charge.amount.currency.as_str());
                    let own = refunds.iter().filter(|refund| {
                        refund["charge"] == top_up["id"] && refund["status"] == "succeeded"
                    });
                    let own: i64 = own.map(|refund| amount(refund, "amount")).sum();
                    let shown = amount(top_up, "amount_refunded");
                    assert_eq!(own, shown, "seed {seed}: {top_up}");
                    assert_eq!(own, books.refunded(&key), "seed {seed}: {top_up}");
                    played.credited += 1;
                }
                Some("failed") => {
                    let both = record.is_some() == refund.is_some();
                    assert!(both, "seed {seed}: {record:?}, {refund:?}: {top_up}");
                    played.refunded_top_ups += usize::from(refund.is_some());
                }
                _ => panic!("seed {seed}: without end: {top_up}"),
            }
        }
        let (begun, sent) = (top_ups.len(), self.top_ups_sent);
        assert!(begun <= sent, "seed {seed}: {begun} of {sent} top-ups");
    }

    /// Checks that wallets contain the amounts of their top-ups without what was refunded, and without refunds that failed after the owner
    /// was deleted or the currency changed. Returns that of the fleet's wallet.
    pub(super) async fn check_wallets(
        &self,
        top_ups: &[Value],
        refunds: &[Value],
        to_fleet: &BTreeSet<String>,
    ) -> i64 {
        let seed = self.stage.seed;
        // Refunds to the wallet of the account.
        let to_account = |refund: &&Value| {
            let of_fleet = to_fleet.contains(refund["id"].as_str().expect("an id"));
            refund["status"] == "succeeded" && refund["destination"] == "wallet" && !of_fleet
        };
        let to_account = refunds.iter().filter(to_account);
        let to_account: i64 = to_account.map(|refund| amount(refund, "amount")).sum();
        let (store, tenant) = (&self.stage.app.store, &self.stage.tenant);
        let mut kept = Vec::new();
        for top_up in top_ups
            .iter()
            .filter(|top_up| top_up["status"] == "succeeded")
        {
            let id = top_up["id"].as_str().expect("an id");
            let stored = store.load::<Transaction>(tenant, &id.into()).await;
            let state = stored.expect("a transaction").internal.top_up;
            let unreturned = state.expect("a top-up").unreturned;
            let left = amount(top_up, "amount") - amount(top_up, "amount_refunded");
            assert!((0..=left).contains(&unreturned), "seed {seed}: {top_up}");
            kept.push((top_up, left - unreturned));
        }
        let credited = |path: &str| -> i64 {
            let own = kept.iter().filter(|(top_up, _)| is_of(top_up, path));
            own.map(|(_, kept)| kept).sum()
        };
        for owner in &self.owners {
            let refunded = if owner.path.contains("accounts") {
                to_account
            } else {
                0
            };
            let came = credited(&owner.path) + refunded;
            let holds = if owner.deleted {
                0
            } else {
                amount(&self.stage.get(&owner.path).await, "wallet_balance")
            };
            assert_eq!(came, holds, "seed {seed}: the wallet of {}", owner.path);
        }
        credited(&self.fleet)
    }
}

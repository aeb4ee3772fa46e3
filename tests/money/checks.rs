//! Checks of everything at the end: totals, numbers, idempotency keys, events and credit notes.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Id;
use models::ports::payments::Charge;
use models::transaction::ChargeSource;
use models::{Reservation, Transaction};
use serde_json::{Value, json};

use crate::network::Network;
use crate::{Books, FEE, Played, World, amount, is_top_up};

impl World {
    pub(super) async fn check(&self, played: &mut Played) {
        let seed = self.stage.seed;
        let sessions = self.all("charging_sessions").await;
        let invoices = self.all("invoices").await;
        let reservations = self.all("reservations").await;
        let transactions = self.all("transactions").await;
        let fees = self.fees(&reservations).await;
        let adjustments = self.adjustments().await;
        self.check_keys(&sessions, &reservations, &invoices, &transactions);
        let (top_ups, others): (Vec<Value>, Vec<Value>) =
            transactions.into_iter().partition(is_top_up);
        let is_of_top_up = |refund: &Value| {
            top_ups
                .iter()
                .any(|charge| refund["charge"] == charge["id"])
        };
        let (taken_out, others): (Vec<Value>, Vec<Value>) =
            others.into_iter().partition(is_of_top_up);
        self.check_top_ups(&top_ups, &taken_out, played);
        let to_fleet = self.refunds_to_fleet(&others).await;
        let credited = self.check_wallets(&top_ups, &others, &to_fleet).await;
        let books = Books {
            invoices: &invoices,
            adjustments: &adjustments,
            transactions: &others,
            to_fleet: &to_fleet,
        };
        played.paid += self
            .check_transactions(&sessions, &fees, &books, credited)
            .await;
        self.check_credit_notes(&books, played).await;
        self.check_events(others.iter().chain(&taken_out)).await;
        self.check_invoices(&sessions, &fees, &adjustments, &invoices);
        self.check_numbers(&invoices);
        let at = |network: &Network, session: &Value| {
            session["charging_station"] == json!(network.station)
        };
        let (theirs, ours): (Vec<&Value>, Vec<&Value>) = sessions
            .iter()
            .partition(|session| self.networks.iter().any(|network| at(network, session)));
        for session in ours {
            assert_eq!(session["status"], "completed", "seed {seed}: {session}");
        }
        let charged = &mut played.charged;
        for network in &self.networks {
            let own = theirs
                .iter()
                .copied()
                .filter(|session| at(network, session));
            let own: Vec<&Value> = own.collect();
            network.check(&self.stage, &own, &adjustments, charged);
            *charged.entry("meddled with").or_default() += network.meddled;
        }
        self.check_totals(&sessions).await;
        for (fault, times) in &self.till.books().faults {
            *played.faults.entry(fault).or_default() += times;
        }
    }

    /// Checks that the totals of an invoice are those of its lines, by rate and together.
    pub(super) fn check_totals_of(&self, invoice: &Value, lines: &[Value]) {
        let totals = &invoice["totals"];
        let sum = |of: &mut dyn Iterator<Item = &Value>, name: &str| -> i64 {
            of.map(|element| amount(element, name)).sum()
        };
        let rates = |part: &Value| -> BTreeMap<String, (i64, i64)> {
            let mut sums = BTreeMap::new();
            let name = if part["taxes"].is_null() {
                "by_rate"
            } else {
                "taxes"
            };
            for tax in part[name].as_array().expect("taxes") {
                let key = format!(
                    "{} {} {}",
                    tax["country"], tax["tax_percent"], tax["category"]
                );
                let (net, sum): &mut (i64, i64) = sums.entry(key).or_default();
                *net += amount(tax, "net");
                *sum += amount(tax, "tax");
            }
            sums
        };
        let mut of_lines: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for line in lines {
            let taxes = rates(line);
            let whole: i64 = taxes.values().map(|(net, tax)| net + tax).sum();
            assert_eq!(whole, amount(line, "amount"), "{line}");
            for (key, (net, tax)) in taxes {
                let sums = of_lines.entry(key).or_default();
                *sums = (sums.0 + net, sums.1 + tax);
            }
        }
        let seed = self.stage.seed;
        assert_eq!(rates(totals), of_lines, "seed {seed}: {invoice}");
        for (name, of) in [("net", "net"), ("tax", "tax"), ("gross", "amount")] {
            let sum = sum(&mut lines.iter(), of);
            assert_eq!(
                amount(totals, name),
                sum,
                "seed {seed}: {name} of {invoice}"
            );
        }
        for (name, of) in [("paid", "amount_paid"), ("due", "amount_due")] {
            let same = amount(invoice, of);
            assert_eq!(
                amount(totals, name),
                same,
                "seed {seed}: {name} of {invoice}"
            );
        }
    }

    /// Checks that every final document has a number, and that the numbers of a year have no gaps, despite rivals, faults and crashes.
    fn check_numbers(&self, documents: &[Value]) {
        let seed = self.stage.seed;
        let mut years: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for document in documents {
            let Some(number) = document["number"].as_str() else {
                assert_eq!(document["status"], "draft", "seed {seed}: {document}");
                continue;
            };
            assert_ne!(document["status"], "draft", "seed {seed}: {document}");
            let (year, sequence) = number.split_once('-').expect("a sequence");
            let sequence = sequence.parse().expect("a number");
            let is_new = years.entry(year).or_default().insert(sequence);
            assert!(is_new, "seed {seed}: {number} twice");
        }
        for (year, numbers) in years {
            let last = numbers.last().copied();
            assert_eq!(
                last,
                Some(numbers.len() as u64),
                "seed {seed}: {year} has gaps: {numbers:?}"
            );
        }
    }

    /// Checks that the fleet has counted each completed session once.
    async fn check_totals(&self, sessions: &[Value]) {
        let completed = || {
            sessions
                .iter()
                .filter(|session| session["status"] == "completed")
        };
        let energy: i64 = completed()
            .map(|session| amount(session, "energy_consumed"))
            .sum();
        let fleet = self.stage.get(&format!("/v1/fleets/{}", self.fleet)).await;
        let kwh = fleet["total_energy_consumed_kwh"]
            .as_f64()
            .expect("a number");
        let found = (
            amount(&fleet, "total_sessions"),
            (kwh * 1000.0).round() as i64,
        );
        let seed = self.stage.seed;
        assert_eq!(
            found,
            (completed().count() as i64, energy),
            "seed {seed}: {fleet}"
        );
    }

    /// The key of the charge for an object.
    pub(super) fn key(&self, what: &str) -> String {
        Charge::key(&self.stage.tenant, what)
    }

    /// Checks that every charge at the provider belongs to an object.
    fn check_keys(
        &self,
        sessions: &[Value],
        reservations: &[Value],
        invoices: &[Value],
        transactions: &[Value],
    ) {
        let id = |object: &Value| object["id"].as_str().expect("an id").to_owned();
        let known = sessions.iter().chain(reservations).chain(transactions);
        let attempts = invoices
            .iter()
            .flat_map(|invoice| (1..=40).map(move |n| format!("{} attempt {n}", id(invoice))));
        let known: BTreeSet<String> = known
            .map(id)
            .chain(attempts)
            .map(|what| self.key(&what))
            .collect();
        let unknown: Vec<String> = self.till.keys().difference(&known).cloned().collect();
        let seed = self.stage.seed;
        assert!(
            unknown.is_empty(),
            "seed {seed}: {unknown:?} are for nothing"
        );
    }

    /// The costs of reservations that have ended and were not free: the fee, the amount due, and the amount paid. Nothing is due for a
    /// reservation that found no connector, or whose EVSE was occupied when it expired, because the end of another session was late.
    async fn fees(&self, reservations: &[Value]) -> Vec<Value> {
        let mut fees = Vec::new();
        for reservation in reservations {
            let (fee, due) = (
                amount(reservation, "reservation_fee"),
                amount(reservation, "fee_due"),
            );
            let id = Id::from(reservation["id"].as_str().expect("an id"));
            let stored = self
                .stage
                .app
                .store
                .load::<Reservation>(&self.stage.tenant, &id);
            let state = stored.await.expect("the reservation").object.state;
            let was_lost = state.reserved().is_some_and(|reserved| reserved.was_lost);
            match reservation["status"].as_str() {
                Some("expired") if was_lost => {
                    assert_eq!(due, 0, "seed {}: {reservation}", self.stage.seed)
                }
                Some("completed" | "expired") => {
                    assert_eq!(fee, FEE, "seed {}: {reservation}", self.stage.seed);
                    fees.push(json!({"id": id, "amount_due": due, "amount_paid": fee - due}));
                }
                Some("failed") if due == 0 => {}
                _ => panic!("seed {}: {reservation}", self.stage.seed),
            }
        }
        fees
    }

    /// The refunds to the fleet's wallet: of payments from its wallet, and those that a request or a credit note sends there.
    async fn refunds_to_fleet(&self, transactions: &[Value]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for transaction in transactions
            .iter()
            .filter(|transaction| transaction["type"] != "charge")
        {
            let id = transaction["id"].as_str().expect("an id").to_owned();
            let (store, tenant) = (&self.stage.app.store, &self.stage.tenant);
            let stored = store.load::<Transaction>(tenant, &id.as_str().into()).await;
            let source = stored.expect("a transaction").internal.source;
            if let Some(ChargeSource::Wallet { owner }) = source
                && owner.as_str() == self.fleet
            {
                found.insert(id);
            }
        }
        found
    }

    /// Checks that credit notes never exceed their invoice, equal the amount that it shows as credited, and are refunded correctly.
    async fn check_credit_notes(&self, books: &Books<'_>, played: &mut Played) {
        let seed = self.stage.seed;
        let notes = self.all("credit_notes").await;
        let numbered = notes.iter().filter(|note| !note["number"].is_null());
        let numbered: Vec<Value> = numbered.cloned().collect();
        self.check_numbers(&numbered);
        for invoice in books.invoices {
            let totals = &invoice["totals"];
            let own = numbered
                .iter()
                .filter(|note| note["invoice"] == invoice["id"]);
            let own: Vec<&Value> = own.collect();
            let sum = |name: &str| -> i64 {
                let sums = own.iter().map(|note| amount(&note["totals"], name));
                sums.sum()
            };
            let (gross, credited) = (sum("gross"), sum("credited"));
            assert_eq!(
                credited,
                amount(totals, "credited"),
                "seed {seed}: {invoice}"
            );
            assert!(gross <= amount(totals, "gross"), "seed {seed}: {invoice}");
            if invoice["status"] == "void" {
                assert_eq!(gross, amount(totals, "gross"), "seed {seed}: {invoice}");
                assert_eq!(amount(invoice, "amount_due"), 0, "seed {seed}: {invoice}");
            }
        }
        for note in &notes {
            let kind = note["type"].as_str().expect("a type");
            *played.credit_notes.entry(kind.to_owned()).or_default() += 1;
            let lines = note["lines"].as_array().expect("lines");
            self.check_totals_of(note, lines);
            let of = books.transactions.iter();
            let of = of.filter(|transaction| transaction["credit_note"] == note["id"]);
            let sum: i64 = of.map(|transaction| amount(transaction, "amount")).sum();
            match kind {
                "refund" => assert!(sum >= amount(note, "amount"), "seed {seed}: {note}"),
                _ => assert_eq!(
                    sum,
                    amount(&note["totals"], "refunded"),
                    "seed {seed}: {note}"
                ),
            }
        }
    }

    /// Checks that every payment for charging has one event.
    async fn check_events(&self, transactions: impl Iterator<Item = &Value>) {
        let mut sent = BTreeMap::new();
        for event in self.all("events").await {
            let kind = event["type"].as_str().expect("a type");
            if kind.starts_with("service.") {
                let about = event["data"]["object"]["id"].as_str().expect("an id");
                *sent.entry(about.to_owned()).or_insert(0) += 1;
            }
        }
        for transaction in transactions {
            let id = transaction["id"].as_str().expect("an id");
            assert_eq!(
                sent.remove(id),
                Some(1),
                "seed {}: {transaction}",
                self.stage.seed
            );
        }
        assert!(sent.is_empty(), "seed {}: {sent:?}", self.stage.seed);
    }
}

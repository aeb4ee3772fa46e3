//! Wallets: the prepaid balances of accounts, drivers and fleets. A wallet's balance is a member of its owner's item and changes in the
//! transaction of the payment. It is never negative.
//!
//! An account has one item for both modes, so the balance of test mode is beside the object, not in it.

use super::keys::Key;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n, s};
use kernel::{Currency, Error, Id, Kind, Mode, Money, Result, Tenant, Timestamp};
use models::{Account, Driver, EventType, Fleet, PaymentMethod, Stored};

/// The owner of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wallet<'a> {
    Account(&'a Id),
    Driver(&'a Id),
    Fleet(&'a Id),
}

impl<'a> Wallet<'a> {
    /// Returns the account, driver or fleet that owns the wallet.
    pub fn owner(self) -> &'a Id {
        match self {
            Self::Account(id) | Self::Driver(id) | Self::Fleet(id) => id,
        }
    }

    /// Returns the wallet from which a payment method of that type pays: its owner's.
    pub fn of(method: &'a PaymentMethod, tenant: &'a Tenant) -> Self {
        match (&method.driver, &method.fleet) {
            (Some(driver), _) => Self::Driver(driver),
            (None, Some(fleet)) => Self::Fleet(fleet),
            (None, None) => Self::Account(&tenant.account),
        }
    }

    /// Returns the wallet of an account, a driver or a fleet.
    pub fn owned_by(id: &'a Id) -> Option<Self> {
        match id.kind()? {
            Kind::Account => Some(Self::Account(id)),
            Kind::Driver => Some(Self::Driver(id)),
            Kind::Fleet => Some(Self::Fleet(id)),
            _ => None,
        }
    }

    fn key(self, tenant: &'a Tenant) -> Key<'a> {
        match self {
            Self::Account(id) => Key::Account { id },
            Self::Driver(id) | Self::Fleet(id) => Key::Object { tenant, id },
        }
    }

    /// Returns the path of the balance in the item.
    fn balance(self, mode: Mode) -> [&'static str; 2] {
        match (self, mode) {
            (Self::Account(_), Mode::Test) => ["internal", "test_wallet_balance"],
            _ => ["object", "wallet_balance"],
        }
    }

    /// Returns the path of the currency in the object.
    fn currency(self) -> &'static [&'static str] {
        match self {
            Self::Account(_) => &["default_currency"],
            Self::Driver(_) => &["preferences", "currency"],
            Self::Fleet(_) => &["preferences", "default_currency"],
        }
    }
}

/// The item of a wallet's owner, with the wallet in it.
#[derive(Debug, Clone)]
pub enum WalletOwner {
    Account(Box<Stored<Account>>),
    Driver(Box<Stored<Driver>>),
    Fleet(Box<Stored<Fleet>>),
}

impl WalletOwner {
    /// Returns the currency of the wallet.
    pub fn currency(&self) -> Currency {
        match self {
            Self::Account(account) => account.object.default_currency,
            Self::Driver(driver) => driver.object.preferences.currency,
            Self::Fleet(fleet) => fleet.object.preferences.default_currency,
        }
    }

    fn balance(&self, mode: Mode) -> i64 {
        match self {
            Self::Account(account) => account.seen_in(mode).wallet_balance,
            Self::Driver(driver) => driver.object.wallet_balance,
            Self::Fleet(fleet) => fleet.object.wallet_balance,
        }
    }

    /// Adds money to the wallet of that mode.
    pub fn credit(&mut self, mode: Mode, amount: i64, now: Timestamp) {
        let (balance, updated) = match self {
            Self::Account(account) => match mode {
                Mode::Test => (
                    &mut account.internal.test_wallet_balance,
                    &mut account.object.updated,
                ),
                Mode::Live => (
                    &mut account.object.wallet_balance,
                    &mut account.object.updated,
                ),
            },
            Self::Driver(driver) => (
                &mut driver.object.wallet_balance,
                &mut driver.object.updated,
            ),
            Self::Fleet(fleet) => (&mut fleet.object.wallet_balance, &mut fleet.object.updated),
        };
        *balance += amount;
        *updated = now;
    }
}

impl Store {
    /// Returns the balance of a wallet, read consistently; `None` if its owner was deleted.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn funds(&self, tenant: &Tenant, wallet: Wallet<'_>) -> Result<Option<Money>> {
        let owner = self.wallet_owner(tenant, wallet).await?;
        Ok(owner.map(|owner| Money::new(owner.balance(tenant.mode), owner.currency())))
    }

    /// Reads the owner of a wallet to write it; `None` if it was deleted.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn wallet_owner(
        &self,
        tenant: &Tenant,
        wallet: Wallet<'_>,
    ) -> Result<Option<WalletOwner>> {
        Ok(match wallet {
            Wallet::Account(id) => {
                let account = self.find::<Account>(tenant, id).await?;
                account.map(|account| WalletOwner::Account(Box::new(account)))
            }
            Wallet::Driver(id) => {
                let driver = self.find::<Driver>(tenant, id).await?;
                driver.map(|driver| WalletOwner::Driver(Box::new(driver)))
            }
            Wallet::Fleet(id) => {
                let fleet = self.find::<Fleet>(tenant, id).await?;
                fleet.map(|fleet| WalletOwner::Fleet(Box::new(fleet)))
            }
        })
    }
}

impl UnitOfWork<'_> {
    /// Saves the owner of a wallet that was credited. The commit fails if it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the object cannot be written as an item.
    pub fn save_wallet_owner(&mut self, owner: &mut WalletOwner) -> Result<()> {
        match owner {
            WalletOwner::Account(account) => self.save(account),
            WalletOwner::Driver(driver) => {
                driver.record(EventType::DriverUpdated);
                self.save(driver)
            }
            WalletOwner::Fleet(fleet) => {
                fleet.record(EventType::FleetUpdated);
                self.save(fleet)
            }
        }
    }

    /// Adds money to a wallet of that currency. The same transaction may not write the owner's item otherwise.
    pub fn credit(&mut self, wallet: Wallet<'_>, money: Money, refusal: Error) {
        self.move_money(wallet, money, false, refusal)
    }

    /// Subtracts money from a wallet of that currency, if the balance is sufficient. The same transaction may not write the owner's item
    /// otherwise.
    pub fn debit(&mut self, wallet: Wallet<'_>, money: Money, refusal: Error) {
        self.move_money(wallet, money, true, refusal)
    }

    fn move_money(&mut self, wallet: Wallet<'_>, money: Money, out: bool, refusal: Error) {
        let [place, balance] = wallet.balance(self.origin.tenant.mode);
        let currency: Vec<String> = (0..wallet.currency().len())
            .map(|depth| format!("#c{depth}"))
            .collect();
        let mut condition = format!("#object.{} = :currency", currency.join("."));
        if out {
            condition.push_str(" AND #place.#balance >= :amount");
        }
        let by = if out { -money.amount } else { money.amount };
        let mut update = self.store.update(wallet.key(&self.origin.tenant))
            .update_expression(
                "SET #place.#balance = if_not_exists(#place.#balance, :zero) + :by, #object.#updated = :now, \
                 #version = #version + :one, #written = if_not_exists(#written, #object.#updated) REMOVE events",
            )
            .condition_expression(condition)
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#place", place)
            .expression_attribute_names("#balance", balance)
            .expression_attribute_names("#updated", "updated")
            .expression_attribute_names("#version", "version")
            .expression_attribute_names("#written", "written")
            .expression_attribute_values(":by", n(by))
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":now", s(self.origin.now.to_string()))
            .expression_attribute_values(":currency", s(money.currency.as_str()));
        for (name, part) in currency.into_iter().zip(wallet.currency()) {
            update = update.expression_attribute_names(name, *part);
        }
        if out {
            update = update.expression_attribute_values(":amount", n(money.amount));
        }
        self.push(Write::Update(update), refusal);
    }
}

//! Accounts: the tenants. An account owns everything its keys make; a parent may act inside its children.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::party::{BillingDetails, BillingDetailsChange};
use super::stored::{Object, Stored};
use super::transaction::check_currency;
use super::{check_size, sized};
use kernel::error::Result;
use kernel::fields::address::Country;
use kernel::fields::cycle::{BillingCycle, ReportFrequency};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Description, Email, Name, Phone, Text};
use kernel::id::{Id, Kind};
use kernel::money::Currency;
use kernel::origin::Mode;
use kernel::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    pub id: Id,
    pub object: Kind,
    pub billing_details: BillingDetails,
    pub business_type: Option<BusinessType>,
    pub contact: Contact,
    pub created: Timestamp,
    pub default_currency: Currency,
    pub description: Option<Description>,
    pub email: Email,
    pub metadata: Metadata,
    /// Stored and returned only: no response and no report contains distances or other figures that depend on it.
    pub metric_system: AccountMetricSystem,
    pub name: Name,
    pub plan: Plan,
    pub preferences: AccountPreferences,
    pub registration_number: Option<Text<256>>,
    pub status: AccountStatus,
    #[serde(rename = "type")]
    pub kind: AccountType,
    pub updated: Timestamp,
    /// Minor units of `default_currency`.
    pub wallet_balance: i64,
}

impl Object for Account {
    type Internal = AccountInternal;

    const KIND: Kind = Kind::Account;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// How many accounts may lie above one another, the first included.
pub const MAX_DEPTH: usize = 5;

/// What the account keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountInternal {
    /// The account this one was made by; none for one made by an operator.
    pub parent: Option<Id>,
    /// The version requests and events have that name none.
    pub version: Option<String>,
    /// What the account's wallet holds in test mode; `wallet_balance` of the stored object is live mode's.
    pub test_wallet_balance: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Contact {
    pub email: Email,
    pub name: Name,
    pub phone: Option<Phone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusinessType {
    Company,
    NonProfit,
    GovernmentEntity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountMetricSystem {
    #[default]
    Metric,
    Imperial,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    Free,
    Starter,
    #[default]
    Professional,
    Enterprise,
}

/// What keys of the account, and of every account below it, may do. Only an operator sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountStatus {
    Active,
    /// Keys may read; every other request is refused with 403. Open reservations and sessions continue.
    Suspended,
    /// Keys are refused with 401.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountType {
    Individual,
    Business,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountPreferences {
    pub billing_cycle: BillingCycle,
    pub default_currency: Currency,
    pub default_payment_method: Option<Id>,
    pub notifications: bool,
    pub report_frequency: ReportFrequency,
    pub reporting_enabled: bool,
}

/// The body of `POST /v1/accounts`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAccount {
    pub email: Email,
    pub name: Name,
    #[serde(rename = "type")]
    pub kind: AccountType,
    /// Default `usd`.
    #[serde(default)]
    pub default_currency: Option<Currency>,
    /// Default `professional`.
    #[serde(default)]
    pub plan: Option<Plan>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Default `metric`.
    #[serde(default)]
    pub metric_system: Option<AccountMetricSystem>,
    #[serde(default)]
    pub preferences: Option<AccountPreferencesChange>,
}

impl RequestBody for NewAccount {}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountPreferencesChange {
    #[serde(default)]
    pub billing_cycle: Change<BillingCycle>,
    #[serde(default)]
    pub default_currency: Change<Currency>,
    #[serde(default)]
    pub default_payment_method: Patch<Id>,
    #[serde(default)]
    pub notifications: Change<bool>,
    #[serde(default)]
    pub report_frequency: Change<ReportFrequency>,
    #[serde(default)]
    pub reporting_enabled: Change<bool>,
}

/// The body of `POST /v1/accounts/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountChange {
    #[serde(default)]
    pub billing_details: Change<BillingDetailsChange>,
    #[serde(default)]
    pub business_type: Patch<BusinessType>,
    #[serde(default)]
    pub contact: Change<ContactChange>,
    #[serde(default)]
    pub default_currency: Change<Currency>,
    #[serde(default)]
    pub description: Patch<Description>,
    #[serde(default)]
    pub email: Change<Email>,
    #[serde(default)]
    pub metadata: MetadataChange,
    #[serde(default)]
    pub metric_system: Change<AccountMetricSystem>,
    #[serde(default)]
    pub name: Change<Name>,
    #[serde(default)]
    pub plan: Change<Plan>,
    #[serde(default)]
    pub preferences: Change<AccountPreferencesChange>,
    #[serde(default)]
    pub registration_number: Patch<Text<256>>,
}

impl RequestBody for AccountChange {}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactChange {
    #[serde(default)]
    pub email: Change<Email>,
    #[serde(default)]
    pub name: Change<Name>,
    #[serde(default)]
    pub phone: Patch<Phone>,
}

impl Account {
    /// A new, active account with an empty wallet. Its contact is the email and name it was made with.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits.
    pub fn new(new: NewAccount, now: Timestamp) -> Result<Self> {
        let default_currency = new.default_currency.unwrap_or(Currency::USD);
        let mut preferences = AccountPreferences {
            billing_cycle: BillingCycle::default(),
            default_currency,
            default_payment_method: None,
            notifications: true,
            report_frequency: ReportFrequency::default(),
            reporting_enabled: true,
        };
        preferences.change(new.preferences.unwrap_or_default());
        sized(Self {
            id: Id::new(Kind::Account, now),
            object: Kind::Account,
            billing_details: BillingDetails::default(),
            business_type: None,
            contact: Contact {
                email: new.email.clone(),
                name: new.name.clone(),
                phone: None,
            },
            created: now,
            default_currency,
            description: None,
            email: new.email,
            metadata: Metadata::new(new.metadata)?,
            metric_system: new.metric_system.unwrap_or_default(),
            name: new.name,
            plan: new.plan.unwrap_or_default(),
            preferences,
            registration_number: None,
            status: AccountStatus::Active,
            kind: new.kind,
            updated: now,
            wallet_balance: 0,
        })
    }
}

impl Account {
    /// The country of its billing address.
    pub fn country(&self) -> Option<&Country> {
        let address = self.billing_details.billing_address.as_ref();
        address.map(|address| &address.country)
    }
}

impl Stored<Account> {
    /// Applies an update; what the body leaves out stays.
    ///
    /// # Errors
    /// 409 for another currency while there is money in the wallet; metadata beyond its limits.
    pub fn update(&mut self, change: AccountChange, now: Timestamp) -> Result<()> {
        let AccountChange {
            billing_details,
            business_type,
            contact,
            default_currency,
            description,
            email,
            metadata,
            metric_system,
            name,
            plan,
            preferences,
            registration_number,
        } = change;
        let balances = [
            self.object.wallet_balance,
            self.internal.test_wallet_balance,
        ];
        let empty = balances == [0, 0];
        check_currency(
            "default_currency",
            &default_currency,
            self.object.default_currency,
            empty,
        )?;
        if let Change::Set(details) = billing_details {
            self.object.billing_details.update(details);
        }
        business_type.apply(&mut self.object.business_type);
        if let Change::Set(ContactChange { email, name, phone }) = contact {
            email.apply(&mut self.object.contact.email);
            name.apply(&mut self.object.contact.name);
            phone.apply(&mut self.object.contact.phone);
        }
        default_currency.apply(&mut self.object.default_currency);
        description.apply(&mut self.object.description);
        email.apply(&mut self.object.email);
        self.object.metadata.merge(metadata)?;
        metric_system.apply(&mut self.object.metric_system);
        name.apply(&mut self.object.name);
        plan.apply(&mut self.object.plan);
        if let Change::Set(preferences) = preferences {
            self.object.preferences.change(preferences);
        }
        registration_number.apply(&mut self.object.registration_number);
        self.object.updated = now;
        check_size(&self.object)
    }
}

impl AccountPreferences {
    fn change(&mut self, change: AccountPreferencesChange) {
        let AccountPreferencesChange {
            billing_cycle,
            default_currency,
            default_payment_method,
            notifications,
            report_frequency,
            reporting_enabled,
        } = change;
        billing_cycle.apply(&mut self.billing_cycle);
        default_currency.apply(&mut self.default_currency);
        default_payment_method.apply(&mut self.default_payment_method);
        notifications.apply(&mut self.notifications);
        report_frequency.apply(&mut self.report_frequency);
        reporting_enabled.apply(&mut self.reporting_enabled);
    }
}

impl AccountPreferencesChange {
    /// The payment method the body names, for checking that it exists.
    pub fn payment_method(&self) -> Option<&Id> {
        self.default_payment_method.value()
    }
}

impl Stored<Account> {
    /// The account as its clients in that mode see it, with the balance of the mode. Not to be written back.
    pub fn seen_in(&self, mode: Mode) -> Account {
        let mut account = self.object.clone();
        if mode == Mode::Test {
            account.wallet_balance = self.internal.test_wallet_balance;
        }
        account
    }
}

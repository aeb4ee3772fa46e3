//! Accounts: the tenants. An account owns every object that its keys create. A parent account may act inside its children.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::party::{BillingDetails, BillingDetailsChange};
use super::stored::{Object, Stored};
use super::transaction::check_currency;
use super::{check_size, sized};
use kernel::fields::address::Country;
use kernel::fields::cycle::{BillingCycle, ReportFrequency};
use kernel::fields::metadata::{Metadata, MetadataChange, SearchableKeys};
use kernel::fields::party::TaxPercent;
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Description, Email, Name, Phone, Text};
use kernel::scope::Scope;
use kernel::{Currency, Error, Id, Kind, Mode, Result, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    pub id: Id,
    pub object: Kind,
    /// Details that invoices of the account show as the seller.
    pub billing_details: BillingDetails,
    /// Legal form of the business; null if it is not set.
    pub business_type: Option<BusinessType>,
    /// Person to reach about the account.
    pub contact: Contact,
    pub created: Timestamp,
    /// Currency of the wallet, and of invoices and reservations for which neither a driver nor a fleet sets another one.
    pub default_currency: Currency,
    /// Internal note about the account; null if it is not set.
    pub description: Option<Description>,
    /// Primary contact address of the account.
    pub email: Email,
    /// Key of the request. Present in the response of `GET /v1/account` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyRights>,
    pub metadata: Metadata,
    /// System of units that the account prefers. It is stored and returned only: no response and no report contains distances or other
    /// figures that depend on it.
    pub metric_system: AccountMetricSystem,
    /// Name of the account. Invoices show it as the seller unless `billing_details.legal_name` is set.
    pub name: Name,
    /// Plan that the account subscribes to.
    pub plan: Plan,
    /// Settings for billing, payment and reports.
    pub preferences: AccountPreferences,
    /// Number of the company in its commercial register; null if it is not set.
    pub registration_number: Option<Text<256>>,
    /// Whether the keys of the account may write, may only read, or are refused. Only an operator changes it.
    pub status: AccountStatus,
    /// Whether the account belongs to a person or to a business.
    #[serde(rename = "type")]
    pub kind: AccountType,
    pub updated: Timestamp,
    /// Balance of the wallet, in minor units of `default_currency`.
    pub wallet_balance: i64,
}

impl Object for Account {
    type Internal = AccountInternal;

    const KIND: Kind = Kind::Account;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// The rights of the key with which a request is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeyRights {
    /// Time from which the key is refused; null if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// Whether the key works in live mode; otherwise in test mode.
    pub livemode: bool,
    /// Permissions of the key. `*` alone is full access.
    pub scopes: Vec<Scope>,
}

/// The maximum depth of the account hierarchy, including the account at the top.
pub const MAX_DEPTH: usize = 5;

/// The internal state of an account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountInternal {
    /// The account that created this one; none if an operator created it.
    pub parent: Option<Id>,
    /// The API version of requests and events that do not name one.
    pub version: Option<String>,
    /// When the account was closed; none if it is not closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
    /// The balance of the account's wallet in test mode. `wallet_balance` of the stored object is the balance in live mode.
    pub test_wallet_balance: i64,
    /// The account's default payment method in test mode. That of the stored object is for live mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_default_payment_method: Option<Id>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Contact {
    /// Email address of the contact person.
    pub email: Email,
    /// Full name of the contact person.
    pub name: Name,
    /// Telephone number of the contact person; null if it is not set.
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

/// The access that keys of the account, and of every account below it, have. Only an operator sets it.
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
    /// Length of the period after which invoices of the account are drafted.
    pub billing_cycle: BillingCycle,
    /// The account's `default_currency`.
    pub default_currency: Currency,
    /// Id of the payment method that pays when neither the request, the driver nor the fleet names one; null if there is none. Each mode
    /// has its own.
    pub default_payment_method: Option<Id>,
    /// Whether the account should receive notifications. It is stored and returned only.
    pub notifications: bool,
    /// How often a report of the whole account is generated, if `reporting_enabled` is true.
    pub report_frequency: ReportFrequency,
    /// Whether reports of the account and its fleets are generated periodically.
    pub reporting_enabled: bool,
    /// Keys of metadata by which fleets, drivers and vehicles are found: the filter `metadata[]` of their lists.
    #[serde(default)]
    #[schema(required)]
    pub searchable_metadata: SearchableKeys,
}

/// The body of `POST /v1/accounts`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAccount {
    /// Primary contact address of the account.
    pub email: Email,
    /// Name of the account. Invoices show it as the seller unless `billing_details.legal_name` is set.
    pub name: Name,
    /// Whether the account belongs to a person or to a business.
    #[serde(rename = "type")]
    pub kind: AccountType,
    /// Currency of the wallet, and of invoices and reservations for which neither a driver nor a fleet sets another one. Default `usd`.
    pub default_currency: Option<Currency>,
    /// Plan that the account subscribes to. Default `professional`.
    pub plan: Option<Plan>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// System of units that the account prefers. Default `metric`.
    pub metric_system: Option<AccountMetricSystem>,
    /// Settings for billing, payment and reports.
    pub preferences: Option<AccountPreferencesChange>,
}

impl RequestBody for NewAccount {}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountPreferencesChange {
    /// Length of the period after which invoices of the account are drafted.
    #[serde(default)]
    pub billing_cycle: Change<BillingCycle>,
    /// The account's `default_currency`.
    #[serde(default)]
    pub default_currency: Change<Currency>,
    /// Id of a payment method of the account that pays when neither the request, the driver nor the fleet names one. Null removes it.
    #[serde(default)]
    pub default_payment_method: Patch<Id>,
    /// Whether the account should receive notifications. It is stored and returned only.
    #[serde(default)]
    pub notifications: Change<bool>,
    /// How often a report of the whole account is generated, if `reporting_enabled` is true.
    #[serde(default)]
    pub report_frequency: Change<ReportFrequency>,
    /// Whether reports of the account and its fleets are generated periodically.
    #[serde(default)]
    pub reporting_enabled: Change<bool>,
    /// Keys of metadata by which fleets, drivers and vehicles are found: the filter `metadata[]` of their lists. Objects that have a key
    /// already are found by it within minutes. The list replaces the former one.
    #[serde(default)]
    pub searchable_metadata: Change<SearchableKeys>,
}

/// The body of `POST /v1/accounts/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountChange {
    /// Details that later invoices of the account show as the seller, changed member by member.
    #[serde(default)]
    pub billing_details: Change<BillingDetailsChange>,
    /// Legal form of the business. Null removes it.
    #[serde(default)]
    pub business_type: Patch<BusinessType>,
    /// Person to reach about the account, changed member by member.
    #[serde(default)]
    pub contact: Change<ContactChange>,
    /// Currency of the wallet, and of invoices and reservations for which neither a driver nor a fleet sets another one.
    #[serde(default)]
    pub default_currency: Change<Currency>,
    /// Internal note about the account. Null removes it.
    #[serde(default)]
    pub description: Patch<Description>,
    /// Primary contact address of the account.
    #[serde(default)]
    pub email: Change<Email>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// System of units that the account prefers. It is stored and returned only.
    #[serde(default)]
    pub metric_system: Change<AccountMetricSystem>,
    /// Name of the account. Invoices show it as the seller unless `billing_details.legal_name` is set.
    #[serde(default)]
    pub name: Change<Name>,
    /// Plan that the account subscribes to.
    #[serde(default)]
    pub plan: Change<Plan>,
    /// Settings for billing, payment and reports, changed member by member.
    #[serde(default)]
    pub preferences: Change<AccountPreferencesChange>,
    /// Number of the company in its commercial register. Null removes it.
    #[serde(default)]
    pub registration_number: Patch<Text<256>>,
}

impl RequestBody for AccountChange {}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactChange {
    /// Email address of the contact person.
    #[serde(default)]
    pub email: Change<Email>,
    /// Full name of the contact person.
    #[serde(default)]
    pub name: Change<Name>,
    /// Telephone number of the contact person. Null removes it.
    #[serde(default)]
    pub phone: Patch<Phone>,
}

impl Account {
    /// Returns a new, active account with an empty wallet. Its contact has the email and the name of the body.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits, or for two currencies.
    pub fn new(new: NewAccount, now: Timestamp) -> Result<Self> {
        let changed = new.preferences.unwrap_or_default();
        let preferred = changed.default_currency.set().copied();
        let requested = requested_currency(new.default_currency, preferred)?;
        let default_currency = requested.unwrap_or(Currency::USD);
        let mut preferences = AccountPreferences {
            billing_cycle: BillingCycle::default(),
            default_currency,
            default_payment_method: None,
            notifications: true,
            report_frequency: ReportFrequency::default(),
            reporting_enabled: true,
            searchable_metadata: SearchableKeys::default(),
        };
        preferences.change(changed);
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
            key: None,
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
    /// Returns the country of the account's billing address.
    pub fn country(&self) -> Option<&Country> {
        let address = self.billing_details.billing_address.as_ref();
        address.map(|address| &address.country)
    }

    /// Returns the percentage of tax that reservation fees include.
    pub fn fee_tax_percent(&self) -> TaxPercent {
        let details = &self.billing_details;
        details.reservation_fee_tax_percent.unwrap_or_default()
    }
}

impl Stored<Account> {
    /// Sets the status. Any status may follow any other. An account that is closed already keeps the moment at which it was closed.
    pub fn set_status(&mut self, status: AccountStatus, now: Timestamp) {
        self.internal.closed = match status {
            AccountStatus::Closed => self.closed().or(Some(now)),
            AccountStatus::Active | AccountStatus::Suspended => None,
        };
        self.object.status = status;
        self.object.updated = now;
    }

    /// Returns when the account was closed, at the latest: an item without that moment has its last update. None if it is not closed.
    pub fn closed(&self) -> Option<Timestamp> {
        let is_closed = self.object.status == AccountStatus::Closed;
        is_closed.then(|| self.internal.closed.unwrap_or(self.object.updated))
    }

    /// Applies an update by a key of this mode. Omitted fields keep their values.
    ///
    /// # Errors
    /// 409 for another currency while there is money in the wallet; 400 if metadata exceeds its limits, or for two currencies.
    pub fn update(&mut self, change: AccountChange, mode: Mode, now: Timestamp) -> Result<()> {
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
        let unchanged = self.clone();
        let currency = self.currency_after(&default_currency, &preferences)?;
        if let Change::Set(details) = billing_details {
            self.object.billing_details.update(details);
        }
        business_type.apply(&mut self.object.business_type);
        if let Change::Set(ContactChange { email, name, phone }) = contact {
            email.apply(&mut self.object.contact.email);
            name.apply(&mut self.object.contact.name);
            phone.apply(&mut self.object.contact.phone);
        }
        description.apply(&mut self.object.description);
        email.apply(&mut self.object.email);
        self.object.metadata.merge(metadata)?;
        metric_system.apply(&mut self.object.metric_system);
        name.apply(&mut self.object.name);
        plan.apply(&mut self.object.plan);
        if let Change::Set(mut preferences) = preferences {
            if mode == Mode::Test {
                let of_test = std::mem::take(&mut preferences.default_payment_method);
                of_test.apply(&mut self.internal.test_default_payment_method);
            }
            self.object.preferences.change(preferences);
        }
        self.object.default_currency = currency;
        self.object.preferences.default_currency = currency;
        registration_number.apply(&mut self.object.registration_number);
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        check_size(&self.object)
    }

    /// Returns the currency of the account after an update.
    ///
    /// # Errors
    /// 409 for another currency while there is money in a wallet; 400 for two currencies.
    fn currency_after(
        &self,
        default_currency: &Change<Currency>,
        preferences: &Change<AccountPreferencesChange>,
    ) -> Result<Currency> {
        let balances = [
            self.object.wallet_balance,
            self.internal.test_wallet_balance,
        ];
        let preferred = preferences
            .set()
            .and_then(|preferences| preferences.default_currency.set().copied());
        let param = match default_currency {
            Change::Set(_) => "default_currency",
            Change::Keep => "preferences.default_currency",
        };
        let requested = requested_currency(default_currency.set().copied(), preferred)?;
        let current = self.object.default_currency;
        let currency = requested.unwrap_or(current);
        check_currency(param, &Change::Set(currency), current, balances == [0, 0])?;
        Ok(currency)
    }
}

/// Returns the currency that a request sets. The account's and that of its preferences are the same.
///
/// # Errors
/// 400 if they differ.
fn requested_currency(
    own: Option<Currency>,
    preferred: Option<Currency>,
) -> Result<Option<Currency>> {
    let differs = own
        .zip(preferred)
        .is_some_and(|(own, preferred)| own != preferred);
    if differs {
        let message = "must be the same as default_currency";
        return Err(Error::invalid("preferences.default_currency", message));
    }
    Ok(own.or(preferred))
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
            searchable_metadata,
        } = change;
        billing_cycle.apply(&mut self.billing_cycle);
        default_currency.apply(&mut self.default_currency);
        default_payment_method.apply(&mut self.default_payment_method);
        notifications.apply(&mut self.notifications);
        report_frequency.apply(&mut self.report_frequency);
        reporting_enabled.apply(&mut self.reporting_enabled);
        searchable_metadata.apply(&mut self.searchable_metadata);
    }
}

impl Stored<Account> {
    /// Returns the payment method that pays in a mode when neither the request, the driver nor the fleet names one.
    pub fn default_payment_method(&self, mode: Mode) -> Option<&Id> {
        match mode {
            Mode::Live => self.object.preferences.default_payment_method.as_ref(),
            Mode::Test => self.internal.test_default_payment_method.as_ref(),
        }
    }

    /// Returns the account as clients in that mode see it, with the balance and the default payment method of the mode. It must not be
    /// written to the table.
    pub fn seen_in(&self, mode: Mode) -> Account {
        let mut account = self.object.clone();
        if mode == Mode::Test {
            account.wallet_balance = self.internal.test_wallet_balance;
        }
        account.preferences.default_payment_method = self.default_payment_method(mode).cloned();
        account
    }
}

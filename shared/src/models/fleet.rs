//! Fleets: groups of vehicles and drivers that are billed together.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Distinct;
use super::account::Account;
use super::address::Address;
use super::metadata::{Metadata, MetadataChange};
use super::patch::{Change, Patch};
use super::text::{Email, Memo, Name, Phone, ZoneName};
use super::transaction::{Transaction, check_currency};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fleet {
    pub id: Id,
    pub object: Kind,
    pub address: Address,
    pub created: Timestamp,
    /// "" when unset.
    pub description: Memo<1000>,
    pub email: Email,
    pub metadata: Metadata,
    pub metric_system: MetricSystem,
    pub name: Name,
    pub phone: Option<Phone>,
    pub policy_ids: Vec<Id>,
    pub preferences: FleetPreferences,
    pub status: Standing,
    pub timezone: ZoneName,
    pub total_drivers: u64,
    /// kWh
    pub total_energy_consumed_kwh: f64,
    pub total_sessions: u64,
    pub total_vehicles: u64,
    pub updated: Timestamp,
    /// Minor units of `preferences.default_currency`.
    pub wallet_balance: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricSystem {
    #[default]
    InternationalSystem,
    UsCustomarySystem,
    ImperialSystem,
}

/// Whether a fleet or driver takes part. Any standing may follow any other; only `active` allows new reservations,
/// sessions and attachments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[default]
    Active,
    Suspended,
    Archived,
}

impl Standing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Archived => "archived",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillingCycle {
    Weekly,
    #[default]
    Monthly,
    Quarterly,
    Yearly,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFrequency {
    Never,
    Daily,
    #[default]
    Weekly,
    Monthly,
    Quarterly,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetPreferences {
    pub billing_cycle: BillingCycle,
    pub default_currency: Currency,
    pub default_payment_method: Option<Id>,
    /// Whether drivers of the fleet receive session status notifications.
    pub notifications: bool,
    pub report_frequency: ReportFrequency,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetPreferencesChange {
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
}

/// The body of `POST /v1/fleets`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFleet {
    pub name: Name,
    pub email: Email,
    pub address: Address,
    #[serde(default)]
    pub description: Option<Memo<1000>>,
    #[serde(default)]
    pub phone: Option<Phone>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Default `international_system`.
    #[serde(default)]
    pub metric_system: Option<MetricSystem>,
    #[serde(default)]
    pub policy_ids: Option<Distinct<Id>>,
    #[serde(default)]
    pub preferences: Option<FleetPreferencesChange>,
    /// Default `UTC`.
    #[serde(default)]
    pub timezone: Option<ZoneName>,
}

/// The body of `POST /v1/fleets/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetChange {
    #[serde(default)]
    pub address: Change<Address>,
    #[serde(default)]
    pub description: Change<Memo<1000>>,
    #[serde(default)]
    pub email: Change<Email>,
    #[serde(default)]
    pub metadata: MetadataChange,
    #[serde(default)]
    pub metric_system: Change<MetricSystem>,
    #[serde(default)]
    pub name: Change<Name>,
    #[serde(default)]
    pub phone: Patch<Phone>,
    #[serde(default)]
    pub policy_ids: Change<Distinct<Id>>,
    #[serde(default)]
    pub preferences: Change<FleetPreferencesChange>,
    #[serde(default)]
    pub status: Change<Standing>,
    #[serde(default)]
    pub timezone: Change<ZoneName>,
}

impl Fleet {
    /// A new, active fleet; its currency is the account's unless the body names another.
    ///
    /// # Errors
    /// Metadata or `policy_ids` beyond their limits.
    pub fn new(new: NewFleet, account: &Account, now: Timestamp) -> Result<Self> {
        let mut preferences = FleetPreferences {
            billing_cycle: account.preferences.billing_cycle,
            default_currency: account.default_currency,
            default_payment_method: None,
            notifications: true,
            report_frequency: account.preferences.report_frequency,
        };
        preferences.change(new.preferences.unwrap_or_default());
        Ok(Self {
            id: Id::new(Kind::Fleet, now),
            object: Kind::Fleet,
            address: new.address,
            created: now,
            description: new.description.unwrap_or_default(),
            email: new.email,
            metadata: Metadata::new(new.metadata)?,
            metric_system: new.metric_system.unwrap_or_default(),
            name: new.name,
            phone: new.phone,
            policy_ids: new.policy_ids.unwrap_or_default().into(),
            preferences,
            status: Standing::Active,
            timezone: new.timezone.unwrap_or_else(ZoneName::utc),
            total_drivers: 0,
            total_energy_consumed_kwh: 0.0,
            total_sessions: 0,
            total_vehicles: 0,
            updated: now,
            wallet_balance: 0,
        })
    }

    /// Applies an update; what the body leaves out stays.
    ///
    /// # Errors
    /// 409 for another currency while there is money in the wallet; metadata or `policy_ids` beyond their limits.
    pub fn update(&mut self, change: FleetChange, now: Timestamp) -> Result<()> {
        let FleetChange {
            address,
            description,
            email,
            metadata,
            metric_system,
            name,
            phone,
            policy_ids,
            preferences,
            status,
            timezone,
        } = change;
        if let Change::Set(FleetPreferencesChange {
            default_currency, ..
        }) = &preferences
        {
            let (param, current) = (
                "preferences.default_currency",
                self.preferences.default_currency,
            );
            check_currency(param, default_currency, current, self.wallet_balance == 0)?;
        }
        address.apply(&mut self.address);
        description.apply(&mut self.description);
        email.apply(&mut self.email);
        self.metadata.merge(metadata)?;
        metric_system.apply(&mut self.metric_system);
        name.apply(&mut self.name);
        phone.apply(&mut self.phone);
        if let Change::Set(ids) = policy_ids {
            self.policy_ids = ids.into();
        }
        if let Change::Set(preferences) = preferences {
            self.preferences.change(preferences);
        }
        status.apply(&mut self.status);
        timezone.apply(&mut self.timezone);
        self.updated = now;
        Ok(())
    }

    /// The time zone of a fleet's rules; UTC where the fleet is gone.
    pub fn zone(fleet: Option<&Self>) -> TimeZone {
        fleet.map_or(TimeZone::UTC, |fleet| fleet.timezone.rules())
    }

    /// Adds what was charged to the wallet.
    ///
    /// # Errors
    /// The wallet has another currency by now.
    pub fn top_up(&mut self, payment: &Transaction, now: Timestamp) -> Result<()> {
        payment.add_to(&mut self.wallet_balance, self.preferences.default_currency)?;
        self.updated = now;
        Ok(())
    }

    pub fn is_active(&self) -> bool {
        self.status == Standing::Active
    }
}

impl FleetPreferences {
    fn change(&mut self, change: FleetPreferencesChange) {
        let FleetPreferencesChange {
            billing_cycle,
            default_currency,
            default_payment_method,
            notifications,
            report_frequency,
        } = change;
        billing_cycle.apply(&mut self.billing_cycle);
        default_currency.apply(&mut self.default_currency);
        default_payment_method.apply(&mut self.default_payment_method);
        notifications.apply(&mut self.notifications);
        report_frequency.apply(&mut self.report_frequency);
    }
}

//! Drivers: the people who charge. A driver may be attached to several fleets.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::account::Account;
use super::body::RequestBody;
use super::event_type::EventType;
use super::fleet::{Fleet, FleetStatus};
use super::search::SearchField;
use super::stored::{Object, Stored};
use super::transaction::check_currency;
use super::vehicle::Vehicle;
use super::{Distinct, MAX_LIST, check_size};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Email, Name, Phone, Text};
use kernel::{Code, Currency, Id, Kind, Result, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Driver {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// Email address of the driver.
    pub email: Email,
    /// The fleets the driver is attached to.
    pub fleets: Vec<Id>,
    /// Number of the driving licence; null if it is not set.
    pub license_number: Option<Text<256>>,
    pub metadata: Metadata,
    /// Name of the driver, which invoices and reports show.
    pub name: Name,
    /// Telephone number of the driver; null if it is not set.
    pub phone: Option<Phone>,
    /// Ids of the policies that the driver's reservations and sessions have to fulfil, besides those of the fleet and the vehicle.
    pub policy_ids: Vec<Id>,
    /// Settings for matching and payment.
    pub preferences: DriverPreferences,
    /// Whether the driver may reserve and charge. A driver who is not active creates no new reservations and sessions.
    pub status: FleetStatus,
    pub updated: Timestamp,
    /// The vehicles that name this driver.
    pub vehicles: Vec<Id>,
    /// Balance of the wallet, in minor units of `preferences.currency`.
    pub wallet_balance: i64,
}

impl Object for Driver {
    type Internal = DriverInternal;

    const KIND: Kind = Kind::Driver;

    fn id(&self) -> &Id {
        &self.id
    }

    fn names(&self) -> Vec<(SearchField, &str)> {
        vec![
            (SearchField::Name, self.name.as_str()),
            (SearchField::Email, self.email.as_str()),
        ]
    }

    fn searchable_metadata(&self) -> Option<&Metadata> {
        Some(&self.metadata)
    }
}

/// The internal state of a driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverInternal {
    /// Whether a request set `preferences.currency`. Otherwise it is the account's currency, and a fleet's has priority over it.
    pub currency_chosen: bool,
}

/// The charging speed that a driver prefers. It does not exclude stations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChargingSpeed {
    #[default]
    Any,
    /// Below 43 kW.
    Slow,
    /// 43 kW up to 150 kW.
    Fast,
    /// 150 kW and more.
    UltraFast,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DriverPreferences {
    /// Speed of charging that matching prefers. Other stations are not excluded.
    pub charging_speed: ChargingSpeed,
    /// Currency of the driver's reservations, if a request has set it. Otherwise it is the account's, and that of the vehicle's fleet has
    /// priority over it.
    pub currency: Currency,
    /// Id of the payment method that pays when a request names none; null if there is none.
    pub default_payment_method: Option<Id>,
    /// Highest effective price that the driver accepts, in minor units of the reservation's currency per kWh, tax included; of `currency`
    /// if a request has set that. Reservations are not matched
    /// with connectors of a higher effective price in the reserved window. The effective price is the cost of the expected charge in the
    /// window, divided by its energy. The start fee and the charging time count, parking does not. In live mode a connector of unknown
    /// price is not matched either.
    pub max_price_per_kwh: Option<u32>,
    /// Whether the driver should receive notifications. It is stored and returned only.
    pub notifications: bool,
    /// Ids of the driver's favourite stations, which matching prefers.
    pub preferred_charging_stations: Vec<Id>,
    /// Names of operators that matching prefers.
    pub preferred_cpos: Vec<Text<256>>,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DriverPreferencesChange {
    /// Speed of charging that matching prefers. Other stations are not excluded.
    #[serde(default)]
    pub charging_speed: Change<ChargingSpeed>,
    /// Currency of the driver's reservations. Default: that of the vehicle's fleet.
    #[serde(default)]
    pub currency: Change<Currency>,
    /// Id of a payment method of the driver or the account that pays when a request names none. Null removes it.
    #[serde(default)]
    pub default_payment_method: Patch<Id>,
    /// Highest effective price that the driver accepts, in minor units of the reservation's currency per kWh with tax. Null removes the limit.
    #[serde(default)]
    pub max_price_per_kwh: Patch<u32>,
    /// Whether the driver should receive notifications. It is stored and returned only.
    #[serde(default)]
    pub notifications: Change<bool>,
    /// Ids of the driver's favourite stations, which matching prefers.
    #[serde(default)]
    pub preferred_charging_stations: Change<Distinct<Id>>,
    /// Names of operators that matching prefers.
    #[serde(default)]
    pub preferred_cpos: Change<Distinct<Text<256>>>,
}

/// The body of `POST /v1/drivers`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDriver {
    /// Name of the driver, which invoices and reports show.
    pub name: Name,
    /// Email address of the driver.
    pub email: Email,
    /// Number of the driving licence.
    pub license_number: Option<Text<256>>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Telephone number of the driver.
    pub phone: Option<Phone>,
    /// Ids of the policies that the driver's reservations and sessions have to fulfil, besides those of the fleet and the vehicle.
    pub policy_ids: Option<Distinct<Id>>,
    /// Settings for matching and payment.
    pub preferences: Option<DriverPreferencesChange>,
}

impl RequestBody for NewDriver {}

/// The body of `POST /v1/drivers/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DriverChange {
    /// Email address of the driver.
    #[serde(default)]
    pub email: Change<Email>,
    /// Number of the driving licence. Null removes it.
    #[serde(default)]
    pub license_number: Patch<Text<256>>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Name of the driver, which invoices and reports show.
    #[serde(default)]
    pub name: Change<Name>,
    /// Telephone number of the driver. Null removes it.
    #[serde(default)]
    pub phone: Patch<Phone>,
    /// Ids of the policies of the driver. The list replaces the present one.
    #[serde(default)]
    pub policy_ids: Change<Distinct<Id>>,
    /// Settings for matching and payment, changed member by member.
    #[serde(default)]
    pub preferences: Change<DriverPreferencesChange>,
    /// Whether the driver may reserve and charge. A driver who is not active creates no new reservations and sessions.
    #[serde(default)]
    pub status: Change<FleetStatus>,
}

impl RequestBody for DriverChange {}

/// The body of `POST /v1/drivers/{id}/attach` and `…/detach`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetOfDriver {
    /// Id of the fleet that the driver joins or leaves.
    pub fleet: Id,
}

impl RequestBody for FleetOfDriver {}

impl Driver {
    /// Returns a new, active driver that is attached to no fleet.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn new(new: NewDriver, account: &Account, now: Timestamp) -> Result<Stored<Self>> {
        let driver = Self {
            id: Id::new(Kind::Driver, now),
            object: Kind::Driver,
            created: now,
            email: new.email,
            fleets: Vec::new(),
            license_number: new.license_number,
            metadata: Metadata::new(new.metadata)?,
            name: new.name,
            phone: new.phone,
            policy_ids: new.policy_ids.unwrap_or_default().into(),
            preferences: DriverPreferences {
                charging_speed: ChargingSpeed::default(),
                currency: account.default_currency,
                default_payment_method: None,
                max_price_per_kwh: None,
                notifications: true,
                preferred_charging_stations: Vec::new(),
                preferred_cpos: Vec::new(),
            },
            status: FleetStatus::Active,
            updated: now,
            vehicles: Vec::new(),
            wallet_balance: 0,
        };
        let mut driver = Stored::new(driver).recording(EventType::DriverCreated);
        driver.prefer(new.preferences.unwrap_or_default())?;
        check_size(&driver.object)?;
        Ok(driver)
    }

    /// Checks whether the driver is one of the vehicle's drivers, or is attached to its fleet.
    pub fn may_drive(&self, vehicle: &Vehicle) -> bool {
        vehicle.drivers.contains(&self.id) || self.fleets.contains(&vehicle.fleet)
    }

    pub fn is_active(&self) -> bool {
        self.status == FleetStatus::Active
    }
}

impl Stored<Driver> {
    /// Returns the currency that a request has chosen for the driver.
    pub fn chosen_currency(&self) -> Option<Currency> {
        let chosen = self.internal.currency_chosen;
        chosen.then_some(self.object.preferences.currency)
    }

    /// Removes a deleted vehicle from the driver's list.
    pub fn forget_vehicle(&mut self, vehicle: &Id, now: Timestamp) {
        self.object.vehicles.retain(|id| id != vehicle);
        self.object.updated = now;
        self.record(EventType::DriverUpdated);
    }

    /// Attaches the driver to a fleet.
    ///
    /// # Errors
    /// `driver_fleet_conflict` if the driver is attached already, if either is not active, or if the driver has 100 fleets.
    pub fn attach_to(&mut self, fleet: &Fleet, now: Timestamp) -> Result<()> {
        let refuse = |why: &'static str| Err(Code::DriverFleetConflict.because(why).at("fleet"));
        if self.object.fleets.contains(&fleet.id) {
            return refuse("The driver is attached to this fleet already.");
        }
        if self.object.status != FleetStatus::Active {
            return refuse("The driver is not active.");
        }
        if !fleet.is_active() {
            return refuse("The fleet is not active.");
        }
        if self.object.fleets.len() >= MAX_LIST {
            return refuse("The driver is attached to 100 fleets, the most there can be.");
        }
        self.object.fleets.push(fleet.id.clone());
        self.object.updated = now;
        self.record(EventType::DriverAttached);
        Ok(())
    }

    /// Detaches the driver from a fleet and from these vehicles of the fleet. The driver is not deleted.
    ///
    /// # Errors
    /// `driver_fleet_conflict` if the driver is not attached to the fleet.
    pub fn detach_from(&mut self, fleet: &Id, vehicles: &[Id], now: Timestamp) -> Result<()> {
        let Some(at) = self.object.fleets.iter().position(|id| id == fleet) else {
            return Err(Code::DriverFleetConflict
                .because("The driver is not attached to this fleet.")
                .at("fleet"));
        };
        self.object.fleets.remove(at);
        self.object.vehicles.retain(|id| !vehicles.contains(id));
        self.object.updated = now;
        self.record(EventType::DriverDetached);
        Ok(())
    }

    /// Records that the driver is deleted.
    pub fn delete(&mut self) {
        self.record(EventType::DriverDeleted);
    }

    /// Applies an update. Omitted fields keep their values.
    ///
    /// # Errors
    /// 409 for another currency while there is money in the wallet; 400 if metadata or a list exceeds its limits.
    pub fn update(&mut self, change: DriverChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        let DriverChange {
            email,
            license_number,
            metadata,
            name,
            phone,
            policy_ids,
            preferences,
            status,
        } = change;
        email.apply(&mut self.object.email);
        license_number.apply(&mut self.object.license_number);
        self.object.metadata.merge(metadata)?;
        name.apply(&mut self.object.name);
        phone.apply(&mut self.object.phone);
        if let Change::Set(ids) = policy_ids {
            self.object.policy_ids = ids.into();
        }
        if let Change::Set(preferences) = preferences {
            self.prefer(preferences)?;
        }
        status.apply(&mut self.object.status);
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.record(EventType::DriverUpdated);
        check_size(&self.object)
    }

    fn prefer(&mut self, change: DriverPreferencesChange) -> Result<()> {
        let DriverPreferencesChange {
            charging_speed,
            currency,
            default_payment_method,
            max_price_per_kwh,
            notifications,
            preferred_charging_stations,
            preferred_cpos,
        } = change;
        let preferences = &mut self.object.preferences;
        let empty = self.object.wallet_balance == 0;
        check_currency(
            "preferences.currency",
            &currency,
            preferences.currency,
            empty,
        )?;
        charging_speed.apply(&mut preferences.charging_speed);
        self.internal.currency_chosen |= currency != Change::Keep;
        currency.apply(&mut preferences.currency);
        default_payment_method.apply(&mut preferences.default_payment_method);
        max_price_per_kwh.apply(&mut preferences.max_price_per_kwh);
        notifications.apply(&mut preferences.notifications);
        if let Change::Set(stations) = preferred_charging_stations {
            preferences.preferred_charging_stations = stations.into();
        }
        if let Change::Set(networks) = preferred_cpos {
            preferences.preferred_cpos = networks.into();
        }
        Ok(())
    }
}

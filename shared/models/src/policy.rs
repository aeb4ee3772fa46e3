//! Policies: rules about operators, places, prices and times, which fleets, drivers and vehicles refer to.

use jiff::civil::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::charging_station::Point;
use super::event_type::EventType;
use super::stored::{Object, Stored};
use super::{Distinct, Limited, check_size, sized};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Description, Name, Text};
use kernel::{Id, Kind, Result, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Policy {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// Internal note about the policy; null if it is not set.
    pub description: Option<Description>,
    pub metadata: Metadata,
    /// Whether the policy blocks what it forbids, or only warns.
    pub mode: PolicyMode,
    /// Name of the policy, which warnings and refusals show.
    pub name: Name,
    /// Limits that reservations and sessions have to fulfil, all of them together.
    pub rules: Rules,
    /// Only `active` policies apply.
    pub status: PolicyStatus,
    pub updated: Timestamp,
}

impl Object for Policy {
    type Internal = ();

    const KIND: Kind = Kind::Policy;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyMode {
    /// Reservations and sessions that break a rule are refused.
    #[default]
    Enforcement,
    /// Reservations and sessions that break a rule are accepted, and the response has `policy_warnings`.
    Suggestion,
}

/// The status of a policy. Only active policies apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyStatus {
    #[default]
    Active,
    Inactive,
    Archived,
}

/// The rules of a policy, all of which must be fulfilled. A rule that is empty or null is no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rules {
    /// The station's operator must be one of these.
    pub allowed_operators: Vec<Text<256>>,
    /// The station's operator must be none of these, even if `allowed_operators` names it.
    pub denied_operators: Vec<Text<256>>,
    /// The station must lie in one of these circles.
    pub geofences: Vec<Geofence>,
    /// The highest effective price in minor units per kWh, tax included, in the currency in which the driver is billed. The effective price
    /// is the cost of the expected charge in the reserved window, divided by its energy, which is at least 1 kWh. The expected charge ends
    /// when the battery is full. It begins at the battery's last level, or at 20 % if that is unknown or older than 24 hours. Without a
    /// reservation the charge begins with the session. The start fee, the charging time and the hours of the window count, parking does
    /// not. Exact amounts are compared, before lines are rounded. A price in another currency is blocked; in live mode an unknown price is
    /// blocked too.
    pub max_price_per_kwh: Option<PriceCap>,
    /// The whole charging window must lie within these times, in the fleet's time zone.
    pub time_windows: Vec<TimeWindow>,
}

impl Rules {
    /// Checks whether the rules depend on the station: on its operator, its place or its price.
    pub fn depend_on_station(&self) -> bool {
        !self.allowed_operators.is_empty()
            || !self.denied_operators.is_empty()
            || !self.geofences.is_empty()
            || self.max_price_per_kwh.is_some()
    }

    /// Checks whether the rules depend on the time.
    pub fn depend_on_time(&self) -> bool {
        !self.time_windows.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Geofence {
    /// Centre of the circle.
    pub center: Center,
    /// Name of the area.
    pub name: Name,
    /// Radius of the circle in metres: more than 0, at most 50,000,000.
    pub radius_meters: Radius,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Center {
    /// -90 to 90.
    pub latitude: Degrees<90>,
    /// -180 to 180.
    pub longitude: Degrees<180>,
}

impl From<Center> for Point {
    fn from(center: Center) -> Self {
        Self {
            latitude: center.latitude.0,
            longitude: center.longitude.0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// The days on which the window begins; empty means every day.
    #[serde(default)]
    pub days_of_week: Distinct<DayOfWeek>,
    /// End of the window, `HH:MM`. If it is at or before `start_time`, it is on the next day.
    pub end_time: TimeOfDay,
    /// Start of the window, `HH:MM`.
    pub start_time: TimeOfDay,
}

/// In the order of the calendar's week.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum DayOfWeek {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl DayOfWeek {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// A time of day to the minute, written `HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay(Time);

impl TimeOfDay {
    pub fn time(self) -> Time {
        self.0
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected a time of day from 00:00 to 23:59";
        let [a, b, b':', c, d] = text.as_bytes() else {
            return Err(SHAPE);
        };
        let number = |tens: &u8, ones: &u8| match (tens, ones) {
            (b'0'..=b'9', b'0'..=b'9') => i8::try_from((tens - b'0') * 10 + (ones - b'0')).ok(),
            _ => None,
        };
        let time = number(a, b)
            .zip(number(c, d))
            .and_then(|(hour, minute)| Time::new(hour, minute, 0, 0).ok());
        time.map(Self).ok_or(SHAPE)
    }
}

impl From<TimeOfDay> for String {
    fn from(TimeOfDay(time): TimeOfDay) -> Self {
        format!("{:02}:{:02}", time.hour(), time.minute())
    }
}

/// Smaller values are treated as zero. DynamoDB cannot store very small numbers.
const TINY: f64 = 1e-9;

/// An angle from `-MOST` to `MOST` degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Degrees<const MOST: u16>(f64);

impl<const MOST: u16> TryFrom<f64> for Degrees<MOST> {
    type Error = String;

    fn try_from(degrees: f64) -> Result<Self, String> {
        match degrees.abs() {
            small if small < TINY => Ok(Self(0.0)),
            some if some <= f64::from(MOST) => Ok(Self(degrees)),
            _ => Err(format!("must lie between -{MOST} and {MOST}")),
        }
    }
}

/// A radius in metres. More than the earth's circumference has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Radius(f64);

impl Radius {
    pub fn meters(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Radius {
    type Error = &'static str;

    fn try_from(meters: f64) -> Result<Self, &'static str> {
        if (TINY..=50_000_000.0).contains(&meters) {
            Ok(Self(meters))
        } else {
            Err("must be more than 0 and at most 50000000")
        }
    }
}

/// The highest price, in minor units per kWh; it may have a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct PriceCap(f64);

impl PriceCap {
    pub fn minor_units(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for PriceCap {
    type Error = &'static str;

    fn try_from(price: f64) -> Result<Self, &'static str> {
        match price {
            small if (0.0..TINY).contains(&small) => Ok(Self(0.0)),
            some if (TINY..=1e9).contains(&some) => Ok(Self(some)),
            _ => Err("must lie between 0 and 1000000000"),
        }
    }
}

/// The rules of a body. An omitted rule keeps its value; null and an empty list remove the rule.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RulesChange {
    /// Names of the only operators that are allowed. An empty list or null: all.
    #[serde(default)]
    pub allowed_operators: Patch<Distinct<Text<256>>>,
    /// Names of operators that are forbidden, even if they are allowed too. An empty list or null: none.
    #[serde(default)]
    pub denied_operators: Patch<Distinct<Text<256>>>,
    /// Circles of which a station has to lie in at least one. An empty list or null: anywhere.
    #[serde(default)]
    pub geofences: Patch<Limited<Geofence>>,
    /// Highest effective price in minor units per kWh, tax included; it may have a fraction.
    #[serde(default)]
    pub max_price_per_kwh: Patch<PriceCap>,
    /// Times of the week of which one has to contain the whole reserved window, in the fleet's time zone. An empty list or null: any time.
    #[serde(default)]
    pub time_windows: Patch<Limited<TimeWindow>>,
}

/// The body of `POST /v1/policies`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPolicy {
    /// Name of the policy, which warnings and refusals show.
    pub name: Name,
    /// Limits that reservations and sessions have to fulfil, all of them together.
    pub rules: RulesChange,
    /// Internal note about the policy.
    pub description: Option<Description>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Default `enforcement`.
    pub mode: Option<PolicyMode>,
}

impl RequestBody for NewPolicy {}

/// The body of `POST /v1/policies/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyChange {
    /// Internal note about the policy. Null removes it.
    #[serde(default)]
    pub description: Patch<Description>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Whether the policy blocks what it forbids, or only warns.
    #[serde(default)]
    pub mode: Change<PolicyMode>,
    /// Name of the policy, which warnings and refusals show.
    #[serde(default)]
    pub name: Change<Name>,
    /// Rules to change. Omitted rules keep their values.
    #[serde(default)]
    pub rules: Change<RulesChange>,
    /// Only `active` policies apply.
    #[serde(default)]
    pub status: Change<PolicyStatus>,
}

impl RequestBody for PolicyChange {}

impl Policy {
    /// Returns a new, active policy.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn new(new: NewPolicy, now: Timestamp) -> Result<Stored<Self>> {
        let mut rules = Rules::default();
        rules.change(new.rules)?;
        let policy = sized(Self {
            id: Id::new(Kind::Policy, now),
            object: Kind::Policy,
            created: now,
            description: new.description,
            metadata: Metadata::new(new.metadata)?,
            mode: new.mode.unwrap_or_default(),
            name: new.name,
            rules,
            status: PolicyStatus::Active,
            updated: now,
        })?;
        Ok(Stored::new(policy).recording(EventType::PolicyCreated))
    }

    pub fn is_active(&self) -> bool {
        self.status == PolicyStatus::Active
    }
}

impl Stored<Policy> {
    /// Applies an update. Omitted fields and omitted rules keep their values.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn update(&mut self, change: PolicyChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        let PolicyChange {
            description,
            metadata,
            mode,
            name,
            rules,
            status,
        } = change;
        description.apply(&mut self.object.description);
        self.object.metadata.merge(metadata)?;
        mode.apply(&mut self.object.mode);
        name.apply(&mut self.object.name);
        if let Change::Set(rules) = rules {
            self.object.rules.change(rules)?;
        }
        status.apply(&mut self.object.status);
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.record(EventType::PolicyUpdated);
        check_size(&self.object)
    }

    /// Records that the policy is deleted.
    pub fn delete(&mut self) {
        self.record(EventType::PolicyDeleted);
    }
}

impl Rules {
    fn change(&mut self, change: RulesChange) -> Result<()> {
        let RulesChange {
            allowed_operators,
            denied_operators,
            geofences,
            max_price_per_kwh,
            time_windows,
        } = change;
        if let Some(operators) = given(allowed_operators) {
            self.allowed_operators = operators.into();
        }
        if let Some(operators) = given(denied_operators) {
            self.denied_operators = operators.into();
        }
        if let Some(geofences) = given(geofences) {
            self.geofences = geofences.0;
        }
        max_price_per_kwh.apply(&mut self.max_price_per_kwh);
        if let Some(windows) = given(time_windows) {
            self.time_windows = windows.0;
        }
        Ok(())
    }
}

/// Returns the list that a member sets, which is empty if the member clears it.
fn given<L: Default>(list: Patch<L>) -> Option<L> {
    match list {
        Patch::Keep => None,
        Patch::Clear => Some(L::default()),
        Patch::Set(list) => Some(list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Error;
    use serde_json::{Value, json};

    fn policy(rules: Value) -> Result<Stored<Policy>> {
        let body = json!({"name": "P", "rules": rules});
        let body = serde_json::from_value(body).map_err(Error::internal)?;
        Policy::new(body, Timestamp::from_unix_millis(0))
    }

    #[test]
    fn a_time_of_day_has_hours_and_minutes() {
        for (text, valid) in [
            ("00:00", true),
            ("23:59", true),
            ("24:00", false),
            ("12:60", false),
            ("9:00", false),
            ("09:00:00", false),
            ("0a:00", false),
            ("", false),
        ] {
            let read = TimeOfDay::try_from(text.to_owned());
            assert_eq!(read.is_ok(), valid, "{text}");
            if let Ok(time) = read {
                assert_eq!(String::from(time), text);
            }
        }
    }

    #[test]
    fn an_update_changes_the_rules_it_names_and_null_lifts_one() {
        let mut policy = policy(json!({"allowed_operators": ["A"], "denied_operators": ["B"], "max_price_per_kwh": 42.5}))
            .unwrap();
        let change = json!({"rules": {"allowed_operators": null, "max_price_per_kwh": null}, "status": "archived"});
        policy
            .update(
                serde_json::from_value(change).unwrap(),
                Timestamp::from_unix_millis(1),
            )
            .unwrap();
        let want = json!({"allowed_operators": [], "denied_operators": ["B"], "geofences": [], "max_price_per_kwh": null,
            "time_windows": []});
        assert_eq!(serde_json::to_value(&policy.object.rules).unwrap(), want);
        assert!(!policy.object.is_active());
    }

    #[test]
    fn lists_have_at_most_a_hundred_entries_and_days_none_twice() {
        let window = json!({"start_time": "08:00", "end_time": "09:00"});
        assert!(policy(json!({"time_windows": vec![window.clone(); 100]})).is_ok());
        assert!(policy(json!({"time_windows": vec![window; 101]})).is_err());
        let twice = json!({"days_of_week": ["monday", "monday"], "start_time": "08:00", "end_time": "09:00"});
        assert!(policy(json!({"time_windows": [twice]})).is_err());
    }
}

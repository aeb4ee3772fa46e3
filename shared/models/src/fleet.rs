//! Fleets: groups of vehicles and drivers that are billed together.

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::account::Account;
use super::action::Action;
use super::body::RequestBody;
use super::event_type::EventType;
use super::party::{FleetBillingDetails, FleetBillingDetailsChange};
use super::search::SearchField;
use super::stored::{Object, Stored};
use super::transaction::check_currency;
use super::{Distinct, check_size, sized};
use kernel::fields::address::Address;
use kernel::fields::cycle::{BillingCycle, ReportFrequency};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Email, Memo, Name, Phone, ZoneName};
use kernel::time::{DAY, minutes};
use kernel::{Currency, Id, Kind, Result, SignedDuration, Timestamp, Window};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fleet {
    pub id: Id,
    pub object: Kind,
    /// Postal address of the fleet. Invoices show it unless `billing_details.billing_address` is set.
    pub address: Address,
    /// Details that invoices show of the fleet as the buyer.
    #[serde(default)]
    pub billing_details: FleetBillingDetails,
    pub created: Timestamp,
    /// Internal note about the fleet; "" if it is not set.
    pub description: Memo<1000>,
    /// Contact address of the fleet, which invoices show.
    pub email: Email,
    pub metadata: Metadata,
    /// System of units that the fleet prefers. It is stored and returned only: no response and no report contains distances or other
    /// figures that depend on it.
    pub metric_system: MetricSystem,
    /// Name of the fleet. Invoices show it as the buyer unless `billing_details.legal_name` is set.
    pub name: Name,
    /// Telephone number of the fleet; null if it is not set.
    pub phone: Option<Phone>,
    /// Ids of the policies that all reservations and sessions of the fleet have to fulfil.
    pub policy_ids: Vec<Id>,
    /// Settings for billing, payment and reports.
    pub preferences: FleetPreferences,
    /// Whether the fleet may reserve and charge. A fleet that is not active creates no new reservations and sessions.
    pub status: FleetStatus,
    /// Time zone of billing periods, reports and the time windows of policies.
    pub timezone: ZoneName,
    /// Number of drivers that are attached to the fleet.
    pub total_drivers: u64,
    /// Energy of completed sessions in kWh. A session counts within seconds after it has ended.
    pub total_energy_consumed_kwh: f64,
    /// Number of charging sessions that have been completed. A session counts within seconds after it has ended.
    pub total_sessions: u64,
    /// Number of vehicles of the fleet.
    pub total_vehicles: u64,
    pub updated: Timestamp,
    /// Balance of the wallet, in minor units of `preferences.default_currency`.
    pub wallet_balance: i64,
}

impl Object for Fleet {
    type Internal = FleetInternal;

    const KIND: Kind = Kind::Fleet;

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

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let FleetInternal {
            billing,
            former_zones: _,
            reporting,
        } = &stored.internal;
        let ends = [billing, reporting].into_iter().flatten();
        let at = ends.map(|period| period.until.plus(SETTLING)).min();
        at.map(|at| (at, Action::BillFleet))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricSystem {
    #[default]
    InternationalSystem,
    UsCustomarySystem,
    ImperialSystem,
}

/// Whether a fleet or driver may reserve and charge. Every change of the status is allowed. Only `active` allows new reservations, sessions
/// and attachments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetStatus {
    #[default]
    Active,
    Suspended,
    Archived,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetPreferences {
    /// Length of the period after which invoices of the fleet are drafted, at midnight in its time zone.
    pub billing_cycle: BillingCycle,
    /// Currency of the fleet's invoices, and of reservations of drivers that prefer no other one.
    pub default_currency: Currency,
    /// Id of the payment method that pays when neither the request nor the driver names one; null if there is none.
    pub default_payment_method: Option<Id>,
    /// Whether drivers of the fleet receive session status notifications.
    pub notifications: bool,
    /// How often a report of the fleet is generated, if the account's `reporting_enabled` is true.
    pub report_frequency: ReportFrequency,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetPreferencesChange {
    /// Length of the period after which invoices of the fleet are drafted, at midnight in its time zone. Default: that of the account.
    #[serde(default)]
    pub billing_cycle: Change<BillingCycle>,
    /// Currency of the fleet's invoices, and of reservations of drivers that prefer no other one.
    #[serde(default)]
    pub default_currency: Change<Currency>,
    /// Id of a payment method of the fleet or the account that pays when neither the request nor the driver names one. Null removes it.
    #[serde(default)]
    pub default_payment_method: Patch<Id>,
    /// Whether drivers of the fleet receive session status notifications.
    #[serde(default)]
    pub notifications: Change<bool>,
    /// How often a report of the fleet is generated, if the account's `reporting_enabled` is true. Default: that of the account.
    #[serde(default)]
    pub report_frequency: Change<ReportFrequency>,
}

/// The internal state of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetInternal {
    /// The current billing period, or a past one that is not billed yet.
    pub billing: Option<Window>,
    /// The time zones before the present one, the oldest first, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_zones: Vec<FormerZone>,
    /// The same as `billing` for reports; none if the fleet has no reports.
    pub reporting: Option<Window>,
}

/// A time zone that a fleet had before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerZone {
    pub zone: ZoneName,
    /// The time at which the fleet moved to the next zone.
    pub until: Timestamp,
}

/// The maximum number of former time zones that a fleet keeps, so that its item does not grow without limit.
const FORMER_ZONES: usize = 16;

/// The time between the end of a period and the creation of its invoice and its report. Sessions that ended in time are stored and charged
/// by then.
const SETTLING: SignedDuration = minutes(15);

impl FleetInternal {
    /// Returns the billing period that has ended and has no invoice yet.
    pub fn to_bill(&self, now: Timestamp) -> Option<Window> {
        self.billing
            .filter(|period| period.until.plus(SETTLING) <= now)
    }

    /// Returns the reporting period that has ended and has no report yet.
    pub fn to_report(&self, now: Timestamp) -> Option<Window> {
        self.reporting
            .filter(|period| period.until.plus(SETTLING) <= now)
    }
}

/// A kind of period in a fleet's time zone: weeks from Monday, months, quarters and years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cycle {
    Days(i16),
    Months(i8),
}

impl Cycle {
    fn of_billing(cycle: BillingCycle) -> Self {
        match cycle {
            BillingCycle::Weekly => Self::Days(7),
            BillingCycle::Monthly => Self::Months(1),
            BillingCycle::Quarterly => Self::Months(3),
            BillingCycle::Yearly => Self::Months(12),
        }
    }

    fn of_reports(frequency: ReportFrequency) -> Option<Self> {
        match frequency {
            ReportFrequency::Never => None,
            ReportFrequency::Daily => Some(Self::Days(1)),
            ReportFrequency::Weekly => Some(Self::Days(7)),
            ReportFrequency::Monthly => Some(Self::Months(1)),
            ReportFrequency::Quarterly => Some(Self::Months(3)),
        }
    }

    /// Returns the first day of the period that contains a day.
    fn first(self, day: Date) -> Date {
        match self {
            Self::Days(7) => {
                day.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days())
            }
            Self::Days(_) => day,
            Self::Months(months) => {
                let into = (day.month() - 1) % months;
                day.first_of_month()
                    .saturating_sub(i64::from(into).months())
            }
        }
    }

    /// Returns the start of the period that contains a moment.
    fn begin(self, moment: Timestamp, zone: &TimeZone) -> Timestamp {
        midnight(self.first(moment.date_in(zone)), zone).unwrap_or(moment)
    }

    /// Returns the end of that period.
    fn end(self, moment: Timestamp, zone: &TimeZone) -> Timestamp {
        let first = self.first(moment.date_in(zone));
        let next = match self {
            Self::Days(days) => first.saturating_add(i64::from(days).days()),
            Self::Months(months) => first.saturating_add(i64::from(months).months()),
        };
        midnight(next, zone)
            .filter(|end| *end > moment)
            .unwrap_or(moment.plus(DAY))
    }
}

/// Returns the start of a day: midnight, or later if a change of the clocks skips midnight.
fn midnight(day: Date, zone: &TimeZone) -> Option<Timestamp> {
    let begin = day.to_zoned(zone.clone()).ok()?;
    Some(begin.timestamp().into())
}

/// The body of `POST /v1/fleets`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFleet {
    /// Name of the fleet. Invoices show it as the buyer unless `billing_details.legal_name` is set.
    pub name: Name,
    /// Contact address of the fleet, which invoices show.
    pub email: Email,
    /// Postal address of the fleet. Invoices show it unless `billing_details.billing_address` is set.
    pub address: Address,
    /// Details that invoices show of the fleet as the buyer.
    pub billing_details: Option<FleetBillingDetailsChange>,
    /// Internal note about the fleet. Default "".
    pub description: Option<Memo<1000>>,
    /// Telephone number of the fleet.
    pub phone: Option<Phone>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// System of units that the fleet prefers. Default `international_system`.
    pub metric_system: Option<MetricSystem>,
    /// Ids of the policies that all reservations and sessions of the fleet have to fulfil.
    pub policy_ids: Option<Distinct<Id>>,
    /// Settings for billing, payment and reports.
    pub preferences: Option<FleetPreferencesChange>,
    /// Time zone of billing periods, reports and the time windows of policies. Default `UTC`.
    pub timezone: Option<ZoneName>,
}

impl RequestBody for NewFleet {}

/// The body of `POST /v1/fleets/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetChange {
    /// Postal address of the fleet. Invoices show it unless `billing_details.billing_address` is set.
    #[serde(default)]
    pub address: Change<Address>,
    /// Details that later invoices show of the fleet as the buyer, changed member by member.
    #[serde(default)]
    pub billing_details: Change<FleetBillingDetailsChange>,
    /// Internal note about the fleet. "" removes it.
    #[serde(default)]
    pub description: Change<Memo<1000>>,
    /// Contact address of the fleet, which invoices show.
    #[serde(default)]
    pub email: Change<Email>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// System of units that the fleet prefers. It is stored and returned only.
    #[serde(default)]
    pub metric_system: Change<MetricSystem>,
    /// Name of the fleet. Invoices show it as the buyer unless `billing_details.legal_name` is set.
    #[serde(default)]
    pub name: Change<Name>,
    /// Telephone number of the fleet. Null removes it.
    #[serde(default)]
    pub phone: Patch<Phone>,
    /// Ids of the policies of the fleet. The list replaces the present one.
    #[serde(default)]
    pub policy_ids: Change<Distinct<Id>>,
    /// Settings for billing, payment and reports, changed member by member.
    #[serde(default)]
    pub preferences: Change<FleetPreferencesChange>,
    /// Whether the fleet may reserve and charge. A fleet that is not active creates no new reservations and sessions.
    #[serde(default)]
    pub status: Change<FleetStatus>,
    /// Time zone of billing periods, reports and the time windows of policies.
    #[serde(default)]
    pub timezone: Change<ZoneName>,
}

impl RequestBody for FleetChange {}

impl Fleet {
    /// Returns a new, active fleet. Its currency is the account's unless the body names another one.
    ///
    /// # Errors
    /// 400 if metadata or `policy_ids` exceed their limits.
    pub fn new(new: NewFleet, account: &Account, now: Timestamp) -> Result<Stored<Self>> {
        let mut preferences = FleetPreferences {
            billing_cycle: account.preferences.billing_cycle,
            default_currency: account.default_currency,
            default_payment_method: None,
            notifications: true,
            report_frequency: account.preferences.report_frequency,
        };
        preferences.change(new.preferences.unwrap_or_default());
        let mut billing_details = FleetBillingDetails::default();
        billing_details.update(new.billing_details.unwrap_or_default());
        let fleet = sized(Self {
            id: Id::new(Kind::Fleet, now),
            object: Kind::Fleet,
            address: new.address,
            billing_details,
            created: now,
            description: new.description.unwrap_or_default(),
            email: new.email,
            metadata: Metadata::new(new.metadata)?,
            metric_system: new.metric_system.unwrap_or_default(),
            name: new.name,
            phone: new.phone,
            policy_ids: new.policy_ids.unwrap_or_default().into(),
            preferences,
            status: FleetStatus::Active,
            timezone: new.timezone.unwrap_or_else(ZoneName::utc),
            total_drivers: 0,
            total_energy_consumed_kwh: 0.0,
            total_sessions: 0,
            total_vehicles: 0,
            updated: now,
            wallet_balance: 0,
        })?;
        let mut fleet = Stored::new(fleet).recording(EventType::FleetCreated);
        fleet.plan(now);
        Ok(fleet)
    }

    /// Returns the time zone for a fleet's rules; UTC if the fleet was deleted.
    pub fn zone(fleet: Option<&Self>) -> TimeZone {
        fleet.map_or(TimeZone::UTC, |fleet| fleet.timezone.rules())
    }

    pub fn is_active(&self) -> bool {
        self.status == FleetStatus::Active
    }
}

impl Stored<Fleet> {
    /// Applies an update. Omitted fields keep their values. The current billing and reporting periods follow the new settings.
    ///
    /// # Errors
    /// 409 for another currency while there is money in the wallet; 400 if metadata or `policy_ids` exceed their limits.
    pub fn update(&mut self, change: FleetChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        let FleetChange {
            address,
            billing_details,
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
                self.object.preferences.default_currency,
            );
            check_currency(
                param,
                default_currency,
                current,
                self.object.wallet_balance == 0,
            )?;
        }
        address.apply(&mut self.object.address);
        if let Change::Set(details) = billing_details {
            self.object.billing_details.update(details);
        }
        description.apply(&mut self.object.description);
        email.apply(&mut self.object.email);
        self.object.metadata.merge(metadata)?;
        metric_system.apply(&mut self.object.metric_system);
        name.apply(&mut self.object.name);
        phone.apply(&mut self.object.phone);
        if let Change::Set(ids) = policy_ids {
            self.object.policy_ids = ids.into();
        }
        if let Change::Set(preferences) = preferences {
            self.object.preferences.change(preferences);
        }
        status.apply(&mut self.object.status);
        let zone = self.object.timezone.clone();
        timezone.apply(&mut self.object.timezone);
        if zone != self.object.timezone {
            let former = &mut self.internal.former_zones;
            former.push(FormerZone { zone, until: now });
            let surplus = former.len().saturating_sub(FORMER_ZONES);
            former.drain(..surplus);
        }
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.plan(now);
        self.record(EventType::FleetUpdated);
        check_size(&self.object)
    }

    /// Returns the time zone that the fleet had at a moment; for a moment in the future the present one.
    pub fn zone_at(&self, moment: Timestamp) -> &ZoneName {
        let mut former = self.internal.former_zones.iter();
        let zone = former.find(|former| moment < former.until);
        zone.map_or(&self.object.timezone, |former| &former.zone)
    }

    /// Records that the fleet is deleted.
    pub fn delete(&mut self) {
        self.record(EventType::FleetDeleted);
    }

    /// Computes the current periods from the fleet's settings. A period that has started keeps its start and ends at the end of the new
    /// cycle, so that no time is billed twice or omitted; if that end is over already in the time zone that the fleet has now, it ended
    /// there. A period that has ended is not changed until it is billed.
    pub fn plan(&mut self, now: Timestamp) {
        let zone = self.object.timezone.rules();
        let left = self.internal.former_zones.last();
        let left = left.filter(|former| former.until == now);
        let left = left.map(|former| former.zone.rules());
        let plan = |cycle: Cycle, before: Option<Window>| match before {
            Some(over) if over.until <= now => over,
            before => {
                let begun = cycle.begin(now, &zone);
                let from = before.map_or(begun, |before| before.from);
                let first = |zone: &TimeZone| cycle.first(now.date_in(zone));
                let is_over = |left: &TimeZone| from < begun && first(left) < first(&zone);
                let until = if left.as_ref().is_some_and(is_over) {
                    begun
                } else {
                    cycle.end(now.max(from), &zone)
                };
                Window { from, until }
            }
        };
        let reports = Cycle::of_reports(self.object.preferences.report_frequency);
        self.internal.reporting = reports.map(|cycle| plan(cycle, self.internal.reporting));
        let billing = Cycle::of_billing(self.object.preferences.billing_cycle);
        self.internal.billing = Some(plan(billing, self.internal.billing));
    }

    /// Starts the periods that follow those that have ended.
    pub fn turn_over(&mut self, now: Timestamp) {
        let zone = self.object.timezone.rules();
        let next = |cycle: Cycle, over: Window| Window {
            from: over.until,
            until: cycle.end(over.until, &zone),
        };
        if let Some(over) = self.internal.to_bill(now) {
            let cycle = Cycle::of_billing(self.object.preferences.billing_cycle);
            self.internal.billing = Some(next(cycle, over));
        }
        if let Some(over) = self.internal.to_report(now) {
            let cycle = Cycle::of_reports(self.object.preferences.report_frequency);
            self.internal.reporting = cycle.map(|cycle| next(cycle, over));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn periods_begin_at_the_fleets_midnight_across_dst_changes() {
        let zone = |name| TimeZone::get(name).unwrap();
        let weekly = Cycle::of_billing(BillingCycle::Weekly);
        let monthly = Cycle::of_billing(BillingCycle::Monthly);
        let quarterly = Cycle::of_billing(BillingCycle::Quarterly);
        let yearly = Cycle::of_billing(BillingCycle::Yearly);
        let daily = Cycle::of_reports(ReportFrequency::Daily).unwrap();
        for (cycle, name, moment, begin, end) in [
            (
                weekly,
                "UTC",
                "2026-03-01T08:00:00Z",
                "2026-02-23T00:00:00Z",
                "2026-03-02T00:00:00Z",
            ),
            // The clocks go forward on 29 March, and back on 25 October.
            (
                weekly,
                "Europe/Amsterdam",
                "2026-03-28T00:00:00Z",
                "2026-03-22T23:00:00Z",
                "2026-03-29T22:00:00Z",
            ),
            (
                daily,
                "Europe/Amsterdam",
                "2026-03-29T12:00:00Z",
                "2026-03-28T23:00:00Z",
                "2026-03-29T22:00:00Z",
            ),
            (
                daily,
                "Europe/Amsterdam",
                "2026-10-25T12:00:00Z",
                "2026-10-24T22:00:00Z",
                "2026-10-25T23:00:00Z",
            ),
            (
                monthly,
                "Europe/Amsterdam",
                "2026-03-31T21:59:59Z",
                "2026-02-28T23:00:00Z",
                "2026-03-31T22:00:00Z",
            ),
            (
                monthly,
                "Europe/Amsterdam",
                "2026-03-31T22:00:00Z",
                "2026-03-31T22:00:00Z",
                "2026-04-30T22:00:00Z",
            ),
            (
                quarterly,
                "America/New_York",
                "2026-03-31T00:00:00Z",
                "2026-01-01T05:00:00Z",
                "2026-04-01T04:00:00Z",
            ),
            (
                yearly,
                "Asia/Tokyo",
                "2026-12-31T14:59:59Z",
                "2025-12-31T15:00:00Z",
                "2026-12-31T15:00:00Z",
            ),
            // On this day the clocks skip midnight, so the day begins at 01:00.
            (
                daily,
                "Africa/Cairo",
                "2026-04-24T12:00:00Z",
                "2026-04-23T22:00:00Z",
                "2026-04-24T21:00:00Z",
            ),
        ] {
            let zone = zone(name);
            let moment = at(moment);
            assert_eq!(
                (cycle.begin(moment, &zone), cycle.end(moment, &zone)),
                (at(begin), at(end)),
                "{name} {moment}"
            );
        }
    }

    /// A fleet in Amsterdam.
    fn fleet(now: Timestamp) -> Stored<Fleet> {
        let json = json!({"name": "N", "email": "a@b.example", "timezone": "Europe/Amsterdam",
            "address": {"line1": "1", "city": "A", "postal_code": "1", "country": "NL"}});
        let account = json!({"name": "A", "email": "a@b.example", "type": "business"});
        let account = Account::new(serde_json::from_value(account).unwrap(), now).unwrap();
        let mut fleet = Fleet::new(serde_json::from_value(json).unwrap(), &account, now).unwrap();
        fleet.plan(now);
        fleet
    }

    fn window(from: &str, until: &str) -> Option<Window> {
        Some(Window {
            from: at(from),
            until: at(until),
        })
    }

    #[test]
    fn a_move_across_a_boundary_ends_the_period_there() {
        let began = at("2028-12-05T12:00:00Z");
        for (zone, yearly, end) in [
            // The year is over there since 10:00 UTC.
            ("Pacific/Kiritimati", true, "2028-12-31T10:00:00Z"),
            ("America/Lima", true, "2029-01-01T05:00:00Z"),
            ("Pacific/Kiritimati", false, "2028-12-31T10:00:00Z"),
            // The month has begun there after the period did, and is not over.
            ("America/Lima", false, "2029-01-01T05:00:00Z"),
            ("Europe/London", false, "2029-01-01T00:00:00Z"),
        ] {
            let mut fleet = fleet(began);
            fleet.object.preferences.billing_cycle = if yearly {
                BillingCycle::Yearly
            } else {
                BillingCycle::Monthly
            };
            fleet.plan(began);
            let last = at("2028-12-31T12:00:00Z");
            let from = fleet.internal.billing.unwrap().from;
            let moves = serde_json::from_value(json!({"timezone": zone})).unwrap();
            fleet.update(moves, last).unwrap();
            let period = Window {
                from,
                until: at(end),
            };
            assert_eq!(fleet.internal.billing, Some(period), "{zone}");
            let is_billed = fleet.internal.to_bill(last).is_some();
            assert_eq!(is_billed, at(end) < last);
        }
    }

    #[test]
    fn a_cycle_change_ends_the_current_period_at_the_new_boundary() {
        let now = at("2026-03-18T12:00:00Z");
        let mut fleet = fleet(now);
        let (march, april) = ("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z");
        assert_eq!(fleet.internal.billing, window(march, april));
        assert_eq!(
            fleet.internal.reporting,
            window("2026-03-15T23:00:00Z", "2026-03-22T23:00:00Z")
        );
        assert_eq!(fleet.next_action_at(), Some(at("2026-03-22T23:15:00Z")));
        fleet.object.preferences.billing_cycle = BillingCycle::Weekly;
        fleet.object.preferences.report_frequency = ReportFrequency::Never;
        fleet.plan(now);
        let sunday = "2026-03-22T23:00:00Z";
        assert_eq!(
            (fleet.internal.billing, fleet.internal.reporting),
            (window(march, sunday), None)
        );
        // A period that has ended is billed as planned.
        let late = at("2026-03-22T23:05:00Z");
        fleet.object.preferences.billing_cycle = BillingCycle::Monthly;
        fleet.plan(late);
        assert_eq!(
            (fleet.internal.billing, fleet.internal.to_bill(late)),
            (window(march, sunday), None)
        );
        let due = fleet.next_action_at().unwrap();
        assert_eq!(fleet.internal.to_bill(due), window(march, sunday));
        fleet.turn_over(due);
        assert_eq!(fleet.internal.billing, window(sunday, april));
    }
}

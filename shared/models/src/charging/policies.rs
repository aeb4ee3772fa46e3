//! Checks whether policies allow a charge. All rules of all active policies have to be met. Within a rule one matching entry is
//! enough, except in `denied_operators`, which takes precedence over all other rules.

use jiff::ToSpan as _;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use super::effective_price::{EffectivePrice, PriceCap};
use super::geo::distance_meters;
use super::opening_hours;
use super::search::Circle;
use crate::charging_station::ChargingStation;
use crate::policy::{DayOfWeek, Policy, PolicyMode, Rules, TimeWindow};
use kernel::window::joined;
use kernel::{Code, Currency, Error, Id, Mode, Window};

/// A rule of a policy, by its name in `rules`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Rule {
    AllowedOperators,
    DeniedOperators,
    Geofences,
    MaxPricePerKwh,
    TimeWindows,
}

impl Rule {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn broken(self) -> &'static str {
        match self {
            Self::AllowedOperators => "does not allow the station's operator",
            Self::DeniedOperators => "denies the station's operator",
            Self::Geofences => "does not allow this place",
            Self::MaxPricePerKwh => "does not allow the station's price",
            Self::TimeWindows => "does not allow this time",
        }
    }
}

/// A violated rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Breach {
    /// The policy's id.
    pub policy: Id,
    /// The name of the rule in the policy's `rules`.
    pub rule: Rule,
    /// Text of the violation, for people.
    pub message: String,
}

/// The response to a request that policies apply to: the object, and the policies in suggestion mode that it violates.
#[derive(Debug, Clone, Serialize)]
pub struct Allowed<T> {
    #[serde(flatten)]
    pub object: T,
    /// The policies that are violated, as far as is known; empty if none.
    pub policy_warnings: Vec<Breach>,
}

impl Breach {
    fn of(policy: &Policy, rule: Rule) -> Self {
        let name = policy.name.as_str();
        Self {
            policy: policy.id.clone(),
            rule,
            message: format!("The policy {name:?} {}.", rule.broken()),
        }
    }

    /// Returns the error for a request that violates the rule.
    pub fn refusal(self) -> Error {
        Code::PolicyBlocked
            .because(self.message)
            .with("policy", self.policy.to_string())
            .with("rule", self.rule.as_str())
    }
}

/// A station, and the price of the planned charge there.
#[derive(Debug, Clone, Copy)]
pub struct PricedStation<'a> {
    pub station: &'a ChargingStation,
    /// None if the price is unknown.
    pub price: Option<EffectivePrice>,
    /// In live mode an unknown price does not pass a cap.
    pub mode: Mode,
}

/// The input of a policy check.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContext<'a> {
    /// The station. None while no station is assigned; then no rule about stations is violated.
    pub station: Option<PricedStation<'a>>,
    /// The search area while no station is assigned: every policy must allow some place in it.
    pub area: Option<Circle>,
    /// The possible windows: it is enough if one of them is allowed, and the first is preferred. A window without length is a
    /// moment. If the list is empty, no rule about times is violated.
    pub windows: &'a [Window],
    /// The currency in which the driver is billed, and the currency of price caps.
    pub currency: Currency,
    /// The time zone of the vehicle's fleet.
    pub zone: &'a TimeZone,
}

impl<'a> PolicyContext<'a> {
    /// Returns the context of these windows, without a station and without an area.
    pub fn at(windows: &'a [Window], currency: Currency, zone: &'a TimeZone) -> Self {
        Self {
            station: None,
            area: None,
            windows,
            currency,
            zone,
        }
    }
}

/// The result of a policy check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The rule that forbids the plan; None if it is allowed.
    pub blocked: Option<Breach>,
    /// Rules of policies in suggestion mode that the plan violates.
    pub warnings: Vec<Breach>,
}

/// Checks a plan against policies.
pub fn judge(policies: &[Policy], plan: &PolicyContext<'_>) -> Verdict {
    let limits = Limits::new(policies, plan);
    let first_of = |policy: &&Policy| {
        let rule = broken_in(plan, &policy.rules).next()?;
        Some(Breach::of(policy, rule))
    };
    let by_station = limits.enforced.iter().find_map(first_of);
    let by_time = || {
        let preferred = plan.windows.first().filter(|_| limits.windows.is_empty())?;
        let forbids = |policy: &&&Policy| !allows_time(&policy.rules, preferred, plan);
        let policy = limits.enforced.iter().find(forbids)?;
        Some(Breach::of(policy, Rule::TimeWindows))
    };
    let suggested = active(policies, PolicyMode::Suggestion);
    let warnings = suggested.flat_map(|policy| {
        let by_station = broken_in(plan, &policy.rules);
        let times = Times::of(&policy.rules, plan);
        let possible = limits.windows.iter().any(|window| times.allow(window));
        let by_time = (!limits.windows.is_empty() && !possible).then_some(Rule::TimeWindows);
        by_station
            .chain(by_time)
            .map(|rule| Breach::of(policy, rule))
            .collect::<Vec<_>>()
    });
    Verdict {
        warnings: warnings.collect(),
        blocked: by_station.or_else(by_time),
    }
}

/// The policies in enforcement mode, prepared for checks of many stations.
#[derive(Debug, Clone)]
pub struct Limits<'a> {
    enforced: Vec<&'a Policy>,
    /// The times at which each of these policies allows charging.
    times: Vec<Times>,
    currency: Currency,
    /// The windows of the plan that every policy allows.
    windows: Vec<Window>,
}

impl<'a> Limits<'a> {
    /// Determines which of the plan's windows the policies allow. The plan's station is ignored.
    pub fn new(policies: &'a [Policy], plan: &PolicyContext<'_>) -> Self {
        let enforced: Vec<_> = active(policies, PolicyMode::Enforcement).collect();
        let times: Vec<_> = enforced
            .iter()
            .map(|policy| Times::of(&policy.rules, plan))
            .collect();
        let allowed = |window: &&Window| times.iter().all(|times| times.allow(window));
        let windows: Vec<_> = plan.windows.iter().filter(allowed).copied().collect();
        Self {
            enforced,
            times,
            currency: plan.currency,
            windows,
        }
    }

    /// Checks whether a policy limits the price per kWh.
    pub fn have_price_cap(&self) -> bool {
        let mut policies = self.enforced.iter();
        policies.any(|policy| policy.rules.max_price_per_kwh.is_some())
    }

    /// Checks whether every policy allows the station at that price.
    pub fn allow(&self, station: &PricedStation<'_>) -> bool {
        self.broken(station).is_none()
    }

    /// Returns the first rule that the station violates at its price; if it violates none, the rule about times of the first policy that
    /// does not allow the window.
    pub fn breach(&self, station: &PricedStation<'_>, window: &Window) -> Option<Breach> {
        let by_time = || {
            let forbids = |times: &Times| !times.allow(window);
            let place = self.times.iter().position(forbids)?;
            Some((self.enforced[place], Rule::TimeWindows))
        };
        let (policy, rule) = self.broken(station).or_else(by_time)?;
        Some(Breach::of(policy, rule))
    }

    /// Returns the first rule that the station violates.
    fn broken(&self, station: &PricedStation<'_>) -> Option<(&'a Policy, Rule)> {
        self.enforced.iter().find_map(|policy| {
            let mut broken = broken_by(station, &policy.rules, self.currency);
            Some((*policy, broken.next()?))
        })
    }

    /// Checks whether every policy allows a window within the reach of the plan's windows.
    pub fn allow_window(&self, window: &Window) -> bool {
        self.times.iter().all(|times| times.allow(window))
    }
}

fn active(policies: &[Policy], mode: PolicyMode) -> impl Iterator<Item = &Policy> {
    policies
        .iter()
        .filter(move |policy| policy.is_active() && policy.mode == mode)
}

/// Returns the rules about stations that the plan's station violates, or that any station in its area would violate.
fn broken_in<'a>(plan: &PolicyContext<'a>, rules: &'a Rules) -> impl Iterator<Item = Rule> + 'a {
    let station = plan.station;
    let by_station = station.map(|station| broken_by(&station, rules, plan.currency));
    let meets = |area: Circle| {
        rules.geofences.iter().any(|fence| {
            let apart = distance_meters(fence.center.into(), area.center);
            apart <= f64::from(area.meters) + fence.radius_meters.meters()
        })
    };
    let elsewhere = plan
        .area
        .filter(|_| station.is_none() && !rules.geofences.is_empty());
    let by_area = elsewhere
        .filter(|area| !meets(*area))
        .map(|_| Rule::Geofences);
    by_station.into_iter().flatten().chain(by_area)
}

/// Returns the rules about stations that this station violates at its price.
fn broken_by(
    priced: &PricedStation<'_>,
    rules: &Rules,
    currency: Currency,
) -> impl Iterator<Item = Rule> + use<> {
    let station = priced.station;
    let names = |operators: &[kernel::fields::text::Text<256>]| {
        operators
            .iter()
            .any(|operator| operator.as_str() == station.operator)
    };
    let denied = names(&rules.denied_operators);
    let not_allowed = !rules.allowed_operators.is_empty() && !names(&rules.allowed_operators);
    let inside = rules.geofences.iter().any(|fence| {
        distance_meters(fence.center.into(), station.location) <= fence.radius_meters.meters()
    });
    let outside = !rules.geofences.is_empty() && !inside;
    let dear = rules.max_price_per_kwh.is_some_and(|cap| {
        let minor_units = Decimal::try_from(cap.minor_units()).unwrap_or(Decimal::MAX);
        let cap = PriceCap {
            minor_units,
            currency,
        };
        !cap.allows(priced.price.as_ref(), priced.mode)
    });
    [
        (denied, Rule::DeniedOperators),
        (not_allowed, Rule::AllowedOperators),
        (outside, Rule::Geofences),
        (dear, Rule::MaxPricePerKwh),
    ]
    .into_iter()
    .filter_map(|(broken, rule)| broken.then_some(rule))
}

fn allows_time(rules: &Rules, window: &Window, plan: &PolicyContext<'_>) -> bool {
    Times::of(rules, plan).allow(window)
}

/// The times at which a policy allows charging, as far as the plan's windows reach.
#[derive(Debug, Clone)]
struct Times {
    /// In order, none adjacent to the next; None if there is no rule.
    spans: Option<Vec<Window>>,
}

impl Times {
    fn of(rules: &Rules, plan: &PolicyContext<'_>) -> Self {
        let reach = plan.windows.iter().map(|window| window.from).min();
        let end = plan.windows.iter().map(|window| window.until).max();
        let (Some(from), Some(until), false) = (reach, end, rules.time_windows.is_empty()) else {
            return Self { spans: None };
        };
        let zone = plan.zone;
        let spans = spans(&rules.time_windows, &Window { from, until }, zone);
        Self { spans: Some(spans) }
    }

    /// Checks whether the whole window lies inside.
    fn allow(&self, window: &Window) -> bool {
        let holds = |span: &Window| {
            span.from <= window.from && window.from < span.until && window.until <= span.until
        };
        self.spans
            .as_ref()
            .is_none_or(|spans| spans.iter().any(holds))
    }
}

/// Returns the spans in which weekly time windows are open, from the day before a reach until its end: in order, none adjacent to
/// the next.
pub fn spans(windows: &[TimeWindow], reach: &Window, zone: &TimeZone) -> Vec<Window> {
    let (first, last) = (reach.from.date_in(zone), reach.until.date_in(zone));
    let spans = first
        .saturating_add(-1.days())
        .series(1.day())
        .take_while(|day| *day <= last)
        .flat_map(|day| windows.iter().map(move |rule| (day, rule)))
        .filter(|(day, rule)| is_on(rule, *day))
        .filter_map(|(day, rule)| {
            opening_hours::span(day, rule.start_time.time(), rule.end_time.time(), zone)
        })
        .filter(|span| span.from < span.until);
    joined(spans.collect())
}

/// Checks whether the time window begins on that day.
fn is_on(rule: &TimeWindow, day: jiff::civil::Date) -> bool {
    let name = DayOfWeek::ALL[day.weekday().to_monday_zero_offset() as usize % 7];
    rule.days_of_week.is_empty() || rule.days_of_week.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::effective_price::ChargingVehicle;
    use crate::charging_station::{Connector, Point, Price, PriceType, Tax};
    use crate::policy::PolicyStatus;
    use kernel::Timestamp;
    use serde_json::{Value, json};

    fn policy(rules: Value) -> Policy {
        let body = json!({"name": "P", "rules": rules});
        Policy::new(
            serde_json::from_value(body).unwrap(),
            Timestamp::from_unix_millis(0),
        )
        .unwrap()
        .object
    }

    fn window(from: &str, until: &str) -> Window {
        Window {
            from: Timestamp::parse(from).unwrap(),
            until: Timestamp::parse(until).unwrap(),
        }
    }

    /// A Type2 station of Voltway in London with a price of 40 cents and 20 % tax.
    fn station() -> ChargingStation {
        let mut station = crate::fixtures::station();
        station.operator = "Voltway".into();
        station.location = Point {
            latitude: 51.5,
            longitude: 0.0,
        };
        station.pricing = vec![energy(40, Currency::USD)];
        station
    }

    fn energy(price: i64, currency: Currency) -> Price {
        Price {
            currency,
            price,
            price_decimal: None,
            step_size: 1,
            tax: Tax::Vat,
            tax_included: false,
            tax_percent: "20".into(),
            kind: PriceType::Energy,
            restrictions: None,
        }
    }

    fn at_station(policies: &[Policy], station: &ChargingStation) -> Option<Rule> {
        let priced = priced(station, Mode::Test);
        let plan = PolicyContext {
            station: Some(priced),
            area: None,
            windows: &[],
            currency: Currency::USD,
            zone: &TimeZone::UTC,
        };
        let blocked = judge(policies, &plan).blocked.map(|breach| breach.rule);
        let limits = Limits::new(policies, &plan);
        assert_eq!(limits.allow(&priced), blocked.is_none());
        blocked
    }

    /// The station at the price of 22 kWh within an hour.
    fn priced(station: &ChargingStation, mode: Mode) -> PricedStation<'_> {
        let connector = Connector {
            pricing: station.pricing.clone(),
            ..crate::fixtures::connector("1")
        };
        let hour = window("2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z");
        let (vehicle, currency) = (ChargingVehicle::Any, Currency::USD);
        let price = EffectivePrice::in_window(station, &connector, vehicle, &hour, currency);
        PricedStation {
            station,
            price,
            mode,
        }
    }

    fn at_times(policies: &[Policy], windows: &[Window], zone: &str) -> Option<Rule> {
        let zone = TimeZone::get(zone).unwrap();
        let plan = PolicyContext {
            station: None,
            area: None,
            windows,
            currency: Currency::USD,
            zone: &zone,
        };
        judge(policies, &plan).blocked.map(|breach| breach.rule)
    }

    /// Checks whether a window is allowed by a policy that allows Monday to Friday 22:00 to 06:00.
    fn at_night(from: &str, until: &str, zone: &str) -> bool {
        let days = ["monday", "tuesday", "wednesday", "thursday", "friday"];
        let night = policy(
            json!({"time_windows": [{"days_of_week": days, "start_time": "22:00", "end_time": "06:00"}]}),
        );
        at_times(&[night], &[window(from, until)], zone).is_none()
    }

    #[test]
    fn each_rule_about_stations_is_kept_or_broken() {
        let fence = |latitude: f64, radius: f64| json!({"center": {"latitude": latitude, "longitude": 0.0}, "name": "F", "radius_meters": radius});
        for (rules, want) in [
            (json!({}), None),
            (
                json!({"allowed_operators": [], "denied_operators": [], "geofences": []}),
                None,
            ),
            (json!({"allowed_operators": ["Voltway"]}), None),
            (json!({"allowed_operators": ["Other", "Voltway"]}), None),
            (
                json!({"allowed_operators": ["Other"]}),
                Some(Rule::AllowedOperators),
            ),
            (json!({"denied_operators": ["Other"]}), None),
            (
                json!({"denied_operators": ["Other", "Voltway"]}),
                Some(Rule::DeniedOperators),
            ),
            (json!({"geofences": [fence(51.501, 200.0)]}), None),
            (
                json!({"geofences": [fence(51.6, 1.0), fence(51.501, 200.0)]}),
                None,
            ),
            (
                json!({"geofences": [fence(51.501, 100.0)]}),
                Some(Rule::Geofences),
            ),
            (json!({"max_price_per_kwh": 48}), None),
            (
                json!({"max_price_per_kwh": 47.99}),
                Some(Rule::MaxPricePerKwh),
            ),
        ] {
            assert_eq!(
                at_station(&[policy(rules.clone())], &station()),
                want,
                "{rules}"
            );
        }
    }

    #[test]
    fn rules_and_policies_add_up_and_denying_beats_allowing() {
        let both =
            policy(json!({"allowed_operators": ["Voltway"], "denied_operators": ["Voltway"]}));
        assert_eq!(at_station(&[both], &station()), Some(Rule::DeniedOperators));
        let two = policy(json!({"allowed_operators": ["Voltway"], "max_price_per_kwh": 10}));
        assert_eq!(at_station(&[two], &station()), Some(Rule::MaxPricePerKwh));
        let (voltway, other) = (
            policy(json!({"allowed_operators": ["Voltway"]})),
            policy(json!({"allowed_operators": ["Other"]})),
        );
        assert_eq!(
            at_station(&[voltway, other], &station()),
            Some(Rule::AllowedOperators)
        );
    }

    #[test]
    fn the_effective_price_counts_with_its_tax() {
        let cap = |cap: f64| [policy(json!({"max_price_per_kwh": cap}))];
        let mut station = station();
        assert_eq!(at_station(&cap(47.9), &station), Some(Rule::MaxPricePerKwh));
        assert_eq!(at_station(&cap(48.0), &station), None);
        station.pricing[0].tax_included = true;
        assert_eq!(at_station(&cap(40.0), &station), None);
        station.pricing[0].price_decimal = Some("40.4".into());
        assert_eq!(at_station(&cap(40.0), &station), Some(Rule::MaxPricePerKwh));
        // An hour for 22 kWh.
        let mut time = energy(220, Currency::USD);
        (time.kind, time.tax_included) = (PriceType::Time, true);
        station.pricing.push(time);
        assert_eq!(at_station(&cap(50.3), &station), Some(Rule::MaxPricePerKwh));
        assert_eq!(at_station(&cap(50.4), &station), None);
    }

    #[test]
    fn an_unknown_price_passes_a_cap_in_test_mode_only() {
        let mut station = station();
        station.pricing.clear();
        let cap = [policy(json!({"max_price_per_kwh": 0}))];
        for (mode, want) in [(Mode::Test, None), (Mode::Live, Some(Rule::MaxPricePerKwh))] {
            let plan = PolicyContext {
                station: Some(priced(&station, mode)),
                area: None,
                windows: &[],
                currency: Currency::USD,
                zone: &TimeZone::UTC,
            };
            let blocked = judge(&cap, &plan).blocked.map(|breach| breach.rule);
            assert_eq!(blocked, want, "{mode}");
        }
    }

    #[test]
    fn a_price_in_another_currency_is_blocked() {
        let mut station = station();
        station.pricing = vec![energy(1, Currency::from_code("eur").unwrap())];
        let cap = [policy(json!({"max_price_per_kwh": 1000}))];
        assert_eq!(at_station(&cap, &station), Some(Rule::MaxPricePerKwh));
        assert_eq!(at_station(&[policy(json!({}))], &station), None);
    }

    // 2026-03-02 is a Monday.

    #[test]
    fn the_whole_window_lies_within_the_times() {
        assert!(at_night(
            "2026-03-02T22:00:00Z",
            "2026-03-03T06:00:00Z",
            "UTC"
        ));
        assert!(!at_night(
            "2026-03-02T21:59:59Z",
            "2026-03-02T23:00:00Z",
            "UTC"
        ));
        assert!(!at_night(
            "2026-03-03T05:00:00Z",
            "2026-03-03T06:00:00.001Z",
            "UTC"
        ));
        assert!(!at_night(
            "2026-03-03T12:00:00Z",
            "2026-03-03T13:00:00Z",
            "UTC"
        ));
    }

    #[test]
    fn a_window_that_wraps_belongs_to_the_day_it_begins_on() {
        // Early Monday belongs to Sunday's night, which is not among the days; early Saturday belongs to Friday's.
        assert!(!at_night(
            "2026-03-02T02:00:00Z",
            "2026-03-02T03:00:00Z",
            "UTC"
        ));
        assert!(at_night(
            "2026-03-07T02:00:00Z",
            "2026-03-07T03:00:00Z",
            "UTC"
        ));
        assert!(!at_night(
            "2026-03-07T22:00:00Z",
            "2026-03-07T23:00:00Z",
            "UTC"
        ));
    }

    #[test]
    fn times_are_those_of_the_fleets_zone() {
        let (from, until) = ("2026-03-02T22:00:00Z", "2026-03-02T23:00:00Z");
        assert!(at_night(from, until, "Europe/London"));
        assert!(!at_night(from, until, "America/New_York"));
        assert!(at_night(
            "2026-03-02T13:00:00Z",
            "2026-03-02T14:00:00Z",
            "Asia/Tokyo"
        ));
    }

    #[test]
    fn the_clocks_going_forward_or_back_moves_the_times_with_them() {
        // London goes forward on Sunday 2026-03-29 and back on 2026-10-25: 06:00 is 05:00Z in summer, 06:00Z in winter.
        let days = json!(["saturday"]);
        let night = [policy(
            json!({"time_windows": [{"days_of_week": days, "start_time": "22:00", "end_time": "06:00"}]}),
        )];
        for (from, until, want) in [
            ("2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z", true),
            ("2026-03-28T22:00:00Z", "2026-03-29T05:30:00Z", false),
            ("2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z", true),
            ("2026-10-24T20:59:00Z", "2026-10-25T06:00:00Z", false),
        ] {
            let allowed = at_times(&night, &[window(from, until)], "Europe/London").is_none();
            assert_eq!(allowed, want, "{from} {until}");
        }
        // A time within the skipped hour does not exist.
        let gap = [policy(
            json!({"time_windows": [{"start_time": "01:10", "end_time": "01:50"}]}),
        )];
        let skipped = [window("2026-03-29T01:10:00Z", "2026-03-29T01:50:00Z")];
        assert!(at_times(&gap, &skipped, "UTC").is_none());
    }

    #[test]
    fn windows_that_meet_are_one_and_an_equal_end_is_a_whole_day() {
        let halves = policy(
            json!({"time_windows": [{"start_time": "08:00", "end_time": "12:00"},
            {"start_time": "12:00", "end_time": "18:00"}]}),
        );
        let noon = window("2026-03-02T11:00:00Z", "2026-03-02T13:00:00Z");
        assert_eq!(
            at_times(std::slice::from_ref(&halves), &[noon], "UTC"),
            None
        );
        let late = window("2026-03-02T17:30:00Z", "2026-03-02T18:30:00Z");
        assert_eq!(at_times(&[halves], &[late], "UTC"), Some(Rule::TimeWindows));
        let always =
            policy(json!({"time_windows": [{"start_time": "00:00", "end_time": "00:00"}]}));
        let long = window("2026-03-02T11:00:00Z", "2026-03-03T11:00:00Z");
        assert_eq!(at_times(&[always], &[long], "UTC"), None);
    }

    #[test]
    fn a_moment_is_inside_from_the_first_to_before_the_last() {
        let day = [policy(
            json!({"time_windows": [{"start_time": "08:00", "end_time": "18:00"}]}),
        )];
        let at = |moment| at_times(&day, &[window(moment, moment)], "UTC").is_none();
        assert!(at("2026-03-02T08:00:00Z") && at("2026-03-02T17:59:59Z"));
        assert!(!at("2026-03-02T07:59:59Z") && !at("2026-03-02T18:00:00Z"));
    }

    #[test]
    fn one_window_that_all_policies_allow_is_enough() {
        let from_nine =
            policy(json!({"time_windows": [{"start_time": "09:00", "end_time": "20:00"}]}));
        let until_ten =
            policy(json!({"time_windows": [{"start_time": "00:00", "end_time": "10:00"}]}));
        let eight = window("2026-03-02T08:00:00Z", "2026-03-02T08:30:00Z");
        let nine = window("2026-03-02T09:00:00Z", "2026-03-02T09:30:00Z");
        let ten = window("2026-03-02T10:00:00Z", "2026-03-02T10:30:00Z");
        let both = [from_nine, until_ten];
        assert_eq!(at_times(&both, &[eight, nine, ten], "UTC"), None);
        // Each of these is allowed by only one of the policies.
        assert_eq!(
            at_times(&both, &[eight, ten], "UTC"),
            Some(Rule::TimeWindows)
        );
    }

    #[test]
    fn a_suggestion_warns_and_only_active_policies_count() {
        let mut suggestion = policy(
            json!({"denied_operators": ["Voltway"], "max_price_per_kwh": 1,
                "time_windows": [{"start_time": "08:00", "end_time": "09:00"}]}),
        );
        suggestion.mode = PolicyMode::Suggestion;
        let windows = [window("2026-03-02T10:00:00Z", "2026-03-02T10:30:00Z")];
        let station = station();
        let plan = PolicyContext {
            station: Some(priced(&station, Mode::Test)),
            area: None,
            windows: &windows,
            currency: Currency::USD,
            zone: &TimeZone::UTC,
        };
        let verdict = judge(std::slice::from_ref(&suggestion), &plan);
        assert_eq!(verdict.blocked, None);
        let rules: Vec<_> = verdict
            .warnings
            .iter()
            .map(|breach| breach.rule.as_str())
            .collect();
        assert_eq!(
            rules,
            ["denied_operators", "max_price_per_kwh", "time_windows"]
        );
        for status in [PolicyStatus::Inactive, PolicyStatus::Archived] {
            for mode in [PolicyMode::Enforcement, PolicyMode::Suggestion] {
                let idle = Policy {
                    status,
                    mode,
                    ..suggestion.clone()
                };
                assert_eq!(judge(&[idle], &plan), Verdict::default());
            }
        }
    }

    #[test]
    fn the_refusal_names_policy_and_rule() {
        let denying = policy(json!({"denied_operators": ["Voltway"]}));
        let station = station();
        let plan = PolicyContext {
            station: Some(priced(&station, Mode::Test)),
            area: None,
            windows: &[],
            currency: Currency::USD,
            zone: &TimeZone::UTC,
        };
        let breach = judge(std::slice::from_ref(&denying), &plan)
            .blocked
            .unwrap();
        match breach.refusal() {
            Error::Client(refusal) => {
                assert_eq!(
                    (refusal.class, refusal.code),
                    (
                        kernel::error::ErrorClass::Forbidden,
                        Some(Code::PolicyBlocked)
                    )
                );
                let want = [
                    ("policy", denying.id.to_string()),
                    ("rule", "denied_operators".to_owned()),
                ];
                assert_eq!(refusal.details, want);
            }
            other => panic!("{other}"),
        }
    }
}

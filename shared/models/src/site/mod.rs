//! Sites: depots, whose vehicles charge behind common limits.
//!
//! A site has a plan ([`plan`]): when each vehicle charges until its next departure. The item of the site contains the plan in force: for
//! each vehicle the energy that it still needs and the energy of the current slot. At the end of a slot, and when limits, prices,
//! departures or telemetry change, the job `plan-site` accounts for the time since the last run and plans again. In test mode the
//! vehicles follow the plan. At stations of charging networks their sessions get charging profiles (`profiles.rs`), and start when there
//! is room for them (`starts.rs`).

pub mod charge;
mod csv;
pub mod inputs;
mod limits;
mod optimum;
pub mod plan;
mod profiles;
mod series;
pub mod starts;
pub mod view;

pub use series::{NewCarbon, NewPrices, SeriesChange, SiteDay, SiteSeries, days_of};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::event_type::EventType;
use super::policy::TimeWindow;
use super::search::SearchField;
use super::stored::{Object, Stored};
use super::{Distinct, MAX_LIST, check_size, sized};
use charge::{Charge, ShortageReason};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::Change;
use kernel::fields::text::{Name, ZoneName};
use kernel::{Currency, Error, Id, Kind, Result, Timestamp};

/// The maximum number of vehicles of a site, which are planned together.
pub const MOST_VEHICLES: usize = 500;

/// The maximum number of stations and limits of a site.
const MOST_STATIONS: usize = 20;
const MOST_LIMITS: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Site {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// The currency of the prices.
    pub currency: Currency,
    /// Limits on the power of the whole site, at most 20.
    pub limits: Vec<SiteLimit>,
    pub metadata: Metadata,
    /// Name shown in lists.
    pub name: Name,
    /// The quantity that the plan minimizes, once every need is met.
    #[serde(default)]
    pub optimize: SiteOptimize,
    /// The plan in force; null before the first departure.
    #[schema(required)]
    pub plan: Option<PlanSummary>,
    /// The ids of its charging stations.
    pub stations: Vec<Id>,
    /// IANA time zone of the weekly schedules of the limits, such as `Europe/London`.
    pub time_zone: ZoneName,
    pub updated: Timestamp,
}

impl Object for Site {
    type Internal = SiteInternal;

    const KIND: Kind = Kind::Site;

    fn id(&self) -> &Id {
        &self.id
    }

    fn names(&self) -> Vec<(SearchField, &str)> {
        vec![(SearchField::Name, self.name.as_str())]
    }

    fn shown_version(stored: &Stored<Self>) -> u64 {
        stored.version.saturating_sub(stored.internal.hidden_writes)
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::PlanSite))
    }
}

/// The part of a stored site that is not shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteInternal {
    /// The changes since the last plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<SitePlanReason>,
    /// The charges of the plan in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
    /// Charges that have begun and are not planned, because the departure was moved beyond the horizon, or has another one before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Charge>,
    /// The moment up to which the charges are accounted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_action_at: Option<Timestamp>,
    /// The number of writes that did not change the site as clients see it.
    #[serde(default)]
    pub hidden_writes: u64,
    /// The number of vehicles that refer to the site. It is always stored, because updates of vehicles change it in place.
    #[serde(default)]
    pub vehicles: usize,
}

/// A limit on the power of all vehicles and reservations of the site together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteLimit {
    /// W
    pub power_w: u32,
    /// When the limit holds, in the time zone of the site; empty means always.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub time_windows: Vec<TimeWindow>,
    /// Whether the limit is never exceeded, or exceeded only to meet a need.
    #[serde(rename = "type")]
    pub kind: LimitType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitType {
    /// Never exceeded.
    Capacity,
    /// Exceeded only if a vehicle would otherwise not have the energy that it needs.
    Cost,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiteOptimize {
    /// The price of the energy.
    #[default]
    Cost,
    /// The carbon dioxide of the energy. If its intensity is unknown, the highest known one is used; if none is known at all, the price.
    Carbon,
}

/// Summary of the plan in force. `GET /v1/sites/{id}/plan` shows it in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanSummary {
    /// The reasons why the last revision differs from the one before.
    pub changed_because: Vec<SitePlanReason>,
    /// When the revision was planned.
    pub planned_at: Timestamp,
    /// The number of times that the plan has changed.
    pub revision: u32,
    /// The departures that will lack energy: the 100 with the greatest shortage.
    pub short: Vec<ShortDeparture>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SitePlanReason {
    /// Departures were added, changed or removed, or the next ones came within 48 hours.
    Departures,
    Limits,
    /// Prices or another aim were set, carbon intensities of a site with the aim `carbon`, or another tariff at one of its stations.
    Prices,
    /// A vehicle reported a level that differs from the plan by more than 3 points.
    Telemetry,
    /// The departures that will lack energy have changed.
    Shortage,
    /// A session at a station of the site began or ended, or its charging profile was refused, or accepted after that.
    Sessions,
    /// Connectors of the stations went out of order, or are in order again.
    Stations,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShortDeparture {
    /// When the vehicle departs.
    pub at: Timestamp,
    /// Id of the departure.
    pub departure: Id,
    /// The reason why the energy will be missing.
    pub limited_by: ShortageReason,
    /// Missing energy in metered Wh.
    pub short_by_wh: u32,
    /// Id of the vehicle.
    pub vehicle: Id,
}

/// The body of `POST /v1/sites`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSite {
    /// Name shown in lists.
    pub name: Name,
    /// IANA time zone of the weekly schedules of the limits, such as `Europe/London`.
    pub time_zone: ZoneName,
    /// Default: the currency of the account.
    pub currency: Option<Currency>,
    /// At most 20. Default: none.
    #[schema(max_items = 20)]
    pub limits: Option<Vec<SiteLimit>>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// The quantity that the plan minimizes, once every need is met. Default: `cost`.
    #[serde(default)]
    pub optimize: SiteOptimize,
    /// The ids of its charging stations, at most 20. A station belongs to at most one site of the account.
    #[schema(value_type = Option<Vec<Id>>, max_items = 20)]
    pub stations: Option<Distinct<Id>>,
}

impl RequestBody for NewSite {}

/// The body of `POST /v1/sites/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteUpdate {
    /// Replaces all limits, at most 20.
    #[serde(default)]
    #[schema(value_type = Vec<SiteLimit>, max_items = 20)]
    pub limits: Change<Vec<SiteLimit>>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Name shown in lists.
    #[serde(default)]
    pub name: Change<Name>,
    /// The quantity that the plan minimizes, once every need is met.
    #[serde(default)]
    pub optimize: Change<SiteOptimize>,
    /// Replaces all stations, at most 20.
    #[serde(default)]
    #[schema(value_type = Vec<Id>, max_items = 20)]
    pub stations: Change<Distinct<Id>>,
    /// IANA time zone of the weekly schedules of the limits.
    #[serde(default)]
    pub time_zone: Change<ZoneName>,
}

impl RequestBody for SiteUpdate {}

impl Site {
    /// Creates a site without a plan.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn new(new: NewSite, currency: Currency, now: Timestamp) -> Result<Stored<Self>> {
        let site = Self {
            id: Id::new(Kind::Site, now),
            object: Kind::Site,
            created: now,
            currency: new.currency.unwrap_or(currency),
            limits: new.limits.unwrap_or_default(),
            metadata: Metadata::new(new.metadata)?,
            name: new.name,
            optimize: new.optimize,
            plan: None,
            stations: new.stations.unwrap_or_default().into(),
            time_zone: new.time_zone,
            updated: now,
        };
        site.check()?;
        Ok(Stored::new(sized(site)?).recording(EventType::SiteCreated))
    }

    /// Checks whether the power of the site is limited at any time, whatever the vehicles need.
    pub fn has_capacity_limit(&self) -> bool {
        let mut limits = self.limits.iter();
        limits.any(|limit| limit.kind == LimitType::Capacity)
    }

    fn check(&self) -> Result<()> {
        let lists = [
            ("limits", self.limits.len(), MOST_LIMITS),
            ("stations", self.stations.len(), MOST_STATIONS),
        ];
        for (param, length, most) in lists {
            if length > most {
                let message = format!("must have at most {most} entries");
                return Err(Error::invalid(param, message));
            }
        }
        let mut limits = self.limits.iter();
        match limits.position(|limit| limit.time_windows.len() > MAX_LIST) {
            Some(index) => {
                let param = format!("limits[{index}].time_windows");
                let message = format!("must have at most {MAX_LIST} entries");
                Err(Error::invalid(param, message))
            }
            None => Ok(()),
        }
    }
}

impl Stored<Site> {
    /// Applies an update. Omitted fields keep their values; after a change of the limits the site is planned again.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn update(&mut self, update: SiteUpdate, now: Timestamp) -> Result<()> {
        let SiteUpdate {
            limits,
            metadata,
            name,
            optimize,
            stations,
            time_zone,
        } = update;
        let unchanged = self.clone();
        let site = &mut self.object;
        let before = (
            site.limits.clone(),
            site.time_zone.clone(),
            site.stations.clone(),
        );
        limits.apply(&mut site.limits);
        site.metadata.merge(metadata)?;
        name.apply(&mut site.name);
        let optimized = site.optimize;
        optimize.apply(&mut site.optimize);
        let is_reordered = site.optimize != optimized;
        if let Change::Set(stations) = stations {
            site.stations = stations.into();
        }
        time_zone.apply(&mut site.time_zone);
        if *site == unchanged.object {
            return Ok(());
        }
        site.updated = now;
        site.check()?;
        check_size(&*site)?;
        let after = (
            site.limits.clone(),
            site.time_zone.clone(),
            site.stations.clone(),
        );
        if before != after {
            self.plan_again(SitePlanReason::Limits, now);
        }
        if is_reordered {
            self.plan_again(SitePlanReason::Prices, now);
        }
        self.record(EventType::SiteUpdated);
        Ok(())
    }

    /// Requests that the site is planned at once, if it has anything to plan, or a capacity limit that sessions may exceed.
    pub fn plan_again(&mut self, because: SitePlanReason, now: Timestamp) {
        let is_planned = !self.internal.charges.is_empty();
        if is_planned && !self.internal.changed.contains(&because) {
            self.internal.changed.push(because);
        }
        if is_planned || self.object.has_capacity_limit() {
            self.internal.next_action_at = Some(now);
        }
    }

    /// Counts the next write as hidden if it does not change the site as it was `before`.
    pub fn count_hidden_write(&mut self, before: &Site) {
        self.internal.hidden_writes += u64::from(self.object == *before);
    }

    /// Checks that one more vehicle can refer to the site.
    ///
    /// # Errors
    /// 409 if 500 vehicles refer to it.
    pub fn check_room(&self) -> Result<()> {
        if self.internal.vehicles < MOST_VEHICLES {
            return Ok(());
        }
        let message = format!("The site has {MOST_VEHICLES} vehicles, the most there can be.");
        Err(Error::conflict(message, Some(Kind::Site.name())))
    }

    /// Records that the site is deleted.
    ///
    /// # Errors
    /// 409 while vehicles refer to it.
    pub fn delete(&mut self) -> Result<()> {
        let vehicles = match self.internal.vehicles {
            0 => {
                self.record(EventType::SiteDeleted);
                return Ok(());
            }
            1 => "A vehicle refers".to_owned(),
            several => format!("{several} vehicles refer"),
        };
        let message = format!("{vehicles} to the site.");
        Err(Error::conflict(message, Some(Kind::Site.name())))
    }
}

//! The prices and the carbon intensity of a site's electricity, by quarter-hours. Those of a UTC day are one item.

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::csv;
use crate::body::{ReadCsv, RequestBody};
use crate::stored::Object;
use kernel::time::{HOUR, days, minutes, whole_millis};
use kernel::{Error, Id, Kind, Result, SignedDuration, Timestamp, Window};

/// The length of a slot.
pub const SLOT: SignedDuration = minutes(15);

/// The number of slots of a UTC day.
const SLOTS: usize = 96;

/// The time for which the days are kept, the maximum time that a request sets, and its maximum number of entries.
const KEPT: SignedDuration = days(60);
const REACH: SignedDuration = days(8);
const MOST_ENTRIES: usize = 800;

/// The maximum of a value, before it is converted to thousandths.
const MOST: f64 = 1e6;

/// The prices and the carbon intensity of a UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteDay {
    pub id: Id,
    pub object: Kind,
    /// Thousandths of a g per kWh in each quarter-hour; empty if none is known.
    #[serde(default)]
    pub carbon: Vec<Option<i64>>,
    /// Milliseconds since 1970 at the beginning of the day.
    pub from: i64,
    /// Thousandths of a minor unit per kWh in each quarter-hour; empty if none is known.
    #[serde(default)]
    pub prices: Vec<Option<i64>>,
    /// Id of the site.
    pub site: Id,
}

impl Object for SiteDay {
    type Internal = ();

    const KIND: Kind = Kind::SiteDay;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// One of the two series of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiteSeries {
    Prices,
    Carbon,
}

/// The body of `POST /v1/sites/{id}/prices`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrices {
    /// 1 to 800 entries in the order of time, over at most 8 days. They replace the known values from the first to the end of the last.
    #[schema(min_items = 1, max_items = 800)]
    pub prices: Vec<NewPrice>,
}

impl RequestBody for NewPrices {
    const CSV: Option<ReadCsv<Self>> = Some(|text| {
        let prices = csv::entries(text, "prices", "price_per_kwh")?;
        let prices = prices
            .into_iter()
            .map(|(from, until, price_per_kwh)| NewPrice {
                from,
                price_per_kwh,
                until,
            });
        Ok(Self {
            prices: prices.collect(),
        })
    });
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrice {
    /// At a quarter-hour.
    pub from: Timestamp,
    /// Minor units per kWh in the currency of the site; it may have a fraction and be negative.
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    pub price_per_kwh: f64,
    /// At a quarter-hour. Default: the next `from`; an hour after the last one.
    pub until: Option<Timestamp>,
}

/// The body of `POST /v1/sites/{id}/carbon`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCarbon {
    /// 1 to 800 entries in the order of time, over at most 8 days. They replace the known values from the first to the end of the last.
    #[schema(min_items = 1, max_items = 800)]
    pub carbon: Vec<NewCarbonValue>,
}

impl RequestBody for NewCarbon {
    const CSV: Option<ReadCsv<Self>> = Some(|text| {
        let carbon = csv::entries(text, "carbon", "g_per_kwh")?;
        let carbon = carbon
            .into_iter()
            .map(|(from, until, g_per_kwh)| NewCarbonValue {
                from,
                g_per_kwh,
                until,
            });
        Ok(Self {
            carbon: carbon.collect(),
        })
    });
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCarbonValue {
    /// At a quarter-hour.
    pub from: Timestamp,
    /// g of CO2 per kWh.
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub g_per_kwh: f64,
    /// At a quarter-hour. Default: the next `from`; an hour after the last one.
    pub until: Option<Timestamp>,
}

/// Checked values of a series, which replace the known ones. The response of the routes that set a series shows its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeriesChange {
    /// The beginning of the time that was replaced.
    pub from: Timestamp,
    pub series: SiteSeries,
    /// Id of the site.
    pub site: Id,
    /// The number of quarter-hours with a value in that time.
    pub slots: usize,
    /// The end of the time that was replaced.
    pub until: Timestamp,
    #[serde(skip)]
    values: Vec<(Window, i64)>,
}

impl NewPrices {
    /// # Errors
    /// 400 that names the entry.
    pub fn check(self, site: &Id) -> Result<SeriesChange> {
        let entries = self.prices.iter();
        let entries = entries.map(|entry| (entry.from, entry.until, entry.price_per_kwh));
        change(site, SiteSeries::Prices, "price_per_kwh", entries.collect())
    }
}

impl NewCarbon {
    /// # Errors
    /// 400 that names the entry.
    pub fn check(self, site: &Id) -> Result<SeriesChange> {
        let entries = self.carbon.iter();
        let entries = entries.map(|entry| (entry.from, entry.until, entry.g_per_kwh));
        change(site, SiteSeries::Carbon, "g_per_kwh", entries.collect())
    }
}

fn is_quarter(at: Timestamp) -> bool {
    at.unix_millis().rem_euclid(whole_millis(SLOT)) == 0
}

fn change(
    site: &Id,
    series: SiteSeries,
    member: &str,
    entries: Vec<csv::Entry>,
) -> Result<SeriesChange> {
    let name = match series {
        SiteSeries::Prices => "prices",
        SiteSeries::Carbon => "carbon",
    };
    if !(1..=MOST_ENTRIES).contains(&entries.len()) {
        return Err(Error::invalid(name, "must have 1 to 800 entries"));
    }
    let least = if series == SiteSeries::Carbon {
        0.0
    } else {
        -MOST
    };
    let mut values: Vec<(Window, i64)> = Vec::with_capacity(entries.len());
    for (place, (from, until, value)) in entries.iter().enumerate() {
        let invalid = |member: &str, message: &'static str| {
            Error::invalid(format!("{name}[{place}].{member}"), message)
        };
        let next = entries.get(place + 1).map(|next| next.0);
        let until = until.or(next).unwrap_or_else(|| from.plus(HOUR));
        let follows = values.last().is_none_or(|(last, _)| last.until <= *from);
        if !is_quarter(*from) || !follows {
            let message = "must be at a quarter-hour, and not before the end of the entry before";
            return Err(invalid("from", message));
        }
        if !is_quarter(until) || until <= *from || until.since(entries[0].0) > REACH {
            let message =
                "must be at a quarter-hour after from, and within 8 days of the first from";
            return Err(invalid("until", message));
        }
        if !(least..=MOST).contains(value) {
            return Err(invalid(
                member,
                "must lie within a million, carbon not below 0",
            ));
        }
        let window = Window { from: *from, until };
        values.push((window, (value * 1000.0).round() as i64));
    }
    let slots = |(window, _): &(Window, i64)| {
        usize::try_from(whole_millis(window.until.since(window.from)) / whole_millis(SLOT))
    };
    Ok(SeriesChange {
        from: entries[0].0,
        series,
        site: site.clone(),
        slots: values.iter().filter_map(|value| slots(value).ok()).sum(),
        until: values.last().map_or(entries[0].0, |(last, _)| last.until),
        values,
    })
}

impl SeriesChange {
    /// Returns the days that it changes.
    pub fn days(&self) -> Vec<Timestamp> {
        let (from, until) = (self.from, self.until);
        days_of(&Window { from, until })
    }

    /// Sets the values that lie within a day. Returns false if nothing changes.
    pub fn apply(&self, day: &mut SiteDay) -> bool {
        let begin = Timestamp::from_unix_millis(day.from);
        let series = match self.series {
            SiteSeries::Prices => &mut day.prices,
            SiteSeries::Carbon => &mut day.carbon,
        };
        let before = series.clone();
        series.resize(SLOTS, None);
        let mut place = 0;
        for (slot, value) in series.iter_mut().enumerate() {
            let at = begin.plus(SLOT * i32::try_from(slot).unwrap_or_default());
            if at < self.from || at >= self.until {
                continue;
            }
            while self
                .values
                .get(place)
                .is_some_and(|(window, _)| window.until <= at)
            {
                place += 1;
            }
            let found = self
                .values
                .get(place)
                .filter(|(window, _)| window.from <= at);
            *value = found.map(|(_, value)| *value);
        }
        *series != before
    }
}

/// Returns the beginnings of the UTC days that a window touches.
pub fn days_of(window: &Window) -> Vec<Timestamp> {
    window.utc_days().map(begin).collect()
}

fn begin(date: Date) -> Timestamp {
    let millis = date
        .to_zoned(TimeZone::UTC)
        .map_or(0, |begin| begin.timestamp().as_millisecond());
    Timestamp::from_unix_millis(millis)
}

impl SiteDay {
    /// Returns the id of a day of a site.
    pub fn id_of(site: &Id, day: Timestamp) -> Id {
        Id::derived(Kind::SiteDay, day, site.as_str())
    }

    /// Returns a day without known values.
    pub fn of(site: &Id, day: Timestamp) -> Self {
        Self {
            id: Self::id_of(site, day),
            object: Kind::SiteDay,
            carbon: Vec::new(),
            from: day.unix_millis(),
            prices: Vec::new(),
            site: site.clone(),
        }
    }

    pub fn kept_until(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.from).plus(KEPT)
    }
}

/// Returns the value of a series at a moment, and whether it is the value of the same local time of an earlier day.
pub fn value_at(
    days: &[SiteDay],
    series: SiteSeries,
    at: Timestamp,
    zone: &TimeZone,
) -> Option<(i64, bool)> {
    let known = |at: Timestamp| {
        let day = begin(at.utc_date()).unix_millis();
        let found = days.iter().find(|stored| stored.from == day)?;
        let values = match series {
            SiteSeries::Prices => &found.prices,
            SiteSeries::Carbon => &found.carbon,
        };
        let slot = (at.unix_millis() - day) / whole_millis(SLOT);
        *values.get(usize::try_from(slot).ok()?)?
    };
    let earlier = |back: i32| {
        let local = at.civil_in(zone).checked_sub(back.days()).ok()?;
        let moment = zone.to_timestamp(local).ok()?;
        Some((known(Timestamp::from(moment))?, true))
    };
    let present = known(at).map(|value| (value, false));
    present.or_else(|| (1..4).find_map(earlier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_values_are_those_of_the_same_local_time() {
        let zone = TimeZone::get("Europe/London").unwrap();
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let site = Id::new(Kind::Site, at("2027-03-01T00:00:00Z"));
        let mut day = SiteDay::of(&site, at("2027-03-27T00:00:00Z"));
        day.prices = (0..96).map(Some).collect();
        let value = |text: &str| value_at(&[day.clone()], SiteSeries::Prices, at(text), &zone);
        assert_eq!(value("2027-03-27T12:15:00Z"), Some((49, false)));
        // The clocks change in the night of the 28th of March.
        assert_eq!(value("2027-03-28T00:30:00Z"), Some((2, true)));
        assert_eq!(value("2027-03-28T11:15:00Z"), Some((49, true)));
        assert_eq!(value("2027-03-30T11:15:00Z"), Some((49, true)));
        assert_eq!(value("2027-03-31T11:15:00Z"), None);
    }
}

//! `GET /v1/analytics`: shows what a fleet has charged by day or month: energy, cost, sessions, or the outcomes of reservations, for the
//! whole fleet or for each vehicle. The days are those of the fleet's time zone, and a session counts for the day on which it ended.

use std::collections::BTreeMap;

use jiff::civil::Date;
use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::Fleet;
use models::analytics::{Analytics, Day, Days, Interval, Metric, SeriesGrouping, Sums};
use serde::{Deserialize, Serialize};
use table::list::Cursor;
use utoipa::ToSchema;
use web::deployment::Need;
use web::page_token::{Binding, PageSecrets};
use web::query::Whole;
use web::{Query, RequestContext, Route};

use crate::Request;

pub const ROUTE: Route = Route::get("retrieve-analytics", "/v1/analytics", Resource::Analytics)
    .refusing(&[Code::FleetNotFound])
    .needing(&[Need::PageTokens]);

#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of the fleet.
    fleet: Id,
    /// The quantity that is summed. Default `energy`.
    metric: Option<Metric>,
    /// A series for each vehicle that has any sums in the range, in the order of the ids. Default: one for the whole fleet.
    group_by: Option<SeriesGrouping>,
    /// The length of the intervals. Default `day`.
    interval: Option<Interval>,
    /// The first day, in the fleet's time zone. Default: 30 days before `until`. A range has at most 92 days, by month 1,096, and by vehicle 31.
    from: Option<Day>,
    /// The day after the last one. Default: tomorrow.
    until: Option<Day>,
    /// The number of vehicles per page.
    #[schema(default = 100)]
    limit: Option<Whole<1, 100>>,
    /// A token from `next_page_url`.
    page: Option<String>,
}

pub async fn handle(
    request: Request,
    Query(filters): Query<Filters>,
) -> Result<Reply<Analytics>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let fleet = request.get::<Fleet>(&filters.fleet).await?.object;
    let today = request.now().date_in(&fleet.timezone.rules());
    let Filters {
        group_by,
        from,
        until,
        page,
        ..
    } = filters;
    let metric = filters.metric.unwrap_or(Metric::Energy);
    let interval = filters.interval.unwrap_or_default();
    let days = Days::new(from, until, interval, group_by, today)?;
    let range = (days.from, days.until);
    let limit = filters.limit.map_or(100, |Whole(limit)| limit as usize);
    let applied = applied(&fleet.id, metric, group_by, interval, &days)?;
    let applied: Vec<(&str, &str)> = applied
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let pages = Pages {
        binding: Binding {
            tenant,
            path: ROUTE.path,
            filters: &applied,
        },
        secrets: request.app.settings.page_secrets()?,
    };
    let last = page.map(|token| pages.last_vehicle(&token)).transpose()?;
    let (groups, next) = match group_by {
        None => {
            let sums = store.sums_of_fleet(tenant, &fleet.id, range).await?;
            (vec![(None, sums)], None)
        }
        Some(SeriesGrouping::Vehicle) => {
            let behind = (last.as_ref(), limit);
            of_vehicles(&request, &fleet.id, &days, behind).await?
        }
    };
    let place = (fleet.id, fleet.timezone);
    let mut analytics = Analytics::new(metric, days, place, &groups, group_by);
    analytics.next_page_url = next.and_then(|last| pages.url(&request, limit, last));
    request.respond(&analytics)
}

/// The query parameters of the page that is shown, and of those that follow it: those of the request, or their defaults.
fn applied(
    fleet: &Id,
    metric: Metric,
    group_by: Option<SeriesGrouping>,
    interval: Interval,
    days: &Days,
) -> Result<[(&'static str, String); 6], Error> {
    fn name(value: impl Serialize) -> Result<String, Error> {
        let value = serde_json::to_value(value).map_err(Error::internal)?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }
    Ok([
        ("fleet", fleet.to_string()),
        ("metric", name(metric)?),
        ("group_by", name(group_by)?),
        ("interval", name(interval)?),
        ("from", days.from.to_string()),
        ("until", days.until.to_string()),
    ])
}

/// The pages of vehicles for the same query parameters.
struct Pages<'a> {
    binding: Binding<'a>,
    secrets: &'a PageSecrets,
}

impl Pages<'_> {
    /// Returns the last vehicle of the page before the one with this token.
    ///
    /// # Errors
    /// 400 if the token is malformed, was edited, or belongs to another tenant or other query parameters.
    fn last_vehicle(&self, token: &str) -> Result<Id, Error> {
        match self.binding.open(self.secrets, token, Kind::Vehicle) {
            Some(Cursor::After(last)) => Ok(last),
            _ => Err(Error::invalid("page", "not a page token of this list")),
        }
    }

    /// Returns the URL of the page after this vehicle.
    fn url(&self, context: &RequestContext, limit: usize, last: Id) -> Option<String> {
        let from = Cursor::After(last);
        let token = self.binding.token(self.secrets, &from, Kind::Vehicle)?;
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(self.binding.filters)
            .append_pair("limit", &limit.to_string())
            .append_pair("page", &token)
            .finish();
        Some(format!("{}{}?{query}", context.base_url, ROUTE.path))
    }
}

type Groups = Vec<(Option<Id>, BTreeMap<Date, Sums>)>;

/// The sums of the next vehicles, and the last of these vehicles if there are more.
async fn of_vehicles(
    request: &Request,
    fleet: &Id,
    days: &Days,
    (behind, limit): (Option<&Id>, usize),
) -> Result<(Groups, Option<Id>), Error> {
    let months = days.months().into_iter().map(|month| {
        let place = (behind, limit + 1);
        request
            .store()
            .sums_of_vehicles(request.tenant(), fleet, month, place)
    });
    let mut vehicles: BTreeMap<Id, BTreeMap<Date, Sums>> = BTreeMap::new();
    for (vehicle, sums) in futures::future::try_join_all(months)
        .await?
        .into_iter()
        .flatten()
    {
        vehicles.entry(vehicle).or_default().extend(sums);
    }
    let has_more = vehicles.len() > limit;
    let mut groups: Groups = vehicles
        .into_iter()
        .take(limit)
        .map(|(vehicle, sums)| (Some(vehicle), sums))
        .collect();
    let last = groups.last().and_then(|(vehicle, _)| vehicle.clone());
    // A vehicle that charged only on other days of the month is not in the range.
    groups.retain(|(_, sums)| sums.range(days.from..days.until).next().is_some());
    Ok((groups, last.filter(|_| has_more)))
}

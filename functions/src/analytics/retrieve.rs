//! `GET /v1/analytics`: shows what a fleet has charged by day or month: energy, cost, sessions, or the outcomes of reservations, for the
//! whole fleet or for each vehicle. The days are those of the fleet's time zone, and a session counts for the day on which it ended.

use std::collections::BTreeMap;

use axum::extract::State;
use jiff::civil::Date;
use kernel::{Code, Error, Id, Kind, Reply};
use models::analytics::{Analytics, Day, Days, Interval, Metric, SeriesGrouping, Sums};
use models::api_key::Resource;
use models::fleet::Fleet;
use serde::Deserialize;
use utoipa::ToSchema;
use web::query::Whole;
use web::{Query, RequestContext, Route};

use crate::App;

pub const ROUTE: Route = Route::get("retrieve-analytics", "/v1/analytics", Resource::Analytics)
    .refusing(&[Code::FleetNotFound]);

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
    /// From `next_page_url`: the last vehicle of the previous page.
    page: Option<Id>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Analytics>, Error> {
    let tenant = context.tenant();
    if filters
        .page
        .as_ref()
        .is_some_and(|id| !id.is(Kind::Vehicle))
    {
        return Err(Error::invalid("page", "not a page token of this list"));
    }
    let fleet = app.store.get::<Fleet>(tenant, &filters.fleet).await?.object;
    let today = context.now().date_in(&fleet.timezone.rules());
    let Filters {
        group_by,
        from,
        until,
        ..
    } = filters;
    let metric = filters.metric.unwrap_or(Metric::Energy);
    let interval = filters.interval.unwrap_or_default();
    let days = Days::new(from, until, interval, group_by, today)?;
    let range = (days.from, days.until);
    let limit = filters.limit.map_or(100, |Whole(limit)| limit as usize);
    let (groups, next) = match group_by {
        None => {
            let sums = app.store.sums_of_fleet(tenant, &fleet.id, range).await?;
            (vec![(None, sums)], None)
        }
        Some(SeriesGrouping::Vehicle) => {
            let behind = (filters.page.as_ref(), limit);
            of_vehicles(&app, &context, &fleet.id, &days, behind).await?
        }
    };
    let place = (fleet.id, fleet.timezone);
    let mut analytics = Analytics::new(metric, days, place, &groups, group_by);
    analytics.next_page_url = next.map(|vehicle| next_page(&context, &analytics, limit, &vehicle));
    context.respond(&analytics)
}

/// The URL of the page after this vehicle, for the same days.
fn next_page(context: &RequestContext, shown: &Analytics, limit: usize, last: &Id) -> String {
    let name = |value: serde_json::Result<serde_json::Value>| {
        let value = value.unwrap_or_default();
        value.as_str().unwrap_or_default().to_owned()
    };
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("fleet", shown.fleet.as_str())
        .append_pair("metric", &name(serde_json::to_value(shown.metric)))
        .append_pair("group_by", &name(serde_json::to_value(shown.group_by)))
        .append_pair("interval", &name(serde_json::to_value(shown.interval)))
        .append_pair("from", &shown.from.0.to_string())
        .append_pair("until", &shown.until.0.to_string())
        .append_pair("limit", &limit.to_string())
        .append_pair("page", last.as_str())
        .finish();
    format!("{}{}?{query}", context.base_url, ROUTE.path)
}

type Groups = Vec<(Option<Id>, BTreeMap<Date, Sums>)>;

/// The sums of the next vehicles, and the last of these vehicles if there are more.
async fn of_vehicles(
    app: &App,
    context: &RequestContext,
    fleet: &Id,
    days: &Days,
    (behind, limit): (Option<&Id>, usize),
) -> Result<(Groups, Option<Id>), Error> {
    let months = days.months().into_iter().map(|month| {
        let place = (behind, limit + 1);
        app.store
            .sums_of_vehicles(context.tenant(), fleet, month, place)
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

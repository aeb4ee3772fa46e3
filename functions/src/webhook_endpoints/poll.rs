//! `GET /v1/webhook_endpoints/{id}/events`: shows the next events of an endpoint of `type` `polling`, in the order in which the service has
//! published them. A request without `cursor` begins now, or at `from`, and returns at once; every response has the `cursor` of the next
//! request. `wait` is the number of seconds for which the request waits while there is no event: an event is shown some ten seconds after
//! it has happened. Every two seconds of waiting count as a request against the rate limit; when none is left, the response is empty. An
//! event may be shown more than once. The key must be allowed to read the objects of all events that the endpoint is
//! subscribed to.

use std::collections::HashMap;
use std::time::Duration;

use crate::{App, Request};
use kernel::size::Size;
use kernel::{Error, Id, Kind, Reply, Timestamp, function_scope};
use models::api_key::{Resource, Scope};
use models::webhook_endpoint::{EndpointStatus, EndpointType};
use models::webhooks::feed::{EventFeed, FeedEntry, FeedPlace, LAG};
use models::{Event, Stored, WebhookEndpoint};
use serde::Deserialize;
use table::list::Cursor;
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;
use web::deployment::Need;
use web::list::MAX_PAGE;
use web::page_token::{Binding, PageSecrets};
use web::query::Whole;
use web::{PathId, Query, Route};

use crate::webhooks::attempt::rendered;

pub const ROUTE: Route = Route::get(
    "poll-webhook-endpoint",
    "/v1/webhook_endpoints/{id}/events",
    Resource::WebhookEndpoints,
)
.requiring(&[Scope::Read(Resource::Events)])
.sometimes_requiring(&[super::SUBSCRIBES])
.patient(Duration::from_secs(25))
.timeout(28)
.reading_side_by_side()
.needing(&[Need::PageTokens]);

/// The interval at which the feed is read while a request waits.
const INTERVAL: Duration = Duration::from_secs(2);

/// The number of entries that are read at a time.
const AT_A_TIME: usize = 100;

/// The maximum number of entries that are read for a page, including those that are not for the endpoint.
const MOST_READ: usize = 1_000;

/// The beginning of the page, and the time to wait for it.
#[derive(Deserialize, ToSchema)]
pub struct Place {
    /// The `cursor` of the last response. It is valid for 30 days.
    cursor: Option<String>,
    /// Begin with the events that were published at or after this time, of the last 30 days. Only without `cursor`.
    from: Option<Timestamp>,
    /// The number of events per page.
    #[schema(default = 10)]
    limit: Option<Whole<1, 100>>,
    /// The number of seconds to wait for an event. Default 0. The response comes earlier when the rate limit of the account is reached.
    wait: Option<Whole<0, 20>>,
}

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Query(place): Query<Place>,
) -> Result<Reply<EventFeed>, Error> {
    let begun = Instant::now();
    let endpoint = request.get::<WebhookEndpoint>(&id).await?.object;
    endpoint.check_subscriptions(&request.key)?;
    if endpoint.kind != EndpointType::Polling {
        let message = "Events are delivered to the URL of this endpoint: only endpoints of the type `polling` are read.";
        return Err(Error::conflict(message, None));
    }
    if endpoint.status != EndpointStatus::Enabled {
        return Err(Error::conflict("The endpoint is disabled.", None));
    }
    let path = format!("/v1/webhook_endpoints/{id}/events");
    let reader = Reader {
        app: &request.app,
        binding: Binding {
            tenant: request.tenant(),
            path: &path,
            filters: &[],
        },
        secrets: request.app.settings.page_secrets()?,
        endpoint: &endpoint,
        limit: place.limit.map_or(10, |Whole(limit)| limit as usize),
    };
    let mut from = reader.begin(&place, request.now())?;
    let wait = match &place.cursor {
        Some(_) => place.wait.map_or(0, |Whole(seconds)| seconds),
        None => 0,
    };
    let until = begun + Duration::from_secs(wait.into());
    loop {
        let (feed, next) = reader.page(from).await?;
        let left = until.saturating_duration_since(Instant::now());
        let is_over = !feed.data.is_empty() || feed.has_more || left.is_zero();
        if is_over || !may_wait(&request).await? {
            return request.respond(&feed);
        }
        from = next;
        sleep(left.min(INTERVAL)).await;
    }
}

/// Returns whether the request may wait for another interval, which counts as a request of its account: a request that waits occupies an
/// instance of the function, so the rate of the account bounds how many wait at the same time.
async fn may_wait(request: &Request) -> Result<bool, Error> {
    let admitted =
        request
            .app
            .edge
            .rates
            .admit(request.store(), &request.lineage, request.app.now());
    match function_scope::within(function_scope::EVERY_REQUEST, admitted).await {
        Ok(_) => Ok(true),
        Err(Error::RateLimited { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads the feed for one request.
struct Reader<'a> {
    app: &'a App,
    binding: Binding<'a>,
    secrets: &'a PageSecrets,
    endpoint: &'a WebhookEndpoint,
    limit: usize,
}

impl Reader<'_> {
    /// The position from which the request reads.
    fn begin(&self, place: &Place, now: Timestamp) -> Result<FeedPlace, Error> {
        let oldest = Event::kept_since(now);
        if let Some(cursor) = &place.cursor {
            if place.from.is_some() {
                return Err(Error::invalid("from", "must not be given with cursor"));
            }
            let opened = self.binding.open(self.secrets, cursor, Kind::Event);
            let Some(Cursor::After(opened)) = opened else {
                return Err(Error::invalid("cursor", "not a cursor of this endpoint"));
            };
            let opened: FeedPlace = opened;
            return if opened.at < oldest {
                Err(Error::invalid(
                    "cursor",
                    "is older than 30 days: the events behind it are not kept any more; begin anew with from",
                ))
            } else {
                Ok(opened)
            };
        }
        match place.from {
            Some(from) if from < oldest => Err(Error::invalid("from", "is older than 30 days")),
            from => Ok(FeedPlace::before(from.unwrap_or(now).min(now))),
        }
    }

    /// The events after a position, and the position after them.
    async fn page(&self, from: FeedPlace) -> Result<(EventFeed, FeedPlace), Error> {
        let tenant = self.binding.tenant;
        let until = self.app.now().plus(-LAG);
        let (mut place, mut read, mut more) = (from, 0, true);
        let mut shown = Vec::new();
        let mut room = MAX_PAGE;
        while more && shown.len() < self.limit && read < MOST_READ {
            let found = self.app.store.feed(tenant, &place, until, AT_A_TIME);
            let (mut entries, has_more) = found.await?;
            more = has_more;
            read += AT_A_TIME;
            if entries.is_empty() {
                place = place.after_nothing(until);
            }
            more |= self.cut(&mut entries, self.limit - shown.len());
            let events = self.events(&entries).await?;
            for entry in entries {
                if let Some(event) = events.get(&entry.event).filter(|_| self.is_for(&entry)) {
                    let size = Size::of(event)?.escaped + 1;
                    if size > room && !shown.is_empty() {
                        return self.shown(shown, place, true);
                    }
                    room = room.saturating_sub(size);
                    shown.push((event.clone(), entry.is_redelivery));
                }
                place = entry.place();
            }
        }
        self.shown(shown, place, more)
    }

    /// Returns whether an entry is for the endpoint.
    fn is_for(&self, entry: &FeedEntry) -> bool {
        match &entry.only {
            Some(only) => *only == self.endpoint.id,
            None => self.endpoint.subscribes_to(entry.kind),
        }
    }

    /// Removes the entries after the first `room` ones that are for the endpoint. Returns whether any were removed.
    fn cut(&self, entries: &mut Vec<FeedEntry>, room: usize) -> bool {
        let all = entries.len();
        let own = (0..all).filter(|place| self.is_for(&entries[*place]));
        let last = own.take(room).nth(room.saturating_sub(1));
        if let Some(last) = last {
            entries.truncate(last + 1);
        }
        entries.len() < all
    }

    /// The events of entries that are for the endpoint, in the form that the endpoint receives.
    async fn events(&self, entries: &[FeedEntry]) -> Result<HashMap<Id, Event>, Error> {
        let own = entries.iter().filter(|entry| self.is_for(entry));
        let mut ids: Vec<Id> = own.map(|entry| entry.event.clone()).collect();
        ids.sort();
        ids.dedup();
        let events = self.app.store.get_all::<Event>(self.binding.tenant, &ids);
        let mut shown = HashMap::new();
        let wanted = |event: &Stored<Event>| self.endpoint.wants(event);
        for event in events.await?.into_iter().filter(wanted) {
            let rendered = rendered(self.app, &event, self.endpoint);
            shown.insert(event.object.id, rendered);
        }
        Ok(shown)
    }

    fn shown(
        &self,
        shown: Vec<(Event, bool)>,
        place: FeedPlace,
        has_more: bool,
    ) -> Result<(EventFeed, FeedPlace), Error> {
        let again = shown.iter().filter(|(_, is_again)| *is_again);
        let redelivered = again.map(|(event, _)| event.id.clone()).collect();
        let from = Cursor::After(place.clone());
        let cursor = self.binding.token(self.secrets, &from, Kind::Event);
        let feed = EventFeed {
            data: shown.into_iter().map(|(event, _)| event).collect(),
            cursor: cursor.ok_or_else(|| Error::internal("a place without a token"))?,
            has_more,
            redelivered,
        };
        Ok((feed, place))
    }
}

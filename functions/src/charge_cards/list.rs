//! `GET /v1/charge_cards`: the charge cards, newest first. Filters: `driver`, `vehicle`, `status`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::charge_card::{CardStatus, ChargeCard};
use shared::models::condition::Condition;
use shared::models::driver::Driver;
use shared::models::vehicle::Vehicle;
use shared::store::keys::Partition;
use shared::store::list::Members;
use shared::{App, Error, Kind};

use crate::page;

pub const ROUTE: Route = Route::list(
    "list-charge-cards",
    "/v1/charge_cards",
    Resource::ChargeCards,
)
.filtered(&["driver", "limit", "page", "status", "vehicle"]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::ChargeCard);
    let page_request = query.page_request(tenant, kind)?;
    let status = query.word::<CardStatus>("status")?;
    let (driver, vehicle) = (query.id("driver"), query.id("vehicle"));
    if let Some(driver) = &driver {
        app.store.get::<Driver>(tenant, driver).await?;
    }
    if let Some(vehicle) = &vehicle {
        app.store.get::<Vehicle>(tenant, vehicle).await?;
    }
    let found = match driver.as_ref().or(vehicle.as_ref()) {
        Some(holder) => {
            let keep = |card: &ChargeCard| {
                let is_wanted = status
                    .as_deref()
                    .is_none_or(|one| card.status.as_str() == one);
                let is_held = vehicle
                    .as_ref()
                    .is_none_or(|one| card.vehicle.as_ref() == Some(one));
                is_wanted && is_held
            };
            app.store
                .list_members(tenant, Members::CardsOf(holder), &page_request, keep)
                .await?
                .objects()
        }
        None => {
            let filter = status.map(|status| Condition::equals("status", status));
            let partition = Partition::Kind { tenant, kind };
            app.store
                .list_objects::<ChargeCard>(partition, &page_request, filter.into_iter().collect())
                .await?
        }
    };
    page::respond(&context, &query, found)
}

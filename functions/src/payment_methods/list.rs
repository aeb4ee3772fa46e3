//! `GET /v1/payment_methods`: lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner.

use axum::extract::State;
use serde::Deserialize;
use shared::Reply;
use shared::http::{ListQuery, Query, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::payment_method::PaymentMethod;
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Code, Error, Id, Kind};
use utoipa::ToSchema;

use crate::references;

pub const ROUTE: Route = Route::get(
    "list-payment-methods",
    "/v1/payment_methods",
    Resource::PaymentMethods,
)
.refusing(&[
    Code::PaymentMethodScopeNotFound,
    Code::PaymentMethodScopeInvalid,
]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    driver: Option<Id>,
    fleet: Option<Id>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<PaymentMethod>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::PaymentMethod);
    let page_request = query.page_request(tenant, kind)?;
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    references::payment_method_scope(&app, tenant, driver, fleet).await?;
    let driver = Condition::given("driver", driver);
    let fleet = Condition::given("fleet", fleet);
    let partition = Partition::Kind { tenant, kind };
    let filter = driver.into_iter().chain(fleet).collect();
    let found = app
        .store
        .list_objects::<PaymentMethod>(partition, &page_request, filter)
        .await?;
    query.respond(&context, found)
}

//! `GET /v1/payment_methods`: lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::payment_method::PaymentMethod;
use shared::store::keys::Partition;
use shared::{App, Code, Error, Kind};

use crate::{page, references};

pub const ROUTE: Route = Route::list(
    "list-payment-methods",
    "/v1/payment_methods",
    Resource::PaymentMethods,
)
.filtered(&["driver", "fleet", "limit", "page"])
.refusing(&[
    Code::PaymentMethodScopeNotFound,
    Code::PaymentMethodScopeInvalid,
]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::PaymentMethod);
    let page_request = query.page_request(tenant, kind)?;
    let (driver, fleet) = (query.id("driver"), query.id("fleet"));
    references::payment_method_scope(&app, tenant, driver.as_ref(), fleet.as_ref()).await?;
    let driver = driver.map(|driver| Condition::equals("driver", driver.to_string()));
    let fleet = fleet.map(|fleet| Condition::equals("fleet", fleet.to_string()));
    let partition = Partition::Kind { tenant, kind };
    let filter = driver.into_iter().chain(fleet).collect();
    let found = app
        .store
        .list_objects::<PaymentMethod>(partition, &page_request, filter)
        .await?;
    page::respond(&context, &query, found)
}

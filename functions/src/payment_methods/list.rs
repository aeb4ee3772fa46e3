//! `GET /v1/payment_methods`: the payment methods, newest first. Filters: `driver` or `fleet`, their owner.

use axum::extract::State;
use shared::http::{Caller, ListQuery, Route};
use shared::models::api_key::Resource;
use shared::models::payment_method::PaymentMethod;
use shared::store::Answer;
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
    caller: Caller,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Answer, Error> {
    let (tenant, kind) = (caller.tenant(), Kind::PaymentMethod);
    let slice = query.slice(tenant, kind)?;
    let (driver, fleet) = (query.id("driver"), query.id("fleet"));
    references::payment_method_scope(&app, tenant, driver.as_ref(), fleet.as_ref()).await?;
    let driver = driver.map(|driver| ("driver", driver.to_string()));
    let fleet = fleet.map(|fleet| ("fleet", fleet.to_string()));
    let partition = Partition::Kind { tenant, kind };
    let filter = driver.into_iter().chain(fleet).collect();
    let found = app
        .store
        .list::<PaymentMethod>(partition, &slice, filter)
        .await?;
    page::answer(&caller, &query, found)
}

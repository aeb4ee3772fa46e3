//! `GET /v1/payment_methods`: lists the payment methods, newest first. Filters: `driver` or `fleet`, their owner, and `created[…]`.

use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::{Condition, PaymentMethod};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

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
    /// Id of a driver: only the payment methods of this driver.
    driver: Option<Id>,
    /// Id of a fleet: only the payment methods of this fleet.
    fleet: Option<Id>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<PaymentMethod>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::PaymentMethod);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    references::payment_method_scope(&request, driver, fleet).await?;
    let driver = Condition::given("driver", driver);
    let fleet = Condition::given("fleet", fleet);
    let partition = Partition::Kind { tenant, kind };
    let filter = driver.into_iter().chain(fleet).collect();
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}

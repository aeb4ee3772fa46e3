//! `GET /v1/transactions`: lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Id, Kind};
use models::api_key::Resource;
use models::condition::Condition;
use models::transaction::{Transaction, TransactionStatus, TransactionType};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{ListQuery, Query, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::get(
    "list-transactions",
    "/v1/transactions",
    Resource::Transactions,
)
.refusing(&[Code::DriverOrFleetNotFound]);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    driver: Option<Id>,
    fleet: Option<Id>,
    status: Option<TransactionStatus>,
    #[serde(rename = "type")]
    of_type: Option<TransactionType>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Transaction>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Transaction);
    let page_request = query.page_request(tenant, kind)?;
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    references::driver_and_fleet(&app, tenant, driver, fleet).await?;
    let conditions = [
        Condition::given("driver", driver),
        Condition::given("status", filters.status),
        Condition::given("type", filters.of_type),
    ];
    let filter = conditions.into_iter().flatten().collect();
    let partition = match fleet {
        Some(fleet) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        None => Partition::Kind { tenant, kind },
    };
    let found = app
        .store
        .list_objects::<Transaction>(partition, &page_request, filter)
        .await?;
    query.respond(&context, found)
}

//! `GET /v1/transactions`: lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`.

use axum::extract::State;
use shared::Response;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::condition::Condition;
use shared::models::transaction::{Transaction, TransactionStatus, TransactionType};
use shared::store::keys::Partition;
use shared::{App, Code, Error, Kind};

use crate::{page, references};

pub const ROUTE: Route = Route::list(
    "list-transactions",
    "/v1/transactions",
    Resource::Transactions,
)
.filtered(&["driver", "fleet", "limit", "page", "status", "type"])
.refusing(&[Code::DriverOrFleetNotFound]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Response, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Transaction);
    let page_request = query.page_request(tenant, kind)?;
    let status = query.word::<TransactionStatus>("status")?;
    let of_type = query.word::<TransactionType>("type")?;
    let (driver, fleet) = (query.id("driver"), query.id("fleet"));
    references::driver_and_fleet(&app, tenant, driver.as_ref(), fleet.as_ref()).await?;
    let filter = [
        ("driver", driver.map(|driver| driver.to_string())),
        ("status", status),
        ("type", of_type),
    ];
    let filter = filter
        .into_iter()
        .filter_map(|(member, value)| Some(Condition::equals(member, value?)));
    let partition = match &fleet {
        Some(fleet) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        None => Partition::Kind { tenant, kind },
    };
    let found = app
        .store
        .list_objects::<Transaction>(partition, &page_request, filter.collect())
        .await?;
    page::respond(&context, &query, found)
}

//! `GET /v1/transactions`: lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`,
//! `charging_session`, `invoice`, and `created[…]` with `gt`, `gte`, `lt` and `lte`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Id, Kind};
use models::api_key::Resource;
use models::charging_session::ChargingSession;
use models::condition::Condition;
use models::invoice::Invoice;
use models::transaction::{Transaction, TransactionStatus, TransactionType};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, RequestContext, Route};

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
    /// Id of a driver: only transactions of this driver.
    driver: Option<Id>,
    /// Id of a fleet: only transactions of this fleet.
    fleet: Option<Id>,
    /// Only transactions of this status.
    status: Option<TransactionStatus>,
    /// Only transactions of this type.
    #[serde(rename = "type")]
    of_type: Option<TransactionType>,
    /// Id of a charging session: only its charges, refunds and adjustments.
    charging_session: Option<Id>,
    /// Id of an invoice: only the transactions that paid or refunded it.
    invoice: Option<Id>,
}

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Transaction>>, Error> {
    let (tenant, kind) = (context.tenant(), Kind::Transaction);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    references::driver_and_fleet(&app, tenant, driver, fleet).await?;
    let session = filters.charging_session.as_ref();
    let invoice = filters.invoice.as_ref();
    if let Some(id) = session {
        app.store.get::<ChargingSession>(tenant, id).await?;
    }
    if let Some(id) = invoice {
        app.store.get::<Invoice>(tenant, id).await?;
    }
    let conditions = [
        Condition::given("driver", driver),
        Condition::given("fleet", fleet),
        Condition::given("charging_session", session),
        Condition::given("invoice", invoice),
        Condition::given("status", filters.status),
        Condition::given("type", filters.of_type),
    ];
    let filter = conditions.into_iter().flatten().collect();
    let partition = match (session.or(invoice), fleet) {
        (Some(what), _) => Partition::PaymentsFor { tenant, what },
        (None, Some(fleet)) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None) => Partition::Kind { tenant, kind },
    };
    let found = app
        .store
        .list_objects::<Transaction>(partition, &page_request, filter)
        .await?;
    query.respond(&context, found)
}

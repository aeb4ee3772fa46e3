//! `GET /v1/transactions`: lists the transactions, newest first. Filters: `driver`, `fleet`, `status`, `type`,
//! `charging_session`, `invoice`, and `created[…]` with `gt`, `gte`, `lt` and `lte`.

use kernel::{Code, Error, Id, Kind, Reply, Resource};
use models::transaction::{TransactionStatus, TransactionType};
use models::{ChargingSession, Condition, Driver, Fleet, Invoice, Transaction};
use serde::Deserialize;
use table::keys::Partition;
use table::list::{Members, Page};
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

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

impl Filters {
    /// Returns whether a transaction meets all filters.
    fn let_through(&self, transaction: &Transaction) -> bool {
        fn is_met<T: PartialEq>(filter: Option<&T>, value: Option<&T>) -> bool {
            filter.is_none() || filter == value
        }
        is_met(self.driver.as_ref(), transaction.driver.as_ref())
            && is_met(self.fleet.as_ref(), transaction.fleet.as_ref())
            && is_met(self.invoice.as_ref(), transaction.invoice.as_ref())
            && is_met(self.status.as_ref(), Some(&transaction.status))
            && is_met(self.of_type.as_ref(), Some(&transaction.kind))
    }
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Transaction>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Transaction);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let (driver, fleet) = (filters.driver.as_ref(), filters.fleet.as_ref());
    // No list has the transactions of one driver.
    let (of_driver, of_fleet) = (&[Kind::ChargingSession, Kind::Reservation], &[kind]);
    let (of_driver, _) = tokio::try_join!(
        references::past::<Driver>(&request, driver, of_driver),
        references::past::<Fleet>(&request, fleet, of_fleet),
    )?;
    references::attached(of_driver.as_ref(), driver.and(fleet))?;
    let invoice = filters.invoice.as_ref();
    if let Some(id) = invoice {
        request.get::<Invoice>(id).await?;
    }
    if let Some(id) = &filters.charging_session {
        let session = request.get::<ChargingSession>(id).await?;
        let members = store.transactions_of(tenant, &session.object).await?;
        let members = Members::These(members);
        let keep = |transaction: &Transaction| filters.let_through(transaction);
        let found = store
            .list_members(tenant, members, &page_request, keep)
            .await?;
        return query.respond(&request, found.objects());
    }
    let conditions = [
        Condition::given("driver", driver),
        Condition::given("fleet", fleet),
        Condition::given("invoice", invoice),
        Condition::given("status", filters.status),
        Condition::given("type", filters.of_type),
    ];
    let filter = conditions.into_iter().flatten().collect();
    let partition = match (invoice, fleet) {
        (Some(what), _) => Partition::PaymentsFor { tenant, what },
        (None, Some(fleet)) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None) => Partition::Kind { tenant, kind },
    };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}

//! `GET /v1/invoices`: lists the invoices, newest first. Filters: `fleet`, `status`, `number`, and `created[…]` and `finalized[…]` with
//! `gt`, `gte`, `lt` and `lte`; `status=overdue` shows those that are open and past their due date.

use jiff::ToSpan as _;
use jiff::civil::Date;
use kernel::{Error, Id, Kind, Reply, Resource, Timestamp};
use models::invoice::InvoiceFilter;
use models::{Condition, Fleet, Invoice};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, Finalized, ListQuery, Query, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::get("list-invoices", "/v1/invoices", Resource::Invoices);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a fleet: only invoices of this fleet.
    fleet: Option<Id>,
    /// Only invoices of this status. `overdue` finds open invoices whose `due_date` has passed.
    status: Option<InvoiceFilter>,
    /// Number of an invoice, such as `INV-2026-000001`: only the invoice with exactly this number.
    number: Option<String>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(finalized): Query<Finalized>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<Invoice>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::Invoice);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let status = filters.status;
    let mut filter = status.map_or_else(Vec::new, |status| status.conditions(request.now()));
    if let Some(fleet) = &filters.fleet {
        references::past::<Fleet>(&request, Some(fleet), &[kind]).await?;
        filter.push(Condition::equals("fleet", fleet));
    }
    filter.extend(finalized.conditions());
    filter.extend(Condition::given("number", filters.number.as_ref()));
    // The most selective partition.
    let months = months(&finalized, request.now());
    let months = months.filter(|_| filters.number.is_none() && filters.fleet.is_none());
    let partition = match (&filters.number, &filters.fleet, status) {
        _ if months.is_some() => {
            months.map_or(Partition::Kind { tenant, kind }, |(first, last)| {
                Partition::Finalized {
                    tenant,
                    first,
                    last,
                }
            })
        }
        (Some(number), ..) => Partition::Number {
            tenant,
            kind,
            number,
        },
        (None, Some(fleet), _) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None, Some(status)) => Partition::Status {
            tenant,
            kind,
            status: status.status().as_str(),
        },
        (None, None, None) => Partition::Kind { tenant, kind },
    };
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}

/// The first days of the first and the last month between these times, if these are at most twelve months. An open end is now.
fn months(finalized: &Finalized, now: Timestamp) -> Option<(Date, Date)> {
    let (from, until) = finalized.bounds();
    let first = from?.utc_date().first_of_month();
    let last = until.map_or(now, |until| until.min(now));
    let last = last.utc_date().first_of_month().max(first);
    let most = first.checked_add(11.months()).ok()?;
    (last <= most).then_some((first, last))
}

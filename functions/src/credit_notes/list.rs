//! `GET /v1/credit_notes`: lists the credit notes, newest first. Filters: `invoice`, `fleet`, and `created[…]` with `gt`, `gte`, `lt` and
//! `lte`.

use kernel::{Error, Id, Kind, Reply, Resource};
use models::{Condition, CreditNote, Fleet, Invoice};
use serde::Deserialize;
use table::keys::Partition;
use table::list::Page;
use utoipa::ToSchema;
use web::{Created, ListQuery, Query, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::get(
    "list-credit-notes",
    "/v1/credit_notes",
    Resource::CreditNotes,
);

/// The filters of the list.
#[derive(Deserialize, ToSchema)]
pub struct Filters {
    /// Id of a fleet: only credit notes of invoices of this fleet.
    fleet: Option<Id>,
    /// Id of an invoice: only its credit notes.
    invoice: Option<Id>,
}

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
    Query(filters): Query<Filters>,
) -> Result<Reply<Page<CreditNote>>, Error> {
    let (store, tenant, kind) = (request.store(), request.tenant(), Kind::CreditNote);
    let page_request = created.narrow(query.page_request(tenant, kind)?);
    let Filters { fleet, invoice } = &filters;
    // A fleet has credit notes of its invoices only.
    let of_fleet = &[Kind::Invoice];
    references::past::<Fleet>(&request, fleet.as_ref(), of_fleet).await?;
    if let Some(id) = invoice {
        request.get::<Invoice>(id).await?;
    }
    let partition = match (invoice, fleet) {
        (Some(what), _) => Partition::PaymentsFor { tenant, what },
        (None, Some(fleet)) => Partition::Fleet {
            tenant,
            fleet,
            kind,
        },
        (None, None) => Partition::Kind { tenant, kind },
    };
    let conditions = [
        Condition::given("fleet", fleet.as_ref()),
        Condition::given("invoice", invoice.as_ref()),
    ];
    let filter = conditions.into_iter().flatten().collect();
    let found = store.list_objects(partition, &page_request, filter);
    query.respond(&request, found.await?)
}

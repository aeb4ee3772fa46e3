//! `GET /v1/accounts`: lists the accounts that the caller's account has created, newest first. Filter: `created[…]`.

use crate::Request;
use kernel::{Error, Kind, Reply, Resource};
use models::Account;
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, Route};

pub const ROUTE: Route = Route::get("list-accounts", "/v1/accounts", Resource::Accounts);

pub async fn handle(
    request: Request,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<Account>>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let page_request = created.narrow(query.page_request(tenant, Kind::Account)?);
    let parent = &tenant.account;
    let partition = Partition::Children { parent };
    let mut found = store
        .list::<Account>(partition, &page_request, Vec::new())
        .await?;
    for account in &mut found.items {
        account.object = account.seen_in(tenant.mode);
    }
    query.respond(&request, found.objects())
}

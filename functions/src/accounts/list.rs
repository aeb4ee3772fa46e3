//! `GET /v1/accounts`: lists the accounts that the caller's account has created, newest first. Filter: `created[…]`.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Error, Kind};
use models::account::Account;
use models::api_key::Resource;
use table::keys::Partition;
use table::list::Page;
use web::{Created, ListQuery, Query, RequestContext, Route};

pub const ROUTE: Route = Route::get("list-accounts", "/v1/accounts", Resource::Accounts);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
    Query(created): Query<Created>,
) -> Result<Reply<Page<Account>>, Error> {
    let page_request = created.narrow(query.page_request(context.tenant(), Kind::Account)?);
    let partition = Partition::Children {
        parent: &context.tenant().account,
    };
    let mut found = app
        .store
        .list::<Account>(partition, &page_request, Vec::new())
        .await?;
    for account in &mut found.items {
        account.object = account.seen_in(context.tenant().mode);
    }
    query.respond(&context, found.objects())
}

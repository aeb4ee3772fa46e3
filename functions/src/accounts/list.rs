//! `GET /v1/accounts`: lists the accounts the caller's account has made, newest first.

use axum::extract::State;
use shared::Reply;
use shared::http::{ListQuery, RequestContext, Route};
use shared::models::account::Account;
use shared::models::api_key::Resource;
use shared::store::keys::Partition;
use shared::store::list::Page;
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::get("list-accounts", "/v1/accounts", Resource::Accounts);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    query: ListQuery,
) -> Result<Reply<Page<Account>>, Error> {
    let page_request = query.page_request(context.tenant(), Kind::Account)?;
    let partition = Partition::Children {
        parent: &context.tenant().account,
    };
    let mut found = app
        .store
        .list::<Account>(partition, &page_request, Vec::new())
        .await?;
    for row in &mut found.rows {
        row.object = row.seen_in(context.tenant().mode);
    }
    query.respond(&context, found.objects())
}

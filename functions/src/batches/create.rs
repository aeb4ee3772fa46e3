//! `POST /v1/batches`: creates a batch of up to 1,000 bodies of one operation, which are executed in the background.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use kernel::scope::Scope;
use models::api_key::Resource;
use models::batch::{Batch, BatchInternal, NewBatch};
use web::{Body, Conditional, RequestContext, Route};

pub const ROUTE: Route = Route::post("create-batch", "/v1/batches", Resource::Batches)
    .sometimes_requiring(&[Conditional {
        scope: "<resource>:write",
        when: "always, of what the operation creates",
    }]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewBatch>,
) -> Result<Reply<Batch>, Error> {
    context.key.require(Scope::Write(new.operation.writes()))?;
    let internal = BatchInternal {
        key: Some((context.key.account.clone(), context.key.hash.clone())),
        request: context.origin.request.clone(),
        base_url: context.base_url.clone(),
        next_action_at: None,
    };
    let (mut batch, chunks) = Batch::new(new, internal, context.now())?;
    let response = context.respond(&batch.object)?;
    let mut tx = app.store.begin(&context.origin);
    for (place, bodies) in chunks.iter().enumerate() {
        tx.put_bodies(&batch.object, place, bodies)?;
    }
    tx.create(&mut batch)?;
    tx.commit(response).await
}

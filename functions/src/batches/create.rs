//! `POST /v1/batches`: creates a batch of up to 1,000 bodies of one operation, which are executed in the background.

use crate::Request;
use kernel::scope::Scope;
use kernel::{Error, Reply, Resource};
use models::Batch;
use models::batch::{BatchInternal, NewBatch};
use web::{Body, Conditional, Route};

pub const ROUTE: Route = Route::post("create-batch", "/v1/batches", Resource::Batches)
    .sometimes_requiring(&[Conditional {
        scope: "<resource>:write",
        when: "always, of what the operation creates",
    }]);

pub async fn handle(request: Request, Body(new): Body<NewBatch>) -> Result<Reply<Batch>, Error> {
    request.key.require(Scope::Write(new.operation.writes()))?;
    let internal = BatchInternal {
        key: Some((request.key.account.clone(), request.key.hash.clone())),
        request: request.origin.request.clone(),
        base_url: request.base_url.clone(),
        next_action_at: None,
    };
    let (mut batch, chunks) = Batch::new(new, internal, request.now())?;
    let response = request.respond(&batch.object)?;
    let mut tx = request.begin();
    for (place, bodies) in chunks.iter().enumerate() {
        tx.put_bodies(&batch.object, place, bodies)?;
    }
    tx.create(&mut batch)?;
    tx.commit(response).await
}

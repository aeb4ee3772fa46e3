//! `POST /v1/policies`: creates a policy. Fleets, drivers and vehicles refer to it in `policy_ids`.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Policy;
use models::policy::NewPolicy;
use web::{Body, Route};

pub const ROUTE: Route = Route::post("create-policy", "/v1/policies", Resource::Policies);

pub async fn handle(request: Request, Body(new): Body<NewPolicy>) -> Result<Reply<Policy>, Error> {
    let policy = Policy::new(new, request.now())?;
    request.create(policy).await
}

//! `POST /v1/policies/{id}`: updates a policy.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Policy;
use models::policy::PolicyChange;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post("update-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<PolicyChange>,
) -> Result<Reply<Policy>, Error> {
    let mut policy = request.load::<Policy>(&id).await?;
    let before = policy.clone();
    policy.update(change, request.now())?;
    request.save_update(&before, policy).await
}

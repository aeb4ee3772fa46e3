//! `DELETE /v1/policies/{id}`: deletes a policy that no fleet, driver or vehicle refers to.

use kernel::{Deleted, Error, Kind, Reply, Resource};
use models::Policy;
use table::access::Items;
use web::{PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::delete("delete-policy", "/v1/policies/{id}", Resource::Policies)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Deleted<Policy>>, Error> {
    let mut policy = request.load::<Policy>(&id).await?;
    references::unnamed_policy(&request, &id).await?;
    policy.delete();
    request.delete(&policy).await
}

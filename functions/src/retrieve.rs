//! The handler of routes that show an object as it is stored.

use crate::Request;
use kernel::{Error, Reply};
use table::stored_item::ById;
use web::PathId;

pub async fn handle<T: ById>(request: Request, PathId(id): PathId) -> Result<Reply<T>, Error> {
    let stored = request.get::<T>(&id).await?;
    request.show(&stored)
}

//! `DELETE /v1/payment_methods/{id}`: deletes a payment method that is not a default and that no active session or open reservation pays
//! with. Amounts that fell due before are still charged to it.

use kernel::{Deleted, Error, Reply, Resource};
use models::PaymentMethod;
use web::{PathId, Route};

use crate::{Request, references};

pub const ROUTE: Route = Route::delete(
    "delete-payment-method",
    "/v1/payment_methods/{id}",
    Resource::PaymentMethods,
);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<Deleted<PaymentMethod>>, Error> {
    let method = request.load::<PaymentMethod>(&id).await?;
    references::unused_payment_method(&request, &method.object).await?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.delete_payment_method(&method)?;
    tx.commit(response).await
}

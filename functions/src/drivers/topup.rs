//! `POST /v1/drivers/{id}/top_up`: charges a payment method and adds the money to the driver's wallet.

use axum::extract::State;
use shared::deployment::Need;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::driver::Driver;
use shared::models::event::EventType;
use shared::models::payment_method::Payer;
use shared::models::transaction::TopUp;
use shared::store::access::Rows;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Kind};

use crate::payments::{self, ToppedUp};

pub const ROUTE: Route = Route::post("topup-driver", "/v1/drivers/{id}/top_up", Resource::Drivers)
    .refusing(&[
        Code::PaymentAuthorizationFailed,
        Code::PaymentMethodNotFound,
        Code::PaymentMethodScopeInvalid,
    ])
    .timeout(29)
    .writing(&[Rows::Of(Kind::Transaction)])
    .needing(&[Need::Payments]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(body): Body<TopUp>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let currency = app
        .store
        .get::<Driver>(tenant, &id)
        .await?
        .object
        .preferences
        .currency;
    let transaction =
        match payments::top_up(&app, &caller, &body, &id, Payer::driver(&id), currency).await? {
            ToppedUp::Paid(transaction) => transaction,
            ToppedUp::Answered(answer) => return Ok(answer),
        };
    // Read only now: charging takes long, and the balance may have moved meanwhile.
    let row = app.store.load::<Driver>(tenant, &id).await?;
    let mut row = row.announcing(EventType::DriverUpdated);
    row.object.top_up(&transaction.object, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    payments::write_top_up(&app, &caller.origin, &mut changes, &transaction)?;
    app.store.commit(&caller.origin, changes, answer).await
}

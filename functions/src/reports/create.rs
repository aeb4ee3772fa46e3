//! `POST /v1/reports`: asks for a report; its file is made in the background.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::Resource;
use shared::models::fleet::Fleet;
use shared::models::report::{NewReport, Report};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error};

use crate::references;

pub const ROUTE: Route =
    Route::post("create-report", "/v1/reports", Resource::Reports).refusing(&[
        Code::ChargingStationNotFound,
        Code::DriverNotFound,
        Code::FleetNotFound,
        Code::VehicleNotFound,
    ]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewReport>,
) -> Result<Answer, Error> {
    let tenant = caller.tenant();
    let (mut report, private) = Report::new(new, tenant.account.clone(), caller.now())?;
    if let Some(fleet) = &report.fleet {
        let fleet = app.store.get::<Fleet>(tenant, fleet).await?.object;
        report.time_zone = fleet.timezone.as_str().to_owned();
    }
    references::report_filters(&app, tenant, &report.parameters.filters).await?;
    let answer = caller.answer(&report)?;
    let mut changes = Changes::new();
    let row = Row::with_private(report, private);
    app.store.create(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

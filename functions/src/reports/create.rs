//! `POST /v1/reports`: creates a report. Its file is generated in the background. The key must be allowed to read every kind of object that
//! the report shows.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::fleet::Fleet;
use models::report::{NewReport, Report};
use web::{Body, Conditional, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::post("create-report", "/v1/reports", Resource::Reports)
    .refusing(&[
        Code::ChargingStationNotFound,
        Code::DriverNotFound,
        Code::FleetNotFound,
        Code::VehicleNotFound,
    ])
    .sometimes_requiring(&[Conditional {
        scope: "<resource>:read",
        when: super::SHOWS,
    }]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewReport>,
) -> Result<Reply<Report>, Error> {
    let tenant = context.tenant();
    let mut report = Report::new(new, tenant.account.clone(), context.now())?;
    for kind in report.object.kinds() {
        context.key.require_read(kind)?;
    }
    if let Some(fleet) = &report.object.fleet {
        let fleet = app.store.get::<Fleet>(tenant, fleet).await?.object;
        report.object.time_zone = fleet.timezone.as_str().to_owned();
    }
    references::report_filters(&app, tenant, &report.object.parameters.filters).await?;
    let response = context.respond(&report.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create(&mut report)?;
    tx.commit(response).await
}

//! `POST /v1/reports`: creates a report. Its file is generated in the background. The key must be allowed to read every kind of object that
//! the report shows.

use kernel::{Code, Error, Reply, Resource};
use models::report::NewReport;
use models::{Fleet, Report};
use web::{Body, Conditional, Route};

use crate::{Request, references};

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

pub async fn handle(request: Request, Body(new): Body<NewReport>) -> Result<Reply<Report>, Error> {
    let tenant = request.tenant();
    let mut report = Report::new(new, tenant.account.clone(), request.now())?;
    for kind in report.object.kinds() {
        request.key.require_read(kind)?;
    }
    if let Some(fleet) = &report.object.fleet {
        let fleet = request.get::<Fleet>(fleet).await?.object;
        report.object.time_zone = fleet.timezone.as_str().to_owned();
    }
    references::report_filters(&request, &report.object.parameters.filters).await?;
    request.create(report).await
}

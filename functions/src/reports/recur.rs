//! The report of a fleet's reporting period.

use kernel::{Error, Id, Kind, Origin, Window};
use models::report::{Grouping, NewReport, NewReportParameters, ReportType};
use models::{Account, Fleet, Report};

use crate::App;

/// Creates the report of a period once, grouped by vehicle, if reports are enabled and there is anything to report. It counts as created
/// at the end of the period, as its id says, so that lists are in the order of `created`.
pub async fn ask(app: &App, origin: &Origin, fleet: &Fleet, period: Window) -> Result<(), Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let parameters = NewReportParameters {
        kind: ReportType::ChargingSummary,
        period_start: period.from,
        period_end: period.until,
        group_by: Some(Grouping::Vehicle),
        filters: None,
        format: None,
    };
    let new = NewReport {
        fleet: Some(fleet.id.clone()),
        parameters: Some(parameters),
    };
    let mut report = Report::new(new, tenant.account.clone(), origin.now)?;
    let seed = format!("{} {}", fleet.id, period.from);
    report.object.time_zone = fleet.timezone.as_str().to_owned();
    report.object.id = Id::derived(Kind::Report, period.until, &seed);
    report.object.created = period.until;
    let account = store.find::<Account>(tenant, &tenant.account).await?;
    let is_enabled = account.is_some_and(|account| account.object.preferences.reporting_enabled);
    let exists = store
        .find::<Report>(tenant, &report.object.id)
        .await?
        .is_some();
    if !is_enabled || exists || !charged(app, origin, fleet, &report.object).await? {
        return Ok(());
    }
    store.create(origin, &mut report).await
}

/// Returns whether a report of the fleet covers any session.
async fn charged(
    app: &App,
    origin: &Origin,
    fleet: &Fleet,
    report: &Report,
) -> Result<bool, Error> {
    let window = report.parameters.window();
    let (tenant, now) = (&origin.tenant, app.now());
    let mut pages = app
        .store
        .sessions_of_period(tenant, Some(&fleet.id), window, now);
    while let Some(page) = pages.next().await? {
        if page.iter().any(|session| report.parameters.covers(session)) {
            return Ok(true);
        }
    }
    Ok(false)
}

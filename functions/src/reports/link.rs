//! The link to a report's file, which is signed again whenever the report is shown.

use crate::App;
use kernel::Error;
use models::api_key::ActingKey;
use models::report::Report;
use models::stored::Stored;

/// The report as it is shown now, with a link to its file if the key may read every kind of object that the file shows.
pub async fn signed(
    app: &App,
    key: &ActingKey,
    report: Stored<Report>,
) -> Result<Stored<Report>, Error> {
    let mut report = report;
    let kinds = report.object.kinds();
    let may_read = kinds.into_iter().all(|kind| key.may_read(kind));
    if let Some(file) = report.internal.file.as_ref().filter(|_| may_read) {
        report.object.url = Some(app.files.link(file).await?);
    }
    Ok(report)
}

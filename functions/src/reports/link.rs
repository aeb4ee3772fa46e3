//! The link to a report's file, which is signed again whenever the report is shown.

use crate::Request;
use kernel::Error;
use models::{Report, Stored};

/// The report as it is shown now, with a link to its file if the file is still kept and the key may read every kind of object that it
/// shows.
pub async fn signed(request: &Request, report: Stored<Report>) -> Result<Stored<Report>, Error> {
    let mut report = report;
    let kinds = report.object.kinds();
    let may_read = kinds.into_iter().all(|kind| request.key.may_read(kind));
    let retention = request.app.settings.report_retention;
    let kept_until = report.object.succeeded_at.zip(retention);
    let is_kept = kept_until.is_none_or(|(at, retention)| request.app.now() < at.plus(retention));
    let file = report.internal.file.as_ref();
    if let Some(file) = file.filter(|_| may_read && is_kept) {
        report.object.url = Some(request.app.files.link(file).await?);
    }
    Ok(report)
}

//! The link to a report's file, signed again whenever the report is shown.

use shared::models::report::Report;
use shared::models::stored::Stored;
use shared::{App, Error};

/// The report as it is shown now.
pub async fn signed(app: &App, row: Stored<Report>) -> Result<Stored<Report>, Error> {
    let mut row = row;
    if let Some(file) = &row.internal.file {
        row.object.url = Some(app.files.link(file).await?);
    }
    Ok(row)
}

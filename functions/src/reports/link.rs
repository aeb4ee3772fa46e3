//! The link to a report's file, signed anew whenever the report is shown.

use shared::models::report::Report;
use shared::store::row::Row;
use shared::{App, Error};

/// The report as it is shown now.
pub async fn signed(app: &App, row: Row<Report>) -> Result<Row<Report>, Error> {
    let mut row = row;
    if let Some(file) = &row.private.file {
        row.object.url = Some(app.files.link(file).await?);
    }
    Ok(row)
}

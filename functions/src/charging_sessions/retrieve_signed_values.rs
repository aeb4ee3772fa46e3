//! `GET /v1/charging_sessions/{id}/signed_meter_values`: redirects to the signed meter values of a session, with a link that is valid for
//! 15 minutes: an XML file for S.A.F.E.'s transparency software. It contains the values from the CDRs of the station's network, as they
//! were received.

use crate::Request;
use crate::networks::objects::signed_values;
use kernel::response::FileOf;
use kernel::{Error, Kind, Reply, Resource, Response};
use models::ChargingSession;
use web::deployment::Need;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-signed-meter-values",
    "/v1/charging_sessions/{id}/signed_meter_values",
    Resource::ChargingSessions,
)
.needing(&[Need::WriteReports, Need::SignReports]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
) -> Result<Reply<FileOf<ChargingSession>>, Error> {
    let (app, tenant) = (&request.app, request.tenant());
    let session = request.get::<ChargingSession>(&id).await?;
    let network = session.internal.network.as_deref();
    let cdrs = network.map_or_else(Vec::new, |network| {
        network.cdrs.iter().map(|cdr| cdr.id.clone()).collect()
    });
    let file = signed_values(app, tenant.mode, &cdrs).await?;
    let file = file.ok_or_else(|| {
        let message = "No CDR of the session has signed meter values.";
        Error::conflict(message, Some(Kind::ChargingSession.name()))
    })?;
    let account = &tenant.account;
    let key = format!("{account}/{}/{id}/signed-meter-values.xml", tenant.mode);
    let content = file.into_bytes();
    app.files.put(&key, "application/xml", content).await?;
    Ok(Response::redirect(app.files.link(&key).await?).into())
}

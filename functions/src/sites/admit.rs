//! Decides whether a session at a station of a network may start: its site must have room for its power ([`models::site::starts`]).

use crate::App;
use kernel::{Error, Origin};
use models::{ChargingSession, Site, Stored};

use super::execute::PlanSite;
use super::read::inputs;

/// The decision about a start.
pub enum Admission {
    /// No capacity limit applies.
    Free,
    /// The site has room. It is written with the start, so that no other start and no plan uses the room.
    Room(Box<Stored<Site>>),
    Full,
}

/// Decides whether a pending session may start now.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn admit(
    app: &App,
    origin: &Origin,
    session: &ChargingSession,
) -> Result<Admission, Error> {
    let Origin { tenant, now, .. } = origin;
    let station = &session.charging_station;
    let Some(id) = app.store.site_of_station(tenant, station).await? else {
        return Ok(Admission::Free);
    };
    let site = app.store.find::<Site>(tenant, &id).await?;
    let Some(site) = site.filter(|site| site.object.has_capacity_limit()) else {
        return Ok(Admission::Free);
    };
    let inputs = Box::pin(inputs(app, tenant, &site, *now)).await?;
    if inputs.may_start(&site.object, &session.id, *now) {
        return Ok(Admission::Room(Box::new(site)));
    }
    // The plan reserves room for it.
    PlanSite::request(app, tenant, &id).await?;
    Ok(Admission::Full)
}

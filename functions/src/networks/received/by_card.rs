//! Creates the charging session of an object whose session was started with a card.

use crate::charge_cards::tap;
use crate::networks::nearby::Reference;
use crate::networks::stations;
use crate::networks::tokens::Holder;
use crate::{App, references};
use kernel::{Error, Mode, Tenant};
use models::charging::session::CardSession;
use models::charging_station::Connector;
use models::network::ForeignId;
use models::{ChargingSession, ChargingStation, Stored};

/// The new session for an object that was started with a card. Its driver and vehicle are those of the earlier session of its command, if
/// there is one. None if the station and the connector are not known, or the card has no driver with a vehicle.
pub(super) async fn session_started_with_card(
    app: &App,
    reference: &Reference<'_>,
    holder: &Holder,
    earlier: Option<&ChargingSession>,
    charger: Option<(ChargingStation, Connector)>,
) -> Result<Option<Stored<ChargingSession>>, Error> {
    let tenant = &holder.tenant;
    let Some((station, connector)) = charger else {
        return Ok(None);
    };
    let reader = tap::Place {
        station: &station,
        evse: &connector.evse,
    };
    let again = match earlier {
        Some(earlier) => tap::who_charges_again(app, tenant, &holder.card, earlier).await?,
        None => None,
    };
    let found = match again {
        Some(again) => Some(again),
        None => tap::who_charges(app, tenant, &holder.card, reader, reference.started).await?,
    };
    let Some(found) = found else {
        return Ok(None);
    };
    let (driver, fleet) = (&found.driver, Some(&found.fleet));
    let payment_method =
        references::default_method_of_drive(app, tenant, &driver.object, fleet).await?;
    let start = CardSession {
        card: &holder.card,
        station: &station,
        location: reference.location.as_ref(),
        connector: &connector,
        driver: &driver.object,
        vehicle: &found.vehicle,
        reservation: found
            .reservation
            .as_ref()
            .map(|reservation| &reservation.object),
        payment_method: payment_method.as_ref(),
        currency: references::currency(app, tenant, driver, fleet).await?,
    };
    Ok(ChargingSession::by_card(&start, app.now()))
}

/// The station and the connector of an object. Both may be removed by now: the location of a removed station is not stored any more, and
/// that of a removed EVSE contains it with the status `REMOVED` or among those that it has lost.
pub(super) async fn charger_of(
    app: &App,
    mode: Mode,
    tenant: &Tenant,
    reference: &Reference<'_>,
) -> Result<Option<(ChargingStation, Connector)>, Error> {
    let Some(location) = &reference.location else {
        return Ok(None);
    };
    let received = app.store.received(mode, location).await?;
    let station = received.as_ref().and_then(|object| object.station.clone());
    let station = station.unwrap_or_else(|| stations::expected_id(location));
    let station = app.store.find::<ChargingStation>(tenant, &station).await?;
    // The party may have left the network, and the station with it.
    let station = station.filter(|station| station.internal.location.as_ref() == Some(location));
    let (Some(station), Some(evse)) = (station, reference.evse) else {
        return Ok(None);
    };
    let mut station = station.object;
    if let Some(received) = received.filter(|_| station.evse(evse.as_str()).next().is_none()) {
        let removed = stations::removed_connectors(app, mode, &received, evse.as_str()).await?;
        station.connectors.extend(removed);
    }
    let named = reference.connector.map(ForeignId::as_str);
    let connector = station.connector_of(evse.as_str(), named).cloned();
    Ok(connector.map(|connector| (station, connector)))
}

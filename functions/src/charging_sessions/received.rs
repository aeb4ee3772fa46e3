//! What follows from the sessions and CDRs that networks send.
//!
//! An object belongs to the charging session that its `authorization_reference` names, which is the id of the command that started it; a
//! CDR also to that of the session, or of the credited CDR, which it names. Else it belongs to a session with its token, at its EVSE and at
//! its time. An object with a token of ours that belongs to no session is one that was started with a card: the session is created. Every
//! other object stays as it is, unmatched: it is counted and listed for operators, and nothing is billed for it.
//!
//! What an object belongs to is written in the transaction that changes the session, so that of two workers with the same object one has
//! to begin again.

use shared::charging::session::{CardSession, CdrOutcome};
use shared::models::charging_session::network::{CdrReport, ReportedState, SessionReport};
use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::models::charging_station::{ChargingStation, Connector};
use shared::models::stored::Stored;
use shared::ocpi::cdr::Cdr;
use shared::ocpi::cost::CdrToken;
use shared::ocpi::object::{Module, ObjectId};
use shared::ocpi::reader::lenient;
use shared::ocpi::session::Session;
use shared::origin::{Mode, Origin, Tenant};
use shared::store::keys::Partition;
use shared::store::list::PageRequest;
use shared::store::networks::{Matched, ReceivedObject};
use shared::time::{SignedDuration, minutes};
use shared::{App, Error, Id, Kind, Timestamp};

use super::operate::change_price;
use crate::charge_cards::tap;
use crate::networks::tokens::{self, Holder};
use crate::references;

/// How often an object is worked on again because its session was changed concurrently.
const TRIES: usize = 5;

/// How much earlier than the network's session ours was created at most, and by how much the beginning of a CDR differs
/// from that of its session.
const NEAR: SignedDuration = minutes(15);

/// How many sessions of a driver at a station are looked at.
const MAX_CANDIDATES: usize = 50;

/// What an object says about where it belongs.
struct Reference<'a> {
    object: &'a ReceivedObject,
    authorization: Option<&'a str>,
    session_id: Option<&'a str>,
    token: &'a CdrToken,
    location: &'a str,
    evse: Option<&'a str>,
    connector: Option<&'a str>,
    started: Timestamp,
}

/// Where an object belongs.
enum Place {
    Session(Matched),
    /// To a session that there is not yet: it was started with this token.
    Card(Holder),
}

/// Works on a session or a CDR that a network has sent, as it is by now.
///
/// # Errors
/// `Contended` if the charging session changes all the time, `Unavailable` if DynamoDB cannot be reached: the message comes again.
pub async fn handle(app: &App, mode: Mode, id: &ObjectId) -> Result<(), Error> {
    for _ in 0..TRIES {
        let Some(object) = app.store.received(mode, id).await? else {
            return Ok(());
        };
        let done = match id.module {
            Module::Sessions => session(app, mode, &object).await,
            Module::Cdrs => cdr(app, mode, &object).await,
            Module::Locations | Module::Tariffs | Module::HubClientInfo => Ok(()),
        };
        match done {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// What a session or a CDR says to ours.
enum Said<'a> {
    Session(&'a SessionReport),
    Cdr(&'a CdrReport),
}

async fn session(app: &App, mode: Mode, object: &ReceivedObject) -> Result<(), Error> {
    let read = lenient::<Session>(&object.object);
    let read = read.and_then(|session| session.report().map(|report| (session, report)));
    let (session, report) = match read {
        Ok(read) => read,
        Err(why) => return unusable(app, object, &why),
    };
    let reference = Reference {
        object,
        authorization: session.authorization_reference.as_deref(),
        session_id: Some(&session.id),
        token: &session.cdr_token,
        location: &session.location_id,
        evse: Some(&session.evse_uid),
        connector: Some(&session.connector_id),
        started: session.start_date_time,
    };
    let place = place(app, mode, &reference, None).await?;
    // One that has not begun is worth no session of its own.
    let is_worth = matches!(
        report.state,
        ReportedState::Active | ReportedState::Completed
    );
    match place {
        Some(Place::Card(_)) if !is_worth => Ok(()),
        place => apply(app, mode, &reference, place, &Said::Session(&report)).await,
    }
}

async fn cdr(app: &App, mode: Mode, object: &ReceivedObject) -> Result<(), Error> {
    let read = lenient::<Cdr>(&object.object);
    let read = read.and_then(|cdr| cdr.report().map(|report| (cdr, report)));
    let (cdr, report) = match read {
        Ok(read) => read,
        Err(why) => return unusable(app, object, &why),
    };
    let reference = Reference {
        object,
        authorization: cdr.authorization_reference.as_deref(),
        session_id: cdr.session_id.as_deref(),
        token: &cdr.cdr_token,
        location: &cdr.cdr_location.id,
        evse: cdr.cdr_location.evse_uid.as_deref(),
        connector: cdr.cdr_location.connector_id.as_deref(),
        started: cdr.start_date_time,
    };
    let credited = cdr.credit_reference_id.as_deref();
    let place = place(app, mode, &reference, credited).await?;
    match place {
        // A credit for something that was never billed.
        Some(Place::Card(_)) if report.billed.credit => {
            apply(app, mode, &reference, None, &Said::Cdr(&report)).await
        }
        place => apply(app, mode, &reference, place, &Said::Cdr(&report)).await,
    }
}

/// An object that this service cannot use stays unmatched.
fn unusable(app: &App, object: &ReceivedObject, why: &str) -> Result<(), Error> {
    tracing::warn!(network.id = %object.network, object = %object.id, error = why, "an object of a network cannot be used");
    app.settings
        .metrics
        .unmatched(app.now(), object.id.module.as_str());
    Ok(())
}

/// Finds where an object belongs. `credited` is the CDR that a CDR credits.
async fn place(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    credited: Option<&str>,
) -> Result<Option<Place>, Error> {
    let object = reference.object;
    if let Some(matched) = &object.matched {
        return Ok(Some(Place::Session(matched.clone())));
    }
    let owner = &object.id.owner;
    let named = [
        (Module::Sessions, reference.session_id),
        (Module::Cdrs, credited),
    ];
    for (module, id) in named {
        let Some(id) = id.and_then(|id| ObjectId::new(owner.clone(), module, id).ok()) else {
            continue;
        };
        let other = match id == object.id {
            true => None,
            false => app.store.received(mode, &id).await?,
        };
        if let Some(matched) = other.and_then(|other| other.matched) {
            return Ok(Some(Place::Session(matched)));
        }
    }
    if let Some(id) = reference.authorization.map(Id::from)
        && id.is(Kind::NetworkCommand)
        && let Some(command) = app.store.command(mode, &id).await?
        && command.network == object.network
        && command.subject.id.is(Kind::ChargingSession)
    {
        let matched = Matched {
            tenant: command.subject.tenant,
            charging_session: command.subject.id,
        };
        if is_free(app, &matched, reference).await? {
            return Ok(Some(Place::Session(matched)));
        }
    }
    let Some(holder) = tokens::holder(app, mode, reference.token).await? else {
        return Ok(None);
    };
    Ok(Some(match near(app, &holder, reference).await? {
        Some(matched) => Place::Session(matched),
        None => Place::Card(holder),
    }))
}

/// Whether a session is not that of another object of the network.
async fn is_free(app: &App, matched: &Matched, reference: &Reference<'_>) -> Result<bool, Error> {
    let row = app
        .store
        .find::<ChargingSession>(&matched.tenant, &matched.charging_session)
        .await?;
    let network = row.and_then(|row| row.internal.network);
    Ok(network.is_some_and(|network| is_same(network.session_id.as_deref(), reference)))
}

/// Whether a session with that id at the network may be the one that is meant.
fn is_same(known: Option<&str>, reference: &Reference<'_>) -> bool {
    match (known, reference.session_id) {
        (Some(known), Some(named)) => known.eq_ignore_ascii_case(named),
        _ => true,
    }
}

/// The session with the token, at the EVSE and at the time of an object.
async fn near(
    app: &App,
    holder: &Holder,
    reference: &Reference<'_>,
) -> Result<Option<Matched>, Error> {
    let tenant = &holder.tenant;
    let partition = match (&holder.driver, &holder.vehicle) {
        (Some(driver), _) => Partition::Driver { tenant, driver },
        (None, Some(vehicle)) => Partition::Vehicle { tenant, vehicle },
        (None, None) => return Ok(None),
    };
    let mut page_request = PageRequest::first(MAX_CANDIDATES);
    page_request.range.0 = Id::first_number(reference.started.plus(-NEAR));
    let found = app
        .store
        .list::<ChargingSession>(partition, &page_request, Vec::new())
        .await?;
    let fits = |row: &Stored<ChargingSession>| {
        let Some(network) = &row.internal.network else {
            return false;
        };
        let at = network.location_id.eq_ignore_ascii_case(reference.location)
            && reference
                .evse
                .is_none_or(|evse| network.evse_uid.eq_ignore_ascii_case(evse));
        let is_named = network.session_id.is_some() && reference.session_id.is_some();
        let apart = row.object.session_started.since(reference.started);
        let is_near = is_named || apart.abs() <= NEAR;
        at && is_near && is_same(network.session_id.as_deref(), reference)
    };
    // The one that began last before the object's.
    let fitting = found.rows.into_iter().filter(fits);
    let nearest = fitting.min_by_key(|row| {
        let apart = row.object.session_started.since(reference.started);
        (apart.abs(), row.object.id.clone())
    });
    Ok(nearest.map(|row| Matched {
        tenant: tenant.clone(),
        charging_session: row.object.id,
    }))
}

/// Has the session to which an object belongs follow what the object says.
async fn apply(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    place: Option<Place>,
    said: &Said<'_>,
) -> Result<(), Error> {
    let object = reference.object;
    let now = app.now();
    let found = match place {
        None => None,
        Some(Place::Session(matched)) => {
            let row = app
                .store
                .find::<ChargingSession>(&matched.tenant, &matched.charging_session)
                .await?;
            row.map(|row| (matched.tenant, row))
        }
        Some(Place::Card(holder)) => {
            let row = by_card(app, mode, reference, &holder, now).await?;
            row.map(|row| (holder.tenant, row))
        }
    };
    let Some((tenant, mut row)) = found else {
        if object.revision <= 1 {
            app.settings
                .metrics
                .unmatched(now, object.id.module.as_str());
        }
        return Ok(());
    };
    let origin = Origin::background(tenant.clone(), now);
    let before = row.clone();
    let mut cdr = None;
    let mut outcome = CdrOutcome::Noted;
    let changed = match said {
        Said::Session(report) => {
            let elsewhere = charges_elsewhere(app, &origin, &row).await?;
            row.take_report(report, elsewhere, now)
        }
        Said::Cdr(report) => {
            cdr = Some(report.billed.id.as_str());
            outcome = row.take_cdr(report, &app.settings.plausibility, now);
            if outcome == CdrOutcome::OtherCurrency {
                let why = "it bills in another currency than the session was billed in";
                return unusable(app, object, why);
            }
            let check = row.object.price_check;
            if check != before.object.price_check && check.is_some_and(|check| check.is_mismatch())
            {
                let party = object.id.owner.to_string();
                tracing::warn!(object.id = %row.object.id, party, check = ?check, "a network bills another price than its tariff's");
                app.settings.metrics.price_mismatch(now);
            }
            outcome != CdrOutcome::Known
        }
    };
    let is_matched = object.matched.is_some();
    if !changed && (is_matched || before.version == 0) {
        return Ok(());
    }
    let mut tx = match changed {
        true => change_price(app, &origin, &before, &mut row, outcome, cdr).await?,
        false => app.store.begin(&origin),
    };
    if !is_matched {
        let matched = Matched {
            tenant,
            charging_session: row.object.id.clone(),
        };
        tx.put_received(&ReceivedObject {
            matched: Some(matched),
            ..object.clone()
        })?;
    }
    tx.commit_without_response().await
}

/// Whether the driver or the vehicle of a session that was given up takes part in another one by now.
async fn charges_elsewhere(
    app: &App,
    origin: &Origin,
    row: &Stored<ChargingSession>,
) -> Result<bool, Error> {
    if row.object.status != SessionStatus::Failed {
        return Ok(false);
    }
    let session = &row.object;
    for (kind, id) in [
        (Kind::Driver, &session.driver),
        (Kind::Vehicle, &session.vehicle),
    ] {
        if references::charging(app, origin, kind, id, None)
            .await?
            .is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The session that was started with a card: not in the table yet. None if its place is not known, or the card leads to nobody there.
async fn by_card(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    holder: &Holder,
    now: Timestamp,
) -> Result<Option<Stored<ChargingSession>>, Error> {
    let tenant = &holder.tenant;
    let Some((station, connector)) = place_of(app, mode, tenant, reference).await? else {
        return Ok(None);
    };
    let reader = tap::Place {
        station: &station,
        evse: &connector.evse,
    };
    let (token, began) = (reference.token, reference.started);
    let found = tokens::who_charges(app, mode, token, reader, began).await?;
    let Some(found) = found else {
        return Ok(None);
    };
    let card = CardSession {
        station: &station,
        connector: &connector,
        driver: &found.driver.object,
        vehicle: &found.vehicle,
        reservation: found.reservation.as_ref().map(|row| &row.object.id),
        currency: references::currency(app, tenant, &found.driver, Some(&found.fleet)).await?,
    };
    Ok(ChargingSession::by_card(&card, now))
}

/// The station and the connector of an object.
async fn place_of(
    app: &App,
    mode: Mode,
    tenant: &Tenant,
    reference: &Reference<'_>,
) -> Result<Option<(ChargingStation, Connector)>, Error> {
    let owner = reference.object.id.owner.clone();
    let Ok(location) = ObjectId::new(owner, Module::Locations, reference.location) else {
        return Ok(None);
    };
    let location = app.store.received(mode, &location).await?;
    let Some(station) = location.and_then(|location| location.station) else {
        return Ok(None);
    };
    let Some(station) = app.store.find::<ChargingStation>(tenant, &station).await? else {
        return Ok(None);
    };
    let station = station.object;
    let at = |connector: &&Connector| {
        let evse = reference.evse;
        evse.is_some_and(|evse| connector.evse.eq_ignore_ascii_case(evse))
    };
    let is_named = |connector: &&Connector| {
        let own = connector.id.get(connector.evse.len() + 1..);
        own.zip(reference.connector)
            .is_some_and(|(own, named)| own.eq_ignore_ascii_case(named))
    };
    let connectors = || station.connectors.iter().filter(at);
    let connector = connectors().find(is_named).or_else(|| connectors().next());
    let connector = connector.cloned();
    Ok(connector.map(|connector| (station, connector)))
}

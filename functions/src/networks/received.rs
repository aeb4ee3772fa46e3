//! Processes the sessions and CDRs that networks send.
//!
//! An object belongs to the charging session that its `authorization_reference` names, which is the id of the command that started it; a
//! CDR also to that of the session, or of the credited CDR, that it names. Otherwise it belongs to a session with its token, at its EVSE
//! and at its time. If an object has a token of this service but belongs to no session, its session was started with a card: the charging
//! session is created; for a CDR a minute later, because the report of its session may be on its way. If the location or the EVSE is not
//! known yet, the object waits for it up to seven days. A CDR for a reservation that was never used belongs to the reservation
//! ([`crate::reservations::unused`]). Every other object stays unmatched: it is counted and listed for operators, and nothing is billed for
//! it.
//!
//! A command may lead to several charges. A CDR that names it and no session is about another charge than the session that it has started,
//! if that session was billed and their times do not overlap.
//!
//! Some networks name other ids in CDRs than in sessions. A CDR that names a session of which nothing is known, and whose time overlaps
//! with that of another session of its card at its EVSE, is the bill of that session if it has none, and otherwise stays unmatched.
//!
//! Invariant: an object belongs only to sessions and reservations at a station of its own party of its own network. All networks have all
//! tokens, and ids of locations, EVSEs, sessions and CDRs are unique within a party only. An object that names a command to another party,
//! or that may be about a session of its party over another network, stays unmatched.
//!
//! The assignment of an object is written in the transaction that changes the session, so that one of two workers with the same object has
//! to start again. So does one of two workers that create sessions for the same card, because their objects may be about the same charge.

use kernel::time::{DAY, MINUTE, days};
use kernel::{Error, Id, Kind, Mode, Origin, SignedDuration, Tenant, Timestamp};
use models::charging::session::{CardSession, CdrOutcome};
use models::charging_session::SessionStatus;
use models::charging_session::network::{CdrReport, ReportedState, SessionReport};
use models::charging_station::Connector;
use models::network::{EvseId, ForeignId, Module, ObjectId};
use models::ports::network::Subject;
use models::ports::{JobSubject, digest_of};
use models::{ChargingSession, ChargingStation, Stored};
use ocpi::cdr::Cdr;
use ocpi::reader::lenient;
use ocpi::session::Session;
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use table::charge_cards::LastUse;
use table::networks::{ReceivedObject, SentCommand};

use super::nearby::{Near, Reference, is_same, nearby_session, overlapping_session};
use super::tokens::{self, Holder};
use super::{COLLISION_ATTEMPTS, COLLISIONS, stations, workers};
use crate::charge_cards::tap;
use crate::charging_sessions::operate::writes_of_price_change;
use crate::function::Function;
use crate::job::Job;
use crate::reservations::unused;
use crate::{App, references};

/// The time during which a credit waits for what it credits, and an object for the location and the EVSE that it names. It is processed
/// again whenever it has waited twice as long.
const MAX_WAIT: SignedDuration = days(7);

/// The time during which a CDR waits for the report of its session before a charging session is created for the CDR.
const SESSION_WAIT: SignedDuration = MINUTE;

/// The maximum age of the reported start of a running session. A session with an earlier start is taken to have begun when its report
/// arrived.
const MAX_REPORTED_AGE: SignedDuration = DAY;

/// The session or reservation to which an object belongs.
enum Assignment {
    /// This session or reservation.
    Known(Subject),
    /// A session that does not exist yet: it was started with the holder's card. `earlier` is the session of the command that the object
    /// names, if that is another one.
    ByCard {
        holder: Holder,
        earlier: Option<Box<ChargingSession>>,
    },
}

/// Processes a session or a CDR that a network has sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyReceived {
    pub mode: Mode,
    pub object: ObjectId,
}

impl Job for ApplyReceived {
    const NAME: &'static str = "apply-received";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    fn schedule_name(&self) -> String {
        digest_of("received", &self.object.to_string())
    }

    /// Processes the present state of a session or a CDR that a network has sent.
    ///
    /// # Errors
    /// `Contended` if the charging session changes continuously, `Unavailable` if DynamoDB cannot be reached: the message is delivered
    /// again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mode, object: id } = &self;
        let mode = *mode;
        let process = || async {
            let Some(object) = app.store.received(mode, id).await? else {
                return Ok(());
            };
            match id.module() {
                Module::Sessions => session(app, mode, &object).await,
                Module::Cdrs => cdr(app, mode, &object).await,
                Module::Locations | Module::Tariffs | Module::HubClientInfo => Ok(()),
            }
        };
        COLLISIONS
            .after_collisions(COLLISION_ATTEMPTS, process)
            .await
    }
}

/// The report of a session or a CDR for the charging session.
enum Report<'a> {
    Session(&'a SessionReport),
    Cdr(&'a CdrReport),
}

async fn session(app: &App, mode: Mode, object: &ReceivedObject) -> Result<(), Error> {
    let read = lenient::<Session>(&object.object).and_then(|session| {
        let report = session.report(&object.id, object.updated())?;
        Ok((session, report))
    });
    let (session, report) = match read {
        Ok(read) => read,
        Err(why) => return count_as_unmatched(app, object, &why),
    };
    let reference = Reference {
        object,
        authorization: session.authorization_reference.as_deref(),
        session: Some(object.id.clone()),
        credited: None,
        is_bill: false,
        token: &session.cdr_token,
        location: location(object, &session.location_id),
        evse: Some(&session.evse_uid),
        connector: Some(&session.connector_id),
        started: believed_start(&report, object.received),
        ended: (report.state == ReportedState::Completed)
            .then(|| report.ended.unwrap_or(report.last_updated)),
    };
    let assignment = assignment_of(app, mode, &reference).await?;
    // A session that has not begun does not justify a charging session.
    let is_worth = matches!(
        report.state,
        ReportedState::Active | ReportedState::Completed
    );
    match assignment {
        Some(Assignment::ByCard { .. }) if !is_worth => Ok(()),
        found => apply(app, mode, &reference, found, &Report::Session(&report)).await,
    }
}

/// Returns the start by which the session of a report is found. A session that is not over did not begin more than a day ago: a charging
/// point that says so has no clock.
fn believed_start(report: &SessionReport, received: Timestamp) -> Timestamp {
    let is_over = report.state == ReportedState::Completed;
    if received.since(report.started) > MAX_REPORTED_AGE && !is_over {
        received
    } else {
        report.started
    }
}

async fn cdr(app: &App, mode: Mode, object: &ReceivedObject) -> Result<(), Error> {
    let read = lenient::<Cdr>(&object.object).and_then(|cdr| {
        let report = cdr.report(&object.id, object.updated())?;
        Ok((cdr, report))
    });
    let (cdr, report) = match read {
        Ok(read) => read,
        Err(why) => return count_as_unmatched(app, object, &why),
    };
    let reference = Reference {
        object,
        authorization: cdr.authorization_reference.as_deref(),
        session: report.session.clone(),
        credited: report.billed.credits.clone(),
        is_bill: !report.billed.credit,
        token: &cdr.cdr_token,
        location: location(object, &cdr.cdr_location.id),
        evse: cdr.cdr_location.evse_uid.as_ref(),
        connector: cdr.cdr_location.connector_id.as_ref(),
        started: cdr.start_date_time,
        ended: Some(cdr.end_date_time),
    };
    if cdr.is_for_unused_reservation() {
        return reservation(app, mode, &reference, &cdr).await;
    }
    let assignment = assignment_of(app, mode, &reference).await?;
    match assignment {
        // A credit of something that was not billed yet, or never.
        Some(Assignment::ByCard { .. }) if report.billed.credit => {
            if defer_unless_expired(app, mode, object).await? {
                return Ok(());
            }
            apply(app, mode, &reference, None, &Report::Cdr(&report)).await
        }
        // The report of its session may be on its way, or be processed at this moment.
        Some(Assignment::ByCard { .. }) if app.now().since(object.received) < SESSION_WAIT => {
            let due = object.received.plus(SESSION_WAIT);
            let object = object.id.clone();
            ApplyReceived { mode, object }.send_at(app, due).await
        }
        Some(Assignment::ByCard { holder, earlier }) => {
            let found = assignment_of_bill(app, mode, &reference, holder, earlier).await?;
            apply(app, mode, &reference, found, &Report::Cdr(&report)).await
        }
        found => apply(app, mode, &reference, found, &Report::Cdr(&report)).await,
    }
}

/// Processes the object again later, when it has waited twice as long, unless it has waited for [`MAX_WAIT`]. Returns whether it was
/// deferred.
async fn defer_unless_expired(
    app: &App,
    mode: Mode,
    object: &ReceivedObject,
) -> Result<bool, Error> {
    let (now, id) = (app.now(), object.id.clone());
    let waited = now.since(object.received);
    if waited >= MAX_WAIT {
        return Ok(false);
    }
    let again = ApplyReceived { mode, object: id };
    again.send_at(app, now.plus(waited.max(MINUTE))).await?;
    Ok(true)
}

/// A CDR for a reservation that was never used.
async fn reservation(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    cdr: &Cdr,
) -> Result<(), Error> {
    let object = reference.object;
    let cost = match cdr.reservation_cost(&object.id, object.updated()) {
        Ok(cost) => cost,
        Err(why) => return count_as_unmatched(app, object, &why),
    };
    // The credit of such a CDR may name only the CDR.
    let known = match subject_of_named_object(app, mode, reference).await? {
        Some(known) => Some((known, None)),
        None => {
            let command = command(app, mode, reference).await?;
            let own = command.filter(|command| command.to == *reference.owner());
            own.map(|command| (command.subject, Some(command.id)))
        }
    };
    let known = known.filter(|(subject, _)| subject.id.is(Kind::Reservation));
    let is_due = match known {
        Some((subject, command)) => {
            unused::bill(app, object, &subject, command.as_ref(), &cost).await?
        }
        None => false,
    };
    if is_due {
        Ok(())
    } else {
        count_as_unmatched(
            app,
            object,
            "nothing is due for a reservation that it names, or the amount is not plausible",
        )
    }
}

/// The location of the party of an object; none if no location can have the id.
fn location(object: &ReceivedObject, id: &ForeignId) -> Option<ObjectId> {
    object.id.beside(Module::Locations, id.as_str()).ok()
}

/// Counts an object as unmatched, because this service cannot use it.
fn count_as_unmatched(app: &App, object: &ReceivedObject, why: &str) -> Result<(), Error> {
    tracing::warn!(object = %object.id, error = why, "an object of a network cannot be used");
    app.settings
        .metrics
        .unmatched(app.now(), object.id.module().as_str());
    Ok(())
}

/// The session or reservation that an object is matched with already, or that of its session or of the CDR that it credits.
async fn subject_of_named_object(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
) -> Result<Option<Subject>, Error> {
    let object = reference.object;
    if object.matched.is_some() {
        return Ok(object.matched.clone());
    }
    for id in [&reference.session, &reference.credited]
        .into_iter()
        .flatten()
    {
        let other = if *id == object.id {
            None
        } else {
            app.store.received(mode, id).await?
        };
        if let Some(matched) = other.and_then(|other| other.matched) {
            return Ok(Some(matched));
        }
    }
    Ok(None)
}

/// The command that an object names, to whichever party it was sent.
async fn command(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
) -> Result<Option<SentCommand>, Error> {
    // The reference is case-insensitive (CiString), and ids are in lower case.
    let named = reference.authorization.map(str::to_ascii_lowercase);
    let id = named.map(Id::from);
    match id.filter(|id| id.is(Kind::NetworkCommand)) {
        Some(id) => app.store.command(mode, &id).await,
        None => Ok(None),
    }
}

/// Finds the session or reservation of an object.
async fn assignment_of(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
) -> Result<Option<Assignment>, Error> {
    if let Some(known) = subject_of_named_object(app, mode, reference).await? {
        return Ok(Some(Assignment::Known(known)));
    }
    let mut earlier = None;
    if let Some(command) = command(app, mode, reference).await? {
        if command.to != *reference.owner() {
            return Ok(None);
        }
        let subject = command.subject;
        if subject.id.is(Kind::ChargingSession) {
            let session = app.store.find(&subject.tenant, &subject.id).await?;
            let is_own = |session: &Stored<ChargingSession>| {
                is_free(session, reference) && !is_of_another_time(session, reference)
            };
            if session.as_ref().is_some_and(is_own) {
                return Ok(Some(Assignment::Known(subject)));
            }
            earlier = session.map(|session| Box::new(session.object));
        }
    }
    let Some(holder) = tokens::holder(app, mode, reference.token, reference.started).await? else {
        return Ok(None);
    };
    let earlier = earlier.filter(|earlier| holder.driver.as_ref() == Some(&earlier.driver));
    if earlier.is_some() && reference.session.is_some() {
        return Ok(Some(Assignment::ByCard { holder, earlier }));
    }
    Ok(match nearby_session(app, &holder, reference).await? {
        Near::Session(subject) => Some(Assignment::Known(subject)),
        Near::Nothing => Some(Assignment::ByCard { holder, earlier }),
        Near::OverAnotherNetwork => None,
        Near::TooMany => {
            let object = &reference.object.id;
            tracing::warn!(%object, "a driver has too many sessions since that of an object");
            None
        }
    })
}

/// Finds the session of a CDR that belongs to no session by its ids. If nothing is known of the session that it names, it is the bill of
/// the session at its EVSE and its time, unless that has one.
async fn assignment_of_bill(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    holder: Holder,
    earlier: Option<Box<ChargingSession>>,
) -> Result<Option<Assignment>, Error> {
    let is_unknown = match (&reference.session, reference.evse) {
        (Some(named), Some(_)) => app.store.received(mode, named).await?.is_none(),
        _ => false,
    };
    let beside = if is_unknown {
        overlapping_session(app, &holder, reference).await?
    } else {
        None
    };
    Ok(match beside {
        None => Some(Assignment::ByCard { holder, earlier }),
        Some(session) if session.is_billed() => None,
        Some(session) => Some(Assignment::Known(Subject::new(
            holder.tenant,
            session.object.id,
        ))),
    })
}

/// Returns whether a session does not belong to another object of the network.
fn is_free(session: &Stored<ChargingSession>, reference: &Reference<'_>) -> bool {
    let network = session.internal.network.as_ref();
    network.is_some_and(|network| is_same(network.session.as_ref(), reference))
}

/// Returns whether a CDR that names no session is not about a session that was billed: their times do not overlap. A command may lead to
/// several charges, and a corrected bill is about the same time.
fn is_of_another_time(session: &Stored<ChargingSession>, reference: &Reference<'_>) -> bool {
    let is_unnamed = reference.is_bill && reference.session.is_none();
    is_unnamed && session.is_billed() && !reference.overlaps(&session.object)
}

/// Updates the session to which an object belongs with the object's report. If the session was started with a card and the location or the
/// EVSE is not known yet, the object waits for it.
async fn apply(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    assignment: Option<Assignment>,
    reported: &Report<'_>,
) -> Result<(), Error> {
    let (object, now) = (reference.object, app.now());
    let mut card = None;
    let found = match assignment {
        None => None,
        Some(Assignment::Known(Subject { tenant, id })) => {
            let session = app.store.find::<ChargingSession>(&tenant, &id).await?;
            session.map(|session| (tenant, session))
        }
        Some(Assignment::ByCard { holder, earlier }) => {
            let charger = charger_of(app, mode, &holder.tenant, reference).await?;
            if charger.is_none() && defer_unless_expired(app, mode, object).await? {
                return Ok(());
            }
            let session =
                session_started_with_card(app, reference, &holder, earlier.as_deref(), charger)
                    .await?;
            card = Some((holder.card, holder.last));
            session.map(|session| (holder.tenant, session))
        }
    };
    let own = found.filter(|(_, session)| session.is_at(reference.owner()));
    let Some((tenant, session)) = own else {
        if object.revision <= 1 {
            app.settings
                .metrics
                .unmatched(now, object.id.module().as_str());
        }
        return Ok(());
    };
    update_session(app, mode, reference, tenant, session, card, reported).await
}

/// Updates a session with the report of its object. Of a new session, the card that started it and the last use of the card are given.
async fn update_session(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    tenant: Tenant,
    mut session: Stored<ChargingSession>,
    card: Option<(Id, LastUse)>,
    reported: &Report<'_>,
) -> Result<(), Error> {
    let (object, now) = (reference.object, app.now());
    let origin = Origin::background(tenant.clone(), now);
    let before = session.clone();
    let mut cdr = None;
    let mut outcome = CdrOutcome::Noted;
    let has_moved = move_session(app, &tenant, reference, &mut session, reported).await?;
    let changed = match reported {
        Report::Session(report) => {
            let elsewhere = charges_elsewhere(app, &origin, &session).await?;
            session.take_report(report, elsewhere, now)
        }
        Report::Cdr(report) => {
            cdr = Some(&report.billed.id);
            outcome = session.take_cdr(report, &app.settings.plausibility, now);
            if outcome == CdrOutcome::OtherCurrency {
                let why = "it bills in another currency than the session was billed in";
                return count_as_unmatched(app, object, why);
            }
            report_mismatch(app, object, &before, &session, now);
            outcome != CdrOutcome::Known
        }
    } || has_moved;
    let is_matched = object.matched.is_some();
    if !changed && (is_matched || before.is_new()) {
        return Ok(());
    }
    let mut tx = if changed {
        writes_of_price_change(app, &origin, &before, &mut session, outcome, cdr).await?
    } else {
        app.store.begin(&origin)
    };
    if !is_matched {
        let matched = Subject::new(tenant, session.object.id.clone());
        if before.is_new() {
            match_named_session(app, mode, reference, &matched, &mut tx).await?;
        }
        if let Some((card, last)) = card {
            tx.note_use(&card, &last, &matched.id);
        }
        tx.put_received(&ReceivedObject {
            matched: Some(matched),
            ..object.clone()
        })?;
    }
    tx.commit_without_response().await
}

/// Moves a session to the connector at which its newest report or a bill describes it, if it is another one of its station. Returns whether
/// it was moved.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
async fn move_session(
    app: &App,
    tenant: &Tenant,
    reference: &Reference<'_>,
    session: &mut Stored<ChargingSession>,
    reported: &Report<'_>,
) -> Result<bool, Error> {
    let now = app.now();
    let is_current = match reported {
        Report::Session(report) => !session.is_outdated(report, now),
        Report::Cdr(report) => !report.billed.credit,
    };
    let network = session.internal.network.as_deref();
    let (Some(network), Some(uid)) = (network, reference.evse) else {
        return Ok(false);
    };
    let location = &network.evse.location;
    let named = reference.connector.map(ForeignId::as_str);
    let is_named = |own: Option<&str>| {
        let both = own.zip(named);
        both.is_none_or(|(own, named)| own.eq_ignore_ascii_case(named))
    };
    let is_same_evse = network.evse == EvseId::new(location.clone(), uid.as_str());
    let is_here = reference.location.as_ref() == Some(location) && is_free(session, reference);
    let is_same = is_same_evse && is_named(network.connector.as_deref());
    if !is_current || !is_here || is_same {
        return Ok(false);
    }
    let id = &session.object.charging_station;
    let Some(station) = app.store.find::<ChargingStation>(tenant, id).await? else {
        return Ok(false);
    };
    let connector = station.object.connector_of(uid.as_str(), named);
    // Nothing is known of a connector that the EVSE does not have.
    let connector = connector.filter(|found| !is_same_evse || is_named(found.id_within_evse()));
    Ok(connector.is_some_and(|connector| session.move_to(&station, connector, now)))
}

/// Matches the session that a CDR names with the charging session that is created for the CDR. The report of that session may be processed at
/// the same time: of the two, only the first creates a charging session.
///
/// # Errors
/// `Contended` if the session has its charging session by now, `Unavailable` if DynamoDB cannot be reached.
async fn match_named_session(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    matched: &Subject,
    tx: &mut UnitOfWork<'_>,
) -> Result<(), Error> {
    let named = reference.session.as_ref();
    let Some(id) = named.filter(|id| **id != reference.object.id) else {
        return Ok(());
    };
    match app.store.received(mode, id).await? {
        Some(session) if session.matched.is_some() => Err(Error::Contended),
        Some(session) => tx.put_received(&ReceivedObject {
            matched: Some(matched.clone()),
            ..session
        }),
        None => {
            tx.check_not_received(id);
            Ok(())
        }
    }
}

/// Reports in the log and in the metrics that the price of a CDR differs from the price by its tariff.
fn report_mismatch(
    app: &App,
    object: &ReceivedObject,
    before: &Stored<ChargingSession>,
    session: &Stored<ChargingSession>,
    now: Timestamp,
) {
    let check = session.object.state.price_check();
    if check != before.object.state.price_check() && check.is_some_and(|check| check.is_mismatch())
    {
        let party = object.id.party().to_string();
        tracing::warn!(object.id = %session.object.id, party, check = ?check, "a network bills another price than its tariff's");
        app.settings.metrics.price_mismatch(now);
    }
}

/// Returns whether the driver or the vehicle of an abandoned session takes part in another one by now.
async fn charges_elsewhere(
    app: &App,
    origin: &Origin,
    stored: &Stored<ChargingSession>,
) -> Result<bool, Error> {
    if stored.object.status() != SessionStatus::Failed {
        return Ok(false);
    }
    let session = &stored.object;
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

/// The new session for an object that was started with a card. Its driver and vehicle are those of the earlier session of its command, if
/// there is one. None if the station and the connector are not known, or the card has no driver with a vehicle.
async fn session_started_with_card(
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
            .map(|reservation| &reservation.object.id),
        payment_method: payment_method.as_ref(),
        currency: references::currency(app, tenant, driver, fleet).await?,
    };
    Ok(ChargingSession::by_card(&start, app.now()))
}

/// The station and the connector of an object. Both may be removed by now: the location of a removed station is not stored any more, and
/// that of a removed EVSE contains it with the status `REMOVED` or among those that it has lost.
async fn charger_of(
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

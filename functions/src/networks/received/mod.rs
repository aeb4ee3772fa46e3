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
//! Some networks use ids again. An object that is matched with a session, or names one that is, belongs to that session only if its command
//! is not that of a later one and its token is that of the same holder. Otherwise a reported session loses its match, and both are assigned
//! as if the id were new; the earlier session keeps its figures and its bill, and commands for it are not sent any more.
//!
//! The assignment of an object is written in the transaction that changes the session, so that one of two workers with the same object has
//! to start again. So does one of two workers that create sessions for the same card, because their objects may be about the same charge.

mod assignment;
mod by_card;
mod update;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use self::assignment::{
    Assignment, assignment_of, assignment_of_bill, command, count_as_unmatched,
    subject_of_named_object, without_impossible_match,
};
use self::by_card::{charger_of, session_started_with_card};
use self::update::{Report, update_session};
use super::nearby::Reference;
use super::{COLLISION_ATTEMPTS, COLLISIONS, workers};
use crate::App;
use crate::function::Function;
use crate::job::Job;
use crate::reservations::unused;
use kernel::time::{DAY, MINUTE, days};
use kernel::{Error, Kind, Mode, SignedDuration, Timestamp};
use models::charging_session::network::{ReportedState, SessionReport};
use models::network::{ForeignId, Module, ObjectId};
use models::ports::{JobSubject, digest_of};
use ocpi::cdr::Cdr;
use ocpi::reader::lenient;
use ocpi::session::Session;
use table::networks::ReceivedObject;

/// The time during which a credit waits for what it credits, and an object for the location and the EVSE that it names. It is processed
/// again whenever it has waited twice as long.
const MAX_WAIT: SignedDuration = days(7);

/// The time during which a CDR waits for the report of its session before a charging session is created for the CDR.
const SESSION_WAIT: SignedDuration = MINUTE;

/// The maximum age of the reported start of a running session. A session with an earlier start is taken to have begun when its report
/// arrived.
const MAX_REPORTED_AGE: SignedDuration = DAY;

/// Processes a session or a CDR that a network has sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyReceived {
    pub mode: Mode,
    pub object: ObjectId,
}

impl Job for ApplyReceived {
    const NAME: &'static str = "apply-received";
    const IS_LOOP: bool = true;
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
        read: OnceLock::new(),
    };
    let released = without_impossible_match(app, mode, &reference).await?;
    let reference = Reference {
        object: released.as_ref().unwrap_or(object),
        ..reference
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
        read: OnceLock::new(),
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
        Some(Assignment::Known(subject)) => {
            let session = reference.charging_session(app, &subject).await?;
            session.map(|session| (subject.tenant, session))
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

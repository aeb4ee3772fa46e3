//! The assignment of a session or a CDR: the charging session or the reservation to which it belongs.

use crate::App;
use crate::networks::nearby::{Near, Reference, is_same, nearby_session, overlapping_session};
use crate::networks::tokens::{self, Holder};
use kernel::{Error, Id, Kind, Mode};
use models::ports::network::Subject;
use models::{ChargingSession, Stored};
use ocpi::cost::CdrToken;
use serde_json::Value;
use table::networks::{ReceivedObject, SentCommand, shared_origin};

/// The session or reservation to which an object belongs.
pub(super) enum Assignment {
    /// This session or reservation.
    Known(Subject),
    /// A session that does not exist yet: it was started with the holder's card. `earlier` is the session of the command that the object
    /// names, if that is another one.
    ByCard {
        holder: Holder,
        earlier: Option<Box<ChargingSession>>,
    },
}

/// Counts an object as unmatched, because this service cannot use it.
pub(super) fn count_as_unmatched(
    app: &App,
    object: &ReceivedObject,
    why: &str,
) -> Result<(), Error> {
    tracing::warn!(object = %object.id, error = why, "an object of a network cannot be used");
    app.settings
        .metrics
        .unmatched(app.now(), object.id.module().as_str());
    Ok(())
}

/// The session or reservation that an object is matched with already, or that of its session or of the CDR that it credits.
pub(super) async fn subject_of_named_object(
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
        if let Some(other) = other
            && let Some(matched) = &other.matched
            && may_belong_to(app, mode, reference, matched, &other.object).await?
        {
            return Ok(other.matched);
        }
    }
    Ok(None)
}

/// Removes the match of a reported session that cannot belong to the session it is matched with: some networks use the ids of sessions
/// again. The charging session does not change. Returns the object without the match; None if the match stays.
///
/// # Errors
/// `Contended` if the object was written meanwhile, `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn without_impossible_match(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
) -> Result<Option<ReceivedObject>, Error> {
    let object = reference.object;
    let Some(matched) = &object.matched else {
        return Ok(None);
    };
    if may_belong_to(app, mode, reference, matched, &Value::Null).await? {
        return Ok(None);
    }
    tracing::warn!(object = %object.id, "a network has used the id of a session again");
    let mut released = ReceivedObject {
        matched: None,
        ..object.clone()
    };
    let origin = shared_origin(mode, app.now());
    let mut tx = app.store.begin(&origin);
    tx.put_received(&released)?;
    tx.commit_without_response().await?;
    released.revision += 1;
    Ok(Some(released))
}

/// Returns whether an object may belong to a session or reservation with which it, or the object `named` in it, was matched: its command
/// is not that of another one, and its token is that of the same holder. A command may lead to several sessions, of which all but the
/// first were created later than the one that the command was sent for.
pub(super) async fn may_belong_to(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    matched: &Subject,
    named: &Value,
) -> Result<bool, Error> {
    if let Some(command) = command(app, mode, reference).await? {
        let subject = &command.subject;
        if *subject == *matched {
            return Ok(true);
        }
        let (kind, is_session) = (Kind::ChargingSession, subject.id.is(Kind::ChargingSession));
        if is_session && (!matched.id.is(kind) || subject.id > matched.id) {
            return Ok(false);
        }
    }
    let Subject { tenant, id } = matched;
    let session = if id.is(Kind::ChargingSession) {
        reference.charging_session(app, matched).await?
    } else {
        None
    };
    let token = reference.token;
    let Some(holder) = tokens::holder(app, mode, token, reference.started).await? else {
        let is_there = session.as_ref().is_some_and(|session| {
            let network = session.internal.network.as_deref();
            network.is_some_and(|network| reference.is_at(&network.evse))
                && reference.overlaps(&session.object)
        });
        // A network may report the session of its own id with another token later.
        let is_same_session = is_there && named.is_null();
        let card = session
            .as_ref()
            .and_then(|session| session.internal.network.as_deref()?.card.as_ref());
        return Ok(is_same_session
            || tokens::may_have_been_of(app, mode, token, tenant, card, is_there).await?
            || CdrToken::named_in(named).as_ref() == Some(token));
    };
    Ok(holder.tenant == *tenant && session.is_none_or(|session| holder.charges_in(&session)))
}

/// The command that an object names, to whichever party it was sent.
pub(super) async fn command(
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
pub(super) async fn assignment_of(
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
            let session = reference.charging_session(app, &subject).await?;
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

/// Finds the session of a CDR that belongs to no session by its ids. If nothing is known of the session that it names, or if that is of
/// somebody else, it is the bill of the session at its EVSE and its time, unless that has one.
pub(super) async fn assignment_of_bill(
    app: &App,
    mode: Mode,
    reference: &Reference<'_>,
    holder: Holder,
    earlier: Option<Box<ChargingSession>>,
) -> Result<Option<Assignment>, Error> {
    let is_unknown = match (&reference.session, reference.evse) {
        (Some(named), Some(_)) => match app.store.received(mode, named).await? {
            None => true,
            Some(other) => match &other.matched {
                Some(matched) => {
                    !may_belong_to(app, mode, reference, matched, &other.object).await?
                }
                None => false,
            },
        },
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
pub(super) fn is_free(session: &Stored<ChargingSession>, reference: &Reference<'_>) -> bool {
    let network = session.internal.network.as_ref();
    network.is_some_and(|network| is_same(network.session.as_ref(), reference))
}

/// Returns whether a CDR that names no session is not about a session that was billed: their times do not overlap. A command may lead to
/// several charges, and a corrected bill is about the same time.
fn is_of_another_time(session: &Stored<ChargingSession>, reference: &Reference<'_>) -> bool {
    let is_unnamed = reference.is_bill && reference.session.is_none();
    is_unnamed && session.is_billed() && !reference.overlaps(&session.object)
}

//! The charging session that an object of a network is about, if it names none: that of the card that has its token, at its EVSE and at
//! its time.
//!
//! A session that was started through the API is that of the driver's app card, whose token the network has received with the command.
//! An object is about a session that has begun only if their times overlap: the same card may be used again a few minutes later. Of
//! several sessions, those come first whose times overlap with the object's. Of these, the order is: those that have not ended, those that
//! await their price, those that were billed, and those that were given up; then the session whose beginning is the nearest to the
//! object's.

use std::sync::OnceLock;

use crate::App;
use kernel::time::minutes;
use kernel::{Error, Id, Kind, SignedDuration, Timestamp};
use models::charging_session::{NetworkSession, SessionState, SessionStatus, Settlement};
use models::network::{EvseId, ForeignId, ObjectId, Owner};
use models::ports::network::Subject;
use models::{ChargingSession, Stored};
use ocpi::cost::CdrToken;
use table::keys::Partition;
use table::list::{Cursor, PageRequest};
use table::networks::ReceivedObject;

use super::tokens::Holder;

/// The maximum time by which the charging session of this service was created before the network's session, and by which the beginning of a
/// CDR differs from that of its session.
const NEAR: SignedDuration = minutes(15);

/// The number of a driver's sessions that are read at once, and how many of those created since an object's session began are considered,
/// the oldest first.
const PAGE: usize = 50;
const MAX_CANDIDATES: usize = 1000;

/// The references in an object from which its session is found.
#[derive(Clone)]
pub(super) struct Reference<'a> {
    pub(super) object: &'a ReceivedObject,
    pub(super) authorization: Option<&'a str>,
    pub(super) session: Option<ObjectId>,
    /// The CDR that a CDR credits.
    pub(super) credited: Option<ObjectId>,
    /// Whether the object is a CDR that credits nothing.
    pub(super) is_bill: bool,
    pub(super) token: &'a CdrToken,
    /// None if no location can have its id.
    pub(super) location: Option<ObjectId>,
    pub(super) evse: Option<&'a ForeignId>,
    pub(super) connector: Option<&'a ForeignId>,
    pub(super) started: Timestamp,
    /// When the session of the object ended; None while it continues.
    pub(super) ended: Option<Timestamp>,
    /// The first charging session that was read for the object.
    pub(super) read: OnceLock<Stored<ChargingSession>>,
}

impl Reference<'_> {
    /// Returns a charging session, as it was when it was first read for the object.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn charging_session(
        &self,
        app: &App,
        subject: &Subject,
    ) -> Result<Option<Stored<ChargingSession>>, Error> {
        let Subject { tenant, id } = subject;
        let read = self.read.get().filter(|read| read.object.id == *id);
        if read.is_some() {
            return Ok(read.cloned());
        }
        let found = app.store.find::<ChargingSession>(tenant, id).await?;
        if let Some(found) = &found {
            // Another one that was read before stays.
            drop(self.read.set(found.clone()));
        }
        Ok(found)
    }

    /// The party that has sent the object.
    pub(super) fn owner(&self) -> &Owner {
        self.object.id.owner()
    }

    /// Returns whether a session at an EVSE may be the one that the object is about.
    pub(super) fn is_at(&self, evse: &EvseId) -> bool {
        let Some(location) = &self.location else {
            return false;
        };
        match self.evse {
            Some(uid) => EvseId::new(location.clone(), uid.as_str()) == *evse,
            None => evse.location == *location,
        }
    }

    /// Returns whether the time of a session and that of the object overlap, as far as they are known. A session that was given up may
    /// begin later. A network whose clock is ahead reports times that are shortened when they are stored.
    pub(super) fn overlaps(&self, session: &ChargingSession) -> bool {
        let is_completed = session.status() == SessionStatus::Completed;
        let ended = session.state.ended().filter(|_| is_completed);
        let started = session.session_started;
        let is_ahead = self.ended.is_some_and(|ended| ended > self.object.received);
        let is_within = self.ended.is_none_or(|ended| started < ended)
            && ended.is_none_or(|ended| self.started < ended);
        is_ahead || is_within || started == self.started
    }

    /// Returns whether a session that does not belong to another object of the network is the one that the object is about, by its id at
    /// the network or by its card and its time, and by its EVSE.
    fn fits(&self, session: &Stored<ChargingSession>, holder: &Holder) -> bool {
        let Some(network) = &session.internal.network else {
            return false;
        };
        let is_named = network.session.is_some() && self.session.is_some();
        let has_begun = session.object.state.cost().is_some();
        let is_near = self.apart(session) <= NEAR;
        let is_then = is_near && (!has_begun || self.overlaps(&session.object));
        (is_named || is_then && is_of_card(session, network, holder))
            && self.is_at(&network.evse)
            && is_same(network.session.as_ref(), self)
    }

    /// Returns the time between the beginning of a session and that of the object.
    fn apart(&self, session: &Stored<ChargingSession>) -> SignedDuration {
        session.object.session_started.since(self.started).abs()
    }
}

/// Returns whether a session is that of the holder's card. A session of an earlier version of the service names no card.
fn is_of_card(
    session: &Stored<ChargingSession>,
    network: &NetworkSession,
    holder: &Holder,
) -> bool {
    match &network.card {
        Some(card) => *card == holder.card,
        None => {
            let vehicle = holder.vehicle.as_ref();
            vehicle.is_none_or(|vehicle| *vehicle == session.object.vehicle)
        }
    }
}

/// Returns the place of a session in the order in which sessions are assigned to objects.
fn rank(session: &ChargingSession) -> u8 {
    match &session.state {
        SessionState::Pending { .. } | SessionState::Active { .. } => 0,
        SessionState::Completed {
            settlement: Settlement::Awaited { .. },
            ..
        } => 1,
        SessionState::Completed { .. } => 2,
        SessionState::Cancelled { .. } | SessionState::Failed { .. } => 3,
    }
}

/// The session with the token and at the time of an object.
pub(super) enum Near {
    /// A session at the EVSE of the object.
    Session(Subject),
    Nothing,
    /// A session of the same party over another network, which the party has left. The object may be about that session. Therefore it gets
    /// no new session, and because it comes from another network, it does not change that one.
    OverAnotherNetwork,
    /// There is none among the first of the driver's sessions since then, and there are more. The object gets no new session, because it may
    /// be about one of these.
    TooMany,
}

/// Finds the session with the token, at the EVSE and at the time of an object.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn nearby_session(
    app: &App,
    holder: &Holder,
    reference: &Reference<'_>,
) -> Result<Near, Error> {
    let tenant = &holder.tenant;
    let partition = match (&holder.driver, &holder.vehicle) {
        (Some(driver), _) => Partition::Driver { tenant, driver },
        (None, Some(vehicle)) => Partition::Vehicle { tenant, vehicle },
        (None, None) => return Ok(Near::Nothing),
    };
    let since = reference.started.plus(-NEAR);
    let (mut found, is_whole) = sessions_since(app, partition, since).await?;
    // The index may lack a session that was created a moment ago.
    if let Some(last) = &holder.last.session
        && !found.iter().any(|session| session.object.id == *last)
    {
        found.extend(app.store.find(tenant, last).await?);
    }
    let fitting = found
        .iter()
        .filter(|session| reference.fits(session, holder));
    let best = fitting.min_by_key(|session| {
        let overlaps = reference.overlaps(&session.object);
        let (rank, apart) = (rank(&session.object), reference.apart(session));
        (!overlaps, rank, apart, session.object.id.clone())
    });
    if let Some(session) = best {
        return Ok(Near::Session(Subject::new(
            tenant.clone(),
            session.object.id.clone(),
        )));
    }
    let owner = reference.owner();
    let is_before = |session: &Stored<ChargingSession>| {
        let Some(network) = &session.internal.network else {
            return false;
        };
        let of = network.owner();
        of.party == owner.party && of.network != owner.network && reference.apart(session) <= NEAR
    };
    Ok(if found.iter().any(is_before) {
        Near::OverAnotherNetwork
    } else if is_whole {
        Near::Nothing
    } else {
        Near::TooMany
    })
}

/// The session of the card, at the EVSE and at the time of an object whose session has another id, if there is one: of several, one that
/// has no CDR yet.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn overlapping_session(
    app: &App,
    holder: &Holder,
    reference: &Reference<'_>,
) -> Result<Option<Stored<ChargingSession>>, Error> {
    let unnamed = Reference {
        session: None,
        ..reference.clone()
    };
    Ok(match nearby_session(app, holder, &unnamed).await? {
        Near::Session(subject) => {
            let session = app.store.find(&subject.tenant, &subject.id).await?;
            session.filter(|session: &Stored<ChargingSession>| reference.overlaps(&session.object))
        }
        Near::Nothing | Near::OverAnotherNetwork | Near::TooMany => None,
    })
}

/// The first sessions of a driver or vehicle since a time, and whether these are all.
async fn sessions_since(
    app: &App,
    partition: Partition<'_>,
    since: Timestamp,
) -> Result<(Vec<Stored<ChargingSession>>, bool), Error> {
    let mut page_request = PageRequest::first(PAGE);
    let first = Id::first_number(since);
    page_request.from = Cursor::Before(Id::from_number(Kind::ChargingSession, first));
    let mut found: Vec<Stored<ChargingSession>> = Vec::new();
    loop {
        let page = app
            .store
            .list::<ChargingSession>(partition, &page_request, Vec::new())
            .await?;
        let newest = page.items.first().map(|newest| newest.object.id.clone());
        found.extend(page.items);
        match newest {
            Some(newest) if page.newer && found.len() < MAX_CANDIDATES => {
                page_request.from = Cursor::Before(newest);
            }
            _ => return Ok((found, !page.newer)),
        }
    }
}

/// Returns whether a session with that id at the network may be the one that the object is about.
pub(super) fn is_same(known: Option<&ObjectId>, reference: &Reference<'_>) -> bool {
    match (known, &reference.session) {
        (Some(known), Some(named)) => known == named,
        _ => true,
    }
}

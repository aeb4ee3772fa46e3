//! The charging session that an object of a network is about, if it names none: that of the driver or vehicle that has its token, at its
//! EVSE and at its time.

use crate::App;
use kernel::time::{SignedDuration, minutes};
use kernel::{Error, Id, Kind, Timestamp};
use models::charging_session::ChargingSession;
use models::network::{EvseId, ForeignId, ObjectId, Owner};
use models::ports::network::Subject;
use models::stored::Stored;
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
pub(super) struct Reference<'a> {
    pub(super) object: &'a ReceivedObject,
    pub(super) authorization: Option<&'a str>,
    pub(super) session: Option<ObjectId>,
    /// The CDR that a CDR credits.
    pub(super) credited: Option<ObjectId>,
    pub(super) token: &'a CdrToken,
    /// None if no location can have its id.
    pub(super) location: Option<ObjectId>,
    pub(super) evse: Option<&'a ForeignId>,
    pub(super) connector: Option<&'a ForeignId>,
    pub(super) started: Timestamp,
}

impl Reference<'_> {
    /// The party that has sent the object.
    pub(super) fn owner(&self) -> &Owner {
        self.object.id.owner()
    }

    /// Returns whether a session at an EVSE may be the one that the object is about.
    fn is_at(&self, evse: &EvseId) -> bool {
        let Some(location) = &self.location else {
            return false;
        };
        match self.evse {
            Some(uid) => EvseId::new(location.clone(), uid.as_str()) == *evse,
            None => evse.location == *location,
        }
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
    let (found, is_whole) = sessions_since(app, partition, reference.started.plus(-NEAR)).await?;
    let apart = |session: &Stored<ChargingSession>| {
        session
            .object
            .session_started
            .since(reference.started)
            .abs()
    };
    let fits = |session: &&Stored<ChargingSession>| {
        let Some(network) = &session.internal.network else {
            return false;
        };
        let is_named = network.session.is_some() && reference.session.is_some();
        let is_near = is_named || apart(session) <= NEAR;
        is_near && reference.is_at(&network.evse) && is_same(network.session.as_ref(), reference)
    };
    // The session whose beginning is the nearest to the object's.
    let fitting = found.iter().filter(fits);
    let nearest = fitting.min_by_key(|session| (apart(session), session.object.id.clone()));
    if let Some(session) = nearest {
        return Ok(Near::Session(Subject {
            tenant: tenant.clone(),
            id: session.object.id.clone(),
        }));
    }
    let owner = reference.owner();
    let is_before = |session: &Stored<ChargingSession>| {
        let Some(network) = &session.internal.network else {
            return false;
        };
        let of = network.owner();
        of.party == owner.party && of.network != owner.network && apart(session) <= NEAR
    };
    Ok(if found.iter().any(is_before) {
        Near::OverAnotherNetwork
    } else if is_whole {
        Near::Nothing
    } else {
        Near::TooMany
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

//! Updates a charging session with the report of its session or CDR.

use super::assignment::{count_as_unmatched, is_free, may_belong_to};
use crate::charging_sessions::operate::{raise_power, writes_of_price_change};
use crate::networks::nearby::Reference;
use crate::{App, references};
use kernel::{Error, Id, Kind, Mode, Origin, Tenant, Timestamp};
use models::charging::session::CdrOutcome;
use models::charging_session::SessionStatus;
use models::charging_session::network::{CdrReport, SessionReport};
use models::network::{EvseId, ForeignId};
use models::ports::network::Subject;
use models::{ChargingSession, ChargingStation, Stored};
use table::UnitOfWork;
use table::charge_cards::LastUse;
use table::networks::ReceivedObject;

/// The report of a session or a CDR for the charging session.
pub(super) enum Report<'a> {
    Session(&'a SessionReport),
    Cdr(&'a CdrReport),
}

/// Updates a session with the report of its object. Of a new session, the card that started it and the last use of the card are given.
pub(super) async fn update_session(
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
            raise_power(app, &tenant, &mut session, Some(report)).await?;
            outcome = session.take_cdr(report, &app.settings.plausibility, now);
            let why = match outcome {
                CdrOutcome::OtherCurrency => {
                    Some("it bills in another currency than the session was billed in")
                }
                CdrOutcome::TooMany => Some("its session has too many CDRs"),
                _ => None,
            };
            if let Some(why) = why {
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

/// Matches the session that a CDR names with the charging session that is created for the CDR. The report of that session may be processed
/// at the same time: of the two, only the first creates a charging session. A session that cannot be that of the CDR keeps its match.
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
    let session = app.store.received(mode, id).await?;
    if let Some(session) = &session
        && let Some(other) = &session.matched
    {
        let is_raced = may_belong_to(app, mode, reference, other, &session.object).await?;
        return if is_raced {
            Err(Error::Contended)
        } else {
            Ok(())
        };
    }
    match session {
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

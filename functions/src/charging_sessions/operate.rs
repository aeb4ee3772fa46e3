//! Charging sessions at the stations of networks: commands to the network, and the writes that a change of the session requires. See
//! [`models::charging_session::network`] for the life cycle.
//!
//! A session's item contains the time of its next action; the relay sends a message for that time, and the sweeper sends it again if it was
//! lost. A command is recorded before it is sent, so that it is not sent twice if the worker crashes.

use crate::App;
use kernel::time::{DAY, MINUTE};
use kernel::{Error, Id, Origin, Tenant, Timestamp, Window};
use models::charging::calendar::CalendarOwner;
use models::charging::session::{CdrOutcome, HOLD};
use models::charging_session::network::{CdrReport, longest_until, newest_bill};
use models::charging_session::{NetworkSession, SessionFailedReason, SessionStatus, wrong_state};
use models::network::ObjectId;
use models::ports::JobSubject;
use models::ports::network::{Command, CommandStatus, Place, Rejection, ReserveOutcome, Subject};
use models::reservation::ReservationStatus;
use models::reservation::outward::OutwardReservation;
use models::{Action, Adjustment, ChargingSession, ChargingStation, Driver, Reservation, Stored};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use table::calendars::CalendarHold;
use table::networks::SentCommand;

use super::end::fulfilled;
use super::start::is_published;
use crate::charging_stations::rematch;
use crate::function::Function;
use crate::job::{Job, find_due};
use crate::networks::{operator, tokens, workers};
use crate::sites::admit::{Admission, admit};
use crate::sites::execute::COLLISIONS;

/// The maximum number of times that a session is read again after a concurrent change.
const SESSION_READS: usize = 5;

/// The maximum number of attempts of the whole work when it conflicts with a plan of the site.
const COLLIDING_TRIES: u32 = 5;

/// Executes the next action of a charging session at a network's station: sends a command, or stops waiting.
#[derive(Debug, Serialize, Deserialize)]
pub struct OperateSession {
    pub tenant: Tenant,
    pub session: Id,
}

impl Job for OperateSession {
    const NAME: &'static str = "operate-session";
    const FUNCTION: Function = workers::OPERATE;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.session)
    }

    /// Executes the next action of a session, if it is due.
    ///
    /// # Errors
    /// `Contended` if the session changes in the meantime, `Unavailable` if DynamoDB cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        COLLISIONS
            .after_collisions(COLLIDING_TRIES, || self.operate(app))
            .await
    }
}

impl OperateSession {
    async fn operate(&self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            session: id,
        } = self;
        let due = find_due::<ChargingSession>(app, tenant, id, Action::OperateSession).await?;
        let Some((mut session, origin)) = due else {
            return Ok(());
        };
        let Some(network) = session.internal.network.clone() else {
            return Ok(());
        };
        let before = session.clone();
        let mut outcome = CdrOutcome::Noted;
        let next_stop = session.object.state.stop().and_then(|stop| stop.next);
        if next_stop.is_some_and(|next| next <= origin.now) {
            return send_stop(app, &origin, session, &network).await;
        }
        match session.object.status() {
            SessionStatus::Pending => return start(app, &origin, session, &network).await,
            SessionStatus::Active => {
                let next_profile = session.profile().and_then(|profile| profile.next);
                if next_profile.is_some_and(|next| next <= origin.now) {
                    return send_profile(app, &origin, session, &network).await;
                }
                let clearing = session.object.state.at_network();
                let clearing = clearing.and_then(|network| network.clearing);
                if clearing.is_some_and(|clearing| clearing.next <= origin.now) {
                    return send_clearing(app, &origin, session, &network).await;
                }
                let ChargingSession {
                    created,
                    session_started,
                    ..
                } = session.object;
                let is_long = longest_until(created, session_started) <= origin.now;
                if is_long && session.request_stop(origin.now) {
                    return send_stop(app, &origin, session, &network).await;
                }
                session.stall(origin.now);
            }
            SessionStatus::Completed => {
                session.repeat_review(origin.now);
                raise_power(app, &origin.tenant, &mut session, None).await?;
                outcome = session.close_without_cdr(&app.settings.plausibility, origin.now);
            }
            SessionStatus::Cancelled | SessionStatus::Failed => {}
        }
        let tx = writes_of_price_change(app, &origin, &before, &mut session, outcome, None).await?;
        tx.commit_without_response().await
    }
}

/// Raises the power of a session's charging point to the present one, if the energy of a CDR, or else of the session, is more than it could
/// deliver with the power that is known: its operator may have increased the power during the session. Otherwise nothing is read.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn raise_power(
    app: &App,
    tenant: &Tenant,
    session: &mut Stored<ChargingSession>,
    cdr: Option<&CdrReport>,
) -> Result<(), Error> {
    if session.exceeds_power(cdr, app.now()) {
        let station = &session.object.charging_station;
        if let Some(station) = app.store.find::<ChargingStation>(tenant, station).await? {
            session.raise_power(&station.object);
        }
    }
    Ok(())
}

/// Adds the writes of a session whose price has changed or was decided, by a CDR or without one.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn writes_of_price_change<'a>(
    app: &'a App,
    origin: &'a Origin,
    before: &Stored<ChargingSession>,
    session: &mut Stored<ChargingSession>,
    outcome: CdrOutcome,
    cdr: Option<&ObjectId>,
) -> Result<UnitOfWork<'a>, Error> {
    let adjustment = match outcome {
        CdrOutcome::Adjusted(more) => Adjustment::of_session(session, more, cdr, origin.now),
        _ => None,
    };
    let mut tx = writes_of_change(app, origin, before, session).await?;
    if let Some(mut adjustment) = adjustment {
        tx.create(&mut adjustment)?;
    }
    Ok(tx)
}

/// Adds the writes of a session whose price was decided by a customer or an operator.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn writes_of_decision<'a>(
    app: &'a App,
    origin: &'a Origin,
    before: &Stored<ChargingSession>,
    session: &mut Stored<ChargingSession>,
    outcome: CdrOutcome,
) -> Result<UnitOfWork<'a>, Error> {
    let network = before.internal.network.as_deref();
    let bill = network.and_then(|network| newest_bill(&network.cdrs, before.object.currency));
    let cdr = bill.map(|bill| &bill.id);
    writes_of_price_change(app, origin, before, session, outcome, cdr).await
}

/// Sends the start of a session to the network, once, as soon as its site has room for it; or abandons the session at its deadline, or if
/// its connector is lost while it waits for room.
async fn start(
    app: &App,
    origin: &Origin,
    mut session: Stored<ChargingSession>,
    network: &NetworkSession,
) -> Result<(), Error> {
    let (now, before) = (origin.now, session.clone());
    let state = &session.object.state;
    if !state.is_start_due() || state.is_start_late(session.object.created, now) {
        session.give_up_start(now);
        return save_change(app, origin, &before, session).await;
    }
    let tenant = &origin.tenant;
    let driver = app
        .store
        .load::<Driver>(tenant, &session.object.driver)
        .await?;
    if let Some(reason) = obstacle(app, tenant, &session.object, &driver.object).await? {
        session.fail_start(reason, now);
        return save_change(app, origin, &before, session).await;
    }
    let token = tokens::of_driver(app, tenant, &driver.object).await?;
    let mut tx = app.store.begin(origin);
    match admit(app, origin, &session.object).await? {
        Admission::Full => {
            session.wait_for_room(now);
            return save_change(app, origin, &before, session).await;
        }
        Admission::Room(mut site) => tx.save(&mut *site)?,
        Admission::Free => {}
    }
    session.mark_start_sent(now);
    tx.save(&mut session)?;
    tx.commit_without_response().await?;
    let place = Place {
        evse: network.evse.clone(),
        connector: network.connector.clone(),
    };
    let subject = Subject::new(tenant.clone(), session.object.id.clone());
    let start = Command::Start { place, token };
    let status = operator::send(app, network.owner(), &subject, &start).await?;
    let outcome = match status {
        CommandStatus::Pending { .. } => return Ok(()),
        CommandStatus::Accepted => Ok(()),
        CommandStatus::Rejected(rejection) => Err(failed_reason(rejection)),
    };
    apply_start(app, &subject, outcome).await
}

/// Records that a session was started, or why it was not.
async fn apply_start(
    app: &App,
    subject: &Subject,
    outcome: Result<(), SessionFailedReason>,
) -> Result<(), Error> {
    let now = app.now();
    apply_transition(app, &subject.tenant, &subject.id, |session| match outcome {
        Ok(()) => session.accept_start(),
        Err(reason) => session.fail_start(reason, now),
    })
    .await
}

/// Saves the change of a session since `before`.
async fn save_change(
    app: &App,
    origin: &Origin,
    before: &Stored<ChargingSession>,
    mut session: Stored<ChargingSession>,
) -> Result<(), Error> {
    let tx = writes_of_change(app, origin, before, &mut session).await?;
    tx.commit_without_response().await
}

/// Returns why a start that has waited for room at its site cannot be sent any more: the station may have changed since the session was
/// created. Nothing is read for a start that has not waited.
async fn obstacle(
    app: &App,
    tenant: &Tenant,
    session: &ChargingSession,
    driver: &Driver,
) -> Result<Option<SessionFailedReason>, Error> {
    if !session.state.is_waiting_for_room() {
        return Ok(None);
    }
    let station = &session.charging_station;
    let station = app.store.find::<ChargingStation>(tenant, station).await?;
    Ok(match station {
        Some(station) if station.object.is_in_order(&session.connector) => {
            let is_published = is_published(app, tenant, &station.internal, driver).await?;
            (!is_published).then_some(SessionFailedReason::Other)
        }
        _ => Some(SessionFailedReason::OutOfOrder),
    })
}

/// Returns why a session fails whose start was rejected.
fn failed_reason(rejection: Rejection) -> SessionFailedReason {
    match rejection {
        Rejection::Refused | Rejection::Unknown | Rejection::NotSupported => {
            SessionFailedReason::NetworkRejected
        }
        Rejection::Failed | Rejection::NotSent => SessionFailedReason::Other,
    }
}

/// Sends the end of a session to the network.
async fn send_stop(
    app: &App,
    origin: &Origin,
    mut stored: Stored<ChargingSession>,
    network: &NetworkSession,
) -> Result<(), Error> {
    stored.mark_stop_sent(origin.now);
    app.store.save(origin, &mut stored).await?;
    let Some(session) = network.session.clone() else {
        return Ok(());
    };
    let subject = Subject::new(origin.tenant.clone(), stored.object.id.clone());
    let stop = Command::Stop { session };
    // The response does not matter: the session ends when the network reports its end.
    let sent = operator::send(app, network.owner(), &subject, &stop).await;
    sent.map(drop)
}

/// Sends the charging profile that the session is to have.
async fn send_profile(
    app: &App,
    origin: &Origin,
    mut stored: Stored<ChargingSession>,
    network: &NetworkSession,
) -> Result<(), Error> {
    let tenant = &origin.tenant;
    stored.mark_profile_sent(origin.now);
    app.store.save(origin, &mut stored).await?;
    let (Some(session), Some(profile)) = (network.session.clone(), stored.profile()) else {
        return Ok(());
    };
    let subject = Subject::new(tenant.clone(), stored.object.id.clone());
    let profile = profile.wanted.clone();
    let set = Command::SetProfile { session, profile };
    let is_accepted = match operator::send(app, network.owner(), &subject, &set).await? {
        CommandStatus::Pending { .. } => return Ok(()),
        CommandStatus::Accepted => true,
        CommandStatus::Rejected(_) => false,
    };
    let now = app.now();
    apply_transition(app, tenant, &stored.object.id, |stored| {
        stored.answer_profile(now, is_accepted, now)
    })
    .await
}

/// Sends the request to clear a charging profile. It is sent again later, unless the network accepts it or does not know such a profile.
async fn send_clearing(
    app: &App,
    origin: &Origin,
    mut stored: Stored<ChargingSession>,
    network: &NetworkSession,
) -> Result<(), Error> {
    let (tenant, sent) = (&origin.tenant, origin.now);
    stored.mark_clearing_sent(sent);
    app.store.save(origin, &mut stored).await?;
    let id = stored.object.id.clone();
    match clear_profile(app, tenant, &id, network).await? {
        CommandStatus::Pending { .. }
        | CommandStatus::Rejected(Rejection::Refused | Rejection::Failed | Rejection::NotSent) => {
            Ok(())
        }
        CommandStatus::Accepted
        | CommandStatus::Rejected(Rejection::Unknown | Rejection::NotSupported) => {
            apply_transition(app, tenant, &id, |stored| stored.confirm_clearing(sent)).await
        }
    }
}

/// Sends the request to clear the charging profile of a session.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached. Errors at the network are returned in the status.
pub(super) async fn clear_profile(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    network: &NetworkSession,
) -> Result<CommandStatus, Error> {
    let Some(session) = network.session.clone() else {
        return Ok(CommandStatus::Rejected(Rejection::NotSent));
    };
    let subject = Subject::new(tenant.clone(), id.clone());
    let clear = Command::ClearProfile { session };
    operator::send(app, network.owner(), &subject, &clear).await
}

/// Processes the response to a command, or its result. A session ends when the network reports its end, not by the result of a stop.
///
/// # Errors
/// DynamoDB or the network cannot be reached, or the session changes in the meantime: the message is delivered again.
pub async fn apply_result(app: &App, command: &SentCommand) -> Result<(), Error> {
    let Subject { tenant, id } = &command.subject;
    let now = app.now();
    if let Some(is_accepted) = command.profile_outcome() {
        return apply_transition(app, tenant, id, |session| {
            session.answer_profile(command.sent, is_accepted, now)
        })
        .await;
    }
    if command.has_cleared_profile() {
        let confirm = |session: &mut Stored<_>| session.confirm_clearing(command.sent);
        return apply_transition(app, tenant, id, confirm).await;
    }
    match command.start_outcome() {
        Some(outcome) => apply_start(app, &command.subject, outcome).await,
        None => Ok(()),
    }
}

/// Ends a session at the request of a driver: cancels a pending one, and sends the stop of an active one to the network.
///
/// # Errors
/// `charging_session_state_conflict` in any other state.
pub async fn stop<'a>(
    app: &'a App,
    origin: &'a Origin,
    mut session: Stored<ChargingSession>,
) -> Result<(ChargingSession, UnitOfWork<'a>), Error> {
    let before = session.clone();
    match session.object.status() {
        SessionStatus::Pending => session.cancel(origin.now)?,
        SessionStatus::Active => session.request_stop_by_tenant(origin.now),
        _ => {
            let message = "Only a pending or active session can be stopped.";
            return Err(wrong_state(message));
        }
    }
    let tx = writes_of_change(app, origin, &before, &mut session).await?;
    Ok((session.object, tx))
}

/// Applies a transition to the present state of the session. The transition returns whether it changed anything.
async fn apply_transition(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    transition: impl Fn(&mut Stored<ChargingSession>) -> bool,
) -> Result<(), Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    for _ in 0..SESSION_READS {
        let Some(mut session) = app.store.find::<ChargingSession>(tenant, id).await? else {
            return Ok(());
        };
        let before = session.clone();
        if !transition(&mut session) {
            return Ok(());
        }
        let tx = writes_of_change(app, &origin, &before, &mut session).await?;
        match tx.commit_without_response().await {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// The writes of a changed session, and of what depends on it: its time in the calendars, and the reservation that it fulfils. `before` is
/// the session before the change; a session that is not in the table is created.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn writes_of_change<'a>(
    app: &'a App,
    origin: &'a Origin,
    before: &Stored<ChargingSession>,
    session: &mut Stored<ChargingSession>,
) -> Result<UnitOfWork<'a>, Error> {
    use SessionStatus::{Active, Completed, Failed, Pending};
    let mut tx = app.store.begin(origin);
    let now = origin.now;
    let was = (!before.is_new()).then_some(before.object.status());
    let is = session.object.status();
    if is == Active {
        extend_hold(app, &mut tx, session, now).await?;
    } else if !is.is_open() {
        let mut released = Vec::new();
        let hold = before.object.state.hold();
        // The EVSE may be held for longer than the vehicle.
        if hold.is_some_and(|hold| now < hold.until.plus(HOLD)) {
            released.push(CalendarHold::of_session(before));
        }
        if was != Some(Completed)
            && is == Completed
            && let Some(mut reservation) = fulfilled(app, origin, session).await?
        {
            released.extend(CalendarHold::of_reservation(&reservation));
            tx.save(&mut reservation)?;
        }
        if was == Some(Active) && is == Failed {
            released.extend(await_vehicle_again(app, &mut tx, session).await?);
        }
        tx.release_all(&released).await?;
    }
    if is == Active && was != Some(Active) {
        fulfil_reservation(app, &mut tx, session).await?;
    }
    let refusal = session.object.state.failed_reason();
    if was == Some(Pending) && refusal.is_some_and(SessionFailedReason::is_refusal) {
        waive_unused_fee(app, &mut tx, session).await?;
    }
    if before.is_new() {
        tx.create(session)?;
    } else {
        tx.save(session)?;
    }
    Ok(tx)
}

/// Marks the reservation of a session as fulfilled by it.
async fn fulfil_reservation(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    session: &Stored<ChargingSession>,
) -> Result<(), Error> {
    match reservation_of(app, &tx.origin().tenant, session).await? {
        Some(mut reservation) if reservation.object.awaits_vehicle() => {
            tx.fulfil(&mut reservation, session).await
        }
        _ => Ok(()),
    }
}

/// Makes the reservation that an invalid session fulfilled wait for its vehicle again, until it expires. One whose EVSE was released
/// because the session was at another one may expire at once: then its time is returned, which is to be released.
async fn await_vehicle_again(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    session: &Stored<ChargingSession>,
) -> Result<Option<CalendarHold>, Error> {
    let (id, evse) = (&session.object.id, &session.internal.evse);
    let Some(mut reservation) = reservation_of(app, &tx.origin().tenant, session).await? else {
        return Ok(None);
    };
    let hold = CalendarHold::of_reservation(&reservation);
    if !reservation.lose_session(id, evse, tx.origin().now) {
        return Ok(None);
    }
    let is_over = reservation.object.status() == ReservationStatus::Expired;
    // The network may have cancelled the reservation while the vehicle charged.
    let outward = reservation.outward();
    if let Some(command) = outward.and_then(OutwardReservation::command)
        && let Some(sent) = app.store.command(tx.origin().tenant.mode, command).await?
        && sent.reserve_outcome() == ReserveOutcome::Refused
    {
        reservation.refuse_outward(tx.origin().now);
    }
    tx.save(&mut reservation)?;
    Ok(hold.filter(|_| is_over))
}

/// Notes in the reservation of a session that the session was refused: nothing is due for not using the connector.
async fn waive_unused_fee(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    session: &Stored<ChargingSession>,
) -> Result<(), Error> {
    if let Some(mut reservation) = reservation_of(app, &tx.origin().tenant, session).await?
        && reservation.refuse_session(&session.internal.evse, tx.origin().now)
    {
        tx.save(&mut reservation)?;
    }
    Ok(())
}

/// The reservation with which a session was started, if there is one.
async fn reservation_of(
    app: &App,
    tenant: &Tenant,
    session: &Stored<ChargingSession>,
) -> Result<Option<Stored<Reservation>>, Error> {
    match &session.object.reservation {
        Some(id) => app.store.find::<Reservation>(tenant, id).await,
        None => Ok(None),
    }
}

/// Reserves the EVSE and the vehicle for an active session in the calendars, 20 minutes at a time, as far as the EVSE is not reserved for
/// another vehicle; the EVSE alone if another session of the vehicle holds the vehicle. Reservations for which its vehicle does not leave
/// are matched again.
async fn extend_hold(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    session: &mut Stored<ChargingSession>,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(network) = session.object.state.at_network() else {
        return Ok(());
    };
    let held = network.hold;
    if held.is_some_and(|hold| now < hold.until) {
        return Ok(());
    }
    let (origin, next) = (tx.origin(), now.plus(HOLD));
    let mut requested = CalendarHold::of_session(session);
    // Past time need not be held: a session that its network never ends must not fill a transaction with past days.
    let kept_from = held.map_or(now, |hold| hold.from);
    requested.window = Window {
        from: kept_from.max(now.plus(-DAY)),
        until: next,
    };
    let pages = requested.pages().collect();
    let calendars = app.store.calendars(origin.tenant.mode, pages).await?;
    let [evse, vehicle] = requested
        .owners
        .each_ref()
        .map(|owner| calendars.entries(owner));
    for entry in session.unkept_reservations(&evse, &vehicle, now) {
        rematch::make_room(app, origin, session, entry).await?;
    }
    let taken_from = session.evse_taken_from(&evse, now);
    let until = taken_from.map_or(next, |from| from.min(next));
    let held = Window {
        until,
        ..requested.window
    };
    // If the time is reserved for another vehicle, no entry is written. Then, and while another session holds the vehicle, the calendars
    // are read again in a minute.
    let is_free = now < until;
    let held_alone = session.is_vehicle_taken(&vehicle, now);
    let kept_until = if is_free && !held_alone {
        until
    } else {
        now.plus(MINUTE)
    };
    session.keep(Window {
        until: kept_until,
        ..held
    });
    if is_free {
        let hold = CalendarHold {
            window: held,
            ..CalendarHold::of_session(session)
        };
        tx.hold_at(&calendars, &hold, |owner| {
            !held_alone || matches!(owner, CalendarOwner::Evse { .. })
        })?;
    }
    Ok(())
}

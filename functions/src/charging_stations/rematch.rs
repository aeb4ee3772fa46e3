//! Handles changes of charging stations.

use std::collections::BTreeSet;

use crate::App;
use kernel::{Id, Kind, Mode, Origin, Result, Tenant, Timestamp};
use models::charging::calendar::{CalendarOwner, Entry};
use models::charging::opening_hours;
use models::charging::plan::{may_be_refused, replan_reason};
use models::charging_station::Connector;
use models::reservation::need::ReplanReason;
use models::site::SitePlanReason;
use models::site::inputs::strongest;
use models::{ChargingSession, ChargingStation, Reservation, Site, Stored};
use table::calendars::reach;
use table::stored_item::decode;

use crate::job::Job as _;
use crate::reservations::keep::KeepRules;
use crate::reservations::replan::ReplanStation;
use crate::stream::record::StreamRecord;

/// Requests a rematch of the reservations whose connectors are now out of order, cannot be reserved any longer, are not published, or have
/// another plug, whose station is now closed in their window, whose area or policies now refuse it, or whose need is missed there, plans
/// the reservations by need again whose block is at the station, if it depends on the change, and plans the sites again whose vehicles can
/// be charged with more or less power than before, or at other prices.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn on_change(app: &App, mode: Mode, id: &Id, record: &StreamRecord) -> Result<()> {
    let (Some(old), Some(new)) = (&record.old, &record.new) else {
        return Ok(());
    };
    let old = decode::<ChargingStation>(old.clone())?;
    let new = decode::<ChargingStation>(new.clone())?;
    let withdrawn = old.internal.published && !new.internal.published;
    let (old, new) = (old.object, new.object);
    let because = replan_reason(&old, &new).or(withdrawn.then_some(ReplanReason::Station));
    let mut done = Ok(());
    if let Some(because) = because {
        done = replan(app, mode, id, because).await;
    }
    let for_sites = if strongest([&old]) != strongest([&new]) {
        Some(SitePlanReason::Stations)
    } else {
        (old.pricing != new.pricing).then_some(SitePlanReason::Prices)
    };
    if let Some(because) = for_sites {
        done = both(done, plan_sites_of_station(app, mode, id, because).await);
    }
    both(done, rematch(app, mode, &old, &new, withdrawn).await)
}

/// Returns the error of work that was all attempted: one that time or an operator can correct, if there is one, so that the change is
/// relayed again.
fn both(first: Result<()>, second: Result<()>) -> Result<()> {
    match (first, second) {
        (Err(error), Err(other)) if error.is_permanent() => Err(other),
        (first, second) => first.and(second),
    }
}

/// A change of a station.
struct StationChange<'a> {
    old: &'a ChargingStation,
    new: &'a ChargingStation,
    withdrawn: bool,
}

impl StationChange<'_> {
    /// Checks whether a connector can be reserved no longer, or for another plug.
    fn loses(&self, connector: &Connector) -> bool {
        let (id, plug) = (&connector.id, connector.connector_type());
        let is_lost = self.withdrawn || !self.new.is_reservable_for(id, plug);
        is_lost && self.old.is_reservable_for(id, plug)
    }

    /// Checks whether what a reservation has reserved cannot be used after the change.
    async fn is_lost(
        &self,
        app: &App,
        origin: &Origin,
        reservation: &Stored<Reservation>,
    ) -> Result<bool> {
        let reserved = reservation.object.state.reserved();
        let Some(reserved) = reserved.filter(|reserved| reserved.station == self.old.id) else {
            return Ok(false);
        };
        let connector = self.old.connector(&reserved.connector);
        if connector.is_some_and(|connector| self.loses(connector))
            || !opening_hours::is_open(self.new, &reserved.window)
        {
            return Ok(true);
        }
        if !connector.is_some_and(|connector| may_be_refused(self.old, self.new, connector)) {
            return Ok(false);
        }
        let Some(rules) = KeepRules::read(app, &origin.tenant, &reservation.object).await? else {
            return Ok(false);
        };
        // From the start of the window on, the session says how much of the need it cannot charge.
        let is_ahead = origin.now < reserved.window.from;
        Ok(rules.are_broken_by(reservation, self.old, self.new, origin)
            || is_ahead && rules.are_missed_by(reservation, self.old, self.new, origin))
    }
}

/// Requests a rematch of the reservations whose connector or window at the station is lost, is refused by their area or by policies, or
/// charges less than they need.
async fn rematch(
    app: &App,
    mode: Mode,
    old: &ChargingStation,
    new: &ChargingStation,
    withdrawn: bool,
) -> Result<()> {
    let change = StationChange {
        old,
        new,
        withdrawn,
    };
    let closes = opening_hours::closes_earlier(old, new, &reach(app.now()));
    let affected = old.connectors.iter().filter(|connector| {
        closes || change.loses(connector) || may_be_refused(old, new, connector)
    });
    let evses = affected.map(|connector| CalendarOwner::evse_of(&old.id, connector));
    let (reservations, mut done) = reserved_at(app, mode, evses.collect()).await;
    for (tenant, id) in reservations {
        done = both(done, request_after(app, tenant, &id, &change).await);
    }
    done
}

/// Requests a rematch of a reservation if a change of its station has made it unusable.
async fn request_after(
    app: &App,
    tenant: Tenant,
    id: &Id,
    change: &StationChange<'_>,
) -> Result<()> {
    let Some(mut stored) = app.store.find::<Reservation>(&tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::background(tenant, app.now());
    let is_lost = stored.object.awaits_vehicle() && change.is_lost(app, &origin, &stored).await?;
    if stored.request_rematch(&change.old.id, |_| is_lost, origin.now) {
        app.store.save(&origin, &mut stored).await?;
    }
    Ok(())
}

/// Requests a rematch of all reservations at a station, because its network is not connected any more.
///
/// # Errors
/// As [`request`].
pub async fn leave(app: &App, mode: Mode, station: &ChargingStation) -> Result<()> {
    let evses = station.connectors.iter();
    let evses = evses.map(|connector| CalendarOwner::evse_of(&station.id, connector));
    let (reservations, mut done) = reserved_at(app, mode, evses.collect()).await;
    for (tenant, id) in reservations {
        let requested = request(app, tenant, &id, |reservation, now| {
            reservation.request_rematch(&station.id, |_| true, now)
        });
        done = both(done, requested.await);
    }
    done
}

/// Returns the reservations in the calendars of EVSEs. A calendar that cannot be read does not prevent the rematch of the reservations in
/// the others: its error is returned beside them.
async fn reserved_at(
    app: &App,
    mode: Mode,
    evses: BTreeSet<CalendarOwner>,
) -> (Vec<(Tenant, Id)>, Result<()>) {
    let (mut reservations, mut done) = (Vec::new(), Ok(()));
    for evse in evses {
        let read = app
            .store
            .entries_of(mode, BTreeSet::from([evse]), app.now());
        let (reserved, failed) = match read.await {
            Ok(reserved) => (reserved, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        done = both(done, failed);
        for entry in reserved {
            if let (Some(account), true) = (entry.account, entry.holder.is(Kind::Reservation)) {
                reservations.push((Tenant::new(account, mode), entry.holder));
            }
        }
    }
    (reservations, done)
}

/// Plans the reservations by need again whose block is at a station.
async fn replan(app: &App, mode: Mode, station: &Id, because: ReplanReason) -> Result<()> {
    if app
        .store
        .planned_at(mode, station, None, 1)
        .await?
        .is_empty()
    {
        return Ok(());
    }
    let job = ReplanStation {
        mode,
        station: station.clone(),
        because,
        after: None,
    };
    job.send(app).await
}

/// Plans the sites again to which a station belongs.
///
/// # Errors
/// `Contended` if a site changes in the meantime, `Unavailable` if DynamoDB cannot be reached.
pub(crate) async fn plan_sites_of_station(
    app: &App,
    mode: Mode,
    station: &Id,
    because: SitePlanReason,
) -> Result<()> {
    for (tenant, site) in app.store.sites_of_station(mode, station).await? {
        let origin = Origin::background(tenant, app.now());
        let Some(mut site) = app.store.find::<Site>(&origin.tenant, &site).await? else {
            continue;
        };
        let before = site.object.clone();
        site.plan_again(because, origin.now);
        site.count_hidden_write(&before);
        app.store.save(&origin, &mut site).await?;
    }
    Ok(())
}

/// Records in a reservation that it needs another connector; `record` returns whether it does. The relay of that change sends the message;
/// if the message is lost, the sweeper finds the reservation.
///
/// # Errors
/// `Contended` if the reservation changes in the meantime, `Unavailable` if DynamoDB cannot be reached.
pub async fn request(
    app: &App,
    tenant: Tenant,
    reservation: &Id,
    record: impl FnOnce(&mut Stored<Reservation>, Timestamp) -> bool,
) -> Result<()> {
    let Some(mut stored) = app.store.find::<Reservation>(&tenant, reservation).await? else {
        return Ok(());
    };
    let origin = Origin::background(tenant, app.now());
    let mut tx = app.store.begin(&origin);
    if record(&mut stored, origin.now) {
        tx.save(&mut stored)?;
    }
    tx.commit_without_response().await
}

/// Requests a rematch of a reservation whose EVSE the vehicle of this session still occupies.
///
/// # Errors
/// As [`request`].
pub async fn make_room(
    app: &App,
    origin: &Origin,
    session: &Stored<ChargingSession>,
    entry: &Entry,
) -> Result<()> {
    let own = &origin.tenant;
    let account = entry.account.clone();
    let tenant = Tenant::new(account.unwrap_or_else(|| own.account.clone()), own.mode);
    let by_tenant = tenant == *own;
    let (station, evse) = (&session.object.charging_station, &session.internal.evse);
    request(app, tenant, &entry.holder, |reservation, now| {
        reservation.await_rematch(station, evse, by_tenant, now)
    })
    .await
}

//! Counts the changes of sessions and reservations in a batch of the stream, once per fleet.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt as _};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::{Error, Id, Kind, Origin, Result, Tenant, Timestamp};
use models::analytics::{Share, Sums, of_reservation, of_session};
use models::{ChargingSession, Fleet, Reservation, Stored};
use serde_dynamo::Item;
use table::keys;
use table::stored_item::{Record, decode};
use table::sums::{AT_A_TIME, Entry};

use crate::App;
use crate::stream::record::StreamRecord;

/// The amounts that a change of an object adds to the sums.
struct Addition {
    /// The position of the change in the batch.
    place: usize,
    tenant: Tenant,
    fleet: Id,
    vehicle: Id,
    object: Id,
    version: u64,
    /// The moment whose time zone applies to the object: it is the same for all changes of the object.
    zone_at: Timestamp,
    before: Option<Share>,
    after: Option<Share>,
}

/// The number of fleets of a batch that are processed concurrently.
const ABREAST: usize = 8;

/// Counts the changes of a batch. Returns the positions of those that have to be processed again.
pub async fn count<'a>(
    app: &App,
    batch: impl Iterator<Item = &'a StreamRecord>,
) -> BTreeSet<usize> {
    let mut fleets: BTreeMap<(Id, &str, Id), Vec<Addition>> = BTreeMap::new();
    for (place, change) in batch.enumerate() {
        // A change that cannot be read is sent to the failure destination where it is relayed.
        if let Ok(Some(addition)) = addition(place, change) {
            let Tenant { account, mode } = &addition.tenant;
            let fleet = (account.clone(), mode.as_str(), addition.fleet.clone());
            fleets.entry(fleet).or_default().push(addition);
        }
    }
    let counted = stream::iter(fleets.into_values()).map(|additions| async move {
        // Boxed, because its large state would otherwise be on the stack of every future that awaits it.
        match Box::pin(count_for(app, &additions)).await {
            Ok(()) => Vec::new(),
            Err(error) => {
                tracing::error!(%error, "changes of a fleet were not counted");
                additions.iter().map(|addition| addition.place).collect()
            }
        }
    });
    let failed: Vec<Vec<usize>> = counted.buffer_unordered(ABREAST).collect().await;
    failed.into_iter().flatten().collect()
}

/// Counts the changes of one fleet, unless the fleet was deleted or its account was erased.
async fn count_for(app: &App, additions: &[Addition]) -> Result<()> {
    let Some(Addition { tenant, fleet, .. }) = additions.first() else {
        return Ok(());
    };
    let origin = Origin::background(tenant.clone(), app.now());
    if !app
        .edge
        .keys
        .has_account(&app.store, tenant, origin.now)
        .await?
    {
        return Ok(());
    }
    let Some(found) = app.store.find_lately::<Fleet>(tenant, fleet).await? else {
        return Ok(());
    };
    let entries: Vec<Entry> = additions
        .iter()
        .map(|addition| addition.entry(&found.zone_at(addition.zone_at).rules()))
        .collect();
    for entries in entries.chunks(AT_A_TIME) {
        match app.store.count(&origin, fleet, entries).await {
            // The fleet was deleted in the meantime.
            Err(error) if error.class() == kernel::error::ErrorClass::NotFound => {}
            // Counted or not, these changes must not block those behind them forever.
            Err(error) if error.is_permanent() => {
                tracing::error!(%error, fleet.id = %fleet, "changes of a fleet can never be counted");
            }
            done => done?,
        }
    }
    Ok(())
}

impl Addition {
    fn entry(&self, zone: &TimeZone) -> Entry {
        let mut days: BTreeMap<Date, Sums> = BTreeMap::new();
        for (share, times) in [(&self.before, -1), (&self.after, 1)] {
            if let Some((at, sums)) = share {
                let day = days.entry(at.date_in(zone)).or_default();
                day.add_all(sums, times);
            }
        }
        days.retain(|_, sums| !sums.is_empty());
        Entry {
            vehicle: self.vehicle.clone(),
            object: self.object.clone(),
            version: self.version,
            days: days.into_iter().collect(),
        }
    }
}

/// The amounts that a change adds, if any.
fn addition(place: usize, change: &StreamRecord) -> Result<Option<Addition>> {
    let (pk, sk) = change.key();
    let (Some(after), Some((tenant, id))) = (&change.new, keys::parse_object(pk)) else {
        return Ok(None);
    };
    if !keys::heads_object(sk) {
        return Ok(None);
    }
    let (before, after, zone_at) = match id.kind() {
        Some(Kind::ChargingSession) => {
            let share = |stored: &Stored<ChargingSession>| of_session(&stored.object);
            let ([before, after], stored) = shares(change.old.as_ref(), after, share)?;
            let created = stored.object.created;
            let of = (stored.object.fleet, stored.object.vehicle, stored.version);
            (before, (after, Some(of)), created)
        }
        Some(Kind::Reservation) => {
            let share = |stored: &Stored<Reservation>| of_reservation(&stored.object);
            let ([before, after], stored) = shares(change.old.as_ref(), after, share)?;
            let (vehicle, version) = (stored.object.vehicle, stored.version);
            let fleet = stored.internal.fleet;
            (
                before,
                (after, fleet.map(|fleet| (fleet, vehicle, version))),
                stored.object.ideal_start,
            )
        }
        _ => return Ok(None),
    };
    let (after, Some((fleet, vehicle, version))) = after else {
        return Ok(None);
    };
    if before == after {
        return Ok(None);
    }
    Ok(Some(Addition {
        place,
        tenant,
        fleet,
        vehicle,
        object: id,
        version,
        zone_at,
        before,
        after,
    }))
}

/// The amounts that an object adds before and after a change, and the object after the change.
fn shares<T: Record>(
    before: Option<&Item>,
    after: &Item,
    share: impl Fn(&Stored<T>) -> Option<Share>,
) -> Result<([Option<Share>; 2], Stored<T>), Error> {
    let before: Option<Stored<T>> = before.cloned().map(decode).transpose()?;
    let after: Stored<T> = decode(after.clone())?;
    Ok(([before.as_ref().and_then(&share), share(&after)], after))
}

//! The parties behind a hub: the hub's reports about them (HubClientInfo), and their approval by operators.
//!
//! A hub reports each party with `PUT`; full pulls, which are made at the registration and once a day, read the list of all parties. A
//! party that operates charging stations is listed until an operator approves it. With the approval it belongs to the hub's network and to
//! no other, and a full pull begins. The parties of a trusted network are approved as they appear.

use std::collections::BTreeSet;

use crate::App;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kernel::{Error, Id, Mode, Origin};
use models::Stored;
use models::network::PartyId;
use ocpi::network::{Network, NetworkStatus};
use ocpi::party::Role;
use ocpi::token::ClientInfo;
use table::UnitOfWork;
use table::networks::shared_origin;

use super::{COLLISION_ATTEMPTS, COLLISIONS};

/// The number of parties that are released concurrently.
const RELEASED_AT_ONCE: usize = 8;

/// The maximum number of parties that are approved at once: a transaction has at most 100 writes.
pub const MAX_APPROVED: usize = 50;

/// A refused party that a hub reports, and the reason.
pub type Refused = (PartyId, String);

/// Stores a hub's reports about up to 50 parties. `begins_pull` defines whether a full pull begins for those that are new and approved.
/// Returns the refused parties.
///
/// # Errors
/// `Contended` if the network is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn report(
    app: &App,
    mode: Mode,
    id: &Id,
    reports: &[ClientInfo],
    begins_pull: bool,
) -> Result<Vec<Refused>, Error> {
    let origin = shared_origin(mode, app.now());
    let report = || async {
        let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
        let before = network.object.own_parties();
        let mut refused = Vec::new();
        let mut is_changed = false;
        for report in reports {
            let reported = match refusal(app, &origin, &network, report).await? {
                Some(why) => Err(why),
                None => Network::report_party(&mut network, report, origin.now),
            };
            match reported {
                Ok(changed) => is_changed |= changed,
                Err(why) => refused.push((report.party.clone(), why)),
            }
        }
        if !is_changed {
            return Ok(refused);
        }
        save(app, &origin, network, &before, begins_pull).await?;
        Ok(refused)
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, report)
        .await
}

/// The reason for which a party cannot belong to the hub, if any.
async fn refusal(
    app: &App,
    origin: &Origin,
    network: &Stored<Network>,
    report: &ClientInfo,
) -> Result<Option<String>, Error> {
    let party = &report.party;
    if *party == app.settings.own_party.id {
        // A hub may list this service among the parties that it connects.
        let lists_us = report.role == Role::Emsp;
        return Ok((!lists_us).then(|| "is the party of this service".into()));
    }
    if report.role != Role::Cpo || network.object.operator(party).is_ok() {
        return Ok(None);
    }
    let is_of_another = is_of_another(app, origin, party, &network.object.id).await?;
    Ok(is_of_another.then(|| "belongs to another network".into()))
}

/// Returns whether a party belongs to another network.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn is_of_another(
    app: &App,
    origin: &Origin,
    party: &PartyId,
    network: &Id,
) -> Result<bool, Error> {
    let holder = other_holder(app, origin, party, network).await?;
    Ok(holder.is_some_and(|holder| has(&holder, party)))
}

/// The other network that has claimed a party.
async fn other_holder(
    app: &App,
    origin: &Origin,
    party: &PartyId,
    network: &Id,
) -> Result<Option<Stored<Network>>, Error> {
    let mode = origin.tenant.mode;
    let holder = app.store.network_of_party(mode, party).await?;
    Ok(holder.filter(|holder| holder.object.id != *network))
}

/// Returns whether a network that has claimed a party still has it.
fn has(holder: &Stored<Network>, party: &PartyId) -> bool {
    let holder = &holder.object;
    holder.status != NetworkStatus::Revoked && holder.own_parties().contains(party)
}

/// Claims parties for a network. The claim of another network that no longer has the party is replaced: a crash between the change of that
/// network and the release of its parties leaves it behind.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached. The commit fails with 409 if a party belongs to another network, and with `Contended` if a
/// network whose claim is replaced changes in the meantime.
pub async fn claim(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    network: &Id,
    parties: impl Iterator<Item = &PartyId>,
) -> Result<(), Error> {
    let mut left = BTreeSet::new();
    for party in parties {
        let holder = other_holder(app, tx.origin(), party, network).await?;
        let holder = holder.filter(|holder| !has(holder, party));
        tx.claim_party(
            party,
            network,
            holder.as_ref().map(|holder| &holder.object.id),
        );
        if let Some(holder) = holder
            && left.insert(holder.object.id.clone())
        {
            tx.check_unchanged(&holder);
        }
    }
    Ok(())
}

/// Approves parties of a network, or withdraws their approval.
///
/// # Errors
/// 400 if the network has no such party; 409 if a party belongs to another network.
pub async fn approve(
    app: &App,
    mode: Mode,
    id: &Id,
    parties: &[PartyId],
    is_approved: bool,
) -> Result<Network, Error> {
    if !(1..=MAX_APPROVED).contains(&parties.len()) {
        return Err(Error::invalid("parties", "must have 1 to 50 elements"));
    }
    let origin = shared_origin(mode, app.now());
    let approve = || async {
        let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
        let before = network.object.own_parties();
        for party in parties {
            Network::approve(&mut network, party, is_approved, origin.now)?;
        }
        save(app, &origin, network, &before, true).await
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, approve)
        .await
}

/// Starts to approve the parties of a network as they appear, or stops it. Parties that await approval are approved if they belong to no
/// other network; the approval of the others does not change.
///
/// # Errors
/// `Contended` if the network is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn trust(app: &App, mode: Mode, id: &Id, is_trusted: bool) -> Result<Network, Error> {
    let origin = shared_origin(mode, app.now());
    let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
    network.object.trusts_parties = is_trusted;
    network.object.updated = origin.now;
    let own = network.object.own_parties();
    let mut trusted = save(app, &origin, network, &own, false).await?;
    let mut waiting = Vec::new();
    for party in &trusted.parties {
        if is_trusted
            && party.awaits_approval
            && !is_of_another(app, &origin, &party.id, id).await?
        {
            waiting.push(party.id.clone());
        }
    }
    for some in waiting.chunks(MAX_APPROVED) {
        trusted = approve(app, mode, id, some, true).await?;
    }
    Ok(trusted)
}

/// Stores a network whose parties have changed. Parties that belong to it now belong to no other; those that no longer belong to it are
/// released.
async fn save(
    app: &App,
    origin: &Origin,
    mut network: Stored<Network>,
    before: &BTreeSet<PartyId>,
    begins_pull: bool,
) -> Result<Network, Error> {
    let id = network.object.id.clone();
    let after = network.object.own_parties();
    if begins_pull && !after.is_subset(before) {
        Network::ask_for_full_pull(&mut network, origin.now);
    }
    let mut tx = app.store.begin(origin);
    claim(app, &mut tx, &id, after.difference(before)).await?;
    tx.save(&mut network)?;
    tx.commit_without_response().await?;
    app.networks.forget(&id);
    release(app, origin, &id, before.difference(&after)).await?;
    Ok(network.object)
}

/// Releases parties, so that other networks may have them from now on. A party that already belongs to another network does not change.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn release(
    app: &App,
    origin: &Origin,
    network: &Id,
    parties: impl Iterator<Item = &PartyId>,
) -> Result<(), Error> {
    let parties: Vec<PartyId> = parties.cloned().collect();
    let releases = stream::iter(parties).map(|party| release_one(app, origin, network, party));
    let releases = releases.buffer_unordered(RELEASED_AT_ONCE);
    releases.try_collect().await
}

async fn release_one(
    app: &App,
    origin: &Origin,
    network: &Id,
    party: PartyId,
) -> Result<(), Error> {
    let mut tx = app.store.begin(origin);
    tx.release_party(&party, network);
    match tx.commit_without_response().await {
        Err(Error::Contended) => Ok(()),
        done => done,
    }
}

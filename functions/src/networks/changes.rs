//! Handles changes of the objects that a charging network has sent, and of the commands to it.

use crate::App;
use kernel::Result;
use models::Stored;
use models::network::Owner;
use ocpi::network::{Network, NetworkStatus};
use ocpi::object::Module;
use table::keys;
use table::known_networks::BELIEVED;
use table::networks::operators;

use super::apply_tariff::ApplyTariff;
use super::rematch_party::RematchParty;
use super::results::ApplyResult;
use crate::job::Job as _;
use crate::networks::push_token::PushTokens;
use crate::networks::received::ApplyReceived;
use crate::stream::change::{Change, Followers, OnChange};
use crate::stream::record::{StreamRecord, text_of};

impl OnChange for Network {
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        match &change.before {
            Some(before) => {
                send_missed_tokens(app, before, &change.after.object).await?;
                rematch_unreached(app, &before.object, &change.after.object).await
            }
            None => Ok(()),
        }
    }
}

/// Sends the tokens that have changed during a suspension, when that ends.
async fn send_missed_tokens(app: &App, before: &Stored<Network>, after: &Network) -> Result<()> {
    let is_resumed = before.object.status == NetworkStatus::Suspended
        && after.status == NetworkStatus::Connected;
    if !is_resumed {
        return Ok(());
    }
    let since = before.internal.suspended_at;
    PushTokens::since(after.mode, &after.id, since)
        .send(app)
        .await
}

/// Requests a rematch of the reservations at the stations of the parties that are not reached any more. This begins when no instance uses a
/// cached network that reaches them. The stations of a network that was revoked become inactive then, also if it was suspended before.
async fn rematch_unreached(app: &App, before: &Network, after: &Network) -> Result<()> {
    let is_revoked =
        after.status == NetworkStatus::Revoked && before.status != NetworkStatus::Revoked;
    for party in before.own_parties() {
        if (is_revoked || before.reaches(&party)) && !after.reaches(&party) {
            let job = RematchParty {
                mode: after.mode,
                owner: Owner::new(after.id.clone(), party),
                after: None,
            };
            job.send_at(app, app.now().plus(BELIEVED)).await?;
        }
    }
    Ok(())
}

/// Handles a change of a network or of an object that belongs to it: the next pull from the network, the prices of its tariff, the effect
/// of its sessions and CDRs on charging sessions, the result of a command.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn on_change(app: &App, record: &StreamRecord) -> Result<()> {
    let (pk, sk) = record.key();
    if let Some((mode, _)) = keys::parse_network(pk)
        && keys::heads_object(sk)
        && let Some(after) = &record.new
    {
        let relay = Followers::of::<Network>().relay;
        return relay(app, &operators(mode), record.old.as_ref(), after).await;
    }
    if let Some((mode, object)) = keys::parse_ocpi_object(pk) {
        let raw = text_of(&record.new, "raw");
        return match object.module() {
            Module::Tariffs if raw.is_some() => {
                let tariff = object;
                let job = ApplyTariff {
                    mode,
                    tariff,
                    after: None,
                };
                job.send(app).await
            }
            // The item is also written when the session of the object is found.
            Module::Sessions | Module::Cdrs if raw != text_of(&record.old, "raw") => {
                ApplyReceived { mode, object }.send(app).await
            }
            _ => Ok(()),
        };
    }
    if let Some((mode, command)) = keys::parse_network_command(pk) {
        // Nothing is to be done before the command is sent.
        let before = text_of(&record.old, "state");
        if before.is_some() && before != text_of(&record.new, "state") {
            return ApplyResult { mode, command }.send(app).await;
        }
    }
    Ok(())
}

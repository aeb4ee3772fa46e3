//! Handles changes of charge cards, and of the tokens under which networks know them.

use crate::App;
use kernel::{Error, Mode, Result};
use models::ChargeCard;
use models::ports::network::Subject;

use super::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::networks::push_token::PushToken;
use crate::stream::change::{Change, OnChange};
use crate::stream::record::{StreamRecord, text_of};

impl OnChange for ChargeCard {
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let card = &change.after.object.id;
        RefreshTokens::of(&change.tenant, card).send(app).await
    }
}

/// Handles a change of a uid: cards are refreshed, and a changed token is sent to all connected networks.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached.
pub async fn on_change(app: &App, mode: Mode, uid: &str, record: &StreamRecord) -> Result<()> {
    refresh_cards(app, mode, uid, record).await?;
    // The item of a new card's uid has no token yet.
    let token = text_of(&record.new, "state");
    if token.is_none() || token == text_of(&record.old, "state") {
        return Ok(());
    }
    for network in app.store.networks(mode).await? {
        if !network.object.is_connected() {
            continue;
        }
        let job = PushToken::new(mode, network.object.id, uid.to_owned());
        job.send(app).await?;
    }
    Ok(())
}

/// Refreshes the cards that a change of a uid concerns: those that claimed it or held it before, and the one that holds it now, or the only
/// one that is left to hold it.
async fn refresh_cards(app: &App, mode: Mode, uid: &str, record: &StreamRecord) -> Result<()> {
    let (old, new) = (text_of(&record.old, "card"), text_of(&record.new, "card"));
    // A new card is refreshed anyway, so the item that says which card holds the uid matters only when it changes.
    let is_claim = text_of(&record.new, "since").is_some();
    if old == new || (record.old.is_none() && !is_claim) {
        return Ok(());
    }
    let mut cards: Vec<Subject> = Vec::new();
    for card in [old, new].into_iter().flatten() {
        cards.push(serde_json::from_str(card).map_err(Error::permanent)?);
    }
    let uid_use = app.store.card_uid(mode, uid).await?;
    cards.extend(uid_use.holder().cloned());
    cards.extend(uid_use.heir().map(|claim| claim.card.clone()));
    for card in cards {
        RefreshTokens::of(&card.tenant, &card.id).send(app).await?;
    }
    Ok(())
}

//! `refresh-tokens`: updates the tokens at networks after a change of cards, or of objects that cards depend on.
//!
//! The relay sends a message whenever an object changes that tokens depend on: a card, a driver, a vehicle, a fleet, a policy or an
//! account. The worker reads the present state, so that messages may arrive twice and in any order. A token that changes is written, and
//! the relay sends it to every connected network. Work on many cards is done a few cards at a time.
//!
//! The worker also creates the app card of a driver, expires cards, and removes deleted drivers and vehicles from cards. It follows the uid
//! of a card: the card that holds the uid is notified of claims, and a decision changes the status of both cards. When the account of the
//! card that holds a uid is erased and exactly one card claims the uid then, that card has it. When only the card is deleted, the account
//! may want the uid back for another card, so the claims wait for an operator.
//!
//! Work on all cards of an account is divided: one message plans, and sends a message for each page of cards, so that the pages are
//! processed in parallel.

use crate::App;
use kernel::{Error, Id, Kind, Origin, Tenant};
use models::charge_card::CardType;
use models::ports::JobSubject;
use models::ports::network::Subject;
use models::stored::is_default;
use models::{ChargeCard, Driver, EventType, Stored, Vehicle};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::charge_cards::CardToken;
use table::keys::Partition;
use table::list::{Cursor, Page, PageRequest};
use web::deployment::{Deployment, Need};

use super::context;
use crate::function::Function;
use crate::job::Job;

/// The number of cards per message, and the number of pages of cards for which one message plans.
const AT_A_TIME: usize = 25;
const PAGES: usize = 100;

/// The maximum number of times that a card is read again after a concurrent change.
const CARD_READS: usize = 8;

/// Updates the tokens of the charge cards that depend on an object, from the card after the given one on.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefreshTokens {
    pub tenant: Tenant,
    pub of: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Id>,
    /// Whether the message covers one page of cards only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_page: bool,
}

impl RefreshTokens {
    /// Updates the tokens of all cards that depend on an object.
    pub fn of(tenant: &Tenant, of: &Id) -> Self {
        Self {
            tenant: tenant.clone(),
            of: of.clone(),
            after: None,
            is_page: false,
        }
    }
}

impl Job for RefreshTokens {
    const NAME: &'static str = "refresh-tokens";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(&[
                Items::Of(Kind::ChargeCard),
                Items::Of(Kind::Event),
                Items::CardHolders,
                Items::CardTokens,
            ])
            .needing(&[Need::Messages]),
    );

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.of)
    }

    /// Updates the tokens that depend on an object, from the card after the given one on.
    ///
    /// # Errors
    /// The table or the queue cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            of,
            after,
            is_page,
        } = &self;
        let after = after.as_ref();
        if *is_page {
            return of_page(app, tenant, after).await;
        }
        match of.kind() {
            Some(Kind::ChargeCard) => refresh(app, tenant, of).await,
            Some(Kind::Driver) => of_driver(app, tenant, of, after).await,
            Some(Kind::Vehicle) => of_vehicle(app, tenant, of, after).await,
            Some(Kind::Account) => {
                if after.is_none() {
                    below(app, tenant).await?;
                }
                of_everybody(app, tenant, of, after).await
            }
            Some(Kind::Fleet | Kind::Policy) => of_everybody(app, tenant, of, after).await,
            _ => Ok(()),
        }
    }
}

/// Refreshes the cards of a driver, and creates the driver's app card.
async fn of_driver(app: &App, tenant: &Tenant, id: &Id, after: Option<&Id>) -> Result<(), Error> {
    let driver = app.store.find::<Driver>(tenant, id).await?;
    if let Some(driver) = driver.as_ref().filter(|driver| driver.object.is_active()) {
        make_app_card(app, tenant, &driver.object).await?;
    }
    of_holder(app, tenant, id, after, driver.is_none()).await
}

/// Refreshes the cards of a vehicle and of its drivers.
async fn of_vehicle(app: &App, tenant: &Tenant, id: &Id, after: Option<&Id>) -> Result<(), Error> {
    let vehicle = app.store.find::<Vehicle>(tenant, id).await?;
    let is_first = after.is_none();
    for driver in vehicle.iter().flat_map(|vehicle| &vehicle.object.drivers) {
        if is_first {
            send(app, tenant, driver, None).await?;
        }
    }
    of_holder(app, tenant, id, after, vehicle.is_none()).await
}

/// Refreshes the cards of a driver or a vehicle, which may be deleted.
async fn of_holder(
    app: &App,
    tenant: &Tenant,
    holder: &Id,
    after: Option<&Id>,
    is_deleted: bool,
) -> Result<(), Error> {
    let page = page_after(after);
    let cards = app.store.cards_of(tenant, holder, &page).await?;
    for card in &cards.items {
        if is_deleted {
            release(app, tenant, holder, card).await?;
        }
        refresh(app, tenant, card).await?;
    }
    match cards.items.last().filter(|_| cards.older) {
        Some(last) => send(app, tenant, holder, Some(last)).await,
        None => Ok(()),
    }
}

/// Refreshes all cards of a tenant. A message is sent for each page, unless there is only one.
async fn of_everybody(
    app: &App,
    tenant: &Tenant,
    of: &Id,
    after: Option<&Id>,
) -> Result<(), Error> {
    let mut after = after.cloned();
    for _ in 0..PAGES {
        let cards = cards_after(app, tenant, after.as_ref()).await?;
        if after.is_none() && !cards.older {
            return refresh_all(app, tenant, &cards.items).await;
        }
        let page = RefreshTokens {
            after,
            is_page: true,
            ..RefreshTokens::of(tenant, of)
        };
        page.send(app).await?;
        match cards.items.last().filter(|_| cards.older) {
            Some(last) => after = Some(last.object.id.clone()),
            None => return Ok(()),
        }
    }
    send(app, tenant, of, after.as_ref()).await
}

/// Refreshes one page of the cards of a tenant.
async fn of_page(app: &App, tenant: &Tenant, after: Option<&Id>) -> Result<(), Error> {
    let cards = cards_after(app, tenant, after).await?;
    refresh_all(app, tenant, &cards.items).await
}

async fn cards_after(
    app: &App,
    tenant: &Tenant,
    after: Option<&Id>,
) -> Result<Page<Stored<ChargeCard>>, Error> {
    let kind = Kind::ChargeCard;
    let partition = Partition::Kind { tenant, kind };
    let page = page_after(after);
    app.store.list(partition, &page, Vec::new()).await
}

async fn refresh_all(
    app: &App,
    tenant: &Tenant,
    cards: &[Stored<ChargeCard>],
) -> Result<(), Error> {
    for card in cards {
        refresh(app, tenant, &card.object.id).await?;
    }
    Ok(())
}

/// Sends messages for the accounts below an account, whose tokens depend on its status too.
async fn below(app: &App, tenant: &Tenant) -> Result<(), Error> {
    for child in app.store.children(&tenant.account).await? {
        let of_child = Tenant::new(child.clone(), tenant.mode);
        send(app, &of_child, &child, None).await?;
    }
    Ok(())
}

fn page_after(card: Option<&Id>) -> PageRequest {
    let mut page = PageRequest::first(AT_A_TIME);
    if let Some(card) = card {
        page.from = Cursor::After(card.clone());
    }
    page
}

async fn send(app: &App, tenant: &Tenant, of: &Id, after: Option<&Id>) -> Result<(), Error> {
    let job = RefreshTokens {
        after: after.cloned(),
        ..RefreshTokens::of(tenant, of)
    };
    job.send(app).await
}

/// Creates the app card of a driver, unless it exists.
async fn make_app_card(app: &App, tenant: &Tenant, driver: &Driver) -> Result<(), Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    let mut card = ChargeCard::of_app(driver, origin.now);
    let there = app
        .store
        .find::<ChargeCard>(tenant, &card.object.id)
        .await?;
    if there.is_some() {
        return Ok(());
    }
    let uid = card.object.uid.as_str();
    let uid_use = app.store.card_uid(tenant.mode, uid).await?;
    // The uid is derived from the driver's id, so no other account has a reason to use it. A card whose uid another account uses would be
    // of no use.
    if !uid_use.is_free_for(&tenant.account).unwrap_or_default() {
        return Ok(());
    }
    let mut tx = app.store.begin(&origin);
    tx.create_card(&mut card, &uid_use)?;
    match tx.commit_without_response().await {
        // Another message has created it meanwhile.
        Err(Error::Client(_) | Error::Contended) => Ok(()),
        done => done,
    }
}

/// Removes a deleted driver or vehicle from a card. The app card of a driver is deleted.
async fn release(app: &App, tenant: &Tenant, holder: &Id, id: &Id) -> Result<(), Error> {
    for _ in 0..CARD_READS {
        let origin = Origin::background(tenant.clone(), app.now());
        let mut tx = app.store.begin(&origin);
        match app.store.find::<ChargeCard>(tenant, id).await? {
            Some(mut card) if card.object.kind == CardType::App => {
                card.record(EventType::ChargeCardDeleted);
                let uid = card.object.uid.as_str();
                let uid_use = app.store.card_uid(tenant.mode, uid).await?;
                tx.delete_card(&card, uid_use)?;
            }
            Some(mut card) => {
                if card.release(holder, origin.now) {
                    tx.save(&mut card)?;
                }
                tx.remove_card(holder, id);
            }
            None => tx.remove_card(holder, id),
        }
        match tx.commit_without_response().await {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// Updates the token of a card, expires the card if its time has passed, and follows changes of its uid.
async fn refresh(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    for _ in 0..CARD_READS {
        let Some(mut card) = app.store.find::<ChargeCard>(tenant, id).await? else {
            return Ok(());
        };
        let origin = Origin::background(tenant.clone(), app.now());
        let mut tx = app.store.begin(&origin);
        let uid = card.object.uid.as_str().to_owned();
        let uid_use = app.store.card_uid(tenant.mode, &uid).await?;
        let ours = Subject::new(tenant.clone(), id.clone());
        // The relay then changes the status of the card, as after the decision of an operator.
        if let Some(heir) = uid_use.heir().filter(|claim| claim.card == ours) {
            tx.decide_card_uid(&uid, &uid_use, Some(heir))?;
        }
        let holds_uid = uid_use.holder() == Some(&ours);
        let mut changed = card.expire(origin.now);
        if holds_uid || uid_use.claim_of(&ours).is_some() {
            changed |= card.settle_uid(holds_uid, origin.now);
        }
        let undecided = uid_use.claims.iter().filter(|claim| !claim.is_decided);
        let newest = undecided.map(|claim| claim.since).max();
        if let Some(claimed) = newest.filter(|_| holds_uid) {
            changed |= card.contest(claimed);
        }
        if changed {
            tx.save(&mut card)?;
        }
        if let Some(token) = uid_use.token.filter(|_| holds_uid)
            && let Some(token) = renewed(app, &origin, &card, token).await?
        {
            tx.put_card_token(&uid, &token)?;
        }
        match tx.commit_without_response().await {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    Err(Error::Contended)
}

/// The new token of a card; none if it is up to date.
async fn renewed(
    app: &App,
    origin: &Origin,
    card: &Stored<ChargeCard>,
    mut token: CardToken,
) -> Result<Option<CardToken>, Error> {
    let card = &card.object;
    let context = context::load(app, &origin.tenant, card).await?;
    let changed = token.update(context.token(card, &context::issuer(app), origin.now));
    Ok(changed.then_some(token))
}

//! The relay: turns the changes of the table's stream into events, deliveries and scheduled work.
//!
//! Terms. A *change* is a record of the stream: a row before and after a write. A row carries the types of the events that its
//! last write has recorded (`events`), and the moment of its next action (`next_at`).
//!
//! Life cycle of a change. The relay writes each recorded event together with a delivery for every subscribed endpoint. An
//! event's own row comes back over the stream, and the relay sends a message for each delivery that waits. For a row with a
//! next action it sends a message for that moment, on a queue or by EventBridge Scheduler.
//!
//! Invariants. The id of an event follows from its object and the version of the row, so that a change which is relayed twice
//! writes one event. Every message can be sent twice: its worker checks what is left to do.
//!
//! Crashes. A change that failed is read again with those after it in its shard. A change that can never be relayed goes to the
//! failure destination. The sweeper finds rows whose message was lost by their next action.

use futures::future::BoxFuture;
use serde_dynamo::{AttributeValue, Item};
use serde_json::{Value, json};

use shared::App;
use shared::charging::calendar::CalendarOwner;
use shared::error::{Error, Result};
use shared::id::{Id, Kind};
use shared::models::charge_card::ChargeCard;
use shared::models::charging_session::ChargingSession;
use shared::models::charging_station::{ChargingStation, Connector, StationInternal};
use shared::models::driver::Driver;
use shared::models::event::{
    Cause, Delivery, DeliveryState, Event, EventInternal, EventRequest, EventType,
};
use shared::models::fleet::Fleet;
use shared::models::invoice::Invoice;
use shared::models::policy::Policy;
use shared::models::report::Report;
use shared::models::reservation::Reservation;
use shared::models::stored::Stored;
use shared::models::transaction::Transaction;
use shared::models::vehicle::Vehicle;
use shared::models::webhook_endpoint::WebhookEndpoint;
use shared::ocpi::network::NetworkStatus;
use shared::ocpi::object::Module;
use shared::origin::{Mode, Origin, Tenant};
use shared::ports::FailedChange;
use shared::ports::network::Subject;

use crate::charge_cards::refresh::RefreshTokens;
use crate::charging_sessions::received::ApplyReceived;
use crate::job::Job;
use crate::networks::apply_tariff::ApplyTariff;
use crate::networks::push_token::PushToken;
use crate::networks::results::ApplyResult;
use crate::reservations::outward::CancelAtNetwork;
use crate::webhooks::deliver::DeliverWebhook;

use shared::store::deliveries::{Deliveries, delivery_of};
use shared::store::keys;
use shared::store::networks::operators;
use shared::store::row::decode;
use shared::store::sweep::Waiting;
use shared::time::Timestamp;

use super::actions::{current_message, next_message};

/// One record of the stream: a row before and after.
#[derive(Debug, Clone, Default)]
pub struct StreamRecord {
    pub old: Option<Item>,
    pub new: Option<Item>,
}

/// The rows that stand for something that happens later have one of these attributes, by name and type of DynamoDB: objects and station rows a
/// version; deliveries, commands to networks and tokens a state; objects of networks the text as it was received. Idempotency records and request
/// rates have none.
const RELAYED: [(&str, &str); 3] = [("version", "N"), ("state", "S"), ("raw", "S")];

/// What only an idempotency record has. When one expires, nothing follows.
const NOT_RELAYED: &str = "fingerprint";

/// The patterns of the event source mapping that let through the records for which [`StreamRecord::is_relayed`] holds: the others do not
/// invoke the relay. At most five are possible.
pub fn filters() -> Vec<Value> {
    let changed = |(name, kind): (&str, &str)| json!({"dynamodb": {"NewImage": {name: {kind: [{"exists": true}]}}}});
    let removed = json!({"eventName": ["REMOVE"], "dynamodb": {"OldImage": {NOT_RELAYED: {"S": [{"exists": false}]}}}});
    RELAYED.into_iter().map(changed).chain([removed]).collect()
}

impl StreamRecord {
    /// Whether the relay has to work on the record.
    pub fn is_relayed(&self) -> bool {
        let has = |item: &Item, (name, kind): (&str, &str)| match item.get(name) {
            Some(AttributeValue::N(_)) => kind == "N",
            Some(AttributeValue::S(_)) => kind == "S",
            _ => false,
        };
        match (&self.new, &self.old) {
            (Some(new), _) => RELAYED.into_iter().any(|one| has(new, one)),
            (None, Some(old)) => !has(old, (NOT_RELAYED, "S")),
            (None, None) => false,
        }
    }

    /// The key of the row, for the log: its `pk` and `sk`.
    pub fn key(&self) -> (&str, &str) {
        let image = self.new.as_ref().or(self.old.as_ref());
        let text = |name: &str| match image?.get(name)? {
            AttributeValue::S(text) => Some(text.as_str()),
            _ => None,
        };
        (
            text("pk").unwrap_or_default(),
            text("sk").unwrap_or_default(),
        )
    }
}

/// Works on one change. One that can never be relayed, such as a row that cannot be read or whose event is too large, goes to
/// the failure destination at once: read again, it would hold up everything behind it in its shard.
///
/// # Errors
/// The table, a queue or the scheduler cannot be reached: the record has to be read again.
pub async fn relay(app: &App, change: &StreamRecord) -> Result<()> {
    match work_on(app, change).await {
        Err(error) if error.is_permanent() => fail(app, change, &error).await,
        done => done,
    }
}

/// Sends a change that can never be relayed to the failure destination, with the place of its row.
async fn fail(app: &App, change: &StreamRecord, error: &Error) -> Result<()> {
    let item = change.new.as_ref().or(change.old.as_ref());
    let attribute = |name| item.and_then(|item| text(item, name)).unwrap_or_default();
    let (pk, sk) = (attribute("pk"), attribute("sk"));
    let object = keys::parse_object(pk).map(|(_, id)| id);
    let object = object.or_else(|| keys::parse_station(pk).map(|(_, id)| id));
    let failed = FailedChange {
        object,
        pk: pk.to_owned(),
        sk: sk.to_owned(),
        version: item.and_then(|item| read(item, "version").ok().flatten()),
        error: error.to_string(),
        failed_at: app.now(),
    };
    let id = failed.object.as_ref().map_or("", Id::as_str);
    tracing::error!(object.id = id, pk, sk, %error, "a change can never be relayed and goes to the failure destination");
    app.queue.fail(&failed).await?;
    app.settings.metrics.relay_failed(failed.failed_at);
    Ok(())
}

async fn work_on(app: &App, change: &StreamRecord) -> Result<()> {
    let Some(new) = &change.new else {
        return removed(app, change).await;
    };
    if let Some((mode, station)) = text(new, "pk").and_then(keys::parse_station) {
        return relay_station(app, mode, &station, change).await;
    }
    if let Some(pk) = text(new, "pk")
        && let Some(relayed) = relay_of_network(app, pk, change)
    {
        return relayed.await;
    }
    if let Some(account) = text(new, "pk").and_then(keys::parse_account) {
        return relay_account(app, account, change).await;
    }
    let Some((tenant, id)) = text(new, "pk").and_then(keys::parse_object) else {
        return Ok(());
    };
    match id.kind() {
        Some(Kind::Event) => {
            return match text(new, "sk").map(Id::from) {
                Some(endpoint) if endpoint.is(Kind::WebhookEndpoint) => {
                    relay_delivery(app, &tenant, &id, &endpoint, change).await
                }
                _ => relay_event(app, &tenant, &id, change).await,
            };
        }
        Some(
            Kind::ChargingSession | Kind::Invoice | Kind::Report | Kind::Transaction | Kind::Fleet,
        ) => schedule(app, &tenant, &id, change).await?,
        Some(Kind::Reservation) => {
            cancel_at_network(app, &tenant, change).await?;
            schedule(app, &tenant, &id, change).await?;
        }
        Some(Kind::ChargeCard) => {
            schedule(app, &tenant, &id, change).await?;
            refresh_tokens(app, &tenant, &id).await?;
        }
        _ => {}
    }
    if changes_tokens(&id, change) {
        refresh_tokens(app, &tenant, &id).await?;
    }
    write_events(app, &tenant, &id, change).await
}

/// The members of an object that the tokens of charge cards depend on.
fn members_of_tokens(kind: Option<Kind>) -> &'static [&'static str] {
    match kind {
        Some(Kind::Driver) => &["status", "fleets", "vehicles", "policy_ids"],
        Some(Kind::Vehicle) => &["status", "drivers", "policy_ids"],
        Some(Kind::Fleet) => &["status", "policy_ids"],
        Some(Kind::Policy) => &["status", "mode", "rules"],
        Some(Kind::Account) => &["status"],
        _ => &[],
    }
}

/// Whether something changes that the tokens of charge cards depend on. Nothing depends on a new object yet, but a driver has a card
/// from the beginning.
fn changes_tokens(id: &Id, change: &StreamRecord) -> bool {
    let member = |item: &Option<Item>, name: &str| match item.as_ref()?.get("object")? {
        AttributeValue::M(members) => members.get(name).cloned(),
        _ => None,
    };
    let kind = id.kind();
    let differs = |name: &&str| member(&change.old, name) != member(&change.new, name);
    match change.old.is_some() {
        true => members_of_tokens(kind).iter().any(differs),
        false => kind == Some(Kind::Driver),
    }
}

async fn refresh_tokens(app: &App, tenant: &Tenant, of: &Id) -> Result<()> {
    let job = RefreshTokens {
        tenant: tenant.clone(),
        of: of.clone(),
        after: None,
    };
    job.send(app).await
}

/// The status of an account holds in both of its modes.
async fn relay_account(app: &App, account: Id, change: &StreamRecord) -> Result<()> {
    if change.old.is_none() || !changes_tokens(&account, change) {
        return Ok(());
    }
    for mode in [Mode::Live, Mode::Test] {
        let tenant = Tenant {
            account: account.clone(),
            mode,
        };
        refresh_tokens(app, &tenant, &account).await?;
    }
    Ok(())
}

/// Deletes the rows that belong to a deleted object, such as the lines of an invoice, and takes the charge cards from a driver or a
/// vehicle.
async fn removed(app: &App, change: &StreamRecord) -> Result<()> {
    let key = |name| change.old.as_ref().and_then(|old| text(old, name));
    let (Some(pk), Some(sk)) = (key("pk"), key("sk")) else {
        return Ok(());
    };
    match keys::parse_object(pk) {
        Some((tenant, id)) if id.is(Kind::Invoice) && keys::heads_invoice(sk) => {
            app.store.drop_lines(&tenant, &id).await
        }
        Some((tenant, id)) if (id.is(Kind::Driver) || id.is(Kind::Vehicle)) && sk == "#" => {
            refresh_tokens(app, &tenant, &id).await
        }
        _ => Ok(()),
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name)? {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

fn text_of<'a>(item: &'a Option<Item>, name: &str) -> Option<&'a str> {
    text(item.as_ref()?, name)
}

fn read<T: serde::de::DeserializeOwned>(item: &Item, name: &str) -> Result<Option<T>> {
    let value = item.get(name).cloned();
    value
        .map(|value| serde_dynamo::from_attribute_value(value).map_err(Error::permanent))
        .transpose()
}

/// Writes the events a change stands for, each with the deliveries it needs.
async fn write_events(app: &App, tenant: &Tenant, id: &Id, change: &StreamRecord) -> Result<()> {
    let (Some(new), old) = (&change.new, &change.old) else {
        return Ok(());
    };
    let version: u64 = read(new, "version")?.unwrap_or(0);
    let before: Option<u64> = old
        .as_ref()
        .map(|old| read(old, "version"))
        .transpose()?
        .flatten();
    if before == Some(version) {
        return Ok(());
    }
    let events: Vec<EventType> = read(new, "events")?.unwrap_or_default();
    if events.is_empty() {
        return Ok(());
    }
    let Some(object) = shown(id, new)? else {
        return Ok(());
    };
    // A change that is read after its account was erased leaves no event behind.
    if !app
        .edge
        .keys
        .has_account(&app.store, tenant, app.now())
        .await?
    {
        return Ok(());
    }
    let previous = old
        .as_ref()
        .map(|old| shown(id, old))
        .transpose()?
        .flatten();
    let at = text(new, "written")
        .and_then(|text| Timestamp::parse(text).ok())
        .unwrap_or_else(|| app.now());
    let cause = Cause {
        request: read::<EventRequest>(new, "request")?,
        at,
        version: app.edge.keys.version(&app.store, tenant, app.now()).await?,
    };
    for kind in events {
        let event = Event::of(
            kind,
            tenant,
            (id, version),
            object.clone(),
            previous.as_ref(),
            &cause,
        );
        let deliveries = deliveries(app, tenant, &event).await?;
        let origin = Origin::background(tenant.clone(), app.now());
        let internal = EventInternal::planned(deliveries.keys().cloned().collect());
        let mut event = Stored::with_internal(event, internal);
        app.store
            .add_event(&origin, &mut event, &deliveries)
            .await?;
        app.settings.metrics.happened(origin.now, kind);
    }
    Ok(())
}

/// The object of a row as clients see it. An event reaches other endpoints, so the secret of an endpoint is masked in it.
fn shown(id: &Id, item: &Item) -> Result<Option<Value>> {
    fn read_as<T: serde::Serialize + serde::de::DeserializeOwned>(
        item: &Item,
    ) -> Result<Option<Value>> {
        let object: Option<T> = read(item, "object")?;
        object
            .map(|object| serde_json::to_value(object).map_err(Error::internal))
            .transpose()
    }
    match id.kind() {
        Some(Kind::ChargeCard) => read_as::<ChargeCard>(item),
        Some(Kind::ChargingSession) => read_as::<ChargingSession>(item),
        Some(Kind::Driver) => read_as::<Driver>(item),
        Some(Kind::Fleet) => read_as::<Fleet>(item),
        Some(Kind::Policy) => read_as::<Policy>(item),
        Some(Kind::Invoice) => read_as::<Invoice>(item),
        Some(Kind::Report) => read_as::<Report>(item),
        Some(Kind::Reservation) => read_as::<Reservation>(item),
        Some(Kind::Transaction) => read_as::<Transaction>(item),
        Some(Kind::Vehicle) => read_as::<Vehicle>(item),
        Some(Kind::WebhookEndpoint) => {
            let endpoint: Option<WebhookEndpoint> = read(item, "object")?;
            endpoint
                .map(|endpoint| serde_json::to_value(endpoint.masked()).map_err(Error::internal))
                .transpose()
        }
        other => Err(Error::permanent(format!("{other:?} has no events"))),
    }
}

/// A delivery for each endpoint that is subscribed to the event.
async fn deliveries(app: &App, tenant: &Tenant, event: &Event) -> Result<Deliveries> {
    let endpoints = app.store.webhook_endpoints(tenant).await?;
    let first = Delivery::waiting(0, event.created);
    let subscribed = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.subscribes_to(event.kind));
    Ok(subscribed
        .map(|endpoint| (endpoint.id, first.clone()))
        .collect())
}

/// Plans the deliveries of an event that was written in the transaction of its cause.
async fn relay_event(app: &App, tenant: &Tenant, id: &Id, change: &StreamRecord) -> Result<()> {
    let Some(new) = &change.new else {
        return Ok(());
    };
    let internal: EventInternal = read(new, "internal")?.unwrap_or_default();
    if internal.endpoints.is_some() {
        return Ok(());
    }
    let event: Event =
        read(new, "object")?.ok_or_else(|| Error::permanent("an event without content"))?;
    plan(app, tenant, id, &event).await
}

async fn plan(app: &App, tenant: &Tenant, id: &Id, event: &Event) -> Result<()> {
    let deliveries = deliveries(app, tenant, event).await?;
    let origin = Origin::background(tenant.clone(), app.now());
    let version = app
        .edge
        .keys
        .version(&app.store, tenant, origin.now)
        .await?;
    app.store
        .plan_deliveries(&origin, id, &deliveries, &version)
        .await
}

/// Sends a delivery that newly waits for an attempt.
async fn relay_delivery(
    app: &App,
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    change: &StreamRecord,
) -> Result<()> {
    let delivery = |item: &Option<Item>| item.clone().map(delivery_of).transpose();
    let (before, after) = (delivery(&change.old)?, delivery(&change.new)?);
    match after {
        Some(delivery)
            if delivery.state == DeliveryState::Waiting && before.as_ref() != Some(&delivery) =>
        {
            send_delivery(app, tenant, event, endpoint, &delivery).await
        }
        _ => Ok(()),
    }
}

async fn send_delivery(
    app: &App,
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    delivery: &Delivery,
) -> Result<()> {
    let job = DeliverWebhook {
        tenant: tenant.clone(),
        event: event.clone(),
        endpoint: endpoint.clone(),
        attempt: delivery.attempts + 1,
    };
    job.send_at(app, delivery.next_at).await
}

/// What follows from a row of a charging network: the next pull from it, the prices of its tariff, what its sessions and CDRs mean
/// for ours, the result of a command, and that it is sent a token. None for any other row.
fn relay_of_network<'a>(
    app: &'a App,
    pk: &str,
    change: &'a StreamRecord,
) -> Option<BoxFuture<'a, Result<()>>> {
    if let Some((mode, network)) = keys::parse_network(pk) {
        return Some(Box::pin(async move {
            schedule(app, &operators(mode), &network, change).await
        }));
    }
    if let Some((mode, object)) = keys::parse_ocpi_object(pk) {
        return Some(Box::pin(async move {
            let raw = text_of(&change.new, "raw");
            match object.module() {
                Module::Tariffs if raw.is_some() => {
                    let tariff = object;
                    let job = ApplyTariff {
                        mode,
                        tariff,
                        after: None,
                    };
                    job.send(app).await
                }
                // The row is also written when it is known what the object belongs to.
                Module::Sessions | Module::Cdrs if raw != text_of(&change.old, "raw") => {
                    ApplyReceived { mode, object }.send(app).await
                }
                _ => Ok(()),
            }
        }));
    }
    if let Some((mode, command)) = keys::parse_network_command(pk) {
        return Some(Box::pin(async move {
            // There is nothing to work on before the command is sent.
            let before = text_of(&change.old, "state");
            if before.is_none() || before == text_of(&change.new, "state") {
                return Ok(());
            }
            ApplyResult { mode, command }.send(app).await
        }));
    }
    let (mode, uid) = keys::parse_charge_token(pk)?;
    Some(Box::pin(async move {
        refresh_cards(app, mode, &uid, change).await?;
        // The uid of a new card has no token yet.
        let token = text_of(&change.new, "state");
        if token.is_none() || token == text_of(&change.old, "state") {
            return Ok(());
        }
        for network in app.store.networks(mode).await? {
            if network.object.status != NetworkStatus::Connected {
                continue;
            }
            let job = PushToken {
                mode,
                network: network.object.id,
                uid: uid.clone(),
            };
            job.send(app).await?;
        }
        Ok(())
    }))
}

/// Refreshes the cards that a change of a uid concerns: those that claimed it or held it before, and the one that holds it.
async fn refresh_cards(app: &App, mode: Mode, uid: &str, change: &StreamRecord) -> Result<()> {
    let (old, new) = (text_of(&change.old, "card"), text_of(&change.new, "card"));
    // A new card is refreshed anyway, so the item that says which card holds the uid matters only when it changes.
    let is_claim = text_of(&change.new, "since").is_some();
    if old == new || (change.old.is_none() && !is_claim) {
        return Ok(());
    }
    let mut cards: Vec<Subject> = Vec::new();
    for card in [old, new].into_iter().flatten() {
        cards.push(serde_json::from_str(card).map_err(Error::permanent)?);
    }
    let token = app.store.card_token(mode, uid).await?;
    cards.extend(token.and_then(|token| token.card));
    for card in cards {
        refresh_tokens(app, &card.tenant, &card.id).await?;
    }
    Ok(())
}

/// Requests a rematch of the reservations whose connectors are now out of order or no longer published.
async fn relay_station(app: &App, mode: Mode, id: &Id, change: &StreamRecord) -> Result<()> {
    let station = |item: &Option<Item>| -> Result<Option<ChargingStation>> {
        match item {
            Some(item) => read(item, "object"),
            None => Ok(None),
        }
    };
    let is_published = |item: &Option<Item>| -> Result<bool> {
        let internal: Option<Option<StationInternal>> = match item {
            Some(item) => read(item, "internal")?,
            None => None,
        };
        Ok(internal.flatten().unwrap_or_default().published)
    };
    let withdrawn = is_published(&change.old)? && !is_published(&change.new)?;
    let (Some(old), Some(new)) = (station(&change.old)?, station(&change.new)?) else {
        return Ok(());
    };
    let is_lost =
        |one: &&Connector| old.is_reservable(&one.id) && (withdrawn || !new.is_reservable(&one.id));
    let lost: Vec<&Connector> = old.connectors.iter().filter(is_lost).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let evses = lost.iter().map(|one| CalendarOwner::evse_of(id, one));
    let reserved = app
        .store
        .entries_of(mode, evses.collect(), app.now())
        .await?;
    let lost: Vec<String> = lost.iter().map(|one| one.id.clone()).collect();
    for entry in reserved {
        if let (Some(account), true) = (entry.account, entry.holder.is(Kind::Reservation)) {
            request_rematch(app, Tenant { account, mode }, &entry.holder, id, &lost).await?;
        }
    }
    Ok(())
}

/// Records in a reservation that it needs another connector. The relay of that change sends the message; if the message is
/// lost, the sweeper finds the reservation.
async fn request_rematch(
    app: &App,
    tenant: Tenant,
    reservation: &Id,
    station: &Id,
    connectors: &[String],
) -> Result<()> {
    let Some(mut row) = app.store.find::<Reservation>(&tenant, reservation).await? else {
        return Ok(());
    };
    let origin = Origin::background(tenant, app.now());
    let mut tx = app.store.begin(&origin);
    if row.request_rematch(station, connectors, origin.now) {
        tx.save(&mut row)?;
    }
    tx.commit_without_response().await
}

/// Sends the message of an object's next action, when that is new or has moved.
async fn schedule(app: &App, tenant: &Tenant, id: &Id, change: &StreamRecord) -> Result<()> {
    let next = |item: &Option<Item>| match item {
        Some(item) => next_message(tenant, id, item),
        None => Ok(None),
    };
    let (before, after) = (next(&change.old)?, next(&change.new)?);
    match &after {
        Some((at, message)) if before != after => app.send_at(*at, message).await,
        _ => Ok(()),
    }
}

/// Ends a reservation at the network of its station, if it is not as it was there.
async fn cancel_at_network(app: &App, tenant: &Tenant, change: &StreamRecord) -> Result<()> {
    let row = |item: &Option<Item>| item.clone().map(decode::<Reservation>).transpose();
    let (Some(old), Some(new)) = (row(&change.old)?, row(&change.new)?) else {
        return Ok(());
    };
    let Some(ended) = new.to_cancel(&old, app.now()) else {
        return Ok(());
    };
    let job = CancelAtNetwork {
        tenant: tenant.clone(),
        reservation: new.object.id.clone(),
        station: ended.station.clone(),
        outward: ended.id.clone(),
    };
    job.send(app).await
}

/// Sends the message again that a row waits for. Returns whether it waits for one.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn resend(app: &App, waiting: &Waiting) -> Result<bool> {
    let Waiting {
        tenant,
        id,
        endpoint,
        due,
    } = waiting;
    let endpoint = endpoint.as_ref();
    match id.kind() {
        Some(Kind::Event) => match endpoint {
            Some(endpoint) => {
                let delivery = app.store.delivery(tenant, id, endpoint).await?;
                let Some(delivery) = delivery.filter(Delivery::is_open) else {
                    return Ok(false);
                };
                send_delivery(app, tenant, id, endpoint, &delivery).await?;
                Ok(true)
            }
            None => {
                let row = app.store.find::<Event>(tenant, id).await?;
                let Some(row) = row.filter(|row| row.internal.endpoints.is_none()) else {
                    return Ok(false);
                };
                plan(app, tenant, id, &row.object).await?;
                Ok(true)
            }
        },
        _ => match current_message(app, tenant, id).await? {
            Some(message) => app.send_at(*due, &message).await.map(|()| true),
            None => Ok(false),
        },
    }
}

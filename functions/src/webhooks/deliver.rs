//! `deliver-webhook`: makes one attempt to deliver an event to an endpoint. [`models::webhooks`] describes deliveries.

use crate::App;
use kernel::time::{MINUTE, seconds};
use kernel::{Error, Id, Kind, Origin, SignedDuration, Tenant};
use models::ports::JobSubject;
use models::stored::is_default;
use models::webhook_endpoint::EndpointStatus;
use models::{Event, Stored, WebhookDelivery, WebhookEndpoint};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::deliveries::Claim;
use table::held::HeldDelivery;
use web::deployment::{Deployment, Need};

use super::attempt::{self, CLAIM, known_endpoint};
use super::hold::hold;
use super::order::{self, Permission, Place};
use super::pace::{self, Slot};
use crate::function::{Function, Trigger};
use crate::job::Job;

/// The maximum number of times that a message is received: for ten hours while the table cannot be reached. A first attempt is recorded
/// only by its message.
const RECEIVES: u32 = 100;

/// The maximum time for which an attempt waits here for a slot of its endpoint. For longer waits the message is returned to the queue.
const LONGEST_WAIT: SignedDuration = seconds(2);

/// The time after which an attempt that waits for its slot checks whether the endpoint has another limit.
const LIMIT_CHECK: SignedDuration = seconds(30);

/// The time after which an attempt checks again whether an event before it has arrived.
const MISSING: SignedDuration = MINUTE;

/// The time after which a first attempt in order checks again whether a replay has ended.
const REPLAYING: SignedDuration = seconds(10);

/// Makes one attempt to deliver an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliverWebhook {
    pub tenant: Tenant,
    pub event: Id,
    pub endpoint: Id,
    pub attempt: u32,
    /// The slot of a rate-limited endpoint for which the attempt waits.
    #[serde(skip_serializing_if = "is_default")]
    pub slot: Option<Slot>,
}

impl Job for DeliverWebhook {
    const NAME: &'static str = "deliver-webhook";
    /// A delivery in order sends the message of the next one.
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function {
        trigger: Trigger::Queue {
            batch: 10,
            receives: RECEIVES,
        },
        ..Function::worker(
            Self::NAME,
            Deployment::in_background()
                .writing(&[Items::Of(Kind::WebhookEndpoint)])
                .needing(&[Need::EncryptionKeys, Need::Messages]),
        )
    };

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.event).waiting_for(&self.endpoint)
    }

    fn schedule_name(&self) -> String {
        WebhookDelivery::first_id(&self.event, &self.endpoint).to_string()
    }

    /// Makes one attempt, unless it was made before or the delivery is closed. While another worker has the attempt, this message waits for
    /// the end of its claim: if that worker has crashed, the next attempt is made then. While the endpoint fails, the attempt is held. At
    /// an ordered endpoint the first attempt waits for its turn, and for the end of a replay.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached: the message is then delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant, endpoint, ..
        } = &self;
        let origin = Origin::background(tenant.clone(), app.now());
        let receiver = known_endpoint(app, tenant, endpoint).await?;
        let is_enabled =
            |stored: &&Stored<WebhookEndpoint>| stored.object.status == EndpointStatus::Enabled;
        let Some(enabled) = receiver.as_ref().filter(is_enabled) else {
            return self.make(app, receiver.as_ref()).await.map(drop);
        };
        if self.attempt == 1 && enabled.object.ordered {
            match order::permission(app, tenant, &enabled.object, &self.event).await? {
                Permission::Granted => {}
                Permission::Waits { unbegun } => {
                    let first = unbegun.map(|event| self.first_of(event));
                    return send(app, first).await;
                }
                Permission::Unknown => {
                    let again = origin.now.plus(MISSING);
                    return self.send_at(app, again).await;
                }
            }
        }
        if self.waits_for_replay(app, enabled).await? {
            return self.send_at(app, origin.now.plus(REPLAYING)).await;
        }
        if enabled.internal.breaker.holds() {
            let held = HeldDelivery {
                event: self.event.clone(),
                attempt: self.attempt,
            };
            return if hold(app, &origin, endpoint, held).await? {
                Ok(())
            } else {
                self.make(app, None).await.map(drop)
            };
        }
        if self.waits_for_slot(app, enabled).await? {
            return Ok(());
        }
        self.make(app, Some(enabled)).await.map(drop)
    }
}

impl DeliverWebhook {
    /// Checks whether this is a first attempt in order that waits for the end of a replay.
    async fn waits_for_replay(
        &self,
        app: &App,
        endpoint: &Stored<WebhookEndpoint>,
    ) -> Result<bool, Error> {
        if self.attempt != 1 || !endpoint.object.ordered {
            return Ok(false);
        }
        order::waits_for_replay(app, &self.tenant, &self.endpoint, &self.event).await
    }

    /// Waits for a slot of a rate-limited endpoint: here for two seconds at most, otherwise the message is sent again later. Returns true
    /// if it was sent again.
    async fn waits_for_slot(
        &self,
        app: &App,
        endpoint: &Stored<WebhookEndpoint>,
    ) -> Result<bool, Error> {
        let slot = match self.slot.filter(|slot| slot.is_of(endpoint)) {
            Some(slot) => Some(slot),
            None => pace::slot(app, &self.tenant, endpoint).await?,
        };
        let (Some(slot), now) = (slot, app.now()) else {
            return Ok(false);
        };
        if slot.at.since(now) <= LONGEST_WAIT {
            pace::sleep_until(app, slot.at).await;
            return Ok(false);
        }
        let later = Self {
            slot: Some(slot),
            ..self.clone()
        };
        let at = slot.at.min(now.plus(LIMIT_CHECK));
        later.send_at(app, at).await.map(|()| true)
    }

    /// Makes the attempt, which was held by the breaker of its endpoint. If it waits for a replay, it is sent again later.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn make_held(
        &self,
        app: &App,
        receiver: Option<&Stored<WebhookEndpoint>>,
    ) -> Result<Option<bool>, Error> {
        if let Some(endpoint) = receiver
            && self.waits_for_replay(app, endpoint).await?
        {
            let later = app.now().plus(REPLAYING);
            return self.send_at(app, later).await.map(|()| None);
        }
        self.make(app, receiver).await
    }

    /// Claims the attempt and makes it. Returns whether the receiver has acknowledged the event; none if it was sent nothing.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn make(
        &self,
        app: &App,
        receiver: Option<&Stored<WebhookEndpoint>>,
    ) -> Result<Option<bool>, Error> {
        let origin = Origin::background(self.tenant.clone(), app.now());
        let until = origin.now.plus(CLAIM);
        let claimed = app
            .store
            .claim_attempt(&origin, &self.event, &self.endpoint, self.attempt, until)
            .await?;
        match claimed {
            Claim::Granted(claimed) => {
                let has_succeeded =
                    attempt::make(app, &origin, &self.endpoint, receiver, claimed).await?;
                self.send_following(app, receiver).await?;
                Ok(has_succeeded)
            }
            Claim::Held { until } => self.next().send_at(app, until).await.map(|()| None),
            Claim::Closed => {
                // The worker that finished the delivery may have crashed before it sent the next message.
                self.send_following(app, receiver).await?;
                Ok(None)
            }
        }
    }

    /// Sends the message for the next event of the object, if the endpoint is ordered or was deleted, and that event is next in the queue.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn send_following(
        &self,
        app: &App,
        receiver: Option<&Stored<WebhookEndpoint>>,
    ) -> Result<(), Error> {
        let place = match receiver {
            Some(receiver) if !receiver.object.ordered => return Ok(()),
            Some(ordered) => Place::of(&ordered.object),
            // The events that wait for a deleted endpoint are abandoned, one after another.
            None => Place::deleted(&self.endpoint, app.now()),
        };
        let Some(event) = app.store.find::<Event>(&self.tenant, &self.event).await? else {
            return Ok(());
        };
        let next = order::following(app, &self.tenant, place, &event).await?;
        send(app, next.map(|event| self.first_of(event))).await
    }

    /// The first attempt to deliver another event to the same endpoint.
    fn first_of(&self, event: Id) -> Self {
        Self {
            tenant: self.tenant.clone(),
            event,
            endpoint: self.endpoint.clone(),
            attempt: 1,
            slot: None,
        }
    }

    /// The attempt after this one.
    fn next(&self) -> Self {
        Self {
            tenant: self.tenant.clone(),
            event: self.event.clone(),
            endpoint: self.endpoint.clone(),
            attempt: self.attempt + 1,
            slot: None,
        }
    }
}

async fn send(app: &App, message: Option<DeliverWebhook>) -> Result<(), Error> {
    match message {
        Some(message) => message.send(app).await,
        None => Ok(()),
    }
}

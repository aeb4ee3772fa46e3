//! `deliver-webhook`: makes one attempt to deliver an event to an endpoint. [`models::webhooks`] describes deliveries.

use crate::App;
use kernel::origin::{Origin, Tenant};
use kernel::{Error, Id, Kind};
use models::ports::JobSubject;
use models::webhook_delivery::WebhookDelivery;
use serde::{Deserialize, Serialize};
use table::access::Rows;
use table::deliveries::Claim;
use web::deployment::{Deployment, Need};

use super::attempt::{self, CLAIM, known_endpoint};
use crate::function::{Function, Trigger};
use crate::job::Job;

/// How often a message is received: for ten hours while the table cannot be reached. Nothing but its message stands for a first attempt.
const RECEIVES: u32 = 100;

/// Makes one attempt to deliver an event.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeliverWebhook {
    pub tenant: Tenant,
    pub event: Id,
    pub endpoint: Id,
    pub attempt: u32,
}

impl Job for DeliverWebhook {
    const NAME: &'static str = "deliver-webhook";
    const FUNCTION: Function = Function {
        trigger: Trigger::Queue {
            batch: 10,
            receives: RECEIVES,
        },
        ..Function::worker(
            Self::NAME,
            Deployment::in_background()
                .writing(&[Rows::Of(Kind::WebhookEndpoint)])
                .needing(&[Need::EncryptionKeys, Need::Messages]),
        )
    };

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.event).waiting_for(&self.endpoint)
    }

    fn schedule_name(&self) -> String {
        WebhookDelivery::first_id(&self.event, &self.endpoint).to_string()
    }

    /// Makes one attempt, unless it was made before or the delivery is closed. While another worker has the attempt, this message waits for the
    /// end of its claim: if that worker has died, the next attempt is made then.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached: the message is then delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            event,
            endpoint,
            attempt,
        } = &self;
        let origin = Origin::background(tenant.clone(), app.now());
        let receiver = known_endpoint(app, tenant, endpoint).await?;
        let until = origin.now.plus(CLAIM);
        let claimed = app
            .store
            .claim_attempt(&origin, event, endpoint, *attempt, until)
            .await?;
        match claimed {
            Claim::Granted(claimed) => {
                let made = attempt::make(app, &origin, endpoint, receiver.as_ref(), claimed);
                made.await.map(drop)
            }
            Claim::Held { until } => self.next().send_at(app, until).await,
            Claim::Closed => Ok(()),
        }
    }
}

impl DeliverWebhook {
    /// The attempt after this one.
    pub fn next(&self) -> Self {
        Self {
            tenant: self.tenant.clone(),
            event: self.event.clone(),
            endpoint: self.endpoint.clone(),
            attempt: self.attempt + 1,
        }
    }
}

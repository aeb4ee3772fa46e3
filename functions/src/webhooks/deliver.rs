//! `deliver-webhook`: makes one attempt to deliver an event to an endpoint.

use shared::Kind;
use shared::deployment::{Deployment, Need};
pub use shared::events::deliver::deliver as handle;
use shared::ports::Work;
use shared::store::access::Rows;

use crate::function::Function;

pub const FUNCTION: Function = Function::worker(
    Work::DeliverWebhook,
    Deployment::in_background()
        .writing(&[Rows::Of(Kind::Event), Rows::Of(Kind::WebhookEndpoint)])
        .needing(&[Need::EncryptionKeys]),
);

//! Sends the token of a charge card to a network, after it was created or changed.
//!
//! The present state of the token is sent, so that messages may arrive in any order. The queue repeats a message to a platform that cannot
//! be reached, but not to one that refuses the token.

use crate::App;
use kernel::origin::Mode;
use kernel::{Error, Id};
use models::ports::{JobSubject, digest_of};
use models::stored::Stored;
use ocpi::client::below;
use ocpi::network::Network;
use ocpi::versions::{InterfaceRole, module};
use serde::{Deserialize, Serialize};
use table::networks::operators;

use super::workers;
use crate::function::Function;
use crate::job::Job;

/// Sends the token of a charge card to a network.
#[derive(Debug, Serialize, Deserialize)]
pub struct PushToken {
    pub mode: Mode,
    pub network: Id,
    pub uid: String,
}

impl Job for PushToken {
    const NAME: &'static str = "push-token";
    const FUNCTION: Function = workers::SYNC;

    fn subject(&self) -> JobSubject {
        JobSubject::shared(&self.network)
    }

    fn schedule_name(&self) -> String {
        digest_of("token", &format!("{} {}", self.network, self.uid))
    }

    /// Sends a token, if the network is connected and accepts tokens.
    ///
    /// # Errors
    /// The table or the platform cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mode, network, uid } = &self;
        let mode = *mode;
        let network: Option<Stored<Network>> = app.store.find(&operators(mode), network).await?;
        let connected = network.filter(|network| network.object.is_connected());
        let Some(network) = connected else {
            return Ok(());
        };
        let endpoint = network
            .object
            .endpoint(module::TOKENS, InterfaceRole::Receiver);
        let stored = app.store.card_token(mode, uid).await?;
        let token = stored.and_then(|stored| stored.token);
        let (Some(endpoint), Some(token)) = (endpoint, token) else {
            return Ok(());
        };
        let key = Network::foreign_token(&network, &app.settings.encryption_keys)?;
        let platform = app.platform(key, network.object.main_party().cloned());
        let (country, party) = (token.owner.country_code(), token.owner.party_id());
        let url = below(endpoint, &[country, party, &token.uid]);
        let url = format!("{url}?type={}", token.kind.as_str());
        let body = serde_json::to_value(&token).map_err(Error::internal)?;
        match platform.put(&url, &body).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.is_refusal() => {
                tracing::warn!(network.id = %network.object.id, error = %failure, "a token was refused");
                Ok(())
            }
            Err(failure) => Err(failure.into()),
        }
    }
}

//! Sends the token of a charge card to a network, after it was created or changed; and the tokens that have changed while the network was
//! suspended or could not be reached, when that ends.
//!
//! The present state of the token is sent, so that messages may arrive in any order. The queue repeats a message to a platform that cannot
//! be reached, but not to one that refuses the token.

use crate::App;
use kernel::origin::Mode;
use kernel::time::{SignedDuration, hours};
use kernel::{Error, Id, Timestamp};
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
        let platform = app.platform(mode, key, network.object.main_party().cloned());
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

/// The number of tokens per message.
const AT_A_TIME: usize = 100;

/// The time before a suspension or an interrupted pull in which a changed token may not have reached the platform: its message was
/// repeated in vain, and the pull before had succeeded an hour earlier.
const OVERLAP: SignedDuration = hours(2);

/// Sends the tokens to a network that follow a place in the order of their updates.
#[derive(Debug, Serialize, Deserialize)]
pub struct PushTokens {
    pub mode: Mode,
    pub network: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl PushTokens {
    /// Sends the tokens that have changed since the network was suspended, or since a pull began that was interrupted. None sends all.
    pub fn since(mode: Mode, network: &Id, began: Option<Timestamp>) -> Self {
        Self {
            mode,
            network: network.clone(),
            after: began.map(|began| began.plus(-OVERLAP).to_string()),
        }
    }
}

impl Job for PushTokens {
    const NAME: &'static str = "push-tokens";
    const FUNCTION: Function = workers::SYNC;

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::shared(&self.network)
    }

    fn schedule_name(&self) -> String {
        digest_of("tokens", self.network.as_str())
    }

    /// Sends a message for each token of a page, and one for the next page.
    ///
    /// # Errors
    /// The table or the queue cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            mode,
            network,
            after,
        } = self;
        let page = app
            .store
            .tokens_after(mode, after.as_deref(), AT_A_TIME)
            .await?;
        for (_, uid) in &page {
            let (network, uid) = (network.clone(), uid.clone());
            PushToken { mode, network, uid }.send(app).await?;
        }
        match page.into_iter().nth(AT_A_TIME - 1) {
            Some((last, _)) => {
                let after = Some(last);
                let next = Self {
                    mode,
                    network,
                    after,
                };
                next.send(app).await
            }
            None => Ok(()),
        }
    }
}

//! Sends the token of a charge card to a network, after it was created or changed; and the tokens that have changed while the network was
//! suspended or could not be reached, when that ends.
//!
//! The present state of the token is sent, so that messages may arrive in any order. A token that will become invalid, because its card is
//! blocked or its account is suspended, is not sent as valid meanwhile: the change of many cards may need longer than a message here. A
//! network that does not accept the token, whatever the reason, is sent it again until it does: a network keeps accepting a card whose loss
//! it does not know. The first repetitions follow within minutes, and the others when the last change of the token is 2, 4, 8, … minutes
//! ago, and every 256 minutes in the end. These times are the same for all messages about a token, so that they become one message: they
//! share the name of its schedule.

use crate::{App, charge_cards};
use kernel::time::{MINUTE, hours, minutes, seconds};
use kernel::{Error, Id, Mode, SignedDuration, Timestamp};
use models::Stored;
use models::ports::{JobSubject, digest_of};
use models::stored::is_default;
use models::token::Token;
use ocpi::client::below;
use ocpi::network::{Network, NetworkStatus};
use ocpi::versions::{InterfaceRole, module};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use table::networks::operators;

use super::commands::{self, Answered};
use super::workers;
use crate::function::Function;
use crate::job::Job;

/// Sends the token of a charge card to a network.
#[derive(Debug, Serialize, Deserialize)]
pub struct PushToken {
    pub mode: Mode,
    pub network: Id,
    pub uid: String,
    /// The number of attempts that have failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: u32,
}

impl PushToken {
    /// A token that has not been sent yet.
    pub fn new(mode: Mode, network: Id, uid: String) -> Self {
        Self {
            mode,
            network,
            uid,
            failures: 0,
        }
    }

    /// Sends the message again, not before `wait` is over. `updated` is the last change of the token.
    async fn repeat(
        self,
        app: &App,
        updated: Timestamp,
        wait: SignedDuration,
    ) -> Result<(), Error> {
        let at = next_attempt(self.failures, updated, app.now(), wait);
        let failures = self.failures + 1;
        Self { failures, ..self }.send_at(app, at).await
    }
}

/// The pauses before the first repetitions.
const PAUSES: [SignedDuration; 4] = [seconds(5), seconds(20), MINUTE, minutes(5)];

/// The maximum pause: 2 to the power of this number, in minutes.
const MAX_PAUSE: u32 = 8;

/// The moment of the attempt after one that has failed, at least `wait` later.
fn next_attempt(
    failures: u32,
    updated: Timestamp,
    now: Timestamp,
    wait: SignedDuration,
) -> Timestamp {
    if let Some(pause) = PAUSES.get(failures as usize) {
        return now.plus(wait.max(*pause));
    }
    let age = (now.since(updated) + wait.max(MINUTE)).as_mins().max(1);
    let pause = 1 << age.ilog2().min(MAX_PAUSE);
    updated.plus(minutes(pause * (age / pause + 1)))
}

impl Job for PushToken {
    const NAME: &'static str = "push-token";
    const FUNCTION: Function = workers::SYNC;

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::shared(&self.network)
    }

    fn schedule_name(&self) -> String {
        digest_of("token", &format!("{} {}", self.network, self.uid))
    }

    /// Sends a token, if the network is connected and accepts tokens. A token that the network has not accepted is sent again later, also
    /// after a suspension. One that is still valid although its card or account is not usable any more is read again later.
    ///
    /// # Errors
    /// The table or the queue cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let tenant = operators(self.mode);
        let network: Option<Stored<Network>> = app.store.find(&tenant, &self.network).await?;
        let stored = app.store.card_token(self.mode, &self.uid).await?;
        let (card, token) = stored.map_or((None, None), |stored| (stored.card, stored.token));
        let (Some(network), Some(token)) = (network, token) else {
            return Ok(());
        };
        match network.object.status {
            NetworkStatus::Connected => {}
            NetworkStatus::Suspended if self.failures > 0 => {
                return self.repeat(app, token.last_updated, MINUTE).await;
            }
            // The end of a suspension sends what has changed during it.
            _ => return Ok(()),
        }
        if let Some(card) = card.filter(|_| token.valid)
            && !charge_cards::may_be_valid(app, &card).await?
        {
            return self
                .repeat(app, token.last_updated, SignedDuration::ZERO)
                .await;
        }
        let request = |network| put(app, network, &token);
        match commands::with_valid_token(app, &network, request).await? {
            Ok(_) => Ok(()),
            Err(failure) => {
                tracing::warn!(network.id = %self.network, error = %failure, "a token was not accepted");
                let wait = failure.retry_after().unwrap_or_default();
                self.repeat(app, token.last_updated, wait).await
            }
        }
    }
}

/// Sends a token to a network, if the network accepts tokens.
async fn put(app: &App, network: Stored<Network>, token: &Token) -> Answered {
    let endpoint = network
        .object
        .endpoint(module::TOKENS, InterfaceRole::Receiver);
    let Some(endpoint) = endpoint else {
        return Ok(Ok(Value::Null));
    };
    let platform = commands::platform(app, &network, network.object.main_party())?;
    let (country, party) = (token.owner.country_code(), token.owner.party_id());
    let url = below(endpoint, &[country, party, &token.uid]);
    let url = format!("{url}?type={}", token.kind.as_str());
    let body = serde_json::to_value(token).map_err(Error::internal)?;
    Ok(platform.put(&url, &body).await)
}

/// The number of tokens per message.
const AT_A_TIME: usize = 100;

/// The time before a suspension or an interrupted pull in which a changed token may not have reached the platform: its message was
/// on its way, or the pull before had succeeded an hour earlier.
const OVERLAP: SignedDuration = hours(2);

/// Sends the tokens to a network that follow a place in the order of their updates.
#[derive(Debug, Serialize, Deserialize)]
pub struct PushTokens {
    pub mode: Mode,
    pub network: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
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
            let job = PushToken::new(mode, network.clone(), uid.clone());
            job.send(app).await?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::days;

    #[test]
    fn the_pauses_between_attempts_grow_up_to_a_few_hours() {
        let updated = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let after = |age: SignedDuration, wait| {
            let now = updated.plus(age);
            next_attempt(4, updated, now, wait).since(updated).as_mins()
        };
        let ages = [-5, 0, 1, 7, 8, 100, 255, 256, 600].map(minutes);
        let next = ages.map(|age| after(age, SignedDuration::ZERO));
        assert_eq!(next, [2, 2, 4, 16, 16, 128, 512, 512, 768]);
        // A message that comes a little early is about the attempt that it was sent for.
        assert_eq!(after(minutes(16) - seconds(1), SignedDuration::ZERO), 32);
        assert_eq!(after(minutes(100), minutes(60)), 256);
        let year = after(days(365), SignedDuration::ZERO) - days(365).as_mins();
        assert!((1..=256).contains(&year), "{year}");
        let (now, wait) = (updated.plus(days(365)), minutes(10));
        assert_eq!(next_attempt(0, updated, now, wait), now.plus(wait));
        assert_eq!(
            next_attempt(3, updated, now, wait - wait),
            now.plus(minutes(5))
        );
    }
}

//! Applies the prices of a changed tariff to the connectors that name it. A tariff of many locations is applied to some of them at a time.

use crate::App;
use kernel::{Error, Mode};
use models::network::ObjectId;
use models::ports::{JobSubject, digest_of};
use serde::{Deserialize, Serialize};

use crate::function::Function;
use crate::job::Job;

use super::{stations, workers};

/// The number of locations per message.
const AT_A_TIME: usize = 100;

/// Applies a tariff to the connectors that name it, from the location after the given one on.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyTariff {
    pub mode: Mode,
    pub tariff: ObjectId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ObjectId>,
}

impl Job for ApplyTariff {
    const NAME: &'static str = "apply-tariff";
    const FUNCTION: Function = workers::SYNC;

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    fn schedule_name(&self) -> String {
        digest_of("tariff", &self.tariff.to_string())
    }

    /// Applies a tariff to the locations that name it, from the one after the given one on.
    ///
    /// # Errors
    /// The table or the queue cannot be reached: the message is delivered again.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            mode,
            tariff,
            after,
        } = &self;
        let (mode, after) = (*mode, after.as_ref());
        let locations = app
            .store
            .locations_with_tariff(mode, tariff, after, AT_A_TIME)
            .await?;
        for location in &locations {
            stations::reprice(app, mode, location).await?;
        }
        match locations.last() {
            Some(last) if locations.len() == AT_A_TIME => {
                let next = Self {
                    mode,
                    tariff: tariff.clone(),
                    after: Some(last.clone()),
                };
                next.send(app).await
            }
            _ => Ok(()),
        }
    }
}

//! Gives the connectors that name a tariff its prices, after it was changed. A tariff of many locations is applied to
//! some of them at a time.

use shared::models::network::ObjectId;
use shared::origin::Mode;
use shared::ports::Message;
use shared::{App, Error};

use super::stations;

/// How many locations one message is for.
const AT_A_TIME: usize = 100;

/// Applies a tariff to the locations that name it, after the given one.
///
/// # Errors
/// The table or the queue cannot be reached: the message comes again.
pub async fn handle(
    app: &App,
    mode: Mode,
    tariff: &ObjectId,
    after: Option<&ObjectId>,
) -> Result<(), Error> {
    let locations = app
        .store
        .locations_with_tariff(mode, tariff, after, AT_A_TIME)
        .await?;
    for location in &locations {
        stations::reprice(app, mode, location).await?;
    }
    match locations.last() {
        Some(last) if locations.len() == AT_A_TIME => {
            let message = Message::ApplyTariff {
                mode,
                tariff: tariff.clone(),
                after: Some(last.clone()),
            };
            app.queue.send(&message, 0).await
        }
        _ => Ok(()),
    }
}

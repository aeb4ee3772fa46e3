//! `sweep`: finds pending work whose trigger was lost, and sends it again.

use shared::deployment::{Deployment, Need};
use shared::function_scope;
use shared::store::access::Rows;
use shared::time::MINUTE;
use shared::{App, Error, Kind, Timestamp};

use super::changes::resend;
use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "sweep";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Sends lost messages again",
    trigger: Trigger::Rate("rate(1 minute)"),
    deployment: Deployment::in_background()
        .writing(&[Rows::Of(Kind::Event)])
        .needing(&[Need::Messages]),
};

/// How long work may be overdue before its trigger counts as lost, in milliseconds.
const GRACE: i64 = 2 * MINUTE;

/// Sends the messages of rows again that have been overdue for two minutes. Returns the number of messages.
pub async fn handle(app: &App) -> Result<usize, Error> {
    let moment = app.now().plus_millis(-GRACE);
    function_scope::within(NAME, before(app, moment)).await
}

/// Sends again everything that is due before a moment, wherever it is now.
pub async fn before(app: &App, moment: Timestamp) -> Result<usize, Error> {
    let mut resent = 0;
    for waiting in app.store.due_before(moment).await? {
        match resend(app, &waiting).await {
            Ok(sent) => resent += usize::from(sent),
            // A row that can never be read must not keep the others waiting.
            Err(error) if error.is_permanent() => {
                tracing::error!(object.id = %waiting.id, %error, "overdue work can never be sent again");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(resent)
}

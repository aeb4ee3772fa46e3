//! `sweep`: finds pending work whose trigger was lost, and sends it again.
//!
//! Once a minute `sweep` reads the first page of each partition of the index `next_action`, and sends the messages of its rows again. A
//! partition with more than that is handed to `sweep-partition` as a message with the place where its next page begins; that works on
//! a few pages and hands on the rest in turn. So a backlog of any size is worked on in as many instances as there are partitions,
//! and none holds more than a page of keys. Everything that is sent may be sent twice: the workers check whether there is still
//! anything to do.

use crate::App;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kernel::function_scope;
use kernel::time::{SignedDuration, minutes};
use kernel::{Error, Kind, Timestamp};
use models::ports::{DueCursor, JobSubject};
use serde::{Deserialize, Serialize};
use table::access::Rows;
use table::keys;
use table::sweep::Waiting;
use web::deployment::{Deployment, Need};

use super::changes::resend;
use crate::function::{Function, Trigger};
use crate::job::Job;

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

/// How long work may be overdue before its trigger counts as lost.
const GRACE: SignedDuration = minutes(2);

/// How many partitions are read at a time, and how many rows of a page are worked on at a time.
const ABREAST: usize = 8;
const AT_A_TIME: usize = 32;

/// How many pages one message works on before it hands the rest to another: seconds of work, far below the function's time-out.
const PAGES: usize = 4;

/// Sends again what has been overdue for two minutes. Returns how many rows of the first page of each partition there were;
/// partitions with more than a page are handed to `sweep-partition`.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn handle(app: &App) -> Result<usize, Error> {
    let moment = app.now().plus(-GRACE);
    function_scope::within(NAME, before(app, moment)).await
}

/// The same with everything that is due before a moment.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn before(app: &App, moment: Timestamp) -> Result<usize, Error> {
    let partitions = stream::iter(0..keys::NEXT_ACTION_PARTITIONS);
    let resent = partitions.map(async |partition| {
        let page = app.store.due_before(partition, moment, None).await?;
        // The rest is handed on first: if this function ends early, it is worked on all the same.
        hand_on(app, partition, moment, page.next).await?;
        resend_all(app, page.rows).await
    });
    let resent: Vec<usize> = resent.buffer_unordered(ABREAST).try_collect().await?;
    Ok(resent.into_iter().sum())
}

/// Sends again what is overdue in a partition of the index `next_action`, from a place on.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepPartition {
    pub partition: u8,
    pub moment: Timestamp,
    pub after: DueCursor,
}

impl Job for SweepPartition {
    const NAME: &'static str = "sweep-partition";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(&[Rows::Of(Kind::Event)])
            .needing(&[Need::Messages]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    fn schedule_name(&self) -> String {
        format!("sweep-{}", self.partition)
    }

    /// Works on a few pages, and hands on the rest. A message that is delivered twice sends the same again, which the workers ignore.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            partition,
            moment,
            after,
        } = self;
        let mut after = Some(after);
        for _ in 0..PAGES {
            let Some(place) = after else {
                return Ok(());
            };
            let page = app
                .store
                .due_before(partition, moment, Some(&place))
                .await?;
            resend_all(app, page.rows).await?;
            after = page.next;
        }
        hand_on(app, partition, moment, after).await
    }
}

/// Sends a message about the rest of a partition, if there is any.
async fn hand_on(
    app: &App,
    partition: u8,
    moment: Timestamp,
    after: Option<DueCursor>,
) -> Result<(), Error> {
    let Some(after) = after else {
        return Ok(());
    };
    let rest = SweepPartition {
        partition,
        moment,
        after,
    };
    rest.send(app).await
}

/// Sends the messages again that rows wait for. Returns how many rows still waited.
async fn resend_all(app: &App, rows: Vec<Waiting>) -> Result<usize, Error> {
    let sent = stream::iter(rows).map(async |waiting| match resend(app, &waiting).await {
        Ok(sent) => Ok(usize::from(sent)),
        // A row that can never be read must not keep the others waiting.
        Err(error) if error.is_permanent() => {
            tracing::error!(object.id = %waiting.id, %error, "overdue work can never be sent again");
            Ok(0)
        }
        Err(error) => Err(error),
    });
    let sent: Vec<usize> = sent.buffer_unordered(AT_A_TIME).try_collect().await?;
    Ok(sent.into_iter().sum())
}

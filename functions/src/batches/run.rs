//! `run-batch`: executes the bodies of a batch, a chunk at a time.
//!
//! Before each chunk, the key that created the batch is checked again. Each body is read and handled by the route of its operation, with an
//! idempotency key that is derived from the batch and the position of the body: a chunk that is restarted after a crash creates nothing
//! twice. The results of a chunk are stored in the transaction that counts them in the batch.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kernel::backoff::Backoff;
use kernel::origin::Idempotency;
use kernel::scope::Scope;
use kernel::{Error, Id, Kind, Origin, Response, Tenant};
use models::batch::{BatchError, BatchOperation, Bodies, CHUNK, Outcome};
use models::ports::JobSubject;
use models::{Action, Batch, Stored};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use table::access::Items;
use tokio::time::Instant;
use web::auth::{self, Principal};
use web::deployment::{Deployment, Need};
use web::{Body, RequestContext, errors};

use crate::function::Function;
use crate::job::{Job, find_due, write_progress};
use crate::{App, Request, charge_cards, drivers, fleets, policies, reservations, vehicles};

/// The time after which a run of the job starts no further chunks: the function has 300 seconds.
const RUN: Duration = Duration::from_secs(120);

/// The number of bodies that are executed concurrently.
const ABREAST: usize = 4;

/// The maximum number of attempts of a body that conflicts with concurrent changes: other bodies may change objects of the same fleet.
const TRIES: u32 = 10;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), 2, Duration::from_millis(200));

/// Executes the bodies of a batch.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunBatch {
    pub tenant: Tenant,
    pub batch: Id,
}

impl Job for RunBatch {
    const NAME: &'static str = "run-batch";
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .timeout(300)
            .writing(&[
                Items::Of(Kind::Batch),
                Items::Of(Kind::ChargeCard),
                Items::Of(Kind::Driver),
                Items::Of(Kind::Fleet),
                Items::Of(Kind::Policy),
                Items::Of(Kind::Reservation),
                Items::Of(Kind::Vehicle),
                Items::Of(Kind::VehicleTelemetry),
                Items::CardHolders,
                Items::CardTokens,
                Items::Idempotency,
            ])
            // For the index of objects by their metadata.
            .needing(&[Need::BatchWrites, Need::Messages]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.batch).waiting_for(&self.tenant.account)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, batch: id } = &self;
        let Some((mut batch, _)) = find_due::<Batch>(app, tenant, id, Action::RunBatch).await?
        else {
            return Ok(());
        };
        if !batch.begin(app.now()) || !write_progress(app, tenant, &mut batch).await? {
            return Ok(());
        }
        let until = Instant::now() + RUN;
        while let Some(place) = batch.next_chunk() {
            if Instant::now() > until {
                batch.put_off(false, app.now());
                break;
            }
            let Some(bodies) = app.store.batch_bodies(tenant, &batch.object, place).await? else {
                return Err(Error::permanent("a batch without its bodies"));
            };
            let outcomes = match carry_out(app, tenant, &batch, place * CHUNK, bodies).await {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    tracing::warn!(%error, batch.id = %id, "a batch is put off");
                    batch.put_off(true, app.now());
                    break;
                }
            };
            batch.count(&outcomes, app.now());
            let origin = Origin::background(tenant.clone(), app.now());
            let mut tx = app.store.begin(&origin);
            tx.put_outcomes(&batch.object, place, &outcomes)?;
            tx.save(&mut batch)?;
            match tx.commit_without_response().await {
                // Another instance is processing the batch.
                Err(Error::Contended) => return Ok(()),
                done => done?,
            }
        }
        match batch.next_chunk() {
            Some(_) => write_progress(app, tenant, &mut batch).await.map(drop),
            None => Ok(()),
        }
    }
}

/// Executes the bodies of a chunk, the first of which has that position, and returns their results.
///
/// # Errors
/// The service is too busy for one of them.
async fn carry_out(
    app: &App,
    tenant: &Tenant,
    batch: &Stored<Batch>,
    first: usize,
    bodies: Bodies,
) -> Result<Vec<Outcome>, Error> {
    let principal = principal(app, tenant, batch).await;
    let bodies = bodies.into_iter().enumerate();
    let executions =
        bodies.map(|(number, body)| execute(app, batch, &principal, first + number, body));
    stream::iter(executions)
        .buffered(ABREAST)
        .try_collect()
        .await
}

/// The principal that executes the batch, if it still may.
async fn principal(app: &App, tenant: &Tenant, batch: &Stored<Batch>) -> Result<Principal, Error> {
    let internal = &batch.internal;
    let (account, hash) = internal
        .key
        .as_ref()
        .ok_or_else(|| Error::permanent("a batch without a key"))?;
    let own = Tenant::new(account.clone(), tenant.mode);
    let acts_in = Some(tenant.account.clone()).filter(|id| id != account);
    let keys = &app.edge.keys;
    let found = auth::principal(&app.store, keys, &own, hash, acts_in, app.now()).await?;
    let scope = Scope::Write(batch.object.operation.writes());
    found.key.rights.check(scope)?;
    found.may_write()?;
    Ok(found)
}

/// Executes a body, and returns its result.
///
/// # Errors
/// The service is too busy for the body, which is tried again.
async fn execute(
    app: &App,
    batch: &Stored<Batch>,
    principal: &Result<Principal, Error>,
    index: usize,
    body: Map<String, Value>,
) -> Result<Outcome, Error> {
    let principal = match principal {
        Ok(principal) => principal,
        Err(error) => return refused(app, batch, error),
    };
    let body = serde_json::to_vec(&body).map_err(Error::internal)?;
    let idempotency = Idempotency {
        // A client cannot send this key, since keys are printable ASCII.
        key: format!("{}\t{index}", batch.object.id),
        fingerprint: String::new(),
        rights: principal.key.rights.clone(),
    };
    let run = || async {
        let origin = Origin {
            request: batch.internal.request.clone(),
            idempotency: Some(idempotency.clone()),
            ..Origin::background(principal.tenant.clone(), app.now())
        };
        if let Some(earlier) = app.store.recall(&origin, &idempotency).await? {
            return Ok(earlier);
        }
        let context = RequestContext {
            origin,
            key: principal.key.clone(),
            lineage: principal.lineage.clone(),
            default_version: principal.version.clone(),
            base_url: batch.internal.base_url.clone(),
        };
        let app = app.clone();
        handle(Request { context, app }, batch.object.operation, &body).await
    };
    match BACKOFF.after_collisions(TRIES, run).await {
        Ok(response) => {
            let created: Created =
                serde_json::from_slice(&response.body).map_err(Error::internal)?;
            Ok(Outcome::Succeeded(created.id))
        }
        Err(error) => refused(app, batch, &error),
    }
}

/// The id of the object in the response to a body that was executed.
#[derive(Deserialize)]
struct Created {
    id: Id,
}

/// The result of a refused body, with the error that a request would have received.
///
/// # Errors
/// The service is too busy for the body, which is tried again.
fn refused(app: &App, batch: &Stored<Batch>, error: &Error) -> Result<Outcome, Error> {
    let is_temporary = matches!(error, Error::Unavailable(_) | Error::Contended);
    if is_temporary && batch.is_patient(app.now()) {
        return Err(Error::Contended);
    }
    let internal = &batch.internal;
    let request = internal.request.clone();
    let request = request.unwrap_or_else(|| batch.object.id.as_kind(Kind::Request));
    let answer = errors::answer(error, &request, &internal.base_url);
    let shown: BatchError = serde_json::from_slice(&answer.body).map_err(Error::internal)?;
    Ok(Outcome::Failed(shown))
}

/// Handles a body with the route of an operation.
async fn handle(
    request: Request,
    operation: BatchOperation,
    body: &[u8],
) -> Result<Response, Error> {
    macro_rules! create {
        ($resource:ident) => {{
            let body = Body::of(body)?;
            let created = $resource::create::handle(request, body);
            created.await.map(Response::from)
        }};
    }
    match operation {
        BatchOperation::CreateChargeCard => create!(charge_cards),
        BatchOperation::CreateDriver => create!(drivers),
        BatchOperation::CreateFleet => create!(fleets),
        BatchOperation::CreatePolicy => create!(policies),
        BatchOperation::CreateReservation => create!(reservations),
        BatchOperation::CreateVehicle => create!(vehicles),
    }
}

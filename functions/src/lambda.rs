//! The functions on Lambda: an executable serves the route or trigger that `_HANDLER` names.

use aws_lambda_events::event::dynamodb::{Event as StreamEvent, EventRecord};
use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use axum::Router;
use kernel::time::seconds;
use kernel::{SignedDuration, Timestamp};
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::accounts::{bootstrap, erase, export, set_status};
use crate::documents::write::Write;
use crate::gateway::{self, trace_of};
use crate::jobs::{self, read_message, work, work_abreast};
use crate::networks::{import_stations, manage};
use crate::secrets::reencrypt;
use crate::stream::relay::StreamRecord;
use crate::stream::{relay, sweep};
use crate::{App, ocpi};

/// The time before its deadline at which a function reports what it has done.
const REPORTING: SignedDuration = seconds(2);

/// Large parts that few functions need. The executable of the other functions omits them, so that it is small and starts sooner.
#[derive(Clone, Copy)]
pub struct Extras {
    pub write_document: Write,
    /// Handles requests of a function that is not a route: the pages, and every route by path, as under cargo-lambda.
    pub pages: fn(App, &str) -> Result<Router, Error>,
}

/// Serves the function that `_HANDLER` names.
///
/// # Errors
/// A setting that is missing or malformed, no AWS credentials, or the runtime API cannot be reached.
pub async fn serve(extras: Extras) -> Result<(), Error> {
    let handler = std::env::var("_HANDLER").unwrap_or_default();
    let endpoint = crate::endpoint_named(&handler);
    let deployment = match &endpoint {
        Some(endpoint) => endpoint.route.deployment,
        None => crate::deployment_named(&handler).unwrap_or(crate::UNKNOWN.deployment),
    };
    let authenticates = endpoint.is_some();
    let app = App::from_env(deployment.connections, authenticates, extras.write_document).await?;
    match handler.as_str() {
        relay::NAME => {
            lambda_runtime::run(service_fn(|event| Box::pin(on_stream(&app, event)))).await
        }
        sweep::NAME => {
            lambda_runtime::run(service_fn(|event| Box::pin(on_schedule(&app, event)))).await
        }
        bootstrap::NAME => invoked(async |body| bootstrap::handle(&app, body).await).await,
        set_status::NAME => invoked(async |body| set_status::handle(&app, body).await).await,
        export::NAME => invoked(async |body| export::handle(&app, body).await).await,
        erase::NAME => invoked(async |body| erase::handle(&app, body).await).await,
        reencrypt::NAME => invoked(async |body| reencrypt::handle(&app, body).await).await,
        import_stations::NAME => {
            invoked(async |body| import_stations::handle(&app, body).await).await
        }
        manage::NAME => {
            let own_url = app.settings.base_url.as_deref();
            invoked(async |body| manage::handle(&app, body, own_url).await).await
        }
        name if jobs::workers().any(|worker| worker.name == name) => {
            lambda_runtime::run(service_fn(|event| Box::pin(on_messages(&app, event)))).await
        }
        name => {
            let router = match endpoint {
                Some(endpoint) => crate::router_of(app, endpoint),
                None if name == ocpi::NAME => ocpi::router(app),
                None => (extras.pages)(app, name)?,
            };
            gateway::serve(router).await
        }
    }
}

/// Serves a function that operators invoke with a JSON object.
async fn invoked<B: DeserializeOwned, R: Serialize>(
    handle: impl AsyncFn(B) -> Result<R, kernel::Error>,
) -> Result<(), Error> {
    let handle = async |event: LambdaEvent<B>| handle(event.payload).await.map_err(logged);
    lambda_runtime::run(service_fn(|event| Box::pin(handle(event)))).await
}

/// Processes a batch of records of the stream. The first record that fails is reported: it and those after it are delivered again.
async fn on_stream(
    app: &App,
    event: LambdaEvent<StreamEvent>,
) -> Result<DynamoDbEventResponse, Error> {
    let trace = trace_of(&event.context);
    let mut numbers = Vec::new();
    let mut batch = Vec::new();
    for record in event.payload.records {
        let EventRecord {
            change,
            user_identity,
            ..
        } = record;
        let number = change.sequence_number.clone();
        let image = |item: serde_dynamo::Item| (!item.is_empty()).then_some(item);
        let change = StreamRecord {
            old: image(change.old_image),
            new: image(change.new_image),
            is_expired: user_identity.is_some(),
            written: Some(Timestamp::from_unix_millis(
                change.approximate_creation_date_time.timestamp_millis(),
            )),
        };
        let (pk, sk) = change.key();
        let span = tracing::error_span!(
            "change",
            item.pk = pk,
            item.sk = sk,
            sequence_number = number,
            trace.id = trace
        );
        batch.push((change, span));
        numbers.push(number);
    }
    let until = end_of_work(app, &event.context);
    let mut response = DynamoDbEventResponse::default();
    if let Some(first) = relay::handle_batch(app, &batch, until).await {
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier = numbers.swap_remove(first);
        response.batch_item_failures.push(failure);
    }
    Ok(response)
}

/// Processes messages of a queue. Those that fail are reported, and delivered again.
async fn on_messages(app: &App, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
    let trace = trace_of(&event.context);
    let messages = event.payload.records;
    let ids: Vec<_> = messages
        .iter()
        .map(|message| message.message_id.clone())
        .collect();
    let until = end_of_work(app, &event.context);
    let work = async |message: SqsMessage| {
        let SqsMessage {
            message_id, body, ..
        } = message;
        let read = read_message(body.as_deref().unwrap_or_default());
        let span = tracing::error_span!(
            "message",
            message.id = message_id,
            account.id = tracing::field::Empty,
            object.id = tracing::field::Empty,
            trace.id = trace
        );
        let done = match read {
            Ok(message) => {
                if let Some(tenant) = &message.subject.tenant {
                    span.record("account.id", tracing::field::display(&tenant.account));
                }
                if let Some(object) = &message.subject.object {
                    span.record("object.id", tracing::field::display(object));
                }
                work(app, &message).instrument(span.clone()).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &done {
            span.in_scope(|| tracing::error!(%error, "a message was not worked on"));
        }
        done
    };
    let ends = work_abreast(messages, until, work).await;
    let mut failures = Vec::new();
    for (message_id, ended) in ids.into_iter().zip(ends) {
        if ended.is_err() {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message_id.unwrap_or_default();
            failures.push(failure);
        }
    }
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failures;
    Ok(response)
}

/// The time at which an invocation has to stop working, so that it can still report what it has done.
fn end_of_work(app: &App, context: &Context) -> Instant {
    let deadline = i64::try_from(context.deadline).unwrap_or(i64::MAX);
    let left = Timestamp::from_unix_millis(deadline).since(app.clock.wall_clock()) - REPORTING;
    Instant::now() + left.unsigned_abs() * u32::from(left.is_positive())
}

async fn on_schedule(app: &App, _: LambdaEvent<Value>) -> Result<Value, Error> {
    let resent = sweep::handle(app).await?;
    tracing::info!(resent, "swept");
    Ok(serde_json::json!({"resent": resent}))
}

/// The error of an operator's invocation, which is returned and logged.
fn logged(error: kernel::Error) -> Error {
    tracing::error!(%error, "an invocation failed");
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::bootstrap::Bootstrap;
    use crate::accounts::erase::Erase;
    use crate::accounts::export::Export;
    use crate::accounts::set_status::SetStatus;
    use crate::networks::import_stations::Import;
    use crate::secrets::reencrypt::Reencrypt;
    use serde_json::json;

    #[test]
    fn the_record_that_operators_hand_to_the_relay_is_read() {
        let script = include_str!("../../infra/operate/relay.py");
        let (_, record) = script.split_once("record = ").unwrap();
        let (record, _) = record.split_once('\n').unwrap();
        let item =
            json!({"pk": {"S": "acct_1#live#flt_1"}, "sk": {"S": "#"}, "version": {"N": "3"}});
        let record = record.replace(": item}", &format!(": {item}}}"));
        let record = format!("{{\"Records\": [{record}]}}");
        let event: StreamEvent = serde_json::from_str(&record).unwrap();
        let [record] = &event.records[..] else {
            panic!("one record: {event:?}");
        };
        assert_eq!(record.change.new_image.len(), 3);
        assert!(record.change.old_image.is_empty() && record.user_identity.is_none());
    }

    #[test]
    fn the_samples_of_the_triggers_are_read() {
        let stream: StreamEvent =
            serde_json::from_str(include_str!("../../events/relay-stream.json")).unwrap();
        assert!(!stream.records[0].change.new_image.is_empty());
        assert!(stream.records[0].change.old_image.is_empty());
        let queue: SqsEvent =
            serde_json::from_str(include_str!("../../events/confirm-reservation.json")).unwrap();
        assert!(queue.records[0].body.is_some());
        let bootstrap: Bootstrap =
            serde_json::from_str(include_str!("../../events/bootstrap-account.json")).unwrap();
        assert!(!bootstrap.mode.is_live());
        let status: SetStatus =
            serde_json::from_str(include_str!("../../events/set-account-status.json")).unwrap();
        assert!(status.account.is(kernel::Kind::Account));
        let export: Export =
            serde_json::from_str(include_str!("../../events/export-account.json")).unwrap();
        assert!(export.mode.is_live() && export.cursor.is_none());
        let erase: Erase =
            serde_json::from_str(include_str!("../../events/erase-account.json")).unwrap();
        assert_eq!(erase.account, status.account);
        let reencrypt: Reencrypt =
            serde_json::from_str(include_str!("../../events/reencrypt-secrets.json")).unwrap();
        assert!(reencrypt.cursor.is_none());
        let import: Import =
            serde_json::from_str(include_str!("../../events/import-stations.json")).unwrap();
        assert!(import.key.starts_with("stations/"));
    }
}

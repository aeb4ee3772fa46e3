//! The ports on AWS: SQS, EventBridge Scheduler and S3; credentials and secrets; and fast starts of the clients. TLS is rustls on ring.

mod http;
mod s3;
mod secrets;
mod signer;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::time::Duration;

use aws_credential_types::Credentials;
#[cfg(feature = "profiles")]
use aws_credential_types::provider::ProvideCredentials as _;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::config::endpoint::{Endpoint, EndpointFuture, Params, ResolveEndpoint};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_scheduler::error::SdkError;
use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target,
};
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use aws_types::SdkConfig;
use futures::future::BoxFuture;
#[cfg(feature = "profiles")]
use tracing::instrument::WithSubscriber as _;
#[cfg(feature = "profiles")]
use tracing::subscriber::NoSubscriber;

use kernel::environment::{is_loopback, variable};
use kernel::time::millis;
use kernel::{Error, Id, Result, Timestamp};
use models::ports::{Clock, FailedChange, Message, Queue, QueueDepth, Schedules};

pub use http::Http;
pub use s3::S3;
pub use secrets::Secrets;

/// The settings that all clients share: region, credentials, connections and time-outs.
///
/// If the environment has region and credentials, as it has in Lambda, nothing else is read: that keeps a cold start short. Otherwise, with
/// the feature `profiles`, they come from the sources of the AWS CLI: profiles, SSO, credential processes. Without `AWS_PROFILE`, a table
/// at a loopback `endpoint` is called with stand-in credentials.
///
/// # Errors
/// `Internal` if there are no credentials.
pub async fn load(http: &Http, endpoint: Option<&str>) -> Result<SdkConfig> {
    let (credentials, region) = (own_credentials(), own_region());
    let has_profile = variable("AWS_PROFILE").is_some();
    let is_local = !has_profile && endpoint.is_some_and(is_loopback);
    match credentials {
        Some(credentials) if region.is_some() || !has_profile => {
            Ok(config_of(http, region, credentials))
        }
        None if is_local => Ok(config_of(http, region, stand_in())),
        _ => load_profile(http).await,
    }
}

#[cfg(feature = "profiles")]
async fn load_profile(http: &Http) -> Result<SdkConfig> {
    let defaults = aws_config::defaults(BehaviorVersion::latest());
    let defaults = defaults
        .http_client(http.clone())
        .timeout_config(timeouts(1));
    // The library's log of its search is irrelevant if the search succeeds, and the error contains it if the search fails.
    let config = defaults.load().with_subscriber(NoSubscriber::new()).await;
    let provider = config.credentials_provider();
    let provider = provider.ok_or_else(|| no_credentials("no provider is configured"))?;
    let found = provider.provide_credentials();
    let found = found.with_subscriber(NoSubscriber::new()).await;
    found.map_err(|error| {
        let error: &dyn std::error::Error = &error;
        let causes = std::iter::successors(Some(error), |error| error.source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        no_credentials(&causes.join(": "))
    })?;
    let region = config.region().cloned();
    let region = region.unwrap_or_else(|| Region::new(REGION));
    Ok(config.into_builder().region(region).build())
}

#[cfg(not(feature = "profiles"))]
async fn load_profile(_: &Http) -> Result<SdkConfig> {
    Err(no_credentials("the environment has none"))
}

fn no_credentials(cause: &str) -> Error {
    Error::internal(format!(
        "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with \
         AWS_PROFILE, or use a table on this machine with AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:... ({cause})"
    ))
}

/// The settings for a table on this machine: the credentials of the environment, or else stand-in credentials.
pub fn config() -> SdkConfig {
    unhurried_config(1)
}

/// The same settings with time-outs that are `slack` times as long, for a machine that is busy with other work.
pub fn unhurried_config(slack: u32) -> SdkConfig {
    let credentials = own_credentials().unwrap_or_else(stand_in);
    let config = config_of(&Http::new(slack), own_region(), credentials);
    config
        .into_builder()
        .timeout_config(timeouts(slack))
        .build()
}

fn config_of(http: &Http, region: Option<String>, credentials: Credentials) -> SdkConfig {
    let region = region.map_or_else(|| Region::new(REGION), Region::new);
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(region)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http.clone())
        .timeout_config(timeouts(1))
        .build()
}

/// The time-outs of a call; `slack` times as long on a machine that is busy with other work.
pub fn timeouts(slack: u32) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1) * slack)
        .operation_attempt_timeout(Duration::from_secs(2) * slack)
        .operation_timeout(Duration::from_secs(5) * slack)
        .build()
}

/// The region if none is configured.
const REGION: &str = "us-east-1";

/// The region of the environment.
fn own_region() -> Option<String> {
    variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"))
}

/// The credentials of the environment.
fn own_credentials() -> Option<Credentials> {
    let id = variable("AWS_ACCESS_KEY_ID")?;
    let secret = variable("AWS_SECRET_ACCESS_KEY")?;
    Some(Credentials::from_keys(
        id,
        secret,
        variable("AWS_SESSION_TOKEN"),
    ))
}

/// Credentials that only an endpoint on this machine accepts.
fn stand_in() -> Credentials {
    Credentials::from_keys("local", "local", None)
}

/// The endpoint of the table in the environment, if it is not AWS's own.
pub fn endpoint() -> Option<String> {
    variable("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| variable("AWS_ENDPOINT_URL"))
}

/// The URL of the table: that of the environment or of the profile, or else AWS's own in the region.
fn address(config: &SdkConfig) -> String {
    let region = config.region().map_or(REGION, Region::as_ref);
    let configured = endpoint().or_else(|| config.endpoint_url().map(str::to_owned));
    configured.unwrap_or_else(|| format!("https://dynamodb.{region}.{}", domain(region)))
}

fn region_of(config: &SdkConfig) -> String {
    config.region().map_or(REGION, Region::as_ref).to_owned()
}

/// The domain of the services of a region.
fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    }
}

/// Opens the given number of connections to the table before the first call.
pub async fn connect(http: &Http, config: &SdkConfig, connections: usize) {
    http.connect(&address(config), connections).await;
}

/// A fixed endpoint: resolving it from the SDK's tables of regions takes longer than the rest of the creation of a client.
#[derive(Debug)]
struct At(Endpoint);

impl ResolveEndpoint for At {
    fn resolve_endpoint<'a>(&'a self, _: &'a Params) -> EndpointFuture<'a> {
        EndpointFuture::ready(Ok(self.0.clone()))
    }
}

/// The table's client, whose calls may take `slack` times as long as on Lambda. `AWS_ENDPOINT_URL_DYNAMODB` or `AWS_ENDPOINT_URL` overrides
/// AWS's own endpoint.
pub fn dynamodb(config: &SdkConfig, slack: u32) -> aws_sdk_dynamodb::Client {
    let settings = table::client::tuned(config, slack)
        .endpoint_resolver(At(Endpoint::builder().url(address(config)).build()));
    aws_sdk_dynamodb::Client::from_conf(settings.build())
}

/// The system's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // The only place that reads the system time.
        #[allow(clippy::disallowed_methods)]
        jiff::Timestamp::now().into()
    }
}

/// Returns a JSON text in the characters that a message may have: SQS refuses U+FFFE and U+FFFF, which JSON can write as escapes. Ids of
/// networks and their objects may contain them.
fn carried(json: &str) -> Cow<'_, str> {
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        let escaped = json.replace('\u{fffe}', "\\ufffe");
        Cow::Owned(escaped.replace('\u{ffff}', "\\uffff"))
    } else {
        Cow::Borrowed(json)
    }
}

/// The maximum number of messages in one call, and the maximum size of these messages together in bytes: a quarter of the maximum size of a
/// message, which SQS charges as one call.
const MOST_AT_ONCE: usize = 10;
const MOST_BYTES: usize = 64 * 1024;

/// SQS: one queue per function that processes messages. `<FUNCTION>_QUEUE_URL` names each queue, `RELAY_DEAD_LETTERS_URL` the failure
/// destination of the relay. The client is created when it is first needed.
#[derive(Debug, Clone)]
pub struct Sqs {
    config: SdkConfig,
    client: OnceLock<aws_sdk_sqs::Client>,
    urls: HashMap<String, String>,
}

impl Sqs {
    pub fn from_env(config: &SdkConfig) -> Self {
        Self {
            config: config.clone(),
            client: OnceLock::new(),
            urls: queue_urls(),
        }
    }

    /// Sends a message. Messages of a group queue only behind one another: SQS does not let one group delay the others.
    async fn put(&self, url: &str, body: &str, delay: u16, group: Option<&Id>) -> Result<()> {
        let call = self
            .client()
            .send_message()
            .queue_url(url)
            .message_body(carried(body))
            .set_message_group_id(group.map(|id| id.to_string()))
            .delay_seconds(delay.into());
        call.send()
            .await
            .map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        Ok(())
    }

    /// Sends at most ten messages: in one call, unless they are too large for that.
    async fn put_all(&self, url: &str, messages: &[&(Message, u16)]) -> Result<()> {
        let size: usize = messages.iter().map(|(message, _)| message.body.len()).sum();
        if size > MOST_BYTES {
            for (message, delay) in messages {
                let group = message.subject.waits_for.as_ref();
                self.put(url, &message.body, *delay, group).await?;
            }
            return Ok(());
        }
        let mut call = self.client().send_message_batch().queue_url(url);
        for (place, (message, delay)) in messages.iter().enumerate() {
            let group = message.subject.waits_for.as_ref();
            let entry = SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_body(carried(&message.body))
                .set_message_group_id(group.map(Id::to_string))
                .delay_seconds((*delay).into());
            call = call.entries(entry.build().map_err(Error::internal)?);
        }
        let sent = call.send().await;
        let sent =
            sent.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        match sent.failed.first() {
            None => Ok(()),
            Some(failed) => Err(Error::unavailable(format!(
                "{} messages were not sent: {} {}",
                sent.failed.len(),
                failed.code,
                failed.message.as_deref().unwrap_or_default()
            ))),
        }
    }

    fn client(&self) -> &aws_sdk_sqs::Client {
        self.client.get_or_init(|| {
            let endpoint =
                variable("AWS_ENDPOINT_URL_SQS").or_else(|| variable("AWS_ENDPOINT_URL"));
            let mut settings = aws_sdk_sqs::config::Builder::from(&self.config);
            if endpoint.is_some() {
                settings.set_endpoint_url(endpoint);
            }
            aws_sdk_sqs::Client::from_conf(settings.build())
        })
    }
}

impl Queue for Sqs {
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let url = queue_url(&self.urls, message.function)?;
            let group = message.subject.waits_for.as_ref();
            self.put(url, &message.body, delay_seconds, group).await
        })
    }

    fn send_all<'a>(&'a self, messages: &'a [(Message, u16)]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut by_function: BTreeMap<&str, Vec<&(Message, u16)>> = BTreeMap::new();
            for message in messages {
                by_function
                    .entry(message.0.function)
                    .or_default()
                    .push(message);
            }
            for (function, messages) in by_function {
                let url = queue_url(&self.urls, function)?;
                for batch in messages.chunks(MOST_AT_ONCE) {
                    self.put_all(url, batch).await?;
                }
            }
            Ok(())
        })
    }

    fn depth<'a>(&'a self, function: &'a str) -> BoxFuture<'a, Result<QueueDepth>> {
        use QueueAttributeName::{
            ApproximateNumberOfMessages as Waiting, ApproximateNumberOfMessagesNotVisible as Taken,
        };
        Box::pin(async move {
            let call = self.client().get_queue_attributes();
            let call = call.queue_url(queue_url(&self.urls, function)?);
            let read = call
                .attribute_names(Waiting)
                .attribute_names(Taken)
                .send()
                .await
                .map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
            let number = |name: QueueAttributeName| {
                let value = read.attributes().and_then(|all| all.get(&name));
                let number = value.and_then(|value| value.parse().ok());
                number.ok_or_else(|| Error::internal(format!("{function} has no {name}")))
            };
            Ok(QueueDepth {
                waiting: number(Waiting)?,
                in_flight: number(Taken)?,
            })
        })
    }

    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let url = variable("RELAY_DEAD_LETTERS_URL")
                .ok_or_else(|| Error::internal("RELAY_DEAD_LETTERS_URL is not set"))?;
            let body = serde_json::to_string(change).map_err(Error::internal)?;
            self.put(&url, &body, 0, None).await
        })
    }
}

/// EventBridge Scheduler, whose schedules send to the same queues. Their ARNs are derived from `<FUNCTION>_QUEUE_URL`, the region, and
/// `SCHEDULER_ROLE_ARN`, the role that may send to them. The client is created when it is first needed.
#[derive(Debug, Clone)]
pub struct Scheduler {
    config: SdkConfig,
    client: OnceLock<aws_sdk_scheduler::Client>,
    urls: HashMap<String, String>,
    region: String,
    role: Option<String>,
    group: Option<String>,
}

impl Scheduler {
    pub fn from_env(config: &SdkConfig) -> Self {
        Self {
            config: config.clone(),
            client: OnceLock::new(),
            urls: queue_urls(),
            region: region_of(config),
            role: variable("SCHEDULER_ROLE_ARN"),
            group: variable("SCHEDULE_GROUP"),
        }
    }

    fn client(&self) -> &aws_sdk_scheduler::Client {
        self.client.get_or_init(|| {
            let endpoint =
                variable("AWS_ENDPOINT_URL_SCHEDULER").or_else(|| variable("AWS_ENDPOINT_URL"));
            let mut settings = aws_sdk_scheduler::config::Builder::from(&self.config);
            if endpoint.is_some() {
                settings.set_endpoint_url(endpoint);
            }
            aws_sdk_scheduler::Client::from_conf(settings.build())
        })
    }

    /// Returns the queue of a message's function, as the target of a schedule that sends the message.
    fn target(&self, message: &Message) -> Result<Target> {
        let role = self
            .role
            .as_deref()
            .ok_or_else(|| Error::internal("SCHEDULER_ROLE_ARN is not set"))?;
        let url = queue_url(&self.urls, message.function)?;
        let queue = queue_arn(url, &self.region, role)
            .ok_or_else(|| Error::internal(format!("{url} is not the URL of a queue")))?;
        Target::builder()
            .arn(queue)
            .role_arn(role)
            .input(carried(&message.body))
            .build()
            .map_err(Error::internal)
    }
}

impl Schedules for Scheduler {
    fn set<'a>(
        &'a self,
        name: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let target = self.target(message)?;
            let window = FlexibleTimeWindow::builder()
                .mode(FlexibleTimeWindowMode::Off)
                .build()
                .map_err(Error::internal)?;
            // Schedules have whole seconds. A message before the time of its action would find nothing to do.
            let second = at.plus(millis(999)).to_string();
            let expression = format!("at({})", &second[..19]);
            let created = self
                .client()
                .create_schedule()
                .name(name)
                .set_group_name(self.group.clone())
                .schedule_expression(&expression)
                .schedule_expression_timezone("UTC")
                .flexible_time_window(window.clone())
                .target(target.clone())
                .action_after_completion(ActionAfterCompletion::Delete)
                .send()
                .await;
            match created {
                Ok(_) => Ok(()),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(|error| error.is_conflict_exception()) =>
                {
                    let moved = self
                        .client()
                        .update_schedule()
                        .name(name)
                        .set_group_name(self.group.clone())
                        .schedule_expression(expression)
                        .schedule_expression_timezone("UTC")
                        .flexible_time_window(window)
                        .target(target)
                        .action_after_completion(ActionAfterCompletion::Delete)
                        .send();
                    moved.await.map_err(|error| {
                        Error::unavailable(DisplayErrorContext(error).to_string())
                    })?;
                    Ok(())
                }
                Err(error) => Err(not_created(error)),
            }
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let call = self.client().delete_schedule().name(name);
            let removed = call.set_group_name(self.group.clone()).send().await;
            match removed {
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(|error| error.is_resource_not_found_exception()) =>
                {
                    Ok(())
                }
                Err(error) => Err(Error::unavailable(DisplayErrorContext(error).to_string())),
                Ok(_) => Ok(()),
            }
        })
    }
}

/// The error of a schedule that was not created.
fn not_created(error: SdkError<CreateScheduleError>) -> Error {
    let cause = error.as_service_error();
    let is_full = cause.is_some_and(CreateScheduleError::is_service_quota_exceeded_exception);
    let context = DisplayErrorContext(error).to_string();
    if is_full {
        Error::quota_exceeded(context)
    } else {
        Error::unavailable(context)
    }
}

/// The ARN of a queue, whose URL ends with the AWS account and the queue's name. The partition is that of the role.
fn queue_arn(url: &str, region: &str, role: &str) -> Option<String> {
    let mut segments = url.trim_end_matches('/').rsplit('/');
    let (name, account) = (segments.next()?, segments.next()?);
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let partition = role.split(':').nth(1)?;
    is_account.then(|| format!("arn:{partition}:sqs:{region}:{account}:{name}"))
}

/// The URLs of queues by their functions, from the environment variables.
fn queue_urls() -> HashMap<String, String> {
    let named = std::env::vars().filter_map(|(name, url)| {
        let function = name.strip_suffix("_QUEUE_URL")?;
        Some((function.replace('_', "-").to_lowercase(), url))
    });
    named.filter(|(_, url)| !url.is_empty()).collect()
}

fn queue_url<'a>(urls: &'a HashMap<String, String>, function: &str) -> Result<&'a str> {
    let missing = || Error::internal(format!("no queue is configured for {function}"));
    urls.get(function).map(String::as_str).ok_or_else(missing)
}

#[cfg(test)]
mod tests;

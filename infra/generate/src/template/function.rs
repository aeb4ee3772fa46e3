//! The resources of one function: the function with its version and alias, its role, its log group, and its routes.

use std::sync::LazyLock;

use functions::function::Trigger;
use functions::stream::relay::filters;
use serde_json::Value;
use tests::access::{self, Recorded};
use web::deployment::Need;

use super::{Function, indented, pascal, policy};

/// The calls of each function that tests have recorded.
static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    access::read(&crate::root().join(access::FILE)).expect("infra/access.json can be read")
});

/// The resources of a function. `alarm` is the name of the alarm that stops a gradual deployment of it, besides that of the API.
pub fn resources(function: &Function, alarm: &str) -> String {
    let mut out = definition(function, alarm);
    out += &policy::role(function, &RECORDED);
    out += &log(function);
    out += &routes(function);
    out
}

fn definition(function: &Function, alarm: &str) -> String {
    let (id, name, deployment) = (function.id(), function.name(), function.deployment());
    let executable = function.executable();
    let description = match function {
        Function::Route(route) => route.to_string(),
        Function::Other(other) => other.description.to_owned(),
    };
    let mut out = format!(
        "  {id}:
    Type: AWS::Serverless::Function
    UpdateReplacePolicy: Retain # holds for its versions too
    Metadata: {{ BuildMethod: rust-cargolambda, BuildProperties: {{ Binary: {executable} }} }}
    Properties:
      FunctionName: !Sub ${{Service}}-{name}
      Description: {description}
      Handler: {name}
      MemorySize: {}
      Timeout: {}
      Role: !GetAtt {id}Role.Arn
      AutoPublishAliasAllProperties: true
      VersionDescription: !Ref Settings
      DeploymentPreference:
        Enabled: !Ref CanaryEnabled
        Type: !Ref Canary
        Alarms: [!Ref {alarm}, !Ref ApiAlarm]
      LoggingConfig: {{ LogGroup: !Ref {id}Log }}
",
        deployment.memory, deployment.timeout,
    );
    if functions::jobs::is_loop(name) {
        out += "      RecursiveLoop: Allow\n";
    }
    let variables = variables(function);
    if !variables.is_empty() {
        out += "      Environment:\n        Variables:\n";
        out += &indented(10, &variables);
    }
    let events = event(function);
    if !events.is_empty() {
        out += "      Events:\n";
        out += &indented(8, &events);
    }
    out
}

/// The variables of the function's environment besides those that every function has.
fn variables(function: &Function) -> String {
    let mut out = String::new();
    if function.has_pages() {
        out += "PAGE_SECRET: !Ref PageSecret\n";
    }
    for need in function.deployment().needs {
        match need {
            Need::EncryptionKeys => out += "ENCRYPTION_KEYS_SECRET: !Ref EncryptionKeys\n",
            Need::Messages => {
                for worker in functions::jobs::workers() {
                    let variable = worker.name.replace('-', "_").to_uppercase();
                    let queue = format!("{}Queue", pascal(worker.name));
                    out += &format!("{variable}_QUEUE_URL: !Ref {queue}Url\n");
                }
                if function.trigger() == Some(Trigger::Stream) {
                    out += "RELAY_DEAD_LETTERS_URL: !Ref RelayDeadLettersUrl\n";
                }
                out += "SCHEDULE_GROUP: !Ref ScheduleGroup\n";
                out += "SCHEDULER_ROLE_ARN: !Ref SchedulerRoleArn\n";
            }
            Need::Documents
            | Need::ReadStations
            | Need::RemoveFiles
            | Need::SignReports
            | Need::WriteReports => {
                let bucket = "REPORTS_BUCKET: !Ref FilesBucket\n";
                if !out.contains(bucket) {
                    out += bucket;
                }
            }
            // A function that sends messages has the variable already.
            Need::RemoveSchedules if function.needs(Need::Messages) => {}
            Need::RemoveSchedules => out += "SCHEDULE_GROUP: !Ref ScheduleGroup\n",
            Need::Payments => out += "STRIPE_SECRET: !Ref StripeSecret\n",
            Need::BatchWrites
            | Need::PageTokens
            | Need::QueueDepths
            | Need::ReadTable
            | Need::ScanTable => {}
        }
    }
    out
}

/// The event that invokes the function, unless it is a request.
fn event(function: &Function) -> String {
    match function.trigger() {
        Some(Trigger::Queue { batch, .. }) => format!(
            "Messages:
  Type: SQS
  Properties:
    Queue: !Ref {}QueueArn
    BatchSize: {batch}
    FunctionResponseTypes: [ReportBatchItemFailures]
    ScalingConfig: {{ MaximumConcurrency: !Ref WorkerConcurrency }}
",
            function.id()
        ),
        Some(Trigger::Stream) => {
            let pattern = |filter: Value| format!("        - Pattern: '{filter}'\n");
            let patterns: String = filters().into_iter().map(pattern).collect();
            format!(
                "Stream:
  Type: DynamoDB
  Properties:
    Stream: !Ref TableStreamArn
    StartingPosition: TRIM_HORIZON
    BatchSize: 100
    ParallelizationFactor: 4
    FunctionResponseTypes: [ReportBatchItemFailures]
    BisectBatchOnFunctionError: true
    # Without limit: the relay itself puts aside what can never be relayed.
    MaximumRetryAttempts: -1
    MaximumRecordAgeInSeconds: -1
    # Idempotency records and request rates stand for nothing that happens later, and nothing follows when items expire.
    FilterCriteria:
      Filters:
{patterns}"
            )
        }
        Some(Trigger::Rate(rate)) => format!(
            "Rate:
  Type: Schedule
  Properties:
    Schedule: {rate}
    Description: Finds pending work whose trigger was lost
    RetryPolicy: {{ MaximumRetryAttempts: 0 }}
"
        ),
        None
        | Some(
            Trigger::Assistants(_)
            | Trigger::Ocpi(_)
            | Trigger::Pages
            | Trigger::Otherwise
            | Trigger::Invocation,
        ) => String::new(),
    }
}

fn log(function: &Function) -> String {
    format!(
        "  {}Log:
    Type: AWS::Logs::LogGroup
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      LogGroupName: !Sub /aws/lambda/${{Service}}/{}
      RetentionInDays: !Ref LogRetentionDays
      KmsKeyId: !If [HasKey, !Ref KeyArn, !Ref AWS::NoValue]
",
        function.id(),
        function.name()
    )
}

/// The routes of the API that the function's alias serves, with one integration. API Gateway invokes it with a role, so the function
/// needs no permission for each route.
fn routes(function: &Function) -> String {
    let keys = function.route_keys();
    if keys.is_empty() {
        return String::new();
    }
    let id = function.id();
    let mut out = format!(
        "  {id}Integration:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref ApiId
      IntegrationType: AWS_PROXY
      IntegrationMethod: POST
      IntegrationUri: !Sub '${{{id}.Arn}}:live'
      CredentialsArn: !Ref ApiRoleArn
      PayloadFormatVersion: '2.0'
"
    );
    for (n, key) in keys.iter().enumerate() {
        let number = if n == 0 {
            String::new()
        } else {
            (n + 1).to_string()
        };
        out += &format!(
            "  {id}Route{number}:
    Type: AWS::ApiGatewayV2::Route
    Properties:
      ApiId: !Ref ApiId
      RouteKey: {key}
      Target: !Sub integrations/${{{id}Integration}}
"
        );
    }
    out
}

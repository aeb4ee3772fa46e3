//! Makes the parts of `infra/template.yaml` that follow from the code: the table's keys and indexes from its schema, and
//! every function, role, queue and alarm from the routes, the queues and the triggers. The rest of that file is written by
//! hand; marks in it show where the parts belong.

use std::collections::BTreeMap;

use functions::function::Trigger;
use shared::deployment::{Deployment, Need};
use shared::http::Route;
use shared::ports::Work;
use shared::store::access::Rows;
use shared::store::schema::INDEXES;

/// Adds a text.
macro_rules! text {
    ($out:expr, $($text:tt)*) => {
        $out.push_str(&format!($($text)*))
    };
}

/// Adds a line.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        $out.push_str(&(format!($($text)*) + "\n"))
    };
}

/// A function as it is deployed: a route or another function.
enum Function {
    Route(Route),
    Other(functions::function::Function),
}

impl Function {
    fn name(&self) -> &'static str {
        match self {
            Self::Route(route) => route.name,
            Self::Other(other) => other.name,
        }
    }

    fn deployment(&self) -> &Deployment {
        match self {
            Self::Route(route) => &route.deployment,
            Self::Other(other) => &other.deployment,
        }
    }

    fn writes(&self) -> Vec<Rows> {
        match self {
            Self::Route(route) => route.writes(),
            Self::Other(other) => other.deployment.writes.to_vec(),
        }
    }

    /// What starts it, if it is not a route.
    fn trigger(&self) -> Option<Trigger> {
        match self {
            Self::Route(_) => None,
            Self::Other(other) => Some(other.trigger),
        }
    }

    fn is_worker(&self) -> bool {
        matches!(self.trigger(), Some(Trigger::Queue { .. }))
    }

    fn id(&self) -> String {
        pascal(self.name())
    }

    /// Under which heading its alarms come.
    fn group(&self) -> String {
        match self {
            Self::Route(route) => pascal(route.resource()),
            Self::Other(other) => match other.trigger {
                Trigger::Queue { .. } => "Workers".into(),
                Trigger::Pages | Trigger::Otherwise => "Pages".into(),
                Trigger::Ocpi(_) => "Networks".into(),
                Trigger::Stream | Trigger::Rate(_) | Trigger::Invocation => "Triggers".into(),
            },
        }
    }
}

fn pascal(name: &str) -> String {
    let words = name.split(['-', '_']);
    words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        })
        .collect()
}

/// Every function: the routes by resource, then the others.
fn functions() -> Vec<Function> {
    let endpoints = functions::endpoints().into_iter();
    let mut all: Vec<Function> = endpoints.map(|one| Function::Route(one.route)).collect();
    all.sort_by_key(|one| (one.group(), one.name()));
    all.extend(functions::FUNCTIONS.map(Function::Other));
    all
}

/// The generated parts by their names.
fn parts() -> BTreeMap<&'static str, String> {
    BTreeMap::from([("keys", keys()), ("functions", resources())])
}

/// The template with its generated parts replaced.
///
/// # Panics
/// A mark is missing.
pub fn render(template: &str) -> String {
    let mut renewed = template.to_owned();
    for (name, made) in parts() {
        let (begin, end) = (
            format!("# <generated {name}>\n"),
            format!("# </generated {name}>"),
        );
        let from = renewed
            .find(&begin)
            .expect("the mark at which a part begins")
            + begin.len();
        let until = renewed.find(&end).expect("the mark at which a part ends");
        let until = renewed[..until].rfind('\n').expect("a line before it") + 1;
        renewed.replace_range(from..until, &made);
    }
    renewed
}

/// The table's attributes, keys and indexes.
fn keys() -> String {
    let mut names = vec!["pk", "sk"];
    for (_, hash, range, _) in INDEXES {
        for name in [*hash, *range] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut out = String::from("      AttributeDefinitions:\n");
    for name in names {
        line!(
            out,
            "        - {{ AttributeName: {name}, AttributeType: S }}"
        );
    }
    let pair = |indent: &str, hash: &str, range: &str| {
        format!(
            "{indent}KeySchema:\n{indent}  - {{ AttributeName: {hash}, KeyType: HASH }}\n{indent}  - {{ AttributeName: {range}, KeyType: RANGE }}\n"
        )
    };
    out.push_str(&pair("      ", "pk", "sk"));
    out.push_str("      GlobalSecondaryIndexes:\n");
    for (name, hash, range, held) in INDEXES {
        let projection = match held {
            ["*"] => "{ ProjectionType: ALL }".to_owned(),
            [] => "{ ProjectionType: KEYS_ONLY }".to_owned(),
            some => format!(
                "{{ ProjectionType: INCLUDE, NonKeyAttributes: [{}] }}",
                some.join(", ")
            ),
        };
        line!(out, "        - IndexName: {name}");
        out.push_str(&pair("          ", hash, range));
        line!(out, "          Projection: {projection}");
    }
    out
}

fn resources() -> String {
    let all = functions();
    let mut out = String::new();
    let mut group = String::new();
    for one in &all {
        if one.group() != group {
            group = one.group();
            line!(out, "\n  # {group}");
        }
        out.push('\n');
        out.push_str(&function(one));
        out.push_str(&role(one));
        out.push_str(&log(one));
        if one.is_worker() {
            out.push_str(&queue(one));
        }
    }
    out.push_str(&scheduler_role());
    out.push_str(&access_of_all(&all));
    out.push_str(&alarms(&all));
    out
}

fn function(one: &Function) -> String {
    let id = one.id();
    let description = match one {
        Function::Route(route) => format!("{} {}", route.method.as_str(), route.path),
        Function::Other(other) => other.description.to_owned(),
    };
    let mut out = format!(
        "  {id}:
    Type: AWS::Serverless::Function
    Metadata: {{ BuildMethod: rust-cargolambda, BuildProperties: {{ Binary: functions }} }}
    Properties:
      Description: {description}
      Handler: {name}
      MemorySize: {memory}
      Timeout: {timeout}
      Role: !GetAtt {id}Role.Arn
      LoggingConfig: {{ LogGroup: !Ref {id}Log }}
",
        name = one.name(),
        memory = one.deployment().memory,
        timeout = one.deployment().timeout,
    );
    out.push_str(&environment(one));
    let event = |name: &str, kind: &str, properties: &str| {
        format!(
            "        {name}:\n          Type: {kind}\n          Properties:\n{}",
            indented(12, properties)
        )
    };
    let route = |name: &str, method: &str, path: &str| {
        event(
            name,
            "HttpApi",
            &format!("ApiId: !Ref Api\nMethod: {method}\nPath: {path}\n"),
        )
    };
    let events = match one {
        Function::Route(one) => route("Route", one.method.as_str(), one.path),
        Function::Other(other) => match other.trigger {
        Trigger::Pages => functions::docs::PAGES
            .iter()
            .map(|(name, path)| route(name, "GET", path))
            .collect(),
        Trigger::Ocpi(paths) => paths
            .iter()
            .enumerate()
            .map(|(n, path)| route(&format!("Path{}", n + 1), "ANY", path))
            .collect(),
        Trigger::Otherwise => event("Otherwise", "HttpApi", "ApiId: !Ref Api\n"),
        Trigger::Queue { batch, .. } => event(
            "Messages",
            "SQS",
            &format!(
                "Queue: !GetAtt {id}Queue.Arn
BatchSize: {batch}
FunctionResponseTypes: [ReportBatchItemFailures]
ScalingConfig: {{ MaximumConcurrency: !Ref WorkerConcurrency }}
"
            ),
        ),
        Trigger::Stream => event(
            "Stream",
            "DynamoDB",
            "Stream: !GetAtt Table.StreamArn
StartingPosition: TRIM_HORIZON
BatchSize: 100
ParallelizationFactor: 4
FunctionResponseTypes: [ReportBatchItemFailures]
BisectBatchOnFunctionError: true
MaximumRetryAttempts: 20
MaximumRecordAgeInSeconds: 43200
DestinationConfig:
  OnFailure: { Type: SQS, Destination: !GetAtt RelayDeadLetters.Arn }
# Idempotency records and request rates stand for nothing that happens later: they have no version, and go by themselves.
FilterCriteria:
  Filters:
    - Pattern: '{\"dynamodb\": {\"NewImage\": {\"version\": {\"N\": [{\"exists\": true}]}}}}'
    - Pattern: '{\"eventName\": [\"REMOVE\"], \"dynamodb\": {\"OldImage\": {\"fingerprint\": {\"S\": [{\"exists\": false}]}}}}'
",
        ),
        Trigger::Rate(rate) => event(
            "Rate",
            "Schedule",
            &format!(
                "Schedule: {rate}\nDescription: Finds pending work whose trigger was lost\nRetryPolicy: {{ MaximumRetryAttempts: 0 }}\n"
            ),
        ),
        Trigger::Invocation => String::new(),
    }};
    if !events.is_empty() {
        out.push_str("      Events:\n");
        out.push_str(&events);
    }
    out
}

fn indented(by: usize, text: &str) -> String {
    text.lines()
        .map(|line| format!("{}{line}\n", " ".repeat(by)))
        .collect()
}

fn environment(one: &Function) -> String {
    let mut variables = String::new();
    for need in one.deployment().needs {
        match need {
            Need::Messages => {
                for work in Work::ALL {
                    let name = work.function().replace('-', "_").to_uppercase();
                    let queue = format!("{}Queue", pascal(work.function()));
                    line!(variables, "{name}_QUEUE_URL: !Ref {queue}");
                    line!(variables, "{name}_QUEUE_ARN: !GetAtt {queue}.Arn");
                }
                if matches!(one.trigger(), Some(Trigger::Stream)) {
                    variables.push_str("RELAY_DEAD_LETTERS_URL: !Ref RelayDeadLetters\n");
                }
                variables.push_str("SCHEDULE_GROUP: !Ref Schedules\n");
                variables.push_str("SCHEDULER_ROLE_ARN: !GetAtt SchedulerRole.Arn\n");
            }
            Need::SignReports | Need::WriteReports | Need::ReadStations => {
                variables.push_str("REPORTS_BUCKET: !Ref Files\n");
            }
            Need::BatchWrites | Need::ReadTable => {}
            Need::EncryptionKeys => variables.push_str(
                "ENCRYPTION_KEYS: !Sub '{{resolve:secretsmanager:${EncryptionKeys}}}'\n",
            ),
            Need::Payments => variables.push_str(
                "STRIPE_SECRET_KEY: !If [Paid, !Sub '{{resolve:secretsmanager:${StripeSecret}}}', '']\n",
            ),
        }
    }
    if variables.is_empty() {
        return variables;
    }
    format!(
        "      Environment:\n        Variables:\n{}",
        indented(10, &variables)
    )
}

fn statement(actions: &[&str], resource: &str) -> String {
    format!(
        "- Effect: Allow\n  Action: [{}]\n  Resource: {resource}\n",
        actions.join(", ")
    )
}

fn role(one: &Function) -> String {
    let id = one.id();
    let mut statements = statement(
        &["logs:CreateLogStream", "logs:PutLogEvents"],
        &format!("!GetAtt {id}Log.Arn"),
    );
    let (writes, needs) = (one.writes(), one.deployment().needs);
    if !writes.is_empty() {
        let mut actions = vec![
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:ConditionCheckItem",
        ];
        if needs.contains(&Need::BatchWrites) {
            actions.push("dynamodb:BatchWriteItem");
        }
        statements.push_str(&statement(&actions, "!GetAtt Table.Arn"));
        statements
            .push_str("  Condition:\n    ForAllValues:StringLike:\n      dynamodb:LeadingKeys:\n");
        for pattern in writes.iter().flat_map(|rows| rows.patterns()) {
            line!(statements, "        - '{pattern}'");
        }
        statements.push_str("    'Null': { dynamodb:LeadingKeys: 'false' }\n");
    }
    match one.trigger() {
        Some(Trigger::Queue { .. }) => statements.push_str(&statement(
            &[
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ChangeMessageVisibility",
            ],
            &format!("!GetAtt {id}Queue.Arn"),
        )),
        Some(Trigger::Stream) => {
            let actions = [
                "dynamodb:DescribeStream",
                "dynamodb:GetRecords",
                "dynamodb:GetShardIterator",
                "dynamodb:ListStreams",
            ];
            statements.push_str(&statement(&actions, "!GetAtt Table.StreamArn"));
            statements.push_str(&statement(
                &["sqs:SendMessage"],
                "!GetAtt RelayDeadLetters.Arn",
            ));
        }
        _ => {}
    }
    for need in one.deployment().needs {
        match need {
            Need::Messages => {
                statements.push_str("- Effect: Allow\n  Action: sqs:SendMessage\n  Resource:\n");
                statements.push_str(&indented(4, &queue_arns()));
                statements.push_str(&statement(
                    &["scheduler:CreateSchedule", "scheduler:UpdateSchedule"],
                    "!Sub arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/${Schedules}/*",
                ));
                statements.push_str(&statement(&["iam:PassRole"], "!GetAtt SchedulerRole.Arn"));
                statements.push_str("  Condition: { StringEquals: { iam:PassedToService: scheduler.amazonaws.com } }\n");
            }
            Need::SignReports => {
                statements.push_str(&statement(&["s3:GetObject"], "!Sub '${Files.Arn}/acct_*'"));
            }
            Need::WriteReports => {
                statements.push_str(&statement(&["s3:PutObject"], "!Sub '${Files.Arn}/acct_*'"));
            }
            Need::ReadStations => statements.push_str(&statement(
                &["s3:GetObject"],
                "!Sub '${Files.Arn}/stations/*'",
            )),
            // Part of other statements; and CloudFormation reads secrets when it deploys.
            Need::BatchWrites | Need::EncryptionKeys | Need::ReadTable | Need::Payments => {}
        }
    }
    let read = "      ManagedPolicyArns: [!Ref ReadAccess]\n";
    let shared = match one.trigger() {
        None | Some(Trigger::Otherwise) => {
            "      ManagedPolicyArns: [!Ref ReadAccess, !Ref RequestAccess]\n"
        }
        Some(Trigger::Ocpi(_) | Trigger::Queue { .. } | Trigger::Stream | Trigger::Rate(_)) => read,
        Some(Trigger::Invocation) if needs.contains(&Need::ReadTable) => read,
        Some(Trigger::Pages | Trigger::Invocation) => "",
    };
    format!(
        "  {id}Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{{ Effect: Allow, Principal: {{ Service: lambda.amazonaws.com }}, Action: sts:AssumeRole }}]
{shared}      Policies:
        - PolicyName: own
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
{}",
        indented(14, &statements)
    )
}

fn log(one: &Function) -> String {
    let (id, name) = (one.id(), one.name());
    format!(
        "  {id}Log:
    Type: AWS::Logs::LogGroup
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      LogGroupName: !Sub /aws/lambda/${{AWS::StackName}}/{name}
      RetentionInDays: !Ref LogRetentionDays
      KmsKeyId: !If [OwnKey, !Ref KeyArn, !Ref AWS::NoValue]
"
    )
}

fn queue(one: &Function) -> String {
    let id = one.id();
    format!(
        "  {id}Queue:
    Type: AWS::SQS::Queue
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      # Six times the function's time-out, as event source mappings want it.
      VisibilityTimeout: {visible}
      MessageRetentionPeriod: 1209600
      RedrivePolicy: {{ deadLetterTargetArn: !GetAtt {id}DeadLetters.Arn, maxReceiveCount: 5 }}
      SqsManagedSseEnabled: !If [OwnKey, !Ref AWS::NoValue, true]
      KmsMasterKeyId: !If [OwnKey, !Ref KeyArn, !Ref AWS::NoValue]
  {id}DeadLetters:
    Type: AWS::SQS::Queue
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      MessageRetentionPeriod: 1209600
      SqsManagedSseEnabled: !If [OwnKey, !Ref AWS::NoValue, true]
      KmsMasterKeyId: !If [OwnKey, !Ref KeyArn, !Ref AWS::NoValue]
",
        visible = 6 * one.deployment().timeout
    )
}

fn queue_arns() -> String {
    Work::ALL
        .iter()
        .map(|work| format!("- !GetAtt {}Queue.Arn\n", pascal(work.function())))
        .collect()
}

fn scheduler_role() -> String {
    format!(
        "
  # What EventBridge Scheduler may do when a schedule falls due.

  SchedulerRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement:
          - Effect: Allow
            Principal: {{ Service: scheduler.amazonaws.com }}
            Action: sts:AssumeRole
            Condition: {{ StringEquals: {{ aws:SourceAccount: !Ref AWS::AccountId }} }}
      Policies:
        - PolicyName: send
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
              - Effect: Allow
                Action: sqs:SendMessage
                Resource:
{}",
        indented(18, &queue_arns())
    )
}

/// What every function may do where the stack's parameters ask for it.
fn access_of_all(all: &[Function]) -> String {
    let roles: String = all
        .iter()
        .map(|one| format!("        - !Ref {}Role\n", one.id()))
        .collect();
    format!(
        "
  # For every role, where the parameters ask for it.

  KeyAccess:
    Type: AWS::IAM::Policy
    Condition: OwnKey
    Properties:
      PolicyName: key
      PolicyDocument:
        Version: '2012-10-17'
        Statement:
          - {{ Effect: Allow, Action: [kms:Decrypt, kms:DescribeKey, kms:GenerateDataKey], Resource: !Ref KeyArn }}
      Roles:
        - !Ref SchedulerRole
{roles}  TracingAccess:
    Type: AWS::IAM::Policy
    Condition: Traced
    Properties:
      PolicyName: tracing
      PolicyDocument:
        Version: '2012-10-17'
        Statement:
          - {{ Effect: Allow, Action: [xray:PutTraceSegments, xray:PutTelemetryRecords], Resource: '*' }}
      Roles:
{roles}"
    )
}

/// How many metrics an alarm may add up besides their sum.
const ADDED_UP: usize = 9;

fn alarms(all: &[Function]) -> String {
    let mut out = String::from(
        "\n  # Alarms of functions and queues. Those of the API and the table stand above.\n",
    );
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for one in all {
        match groups.last_mut() {
            Some((name, ids)) if *name == one.group() => ids.push(one.id()),
            _ => groups.push((one.group(), vec![one.id()])),
        }
    }
    for (group, ids) in &groups {
        for (part, ids) in ids.chunks(ADDED_UP).enumerate() {
            let part = if part == 0 {
                String::new()
            } else {
                (part + 1).to_string()
            };
            text!(
                out,
                "
  {group}Errors{part}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: Functions of {group} crashed or ran out of time.
      ComparisonOperator: GreaterThanThreshold
      Threshold: 0
      EvaluationPeriods: 1
      TreatMissingData: notBreaching
      AlarmActions: !If [Told, [!Ref AlarmTopicArn], !Ref AWS::NoValue]
      Metrics:
        - {{ Id: all, Expression: SUM(METRICS()), Label: Errors }}
"
            );
            for (n, id) in ids.iter().enumerate() {
                text!(
                    out,
                    "        - {{ Id: m{n}, ReturnData: false, MetricStat: {{ Metric: {{ Namespace: AWS/Lambda, MetricName: Errors, Dimensions: [{{ Name: FunctionName, Value: !Ref {id} }}] }}, Period: 60, Stat: Sum }} }}\n"
                );
            }
        }
    }
    let queue = |name: &str, metric: &str, queue: &str, threshold: u32, means: &str| {
        format!(
            "
  {name}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {means}
      Namespace: AWS/SQS
      MetricName: {metric}
      Dimensions: [{{ Name: QueueName, Value: !GetAtt {queue}.QueueName }}]
      Statistic: Maximum
      Period: 60
      EvaluationPeriods: 1
      ComparisonOperator: GreaterThanThreshold
      Threshold: {threshold}
      TreatMissingData: notBreaching
      AlarmActions: !If [Told, [!Ref AlarmTopicArn], !Ref AWS::NoValue]
"
        )
    };
    for one in all.iter().filter(|one| one.is_worker()) {
        let (id, name) = (one.id(), one.name());
        out.push_str(&queue(
            &format!("{id}Undone"),
            "ApproximateNumberOfMessagesVisible",
            &format!("{id}DeadLetters"),
            0,
            &format!("Messages for {name} failed five times and wait in the dead-letter queue."),
        ));
        out.push_str(&queue(
            &format!("{id}Late"),
            "ApproximateAgeOfOldestMessage",
            &format!("{id}Queue"),
            900,
            &format!("A message for {name} is a quarter of an hour old."),
        ));
    }
    out
}

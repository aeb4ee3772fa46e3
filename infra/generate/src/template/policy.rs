//! The role of a function, which permits only what the function needs.
//!
//! Permissions for the table come from `infra/access.json`, which lists the recorded calls of each function during the tests: the
//! action, the table or index, and the pattern of the partition keys (the condition `dynamodb:LeadingKeys`). A function that is not in
//! that file may read everything and write the items that its deployment names.

use std::collections::{BTreeMap, BTreeSet};

use functions::function::Trigger;
use table::access::Items;
use tests::access::{Access, Place, Recorded, granted};
use web::deployment::Need;

use super::{Function, indented, pascal};

/// The role of a function.
pub fn role(function: &Function, recorded: &Recorded) -> String {
    let id = function.id();
    let log = statement(
        &["logs:CreateLogStream", "logs:PutLogEvents"],
        &format!("!GetAtt {id}Log.Arn"),
    );
    let table = match granted(recorded, function.name()) {
        Some(access) => table_access(&access),
        None => wide_table_access(function),
    };
    let statements = log + &table + &trigger_access(function) + &needs_access(function);
    format!(
        "  {id}Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement: [{{ Effect: Allow, Principal: {{ Service: lambda.amazonaws.com }}, Action: sts:AssumeRole }}]
      Policies:
        - PolicyName: own
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
{}",
        indented(14, &statements)
    )
}

fn statement(actions: &[&str], resource: &str) -> String {
    format!(
        "- Effect: Allow\n  Action: [{}]\n  Resource: {resource}\n",
        actions.join(", ")
    )
}

/// A statement about the table or an index that is limited to partition keys of these patterns, unless the parameter `LeadingKeys`
/// turns that condition off.
fn keyed_statement(actions: &[&str], place: &Place, patterns: &BTreeSet<String>) -> String {
    let actions: Vec<String> = actions
        .iter()
        .map(|action| format!("dynamodb:{action}"))
        .collect();
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let resource = match place {
        Place::Table => "!Ref TableArn".to_owned(),
        Place::Index(name) => format!("!Sub '${{TableArn}}/index/{name}'"),
    };
    // A scan reads every partition, so it could not meet a condition on keys.
    if actions == ["dynamodb:Scan"] {
        return statement(&actions, &resource);
    }
    let patterns: Vec<String> = patterns
        .iter()
        .map(|pattern| format!("'{pattern}'"))
        .collect();
    format!(
        "{}  Condition: !If
    - KeysLimited
    - ForAllValues:StringLike: {{ dynamodb:LeadingKeys: [{}] }}
      'Null': {{ dynamodb:LeadingKeys: 'false' }}
    - !Ref AWS::NoValue
",
        statement(&actions, &resource),
        patterns.join(", ")
    )
}

/// Statements for exactly the recorded calls. Actions with the same patterns share a statement.
fn table_access(access: &BTreeSet<Access>) -> String {
    let mut patterns: BTreeMap<(&Place, &str), BTreeSet<String>> = BTreeMap::new();
    for call in access {
        let entry = patterns.entry((&call.place, &call.action)).or_default();
        entry.insert(call.keys.clone());
    }
    let mut statements: BTreeMap<(&Place, BTreeSet<String>), Vec<&str>> = BTreeMap::new();
    for ((place, action), patterns) in patterns {
        statements
            .entry((place, patterns))
            .or_default()
            .push(action);
    }
    statements
        .iter()
        .map(|((place, patterns), actions)| keyed_statement(actions, place, patterns))
        .collect()
}

/// Statements for a function whose calls were not recorded yet.
fn wide_table_access(function: &Function) -> String {
    let reads = match function.trigger() {
        Some(Trigger::Assistants(_) | Trigger::Pages) => false,
        Some(Trigger::Invocation) => function.needs(Need::ReadTable),
        _ => true,
    };
    let mut out = String::new();
    if reads {
        out += &statement(
            &[
                "dynamodb:GetItem",
                "dynamodb:BatchGetItem",
                "dynamodb:Query",
            ],
            "[!Ref TableArn, !Sub '${TableArn}/index/*']",
        );
    }
    if function.needs(Need::ScanTable) {
        out += &statement(&["dynamodb:Scan"], "!Ref TableArn");
    }
    if matches!(function.trigger(), None | Some(Trigger::Otherwise)) {
        let counted = [Items::Of(kernel::Kind::ApiKey), Items::Rates];
        let patterns = counted.iter().flat_map(|group| group.patterns()).collect();
        out += &keyed_statement(&["UpdateItem"], &Place::Table, &patterns);
    }
    let patterns: BTreeSet<String> = function
        .writes()
        .iter()
        .flat_map(|group| group.patterns())
        .collect();
    if !patterns.is_empty() {
        let mut actions = vec!["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"];
        if function.needs(Need::BatchWrites) {
            actions.push("BatchWriteItem");
        }
        out += &keyed_statement(&actions, &Place::Table, &patterns);
    }
    out
}

/// The calls that Lambda makes with the function's role to read its queue or stream.
fn trigger_access(function: &Function) -> String {
    match function.trigger() {
        Some(Trigger::Queue { .. }) => statement(
            &[
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
            ],
            &format!("!Ref {}QueueArn", function.id()),
        ),
        Some(Trigger::Stream) => {
            let stream = statement(
                &[
                    "dynamodb:DescribeStream",
                    "dynamodb:GetRecords",
                    "dynamodb:GetShardIterator",
                ],
                "!Ref TableStreamArn",
            );
            // IAM supports no resource for this action: it lists the streams of the AWS account.
            let list = statement(&["dynamodb:ListStreams"], "'*'");
            stream + &list + &statement(&["sqs:SendMessage"], "!Ref RelayDeadLettersArn")
        }
        _ => String::new(),
    }
}

fn needs_access(function: &Function) -> String {
    let files = |action: &str, prefix: &str| {
        statement(
            &[action],
            &format!("!Sub 'arn:${{AWS::Partition}}:s3:::${{FilesBucket}}/{prefix}*'"),
        )
    };
    let mut out = String::new();
    for need in function.deployment().needs {
        out += &match need {
            Need::Messages => messages_access(),
            Need::QueueDepths => of_queues("sqs:GetQueueAttributes"),
            Need::Documents => {
                files("s3:GetObject", "documents/")
                    + &files("s3:PutObject", "documents/")
                    + &list_of_files("documents/acct_")
            }
            Need::SignReports => files("s3:GetObject", "acct_"),
            Need::WriteReports => files("s3:PutObject", "acct_"),
            Need::ReadStations => files("s3:GetObject", "stations/"),
            Need::RemoveFiles => files("s3:DeleteObject", "acct_") + &list_of_files("acct_"),
            Need::RemoveSchedules => statement(&["scheduler:DeleteSchedule"], SCHEDULES),
            Need::EncryptionKeys => statement(&[READ_SECRET], "!Ref EncryptionKeys"),
            Need::Payments => format!(
                // The ARN of a secret may be specified without the six characters at its end.
                "- !If\n  - HasStripe\n  - {{ Effect: Allow, Action: {READ_SECRET}, Resource: [!Ref StripeSecret, !Sub '${{StripeSecret}}-??????'] }}\n  - !Ref AWS::NoValue\n"
            ),
            // Part of other statements; CloudFormation resolves the secret of page tokens when it deploys.
            Need::BatchWrites | Need::PageTokens | Need::ReadTable | Need::ScanTable => {
                String::new()
            }
        };
    }
    out
}

const READ_SECRET: &str = "secretsmanager:GetSecretValue";

/// Permits listing the keys of files that begin with a prefix, and no others.
fn list_of_files(prefix: &str) -> String {
    statement(
        &["s3:ListBucket"],
        "!Sub 'arn:${AWS::Partition}:s3:::${FilesBucket}'",
    ) + &format!("  Condition: {{ StringLike: {{ s3:prefix: '{prefix}*' }} }}\n")
}

/// The schedules of the deployment.
const SCHEDULES: &str = "!Sub arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/${ScheduleGroup}/*";

/// A statement about the queues of all workers.
fn of_queues(action: &str) -> String {
    let queues: String = functions::jobs::workers()
        .map(|worker| format!("    - !Ref {}QueueArn\n", pascal(worker.name)))
        .collect();
    format!("- Effect: Allow\n  Action: {action}\n  Resource:\n{queues}")
}

fn messages_access() -> String {
    let send = of_queues("sqs:SendMessage");
    let schedule = statement(
        &["scheduler:CreateSchedule", "scheduler:UpdateSchedule"],
        SCHEDULES,
    );
    let pass = statement(&["iam:PassRole"], "!Ref SchedulerRoleArn");
    send + &schedule
        + &pass
        + "  Condition: { StringEquals: { iam:PassedToService: scheduler.amazonaws.com } }\n"
}

//! Renders the generated parts of the root stack's template: the table's keys, the queues with their alarms, the alarms of
//! the indexes, and the nested stacks.

use std::collections::BTreeMap;

use functions::jobs;
use table::schema::INDEXES;

use super::{Function, Stack, alarms, indented, parameters, pascal};

/// The root's template with its generated parts replaced.
///
/// # Panics
/// If a mark is missing.
pub fn render(present: &str, stacks: &[(Stack, Vec<Function>)]) -> String {
    let parts = BTreeMap::from([
        ("keys", keys()),
        ("queues", queues(stacks)),
        ("index alarms", alarms::of_indexes()),
        ("objectives", alarms::of_objectives()),
        ("stacks", nested(stacks)),
    ]);
    let mut renewed = present.to_owned();
    for (name, content) in parts {
        let (begin, end) = (
            format!("# <generated {name}>\n"),
            format!("# </generated {name}>"),
        );
        let from = renewed
            .find(&begin)
            .unwrap_or_else(|| panic!("infra/template.yaml has no mark {begin}"))
            + begin.len();
        let until = renewed
            .find(&end)
            .unwrap_or_else(|| panic!("infra/template.yaml has no mark {end}"));
        let until = renewed[..until].rfind('\n').map_or(until, |line| line + 1);
        renewed.replace_range(from..until, &content);
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
        out += &format!("        - {{ AttributeName: {name}, AttributeType: S }}\n");
    }
    let pair = |indent: &str, hash: &str, range: &str| {
        format!(
            "{indent}KeySchema:\n{indent}  - {{ AttributeName: {hash}, KeyType: HASH }}\n{indent}  - {{ AttributeName: {range}, KeyType: RANGE }}\n"
        )
    };
    out += &pair("      ", "pk", "sk");
    out += "      GlobalSecondaryIndexes:\n";
    for (name, hash, range, held) in INDEXES {
        let projection = match held {
            ["*"] => "{ ProjectionType: ALL }".to_owned(),
            [] => "{ ProjectionType: KEYS_ONLY }".to_owned(),
            some => format!(
                "{{ ProjectionType: INCLUDE, NonKeyAttributes: [{}] }}",
                some.join(", ")
            ),
        };
        out += &format!("        - IndexName: {name}\n");
        out += &pair("          ", hash, range);
        out += &format!("          Projection: {projection}\n");
    }
    out
}

/// The queue of every worker with its dead-letter queue and alarms, and the role with which EventBridge Scheduler sends to the queues.
fn queues(stacks: &[(Stack, Vec<Function>)]) -> String {
    let functions = stacks.iter().flat_map(|(_, functions)| functions);
    let workers: Vec<&Function> = functions.filter(|function| function.is_worker()).collect();
    let mut out = String::new();
    for worker in &workers {
        out += &queue(worker);
        out += &alarms::of_queue(worker);
    }
    let arns: String = workers
        .iter()
        .map(|worker| format!("- !GetAtt {}Queue.Arn\n", worker.id()))
        .collect();
    out += &format!(
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
{}  SchedulerKeyAccess:
    Type: AWS::IAM::Policy
    Condition: HasKey
    Properties:
      PolicyName: key
      PolicyDocument:
        Version: '2012-10-17'
        Statement:
          - {{ Effect: Allow, Action: [kms:Decrypt, kms:GenerateDataKey], Resource: !Ref KeyArn }}
      Roles: [!Ref SchedulerRole]
",
        indented(18, &arns)
    );
    out
}

fn queue(worker: &Function) -> String {
    let id = worker.id();
    let encryption = "      SqsManagedSseEnabled: !If [HasKey, !Ref AWS::NoValue, true]
      KmsMasterKeyId: !If [HasKey, !Ref KeyArn, !Ref AWS::NoValue]
";
    format!(
        "
  {id}Queue:
    Type: AWS::SQS::Queue
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      # Six times the function's time-out, as Lambda recommends for event source mappings.
      VisibilityTimeout: {}
      MessageRetentionPeriod: 1209600
      RedrivePolicy: {{ deadLetterTargetArn: !GetAtt {id}DeadLetters.Arn, maxReceiveCount: {} }}
{encryption}  {id}DeadLetters:
    Type: AWS::SQS::Queue
    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      MessageRetentionPeriod: 1209600
{encryption}",
        6 * worker.deployment().timeout,
        jobs::receives(worker.name()),
    )
}

/// The nested stacks. Those with routes are created, changed and deleted one after the other: API Gateway refuses simultaneous changes
/// of one API, and accepts ten per second for an AWS account. The stage, which deploys every change, comes first.
fn nested(stacks: &[(Stack, Vec<Function>)]) -> String {
    let mut out = String::new();
    let mut before = "ApiStage".to_owned();
    for (stack, functions) in stacks {
        let id = format!("{}Stack", pascal(&stack.name));
        out += &format!("\n  {id}:\n    Type: AWS::CloudFormation::Stack\n");
        if functions
            .iter()
            .any(|function| !function.route_keys().is_empty())
        {
            out += &format!("    DependsOn: {before}\n");
            before = id;
        }
        out += &format!(
            "    DeletionPolicy: Delete
    UpdateReplacePolicy: Delete
    Properties:
      TemplateURL: stacks/{}.yaml
      Tags: [{{ Key: Service, Value: fleet-charging }}, {{ Key: Stage, Value: !Ref Stage }}]
      Parameters:
",
            stack.name
        );
        for parameter in parameters::of(functions) {
            out += &format!("        {}: {}\n", parameter.name, parameter.value);
        }
    }
    out
}

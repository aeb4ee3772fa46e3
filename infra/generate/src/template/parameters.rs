//! The parameters of a nested stack, and the values that the root stack passes for them.

use functions::function::Trigger;
use web::deployment::Need;

use super::{Function, pascal};

/// A parameter of a nested stack.
pub struct Parameter {
    pub name: String,
    /// The type and other properties, in the syntax of the nested stack's template.
    pub declared: &'static str,
    /// The value that the root stack passes.
    pub value: String,
}

const TEXT: &str = "{ Type: String }";
const NUMBER: &str = "{ Type: Number }";
/// Without a default: a nested stack is only deployed by the root, which sets every parameter.
const SECRET: &str = "{ Type: String, NoEcho: true }";

fn parameter(name: &str, declared: &'static str, value: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        declared,
        value: value.to_owned(),
    }
}

/// The parameters of every nested stack. Those of functions are variables of the functions' environment.
const COMMON: &[(&str, &str, &str)] = &[
    ("Service", TEXT, "!Ref AWS::StackName"),
    ("Stage", TEXT, "!Ref Stage"),
    ("Architecture", TEXT, "!Ref Architecture"),
    ("LogLevel", TEXT, "!Ref LogLevel"),
    ("LogRetentionDays", NUMBER, "!Ref LogRetentionDays"),
    ("Tracing", TEXT, "!Ref Tracing"),
    ("AlarmTopicArn", TEXT, "!Ref AlarmTopicArn"),
    ("KeyArn", TEXT, "!Ref KeyArn"),
    ("LeadingKeys", TEXT, "!Ref LeadingKeys"),
    ("Canary", TEXT, "!Ref Canary"),
    ("CanaryEnabled", TEXT, "!If [HasCanary, 'true', 'false']"),
    ("ApiAlarm", TEXT, "!Ref ApiFailures"),
    // A new value makes new versions of the functions, whose description it is, with at most 256 characters. Longer parameters are left
    // out: they take effect with another `SecretsGeneration`.
    (
        "Settings",
        TEXT,
        "!Join [/, [!Ref Table, !Ref RateTest, !Ref RateLive, !Ref MaxChildren, !Ref MaxEndpoints, !Ref RateNetwork, \
         !Ref OcpiCountryCode, !Ref OcpiPartyId, !Ref OcpiName, !Ref ReservationFee, !Ref LateCancellationSeconds, \
         !Ref ReportDays, !Ref LogLevel, !Ref Tracing, !Ref SecretsGeneration, !Ref DomainName]]",
    ),
    ("TableName", TEXT, "!Ref Table"),
    ("TableArn", TEXT, "!GetAtt Table.Arn"),
    (
        "BaseUrl",
        TEXT,
        "!If [HasDomain, !Sub 'https://${DomainName}', '']",
    ),
    ("RateTest", NUMBER, "!Ref RateTest"),
    ("RateLive", NUMBER, "!Ref RateLive"),
    ("MaxChildren", NUMBER, "!Ref MaxChildren"),
    ("MaxEndpoints", NUMBER, "!Ref MaxEndpoints"),
    ("RateNetwork", NUMBER, "!Ref RateNetwork"),
    ("OcpiCountryCode", TEXT, "!Ref OcpiCountryCode"),
    ("OcpiPartyId", TEXT, "!Ref OcpiPartyId"),
    ("OcpiName", TEXT, "!Ref OcpiName"),
    ("ReservationFee", NUMBER, "!Ref ReservationFee"),
    (
        "LateCancellationSeconds",
        NUMBER,
        "!Ref LateCancellationSeconds",
    ),
    ("ReportDays", NUMBER, "!Ref ReportDays"),
    ("ReviewTolerances", TEXT, "!Ref ReviewTolerances"),
    ("AssumedPrices", TEXT, "!Ref AssumedPrices"),
];

/// What functions do with the bucket of files.
const OF_FILES: [Need; 5] = [
    Need::ReadStations,
    Need::RemoveFiles,
    Need::Documents,
    Need::SignReports,
    Need::WriteReports,
];

/// The parameters of the nested stack of these functions.
pub fn of(functions: &[Function]) -> Vec<Parameter> {
    let mut all: Vec<Parameter> = COMMON
        .iter()
        .map(|(name, declared, value)| parameter(name, declared, value))
        .collect();
    let mut add = |name: &str, declared, value: &str| all.push(parameter(name, declared, value));
    let any = |has: &dyn Fn(&Function) -> bool| functions.iter().any(has);
    let needs = |need| any(&|function: &Function| function.needs(need));
    if any(&|function| !function.route_keys().is_empty()) {
        add("ApiId", TEXT, "!Ref Api");
        add("ApiRoleArn", TEXT, "!GetAtt ApiRole.Arn");
    }
    if any(&Function::has_pages) {
        add("PageSecret", SECRET, &secret("PageSecret"));
    }
    if needs(Need::EncryptionKeys) {
        add("EncryptionKeys", TEXT, "!GetAtt EncryptionKeys.Id");
    }
    if needs(Need::Payments) {
        add("StripeSecret", TEXT, "!Ref StripeSecret");
    }
    if OF_FILES.into_iter().any(needs) {
        add("FilesBucket", TEXT, "!Ref Files");
    }
    let sends = needs(Need::Messages);
    for worker in functions::jobs::workers() {
        let queue = format!("{}Queue", pascal(worker.name));
        if sends {
            add(&format!("{queue}Url"), TEXT, &format!("!Ref {queue}"));
        }
        let works = |function: &Function| function.is_worker() && function.name() == worker.name;
        if sends || any(&works) {
            add(
                &format!("{queue}Arn"),
                TEXT,
                &format!("!GetAtt {queue}.Arn"),
            );
        }
    }
    if sends || needs(Need::RemoveSchedules) {
        add("ScheduleGroup", TEXT, "!Ref Schedules");
    }
    if sends {
        add("SchedulerRoleArn", TEXT, "!GetAtt SchedulerRole.Arn");
    }
    if any(&Function::is_worker) {
        add("WorkerConcurrency", NUMBER, "!Ref WorkerConcurrency");
    }
    if any(&|function| function.trigger() == Some(Trigger::Stream)) {
        add("TableStreamArn", TEXT, "!GetAtt Table.StreamArn");
        add("RelayDeadLettersUrl", TEXT, "!Ref RelayDeadLetters");
        add("RelayDeadLettersArn", TEXT, "!GetAtt RelayDeadLetters.Arn");
    }
    all
}

/// The value of a secret, which CloudFormation resolves when it deploys.
fn secret(name: &str) -> String {
    format!("!Sub '{{{{resolve:secretsmanager:${{{name}}}}}}}'")
}

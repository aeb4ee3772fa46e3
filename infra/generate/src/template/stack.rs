//! Renders the template of a nested stack.

use web::deployment::Need;

use super::{Function, Stack, alarms, function, parameters};

const CONDITIONS: &str = "
Conditions:
  HasKey: !Not [!Equals [!Ref KeyArn, '']]
  HasAlarmTopic: !Not [!Equals [!Ref AlarmTopicArn, '']]
  KeysLimited: !Equals [!Ref LeadingKeys, 'true']
  Traced: !Equals [!Ref Tracing, Active]
";

const GLOBALS: &str = "
Globals:
  Function:
    CodeUri: ../../functions
    Runtime: provided.al2023
    Architectures: [!Ref Architecture]
    Tracing: !Ref Tracing
    KmsKeyArn: !If [HasKey, !Ref KeyArn, !Ref AWS::NoValue]
    AutoPublishAlias: live
    LoggingConfig:
      LogFormat: JSON
      ApplicationLogLevel: !Ref LogLevel
      SystemLogLevel: WARN
    Environment:
      Variables:
        TABLE_NAME: !Ref TableName
        BASE_URL: !Ref BaseUrl
        RATE_TEST: !Ref RateTest
        RATE_LIVE: !Ref RateLive
        MAX_CHILDREN: !Ref MaxChildren
        MAX_ENDPOINTS: !Ref MaxEndpoints
        RATE_NETWORK: !Ref RateNetwork
        OCPI_COUNTRY_CODE: !Ref OcpiCountryCode
        OCPI_PARTY_ID: !Ref OcpiPartyId
        OCPI_NAME: !Ref OcpiName
        RESERVATION_FEE: !Ref ReservationFee
        LATE_CANCELLATION_SECONDS: !Ref LateCancellationSeconds
        REPORT_DAYS: !Ref ReportDays
        REVIEW_TOLERANCES: !Ref ReviewTolerances
        ASSUMED_PRICES: !Ref AssumedPrices
        METRICS_NAMESPACE: !Sub FleetCharging/${Service}
        # A version keeps its variables, and CloudFormation publishes another one when its description changes.
        SETTINGS: !Ref Settings
    Tags: { Service: fleet-charging, Stage: !Ref Stage }

Resources:
";

/// The template of a nested stack.
pub fn render(stack: &Stack, functions: &[Function]) -> String {
    let mut out = format!(
        "# Written by `cargo run -p generate template`; do not edit. The root stack, infra/template.yaml, sets the parameters.
AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Description: 'Fleet Charging Service: {}'

Metadata:
  # A function's UpdateReplacePolicy is for its versions: SAM retains them when they are deleted, and hands on this policy.
  cfn-lint: {{ config: {{ ignore_checks: [W3011] }} }}

Parameters:
",
        stack.about
    );
    for parameter in parameters::of(functions) {
        out += &format!("  {}: {}\n", parameter.name, parameter.declared);
    }
    out += CONDITIONS;
    if functions
        .iter()
        .any(|function| function.needs(Need::Payments))
    {
        out += "  HasStripe: !Not [!Equals [!Ref StripeSecret, '']]\n";
    }
    out += GLOBALS;
    for function in functions {
        out.push('\n');
        out += &function::resources(function, &alarms::of(functions, function));
    }
    out += &access_of_all(functions);
    out += &alarms::render(stack, functions);
    out
}

/// Permissions that every role has if the deployment's parameters require them.
fn access_of_all(functions: &[Function]) -> String {
    let roles: String = functions
        .iter()
        .map(|function| format!("        - !Ref {}Role\n", function.id()))
        .collect();
    format!(
        "
  # For every role, if the parameters ask for it.

  KeyAccess:
    Type: AWS::IAM::Policy
    Condition: HasKey
    Properties:
      PolicyName: key
      PolicyDocument:
        Version: '2012-10-17'
        Statement:
          - {{ Effect: Allow, Action: [kms:Decrypt, kms:DescribeKey, kms:GenerateDataKey], Resource: !Ref KeyArn }}
      Roles:
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

//! Alarms: of the functions of a nested stack, and of the queues and indexes of the root stack.

use table::schema::INDEXES;

use super::{Function, Stack, pascal};

/// The maximum number of metrics that an alarm can add up: one less than CloudWatch's limit of ten, because their sum is a metric too.
const ADDED_UP: usize = 9;

const ACTIONS: &str = "AlarmActions: !If [HasAlarmTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]";

/// The name of the alarm that covers a function's errors.
pub fn of(functions: &[Function], function: &Function) -> String {
    let place = functions
        .iter()
        .position(|other| other.id() == function.id());
    name(place.expect("a function of the stack") / ADDED_UP)
}

fn name(part: usize) -> String {
    match part {
        0 => "Errors".to_owned(),
        part => format!("Errors{}", part + 1),
    }
}

/// The alarms of the functions' errors.
pub fn render(stack: &Stack, functions: &[Function]) -> String {
    let mut out = String::from("\n  # Alarms\n");
    for (part, chunk) in functions.chunks(ADDED_UP).enumerate() {
        out += &format!(
            "
  {}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: 'Functions of the stack {} crashed or ran out of time.'
      ComparisonOperator: GreaterThanThreshold
      Threshold: 0
      EvaluationPeriods: 1
      TreatMissingData: notBreaching
      {ACTIONS}
      Metrics:
        - {{ Id: all, Expression: SUM(METRICS()), Label: Errors }}
",
            name(part),
            stack.name
        );
        // By name, because a reference to the function, which refers to the alarm, would be a cycle before the SAM transform.
        for (n, function) in chunk.iter().enumerate() {
            out += &format!(
                "        - {{ Id: m{n}, ReturnData: false, MetricStat: {{ Metric: {{ Namespace: AWS/Lambda, MetricName: Errors, Dimensions: [{{ Name: FunctionName, Value: !Sub '${{Service}}-{}' }}] }}, Period: 60, Stat: Sum }} }}\n",
                function.name()
            );
        }
    }
    out
}

/// The alarms of a worker's queue and of its dead-letter queue.
pub fn of_queue(worker: &Function) -> String {
    let (id, name) = (worker.id(), worker.name());
    let alarm = |suffix: &str, metric: &str, queue: &str, threshold: u32, means: &str| {
        format!(
            "
  {id}{suffix}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {means}
      Namespace: AWS/SQS
      MetricName: {metric}
      Dimensions: [{{ Name: QueueName, Value: !GetAtt {id}{queue}.QueueName }}]
      Statistic: Maximum
      Period: 60
      EvaluationPeriods: 1
      ComparisonOperator: GreaterThanThreshold
      Threshold: {threshold}
      TreatMissingData: notBreaching
      {ACTIONS}
"
        )
    };
    alarm(
        "Undone",
        "ApproximateNumberOfMessagesVisible",
        "DeadLetters",
        0,
        &format!("Messages for {name} failed five times and wait in the dead-letter queue."),
    ) + &alarm(
        "Late",
        "ApproximateAgeOfOldestMessage",
        "Queue",
        900,
        &format!("A message for {name} is a quarter of an hour old."),
    )
}

/// The alarms of throttled indexes. DynamoDB reports throttles of an index under the index's name, not under the table's.
pub fn of_indexes() -> String {
    let metric = |id: &str, name: &str, index: &str| {
        format!(
            "        - Id: {id}
          ReturnData: false
          MetricStat:
            Metric:
              Namespace: AWS/DynamoDB
              MetricName: {name}
              Dimensions: [{{ Name: TableName, Value: !Ref Table }}, {{ Name: GlobalSecondaryIndexName, Value: {index} }}]
            Period: 60
            Stat: Sum
"
        )
    };
    let alarm = |(index, ..): &(&str, &str, &str, &[&str])| {
        format!(
            "
  Index{}Throttled:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: The index {index} refused reads or writes because a partition or the table is over its capacity.
      ComparisonOperator: GreaterThanThreshold
      Threshold: 0
      EvaluationPeriods: 3
      DatapointsToAlarm: 2
      TreatMissingData: notBreaching
      {ACTIONS}
      Metrics:
        - {{ Id: all, Expression: SUM(METRICS()), Label: throttled }}
{}{}",
            pascal(index),
            metric("reads", "ReadThrottleEvents", index),
            metric("writes", "WriteThrottleEvents", index)
        )
    };
    INDEXES.iter().map(alarm).collect()
}

/// A service level objective: the maximum proportion of bad requests within 30 days.
struct Objective {
    name: &'static str,
    about: &'static str,
    /// The metric of API Gateway that counts the bad requests, and its statistic.
    bad: (&'static str, &'static str),
    /// The proportion of requests that may be bad: the error budget.
    budget: f64,
}

const OBJECTIVES: &[Objective] = &[
    Objective {
        name: "Availability",
        about: "999 of 1,000 requests are answered without a 5xx",
        bad: ("5xx", "Sum"),
        budget: 0.001,
    },
    Objective {
        name: "Latency",
        about: "99 of 100 requests are answered within a second",
        bad: ("Latency", "'TC(1000:)'"),
        budget: 0.01,
    },
];

/// A rate at which an error budget is used up.
struct Burn {
    name: &'static str,
    /// The factor by which the rate is too high: at 1 the error budget lasts 30 days.
    factor: f64,
    /// The long period, in seconds, in which the rate is measured.
    long: u32,
    /// The short period at the end of the long one, in seconds, in which the rate must be exceeded as well, so that the alarm ends
    /// soon after its cause.
    short: u32,
}

const BURNS: &[Burn] = &[
    // A fiftieth of the error budget within an hour.
    Burn {
        name: "Fast",
        factor: 14.4,
        long: 3_600,
        short: 300,
    },
    // A twentieth within six hours.
    Burn {
        name: "Slow",
        factor: 6.0,
        long: 21_600,
        short: 1_800,
    },
];

/// The alarms of the objectives. Each is active while both its long and its short period show that the error budget is used up too
/// fast.
pub fn of_objectives() -> String {
    let mut out = String::new();
    for objective in OBJECTIVES {
        for burn in BURNS {
            let id = format!("{}{}Burn", objective.name, burn.name);
            out += &burn_within(&format!("{id}Long"), objective, burn.factor, burn.long);
            out += &burn_within(&format!("{id}Short"), objective, burn.factor, burn.short);
            out += &format!(
                "
  {id}:
    Type: AWS::CloudWatch::CompositeAlarm
    Properties:
      AlarmDescription: 'The error budget is used up {} times too fast: {}.'
      AlarmRule: !Sub 'ALARM(\"${{{id}Long}}\") AND ALARM(\"${{{id}Short}}\")'
      {ACTIONS}
",
                burn.factor, objective.about
            );
        }
    }
    out
}

/// One period of an alarm of an objective. It sends no notification itself.
fn burn_within(id: &str, objective: &Objective, factor: f64, seconds: u32) -> String {
    let metric = |id: &str, (name, statistic): (&str, &str)| {
        format!(
            "        - Id: {id}
          ReturnData: false
          MetricStat:
            Metric: {{ Namespace: AWS/ApiGateway, MetricName: {name}, Dimensions: [{{ Name: ApiId, Value: !Ref Api }}] }}
            Period: {seconds}
            Stat: {statistic}
"
        )
    };
    format!(
        "
  {id}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: 'A part of a composite alarm: the error budget was used up too fast for {seconds} seconds.'
      ComparisonOperator: GreaterThanThreshold
      Threshold: {:.2}
      EvaluationPeriods: 1
      TreatMissingData: notBreaching
      Metrics:
        - {{ Id: rate, Expression: 100 * bad / requests, Label: bad requests per hundred }}
{}{}",
        factor * objective.budget * 100.0,
        metric("bad", objective.bad),
        metric("requests", ("Count", "Sum"))
    )
}

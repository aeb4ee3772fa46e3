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
        &format!("Messages for {name} failed too often and wait in the dead-letter queue."),
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
    /// Whether requests that wait for events are left out, because they take as long as their clients ask for.
    omits_waiting: bool,
}

/// The statistic that counts the values above a second.
const SLOW: &str = "'TC(1000:)'";

const OBJECTIVES: &[Objective] = &[
    Objective {
        name: "Availability",
        about: "999 of 1,000 requests are answered without a 5xx",
        bad: ("5xx", "Sum"),
        budget: 0.001,
        omits_waiting: false,
    },
    LATENCY,
];

const LATENCY: Objective = Objective {
    name: "Latency",
    about: "99 of 100 requests are answered within a second",
    bad: ("Latency", SLOW),
    budget: 0.01,
    omits_waiting: true,
};

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

/// The alarms of the objectives, and the one of slow requests. Each alarm of an objective is active while both its long and its short
/// period show that the error budget is used up too fast.
pub fn of_objectives() -> String {
    let mut out = slow_requests();
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

/// The alarm of slow requests in three of five minutes.
fn slow_requests() -> String {
    format!(
        "
  ApiSlow:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: More than one request in a hundred took longer than a second. Requests that wait for events are left out.
      ComparisonOperator: GreaterThanThreshold
      Threshold: 1
      EvaluationPeriods: 5
      DatapointsToAlarm: 3
      TreatMissingData: notBreaching
      {ACTIONS}
{}",
        bad_per_hundred(&LATENCY, 60)
    )
}

/// One period of an alarm of an objective. It sends no notification itself.
fn burn_within(id: &str, objective: &Objective, factor: f64, seconds: u32) -> String {
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
{}",
        factor * objective.budget * 100.0,
        bad_per_hundred(objective, seconds)
    )
}

/// The metrics of an alarm about the bad requests in a hundred. API Gateway does not count by route, so the requests that wait for events
/// are those of their function.
fn bad_per_hundred(objective: &Objective, seconds: u32) -> String {
    let metric = |id: &str, namespace: &str, (name, statistic): (&str, &str), of: &str| {
        format!(
            "        - Id: {id}
          ReturnData: false
          MetricStat:
            Metric: {{ Namespace: {namespace}, MetricName: {name}, Dimensions: [{{ {of} }}] }}
            Period: {seconds}
            Stat: {statistic}
"
        )
    };
    let api = |id, counted| {
        metric(
            id,
            "AWS/ApiGateway",
            counted,
            "Name: ApiId, Value: !Ref Api",
        )
    };
    let expression = if objective.omits_waiting {
        "100 * (bad - FILL(long, 0)) / (requests - FILL(polls, 0))"
    } else {
        "100 * bad / requests"
    };
    let mut out = format!(
        "      Metrics:
        - {{ Id: rate, Expression: '{expression}', Label: bad requests per hundred }}
{}{}",
        api("bad", objective.bad),
        api("requests", ("Count", "Sum"))
    );
    if objective.omits_waiting {
        let name = functions::webhook_endpoints::poll::ROUTE.name;
        let of = format!("Name: FunctionName, Value: !Sub '${{AWS::StackName}}-{name}'");
        out += &metric("long", "AWS/Lambda", ("Duration", SLOW), &of);
        out += &metric("polls", "AWS/Lambda", ("Invocations", "Sum"), &of);
    }
    out
}

//! Alarms: of the functions of a nested stack, and of the queues and indexes of the root stack.

use table::schema::INDEXES;

use super::{Function, Stack, pascal};

/// How many metrics an alarm can add up, one less than CloudWatch's limit of ten because their sum is one too.
const ADDED_UP: usize = 9;

const ACTIONS: &str = "AlarmActions: !If [HasAlarmTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]";

/// The name of the alarm that has a function's errors.
pub fn of(functions: &[Function], one: &Function) -> String {
    let place = functions.iter().position(|other| other.id() == one.id());
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
        // By name: a reference to the function, which refers to the alarm, would be a cycle before the SAM transform.
        for (n, one) in chunk.iter().enumerate() {
            out += &format!(
                "        - {{ Id: m{n}, ReturnData: false, MetricStat: {{ Metric: {{ Namespace: AWS/Lambda, MetricName: Errors, Dimensions: [{{ Name: FunctionName, Value: !Sub '${{Service}}-{}' }}] }}, Period: 60, Stat: Sum }} }}\n",
                one.name()
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

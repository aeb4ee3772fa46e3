"""Runs ministack, the local AWS, with what the templates need and it lacks: in IAM the condition key dynamodb:LeadingKeys, which
has the partition keys of the rows a request names, and the group in the name of a schedule; in CloudFormation alarms that add
metrics up, of which only the first metric is watched, numbers that come from parameters, and the members of an API's CORS; and the
backup that DynamoDB keeps of a deleted table with point-in-time recovery."""

import json

from ministack.core import iam_actions, iam_evaluator
from ministack.services import apigateway, dynamodb
from ministack.services.cloudformation import provisioners
from ministack.app import main

known = iam_actions.dynamodb_service_context
resource_arn = iam_actions.extract_resource_arn


def leading_keys(request):
    """The partition keys a request of DynamoDB names."""
    keys = [request.get("Key"), request.get("Item")]
    for requests in request.get("RequestItems", {}).values():
        if isinstance(requests, dict):
            keys += requests.get("Keys", [])
        else:
            for one in requests:
                keys += [one.get("PutRequest", {}).get("Item"), one.get("DeleteRequest", {}).get("Key")]
    found = sorted({key["pk"]["S"] for key in keys if key and "pk" in key})
    # The partition key of a query: that of the table or of the index.
    name, _, rest = request.get("KeyConditionExpression", "").partition("=")
    if rest:
        found.append(request["ExpressionAttributeValues"][rest.split()[0]]["S"])
    return found


def with_leading_keys(body):
    context = known(body)
    try:
        keys = leading_keys(json.loads(body or b"{}"))
    except (ValueError, KeyError, TypeError, AttributeError):
        keys = []
    if keys:
        context["dynamodb:LeadingKeys"] = keys
    return context


transaction_checks = iam_actions.dynamodb_transaction_checks
enforce = iam_evaluator.enforce


class Row(str):
    """The ARN of the table, for the check of one part of a transaction, and the partition key of that part."""


def with_rows(action, body, *more):
    """The checks of a transaction. Each part has one member, so there is one check for each."""
    checks = transaction_checks(action, body, *more)
    found = []
    for (one, arn), item in zip(checks, json.loads(body or b"{}").get("TransactItems", [])):
        row = Row(arn)
        row.leading_keys = leading_keys(next(iter(item.values())))
        found.append((one, row))
    return found


def enforce_row(*args, **named):
    """Holds each part of a transaction to its own partition key."""
    row = named.get("resource_arn")
    if isinstance(row, Row):
        named["service_context"] = {**(named.get("service_context") or {}), "dynamodb:LeadingKeys": row.leading_keys}
    return enforce(*args, **named)


iam_actions.dynamodb_transaction_checks = with_rows
iam_evaluator.enforce = enforce_row


def with_schedule_group(service, method, path, headers, body, *more):
    arn = resource_arn(service, method, path, headers, body, *more)
    if service == "scheduler" and ":schedule/default/" in arn:
        # In the body, but for the deletion of a schedule, which has it in the query.
        asked = more[0] if more and isinstance(more[0], dict) else {}
        named = asked.get("groupName")
        named = named[0] if isinstance(named, list) and named else named
        group = json.loads(body or b"{}").get("GroupName") or named or "default"
        arn = arn.replace(":schedule/default/", f":schedule/{group}/")
    return arn


iam_actions.dynamodb_service_context = with_leading_keys
iam_actions.extract_resource_arn = with_schedule_group

put_alarm = provisioners._cw_metric_alarm_put


def with_metrics(name, props):
    """The alarm; one that adds metrics up watches the first of them."""
    metrics = [one["MetricStat"] for one in props.get("Metrics", []) if "MetricStat" in one]
    if metrics:
        first = metrics[0]
        props = {key: value for key, value in props.items() if key != "Metrics"}
        props |= first["Metric"] | {"Period": first["Period"], "Statistic": "Sum"}
    return put_alarm(name, props)


provisioners._cw_metric_alarm_put = with_metrics

mapping = provisioners._RESOURCE_HANDLERS["AWS::Lambda::EventSourceMapping"]
create_mapping = mapping["create"]


def with_number(logical_id, props, stack_name):
    scaling = props.get("ScalingConfig")
    if scaling:
        scaling["MaximumConcurrency"] = int(scaling["MaximumConcurrency"])
    return create_mapping(logical_id, props, stack_name)


mapping["create"] = with_number

api = provisioners._RESOURCE_HANDLERS["AWS::ApiGatewayV2::Api"]
create_api = api["create"]


def with_cors(logical_id, props, stack_name):
    """The API, with its CORS as the gateway reads it."""
    cors = props.get("CorsConfiguration")
    if cors:
        named = {name[0].lower() + name[1:]: value for name, value in cors.items()}
        props = props | {"CorsConfiguration": named | {"maxAge": int(named.get("maxAge", 0))}}
    return create_api(logical_id, props, stack_name)


api["create"] = with_cors
invoke = apigateway._invoke_lambda_proxy


async def without_cors_of_function(integration, api_id, *args, **named):
    """Where an API has a CORS configuration, API Gateway ignores the CORS headers of a function."""
    status, headers, body = await invoke(integration, api_id, *args, **named)
    if apigateway._apis.get(api_id, {}).get("corsConfiguration"):
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("access-control-")}
    return status, headers, body


apigateway._invoke_lambda_proxy = without_cors_of_function

delete_table, list_backups = dynamodb._delete_table, dynamodb._list_backups


def with_backup(data):
    """Deletes the table, and keeps a backup of the system if it has point-in-time recovery."""
    name = dynamodb._normalize_table_name(data.get("TableName"))
    if name in dynamodb._pitr_settings and not dynamodb._tables[name].get("DeletionProtectionEnabled"):
        _, _, made = dynamodb._create_backup({"TableName": name, "BackupName": f"{name}$DeletedTableBackup"})
        dynamodb._backups[json.loads(made)["BackupDetails"]["BackupArn"]]["BackupDetails"]["BackupType"] = "SYSTEM"
    return delete_table(data)


def of_type(data):
    """The backups of the type that is asked for: those of users by default."""
    status, headers, body = list_backups(data)
    found, wanted = json.loads(body), data.get("BackupType", "USER")
    if status == 200:
        found["BackupSummaries"] = [one for one in found["BackupSummaries"] if wanted in ("ALL", one["BackupType"])]
    return status, headers, json.dumps(found).encode()


dynamodb._delete_table, dynamodb._list_backups = with_backup, of_type

if __name__ == "__main__":
    main()

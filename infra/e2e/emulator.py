"""Runs ministack, the local AWS, with two things about IAM that the template needs and ministack lacks: the condition key
dynamodb:LeadingKeys, the partition keys of the rows a request names, and the group in the name of a schedule."""

import json

from ministack.core import iam_actions
from ministack.app import main

known = iam_actions.dynamodb_service_context
resource_arn = iam_actions.extract_resource_arn


def leading_keys(request):
    """The partition keys a request of DynamoDB names. A transaction is held to all its keys at once, which is stricter
    than AWS: there every write is held to its own."""
    keys = [request.get("Key"), request.get("Item")]
    for item in request.get("TransactItems", []):
        for write in item.values():
            keys += [write.get("Key"), write.get("Item")]
    for requests in request.get("RequestItems", {}).values():
        if isinstance(requests, dict):
            keys += requests.get("Keys", [])
        else:
            for one in requests:
                keys += [one.get("PutRequest", {}).get("Item"), one.get("DeleteRequest", {}).get("Key")]
    found = sorted({key["pk"]["S"] for key in keys if key and "pk" in key})
    query = request.get("KeyConditionExpression", "").split("=")
    if query[0].strip() == "pk":
        name = query[1].split()[0]
        found.append(request["ExpressionAttributeValues"][name]["S"])
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


def with_schedule_group(service, method, path, headers, body, *more):
    arn = resource_arn(service, method, path, headers, body, *more)
    if service == "scheduler" and ":schedule/default/" in arn:
        group = json.loads(body or b"{}").get("GroupName", "default")
        arn = arn.replace(":schedule/default/", f":schedule/{group}/")
    return arn


iam_actions.dynamodb_service_context = with_leading_keys
iam_actions.extract_resource_arn = with_schedule_group

if __name__ == "__main__":
    main()

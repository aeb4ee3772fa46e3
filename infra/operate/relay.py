"""Hands changes that could not be relayed to the relay again.

    python infra/operate/relay.py fleet-charging            # lists the messages in RelayDeadLetters
    python infra/operate/relay.py fleet-charging --apply    # invokes the relay with each item, and deletes the message

The relay is given the item as it is now, so it can create the events of the item's last write only. A message is left in the queue, and
the status is 1, if the item was deleted or written again since: the events of that change are lost. `--discard` deletes such messages.
A change that fails again is a new message of the relay.

Needs boto3, which comes with infra/requirements.txt.
"""

import argparse
import base64
import json
import sys

import boto3
from botocore.config import Config

# The relay has a minute at most. An invocation is not repeated.
PATIENT = Config(read_timeout=90, retries={"total_max_attempts": 1})
# How long a message that was received is hidden from others, in seconds. Those that are left are shown again at the end.
HIDDEN = 600


def received(queue, url):
    """Every message of the queue once."""
    seen = set()
    while True:
        page = queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN, WaitTimeSeconds=2).get("Messages", [])
        new = [one for one in page if one["MessageId"] not in seen]
        if not new:
            return
        seen |= {one["MessageId"] for one in new}
        yield from new


def obstacle(item, version):
    """Why the change cannot be relayed, or None."""
    if item is None:
        return "was deleted since: its events are lost"
    # An item that the relay reads without a version has none in its message either.
    now = item.get("version", {}).get("N")
    if version is not None and now != str(version):
        return f"has version {now} by now: the events of version {version} are lost"
    return None


def relayed(functions, function, item):
    """Invokes the relay with the item as a record of its own. Returns the error, or None."""
    record = {"awsRegion": "-", "eventID": "1", "eventName": "MODIFY", "dynamodb": {"SizeBytes": 0, "NewImage": item}}
    payload = json.dumps({"Records": [record]}, default=lambda binary: base64.b64encode(bytes(binary)).decode())
    answer = functions.invoke(FunctionName=f"{function}:live", Payload=payload)
    body = answer["Payload"].read().decode()
    failed = "FunctionError" in answer or json.loads(body) != {"batchItemFailures": []}
    return body if failed else None


def hand_over(clients, names, apply, discard):
    """Hands the items of all messages to the relay. Returns how many messages are left."""
    database, queue, functions = clients
    table, url, function = names
    left = []
    # All are received first, so that what fails again is not handed over twice.
    for message in list(received(queue, url)):
        change = json.loads(message["Body"])
        key = {"pk": {"S": change["pk"]}, "sk": {"S": change["sk"]}}
        item = database.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        why = obstacle(item, change["version"])
        print(f"{change['pk']} {change['sk']}, version {change['version']}: {why or change['error']}")
        is_done = discard if why else apply
        if is_done and not why and (error := relayed(functions, function, item)):
            print(f"    was not relayed: {error}")
            is_done = False
        if is_done:
            queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            print("    the message was deleted" if why else "    was relayed")
        else:
            left.append(message["ReceiptHandle"])
    for receipt in left:
        queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
    return len(left)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("stack")
    options.add_argument("--apply", action="store_true", help="invoke the relay, and do not only list the messages")
    options.add_argument("--discard", action="store_true", help="delete the messages of items that were deleted or written again")
    asked = options.parse_args()
    stack = boto3.client("cloudformation")

    def resource(name):
        found = stack.describe_stack_resource(StackName=asked.stack, LogicalResourceId=name)
        return found["StackResourceDetail"]["PhysicalResourceId"]

    clients = (boto3.client("dynamodb"), boto3.client("sqs"), boto3.client("lambda", config=PATIENT))
    names = (resource("Table"), resource("RelayDeadLetters"), f"{asked.stack}-relay-stream")
    left = hand_over(clients, names, asked.apply, asked.discard)
    print(f"{left} messages are left")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()

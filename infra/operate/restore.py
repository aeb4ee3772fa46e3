"""Restores the table from a point in time.

    python infra/operate/restore.py table <table> fleet-restored --at 2026-11-21T09:00:00Z
    python infra/operate/restore.py copy fleet-restored <table> 'acct_…#live#' --apply
    python infra/operate/restore.py adopt fleet-restored fleet-charging

`table` makes a table of what another one was at that moment, with the stream, the expiry, the backups and the protection that a
restored table lacks. Of a table that was deleted only that moment can be restored, without `--at`, from the backup that DynamoDB keeps
of it for 35 days. Do so from the release that was deployed: the indexes are compared with those of the template. `copy` writes items of
the restored table whose partition keys begin with a text over those of the table in use, where they differ; without `--apply` it only
lists them. `adopt` makes a new stack around the restored table, for a deployment whose table is lost: it must not exist yet, and
`sam deploy` under its name creates everything else.

Needs boto3 and aws-sam-translator, which come with infra/requirements.txt.
"""

import argparse
import json
import pathlib
import sys
import time
from datetime import datetime

import boto3
from botocore.exceptions import ClientError

TEMPLATE = pathlib.Path(__file__).parent.parent / "template.yaml"


def template():
    """The template of the root stack."""
    from samtranslator.yaml_helper import yaml_parse

    return yaml_parse(TEMPLATE.read_text())


def until_active(database, table):
    """Waits until the table and its indexes can be used: hours for a large table."""
    while True:
        found = database.describe_table(TableName=table)["Table"]
        indexes = found.get("GlobalSecondaryIndexes", [])
        if all(one.get("TableStatus", one.get("IndexStatus", "ACTIVE")) == "ACTIVE" for one in [found, *indexes]):
            return found
        time.sleep(5)


def index_names(indexes):
    return sorted(one["IndexName"] for one in indexes)


def begin_restore(database, source, target, at):
    """Begins to make the table of what the source was, and returns the names of the indexes that it must have, and the moment in words."""
    moment = {"RestoreDateTime": at} if at else {"UseLatestRestorableTime": True}
    try:
        database.restore_table_to_point_in_time(SourceTableName=source, TargetTableName=target, **moment)
    except database.exceptions.TableNotFoundException:
        if at:
            sys.exit(f"{source} was deleted: only the moment of its deletion can be restored, without --at")
    else:
        indexes = database.describe_table(TableName=source)["Table"].get("GlobalSecondaryIndexes", [])
        return index_names(indexes), f"at {at.isoformat()}" if at else "a few minutes ago"
    pages = database.get_paginator("list_backups").paginate(TableName=source, BackupType="SYSTEM")
    backups = [backup for page in pages for backup in page["BackupSummaries"] if backup["BackupStatus"] == "AVAILABLE"]
    if not backups:
        sys.exit(f"there is no table {source}, and no backup of a table of that name that was deleted within the last 35 days")
    last = max(backups, key=lambda backup: backup["BackupCreationDateTime"])
    database.restore_table_from_backup(TargetTableName=target, BackupArn=last["BackupArn"])
    table = template()["Resources"]["Table"]["Properties"]
    return index_names(table["GlobalSecondaryIndexes"]), f"when it was deleted, at {last['BackupCreationDateTime'].isoformat()}"


def restore(database, source, target, at):
    """A table of what the source was at a moment, a few minutes ago or when it was deleted, with the settings that it lacks then."""
    wanted, moment = begin_restore(database, source, target, at)
    until_active(database, target)
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    database.update_table(TableName=target, StreamSpecification=stream)
    until_active(database, target)
    database.update_table(TableName=target, DeletionProtectionEnabled=True)
    until_active(database, target)
    database.update_time_to_live(TableName=target, TimeToLiveSpecification={"AttributeName": "ttl", "Enabled": True})
    while True:
        try:
            database.update_continuous_backups(
                TableName=target, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
            break
        except ClientError as error:
            # Backups of a new table are being made available.
            if error.response["Error"]["Code"] != "ContinuousBackupsUnavailableException":
                raise
            time.sleep(5)
    made = database.describe_table(TableName=target)["Table"]
    found = index_names(made.get("GlobalSecondaryIndexes", []))
    assert found == wanted, f"{target} has the indexes {found} instead of {wanted}"
    assert made["StreamSpecification"] == stream and made["DeletionProtectionEnabled"], made
    print(f"{target} is what {source} was {moment}")


def content(item):
    """What an item says, without what every write changes."""
    return {name: value for name, value in (item or {}).items() if name not in ("version", "written")}


def copy(database, source, target, prefix, apply):
    """Writes the items of the source with this prefix of the partition key over those of the target that differ.

    An object gets a version above the one there, so that it is relayed as every change is. An item that is changed meanwhile is left as it
    is, and reported.
    """
    pages = database.get_paginator("scan").paginate(
        TableName=source, FilterExpression="begins_with(pk, :prefix)", ExpressionAttributeValues={":prefix": {"S": prefix}}
    )
    same = written = overtaken = 0
    for old in (item for page in pages for item in page["Items"]):
        key = {"pk": old["pk"], "sk": old["sk"]}
        new = database.get_item(TableName=target, Key=key, ConsistentRead=True).get("Item")
        if content(old) == content(new):
            same += 1
            continue
        print(f"{old['pk']['S']} {old['sk']['S']}: {'differs' if new else 'is missing'}")
        if not apply:
            continue
        condition = {"ConditionExpression": "attribute_not_exists(pk)"}
        if new and "version" in new:
            old["version"] = {"N": str(int(new["version"]["N"]) + 1)}
            condition = {"ConditionExpression": "#version = :there", "ExpressionAttributeNames": {"#version": "version"},
                         "ExpressionAttributeValues": {":there": new["version"]}}  # fmt: skip
        elif new:
            condition = {}
        try:
            database.put_item(TableName=target, Item=old, **condition)
            written += 1
        except database.exceptions.ConditionalCheckFailedException:
            print("    was changed meanwhile, and is left as it is")
            overtaken += 1
    print(f"{same} items are as they were, {written} were written, {overtaken} were changed meanwhile")
    return overtaken


def adopt(cloudformation, table, stack):
    """A stack that has the table and nothing else."""
    root = template()
    kept = root["Resources"]["Table"] | {"DeletionPolicy": "Retain"}
    only = {name: root[name] for name in ("AWSTemplateFormatVersion", "Parameters", "Conditions")} | {"Resources": {"Table": kept}}
    names = {"StackName": stack, "ChangeSetName": "adopt"}
    cloudformation.create_change_set(
        **names, ChangeSetType="IMPORT", TemplateBody=json.dumps(only), Capabilities=["CAPABILITY_IAM"],
        Parameters=[{"ParameterKey": "DeletionProtection", "ParameterValue": "true"}],
        ResourcesToImport=[
            {"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": "Table", "ResourceIdentifier": {"TableName": table}}
        ],
    )  # fmt: skip
    cloudformation.get_waiter("change_set_create_complete").wait(**names)
    cloudformation.execute_change_set(**names)
    cloudformation.get_waiter("stack_import_complete").wait(StackName=stack)
    print(f"the stack {stack} has {table}; now: sam deploy --stack-name {stack} --parameter-overrides DeletionProtection=true …")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = options.add_subparsers(dest="command", required=True)
    one = commands.add_parser("table")
    one.add_argument("source")
    one.add_argument("target")
    one.add_argument("--at", type=datetime.fromisoformat, help="the moment; without it the latest that can be restored")
    one = commands.add_parser("copy")
    one.add_argument("source")
    one.add_argument("target")
    one.add_argument("prefix", help="what the partition keys begin with, such as acct_…#live#flt_…")
    one.add_argument("--apply", action="store_true", help="write the items that differ, and do not only list them")
    one = commands.add_parser("adopt")
    one.add_argument("table")
    one.add_argument("stack")
    asked = options.parse_args()
    match asked.command:
        case "table":
            restore(boto3.client("dynamodb"), asked.source, asked.target, asked.at)
        case "copy":
            sys.exit(1 if copy(boto3.client("dynamodb"), asked.source, asked.target, asked.prefix, asked.apply) else 0)
        case "adopt":
            adopt(boto3.client("cloudformation"), asked.table, asked.stack)


if __name__ == "__main__":
    main()

"""Restores the table from a point in time.

    python infra/operate/restore.py table <table> fleet-restored --at 2026-11-21T09:00:00Z
    python infra/operate/restore.py copy fleet-restored <table> 'acct_…#live#' --apply
    python infra/operate/restore.py copy fleet-restored <table> 'live#CAL#' --holder res_… --apply
    python infra/operate/restore.py adopt fleet-restored fleet-charging

`table` makes a table of what another one was at that moment, with the stream, the expiry, the backups and the protection that a
restored table lacks. Of a table that was deleted only that moment can be restored, without `--at`, from the backup that DynamoDB keeps
of it for 35 days. Do so from the release that was deployed: the indexes are compared with those of the template. `copy` writes items of
the restored table whose partition keys begin with a text over those of the table in use, where they differ; without `--apply` it only
lists them. It writes objects and their parts, and leaves out counters, sums, search entries, events and deliveries. Of the calendars,
which all accounts share, it adds the entries of one reservation or session, if their time is still free. `adopt` makes a new stack
around the restored table, for a deployment whose table is lost: it must not exist yet, and `sam deploy` under its name creates
everything else.

Needs boto3 and aws-sam-translator, which come with infra/requirements.txt.
"""

import argparse
import json
import pathlib
import re
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


# Items of an account that are copied: objects, their parts, and the cards of a holder. The others are counters, which must never be set
# back, logs, or derived: the relay changes them when it reads that an object was written.
OF_ACCOUNT = re.compile(r"acct_[^#]*#(live|test)#(.*)")
COPIED = re.compile(r"[a-z]+_[^#]+|CARDS#[^#]+")
# Sort keys of counters and of requests in progress in the partitions of objects.
COUNTERS = ("CHILDREN", "MAKING", "PLANS", "USED")
CALENDAR = re.compile(r"(live|test)#CAL#")


def is_left_out(item):
    """Whether an item is a counter, a log, or derived from others."""
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    of_account = OF_ACCOUNT.fullmatch(pk)
    if sk in COUNTERS or (of_account and not COPIED.fullmatch(of_account[2])):
        return True
    # The item without a card counts the additions to the cards of a holder.
    return bool(of_account) and of_account[2].startswith("CARDS#") and sk == "#"


def content(item):
    """The attributes of an item except those that every write changes."""
    return {name: value for name, value in (item or {}).items() if name not in WRITES}


# The attributes about the last write of an item: its number and time, its events and their cause, and the number of all events.
WRITES = ("version", "written", "events", "request", "sequence")


def as_read(item, names):
    """The condition that these attributes of an item are as they were read."""
    parts, values = [], {}
    for n, name in enumerate(names):
        parts.append(f"#{n} = :{n}" if name in item else f"attribute_not_exists(#{n})")
        if name in item:
            values[f":{n}"] = item[name]
    return {"ConditionExpression": " AND ".join(parts), "ExpressionAttributeNames": {f"#{n}": name for n, name in enumerate(names)},
            "ExpressionAttributeValues": values}  # fmt: skip


def replacing(old, new):
    """The item to write in place of another one, or of none, and the condition of the write.

    The write records no events: those of the old state were sent. Its number, and those of later events, continue the ones in place. An
    object that was deleted gets a number above all that it has had.
    """
    item = {name: value for name, value in old.items() if name not in ("events", "request")}
    if not new:
        if "version" in old:
            item["version"] = {"N": str(max(int(time.time()), int(old["version"]["N"]) + 1))}
        return item, {"ConditionExpression": "attribute_not_exists(pk)"}
    item |= {name: new[name] for name in ("sequence", "written") if name in new}
    if "version" in new:
        item["version"] = {"N": str(int(new["version"]["N"]) + 1)}
        return item, as_read(new, ["version"])
    return item, as_read(new, sorted({*old, *new} - {"sk"}))


class Taken(Exception):
    """The time of an entry of a calendar is taken by another reservation or session."""


def entries_of(calendar):
    """The entries of a calendar, each with its holder and its window."""
    entries = calendar["calendar"]["M"]["entries"]["L"] if calendar else []
    return [(one["M"]["holder"]["S"], [int(at["N"]) for at in one["M"]["window"]["L"]], one) for one in entries]


def booking(old, new, holder):
    """The calendar with the entries of a holder that are missing, and the condition of the write; None if none is missing.

    Raises Taken if their time is no longer free.
    """
    there = entries_of(new)
    wanted = [one for one in entries_of(old) if one[0] == holder]
    if not wanted or any(one[0] == holder for one in there):
        return None
    for _, (begin, end), _ in wanted:
        for other, (other_begin, other_end), _ in there:
            if begin < other_end and other_begin < end:
                raise Taken(f"is taken by {other}")
    entries = [entry for _, _, entry in sorted(there + wanted, key=lambda one: one[1])]
    revision = int(new["revision"]["N"]) if new else 0
    item = (new or old) | {"calendar": {"M": {"entries": {"L": entries}}}, "revision": {"N": str(revision + 1)}}
    return item, as_read(new, ["revision"]) if new else {"ConditionExpression": "attribute_not_exists(pk)"}


def write_of(old, new, holder):
    """The item to write for one of the restored table, and the condition of the write; None if nothing differs."""
    if CALENDAR.match(old["pk"]["S"]):
        return booking(old, new, holder)
    return None if content(old) == content(new) else replacing(old, new)


def copy(database, source, target, prefix, holder, apply):
    """Writes the items of the source with this prefix of the partition key over those of the target that differ.

    An object gets a version above the one there, so that it is relayed as every change is. An item that is changed meanwhile is left as it
    is, and reported. The entries of a holder are written only if the time of all of them is free.
    """
    if holder and apply and (kept := copy(database, source, target, prefix, holder, False)):
        print("nothing was written, because not all of the time is free")
        return kept
    pages = database.get_paginator("scan").paginate(
        TableName=source, FilterExpression="begins_with(pk, :prefix)", ExpressionAttributeValues={":prefix": {"S": prefix}}
    )
    same = written = kept = left_out = 0
    for old in (item for page in pages for item in page["Items"]):
        if is_left_out(old) or (CALENDAR.match(old["pk"]["S"]) and not holder):
            left_out += 1
            continue
        key = {"pk": old["pk"], "sk": old["sk"]}
        name = f"{old['pk']['S']} {old['sk']['S']}"
        new = database.get_item(TableName=target, Key=key, ConsistentRead=True).get("Item")
        try:
            write = write_of(old, new, holder)
            if not write:
                same += 1
                continue
            print(f"{name}: {'differs' if new else 'is missing'}")
            if apply:
                item, condition = write
                database.put_item(TableName=target, Item=item, **condition)
                written += 1
        except Taken as taken:
            print(f"{name}: {taken}, and is left as it is")
            kept += 1
        except database.exceptions.ConditionalCheckFailedException:
            print("    was changed meanwhile, and is left as it is")
            kept += 1
    print(f"{same} items are as they were, {written} were written, {kept} were left as they are")
    print(f"{left_out} counters, logs, derived items and calendars were left out")
    return kept


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
    one.add_argument("--holder", help="the reservation or session whose entries in calendars are added, for keys such as live#CAL#chst_…")
    one.add_argument("--apply", action="store_true", help="write the items that differ, and do not only list them")
    one = commands.add_parser("adopt")
    one.add_argument("table")
    one.add_argument("stack")
    asked = options.parse_args()
    match asked.command:
        case "table":
            restore(boto3.client("dynamodb"), asked.source, asked.target, asked.at)
        case "copy":
            database = boto3.client("dynamodb")
            sys.exit(1 if copy(database, asked.source, asked.target, asked.prefix, asked.holder, asked.apply) else 0)
        case "adopt":
            adopt(boto3.client("cloudformation"), asked.table, asked.stack)


if __name__ == "__main__":
    main()
